/* What lowering refuses of modules that are linked together. */
#include "doctor/doctor.h"

#include <assert.h>
#include <string.h>

#include "lower/lower.h"

static struct doctor_form *find_form(struct doctor_report *r, struct hd_str text)
{
    for (size_t i = 0; i < r->forms.len; i++)
        if (hd_str_is(text, r->forms.at[i].text))
            return &r->forms.at[i];
    return NULL;
}

/* "wmma.mma.sync..." where no operands would help, else the whole instruction. */
static const char *text_of(struct doctor_report *r, const struct lower_refusal *refusal)
{
    assert(refusal->insn);
    struct hd_str form = refusal->insn->form->text;
    struct hd_buf buf;
    const char *text;
    if (refusal->is_form)
        return hd_arena_strndup(&r->arena, form.ptr, form.len);
    hd_buf_init(&buf);
    ptx_print_insn(refusal->insn, &buf);
    text = hd_arena_strndup(&r->arena, buf.ptr ? buf.ptr : "", buf.len);
    hd_buf_fini(&buf);
    return text;
}

/* Functions and variables that nobody defines are told by doctor_check_links(). */
static void on_refused(void *user, const struct lower_refusal *refusal)
{
    struct doctor_report *r = user;
    assert(refusal->status != HD_OK);
    if (refusal->status == HD_UNRESOLVED)
        return;
    if (!refusal->insn) {
        doctor_problem(r, "%s", refusal->why);
        return;
    }
    const char *text = text_of(r, refusal);
    struct doctor_form *form = text ? find_form(r, hd_str_from(text)) : NULL;
    if (form) {
        form->uses++;
        return;
    }
    struct doctor_form added = {
        .text = text,
        .why = hd_arena_strndup(&r->arena, refusal->why, strlen(refusal->why)),
        .place = hd_arena_printf(&r->arena, "%.*s line %u", HD_STR_ARG(refusal->func->sym.name),
                                 refusal->insn->stmt.srcloc.line),
        .uses = 1,
    };
    if (text && added.why && added.place && hd_vec_push(&r->forms, added))
        doctor_problem(r, "instruction %s (%s): %s", added.text, added.place, added.why);
}

/* As loading does it: linked, then every body lowered. */
void doctor_check_program(struct doctor_report *r, const struct ptx_module *const *modules,
                          size_t len)
{
    struct lower_program *program = NULL;
    enum hd_status status = lower_program_create(modules, len, r->program.path, &program);
    if (status == HD_OK)
        status = lower_survey(program, on_refused, r);
    lower_program_destroy(program);
    if (status != HD_OK)
        doctor_problem(r, "%s", hd_error_message());
}
