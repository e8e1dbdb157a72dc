/* See roofline.h: what is measured, and where it is kept. */
#include "prof/roofline/roofline.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/str.h"
#include "info.h"
#include "obj/cache.h"
#include "prof/roofline/roofline_measure.h"

/* Goes up with what is measured, or how. */
#define VERSION 2

/* Of all threads, where the caches are not known. */
#define DRAM_B ((size_t)256 << 20)

/* ---- caches */

struct caches {
    size_t share_B[REPORT_LEVEL_COUNT]; /* a CPU's part; 0: there is none, or it is not known */
    size_t all_B;                       /* behind the first level, of all CPUs */
};

static bool cache_text(int cpu, int index, const char *name, char *out, size_t size)
{
    char path[128];
    struct hd_buf text;

    hd_buf_init(&text);
    (void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index,
                   name);
    bool good = hd_file_read(path, 65536, &text) == HD_OK && text.len < size;
    if (good)
        (void)snprintf(out, size, "%.*s", (int)strcspn(text.ptr, "\n"), text.ptr);
    hd_buf_fini(&text);
    return good;
}

/* How many of the CPUs of `mask` a list as "0-3,8" names. */
static unsigned list_count(char *list, const cpu_set_t *mask)
{
    unsigned n = 0;

    for (char *at = list; *at >= '0' && *at <= '9'; at += *at == ',') {
        unsigned long first = strtoul(at, &at, 10);
        unsigned long last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            n += CPU_ISSET(cpu, mask) != 0;
    }
    return n;
}

static void cache_add(const cpu_set_t *mask, int cpu, int index, struct caches *out)
{
    char level[16], type[32], size[32], shared[4096], *unit;

    if (!cache_text(cpu, index, "level", level, sizeof(level)) ||
        !cache_text(cpu, index, "type", type, sizeof(type)) ||
        !cache_text(cpu, index, "size", size, sizeof(size)) ||
        !cache_text(cpu, index, "shared_cpu_list", shared, sizeof(shared)) ||
        !strcmp(type, "Instruction") || strlen(level) != 1 || *level < '1' || *level > '3')
        return;
    size_t size_B = strtoul(size, &unit, 10);
    size_B <<= *unit == 'M' ? 20 : *unit == 'K' ? 10 : 0;
    size_t share_B = size_B / HD_MAX(list_count(shared, mask), 1u);
    assert(REPORT_LEVEL_COUNT - (*level - '0') > REPORT_LEVEL_DRAM);
    size_t *least_B = &out->share_B[REPORT_LEVEL_COUNT - (*level - '0')];
    *least_B = *least_B ? HD_MIN(*least_B, share_B) : share_B;
    if (*level > '1')
        out->all_B += share_B;
}

static struct caches caches_find(const cpu_set_t *mask)
{
    struct caches caches = {.all_B = 0};

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        for (int index = 0; CPU_ISSET((size_t)cpu, mask) && index < 8; index++)
            cache_add(mask, cpu, index, &caches);
    return caches;
}

static size_t available_B(void)
{
    struct hd_buf text;
    size_t size_B = 0;

    hd_buf_init(&text);
    if (hd_file_read("/proc/meminfo", 65536, &text) == HD_OK) {
        const char *line = strstr(text.ptr, "MemAvailable:");
        size_B = line ? (size_t)strtoul(line + strlen("MemAvailable:"), NULL, 10) << 10 : 0;
    }
    hd_buf_fini(&text);
    return size_B;
}

/* ---- plan */

static void leave_out(struct roofline *out, enum report_level level, const char *why)
{
    (void)snprintf(out->why[level], sizeof(out->why[level]), "%s", why);
}

/* Larger than all that is nearer, smaller than the thread's part. */
static void plan_cache(const struct caches *caches, enum report_level level,
                       struct roofline_plan *plan, struct roofline *out)
{
    size_t share_B = caches->share_B[level], nearer_B = 0, size_B = share_B / 2;

    assert(level > REPORT_LEVEL_DRAM && level < REPORT_LEVEL_COUNT);
    for (int l = level + 1; l < REPORT_LEVEL_COUNT; l++)
        nearer_B = HD_MAX(nearer_B, caches->share_B[l]);
    size_B = HD_MAX(size_B, 2 * nearer_B) / ROOFLINE_STEP_B * ROOFLINE_STEP_B;
    if (!share_B)
        leave_out(out, level, "the system names no such cache");
    else if (size_B > share_B / 5 * 4)
        leave_out(out, level, "a thread's part of it is hardly larger than nearer caches");
    else
        plan->set_B[level] = size_B;
}

