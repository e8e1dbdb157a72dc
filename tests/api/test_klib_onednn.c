/*
 * Products by oneDNN, beside plain loops: which it gets, all types it is used for, sums that do not
 * depend on the number of threads, shapes beyond those that are kept, threads, OpenMP's settings.
 *
 *     test_klib_onednn LIBRARY [PROGRAM]    with a program: runs that instead, if oneDNN is there
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "klib/halves.h"
#include "klib/klib.h"
#include "support/tap.h"

static const struct klib *klib;
static uint32_t isa;
static uint64_t state;

/* Bits of klib_onednn.isa. */
enum { ISA_AVX512 = 0x20, ISA_VNNI = 0x48, ISA_BF16 = 0x80, ISA_AMX_FP16 = 0x1000 };

static size_t size_of(uint8_t type)
{
    return type == KLIB_I8 ? 1 : type == KLIB_F16 || type == KLIB_BF16 ? 2 : 4;
}

static double get(uint8_t type, const void *p, int64_t i)
{
    switch (type) {
    case KLIB_F16:
        return klib_f32_of_f16(((const uint16_t *)p)[i]);
    case KLIB_BF16:
        return klib_f32_of_bf16(((const uint16_t *)p)[i]);
    case KLIB_I8:
        return ((const int8_t *)p)[i];
    case KLIB_I32:
        return ((const int32_t *)p)[i];
    default:
        return ((const float *)p)[i];
    }
}

static void put_random(uint8_t type, void *p, int64_t cells, bool extreme)
{
    for (int64_t i = 0; i < cells; i++) {
        uint64_t r = tap_random(&state);
        float f = (float)(r >> 40) * 0x1p-23f - 1;
        if (type == KLIB_F16)
            ((uint16_t *)p)[i] = klib_f16_of_f32(f);
        else if (type == KLIB_BF16)
            ((uint16_t *)p)[i] = klib_bf16_of_f32(f);
        else if (type == KLIB_I8)
            ((int8_t *)p)[i] = !extreme ? (int8_t)r : r & 1 ? -128 : 127 - (int)(r >> 1 & 1);
        else if (type == KLIB_I32)
            ((int32_t *)p)[i] = (int32_t)(r % 100003);
        else
            ((float *)p)[i] = f;
    }
}

/* One problem in memory of its own. */
struct problem {
    struct klib_gemm g;
    void *a, *b, *c, *old;
    int64_t c_cells;
};

static struct problem make(uint8_t ab, uint8_t c, int64_t m, int64_t n, int64_t k, char ta, char tb,
                           bool extreme)
{
    int64_t lda = (ta == 'N' ? m : k) + 3, ldb = (tb == 'N' ? k : n) + 1, ldc = m + 2;
    int64_t a_cells = lda * (ta == 'N' ? k : m), b_cells = ldb * (tb == 'N' ? n : k);
    struct problem p = {.a = malloc((size_t)a_cells * size_of(ab)),
                        .b = malloc((size_t)b_cells * size_of(ab)),
                        .c = malloc((size_t)(ldc * n) * size_of(c)),
                        .old = malloc((size_t)(ldc * n) * size_of(c)),
                        .c_cells = ldc * n};

    put_random(ab, p.a, a_cells, extreme);
    put_random(ab, p.b, b_cells, extreme);
    put_random(c, p.old, p.c_cells, false);
    uint8_t sums = c == KLIB_I32 ? KLIB_I32 : KLIB_F32;
    p.g = (struct klib_gemm){.a = {p.a, lda, 0, ab, (uint8_t)ta, 0},
                             .b = {p.b, ldb, 0, ab, (uint8_t)tb, 0},
                             .c = {p.c, ldc, 0, c, 'N', 0},
                             .m = m,
                             .n = n,
                             .k = k,
                             .sums = sums,
                             .factors = sums};
    return p;
}

static void release(struct problem *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->old);
}

static void set_factors(struct problem *p, int alpha, int beta)
{
    if (p->g.sums == KLIB_I32) {
        memcpy(p->g.alpha.value, &(int32_t){alpha}, 4);
        memcpy(p->g.beta.value, &(int32_t){beta}, 4);
    } else {
        memcpy(p->g.alpha.value, &(float){(float)alpha}, 4);
        memcpy(p->g.beta.value, &(float){(float)beta}, 4);
    }
}

