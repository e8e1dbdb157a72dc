/*
 * Fourier transforms: y[k] = sum x[j] e^(-+2 pi i j k / n); INVERSE has the other sign and no
 * factor.
 *
 * Algorithm: Stockham's, which needs no reversal of bits, with radices 8, 4 and 2, a line in shared
 * memory: Govindaraju et al., High performance discrete Fourier transforms on graphics processors,
 * 2008. Lengths that are not powers of two: Bluestein, A linear filtering approach to the
 * computation of the discrete Fourier transform, 1970. Longer lines: two passes over lines of n1
 * and n2, with twiddles between (fft_lines::period), Bailey, FFTs in external or hierarchical
 * memory, 1990. Error, in the 2-norm: 7 u log2(n) |y| (Higham, chapter 24); Bluestein's 30 u
 * log2(n) |y|. Limits: n = 2 to 4096 in one pass (2048 of doubles), up to half of that by
 * Bluestein.
 */
#ifndef KLIB_FFT_CUH
#define KLIB_FFT_CUH

#include "complex.cuh"

namespace klib {

/* e^(pi i t). */
KLIB_DEVICE complex<float> turn(float t)
{
    complex<float> w;
    sincospif(t, &w.y, &w.x);
    return w;
}
KLIB_DEVICE complex<double> turn(double t)
{
    complex<double> w;
    sincospi(t, &w.y, &w.x);
    return w;
}

/* ---- butterflies: SIGN is -1 forward, 1 back */

/* SIGN i a. */
template <int SIGN, class R> KLIB_DEVICE complex<R> quarter(complex<R> a)
{
    return SIGN > 0 ? complex<R>{-a.y, a.x} : complex<R>{a.y, -a.x};
}
template <int SIGN, class R> KLIB_DEVICE void butterfly2(complex<R> &a, complex<R> &b)
{
    complex<R> sum = a + b;
    b = a - b;
    a = sum;
}
template <int SIGN, class R>
KLIB_DEVICE void butterfly4(complex<R> &a, complex<R> &b, complex<R> &c, complex<R> &d)
{
    butterfly2<SIGN>(a, c);
    butterfly2<SIGN>(b, d);
    d = quarter<SIGN>(d);
    butterfly2<SIGN>(a, b);
    butterfly2<SIGN>(c, d);
    complex<R> second = c;
    c = b;
    b = second;
}
template <int RADIX, int SIGN, class R> KLIB_DEVICE void butterfly(complex<R> *x)
{
    if constexpr (RADIX == 2) {
        butterfly2<SIGN>(x[0], x[1]);
    } else if constexpr (RADIX == 4) {
        butterfly4<SIGN>(x[0], x[1], x[2], x[3]);
    } else {
        const R h = R(0.70710678118654752440);
        butterfly4<SIGN>(x[0], x[2], x[4], x[6]);
        butterfly4<SIGN>(x[1], x[3], x[5], x[7]);
        x[3] = complex<R>{h, SIGN * h} * x[3];
        x[5] = quarter<SIGN>(x[5]);
        x[7] = complex<R>{-h, SIGN * h} * x[7];
        complex<R> y[8];
        for (int i = 0; i < 4; i++) {
            y[i] = x[2 * i] + x[2 * i + 1];
            y[i + 4] = x[2 * i] - x[2 * i + 1];
        }
        for (int i = 0; i < 8; i++)
            x[i] = y[i];
    }
}

/* ---- a line in shared memory, by its THREADS threads; all threads of the block call it */

template <int N, class R> struct fft_line {
    static constexpr int EACH = N < 8 ? N : 8, THREADS = N / EACH;
    static_assert(N >= 2 && (N & (N - 1)) == 0, "a power of two");

    /* One stage: lines of DONE elements become lines of DONE RADIX. */
    template <int RADIX, int DONE, int SIGN>
    static KLIB_DEVICE void stage(complex<R> *line, int thread)
    {
        complex<R> x[EACH];
#pragma unroll
        for (int b = 0; b < EACH / RADIX; b++) {
            int j = thread + b * THREADS;
#pragma unroll
            for (int i = 0; i < RADIX; i++) {
                complex<R> v = line[j + i * (N / RADIX)];
                if (DONE > 1 && i)
                    v = v * turn(R(SIGN * 2 * (i * (j % DONE))) / R(DONE * RADIX));
                x[b * RADIX + i] = v;
            }
            butterfly<RADIX, SIGN>(&x[b * RADIX]);
        }
        __syncthreads();
#pragma unroll
        for (int b = 0; b < EACH / RADIX; b++) {
            int j = thread + b * THREADS;
#pragma unroll
            for (int i = 0; i < RADIX; i++)
                line[j / DONE * DONE * RADIX + j % DONE + i * DONE] = x[b * RADIX + i];
        }
        __syncthreads();
        run_from<DONE * RADIX, SIGN>(line, thread);
    }
    template <int DONE, int SIGN> static KLIB_DEVICE void run_from(complex<R> *line, int thread)
    {
        if constexpr (DONE < N)
            stage<(N / DONE >= 8 ? 8 : N / DONE), DONE, SIGN>(line, thread);
    }
    template <int SIGN> static KLIB_DEVICE void run(complex<R> *line, int thread)
    {
        run_from<1, SIGN>(line, thread);
    }
};

/* What transforms read and write. */
enum class fft_kind { COMPLEX, FROM_REAL, TO_REAL };

/*
 * Lines: line l is at (l / inner) outer_step + (l % inner) inner_step, its elements `step` apart,
 * on each side. From real numbers, the result's n / 2 + 1 first elements are written; to real ones,
 * those are read. period, if not 0: the result's element k of line l is multiplied by
 * e^(-+2 pi i (l % inner) k / period), which is what goes between the passes of a long line.
 */
struct fft_side {
    i64 step, inner_step, outer_step;
};
struct fft_lines {
    i64 lines, inner, period;
    fft_side in, out;

