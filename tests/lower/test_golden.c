/*
 * Golden files of tests/lower/golden; cases between lines "//--":
 *   ; body             bodies of a kernel, registers declared: the IR of each
 *   ; module           whole modules behind a header: their IR
 *   ; errors body      the message of each; `errors module` likewise
 *   ; link module      cases are the modules of one program: the linked IR, or the message
 * IR that comes out must be valid, read back the same, and survive the optimiser.
 */
#include "golden.h"

#include "lower/lower.h"
#include "opt/opt.h"

#define CASE_CUT  "//--\n"
#define UNITS_MAX 8

static const char module_head[] = ".version 9.0 .target sm_120 .address_size 64\n";
static const char body_head[] =
    ".version 9.0 .target sm_120 .address_size 64 .global .align 8 .b8 gv[64]; "
    ".const .align 8 .b8 cv[64]; .shared .align 8 .b8 sv[64]; "
    ".extern .func (.param .b32 r) callee(.param .b32 a, .param .b64 b); "
    ".entry k(.param .u64 p0, .param .u32 p1) { .reg .pred %p<8>; .reg .b8 %b<4>; "
    ".reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b128 %q<4>; .reg .f32 %f<8>; "
    ".reg .f64 %g<8>; .local .align 8 .b8 lv[64];\n";

struct program {
    struct hd_arena arena;
    struct hd_buf text[UNITS_MAX]; /* with header */
    const struct ptx_module *units[UNITS_MAX];
    size_t count;
};

static void program_fini(struct program *p)
{
    for (size_t i = 0; i < UNITS_MAX; i++)
        hd_buf_fini(&p->text[i]);
    hd_arena_fini(&p->arena);
}

static enum hd_status program_add(struct program *p, bool body, const char *text, size_t len)
{
    struct ptx_module *module;
    struct hd_buf *all = &p->text[p->count];
    char name[16];

    hd_buf_puts(all, body ? body_head : module_head);
    hd_buf_append(all, text, len);
    hd_buf_puts(all, body ? "}\n" : "");
    snprintf(name, sizeof(name), "unit%zu", p->count);
    HD_TRY(ptx_parse(&p->arena, all->ptr, all->len, name, &module));
    HD_TRY(ptx_check(module));
    p->units[p->count++] = module;
    return HD_OK;
}

static void check_round_trip(const char *text)
{
    struct ir_module *again = NULL;
    struct hd_buf second = {0};

    if (ir_read_module(text, strlen(text), "t", &again) == HD_OK)
        ir_print_module(again, &second);
    else
        diag("%s", hd_error_message());
    ok(second.ptr && !strcmp(second.ptr, text), "the IR's text reads back the same");
    hd_buf_fini(&second);
    ir_module_destroy(again);
}

static void check_module(struct ir_module *ir)
{
    struct opt_options options = {.validate = true, .target = OPT_TARGET_CPU};

    if (!ok(ir_validate(ir) == HD_OK && opt_run(ir, &options) == HD_OK &&
                ir_layout_windows(ir) == HD_OK,
            "the IR is valid and survives the optimiser"))
        diag("%s", hd_error_message());
}

static void program_show(const struct program *p, struct hd_buf *out)
{
    struct ir_module *ir = NULL;
    struct hd_buf text = {0};

    if (lower_ptx(p->units, p->count, "t", &ir) != HD_OK) {
        hd_buf_printf(out, "%s\n", hd_error_message());
        return;
    }
    ir_print_module(ir, &text);
    hd_buf_append(out, text.ptr, text.len);
    check_round_trip(text.ptr);
    check_module(ir);
    hd_buf_fini(&text);
    ir_module_destroy(ir);
}

static void show_case(bool body, const char *text, size_t len, struct hd_buf *out)
{
    struct program p = {0};

    hd_arena_init(&p.arena);
    if (program_add(&p, body, text, len) == HD_OK)
        program_show(&p, out);
    else
        hd_buf_printf(out, "%s\n", hd_error_message());
    program_fini(&p);
}

static void make(const char *mode, const char *argument, const char *input, size_t len,
                 struct hd_buf *out)
{
    const char *at = memchr(input, '\n', len), *end = input + len;
    bool body = !strcmp(mode, "body") || !strcmp(argument, "body"), link = !strcmp(mode, "link");
    struct program p = {0};
    bool good = true;

    hd_arena_init(&p.arena);
    for (at = at ? at + 1 : end; at < end;) {
        const char *cut = strstr(at, CASE_CUT);
        const char *stop = cut && cut < end ? cut : end;
        if (link && good && p.count < UNITS_MAX)
            good = program_add(&p, false, at, (size_t)(stop - at)) == HD_OK;
        else if (!link)
            show_case(body, at, (size_t)(stop - at), out);
        at = stop < end ? stop + strlen(CASE_CUT) : end;
    }
    if (link && good)
        program_show(&p, out);
    else if (link)
        hd_buf_printf(out, "%s\n", hd_error_message());
    program_fini(&p);
}

int main(int argc, char **argv)
{
    golden_dir(argc > 1 ? argv[1] : ".", ".ptx", make);
    return done();
}
