/*
 * Addresses of variables and functions, conversions between windows and the generic space, and the
 * thread's dynamic stack.
 */
#include "jit/gen/flow/gen_flow.h"

/* Base of the space's window as i64; NULL for spaces whose addresses are host addresses. */
LLVMValueRef gen_window_base(struct gen *g, enum ir_space space)
{
    switch (space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        return gen_load_ctx(g, g->t->i64, g->cta,
                            g->unit->clusters ? offsetof(struct jit_cta, cluster)
                                              : offsetof(struct jit_cta, shared));
    case IR_SPACE_PARAM:
        return gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, params));
    case IR_SPACE_LOCAL: {
        LLVMValueRef local = gen_load_ctx(g, g->t->i64, g->cta, offsetof(struct jit_cta, local));
        LLVMValueRef size =
            gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, local_B));
        LLVMValueRef first = LLVMBuildZExt(g->b, g->warp_index, g->t->i64, "");
        first = LLVMBuildMul(g->b, first, gen_i64(g, 32), "");
        return LLVMBuildAdd(g->b, local, LLVMBuildMul(g->b, first, size, ""), "");
    }
    case IR_SPACE_GENERIC:
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        return NULL;
    case IR_SPACE_TENSOR:
        break;
    }
    gen_unsupported(g, NULL, "memory space");
    return NULL;
}

/* Offset of each lane's local window from the warp's first, as <16 x i32>. */
LLVMValueRef gen_local_lanes(struct gen *g, int h)
{
    LLVMValueRef size = gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, local_B));
    LLVMValueRef size32 = LLVMBuildTrunc(g->b, size, g->t->i32, "");
    LLVMValueRef lanes = LLVMBuildAdd(g->b, gen_lanes(g, g->t->i32, 1),
                                      gen_splat_const(g, g->t->i32, (uint64_t)h * GEN_LANES), "");
    return LLVMBuildMul(g->b, lanes, gen_splat(g, size32), "");
}

/* Where the own CTA's shared variables begin, as window addresses of a kernel with clusters. */
static LLVMValueRef own_window(struct gen *g)
{
    LLVMValueRef rank = gen_load_ctx(g, g->t->i32, g->cta, offsetof(struct jit_cta, cluster_rank));
    rank = LLVMBuildZExt(g->b, rank, g->t->i64, "");
    return LLVMBuildShl(g->b, rank, gen_i64(g, IR_CLUSTER_SHIFT), "");
}

static LLVMValueRef var_address(struct gen *g, const struct ir_instr *in)
{
    const struct ir_var *var = in->var;
    if (var->space == IR_SPACE_SHARED) {
        LLVMValueRef at = gen_i64(g, var->window_offset + in->imm);
        return g->unit->clusters ? LLVMBuildAdd(g->b, own_window(g), at, "") : at;
    }
    if (var->space == IR_SPACE_LOCAL)
        return LLVMBuildAdd(g->b, g->local_sp, gen_i64(g, var->window_offset + in->imm), "");
    LLVMValueRef table = gen_load_ctx(g, g->t->ptr, g->launch, offsetof(struct jit_launch, vars));
    LLVMValueRef address = gen_load_ctx(g, g->t->i64, table, (uint64_t)var->index * 8);
    return in->imm ? LLVMBuildAdd(g->b, address, gen_i64(g, in->imm), "") : address;
}

static LLVMValueRef to64(struct gen *g, LLVMValueRef x, bool vec)
{
    LLVMTypeRef elem = vec ? LLVMGetElementType(LLVMTypeOf(x)) : LLVMTypeOf(x);
    if (elem == g->t->i64)
        return x;
    return LLVMBuildZExt(g->b, x, vec ? gen_vec(g, g->t->i64) : g->t->i64, "");
}

/* Start of each lane's local window as <16 x i64>. */
static LLVMValueRef local_window(struct gen *g, int h)
{
    LLVMValueRef lanes = LLVMBuildZExt(g->b, gen_local_lanes(g, h), gen_vec(g, g->t->i64), "");
    return LLVMBuildAdd(g->b, gen_splat(g, gen_window_base(g, IR_SPACE_LOCAL)), lanes, "");
}

