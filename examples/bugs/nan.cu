/* Newton's method for a square root; one of the threads gets NaN on the way. */
#include <cstdio>

__global__ void roots(const float *a, float *out)
{
    float x = 1, step = 0;
    for (int k = 0; k < 100; k++) {
        step = (x * x - a[threadIdx.x]) / (2 * x);
        x -= step;
    }
    out[threadIdx.x] = x;
}

int main()
{
    float *a, *out;
    cudaMallocManaged(&a, 32 * sizeof(float));
    cudaMallocManaged(&out, 32 * sizeof(float));
    for (int i = 0; i < 32; i++)
        a[i] = (float)i;
    a[7] = -1; /* bug: has no root, and the first step makes x 0 */
    roots<<<1, 32>>>(a, out);
    cudaDeviceSynchronize();
    printf("root of 9 is %g, of a[7] %g\n", out[9], out[7]);
}
