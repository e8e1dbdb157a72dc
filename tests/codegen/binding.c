/*
 * What instructions of PTX become: operations of the IR, and instructions of Heddle's ISA. For
 * scripts/gen_binding.py, which makes docs/binding.md of it.
 *
 *     binding --forms     the rows of spec/ptx_forms.def: "ID OPERANDS TEXT"
 *     binding <MODULES
 *
 * Standard input is a sequence of modules: a line "NUMBER BYTES", then so many bytes of PTX, of which
 * line NUMBER is the one that is asked about, and the first kernel the one that has it. Each gets a
 * line of JSON: {"refused": why}, or {"ir": [names], "isa": [names], "routines": words}. The IR is that
 * of the lowering; the code is what a device compiles, after all passes. Both are in order. What
 * routines of the compiler (src/codegen/routines.ptx) add is counted in words.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "codegen/codegen.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "ptx/ptx.h"

static struct ir_func *kernel_of(const struct ir_module *module)
{
    ir_foreach_func(func, module)
        if (func->is_kernel)
            return func;
    return NULL;
}

static void say_ir(struct hd_json *json, const struct ir_func *kernel, uint32_t line)
{
    hd_json_open(json, "ir", '[');
    for (uint32_t i = 0; i < kernel->nblocks; i++)
        ir_foreach_instr(in, kernel->blocks[i])
            if (in->srcloc.line == line)
                hd_json_str(json, NULL, ir_op_infos[in->op].name);
    hd_json_close(json, ']');
}

/* The words of the kernel itself: routines are called, and stand behind it. */
static size_t kernel_words(const struct isa_code *code)
{
    size_t end = code->words.len;

    for (size_t i = 1; i < code->functions.len; i++)
        end = HD_MIN(end, code->functions.at[i].offset / ISA_WORD_BYTES);
    for (size_t i = 0; i < end; i++) {
        struct isa_insn insn;
        const char *why = isa_decode(code->words.at[i], &insn);

        assert(!why);
        (void)why;
        for (unsigned k = 0; insn.op == ISA_CALL && k < isa_row(insn.op)->noperands; k++)
            if (insn.operands[k].kind == ISA_KIND_TARGET)
                end = HD_MIN(end, i + 1 + (size_t)insn.operands[k].value / ISA_WORD_BYTES);
    }
    return end;
}

static void say_isa(struct hd_json *json, const struct isa_code *code, uint32_t line)
{
    size_t end = kernel_words(code), at = 0;

    hd_json_open(json, "isa", '[');
    for (size_t i = 0; i < end; i++) {
        struct isa_insn insn;

        while (at < code->lines.len && code->lines.at[at].word <= i)
            at++;
        if (at && code->lines.at[at - 1].line == line && !isa_decode(code->words.at[i], &insn))
            hd_json_str(json, NULL, isa_row(insn.op)->name);
    }
    hd_json_close(json, ']');
    hd_json_u64(json, "routines", code->words.len - end);
}

static enum hd_status compile(struct hd_json *json, struct ir_module *module, uint32_t line)
{
    struct isa_code code;

    say_ir(json, kernel_of(module), line);
    HD_TRY(opt_run(module, &(struct opt_options){.target = OPT_TARGET_COMMON}));
    HD_TRY(ir_layout_windows(module));
    HD_TRY(codegen_kernel(kernel_of(module), &(struct codegen_options){0}, &code));
    say_isa(json, &code, line);
    isa_code_fini(&code);
    return HD_OK;
}

static enum hd_status answer(struct hd_json *json, const char *text, size_t len, uint32_t line)
{
    struct lower_program *program = NULL;
    struct ptx_module *parsed;
    struct ir_module *module = NULL;
    struct hd_arena arena;
    enum hd_status status;

    hd_arena_init(&arena);
    status = ptx_parse(&arena, text, len, "module", &parsed);
    if (status == HD_OK)
        status = ptx_check(parsed);
    if (status == HD_OK)
        status =
            lower_program_create((const struct ptx_module *const *)&parsed, 1, "module", &program);
    if (status == HD_OK) {
        lower_program_is_whole(program);
        lower_program_keep_ptx_lines(program);
        status = lower_all(program, &module);
    }
    if (status == HD_OK)
        status = compile(json, module, line);
    ir_module_destroy(module);
    if (program)
        lower_program_destroy(program);
    hd_arena_fini(&arena);
    return status;
}

static bool answer_next(void)
{
    struct hd_json json;
    uint32_t line;
    size_t len;
    char *text;
    enum hd_status status;

    if (scanf("%" SCNu32 " %zu", &line, &len) != 2 || getchar() != '\n')
        return false;
    text = malloc(len + 1);
    if (!text || fread(text, 1, len, stdin) != len) {
        fputs("binding: a module is cut short\n", stderr);
        exit(1);
    }
    text[len] = '\0';
    hd_json_init(&json);
    json.on_line = true;
    hd_json_open(&json, NULL, '{');
    status = answer(&json, text, len, line);
    if (status != HD_OK)
        hd_json_str(&json, "refused", hd_error_message());
    hd_json_close(&json, '}');
    free(text);
    return hd_json_print(&json);
}

static void print_forms(void)
{
#define PTX_FORM(id, operands, text) puts(#id " " #operands " " text);
#include "ptx_forms.def"
#undef PTX_FORM
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--forms")) {
        print_forms();
        return 0;
    }
    while (answer_next())
        ;
    return !feof(stdin);
}
