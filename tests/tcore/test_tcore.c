/*
 * Vectors of sums as tensor cores make them beside the reference, bit for bit: each architecture's
 * rule, each kind of product, each level of this host. Numbers are random, of few and of all
 * exponents, zeros of both signs, denormals, infinities and NaN.
 *
 *     test_tcore [ROUNDS [LEVEL]]      320 products of fragments a round, kind and level, about
 */
#include "tcore/tcore.h"

#include <math.h>

#include "support/tap.h"

enum { ROWS = TCORE_ROWS, COLUMNS = TCORE_COLUMNS, PAIRS = 4, HALF_BITS = 10, F32_BITS = 23 };

static uint64_t state;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static unsigned below(unsigned n)
{
    return random32() % n;
}

struct type {
    const char *name;
    int least, most, bits; /* exponents; of the fraction */
    unsigned width;
    bool has_infinity;
};
static const struct type types[] = {
    {"f16", -14, 15, 10, 16, true},    {"bf16", -126, 127, 7, 16, true},
    {"tf32", -126, 127, 10, 32, true}, {"e4m3", -6, 8, 3, 8, false},
    {"e5m2", -14, 15, 2, 8, true},     {"e2m3", 0, 2, 3, 8, false},
    {"e3m2", -2, 4, 2, 8, false},      {"e2m1", 0, 2, 1, 8, false},
    {"f32", -126, 127, 23, 32, true},
};
enum { F16, F32 = 8 };

/* How the numbers of a round are. */
enum mood { NEAR, FAR, SPARSE, APART, ALL, SMALL, STRANGE, MOODS };

/* APART: numbers of b are large. */
static float number(const struct type *t, enum mood mood, bool is_b)
{
    int spread = mood == NEAR ? 3 : mood <= SPARSE ? 12 : 1000, high = HD_MIN(t->most, 3);

    if (mood == STRANGE && !below(200))
        return below(2) ? NAN : t->has_infinity ? INFINITY : NAN;
    if (!below(mood == SPARSE ? 2 : 20))
        return below(2) ? 0.0f : -0.0f;
    if (mood >= ALL)
        high = t->most;
    if (mood == APART)
        high = is_b ? HD_MIN(t->most, 100) : HD_MIN(t->least + 30, t->most), spread = is_b ? 8 : 60;
    if (mood == SMALL) /* denormals, and their neighbours */
        high = t->least + 3, spread = 6;
    int low = HD_MAX(high - spread, t->least - t->bits),
        e = high - (int)below((unsigned)(high - low + 1));
    int unit = HD_MAX(e, t->least) - t->bits;
    double x = ldexp(1 + below(1u << t->bits) * ldexp(1, -t->bits), e);
    x = ldexp(trunc(ldexp(x, -unit)), unit);
    return (float)(below(2) ? -x : x);
}

static float a[PAIRS][TCORE_K][ROWS], b[PAIRS][TCORE_K][COLUMNS];
static float c[COLUMNS][ROWS], d[COLUMNS][ROWS];

static void fill(const struct type *type, const struct type *sums, enum mood mood)
{
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < TCORE_K; k++) {
            for (int row = 0; row < ROWS; row++)
                a[i][k][row] = mood == SPARSE && row % 3 == 0 ? 0 : number(type, mood, false);
            for (int col = 0; col < COLUMNS; col++)
                b[i][k][col] = mood == SPARSE && col % 4 == 0 ? -0.0f : number(type, mood, true);
        }
    for (int i = 0; i < ROWS * COLUMNS; i++)
        c[i / ROWS][i % ROWS] = number(sums, mood >= APART && below(2) ? FAR : mood, false);
}

/* Differing sums. */
static unsigned compare(const struct tcore_form *f, unsigned pairs)
{
    unsigned wrong = 0;

    for (int col = 0; col < COLUMNS; col++)
        for (int row = 0; row < ROWS; row++) {
            float x[PAIRS * TCORE_K], y[PAIRS * TCORE_K], sum = c[col][row];
            for (unsigned i = 0; i < pairs; i++) {
                struct tcore_products p = {.a_least = f->a_least,
                                           .b_least = f->b_least,
                                           .c_least = f->c_is_half ? TCORE_HALF_LEAST : -126,
                                           .d_is_half = f->d_is_half,
                                           .n = f->k,
                                           .a = x,
                                           .b = y};
                for (unsigned k = 0; k < f->k; k++)
                    x[k] = a[i][k][row], y[k] = b[i][k][col];
                sum = tcore_sum(&f->rule, &p, sum);
            }
            if (memcmp(&sum, &d[col][row], sizeof(sum)) && !wrong++)
                diag("row %d column %d: c %a, got %a, want %a", row, col, c[col][row], d[col][row],
                     sum);
        }
    return wrong;
}

