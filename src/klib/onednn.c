/*
 * oneDNN by its C interface of version 3, as its documentation has it
 * (https://uxlfoundation.github.io/oneDNN). Products of floats and of bytes are its gemm, which
 * makes nothing beforehand. Products of 16 bits are primitives: code for one shape, which takes
 * longer to make than many a product to compute, so they are kept.
 *
 * Its gemm chooses among loops by size and leading dimension, and these add in different orders
 * beyond some hundred elements of k. So floats are given to it in slices of k, in which all add in
 * order: a sum is the same whatever the block, and so the number of threads.
 *
 * oneDNN's matrices are stored by rows: C' = op(B)' op(A)', whose rows are C's columns.
 */
#include "klib/onednn.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/host.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "klib/real_gemm.h"

/* ---- the interface: what is used of it */

typedef void *dnnl_handle; /* of an engine, a stream, a descriptor, a primitive, memory */

struct dnnl_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
};

struct dnnl_arg {
    int what;
    dnnl_handle memory;
};

enum {
    DNNL_CPU = 1,
    DNNL_IN_ORDER = 1,
    DNNL_RUNTIME_SEQUENTIAL = 1,
    DNNL_RUNTIME_OPENMP = 2,
    DNNL_SCRATCHPAD_USER = 1,
    DNNL_QUERY_SCRATCHPAD = 136,
    DNNL_ARG_SRC = 1,
    DNNL_ARG_DST = 17,
    DNNL_ARG_WEIGHTS = 33,
    DNNL_ARG_SCRATCHPAD = 80,
};

/* Bits of dnnl_get_effective_cpu_isa() that one level adds to those below it. */
enum {
    DNNL_AVX2 = 0x7, /* all of its bits */
    DNNL_AVX2_VNNI = 0x8,
    DNNL_AVX512 = 0x20,
    DNNL_AVX512_VNNI = 0x40,
    DNNL_AVX512_BF16 = 0x80,
    DNNL_AMX_FP16 = 0x1000,
};

/* name, its result, its arguments */
#define DNNL_FUNCTIONS(X)                                                                          \
    X(version, const struct dnnl_version *, (void))                                                \
    X(get_effective_cpu_isa, int, (void))                                                          \
    X(set_max_cpu_isa, int, (int isa))                                                             \
    X(engine_create, int, (dnnl_handle * out, int kind, size_t index))                             \
    X(stream_create, int, (dnnl_handle * out, dnnl_handle engine, unsigned flags))                 \
    X(stream_wait, int, (dnnl_handle stream))                                                      \
    X(stream_destroy, int, (dnnl_handle stream))                                                   \
    X(memory_desc_create_with_strides, int,                                                        \
      (dnnl_handle * out, int ndims, const int64_t *dims, int type, const int64_t *strides))       \
    X(memory_desc_get_size, size_t, (dnnl_handle desc))                                            \
    X(memory_desc_destroy, int, (dnnl_handle desc))                                                \
    X(memory_create, int,                                                                          \
      (dnnl_handle * out, dnnl_handle desc, dnnl_handle engine, void *address))                    \
    X(memory_destroy, int, (dnnl_handle memory))                                                   \
    X(primitive_attr_create, int, (dnnl_handle * out))                                             \
    X(primitive_attr_set_scratchpad_mode, int, (dnnl_handle attr, int mode))                       \
    X(primitive_attr_destroy, int, (dnnl_handle attr))                                             \
    X(matmul_primitive_desc_create, int,                                                           \
      (dnnl_handle * out, dnnl_handle engine, dnnl_handle src, dnnl_handle weights,                \
       dnnl_handle bias, dnnl_handle dst, dnnl_handle attr))                                       \
    X(primitive_desc_query_md, dnnl_handle, (dnnl_handle desc, int what, int index))               \
    X(primitive_desc_destroy, int, (dnnl_handle desc))                                             \
    X(primitive_create, int, (dnnl_handle * out, dnnl_handle desc))                                \
    X(primitive_execute, int,                                                                      \
      (dnnl_handle primitive, dnnl_handle stream, int nargs, const struct dnnl_arg *args))         \
    X(primitive_destroy, int, (dnnl_handle primitive))                                             \
    X(sgemm, int,                                                                                  \
      (char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,     \
       int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc))               \
    X(gemm_s8s8s32, int,                                                                           \
      (char transa, char transb, char offset_c, int64_t m, int64_t n, int64_t k, float alpha,      \
       const int8_t *a, int64_t lda, int8_t ao, const int8_t *b, int64_t ldb, int8_t bo,           \
       float beta, int32_t *c, int64_t ldc, const int32_t *co))

