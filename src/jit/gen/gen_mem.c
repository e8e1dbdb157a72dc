/*
 * Loads and stores: the address's shape picks the form.
 *
 *   uniform               one scalar access
 *   uniform per half      two scalar accesses
 *   stride = element      contiguous vector access per half (also ld.v2/.v4 with stride = vector)
 *   base + 32-bit index   gather/scatter with one scalar base
 *   anything else         gather/scatter with 64-bit lane addresses
 *
 * A BASE_INDEX address with an affine index is contiguous unless ext(index) wraps inside the half;
 * when that cannot be ruled out (an index that is a multiple of 16 cannot), the code tests it and
 * has
 * both forms.
 */
#include "jit/gen/gen.h"

/* Where the lanes access memory; offsets of vector elements are added per element. */
enum addr_kind { ADDR_U, ADDR_A, ADDR_INDEX, ADDR_V };

struct addr {
    enum addr_kind kind;
    LLVMValueRef base[2];  /* U, INDEX: [0] i64; A: i64 per half */
    int64_t stride;        /* A; bytes */
    LLVMValueRef index[2]; /* INDEX: <16 x i32>; V: <16 x i64> */
    int64_t scale;         /* INDEX */
    bool index_signed;
    int64_t offset; /* constant bytes */
    LLVMValueRef
        wraps; /* A that came from an affine index: i1 "not contiguous after all", or NULL */
    LLVMValueRef alt_base; /* then the INDEX form, for the slow path */
    enum addr_kind alt_kind;
    LLVMValueRef alt_index[2]; /* of a guess: the form it came from; NULL = from the shape */
};

static LLVMValueRef ptr_at(struct gen *g, LLVMValueRef address, int64_t offset)
{
    LLVMValueRef p = LLVMBuildIntToPtr(g->b, address, g->t_ptr, "");
    return gen_gep(g, p, (uint64_t)offset);
}

static LLVMValueRef add64(struct gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(g->b, a, b, "");
}

/* Base of the space's window as i64; NULL for spaces whose addresses are host addresses. */
static LLVMValueRef window_base(struct gen *g, enum ir_space space)
{
    switch (space) {
    case IR_SPACE_SHARED:
        return gen_load_ctx(g, g->t_i64, g->cta, offsetof(struct jit_cta, shared));
    case IR_SPACE_PARAM:
        return gen_load_ctx(g, g->t_i64, g->launch, offsetof(struct jit_launch, params));
    case IR_SPACE_LOCAL: {
        LLVMValueRef local = gen_load_ctx(g, g->t_i64, g->cta, offsetof(struct jit_cta, local));
        LLVMValueRef size =
            gen_load_ctx(g, g->t_i64, g->launch, offsetof(struct jit_launch, local_B));
        LLVMValueRef first = LLVMBuildZExt(g->b, g->warp_index, g->t_i64, "");
        first = LLVMBuildMul(g->b, first, gen_i64(g, 32), "");
        return add64(g, local, LLVMBuildMul(g->b, first, size, ""));
    }
    default:
        return NULL;
    }
}

LLVMValueRef gen_window_base(struct gen *g, enum ir_space space)
{
    return window_base(g, space);
}

/* Offset of each lane's local window from the warp's first, as <16 x i32>. */
static LLVMValueRef local_lanes(struct gen *g, int h)
{
    LLVMValueRef size = gen_load_ctx(g, g->t_i64, g->launch, offsetof(struct jit_launch, local_B));
    LLVMValueRef size32 = LLVMBuildTrunc(g->b, size, g->t_i32, "");
    LLVMValueRef lanes = LLVMBuildAdd(g->b, gen_lanes(g, g->t_i32, 1),
                                      gen_splat_const(g, g->t_i32, (uint64_t)h * GEN_LANES), "");
    return LLVMBuildMul(g->b, lanes, gen_splat(g, size32), "");
}

LLVMValueRef gen_local_lanes(struct gen *g, int h)
{
    return local_lanes(g, h);
}

/* Window addresses wrap at 32 bits when a constant offset is added: sign extension keeps that. */
static LLVMValueRef widen(struct gen *g, LLVMValueRef x)
{
    return LLVMTypeOf(x) == g->t_i32 ? LLVMBuildSExt(g->b, x, g->t_i64, "") : x;
}

static LLVMValueRef narrow_vec(struct gen *g, LLVMValueRef x)
{
    if (LLVMGetElementType(LLVMTypeOf(x)) == g->t_i32)
        return x;
    return LLVMBuildTrunc(g->b, x, gen_vec(g, g->t_i32), "");
}

