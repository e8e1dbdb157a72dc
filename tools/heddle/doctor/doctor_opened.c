/*
 * Libraries that a program opens by name (dlopen, dlsym): the loader knows nothing of them. What
 * tells is the program's text: a library's file name, or names of several of its functions. Whether
 * the program ever comes there cannot be seen, so it is a note, and what the verdict leaves out.
 */
#include "doctor/doctor.h"

#include <elf.h>
#include <string.h>

#include "common/where.h"

/* Fewer may be words of a message. */
#define FUNCTIONS_MIN 4

struct opened {
    const struct obj_vendor_library *vendor;
    bool by_file;
    unsigned functions;
};

struct search {
    struct doctor_report *report;
    HD_VEC(struct opened) found;
};

static struct opened *opened_at(struct search *s, const struct obj_vendor_library *vendor)
{
    for (size_t i = 0; i < s->found.len; i++)
        if (s->found.at[i].vendor == vendor)
            return &s->found.at[i];
    return hd_vec_push(&s->found, ((struct opened){.vendor = vendor}))
               ? &s->found.at[s->found.len - 1]
               : NULL;
}

/* "libcublas.so.13", "/usr/lib/libcublas.so": nothing but a path that ends as libraries do. */
static bool is_library_file(struct hd_str text)
{
    const char *so = memmem(text.ptr, text.len, ".so", 3);
    if (!so)
        return false;
    for (const char *at = text.ptr; at < so; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./", *at))
            return false;
    for (const char *at = so + 3; at < text.ptr + text.len; at++)
        if (!strchr("0123456789.", *at))
            return false;
    return true;
}

static void look_at(struct search *s, struct hd_str text)
{
    const struct obj_vendor_library *vendor = obj_vendor_function(text);
    struct opened *opened = NULL;
    if (vendor && (opened = opened_at(s, vendor)))
        opened->functions++;
    else if (is_library_file(text) && (vendor = obj_vendor_library(text)) &&
             (opened = opened_at(s, vendor)))
        opened->by_file = true;
}

static bool is_text(unsigned char c)
{
    return c >= 0x20 && c < 0x7f;
}

/* The strings of a section of constants. */
static void look_through(struct search *s, const struct obj_elf_section *section)
{
    const char *at = (const char *)section->bytes, *end = at + section->size_B;
    while (at < end) {
        const char *from = at;
        while (at < end && is_text((unsigned char)*at))
            at++;
        if (at < end && !*at && at - from >= 6)
            look_at(s, (struct hd_str){from, (size_t)(at - from)});
        at++;
    }
}

static bool is_needed(const struct doctor_report *r, const struct obj_vendor_library *vendor)
{
    struct hd_str name;
    for (size_t n = 0; obj_elf_needed(&r->program.elf, n, &name); n++)
        if (obj_vendor_library(name) == vendor)
            return true;
    return false;
}

/* The vendor's own libraries have strings of all the others; there the linked ones tell. */
static bool is_vendors_own(const struct doctor_report *r)
{
    return obj_vendor_library(hd_str_from(r->program.path)) != NULL;
}

void doctor_find_opened(struct doctor_report *r)
{
    struct search s = {.report = r};
    struct obj_elf_section section;
    if (is_vendors_own(r))
        return;
    for (size_t i = 0; i < r->program.elf.section_count; i++)
        if (obj_elf_section(&r->program.elf, i, &section) && section.bytes &&
            hd_str_starts(section.name, ".rodata"))
            look_through(&s, &section);
    for (size_t i = 0; i < s.found.len; i++) {
        const struct opened *opened = &s.found.at[i];
        struct doctor_library library = {
            .name = opened->vendor->soname, .what = opened->vendor->what, .opened = true};
        enum where_library own;
        if ((!opened->by_file && opened->functions < FUNCTIONS_MIN) ||
            where_replaces(hd_str_from(opened->vendor->soname), &own) ||
            is_needed(r, opened->vendor))
            continue;
        if (hd_vec_push(&r->libraries, library))
            doctor_note(r, "opens %s by name: Heddle has no %s yet, and what calls it fails",
                        library.name, library.what);
    }
    hd_vec_fini(&s.found);
}