/* OpenBLAS's */
static struct {
    pthread_once_t once;
    struct klib_onednn info; /* path NULL: not there */
    dnnl_handle engine;
    /* Of its OpenMP; NULL: it is built without. */
    int (*threads)(void);
    void (*set_threads)(int n);
#define X(name, result, args) result(*name) args;
    DNNL_FUNCTIONS(X)
#undef X
} dnnl = {.once = PTHREAD_ONCE_INIT};

/* ---- finding it */

/*
 * The functions of its OpenMP are those that its own calls are bound to: of the program if that
 * has some, else of the library that oneDNN brings in.
 */
static void *symbol_of(void *library, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    return found ? found : dlsym(library, name);
}

/* NULL, or why it can't be used. */
static const char *bind_to(void *library)
{
#define X(name, result, args)                                                                      \
    *(void **)&dnnl.name = dlsym(library, "dnnl_" #name);                                          \
    if (!dnnl.name)                                                                                \
        return "it has no dnnl_" #name "()";
    DNNL_FUNCTIONS(X)
#undef X
    const struct dnnl_version *version = dnnl.version();
    if (version->major != 3)
        return "it is not of version 3";
    if (version->cpu_runtime == DNNL_RUNTIME_OPENMP) {
        *(void **)&dnnl.threads = symbol_of(library, "omp_get_max_threads");
        *(void **)&dnnl.set_threads = symbol_of(library, "omp_set_num_threads");
        if (!dnnl.threads || !dnnl.set_threads)
            return "its OpenMP is not there";
    } else if (version->cpu_runtime != DNNL_RUNTIME_SEQUENTIAL) {
        return "its threads are neither OpenMP's nor none";
    }
    /* A host that tests pretend to have. */
    if (hd_env("HEDDLE_HOST_CPU") && !hd_host_has(HD_HOST_AVX512))
        (void)dnnl.set_max_cpu_isa(DNNL_AVX2);
    if (dnnl.engine_create(&dnnl.engine, DNNL_CPU, 0))
        return "it has no engine for processors";
    dnnl.info = (struct klib_onednn){.major = version->major,
                                     .minor = version->minor,
                                     .patch = version->patch,
                                     .isa = (uint32_t)dnnl.get_effective_cpu_isa()};
    return NULL;
}

static bool try_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? bind_to(library) : dlerror();
    bool is_asked_for = hd_env("HEDDLE_ONEDNN") != NULL;

    if (!why) {
        dnnl.info.path = hd_strdup(path);
        hd_log_debug(HD_DEBUG_LOAD, "oneDNN %u.%u.%u of %s, instruction sets 0x%x", dnnl.info.major,
                     dnnl.info.minor, dnnl.info.patch, path, dnnl.info.isa);
        return dnnl.info.path != NULL;
    }
    if (is_asked_for)
        hd_log("HEDDLE_ONEDNN: %s is not used: %s; products are OpenBLAS's", path, why);
    else
        hd_log_debug(HD_DEBUG_LOAD, "oneDNN: %s is not used: %s", path, why);
    if (library)
        (void)dlclose(library);
    return false;
}

/* Beside this library; in the Python environment whose package this is; where the loader looks.
 * Debian 13 has given it a name of its own. */
static void open_it(void)
{
    static const char *const beside[] = {"libdnnl.so.3", "../../../../../libdnnl.so.3"};
    static const char *const names[] = {"libdnnl.so.3", "libdnnl.so.3.6"};
    const char *asked = hd_env("HEDDLE_ONEDNN");
    Dl_info self;

    if ((asked && !strcmp(asked, "off")) || !hd_host_has(HD_HOST_AVX2))
        return;
    if (asked) {
        (void)try_open(asked);
        return;
    }
    const char *slash =
        dladdr((void *)&dnnl, &self) && self.dli_fname ? strrchr(self.dli_fname, '/') : NULL;
    for (size_t i = 0; slash && i < HD_COUNT_OF(beside); i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self.dli_fname),
                         self.dli_fname, beside[i]);
        if (n > 0 && (size_t)n < sizeof(path) && !access(path, R_OK) && try_open(path))
            return;
    }
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (try_open(names[i]))
            return;
}

const struct klib_onednn *klib_onednn_info(void)
{
    pthread_once(&dnnl.once, open_it);
    return dnnl.info.path ? &dnnl.info : NULL;
}

