// A kernel that Heddle cannot load (the instruction is one that it lacks) beside one that it can. What is
// launched unchecked shows up where CUDA says it does: as the last error.
#include <cstdio>

__global__ void plain(float *c)
{
    *c = 4;
}

__global__ void lacking(float *c)
{
    asm volatile("{ .reg .f64 a, b, x, y; mov.f64 a, 0d0000000000000000; mov.f64 b, a; mov.f64 x, a; mov.f64 y, a;\n"
                 "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f32 {x, y}, {a}, {b}, {x, y}; }");
    *c = 5;
}

int main()
{
    float *c;
    cudaMallocManaged(&c, 4);
    *c = 0;
    plain<<<1, 1>>>(c);
    bool good = cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess && *c == 4;
    lacking<<<1, 1>>>(c);
    cudaError_t last = cudaGetLastError();
    good &= last == cudaErrorNotSupported && *c == 4;
    plain<<<1, 1>>>(c);
    good &= cudaDeviceSynchronize() == cudaSuccess;
    printf("%s %s\n", good ? "PASS" : "FAIL", cudaGetErrorName(last));
}
