/*
 * Bulk copies and reductions, and stores that tell an mbarrier (docs/decisions/0091): each is made
 * where it is issued, and then the barrier is told how many bytes have come. Groups have nothing to
 * wait for.
 */
#include "lower/lower_async.h"

typedef struct ir_value *val;

enum { BLOCK_B = 16, BULK_MAX_B = 1048560 };

bool lower_goes(const struct ptx_form *form, enum ptx_space to, enum ptx_space from)
{
    return form->nspaces == 2 && form->spaces[0] == to && form->spaces[1] == from;
}

bool lower_has_only(const struct ptx_form *form, const enum ptx_mod *allowed)
{
    for (unsigned i = 0; i < form->nmods; i++) {
        enum ptx_mod mod = (enum ptx_mod)form->mods[i].id;
        const enum ptx_mod *a = allowed;
        while (*a != PTX_MOD_NONE && *a != mod)
            a++;
        if (*a != mod && mod != PTX_MOD_TYPE && mod != PTX_MOD_SPACE)
            return false;
    }
    return true;
}
#define HAS_ONLY(form, ...) lower_has_only(form, (const enum ptx_mod[]){__VA_ARGS__, PTX_MOD_NONE})

val lower_bulk_size(struct lower_fn *f, const struct ptx_operand *op)
{
    if (op->kind == PTX_OPND_INT && op->u.bits <= BULK_MAX_B && op->u.bits % BLOCK_B == 0)
        return lower_const(f, IR_B64, op->u.bits);
    if (lower_is_reg(f, op, 32))
        return lower_fit(f, lower_src(f, op, IR_U32), IR_U32, IR_B64);
    lower_fail(f, HD_BAD_PTX, "the size has 32 bits, and is a multiple of 16 up to 1048560");
    return NULL;
}

/* ---- cp.async.bulk */

struct bulk {
    const struct ptx_insn *in;
    bool reports;       /* an mbarrier, operand 3; else it is in a group */
    bool casts;         /* to the blocks of the cluster that a mask names */
    bool masks;         /* bytes */
    uint32_t policy_at; /* operand */
    uint32_t other_at;  /* that mask's */
};

/* What ptxas takes: which ways, how it completes, what else may be said. */
static const char *bulk_read(const struct ptx_insn *in, struct bulk *out)
{
    const struct ptx_form *form = in->form;
    bool to_cta = lower_goes(form, PTX_SPACE_SHARED_CTA, PTX_SPACE_GLOBAL);
    bool to_cluster = lower_goes(form, PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_GLOBAL);
    bool inside = lower_goes(form, PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_SHARED_CTA);
    bool out_of = lower_goes(form, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED_CTA);
    bool hint = ptx_form_has(form, PTX_MOD_L2_CACHE_HINT);
    *out = (struct bulk){.in = in,
                         .reports = ptx_form_has(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES),
                         .casts = ptx_form_has(form, PTX_MOD_MULTICAST_CLUSTER),
                         .masks = ptx_form_has(form, PTX_MOD_CP_MASK)};
    if (!to_cta && !to_cluster && !inside && !out_of)
        return "no copy goes this way";
    if (out->reports == out_of || out->reports == ptx_form_has(form, PTX_MOD_BULK_GROUP))
        return "copies to shared memory tell an mbarrier, those to global memory a group";
    if (!HAS_ONLY(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES, PTX_MOD_BULK_GROUP,
                  PTX_MOD_L2_CACHE_HINT, PTX_MOD_MULTICAST_CLUSTER, PTX_MOD_CP_MASK) ||
        (inside && hint) || (out->casts && !to_cluster) || (out->masks && !out_of))
        return "modifiers that do not exist here, or not together";
    uint32_t n = out->reports ? 4 : 3;
    out->other_at = out->casts ? n++ : 0;
    out->policy_at = hint ? n++ : in->nops;
    out->other_at = out->masks ? n++ : out->other_at;
    return n == in->nops ? NULL : "operands are missing, or too many";
}

/* A mask of 16 bits, as b32. */
val lower_cta_mask(struct lower_fn *f, const struct ptx_operand *op)
{
    if (op->kind != PTX_OPND_INT && !lower_is_reg(f, op, 16))
        lower_fail(f, HD_BAD_PTX, "the mask has 16 bits");
    return lower_fit(f, lower_src(f, op, IR_U16), IR_U16, IR_B32);
}

