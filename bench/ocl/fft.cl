/* Fourier transforms of 512 complex numbers: a work-group of 64 threads per transform, three steps
 * of radix 8 in Stockham's order, which need no reversal of bits, through local memory. */
#define POINTS  512
#define THREADS 64

/* A padding pair per 16 spreads the strided stores over the banks. */
#define P(i) ((i) + ((i) >> 4))

static float2 times(float2 a, float2 b)
{
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* Times -i. */
static float2 turned(float2 a)
{
    return (float2)(a.y, -a.x);
}

static void dft2(float2 *a, float2 *b)
{
    float2 d = *a - *b;

    *a += *b;
    *b = d;
}

static void dft4(float2 *x)
{
    dft2(&x[0], &x[2]);
    dft2(&x[1], &x[3]);
    x[3] = turned(x[3]);
    dft2(&x[0], &x[1]);
    dft2(&x[2], &x[3]);
}

/* Element i of the result is at its index with the bits reversed. */
static void dft8(float2 *x)
{
    const float part = 0.70710678f;

#pragma unroll
    for (int i = 0; i < 4; i++)
        dft2(&x[i], &x[i + 4]);
    x[5] = times(x[5], (float2)(part, -part));
    x[6] = turned(x[6]);
    x[7] = times(x[7], (float2)(-part, -part));
    dft4(x);
    dft4(x + 4);
}

#define REVERSED(i) (((i) & 1) << 2 | ((i) & 2) | (i) >> 2)

/* One step: number k of the result, turned by k times `turn`, goes to to[k * stride]. */
static void step_put(float2 *x, __global const float2 *restrict twiddles, int turn,
                     __local float2 *s, int to, int stride)
{
    dft8(x);
#pragma unroll
    for (int k = 0; k < 8; k++)
        s[P(to + k * stride)] = times(x[REVERSED(k)], twiddles[k * turn]);
}

static void step_get(float2 *x, __local const float2 *s)
{
#pragma unroll
    for (int k = 0; k < 8; k++)
        x[k] = s[P((int)get_local_id(0) + k * THREADS)];
}

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
fft(__global const float2 *restrict in, __global float2 *restrict out,
    __global const float2 *restrict twiddles)
{
    __local float2 s[2][P(POINTS)];
    int t = get_local_id(0);
    __global const float2 *from = in + (size_t)get_group_id(0) * POINTS;
    __global float2 *to = out + (size_t)get_group_id(0) * POINTS;
    float2 x[8];

#pragma unroll
    for (int k = 0; k < 8; k++)
        x[k] = from[t + k * THREADS];
    step_put(x, twiddles, t, s[0], 8 * t, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    step_get(x, s[0]);
    step_put(x, twiddles, t / 8 * 8, s[1], t / 8 * 64 + t % 8, 8);
    barrier(CLK_LOCAL_MEM_FENCE);
    step_get(x, s[1]);
    dft8(x);
#pragma unroll
    for (int k = 0; k < 8; k++)
        to[t + k * THREADS] = x[REVERSED(k)];
}
