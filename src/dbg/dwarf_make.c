/*
 * DWARF for PTX that brings none: functions with their names, parameters by PTX's names and types,
 * and, from .loc, what was inlined where. Also threadIdx and its like, which are variables here.
 */
#include "dbg/dwarf.h"

#include <assert.h>

#include "base/mem.h"

enum {
    TAG_FORMAL_PARAMETER = 0x05,
    TAG_MEMBER = 0x0d,
    TAG_COMPILE_UNIT = 0x11,
    TAG_STRUCTURE = 0x13,
    TAG_INLINED = 0x1d,
    TAG_BASE_TYPE = 0x24,
    TAG_SUBPROGRAM = 0x2e,
    TAG_VARIABLE = 0x34,
    AT_LOCATION = 0x02,
    AT_NAME = 0x03,
    AT_BYTE_SIZE = 0x0b,
    AT_STMT_LIST = 0x10,
    AT_LOW_PC = 0x11,
    AT_HIGH_PC = 0x12,
    AT_LANGUAGE = 0x13,
    AT_COMP_DIR = 0x1b,
    AT_INLINE = 0x20,
    AT_PRODUCER = 0x25,
    AT_ABSTRACT_ORIGIN = 0x31,
    AT_MEMBER_LOCATION = 0x38,
    AT_ENCODING = 0x3e,
    AT_EXTERNAL = 0x3f,
    AT_FRAME_BASE = 0x40,
    AT_TYPE = 0x49,
    AT_CALL_COLUMN = 0x57,
    AT_CALL_FILE = 0x58,
    AT_CALL_LINE = 0x59,
    AT_LINKAGE_NAME = 0x6e,
    FORM_ADDR = 0x01,
    FORM_DATA8 = 0x07,
    FORM_STRING = 0x08,
    FORM_DATA1 = 0x0b,
    FORM_UDATA = 0x0f,
    FORM_REF4 = 0x13,
    FORM_SEC_OFFSET = 0x17,
    FORM_EXPRLOC = 0x18,
    FORM_PRESENT = 0x19,
    OP_ADDR = 0x03,
    OP_BREG7 = 0x77,
    OP_CALL_FRAME_CFA = 0x9c,
    LANGUAGE_CPP = 4,
};

/* Abbreviations, numbered as they stand here; a tag, whether there are children, and pairs. */
enum {
    AB_UNIT = 1,
    AB_FUNC,
    AB_PARAM,
    AB_TYPE,
    AB_ABSTRACT,
    AB_INLINED,
    AB_STRUCT,
    AB_MEMBER,
    AB_VAR
};
static const uint8_t abbrevs[] = {
    AB_UNIT,
    TAG_COMPILE_UNIT,
    1,
    AT_PRODUCER,
    FORM_STRING,
    AT_LANGUAGE,
    FORM_DATA1,
    AT_NAME,
    FORM_STRING,
    AT_COMP_DIR,
    FORM_STRING,
    AT_STMT_LIST,
    FORM_SEC_OFFSET,
    AT_LOW_PC,
    FORM_ADDR,
    AT_HIGH_PC,
    FORM_DATA8,
    0,
    0,
    AB_FUNC,
    TAG_SUBPROGRAM,
    1,
    AT_NAME,
    FORM_STRING,
    AT_LINKAGE_NAME,
    FORM_STRING,
    AT_EXTERNAL,
    FORM_PRESENT,
    AT_LOW_PC,
    FORM_ADDR,
    AT_HIGH_PC,
    FORM_DATA8,
    AT_FRAME_BASE,
    FORM_EXPRLOC,
    0,
    0,
    AB_PARAM,
    TAG_FORMAL_PARAMETER,
    0,
    AT_NAME,
    FORM_STRING,
    AT_TYPE,
    FORM_REF4,
    AT_LOCATION,
    FORM_EXPRLOC,
    0,
    0,
    AB_TYPE,
    TAG_BASE_TYPE,
    0,
    AT_NAME,
    FORM_STRING,
    AT_ENCODING,
    FORM_DATA1,
    AT_BYTE_SIZE,
    FORM_DATA1,
    0,
    0,
    AB_ABSTRACT,
    TAG_SUBPROGRAM,
    0,
    AT_NAME,
    FORM_STRING,
    AT_INLINE,
    FORM_DATA1,
    0,
    0,
    AB_INLINED,
    TAG_INLINED,
    0,
    AT_ABSTRACT_ORIGIN,
    FORM_REF4,
    AT_LOW_PC,
    FORM_ADDR,
    AT_HIGH_PC,
    FORM_DATA8,
    AT_CALL_FILE,
    FORM_UDATA,
    AT_CALL_LINE,
    FORM_UDATA,
    AT_CALL_COLUMN,
    FORM_UDATA,
    0,
    0,
    AB_STRUCT,
    TAG_STRUCTURE,
    1,
    AT_NAME,
    FORM_STRING,
    AT_BYTE_SIZE,
    FORM_DATA1,
    0,
    0,
    AB_MEMBER,
    TAG_MEMBER,
    0,
    AT_NAME,
    FORM_STRING,
    AT_TYPE,
    FORM_REF4,
    AT_MEMBER_LOCATION,
    FORM_DATA1,
    0,
    0,
    AB_VAR,
    TAG_VARIABLE,
    0,
    AT_NAME,
    FORM_STRING,
    AT_TYPE,
    FORM_REF4,
    AT_EXTERNAL,
    FORM_PRESENT,
    AT_LOCATION,
    FORM_EXPRLOC,
    0,
    0,
    0,
};

