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

#include "base/mem.h"
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

static inline void fake_unit(struct ir_module *ir, const char *ptx)
{
    for (const char *at = ptx; (at = strstr(at, ".entry"));)
        fake_entry(ir, at += 6);
    for (const char *at = ptx; (at = strstr(at, ".b8"));) {
        char name[64];
        struct ir_var *var;

        at = fake_name(at + 3, name);
        var = ir_var_create(ir, NULL, name, IR_SPACE_GLOBAL);
        var->size_B = strtoull(at + 1, NULL, 10);
        var->align_B = 4;
    }
}

enum hd_status compile_unit_check(const struct compile_unit *unit,
                                  const struct compile_options *options)
{
    (void)options;
    return strstr(unit->ptx, "!") ? hd_error(HD_BAD_PTX, "line 1: '!'") : HD_OK;
}

struct compile_program {
    struct ir_module *ir;
    uint8_t key[16];
};

enum hd_status compile_program_create(const struct compile_unit *units, size_t count,
                                      const struct compile_options *options,
                                      struct compile_program **out_program)
{
    struct compile_program *program = hd_new(struct compile_program);

    (void)options;
    if (!program)
        return hd_error(HD_NO_MEMORY, "compiling");
    if (ir_module_create("fake", &program->ir) != HD_OK) {
        hd_free(program);
        return HD_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        if (strstr(units[i].ptx, "!")) {
            compile_program_destroy(program);
            return hd_error(HD_BAD_PTX, "line 1: '!'");
        }
        fake_unit(program->ir, units[i].ptx);
    }
    if (hd_arena_status(&program->ir->arena) != HD_OK) {
        compile_program_destroy(program);
        return hd_error(HD_NO_MEMORY, "compiling");
    }
    *out_program = program;
    return HD_OK;
}

void compile_program_destroy(struct compile_program *program)
{
    if (program)
        ir_module_destroy(program->ir);
    hd_free(program);
}

const struct ir_module *compile_program_decls(const struct compile_program *program)
{
    return program->ir;
}

/* Nothing is named in bodies. */
bool compile_program_undefined(struct compile_program *program, struct hd_buf *out_text)
{
    (void)program, (void)out_text;
    return false;
}

bool compile_program_is_kernel(const struct compile_program *program, uint32_t index)
{
    return ir_module_func_at(program->ir, index) != NULL;
}

const uint8_t *compile_program_key(const struct compile_program *program)
{
    return program->key;
}

void compile_code_key(const struct compile_program *program, enum opt_target target,
                      uint8_t out_key[16])
{
    memcpy(out_key, program->key, 16);
    out_key[0] ^= (uint8_t)target;
}

void compile_image_key(const struct compile_program *program, enum opt_target target,
                       uint8_t out_key[16])
{
    compile_code_key(program, target, out_key);
}

enum hd_status compile_kernel_sizes(struct compile_program *program, uint32_t index,
                                    struct ir_kernel_sizes *out_sizes)
{
    const struct ir_func *decl = ir_module_func_at(program->ir, index);

    *out_sizes = (struct ir_kernel_sizes){.is_doubtful = !strcmp(decl->name, "unsupported")};
    return HD_OK;
}

/* A kernel called `unsupported` stands for one whose body we cannot compile. */
enum hd_status compile_kernel(struct compile_program *program, uint32_t index,
                              enum opt_target target, struct ir_module **out_module)
{
    const struct ir_func *decl = ir_module_func_at(program->ir, index);
    struct ir_func *func;

    (void)target;
    if (!strcmp(decl->name, "unsupported"))
        return hd_error(HD_NOT_SUPPORTED, "fake.ptx:7: the instruction is not supported");
    HD_TRY(ir_module_create(decl->name, out_module));
    func = ir_func_create(*out_module, decl->name);
    ir_func_set_index(func, decl->index);
    func->is_kernel = true;
    func->param_size_B = decl->param_size_B;
    if (hd_arena_status(&(*out_module)->arena) == HD_OK)
        return HD_OK;
    ir_module_destroy(*out_module);
    return hd_error(HD_NO_MEMORY, "compiling");
}

#endif
