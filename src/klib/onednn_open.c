/* oneDNN is found and opened, and what is made for shapes is kept: see onednn_open.h. */
#include "klib/onednn_open.h"

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
#include "klib/onednn.h"

struct klib_dnnl klib_dnnl;

static struct {
    pthread_once_t once;
    struct klib_onednn info; /* path NULL: not there */
} onednn = {.once = PTHREAD_ONCE_INIT};

int klib_dnnl_type(enum klib_type type)
{
    static const uint8_t types[] = {[KLIB_F32] = 3, [KLIB_F16] = 1, [KLIB_BF16] = 2,
                                    [KLIB_I32] = 4, [KLIB_I8] = 5,  [KLIB_U8] = 6};

    return type < HD_COUNT_OF(types) ? types[type] : 0;
}

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
    *(void **)&klib_dnnl.name = dlsym(library, "dnnl_" #name);                                     \
    if (!klib_dnnl.name)                                                                           \
        return "it has no dnnl_" #name "()";
    DNNL_FUNCTIONS(X)
#undef X
    const struct dnnl_version *version = klib_dnnl.version();
    if (version->major != 3)
        return "it is not of version 3";
    if (version->cpu_runtime == DNNL_RUNTIME_OPENMP) {
        *(void **)&klib_dnnl.threads = symbol_of(library, "omp_get_max_threads");
        *(void **)&klib_dnnl.set_threads = symbol_of(library, "omp_set_num_threads");
        if (!klib_dnnl.threads || !klib_dnnl.set_threads)
            return "its OpenMP is not there";
    } else if (version->cpu_runtime != DNNL_RUNTIME_SEQUENTIAL) {
        return "its threads are neither OpenMP's nor none";
    }
    /* A host that tests pretend to have. */
    if (hd_env("HEDDLE_HOST_CPU") && !hd_host_has(HD_HOST_AVX512))
        (void)klib_dnnl.set_max_cpu_isa(DNNL_AVX2);
    if (klib_dnnl.engine_create(&klib_dnnl.engine, DNNL_CPU, 0))
        return "it has no engine for processors";
    onednn.info = (struct klib_onednn){.major = version->major,
                                       .minor = version->minor,
                                       .patch = version->patch,
                                       .isa = (uint32_t)klib_dnnl.get_effective_cpu_isa()};
    return NULL;
}

static bool try_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? bind_to(library) : dlerror();
    bool is_asked_for = hd_env("HEDDLE_ONEDNN") != NULL;

    if (!why) {
        onednn.info.path = hd_strdup(path);
        hd_log_debug(HD_DEBUG_LOAD, "oneDNN %u.%u.%u of %s, instruction sets 0x%x",
                     onednn.info.major, onednn.info.minor, onednn.info.patch, path,
                     onednn.info.isa);
        return onednn.info.path != NULL;
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
        dladdr((void *)&klib_dnnl, &self) && self.dli_fname ? strrchr(self.dli_fname, '/') : NULL;
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
    pthread_once(&onednn.once, open_it);
    return onednn.info.path ? &onednn.info : NULL;
}

/* ---- one thread */

int klib_dnnl_enter(void)
{
    int threads = klib_dnnl.threads ? klib_dnnl.threads() : 1;

    if (threads != 1)
        klib_dnnl.set_threads(1);
    return threads;
}

void klib_dnnl_leave(int threads)
{
    if (threads != 1)
        klib_dnnl.set_threads(threads);
}

/* ---- what is made for a shape */

static struct {
    pthread_mutex_t lock;
    uint64_t hashes[KLIB_DNNL_KEPT];
    struct klib_dnnl_kept *kept[KLIB_DNNL_KEPT];
    uint64_t clock;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct klib_dnnl_kept *find_locked(const void *key, size_t key_B, uint64_t hash)
{
    for (unsigned i = 0; i < KLIB_DNNL_KEPT; i++) {
        struct klib_dnnl_kept *p = cache.kept[i];
        if (cache.hashes[i] != hash || !p || p->key_B != key_B || memcmp(p->key, key, key_B) != 0)
            continue;
        p->users++;
        p->used = ++cache.clock;
        return p;
    }
    return NULL;
}

/* Puts it in an empty place, or where one is that nobody runs, the longest unused: which is the
 * caller's to destroy then. If all run, this one goes after its own run. */
static struct klib_dnnl_kept *keep_locked(struct klib_dnnl_kept *p, uint64_t hash)
{
    unsigned place = KLIB_DNNL_KEPT;