static int run(struct problem *p)
{
    struct heddle_native_call call = {.size_B = sizeof(call),
                                      .last = (uint64_t)p->g.row_blocks * p->g.column_blocks,
                                      .params = &p->g};

    memcpy(p->c, p->old, (size_t)p->c_cells * size_of(p->g.c.type));
    return klib->gemm(&call);
}

/* Whole numbers exactly, floats within the rounding of sums in any order and of the result. */
static bool is_right(const struct problem *p, int alpha, int beta)
{
    const struct klib_gemm *g = &p->g;
    double unit = g->c.type == KLIB_BF16 ? 0x1p-8 : g->c.type == KLIB_F16 ? 0x1p-11 : 0x1p-24;

    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->c.ld; i++) {
            int64_t at = i + j * g->c.ld;
            double sum = 0, all = 0, old = get(g->c.type, p->old, at);
            double got = get(g->c.type, p->c, at);
            for (int64_t q = 0; i < g->m && q < g->k; q++) {
                double x = get(g->a.type, p->a, g->a.op == 'N' ? i + q * g->a.ld : q + i * g->a.ld);
                x *= get(g->b.type, p->b, g->b.op == 'N' ? q + j * g->b.ld : j + q * g->b.ld);
                sum += x;
                all += fabs(x);
            }
            double want = i < g->m ? alpha * sum + beta * old : old;
            double bound = g->c.type == KLIB_I32 || i >= g->m
                               ? 0
                               : (double)g->k * 0x1p-23 * all * abs(alpha) +
                                     unit * (fabs(want) + fabs(beta * old));
            if (fabs(got - want) > bound) {
                diag("[%d, %d]: %.9g, not %.9g", (int)i, (int)j, got, want);
                return false;
            }
        }
    return true;
}

/* ---- which products it gets */

static uint8_t engine_of(uint8_t type, int64_t n, int64_t k, bool is_pedantic)
{
    struct klib_gemm g = {.a = {.type = type, .op = 'N', .ld = n},
                          .b = {.type = type, .op = 'N', .ld = k},
                          .c = {.type = type == KLIB_I8 ? KLIB_I32 : type, .op = 'N', .ld = n},
                          .m = n,
                          .n = n,
                          .k = k,
                          .sums = type == KLIB_I8 ? KLIB_I32 : KLIB_F32,
                          .is_pedantic = is_pedantic};

    klib->gemm_blocks(&g, 1, 4);
    return g.engine;
}

static void test_choice(void)
{
    uint8_t floats = isa & ISA_AVX512 ? KLIB_ONEDNN_FLOATS : KLIB_OPENBLAS;

    eq_u64(engine_of(KLIB_F32, 512, 512, false), isa & ISA_AVX512 ? KLIB_ONEDNN : KLIB_OPENBLAS,
           "large products of floats");
    eq_u64(engine_of(KLIB_F32, 64, 64, false), KLIB_OPENBLAS, "small ones are OpenBLAS's");
    eq_u64(engine_of(KLIB_I8, 512, 512, false), isa & ISA_VNNI ? KLIB_ONEDNN : floats,
           "bytes, where sums can't overflow");
    eq_u64(engine_of(KLIB_I8, 16, 200000, false), floats, "and are not too long");
    eq_u64(engine_of(KLIB_I8, 4, 4, false), KLIB_OPENBLAS, "or too small");
    eq_u64(engine_of(KLIB_BF16, 512, 512, false), isa & ISA_BF16 ? KLIB_ONEDNN : floats,
           "bfloat16, where the processor has it");
    eq_u64(engine_of(KLIB_F16, 512, 512, false), isa & ISA_AMX_FP16 ? KLIB_ONEDNN : floats,
           "halves, likewise");
    eq_u64(engine_of(KLIB_BF16, 512, 512, true), floats, "not in pedantic mode");
    eq_u64(engine_of(KLIB_I8, 512, 512, true), isa & ISA_VNNI ? KLIB_ONEDNN : floats,
           "which whole numbers do not mind");
}

