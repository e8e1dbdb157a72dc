/* Loads, stores, atomics, address conversions, fences. */
#include "lower/lower_priv.h"

#include <assert.h>

typedef struct ir_value *val;

enum ir_sem lower_sem(const struct ptx_form *form)
{
    switch ((enum ptx_sem)form->sem) {
    case PTX_SEM_RELAXED:
    case PTX_SEM_MMIO:
        return IR_SEM_RELAXED;
    case PTX_SEM_ACQUIRE:
        return IR_SEM_ACQUIRE;
    case PTX_SEM_RELEASE:
        return IR_SEM_RELEASE;
    case PTX_SEM_ACQ_REL:
        return IR_SEM_ACQ_REL;
    case PTX_SEM_SC:
        return IR_SEM_SC;
    case PTX_SEM_VOLATILE:
        return IR_SEM_VOLATILE;
    case PTX_SEM_NONE:
    case PTX_SEM_WEAK:
        break;
    }
    return IR_SEM_WEAK;
}

enum ir_scope lower_scope(const struct ptx_form *form)
{
    switch ((enum ptx_scope)form->scope) {
    case PTX_SCOPE_CTA:
        return IR_SCOPE_CTA;
    case PTX_SCOPE_CLUSTER:
        return IR_SCOPE_CLUSTER;
    case PTX_SCOPE_SYS:
        return IR_SCOPE_SYS;
    case PTX_SCOPE_NONE:
    case PTX_SCOPE_GPU:
        break;
    }
    return IR_SCOPE_GPU;
}

static enum ir_cache mem_cache_of(const struct ptx_form *form)
{
    switch ((enum ptx_cache)form->cache) {
    case PTX_CACHE_CA:
        return IR_CACHE_CA;
    case PTX_CACHE_CG:
        return IR_CACHE_CG;
    case PTX_CACHE_CS:
        return IR_CACHE_CS;
    case PTX_CACHE_LU:
        return IR_CACHE_LU;
    case PTX_CACHE_CV:
        return IR_CACHE_CV;
    case PTX_CACHE_WB:
        return IR_CACHE_WB;
    case PTX_CACHE_WT:
        return IR_CACHE_WT;
    case PTX_CACHE_NONE:
        break;
    }
    return IR_CACHE_DEFAULT;
}

static void mem_fields(struct ir_instr *in, const struct ptx_form *form, enum ir_space space,
                       int64_t offset, unsigned vec)
{
    assert(vec <= 8 && (!vec || hd_is_pow2(vec)));
    in->mem.space = space;
    in->mem.sem = space == IR_SPACE_LOCAL ? IR_SEM_WEAK : lower_sem(form); /* nobody else sees it */
    in->mem.scope = lower_scope(form);
    in->mem.cache = mem_cache_of(form);
    in->mem.vec = (uint8_t)(vec > 1 ? vec : 0);
    in->mem.offset = offset;
}

bool lower_do_load(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    enum ir_space space = lower_space(ptx_form_space(in->form));
    unsigned n = in->form->vec ? in->form->vec : 1;
    int64_t offset;
    if (t == IR_VOID)
        return false;
    if (in->form->op == PTX_OP_LDU)
        space = IR_SPACE_GLOBAL;
    val src[2] = {lower_address(f, &in->ops[1], &space, &offset)};
    uint32_t nsrc = 1;
    lower_policy_source(f, in, 2, src, &nsrc);
    struct ir_instr *r = lower_emit(f, IR_OP_LD, t, nsrc, src, n);
    for (unsigned i = 0; i < n; i++)
        r->dst[i]->type = ir_type_value(t);
    mem_fields(r, in->form, space, offset, n);
    lower_access_hints(r, in->form);
    ir_set_mod(r, IR_MOD_NC, in->form->nc);
    if (n == 1) {
        lower_dst(f, &in->ops[0], r->dst[0], t);
        return true;
    }
    if (in->ops[0].kind != PTX_OPND_VEC || in->ops[0].nitems != n) {
        lower_fail(f, HD_BAD_PTX, "vector load needs a vector of registers");
        return true;
    }
    for (unsigned i = 0; i < n; i++)
        lower_dst(f, &in->ops[0].items[i], r->dst[i], t);
    return true;
}

