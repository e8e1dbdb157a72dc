/*
 * Special registers, warp operations, services and built-in functions.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <stdio.h>

/* ---- services and faults */

LLVMValueRef gen_service(struct gen *g, uint64_t member_offset, LLVMTypeRef ret, LLVMValueRef *args,
                         unsigned nargs)
{
    if (member_offset != offsetof(struct jit_services, fault))
        (void)gen_singly(g);
    LLVMValueRef all[16] = {g->cta, g->warp};
    if (g->is_kernel) /* the loop over warps keeps it in a register */
        LLVMBuildStore(g->b, g->warp_index, gen_gep(g, g->warp, offsetof(struct jit_warp, index)));
    LLVMTypeRef types[16] = {g->t->ptr, g->t->ptr};
    for (unsigned i = 0; i < nargs; i++) {
        all[2 + i] = args[i];
        types[2 + i] = LLVMTypeOf(args[i]);
    }
    LLVMValueRef table =
        gen_load_ctx(g, g->t->ptr, g->launch, offsetof(struct jit_launch, services));
    LLVMValueRef fn = gen_load_ctx(g, g->t->ptr, table, member_offset);
    LLVMTypeRef type = LLVMFunctionType(ret, types, nargs + 2, false);
    return LLVMBuildCall2(g->b, type, fn, all, nargs + 2, "");
}

void gen_cond_br_cold(struct gen *g, LLVMValueRef cond, LLVMBasicBlockRef cold,
                      LLVMBasicBlockRef warm)
{
    assert(gen_is_one(g, cond) && cold != warm);
    LLVMValueRef br = LLVMBuildCondBr(g->b, cond, cold, warm);
    LLVMMetadataRef weights[] = {
        LLVMMDStringInContext2(g->unit->ctx, "branch_weights", 14),
        LLVMValueAsMetadata(gen_i32(g, 1)),
        LLVMValueAsMetadata(gen_i32(g, 2000)),
    };
    LLVMSetMetadata(
        br, LLVMGetMDKindIDInContext(g->unit->ctx, "prof", 4),
        LLVMMetadataAsValue(g->unit->ctx, LLVMMDNodeInContext2(g->unit->ctx, weights, 3)));
}

void gen_fault(struct gen *g, LLVMValueRef lanes, enum hd_status status, LLVMValueRef address)
{
    assert(status != HD_OK && LLVMTypeOf(address) == g->t->i64);
    LLVMValueRef args[] = {lanes, gen_i32(g, gen_srcloc(g)), gen_i32(g, status), address};
    gen_service(g, offsetof(struct jit_services, fault), g->t->void_, args, 4);
}

LLVMBasicBlockRef gen_fault_begin(struct gen *g, LLVMValueRef cond)
{
    if (LLVMIsAConstantInt(cond) && !LLVMConstIntGetZExtValue(cond))
        return NULL;
    LLVMBasicBlockRef bad = gen_bb(g, "fault"), ok = gen_bb(g, "ok");
    gen_cond_br_cold(g, cond, bad, ok);
    LLVMPositionBuilderAtEnd(g->b, bad);
    return ok;
}

void gen_fault_end(struct gen *g, LLVMBasicBlockRef ok)
{
    LLVMBuildUnreachable(g->b);
    LLVMPositionBuilderAtEnd(g->b, ok);
}

void gen_fault_if(struct gen *g, LLVMValueRef cond, enum hd_status status, LLVMValueRef address)
{
    LLVMBasicBlockRef ok = gen_fault_begin(g, cond);
    if (!ok)
        return;
    gen_fault(g, gen_mask32(g), status, address);
    gen_fault_end(g, ok);
}

/* ---- lanes */

LLVMValueRef gen_first_active(struct gen *g, const struct ir_value *v)
{
    struct gen_val val = gen_get(g, v);
    if (val.kind == IR_SHAPE_UNIFORM)
        return val.c[0];
    LLVMValueRef x[GEN_HALVES];
    gen_vector_of(g, val, v->type, x);
    return gen_pick_active(g, x);
}

/* ---- special registers */

static LLVMValueRef warp_dim_field(struct gen *g, uint64_t base, unsigned axis, bool in_cta)
{
    return gen_load_ctx(g, g->t->i32, in_cta ? g->cta : g->launch, base + 4ull * axis);
}

