/* The payloads of spec/ir_ext.def: text form, equality, checks. */
#include "ir/ir_ext.h"
#include "ir/ir_names.h"
#include "ir/payload.h"

/* ---- proto: (b32, b64) -> (b32) */

static void ext_print_types(uint32_t n, const enum ir_type *types, struct hd_buf *out)
{
    hd_buf_putc(out, '(');
    for (uint32_t i = 0; i < n; i++)
        hd_buf_printf(out, "%s%s", i ? ", " : "", ir_type_name(types[i]));
    hd_buf_putc(out, ')');
}

void ir_ext_print_proto(const struct ir_proto *proto, struct hd_buf *out)
{
    ext_print_types(proto->nparams, proto->params, out);
    hd_buf_puts(out, " -> ");
    ext_print_types(proto->nresults, proto->results, out);
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

static bool ext_same_types(uint32_t n, const enum ir_type *a, const enum ir_type *b)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool ir_proto_equals(const struct ir_proto *a, const struct ir_proto *b)
{
    return a->nparams == b->nparams && a->nresults == b->nresults &&
           ext_same_types(a->nparams, a->params, b->params) &&
           ext_same_types(a->nresults, a->results, b->results);
}

bool ir_ext_same_proto(const struct ir_proto *a, const struct ir_proto *b)
{
    return ir_proto_equals(a, b);
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

static enum hd_status ext_read_small(struct ir_reader *r, uint32_t max, uint32_t *out)
{
    HD_TRY(ir_read_u32(r, out));
    return *out <= max ? HD_OK : ir_read_error(r, "a smaller number");
}

/* What may follow the types, one word or a word and its operands. */
static enum hd_status ext_read_mma_word(struct ir_reader *r, struct ir_mma *mma)
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
        HD_TRY(ext_read_small(r, UINT8_MAX, &number));
        mma->selector = (uint8_t)number;
        return HD_OK;
    } else if (ir_lex_is_word(&r->lex, "scale")) {
        ir_lex_next(&r->lex);
        HD_TRY(ir_read_type(r, &mma->scale));
        HD_TRY(ext_read_small(r, UINT8_MAX, &number));
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
        HD_TRY(ext_read_small(r, UINT16_MAX, &size[i]));
    HD_TRY(ir_read_type(r, &mma->a));
    HD_TRY(ir_read_type(r, &mma->b));
    HD_TRY(ir_read_type(r, &mma->c));
    HD_TRY(ir_read_type(r, &mma->d));
    while (!ir_lex_is(&r->lex, ')'))
        HD_TRY(ext_read_mma_word(r, mma));
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

/* ---- tensor: (ld 32x32b 8 pack), (mma mxf4 ws scales 2), (ld 16x32bx2 2 min f32 offset 16) */

void ir_ext_print_tensor(const struct ir_tensor *t, struct hd_buf *out)
{
    hd_buf_printf(out, "(%s", ir_tensor_op_names[t->op]);
    if (t->op == IR_TENSOR_LD || t->op == IR_TENSOR_ST || t->op == IR_TENSOR_CP)
        hd_buf_printf(out, " %s", ir_tensor_shape_names[t->shape]);
    if (t->op == IR_TENSOR_MMA)
        hd_buf_printf(out, " %s", ir_tensor_kind_names[t->kind]);
    for (unsigned i = 0; i < IR_TENSOR_FLAG_COUNT_; i++)
        if (t->flags >> i & 1)
            hd_buf_printf(out, " %s", ir_tensor_flag_names[i]);
    if (t->num)
        hd_buf_printf(out, " num %u", t->num);
    if (t->scales)
        hd_buf_printf(out, " scales %u", t->scales);
    if (t->scale_d)
        hd_buf_printf(out, " scale_d %u", t->scale_d);
    if (t->offset)
        hd_buf_printf(out, " offset %u", t->offset);
    if (t->type != IR_VOID)
        hd_buf_printf(out, " of %s", ir_type_name(t->type));
    hd_buf_putc(out, ')');
}

static enum hd_status ext_read_name(struct ir_reader *r, const char *const *names, size_t n,
                                    uint8_t *out)
{
    int i = ir_read_lookup(r->lex.text, names, n);

    if (r->lex.kind != IR_TOK_WORD || i < 0)
        return ir_read_error(r, "an operation on tensor memory");
    *out = (uint8_t)i;
    ir_lex_next(&r->lex);
    return HD_OK;
}

/* A word and its number. */
static enum hd_status ext_read_tensor_number(struct ir_reader *r, struct ir_tensor *t)
{
    uint32_t number = 0;
    bool num = ir_lex_is_word(&r->lex, "num"), scales = ir_lex_is_word(&r->lex, "scales");
    bool scale_d = ir_lex_is_word(&r->lex, "scale_d");

    if (!num && !scales && !scale_d && !ir_lex_is_word(&r->lex, "offset"))
        return ir_read_error(r, "a property of an operation on tensor memory");
    ir_lex_next(&r->lex);
    HD_TRY(ext_read_small(r, num || scales || scale_d ? UINT8_MAX : UINT16_MAX, &number));
    if (num)
        t->num = (uint8_t)number;
    else if (scales)
        t->scales = (uint8_t)number;
    else if (scale_d)
        t->scale_d = (uint8_t)number;
    else
        t->offset = number;
    return HD_OK;
}

static enum hd_status ext_read_tensor_word(struct ir_reader *r, struct ir_tensor *t)
{
    int flag = ir_read_lookup(r->lex.text, ir_tensor_flag_names, IR_TENSOR_FLAG_COUNT_);

    if (r->lex.kind == IR_TOK_WORD && flag >= 0) {
        t->flags |= (uint16_t)(1u << flag);
        ir_lex_next(&r->lex);
        return HD_OK;
    }
    if (!ir_lex_is_word(&r->lex, "of"))
        return ext_read_tensor_number(r, t);
    ir_lex_next(&r->lex);
    return ir_read_type(r, &t->type);
}

enum hd_status ir_ext_read_tensor(struct ir_reader *r, struct ir_instr *instr)
{
    struct ir_tensor *t = hd_arena_new(&r->module->arena, struct ir_tensor);

    if (!t)
        return hd_error(HD_NO_MEMORY, "%s:%u: no memory for IR", r->name, r->lex.line);
    HD_TRY(ir_read_punct(r, '('));
    HD_TRY(ext_read_name(r, ir_tensor_op_names, IR_TENSOR_OP_COUNT_, &t->op));
    if (t->op == IR_TENSOR_LD || t->op == IR_TENSOR_ST || t->op == IR_TENSOR_CP)
        HD_TRY(ext_read_name(r, ir_tensor_shape_names, IR_TENSOR_SHAPE_COUNT_, &t->shape));
    if (t->op == IR_TENSOR_MMA)
        HD_TRY(ext_read_name(r, ir_tensor_kind_names, IR_TENSOR_KIND_COUNT_, &t->kind));
    while (!ir_lex_is(&r->lex, ')'))
        HD_TRY(ext_read_tensor_word(r, t));
    instr->ext = t;
    return ir_read_punct(r, ')');
}

bool ir_ext_same_tensor(const struct ir_tensor *a, const struct ir_tensor *b)
{
    return a->op == b->op && a->shape == b->shape && a->num == b->num && a->kind == b->kind &&
           a->scales == b->scales && a->scale_d == b->scale_d && a->flags == b->flags &&
           a->offset == b->offset && a->type == b->type;
}

void ir_ext_print_tensor_warp(const struct ir_tensor *t, struct hd_buf *out)
{
    ir_ext_print_tensor(t, out);
}

enum hd_status ir_ext_read_tensor_warp(struct ir_reader *r, struct ir_instr *instr)
{
    return ir_ext_read_tensor(r, instr);
}

bool ir_ext_same_tensor_warp(const struct ir_tensor *a, const struct ir_tensor *b)
{
    return ir_ext_same_tensor(a, b);
}

const char *ir_ext_check_tensor_warp(const struct ir_tensor *t)
{
    return t->op < IR_TENSOR_CP ? ir_ext_check_tensor(t) : "an operation of one thread";
}

/* ---- tex: (fetch 2d level trap f32 4 0 integers ..): the number is ir_tex.select */

void ir_ext_print_tex(const struct ir_tex *tex, struct hd_buf *out)
{
    hd_buf_printf(out, "(%s %s %s %s %s %u %u", ir_tex_what_names[tex->what],
                  ir_tex_geometry_names[tex->geometry], ir_tex_lod_names[tex->lod],
                  ir_tex_clamp_names[tex->clamp], ir_type_name((enum ir_type)tex->type), tex->vec,
                  tex->select);
    for (unsigned i = 0; i < IR_TEX_FLAGS_; i++)
        if (tex->flags >> i & 1)
            hd_buf_printf(out, " %s", ir_tex_flag_names[i]);
    hd_buf_putc(out, ')');
}

/* One of the names, as its number. */
static enum hd_status ext_read_tex_name(struct ir_reader *r, const char *const *names, size_t n,
                                        uint8_t *out)
{
    int found = ir_read_lookup(r->lex.text, names, n);

    if (found < 0)
        return ir_read_error(r, "a word of a texture instruction");
    *out = (uint8_t)found;
    ir_lex_next(&r->lex);
    return HD_OK;
}

static enum hd_status ext_read_byte(struct ir_reader *r, uint8_t *out)
{
    uint32_t number = 0;

    HD_TRY(ext_read_small(r, UINT8_MAX, &number));
    *out = (uint8_t)number;
    return HD_OK;
}

enum hd_status ir_ext_read_tex(struct ir_reader *r, struct ir_instr *instr)
{
    struct ir_tex *tex = hd_arena_new(&r->module->arena, struct ir_tex);
    enum ir_type type = IR_VOID;
    uint8_t flag = 0;

    if (!tex)
        return hd_error(HD_NO_MEMORY, "%s:%u: no memory for IR", r->name, r->lex.line);
    HD_TRY(ir_read_punct(r, '('));
    HD_TRY(ext_read_tex_name(r, ir_tex_what_names, IR_TEX_WHATS_, &tex->what));
    HD_TRY(ext_read_tex_name(r, ir_tex_geometry_names, IR_TEX_GEOMETRIES_, &tex->geometry));
    HD_TRY(ext_read_tex_name(r, ir_tex_lod_names, IR_TEX_LODS_, &tex->lod));
    HD_TRY(ext_read_tex_name(r, ir_tex_clamp_names, IR_TEX_CLAMPS_, &tex->clamp));
    HD_TRY(ir_read_type(r, &type));
    tex->type = (uint8_t)type;
    HD_TRY(ext_read_byte(r, &tex->vec));
    HD_TRY(ext_read_byte(r, &tex->select));
    while (!ir_lex_is(&r->lex, ')')) {
        HD_TRY(ext_read_tex_name(r, ir_tex_flag_names, IR_TEX_FLAGS_, &flag));
        tex->flags |= (uint8_t)(1u << flag);
    }
    instr->ext = tex;
    return ir_read_punct(r, ')');
}

bool ir_ext_same_tex(const struct ir_tex *a, const struct ir_tex *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

const char *ir_ext_check_tex(const struct ir_tex *tex)
{
    return ir_tex_check(tex);
}
