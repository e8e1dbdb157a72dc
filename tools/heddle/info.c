/* heddle info: what this Heddle is, what the machine offers, and which device programs will see. */
#include "common/cli.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "info.h"
#include "base/text/json.h"
#include "obj/cache.h"
#include "common/where.h"

static const char help[] =
    "usage: heddle info [--json]\n"
    "\n"
    "Shows the version of Heddle and of its parts, the CPU and the code path chosen for it, the\n"
    "device as CUDA programs see it, the backends, the code cache, and what programs may ask the\n"
    "device for that Heddle does not have yet. The values of the device come from Heddle's\n"
    "libcuda, through the same calls that a program makes.\n"
    "\n"
    "options:\n"
    "  --json      machine-readable output\n"
    "  -h, --help  this text\n"
    "\n"
    "environment: HEDDLE_MACHINE, HEDDLE_DEVICE, HEDDLE_CPU, HEDDLE_THREADS, HEDDLE_MEMORY and\n"
    "HEDDLE_CACHE change what is shown, as they change what programs get.\n"
    "\n"
    "exit status: 0 done, 1 the device could not be queried (the rest is shown), 2 wrong usage\n";

enum {
#define X(name, number, value) ATTRIBUTE_##name = (number),
#include "device.def"
#undef X
};

/* What is shown: text, row of spec/device.def, unit. */
#define ATTRIBUTE_LIST(X)                                                                          \
    X("multiprocessors", MULTIPROCESSOR_COUNT, "")                                                 \
    X("warp_size", WARP_SIZE, "")                                                                  \
    X("max_threads_per_block", MAX_THREADS_PER_BLOCK, "")                                          \
    X("max_block_x", MAX_BLOCK_DIM_X, "")                                                          \
    X("max_block_y", MAX_BLOCK_DIM_Y, "")                                                          \
    X("max_block_z", MAX_BLOCK_DIM_Z, "")                                                          \
    X("max_grid_x", MAX_GRID_DIM_X, "")                                                            \
    X("max_grid_y", MAX_GRID_DIM_Y, "")                                                            \
    X("max_grid_z", MAX_GRID_DIM_Z, "")                                                            \
    X("max_threads_per_multiprocessor", MAX_THREADS_PER_MULTIPROCESSOR, "")                        \
    X("max_blocks_per_multiprocessor", MAX_BLOCKS_PER_MULTIPROCESSOR, "")                          \
    X("registers_per_block", MAX_REGISTERS_PER_BLOCK, "")                                          \
    X("registers_per_multiprocessor", MAX_REGISTERS_PER_MULTIPROCESSOR, "")                        \
    X("shared_memory_per_block", MAX_SHARED_MEMORY_PER_BLOCK, "B")                                 \
    X("shared_memory_per_block_optin", MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, "B")                     \
    X("shared_memory_per_multiprocessor", MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, "B")               \
    X("constant_memory", TOTAL_CONSTANT_MEMORY, "B")                                               \
    X("l2_cache", L2_CACHE_SIZE, "B")                                                              \
    X("clock", CLOCK_RATE, "kHz")                                                                  \
    X("memory_clock", MEMORY_CLOCK_RATE, "kHz")                                                    \
    X("memory_bus", GLOBAL_MEMORY_BUS_WIDTH, "bit")                                                \
    X("async_engines", ASYNC_ENGINE_COUNT, "")                                                     \
    X("concurrent_kernels", CONCURRENT_KERNELS, "")                                                \
    X("unified_addressing", UNIFIED_ADDRESSING, "")                                                \
    X("managed_memory", MANAGED_MEMORY, "")                                                        \
    X("cooperative_launch", COOPERATIVE_LAUNCH, "")                                                \
    X("memory_pools", MEMORY_POOLS_SUPPORTED, "")

static const struct {
    const char *name;
    int number;
    const char *unit;
} attributes[] = {
#define X(name, row, unit) {name, ATTRIBUTE_##row, unit},
    ATTRIBUTE_LIST(X)
#undef X
};

