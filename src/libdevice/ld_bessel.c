/*
 * Bessel functions. Up to 8 polynomials in x^2, with the first three zeros of j0 and j1 divided out
 * so that they stay relatively accurate there; beyond 8 Hankel's form with P and Q as polynomials
 * in (8/x)^2. Higher orders by recurrence: upward while it is stable, Miller's downward otherwise.
 */
#include "ld_coeffs.h"

#define INV_SQRT_PI 0.56418958354775628695

/* The polynomials' variable: x^2 on [0, 64] moved to [-1, 1]. */
static double centred(double x)
{
    return ld_fma(x * x, 0.03125, -1.0);
}

/* (x^2 - zero^2) with the zero in double-double. */
static double minus_zero(double x, double hi, double lo)
{
    return (x - hi - lo) * (x + hi);
}

/*
 * sqrt(2/(pi x)) (P cos(chi) - Q sin(chi)), chi = x - (2 order + 1) pi/4, and the sine form for y.
 * cos and sin of chi come from those of x by the addition theorem.
 */
static double hankel(double x, int order, int second_kind)
{
    int q;
    struct ld_dd r = ld_reduce_pio2(x, &q);
    /* sin and cos of x - pi/4: move the reduced argument. */
    struct ld_dd eighth = {-0.5 * LD_PIO2_HI, -0.5 * LD_PIO2_MID};
    if (r.hi < 0.0) {
        eighth = (struct ld_dd){0.5 * LD_PIO2_HI, 0.5 * LD_PIO2_MID};
        q -= 1;
    }
    struct ld_dd chi = ld_dd_add(r, eighth);
    double s = ld_sin_kernel(chi), c = ld_cos_kernel(chi), t;
    q -= order; /* another pi/2 for order 1 */
    if (q & 1) {
        t = s;
        s = c;
        c = -t;
    }
    if (q & 2) {
        s = -s;
        c = -c;
    }
    double u = 8.0 / x, w = u * u;
    double p = order ? ld_poly_hankel_p1(w) : ld_poly_hankel_p0(w);
    double qq = u * (order ? ld_poly_hankel_q1(w) : ld_poly_hankel_q0(w));
    double scale = 1.41421356237309514547 * INV_SQRT_PI / ld_sqrt(x);
    return scale * (second_kind ? ld_fma(p, s, qq * c) : ld_fma(p, c, -qq * s));
}

LD_D1(j0)
{
    double a = ld_abs(x);
    if (!(a < LD_INF))
        return ld_isnan(x) ? x : 0.0;
    if (a > 8.0)
        return hankel(a, 0, 0);
    return minus_zero(a, LD_J0_Z1_HI, LD_J0_Z1_MID) * minus_zero(a, LD_J0_Z2_HI, LD_J0_Z2_MID) *
           minus_zero(a, LD_J0_Z3_HI, LD_J0_Z3_MID) * ld_poly_j0(centred(a));
}

LD_D1(j1)
{
    double a = ld_abs(x), r;
    if (!(a < LD_INF))
        return ld_isnan(x) ? x : 0.0;
    if (a > 8.0)
        r = hankel(a, 1, 0);
    else
        r = a * minus_zero(a, LD_J1_Z1_HI, LD_J1_Z1_MID) *
            minus_zero(a, LD_J1_Z2_HI, LD_J1_Z2_MID) * minus_zero(a, LD_J1_Z3_HI, LD_J1_Z3_MID) *
            ld_poly_j1(centred(a));
    return x < 0.0 ? -r : r;
}

static double y_special(double x)
{
    if (x == 0.0)
        return -LD_INF;
    return x < 0.0 ? LD_NAN : (ld_isnan(x) ? x : 0.0);
}

LD_D1(y0)
{
    if (!(x > 0.0 && x < LD_INF))
        return y_special(x);
    if (x > 8.0)
        return hankel(x, 0, 1);
    return ld_fma(0.63661977236758134308 * __nv_log(x), __nv_j0(x), ld_poly_y0(centred(x)));
}

