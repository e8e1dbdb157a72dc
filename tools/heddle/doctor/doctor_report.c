/* Printing what doctor found: text for people, JSON for programs. */
#include "doctor/doctor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"

static const char *variant_text(char variant)
{
    return variant == 'a' ? "a" : variant == 'f' ? "f" : "";
}

static void image_name(const struct obj_entry *entry, char *buf, size_t buf_B)
{
    char kind[16];
    snprintf(buf, buf_B, "%s %s%u%s", obj_entry_kind_text(entry->kind, kind, sizeof(kind)),
             entry->kind == OBJ_ENTRY_CUBIN ? "sm_" : "compute_", entry->arch,
             variant_text(entry->variant));
}

static void print_images(const struct doctor_report *r, bool verbose)
{
    const struct program *p = &r->program;
    if (!p->images.len)
        return;
    size_t usable = program_count_usable(p, r->cc);
    assert(usable <= p->images.len);
    printf("  device code    %zu image%s in %zu fat binar%s, %zu with PTX that this device runs\n",
           p->images.len, p->images.len == 1 ? "" : "s", p->containers,
           p->containers == 1 ? "y" : "ies", usable);
    for (size_t i = 0; verbose && i < p->images.len; i++) {
        const struct program_image *image = &p->images.at[i];
        char name[64];
        image_name(&image->entry, name, sizeof(name));
        printf("    %-20s %8zu B, %s, %zu B%s%s%.*s\n", name, image->entry.stored_B,
               obj_codec_text(image->entry.codec), image->entry.raw_B,
               image->section[0] ? ", " : "", image->section, HD_STR_ARG(image->entry.source));
    }
}

static void print_entries(const struct doctor_report *r, bool verbose)
{
    size_t supported = 0;
    for (size_t i = 0; i < r->entries.len; i++)
        supported += r->entries.at[i].state == DOCTOR_SUPPORTED;
    if (r->entries.len)
        printf("  entry points   %zu %s, %zu supported\n", r->entries.len,
               r->program.runtime == OBJ_RUNTIME_EMBEDDED ? "embedded" : "needed", supported);
    for (size_t i = 0; verbose && i < r->entries.len; i++) {
        const struct doctor_entry *e = &r->entries.at[i];
        printf("    %-44s %s%s%s%s\n", e->name, doctor_state_text(e->state),
               e->version[0] ? ", " : "", e->version, e->called ? ", called" : "");
    }
}

static void print_ptx(const struct doctor_report *r)
{
    if (r->modules)
        printf("  PTX            %zu modules, %zu kernels\n", r->modules, r->kernels);
    for (size_t i = 0; i < r->forms.len; i++) {
        const struct doctor_form *f = &r->forms.at[i];
        printf("    %-40s %u uses, %s: %s\n", f->text, f->uses, f->place, f->why);
    }
}

static void print_should_run(const struct doctor_report *r)
{
    bool any = false;
    fputs("  should run", stdout);
    for (size_t i = 0; i < r->libraries.len; i++)
        if (r->libraries.at[i].opened || (r->libraries.at[i].called && r->libraries.at[i].beside)) {
            printf("%s%s", any ? ", " : ", but for what needs ", r->libraries.at[i].what);
            any = true;
        }
    putchar('\n');
}

void doctor_print_text(const struct doctor_report *r, bool verbose)
{
    const struct program *p = &r->program;
    printf("%s: %s", p->path, obj_image_kind_text(p->kind));
    if (p->kind == OBJ_IMAGE_HOST_ELF)
        printf(", CUDA runtime: %s", obj_runtime_text(p->runtime));
    if (p->cuda_version)
        printf(", CUDA %u", p->cuda_version);
    putchar('\n');
    for (size_t i = 0; i < r->libraries.len; i++)
        printf("  library        %s (%s)\n", r->libraries.at[i].name, r->libraries.at[i].what);
    print_entries(r, verbose);
    print_images(r, verbose);
    print_ptx(r);
    for (size_t i = 0; i < r->notes.len; i++)
        printf("  note           %s\n", r->notes.at[i]);
    for (size_t i = 0; i < r->problems.len; i++)
        printf("  problem        %s\n", r->problems.at[i]);
    if (r->problems.len)
        puts("  will not run as it is");
    else
        print_should_run(r);
}

