/* What a survey tells: all that lowering refuses, each once, and nothing of what it takes. */
#include "base/str.h"
#include "lower/lower.h"
#include "tap.h"

static const char text[] =
    ".version 8.8\n.target sm_90\n.address_size 64\n"
    ".extern .func nowhere();\n"
    ".visible .entry good() { .reg .f32 %f<3>; add.sat.f32 %f0, %f1, %f2; ret; }\n"
    ".visible .entry many() { .reg .b32 %r<9>; .reg .f32 %f<3>; .reg .pred %p;\n"
    "  setp.eq.u32 %p, %r0, %r1;\n"
    "  div.rn.sat.f32 %f0, %f1, %f2;\n" /* by its modifier */
    "  @%p bra over;\n"
    "  ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r2];\n" /* by its type */
    "  add.u32 %r3, %r1, %r2;\n"                                /* reads what is not there */
    "over:\n"
    "  mov.u32 %r4, %pm0;\n"                                    /* by an operand */
    "  ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r2];\n" /* again */
    "  call nowhere;\n"
    "  ret; }\n"
    ".visible .entry large() { .shared .b8 s[50000]; .reg .b64 %d; mov.u64 %d, s; ret; }\n"
    ".visible .entry after() { .reg .f32 %f<3>; div.rn.sat.f32 %f0, %f1, %f2; ret; }\n";

struct seen {
    struct hd_buf lines;
    unsigned count;
};

static void on_refused(void *user, const struct lower_refusal *refusal)
{
    struct seen *seen = user;
    struct hd_str form = refusal->insn ? refusal->insn->form->text : (struct hd_str){"function", 8};

    seen->count++;
    hd_buf_printf(&seen->lines, "%.*s %.*s%s %s\n", HD_STR_ARG(refusal->func->sym.name),
                  HD_STR_ARG(form), !refusal->insn || refusal->is_form ? "" : " (operands)",
                  hd_status_name(refusal->status));
}

static bool survey_once(void *arg)
{
    struct lower_program *program = arg;
    struct seen seen = {0};
    enum hd_status status = lower_survey(program, on_refused, &seen);

    hd_buf_fini(&seen.lines);
    return status == HD_OK;
}

static bool is_told(const struct seen *seen, const char *kernel)
{
    return strstr(seen->lines.ptr, kernel) != NULL;
}

/* Each kernel by itself: what is refused there is told here. */
static void test_agreement(struct lower_program *program, const struct seen *seen)
{
    static const char *const kernels[] = {"good ", "many ", "large ", "after "};

    for (uint32_t i = 0; i < 5; i++) {
        struct ir_module *module = NULL;
        char name[16];

        if (!lower_program_is_kernel(program, i))
            continue;
        snprintf(name, sizeof(name), "%s", kernels[i - 1]);
        bool loads = lower_kernel(program, i, &module) == HD_OK;
        ok(loads != is_told(seen, name), "%s: %s", name, loads ? "loads" : hd_error_message());
        if (loads)
            ir_module_destroy(module);
    }
}

int main(void)
{
    struct hd_arena arena;
    struct ptx_module *ptx = NULL;
    struct lower_program *program = NULL;
    struct seen seen = {0};

    hd_arena_init(&arena);
    if (ptx_parse(&arena, text, sizeof(text) - 1, "p", &ptx) != HD_OK ||
        lower_program_create((const struct ptx_module *const *)&ptx, 1, "p", &program) != HD_OK) {
        ok(false, "%s", hd_error_message());
        return done();
    }
    ok(lower_survey(program, on_refused, &seen) == HD_OK, "a survey");
    eq_str(seen.lines.ptr,
           "many div.rn.sat.f32 NOT_SUPPORTED\n"
           "many ldmatrix.sync.aligned.m8n8.x1.shared.b8 NOT_SUPPORTED\n"
           "many mov.u32 (operands) NOT_SUPPORTED\n"
           "many ldmatrix.sync.aligned.m8n8.x1.shared.b8 NOT_SUPPORTED\n"
           "many call (operands) UNRESOLVED\n"
           "large function BAD_PTX\n"
           "after div.rn.sat.f32 NOT_SUPPORTED\n",
           "everything, in order");
    test_agreement(program, &seen);
    tap_oom_loop(survey_once, program, "survey");
    hd_buf_fini(&seen.lines);
    lower_program_destroy(program);
    hd_arena_fini(&arena);
    return done();
}
