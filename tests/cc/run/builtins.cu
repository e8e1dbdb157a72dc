/* The compiler's builtins of the C library's maths, as libraries' headers call them, on the device. */
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define ONE(X)                                                                                     \
    X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cbrt) X(ceil) X(cos) X(cosh) X(erf)       \
        X(erfc) X(exp) X(exp2) X(expm1) X(fabs) X(floor) X(lgamma) X(log) X(log10) X(log1p)        \
            X(log2) X(logb) X(nearbyint) X(rint) X(round) X(sin) X(sinh) X(sqrt) X(tan) X(tanh)    \
                X(tgamma) X(trunc) X(ilogb) X(llrint) X(llround) X(lrint) X(lround)
#define TWO(X)                                                                                     \
    X(atan2) X(copysign) X(fdim) X(fmax) X(fmin) X(fmod) X(hypot) X(nextafter) X(pow) X(remainder)
enum {
#define NUMBER(name) OF_##name, OF_##name##_f,
    ONE(NUMBER) TWO(NUMBER) OF_ldexp,
    OF_scalbn,
    OF_frexp,
    OF_modf,
    OF_fma,
    OF_powi,
    OF_std_tanh,
    COUNT
};

__host__ __device__ static void compute(double x, double y, double *r)
{
    float xf = (float)x, yf = (float)y, part_f;
    double part;
    int exponent;
#define CALL1(name)                                                                                \
    r[OF_##name] = (double)__builtin_##name(x);                                                    \
    r[OF_##name##_f] = (double)__builtin_##name##f(xf);
#define CALL2(name)                                                                                \
    r[OF_##name] = __builtin_##name(x, y);                                                         \
    r[OF_##name##_f] = __builtin_##name##f(xf, yf);
    ONE(CALL1)
    TWO(CALL2)
    r[OF_ldexp] = __builtin_ldexp(x, 3) + __builtin_ldexpf(xf, 2);
    r[OF_scalbn] = __builtin_scalbn(x, -3) + __builtin_scalbnf(xf, 5);
    r[OF_frexp] = __builtin_frexp(x, &exponent) + __builtin_frexpf(xf, &exponent) + exponent;
    r[OF_modf] = __builtin_modf(x, &part) + __builtin_modff(yf, &part_f) + part + part_f;
    r[OF_fma] = __builtin_fma(x, y, x) + __builtin_fmaf(xf, yf, xf);
    r[OF_powi] = __builtin_powi(x, 3) + __builtin_powif(xf, -2);
    r[OF_std_tanh] = std::tanh(xf) + std::exp(x) + std::log(yf);
}

__global__ void kernel(const double *x, double *r, int n)
{
    int i = threadIdx.x;
    if (i < n)
        compute(x[i], x[(i + 1) % n], r + i * COUNT);
}

int main()
{
    static const double values[] = {0.25, 0.5, 0.9375, 1, 1.5, 2.25, 3.75, -0.75, -2.5, 7.5, 0.0625};
    const int n = sizeof(values) / sizeof(*values);
    double *x, *r, want[COUNT];
    int wrong = 0;
    cudaMallocManaged(&x, sizeof(values));
    cudaMallocManaged(&r, n * COUNT * sizeof(*r));
    for (int i = 0; i < n; i++)
        x[i] = values[i];
    kernel<<<1, 32>>>(x, r, n);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return std::puts("the launch failed"), 1;
    for (int i = 0; i < n; i++) {
        compute(x[i], x[(i + 1) % n], want);
        for (int f = 0; f < COUNT; f++) {
            double got = r[i * COUNT + f], off = std::fabs(got - want[f]);
            bool both_nan = got != got && want[f] != want[f];
            if (!both_nan && got != want[f] && !(off <= 4e-6 * std::fabs(want[f]) + 1e-7) && wrong++ < 9)
                printf("%d of %g, %g: %.17g instead of %.17g\n", f, x[i], x[(i + 1) % n], got,
                       want[f]);
        }
    }
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
