/*
 * Runs kernel @k of a module in IR text; for the launch tests of the interpreter and, compiled with
 * interp_launch replaced, of the JIT.
 */
#ifndef HD_TESTS_INTERP_LAUNCH_JOB_H
#define HD_TESTS_INTERP_LAUNCH_JOB_H

#include "interp/interp.h"
#include "tap.h"

static struct hd_buf printed; /* what kernels print */
static uint64_t forbidden;    /* the one address that check() refuses */

static uint64_t var_address(void *ctx, const struct ir_var *var)
{
    return (uint64_t)(uintptr_t)(var->init ? (void *)var->init : ctx);
}
static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    return address != forbidden;
}
static void print(void *ctx, bool is_error, const char *text, size_t len)
{
    hd_buf_append(&printed, text, len);
}
static const struct interp_ops ops = {.var_address = var_address, .check = check, .print = print};

struct job {
    const char *text; /* kernel @k */
    uint32_t grid, block, dynamic_B;
    uint32_t rows, planes; /* of the block; 0: one */
    const void *params;
    bool cooperative;
};

static struct interp_fault fault;

static enum hd_status run(const struct job *job)
{
    struct ir_module *module = NULL;
    enum hd_status status = ir_read_module(job->text, strlen(job->text), "test", &module);
    if (status == HD_OK)
        status = ir_validate(module);
    if (status == HD_OK)
        status = ir_layout_windows(module);
    if (status == HD_OK) {
        struct interp_launch launch = {
            .kernel = ir_module_find_func(module, "k"),
            .grid = {job->grid, 1, 1},
            .block = {job->block, HD_MAX(job->rows, 1u), HD_MAX(job->planes, 1u)},
            .dynamic_shared_B = job->dynamic_B,
            .params = job->params,
            .cooperative = job->cooperative,
            .ops = &ops};
        status = interp_launch(&launch, &fault);
    }
    if (status != HD_OK)
        diag("%s", hd_error_message());
    ir_module_destroy(module);
    return status;
}

#define HEAD "module \"t\" sm 75\nfile \"k.cu\"\n"
/* %0 = 0, %1 = params[0] (pointer), %2 = tid, %3 = &params[0][tid] (b32 elements) */
#define PARAMS                                                                                     \
    "  params 16\n  param \"p\" offset 0 size 8 align 8\n  param \"q\" offset 8 size 8 align 8\n"
#define PROLOGUE                                                                                   \
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n  %2:b32 = sreg.b32 tid.x\n"    \
    "  %4:b32 = const.b32 0x4\n  %5:b64 = mulwide.u32 %2, %4\n  %3:b64 = add.u64 %1, %5\n"

#endif
