/* Smooths a row; its right end should take the element at its left, and takes another one. */
#include <cstdio>

__global__ void smooth(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    float left, right;
    if (i > 0 && i < n - 1) {
        left = in[i - 1];
        right = in[i + 1];
    } else if (i == 0) {
        left = in[0];
        right = in[1];
    } else {
        left = in[n - i]; /* bug: should be in[i - 1] */
        right = in[i];
    }
    out[i] = (left + in[i] + right) / 3;
}

int main()
{
    const int n = 32;
    float *in, *out;
    cudaMallocManaged(&in, n * sizeof(float));
    cudaMallocManaged(&out, n * sizeof(float));
    for (int i = 0; i < n; i++)
        in[i] = 3.0f * i;
    smooth<<<1, n>>>(in, out, n);
    cudaDeviceSynchronize();
    printf("out[30] %g, out[31] %g\n", out[30], out[31]);
}
