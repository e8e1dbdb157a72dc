/* Launches a report's kernel through Heddle's libcuda: see replay.h. */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "common/where.h"

#define BUFFER_B   (1u << 20) /* behind each parameter that may be a pointer */
#define MAX_PARAMS 256
#define BLOCKS     2
#define DYNAMIC_B  (16u << 10)

/* The driver API's functions that are needed. name, parameters */
#define DRIVER_LIST(X)                                                                             \
    X(cuInit, (unsigned))                                                                          \
    X(cuCtxCreate_v2, (void **, unsigned, int))                                                    \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuMemAlloc_v2, (uint64_t *, size_t))                                                         \
    X(cuMemsetD8_v2, (uint64_t, unsigned char, size_t))                                            \
    X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t))                                                 \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, void *, void **, void **))                                        \
    X(cuCtxSynchronize, (void))

struct driver {
#define X(name, params) int(*name) params;
    DRIVER_LIST(X)
#undef X
};

struct arguments {
    void *at[MAX_PARAMS];
    uint64_t buffers[MAX_PARAMS];
    unsigned nbuffers;
};

static bool driver_open(struct driver *d, struct replay_launch *out)
{
    const char *path = where_library(WHERE_CUDA);
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    bool all = library != NULL;

#define X(name, params)                                                                            \
    if (all) {                                                                                     \
        void *symbol = dlsym(library, #name);                                                      \
        memcpy(&d->name, &symbol, sizeof(symbol));                                                 \
        all = symbol != NULL;                                                                      \
    }
    DRIVER_LIST(X)
#undef X
    if (!all)
        snprintf(out->reason, sizeof(out->reason), "libcuda.so.1 of this Heddle cannot be opened");
    return all;
}

/* A block of the report's launch class; the kernel's own size where it names one. */
static bool block_find(const struct jit_report *report, const struct ir_func *kernel,
                       uint32_t out[3])
{
    static const uint32_t blocks[][3] = {{96, 1, 1}, {64, 1, 1}, {48, 1, 1}, {64, 2, 1}, {32, 2, 1},
                                         {16, 2, 1}, {16, 4, 1}, {16, 3, 1}, {8, 8, 1}};
    if (kernel->reqntid[0]) {
        for (unsigned i = 0; i < 3; i++)
            out[i] = HD_MAX(kernel->reqntid[i], 1u);
        return true;
    }
    for (size_t i = 0; i < HD_COUNT_OF(blocks); i++) {
        memcpy(out, blocks[i], sizeof(blocks[i]));
        if (jit_launch_class_of(out) == jit_report_class(report))
            return true;
    }
    return false;
}

/* What 8 bytes wide is a pointer to zeros, 4 bytes a small number, all else zero. */
static bool argument_make(const struct driver *d, const struct ir_param *param,
                          struct arguments *args, unsigned i)
{
    uint64_t value = 0;

    assert(i < MAX_PARAMS && args->nbuffers <= i);
    args->at[i] = calloc(1, HD_MAX(param->size_B, sizeof(value)));
    if (!args->at[i])
        return false;
    if (param->size_B == 8) {
        if (d->cuMemAlloc_v2(&value, BUFFER_B) || d->cuMemsetD8_v2(value, 0, BUFFER_B))
            return false;
        args->buffers[args->nbuffers++] = value;
    } else if (param->size_B <= 4) {
        value = 64;
    }
    memcpy(args->at[i], &value, HD_MIN(param->size_B, sizeof(value)));
    return true;
}

static uint64_t fnv(uint64_t hash, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static bool results_hash(const struct driver *d, const struct arguments *args, uint64_t *out_hash)
{
    static unsigned char host[BUFFER_B];

    *out_hash = 0xcbf29ce484222325u;
    for (unsigned i = 0; i < args->nbuffers; i++) {
        if (d->cuMemcpyDtoH_v2(host, args->buffers[i], BUFFER_B))
            return false;
        *out_hash = fnv(*out_hash, host, BUFFER_B);
    }
    return true;
}

static const char *run(const struct driver *d, const struct jit_report *report,
                       const struct ir_func *kernel, int *out_error, uint64_t *out_hash)
{
    static struct arguments args;
    void *ctx, *module, *function;
    uint32_t block[3];
    char *ptx = strndup(report->ptx.ptr, report->ptx.len);

    if (!block_find(report, kernel, block) || kernel->nparams > MAX_PARAMS || !ptx)
        return "no block for this launch class";
    if ((*out_error = d->cuInit(0)) || (*out_error = d->cuCtxCreate_v2(&ctx, 0, 0)))
        return "no device";
    if ((*out_error = d->cuModuleLoadData(&module, ptx)))
        return "loading the PTX";
    if ((*out_error = d->cuModuleGetFunction(&function, module, kernel->name)))
        return "finding the kernel";
    for (uint32_t i = 0; i < kernel->nparams; i++)
        if (!argument_make(d, &kernel->params[i], &args, i))
            return "arguments";
    if ((*out_error = d->cuLaunchKernel(function, BLOCKS, 1, 1, block[0], block[1], block[2],
                                        DYNAMIC_B, NULL, args.at, NULL)))
        return "launching";
    if ((*out_error = d->cuCtxSynchronize()))
        return "running";
    return results_hash(d, &args, out_hash) ? NULL : "results";
}

/* All forms before it fail. */
static void forms_before(enum jit_form form, char *out, size_t size_B)
{
    size_t len = 0;

    out[0] = 0;
    for (enum jit_form f = 0; f < form && f < JIT_INTERP; f++) {
        len +=
            (size_t)snprintf(out + len, size_B - len, "%sjit.%s", len ? "," : "", jit_form_name(f));
        assert(len < size_B);
    }
}

void replay_launch(const struct jit_report *report, enum jit_path path, enum jit_form form,
                   struct replay_launch *out)
{
    char faults[128];
    const struct ir_func *kernel;
    struct ir_module *module;
    struct driver driver;
    int error = 0;

    forms_before(form, faults, sizeof(faults));
    setenv("HEDDLE_FAULT", form < JIT_FORM_COUNT ? faults : "", 1);
    setenv("HEDDLE_DEVICE", form < JIT_FORM_COUNT ? "cpu" : "interp", 1);
    setenv("HEDDLE_CPU", jit_path_name(path), 1);
    setenv("HEDDLE_CACHE", "off", 1);
    setenv("HEDDLE_MEMORY", "512M", 1);
    unsetenv("HEDDLE_REPORT");
    *out = (struct replay_launch){0};
    if (jit_report_kernel(report, &module, &kernel) != HD_OK) {
        snprintf(out->reason, sizeof(out->reason), "%s", hd_error_message());
        return;
    }
    if (!driver_open(&driver, out))
        return;
    const char *failed = run(&driver, report, kernel, &error, &out->hash);
    out->worked = !failed;
    if (failed)
        snprintf(out->reason, sizeof(out->reason), "%s: CUDA error %d", failed, error);
}