/* One access of n elements. */
static void store_elements(struct lower_fn *f, const struct ptx_insn *in, enum ir_type t,
                           enum ir_space space, val address, int64_t offset, unsigned n,
                           const struct ptx_operand *elements)
{
    val src[10] = {address};
    uint32_t nsrc = 1 + n;
    for (unsigned i = 0; i < n; i++)
        src[1 + i] = lower_src(f, &elements[i], t);
    lower_policy_source(f, in, 2, src, &nsrc);
    struct ir_instr *r = lower_emit(f, IR_OP_ST, t, nsrc, src, 0);
    mem_fields(r, in->form, space, offset, n);
    lower_access_hints(r, in->form);
}

bool lower_do_store(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_type t = lower_form_type(in);
    enum ir_space space = lower_space(ptx_form_space(in->form));
    unsigned n = in->form->vec ? in->form->vec : 1;
    int64_t offset;
    if (t == IR_VOID)
        return false;
    val address = lower_address(f, &in->ops[0], &space, &offset);
    const struct ptx_operand *list = &in->ops[1];
    bool leaves_out = false;
    for (uint32_t i = 0; n > 1 && i < list->nitems; i++)
        leaves_out |= list->items[i].kind == PTX_OPND_SINK;
    if (n == 1) {
        store_elements(f, in, t, space, address, offset, 1, list);
    } else if (list->kind != PTX_OPND_VEC || list->nitems != n) {
        lower_fail(f, HD_BAD_PTX, "vector store needs a vector of operands");
    } else if (!leaves_out) {
        store_elements(f, in, t, space, address, offset, n, list->items);
    } else {
        /* elements of a vector are accesses of their own, in no order */
        for (unsigned i = 0; i < n; i++)
            if (list->items[i].kind != PTX_OPND_SINK)
                store_elements(f, in, t, space, address,
                               offset + (int64_t)(i * ir_type_bits(t) / 8), 1, &list->items[i]);
    }
    return true;
}

static bool mem_atom_of(const struct ptx_form *form, enum ir_atom *out)
{
    static const struct {
        unsigned ptx;
        enum ir_atom ir;
    } table[] = {{PTX_SUBOP_ADD, IR_ATOM_ADD},   {PTX_SUBOP_MIN, IR_ATOM_MIN},
                 {PTX_SUBOP_MAX, IR_ATOM_MAX},   {PTX_SUBOP_INC, IR_ATOM_INC},
                 {PTX_SUBOP_DEC, IR_ATOM_DEC},   {PTX_SUBOP_AND, IR_ATOM_AND},
                 {PTX_SUBOP_OR, IR_ATOM_OR},     {PTX_SUBOP_XOR, IR_ATOM_XOR},
                 {PTX_SUBOP_EXCH, IR_ATOM_EXCH}, {PTX_SUBOP_CAS, IR_ATOM_CAS}};
    for (size_t i = 0; i < HD_COUNT_OF(table); i++) {
        if (table[i].ptx != form->subop)
            continue;
        *out = table[i].ir;
        return true;
    }
    return false;
}

/* What all elements of one atomic instruction share. */
struct atom {
    const struct ptx_insn *in;
    enum ir_atom op;
    enum ir_type type;
    enum ir_space space;
    int64_t offset;
    val address;
    const struct ptx_operand *ops; /* the address and what follows */
};

/* One element: operand b, or b and c of cas, to `dst`, which is NULL when nobody wants it. */
static void mem_atom_element(struct lower_fn *f, const struct atom *a, unsigned i,
                             const struct ptx_operand *b, const struct ptx_operand *dst)
{
    bool cas = a->op == IR_ATOM_CAS, used = dst && dst->kind != PTX_OPND_SINK;
    uint32_t nsrc = cas ? 3 : 2;
    val src[4] = {a->address, lower_src(f, b, a->type)};
    if (cas)
        src[2] = lower_src(f, &a->ops[2], a->type);
    lower_policy_source(f, a->in, (uint32_t)(a->ops - a->in->ops) + nsrc, src, &nsrc);
    struct ir_instr *r = lower_emit(f, IR_OP_ATOM, a->type, nsrc, src, used);
    if (used)
        r->dst[0]->type = ir_type_value(a->type);
    mem_fields(r, a->in->form, a->space, a->offset + i * (ir_type_bits(a->type) / 8), 1);
    lower_access_hints(r, a->in->form);
    r->mem.atom = a->op;
    ir_set_mod(r, IR_MOD_NOFTZ, a->in->form->noftz);
    if (used)
        lower_dst(f, dst, r->dst[0], a->type);
}

