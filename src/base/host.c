#include "base/host.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/env.h"

static const char *const names[] = {
    [HD_HOST_GENERIC] = "generic", [HD_HOST_AVX2] = "avx2", [HD_HOST_AVX512] = "avx512"};

static enum hd_host_level best;

static enum hd_host_level look(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("f16c"))
        return HD_HOST_GENERIC;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return HD_HOST_AVX2;
    return HD_HOST_AVX512;
#else
    return HD_HOST_GENERIC;
#endif
}

static void look_once(void)
{
    const char *most = hd_env("HEDDLE_HOST_CPU");
    enum hd_host_level have = look();

    best = have;
    for (unsigned i = 0; most && i < have; i++) {
        if (!strcmp(most, names[i]))
            best = (enum hd_host_level)i;
    }
}

const char *hd_host_level_name(enum hd_host_level level)
{
    assert((unsigned)level < HD_COUNT_OF(names));
    return names[level];
}

bool hd_host_has(enum hd_host_level level)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, look_once);
    return level <= best;
}
