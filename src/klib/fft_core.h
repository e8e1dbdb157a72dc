/*
 * Transforms of lanes: Stockham's algorithm, whose passes go from one buffer to the other and leave
 * the result in order. Included by fft_lanes.c.
 */
#ifndef HD_KLIB_FFT_CORE_H
#define HD_KLIB_FFT_CORE_H

#include <assert.h>

#include "klib/fft_vector.h"

typedef struct complex_vec cv;

INLINE cv add(cv a, cv b)
{
    return (cv){a.re + b.re, a.im + b.im};
}
INLINE cv sub(cv a, cv b)
{
    return (cv){a.re - b.re, a.im - b.im};
}
/* Times -i. */
INLINE cv turn(cv a)
{
    return (cv){a.im, -a.re};
}

/* ---- transforms of the length of a radix, in place */

INLINE void dft2(cv *a)
{
    cv x = a[0];
    a[0] = add(x, a[1]);
    a[1] = sub(x, a[1]);
}

INLINE void dft4(cv *a0, cv *a1, cv *a2, cv *a3)
{
    cv s02 = add(*a0, *a2), d02 = sub(*a0, *a2), s13 = add(*a1, *a3), d13 = turn(sub(*a1, *a3));

    *a0 = add(s02, s13);
    *a1 = add(d02, d13);
    *a2 = sub(s02, s13);
    *a3 = sub(d02, d13);
}

INLINE void dft8(cv *a)
{
    const real r = (real)0.70710678118654752440;

    dft4(&a[0], &a[2], &a[4], &a[6]);
    dft4(&a[1], &a[3], &a[5], &a[7]);
    cv o1 = {(a[3].re + a[3].im) * r, (a[3].im - a[3].re) * r};
    cv o2 = turn(a[5]);
    cv o3 = {(a[7].im - a[7].re) * r, -(a[7].re + a[7].im) * r};
    cv e0 = a[0], e1 = a[2], e2 = a[4], e3 = a[6], o0 = a[1];
    a[0] = add(e0, o0);
    a[1] = add(e1, o1);
    a[2] = add(e2, o2);
    a[3] = add(e3, o3);
    a[4] = sub(e0, o0);
    a[5] = sub(e1, o1);
    a[6] = sub(e2, o2);
    a[7] = sub(e3, o3);
}

/* An odd radix; powers: cosine and sine of 2 pi j / radix. */
INLINE void dft_odd(unsigned radix, cv *a, const real *powers)
{
    enum { HALF = FFT_PRIME_MAX / 2 + 1 };
    cv sums[HALF], differences[HALF], first = a[0], total = a[0];
    unsigned half = radix / 2;

    UNROLL
    for (unsigned j = 1; j <= half; j++) {
        sums[j] = add(a[j], a[radix - j]);
        differences[j] = sub(a[j], a[radix - j]);
        total = add(total, sums[j]);
    }
    a[0] = total;
    UNROLL
    for (unsigned t = 1; t <= half; t++) {
        cv u = first, v = {{0}, {0}};
        UNROLL
        for (unsigned j = 1; j <= half; j++) {
            unsigned at = j * t % radix;
            real c = powers[2 * at], s = powers[2 * at + 1];
            u = (cv){u.re + c * sums[j].re, u.im + c * sums[j].im};
            v = (cv){v.re + s * differences[j].re, v.im + s * differences[j].im};
        }
        a[t] = add(u, turn(v));
        a[radix - t] = sub(u, turn(v));
    }
}

/* The same, where neither radix nor loops are known to the compiler. */
static void dft_prime(unsigned radix, cv *a, const real *powers)
{
    enum { HALF = FFT_PRIME_MAX / 2 + 1 };
    cv sums[HALF], differences[HALF], first = a[0], total = a[0];
    unsigned half = radix / 2;

    assert(radix <= FFT_PRIME_MAX);
    for (unsigned j = 1; j <= half; j++) {
        sums[j] = add(a[j], a[radix - j]);
        differences[j] = sub(a[j], a[radix - j]);
        total = add(total, sums[j]);
    }
    a[0] = total;
    for (unsigned t = 1; t <= half; t++) {
        cv u = first, v = {{0}, {0}};
        for (unsigned j = 1, at = t; j <= half;
             j++, at = at + t >= radix ? at + t - radix : at + t) {
            real c = powers[2 * at], s = powers[2 * at + 1];
            u = (cv){u.re + c * sums[j].re, u.im + c * sums[j].im};
            v = (cv){v.re + s * differences[j].re, v.im + s * differences[j].im};
        }
        a[t] = add(u, turn(v));
        a[radix - t] = sub(u, turn(v));
    }
}

/* ---- passes */

