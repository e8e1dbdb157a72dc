/*
 * Which code this host runs: a level (the instruction sets that the code generator distinguishes)
 * and the features beyond it that change which instructions LLVM chooses. Everything is looked up,
 * nothing is concluded from a model name; HEDDLE_CPU and HEDDLE_HOST_CPU lower it.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/host.h"
#include "base/log.h"

_Static_assert(JIT_GENERIC == (int)HD_HOST_GENERIC && JIT_AVX2 == (int)HD_HOST_AVX2 &&
                   JIT_AVX512 == (int)HD_HOST_AVX512,
               "a path for each level of the host");

/* Name, LLVM's name ("" = shown, but no code is made for it), lowest and highest level to which it
 * adds; CPUID: leaf, subleaf, register (0 = eax ..), bit. */
#define FEATURE_LIST(X)                                                                            \
    X("sse4.2", "sse4.2", JIT_GENERIC, JIT_GENERIC, 1, 0, 2, 20)                                   \
    X("popcnt", "popcnt", JIT_GENERIC, JIT_GENERIC, 1, 0, 2, 23)                                   \
    X("ifma", "avx512ifma", JIT_AVX512, JIT_AVX512, 7, 0, 1, 21)                                   \
    X("vbmi", "avx512vbmi", JIT_AVX512, JIT_AVX512, 7, 0, 2, 1)                                    \
    X("vbmi2", "avx512vbmi2", JIT_AVX512, JIT_AVX512, 7, 0, 2, 6)                                  \
    X("gfni", "gfni", JIT_AVX512, JIT_AVX512, 7, 0, 2, 8)                                          \
    X("bitalg", "avx512bitalg", JIT_AVX512, JIT_AVX512, 7, 0, 2, 12)                               \
    X("vpopcntdq", "avx512vpopcntdq", JIT_AVX512, JIT_AVX512, 7, 0, 2, 14)                         \
    X("vnni", "", JIT_AVX512, JIT_AVX512, 7, 0, 2, 11)                                             \
    X("bf16", "", JIT_AVX512, JIT_AVX512, 7, 1, 0, 5)                                              \
    X("fp16", "", JIT_AVX512, JIT_AVX512, 7, 0, 3, 23)                                             \
    X("amx-tile", "", JIT_AVX512, JIT_AVX512, 7, 0, 3, 24)                                         \
    X("amx-int8", "", JIT_AVX512, JIT_AVX512, 7, 0, 3, 25)                                         \
    X("amx-bf16", "", JIT_AVX512, JIT_AVX512, 7, 0, 3, 22)

static const struct feature {
    const char *name, *llvm;
    enum jit_path lowest, highest;
    unsigned leaf, subleaf, reg, bit;
} features[] = {
#define X(name, llvm, lowest, highest, leaf, subleaf, reg, bit)                                    \
    {name, llvm, lowest, highest, leaf, subleaf, reg, bit},
    FEATURE_LIST(X)
#undef X
};
_Static_assert(HD_COUNT_OF(features) <= 32, "struct jit_cpu has one bit for each");

static bool is_of_level(const struct feature *f, enum jit_path path)
{
    return f->lowest <= path && path <= f->highest;
}

const char *jit_path_name(enum jit_path path)
{
    return hd_host_level_name((enum hd_host_level)path);
}

bool jit_path_runs_here(enum jit_path path)
{
    return hd_host_has((enum hd_host_level)path);
}

/* Registers beyond AVX-512's need the kernel's consent as well. */
static bool host_saves_tiles(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) /* OSXSAVE */
        return false;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (a >> 17 & 3) == 3;
#else
    return false;
#endif
}

static bool host_has(const struct feature *f)
{
#if defined(__x86_64__)
    unsigned r[4];
    if (!jit_path_runs_here(f->lowest) ||
        !__get_cpuid_count(f->leaf, f->subleaf, &r[0], &r[1], &r[2], &r[3]))
        return false;
    bool tile = !strncmp(f->name, "amx", 3);
    return (r[f->reg] >> f->bit & 1) && (!tile || host_saves_tiles());
#else
    return false;
#endif
}

static uint32_t host_set[JIT_AVX512 + 1]; /* by level */

static void host_init(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(features); i++) {
        for (unsigned p = features[i].lowest; p <= features[i].highest; p++)
            host_set[p] |= (host_has(&features[i]) ? 1u : 0u) << i;
    }
}

/* What the host has of level `path`. Asked once: CPUID takes microseconds on virtual machines. */
static uint32_t host_features(enum jit_path path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, host_init);
    return host_set[path];
}

static void words_add(char *text, size_t cap, const char *separator, const char *word)
{
    size_t len = strlen(text);
    snprintf(text + len, cap - len, "%s%s", len ? separator : "", word);
}

static void feature_names(uint32_t set, char *text, size_t cap)
{
    text[0] = 0;
    for (size_t i = 0; i < HD_COUNT_OF(features); i++) {
        if (set >> i & 1)
            words_add(text, cap, " ", features[i].name);
    }
}

