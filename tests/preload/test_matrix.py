#!/usr/bin/env python3
"""Every way in which nvcc binds the runtime: test_matrix.py HEDDLE

Runtime shared or static, device code whole or relocatable, architecture, optimisation, symbols kept or
stripped. The program has functions of its own that begin like the runtime's. Skipped without nvcc."""
import itertools
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap, Tool, find_nvcc, write  # noqa: E402

MAIN = r"""
#include <cerrno>
#include <cstdio>
#include <cstring>
#ifdef RDC
extern __device__ int counter;
__device__ int square(int x);
#else
static __device__ int counter = 100;
static __device__ int square(int x) { return x * x; }
#endif
int count();
extern "C" int cudaCheckMine(int x) { return x + 1; }
extern "C" int cudaInitMyLib(void) { return 7; }
extern "C" int __cudaMine(void) { return 8; }
extern "C" void cuMyHelper(int *x) { *x = 5; }
__global__ void k(int *out) { *out = square(4) + counter; }
int main(int argc, char **argv)
{
    int *out, y = 0;
    cuMyHelper(&y);
    cudaError_t status = cudaMallocManaged(&out, 4);
    *out = 0;
    k<<<1, 1>>>(out);
    if (!status)
        status = cudaDeviceSynchronize();
    bool good = !status && *out == 116 && count() == 101;
    good = good && cudaCheckMine(1) == 2 && cudaInitMyLib() == 7 && __cudaMine() == 8 && y == 5;
    /* The C library was told of its arguments, though we have opened a library before. */
    good = good && argc == 1 && !strcmp(program_invocation_name, argv[0]) && strstr(argv[0], program_invocation_short_name) && *program_invocation_short_name;
    printf("%s %d %s\n", good ? "PASS" : "FAIL", *out, cudaGetErrorName(status));
    return !good;
}
"""
OTHER = r"""
__device__ int counter = 100;
#ifdef RDC
__device__ int square(int x) { return x * x; }
#endif
__global__ void increment() { counter++; }
int count()
{
    int value = 0;
    increment<<<1, 1>>>();
    cudaError_t status = cudaMemcpyFromSymbol(&value, counter, sizeof value);
    return status ? -(int)status : value;
}
"""

LIBRARY = r"""
__device__ int three() { return 3; }
__global__ void k(int *p) { *p = three(); }
extern "C" int go()
{
    int *p, h = 0;
    if (cudaMalloc(&p, 4))
        return 1;
    k<<<1, 1>>>(p);
    if (cudaGetLastError())
        return 2;
    if (cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost))
        return 3;
    cudaFree(p);
    return h == 3 ? 0 : 4;
}
"""
OPENS = """
import ctypes, _ctypes, sys
for i in range(20):
    library = ctypes.CDLL(sys.argv[1])
    status = library.go()
    if status:
        sys.exit(status)
    _ctypes.dlclose(library._handle)
print("PASS")
"""

tap = Tap()
nvcc = find_nvcc()
if not nvcc:
    print("1..0 # SKIP no nvcc")
    sys.exit(0)


def compile_(name, source, *flags):
    done = subprocess.run([nvcc, "-c", os.path.join(folder, source), "-o", os.path.join(folder, name), *flags],
                          capture_output=True, text=True)
    if done.returncode:
        tap.ok(False, f"{name}: nvcc {' '.join(flags)}", done.stdout + done.stderr)
    return os.path.join(folder, name)


def check(path, stripped, static):
    name = os.path.basename(path)
    result = tool("run", path)
    verdict = tool.json("doctor", "--json", path).get("should_run")
    output = result.stdout + result.stderr
    if stripped and static:
        tap.ok(result.returncode == 1 and "-cudart shared" in result.stderr, f"{name}: refused with a remedy", output)
    else:
        tap.ok(result.returncode == 0 and "PASS 116 cudaSuccess" in result.stdout and not result.stderr,
               f"{name}: right", f"exit status {result.returncode}\n{output}")
    tap.eq(verdict, not (stripped and static), f"{name}: doctor agrees")


def build(rdc, arch, level):
    name = f"{'rdc' if rdc else 'whole'}-{arch}{level[0]}"
    flags = [f"-rdc={'true' if rdc else 'false'}", f"-arch=sm_{arch}", *level] + ["-DRDC"] * rdc
    objects = [compile_(name + ".main.o", "main.cu", *flags), compile_(name + ".other.o", "other.cu", *flags)]
    for runtime in ("shared", "static"):
        path = os.path.join(folder, f"{name}-{runtime}")
        done = subprocess.run([nvcc, *objects, "-o", path, "-cudart", runtime, *flags], capture_output=True, text=True)
        if done.returncode:
            tap.ok(False, f"{path}: link", done.stdout + done.stderr)
            continue
        check(path, False, runtime == "static")
        subprocess.run(["strip", path, "-o", path + "-stripped"], check=True)
        check(path + "-stripped", True, runtime == "static")


def build_opened(rdc):
    """A shared object with the static runtime, as Python's extension modules have it."""
    path = os.path.join(folder, f"opened{rdc}.so")
    done = subprocess.run([nvcc, "-shared", "-Xcompiler", "-fPIC", f"-rdc={rdc}", "-arch=sm_75",
                           os.path.join(folder, "library.cu"), "-o", path], capture_output=True, text=True)
    result = tool("run", sys.executable, "-c", OPENS, path)
    tap.ok(result.returncode == 0 and "PASS" in result.stdout and not result.stderr,
           f"opened and closed 20 times by Python, -rdc={rdc}", done.stderr + result.stdout + result.stderr)


with tempfile.TemporaryDirectory() as folder:
    tool = Tool(sys.argv[1], folder)
    write(os.path.join(folder, "main.cu"), MAIN)
    write(os.path.join(folder, "other.cu"), OTHER)
    write(os.path.join(folder, "library.cu"), LIBRARY)
    build_opened("false")
    build_opened("true")
    for choice in itertools.product((False, True), (75, 120), (["-O0", "-G"], ["-O3"])):
        build(*choice)
tap.done()
