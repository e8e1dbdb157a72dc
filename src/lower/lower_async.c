/*
 * Asynchronous copies. One may complete at any time between its issue and whoever waits for it, so
 * here it is done where it is issued, and waiting has nothing to do (docs/decisions/0091).
 */
#include "lower/lower_async.h"

typedef struct ir_value *val;

struct lower_memref lower_memref_of(struct lower_fn *f, const struct ptx_operand *op,
                                    enum ptx_space space)
{
    struct lower_memref p = {.space = lower_space(space)};
    p.address = lower_address(f, op, &p.space, &p.offset);
    return p;
}

struct lower_memref lower_cluster_memref(struct lower_fn *f, const struct ptx_operand *op,
                                         enum ptx_space space)
{
    struct lower_memref p = lower_memref_of(f, op, space);
    if (p.space == IR_SPACE_GENERIC) {
        struct ir_instr *to = lower_emit(f, IR_OP_CVTA_TO, IR_VOID, 1, &p.address, 1);
        to->mem.space = IR_SPACE_SHARED_CLUSTER;
        p.address = to->dst[0];
    }
    p.space = IR_SPACE_SHARED_CLUSTER;
    return p;
}

val lower_generic(struct lower_fn *f, const struct lower_memref *p)
{
    val sum[] = {p->address, NULL};
    if (p->offset) {
        sum[1] = lower_const(f, p->address->type, (uint64_t)p->offset);
        sum[0] = lower_op(f, IR_OP_ADD, p->address->type, 2, sum);
    }
    if (!ir_space_is_window(p->space))
        return sum[0];
    struct ir_instr *r = lower_emit(f, IR_OP_CVTA, IR_VOID, 1, sum, 1);
    r->mem.space = p->space;
    return r->dst[0];
}

void lower_access_set(struct ir_instr *r, const struct lower_memref *p, unsigned vec)
{
    r->mem.space = p->space;
    r->mem.offset = p->offset;
    r->mem.vec = (uint8_t)(vec > 1 ? vec : 0);
}

/* The hints and the policy go to the side of global memory. */
struct hints {
    const struct ptx_insn *in;
    uint32_t policy_at; /* its operand */
};

static void copy_whole(struct lower_fn *f, const struct lower_memref *dst,
                       const struct lower_memref *src, uint64_t size_B, const struct hints *h)
{
    enum ir_type t = size_B == 4 ? IR_B32 : IR_B64;
    unsigned n = size_B == 16 ? 2 : 1;
    val from[2] = {src->address}, to[3] = {dst->address};
    uint32_t nfrom = 1;
    lower_policy_source(f, h->in, h->policy_at, from, &nfrom);
    struct ir_instr *ld = lower_emit(f, IR_OP_LD, t, nfrom, from, n);
    lower_access_set(ld, src, n);
    lower_access_hints(ld, h->in->form);
    for (unsigned i = 0; i < n; i++) {
        ld->dst[i]->type = t;
        to[1 + i] = ld->dst[i];
    }
    lower_access_set(lower_emit(f, IR_OP_ST, t, 1 + n, to, 0), dst, n);
}

/* ---- for checkers: what is on its way */

void lower_report_async(struct lower_fn *f, enum ir_async what, uint64_t n)
{
    if (f->job->program->asyncs)
        lower_emit(f, IR_OP_ASYNC, IR_VOID, 0, NULL, 0)->imm = ir_async_imm(what, n);
}

static void report_copy(struct lower_fn *f, const struct lower_memref *dst, uint64_t size_B)
{
    val at[] = {dst->address, lower_const(f, dst->address->type, (uint64_t)dst->offset)};

    at[0] = lower_op(f, IR_OP_ADD, dst->address->type, 2, at);
    if (dst->space == IR_SPACE_GENERIC) {
        struct ir_instr *to = lower_emit(f, IR_OP_CVTA_TO, IR_VOID, 1, at, 1);
        to->mem.space = IR_SPACE_SHARED;
        at[0] = to->dst[0];
    }
    lower_emit(f, IR_OP_ASYNC, IR_VOID, 1, at, 0)->imm = ir_async_imm(IR_ASYNC_COPY, size_B);
}

/* ---- cp.async.ca.shared.global [dst], [src], 16 {, src-size | ignore-src} {, policy} */