enum { ENC_BOOL = 2, ENC_FLOAT = 4, ENC_SIGNED = 5, ENC_UNSIGNED = 7 };

struct maker {
    const struct dbg_unit *unit;
    struct hd_buf *info;
    uint32_t types[PTX_TYPE_COUNT]; /* where they are in info; 0: not yet */
    struct hd_map inlined;          /* name -> where its subprogram is */
    struct dbg_strings strings;
};

void dbg_dwarf_init(struct dbg_dwarf *dwarf)
{
#define X(field, section) hd_buf_init(&dwarf->field);
    DBG_DWARF_LIST(X)
#undef X
}

void dbg_dwarf_fini(struct dbg_dwarf *dwarf)
{
#define X(field, section) hd_buf_fini(&dwarf->field);
    DBG_DWARF_LIST(X)
#undef X
}

static void make_unit_begin(struct dbg_dwarf *out, const char *producer, const char *name,
                            uint64_t low, uint64_t size_B)
{
    struct hd_buf *info = &out->info;

    hd_buf_append(&out->abbrev, abbrevs, sizeof(abbrevs));
    dbg_put(info, 0, 4);
    dbg_put(info, 4, 2);
    dbg_put(info, 0, 4);
    dbg_put(info, 8, 1);
    dbg_put(info, AB_UNIT, 1);
    dbg_put_str(info, producer);
    dbg_put(info, LANGUAGE_CPP, 1);
    dbg_put_str(info, name);
    dbg_put_str(info, "");
    dbg_put(info, 0, 4);
    dbg_put(info, low, 8);
    dbg_put(info, size_B, 8);
}

static void make_unit_end(struct dbg_dwarf *out)
{
    dbg_put(&out->info, 0, 1);
    dbg_patch(&out->info, 0, out->info.len - 4, 4);
}

static uint32_t make_type(struct hd_buf *info, const char *name, unsigned encoding, unsigned size_B)
{
    uint32_t at = (uint32_t)info->len;

    assert(size_B && size_B <= 8);
    dbg_put(info, AB_TYPE, 1);
    dbg_put_str(info, name);
    dbg_put(info, encoding, 1);
    dbg_put(info, size_B, 1);
    return at;
}

/* ---- functions */

