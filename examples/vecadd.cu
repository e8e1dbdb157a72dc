/* Vector addition: the smallest complete CUDA program. Allocate, copy in, launch, copy out,
 * compare. */
#include "example.h"

/* Each thread computes one element; the grid may be larger than the vector. */
__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1 << 20;
    const size_t size_B = n * sizeof(float);
    float *a = (float *)malloc(size_B), *b = (float *)malloc(size_B), *c = (float *)malloc(size_B);
    float *dev_a, *dev_b, *dev_c;
    int wrong = 0;

    for (int i = 0; i < n; i++) {
        a[i] = 0.5f * i;
        b[i] = 1000.0f - i;
    }
    CHECK(cudaMalloc(&dev_a, size_B));
    CHECK(cudaMalloc(&dev_b, size_B));
    CHECK(cudaMalloc(&dev_c, size_B));
    CHECK(cudaMemcpy(dev_a, a, size_B, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dev_b, b, size_B, cudaMemcpyHostToDevice));

    vecadd<<<(n + 255) / 256, 256>>>(dev_a, dev_b, dev_c, n);
    CHECK_KERNEL();

    CHECK(cudaMemcpy(c, dev_c, size_B, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        wrong += c[i] != a[i] + b[i];
    CHECK(cudaFree(dev_a));
    CHECK(cudaFree(dev_b));
    CHECK(cudaFree(dev_c));
    free(a);
    free(b);
    free(c);
    return verdict(wrong == 0, "vecadd: %d elements, %d wrong", n, wrong);
}