/* Thread number in the CTA of lane 0 of half h; `index` counts warps, or halves. */
static LLVMValueRef warp_linear_of(struct gen *g, LLVMValueRef index, int h)
{
    LLVMValueRef x = LLVMBuildShl(g->b, index, gen_i32(g, gen_is_half(g) ? 4 : 5), "");
    return h ? LLVMBuildAdd(g->b, x, gen_i32(g, (uint64_t)h * GEN_LANES), "") : x;
}

static LLVMValueRef warp_linear_base(struct gen *g, int h)
{
    return warp_linear_of(g, gen_is_half(g) ? g->half_index : g->warp_index, h);
}

static LLVMValueRef warp_axis_of(struct gen *g, LLVMValueRef linear, LLVMValueRef bx,
                                 LLVMValueRef by, unsigned axis)
{
    if (axis == 0)
        return LLVMBuildURem(g->b, linear, bx, "");
    LLVMValueRef row = LLVMBuildUDiv(g->b, linear, bx, "");
    return axis == 1 ? LLVMBuildURem(g->b, row, by, "") : LLVMBuildUDiv(g->b, row, by, "");
}

LLVMValueRef gen_tid_start(struct gen *g, LLVMValueRef index, int h, unsigned axis)
{
    LLVMValueRef bx = warp_dim_field(g, offsetof(struct jit_launch, block), 0, false);
    LLVMValueRef by = warp_dim_field(g, offsetof(struct jit_launch, block), 1, false);
    return warp_axis_of(g, warp_linear_of(g, index, h), bx, by, axis);
}

/*
 * x / d of numbers up to 1,055 (a block's threads and the rest of its last warp) by d up to 1,024:
 * the product with 1 / d, rounded up, has 21 bits of fraction and is less than 1 / d too large.
 */
enum { RECIPROCAL_BITS = 21 };

static LLVMValueRef warp_reciprocal(struct gen *g, LLVMValueRef d)
{
    LLVMValueRef most = LLVMBuildSub(g->b, d, gen_i32(g, 1), "");
    LLVMValueRef one = LLVMBuildAdd(g->b, most, gen_i32(g, 1u << RECIPROCAL_BITS), "");
    return gen_splat(g, LLVMBuildUDiv(g->b, one, d, ""));
}

static LLVMValueRef warp_divided(struct gen *g, LLVMValueRef x, LLVMValueRef by)
{
    LLVMValueRef product = LLVMBuildMul(g->b, x, by, "");
    return LLVMBuildLShr(g->b, product, gen_splat_const(g, g->t->i32, RECIPROCAL_BITS), "");
}

static LLVMValueRef warp_rest(struct gen *g, LLVMValueRef x, LLVMValueRef whole, LLVMValueRef d)
{
    return LLVMBuildSub(g->b, x, LLVMBuildMul(g->b, whole, gen_splat(g, d), ""), "");
}

/* Only for blocks whose rows are not multiples of 16. */
static struct gen_val warp_tid_varying(struct gen *g, unsigned axis)
{
    LLVMValueRef bx = warp_dim_field(g, offsetof(struct jit_launch, block), 0, false);
    LLVMValueRef by = warp_dim_field(g, offsetof(struct jit_launch, block), 1, false);
    LLVMValueRef x_part = warp_reciprocal(g, bx), y_part = axis ? warp_reciprocal(g, by) : NULL;
    LLVMValueRef out[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef first = gen_splat(g, warp_linear_base(g, h));
        LLVMValueRef number = LLVMBuildAdd(g->b, first, gen_lanes(g, g->t->i32, 1), "");
        LLVMValueRef row = warp_divided(g, number, x_part);
        LLVMValueRef z = axis ? warp_divided(g, row, y_part) : NULL;
        out[h] = axis == 0   ? warp_rest(g, number, row, bx)
                 : axis == 1 ? warp_rest(g, row, z, by)
                             : z;
    }
    return gen_v(g, out);
}

/* Lane l of half h has number `apart` * (h % 2) + l. */
static struct gen_val warp_lane_numbers(struct gen *g, unsigned apart)
{
    LLVMValueRef x[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++)
        x[h] = gen_i32(g, h % 2 ? apart : 0);
    if (gen_is_half(g)) {
        x[0] = LLVMBuildAnd(g->b, g->half_index, gen_i32(g, 1), "");
        x[0] = LLVMBuildMul(g->b, x[0], gen_i32(g, apart), "");
    }
    return gen_a(g, x, 1);
}

