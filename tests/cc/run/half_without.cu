/*
 * Halves without conversions and operators, as PyTorch's extensions are compiled: a class of the
 * program's own, which converts to halves and to float, is neither ambiguous nor one of ours, and
 * the functions are what they were.
 */
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <type_traits>

template <class H, class Raw> struct own {
    unsigned short bits;

    own() = default;
    __host__ __device__ own(const H &h) : bits(((Raw)h).x)
    {
    }
    __host__ __device__ operator H() const
    {
        return H(Raw{bits});
    }
    __host__ __device__ operator float() const
    {
        return 1.0f + bits;
    }
};
typedef own<__half, __half_raw> own_half;
typedef own<__nv_bfloat16, __nv_bfloat16_raw> own_bfloat;

/* Pairs have operators of the program. */
struct sum {
    int pairs;
};
__host__ __device__ static sum operator+(__half2, __half2)
{
    return {2};
}
__host__ __device__ static sum operator+(__nv_bfloat162, __nv_bfloat162)
{
    return {3};
}

static_assert(!std::is_constructible<__half, float>::value, "");
static_assert(!std::is_constructible<__half, int>::value, "");
static_assert(!std::is_convertible<__half, float>::value, "");
static_assert(!std::is_constructible<__half, __nv_bfloat16>::value, "");
static_assert(!std::is_constructible<__nv_bfloat16, double>::value, "");
static_assert(!std::is_convertible<__nv_bfloat16, bool>::value, "");
static_assert(!std::is_constructible<__nv_bfloat16, __half>::value, "");

/* A bit for what is wrong. */
__host__ __device__ static unsigned check(void)
{
    own_half a{__float2half(2.0f)}, b{__float2half(3.0f)};
    own_bfloat c{__float2bfloat16(2.0f)}, d{__float2bfloat16(3.0f)};
    __half x = a, y = b, h = __hadd(x, y);
    __nv_bfloat16 z = c, w = d, g = __hmul(z, w);
    unsigned wrong = 0;

    wrong |= (a < b && !(a == b)) ? 0 : 1u;
    wrong |= (c < d && c + d > 32000.0f) ? 0 : 2u;
    wrong |= __half2float(h) == 5.0f && __bfloat162float(g) == 6.0f ? 0 : 4u;
    wrong |= __hlt(x, y) && __hne(z, w) ? 0 : 8u;
    wrong |= __half_as_ushort(__float2half_ru(1.0001f)) == 0x3c01 &&
                     __bfloat16_as_ushort(__int2bfloat16_rn(257)) == 0x4380
                 ? 0
                 : 16u;
    wrong |= (__half2half2(h) + __half2half2(h)).pairs == 2 &&
                     (__bfloat162bfloat162(g) + __bfloat162bfloat162(g)).pairs == 3
                 ? 0
                 : 32u;
    wrong |= (float)__nv_fp8_e4m3(h) == 5.0f && (float)__nv_fp8_e5m2(g) == 6.0f ? 0 : 64u;
    wrong |=
        __low2float(__hfma2(__half2half2(x), __half2half2(y), __half2half2(h))) == 11.0f ? 0 : 128u;
    return wrong;
}

__global__ void run(unsigned *out)
{
    *out = check();
}

int main()
{
    unsigned *device, host = ~0u;
    cudaMalloc(&device, sizeof(*device));
    run<<<1, 1>>>(device);
    cudaMemcpy(&host, device, sizeof(host), cudaMemcpyDeviceToHost);
    printf("device %x, host %x\n", host, check());
    return host || check();
}
