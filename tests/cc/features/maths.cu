/* Maths of both precisions ends in plain instructions.
 * expect: fma\.rn\.f32
 * expect: fma\.rn\.f64
 * expect: sqrt\.rn\.f64
 * expect: add\.rz\.f32
 * expect: div\.rp\.f64
 * expect: sin\.approx
 * expect: cvt\.rmi
 */
#include <cmath>

__global__ void floats(float *p, int n)
{
    int i = threadIdx.x;
    p[i] = sinf(p[i]) + cosf(p[i]) * tanf(p[i]) + expf(p[i]) + exp2f(p[i]) + exp10f(p[i]);
    p[i] += logf(p[i]) + log2f(p[i]) + log10f(p[i]) + log1pf(p[i]) + expm1f(p[i]) + powf(p[i], 2.5f);
    p[i] += rsqrtf(p[i]) + sqrtf(p[i]) + cbrtf(p[i]) + hypotf(p[i], 1.0f) + fmodf(p[i], 3.0f);
    p[i] += erff(p[i]) + erfcf(p[i]) + normcdff(p[i]) + tgammaf(p[i]) + lgammaf(p[i]) + j0f(p[i]);
    p[i] += floorf(p[i]) + ceilf(p[i]) + rintf(p[i]) + roundf(p[i]) + truncf(p[i]);
    p[i] += fmaxf(p[i], 1.0f) + fminf(p[i], 2.0f) + fabsf(p[i]) + copysignf(p[i], -1.0f);
    p[i] += __sinf(p[i]) + __expf(p[i]) + __logf(p[i]) + __powf(p[i], 2.0f) + __fdividef(p[i], 3.0f);
    p[i] += __fadd_rz(p[i], 1.0f) + __fmaf_rn(p[i], 2.0f, 1.0f) + __frcp_rn(p[i]) + __saturatef(p[i]);
    p[i] += std::sin(p[i]) + std::pow(p[i], 2.0f) + std::abs(p[i]) + std::sqrt((float)n);
    p[i] += ldexpf(p[i], n) + (float)ilogbf(p[i]) + nextafterf(p[i], 2.0f) + norm3df(p[i], 1.0f, 2.0f);
    if (isnan(p[i]) || isinf(p[i]) || signbit(p[i]))
        p[i] = 0.0f;
}

__global__ void doubles(double *p)
{
    int i = threadIdx.x, q;
    double s, c;
    sincos(p[i], &s, &c);
    p[i] = s + c + exp(p[i]) + log(p[i]) + pow(p[i], 0.3) + sqrt(p[i]) + atan2(p[i], 2.0) + asin(p[i]);
    p[i] += acos(p[i]) + sinh(p[i]) + tanh(p[i]) + erf(p[i]) + erfcinv(p[i]) + tgamma(p[i]) + jn(3, p[i]);
    p[i] += remquo(p[i], 3.0, &q) + frexp(p[i], &q) + fma(p[i], 2.0, 1.0) + sinpi(p[i]) + rhypot(p[i], 1.0);
    p[i] += __ddiv_ru(p[i], 3.0) + __dadd_rn(p[i], 1.0) + __ll2double_rn(i) + max(p[i], 1.0) + min(p[i], 2.0f);
    p[i] += __hiloint2double(__double2hiint(p[i]), __double2loint(p[i])) + cyl_bessel_i0(p[i]);
}