/* atom.global.add.v4.f32 {..}, [a], {..}: each element is an atomic operation, not the whole. */
static bool mem_atom_vector(struct lower_fn *f, const struct atom *a, const struct ptx_operand *dst)
{
    unsigned n = a->in->form->vec;
    bool fits =
        a->ops[1].kind == PTX_OPND_VEC && a->ops[1].nitems == n &&
        (!dst || dst->kind == PTX_OPND_SINK || (dst->kind == PTX_OPND_VEC && dst->nitems == n));
    if (!fits)
        lower_fail(f, HD_BAD_PTX, "a vector operation needs vectors of that many elements");
    for (unsigned i = 0; fits && i < n; i++)
        mem_atom_element(f, a, i, &a->ops[1].items[i],
                         dst && dst->kind == PTX_OPND_VEC ? &dst->items[i] : NULL);
    return true;
}

bool lower_do_atom(struct lower_fn *f, const struct ptx_insn *in)
{
    bool red = in->form->op == PTX_OP_RED;
    struct atom a = {.in = in,
                     .type = lower_form_type(in),
                     .space = lower_space(ptx_form_space(in->form)),
                     .ops = red ? in->ops : in->ops + 1};
    if (!mem_atom_of(in->form, &a.op) || a.type == IR_VOID)
        return false;
    a.address = lower_address(f, &a.ops[0], &a.space, &a.offset);
    if (in->form->vec > 1)
        return mem_atom_vector(f, &a, red ? NULL : &in->ops[0]);
    mem_atom_element(f, &a, 0, &a.ops[1], red ? NULL : &in->ops[0]);
    return true;
}

/* cvta.global.u64 d, a  and  cvta.to.global.u64 d, a; the operand may be a variable. */
bool lower_do_cvta(struct lower_fn *f, const struct ptx_insn *in)
{
    bool to = ptx_form_has(in->form, PTX_MOD_TO);
    enum ir_type t = lower_form_type(in);
    val a = lower_src(f, &in->ops[1], t);
    struct ir_instr *r = lower_emit(f, to ? IR_OP_CVTA_TO : IR_OP_CVTA, IR_VOID, 1, &a, 1);
    r->mem.space = lower_space(ptx_form_space(in->form));
    lower_dst(f, &in->ops[0], r->dst[0], IR_U64);
    return true;
}

/* The cvta that the address comes from, past sums; NULL: it is not known here. */
static const struct ir_instr *mem_cvta_behind(const struct ir_value *value, unsigned depth)
{
    const struct ir_instr *in = value->instr, *found = NULL;

    if (!in || in->op == IR_OP_CVTA)
        return in;
    if (depth && (in->op == IR_OP_ADD || in->op == IR_OP_SUB))
        for (uint32_t i = 0; i < (in->op == IR_OP_ADD ? 2u : 1u) && !found; i++)
            found = mem_cvta_behind(in->src[i], depth - 1);
    return found;
}

/* Constant variables are in device memory: what has become one's address is known here only. */
bool lower_do_isspacep(struct lower_fn *f, const struct ptx_insn *in)
{
    enum { SUMS_MAX = 8 };
    val a = lower_src(f, &in->ops[1], IR_B64);
    const struct ir_instr *cvta = mem_cvta_behind(a, SUMS_MAX);
    enum ir_space space = lower_space(ptx_form_space(in->form));

    if (cvta && cvta->mem.space == IR_SPACE_CONST) {
        lower_dst(f, &in->ops[0], lower_const(f, IR_PRED, space == IR_SPACE_CONST), IR_PRED);
        return true;
    }
    struct ir_instr *r = lower_emit(f, IR_OP_ISSPACEP, IR_VOID, 1, &a, 1);
    r->mem.space = space;
    lower_dst(f, &in->ops[0], r->dst[0], IR_PRED);
    return true;
}

/* Restricted fences: one order each, for the cluster. */
static bool mem_restriction_fits(const struct ptx_form *form)
{
    bool init = ptx_form_has(form, PTX_MOD_MBARRIER_INIT) ||
                ptx_form_has(form, PTX_MOD_OP_RESTRICT_MBARRIER_INIT);
    bool to_cta = ptx_form_has(form, PTX_MOD_SYNC_RESTRICT_SHARED_CTA);
    bool to_cluster = ptx_form_has(form, PTX_MOD_SYNC_RESTRICT_SHARED_CLUSTER);
    unsigned sem = to_cluster ? PTX_SEM_ACQUIRE : PTX_SEM_RELEASE;
    if (!init && !to_cta && !to_cluster)
        return true;
    return init + to_cta + to_cluster == 1 && form->sem == sem && form->scope == PTX_SCOPE_CLUSTER;
}

