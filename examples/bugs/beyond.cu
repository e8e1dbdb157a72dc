/* Writes beyond an array: the last block has more threads than there are elements left. */
#include <cstdio>

__global__ void scale(float *v, int n, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    v[i] *= by; /* bug: nobody asks whether i < n */
}

int main()
{
    const int n = 1000;
    float *v;
    cudaMalloc(&v, n * sizeof(float));
    cudaMemset(v, 0, n * sizeof(float));
    scale<<<4, 256>>>(v, n, 2.0f);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(v);
}