static void bulk_emit(struct lower_fn *f, const struct bulk *b, val size, val bytes)
{
    const struct ptx_form *form = b->in->form;
    struct lower_memref dst = lower_memref_of(f, &b->in->ops[0], (enum ptx_space)form->spaces[0]);
    struct lower_memref src = lower_memref_of(f, &b->in->ops[1], (enum ptx_space)form->spaces[1]);
    val ops[6] = {dst.address, lower_generic(f, &src), size, size, bytes};
    uint32_t n = 5;
    if (ptx_form_has(form, PTX_MOD_L2_CACHE_HINT))
        ops[n++] = lower_src(f, &b->in->ops[b->policy_at], IR_B64);
    struct ir_instr *r = lower_emit(f, IR_OP_COPY, IR_VOID, n, ops, 0);
    lower_access_set(r, &dst, 1);
    lower_access_hints(r, form);
    r->imm = BLOCK_B | (b->casts ? IR_COPY_CASTS : 0);
}

/* All bytes, to the CTAs of a mask. */
static val bulk_cast_bytes(struct lower_fn *f, val ctas)
{
    val upper = lower_op2(f, IR_OP_SHL, IR_U32, ctas, lower_const(f, IR_B32, IR_COPY_RANKS_AT));
    return lower_op2(f, IR_OP_OR, IR_B32, upper, lower_const(f, IR_B32, 0xffff));
}

/* What is written beyond what is read is zero. */
void lower_zeros_cast(struct lower_fn *f, const struct lower_memref *to, val ctas)
{
    val none = lower_const(f, IR_B64, 0), size = lower_const(f, IR_B64, BLOCK_B);
    val ops[] = {to->address, none, none, size, bulk_cast_bytes(f, ctas)};
    struct ir_instr *r = lower_emit(f, IR_OP_COPY, IR_VOID, 5, ops, 0);
    lower_access_set(r, to, 1);
    r->imm = BLOCK_B | IR_COPY_CASTS;
}

bool lower_do_bulk(struct lower_fn *f, const struct ptx_insn *in)
{
    struct bulk b;
    const char *why = bulk_read(in, &b);
    val size = why ? NULL : lower_bulk_size(f, &in->ops[2]);
    if (why)
        lower_fail(f, HD_BAD_PTX, why);
    if (!size)
        return true;
    if (b.casts) {
        /* To each block of the mask, whose barrier hears of it. */
        val ranks = lower_cta_mask(f, &b.in->ops[b.other_at]);
        bulk_emit(f, &b, size, bulk_cast_bytes(f, ranks));
        lower_cast(f, &b.in->ops[3], PTX_SPACE_SHARED_CLUSTER, IR_MBARRIER_CAST_TX, ranks, size);
        return true;
    }
    bulk_emit(f, &b, size,
              b.masks ? lower_cta_mask(f, &in->ops[b.other_at]) : lower_const(f, IR_B32, 0xffff));
    if (b.reports)
        lower_complete_tx(f, &in->ops[3], (enum ptx_space)in->form->spaces[0], size);
    return true;
}

/* cp.async.bulk.prefetch.L2.global [a], size: a hint, of which devices know the address. */
bool lower_do_bulk_prefetch(struct lower_fn *f, const struct ptx_insn *in)
{
    bool hint = ptx_form_has(in->form, PTX_MOD_L2_CACHE_HINT);
    bool known = in->form->nspaces == 1 && ptx_form_space(in->form) == PTX_SPACE_GLOBAL &&
                 ptx_form_has(in->form, PTX_MOD_L2) &&
                 HAS_ONLY(in->form, PTX_MOD_L2, PTX_MOD_L2_CACHE_HINT);
    if (!known || in->nops != (hint ? 3u : 2u)) {
        lower_fail(f, HD_BAD_PTX, "it is .L2.global, with a policy where .L2::cache_hint is");
        return true;
    }
    if (!lower_bulk_size(f, &in->ops[1]))
        return true;
    struct lower_memref at = lower_memref_of(f, &in->ops[0], PTX_SPACE_GLOBAL);
    val ops[2] = {at.address, hint ? lower_src(f, &in->ops[2], IR_B64) : NULL};
    struct ir_instr *r = lower_emit(f, IR_OP_PREFETCH, IR_VOID, hint ? 2 : 1, ops, 0);
    lower_access_set(r, &at, 1);
    lower_access_hints(r, in->form);
    r->imm = IR_LEVEL_L2;
    return true;
}

