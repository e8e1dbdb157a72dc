/*
 * A kernel by the interpreter and on the simulated GPU, with all checks: both have to write the
 * same.
 */
#ifndef HD_TESTS_CODEGEN_BOTH_H
#define HD_TESTS_CODEGEN_BOTH_H

#include "codegen/codegen.h"
#include "interp/interp.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "ptx/ptx.h"
#include "sim/sim.h"
#include "support/tap.h"

/* NULL, with hd_error_message(), when it is refused. */
static inline struct ir_module *both_module(const char *text)
{
    struct ptx_module *parsed;
    struct ir_module *module = NULL;
    struct hd_arena arena;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, text, strlen(text), "text", &parsed) != HD_OK ||
        ptx_check(parsed) != HD_OK ||
        lower_ptx((const struct ptx_module *[]){parsed}, 1, "text", &module) != HD_OK ||
        opt_run(module, &(struct opt_options){.target = OPT_TARGET_COMMON}) != HD_OK ||
        ir_layout_windows(module) != HD_OK)
        module = NULL;
    hd_arena_fini(&arena);
    return module;
}

static inline enum hd_status both_run_sim(const struct ir_func *kernel,
                                          const struct interp_launch *launch)
{
    struct sim_program *program = NULL;
    struct sim_kernel described;
    struct isa_code code;
    enum hd_status status;

    HD_TRY(sim_kernel_of(kernel, &described));
    described.checks_hazards = true;
    HD_TRY(codegen_kernel(kernel, &(struct codegen_options){.checks = true}, &code));
    status = sim_program_create(&code, &described, &program);
    isa_code_fini(&code);
    if (status == HD_OK)
        status = sim_launch(program, launch, NULL, NULL);
    sim_program_destroy(program);
    return status;
}

/* Runs the text's only kernel both ways; the text ends with a 0; `out` is what it writes. */
static inline void both_test(const char *name, const struct hd_buf *text,
                             struct interp_launch launch, void *out, size_t size_B)
{
    struct ir_module *module = both_module(text->ptr);
    void *expected = malloc(size_B);
    enum hd_status status;

    assert(expected);
    if (!module) {
        ok(false, "%s: %s", name, hd_error_message());
        free(expected);
        return;
    }
    ir_foreach_func(func, module)
        if (func->is_kernel)
            launch.kernel = func;
    memset(out, 0, size_B);
    status = interp_launch(&launch, NULL);
    memcpy(expected, out, size_B);
    memset(out, 0, size_B);
    if (status == HD_OK)
        status = both_run_sim(launch.kernel, &launch);
    ok(status == HD_OK, "%s runs: %s", name, status == HD_OK ? "" : hd_error_message());
    ok(!memcmp(out, expected, size_B), "%s: the interpreter's bits", name);
    free(expected);
    ir_module_destroy(module);
}

#endif
