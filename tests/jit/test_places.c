/*
 * Places of compiled code (jit_place_find): code that is made with places is the code that runs,
 * for every kernel of the PTX files named, on every code path and in every form.
 *
 *     test_jit_places FILE...
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "compile.h"
#include "jit/jit_private.h"
#include "tap.h"

static char *read_all(const char *path, size_t *out_len)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(4 << 20);

    *out_len = file && text ? fread(text, 1, (4 << 20) - 1, file) : 0;
    if (file)
        fclose(file);
    if (text)
        text[*out_len] = 0;
    return text;
}

/* Every row names an instruction of the kernel's module, or none, and some do. */
static bool has_places(struct jit_module *jit, const struct ir_func *kernel,
                       const struct jit_code *code)
{
    struct jit_lines lines = {0};
    size_t named = 0, wrong = 0;

    if (jit_lines_of_code(jit, code, &lines) != HD_OK)
        return false;
    for (size_t i = 0; i < lines.rows.len; i++) {
        const struct jit_line *row = &lines.rows.at[i];

        named += row->number != 0;
        wrong += row->number && !ir_module_instr_at(kernel->module, row->number);
        wrong += row->offset > code->size_B;
    }
    hd_vec_fini(&lines.rows);
    return named && !wrong;
}

static void check_kernel(const struct ir_func *kernel, const char *path, const char *form)
{
    struct jit_module *jit;
    const struct jit_code *code;

    if (jit_module_create("places", NULL, &jit) != HD_OK)
        return;
    if (jit_kernel_get(jit, kernel, JIT_CLASS_1D, &code) == HD_OK && code->form < JIT_INTERP) {
        ok(has_places(jit, kernel, code), "%s, %s, %s", kernel->name, path, form);
        eq_u64(jit_place_find(jit, code, code->base + code->size_B), 0, "not behind the code");
    }
    jit_module_destroy(jit);
}

static void check_file(const char *file, const char *path, const char *form)
{
    struct compile_unit unit = {.name = file};
    struct ir_module *module = NULL;
    char *text = read_all(file, &unit.len);

    unit.ptx = text;
    if (ok(text && compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &module) == HD_OK, "%s", file)) {
        ir_foreach_func(f, module)
            if (f->is_kernel && !f->is_declaration)
                check_kernel(f, path, form);
    }
    if (module)
        ir_module_destroy(module);
    free(text);
}

int main(int argc, char **argv)
{
    static const char *const paths[] = {"avx512", "avx2", "generic"};
    enum jit_path path;

    for (size_t p = 0; p < HD_COUNT_OF(paths); p++) {
        setenv("HEDDLE_CPU", paths[p], 1);
        if (jit_path_get(&path) != HD_OK)
            continue;
        for (int i = 1; i < argc; i++)
            check_file(argv[i], paths[p], "fast");
    }
    hd_fault_set(HD_FAULT_JIT_NEXT, false);
    hd_fault_set(HD_FAULT_JIT_FAST, true);
    hd_fault_set(HD_FAULT_JIT_PLAIN, true);
    for (int i = 1; i < argc; i++)
        check_file(argv[i], paths[2], "simple");
    return done();
}