/* Per lane windows: every address differs, so lanes are always indexed. */
static struct addr addr_local(struct gen *g, const struct ir_instr *in)
{
    struct gen_val v = gen_get(g, in->src[0]);
    struct addr a = {
        .kind = ADDR_INDEX, .scale = 1, .index_signed = true, .offset = in->mem.offset};
    a.base[0] = window_base(g, IR_SPACE_LOCAL);
    if (v.kind == IR_SHAPE_UNIFORM) {
        a.base[0] = add64(g, a.base[0], widen(g, v.c[0]));
        for (int h = 0; h < 2; h++)
            a.index[h] = local_lanes(g, h);
        return a;
    }
    LLVMValueRef x[2];
    gen_vector_of(g, v, in->src[0]->type, x);
    for (int h = 0; h < 2; h++)
        a.index[h] = LLVMBuildAdd(g->b, local_lanes(g, h), narrow_vec(g, x[h]), "");
    return a;
}

/* Can base + 15 * stride of the index wrap within 32 bits? Multiples of 16 * stride cannot. */
static bool index_may_wrap(const struct ir_shape *index)
{
    uint64_t span = 16 * (uint64_t)(index->stride < 0 ? -index->stride : index->stride);
    return index->stride && (!hd_is_pow2(span) || index->align < span);
}

static LLVMValueRef index_wraps(struct gen *g, const struct ir_shape *s, struct gen_val index)
{
    LLVMValueRef any = NULL;
    int64_t stride = index.stride;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef end = LLVMBuildAdd(g->b, index.c[h], gen_i32(g, (uint64_t)(15 * stride)), "");
        LLVMIntPredicate p = s->index_signed ? (stride > 0 ? LLVMIntSLT : LLVMIntSGT)
                                             : (stride > 0 ? LLVMIntULT : LLVMIntUGT);
        LLVMValueRef w = LLVMBuildICmp(g->b, p, end, index.c[h], "");
        any = any ? LLVMBuildOr(g->b, any, w, "") : w;
    }
    return any;
}

static void addr_affine_index(struct gen *g, struct addr *a, const struct ir_shape *s,
                              struct gen_val index, LLVMValueRef base)
{
    a->kind = ADDR_A;
    a->stride = index.stride * s->scale;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef x = s->index_signed ? LLVMBuildSExt(g->b, index.c[h], g->t_i64, "")
                                         : LLVMBuildZExt(g->b, index.c[h], g->t_i64, "");
        x = LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)s->scale), "");
        a->base[h] = add64(g, base, x);
    }
    if (index_may_wrap(gen_shape(g, s->index)))
        a->wraps = index_wraps(g, s, index);
}

static struct addr addr_indexed(struct gen *g, const struct ir_instr *in, struct gen_val v,
                                LLVMValueRef window)
{
    const struct ir_shape *s = v.shape;
    struct addr a = {.kind = ADDR_INDEX,
                     .offset = in->mem.offset,
                     .scale = s->scale,
                     .index_signed = s->index_signed};
    LLVMValueRef base = window ? add64(g, window, v.c[0]) : v.c[0];
    struct gen_val index = gen_get(g, s->index);
    a.base[0] = a.alt_base = base;
    if (index.kind == IR_SHAPE_AFFINE)
        addr_affine_index(g, &a, s, index, base);
    else
        gen_vector_of(g, index, s->index->type, a.index);
    return a;
}

/* Fills in the lanes' 32-bit indices of an address that was made from an affine one. */
static void addr_to_index(struct gen *g, struct addr *a, const struct ir_instr *in)
{
    const struct ir_shape *s = gen_shape(g, in->src[0]);
    a->kind = a->alt_index[0] ? a->alt_kind : ADDR_INDEX;
    a->base[0] = a->alt_base;
    if (!a->alt_index[0])
        gen_vector(g, s->index, a->index);
    a->wraps = NULL;
}

