#!/usr/bin/env python3
"""Programs as nvcc makes them, where there is one: what doctor says about each and that run treats it as
it should. Nothing that nvcc makes is kept. test_nvcc.py HEDDLE LIBDIR"""
import os
import subprocess
import sys
import tempfile

from support import Tap, Tool, find_nvcc, home

SOURCE = r"""
#include <cstdio>
__global__ void add(const int *a, int *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = a[i] + i;
}
int main()
{
    const int n = 1000;
    static int host[n];
    int *a, *b, bad = 0;
    cudaMalloc(&a, sizeof host);
    cudaMalloc(&b, sizeof host);
    for (int i = 0; i < n; i++)
        host[i] = 3 * i;
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    add<<<(n + 127) / 128, 128>>>(a, b, n);
    cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        bad += host[i] != 4 * i;
    printf("%s %s\n", bad ? "FAIL" : "PASS", cudaGetErrorName(cudaGetLastError()));
    return bad != 0;
}
"""

# flags of nvcc, runtime, kinds of device code (per entry), runs
BUILDS = {
    "default": ([], "embedded", ["cubin 75", "ptx 75"], True),
    "shared": (["-cudart", "shared", "-arch=compute_80"], "shared", ["ptx 80"], True),
    "size": (["-arch=sm_90", "--compress-mode=size"], "embedded", ["cubin 90", "ptx 90"], True),
    "lz4": (["-arch=compute_75", "--compress-mode=speed"], "embedded", ["ptx 75"], True),
    "plain": (["-arch=compute_75", "-no-compress", "-lineinfo"], "embedded", ["ptx 75"], True),
    "rdc": (["-rdc=true", "-arch=compute_80", "-cudart", "shared"], "shared", ["ptx 80"], True),
    "a": (["-arch=compute_90a"], "embedded", ["ptx 90a"], True),
    "sass": (["-gencode", "arch=compute_90,code=sm_90"], "embedded", ["cubin 90"], False),
    "stripped": (["-Xlinker", "-s"], "stripped", ["cubin 75", "ptx 75"], False),
}

heddle, libdir = sys.argv[1:3]
tap = Tap()
nvcc = find_nvcc()
if not nvcc:
    print("1..0 # SKIP no nvcc")
    sys.exit(0)
have_runtime = os.path.exists(os.path.join(libdir, "../api/runtime/libcudart.so.13"))


def build(name, flags):
    path = os.path.join(folder, name)
    result = subprocess.run([nvcc, os.path.join(folder, "add.cu"), "-o", path, *flags],
                            capture_output=True, text=True)
    tap.ok(result.returncode == 0, f"{name}: nvcc {' '.join(flags)}", result.stderr)
    return path


def check_doctor(name, path, runtime, images, runs):
    got = tool.json("doctor", "--json", path)
    tap.eq(got.get("runtime"), runtime, f"{name}: runtime")
    tap.eq(got.get("cuda_version") in (0, 12, 13), True, f"{name}: version")
    found = {f"{i['kind']} {i['arch']}" for i in got.get("images", []) if
             i["section"] != "__nv_relfatbin" or i["kind"] == "ptx"}
    tap.ok(set(images) <= found, f"{name}: device code", f"{found}")
    if have_runtime or not runs:
        tap.eq(got.get("should_run"), runs, f"{name}: should {'' if runs else 'not '}run")
    if runs:
        tap.ok(got["ptx"]["modules"] >= 1, f"{name}: PTX is read", got["ptx"])


def check_run(name, path, runs):
    if not have_runtime and runs:
        tap.skip("libcudart is not built")
        return
    result = tool("run", path)
    if runs:
        tap.ok(result.returncode == 0 and "PASS cudaSuccess" in result.stdout,
               f"{name}: runs and passes", result.stdout + result.stderr)
    else:
        tap.ok(result.returncode == 1 and "nvcc" in result.stderr, f"{name}: refused with a remedy",
               result.stdout + result.stderr)


def own_nvcc():
    """nvcc in a folder of its own, whose profile puts Heddle's ptxas first: docs/ptxas.md."""
    place = os.path.join(folder, "nvcc")
    top = home(nvcc)
    os.makedirs(place)
    for name, target in (("nvcc", os.path.join(top, "bin/nvcc")), ("crt", os.path.join(top, "bin/crt")),
                         ("ptxas", os.path.abspath(heddle))):
        os.symlink(target, os.path.join(place, name))
    with open(os.path.join(top, "bin/nvcc.profile"), encoding="utf-8") as file:
        lines = [line for line in file if line.split()[:1] not in (["TOP"], ["PATH"])]
    with open(os.path.join(place, "nvcc.profile"), "w", encoding="utf-8") as file:
        file.write(f"TOP = {top}\n" + "".join(lines) + "PATH += $(_HERE_):$(CICC_PATH):$(TOP)/bin:\n")
    return os.path.join(place, "nvcc")


def check_own_ptxas():
    """What would be machine code for one GPU is an image that runs."""
    path = os.path.join(folder, "own")
    command = [own_nvcc(), os.path.join(folder, "add.cu"), "-o", path, "-cudart", "shared",
               "-gencode", "arch=compute_80,code=sm_80", "-Xptxas", "-v"]
    done = subprocess.run(command, capture_output=True, text=True)
    tap.ok(done.returncode == 0 and "Heddle's own GPU" in done.stdout + done.stderr, "nvcc starts Heddle's ptxas",
           done.stdout + done.stderr)
    tap.eq(tool.json("doctor", "--json", path).get("should_run"), True, "doctor takes its image for usable")
    check_run("own ptxas", path, True)


with tempfile.TemporaryDirectory() as folder:
    tool = Tool(heddle, folder)
    with open(os.path.join(folder, "add.cu"), "w") as f:
        f.write(SOURCE)
    for name, (flags, runtime, images, runs) in BUILDS.items():
        path = build(name, flags)
        if os.path.exists(path):
            check_doctor(name, path, runtime, images, runs)
            check_run(name, path, runs)
    check_own_ptxas()
tap.done()
