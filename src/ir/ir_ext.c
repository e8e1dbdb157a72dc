/* The payloads of spec/ir_ext.def: text form, equality, checks. */
#include "ir/ir_ext.h"

/* ---- proto: (b32, b64) -> (b32) */

static void print_types(uint32_t n, const enum ir_type *types, struct hd_buf *out)
{
    hd_buf_putc(out, '(');
    for (uint32_t i = 0; i < n; i++)
        hd_buf_printf(out, "%s%s", i ? ", " : "", ir_type_name(types[i]));
    hd_buf_putc(out, ')');
}

void ir_ext_print_proto(const struct ir_proto *proto, struct hd_buf *out)
{
    print_types(proto->nparams, proto->params, out);
    hd_buf_puts(out, " -> ");
    print_types(proto->nresults, proto->results, out);
}

enum hd_status ir_ext_read_proto(struct ir_reader *r, struct ir_instr *instr)
{
    struct ir_proto *proto = hd_arena_new(&r->module->arena, struct ir_proto);
    enum ir_type *types;

    r->types.len = 0;
    HD_TRY(ir_read_types(r));
    proto->nparams = (uint32_t)r->types.len;
    HD_TRY(ir_read_punct(r, '-'));
    HD_TRY(ir_read_punct(r, '>'));
    HD_TRY(ir_read_types(r));
    proto->nresults = (uint32_t)r->types.len - proto->nparams;
    types = hd_arena_array(&r->module->arena, enum ir_type, r->types.len + 1);
    if (!types)
        return hd_error(HD_NO_MEMORY, "%s:%u: no memory for IR", r->name, r->lex.line);
    if (r->types.len)
        memcpy(types, r->types.at, r->types.len * sizeof(*types));
    proto->params = types;
    proto->results = types + proto->nparams;
    instr->ext = proto;
    return HD_OK;
}

static bool same_types(uint32_t n, const enum ir_type *a, const enum ir_type *b)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool ir_ext_same_proto(const struct ir_proto *a, const struct ir_proto *b)
{
    return a->nparams == b->nparams && a->nresults == b->nresults &&
           same_types(a->nparams, a->params, b->params) &&
           same_types(a->nresults, a->results, b->results);
}

const char *ir_ext_check_proto(const struct ir_proto *proto)
{
    for (uint32_t i = 0; i < proto->nparams + proto->nresults; i++) {
        enum ir_type t = i < proto->nparams ? proto->params[i] : proto->results[i - proto->nparams];
        if (t == IR_VOID || t != ir_type_value(t))
            return "a signature of types that no value has";
    }
    return NULL;
}