/* Lane addresses that may turn out to be contiguous at run time (gen_guess.c). */
static void addr_guess(struct gen *g, const struct ir_instr *in, struct addr *a, uint64_t size_B)
{
    bool v = a->kind == ADDR_V;
    if ((!v && a->kind != ADDR_INDEX) || in->mem.space == IR_SPACE_LOCAL ||
        size_B % (uint64_t)(v ? 1 : a->scale) || !gen_is_computed(g, in->src[0]) ||
        gen_pattern_is_sparse(g, in->src[0], (int64_t)size_B))
        return;
    LLVMValueRef first[2];
    a->wraps = gen_lanes_stray(g, a->index, first, (int64_t)size_B / (v ? 1 : a->scale),
                               v ? NULL : &a->index_signed);
    a->alt_kind = a->kind;
    a->alt_base = a->base[0];
    for (int h = 0; h < 2; h++) {
        LLVMValueRef x = first[h];
        a->alt_index[h] = a->index[h];
        if (!v) {
            x = a->index_signed ? LLVMBuildSExt(g->b, x, g->t_i64, "")
                                : LLVMBuildZExt(g->b, x, g->t_i64, "");
            x = LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)a->scale), "");
            x = add64(g, a->alt_base, x);
        }
        a->base[h] = x;
    }
    a->kind = ADDR_A;
    a->stride = (int64_t)size_B;
}

static struct addr addr_varying(struct gen *g, const struct ir_instr *in, struct gen_val v,
                                LLVMValueRef window)
{
    struct addr a = {.offset = in->mem.offset, .scale = 1, .index_signed = true};
    gen_vector_of(g, v, in->src[0]->type, a.index);
    if (window) {
        a.kind = ADDR_INDEX;
        a.base[0] = window;
        for (int h = 0; h < 2; h++)
            a.index[h] = narrow_vec(g, a.index[h]);
        return a;
    }
    a.kind = ADDR_V;
    return a;
}

static struct addr addr_of(struct gen *g, const struct ir_instr *in)
{
    if (in->mem.space == IR_SPACE_LOCAL)
        return addr_local(g, in);
    LLVMValueRef window = window_base(g, in->mem.space);
    struct gen_val v = gen_get(g, in->src[0]);
    struct addr a = {.offset = in->mem.offset};
    switch (v.kind) {
    case IR_SHAPE_UNIFORM:
        a.kind = ADDR_U;
        a.base[0] = window ? add64(g, window, widen(g, v.c[0])) : widen(g, v.c[0]);
        return a;
    case IR_SHAPE_AFFINE:
        a.kind = ADDR_A;
        a.stride = v.stride;
        for (int h = 0; h < 2; h++)
            a.base[h] = window ? add64(g, window, widen(g, v.c[h])) : widen(g, v.c[h]);
        return a;
    case IR_SHAPE_BASE_INDEX:
        return addr_indexed(g, in, v, window);
    default:
        return addr_varying(g, in, v, window);
    }
}

/* ---- alignment: a misaligned access is an error on a GPU, so it is one here */

static LLVMValueRef misaligned(struct gen *g, LLVMValueRef base, int64_t offset, uint64_t size_B)
{
    LLVMValueRef x = base;
    if ((uint64_t)offset & (size_B - 1))
        x = add64(g, x, gen_i64(g, (uint64_t)offset));
    x = LLVMBuildAnd(g->b, x, gen_i64(g, size_B - 1), "");
    return LLVMBuildICmp(g->b, LLVMIntNE, x, gen_i64(g, 0), "");
}

static LLVMValueRef half_active(struct gen *g, int h)
{
    if (!g->mask[h])
        return gen_ci(g->t_i1, 1);
    return LLVMBuildICmp(g->b, LLVMIntNE, gen_mask_bits(g, h), gen_ci(g->t_i16, 0), "");
}

static LLVMValueRef vector_misaligned(struct gen *g, LLVMValueRef lanes, LLVMValueRef mask,
                                      uint64_t size_B)
{
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(lanes));
    LLVMValueRef x = LLVMBuildAnd(g->b, lanes, gen_splat_const(g, elem, size_B - 1), "");
    x = LLVMBuildICmp(g->b, LLVMIntNE, x, gen_splat_const(g, elem, 0), "");
    x = LLVMBuildAnd(g->b, x, mask, "");
    return LLVMBuildICmp(g->b, LLVMIntNE, gen_bits16(g, x), gen_ci(g->t_i16, 0), "");
}

static void check_index_align(struct gen *g, const struct addr *a, uint64_t size_B)
{
    gen_fault_if(g, misaligned(g, a->base[0], a->offset, size_B), HD_MISALIGNED, a->base[0]);
    if ((uint64_t)a->scale % size_B == 0)
        return;
    for (int h = 0; h < 2; h++) {
        LLVMValueRef x =
            LLVMBuildMul(g->b, a->index[h], gen_splat_const(g, g->t_i32, (uint64_t)a->scale), "");
        gen_fault_if(g, vector_misaligned(g, x, gen_mask_or_full(g, h), size_B), HD_MISALIGNED,
                     a->base[0]);
    }
}