/* ---- what is its */

/*
 * Types, what the processor has to have for them (one of the bits), and from how many products of
 * elements on it is faster. Bytes: without these instructions it adds pairs of products in 16 bits,
 * which overflow. Halves, without: its own loops are slower than floats'. Floats: OpenBLAS is as
 * fast with AVX2.
 */
static const struct {
    uint8_t type;
    uint32_t isa;
    double products;
} limits[] = {
    {KLIB_F32, DNNL_AVX512, 128.0 * 128 * 128},
    {KLIB_I8, DNNL_AVX2_VNNI | DNNL_AVX512_VNNI, 24.0 * 24 * 24},
    {KLIB_BF16, DNNL_AVX512_BF16, 256.0 * 256 * 256},
    {KLIB_F16, DNNL_AMX_FP16, 256.0 * 256 * 256},
};

/* Longer sums of products of bytes may overflow. */
#define K_MAX_I8 131071

static bool has(enum klib_type type, const struct klib_gemm *g)
{
    double products = (double)g->m * (double)g->n * (double)g->k;

    for (size_t i = 0; i < HD_COUNT_OF(limits); i++)
        if (limits[i].type == type) {
            const struct klib_onednn *info =
                products >= limits[i].products ? klib_onednn_info() : NULL;
            return info && info->isa & limits[i].isa;
        }
    return false;
}

bool klib_onednn_has(const struct klib_gemm *g)
{
    if (g->a.type != g->b.type || (g->a.type == KLIB_I8 && g->k > K_MAX_I8))
        return false;
    if (g->is_pedantic && (g->a.type == KLIB_BF16 || g->a.type == KLIB_F16))
        return false;
    return has(g->a.type, g);
}

bool klib_onednn_has_floats(const struct klib_gemm *g)
{
    return (g->sums == KLIB_F32 || g->sums == KLIB_I32) && has(KLIB_F32, g);
}

/* ---- one thread */

/* What its OpenMP would use for a call of this thread's; it goes back with end_alone(). */
static int begin_alone(void)
{
    int threads = dnnl.threads ? dnnl.threads() : 1;

    if (threads != 1)
        dnnl.set_threads(1);
    return threads;
}

static void end_alone(int threads)
{
    if (threads != 1)
        dnnl.set_threads(threads);
}

/* ---- primitives, which are kept */

struct shape {
    int64_t m, n, k, lda, ldb, ldc;
    uint16_t type, c_type, ta, tb;
};
_Static_assert(sizeof(struct shape) == 6 * 8 + 4 * 2, "compared as bytes");

struct product {
    struct shape shape;
    dnnl_handle primitive; /* NULL: oneDNN has no such product */
    dnnl_handle desc, a, b, c, scratch;
    size_t scratch_B;
    unsigned users; /* calls that run it */
    bool is_kept;
    uint64_t used; /* when, for the one that goes */
};

/* More shapes than the layers of a network have; one is some tens of KiB. */
#define KEPT 256

static struct {
    pthread_mutex_t lock;
    uint64_t hashes[KEPT];
    struct product *kept[KEPT];
    uint64_t clock;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* rows x columns, stored by rows, or its transpose. */
static bool describe(dnnl_handle *out, int64_t rows, int64_t columns, int64_t ld, bool transposed,
                     enum klib_type type)
{
    static const int types[] = {[KLIB_F32] = 3, [KLIB_F16] = 1, [KLIB_BF16] = 2};
    const int64_t dims[] = {rows, columns}, strides[] = {transposed ? 1 : ld, transposed ? ld : 1};