/* ---- HEDDLE_CPU: LEVEL, then ,-FEATURE for each that is not to be used */

static enum hd_status level_parse(const char *text, size_t len, struct jit_cpu *out)
{
    for (int p = JIT_AVX512; p >= JIT_GENERIC; p--) {
        const char *name = jit_path_name((enum jit_path)p);
        if (len != strlen(name) || memcmp(text, name, len))
            continue;
        out->path = (enum jit_path)p;
        if (jit_path_runs_here(out->path))
            return HD_OK;
        return hd_error(HD_BAD_ARG, "HEDDLE_CPU=%s: this CPU lacks %s", text, name);
    }
    char here[64] = "";
    for (int p = JIT_AVX512; p >= JIT_GENERIC; p--) {
        if (jit_path_runs_here((enum jit_path)p))
            words_add(here, sizeof(here), " ", jit_path_name((enum jit_path)p));
    }
    return hd_error(HD_BAD_ARG,
                    "HEDDLE_CPU=%s: expected avx512, avx2 or generic, then ,-FEATURE for what is "
                    "not to be used; this CPU runs %s",
                    text, here);
}

static enum hd_status feature_remove(const char *text, const char *word, size_t len,
                                     struct jit_cpu *out)
{
    char names[160];
    for (size_t i = 0; i < HD_COUNT_OF(features) && len > 1 && *word == '-'; i++) {
        const struct feature *f = &features[i];
        if (len - 1 != strlen(f->name) || memcmp(word + 1, f->name, len - 1))
            continue;
        if (!is_of_level(f, out->path))
            break;
        out->features &= ~(1u << i); /* one that the host lacks is not used either */
        return HD_OK;
    }
    uint32_t all = 0;
    for (size_t i = 0; i < HD_COUNT_OF(features); i++)
        all |= (is_of_level(&features[i], out->path) ? 1u : 0u) << i;
    feature_names(all, names, sizeof(names));
    return hd_error(HD_BAD_ARG, "HEDDLE_CPU=%s: '%.*s' is not - and one of: %s", text, (int)len,
                    word, names[0] ? names : "(this level has no features)");
}

enum hd_status jit_cpu_parse(const char *text, struct jit_cpu *out)
{
    *out = (struct jit_cpu){.path = JIT_AVX512};
    while (!text && !jit_path_runs_here(out->path))
        out->path = (enum jit_path)(out->path - 1);
    size_t len = text ? strcspn(text, ",") : 0;
    if (text)
        HD_TRY(level_parse(text, len, out));
    out->features = host_features(out->path);
    for (const char *at = text ? text + len : ""; *at; at += len) {
        at++; /* the comma */
        len = strcspn(at, ",");
        HD_TRY(feature_remove(text, at, len, out));
    }
    return HD_OK;
}

void jit_cpu_name(const struct jit_cpu *cpu, char *text, size_t cap)
{
    char names[160];
    feature_names(cpu->features, names, sizeof(names));
    snprintf(text, cap, "%s%s%s", jit_path_name(cpu->path), names[0] ? " " : "", names);
}

enum hd_status jit_path_get(enum jit_path *out_path)
{
    struct jit_cpu cpu;
    HD_TRY(jit_cpu_parse(hd_env("HEDDLE_CPU"), &cpu));
    *out_path = cpu.path;
    return HD_OK;
}

/* ---- what is used: for LLVM, and part of what identifies cached code */

static uint32_t used_set[JIT_AVX512 + 1]; /* by level */
static char feature_text[JIT_AVX512 + 1][256];

static void features_init(void)
{
    struct jit_cpu cpu;
    uint32_t allowed = UINT32_MAX;
    if (jit_cpu_parse(hd_env("HEDDLE_CPU"), &cpu) == HD_OK)
        allowed = cpu.features | ~host_features(cpu.path);
    for (int p = JIT_GENERIC; p <= JIT_AVX512; p++) {
        uint32_t set = used_set[p] = host_features((enum jit_path)p) & allowed;
        for (size_t i = 0; i < HD_COUNT_OF(features); i++) {
            char word[32];
            if (!(set >> i & 1) || !features[i].llvm[0])
                continue;
            snprintf(word, sizeof(word), "+%s", features[i].llvm);
            words_add(feature_text[p], sizeof(feature_text[p]), ",", word);
        }
    }
}

static void features_known(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, features_init);
}

const char *jit_features(enum jit_path path)
{
    assert((size_t)path < HD_COUNT_OF(feature_text));
    features_known();
    return feature_text[path];
}

bool jit_uses(enum jit_path path, const char *feature)
{
    features_known();
    for (size_t i = 0; i < HD_COUNT_OF(features); i++) {
        if (!strcmp(features[i].name, feature))
            return used_set[path] >> i & 1;
    }
    assert(!"a feature of the list");
    return false;
}
