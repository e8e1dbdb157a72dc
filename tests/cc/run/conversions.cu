/*
 * Floating point to integers where the integer cannot hold the value: the device saturates, also where
 * the compiler sees the constant. `what` says what PTX's cvt.rzi makes of it.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>

/* A narrow integer is the lower half of one of 32 bits. */
template <class Int, class Float> __host__ __device__ Int what(double x)
{
    using wide = std::conditional_t<(sizeof(Int) >= 4), Int,
                                    std::conditional_t<std::is_signed<Int>::value, int, unsigned>>;
    const bool signs = std::is_signed<wide>::value;
    const wide top = signs ? (wide)(~0ull >> (65 - 8 * sizeof(wide)))
                           : (wide)(~0ull >> (64 - 8 * sizeof(wide)));
    const wide half = (wide)(1ull << (8 * sizeof(wide) - 1));
    if (x != x)
        return (Int)(sizeof(wide) == 8 || sizeof(Float) == 8 ? half : (wide)0);
    const double limit = (sizeof(wide) == 8 ? 18446744073709551616.0 : 4294967296.0) / (signs ? 2 : 1);
    if (x >= limit)
        return (Int)top;
    if (signs ? x < -limit : x < 0)
        return (Int)(signs ? half : (wide)0);
    return (Int)(wide)x;
}

#define VALUES(X)                                                                                  \
    X(1e30) X(-1e30) X(3e38) X(1e19) X(-1e19) X(5e9) X(-5e9) X(3e9) X(-3e9) X(70000.0)             \
    X(-70000.0) X(300.0) X(-300.0) X(200.0) X(-1.0) X(-0.9) X(1.9) X(-1.9) X(0.0)                  \
    X(__builtin_inf()) X(-__builtin_inf()) X(__builtin_nan(""))

template <class Float> __device__ Float rounded(double x)
{
    return (Float)x;
}
template <> __device__ __half rounded<__half>(double x)
{
    return __double2half(x);
}
template <> __device__ __nv_bfloat16 rounded<__nv_bfloat16>(double x)
{
    return __double2bfloat16(x);
}
template <class Float> __device__ double back(Float x)
{
    return (double)x;
}
template <> __device__ double back<__half>(__half x)
{
    return (double)__half2float(x);
}
template <> __device__ double back<__nv_bfloat16>(__nv_bfloat16 x)
{
    return (double)__bfloat162float(x);
}

/* `seen` is what the compiler knows, `unseen` what it has to load. */
template <class Int, class Float>
__device__ void check(double seen, const double *unseen, int *wrong)
{
    const Float constant = rounded<Float>(seen), loaded = rounded<Float>(*unseen);
    const Int want = what<Int, Float>(back<Float>(constant));
    __shared__ volatile Int stored[2];
    stored[0] = stored[1] = (Int)0x55;
    stored[0] = (Int)constant;
    stored[1] = (Int)loaded;
    if (stored[0] != want || stored[1] != want) {
        printf("%s %g to %d bits, %s: constant %llx, loaded %llx, not %llx\n",
               sizeof(Float) == 8 ? "double" : sizeof(Float) == 4 ? "float" : "16 bits",
               back<Float>(constant), (int)(8 * sizeof(Int)),
               std::is_signed<Int>::value ? "signed" : "unsigned", (unsigned long long)stored[0],
               (unsigned long long)stored[1], (unsigned long long)want);
        atomicAdd(wrong, 1);
    }
}

template <class Float>
__device__ void narrow(double seen, const double *unseen, int *wrong)
{
    if constexpr (sizeof(Float) > 2) { /* those of 16 bits are the headers', which clamp */
        check<signed char, Float>(seen, unseen, wrong);
        check<unsigned char, Float>(seen, unseen, wrong);
    }
}

template <class Float> __global__ void casts(const double *unseen, int *wrong)
{
    int which = 0;
#define CAST(x)                                                                                    \
    narrow<Float>(x, unseen + which, wrong);                                                \
    check<short, Float>(x, unseen + which, wrong);                                          \
    check<unsigned short, Float>(x, unseen + which, wrong);                                 \
    check<int, Float>(x, unseen + which, wrong);                                            \
    check<unsigned, Float>(x, unseen + which, wrong);                                       \
    check<long long, Float>(x, unseen + which, wrong);                                      \
    check<unsigned long long, Float>(x, unseen + which, wrong);                             \
    which++;
    VALUES(CAST)
}

__global__ void functions(const double *unseen, int *wrong)
{
    int which = 0;
#define FUNCTION(fn, Int, Float, x)                                                                \
    if (fn((Float)(x)) != what<Int, Float>((double)(Float)(x)) ||                                  \
        fn((Float)unseen[which]) != what<Int, Float>((double)(Float)(x))) {                        \
        printf(#fn "(%g)\n", (double)(x));                                                         \
        atomicAdd(wrong, 1);                                                                       \
    }
#define FUNCTIONS(x)                                                                               \
    FUNCTION(__double2int_rz, int, double, x)                                                      \
    FUNCTION(__double2uint_rz, unsigned, double, x)                                                \
    FUNCTION(__double2ll_rz, long long, double, x)                                                 \
    FUNCTION(__double2ull_rz, unsigned long long, double, x)                                       \
    FUNCTION(__float2int_rz, int, float, x)                                                        \
    FUNCTION(__float2uint_rz, unsigned, float, x)                                                  \
    FUNCTION(__float2ll_rz, long long, float, x)                                                   \
    FUNCTION(__float2ull_rz, unsigned long long, float, x)                                         \
    which++;
    VALUES(FUNCTIONS)
}

int main()
{
#define VALUE(x) x,
    const double values[] = {VALUES(VALUE)};
    double *unseen;
    int *wrong;
    cudaMallocManaged(&unseen, sizeof(values));
    cudaMallocManaged(&wrong, sizeof(int));
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        unseen[i] = values[i];
    casts<float><<<1, 1>>>(unseen, wrong);
    casts<double><<<1, 1>>>(unseen, wrong);
    casts<__half><<<1, 1>>>(unseen, wrong);
    casts<__nv_bfloat16><<<1, 1>>>(unseen, wrong);
    functions<<<1, 1>>>(unseen, wrong);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%d wrong, %s\n", *wrong, cudaGetErrorString(error));
    return *wrong != 0 || error != cudaSuccess;
}