static void make_types(struct maker *m)
{
    for (enum ptx_type t = 1; t < PTX_TYPE_COUNT; t++) {
        enum ptx_type_class class = ptx_type_class(t);
        unsigned size_B = ptx_type_bits(t) / 8;
        if (class == PTX_CLASS_OPAQUE || class == PTX_CLASS_PRED || !size_B || size_B > 8)
            continue;
        if (class == PTX_CLASS_FLOAT && size_B != 4 && size_B != 8)
            class = PTX_CLASS_UINT; /* no format that GDB knows */
        m->types[t] = make_type(m->info, ptx_type_name(t),
                                class == PTX_CLASS_FLOAT  ? ENC_FLOAT
                                : class == PTX_CLASS_SINT ? ENC_SIGNED
                                                          : ENC_UNSIGNED,
                                size_B);
    }
}

/* `_Z6helperi` is helper, `_ZN3foo3barEv` foo::bar; what else there is stays as it is. */
static void make_plain_name(const char *name, struct hd_buf *out)
{
    const char *p = name;
    bool nested = false;

    if (strncmp(p, "_Z", 2) == 0) {
        p += 2;
        p += *p == 'L';
        nested = *p == 'N';
        p += nested;
        while (*p >= '1' && *p <= '9') {
            char *end;
            unsigned long len = strtoul(p, &end, 10);
            if (len > strlen(end))
                break;
            hd_buf_printf(out, "%s%.*s", out->len ? "::" : "", (int)len, end);
            p = end + len;
            if (!nested)
                break;
        }
    }
    if (!out->len)
        hd_buf_puts(out, name);
    hd_buf_putc(out, '\0');
}

static void make_param(struct maker *m, const struct dbg_func *f, const struct ptx_var *v)
{
    assert(v->type < PTX_TYPE_COUNT);
    const struct dbg_var *var = dbg_unit_var(m->unit, f, v->sym.name);
    uint32_t type = m->types[v->type];
    struct hd_buf expr;

    if (!var || var->kind != DBG_VAR_LOCAL || !type || v->is_array || v->vec > 1)
        return;
    hd_buf_init(&expr);
    dbg_put(&expr, OP_BREG7, 1);
    dbg_put_sleb(&expr, (int64_t)(DBG_LOCALS + var->at));
    dbg_put(m->info, AB_PARAM, 1);
    dbg_put_str(m->info, var->name);
    dbg_put(m->info, type, 4);
    dbg_put_uleb(m->info, expr.len);
    hd_buf_append(m->info, expr.ptr, expr.len);
    hd_buf_fini(&expr);
}

/* Functions that were inlined come first: others refer to them. */
static bool make_abstract(struct maker *m, const struct ptx_loc *loc)
{
    const char *name;
    struct hd_buf plain;

    if (!loc->has_inlined || hd_map_get(&m->inlined, loc->function_name))
        return true;
    name = dbg_strings_at(&m->strings, loc->function_name, loc->function_offset);
    if (!name)
        return true;
    if (!hd_map_put(&m->inlined, loc->function_name, (void *)(uintptr_t)m->info->len))
        return false;
    hd_buf_init(&plain);
    make_plain_name(name, &plain);
    dbg_put(m->info, AB_ABSTRACT, 1);
    dbg_put_str(m->info, plain.failed ? name : plain.ptr);
    dbg_put(m->info, 3, 1); /* declared inline and inlined */
    hd_buf_fini(&plain);
    return true;
}

static bool make_is_same_call(const struct ptx_loc *a, const struct ptx_loc *b)
{
    return b && b->has_inlined && a->inlined_file == b->inlined_file &&
           a->inlined_line == b->inlined_line && a->inlined_col == b->inlined_col &&
           hd_str_eq(a->function_name, b->function_name);
}

/* Runs of instructions that the same call brought. */
static void make_inlines(struct maker *m, const struct dbg_func *f)
{
    for (uint32_t i = f->first; i < f->first + f->count;) {
        const struct ptx_loc *loc = m->unit->insns[i].ptx->stmt.loc;
        uint32_t end = i + 1;
        uintptr_t origin =
            loc && loc->has_inlined ? (uintptr_t)hd_map_get(&m->inlined, loc->function_name) : 0;
        while (origin && end < f->first + f->count &&
               make_is_same_call(loc, m->unit->insns[end].ptx->stmt.loc))
            end++;
        if (origin) {
            assert(origin < m->info->len); /* what is inlined comes first */
            dbg_put(m->info, AB_INLINED, 1);
            dbg_put(m->info, origin, 4);
            dbg_put(m->info, dbg_unit_pc(m->unit, i), 8);
            dbg_put(m->info, (uint64_t)(end - i) * DBG_INSN_B, 8);
            dbg_put_uleb(m->info, loc->inlined_file);
            dbg_put_uleb(m->info, loc->inlined_line);
            dbg_put_uleb(m->info, loc->inlined_col);
        }
        i = end;
    }
}

