/*
 * The DWARF that PTX brings, with names turned into addresses.
 *
 * Nothing changes its size, so no offset has to be found again. What is on the stack (layout.h) or
 * in a register is said relative to register 7, rsp, with numbers padded to the room there is:
 * DW_OP_addr NAME becomes DW_OP_breg7 N, DW_OP_regx NAME likewise. What does not look like either
 * stays as it is, and GDB refuses it.
 */
#include "dbg/dwarf.h"

#include <assert.h>

#include "base/mem.h"

enum {
    OP_ADDR = 0x03,
    OP_BREG7 = 0x77,
    OP_REGX = 0x90,
};

/* Code of the section from `at` on belongs to `func`: its labels say so. */
struct owner {
    size_t at;
    const struct dbg_func *func;
};

struct copier {
    const struct dbg_unit *unit;
    struct hd_buf *out;
    const struct hd_map *labels; /* of all sections: name -> offset + 1 */
    HD_VEC(struct owner) owners;
};

/* ---- numbers */

/* A number that takes exactly so many bytes as SLEB128; false: it does not fit. */
static bool copy_padded(char *at, uint64_t value, unsigned size_B)
{
    if (!size_B || (size_B < 9 && value >> (7 * size_B - 1)))
        return false;
    for (unsigned i = 0; i < size_B; i++, value >>= 7)
        at[i] = (char)((value & 0x7f) | (i + 1 < size_B ? 0x80 : 0));
    return true;
}

/* ---- names */

/* A variable: on the stack its whole operation changes, behind DW_OP_addr. */
static void copy_var(struct copier *c, const struct dbg_var *var, int64_t offset, unsigned size_B)
{
    uint64_t at = var->at + (uint64_t)offset;
    char number[8];

    if (var->kind != DBG_VAR_LOCAL || size_B != 8) {
        dbg_put(c->out, at, size_B);
        return;
    }
    if (c->out->len && c->out->ptr[c->out->len - 1] == OP_ADDR &&
        copy_padded(number, DBG_LOCALS + at, 8)) {
        c->out->ptr[c->out->len - 1] = OP_BREG7;
        hd_buf_append(c->out, number, 8);
        return;
    }
    dbg_put(c->out, 0, size_B);
}

/* By the name that code has for it: LLVM replaces dots by "_$_". */
static const struct dbg_var *copy_var_named(const struct copier *c, const struct dbg_func *func,
                                            struct hd_str name)
{
    const struct dbg_var *var = dbg_unit_var(c->unit, func, name);
    struct hd_buf plain;

    if (var || !memchr(name.ptr, '.', name.len))
        return var;
    hd_buf_init(&plain);
    for (size_t i = 0; i < name.len; i++)
        hd_buf_append(&plain, name.ptr[i] == '.' ? "_$_" : &name.ptr[i],
                      name.ptr[i] == '.' ? 3 : 1);
    if (!plain.failed)
        var = dbg_unit_var(c->unit, func, (struct hd_str){plain.ptr, plain.len});
    hd_buf_fini(&plain);
    return var;
}

static void copy_name(struct copier *c, struct hd_str name, int64_t offset, unsigned size_B)
{
    const struct dbg_func *func = c->owners.len ? hd_vec_last(&c->owners).func : NULL;
    uintptr_t label = (uintptr_t)hd_map_get(c->labels, name);
    const struct dbg_var *var;
    uint64_t pc;

    if (label) {
        dbg_put(c->out, label - 1 + (uint64_t)offset, size_B);
    } else if ((var = copy_var_named(c, func, name))) {
        copy_var(c, var, offset, size_B);
    } else if (dbg_unit_label(c->unit, name, &pc, &func)) {
        if (func && !(c->owners.len && hd_vec_last(&c->owners).func == func)) {
            assert(!c->owners.len || hd_vec_last(&c->owners).at <= c->out->len);
            if (!hd_vec_push(&c->owners, (struct owner){c->out->len, func}))
                c->out->failed = true;
        }
        dbg_put(c->out, pc + (uint64_t)offset, size_B);
    } else { /* a section: each begins at 0 */
        dbg_put(c->out, (uint64_t)offset, size_B);
    }
}

