/*
 * Which code path this host runs.
 */
#include "jit/jit_private.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static const char *const path_names[] = {
    [JIT_GENERIC] = "generic", [JIT_AVX2] = "avx2", [JIT_AVX512] = "avx512"};

const char *jit_path_name(enum jit_path path)
{
    return path_names[path];
}

static bool host_has(enum jit_path path)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (path == JIT_AVX2)
        return avx2;
    if (path == JIT_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
#endif
    return path == JIT_GENERIC;
}

enum hd_status jit_path_get(enum jit_path *out_path)
{
    const char *want = hd_env("HEDDLE_CPU");
    for (int p = JIT_AVX512; p >= JIT_GENERIC; p--) {
        if (want && strcmp(want, path_names[p]))
            continue;
        if (host_has((enum jit_path)p)) {
            *out_path = (enum jit_path)p;
            return HD_OK;
        }
        if (want)
            return hd_error(HD_BAD_ARG, "HEDDLE_CPU=%s: this CPU lacks it", want);
    }
    return hd_error(HD_BAD_ARG, "HEDDLE_CPU=%s: expected avx512, avx2 or generic", want);
}

/* Beyond what the path's base CPU has; bits that change which instructions are chosen. */
static void features_add(char *text, size_t cap, bool have, const char *name)
{
    size_t len = strlen(text);
    if (have)
        snprintf(text + len, cap - len, "%s+%s", len ? "," : "", name);
}

static char feature_text[3][256];

static void features_init(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    char *t = feature_text[JIT_AVX512];
    size_t cap = sizeof(feature_text[0]);
    features_add(t, cap, __builtin_cpu_supports("avx512vbmi"), "avx512vbmi");
    features_add(t, cap, __builtin_cpu_supports("avx512vbmi2"), "avx512vbmi2");
    features_add(t, cap, __builtin_cpu_supports("avx512vpopcntdq"), "avx512vpopcntdq");
    features_add(t, cap, __builtin_cpu_supports("avx512bitalg"), "avx512bitalg");
    features_add(t, cap, __builtin_cpu_supports("avx512ifma"), "avx512ifma");
    features_add(t, cap, __builtin_cpu_supports("gfni"), "gfni");
#endif
}

const char *jit_features(enum jit_path path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, features_init);
    return feature_text[path];
}