static void cvta_local(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef x[GEN_HALVES];
    gen_vector(g, in->src[0], x);
    for (int h = 0; h < gen_halves(g); h++) {
        x[h] = to64(g, x[h], true);
        x[h] = in->op == IR_OP_CVTA ? LLVMBuildAdd(g->b, x[h], local_window(g, h), "")
                                    : LLVMBuildSub(g->b, x[h], local_window(g, h), "");
    }
    gen_set(g, in->dst[0], gen_v(g, x));
}

static void gen_cvta(struct gen *g, const struct ir_instr *in)
{
    if (in->mem.space == IR_SPACE_LOCAL) {
        cvta_local(g, in);
        return;
    }
    LLVMValueRef base = gen_window_base(g, in->mem.space);
    struct gen_val v = gen_get(g, in->src[0]);
    const struct ir_shape *want = gen_shape(g, in->dst[0]);
    if (v.kind == IR_SHAPE_BASE_INDEX && want->kind != IR_SHAPE_BASE_INDEX) {
        LLVMValueRef x[GEN_HALVES];
        gen_vector_of(g, v, in->src[0]->type, x);
        v = gen_v(g, x);
    }
    bool vec = v.kind == IR_SHAPE_VARYING;
    if (want->kind == IR_SHAPE_BASE_INDEX && v.kind != IR_SHAPE_BASE_INDEX) {
        /* A 32-bit index widened by the conversion itself. */
        v = (struct gen_val){.kind = IR_SHAPE_BASE_INDEX, .c = {gen_i64(g, 0), NULL}};
        vec = false;
    }
    for (int i = 0; i < 2 && v.c[i]; i++) {
        v.c[i] = to64(g, v.c[i], vec);
        LLVMValueRef b = base && vec ? gen_splat(g, base) : base;
        if (base)
            v.c[i] = in->op == IR_OP_CVTA ? LLVMBuildAdd(g->b, v.c[i], b, "")
                                          : LLVMBuildSub(g->b, v.c[i], b, "");
    }
    v.shape = want;
    gen_set(g, in->dst[0], v);
}

static LLVMValueRef is_below(struct gen *g, LLVMValueRef x, LLVMValueRef limit)
{
    return LLVMBuildICmp(g->b, LLVMIntULT, x, gen_splat(g, limit), "");
}

/* Lanes whose address is in the window of some CTA of the cluster. */
static LLVMValueRef in_cluster(struct gen *g, LLVMValueRef x, LLVMValueRef shared_B)
{
    LLVMValueRef ctas =
        gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, cluster_ctas));
    LLVMValueRef at =
        LLVMBuildSub(g->b, x, gen_splat(g, gen_window_base(g, IR_SPACE_SHARED_CLUSTER)), "");
    LLVMValueRef rank =
        LLVMBuildLShr(g->b, at, gen_splat_const(g, g->t->i64, IR_CLUSTER_SHIFT), "");
    LLVMValueRef offset =
        LLVMBuildAnd(g->b, at, gen_splat_const(g, g->t->i64, IR_CLUSTER_STRIDE_B - 1), "");
    return LLVMBuildAnd(g->b, is_below(g, rank, LLVMBuildZExt(g->b, ctas, g->t->i64, "")),
                        is_below(g, offset, shared_B), "");
}