/* Of two labels in one section or one function. */
static uint64_t copy_place_of(const struct copier *c, const char *name)
{
    uintptr_t label = (uintptr_t)hd_map_get(c->labels, hd_str_from(name));
    const struct dbg_func *func;
    uint64_t pc = 0;

    if (label)
        return label - 1;
    (void)dbg_unit_label(c->unit, hd_str_from(name), &pc, &func);
    return pc;
}

static void copy_value(struct copier *c, const struct ptx_init *v, unsigned size_B)
{
    switch ((enum ptx_init_kind)v->kind) {
    case PTX_INIT_NAME:
        copy_name(c, hd_str_from(v->u.text), v->offset, size_B);
        break;
    case PTX_INIT_SYM:
        copy_name(c, v->u.sym->name, v->offset, size_B);
        break;
    case PTX_INIT_DIFF:
        dbg_put(c->out,
                copy_place_of(c, v->u.text) - copy_place_of(c, v->text2) + (uint64_t)v->offset,
                size_B);
        break;
    case PTX_INIT_STRING:
        hd_buf_append(c->out, v->u.text, v->count);
        break;
    default:
        dbg_put(c->out, v->u.bits, size_B);
        break;
    }
}

/* ---- registers */

/* The register's name that is packed into an operand; how many bytes that takes, 0: none. */
static unsigned copy_regx_name(const char *at, size_t left, char name[9])
{
    uint64_t packed = 0;
    unsigned n = 0, len = 0;

    do {
        if (n >= left || n >= 9)
            return 0;
        packed |= (uint64_t)((unsigned char)at[n] & 0x7f) << (7 * n);
    } while ((unsigned char)at[n++] & 0x80);
    for (unsigned i = 0; i < 8; i++) {
        char letter = (char)(packed >> (56 - 8 * i));
        if (letter || len)
            name[len++] = letter;
    }
    name[len] = '\0';
    return len >= 2 && *name == '%' ? n : 0;
}

/* A register as the whole of an expression of that length, which stands in front of it. */
static void copy_regx(struct copier *c, size_t at, unsigned length_B)
{
    const struct dbg_func *func = NULL;
    for (size_t i = 0; i < c->owners.len && c->owners.at[i].at <= at; i++)
        func = c->owners.at[i].func;
    const struct ptx_reg_decl *decl;
    const char *p = c->out->ptr;
    char name[9];
    unsigned n = copy_regx_name(p + at + 1, c->out->len - at - 1, name);
    uint64_t length = 0;
    uint32_t reg;

    assert(at >= length_B && at < c->out->len);
    for (unsigned i = 0; i < length_B; i++)
        length |= (uint64_t)(unsigned char)p[at - length_B + i] << (8 * i);
    if (!n || !func || length != n + 1u || !dbg_func_reg(func, hd_str_from(name), &reg, &decl))
        return;
    if (copy_padded(c->out->ptr + at + 1, (uint64_t)reg * DBG_REG_B, n))
        c->out->ptr[at] = OP_BREG7;
}

/* ---- sections */

static const struct ptx_section *copy_section_find(const struct dbg_unit *unit, const char *name)
{
    for (const struct ptx_item *i = unit->ptx->items; i; i = i->next)
        if (i->kind == PTX_ITEM_SECTION && hd_str_is(i->u.section->name, name))
            return i->u.section;
    return NULL;
}

static unsigned copy_line_B(const struct ptx_dwarf_line *line)
{
    return ptx_type_bits((enum ptx_type)line->type) / 8;
}

/* Where the labels of a section are. */
static bool copy_labels(const struct ptx_section *section, struct hd_map *labels)
{
    uint64_t at = 0;

    for (const struct ptx_dwarf_line *l = section->lines; l; l = l->next) {
        if (l->label.len) {
            if (!hd_map_put(labels, l->label, (void *)((uintptr_t)at + 1)))
                return false;
            continue;
        }
        for (uint32_t i = 0; i < l->count; i++) {
            const struct ptx_init *v = &l->values[i];
            at += v->kind == PTX_INIT_STRING ? v->count : copy_line_B(l);
        }
    }
    return true;
}