    KLIB_DEVICE i64 at(const fft_side &side, i64 line, i64 i) const
    {
        return line / inner * side.outer_step + line % inner * side.inner_step + i * side.step;
    }
};

/* Element i of a line of n; the upper half of what becomes real is the lower half's conjugate. */
template <fft_kind KIND, class R>
KLIB_DEVICE complex<R> fft_read(const fft_lines &s, const void *x, i64 line, int i, int n)
{
    if (KIND == fft_kind::FROM_REAL)
        return {((const R *)x)[s.at(s.in, line, i)], R(0)};
    if (KIND == fft_kind::TO_REAL && i > n / 2)
        return conjugate(((const complex<R> *)x)[s.at(s.in, line, n - i)]);
    return ((const complex<R> *)x)[s.at(s.in, line, i)];
}
template <fft_kind KIND, int SIGN, class R>
KLIB_DEVICE void fft_write(const fft_lines &s, void *y, i64 line, int i, int n, complex<R> v)
{
    if (KIND == fft_kind::TO_REAL) {
        ((R *)y)[s.at(s.out, line, i)] = v.x;
        return;
    }
    if (KIND == fft_kind::FROM_REAL && i > n / 2)
        return;
    if (s.period)
        v = v * turn(R(SIGN * 2.0 * (double)(line % s.inner * i) / (double)s.period));
    ((complex<R> *)y)[s.at(s.out, line, i)] = v;
}

/* Lines of a block of a kernel, so that warps are full, and its threads. */
template <int N> __host__ __device__ constexpr int fft_block_lines()
{
    return N >= 1024 ? 1 : 1024 / N > 64 ? 64 : 1024 / N;
}
template <int N> __host__ __device__ constexpr int fft_threads()
{
    return fft_line<N, float>::THREADS * fft_block_lines<N>();
}

/* x and y may be the same, if sides are alike. Grid: ceil_div(lines, fft_block_lines<N>()), blocks
 * of fft_threads<N>(). */
template <int N, bool INVERSE, fft_kind KIND = fft_kind::COMPLEX, class R>
__global__ void __launch_bounds__(fft_threads<N>()) fft(fft_lines s, const void *x, void *y, R)
{
    constexpr int SIGN = INVERSE ? 1 : -1, THREADS = fft_line<N, R>::THREADS;
    __shared__ __align__(16) unsigned char memory[sizeof(complex<R>) * N * fft_block_lines<N>()];
    int own = threadIdx.x / THREADS, thread = threadIdx.x % THREADS;
    complex<R> *line = (complex<R> *)memory + own * N;
    i64 at = (i64)blockIdx.x * fft_block_lines<N>() + own;

    for (int i = thread; at < s.lines && i < N; i += THREADS)
        line[i] = fft_read<KIND, R>(s, x, at, i, N);
    __syncthreads();
    fft_line<N, R>::template run<SIGN>(line, thread);
    for (int i = thread; at < s.lines && i < N; i += THREADS)
        fft_write<KIND, SIGN>(s, y, at, i, N, line[i]);
}

/* e^(SIGN pi i j^2 / n), with the angle reduced exactly. */
template <int SIGN, class R> KLIB_DEVICE complex<R> chirp(i64 j, i64 n)
{
    return turn(R(SIGN * (double)(j * j % (2 * n)) / (double)n));
}

/*
 * Any n with 2 n - 1 <= M, a power of two: a convolution with a chirp, which this transforms as
 * well. A line is a block's, of fft_line<M, R>::THREADS threads.
 */
template <int M, bool INVERSE, fft_kind KIND = fft_kind::COMPLEX, class R>
__global__ void __launch_bounds__(fft_line<M, float>::THREADS)
    fft_bluestein(fft_lines s, int n, const void *x, void *y, R)
{
    constexpr int SIGN = INVERSE ? 1 : -1, THREADS = fft_line<M, R>::THREADS, EACH = M / THREADS;
    __shared__ __align__(16) unsigned char memory[sizeof(complex<R>) * M];
    complex<R> *line = (complex<R> *)memory, filter[EACH];
    int thread = threadIdx.x;

    for (int i = thread; i < M; i += THREADS) {
        int j = i < n ? i : M - i < n ? M - i : -1;
        line[i] = j < 0 ? complex<R>{R(0), R(0)} : chirp<-SIGN, R>(j, n);
    }
    __syncthreads();
    fft_line<M, R>::template run<-1>(line, thread);
    for (int e = 0; e < EACH; e++)
        filter[e] = line[thread + e * THREADS];
    for (i64 at = blockIdx.x; at < s.lines; at += gridDim.x) {
        __syncthreads();
        for (int i = thread; i < M; i += THREADS)
            line[i] = i < n ? fft_read<KIND, R>(s, x, at, i, n) * chirp<SIGN, R>(i, n)
                            : complex<R>{R(0), R(0)};
        __syncthreads();
        fft_line<M, R>::template run<-1>(line, thread);
        for (int e = 0; e < EACH; e++)
            line[thread + e * THREADS] = line[thread + e * THREADS] * filter[e];
        __syncthreads();
        fft_line<M, R>::template run<1>(line, thread);
        for (int i = thread; i < n; i += THREADS) {
            complex<R> v = line[i] * chirp<SIGN, R>(i, n);
            fft_write<KIND, SIGN>(s, y, at, i, n, complex<R>{v.x / R(M), v.y / R(M)});
        }
    }
}

} // namespace klib

#endif