/* ---- results */

static const struct {
    const char *name;
    uint8_t ab, c;
    uint32_t isa; /* for elements as they are */
} kinds[] = {
    {"f32", KLIB_F32, KLIB_F32, ISA_AVX512},
    {"bytes to int32", KLIB_I8, KLIB_I32, ISA_VNNI},
    {"bytes to f32", KLIB_I8, KLIB_F32, ISA_VNNI},
    /* The primitives for these are slow without instructions, but right. */
    {"bf16", KLIB_BF16, KLIB_BF16, ISA_AVX512},
    {"bf16 to f32", KLIB_BF16, KLIB_F32, ISA_AVX512},
    {"f16", KLIB_F16, KLIB_F16, 0}, /* refused without, so floats are multiplied */
};

static void test_results(void)
{
    static const struct {
        int64_t m, n, k;
    } shapes[] = {{37, 29, 19}, {1, 200, 130}, {200, 1, 700}, {66, 70, 1100}};
    static const int factors[][2] = {{1, 0}, {1, 1}, {2, -1}, {0, 1}, {3, 0}};

    for (size_t t = 0; t < HD_COUNT_OF(kinds); t++)
        for (size_t s = 0; s < HD_COUNT_OF(shapes); s++)
            for (int ops = 0; ops < 4; ops++) {
                bool right = true;
                for (size_t f = 0; f < HD_COUNT_OF(factors); f++) {
                    struct problem p =
                        make(kinds[t].ab, kinds[t].c, shapes[s].m, shapes[s].n, shapes[s].k,
                             ops & 1 ? 'T' : 'N', ops & 2 ? 'T' : 'N', f % 2);
                    klib->gemm_blocks(&p.g, 1, 3);
                    p.g.engine = !kinds[t].isa || isa & kinds[t].isa ? KLIB_ONEDNN
                                 : isa & ISA_AVX512                  ? KLIB_ONEDNN_FLOATS
                                                                     : KLIB_OPENBLAS;
                    set_factors(&p, factors[f][0], factors[f][1]);
                    right = !run(&p) && is_right(&p, factors[f][0], factors[f][1]) && right;
                    release(&p);
                }
                ok(right, "%s, %d x %d x %d, ops %d", kinds[t].name, (int)shapes[s].m,
                   (int)shapes[s].n, (int)shapes[s].k, ops);
            }
}

/* Blocks follow the number of threads, results don't. */
static void test_blocks(void)
{
    static const unsigned threads[] = {1, 2, 5, 64};
    static const int factors[][2] = {{1, 0}, {1, 1}, {3, 0}, {3, -2}};

    for (size_t t = 0; t < HD_COUNT_OF(kinds); t++)
        for (int ops = 0; ops < 4; ops++) {
            struct problem p = make(kinds[t].ab, kinds[t].c, 281, 300, 1030, ops & 1 ? 'T' : 'N',
                                    ops & 2 ? 'T' : 'N', false);
            size_t size_B = (size_t)p.c_cells * size_of(p.g.c.type);
            void *first = malloc(size_B);
            bool same = true;
            for (size_t f = 0; f < HD_COUNT_OF(factors); f++) {
                set_factors(&p, factors[f][0], factors[f][1]);
                for (size_t i = 0; i < HD_COUNT_OF(threads); i++) {
                    klib->gemm_blocks(&p.g, 1, threads[i]);
                    same = !run(&p) && same;
                    if (!i)
                        memcpy(first, p.c, size_B);
                    same = !memcmp(first, p.c, size_B) && same;
                }
            }
            ok(same, "%s, ops %d: the same bits, whatever the threads", kinds[t].name, ops);
            free(first);
            release(&p);
        }
}

static void test_values(void)
{
    struct problem p = make(KLIB_F32, KLIB_F32, 150, 150, 150, 'N', 'N', false);

    ((float *)p.a)[0] = NAN;
    set_factors(&p, 0, 2);
    klib->gemm_blocks(&p.g, 1, 1);
    ok(!run(&p) && ((float *)p.c)[0] == 2 * ((float *)p.old)[0],
       "alpha 0: operands are not looked at");
    ((float *)p.a)[0] = 1;
    ((float *)p.old)[0] = NAN;
    set_factors(&p, 3, 0);
    ok(!run(&p) && ((float *)p.c)[0] == ((float *)p.c)[0], "beta 0: nor is C");
    set_factors(&p, 1, 0);
    ok(!run(&p) && ((float *)p.c)[0] == ((float *)p.c)[0], "likewise in one call");
    release(&p);
}

