/* Functions of CUDA's that the C library lacks, on the host: identities and known values. */
#include <cmath>
#include <cstdio>

static int wrong;
static void near(double got, double want, const char *what, double by = 1e-14)
{
    if (got == want || (got != got && want != want) || std::fabs(got - want) <= by * std::fabs(want))
        return;
    printf("%s: %.17g instead of %.17g\n", what, got, want);
    wrong++;
}
#define NEAR(e, want, ...) near((double)(e), want, #e, ##__VA_ARGS__)

int main()
{
    NEAR(umin(3u, 0x80000000u), 3);
    NEAR(umax(3u, 0x80000000u), 2147483648.0);
    NEAR(llmin(3ll, -4ll), -4);
    NEAR(llmax(3ll, -4ll), 3);
    NEAR(ullmin(3ull, ~0ull), 3);
    NEAR(ullmax(3ull, ~0ull), 0x1p64);
    NEAR(rsqrt(4.0), 0.5);
    NEAR(rsqrtf(16.0f), 0.25);
    NEAR(rcbrt(8.0), 0.5);
    NEAR(sinpi(0.5) + cospi(1.0), 0);
    NEAR(exp10(3.0), 1000);
    NEAR(normcdf(0.0), 0.5);
    static const double values[] = {1e-310, 1e-300, 1e-100, 1e-20, 1e-8, 0.001, 0.05, 0.09, 0.1,
                                    0.3,    0.5,    0.77,   0.999, 1.2,  1.5,   1.9,  1.999999};
    for (double z : values) {
        double y = erfcinv(z);
        if (z > 1e-300) /* the slope of log(erfc) magnifies what y is rounded by */
            near(erfc(y), z, "erfc(erfcinv())", 1e-14 * (2 + 2 * y * y));
        near(normcdfinv(z / 2), -std::sqrt(2.0) * y, "normcdfinv()");
        if (z < 1) {
            near(erf(erfinv(z)), z, "erf(erfinv())");
            near(erfinv(-z), -erfinv(z), "erfinv() is odd", 0);
        }
        near(erfinvf((float)z), (float)erfinv((double)(float)z), "erfinvf()", 2e-7);
    }
    near(erfcinv(1e-310), 26.644806559364774, "erfcinv() of a subnormal");
    near(erfcx(30.0), 0.018795888861416751, "erfcx(30)");
    near(erfcx(9.99), 0.056196640706858814, "erfcx(9.99)");
    near(erfcx(10.0), 0.056140992743822585, "erfcx(10)");
    near(erfcx(1e160), 5.6418958354775629e-161, "erfcx(1e160)");
    near(erfcx(-5.0), 144009798674.66104, "erfcx(-5)");
    NEAR(erfcinv(0.0), INFINITY);
    NEAR(erfcinv(2.0), -INFINITY);
    NEAR(erfinv(1.0), INFINITY);
    NEAR(erfcx(INFINITY), 0);
    if (!std::isnan(erfcinv(2.1)) || !std::isnan(erfinv(-1.5)) || !std::isnan(normcdfinv(-1.0)))
        puts("numbers outside the range"), wrong++;
    cudaChannelFormatDesc half = cudaCreateChannelDescHalf(), half4 = cudaCreateChannelDescHalf4();
    cudaChannelFormatDesc byte = cudaCreateChannelDesc<cudaChannelFormatKindUnsignedNormalized8X2>();
    if (half.x != 16 || half.y || half.f != cudaChannelFormatKindFloat || half4.w != 16 ||
        byte.y != 8 || byte.z || byte.f != cudaChannelFormatKindUnsignedNormalized8X2)
        puts("channels"), wrong++;
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