static struct gen_val warp_tid_val(struct gen *g, unsigned axis, const struct ir_shape *shape)
{
    enum jit_launch_class cls = jit_launch_class_single(g->unit->cls);
    bool one_d = cls == JIT_CLASS_1D || cls == JIT_CLASS_1D_FULL;
    LLVMValueRef x[GEN_HALVES];
    if (one_d && axis)
        return gen_u(gen_i32(g, 0));
    if (cls == JIT_CLASS_OTHER)
        return warp_tid_varying(g, axis);
    if (axis == 0 && cls == JIT_CLASS_X16_FULL)
        return warp_lane_numbers(g, 0);
    if (axis == 0 && !one_d && gen_is_coarse(g))
        return warp_lane_numbers(g, GEN_LANES);
    for (int h = 0; h < gen_halves(g); h++)
        x[h] = one_d          ? warp_linear_base(g, h)
               : g->is_kernel ? g->tid[h][axis]
                              : gen_tid_start(g, g->warp_index, h, axis);
    return shape->kind == IR_SHAPE_UNIFORM ? gen_u(x[0]) : gen_a(g, x, axis ? 0 : 1);
}

static struct gen_val warp_lanemask_val(struct gen *g, enum ir_sreg r)
{
    gen_whole(g);
    LLVMValueRef x[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef lanes[GEN_LANES];
        for (uint32_t l = 0; l < GEN_LANES; l++) {
            uint32_t lane = ((uint32_t)h * GEN_LANES + l) % 32, eq = 1u << lane;
            uint32_t m = r == IR_SREG_LANEMASK_EQ   ? eq
                         : r == IR_SREG_LANEMASK_LT ? eq - 1
                         : r == IR_SREG_LANEMASK_LE ? eq | (eq - 1)
                         : r == IR_SREG_LANEMASK_GE ? ~(eq - 1)
                                                    : ~(eq | (eq - 1));
            lanes[l] = gen_i32(g, m);
        }
        x[h] = LLVMConstVector(lanes, GEN_LANES);
    }
    return gen_v(g, x);
}

static LLVMValueRef warp_clock_part(struct gen *g, uint64_t service, unsigned shift,
                                    LLVMTypeRef type)
{
    LLVMValueRef args[] = {g->cta};
    LLVMTypeRef types[] = {g->t->ptr};
    LLVMValueRef table =
        gen_load_ctx(g, g->t->ptr, g->launch, offsetof(struct jit_launch, services));
    LLVMValueRef fn = gen_load_ctx(g, g->t->ptr, table, service);
    LLVMTypeRef ft = LLVMFunctionType(g->t->i64, types, 1, false);
    LLVMValueRef x = LLVMBuildCall2(g->b, ft, fn, args, 1, "");
    if (shift)
        x = LLVMBuildLShr(g->b, x, gen_i64(g, shift), "");
    return type == g->t->i64 ? x : LLVMBuildTrunc(g->b, x, type, "");
}

/* Sizes of clusters divide those of the grid. */
static LLVMValueRef warp_cluster_sreg(struct gen *g, enum ir_sreg r)
{
    unsigned axis = (r - IR_SREG_CLUSTERID_X) % 3;
    LLVMValueRef size = warp_dim_field(g, offsetof(struct jit_launch, cluster), axis, false);
    if (r <= IR_SREG_CLUSTERID_Z)
        return LLVMBuildUDiv(g->b, warp_dim_field(g, offsetof(struct jit_cta, ctaid), axis, true),
                             size, "");
    if (r <= IR_SREG_NCLUSTERID_Z)
        return LLVMBuildUDiv(
            g->b, warp_dim_field(g, offsetof(struct jit_launch, grid), axis, false), size, "");
    if (r <= IR_SREG_CLUSTER_CTAID_Z)
        return LLVMBuildURem(g->b, warp_dim_field(g, offsetof(struct jit_cta, ctaid), axis, true),
                             size, "");
    if (r <= IR_SREG_CLUSTER_NCTAID_Z)
        return size;
    if (r == IR_SREG_CLUSTER_CTARANK)
        return warp_dim_field(g, offsetof(struct jit_cta, cluster_rank), 0, true);
    if (r == IR_SREG_CLUSTER_NCTARANK)
        return warp_dim_field(g, offsetof(struct jit_launch, cluster_ctas), 0, false);
    assert(r == IR_SREG_IS_EXPLICIT_CLUSTER);
    return warp_dim_field(g, offsetof(struct jit_launch, explicit_cluster), 0, false);
}

static LLVMValueRef warp_block_width(struct gen *g)
{
    bool x16 = jit_launch_class_single(g->unit->cls) == JIT_CLASS_X16_FULL;
    if (x16 || (gen_is_coarse(g) && jit_launch_class_single(g->unit->cls) == JIT_CLASS_X32))
        return gen_i32(g, x16 ? 16 : 32);
    return warp_dim_field(g, offsetof(struct jit_launch, block), 0, false);
}