static void make_func(struct maker *m, const struct dbg_func *f)
{
    struct hd_buf plain;

    hd_buf_init(&plain);
    make_plain_name(f->name, &plain);
    dbg_put(m->info, AB_FUNC, 1);
    dbg_put_str(m->info, plain.failed ? f->name : plain.ptr);
    dbg_put_str(m->info, f->name);
    dbg_put(m->info, dbg_unit_pc(m->unit, f->first), 8);
    dbg_put(m->info, (uint64_t)f->count * DBG_INSN_B, 8);
    dbg_put(m->info, 1, 1);
    dbg_put(m->info, OP_CALL_FRAME_CFA, 1);
    hd_buf_fini(&plain);
    for (const struct ptx_var *v = f->ptx->params; v; v = v->next)
        make_param(m, f, v);
    make_inlines(m, f);
    dbg_put(m->info, 0, 1);
}

void dbg_dwarf_make(const struct dbg_unit *unit, const char *source, struct dbg_dwarf *out)
{
    struct maker m = {.unit = unit, .info = &out->info};
    bool good = dbg_strings_init(&m.strings, unit);

    hd_map_init(&m.inlined);
    /* For GDB: see copy_producer() of dwarf_copy.c. Lines of PTX begin with the first one. */
    make_unit_begin(out, dbg_unit_has_lines(unit) ? "clang (Heddle)" : "Heddle", source, unit->base,
                    (uint64_t)unit->ninsns * DBG_INSN_B);
    make_types(&m);
    for (uint32_t i = 0; i < unit->ninsns && good; i++)
        if (unit->insns[i].ptx->stmt.loc)
            good = make_abstract(&m, unit->insns[i].ptx->stmt.loc);
    for (uint32_t i = 0; i < unit->nfuncs; i++)
        make_func(&m, &unit->funcs[i]);
    make_unit_end(out);
    out->info.failed |= !good;
    hd_map_fini(&m.inlined);
    dbg_strings_fini(&m.strings);
}

/* ---- what every kernel has */

static void make_builtin(struct hd_buf *info, const char *name, uint32_t type, uint64_t at)
{
    assert(at < DBG_SPECIAL_B);
    dbg_put(info, AB_VAR, 1);
    dbg_put_str(info, name);
    dbg_put(info, type, 4);
    dbg_put_uleb(info, 9);
    dbg_put(info, OP_ADDR, 1);
    dbg_put(info, DBG_SPECIAL + at, 8);
}

void dbg_dwarf_make_builtins(struct dbg_dwarf *out)
{
    static const char *const axes[] = {"x", "y", "z"};
    struct hd_buf *info = &out->info;
    uint32_t number, triple, size;

    make_unit_begin(out, "Heddle", "cuda", DBG_SPECIAL, DBG_SPECIAL_B);
    number = make_type(info, "unsigned int", ENC_UNSIGNED, 4);
    size = make_type(info, "int", ENC_SIGNED, 4);
    triple = (uint32_t)info->len;
    dbg_put(info, AB_STRUCT, 1);
    dbg_put_str(info, "dim3");
    dbg_put(info, 12, 1);
    for (unsigned i = 0; i < 3; i++) {
        dbg_put(info, AB_MEMBER, 1);
        dbg_put_str(info, axes[i]);
        dbg_put(info, number, 4);
        dbg_put(info, 4 * i, 1);
    }
    dbg_put(info, 0, 1);
#define X(name, at, sreg) make_builtin(info, #name, triple, at);
    DBG_SPECIAL_LIST(X)
#undef X
    make_builtin(info, "warpSize", size, DBG_WARP_SIZE_AT);
    make_unit_end(out);
}