/* ---- cp.reduce.async.bulk */

static const struct reduction {
    unsigned ptx;
    enum ir_atom ir;
} reductions[] = {{PTX_SUBOP_ADD, IR_ATOM_ADD}, {PTX_SUBOP_MIN, IR_ATOM_MIN},
                  {PTX_SUBOP_MAX, IR_ATOM_MAX}, {PTX_SUBOP_INC, IR_ATOM_INC},
                  {PTX_SUBOP_DEC, IR_ATOM_DEC}, {PTX_SUBOP_AND, IR_ATOM_AND},
                  {PTX_SUBOP_OR, IR_ATOM_OR},   {PTX_SUBOP_XOR, IR_ATOM_XOR}};

static const struct reduction *bulk_find_reduction(const struct ptx_form *form)
{
    for (size_t i = 0; i < HD_COUNT_OF(reductions); i++) {
        if (reductions[i].ptx == form->subop)
            return &reductions[i];
    }
    return NULL;
}

bool lower_reduction(const struct ptx_form *form, enum ir_atom *out)
{
    const struct reduction *found = bulk_find_reduction(form);
    if (found)
        *out = found->ir;
    return found != NULL;
}

static bool bulk_is_any_of(enum ptx_type t, const enum ptx_type *list)
{
    while (*list != PTX_TYPE_NONE && *list != t)
        list++;
    return *list == t;
}
#define ANY_OF(t, ...) bulk_is_any_of(t, (const enum ptx_type[]){__VA_ARGS__, PTX_TYPE_NONE})

/* Which operations reductions have on integers of 32 bits, everywhere. */
static bool bulk_reduces_words(unsigned op, enum ptx_type t)
{
    switch (op) {
    case PTX_SUBOP_ADD:
    case PTX_SUBOP_MIN:
    case PTX_SUBOP_MAX:
        return ANY_OF(t, PTX_TYPE_U32, PTX_TYPE_S32);
    case PTX_SUBOP_INC:
    case PTX_SUBOP_DEC:
        return t == PTX_TYPE_U32;
    case PTX_SUBOP_AND:
    case PTX_SUBOP_OR:
    case PTX_SUBOP_XOR:
        return t == PTX_TYPE_B32;
    default:
        return false;
    }
}

/* To global memory there are more. */
static bool bulk_reduces_global(const struct ptx_form *form)
{
    enum ptx_type t = ptx_form_type(form);
    bool half = ANY_OF(t, PTX_TYPE_F16, PTX_TYPE_BF16);
    switch (form->subop) {
    case PTX_SUBOP_ADD:
        return half ? form->noftz : ANY_OF(t, PTX_TYPE_U64, PTX_TYPE_F32, PTX_TYPE_F64);
    case PTX_SUBOP_MIN:
    case PTX_SUBOP_MAX:
        return half || ANY_OF(t, PTX_TYPE_U64, PTX_TYPE_S64);
    case PTX_SUBOP_AND:
    case PTX_SUBOP_OR:
    case PTX_SUBOP_XOR:
        return t == PTX_TYPE_B64;
    default:
        return false;
    }
}

static bool bulk_reduces(const struct ptx_form *form, bool inside)
{
    enum ptx_type t = ptx_form_type(form);

    if (bulk_reduces_words(form->subop, t))
        return true;
    return inside ? form->subop == PTX_SUBOP_ADD && t == PTX_TYPE_U64 : bulk_reduces_global(form);
}