static LLVMValueRef warp_sreg_scalar(struct gen *g, const struct ir_instr *in)
{
    const uint64_t clock = offsetof(struct jit_services, clock);
    const uint64_t timer = offsetof(struct jit_services, globaltimer);
    enum ir_sreg r = (enum ir_sreg)in->imm;
    switch (r) {
    case IR_SREG_NTID_X:
        return warp_block_width(g);
    case IR_SREG_NTID_Y:
    case IR_SREG_NTID_Z:
        return warp_dim_field(g, offsetof(struct jit_launch, block), (unsigned)(r - IR_SREG_NTID_X),
                              false);
    case IR_SREG_CTAID_X:
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
        return warp_dim_field(g, offsetof(struct jit_cta, ctaid), (unsigned)(r - IR_SREG_CTAID_X),
                              true);
    case IR_SREG_NCTAID_X:
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
        return warp_dim_field(g, offsetof(struct jit_launch, grid),
                              (unsigned)(r - IR_SREG_NCTAID_X), false);
    case IR_SREG_WARPID:
        return g->warp_index;
    case IR_SREG_NWARPID:
        return gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, nwarps));
    case IR_SREG_SMID:
        return gen_load_ctx(g, g->t->i32, g->cta, offsetof(struct jit_cta, smid));
    case IR_SREG_NSMID:
        return gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, nsms));
    case IR_SREG_GRIDID:
        return gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, grid_id));
    case IR_SREG_ENVREG1:
    case IR_SREG_ENVREG2:
        return warp_dim_field(g, offsetof(struct jit_launch, envreg),
                              (unsigned)(r - IR_SREG_ENVREG1), false);
    case IR_SREG_CLUSTERID_X:
    case IR_SREG_CLUSTERID_Y:
    case IR_SREG_CLUSTERID_Z:
    case IR_SREG_NCLUSTERID_X:
    case IR_SREG_NCLUSTERID_Y:
    case IR_SREG_NCLUSTERID_Z:
    case IR_SREG_CLUSTER_CTAID_X:
    case IR_SREG_CLUSTER_CTAID_Y:
    case IR_SREG_CLUSTER_CTAID_Z:
    case IR_SREG_CLUSTER_NCTAID_X:
    case IR_SREG_CLUSTER_NCTAID_Y:
    case IR_SREG_CLUSTER_NCTAID_Z:
    case IR_SREG_CLUSTER_CTARANK:
    case IR_SREG_CLUSTER_NCTARANK:
    case IR_SREG_IS_EXPLICIT_CLUSTER:
        return warp_cluster_sreg(g, r);
    case IR_SREG_DYNAMIC_SMEM_SIZE:
        return gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, dynamic_smem_B));
    case IR_SREG_TOTAL_SMEM_SIZE:
        return gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, total_smem_B));
    case IR_SREG_CLOCK:
        return warp_clock_part(g, clock, 0, g->t->i32);
    case IR_SREG_CLOCK_HI:
        return warp_clock_part(g, clock, 32, g->t->i32);
    case IR_SREG_CLOCK64:
        return warp_clock_part(g, clock, 0, g->t->i64);
    case IR_SREG_GLOBALTIMER:
        return warp_clock_part(g, timer, 0, g->t->i64);
    case IR_SREG_GLOBALTIMER_LO:
        return warp_clock_part(g, timer, 0, g->t->i32);
    case IR_SREG_GLOBALTIMER_HI:
        return warp_clock_part(g, timer, 32, g->t->i32);
    case IR_SREG_TID_X: /* lanes have their own: gen_sreg() */
    case IR_SREG_TID_Y:
    case IR_SREG_TID_Z:
    case IR_SREG_LANEID:
    case IR_SREG_LANEMASK_EQ:
    case IR_SREG_LANEMASK_LE:
    case IR_SREG_LANEMASK_LT:
    case IR_SREG_LANEMASK_GE:
    case IR_SREG_LANEMASK_GT:
    case IR_SREG_COUNT:
        break;
    }
    gen_unsupported(g, in, "special register");
    return gen_ci(gen_scalar_type(g, in->dst[0]->type), 0);
}