    assert(type < HD_COUNT_OF(types) && types[type]);
    return !dnnl.memory_desc_create_with_strides(out, 2, dims, types[type], strides);
}

static void product_destroy(struct product *p)
{
    dnnl_handle descs[] = {p->a, p->b, p->c};

    if (p->primitive)
        (void)dnnl.primitive_destroy(p->primitive);
    if (p->desc)
        (void)dnnl.primitive_desc_destroy(p->desc);
    for (size_t i = 0; i < HD_COUNT_OF(descs); i++)
        if (descs[i])
            (void)dnnl.memory_desc_destroy(descs[i]);
    free(p);
}

/* Its scratchpad is each call's own, so that threads may run it at once. */
static bool make_primitive(struct product *p)
{
    dnnl_handle attr;

    if (dnnl.primitive_attr_create(&attr))
        return false;
    bool is_made =
        !dnnl.primitive_attr_set_scratchpad_mode(attr, DNNL_SCRATCHPAD_USER) &&
        !dnnl.matmul_primitive_desc_create(&p->desc, dnnl.engine, p->b, p->a, NULL, p->c, attr) &&
        !dnnl.primitive_create(&p->primitive, p->desc);
    (void)dnnl.primitive_attr_destroy(attr);
    if (!is_made)
        return false;
    p->scratch = dnnl.primitive_desc_query_md(p->desc, DNNL_QUERY_SCRATCHPAD, 0);
    p->scratch_B = p->scratch ? dnnl.memory_desc_get_size(p->scratch) : 0;
    return true;
}

/* A shape that oneDNN doesn't have is one, too: it is asked once. */
static struct product *product_create(const struct shape *s)
{
    struct product *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->shape = *s;
    p->users = 1;
    if (!describe(&p->a, s->k, s->m, s->lda, s->ta, s->type) ||
        !describe(&p->b, s->n, s->k, s->ldb, s->tb, s->type) ||
        !describe(&p->c, s->n, s->m, s->ldc, false, s->c_type) || !make_primitive(p))
        hd_log_debug(HD_DEBUG_LOAD, "oneDNN has no product of %lld x %lld x %lld, types %u and %u",
                     (long long)s->m, (long long)s->n, (long long)s->k, s->type, s->c_type);
    return p;
}

static struct product *find_locked(const struct shape *s, uint64_t hash)
{
    for (unsigned i = 0; i < KEPT; i++) {
        struct product *p = cache.kept[i];
        if (cache.hashes[i] != hash || !p || memcmp(&p->shape, s, sizeof(*s)) != 0)
            continue;
        p->users++;
        p->used = ++cache.clock;
        return p;
    }
    return NULL;
}

/* Puts it in an empty place, or where one is that nobody runs, the longest unused: which is the
 * caller's to destroy then. If all run, this one goes after its own run. */
static struct product *keep_locked(struct product *p, uint64_t hash)
{
    unsigned place = KEPT;

    for (unsigned i = 0; i < KEPT; i++) {
        const struct product *other = cache.kept[i];
        if (!other) {
            place = i;
            break;
        }
        if (!other->users && (place == KEPT || other->used < cache.kept[place]->used))
            place = i;
    }
    if (place == KEPT)
        return NULL;
    struct product *old = cache.kept[place];
    cache.kept[place] = p;
    cache.hashes[place] = hash;
    p->is_kept = true;
    p->used = ++cache.clock;
    return old;
}

/* With one user more. NULL: no memory. */
static struct product *product_get(const struct shape *s)
{
    uint64_t hash = hd_hash(s, sizeof(*s), 0);