static const char *bulk_reduce_refusal(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    bool inside = lower_goes(form, PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_SHARED_CTA);
    bool out_of = lower_goes(form, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED_CTA);
    bool hint = ptx_form_has(form, PTX_MOD_L2_CACHE_HINT);
    bool half = ANY_OF(ptx_form_type(form), PTX_TYPE_F16, PTX_TYPE_BF16);
    const struct reduction *op = bulk_find_reduction(form);
    if (!inside && !out_of)
        return "no reduction goes this way";
    if (inside != ptx_form_has(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES) ||
        out_of != ptx_form_has(form, PTX_MOD_BULK_GROUP))
        return "reductions in shared memory tell an mbarrier, those to global memory a group";
    if ((inside && hint) || (form->noftz && (!half || form->subop != PTX_SUBOP_ADD)) || !op ||
        !HAS_ONLY(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES, PTX_MOD_BULK_GROUP,
                  PTX_MOD_L2_CACHE_HINT, PTX_MOD_NOFTZ, PTX_MOD_ADD, PTX_MOD_MIN, PTX_MOD_MAX,
                  PTX_MOD_INC, PTX_MOD_DEC, PTX_MOD_AND, PTX_MOD_OR, PTX_MOD_XOR))
        return "modifiers that do not exist here, or not together";
    if (!bulk_reduces(form, inside))
        return "the operation does not exist with this type";
    return in->nops == 3u + inside + hint ? NULL : "operands are missing, or too many";
}

bool lower_do_bulk_reduce(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    const char *why = bulk_reduce_refusal(in);
    val size = why ? NULL : lower_bulk_size(f, &in->ops[2]);
    if (why)
        lower_fail(f, HD_BAD_PTX, why);
    if (!size)
        return true;
    struct lower_memref dst = lower_memref_of(f, &in->ops[0], (enum ptx_space)form->spaces[0]);
    struct lower_memref src = lower_memref_of(f, &in->ops[1], (enum ptx_space)form->spaces[1]);
    val ops[4] = {dst.address, lower_generic(f, &src), size};
    uint32_t n = 3;
    if (ptx_form_has(form, PTX_MOD_L2_CACHE_HINT))
        ops[n++] = lower_src(f, &in->ops[3], IR_B64);
    struct ir_instr *r = lower_emit(f, IR_OP_REDUCE, lower_form_type(in), n, ops, 0);
    lower_access_set(r, &dst, 1);
    lower_access_hints(r, form);
    ir_set_mod(r, IR_MOD_NOFTZ, form->noftz);
    r->mem.atom = bulk_find_reduction(form)->ir;
    r->mem.sem = IR_SEM_RELAXED;
    r->mem.scope = IR_SCOPE_GPU;
    if (form->spaces[0] != PTX_SPACE_GLOBAL)
        lower_complete_tx(f, &in->ops[3], PTX_SPACE_SHARED_CLUSTER, size);
    return true;
}

/* ---- st.async, red.async: to shared memory, telling an mbarrier; or released to global memory */