    for (unsigned i = 0; i < KLIB_DNNL_KEPT; i++) {
        const struct klib_dnnl_kept *other = cache.kept[i];
        if (!other) {
            place = i;
            break;
        }
        if (!other->users && (place == KLIB_DNNL_KEPT || other->used < cache.kept[place]->used))
            place = i;
    }
    if (place == KLIB_DNNL_KEPT)
        return NULL;
    struct klib_dnnl_kept *old = cache.kept[place];
    cache.kept[place] = p;
    cache.hashes[place] = hash;
    p->is_kept = true;
    p->used = ++cache.clock;
    return old;
}

struct klib_dnnl_kept *klib_dnnl_get(const void *key, size_t key_B,
                                     struct klib_dnnl_kept *(*create)(const void *key))
{
    uint64_t hash = hd_hash(key, key_B, 0);

    pthread_mutex_lock(&cache.lock);
    struct klib_dnnl_kept *p = find_locked(key, key_B, hash);
    pthread_mutex_unlock(&cache.lock);
    if (p)
        return p;
    struct klib_dnnl_kept *made = create(key), *old;
    if (!made)
        return NULL;
    made->users = 1;
    pthread_mutex_lock(&cache.lock);
    p = find_locked(key, key_B, hash); /* another thread's, meanwhile */
    old = p ? made : keep_locked(made, hash);
    pthread_mutex_unlock(&cache.lock);
    if (old)
        old->destroy(old);
    return p ? p : made;
}

void klib_dnnl_put(struct klib_dnnl_kept *kept)
{
    pthread_mutex_lock(&cache.lock);
    bool goes = !--kept->users && !kept->is_kept;
    pthread_mutex_unlock(&cache.lock);
    if (goes)
        kept->destroy(kept);
}

dnnl_handle klib_dnnl_attr(void)
{
    dnnl_handle attr;

    if (klib_dnnl.primitive_attr_create(&attr))
        return NULL;
    if (!klib_dnnl.primitive_attr_set_scratchpad_mode(attr, DNNL_SCRATCHPAD_USER))
        return attr;
    (void)klib_dnnl.primitive_attr_destroy(attr);
    return NULL;
}

/* ---- what a call needs beside its primitive */

static struct {
    pthread_mutex_t lock;
    struct klib_dnnl_helper *free;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER};

void klib_dnnl_helper_put(struct klib_dnnl_helper *h)
{
    pthread_mutex_lock(&helpers.lock);
    h->next = helpers.free;
    helpers.free = h;
    pthread_mutex_unlock(&helpers.lock);
}

struct klib_dnnl_helper *klib_dnnl_helper_get(size_t scratch_B)
{
    pthread_mutex_lock(&helpers.lock);
    struct klib_dnnl_helper *h = helpers.free;
    if (h)
        helpers.free = h->next;
    pthread_mutex_unlock(&helpers.lock);
    if (!h) {
        h = calloc(1, sizeof(*h));
        if (!h || klib_dnnl.stream_create(&h->stream, klib_dnnl.engine, DNNL_IN_ORDER)) {
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
    klib_dnnl_helper_put(h);
    return NULL;
}

bool klib_dnnl_execute(dnnl_handle primitive, const struct klib_dnnl_helper *h,
                       const struct klib_dnnl_operand *operands, int count)
{
    struct dnnl_arg args[8] = {0};
    int n = 0;

    assert((size_t)count <= HD_COUNT_OF(args));
    while (n < count && !klib_dnnl.memory_create(&args[n].memory, operands[n].desc,
                                                 klib_dnnl.engine, operands[n].address)) {
        args[n].what = operands[n].what;
        n++;
    }
    bool done = n == count && !klib_dnnl.primitive_execute(primitive, h->stream, n, args) &&
                !klib_dnnl.stream_wait(h->stream);
    while (n)
        (void)klib_dnnl.memory_destroy(args[--n].memory);
    return done;
}
