/* See info.h. */
#include "info.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "base/str.h"
#include "jit/jit.h"

#ifndef HEDDLE_LLVM_VERSION
#define HEDDLE_LLVM_VERSION "none"
#endif

#ifdef __x86_64__ /* what GCC calls it, and the level of HEDDLE_HOST_CPU that has it */
#define FEATURE_LIST(X)                                                                            \
    X("sse4.2", GENERIC)                                                                           \
    X("avx", AVX2)                                                                                 \
    X("f16c", AVX2)                                                                                \
    X("fma", AVX2)                                                                                 \
    X("bmi2", AVX2)                                                                                \
    X("avx2", AVX2)                                                                                \
    X("avx512f", AVX512)                                                                           \
    X("avx512bw", AVX512)                                                                          \
    X("avx512dq", AVX512)                                                                          \
    X("avx512vl", AVX512)                                                                          \
    X("avx512vnni", AVX512)                                                                        \
    X("avx512bf16", AVX512)
#else
#define FEATURE_LIST(X)
#endif

static void query_features(struct info_host *host)
{
    size_t len = 0;
    host->features[0] = '\0';
#define X(name, level)                                                                             \
    if (__builtin_cpu_supports(name) && hd_host_has(HD_HOST_##level))                              \
        len += (size_t)snprintf(host->features + len, sizeof(host->features) - len, "%s%s",        \
                                len ? " " : "", name);
    FEATURE_LIST(X)
#undef X
    (void)len;
}

/* A setting that the host cannot have is shown as it is, with why: programs get that error. */
static void query_level(struct info_host *host)
{
    const char *forced = hd_env("HEDDLE_CPU");
    struct jit_cpu cpu;
    host->path_forced = forced != NULL;
    if (jit_cpu_parse(forced, &cpu) == HD_OK) {
        host->path = jit_path_name(cpu.path);
        jit_cpu_name(&cpu, host->level, sizeof(host->level));
    } else {
        host->path = forced ? forced : "none";
        snprintf(host->level, sizeof(host->level), "%s", hd_error_message());
    }
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
    uint64_t threads = usable_cpus();
    query_model(out_host);
    query_features(out_host);
    query_level(out_host);
    (void)hd_env_u64("HEDDLE_THREADS", &threads);
    out_host->threads = (unsigned)threads;
}
