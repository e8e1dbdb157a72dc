/*
 * Calls, returns, parameters of device functions.
 *
 * A parameter variable is a local variable on both sides; what crosses the call are its chunks:
 * the whole for a scalar, pieces of its alignment (at most 8 bytes) for a byte array, the elements
 * of a register.
 */
#include "lower/lower_priv.h"

#include <assert.h>
#include <string.h>

typedef struct ir_value *val;

static uint32_t find_reg(struct lower_fn *f, const struct ptx_var *var)
{
    for (const struct ptx_reg_decl *r = f->ptx->regs; r; r = r->next) {
        if (r->is_param && hd_str_eq(r->sym.name, var->sym.name))
            return r->base;
    }
    return f->nregs - 1;
}

/* Chunk i, of this type, of a variable on the stack. */
static val slot_load(struct lower_fn *f, const struct ptx_var *var, enum ir_type t, uint32_t i)
{
    val at = lower_var_address(f, var, 0);
    struct ir_instr *ld = lower_emit(f, IR_OP_LD, t, 1, &at, 1);
    ld->dst[0]->type = t;
    ld->mem.space = IR_SPACE_LOCAL;
    ld->mem.offset = (int64_t)i * (ir_type_bits(t) / 8);
    return ld->dst[0];
}

static void slot_store(struct lower_fn *f, const struct ptx_var *var, enum ir_type t, uint32_t i,
                       val v)
{
    val src[] = {lower_var_address(f, var, 0), v};
    struct ir_instr *st = lower_emit(f, IR_OP_ST, t, 2, src, 0);
    st->mem.space = IR_SPACE_LOCAL;
    st->mem.offset = (int64_t)i * (ir_type_bits(t) / 8);
}

void lower_entry_args(struct lower_fn *f)
{
    uint32_t n = 0;
    if (f->ptx->is_entry)
        return;
    for (const struct ptx_var *v = f->ptx->params; v; v = v->next) {
        for (uint32_t i = 0; i < lower_chunk_count(v); i++, n++) {
            assert(n < f->ir->proto.nparams || f->job->module->arena.failed);
            if (v->space == PTX_SPACE_REG)
                lower_reg_write(f, find_reg(f, v) + i, f->ir->args[n]);
            else
                slot_store(f, v, lower_chunk_type(v), i, f->ir->args[n]);
        }
    }
}

void lower_ret(struct lower_fn *f)
{
    uint32_t n = 0;
    if (f->ptx->is_entry) {
        lower_emit(f, IR_OP_RET, IR_VOID, 0, NULL, 0);
        return;
    }
    val *src = hd_arena_array(&f->arena, val, f->ir->proto.nresults + 1);
    for (const struct ptx_var *v = src ? f->ptx->rets : NULL; v; v = v->next) {
        for (uint32_t i = 0; i < lower_chunk_count(v); i++) {
            assert(n < f->ir->proto.nresults);
            src[n++] = v->space == PTX_SPACE_REG ? lower_reg_read(f, find_reg(f, v) + i)
                                                 : slot_load(f, v, lower_chunk_type(v), i);
        }
    }
    assert(n == f->ir->proto.nresults || f->arena.failed || f->job->module->arena.failed);
    lower_emit(f, IR_OP_RET, IR_VOID, n, src, 0);
}

/* ---- the call itself */

static const struct ptx_var *operand_var(const struct ptx_operand *op)
{
    if (op->kind != PTX_OPND_SYM || op->u.sym->kind != PTX_SYM_VAR)
        return NULL;
    const struct ptx_var *var = (const struct ptx_var *)op->u.sym;
    return var->def ? var->def : var;
}

/* Chunk i of an argument or result that is no variable: an element of a vector register, which
 * stands here as the list of them. */