void gen_sreg(struct gen *g, const struct ir_instr *in)
{
    assert(in->op == IR_OP_SREG && in->imm < IR_SREG_COUNT);
    enum ir_sreg r = (enum ir_sreg)in->imm;
    if (r <= IR_SREG_TID_Z)
        gen_set(g, in->dst[0], warp_tid_val(g, (unsigned)r, gen_shape(g, in->dst[0])));
    else if (r == IR_SREG_LANEID)
        gen_set(g, in->dst[0], warp_lane_numbers(g, GEN_LANES));
    else if (r >= IR_SREG_LANEMASK_EQ && r <= IR_SREG_LANEMASK_GT)
        gen_set(g, in->dst[0], warp_lanemask_val(g, r));
    else
        gen_set(g, in->dst[0], gen_u(warp_sreg_scalar(g, in)));
}

/* ---- shuffles */

/* Source lane and in-range flag of a lane, as PTX ISA 9.7.9.6 defines them. */
static uint32_t warp_shfl_source(enum ir_shfl mode, uint32_t lane, uint32_t b, uint32_t c,
                                 bool *in_range)
{
    uint32_t seg = (c >> 8) & 31, clamp = c & 31, j;
    uint32_t max = (lane & seg) | (clamp & ~seg), min = lane & seg;
    b &= 31;
    switch (mode) {
    case IR_SHFL_UP:
        j = lane - b;
        *in_range = (int32_t)j >= (int32_t)max;
        break;
    case IR_SHFL_DOWN:
        j = lane + b;
        *in_range = j <= max;
        break;
    case IR_SHFL_BFLY:
        j = lane ^ b;
        *in_range = j <= max;
        break;
    default:
        j = min | (b & ~seg);
        *in_range = j <= max;
        break;
    }
    return *in_range ? j & 31 : lane;
}

static void warp_shfl_const(struct gen *g, const struct ir_instr *in, uint32_t b, uint32_t c)
{
    LLVMValueRef x[GEN_HALVES], out[GEN_HALVES], ok[GEN_HALVES];
    gen_vector(g, in->src[0], x);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef pick[GEN_LANES], flag[GEN_LANES];
        for (uint32_t l = 0; l < GEN_LANES; l++) {
            bool in_range;
            uint32_t j =
                warp_shfl_source((enum ir_shfl)in->imm, h * GEN_LANES + l, b, c, &in_range);
            pick[l] = gen_i32(g, j);
            flag[l] = gen_ci(g->t->i1, in_range);
        }
        out[h] = LLVMBuildShuffleVector(g->b, x[0], x[1], LLVMConstVector(pick, GEN_LANES), "");
        ok[h] = LLVMConstVector(flag, GEN_LANES);
    }
    gen_set(g, in->dst[0], gen_v(g, out));
    if (in->ndst > 1)
        gen_set(g, in->dst[1], gen_v(g, ok));
}

static LLVMValueRef warp_permute32(struct gen *g, LLVMValueRef const x[GEN_HALVES],
                                   LLVMValueRef index)
{
    LLVMValueRef args[] = {x[0], index, x[1]};
    return gen_intrinsic(g, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0, args, 3);
}

static LLVMValueRef warp_vec_cmp(struct gen *g, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(g->b, p, a, b, "");
}

static void warp_shfl_dynamic512(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef x[GEN_HALVES], b[GEN_HALVES], c[GEN_HALVES], out[GEN_HALVES], ok[GEN_HALVES];
    gen_vector(g, in->src[0], x);
    gen_vector(g, in->src[1], b);
    gen_vector(g, in->src[2], c);
    LLVMValueRef k31 = gen_splat_const(g, g->t->i32, 31);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef lane =
            LLVMBuildAdd(g->b, gen_lanes(g, g->t->i32, 1),
                         gen_splat_const(g, g->t->i32, (uint64_t)h * GEN_LANES), "");
        LLVMValueRef seg = LLVMBuildAnd(
            g->b, LLVMBuildLShr(g->b, c[h], gen_splat_const(g, g->t->i32, 8), ""), k31, "");
        LLVMValueRef not_seg = LLVMBuildNot(g->b, seg, "");
        LLVMValueRef clamp = LLVMBuildAnd(g->b, c[h], k31, "");
        LLVMValueRef min = LLVMBuildAnd(g->b, lane, seg, "");
        LLVMValueRef max = LLVMBuildOr(g->b, min, LLVMBuildAnd(g->b, clamp, not_seg, ""), "");
        LLVMValueRef bb = LLVMBuildAnd(g->b, b[h], k31, "");
        LLVMValueRef j;
        switch ((enum ir_shfl)in->imm) {
        case IR_SHFL_UP:
            j = LLVMBuildSub(g->b, lane, bb, "");
            ok[h] = warp_vec_cmp(g, LLVMIntSGE, j, max);
            break;
        case IR_SHFL_DOWN:
            j = LLVMBuildAdd(g->b, lane, bb, "");
            ok[h] = warp_vec_cmp(g, LLVMIntULE, j, max);
            break;
        case IR_SHFL_BFLY:
            j = LLVMBuildXor(g->b, lane, bb, "");
            ok[h] = warp_vec_cmp(g, LLVMIntULE, j, max);
            break;
        default:
            j = LLVMBuildOr(g->b, min, LLVMBuildAnd(g->b, bb, not_seg, ""), "");
            ok[h] = warp_vec_cmp(g, LLVMIntULE, j, max);
            break;
        }
        j = LLVMBuildSelect(g->b, ok[h], j, lane, "");
        out[h] = warp_permute32(g, x, j);
    }
    gen_set(g, in->dst[0], gen_v(g, out));
    if (in->ndst > 1)
        gen_set(g, in->dst[1], gen_v(g, ok));
}