/* Bytes that are read, b64; NULL: all. */
static val source_size(struct lower_fn *f, const struct ptx_operand *op, uint64_t size_B)
{
    if (lower_is_reg(f, op, 1)) {
        val pick[] = {lower_pred(f, op), lower_const(f, IR_B64, 0), lower_const(f, IR_B64, size_B)};
        return lower_op(f, IR_OP_SELECT, IR_B64, 3, pick);
    }
    if (op->kind == PTX_OPND_INT) {
        if (op->u.bits > size_B)
            lower_fail(f, HD_BAD_PTX, "more bytes are read than are written");
        return op->u.bits == size_B ? NULL : lower_const(f, IR_B64, op->u.bits);
    }
    if (!lower_is_reg(f, op, 32))
        lower_fail(f, HD_BAD_PTX, "the bytes to read are 32 bits, or a predicate");
    return lower_fit(f, lower_src(f, op, IR_U32), IR_U32, IR_B64);
}

static const char *cp_async_refusal(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    uint64_t size_B = in->ops[2].kind == PTX_OPND_INT ? in->ops[2].u.bits : 0;
    enum ir_space to = lower_space((enum ptx_space)form->spaces[0]);
    if (form->nspaces != 2 || to != IR_SPACE_SHARED || form->spaces[1] != PTX_SPACE_GLOBAL)
        return "it copies from global to shared memory";
    if (form->cache != PTX_CACHE_CA && form->cache != PTX_CACHE_CG)
        return "it is .ca or .cg";
    for (unsigned i = 0; i < form->nmods; i++) {
        if (lower_mods[form->mods[i].id].ir & ~IR_MODS_L2_SIZE)
            return "it has no priority in caches";
    }
    if (size_B != 16 && (form->cache == PTX_CACHE_CG || (size_B != 4 && size_B != 8)))
        return "it copies 16 bytes, with .ca also 4 or 8";
    return NULL;
}

bool lower_do_cp_async(struct lower_fn *f, const struct ptx_insn *in)
{
    bool has_policy = ptx_form_has(in->form, PTX_MOD_L2_CACHE_HINT);
    const char *why = cp_async_refusal(in);
    bool has_size = in->nops == (has_policy ? 5u : 4u);
    if (why || (!has_size && in->nops != (has_policy ? 4u : 3u))) {
        lower_fail(f, HD_BAD_PTX, why ? why : "a cache policy and .L2::cache_hint need each other");
        return true;
    }
    uint64_t size_B = in->ops[2].u.bits;
    val size = has_size ? source_size(f, &in->ops[3], size_B) : NULL;
    struct lower_memref dst = lower_memref_of(f, &in->ops[0], PTX_SPACE_SHARED);
    struct lower_memref src = lower_memref_of(f, &in->ops[1], PTX_SPACE_GLOBAL);
    struct hints h = {in, has_size ? 4 : 3};
    if (size) {
        val ops[6] = {dst.address, lower_generic(f, &src), size, lower_const(f, IR_B64, size_B),
                      lower_const(f, IR_B32, 0xffff)};
        uint32_t n = 5;
        lower_policy_source(f, h.in, h.policy_at, ops, &n);
        struct ir_instr *r = lower_emit(f, IR_OP_COPY, IR_VOID, n, ops, 0);
        lower_access_set(r, &dst, 1);
        lower_access_hints(r, h.in->form);
        r->imm = size_B;
    } else
        copy_whole(f, &dst, &src, size_B, &h);
    if (f->job->program->asyncs)
        report_copy(f, &dst, size_B);
    return true;
}

/* Groups of copies are closed and waited for: all copies are done. */
bool lower_do_async_group(struct lower_fn *f, const struct ptx_insn *in)
{
    switch (in->form->op) {
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
        lower_report_async(f, IR_ASYNC_COMMIT, 0);
        break;
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
        lower_report_async(f, IR_ASYNC_WAIT, in->ops[0].u.bits);
        break;
    case PTX_OP_CP_ASYNC_WAIT_ALL:
        lower_report_async(f, IR_ASYNC_COMMIT, 0);
        lower_report_async(f, IR_ASYNC_WAIT, 0);
        break;
    default:
        break;
    }
    return true;
}