struct device_info {
    char name[256];
    int cc_major, cc_minor;
    size_t memory_B;
    int values[HD_COUNT_OF(attributes)];
    bool known[HD_COUNT_OF(attributes)];
};

#define DEVICES_MAX 16

struct driver_info {
    bool working;
    char why[512]; /* not working */
    int version;   /* 13000 */
    int count;
    struct device_info devices[DEVICES_MAX];
};

/* The few entry points that are called, with the prototypes that the documentation gives. */
struct driver_calls {
    int (*init)(unsigned flags);
    int (*version)(int *out);
    int (*count)(int *out);
    int (*get)(int *out, int ordinal);
    int (*name)(char *buf, int buf_B, int device);
    int (*attribute)(int *out, int attribute, int device);
    int (*memory)(size_t *out, int device);
};

static bool load_calls(const char *path, struct driver_calls *calls, struct driver_info *d)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(d->why, sizeof(d->why), "%s", dlerror());
        return false;
    }
    const struct {
        const char *name;
        void *slot;
    } wanted[] = {
        {"cuInit", &calls->init},
        {"cuDriverGetVersion", &calls->version},
        {"cuDeviceGetCount", &calls->count},
        {"cuDeviceGet", &calls->get},
        {"cuDeviceGetName", &calls->name},
        {"cuDeviceGetAttribute", &calls->attribute},
        {"cuDeviceTotalMem_v2", &calls->memory},
    };
    for (size_t i = 0; i < HD_COUNT_OF(wanted); i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function) {
            snprintf(d->why, sizeof(d->why), "%s lacks %s", path, wanted[i].name);
            return false;
        }
        memcpy(wanted[i].slot, &function, sizeof(function));
    }
    return true;
}