LD_D1(y1)
{
    if (!(x > 0.0 && x < LD_INF))
        return y_special(x);
    if (x > 8.0)
        return hankel(x, 1, 1);
    double lead = ld_fma(__nv_log(x), __nv_j1(x), -1.0 / x);
    return ld_fma(0.63661977236758134308, lead, x * ld_poly_y1(centred(x)));
}

/* Miller's algorithm: recur down from far above n and normalise with 1 = j0 + 2 (j2 + j4 + ...). */
static double miller(int n, double x)
{
    int start = 2 * ((n + (int)ld_sqrt(60.0 * (double)n) + 20) / 2);
    double above = 0.0, here = 1e-300, sum = 0.0, result = 0.0;
    for (int k = start; k > 0; k--) {
        double below = 2.0 * (double)k / x * here - above;
        above = here;
        here = below;
        if (ld_abs(here) > 1e250) {
            here *= 1e-250;
            above *= 1e-250;
            sum *= 1e-250;
            result *= 1e-250;
        }
        if (k - 1 == n)
            result = here;
        if (((k - 1) & 1) == 0)
            sum += k - 1 ? 2.0 * here : here;
    }
    return result / sum;
}

LD_FN(double, __nv_jn, int n, double x)
{
    double a = ld_abs(x), r;
    if (n < 0 || ld_isnan(x))
        return LD_NAN;
    if (n < 2)
        return n ? __nv_j1(x) : __nv_j0(x);
    if (a == 0.0 || a == LD_INF)
        return 0.0;
    if (a > (double)n) {
        double before = __nv_j0(a);
        r = __nv_j1(a);
        for (int k = 1; k < n; k++) {
            double next = 2.0 * (double)k / a * r - before;
            before = r;
            r = next;
        }
    } else {
        r = miller(n, a);
    }
    return x < 0.0 && (n & 1) ? -r : r;
}

LD_FN(double, __nv_yn, int n, double x)
{
    if (n < 0)
        return LD_NAN;
    double before = __nv_y0(x), here = __nv_y1(x);
    if (n < 2 || !(x > 0.0 && x < LD_INF))
        return n ? here : before;
    for (int k = 1; k < n && here > -LD_INF; k++) {
        double next = 2.0 * (double)k / x * here - before;
        before = here;
        here = next;
    }
    return here;
}

LD_D1(cyl_bessel_i0)
{
    double a = ld_abs(x);
    if (a <= 8.0)
        return ld_poly_i0(a * a);
    if (!(a < 715.0))
        return ld_isnan(x) ? x : LD_INF;
    return __nv_exp(0.5 * a) * ld_poly_i0_far(8.0 / a) / ld_sqrt(a) * __nv_exp(0.5 * a);
}

LD_D1(cyl_bessel_i1)
{
    double a = ld_abs(x);
    if (a <= 8.0)
        return x * ld_poly_i1(a * a);
    if (!(a < 715.0))
        return ld_isnan(x) ? x : ld_copysign(LD_INF, x);
    double r = __nv_exp(0.5 * a) * ld_poly_i1_far(8.0 / a) / ld_sqrt(a) * __nv_exp(0.5 * a);
    return ld_copysign(r, x);
}

#define LD_NARROW(name)                                                                            \
    LD_F1(name##f)                                                                                 \
    {                                                                                              \
        return (float)__nv_##name((double)x);                                                      \
    }
LD_NARROW(j0)
LD_NARROW(j1)
LD_NARROW(y0)
LD_NARROW(y1)
LD_NARROW(cyl_bessel_i0)
LD_NARROW(cyl_bessel_i1)

LD_FN(float, __nv_jnf, int n, float x)
{
    return (float)__nv_jn(n, (double)x);
}

LD_FN(float, __nv_ynf, int n, float x)
{
    return (float)__nv_yn(n, (double)x);
}
