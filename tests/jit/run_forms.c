/*
 * Runs the kernels of forms.ptx through libcuda and prints what they wrote: for test_forms.py,
 * which compares the forms of code that HEDDLE_FAULT leaves.
 *
 *     run_forms PTX              all of them, one line of hex digits each
 *     run_forms PTX KERNEL       one that faults: the error that it ends with
 *     run_forms PTX KERNEL BLOCKS...   one launch after the other, a line of hex digits each
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/driver/cuda_abi.h"

#define BLOCKS  3
#define THREADS 96
#define OUT_B   (16 * THREADS * BLOCKS)

static const struct kernel {
    const char *name;
    unsigned dynamic_B;
    bool cooperative, clusters;
} kernels[] = {
    {.name = "diverge"},
    {.name = "ends_in_loop"},
    {.name = "barriers"},
    {.name = "named"},
    {.name = "atomics"},
    {.name = "counted"},
    {.name = "lanes"},
    {.name = "calls"},
    {.name = "dynamic_shared", .dynamic_B = 512},
    {.name = "prints"},
    {.name = "heap"},
    {.name = "locks"},
    {.name = "grid_sync", .cooperative = true},
    {.name = "hints"},
    {.name = "wide_result"},
    {.name = "copies"},
    {.name = "pipeline"},
    {.name = "arrives"},
    {.name = "meeting"},
    {.name = "bulk"},
    {.name = "cluster"},
    {.name = "clusters", .clusters = true},
    {.name = "aligned_together"},
    {.name = "tables"},
};

static void check(CUresult result, const char *what)
{
    if (!result)
        return;
    printf("%s: error %d\n", what, (int)result);
    exit(1);
}

static char *read_all(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    if (!n || n == sizeof(text) - 1)
        exit(2);
    fclose(file);
    return text;
}

/* All blocks in one. */
static CUresult launch_cluster(CUfunction func, const struct kernel *k, void **params)
{
    CUlaunchAttribute size = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              .value.clusterDim = {BLOCKS, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = BLOCKS,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = k->dynamic_B,
                                   .attrs = &size,
                                   .numAttrs = 1};

    return cuLaunchKernelEx(&config, func, params, NULL);
}

static CUresult launch(CUmodule module, const struct kernel *k, CUdeviceptr out)
{
    void *params[] = {&out};
    CUfunction func;

    check(cuModuleGetFunction(&func, module, k->name), k->name);
    if (k->cooperative)
        return cuLaunchCooperativeKernel(func, BLOCKS, 1, 1, THREADS, 1, 1, k->dynamic_B, NULL,
                                         params);
    if (k->clusters)
        return launch_cluster(func, k, params);
    return cuLaunchKernel(func, BLOCKS, 1, 1, THREADS, 1, 1, k->dynamic_B, NULL, params, NULL);
}

static void print_out(const char *name, CUdeviceptr out)
{
    static unsigned char host[OUT_B];

    check(cuMemcpyDtoH_v2(host, out, sizeof(host)), name);
    printf("%s ", name);
    for (size_t b = 0; b < sizeof(host); b++)
        printf("%02x", host[b]);
    printf("\n");
}

static void run_sizes(CUmodule module, const char *name, CUdeviceptr out, char **blocks, int n)
{
    void *params[] = {&out};
    CUfunction func;

    check(cuModuleGetFunction(&func, module, name), name);
    for (int i = 0; i < n; i++) {
        check(cuMemsetD8_v2(out, 0, OUT_B), "memset");
        check(cuLaunchKernel(func, (unsigned)strtoul(blocks[i], NULL, 10), 1, 1, THREADS, 1, 1, 0,
                             NULL, params, NULL),
              name);
        print_out(name, out);
    }
}

static void run_all(CUmodule module, CUdeviceptr out)
{
    static unsigned char host[OUT_B];

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        memset(host, 0, sizeof(host));
        check(cuMemcpyHtoD_v2(out, host, sizeof(host)), "copy");
        check(launch(module, &kernels[i], out), kernels[i].name);
        print_out(kernels[i].name, out);
    }
}

int main(int argc, char **argv)
{
    CUcontext ctx;
    CUmodule module;
    CUdeviceptr out;

    if (argc < 2)
        return 2;
    check(cuInit(0), "cuInit");
    check(cuCtxCreate_v2(&ctx, 0, 0), "context");
    check(cuModuleLoadData(&module, read_all(argv[1])), "module");
    check(cuMemAlloc_v2(&out, OUT_B), "memory");
    if (argc > 3) {
        run_sizes(module, argv[2], out, argv + 3, argc - 3);
    } else if (argc > 2) {
        struct kernel k = {.name = argv[2]};
        CUresult result = launch(module, &k, out);
        printf("%d\n", (int)(result ? result : cuCtxSynchronize()));
        return 0;
    } else {
        run_all(module, out);
    }
    check(cuCtxDestroy_v2(ctx), "destroy");
    return 0;
}
