/*
 * Golden files of tests/ptx/golden (their first line is a comment to PTX here):
 *   ; print           parse, check, print; the printed text must parse and print the same
 *   ; errors WHAT     cases between lines "//--": the message of each. WHAT is what a case stands for:
 *                     a `text`, the `module` behind a header, the `body` of a kernel; `bytes` are
 *                     modules whose variables' images are made as well.
 */
#include "golden.h"

#include "ptx/ptx.h"

#define CASE_CUT "//--\n"

static const char module_head[] = ".version 9.0 .target sm_120 .address_size 64\n";
static const char body_head[] =
    ".version 9.0 .target sm_120 .address_size 64 .global .align 8 .b8 gv[64]; "
    ".func (.param .b32 r) callee(.param .b32 a, .param .b64 b); "
    ".func regs(.reg .u32 a); .func vectors(.reg .v4 .u32 a); "
    ".entry k(.param .u64 p0, .param .u32 p1) { .reg .pred %p<4>; .reg .b16 %rs<4>; "
    ".reg .b32 %r<8>; .reg .u32 %u<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>; "
    ".shared .align 4 .b8 sm[64];\n";

static void show_print(const char *input, size_t len, struct hd_buf *out)
{
    struct hd_arena arena;
    struct ptx_module *module;
    struct hd_buf again = {0};

    hd_arena_init(&arena);
    if (ptx_parse(&arena, input, len, "t", &module) != HD_OK || ptx_check(module) != HD_OK) {
        hd_buf_printf(out, "%s\n", hd_error_message());
    } else {
        ptx_print(module, out);
        if (ok(ptx_parse(&arena, out->ptr, out->len, "again", &module) == HD_OK &&
                   ptx_check(module) == HD_OK,
               "printed text parses")) {
            ptx_print(module, &again);
            eq_str(again.ptr, out->ptr, "and prints the same");
        } else {
            diag("%s", hd_error_message());
        }
    }
    hd_buf_fini(&again);
    hd_arena_fini(&arena);
}

static enum hd_status make_images(const struct ptx_module *module)
{
    uint8_t bytes[256] = {0};

    for (const struct ptx_var *var = module->vars; var; var = var->next)
        HD_TRY(ptx_var_image(var, bytes, HD_MIN(var->size_B, sizeof(bytes)), NULL, NULL));
    return HD_OK;
}

static void show_case(const char *what, const char *text, size_t len, struct hd_buf *out)
{
    struct hd_buf whole = {0};
    struct hd_arena arena;
    struct ptx_module *module;
    enum hd_status status;

    if (!strcmp(what, "module") || !strcmp(what, "bytes"))
        hd_buf_puts(&whole, module_head);
    if (!strcmp(what, "body"))
        hd_buf_puts(&whole, body_head);
    hd_buf_append(&whole, text, len);
    if (!strcmp(what, "body"))
        hd_buf_puts(&whole, "}\n");
    hd_arena_init(&arena);
    status = ptx_parse(&arena, whole.ptr, whole.len, "t", &module);
    if (status == HD_OK)
        status = ptx_check(module);
    if (status == HD_OK && !strcmp(what, "bytes"))
        status = make_images(module);
    hd_buf_printf(out, "%s\n", status == HD_OK ? "accepted" : hd_error_message());
    hd_arena_fini(&arena);
    hd_buf_fini(&whole);
}

static void make(const char *mode, const char *argument, const char *input, size_t len,
                 struct hd_buf *out)
{
    struct hd_buf copy = {0};

    hd_buf_append(&copy, input, len);
    memcpy(copy.ptr, "//", 2); /* the mode line is no PTX; line numbers stay */
    if (!strcmp(mode, "print")) {
        show_print(copy.ptr, copy.len, out);
    } else {
        const char *at = strchr(copy.ptr, '\n') + 1;
        while (*at) {
            const char *cut = strstr(at, CASE_CUT);
            size_t case_len = cut ? (size_t)(cut - at) : strlen(at);
            show_case(argument, at, case_len, out);
            at += case_len + (cut ? strlen(CASE_CUT) : 0);
        }
    }
    hd_buf_fini(&copy);
}

int main(int argc, char **argv)
{
    golden_dir(argc > 1 ? argv[1] : ".", ".ptx", make);
    return done();
}