static void gen_shfl(struct gen *g, const struct ir_instr *in)
{
    uint64_t b, c;
    if (ir_value_const(in->src[1], &b) && ir_value_const(in->src[2], &c)) {
        warp_shfl_const(g, in, (uint32_t)b, (uint32_t)c);
        return;
    }
    if (g->unit->avx512) {
        warp_shfl_dynamic512(g, in);
        return;
    }
    LLVMValueRef out = gen_new_array(g, IR_B32), ok = gen_new_array(g, IR_PRED);
    LLVMValueRef args[] = {gen_i32(g, in->imm),
                           gen_to_array(g, in->src[0]),
                           gen_to_array(g, in->src[1]),
                           gen_to_array(g, in->src[2]),
                           out,
                           ok};
    gen_call_rt(g, "jit_rt_shfl", g->t->void_, args, 6);
    gen_set(g, in->dst[0], gen_from_array(g, out, IR_B32));
    if (in->ndst > 1)
        gen_set(g, in->dst[1], gen_from_array(g, ok, IR_PRED));
}

/* ---- votes and reductions over the warp */

/* Lanes that take part: running, and named by the member mask of the first one. */
static LLVMValueRef warp_members(struct gen *g, const struct ir_value *member)
{
    assert(member->type == IR_B32);
    return LLVMBuildAnd(g->b, gen_mask32(g), gen_first_active(g, member), "");
}

static bool warp_member_is_uniform(struct gen *g, const struct ir_value *member)
{
    return gen_shape(g, member)->kind == IR_SHAPE_UNIFORM;
}

static void warp_vote_uniform(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef p[GEN_HALVES];
    gen_vector(g, in->src[0], p);
    LLVMValueRef who = warp_members(g, in->src[1]);
    LLVMValueRef yes =
        LLVMBuildAnd(g->b, gen_bits_of_warp(g, gen_bits(g, p[0]), gen_bits(g, p[1])), who, "");
    LLVMValueRef zero = gen_i32(g, 0), r;
    LLVMValueRef all = LLVMBuildICmp(g->b, LLVMIntEQ, yes, who, "");
    LLVMValueRef any = LLVMBuildICmp(g->b, LLVMIntNE, yes, zero, "");
    switch ((enum ir_vote)in->imm) {
    case IR_VOTE_ALL:
        r = all;
        break;
    case IR_VOTE_ANY:
        r = any;
        break;
    case IR_VOTE_UNI:
        r = LLVMBuildOr(g->b, all, LLVMBuildNot(g->b, any, ""), "");
        break;
    default:
        r = yes;
        break;
    }
    gen_set(g, in->dst[0], gen_u(r));
}

void gen_agree(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef p[GEN_HALVES], not_p[GEN_HALVES];

    gen_vector(g, in->src[0], p);
    for (int h = 0; h < gen_halves(g); h++) {
        not_p[h] = LLVMBuildNot(g->b, p[h], "");
        if (g->mask[h])
            not_p[h] = LLVMBuildAnd(g->b, g->mask[h], not_p[h], "");
    }
    gen_set(g, in->dst[0], gen_u(LLVMBuildNot(g->b, gen_any_in(g, not_p), "")));
}

