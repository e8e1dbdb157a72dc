/* cuFFTW: plans of FFTW's interface, compared with plain sums. */
#include <complex.h>
#include <cufftw.h>
#include <math.h>

#include "tap.h"

typedef double complex Z;

enum { N_MAX = 4096 };

/* The transform of `rank` dimensions of n elements in row-major order; x and y are dense. */
static void model(int rank, const int *n, int sign, const Z *x, Z *y)
{
    int all = 1, k[3], j[3];

    for (int d = 0; d < rank; d++)
        all *= n[d];
    for (int a = 0; a < all; a++) {
        for (int d = rank - 1, r = a; d >= 0; r /= n[d--])
            k[d] = r % n[d];
        y[a] = 0;
        for (int b = 0; b < all; b++) {
            double angle = 0;
            for (int d = rank - 1, r = b; d >= 0; r /= n[d--]) {
                j[d] = r % n[d];
                angle += (double)k[d] * j[d] / n[d];
            }
            y[a] += x[b] * cexp(sign * 2 * 3.14159265358979323846 * I * angle);
        }
    }
}

static double noise(uint64_t *seed)
{
    return (double)(int64_t)tap_random(seed) / 9.3e18;
}

static void fill(Z *x, int n, bool is_real, uint64_t *seed)
{
    for (int i = 0; i < n; i++)
        x[i] = noise(seed) + (is_real ? 0 : noise(seed) * I);
}

static Z x[N_MAX], want[N_MAX];
static uint64_t seed;

static void test_complex(int rank, const int *n)
{
    int all = 1;
    fftw_complex *in = fftw_malloc(sizeof(x)), *out = fftw_malloc(sizeof(x));
    fftwf_complex *fin = fftwf_malloc(sizeof(x) / 2), *fout = fftwf_malloc(sizeof(x) / 2);

    for (int d = 0; d < rank; d++)
        all *= n[d];
    for (int sign = -1; sign <= 1; sign += 2) {
        double worst = 0, fworst = 0;
        fill(x, all, false, &seed);
        model(rank, n, sign, x, want);
        fftw_plan plan = rank == 1   ? fftw_plan_dft_1d(n[0], in, out, sign, FFTW_ESTIMATE)
                         : rank == 2 ? fftw_plan_dft_2d(n[0], n[1], in, out, sign, FFTW_MEASURE)
                                     : fftw_plan_dft_3d(n[0], n[1], n[2], in, out, sign, 0);
        fftwf_plan fplan = fftwf_plan_dft(rank, n, fin, fout, sign, FFTW_ESTIMATE);
        for (int i = 0; i < all; i++) {
            in[i][0] = creal(x[i]), in[i][1] = cimag(x[i]);
            fin[i][0] = (float)creal(x[i]), fin[i][1] = (float)cimag(x[i]);
        }
        fftw_execute(plan);
        fftwf_execute(fplan);
        for (int i = 0; i < all; i++) {
            worst = fmax(worst, cabs(out[i][0] + out[i][1] * I - want[i]));
            fworst = fmax(fworst, cabs(fout[i][0] + fout[i][1] * I - want[i]));
        }
        ok(worst < 1e-11 && fworst < 1e-3, "%d numbers in %d dimensions, sign %d: %g, floats %g",
           all, rank, sign, worst, fworst);
        fftw_destroy_plan(plan);
        fftwf_destroy_plan(fplan);
    }
    fftw_free(in);
    fftw_free(out);
    fftwf_free(fin);
    fftwf_free(fout);
}

/* Real numbers there and back, in place or not. */
static void test_real(int rank, const int *n, bool in_place)
{
    static double in[N_MAX], back[N_MAX];
    static fftw_complex out[N_MAX];
    double *real = in_place ? (double *)out : in, worst = 0, worst_back = 0;
    int last = n[rank - 1], half = last / 2 + 1, step = in_place ? 2 * half : last, lines = 1;

    for (int d = 0; d < rank - 1; d++)
        lines *= n[d];
    fill(x, lines * last, true, &seed);
    model(rank, n, -1, x, want);
    fftw_plan plan = rank == 2 && !in_place ? fftw_plan_dft_r2c_2d(n[0], n[1], real, out, 0)
                                            : fftw_plan_dft_r2c(rank, n, real, out, 0);
    fftw_plan inverse = fftw_plan_dft_c2r(rank, n, out, in_place ? (double *)out : back, 0);
    for (int i = 0; i < lines * last; i++)
        real[i / last * step + i % last] = creal(x[i]);
    fftw_execute(plan);
    for (int i = 0; i < lines * half; i++)
        worst = fmax(worst, cabs(out[i][0] + out[i][1] * I - want[i / half * last + i % half]));
    fftw_execute(inverse);
    for (int i = 0; i < lines * last; i++)
        worst_back = fmax(
            worst_back, fabs((in_place ? real : back)[i / last * step + i % last] / (lines * last) -
                             creal(x[i])));
    ok(worst < 1e-11 && worst_back < 1e-14, "real numbers, %d dimensions, %s: %g, back %g", rank,
       in_place ? "in place" : "not in place", worst, worst_back);
    fftw_destroy_plan(plan);
    fftw_destroy_plan(inverse);
}