static const char *bulk_single_refusal(const struct ptx_insn *in, bool red)
{
    const struct ptx_form *form = in->form;
    bool reports = ptx_form_has(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
    bool shared = ptx_form_space(form) == PTX_SPACE_SHARED_CLUSTER ||
                  ptx_form_space(form) == PTX_SPACE_GENERIC ||
                  (!red && ptx_form_space(form) == PTX_SPACE_SHARED_CTA);
    bool mmio = ptx_form_has(form, PTX_MOD_MMIO);
    bool released = ptx_form_has(form, PTX_MOD_RELEASE) &&
                    (form->scope == PTX_SCOPE_GPU || form->scope == PTX_SCOPE_SYS);
    if (form->ntypes != 1 || in->nops != 2u + reports)
        return "operands are missing, or too many";
    if (!reports)
        return released && ptx_form_space(form) == PTX_SPACE_GLOBAL
                   ? NULL
                   : "without an mbarrier it is .release to .global memory";
    if (!shared || mmio)
        return "what tells an mbarrier is in shared memory";
    if (red)
        return form->sem == PTX_SEM_RELAXED && form->scope == PTX_SCOPE_CLUSTER
                   ? NULL
                   : "it is .relaxed.cluster";
    return form->scope == PTX_SCOPE_NONE && (form->sem == PTX_SEM_NONE || form->sem == PTX_SEM_WEAK)
               ? NULL
               : "it is .weak";
}

static bool bulk_stores_async(enum ptx_type t, unsigned vec)
{
    return ANY_OF(t, PTX_TYPE_B32, PTX_TYPE_U32, PTX_TYPE_S32, PTX_TYPE_F32, PTX_TYPE_B64,
                  PTX_TYPE_U64, PTX_TYPE_S64, PTX_TYPE_F64) &&
           ptx_type_bits(t) * vec <= 128;
}

static void bulk_order_set(struct ir_instr *r, const struct ptx_form *form)
{
    bool released = ptx_form_has(form, PTX_MOD_RELEASE);
    r->mem.sem = released ? IR_SEM_RELEASE : lower_sem(form);
    r->mem.scope = released ? lower_scope(form) : IR_SCOPE_CLUSTER;
}

/* The barrier of operand 2, when there is one. */
static void bulk_report(struct lower_fn *f, const struct ptx_insn *in, unsigned bytes)
{
    if (in->nops == 3)
        lower_complete_tx(f, &in->ops[2], ptx_form_space(in->form), lower_const(f, IR_B64, bytes));
}

bool lower_do_store_async(struct lower_fn *f, const struct ptx_insn *in)
{
    const char *why = bulk_single_refusal(in, false);
    unsigned n = in->form->vec ? in->form->vec : 1;
    enum ir_type t = lower_form_type(in);
    val ops[5];
    if (!why && !bulk_stores_async(ptx_form_type(in->form), n))
        why = "it stores 4, 8 or 16 bytes";
    if (!why && n > 1 && (in->ops[1].kind != PTX_OPND_VEC || in->ops[1].nitems != n))
        why = "vector store needs a vector of operands";
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    struct lower_memref dst = lower_memref_of(f, &in->ops[0], ptx_form_space(in->form));
    ops[0] = dst.address;
    for (unsigned i = 0; i < n; i++)
        ops[1 + i] = lower_src(f, n > 1 ? &in->ops[1].items[i] : &in->ops[1], t);
    struct ir_instr *r = lower_emit(f, IR_OP_ST, t, 1 + n, ops, 0);
    lower_access_set(r, &dst, n);
    bulk_order_set(r, in->form);
    bulk_report(f, in, n * ir_type_bits(t) / 8);
    return true;
}

bool lower_do_red_async(struct lower_fn *f, const struct ptx_insn *in)
{
    const char *why = bulk_single_refusal(in, true);
    const struct reduction *op = bulk_find_reduction(in->form);
    enum ptx_type type = ptx_form_type(in->form);
    bool adds = in->form->subop == PTX_SUBOP_ADD;
    if (!why && (!op || (!bulk_reduces_words(in->form->subop, type) &&
                         !(adds && ANY_OF(type, PTX_TYPE_U64, PTX_TYPE_S64)))))
        why = "the operation does not exist with this type";
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    enum ir_type t = lower_form_type(in);
    struct lower_memref dst = lower_memref_of(f, &in->ops[0], ptx_form_space(in->form));
    val ops[] = {dst.address, lower_src(f, &in->ops[1], t)};
    struct ir_instr *r = lower_emit(f, IR_OP_ATOM, t, 2, ops, 0);
    lower_access_set(r, &dst, 1);
    bulk_order_set(r, in->form);
    r->mem.atom = op->ir;
    bulk_report(f, in, ir_type_bits(t) / 8);
    return true;
}

/* ---- st.bulk{.weak}{.shared::cta} [a], size, 0 */

bool lower_do_store_bulk(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    const struct ptx_operand *size = &in->ops[1], *value = &in->ops[2];
    bool constant = size->kind == PTX_OPND_INT;
    const char *why = NULL;
    if (form->nspaces > 1 || !HAS_ONLY(form, PTX_MOD_WEAK) ||
        (form->nspaces && ptx_form_space(form) != PTX_SPACE_SHARED_CTA))
        why = "it writes to .shared::cta, and is .weak";
    else if (constant ? size->u.bits % 8 != 0 : !lower_is_reg(f, size, 64))
        why = "the size has 64 bits, and is a multiple of 8";
    else if (value->kind != PTX_OPND_INT || value->u.bits)
        why = "the value is 0";
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    struct lower_memref dst = lower_memref_of(f, &in->ops[0], ptx_form_space(form));
    val none = lower_const(f, IR_B64, 0);
    val ops[] = {dst.address, none, none, lower_src(f, size, IR_B64),
                 lower_const(f, IR_B32, 0xffff)};
    struct ir_instr *r = lower_emit(f, IR_OP_COPY, IR_VOID, 5, ops, 0);
    lower_access_set(r, &dst, 1);
    r->imm = 8;
    return true;
}
