/* Bytes that are neither 0 nor 1, read as bools: true, and copied as they are. */
#include <cstdio>

__global__ void read(const bool *in, bool *copies, int *truths)
{
    int i = threadIdx.x;
    __shared__ bool shared[256];
    shared[i] = in[i];
    __syncthreads();
    copies[i] = in[i];
    truths[i] = (in[i] ? 1 : 0) + (!shared[i] ? 0 : 2);
}

int main()
{
    unsigned char bytes[256], copies[256], *in, *out;
    int truths[256], *truths_dev, wrong = 0;
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    cudaMalloc(&in, sizeof(bytes));
    cudaMalloc(&out, sizeof(bytes));
    cudaMalloc(&truths_dev, sizeof(truths));
    cudaMemcpy(in, bytes, sizeof(bytes), cudaMemcpyHostToDevice);
    read<<<1, 256>>>((const bool *)in, (bool *)out, truths_dev);
    cudaMemcpy(copies, out, sizeof(copies), cudaMemcpyDeviceToHost);
    cudaMemcpy(truths, truths_dev, sizeof(truths), cudaMemcpyDeviceToHost);
    for (int i = 0; i < 256; i++)
        wrong += copies[i] != i || truths[i] != (i ? 3 : 0);
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