/* Operations whose lanes may name different groups go lane by lane through a helper. */
static void warp_vote_groups(struct gen *g, const struct ir_instr *in)
{
    enum ir_type type = in->imm == IR_VOTE_BALLOT ? IR_B32 : IR_PRED;
    LLVMValueRef out = gen_new_array(g, type);
    LLVMValueRef args[] = {gen_i32(g, in->imm), gen_mask32(g), gen_to_array(g, in->src[0]),
                           gen_to_array(g, in->src[1]), out};
    gen_call_rt(g, "jit_rt_vote", g->t->void_, args, 5);
    gen_set(g, in->dst[0], gen_from_array(g, out, type));
}

/* Bit i of out[h]: the lane has what lane i has, in a loop over i. */
static void warp_lanes_alike(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES])
{
    LLVMValueRef x[GEN_HALVES], array = gen_to_array(g, v), phi[GEN_HALVES];
    LLVMTypeRef elem = gen_scalar_type(g, v->type);
    LLVMBasicBlockRef from[] = {LLVMGetInsertBlock(g->b), gen_bb(g, "alike")},
                      end = gen_bb(g, "end");
    gen_vector(g, v, x);
    LLVMBuildBr(g->b, from[1]);
    LLVMPositionBuilderAtEnd(g->b, from[1]);
    LLVMValueRef i = LLVMBuildPhi(g->b, g->t->i32, "");
    for (int h = 0; h < gen_halves(g); h++)
        phi[h] = LLVMBuildPhi(g->b, gen_vec(g, g->t->i32), "");
    LLVMValueRef other =
        gen_splat(g, LLVMBuildLoad2(g->b, elem, LLVMBuildGEP2(g->b, elem, array, &i, 1, ""), ""));
    LLVMValueRef none = gen_splat_const(g, g->t->i32, 0);
    LLVMValueRef bit = gen_splat(g, LLVMBuildShl(g->b, gen_i32(g, 1), i, ""));
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef same = LLVMBuildICmp(g->b, LLVMIntEQ, x[h], other, "");
        out[h] = LLVMBuildOr(g->b, phi[h], LLVMBuildSelect(g->b, same, bit, none, ""), "");
        LLVMAddIncoming(phi[h], (LLVMValueRef[]){none, out[h]}, from, 2);
    }
    LLVMValueRef next = LLVMBuildAdd(g->b, i, gen_i32(g, 1), "");
    LLVMAddIncoming(i, (LLVMValueRef[]){gen_i32(g, 0), next}, from, 2);
    LLVMValueRef more = LLVMBuildICmp(g->b, LLVMIntULT, next, gen_i32(g, 2 * GEN_LANES), "");
    LLVMBuildCondBr(g->b, more, from[1], end);
    LLVMPositionBuilderAtEnd(g->b, end);
}

/* The same of numbers of few bits: lanes that agree in each of them. */
static void warp_lanes_agreeing(struct gen *g, const struct ir_value *v, unsigned bits,
                                LLVMValueRef out[GEN_HALVES])
{
    LLVMValueRef x[GEN_HALVES], has[GEN_HALVES], none = gen_splat_const(g, g->t->i32, 0);
    assert(bits <= 32 && gen_halves(g) == 2);
    gen_vector(g, v, x);
    for (int h = 0; h < gen_halves(g); h++)
        out[h] = LLVMBuildNot(g->b, none, "");
    for (unsigned b = 0; b < bits; b++) {
        LLVMValueRef bit = gen_splat_const(g, g->t->i32, UINT64_C(1) << b);
        for (int h = 0; h < gen_halves(g); h++)
            has[h] = LLVMBuildICmp(g->b, LLVMIntNE, LLVMBuildAnd(g->b, x[h], bit, ""), none, "");
        LLVMValueRef lanes =
            gen_splat(g, gen_bits_of_warp(g, gen_bits(g, has[0]), gen_bits(g, has[1])));
        for (int h = 0; h < gen_halves(g); h++) {
            LLVMValueRef has_not =
                LLVMBuildSExt(g->b, LLVMBuildNot(g->b, has[h], ""), gen_vec(g, g->t->i32), "");
            out[h] = LLVMBuildAnd(g->b, out[h], LLVMBuildXor(g->b, lanes, has_not, ""), "");
        }
    }
}

/* A bit costs about what two iterations of the loop over the lanes do. */
enum { AGREEING_BITS_MAX = GEN_LANES };