static void check_align(struct gen *g, const struct ir_instr *in, const struct addr *a,
                        uint64_t size_B)
{
    const struct ir_shape *s = gen_shape(g, in->src[0]);
    bool offset_ok = !((uint64_t)in->mem.offset & (size_B - 1));
    bool window_ok = in->mem.space != IR_SPACE_LOCAL;
    if (size_B == 1)
        return;
    switch (a->kind) {
    case ADDR_U:
        if (!(offset_ok && s->align >= size_B && window_ok))
            gen_fault_if(g, misaligned(g, a->base[0], a->offset, size_B), HD_MISALIGNED,
                         a->base[0]);
        return;
    case ADDR_A:
        if (offset_ok && s->kind == IR_SHAPE_AFFINE && s->align >= size_B &&
            (uint64_t)a->stride % size_B == 0)
            return;
        for (int h = 0; h < 2; h++) {
            LLVMValueRef bad = misaligned(g, a->base[h], a->offset, size_B);
            bad = LLVMBuildAnd(g->b, bad, half_active(g, h), "");
            gen_fault_if(g, bad, HD_MISALIGNED, a->base[h]);
        }
        return;
    case ADDR_INDEX:
        check_index_align(g, a, size_B);
        return;
    case ADDR_V:
        for (int h = 0; h < 2; h++) {
            LLVMValueRef x = a->index[h];
            if (!offset_ok)
                x = LLVMBuildAdd(g->b, x, gen_splat_const(g, g->t_i64, (uint64_t)a->offset), "");
            gen_fault_if(g, vector_misaligned(g, x, gen_mask_or_full(g, h), size_B), HD_MISALIGNED,
                         LLVMBuildExtractElement(g->b, x, gen_i32(g, 0), ""));
        }
        return;
    }
}

/* ---- lane addresses */

/* <16 x ptr> of half h, `more` bytes further. */
static LLVMValueRef lane_ptrs(struct gen *g, const struct addr *a, int h, int64_t more)
{
    LLVMTypeRef v64 = gen_vec(g, g->t_i64);
    int64_t offset = a->offset + more;
    if (a->kind == ADDR_V) {
        LLVMValueRef x = a->index[h];
        if (offset)
            x = LLVMBuildAdd(g->b, x, gen_splat_const(g, g->t_i64, (uint64_t)offset), "");
        return LLVMBuildIntToPtr(g->b, x, gen_vec(g, g->t_ptr), "");
    }
    if (a->kind == ADDR_U || a->kind == ADDR_A) {
        LLVMValueRef base = ptr_at(g, a->kind == ADDR_U ? a->base[0] : a->base[h], offset);
        LLVMValueRef steps = gen_lanes(g, g->t_i64, a->kind == ADDR_U ? 0 : a->stride);
        return LLVMBuildGEP2(g->b, g->t_i8, base, &steps, 1, "");
    }
    LLVMTypeRef unit = a->scale == 1   ? g->t_i8
                       : a->scale == 2 ? g->t_i16
                       : a->scale == 4 ? g->t_i32
                       : a->scale == 8 ? g->t_i64
                                       : NULL;
    LLVMValueRef base = a->base[0];
    LLVMValueRef index = a->index[h];
    if (unit && !a->index_signed) {
        /* zext(i) = sext(i ^ 2^31) + 2^31: keeps the 32-bit index form */
        base = add64(g, base, gen_i64(g, (uint64_t)a->scale << 31));
        index = LLVMBuildXor(g->b, index, gen_splat_const(g, g->t_i32, 0x80000000u), "");
    }
    LLVMValueRef p = ptr_at(g, base, offset);
    if (unit)
        return LLVMBuildGEP2(g->b, unit, p, &index, 1, "");
    index =
        a->index_signed ? LLVMBuildSExt(g->b, index, v64, "") : LLVMBuildZExt(g->b, index, v64, "");
    index = LLVMBuildMul(g->b, index, gen_splat_const(g, g->t_i64, (uint64_t)a->scale), "");
    return LLVMBuildGEP2(g->b, g->t_i8, p, &index, 1, "");
}