static void query_device(const struct driver_calls *calls, int ordinal, struct device_info *info)
{
    int device = 0;
    assert(ordinal >= 0 && ordinal < DEVICES_MAX && calls->get);
    if (calls->get(&device, ordinal) != 0)
        return;
    calls->name(info->name, (int)sizeof(info->name), device);
    calls->memory(&info->memory_B, device);
    calls->attribute(&info->cc_major, ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    calls->attribute(&info->cc_minor, ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    for (size_t i = 0; i < HD_COUNT_OF(attributes); i++)
        info->known[i] = calls->attribute(&info->values[i], attributes[i].number, device) == 0;
}

static void query_driver(struct driver_info *d)
{
    struct driver_calls calls;
    const char *path = where_library(WHERE_CUDA);
    if (!path) {
        snprintf(d->why, sizeof(d->why), "%s not found; set HEDDLE_LIBDIR",
                 where_library_file(WHERE_CUDA));
        return;
    }
    if (!load_calls(path, &calls, d))
        return;
    int status = calls.init(0);
    if (status == 0)
        status = calls.count(&d->count);
    if (status != 0) {
        snprintf(d->why, sizeof(d->why), "%s: cuInit failed with error %d", path, status);
        return;
    }
    calls.version(&d->version);
    d->count = HD_MIN(d->count, DEVICES_MAX);
    for (int i = 0; i < d->count; i++)
        query_device(&calls, i, &d->devices[i]);
    d->working = true;
}

static void print_devices(const struct driver_info *d)
{
    if (!d->working) {
        printf("device      cannot be queried: %s\n", d->why);
        return;
    }
    printf("driver API  %d.%d\n", d->version / 1000, d->version % 1000 / 10);
    for (int i = 0; i < d->count; i++) {
        const struct device_info *info = &d->devices[i];
        printf("device %d    %s, compute capability %d.%d, %.2f GiB\n", i, info->name,
               info->cc_major, info->cc_minor, (double)info->memory_B / (1 << 30));
        for (size_t k = 0; k < HD_COUNT_OF(attributes); k++)
            if (info->known[k])
                printf("  %-34s %d %s\n", attributes[k].name, info->values[k], attributes[k].unit);
    }
}

static void json_devices(struct hd_json *j, const struct driver_info *d)
{
    if (!d->working)
        hd_json_str(j, "device_error", d->why);
    hd_json_u64(j, "driver_version", (uint64_t)d->version);
    hd_json_open(j, "devices", '[');
    assert(d->working || !d->count || *d->why);
    for (int i = 0; i < d->count; i++) {
        const struct device_info *info = &d->devices[i];
        char cc[32];
        snprintf(cc, sizeof(cc), "%d.%d", info->cc_major, info->cc_minor);
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "name", info->name);
        hd_json_str(j, "compute_capability", cc);
        hd_json_u64(j, "memory_B", info->memory_B);
        for (size_t k = 0; k < HD_COUNT_OF(attributes); k++)
            if (info->known[k])
                hd_json_u64(j, attributes[k].name, (uint64_t)info->values[k]);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void print_text(const struct info_host *host, const struct driver_info *d,
                       const struct obj_cache *cache, const struct obj_cache_stat *stat)
{
    printf("heddle      %s\n", cli_version());
    printf("llvm        %s\n", host->llvm);
    printf("cpu         %s\n", host->model);
    printf("features    %s\n", host->features);
    printf("code path   %s%s\n", host->level, host->path_forced ? " (HEDDLE_CPU)" : "");
    printf("threads     %u\n", host->threads);
    for (enum where_library i = 0; i < WHERE_LIBRARY_COUNT; i++)
        if (where_library_how(i) != WHERE_REFUSED)
            printf("%-11s %s\n", where_library_text(i),
                   where_library(i) ? where_library(i) : "not found");
    printf("backends    cpu (default), interp (reference, slow)\n");
    if (cache)
        printf("cache       %s, %llu entries, %.1f MB of %.0f MB\n", obj_cache_dir(cache),
               (unsigned long long)stat->entries, (double)stat->size_B / 1e6,
               (double)obj_cache_cap_B(cache) / 1e6);
    else
        puts("cache       off");
    print_devices(d);
}

static void print_json(const struct info_host *host, const struct driver_info *d,
                       const struct obj_cache *cache, const struct obj_cache_stat *stat)
{
    struct hd_json j;
    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "version", cli_version());
    hd_json_str(&j, "llvm", host->llvm);
    hd_json_open(&j, "cpu", '{');
    hd_json_str(&j, "model", host->model);
    hd_json_str(&j, "features", host->features);
    hd_json_str(&j, "path", host->path);
    hd_json_str(&j, "level", host->level);
    hd_json_u64(&j, "threads", host->threads);
    hd_json_close(&j, '}');
    hd_json_open(&j, "libraries", '{');
    for (enum where_library i = 0; i < WHERE_LIBRARY_COUNT; i++)
        if (where_library_how(i) != WHERE_REFUSED)
            hd_json_str(&j, where_library_text(i), where_library(i));
    hd_json_close(&j, '}');
    hd_json_open(&j, "backends", '[');
    hd_json_str(&j, NULL, "cpu");
    hd_json_str(&j, NULL, "interp");
    hd_json_close(&j, ']');
    hd_json_open(&j, "cache", '{');
    hd_json_str(&j, "dir", obj_cache_dir(cache));
    hd_json_u64(&j, "entries", stat->entries);
    hd_json_u64(&j, "size_B", stat->size_B);
    hd_json_u64(&j, "cap_B", obj_cache_cap_B(cache));
    hd_json_close(&j, '}');
    json_devices(&j, d);
    hd_json_close(&j, '}');
    hd_json_print(&j);
}

int cmd_info(int argc, char **argv)
{
    bool as_json = cli_json();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            as_json = true;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return cli_help(help);
        } else {
            return cli_usage("unknown argument '%s'", argv[i]);
        }
    }
    struct info_host host;
    static struct driver_info driver;
    struct obj_cache *cache = NULL;
    struct obj_cache_stat stat = {0};
    info_host_query(&host);
    query_driver(&driver);
    if (obj_cache_open(NULL, 0, &cache) != HD_OK || obj_cache_stat(cache, &stat) != HD_OK)
        cli_error("%s", hd_error_message());
    (as_json ? print_json : print_text)(&host, &driver, cache, &stat);
    obj_cache_close(cache);
    return driver.working ? CLI_OK : CLI_FAILED;
}
