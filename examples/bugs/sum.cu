/* Adds the numbers 1 to 128 in one block, and forgets to wait for the other warps. */
#include <cstdio>

__global__ void sum(const int *in, int *out)
{
    __shared__ int part[128];
    int t = threadIdx.x;
    part[t] = in[t];
    /* bug: no __syncthreads() */
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        *out = part[0];
}

int main()
{
    int *in, *out;
    cudaMallocManaged(&in, 128 * sizeof(int));
    cudaMallocManaged(&out, sizeof(int));
    for (int i = 0; i < 128; i++)
        in[i] = i + 1;
    sum<<<1, 128>>>(in, out);
    cudaDeviceSynchronize();
    printf("sum %d, and should be %d\n", *out, 128 * 129 / 2);
}
