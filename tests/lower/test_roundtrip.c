/*
 * The text form of the IR loses nothing: PTX files become IR, unoptimised and optimised; each
 * module is printed, read back, validated and printed again, with equal bytes.
 *
 *     test_lower_roundtrip FILE...     a module that does not compile is skipped, with its message
 */
#include <string.h>

#include "base/mem.h"
#include "compile.h"
#include "support/tap.h"

/* Where two texts part, for the diagnosis: the line of the first. */
static void show_difference(const struct hd_buf *a, const struct hd_buf *b)
{
    size_t at = 0, line = 0;
    while (at < a->len && at < b->len && a->ptr[at] == b->ptr[at]) {
        if (a->ptr[at] == '\n')
            line = at + 1;
        at++;
    }
    diag("printed: %.*s", (int)strcspn(a->ptr + line, "\n"), a->ptr + line);
    diag("again:   %.*s", (int)strcspn(b->ptr + line, "\n"), b->ptr + line);
}

static bool same_text(const struct ir_module *module, const struct ir_module *again)
{
    struct hd_buf a, b;
    hd_buf_init(&a);
    hd_buf_init(&b);
    ir_print_module(module, &a);
    ir_print_module(again, &b);
    bool same = a.len == b.len && a.ptr && b.ptr && !memcmp(a.ptr, b.ptr, a.len);
    if (!same && a.ptr && b.ptr)
        show_difference(&a, &b);
    hd_buf_fini(&a);
    hd_buf_fini(&b);
    return same;
}

static bool round_trip(const struct ir_module *module)
{
    struct ir_module *again = NULL;
    struct hd_buf text;
    hd_buf_init(&text);
    ir_print_module(module, &text);
    enum hd_status status = ir_read_module(text.ptr, text.len, "printed", &again);
    if (status == HD_OK)
        status = ir_validate(again);
    if (status != HD_OK)
        diag("%s", hd_error_message());
    bool good = status == HD_OK && same_text(module, again);
    if (again)
        ir_module_destroy(again);
    hd_buf_fini(&text);
    return good;
}

static void check_file(const char *path, const struct hd_buf *ptx)
{
    struct compile_unit unit = {path, ptx->ptr, ptx->len};
    for (int no_opt = 0; no_opt < 2; no_opt++) {
        struct compile_options options = {.validate = true, .no_opt = no_opt};
        struct ir_module *module = NULL;
        if (compile_ptx(&unit, 1, &options, OPT_TARGET_CPU, &module) != HD_OK) {
            skip(hd_error_message());
            continue;
        }
        ok(round_trip(module), "%s%s", path, no_opt ? ", unoptimised" : "");
        ir_module_destroy(module);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return skip_all("no files given");
    for (int i = 1; i < argc; i++) {
        struct hd_buf ptx;
        hd_buf_init(&ptx);
        if (hd_file_read(argv[i], 1 << 28, &ptx) == HD_OK)
            check_file(argv[i], &ptx);
        else
            ok(false, "%s can be read", argv[i]);
        hd_buf_fini(&ptx);
    }
    return done();
}
