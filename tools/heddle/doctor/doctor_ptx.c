/* The PTX part of `heddle doctor`: what would be loaded, parsed and looked through. */
#include "doctor/doctor.h"

#include <string.h>

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