static void check(const struct tcore_vectors *v, const struct tcore_form *f, const struct type *t,
                  const char *what, unsigned rounds)
{
    static struct tcore_a ready_a[PAIRS];
    static struct tcore_b ready_b[PAIRS];
    struct tcore_pair pairs[PAIRS];
    unsigned wrong = 0, made[MOODS] = {0};

    for (unsigned round = 0; round < rounds; round++) {
        const unsigned n = 1 + round / MOODS % PAIRS;
        const enum mood mood = (enum mood)(round % MOODS);
        fill(t, &types[f->c_is_half ? F16 : F32], mood);
        memcpy(d, c, sizeof(d));
        unsigned mode = tcore_enter(false);
        for (unsigned i = 0; i < n; i++) {
            v->prepare_a(f, (const float(*)[ROWS])a[i], &ready_a[i]);
            v->prepare_b(f, (const float(*)[COLUMNS])b[i], &ready_b[i]);
            pairs[i] = (struct tcore_pair){&ready_a[i], &ready_b[i]};
        }
        (void)tcore_enter(true);
        bool done = v->add(f, pairs, n, d);
        tcore_leave(mode);
        if (done) {
            wrong += compare(f, n);
            made[mood]++;
        } else if (memcmp(c, d, sizeof(d))) {
            wrong++;
        }
    }
    ok(!wrong && made[NEAR] >= rounds / MOODS && made[SPARSE] >= rounds / MOODS / 2, "%s", what);
    if (wrong)
        diag("%u sums differ", wrong);
}

static void check_rule(const struct tcore_vectors *v, const char *level, const char *arch,
                       unsigned fraction, unsigned step_B, bool fp8, unsigned rounds)
{
    for (size_t i = 0; i < F32; i++) {
        const struct type *t = &types[i];
        const bool is_fp8 = !strcmp(t->name, "e4m3") || !strcmp(t->name, "e5m2");
        struct tcore_rule rule = {.fraction = (uint8_t)fraction,
                                  .step = (uint8_t)(step_B * 8 / t->width),
                                  .is_short = fraction == 13};
        if (fp8 && !is_fp8)
            continue;
        for (unsigned k = 256 / t->width; k >= 128 / t->width && k >= 4; k /= 2)
            for (int halves = 0; halves < (t->least >= -14 ? 2 : 1); halves++) {
                struct tcore_form f;
                char what[160];
                snprintf(what, sizeof(what), "%s %s%s %s k%u, sums of %s", level, arch,
                         fp8 ? " fp8" : "", t->name, k, halves ? "f16" : "f32");
                if (!tcore_form_init(&f, &rule, k, t->least, t->least, halves, halves))
                    ok(false, "%s has vectors", what);
                else
                    check(v, &f, t, what, rounds);
            }
    }
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 12;
    const struct {
        const char *name;
        const struct tcore_vectors *vectors;
    } levels[] = {
        {"avx2", hd_host_has(HD_HOST_AVX2) ? tcore_vectors_get(HD_HOST_AVX2, false) : NULL},
        {"avx512", hd_host_has(HD_HOST_AVX512) ? tcore_vectors_get(HD_HOST_AVX512, false) : NULL},
#if defined(__x86_64__)
        {"avx512 popcount", hd_host_has(HD_HOST_AVX512) && __builtin_cpu_supports("avx512vpopcntdq")
                                ? tcore_vectors_get(HD_HOST_AVX512, true)
                                : NULL},
#endif
    };

    state = tap_seed() * 2 + 88172645463325253;
    ok(!tcore_vectors_get(HD_HOST_GENERIC, false), "other hosts have the reference alone");
    for (size_t i = 0; i < HD_COUNT_OF(levels); i++) {
        if (!levels[i].vectors || (argc > 2 && strcmp(levels[i].name, argv[2]) != 0))
            continue;
#define X(arch, machine, another, fraction, step_B, fp8, fp8_wgmma)                                \
    check_rule(levels[i].vectors, levels[i].name, #arch, fraction, step_B, false, rounds);         \
    check_rule(levels[i].vectors, levels[i].name, #arch, fp8, step_B, true, rounds);               \
    if (fp8 != fp8_wgmma)                                                                          \
        check_rule(levels[i].vectors, levels[i].name, #arch " wgmma", fp8_wgmma, step_B, true,     \
                   rounds);
#include "tensor_cores.def"
#undef X
    }
    return done();
}
