/*
 * Runs a batch (batch.h) on the interpreter, without runtime and driver:
 *
 *     run_interp opt|noopt JOB PTX IN OUT FIRST
 */
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "compile.h"
#include "interp/interp.h"

struct state {
    bool opt;
    const struct batch *batch;
    struct ir_module *module;
};

static bool fail(char *why, size_t cap)
{
    snprintf(why, cap, "%s", hd_error_message());
    return false;
}

static bool open_module(void *ctx, const struct batch *batch, char *why, size_t why_cap)
{
    struct state *s = ctx;
    struct compile_options options = {.validate = true, .no_opt = !s->opt};
    struct compile_unit unit = {"batch", batch->ptx, batch->ptx_B};
    s->batch = batch;
    return compile_ptx(&unit, 1, &options, OPT_TARGET_CPU, &s->module) == HD_OK ||
           fail(why, why_cap);
}

/* Constants stay where the module has them. */
static uint64_t constant_address(void *ctx, const struct ir_var *var)
{
    (void)ctx;
    bool whole = var->space == IR_SPACE_CONST && var->init_B == var->size_B && !var->relocs;
    return whole ? (uintptr_t)var->init : 0;
}

static bool run_kernel(void *ctx, const struct batch_kernel *k, void *out, char *why,
                       size_t why_cap)
{
    const struct state *s = ctx;
    static const struct interp_ops ops = {.var_address = constant_address};
    const void *params[2] = {out, k->input};
    struct interp_launch launch = {.kernel = ir_module_find_func(s->module, k->name),
                                   .grid = {s->batch->blocks, 1, 1},
                                   .block = {k->block[0], k->block[1], k->block[2]},
                                   .params = params,
                                   .ops = &ops};
    if (!launch.kernel) {
        snprintf(why, why_cap, "no kernel %s", k->name);
        return false;
    }
    memcpy(launch.cluster, launch.kernel->reqnctapercluster, sizeof(launch.cluster));
    return interp_launch(&launch, NULL) == HD_OK || fail(why, why_cap);
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return 2;
    struct state state = {.opt = !strcmp(argv[1], "opt")};
    int status = batch_main(argv + 2, open_module, run_kernel, &state);
    if (state.module)
        ir_module_destroy(state.module);
    return status;
}
