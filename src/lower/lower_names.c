/*
 * Names of inlined functions: .loc gives a label in the section .debug_str, where the name is a row
 * of bytes that ends with a zero. A label that is not there stands for itself.
 *
 * Source: PTX ISA, 11.5.3 (.loc).
 */
#include "lower/lower_priv.h"

static const struct ptx_dwarf_line *strings_of(const struct ptx_module *unit)
{
    for (const struct ptx_item *item = unit->items; item; item = item->next)
        if (item->kind == PTX_ITEM_SECTION && hd_str_is(item->u.section->name, ".debug_str"))
            return item->u.section->lines;
    return NULL;
}

/* Of the line's bytes, skipping *skip of them, up to a zero; true: it was there. */
static bool append_bytes(const struct ptx_dwarf_line *line, int64_t *skip, struct hd_buf *name)
{
    for (uint32_t i = 0; i < line->count; i++) {
        const struct ptx_init *byte = &line->values[i];

        if ((*skip)-- > 0)
            continue;
        if (byte->kind != PTX_INIT_INT || !byte->u.bits)
            return true;
        hd_buf_putc(name, (char)byte->u.bits);
    }
    return false;
}

const char *lower_inlined_name(struct lower_fn *f, const struct ptx_loc *loc)
{
    const struct ptx_dwarf_line *line = strings_of(f->unit);
    struct hd_str label = loc->function_name;
    int64_t skip = loc->function_offset;
    struct hd_buf name;
    const char *found;

    while (line && !(line->label.len == label.len && label.len &&
                     !memcmp(line->label.ptr, label.ptr, label.len)))
        line = line->next;
    hd_buf_init(&name);
    for (line = line ? line->next : NULL; line; line = line->next)
        if (append_bytes(line, &skip, &name))
            break;
    found = name.len ? hd_arena_strndup(&f->arena, name.ptr, name.len)
                     : hd_arena_strndup(&f->arena, label.ptr, label.len);
    hd_buf_fini(&name);
    return found;
}
