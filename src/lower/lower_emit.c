/* What everything is lowered with: types and spaces, instructions, constants, errors. */
#include "lower/lower_priv.h"

#include <assert.h>
#include <string.h>

enum ir_type lower_type(enum ptx_type type)
{
    switch (type) {
#define T(id)                                                                                      \
    case PTX_TYPE_##id:                                                                            \
        return IR_##id;
        T(PRED)
        T(B8)
        T(B16)
        T(B32)
        T(B64)
        T(B128)
        T(U8)
        T(U16)
        T(U32)
        T(U64)
        T(S8)
        T(S16)
        T(S32)
        T(S64)
        T(F16)
        T(BF16)
        T(F32)
        T(F64)
        T(F16X2)
        T(BF16X2)
#undef T
    default:
        return IR_VOID;
    }
}

enum ir_type lower_form_type(const struct ptx_insn *in)
{
    enum ptx_type t = ptx_form_type(in->form);
    return t == PTX_TYPE_U16X2 ? IR_U16X2 : t == PTX_TYPE_S16X2 ? IR_S16X2 : lower_type(t);
}

enum ir_space lower_space(enum ptx_space space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL:
        return IR_SPACE_GLOBAL;
    case PTX_SPACE_CONST:
        return IR_SPACE_CONST;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
        return IR_SPACE_SHARED;
    case PTX_SPACE_SHARED_CLUSTER:
        return IR_SPACE_SHARED_CLUSTER;
    case PTX_SPACE_LOCAL:
        return IR_SPACE_LOCAL;
    case PTX_SPACE_PARAM:
    case PTX_SPACE_PARAM_ENTRY:
    case PTX_SPACE_PARAM_FUNC:
        return IR_SPACE_PARAM;
    default:
        return IR_SPACE_GENERIC;
    }
}

struct ir_instr *lower_emit(struct lower_fn *f, enum ir_op op, enum ir_type type, uint32_t nsrc,
                            struct ir_value *const *src, uint32_t ndst)
{
    return ir_build_instr(&f->b, op, type, nsrc, src, ndst);
}

struct ir_value *lower_op(struct lower_fn *f, enum ir_op op, enum ir_type type, uint32_t nsrc,
                          struct ir_value *const *src)
{
    return lower_emit(f, op, type, nsrc, src, 1)->dst[0];
}

struct ir_value *lower_const(struct lower_fn *f, enum ir_type type, uint64_t bits)
{
    assert(type != IR_VOID);
    unsigned w = ir_type_bits(type);
    if (w < 64)
        bits &= (1ull << w) - 1;
    return ir_build_const(&f->b, ir_type_value(type), bits);
}

static void fail(struct lower_fn *f, enum hd_status status, const char *why, bool is_form)
{
    struct hd_buf text;
    if (f->status != HD_OK)
        return;
    hd_buf_init(&text);
    ptx_print_insn(f->insn, &text);
    f->status = hd_error(status, "%.*s:%u:%u: in %s: instruction `%s`: %s",
                         HD_STR_ARG(f->unit->name), f->insn->stmt.srcloc.line,
                         f->insn->stmt.srcloc.col, f->ir->name, text.ptr ? text.ptr : "?", why);
    hd_buf_fini(&text);
    if (f->job->refused) {
        const struct lower_refusal refusal = {f->ptx, f->insn, is_form, status, why};

        f->job->reported = true;
        f->job->refused(f->job->user, &refusal);
    }
}

void lower_fail(struct lower_fn *f, enum hd_status status, const char *why)
{
    fail(f, status, why, false);
}

void lower_fail_form(struct lower_fn *f, const char *why)
{
    fail(f, HD_NOT_SUPPORTED, why, true);
}

/* Device code calls these where its source calls the runtime. */
const char *lower_unresolved_meaning(struct hd_str name)
{
    static const struct {
        const char *prefix, *meaning;
    } rows[] = {
        {"cuda", "this function of the runtime in kernels is not implemented"},
        {"__cudaCDP", "this function of the runtime in kernels is not implemented"},
    };

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (hd_str_starts(name, rows[i].prefix))
            return rows[i].meaning;
    return NULL;
}

void lower_fail_unresolved(struct lower_fn *f, struct hd_str name)
{
    const char *meaning = lower_unresolved_meaning(name);
    const char *why =
        hd_arena_printf(&f->arena, "unresolved external function %.*s%s%s", HD_STR_ARG(name),
                        meaning ? ": " : "", meaning ? meaning : "");

    lower_fail(f, HD_UNRESOLVED, why ? why : "unresolved external function"); /* no memory */
}

struct ir_value *lower_fit(struct lower_fn *f, struct ir_value *v, enum ir_type type,
                           enum ir_type to)
{
    enum ir_type from = ir_type_value(v->type), want = ir_type_value(to);
    static const enum ir_type uns[] = {
        [IR_B8] = IR_U8, [IR_B16] = IR_U16, [IR_B32] = IR_U32, [IR_B64] = IR_U64};
    static const enum ir_type sgn[] = {
        [IR_B8] = IR_S8, [IR_B16] = IR_S16, [IR_B32] = IR_S32, [IR_B64] = IR_S64};
    assert(want != IR_VOID);
    if (from == want)
        return v;
    if (want == IR_B128) {
        v = lower_fit(f, v, type, IR_B64);
        struct ir_value *pair[] = {v, lower_const(f, IR_B64, 0)};
        return lower_op(f, IR_OP_PACK, IR_B128, 2, pair);
    }
    if (from == IR_B128) {
        struct ir_instr *in = lower_emit(f, IR_OP_UNPACK, IR_B64, 1, &v, 1);
        return lower_fit(f, in->dst[0], type, to);
    }
    if (from == IR_PRED || want == IR_PRED) {
        lower_fail(f, HD_BAD_PTX, "a predicate where a value is expected, or the other way round");
        return lower_const(f, to, 0);
    }
    const enum ir_type *table = ir_type_is_signed(type) ? sgn : uns;
    return ir_build_cvt(&f->b, table[want], table[from], IR_RND_NONE, v);
}