/* Lines beside each other, and lines of a matrix of matrices, whose batch is of two dimensions. */
static void test_batches(void)
{
    static fftw_complex in[N_MAX], out[N_MAX], other[N_MAX];
    const int n = 12, batch = 5;
    double worst = 0;

    for (int i = 0; i < N_MAX; i++)
        in[i][0] = noise(&seed), in[i][1] = noise(&seed);
    fftw_plan plan =
        fftw_plan_many_dft(1, &n, batch, in, NULL, batch, 1, out, NULL, 1, n, FFTW_FORWARD, 0);
    fftw_execute_dft(plan, in, other);
    for (int b = 0; b < batch; b++) {
        for (int i = 0; i < n; i++)
            x[i] = in[i * batch + b][0] + in[i * batch + b][1] * I;
        model(1, &n, -1, x, want);
        for (int i = 0; i < n; i++)
            worst = fmax(worst, cabs(other[b * n + i][0] + other[b * n + i][1] * I - want[i]));
    }
    ok(worst < 1e-12, "columns of a matrix, into other arrays: %g", worst);
    fftw_destroy_plan(plan);

    const fftw_iodim dims[] = {{4, 6, 6}, {6, 1, 1}};
    const fftw_iodim loops[] = {{2, 200, 24}, {3, 24, 48}};
    worst = 0;
    plan = fftw_plan_guru_dft(2, dims, 2, loops, in, out, FFTW_BACKWARD, 0);
    fftw_execute(plan);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++) {
            for (int i = 0; i < 24; i++)
                x[i] = in[a * 200 + b * 24 + i][0] + in[a * 200 + b * 24 + i][1] * I;
            model(2, (int[]){4, 6}, 1, x, want);
            for (int i = 0; i < 24; i++) {
                const double *got = out[a * 24 + b * 48 + i];
                worst = fmax(worst, cabs(got[0] + got[1] * I - want[i]));
            }
        }
    ok(worst < 1e-12, "two batch dimensions: %g", worst);
    fftw_destroy_plan(plan);

    const fftw_iodim64 line = {16, 2, 1}, lines = {3, 40, 9};
    double *real = (double *)in;
    worst = 0;
    plan = fftw_plan_guru64_dft_r2c(1, &line, 1, &lines, real, out, 0);
    fftw_execute(plan);
    for (int b = 0; b < 3; b++) {
        for (int i = 0; i < 16; i++)
            x[i] = real[b * 40 + i * 2];
        model(1, (int[]){16}, -1, x, want);
        for (int i = 0; i < 9; i++)
            worst = fmax(worst, cabs(out[b * 9 + i][0] + out[b * 9 + i][1] * I - want[i]));
    }
    ok(worst < 1e-12, "every second of real numbers: %g", worst);
    fftw_destroy_plan(plan);
}

static void test_refused(void)
{
    static fftw_complex in[64], out[64];
    const fftw_iodim uneven[] = {{3, 5, 4}, {4, 2, 1}};

    ok(!fftw_plan_guru_dft(2, uneven, 0, NULL, in, out, FFTW_FORWARD, 0),
       "strides that cuFFT does not have: no plan");
    ok(!fftw_plan_dft(4, (int[]){2, 2, 2, 2}, in, out, FFTW_FORWARD, 0),
       "four dimensions: no plan");
    ok(!fftw_plan_dft_1d(0, in, out, FFTW_FORWARD, 0), "a size of 0: no plan");
    ok(!fftw_plan_dft_1d(8, in, out, 0, 0), "no sign: no plan");
    fftw_execute(NULL);
    fftw_destroy_plan(NULL);
    ok(!fftw_import_wisdom_from_file(stdin), "no wisdom is read");
}

int main(void)
{
    seed = tap_seed();
    test_complex(1, (int[]){1});
    test_complex(1, (int[]){60});
    test_complex(1, (int[]){37});
    test_complex(2, (int[]){8, 15});
    test_complex(3, (int[]){3, 4, 10});
    for (int in_place = 0; in_place < 2; in_place++) {
        test_real(1, (int[]){30}, in_place);
        test_real(1, (int[]){9}, in_place);
        test_real(2, (int[]){5, 8}, in_place);
        test_real(3, (int[]){3, 4, 7}, in_place);
    }
    test_batches();
    test_refused();
    return done();
}
