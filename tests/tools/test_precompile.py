#!/usr/bin/env python3
"""heddle precompile: what it has compiled, programs do not compile again, on cpu and on sim. test_precompile.py HEDDLE"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from support import Bench, Tap, find_nvcc, write

PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>
#ifndef LIBRARY
__global__ void row(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += threadIdx.x; }
__global__ void plane(int *x) { x[threadIdx.y * blockDim.x + threadIdx.x] += threadIdx.x * 100 + threadIdx.y; }
__global__ void __launch_bounds__(64) narrow(int *x) { __shared__ int s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x]; }
int main()
{
    int *x, sum = 0;
    cudaMallocManaged(&x, 4096);
    row<<<4, 256>>>(x);
    plane<<<1, dim3(16, 16)>>>(x);
    plane<<<1, dim3(32, 8)>>>(x);
    narrow<<<1, 64>>>(x);
    if (cudaDeviceSynchronize()) return 1;
    for (int i = 0; i < 1024; i++) sum = sum * 31 + x[i];
    printf("%d\\n", sum);
}
#else
__global__ void of_library(int *x) { x[threadIdx.x] = 7; }
extern "C" void launch(int *x) { of_library<<<1, 128>>>(x); }
#endif
"""
PARTS = {
    "first.cu": """
#include <cstdio>
extern __device__ int second(int);
__global__ void k(int *x) { x[threadIdx.x] = second(threadIdx.x); }
int main()
{
    int *x;
    cudaMallocManaged(&x, 1024);
    k<<<1, 256>>>(x);
    if (cudaDeviceSynchronize()) return 1;
    printf("%d\\n", x[255]);
}
""",
    "second.cu": "__device__ int second(int i) { return i * 3; }\n",
}
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry fine(.param .u64 p) .reqntid 32
{
    .reg .b64 %rd<2>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret;
}
"""
LACKING = """.extern .func missing;
.visible .entry lacking() { call missing; ret; }
"""


def long_kernel(name, n):
    """A kernel that takes seconds to compile."""
    lines = [f"    fma.rn.f32 %f{1 + i % 60}, %f{1 + i * 7 % 60}, %f{1 + i * 11 % 60}, %f{1 + i * 13 % 60};" for i in range(n)]
    sums = [f"    add.f32 %f1, %f1, %f{i};" for i in range(2, 61)]
    loads = [f"    ld.global.f32 %f{i}, [%rd1+{i * 4}];" for i in range(1, 61)]
    return "\n".join([f".visible .entry {name}(.param .u64 p)", "{", "    .reg .b64 %rd<2>; .reg .f32 %f<64>;", "    ld.param.u64 %rd1, [p];",
                      *loads, *lines, *sums, "    st.global.f32 [%rd1], %f1;", "    ret;", "}", ""])


class Cached(Bench):
    def entries(self):
        folder = self.env["HEDDLE_CACHE"]
        return sorted(name for name in os.listdir(folder) if name.endswith(".code")) if os.path.isdir(folder) else []

    def fresh(self, name):
        self.env["HEDDLE_CACHE"] = os.path.join(self.folder, name)

    def precompile(self, *args, status=0, name="", **env):
        got = self.run("precompile", "--json", *args, **env)
        self.tap.eq(got.returncode, status, f"precompiles {name}" + (f", status {status}" if status else ""))
        try:
            return json.loads(got.stdout)["devices"], got.stderr
        except ValueError:
            self.tap.ok(False, "tells of it as JSON", got.stdout + got.stderr)
            return [], got.stderr

    def runs_warm(self, program, device, name):
        """What it prints. No entry comes: it finds all that it launches."""
        before = self.entries()
        got = self.run("run", program, HEDDLE_DEVICE=device)
        self.tap.ok(got.returncode == 0 and got.stdout, f"{name} runs on {device}", got.stdout + got.stderr)
        self.tap.eq(self.entries(), before, f"{name} compiles nothing on {device}")
        return got.stdout


def test_program(b, tap):
    program = b.build(write(os.path.join(b.folder, "warm.cu"), PROGRAM))
    cold = b.run("run", program).stdout
    b.fresh("program")
    devices, _ = b.precompile("-d", "cpu,sim", program, name="a program")
    tap.eq([d["kernels"] for d in devices], [3, 3], "three kernels for each of two devices")
    for device in ("cpu", "sim"):
        tap.eq(b.runs_warm(program, device, "the program"), cold, "and computes the same")
    devices, _ = b.precompile("-d", "cpu,sim", program, name="it again")
    tap.eq([d["entries"] - d["entries_before"] for d in devices], [0, 0], "which makes nothing new")
    b.fresh("blocks")
    devices, _ = b.precompile("-b", "96", "-b", "8,8,2", program, name="other blocks")
    tap.eq(devices[0]["kernels"] if devices else None, 3, "a kernel that cannot have them does not fail")


def test_parts(b, tap):
    """Code of several units, which the wrapper in the program's file says how to put together."""
    builders = [("heddle cc", "cc", ["-arch=compute_80"])]
    if find_nvcc():
        builders.append(("nvcc", "nvcc", ["-gencode", "arch=compute_80,code=[compute_80,sm_80]"]))
    sources = [write(os.path.join(b.folder, name), text) for name, text in PARTS.items()]
    for name, builder, options in builders:
        program = os.path.join(b.folder, "parts")
        got = subprocess.run([*b.variant.compiler(b.heddle, builder), *options, "-rdc=true", *sources, "-o", program], capture_output=True, text=True, env=b.env, check=False)
        tap.ok(got.returncode == 0, f"{name} -rdc=true builds", got.stdout + got.stderr)
        b.fresh("parts of " + name.replace(" ", "_"))
        devices, _ = b.precompile("-d", "cpu,sim", program, name=f"units linked by {name}")
        tap.eq([d["kernels"] for d in devices], [1, 1], "the kernel of both")
        for device in ("cpu", "sim"):
            tap.eq(b.runs_warm(program, device, name), "765\n", "and calls the other unit")


