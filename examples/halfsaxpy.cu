/* y = a x + y in half precision, two elements per instruction with __half2 and fused multiply-
 * add. */
#include "example.h"
#include <cuda_fp16.h>

__global__ void saxpy(int pairs, __half2 a, const __half2 *x, __half2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < pairs)
        y[i] = __hfma2(a, x[i], y[i]);
}

__global__ void to_half(const float *in, __half *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = __float2half(in[i]);
}

__global__ void to_float(const __half *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = __half2float(in[i]);
}

int main()
{
    const int n = 1 << 16;
    const float a = 1.5f;
    static float x[1 << 16], y[1 << 16], result[1 << 16];
    float *dev_f;
    __half *dev_x, *dev_y;
    double worst = 0;

    /* Multiples of 1/16 below 64: exact in half precision, so only the fma's one rounding
     * remains. */
    for (int i = 0; i < n; i++) {
        x[i] = (float)(i % 1024) / 16;
        y[i] = (float)(i * 7 % 1024) / 16 - 32;
    }
    CHECK(cudaMalloc(&dev_f, sizeof(x)));
    CHECK(cudaMalloc(&dev_x, n * sizeof(__half)));
    CHECK(cudaMalloc(&dev_y, n * sizeof(__half)));
    CHECK(cudaMemcpy(dev_f, x, sizeof(x), cudaMemcpyHostToDevice));
    to_half<<<n / 256, 256>>>(dev_f, dev_x, n);
    CHECK(cudaMemcpy(dev_f, y, sizeof(y), cudaMemcpyHostToDevice));
    to_half<<<n / 256, 256>>>(dev_f, dev_y, n);
    saxpy<<<n / 2 / 256, 256>>>(n / 2, __float2half2_rn(a), (const __half2 *)dev_x,
                                (__half2 *)dev_y);
    to_float<<<n / 256, 256>>>(dev_y, dev_f, n);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(result, dev_f, sizeof(result), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        double exact = (double)a * x[i] + y[i];

        /* half has 11 significant bits: relative error of one rounding at most 2^-11 */
        worst = fmax(worst, fabs(result[i] - exact) / fmax(fabs(exact), 1e-3));
    }
    CHECK(cudaFree(dev_f));
    CHECK(cudaFree(dev_x));
    CHECK(cudaFree(dev_y));
    return verdict(worst <= 1.0 / 2048, "halfsaxpy: %d elements, largest relative error %.2g", n,
                   worst);
}
