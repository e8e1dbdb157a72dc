/* Macros that stand for pragmas at the beginning of a line: nvcc reads preprocessed text again. */
#include <cstdio>

#define UNROLL       #pragma unroll
#define UNROLL_TWO   #pragma unroll 2
#define UNROLL_THREE #pragma unroll (1 + 2)
#define KEEP         #pragma nounroll
#ifdef __CUDA_ARCH__
#define ON_DEVICE #pragma unroll
#else
#define ON_DEVICE
#endif
#define TEXT(...) #__VA_ARGS__
#define NOT_A_PRAGMA "\
 #pragma unroll"

template <int N> __host__ __device__ int sum(int from)
{
    auto each = [&](int i) {
        int part = 0;
        ON_DEVICE
        for (int j = i; j < N; j++)
            part += j;
        return part;
    };
    int all = 0;
    UNROLL
    for (int i = from; i < N; i++)
        UNROLL_TWO
        for (int k = 0; k < 1; k++)
            all += each(i);
    return all;
}
__global__ void kernel(int *out)
{
    int x = 0;
    UNROLL_THREE
    for (int i = 0; i < 6; i++)
        x += sum<5>(i);
    KEEP
    for (int i = 0; i < 4; i++)
        x += i;
    *out = x;
}
int main()
{
    int *out;
    cudaMallocManaged(&out, sizeof(*out));
    kernel<<<1, 1>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    int want = 6;
    for (int i = 0; i < 6; i++)
        want += sum<5>(i);
    int wrong = (*out != want) + (sizeof(NOT_A_PRAGMA) != 16) + (sizeof(TEXT(a # pragma b)) != 13);
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(error));
    return wrong != 0 || error != cudaSuccess;
}