def test_folder(b, tap):
    folder = os.path.join(b.folder, "site-packages")
    os.makedirs(os.path.join(folder, "some/package"))
    source = write(os.path.join(b.folder, "library.cu"), PROGRAM)
    library = os.path.join(folder, "some/package/ext.so")
    got = subprocess.run([*b.variant.compiler(b.heddle, builder="cc"), "-DLIBRARY", "-shared", "-Xcompiler", "-fPIC", source, "-o", library], capture_output=True, text=True,
                         env=b.env, check=False)
    tap.ok(got.returncode == 0, "a library builds", got.stdout + got.stderr)
    write(os.path.join(folder, "kernels.ptx"), PTX)
    write(os.path.join(folder, "notes.txt"), "no program")
    write(os.path.join(folder, "cut.so"), open(library, "rb").read()[:3000])
    write(os.path.join(folder, "libcublas.so.12"), open(library, "rb").read())
    os.symlink("..", os.path.join(folder, "some/loop"))
    b.fresh("folder")
    devices, _ = b.precompile(folder, name="a folder")
    files = {os.path.basename(f["file"]): f["kernels"] for d in devices for f in d["files"]}
    tap.eq(files, {"ext.so": 1, "kernels.ptx": 1}, "the library, and PTX; neither what is cut off, nor NVIDIA's, nor twice by a link")
    host = write(os.path.join(b.folder, "host.c"), "void launch(int *);\nint main(void) { launch(0); return 0; }\n")
    program = os.path.join(b.folder, "host")
    subprocess.run([*b.variant.compiler(b.heddle, builder="cc"), host, library, "-Xlinker", "-rpath," + os.path.dirname(library), "-o", program], env=b.env, check=False)
    b.fresh("libraries")
    devices, _ = b.precompile(program, name="a program without device code")
    tap.eq([os.path.basename(f["file"]) for d in devices for f in d["files"]], ["ext.so"], "its library has some")


def test_failures(b, tap):
    fine = write(os.path.join(b.folder, "fine.ptx"), PTX)
    both = write(os.path.join(b.folder, "both.ptx"), PTX + LACKING)
    wrong = write(os.path.join(b.folder, "wrong.ptx"), PTX.replace("ld.param.u64", "ld.nowhere.u64"))
    b.fresh("failures")
    devices, _ = b.precompile("-d", "cpu,sim", fine, both, status=1, name="a kernel that calls what is not there")
    for device in devices:
        tap.eq(device["kernels"], 2, "the others are made")
        failures = [(f["kernel"], f["why"]) for file in device["files"] for f in file["failures"]]
        tap.ok(len(failures) == 1 and failures[0][0] == "lacking" and "missing" in failures[0][1], "it is named, with the reason", failures)
    devices, _ = b.precompile(wrong, status=1, name="text that is no PTX")
    failures = [f for d in devices for file in d["files"] for f in file["failures"]]
    tap.ok(len(failures) == 1 and failures[0]["kernel"] is None and "nowhere" in failures[0]["why"], "the image is told of", failures)
    for args, said, status in [(["/nowhere"], "No such file", 1), ([__file__], "name a program", 1), ([], "what?", 2), (["-d", "tpu", fine], "cpu and sim", 2),
                               (["-b", "33,33", fine], "1024", 2), (["-b", "x", fine], "X[,Y[,Z]]", 2), (["-b", "8,8,", fine], "X[,Y[,Z]]", 2),
                               (["-j", "0", fine], "from 1", 2)]:
        got = b.run("precompile", *args)
        tap.ok(got.returncode == status and said in got.stderr, f"precompile {' '.join(map(os.path.basename, args))}: status {status}", got.stderr)
    got = b.run("precompile", fine, HEDDLE_CACHE="off")
    tap.ok(got.returncode == 1 and "cache is off" in got.stderr, "without a cache there is nothing to do", got.stderr)
    got = b.run("precompile", fine, HEDDLE_CACHE="/proc/self/nowhere")
    tap.ok(got.returncode == 1 and "cannot be kept" in got.stderr, "nor where nothing can be written", got.stderr)
    tuning = write(os.path.join(b.folder, "tuning"), "no tuning")
    got = b.run("precompile", fine, HEDDLE_TUNING=tuning)
    tap.ok(got.returncode == 1 and tuning in got.stderr, "a driver that does not start says why", f"status {got.returncode}: {got.stderr}")
    tap.eq(got.stderr.count(tuning), 1, "once")


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found


