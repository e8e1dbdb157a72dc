/*
 * Places of compiled code (jit_instr_find): code that is made with places is the code that runs,
 * for every kernel of the PTX files named, on every code path and in every form.
 *
 *     test_jit_places [--every] FILE...    without --every, each kernel on one of them, in turn
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

static const struct way {
    const char *path, *form;
} ways[] = {{"avx512", "fast"}, {"avx2", "fast"}, {"generic", "fast"}, {"generic", "simple"}};

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

static void check_kernel(const struct ir_func *kernel, const struct way *way)
{
    struct jit_module *jit;
    const struct jit_code *code;

    if (jit_module_create("places", NULL, &jit) != HD_OK)
        return;
    if (jit_kernel_get(jit, kernel, JIT_CLASS_1D, &code) == HD_OK && code->form < JIT_INTERP) {
        ok(has_places(jit, kernel, code), "%s, %s, %s", kernel->name, way->path, way->form);
        eq_u64(jit_instr_find(jit, code, code->base + code->size_B), 0, "not behind the code");
    }
    jit_module_destroy(jit);
}

/* All kernels of the file, or those whose turn it is. */
static void check_file(const char *file, size_t way, bool is_every)
{
    struct compile_unit unit = {.name = file};
    struct ir_module *module = NULL;
    char *text = read_all(file, &unit.len);
    size_t i = 0;

    unit.ptx = text;
    if (ok(text && compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &module) == HD_OK, "%s", file)) {
        ir_foreach_func(f, module)
            if (f->is_kernel && !f->is_declaration && (i++ % HD_COUNT_OF(ways) == way || is_every))
                check_kernel(f, &ways[way]);
    }
    if (module)
        ir_module_destroy(module);
    free(text);
}

int main(int argc, char **argv)
{
    bool is_every = argc > 1 && !strcmp(argv[1], "--every");
    enum jit_path path;

    for (size_t w = 0; w < HD_COUNT_OF(ways); w++) {
        bool is_simple = !strcmp(ways[w].form, "simple");

        setenv("HEDDLE_CPU", ways[w].path, 1);
        if (jit_path_get(&path) != HD_OK)
            continue;
        hd_fault_set(HD_FAULT_JIT_NEXT, !is_simple);
        hd_fault_set(HD_FAULT_JIT_FAST, is_simple);
        hd_fault_set(HD_FAULT_JIT_PLAIN, is_simple);
        for (int i = 1 + is_every; i < argc; i++)
            check_file(argv[i], w, is_every);
    }
    return done();
}