static void plan_memory(const struct caches *caches, struct roofline_plan *plan,
                        struct roofline *out)
{
    size_t all_B = caches->all_B ? 4 * caches->all_B : DRAM_B, free_B = available_B() / 4;

    assert(plan->threads);
    if (free_B < all_B / 2)
        leave_out(out, REPORT_LEVEL_DRAM, "too little memory is free");
    else
        plan->set_B[REPORT_LEVEL_DRAM] =
            HD_MIN(all_B, free_B) / plan->threads / ROOFLINE_STEP_B * ROOFLINE_STEP_B;
}

static void plan_make(const struct roofline_loops *loops, const struct caches *caches,
                      const cpu_set_t *cpus, struct roofline_plan *plan, struct roofline *out)
{
    *plan = (struct roofline_plan){.loops = loops, .cpus = *cpus};
    plan->threads = HD_MIN(out->threads, (uint32_t)HD_MAX(CPU_COUNT(cpus), 1));
    plan_memory(caches, plan, out);
    for (int level = REPORT_LEVEL_L3; level < REPORT_LEVEL_COUNT; level++)
        plan_cache(caches, (enum report_level)level, plan, out);
    for (int level = 0; level < REPORT_LEVEL_COUNT; level++)
        out->set_B[level] = plan->set_B[level];
}

/* ---- what is kept */

static void hash_file(struct obj_cache_hash *hash, const char *path)
{
    struct hd_buf text;

    hd_buf_init(&text);
    obj_cache_hash_str(hash, hd_file_read(path, 4096, &text) == HD_OK ? text.ptr : NULL);
    hd_buf_fini(&text);
}

/* Of this host (a folder may be of several), the CPUs that may be used, threads and vectors. */
static struct obj_cache_key key_of(const struct info_host *host, const struct caches *caches,
                                   const cpu_set_t *cpus)
{
    struct obj_cache_hash hash;
    struct utsname name = {.nodename = ""};

    (void)uname(&name);
    obj_cache_hash_init(&hash);
    obj_cache_hash_str(&hash, "roofline");
    obj_cache_hash_u64(&hash, VERSION);
    obj_cache_hash_str(&hash, name.nodename);
    hash_file(&hash, "/etc/machine-id");
    obj_cache_hash_str(&hash, host->model);
    obj_cache_hash_str(&hash, host->path);
    obj_cache_hash_u64(&hash, host->threads);
    obj_cache_hash_bytes(&hash, cpus, sizeof(*cpus));
    obj_cache_hash_bytes(&hash, caches, sizeof(*caches));
    return obj_cache_hash_final(&hash);
}

static bool take_kept(struct obj_cache *cache, struct obj_cache_key key, struct roofline *out)
{
    struct obj_cache_entry entry;
    bool good;

    if (!obj_cache_get(cache, key, &entry))
        return false;
    good = entry.size_B == sizeof(*out);
    if (good)
        memcpy(out, entry.bytes, sizeof(*out));
    obj_cache_entry_release(&entry);
    return good && out->peaks.sp_per_s > 0 && out->peaks.dp_per_s > 0;
}

static enum hd_status measure(const struct info_host *host, const struct caches *caches,
                              const cpu_set_t *cpus, struct roofline *out)
{
    struct roofline_plan plan;
    const struct roofline_loops *loops = roofline_loops_of(host->path);

    memset(out, 0, sizeof(*out));
    out->threads = host->threads;
    (void)snprintf(out->vectors, sizeof(out->vectors), "%s", loops->vectors);
    plan_make(loops, caches, cpus, &plan, out);
    return roofline_measure(&plan, out);
}

enum hd_status roofline_get(bool again, struct roofline *out)
{
    struct info_host host;
    struct obj_cache *cache;
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof(cpus), &cpus))
        CPU_SET(0, &cpus);
    info_host_query(&host);
    const struct caches caches = caches_find(&cpus);
    const struct obj_cache_key key = key_of(&host, &caches, &cpus);
    HD_TRY(obj_cache_open(NULL, 0, &cache));
    enum hd_status status = HD_OK;
    if (again || !take_kept(cache, key, out)) {
        status = measure(&host, &caches, &cpus, out);
        if (status == HD_OK && !out->is_disturbed)
            (void)!obj_cache_put(cache, key, out, sizeof(*out));
    }
    obj_cache_close(cache);
    return status;
}