bool lower_do_fence(struct lower_fn *f, const struct ptx_insn *in)
{
    if (!mem_restriction_fits(in->form))
        lower_fail(f, HD_BAD_PTX, "this restriction has another order, and is for the .cluster");
    struct ir_instr *r = lower_emit(f, IR_OP_FENCE, IR_VOID, 0, NULL, 0);
    mem_fields(r, in->form, IR_SPACE_GENERIC, 0, 1);
    if (r->mem.sem == IR_SEM_WEAK) /* membar is fence.sc (PTX ISA, membar) */
        r->mem.sem = in->form->op == PTX_OP_MEMBAR ? IR_SEM_SC : IR_SEM_ACQ_REL;
    return true;
}

static const char *mem_proxy_refusal(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    bool acquires = form->sem == PTX_SEM_ACQUIRE, releases = form->sem == PTX_SEM_RELEASE;
    bool ordered = form->sem != PTX_SEM_NONE || form->scope != PTX_SCOPE_NONE;
    bool to_cta = ptx_form_has(form, PTX_MOD_SYNC_RESTRICT_SHARED_CTA);
    bool to_cluster = ptx_form_has(form, PTX_MOD_SYNC_RESTRICT_SHARED_CLUSTER);
    bool alias = ptx_form_has(form, PTX_MOD_ALIAS), async = ptx_form_has(form, PTX_MOD_ASYNC);
    bool generic = ptx_form_has(form, PTX_MOD_ASYNC_GENERIC);
    bool tensormap = ptx_form_has(form, PTX_MOD_TENSORMAP_GENERIC);
    if (alias + async + generic + tensormap != 1 || (form->op == PTX_OP_MEMBAR_PROXY && !alias))
        return "which proxy is not said, or does not exist here";
    if ((alias || async) && (ordered || to_cta || to_cluster || in->nops))
        return "a fence of this proxy has no order and no operands";
    if (generic && (form->scope != PTX_SCOPE_CLUSTER || in->nops || acquires == releases ||
                    to_cluster != acquires || to_cta != releases))
        return "it acquires .shared::cluster or releases .shared::cta, for the .cluster";
    if (tensormap && (form->scope == PTX_SCOPE_NONE || acquires == releases || to_cta ||
                      to_cluster || in->nops != (acquires ? 2u : 0u)))
        return "it releases, or acquires an address and 128 bytes, with a scope";
    if (tensormap && acquires && (in->ops[1].kind != PTX_OPND_INT || in->ops[1].u.bits != 128))
        return "it releases, or acquires an address and 128 bytes, with a scope";
    return NULL;
}

/* Copies and other proxies go through the same memory here: any fence orders all of them. */
bool lower_do_fence_proxy(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ptx_space space = ptx_form_space(in->form);
    const char *why = mem_proxy_refusal(in);
    bool known = space == PTX_SPACE_GLOBAL || space == PTX_SPACE_SHARED_CTA ||
                 space == PTX_SPACE_SHARED_CLUSTER;
    if (!why && in->form->nspaces && (!ptx_form_has(in->form, PTX_MOD_ASYNC) || !known))
        why = "no fence of this proxy is for this memory";
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    struct ir_instr *r = lower_emit(f, IR_OP_FENCE, IR_VOID, 0, NULL, 0);
    r->mem.sem = IR_SEM_ACQ_REL;
    r->mem.scope = in->form->scope == PTX_SCOPE_NONE ? IR_SCOPE_SYS : lower_scope(in->form);
    return true;
}

bool lower_do_stack(struct lower_fn *f, const struct ptx_insn *in)
{
    if (in->form->op == PTX_OP_STACKSAVE) {
        lower_dst(f, &in->ops[0], lower_op(f, IR_OP_STACKSAVE, IR_VOID, 0, NULL), IR_U64);
        return true;
    }
    if (in->form->op == PTX_OP_STACKRESTORE) {
        val a = lower_src(f, &in->ops[0], IR_U64);
        lower_emit(f, IR_OP_STACKRESTORE, IR_VOID, 1, &a, 0);
        return true;
    }
    val size = lower_fit(f, lower_src(f, &in->ops[1], lower_form_type(in)), IR_U64, IR_B64);
    struct ir_instr *r = lower_emit(f, IR_OP_ALLOCA, IR_VOID, 1, &size, 1);
    r->imm = in->nops > 2 && in->ops[2].kind == PTX_OPND_INT ? in->ops[2].u.bits : 8;
    lower_dst(f, &in->ops[0], r->dst[0], IR_U64);
    return true;
}
