/* Half precision and bfloat16, single and in pairs.
 * expect: fma\.rn\.f16
 * expect: fma\.rn\.f16x2
 * expect: fma\.rn\.bf16x2
 * expect: add\.(rn\.)?bf16
 * expect: atom\.add\.noftz\.f16x2
 * expect: cvt\.rn\.f16\.f32
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T, class T2> __global__ void halves(T *a, T2 *b, int *q, float *f)
{
    int i = threadIdx.x;
    a[i] = a[i] * a[i + 1] + a[i + 2];
    a[i] += __hfma(a[i], a[i + 1], a[i + 2]);
    b[i] = __hfma2(b[i], b[i + 1], b[i + 2]) * b[i];
    if (a[i] > a[i + 1])
        a[i] = hexp(a[i]);
    b[i] = h2sqrt(b[i]);
    q[i] = __hbeq2(b[i], b[i + 1]) + __hlt(a[i], a[i + 1]) + (int)a[i];
    a[i] = __hmax(a[i], __hneg(a[i + 3]));
    atomicAdd(a, a[1]);
    atomicAdd(b, b[1]);
    a[i] = __shfl_xor_sync(~0u, a[i], 1);
    b[i] = __shfl_down_sync(~0u, b[i], 1);
    f[i] = (float)__ldg(a + 4) + __low2float(b[i]);
    a[i] = (T)f[i];
}
template __global__ void halves<__half, __half2>(__half *, __half2 *, int *, float *);
template __global__ void halves<__nv_bfloat16, __nv_bfloat162>(__nv_bfloat16 *, __nv_bfloat162 *, int *,
                                                               float *);

__global__ void convert(__half *h, __nv_bfloat16 *b, int *i, float *f, float2 *f2)
{
    i[0] = __half2int_rn(h[0]) + __bfloat162int_rz(b[0]);
    h[1] = __float2half_rz(f[0]);
    b[1] = __float2bfloat16_ru(f[1]);
    b[2] = __nv_bfloat16(h[1]);
    h[2] = __half(b[2]);
    f2[0] = __half22float2(__floats2half2_rn(f[0], f[1]));
    f2[1] = __bfloat1622float2(__floats2bfloat162_rn(f[0], f[1]));
    h[3] = __int2half_rn(i[4]);
    b[3] = __float2bfloat16(f[3]) + __ushort_as_bfloat16(0x3f80);
}
