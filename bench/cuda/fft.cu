/* Fourier transforms of 512 complex numbers: a CTA of 64 threads per transform, three steps of
 * radix 8 in Stockham's order, which need no reversal of bits, through shared memory. */
#include "cu.h"

enum { THREADS = FFT_N / 8 };

/* A padding pair per 16 spreads the strided stores over the banks. */
#define P(i) ((i) + ((i) >> 4))

static __device__ float2 times(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static __device__ void dft2(float2 &a, float2 &b)
{
    float2 d = make_float2(a.x - b.x, a.y - b.y);

    a = make_float2(a.x + b.x, a.y + b.y);
    b = d;
}

/* Times -i. */
static __device__ float2 turned(float2 a)
{
    return make_float2(a.y, -a.x);
}

static __device__ void dft4(float2 *x)
{
    dft2(x[0], x[2]);
    dft2(x[1], x[3]);
    x[3] = turned(x[3]);
    dft2(x[0], x[1]);
    dft2(x[2], x[3]);
}

/* Element i of the result is at its index with the bits reversed. */
static __device__ void dft8(float2 *x)
{
    const float half = 0.70710678f;

#pragma unroll
    for (int i = 0; i < 4; i++)
        dft2(x[i], x[i + 4]);
    x[5] = times(x[5], make_float2(half, -half));
    x[6] = turned(x[6]);
    x[7] = times(x[7], make_float2(-half, -half));
    dft4(x);
    dft4(x + 4);
}

static __device__ constexpr int reversed(int i)
{
    return (i & 1) << 2 | (i & 2) | i >> 2;
}

/* One step: number k of the result, turned by k times `turn`, goes to to[k * stride]. */
static __device__ void step(float2 *x, const float2 *__restrict__ twiddles, int turn, float2 *s,
                            int to, int stride)
{
    dft8(x);
#pragma unroll
    for (int k = 0; k < 8; k++)
        s[P(to + k * stride)] = times(x[reversed(k)], twiddles[k * turn]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++)
        x[k] = s[P(threadIdx.x + k * THREADS)];
}

__global__ void __launch_bounds__(THREADS)
    fft(const float2 *__restrict__ in, float2 *__restrict__ out,
        const float2 *__restrict__ twiddles)
{
    __shared__ float2 s[2][P(FFT_N)];
    int t = threadIdx.x;
    const float2 *from = in + (size_t)blockIdx.x * FFT_N;
    float2 *to = out + (size_t)blockIdx.x * FFT_N, x[8];

#pragma unroll
    for (int k = 0; k < 8; k++)
        x[k] = from[t + k * THREADS];
    step(x, twiddles, t, s[0], 8 * t, 1);
    step(x, twiddles, t / 8 * 8, s[1], t / 8 * 64 + t % 8, 8);
    dft8(x);
#pragma unroll
    for (int k = 0; k < 8; k++)
        to[t + k * THREADS] = x[reversed(k)];
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, FFT_B);
    long batch = args.size[0], n = 2 * FFT_N * batch;
    float *x = halloc<float>(n), *y = halloc<float>(n), twiddles[2 * FFT_N];

    fill_f(x, n, 121, -1, 1);
    fft_twiddles(twiddles);
    float *dx = dput(x, n), *dy = dalloc<float>(n), *dt = dput(twiddles, 2 * FFT_N);

    auto run = [&] {
        fft<<<batch, THREADS>>>((const float2 *)dx, (float2 *)dy, (const float2 *)dt);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, n);
        return chk_fft(x, y, batch);
    };
    bench_result(y, n);
    return bench_end(bench_run("fft", args, fft_flops(batch), bench_no_reset, run, check));
}