/* The lanes' addresses as i64 vectors, for atomics. */
void gen_lane_addresses(struct gen *g, const struct ir_instr *in, LLVMValueRef out[2])
{
    struct addr a = addr_of(g, in);
    if (a.wraps)
        addr_to_index(g, &a, in);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    check_align(g, in, &a, size_B);
    for (int h = 0; h < 2; h++)
        out[h] = LLVMBuildPtrToInt(g->b, lane_ptrs(g, &a, h, 0), gen_vec(g, g->t_i64), "");
}

/* ---- loads */

static LLVMValueRef masked_load(struct gen *g, LLVMTypeRef vt, LLVMValueRef ptr, LLVMValueRef mask,
                                unsigned align)
{
    if (!mask) {
        LLVMValueRef x = LLVMBuildLoad2(g->b, vt, ptr, "");
        LLVMSetAlignment(x, align);
        return x;
    }
    LLVMTypeRef over[] = {vt, g->t_ptr};
    LLVMValueRef args[] = {ptr, gen_i32(g, align), mask, LLVMConstNull(vt)};
    return gen_intrinsic(g, "llvm.masked.load", over, 2, args, 4);
}

static LLVMValueRef gather(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs, int h,
                           unsigned align)
{
    LLVMTypeRef vt = gen_vec(g, elem);
    LLVMTypeRef over[] = {vt, LLVMTypeOf(ptrs)};
    LLVMValueRef args[] = {ptrs, gen_i32(g, align), gen_mask_or_full(g, h), LLVMConstNull(vt)};
    return gen_intrinsic(g, "llvm.masked.gather", over, 2, args, 4);
}

/* Bytes and halfwords: gather the dword around each (it cannot cross a page) and shift. */
static LLVMValueRef gather_small(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs, int h,
                                 uint64_t size_B)
{
    LLVMTypeRef v64 = gen_vec(g, g->t_i64), v32 = gen_vec(g, g->t_i32);
    if (!g->avx512)
        return gather(g, elem, ptrs, h, (unsigned)size_B);
    LLVMValueRef x = LLVMBuildPtrToInt(g->b, ptrs, v64, "");
    LLVMValueRef low =
        LLVMBuildAnd(g->b, LLVMBuildTrunc(g->b, x, v32, ""), gen_splat_const(g, g->t_i32, 3), "");
    x = LLVMBuildAnd(g->b, x, gen_splat_const(g, g->t_i64, ~3ull), "");
    ptrs = LLVMBuildIntToPtr(g->b, x, gen_vec(g, g->t_ptr), "");
    LLVMValueRef words = gather(g, g->t_i32, ptrs, h, 4);
    low = LLVMBuildShl(g->b, low, gen_splat_const(g, g->t_i32, 3), "");
    words = LLVMBuildLShr(g->b, words, low, "");
    return LLVMBuildTrunc(g->b, words, gen_vec(g, elem), "");
}

/* The half's own address, or the other half's when none of its lanes runs (its own may be
 * garbage). */
static LLVMValueRef safe_half(struct gen *g, const struct addr *a, int h)
{
    if (!g->mask[h])
        return a->base[h];
    return LLVMBuildSelect(g->b, half_active(g, h), a->base[h], a->base[!h], "");
}

static bool is_contiguous(const struct addr *a, uint64_t bytes)
{
    return a->kind == ADDR_A && a->stride == (int64_t)bytes;
}

/* ld.v2/.v4 of consecutive lanes: whole vectors, then take every n-th element. */
static void load_interleaved(struct gen *g, const struct addr *a, LLVMTypeRef elem, unsigned n,
                             LLVMValueRef out[][2], unsigned align)
{
    LLVMTypeRef wide = LLVMVectorType(elem, GEN_LANES * n);
    for (int h = 0; h < 2; h++) {
        LLVMValueRef x = LLVMBuildLoad2(g->b, wide, ptr_at(g, a->base[h], a->offset), "");
        LLVMSetAlignment(x, align);
        for (unsigned j = 0; j < n; j++) {
            LLVMValueRef pick[GEN_LANES];
            for (unsigned l = 0; l < GEN_LANES; l++)
                pick[l] = gen_i32(g, l * n + j);
            out[j][h] = LLVMBuildShuffleVector(g->b, x, LLVMGetPoison(wide),
                                               LLVMConstVector(pick, GEN_LANES), "");
        }
    }
}

/* Every lane is active and the lanes are a constant distance apart. */
static void load_full(struct gen *g, const struct addr *a, LLVMTypeRef elem, uint64_t size_B,
                      unsigned n, LLVMValueRef out[][2])
{
    if (n > 1 && is_contiguous(a, size_B * n)) {
        load_interleaved(g, a, elem, n, out, (unsigned)size_B);
        return;
    }
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            LLVMValueRef ptr = ptr_at(g, a->base[h], a->offset + (int64_t)(j * size_B));
            out[j][h] = gen_load_strided(g, elem, ptr, a->stride, size_B);
        }
    }
}

