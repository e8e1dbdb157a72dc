/*
 * At build time: routines of the compiler, written in PTX, as IR, which the compiler reads.
 *
 *     routines FILE.ptx OUTPUT.inc     the text as elements of an array of C
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "ptx/ptx.h"

static char *read_whole(const char *path, size_t *out_len)
{
    FILE *file = fopen(path, "rb");
    size_t cap = 1 << 20;
    char *text = malloc(cap);

    if (!file || !text) {
        perror(path);
        exit(1);
    }
    *out_len = fread(text, 1, cap - 1, file);
    text[*out_len] = '\0';
    fclose(file);
    return text;
}

static void must(enum hd_status status)
{
    if (status != HD_OK) {
        fprintf(stderr, "routines: %s\n", hd_error_message());
        exit(1);
    }
}

/* Inlined into each other, and cheaper; not dropped, though no kernel needs them. */
static void optimise(struct ir_module *module)
{
    static const char *const passes[] = {"ir_lower_inline", "ir_opt_simplify_cfg", "ir_opt_copy",
                                         "ir_opt_fold",     "ir_opt_cse",          "ir_opt_dce",
                                         "ir_opt_copy",     "ir_opt_simplify_cfg"};

    for (size_t i = 0; i < HD_COUNT_OF(passes); i++)
        must(opt_run(module, &(struct opt_options){.only = passes[i], .validate = true}));
}

int main(int argc, char **argv)
{
    struct ptx_module *parsed;
    struct ir_module *module;
    struct hd_arena arena;
    struct hd_buf text;
    FILE *out;
    size_t len;
    char *ptx;

    if (argc != 3) {
        fputs("usage: routines FILE.ptx OUTPUT.inc\n", stderr);
        return 2;
    }
    ptx = read_whole(argv[1], &len);
    hd_arena_init(&arena);
    must(ptx_parse(&arena, ptx, len, argv[1], &parsed));
    must(ptx_check(parsed));
    must(lower_ptx((const struct ptx_module *[]){parsed}, 1, "routines", &module));
    optimise(module);
    hd_buf_init(&text);
    ir_print_module(module, &text);
    out = fopen(argv[2], "w");
    if (!out) {
        perror(argv[2]);
        return 1;
    }
    for (size_t i = 0; i < text.len; i++)
        fprintf(out, "%d,%s", text.ptr[i], i % 32 == 31 ? "\n" : "");
    fputs("0\n", out);
    hd_buf_fini(&text);
    free(ptx);
    return fclose(out) != 0;
}