static void json_images(struct hd_json *j, const struct doctor_report *r)
{
    hd_json_open(j, "images", '[');
    for (size_t i = 0; i < r->program.images.len; i++) {
        const struct program_image *image = &r->program.images.at[i];
        char kind[16], arch[16];
        snprintf(arch, sizeof(arch), "%u%s", image->entry.arch, variant_text(image->entry.variant));
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "kind", obj_entry_kind_text(image->entry.kind, kind, sizeof(kind)));
        hd_json_str(j, "arch", arch);
        hd_json_str(j, "section", image->section);
        hd_json_u64(j, "fatbin", image->container);
        hd_json_u64(j, "offset", image->offset_B);
        hd_json_str(j, "compression", obj_codec_text(image->entry.codec));
        hd_json_u64(j, "stored_B", image->entry.stored_B);
        hd_json_u64(j, "size_B", image->entry.raw_B);
        hd_json_view(j, "source", image->entry.source);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void json_entries(struct hd_json *j, const struct doctor_report *r)
{
    hd_json_open(j, "entry_points", '[');
    for (size_t i = 0; i < r->entries.len; i++) {
        const struct doctor_entry *e = &r->entries.at[i];
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "name", e->name);
        hd_json_str(j, "version", e->version);
        hd_json_str(j, "library", e->is_driver ? "libcuda" : "libcudart");
        hd_json_str(j, "state", doctor_state_text(e->state));
        if (r->program.runtime == OBJ_RUNTIME_EMBEDDED)
            hd_json_bool(j, "called", e->called);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void json_libraries(struct hd_json *j, const struct doctor_report *r)
{
    hd_json_open(j, "libraries", '[');
    for (size_t i = 0; i < r->libraries.len; i++) {
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "name", r->libraries.at[i].name);
        hd_json_str(j, "what", r->libraries.at[i].what);
        hd_json_bool(j, "called", r->libraries.at[i].called);
        hd_json_bool(j, "opened", r->libraries.at[i].opened);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void json_ptx(struct hd_json *j, const struct doctor_report *r)
{
    hd_json_open(j, "ptx", '{');
    hd_json_u64(j, "modules", r->modules);
    hd_json_u64(j, "kernels", r->kernels);
    hd_json_open(j, "unsupported", '[');
    for (size_t i = 0; i < r->forms.len; i++) {
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "form", r->forms.at[i].text);
        hd_json_str(j, "why", r->forms.at[i].why);
        hd_json_str(j, "place", r->forms.at[i].place);
        hd_json_u64(j, "uses", r->forms.at[i].uses);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

static void json_texts(struct hd_json *j, const char *key, const char *const *texts, size_t len)
{
    hd_json_open(j, key, '[');
    for (size_t i = 0; i < len; i++)
        hd_json_str(j, NULL, texts[i]);
    hd_json_close(j, ']');
}

static void put_members(struct hd_json *j, const char *path, const struct doctor_report *r)
{
    hd_json_str(j, "path", path);
    hd_json_str(j, "kind", obj_image_kind_text(r->program.kind));
    hd_json_str(j, "runtime", obj_runtime_text(r->program.runtime));
    hd_json_u64(j, "cuda_version", r->program.cuda_version);
    hd_json_bool(j, "should_run", r->problems.len == 0);
    json_texts(j, "problems", r->problems.at, r->problems.len);
    json_texts(j, "notes", r->notes.at, r->notes.len);
    json_libraries(j, r);
    json_entries(j, r);
    json_images(j, r);
    json_ptx(j, r);
}

void doctor_put_json(struct hd_json *j, const char *path, const char *package,
                     const struct doctor_report *r)
{
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "package", package);
    put_members(j, path, r);
    hd_json_close(j, '}');
}

void doctor_print_json(const struct doctor_report *r)
{
    struct hd_json j;
    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    put_members(&j, r->program.path, r);
    hd_json_close(&j, '}');
    hd_json_print(&j);
}