def test_dead_worker(b, tap):
    """One that is killed costs the kernel that it was at."""
    text = PTX + long_kernel("endless", 60000) + PTX.split("64\n", 1)[1].replace("fine", "last")
    path = write(os.path.join(b.folder, "long.ptx"), text)
    b.fresh("dead")
    command = [b.heddle, "precompile", "--json", "-j", "1", path]
    with subprocess.Popen(command, env=b.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        for _ in range(600):
            if len(b.entries()) > 1 or run.poll() is not None:  # the extents of the text, and `fine`
                break
            time.sleep(0.05)
        time.sleep(0.3)
        for child in children(run.pid):
            os.kill(child, signal.SIGKILL)
        out, err = run.communicate(timeout=200)
    device = json.loads(out)["devices"][0]
    failures = [f for file in device["files"] for f in file["failures"]]
    tap.eq(run.returncode, 1, "a worker that is killed: status 1")
    tap.ok(len(failures) == 1 and failures[0]["kernel"] == "endless" and "signal 9" in failures[0]["why"], "its kernel is told of", out + err)
    tap.eq(device["kernels"], 2, "the kernels before and behind it are made")


def test_sim_entries(b, tap):
    """Code of the simulated GPU in the cache: what is another input is another entry."""
    path = write(os.path.join(b.folder, "one.ptx"), PTX)
    b.fresh("sim")
    b.precompile("-d", "sim", path, name="for sim")
    entries = b.entries()
    tap.eq(len(entries), 1, "one kernel, one entry")
    for name, env in [("fewer registers", {"HEDDLE_CODEGEN": "registers=24"}), ("a pass left out", {"HEDDLE_SKIP_PASS": "isa_schedule"})]:
        before = b.entries()
        b.precompile("-d", "sim", path, name=f"with {name}", **env)
        tap.eq(len(b.entries()) - len(before), 1, f"{name}: other code")
    b.fresh("damaged")
    b.precompile("-d", "sim", path, name="for sim")
    file = os.path.join(b.env["HEDDLE_CACHE"], b.entries()[0])
    size = os.path.getsize(file)
    with open(file, "r+b") as entry:
        entry.truncate(size - 8)
    devices, _ = b.precompile("-d", "sim", path, name="where the entry is cut off")
    tap.eq((devices[0]["kernels"] if devices else None, os.path.getsize(file)), (1, size), "it is made again")
    before = b.entries()
    got = b.run("precompile", "-d", "sim", path, HEDDLE_SIM="hazards", HEDDLE_DEBUG="jit")
    tap.ok(got.returncode == 0 and "from the cache" not in got.stderr and b.entries() == before, "who checks the compiler has it compile", got.stderr)
    got = b.run("precompile", "-d", "sim", path, HEDDLE_DEBUG="jit")
    tap.ok("loaded fine from the cache" in got.stderr, "others do not", got.stderr)
    got = b.run("precompile", "-d", "sim", path, HEDDLE_DEBUG="counts")
    tap.ok("kernel=fine words=" in got.stderr, "who wants to hear what code costs hears it", got.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        b = Cached(sys.argv[1], tap, folder)
        test_program(b, tap)
        test_parts(b, tap)
        if b.variant.is_default:
            test_folder(b, tap)
            test_failures(b, tap)
            test_dead_worker(b, tap)
            test_sim_entries(b, tap)
    tap.done()


main()
