/*
 * What compiling costs, and how it grows: a file of many kernels, and single kernels of many
 * instructions, branch targets, blocks and local variables. Prints milliseconds of CPU time;
 * decides nothing.
 *
 *     bench_compile [KERNELS [SIZE]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/facts.h"
#include "base/str.h"
#include "compile.h"
#include "lower/lower.h"
#include "opt/opt.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define REGS ".reg .b32 %r<64>; .reg .b64 %d<8>; .reg .pred %p<8>;\nld.param.u64 %d1, [p];\n"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(void)
{
    printf("%s\n", hd_error_message());
    exit(1);
}

static void arithmetic(struct hd_buf *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        hd_buf_printf(out, "mad.lo.u32 %%r%u, %%r%u, %%r%u, %u;\n", i % 60, (i * 7 + 1) % 60,
                      (i * 13 + 5) % 60, i);
    hd_buf_puts(out, "st.global.u32 [%d1], %r5;\n");
}

static void many(struct hd_buf *out, unsigned n)
{
    hd_buf_puts(out, HEAD);
    for (unsigned k = 0; k < n; k++) {
        hd_buf_printf(out, ".visible .entry kernel_%u(.param .u64 p) {\n", k);
        hd_buf_puts(out, REGS);
        arithmetic(out, 60);
        hd_buf_puts(out, "ret; }\n");
    }
}

static void straight(struct hd_buf *out, unsigned n)
{
    hd_buf_puts(out, HEAD ".visible .entry k(.param .u64 p) {\n" REGS);
    arithmetic(out, n);
    hd_buf_puts(out, "ret; }\n");
}

/* As compilers write without optimisation: every value lives in local memory. */
static void debug(struct hd_buf *out, unsigned n)
{
    hd_buf_puts(out, HEAD ".visible .entry k(.param .u64 p) {\n" REGS);
    hd_buf_printf(out, ".local .align 8 .b8 depot[%u];\n", n / 4 * 4 + 8);
    hd_buf_puts(out,
                ".reg .b64 %SP; .reg .b64 %SPL; mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;\n");
    for (unsigned i = 0; i < n / 4; i++) {
        hd_buf_printf(out, "ld.u32 %%r1, [%%SP+%u];\nadd.s32 %%r2, %%r1, %u;\n", i / 2 * 4, i);
        hd_buf_printf(out, "st.u32 [%%SP+%u], %%r2;\n", i * 4);
        if (i % 16 == 15)
            hd_buf_printf(out,
                          "setp.gt.s32 %%p1, %%r2, 7;\n@%%p1 bra L%u;\nst.u32 [%%SP+%u], "
                          "%%r1;\nL%u:\n",
                          i, i / 3 * 4, i);
    }
    hd_buf_puts(out, "ld.u32 %r3, [%SP+8];\nst.global.u32 [%d1], %r3;\nret; }\n");
}

static void targets(struct hd_buf *out, unsigned n)
{
    hd_buf_puts(out,
                HEAD ".visible .entry k(.param .u64 p) {\n" REGS "ld.global.u32 %r1, [%d1];\n");
    hd_buf_puts(out, "again:\nts: .branchtargets ");
    for (unsigned i = 0; i < n; i++)
        hd_buf_printf(out, "%sT%u", i ? ", " : "", i);
    hd_buf_puts(out, ";\nbrx.idx %r1, ts;\n");
    for (unsigned i = 0; i < n; i++)
        hd_buf_printf(out, "T%u: add.u32 %%r%u, %%r%u, %u;\nbra %s;\n", i, i % 50 + 2,
                      (i + 3) % 50 + 2, i, i % 5 ? "out" : "again");
    hd_buf_puts(out, "out:\nadd.u32 %r1, %r2, %r3;\nst.global.u32 [%d1], %r1;\nret; }\n");
}

static void blocks(struct hd_buf *out, unsigned n)
{
    hd_buf_puts(out,
                HEAD ".visible .entry k(.param .u64 p) {\n" REGS "ld.global.u32 %r1, [%d1];\n");
    for (unsigned i = 0; i < n; i++)
        hd_buf_printf(
            out,
            "setp.eq.u32 %%p1, %%r1, %u;\n@%%p1 bra L%u;\nst.global.u32 [%%d1+%u], %%r%u;\n"
            "add.u32 %%r%u, %%r%u, 3;\nL%u:\n",
            i, i, i % 999 * 4, i % 50 + 2, i % 50 + 2, i * 3 % 50 + 2, i);
    hd_buf_puts(out, "st.global.u32 [%d1], %r7;\nret; }\n");
}

