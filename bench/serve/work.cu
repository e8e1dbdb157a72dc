/* Kernels one after the other; a line with how many there were, each 250 ms. For load.py. */
#include <cstdio>
#include <time.h>

__global__ void work(float *x, int turns)
{
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];

    for (int i = 0; i < turns; i++)
        v = v * 0.999f + 0.5f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

static double now_s()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main()
{
    float *x;

    cudaMalloc(&x, 64 * 256 * sizeof(float));
    cudaMemset(x, 0, 64 * 256 * sizeof(float));
    for (;;) {
        double begin = now_s();
        long n = 0;

        while (now_s() - begin < 0.25) {
            work<<<64, 256>>>(x, 500);
            cudaDeviceSynchronize();
            n++;
        }
        if (printf("%.2f\n", n / (now_s() - begin)) < 0 || fflush(stdout))
            return 0;
    }
}