/* length_B: what stands in front of an expression; 0: there are none. */
static void copy_section(const struct dbg_unit *unit, const char *name, const struct hd_map *labels,
                         unsigned length_B, struct hd_buf *out)
{
    const struct ptx_section *section = copy_section_find(unit, name);
    struct copier c = {.unit = unit, .out = out, .labels = labels};

    for (const struct ptx_dwarf_line *l = section ? section->lines : NULL; l; l = l->next)
        for (uint32_t i = 0; !l->label.len && i < l->count; i++)
            copy_value(&c, &l->values[i], copy_line_B(l));
    for (size_t i = length_B; length_B && i < out->len && !out->failed; i++)
        if ((unsigned char)out->ptr[i] == OP_REGX)
            copy_regx(&c, i, length_B);
    hd_vec_fini(&c.owners);
}

/*
 * GDB skips the code in front of a function's first statement for compilers that it knows to tell
 * it by lines, as these do: those whose name begins with "clang ".
 */
static void copy_producer(struct hd_buf *section)
{
    static const char nvcc[] = "lgenfe: EDG", ours[] = "clang : EDG", clang[] = "clang version ";
    char *at = section->len ? memmem(section->ptr, section->len, nvcc, sizeof(nvcc) - 1) : NULL;

    if (at)
        memcpy(at, ours, sizeof(ours) - 1);
    at = section->len ? memmem(section->ptr, section->len, clang, sizeof(clang) - 1) : NULL;
    char *start = at;
    while (start && start > section->ptr && start[-1] >= ' ') /* a distribution's name */
        start--;
    if (start && start < at) {
        size_t len = strnlen(at, section->len - (size_t)(at - section->ptr));
        memmove(start, at, len);
        memset(start + len, ' ', (size_t)(at - start));
    }
}

bool dbg_dwarf_copy(const struct dbg_unit *unit, struct dbg_dwarf *out)
{
    struct hd_map labels;
    bool good = true;

    if (!copy_section_find(unit, ".debug_info"))
        return false;
    hd_map_init(&labels);
    for (const struct ptx_item *i = unit->ptx->items; i && good; i = i->next)
        if (i->kind == PTX_ITEM_SECTION)
            good = copy_labels(i->u.section, &labels);
    copy_section(unit, ".debug_info", &labels, 1, &out->info);
    copy_section(unit, ".debug_abbrev", &labels, 0, &out->abbrev);
    copy_section(unit, ".debug_str", &labels, 0, &out->str);
    copy_section(unit, ".debug_loc", &labels, 2, &out->loc);
    copy_section(unit, ".debug_ranges", &labels, 0, &out->ranges);
    hd_map_fini(&labels);
    out->info.failed |= !good;
    copy_producer(&out->info);
    copy_producer(&out->str);
    return out->info.len != 0;
}

bool dbg_strings_init(struct dbg_strings *s, const struct dbg_unit *unit)
{
    const struct ptx_section *section = copy_section_find(unit, ".debug_str");

    hd_map_init(&s->labels);
    hd_buf_init(&s->text);
    if (!section)
        return true;
    copy_section(unit, ".debug_str", &s->labels, 0, &s->text);
    hd_buf_putc(&s->text, '\0');
    return copy_labels(section, &s->labels) && !s->text.failed;
}

void dbg_strings_fini(struct dbg_strings *s)
{
    hd_map_fini(&s->labels);
    hd_buf_fini(&s->text);
}

const char *dbg_strings_at(const struct dbg_strings *s, struct hd_str label, int64_t offset)
{
    uintptr_t at = (uintptr_t)hd_map_get(&s->labels, label);

    return at && offset >= 0 && at - 1 + (uint64_t)offset < s->text.len
               ? s->text.ptr + at - 1 + offset
               : NULL;
}
