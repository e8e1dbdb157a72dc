/* Functions that __CUDA_ARCH__ chooses, called by both sides: each pass asks its own side's callers. */
#include <cstdio>

namespace side {
#if defined(__CUDA_ARCH__)
template <class T> static inline __device__ void capture(T &a, T b, T &old)
{
    old = atomicAdd(&a, b);
}
static __device__ int which()
{
    return 2;
}
#else
template <class T> static inline void capture(T &a, T b, T &old)
{
    old = a;
    a += b;
}
static int which()
{
    return 1;
}
#endif
} // namespace side

struct tally {
    unsigned long long sum, last;
    __host__ __device__ int add(unsigned long long by)
    {
        side::capture(sum, by, last);
        return side::which();
    }
};
#ifdef WRONG_KERNEL
int host_only();
#endif
__global__ void kernel(tally *t, int *out)
{
    *out = t->add(5);
#ifdef WRONG_KERNEL
    *out += host_only();
#endif
}
#ifdef WRONG_HOST
__device__ int device_only(int)
{
    return 1;
}
#endif
static int host(tally *t)
{
#ifdef WRONG_HOST
    return device_only(1);
#endif
    side::capture(t->sum, 3ull, t->last);
    return side::which();
}
int main()
{
    tally *t;
    int *out;
    cudaMallocManaged(&t, sizeof(*t));
    cudaMallocManaged(&out, sizeof(*out));
    *t = tally{10, 0};
    int wrong = (host(t) != 1) + (t->sum != 13) + (t->last != 10) + (t->add(1) != 1);
    kernel<<<1, 1>>>(t, out);
    cudaError_t error = cudaDeviceSynchronize();
    wrong += (*out != 2) + (t->sum != 19) + (t->last != 14) + (error != cudaSuccess);
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(error));
    return wrong != 0;
}
