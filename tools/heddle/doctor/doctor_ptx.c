/* The PTX part of `heddle doctor`: what would be loaded, parsed and looked through. */
#include "doctor/doctor.h"

#include <string.h>

#include "lower/lower.h"

/* Of each fat binary one entry gets loaded: the one that the loader chooses. */
static bool is_loaded(const struct doctor_report *r, const struct program_image *image)
{
    struct obj_target target = {.cc = r->cc, .accept_any_variant = true};
    struct obj_entry best;
    if (image->entry.kind != OBJ_ENTRY_PTX)
        return false;
    return !image->fatbin.bytes || (obj_fatbin_choose(&image->fatbin, target, &best) == HD_OK &&
                                    best.offset_B == image->entry.offset_B);
}

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
                                 refusal->insn->stmt.place.line),
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

/* What was parsed lives as long as the report: the link is checked when all is there. */
static void check_module(struct doctor_report *r, const struct program_image *image,
                         const struct hd_buf *text)
{
    struct ptx_module *module = NULL;
    const char *kept = hd_arena_strndup(&r->arena, text->ptr ? text->ptr : "", text->len);
    if (ptx_parse(&r->arena, kept, text->len, r->program.path, &module) != HD_OK ||
        ptx_check(module) != HD_OK) {
        doctor_problem(r, "%s", hd_error_message());
        return;
    }
    for (const struct ptx_func *f = module->funcs; f; f = f->next_func)
        r->kernels += f->is_entry && f->has_body;
    struct doctor_module parsed = {module, !strcmp(image->section, "__nv_relfatbin")};
    if (!hd_vec_push(&r->parsed, parsed))
        doctor_problem(r, "out of memory");
}

void doctor_check_ptx(struct doctor_report *r)
{
    for (size_t i = 0; i < r->program.images.len; i++) {
        const struct program_image *image = &r->program.images.at[i];
        struct hd_buf text;
        if (!is_loaded(r, image))
            continue;
        hd_buf_init(&text);
        if (obj_entry_read(&image->entry, &text) != HD_OK) {
            doctor_problem(r, "%s", hd_error_message());
        } else {
            r->modules++;
            check_module(r, image, &text);
        }
        hd_buf_fini(&text);
    }
    doctor_check_links(r);
}