/* ---- what is kept, and threads */

enum { SHAPES = 300, THREADS = 4 };

/* More than are kept, so that some go and come again. */
static void *many_shapes(void *seed)
{
    uintptr_t wrong = 0;

    for (int i = 0; i < SHAPES; i++) {
        /* Small whole numbers: exact. */
        int64_t m = 1 + (i * 7 + (int)(uintptr_t)seed * 131) % SHAPES, n = 2, k = 3;
        uint16_t a[3 * SHAPES], b[6], c[2 * SHAPES];
        for (int q = 0; q < m * k; q++)
            a[q] = klib_bf16_of_f32((float)(q % 5));
        for (int q = 0; q < 6; q++)
            b[q] = klib_bf16_of_f32((float)(q - 2));
        struct klib_gemm g = {.a = {a, m, 0, KLIB_BF16, 'N', 0},
                              .b = {b, k, 0, KLIB_BF16, 'N', 0},
                              .c = {c, m, 0, KLIB_BF16, 'N', 0},
                              .m = m,
                              .n = n,
                              .k = k,
                              .row_blocks = 1,
                              .column_blocks = 1,
                              .sums = KLIB_F32,
                              .factors = KLIB_F32,
                              .engine = KLIB_ONEDNN};
        memcpy(g.alpha.value, &(float){1}, sizeof(float));
        struct heddle_native_call call = {.size_B = sizeof(call), .last = 1, .params = &g};
        wrong += klib->gemm(&call) != 0;
        for (int64_t at = 0; at < m * n; at++) {
            float want = 0;
            for (int64_t q = 0; q < k; q++)
                want += klib_f32_of_bf16(a[at % m + q * m]) * klib_f32_of_bf16(b[q + at / m * k]);
            wrong += klib_f32_of_bf16(c[at]) != want;
        }
    }
    return (void *)wrong;
}

static void test_many(void)
{
    pthread_t threads[THREADS];
    uintptr_t wrong = 0;

    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, many_shapes, (void *)i))
            exit(1);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    eq_u64(wrong, 0, "%d shapes by each of %d threads", SHAPES, THREADS);
}

static void test_openmp(void)
{
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*get_threads)(void) = NULL;
    void (*set_threads)(int) = NULL;

    if (openmp) {
        *(void **)&get_threads = dlsym(openmp, "omp_get_max_threads");
        *(void **)&set_threads = dlsym(openmp, "omp_set_num_threads");
    }
    if (!get_threads || !set_threads) {
        skip("this oneDNN is without OpenMP");
        return;
    }
    struct problem p = make(KLIB_I8, KLIB_I32, 100, 100, 100, 'N', 'N', false);
    set_threads(3);
    set_factors(&p, 1, 0);
    klib->gemm_blocks(&p.g, 1, 1);
    ok(!run(&p) && is_right(&p, 1, 0) && get_threads() == 3, "the program's OpenMP stays as it is");
    release(&p);
}

int main(int argc, char **argv)
{
    const struct klib *(*entry)(void) = NULL;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

    if (library)
        *(void **)&entry = dlsym(library, KLIB_ENTRY);
    klib = entry ? entry() : NULL;
    if (!klib) {
        diag("no kernel library: %s", dlerror());
        return 1;
    }
    const struct klib_onednn *found = klib->onednn();
    if (!found)
        return skip_all("oneDNN is not there");
    if (argc > 2) {
        execv(argv[2], argv + 2);
        return 1;
    }
    diag("oneDNN %u.%u.%u, %s, instruction sets 0x%x", found->major, found->minor, found->patch,
         found->path, found->isa);
    isa = found->isa;
    state = tap_seed();
    test_choice();
    test_results();
    test_blocks();
    test_values();
    test_many();
    test_openmp();
    return done();
}