    pthread_mutex_lock(&cache.lock);
    struct product *p = find_locked(s, hash);
    pthread_mutex_unlock(&cache.lock);
    if (p)
        return p;
    struct product *made = product_create(s), *old;
    if (!made)
        return NULL;
    pthread_mutex_lock(&cache.lock);
    p = find_locked(s, hash); /* another thread's, meanwhile */
    old = p ? made : keep_locked(made, hash);
    pthread_mutex_unlock(&cache.lock);
    if (old)
        product_destroy(old);
    return p ? p : made;
}

/* ---- what a call needs beside its product: as many as there were calls at once */

struct helper {
    struct helper *next;
    dnnl_handle stream;
    void *scratch;
    size_t scratch_B;
};

static struct {
    pthread_mutex_t lock;
    struct helper *free;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void helper_put(struct helper *h)
{
    pthread_mutex_lock(&helpers.lock);
    h->next = helpers.free;
    helpers.free = h;
    pthread_mutex_unlock(&helpers.lock);
}

static struct helper *helper_get(size_t scratch_B)
{
    pthread_mutex_lock(&helpers.lock);
    struct helper *h = helpers.free;
    if (h)
        helpers.free = h->next;
    pthread_mutex_unlock(&helpers.lock);
    if (!h) {
        h = calloc(1, sizeof(*h));
        if (!h || dnnl.stream_create(&h->stream, dnnl.engine, DNNL_IN_ORDER)) {
            free(h);
            return NULL;
        }
    }
    if (h->scratch_B < scratch_B) {
        size_t rounded_B = (scratch_B + 4095) & ~(size_t)4095;
        free(h->scratch);
        h->scratch = aligned_alloc(4096, rounded_B);
        h->scratch_B = h->scratch ? rounded_B : 0;
    }
    if (h->scratch_B >= scratch_B)
        return h;
    helper_put(h);
    return NULL;
}

static bool execute(const struct product *p, struct helper *h, const void *a, const void *b,
                    void *c)
{
    const struct {
        int what;
        dnnl_handle desc;
        void *address;
    } of[] = {{DNNL_ARG_SRC, p->b, (void *)b},
              {DNNL_ARG_WEIGHTS, p->a, (void *)a},
              {DNNL_ARG_DST, p->c, c},
              {DNNL_ARG_SCRATCHPAD, p->scratch, h->scratch}};
    struct dnnl_arg args[HD_COUNT_OF(of)];
    int n = 0, wanted = p->scratch_B ? 4 : 3;

    while (n < wanted &&
           !dnnl.memory_create(&args[n].memory, of[n].desc, dnnl.engine, of[n].address)) {
        args[n].what = of[n].what;
        n++;
    }
    bool done = n == wanted && !dnnl.primitive_execute(p->primitive, h->stream, n, args) &&
                !dnnl.stream_wait(h->stream);
    while (n)
        (void)dnnl.memory_destroy(args[--n].memory);
    return done;
}

static bool multiply_halves(const struct klib_gemm *g, const struct klib_block *at, void *c,
                            enum klib_type type, int64_t ldc)
{
    const struct shape shape = {.m = at->m,
                                .n = at->n,
                                .k = g->k,
                                .lda = g->a.ld,
                                .ldb = g->b.ld,
                                .ldc = ldc,
                                .type = g->a.type,
                                .c_type = type,
                                .ta = !klib_lies(&g->a),
                                .tb = !klib_lies(&g->b)};
    struct product *p = product_get(&shape);
    struct helper *h = p && p->primitive ? helper_get(p->scratch_B) : NULL;
    bool done = h && execute(p, h, at->a, at->b, c);

    if (h)
        helper_put(h);
    if (!p)
        return false;
    pthread_mutex_lock(&cache.lock);
    bool goes = !--p->users && !p->is_kept;
    pthread_mutex_unlock(&cache.lock);
    if (goes)
        product_destroy(p);
    return done;
}

bool klib_onednn_floats(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a,
                        int64_t lda, const float *b, int64_t ldb, bool is_added, float *c,
                        int64_t ldc)
{
    if (!klib_onednn_info())
        return false;
    int threads = begin_alone();
    bool done = true;
    for (int64_t from = 0; done && from < k; from += KLIB_SLICE) {
        int64_t w = HD_MIN(KLIB_SLICE, k - from);
        const float one = 1, beta = is_added || from ? 1 : 0;
        const float *p = a + from * (ta ? 1 : lda), *q = b + from * (tb ? ldb : 1);
        done =
            !dnnl.sgemm(tb ? 'T' : 'N', ta ? 'T' : 'N', n, m, w, 1, q, ldb, p, lda, beta, c, ldc);
        if (!done && from) { /* it had no memory, and C is begun */
            sgemm_(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &w, &one, p, &lda, q, &ldb, &beta, c,
                   &ldc);
            done = true;
        }
    }
    end_alone(threads);
    return done;
}

bool klib_onednn_multiply(const struct klib_gemm *g, const struct klib_block *at, void *c,
                          enum klib_type type, int64_t ldc, bool is_added)
{
    assert(type == (g->a.type == KLIB_I8 ? KLIB_I32 : type));
    assert(!is_added || type == KLIB_I32 || g->a.type == KLIB_F32);
    if (g->a.type == KLIB_F32)
        return klib_onednn_floats(!klib_lies(&g->a), !klib_lies(&g->b), at->m, at->n, g->k,
                                  (const float *)at->a, g->a.ld, (const float *)at->b, g->b.ld,
                                  is_added, c, ldc);
    if (!klib_onednn_info())
        return false;
    const int32_t zero = 0;
    int threads = begin_alone();
    bool done =
        g->a.type == KLIB_I8
            ? !dnnl.gemm_s8s8s32(klib_lies(&g->b) ? 'N' : 'T', klib_lies(&g->a) ? 'N' : 'T', 'F',
                                 at->n, at->m, g->k, 1, (const int8_t *)at->b, g->b.ld, 0,
                                 (const int8_t *)at->a, g->a.ld, 0, is_added ? 1 : 0, c, ldc, &zero)
            : multiply_halves(g, at, c, type, ldc);
    end_alone(threads);
    return done;
}