static void load_masked(struct gen *g, const struct addr *a, LLVMTypeRef elem, uint64_t size_B,
                        unsigned n, LLVMValueRef out[][2])
{
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            int64_t more = (int64_t)(j * size_B);
            if (is_contiguous(a, size_B)) {
                out[j][h] =
                    masked_load(g, gen_vec(g, elem), ptr_at(g, a->base[h], a->offset + more),
                                g->mask[h], (unsigned)size_B);
                continue;
            }
            LLVMValueRef ptrs = lane_ptrs(g, a, h, more);
            out[j][h] = size_B < 4 ? gather_small(g, elem, ptrs, h, size_B)
                                   : gather(g, elem, ptrs, h, (unsigned)size_B);
        }
    }
}

static LLVMValueRef all_active(struct gen *g)
{
    LLVMValueRef both = LLVMBuildAnd(g->b, gen_mask_bits(g, 0), gen_mask_bits(g, 1), "");
    return LLVMBuildICmp(g->b, LLVMIntEQ, both, gen_ci(g->t_i16, 0xffff), "");
}

static void load_join(struct gen *g, unsigned n, LLVMValueRef a[][2], LLVMBasicBlockRef a_end,
                      LLVMValueRef b[][2], LLVMBasicBlockRef b_end, LLVMValueRef out[][2])
{
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(a[j][h]), "");
            LLVMValueRef vals[] = {a[j][h], b[j][h]};
            LLVMBasicBlockRef from[] = {a_end, b_end};
            LLVMAddIncoming(phi, vals, from, 2);
            out[j][h] = phi;
        }
    }
}

static void load_lanes(struct gen *g, const struct addr *a, LLVMTypeRef elem, uint64_t size_B,
                       unsigned n, LLVMValueRef out[][2])
{
    if (a->kind != ADDR_A || is_contiguous(a, size_B)) {
        load_masked(g, a, elem, size_B, n, out);
        return;
    }
    if (!g->mask[0] && !g->mask[1]) {
        load_full(g, a, elem, size_B, n, out);
        return;
    }
    LLVMBasicBlockRef full = gen_bb(g, "full"), part = gen_bb(g, "part"), join = gen_bb(g, "both");
    LLVMValueRef x[8][2], y[8][2];
    LLVMBuildCondBr(g->b, all_active(g), full, part);
    LLVMPositionBuilderAtEnd(g->b, full);
    load_full(g, a, elem, size_B, n, x);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, part);
    load_masked(g, a, elem, size_B, n, y);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    load_join(g, n, x, full, y, part, out);
}

/* Both forms of an access whose index might wrap, chosen at run time. */
static void load_either(struct gen *g, const struct ir_instr *in, struct addr *a, LLVMTypeRef elem,
                        uint64_t size_B, unsigned n, LLVMValueRef out[][2])
{
    LLVMBasicBlockRef fast = gen_bb(g, "fast"), slow = gen_bb(g, "slow"), join = gen_bb(g, "join");
    LLVMValueRef a_out[8][2], b_out[8][2];
    struct addr idx = *a;
    addr_to_index(g, &idx, in); /* before the branch; LLVM sinks it into the cold side */
    gen_cond_br_cold(g, a->wraps, slow, fast);
    LLVMPositionBuilderAtEnd(g->b, fast);
    load_lanes(g, a, elem, size_B, n, a_out);
    LLVMBasicBlockRef fast_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, slow);
    load_lanes(g, &idx, elem, size_B, n, b_out);
    LLVMBasicBlockRef slow_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    load_join(g, n, a_out, fast_end, b_out, slow_end, out);
}

static bool load_is_volatile(const struct ir_instr *in)
{
    return in->mem.sem != IR_SEM_WEAK;
}

static LLVMValueRef load_scalar(struct gen *g, const struct ir_instr *in, LLVMTypeRef elem,
                                LLVMValueRef base, int64_t offset, uint64_t size_B)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, elem, ptr_at(g, base, offset), "");
    LLVMSetAlignment(x, (unsigned)size_B);
    if (load_is_volatile(in)) {
        LLVMSetVolatile(x, true);
        if (in->mem.sem != IR_SEM_VOLATILE && size_B <= 8)
            LLVMSetOrdering(x, LLVMAtomicOrderingAcquire);
    } else if (in->mem.space == IR_SPACE_PARAM || in->mem.space == IR_SPACE_CONST) {
        LLVMSetMetadata(x, g->md_invariant,
                        LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, NULL, 0)));
    }
    return x;
}

