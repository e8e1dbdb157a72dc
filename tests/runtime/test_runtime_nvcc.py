#!/usr/bin/env python3
"""Programs built by nvcc, run on the CPU device: shared and static runtime, relocatable code, a default
stream per thread, several objects; and a library of kernels that is loaded and unloaded.

    test_runtime_nvcc.py HEDDLE LIBDIR
"""
import os
import shutil
import subprocess
import sys
import tempfile

heddle, libdir = (os.path.abspath(p) for p in sys.argv[1:3])
nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
count = failed = 0

MAIN = r"""
#include <cstdio>
#include <thread>
__device__ int counter;
__constant__ int factor = 3;
__managed__ int total = 1;
extern int run_other(int *);
template <typename T> __global__ void scale(T *p, int n) {
    extern __shared__ int block[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    block[threadIdx.x] = i;
    __syncthreads();
    if (i < n) {
        p[i] = (T)(block[blockDim.x - 1 - threadIdx.x] * factor);
        atomicAdd(&counter, 1);
        atomicAdd(&total, 1);
    }
}
#define CHECK(call) do { cudaError_t e = (call); if (e) { \
    printf("%s: %s\n", #call, cudaGetErrorString(e)); return 1; } } while (0)
int main() {
    const int n = 1000;
    double *d, h[n];
    int k = 0, *other, seen = 0;
    cudaDeviceProp prop;
    CHECK(cudaMalloc(&d, sizeof h));
    scale<<<(n + 127) / 128, 128, 128 * sizeof(int)>>>(d, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&k, counter, sizeof k));
    CHECK(cudaGetDeviceProperties(&prop, 0));
    for (int i = 0; i < n; i++) {
        int start = i / 128 * 128, j = start + 127 - (i - start);
        if (h[i] != j * 3) { printf("wrong at %d\n", i); return 1; }
    }
    CHECK(cudaMalloc(&other, 4));
    CHECK((cudaError_t)run_other(other));
    CHECK(cudaMemcpy(&seen, other, 4, cudaMemcpyDefault));
    std::thread([&] { scale<<<1, 32, 128>>>(d, 32); cudaDeviceSynchronize(); }).join();
    printf("counter %d total %d other %d cc %d.%d threads %d\n", k, total, seen, prop.major,
           prop.minor, prop.maxThreadsPerBlock);
    return 0;
}
"""
OTHER = "__global__ void set(int *p) { *p = 42; }\n" \
        "int run_other(int *p) { set<<<1, 1>>>(p); return cudaGetLastError(); }\n"
RDC_OTHER = "__device__ int helper(int v) { return v * 2; }\nextern __device__ int shared_value;\n" \
            "__global__ void set(int *p) { *p = helper(20) + shared_value; }\n" \
            "int run_other(int *p) { set<<<1, 1>>>(p); return cudaGetLastError(); }\n"
WANT = "counter 1000 total 1033 other 42 cc 12.0 threads 1024\n"


def ok(passed, name, note=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    for line in str(note).splitlines() if not passed else ():
        print("#", line)


def build(folder, name, sources, *flags):
    paths = []
    for i, text in enumerate(sources):
        paths.append(os.path.join(folder, f"{name}{i}.cu"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    out = os.path.join(folder, name)
    result = subprocess.run([nvcc, "-o", out, *flags, *paths], capture_output=True, text=True, check=False)
    if result.returncode:
        ok(False, f"nvcc builds {name}", result.stdout + result.stderr)
        return None
    return out


def run(argv, **env):
    full = dict(os.environ, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M", **env)
    return subprocess.run(argv, env=full, capture_output=True, text=True, timeout=120, check=False)


def check(name, result, want=WANT):
    ok(result.returncode == 0 and result.stdout == want, name,
       f"status {result.returncode}\n{result.stdout}{result.stderr}")


def main():
    if not os.path.exists(nvcc):
        print("1..0 # SKIP no nvcc")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        shared = build(folder, "shared", [MAIN, OTHER], "-cudart", "shared", "-arch=compute_80")
        if shared:
            check("shared runtime, found by the loader", run([shared], LD_LIBRARY_PATH=libdir))
            check("shared runtime, heddle run", run([heddle, "run", shared]))
        static = build(folder, "static", [MAIN, OTHER])
        if static:
            check("static runtime, heddle run", run([heddle, "run", static]))
        ptds = build(folder, "ptds", [MAIN, OTHER], "-cudart", "shared", "-default-stream", "per-thread")
        if ptds:
            check("a default stream per thread", run([ptds], LD_LIBRARY_PATH=libdir))
        rdc = build(folder, "rdc", [MAIN + "\n__device__ int shared_value = 2;\n", RDC_OTHER], "-rdc=true",
                    "-cudart", "shared", "-arch=compute_80")
        if rdc:
            check("relocatable device code", run([rdc], LD_LIBRARY_PATH=libdir))
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
