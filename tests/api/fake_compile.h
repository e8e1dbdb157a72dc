/*
 * A compiler for tests of the API layers: takes just enough of PTX to give kernels their names,
 * parameters and variables; bodies are those of fake_kernels (tests/dev/fake_jit.h).
 *
 *     .visible .entry NAME(.param .u64 a, .param .u32 b)
 *     .visible .global .align 4 .b8 NAME[SIZE];
 */
#ifndef HD_TESTS_FAKE_COMPILE_H
#define HD_TESTS_FAKE_COMPILE_H

#include <ctype.h>

#include "compile.h"

static inline const char *fake_name(const char *at, char out[64])
{
    size_t n = 0;

    while (isspace((unsigned char)*at))
        at++;
    while ((isalnum((unsigned char)*at) || *at == '_') && n < 63)
        out[n++] = *at++;
    out[n] = '\0';
    return at;
}

static inline void fake_entry(struct ir_module *ir, const char *at)
{
    char name[64];
    struct ir_func *func;
    const char *end;

    at = fake_name(at, name);
    end = strchr(at, ')');
    func = ir_func_create(ir, name);
    func->is_kernel = true;
    func->params = hd_arena_array(&ir->arena, struct ir_param, 16);
    while ((at = strstr(at, ".param .u")) && at < end && func->nparams < 16) {
        uint32_t size_B = at[9] == '6' ? 8 : 4;
        func->param_size_B = (uint32_t)hd_align_up(func->param_size_B, size_B);
        func->params[func->nparams++] = (struct ir_param){"p", func->param_size_B, size_B, size_B};
        func->param_size_B += size_B;
        at += 9;
    }
}

enum hd_status compile_ptx(const struct compile_unit *units, size_t count,
                           const struct compile_options *options, struct ir_module **out_module)
{
    struct ir_module *ir;

    (void)options;
    HD_TRY(ir_module_create("fake", &ir));
    for (size_t i = 0; i < count; i++) {
        const char *at = units[i].ptx;

        if (strstr(at, "!")) {
            ir_module_destroy(ir);
            return hd_error(HD_BAD_PTX, "line 1: '!'");
        }
        while ((at = strstr(at, ".entry")))
            fake_entry(ir, at += 6);
        at = units[i].ptx;
        while ((at = strstr(at, ".b8"))) {
            char name[64];
            struct ir_var *var;

            at = fake_name(at + 3, name);
            var = ir_var_create(ir, NULL, name, IR_SPACE_GLOBAL);
            var->size_B = strtoull(at + 1, NULL, 10);
            var->align_B = 4;
        }
    }
    if (hd_arena_status(&ir->arena) != HD_OK) {
        ir_module_destroy(ir);
        return hd_error(HD_NO_MEMORY, "compiling");
    }
    *out_module = ir;
    return HD_OK;
}

#endif