static bool contiguous_matters(const struct addr *a, uint64_t size_B, unsigned n)
{
    return is_contiguous(a, size_B) || (n > 1 && is_contiguous(a, size_B * n));
}

void gen_load(struct gen *g, const struct ir_instr *in)
{
    if (gen_pattern_load(g, in) || gen_strong_load(g, in))
        return;
    unsigned n = in->mem.vec ? in->mem.vec : 1;
    LLVMTypeRef elem = gen_scalar_type(g, in->type);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    struct addr a = addr_of(g, in);
    if (a.wraps && !contiguous_matters(&a, size_B, n))
        addr_to_index(g, &a, in);
    check_align(g, in, &a, size_B * n);
    if (!a.wraps)
        addr_guess(g, in, &a, size_B * n);
    LLVMValueRef out[8][2];
    if (a.kind == ADDR_U) {
        for (unsigned j = 0; j < n; j++)
            gen_set(g, in->dst[j],
                    gen_u(load_scalar(g, in, elem, a.base[0], a.offset + (int64_t)(j * size_B),
                                      size_B)));
        return;
    }
    if (a.kind == ADDR_A && a.stride == 0 && !a.wraps) {
        LLVMValueRef base[2] = {safe_half(g, &a, 0), safe_half(g, &a, 1)};
        for (unsigned j = 0; j < n; j++) {
            int64_t offset = a.offset + (int64_t)(j * size_B);
            LLVMValueRef x0 = load_scalar(g, in, elem, base[0], offset, size_B);
            LLVMValueRef x1 = load_scalar(g, in, elem, base[1], offset, size_B);
            gen_set(g, in->dst[j], gen_a(x0, x1, 0));
        }
        return;
    }
    if (a.kind == ADDR_A)
        gen_prefetch_next(g, in, a.base, a.offset);
    if (a.wraps)
        load_either(g, in, &a, elem, size_B, n, out);
    else
        load_lanes(g, &a, elem, size_B, n, out);
    for (unsigned j = 0; j < n; j++)
        gen_set(g, in->dst[j], gen_v(out[j][0], out[j][1]));
}

/* ---- stores */

static void masked_store(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef mask,
                         unsigned align)
{
    if (!mask) {
        LLVMSetAlignment(LLVMBuildStore(g->b, x, ptr), align);
        return;
    }
    LLVMTypeRef over[] = {LLVMTypeOf(x), g->t_ptr};
    LLVMValueRef args[] = {x, ptr, gen_i32(g, align), mask};
    gen_intrinsic(g, "llvm.masked.store", over, 2, args, 4);
}

static void scatter(struct gen *g, LLVMValueRef x, LLVMValueRef ptrs, int h, unsigned align)
{
    LLVMTypeRef over[] = {LLVMTypeOf(x), LLVMTypeOf(ptrs)};
    LLVMValueRef args[] = {x, ptrs, gen_i32(g, align), gen_mask_or_full(g, h)};
    gen_intrinsic(g, "llvm.masked.scatter", over, 2, args, 4);
}

static void store_interleaved(struct gen *g, const struct addr *a, LLVMValueRef x[][2], unsigned n,
                              unsigned align)
{
    for (int h = 0; h < 2; h++) {
        LLVMValueRef all = x[0][h];
        for (unsigned j = 1, have = GEN_LANES; j < n; j++, have += GEN_LANES) {
            /* Widen the new piece to the length so far, then append. */
            LLVMValueRef ext[64 * 2], cat[64 * 2];
            for (unsigned l = 0; l < have; l++)
                ext[l] = gen_i32(g, l < GEN_LANES ? l : 0);
            LLVMValueRef piece = x[j][h];
            if (have > GEN_LANES)
                piece = LLVMBuildShuffleVector(g->b, piece, LLVMGetPoison(LLVMTypeOf(piece)),
                                               LLVMConstVector(ext, have), "");
            for (unsigned l = 0; l < have + GEN_LANES; l++)
                cat[l] = gen_i32(g, l);
            all = LLVMBuildShuffleVector(g->b, all, piece, LLVMConstVector(cat, have + GEN_LANES),
                                         "");
        }
        LLVMValueRef order[64 * 2];
        for (unsigned l = 0; l < GEN_LANES; l++) {
            for (unsigned j = 0; j < n; j++)
                order[l * n + j] = gen_i32(g, j * GEN_LANES + l);
        }
        all = LLVMBuildShuffleVector(g->b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                     LLVMConstVector(order, GEN_LANES * n), "");
        LLVMSetAlignment(LLVMBuildStore(g->b, all, ptr_at(g, a->base[h], a->offset)), align);
    }
}