INLINE void butterfly(unsigned radix, cv *a, const real *powers)
{
    switch (radix) {
    case 2:
        dft2(a);
        break;
    case 4:
        dft4(&a[0], &a[1], &a[2], &a[3]);
        break;
    case 8:
        dft8(a);
        break;
    default:
        dft_odd(radix, a, powers);
    }
}

/* `radix` and `is_last` are constants where this is inlined. In the last pass nothing is turned. */
INLINE void pass(unsigned radix, bool is_last, const vec *restrict x, vec *restrict y,
                 const struct fft_stage *stage, const real *roots)
{
    int64_t m = is_last ? 1 : stage->m, s = stage->s;
    const real *powers = roots + stage->powers;

    for (int64_t p = 0; p < m; p++) {
        const real *w = roots + stage->turns + p * 2 * (radix - 1);
        const vec *from = x + 2 * s * p;
        vec *to = y + 2 * s * radix * p;
        for (int64_t q = 0; q < s; q++) {
            cv a[FFT_PRIME_MAX];
            UNROLL
            for (unsigned j = 0; j < radix; j++) {
                const vec *at = from + 2 * (q + s * m * j);
                a[j] = (cv){at[0], at[1]};
            }
            butterfly(radix, a, powers);
            to[2 * q] = a[0].re;
            to[2 * q + 1] = a[0].im;
            UNROLL
            for (unsigned t = 1; t < radix; t++) {
                vec *at = to + 2 * (q + s * t);
                cv b = is_last ? a[t] : times(a[t], all(w[2 * t - 2]), all(w[2 * t - 1]));
                at[0] = b.re;
                at[1] = b.im;
            }
        }
    }
}

static void pass_prime(const vec *restrict x, vec *restrict y, const struct fft_stage *stage,
                       const real *roots)
{
    unsigned radix = stage->radix;
    int64_t m = stage->m, s = stage->s;

    for (int64_t p = 0; p < m; p++) {
        const real *w = roots + stage->turns + p * 2 * (radix - 1);
        for (int64_t q = 0; q < s; q++) {
            cv a[FFT_PRIME_MAX];
            for (unsigned j = 0; j < radix; j++) {
                const vec *at = x + 2 * (q + s * (p + m * j));
                a[j] = (cv){at[0], at[1]};
            }
            dft_prime(radix, a, roots + stage->powers);
            for (unsigned t = 0; t < radix; t++) {
                vec *at = y + 2 * (q + s * (radix * p + t));
                cv b = t ? times(a[t], all(w[2 * t - 2]), all(w[2 * t - 1])) : a[0];
                at[0] = b.re;
                at[1] = b.im;
            }
        }
    }
}

#define PASS(radix)                                                                                \
    static void pass##radix(const vec *x, vec *y, const struct fft_stage *stage,                   \
                            const real *roots)                                                     \
    {                                                                                              \
        if (stage->m == 1)                                                                         \
            pass(radix, true, x, y, stage, roots);                                                 \
        else                                                                                       \
            pass(radix, false, x, y, stage, roots);                                                \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(7)
PASS(8)
PASS(11)
PASS(13)

static vec *smooth_run(const struct fft_core *core, vec *x, vec *y)
{
    const real *roots = core->roots;

    for (unsigned i = 0; i < core->nstages; i++) {
        const struct fft_stage *stage = &core->stages[i];
        switch (stage->radix) {
#define CASE(radix)                                                                                \
    case radix:                                                                                    \
        pass##radix(x, y, stage, roots);                                                           \
        break;
            CASE(2)
            CASE(3)
            CASE(4)
            CASE(5)
            CASE(7)
            CASE(8)
            CASE(11)
            CASE(13)
        default:
            pass_prime(x, y, stage, roots);
        }
        vec *swap = x;
        x = y;
        y = swap;
    }
    return x;
}

/* x[k] *= w[k]; parts change places before, or after. */
static void lanes_times(vec *x, const real *w, int64_t n, bool swap_before, bool swap_after)
{
    for (int64_t k = 0; k < n; k++) {
        cv a = {x[2 * k + swap_before], x[2 * k + !swap_before]};
        a = times(a, all(w[2 * k]), all(w[2 * k + 1]));
        x[2 * k + swap_after] = a.re;
        x[2 * k + !swap_after] = a.im;
    }
}

/* Of what is in x; both buffers hold core->span numbers. Returns the one that has the result. */
static vec *core_run(const struct fft_core *core, vec *x, vec *y)
{
    const struct fft_core *inner = core->inner;

    if (!inner)
        return smooth_run(core, x, y);
    lanes_times(x, core->chirp, core->n, false, false);
    memset(x + 2 * core->n, 0, (size_t)(inner->n - core->n) * 2 * sizeof(vec));
    vec *z = smooth_run(inner, x, y);
    lanes_times(z, core->filter, inner->n, false, true);
    z = smooth_run(inner, z, z == x ? y : x);
    lanes_times(z, core->chirp, core->n, true, false);
    return z;
}

#endif
