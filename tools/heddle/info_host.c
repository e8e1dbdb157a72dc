/* See info.h. */
#include "info.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

#ifndef HEDDLE_LLVM_VERSION
#define HEDDLE_LLVM_VERSION "none"
#endif

#ifdef __x86_64__
#define FEATURE_LIST(X)                                                                            \
    X("sse4.2")                                                                                    \
    X("avx")                                                                                       \
    X("f16c")                                                                                      \
    X("fma")                                                                                       \
    X("bmi2")                                                                                      \
    X("avx2")                                                                                      \
    X("avx512f")                                                                                   \
    X("avx512bw")                                                                                  \
    X("avx512dq")                                                                                  \
    X("avx512vl")                                                                                  \
    X("avx512vnni")                                                                                \
    X("avx512bf16")
#define HAS_CPUID 1
#else
#define FEATURE_LIST(X)
#define HAS_CPUID 0
#endif

static void query_features(struct info_host *host)
{
    size_t len = 0;
    host->features[0] = '\0';
#define X(name)                                                                                    \
    if (__builtin_cpu_supports(name))                                                              \
        len += (size_t)snprintf(host->features + len, sizeof(host->features) - len, "%s%s",        \
                                len ? " " : "", name);
    FEATURE_LIST(X)
#undef X
    (void)len;
}

static const char *best_path(void)
{
#if HAS_CPUID
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "avx2";
#endif
    return "generic";
}

static void query_model(struct info_host *host)
{
    struct hd_buf buf;
    hd_buf_init(&buf);
    snprintf(host->model, sizeof(host->model), "unknown");
    if (hd_file_read("/proc/cpuinfo", 16 << 20, &buf) == HD_OK) {
        const char *line = strstr(buf.ptr, "model name");
        const char *value = line ? strchr(line, ':') : NULL;
        if (value)
            snprintf(host->model, sizeof(host->model), "%.*s", (int)strcspn(value + 2, "\n"),
                     value + 2);
    }
    hd_buf_fini(&buf);
}

static unsigned usable_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void info_host_query(struct info_host *out_host)
{
    *out_host = (struct info_host){.llvm = HEDDLE_LLVM_VERSION};
    const char *forced = hd_env("HEDDLE_CPU");
    const char *threads = hd_env("HEDDLE_THREADS");
    uint64_t count;
    query_model(out_host);
    query_features(out_host);
    out_host->path = forced ? forced : best_path();
    out_host->path_forced = forced != NULL;
    bool set = threads && hd_str_to_u64(hd_str_from(threads), 10, &count);
    out_host->threads = set ? (unsigned)count : usable_cpus();
}
