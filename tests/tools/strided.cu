/* Columns of a matrix: strided.cu LAUNCHES [children]. What test_prof_groups.py knows of it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void columns(float *out, const float *in, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 4; i++)
        out[row * n + i] = in[row * n + i] + 1; /* the strided line */
}

__global__ void rows(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
}

int main(int argc, char **argv)
{
    int launches = atoi(argv[1]), n = 64, children = argc > 2 ? atoi(argv[2]) : 0;
    float *a, *b;

    while (children--)
        if (!fork())
            break;
    cudaMalloc((void **)&a, 128 * n * sizeof(float));
    cudaMalloc((void **)&b, 128 * n * sizeof(float));
    cudaMemset(a, 0, 128 * n * sizeof(float));
    for (int i = 0; i < launches; i++) {
        columns<<<2, 64>>>(b, a, n);
        rows<<<2, 64, i % 2 ? 1024 : 0>>>(b, a);
    }
    rows<<<1, 128>>>(b, a);
    int error = cudaDeviceSynchronize() != cudaSuccess;
    printf("done\n");
    fflush(stdout);
    while (wait(NULL) > 0)
        ;
    return error;
}
