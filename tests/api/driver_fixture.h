/* The driver API with fake code behind it. */
#ifndef HD_TESTS_DRIVER_FIXTURE_H
#define HD_TESTS_DRIVER_FIXTURE_H

#include "api/driver/cuda_abi.h"
#include "tap.h"
#include "../dev/fake_jit.h"
#include "fake_compile.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

static const char driver_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .global .align 4 .b8 table[64];\n"
                                 ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, "
                                 ".param .u32 n) { ret; }\n"
                                 ".visible .entry wild(.param .u64 a) { ret; }\n"
                                 ".visible .entry slow(.param .u64 a) { ret; }\n";

struct add_params {
    const float *a, *b;
    float *c;
    uint32_t n;
};

static void add_cta(struct jit_cta *cta)
{
    const struct add_params *p = (const struct add_params *)cta->launch->params;
    uint32_t first = cta->ctaid[0] * cta->launch->block[0];

    for (uint32_t i = first; i < first + cta->launch->block[0]; i++)
        if (i < p->n)
            p->c[i] = p->a[i] + p->b[i];
}

static void wild_cta(struct jit_cta *cta)
{
    **(volatile int *const *)cta->launch->params = 1;
}

static void slow_cta(struct jit_cta *cta)
{
    for (volatile int i = 0; i < 300000; i++)
        ;
    __atomic_fetch_add(*(uint64_t *const *)cta->launch->params, 1, __ATOMIC_RELAXED);
}

const struct fake_kernel fake_kernels[] = {
    {"add", {.run_cta = add_cta, .cost_ops = 10}},
    {"wild", {.run_cta = wild_cta, .cost_ops = UINT64_MAX}},
    {"slow", {.run_cta = slow_cta, .cost_ops = UINT64_MAX}},
    {0},
};

static inline CUfunction driver_function(CUmodule module, const char *name)
{
    CUfunction func = NULL;

    if (cuModuleGetFunction(&func, module, name))
        abort();
    return func;
}

static inline CUresult driver_launch(CUfunction func, unsigned grid, unsigned block,
                                     CUstream stream, void **params)
{
    return cuLaunchKernel(func, grid, 1, 1, block, 1, 1, 0, stream, params, NULL);
}

#endif