static void gen_match(struct gen *g, const struct ir_instr *in)
{
    unsigned bits = gen_bits_at_most(g, in->src[0]);
    LLVMValueRef same[GEN_HALVES], who[GEN_HALVES], all[GEN_HALVES];
    LLVMValueRef here = gen_splat(g, gen_mask32(g));
    if (bits <= AGREEING_BITS_MAX)
        warp_lanes_agreeing(g, in->src[0], bits, same);
    else
        warp_lanes_alike(g, in->src[0], same);
    gen_vector(g, in->src[1], who);
    for (int h = 0; h < gen_halves(g); h++) {
        who[h] = LLVMBuildAnd(g->b, who[h], here, "");
        same[h] = LLVMBuildAnd(g->b, same[h], who[h], "");
        all[h] = LLVMBuildICmp(g->b, LLVMIntEQ, same[h], who[h], "");
        if (in->imm)
            same[h] = LLVMBuildSelect(g->b, all[h], same[h], gen_splat_const(g, g->t->i32, 0), "");
    }
    gen_set(g, in->dst[0], gen_v(g, same));
    if (in->ndst > 1)
        gen_set(g, in->dst[1], gen_v(g, all));
}

static void gen_redux(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef out = gen_new_array(g, IR_B32);
    LLVMValueRef args[] = {gen_i32(g, in->imm),         gen_i32(g, in->type),        gen_mask32(g),
                           gen_to_array(g, in->src[0]), gen_to_array(g, in->src[1]), out};
    gen_call_rt(g, "jit_rt_redux", g->t->void_, args, 6);
    gen_set(g, in->dst[0], gen_from_array(g, out, IR_B32));
}

static void gen_elect(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef args[] = {warp_members(g, in->src[0]), gen_ci(g->t->i1, 0)};
    LLVMValueRef lane = gen_intrinsic(g, "llvm.cttz", &g->t->i32, 1, args, 2);
    gen_set(g, in->dst[0], gen_u(lane));
    if (in->ndst < 2)
        return;
    LLVMValueRef is[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef lanes =
            LLVMBuildAdd(g->b, gen_lanes(g, g->t->i32, 1),
                         gen_splat_const(g, g->t->i32, (uint64_t)h * GEN_LANES), "");
        is[h] = LLVMBuildICmp(g->b, LLVMIntEQ, lanes, gen_splat(g, lane), "");
    }
    gen_set(g, in->dst[1], gen_v(g, is));
}

bool gen_warp(struct gen *g, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_SHFL:
        gen_shfl(g, in);
        return true;
    case IR_OP_VOTE:
        if (warp_member_is_uniform(g, in->src[1]))
            warp_vote_uniform(g, in);
        else
            warp_vote_groups(g, in);
        return true;
    case IR_OP_MATCH:
        gen_match(g, in);
        return true;
    case IR_OP_REDUX:
        gen_redux(g, in);
        return true;
    case IR_OP_ACTIVEMASK:
        gen_set(g, in->dst[0], gen_u(gen_mask32(g)));
        return true;
    case IR_OP_ELECT:
        gen_elect(g, in);
        return true;
    case IR_OP_WARPSYNC:
        return true; /* the sweep has met already; dispatch waits before the node */
    default:
        return false;
    }
}

/* ---- built-in functions */

void gen_builtin(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef args[8] = {gen_mask32(g)};
    unsigned n = 1;
    if (in->imm == IR_BUILTIN_ASSERTFAIL)
        args[n++] = gen_i32(g, gen_srcloc(g));
    for (uint32_t s = 0; s < in->nsrc && n < 7; s++)
        args[n++] = gen_to_array(g, in->src[s]);
    switch ((enum ir_builtin)in->imm) {
    case IR_BUILTIN_VPRINTF:
    case IR_BUILTIN_MALLOC:
    case IR_BUILTIN_RUNTIME: {
        static const size_t services[] = {
            [IR_BUILTIN_VPRINTF] = offsetof(struct jit_services, vprintf_),
            [IR_BUILTIN_MALLOC] = offsetof(struct jit_services, malloc_),
            [IR_BUILTIN_RUNTIME] = offsetof(struct jit_services, runtime)};
        enum ir_type type = in->imm == IR_BUILTIN_VPRINTF ? IR_B32 : IR_B64;
        LLVMValueRef out = gen_new_array(g, type);
        args[n++] = out;
        gen_service(g, services[in->imm], g->t->void_, args, n);
        if (in->ndst)
            gen_set(g, in->dst[0], gen_from_array(g, out, type));
        return;
    }
    case IR_BUILTIN_ASSERTFAIL:
        gen_service(g, offsetof(struct jit_services, assertfail), g->t->void_, args, n);
        return;
    case IR_BUILTIN_FREE:
        gen_service(g, offsetof(struct jit_services, free_), g->t->void_, args, n);
        return;
    }
}
