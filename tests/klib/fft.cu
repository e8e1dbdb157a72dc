/* Fourier transforms against their definition. */
#include <complex>

#include <fft.cuh>

#include "check.h"

using namespace klib;
using number = std::complex<double>;

static std::vector<number> transformed(const std::vector<number> &x, int sign)
{
    size_t n = x.size();
    std::vector<number> y(n);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++)
            y[k] += x[j] * std::polar(1.0, sign * 2 * M_PI * (double)(j * k % n) / (double)n);
    return y;
}

/* In the 2-norm, over `bound` of the result's. */
static void near(const std::vector<number> &got, const std::vector<number> &want, double bound, const char *format, ...)
{
    char name[100];
    va_list args;
    double error = 0, all = 0;
    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    for (size_t i = 0; i < want.size(); i++) {
        error += std::norm(got[i] - want[i]);
        all += std::norm(want[i]);
    }
    if (!(sqrt(error) <= bound * sqrt(all)))
        printf("# the error is %.3g, may be %.3g\n", sqrt(error / all), bound);
    ok(sqrt(error) <= bound * sqrt(all), "%s", name);
}

template <class R> constexpr double U = sizeof(R) == 4 ? 0x1p-24 : 0x1p-53;

/* N = 0: by Bluestein's, of M. Lines are columns of x, and rows of y. */
template <int N, bool INVERSE, fft_kind KIND, class R, int M = 2> static void one(int n, int lines)
{
    const int in_n = KIND == fft_kind::TO_REAL ? n / 2 + 1 : n, out_n = KIND == fft_kind::FROM_REAL ? n / 2 + 1 : n;
    array<R> x(2 * in_n * lines), y(2 * out_n * lines);
    fill(x);
    fft_lines s = {lines, lines, 0, {lines, 1, 0}, {1, out_n, 0}};
    if constexpr (N > 0)
        fft<N, INVERSE, KIND><<<(unsigned)ceil_div(lines, fft_block_lines<N>()), fft_threads<N>()>>>(s, x.at, y.at, R());
    else
        fft_bluestein<M, INVERSE, KIND><<<2, fft_line<M, R>::THREADS>>>(s, n, x.at, y.at, R());
    finish("fft");
    std::vector<number> got, want;
    for (int l = 0; l < lines; l++) {
        std::vector<number> line(n);
        for (int i = 0; i < n; i++) {
            int at = (KIND == fft_kind::TO_REAL && i > n / 2 ? n - i : i) * lines + l;
            line[i] = KIND == fft_kind::FROM_REAL ? number(x[at]) : number(x[2 * at], KIND == fft_kind::TO_REAL && i > n / 2 ? -x[2 * at + 1] : x[2 * at + 1]);
            if (KIND == fft_kind::TO_REAL && (i == 0 || 2 * i == n))
                line[i] = line[i].real(); /* what it is for real numbers */
        }
        line = transformed(line, INVERSE ? 1 : -1);
        for (int i = 0; i < out_n; i++) {
            want.push_back(line[i]);
            got.push_back(KIND == fft_kind::TO_REAL ? number(y[l * out_n + i]) : number(y[2 * (l * out_n + i)], y[2 * (l * out_n + i) + 1]));
        }
    }
    near(got, want, (N ? 7 : 30) * U<R> * log2(n), "%d lines of %d, %s, %s%s", lines, n, INVERSE ? "back" : "forward",
         KIND == fft_kind::COMPLEX ? "complex" : KIND == fft_kind::FROM_REAL ? "from real" : "to real", sizeof(R) == 4 ? "" : ", f64");
}

static void two_passes()
{
    const int n1 = 32, n2 = 64, n = n1 * n2;
    array<float> x(2 * n), between(2 * n), y(2 * n);
    fill(x);
    fft_lines first = {n1, n1, n, {n1, 1, 0}, {n1, 1, 0}}, second = {n2, n2, 0, {1, n1, 0}, {n2, 1, 0}};
    fft<n2, false><<<(unsigned)ceil_div(n1, fft_block_lines<n2>()), fft_threads<n2>()>>>(first, x.at, between.at, 0.0f);
    fft<n1, false><<<(unsigned)ceil_div(n2, fft_block_lines<n1>()), fft_threads<n1>()>>>(second, between.at, y.at, 0.0f);
    finish("fft");
    std::vector<number> in, got;
    for (int i = 0; i < n; i++) {
        in.push_back(number(x[2 * i], x[2 * i + 1]));
        got.push_back(number(y[2 * i], y[2 * i + 1]));
    }
    near(got, transformed(in, -1), 7 * 0x1p-24 * 11, "a line in two passes");
}

int main()
{
    const fft_kind C = fft_kind::COMPLEX;
    one<2, false, C, float>(2, 70);
    one<4, true, C, float>(4, 3);
    one<8, false, C, float>(8, 5);
    one<16, false, C, float>(16, 9);
    one<64, true, C, double>(64, 3);
    one<1024, false, C, float>(1024, 2);
    one<128, false, fft_kind::FROM_REAL, float>(128, 3);
    one<32, true, fft_kind::TO_REAL, double>(32, 3);
    one<0, false, C, float, 256>(100, 3);
    one<0, true, C, double, 64>(31, 3);
    one<0, false, fft_kind::FROM_REAL, float, 128>(37, 2);
    two_passes();
    return done();
}