static void gen_isspacep(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef shared = gen_load_ctx(g, g->t->i64, g->cta, offsetof(struct jit_cta, shared));
    LLVMValueRef shared_B =
        gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, shared_B));
    LLVMValueRef local = gen_load_ctx(g, g->t->i64, g->cta, offsetof(struct jit_cta, local));
    LLVMValueRef local_B =
        gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, local_B));
    LLVMValueRef warps = gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, nwarps));
    LLVMValueRef threads =
        LLVMBuildMul(g->b, LLVMBuildZExt(g->b, warps, g->t->i64, ""), gen_i64(g, 32), "");
    LLVMValueRef all_local = LLVMBuildMul(g->b, threads, local_B, "");
    LLVMValueRef x[GEN_HALVES];
    gen_vector(g, in->src[0], x);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef s = LLVMBuildSub(g->b, x[h], gen_splat(g, shared), "");
        LLVMValueRef in_shared = is_below(g, s, shared_B);
        LLVMValueRef l = LLVMBuildSub(g->b, x[h], gen_splat(g, local), "");
        LLVMValueRef in_local = is_below(g, l, all_local);
        if (g->unit->clusters && in->mem.space != IR_SPACE_SHARED)
            in_shared = in_cluster(g, x[h], shared_B);
        switch (in->mem.space) {
        case IR_SPACE_SHARED:
        case IR_SPACE_SHARED_CLUSTER:
            x[h] = in_shared;
            break;
        case IR_SPACE_LOCAL:
            x[h] = in_local;
            break;
        case IR_SPACE_GLOBAL:
            x[h] = LLVMBuildNot(g->b, LLVMBuildOr(g->b, in_shared, in_local, ""), "");
            break;
        case IR_SPACE_GENERIC:
        case IR_SPACE_CONST:
        case IR_SPACE_PARAM:
        case IR_SPACE_TENSOR:
            x[h] = gen_splat_const(g, g->t->i1, 0);
            break;
        }
    }
    gen_set(g, in->dst[0], gen_v(g, x));
}

void gen_addr(struct gen *g, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_VARADDR:
        gen_set(g, in->dst[0], gen_u(var_address(g, in)));
        return;
    case IR_OP_FUNCADDR:
        gen_set(g, in->dst[0], gen_u(gen_i64(g, JIT_FUNC_HANDLE(in->callee->index))));
        return;
    case IR_OP_ISSPACEP:
        gen_isspacep(g, in);
        return;
    default:
        gen_cvta(g, in);
        return;
    }
}

/* ---- the thread's stack beyond its fixed frame */

void gen_stack(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef sp = LLVMBuildLoad2(g->b, g->t->i64, g->dynamic_sp, "");
    if (in->op == IR_OP_STACKSAVE) {
        gen_set(g, in->dst[0], gen_u(sp));
        return;
    }
    if (in->op == IR_OP_STACKRESTORE) {
        LLVMBuildStore(g->b, gen_first_active(g, in->src[0]), g->dynamic_sp);
        return;
    }
    uint64_t align = in->imm ? in->imm : 16;
    sp = LLVMBuildAdd(g->b, sp, gen_i64(g, align - 1), "");
    sp = LLVMBuildAnd(g->b, sp, gen_i64(g, ~(align - 1)), "");
    LLVMValueRef x[GEN_HALVES];
    gen_vector(g, in->src[0], x);
    LLVMValueRef size = gen_i64(g, 0); /* the largest any running lane wants */
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef v = LLVMBuildSelect(g->b, gen_mask_or_full(g, h), x[h],
                                         gen_splat_const(g, g->t->i64, 0), "");
        LLVMTypeRef vt = LLVMTypeOf(v);
        LLVMValueRef m = gen_intrinsic(g, "llvm.vector.reduce.umax", &vt, 1, &v, 1);
        size = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntUGT, m, size, ""), m, size, "");
    }
    LLVMValueRef limit =
        gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, local_B));
    LLVMValueRef room = LLVMBuildSub(g->b, limit, sp, "");
    LLVMValueRef over = LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntUGT, sp, limit, ""),
                                    LLVMBuildICmp(g->b, LLVMIntUGT, size, room, ""), "");
    gen_fault_if(g, over, HD_STACK_OVERFLOW, sp);
    LLVMBuildStore(g->b, LLVMBuildAdd(g->b, sp, size, ""), g->dynamic_sp);
    gen_set(g, in->dst[0], gen_u(sp));
}