static const struct ptx_operand *operand_chunk(const struct ptx_operand *op,
                                               const struct ptx_var *param, uint32_t i)
{
    bool is_vector = param->space == PTX_SPACE_REG && param->vec > 1 && op->kind == PTX_OPND_VEC;
    assert(!is_vector || i < op->nitems);
    return is_vector ? &op->items[i] : op;
}

static uint32_t gather_args(struct lower_fn *f, const struct ptx_operand *args,
                            const struct ptx_var *params, val *out, uint32_t cap)
{
    uint32_t n = 0;
    const struct ptx_var *p = params;
    for (uint32_t a = 0; a < args->nitems; a++) {
        const struct ptx_var *var = operand_var(&args->items[a]);
        if (!p) {
            lower_fail(f, HD_BAD_PTX, "more arguments than the callee has parameters");
            return 0;
        }
        for (uint32_t i = 0; i < lower_chunk_count(p); i++) {
            if (n == cap) {
                lower_fail(f, HD_NOT_SUPPORTED, "arguments of more than 512 chunks");
                return 0;
            }
            if (!var) {
                out[n++] = lower_src(f, operand_chunk(&args->items[a], p, i), lower_chunk_type(p));
                continue;
            }
            /* Read with the callee's idea of chunks; the bytes are the same. */
            out[n++] = slot_load(f, var, lower_chunk_type(p), i);
        }
        p = p->next;
    }
    if (p)
        lower_fail(f, HD_BAD_PTX, "fewer arguments than the callee has parameters");
    return n;
}

static void scatter_results(struct lower_fn *f, const struct ptx_operand *rets,
                            const struct ptx_var *proto_rets, uint32_t count, val *results)
{
    const struct ptx_var *p = proto_rets;
    uint32_t n = 0;
    for (uint32_t r = 0; r < rets->nitems && p; r++, p = p->next) {
        const struct ptx_var *var = operand_var(&rets->items[r]);
        for (uint32_t i = 0; i < lower_chunk_count(p) && n < count; i++, n++) {
            if (var)
                slot_store(f, var, lower_chunk_type(p), i, results[n]);
            else
                lower_dst(f, operand_chunk(&rets->items[r], p, i), results[n], lower_chunk_type(p));
        }
    }
}

/* What the device supplies, with the signature that compilers declare. */
static const struct builtin {
    const char *name;
    enum ir_builtin id;
    uint32_t nparams, nresults;
    enum ir_type params[5], results[1];
} builtins[] = {
    {"vprintf", IR_BUILTIN_VPRINTF, 2, 1, {IR_B64, IR_B64}, {IR_B32}},
    {"__assertfail", IR_BUILTIN_ASSERTFAIL, 5, 0, {IR_B64, IR_B64, IR_B32, IR_B64, IR_B64}, {0}},
    {"malloc", IR_BUILTIN_MALLOC, 1, 1, {IR_B64}, {IR_B64}},
    {"free", IR_BUILTIN_FREE, 1, 0, {IR_B64}, {0}},
};

static const struct builtin *builtin_of(struct hd_str name)
{
    for (size_t i = 0; i < HD_COUNT_OF(builtins); i++) {
        if (hd_str_is(name, builtins[i].name))
            return &builtins[i];
    }
    return NULL;
}

bool lower_is_builtin(struct hd_str name)
{
    return builtin_of(name) || lower_is_runtime_call(name);
}

static struct ir_instr *emit_call(struct lower_fn *f, enum ir_op op, uint32_t n, val *args,
                                  const struct ir_proto *proto)
{
    struct ir_instr *call = lower_emit(f, op, IR_VOID, n, args, proto->nresults);
    for (uint32_t d = 0; d < proto->nresults; d++)
        call->dst[d]->type = proto->results[d];
    return call;
}

