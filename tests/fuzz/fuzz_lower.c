/*
 * PTX text through the whole front half of the compiler: parse, check, lower, validate, optimise
 * (validating after every pass), lay out windows. What lowering accepts must be valid IR, and its
 * text must read back. A survey finds something to refuse where lowering does, and nowhere else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz/fuzz.h"
#include "fuzz/ptx_mutate.h"
#include "lower/lower.h"
#include "opt/opt.h"

#define INSTRS_MAX 3000 /* inlining may grow a program by design */

static void die(const char *what, struct ir_module *module)
{
    struct hd_buf text = {0};
    fprintf(stderr, "%s: %s\n", what, hd_error_message());
    ir_print_module(module, &text);
    fprintf(stderr, "%s\n", text.ptr ? text.ptr : "");
    abort();
}

static void read_again(struct ir_module *module)
{
    struct hd_buf text = {0};
    struct ir_module *again = NULL;
    ir_print_module(module, &text);
    if (text.ptr && ir_read_module(text.ptr, text.len, "again", &again) != HD_OK)
        die("the printed IR does not read", module);
    ir_module_destroy(again);
    hd_buf_fini(&text);
}

static size_t count_instrs(const struct ir_module *module)
{
    size_t n = 0;
    ir_foreach_func(func, module) {
        for (uint32_t b = 0; b < func->nblocks; b++) {
            ir_foreach_instr(instr, func->blocks[b])
                n++;
        }
    }
    return n;
}

static void count_refusal(void *user, const struct lower_refusal *refusal)
{
    if (!refusal->func || !*refusal->why)
        abort();
    ++*(size_t *)user;
}

static void survey(const struct ptx_module *ptx, enum hd_status lowered)
{
    struct lower_program *program = NULL;
    size_t refused = 0;
    if (lower_program_create(&ptx, 1, "fuzz", &program) != HD_OK)
        return;
    if (lower_survey(program, count_refusal, &refused) == HD_OK && lowered != HD_NO_MEMORY &&
        (lowered == HD_OK) != (refused == 0)) {
        fprintf(stderr, "lowering says %d, a survey refuses %zu times\n", (int)lowered, refused);
        abort();
    }
    lower_program_destroy(program);
}

static void compile(const struct ptx_module *ptx)
{
    struct opt_options options = {.validate = true, .target = OPT_TARGET_CPU};
    struct ir_module *module = NULL;
    enum hd_status status = lower_ptx(&ptx, 1, "fuzz", &module);
    survey(ptx, status);
    if (status != HD_OK)
        return;
    if (ir_validate(module) != HD_OK)
        die("lowering made invalid IR", module);
    read_again(module);
    if (count_instrs(module) < INSTRS_MAX) {
        status = opt_run(module, &options);
        if (status == HD_BAD_IR)
            die("a pass broke the IR", module);
        if (status == HD_OK)
            (void)!ir_layout_windows(module);
    }
    ir_module_destroy(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct hd_arena arena;
    struct ptx_module *module;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, (const char *)bytes, size_B, "fuzz", &module) == HD_OK &&
        ptx_check(module) == HD_OK)
        compile(module);
    hd_arena_fini(&arena);
    return 0;
}
