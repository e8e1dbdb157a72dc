/* The payloads of spec/ir_ext.def: text form, equality, checks. */
#include "ir/ir_ext.h"
#include "ir/ir_names.h"

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

/* ---- mma: (16 8 16 f16 f16 f32 f32 sparse selector 1), (16 8 32 .. bytes scale ue8m0 1) */

void ir_ext_print_mma(const struct ir_mma *mma, struct hd_buf *out)
{
    hd_buf_printf(out, "(%u %u %u %s %s %s %s", mma->m, mma->n, mma->k, ir_type_name(mma->a),
                  ir_type_name(mma->b), ir_type_name(mma->c), ir_type_name(mma->d));
    for (unsigned i = 0; i < IR_MMA_COUNT_; i++)
        if (mma->flags >> i & 1)
            hd_buf_printf(out, " %s", ir_mma_names[i]);
    if (mma->selector)
        hd_buf_printf(out, " selector %u", mma->selector);
    if (mma->scales)
        hd_buf_printf(out, " scale %s %u", ir_type_name(mma->scale), mma->scales);
    if (mma->rnd)
        hd_buf_printf(out, " %s", ir_rnd_names[mma->rnd]);
    hd_buf_putc(out, ')');
}

static enum hd_status read_small(struct ir_reader *r, uint32_t max, uint32_t *out)
{
    HD_TRY(ir_read_u32(r, out));
    return *out <= max ? HD_OK : ir_read_error(r, "a smaller number");
}

/* What may follow the types, one word or a word and its operands. */
static enum hd_status read_mma_word(struct ir_reader *r, struct ir_mma *mma)
{
    uint32_t number = 0;
    int flag = ir_read_lookup(r->lex.text, ir_mma_names, IR_MMA_COUNT_);
    int rnd = ir_read_lookup(r->lex.text, ir_rnd_names, IR_RND_COUNT_);

    if (r->lex.kind != IR_TOK_WORD)
        return ir_read_error(r, "a property of a matrix product");
    if (flag >= 0)
        mma->flags |= (uint16_t)(1u << flag);
    else if (rnd > 0)
        mma->rnd = (enum ir_rnd)rnd;
    else if (ir_lex_is_word(&r->lex, "selector")) {
        ir_lex_next(&r->lex);
        HD_TRY(read_small(r, UINT8_MAX, &number));
        mma->selector = (uint8_t)number;
        return HD_OK;
    } else if (ir_lex_is_word(&r->lex, "scale")) {
        ir_lex_next(&r->lex);
        HD_TRY(ir_read_type(r, &mma->scale));
        HD_TRY(read_small(r, UINT8_MAX, &number));
        mma->scales = (uint8_t)number;
        return HD_OK;
    } else
        return ir_read_error(r, "a property of a matrix product");
    ir_lex_next(&r->lex);
    return HD_OK;
}

enum hd_status ir_ext_read_mma(struct ir_reader *r, struct ir_instr *instr)
{
    struct ir_mma *mma = hd_arena_new(&r->module->arena, struct ir_mma);
    uint32_t size[3];

    if (!mma)
        return hd_error(HD_NO_MEMORY, "%s:%u: no memory for IR", r->name, r->lex.line);
    HD_TRY(ir_read_punct(r, '('));
    for (unsigned i = 0; i < 3; i++)
        HD_TRY(read_small(r, UINT16_MAX, &size[i]));
    HD_TRY(ir_read_type(r, &mma->a));
    HD_TRY(ir_read_type(r, &mma->b));
    HD_TRY(ir_read_type(r, &mma->c));
    HD_TRY(ir_read_type(r, &mma->d));
    while (!ir_lex_is(&r->lex, ')'))
        HD_TRY(read_mma_word(r, mma));
    mma->m = (uint16_t)size[0];
    mma->n = (uint16_t)size[1];
    mma->k = (uint16_t)size[2];
    instr->ext = mma;
    return ir_read_punct(r, ')');
}

bool ir_ext_same_mma(const struct ir_mma *a, const struct ir_mma *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->flags == b->flags && a->a == b->a &&
           a->b == b->b && a->c == b->c && a->d == b->d && a->scale == b->scale &&
           a->scales == b->scales && a->selector == b->selector && a->rnd == b->rnd;
}