static bool call_direct(struct lower_fn *f, const struct ptx_insn *in,
                        const struct ptx_func *callee)
{
    val args[512];
    struct ir_proto proto;
    uint32_t n = gather_args(f, &in->ops[2], callee->params, args, HD_COUNT_OF(args));
    enum hd_status status =
        lower_proto(callee->params, callee->rets, &f->job->module->arena, &proto);
    if (status != HD_OK)
        f->status = status;
    if (f->status != HD_OK)
        return true;
    struct ir_func *ir = lower_find_func(f, callee, true);
    if (!ir && lower_is_runtime_call(callee->sym.name)) {
        val result = lower_runtime_call(f, callee->sym.name, &proto, n, args);
        scatter_results(f, &in->ops[0], callee->rets, result ? 1 : 0, &result);
        return true;
    }
    const struct builtin *builtin = !ir ? builtin_of(callee->sym.name) : NULL;
    struct ir_proto want = {0};
    if (builtin)
        want = (struct ir_proto){.nparams = builtin->nparams,
                                 .params = builtin->params,
                                 .nresults = builtin->nresults,
                                 .results = builtin->results};
    else if (ir && !ir->is_kernel)
        want = ir->proto;
    if (!builtin && !ir) {
        lower_fail_unresolved(f, callee->sym.name);
        return true;
    }
    /* A declaration here and the definition in another module may disagree. */
    if (!ir_proto_equals(&want, &proto) || (ir && ir->is_kernel)) {
        lower_fail(f, HD_BAD_PTX, "the function is defined with another signature");
        return true;
    }
    struct ir_instr *call = emit_call(f, builtin ? IR_OP_BUILTIN : IR_OP_CALL, n, args, &proto);
    if (builtin)
        call->imm = builtin->id;
    else
        call->callee = ir;
    scatter_results(f, &in->ops[0], callee->rets, call->ndst, call->dst);
    return true;
}

static bool call_indirect(struct lower_fn *f, const struct ptx_insn *in)
{
    val args[512];
    const struct ptx_operand *sig = &in->ops[3];
    const struct ptx_var *params = NULL, *rets = NULL;
    if (sig->kind != PTX_OPND_SYM) {
        lower_fail(f, HD_NOT_SUPPORTED, "indirect call without a prototype");
        return true;
    }
    if (sig->u.sym->kind == PTX_SYM_PROTO) {
        params = ((const struct ptx_proto *)sig->u.sym)->params;
        rets = ((const struct ptx_proto *)sig->u.sym)->rets;
    } else if (sig->u.sym->kind == PTX_SYM_TARGETS) {
        const struct ptx_targets *t = (const struct ptx_targets *)sig->u.sym;
        if (t->count && t->items[0].kind == PTX_OPND_SYM &&
            t->items[0].u.sym->kind == PTX_SYM_FUNC) {
            params = ((const struct ptx_func *)t->items[0].u.sym)->params;
            rets = ((const struct ptx_func *)t->items[0].u.sym)->rets;
        }
    }
    struct ir_proto *proto = hd_arena_new(&f->job->module->arena, struct ir_proto);
    enum hd_status status = lower_proto(params, rets, &f->job->module->arena, proto);
    if (status != HD_OK)
        f->status = status;
    args[0] = lower_src(f, &in->ops[1], IR_U64);
    uint32_t n = gather_args(f, &in->ops[2], params, args + 1, HD_COUNT_OF(args) - 1);
    if (f->status != HD_OK)
        return true;
    struct ir_instr *call = emit_call(f, IR_OP_CALLI, n + 1, args, proto);
    call->ext = proto;
    f->job->module->arena.failed |= !hd_vec_push(&f->job->indirect, proto);
    scatter_results(f, &in->ops[0], rets, call->ndst, call->dst);
    return true;
}

bool lower_do_call(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_operand *target = &in->ops[1];
    if (target->kind != PTX_OPND_SYM || target->u.sym->kind != PTX_SYM_FUNC)
        return call_indirect(f, in);
    const struct ptx_func *callee = (const struct ptx_func *)target->u.sym;
    return call_direct(f, in, callee->def ? callee->def : callee);
}