static void bench_many(unsigned n)
{
    struct hd_buf text = {0};
    struct compile_program *program;
    struct ir_module *module;
    double start = now_ms(), linked, one;
    many(&text, n);
    const struct compile_unit unit = {"many", text.ptr, text.len};
    start = now_ms();
    if (compile_program_create(&unit, 1, NULL, &program) != HD_OK)
        die();
    linked = now_ms();
    if (compile_kernel(program, n / 2, OPT_TARGET_CPU, &module) != HD_OK)
        die();
    one = now_ms();
    ir_module_destroy(module);
    printf("%u kernels, %.1f MB: parse and link %.1f ms, one kernel %.2f ms", n,
           (double)text.len / 1e6, linked - start, one - linked);
    one = now_ms();
    for (unsigned i = 0; i < n; i++) {
        if (compile_kernel(program, i, OPT_TARGET_CPU, &module) != HD_OK)
            die();
        ir_module_destroy(module);
    }
    printf(", all %.1f ms\n", now_ms() - one);
    compile_program_destroy(program);
    hd_buf_fini(&text);
}

/* The passes in their usual order, each alone. */
static void bench_passes(struct ir_module *module)
{
    static const char *const order[] = {
        "ir_lower_inline", "ir_opt_dead_funcs",   "ir_opt_simplify_cfg", "ir_opt_copy",
        "ir_opt_slots",    "ir_opt_copy",         "ir_opt_fold",         "ir_opt_cse",
        "ir_opt_dce",      "ir_opt_simplify_cfg", "ir_opt_if_convert",   "ir_opt_address",
        "ir_opt_cse",      "ir_opt_dce",          "ir_opt_close_loops"};
    for (size_t i = 0; i < HD_COUNT_OF(order); i++) {
        struct opt_options options = {.only = order[i]};
        double start = now_ms();
        if (opt_run(module, &options) != HD_OK)
            die();
        if (now_ms() - start > 20)
            printf("  %s %.0f", order[i] + 3, now_ms() - start);
    }
}

/* What a cache of IR as text would cost instead. */
static void bench_text(const struct ir_module *module)
{
    struct hd_buf text = {0};
    struct ir_module *again;
    double start = now_ms(), printed;
    ir_print_module(module, &text);
    printed = now_ms();
    if (ir_read_module(text.ptr, text.len, "t", &again) != HD_OK)
        die();
    printf("text of %.0f KB: print %.1f ms, read %.1f ms; ", (double)text.len / 1e3,
           printed - start, now_ms() - printed);
    ir_module_destroy(again);
    hd_buf_fini(&text);
}

/* Value facts, all and only ranges. */
static void bench_facts(const struct ir_module *module)
{
    uint64_t values = 0;
    double ms[2];

    for (unsigned k = 0; k < 2; k++) {
        const double start = now_ms();
        ir_foreach_func(func, module) {
            struct hd_arena arena;
            struct facts f;
            hd_arena_init(&arena);
            if (func->is_declaration)
                continue;
            if ((k ? facts_compute_ranges(func, &arena, &f)
                   : facts_compute(func, NULL, &arena, &f)) != HD_OK)
                die();
            values += k ? 0 : f.nvalues;
            hd_arena_fini(&arena);
        }
        ms[k] = now_ms() - start;
    }
    printf("  facts of %llu values %.1f, ranges %.1f", (unsigned long long)values, ms[0], ms[1]);
}

static void bench_one(const char *name, void (*make)(struct hd_buf *, unsigned), unsigned n)
{
    struct hd_buf text = {0};
    struct compile_program *program;
    struct ptx_module *ptx;
    struct ir_module *module;
    struct hd_arena arena;
    make(&text, n);
    const struct compile_unit unit = {name, text.ptr, text.len};
    double start = now_ms(), parsed, done;
    if (compile_program_create(&unit, 1, NULL, &program) != HD_OK)
        die();
    parsed = now_ms();
    if (compile_kernel(program, 0, OPT_TARGET_CPU, &module) != HD_OK)
        die();
    done = now_ms();
    bench_text(module);
    ir_module_destroy(module);
    compile_program_destroy(program);
    printf("%s %u: parse %.1f ms, compile %.1f ms;", name, n, parsed - start, done - parsed);
    hd_arena_init(&arena);
    if (ptx_parse(&arena, text.ptr, text.len, name, &ptx) != HD_OK)
        die();
    start = now_ms();
    if (lower_ptx((const struct ptx_module *const *)&ptx, 1, name, &module) != HD_OK)
        die();
    printf(" lower %.0f", now_ms() - start);
    bench_passes(module);
    bench_facts(module);
    start = now_ms();
    if (ir_layout_windows(module) != HD_OK)
        die();
    printf("  layout %.0f\n", now_ms() - start);
    ir_module_destroy(module);
    hd_arena_fini(&arena);
    hd_buf_fini(&text);
}

int main(int argc, char **argv)
{
    unsigned kernels = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 3000;
    unsigned size = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 30000;
    bench_many(kernels);
    for (unsigned n = size / 4; n <= size; n *= 2) {
        bench_one("straight", straight, n);
        bench_one("debug", debug, n);
        bench_one("targets", targets, n / 30);
        bench_one("blocks", blocks, n / 3);
    }
    return 0;
}