static void store_masked(struct gen *g, const struct addr *a, LLVMValueRef x[][2], uint64_t size_B,
                         unsigned n)
{
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            int64_t more = (int64_t)(j * size_B);
            if (is_contiguous(a, size_B))
                masked_store(g, x[j][h], ptr_at(g, a->base[h], a->offset + more), g->mask[h],
                             (unsigned)size_B);
            else
                scatter(g, x[j][h], lane_ptrs(g, a, h, more), h, (unsigned)size_B);
        }
    }
}

static void store_lanes(struct gen *g, const struct addr *a, LLVMValueRef x[][2], uint64_t size_B,
                        unsigned n)
{
    if (n == 1 || !is_contiguous(a, size_B * n)) {
        store_masked(g, a, x, size_B, n);
        return;
    }
    if (!g->mask[0] && !g->mask[1]) {
        store_interleaved(g, a, x, n, (unsigned)size_B);
        return;
    }
    LLVMBasicBlockRef full = gen_bb(g, "full"), part = gen_bb(g, "part"), join = gen_bb(g, "both");
    LLVMBuildCondBr(g->b, all_active(g), full, part);
    LLVMPositionBuilderAtEnd(g->b, full);
    store_interleaved(g, a, x, n, (unsigned)size_B);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, part);
    store_masked(g, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

static void store_either(struct gen *g, const struct ir_instr *in, const struct addr *a,
                         LLVMValueRef x[][2], uint64_t size_B, unsigned n)
{
    LLVMBasicBlockRef fast = gen_bb(g, "fast"), slow = gen_bb(g, "slow"), join = gen_bb(g, "join");
    struct addr idx = *a;
    addr_to_index(g, &idx, in);
    gen_cond_br_cold(g, a->wraps, slow, fast);
    LLVMPositionBuilderAtEnd(g->b, fast);
    store_lanes(g, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, slow);
    store_lanes(g, &idx, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

/* All lanes store to one place: the last one's value stays. */
static void store_uniform(struct gen *g, const struct ir_instr *in, const struct addr *a,
                          uint64_t size_B, unsigned n)
{
    for (unsigned j = 0; j < n; j++) {
        int64_t more = (int64_t)(j * size_B);
        struct gen_val v = gen_get(g, in->src[1 + j]);
        LLVMValueRef x[2] = {v.c[0], NULL};
        if (v.kind != IR_SHAPE_UNIFORM) {
            gen_vector_of(g, v, in->src[1 + j]->type, x);
            x[0] = gen_pick_last(g, x);
        }
        LLVMValueRef st = LLVMBuildStore(g->b, x[0], ptr_at(g, a->base[0], a->offset + more));
        LLVMSetAlignment(st, (unsigned)size_B);
        if (in->mem.sem != IR_SEM_WEAK) {
            LLVMSetVolatile(st, true);
            if (in->mem.sem != IR_SEM_VOLATILE && size_B <= 8)
                LLVMSetOrdering(st, LLVMAtomicOrderingRelease);
        }
    }
}

void gen_store(struct gen *g, const struct ir_instr *in)
{
    if (gen_pattern_store(g, in) || gen_strong_store(g, in))
        return;
    unsigned n = in->mem.vec ? in->mem.vec : 1;
    uint64_t size_B = ir_type_bits(in->type) / 8;
    struct addr a = addr_of(g, in);
    if (a.wraps && !contiguous_matters(&a, size_B, n))
        addr_to_index(g, &a, in);
    check_align(g, in, &a, size_B * n);
    if (!a.wraps)
        addr_guess(g, in, &a, size_B * n);
    if (a.kind == ADDR_U) {
        store_uniform(g, in, &a, size_B, n);
        return;
    }
    LLVMValueRef x[8][2];
    for (unsigned j = 0; j < n; j++)
        gen_vector(g, in->src[1 + j], x[j]);
    if (a.wraps)
        store_either(g, in, &a, x, size_B, n);
    else
        store_lanes(g, &a, x, size_B, n);
}
