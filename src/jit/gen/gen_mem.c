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
 * has both forms.
 */
#include "jit/gen/gen_access.h"
#include "jit/gen/gen_flow.h"
#include "jit/gen/gen_lanes.h"

#include <assert.h>

enum { WIDEST = 128 }; /* elements of a vector access */

/* ---- loads */

/* Bytes and halfwords where dwords can be gathered: the dword around each (it cannot cross a page),
 * shifted. */
static LLVMValueRef gather_any(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs, int h,
                               uint64_t size_B, bool strong)
{
    LLVMTypeRef v64 = gen_vec(g, g->t->i64), v32 = gen_vec(g, g->t->i32);
    if (size_B >= 4 || !gen_lanes_native(g, 4))
        return gen_gather(g, elem, ptrs, g->mask[h], size_B, strong);
    LLVMValueRef x = LLVMBuildPtrToInt(g->b, ptrs, v64, "");
    LLVMValueRef low =
        LLVMBuildAnd(g->b, LLVMBuildTrunc(g->b, x, v32, ""), gen_splat_const(g, g->t->i32, 3), "");
    x = LLVMBuildAnd(g->b, x, gen_splat_const(g, g->t->i64, ~3ull), "");
    ptrs = LLVMBuildIntToPtr(g->b, x, gen_vec(g, g->t->ptr), "");
    LLVMValueRef words = gen_gather(g, g->t->i32, ptrs, g->mask[h], 4, strong);
    low = LLVMBuildShl(g->b, low, gen_splat_const(g, g->t->i32, 3), "");
    words = LLVMBuildLShr(g->b, words, low, "");
    return LLVMBuildTrunc(g->b, words, gen_vec(g, elem), "");
}

/* The half's own address, or the other half's when none of its lanes runs (its own may be
 * garbage). */
static LLVMValueRef safe_half(struct gen *g, const struct gen_access *a, int h)
{
    if (!g->mask[h])
        return a->base[h];
    return LLVMBuildSelect(g->b, gen_half_active(g, h), a->base[h], a->base[!h], "");
}

static bool is_contiguous(const struct gen_access *a, uint64_t bytes)
{
    return a->kind == GEN_ACCESS_A && a->stride == (int64_t)bytes;
}

/* ld.v2/.v4 of consecutive lanes: whole vectors, then take every n-th element. */
static void load_interleaved(struct gen *g, const struct gen_access *a, LLVMTypeRef elem,
                             unsigned n, LLVMValueRef out[][2], unsigned align)
{
    LLVMTypeRef wide = LLVMVectorType(elem, gen_half_lanes(g) * n);
    for (int h = 0; h < 2; h++) {
        LLVMValueRef x = LLVMBuildLoad2(g->b, wide, gen_ptr_at(g, a->base[h], a->offset), "");
        LLVMSetAlignment(x, align);
        for (unsigned j = 0; j < n; j++) {
            LLVMValueRef pick[GEN_LANES_MAX];
            for (unsigned l = 0; l < gen_half_lanes(g); l++)
                pick[l] = gen_i32(g, l * n + j);
            out[j][h] = LLVMBuildShuffleVector(g->b, x, LLVMGetPoison(wide),
                                               LLVMConstVector(pick, gen_half_lanes(g)), "");
        }
    }
}

/* Every lane is active and the lanes are a constant distance apart. */
static void load_full(struct gen *g, const struct gen_access *a, LLVMTypeRef elem, uint64_t size_B,
                      unsigned n, LLVMValueRef out[][2])
{
    if (n > 1 && is_contiguous(a, size_B * n)) {
        load_interleaved(g, a, elem, n, out, (unsigned)size_B);
        return;
    }
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            LLVMValueRef ptr = gen_ptr_at(g, a->base[h], a->offset + (int64_t)(j * size_B));
            out[j][h] = gen_load_strided(g, elem, ptr, a->stride, size_B);
        }
    }
}

static void load_masked(struct gen *g, const struct gen_access *a, LLVMTypeRef elem,
                        uint64_t size_B, unsigned n, LLVMValueRef out[][2])
{
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            int64_t more = (int64_t)(j * size_B);
            if (is_contiguous(a, size_B)) {
                out[j][h] = gen_masked_load(g, elem, gen_ptr_at(g, a->base[h], a->offset + more),
                                            g->mask[h], size_B);
                continue;
            }
            LLVMValueRef ptrs = gen_access_lanes(g, a, h, more);
            out[j][h] = gather_any(g, elem, ptrs, h, size_B, a->strong);
        }
    }
}

static void load_join(struct gen *g, unsigned n, LLVMValueRef a[][2], LLVMBasicBlockRef a_end,
                      LLVMValueRef b[][2], LLVMBasicBlockRef b_end, LLVMValueRef out[][2])
{
    assert(LLVMGetBasicBlockTerminator(a_end) && LLVMGetBasicBlockTerminator(b_end));
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

static void load_lanes(struct gen *g, const struct gen_access *a, LLVMTypeRef elem, uint64_t size_B,
                       unsigned n, LLVMValueRef out[][2])
{
    if (a->kind != GEN_ACCESS_A || is_contiguous(a, size_B)) {
        load_masked(g, a, elem, size_B, n, out);
        return;
    }
    if (!gen_does(g, GEN_PASS_STRIDED)) {
        load_masked(g, a, elem, size_B, n, out);
        return;
    }
    if (!g->mask[0] && !g->mask[1]) {
        load_full(g, a, elem, size_B, n, out);
        return;
    }
    LLVMBasicBlockRef full = gen_bb(g, "full"), part = gen_bb(g, "part"), join = gen_bb(g, "both");
    LLVMValueRef x[8][2], y[8][2];
    LLVMBuildCondBr(g->b, gen_all_active(g), full, part);
    LLVMPositionBuilderAtEnd(g->b, full);
    load_full(g, a, elem, size_B, n, x);
    LLVMBasicBlockRef full_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, part);
    load_masked(g, a, elem, size_B, n, y);
    LLVMBasicBlockRef part_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    load_join(g, n, x, full_end, y, part_end, out);
}

/* In shared memory layouts keep neighbours apart, and nothing is gained by finding some. */
static bool are_shared_pieces(const struct gen *g, const struct ir_instr *in,
                              const struct gen_access *a)
{
    return ir_space_is_shared(in->mem.space) && gen_are_pieces(g, in, a);
}

/* Lanes whose addresses may be anything, or are neighbours. */
static void load_unlike(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                        LLVMTypeRef elem, uint64_t size_B, unsigned n, LLVMValueRef out[][2])
{
    if (gen_are_pieces(g, in, a))
        gen_pieces_load(g, a, elem, n, out);
    else
        load_lanes(g, a, elem, size_B, n, out);
}

/* Both forms of an access whose index might wrap, chosen at run time. */
static void load_either(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                        LLVMTypeRef elem, uint64_t size_B, unsigned n, LLVMValueRef out[][2])
{
    assert(a->wraps && gen_is_one(g, a->wraps));
    LLVMBasicBlockRef fast = gen_bb(g, "fast"), slow = gen_bb(g, "slow"), join = gen_bb(g, "join");
    LLVMValueRef a_out[8][2], b_out[8][2];
    struct gen_access idx = *a;
    gen_access_to_index(g, &idx, in); /* before the branch; LLVM sinks it into the cold side */
    gen_cond_br_cold(g, a->wraps, slow, fast);
    LLVMPositionBuilderAtEnd(g->b, fast);
    load_lanes(g, a, elem, size_B, n, a_out);
    LLVMBasicBlockRef fast_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, slow);
    gen_access_stray(g, &idx, size_B * n);
    load_unlike(g, in, &idx, elem, size_B, n, b_out);
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
                                LLVMValueRef ptr, uint64_t size_B)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, elem, ptr, "");
    LLVMSetAlignment(x, (unsigned)size_B);
    if (load_is_volatile(in)) {
        LLVMSetVolatile(x, true);
        if (in->mem.sem != IR_SEM_VOLATILE && size_B <= 8)
            LLVMSetOrdering(x, LLVMAtomicOrderingAcquire);
    } else if (in->mem.space == IR_SPACE_PARAM || in->mem.space == IR_SPACE_CONST) {
        LLVMSetMetadata(
            x, g->unit->md_invariant,
            LLVMMetadataAsValue(g->unit->ctx, LLVMMDNodeInContext2(g->unit->ctx, NULL, 0)));
    }
    return x;
}

static void load_uniform(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                         LLVMTypeRef elem, uint64_t size_B, unsigned n)
{
    assert(a->kind == GEN_ACCESS_U && n == in->ndst);
    LLVMValueRef slot = gen_once_slot(g, in);
    for (unsigned j = 0; j < n; j++) {
        LLVMValueRef ptr = gen_ptr_at(g, a->base[0], a->offset + (int64_t)(j * size_B));
        LLVMValueRef x =
            load_scalar(g, in, elem, slot ? gen_once_from(g, slot, j, ptr) : ptr, size_B);
        if (slot)
            gen_once_keep(g, slot, j, x);
        gen_set(g, in->dst[j], gen_u(x));
    }
    if (slot)
        gen_once_filled(g, slot);
}

static bool contiguous_matters(const struct gen_access *a, uint64_t size_B, unsigned n)
{
    return is_contiguous(a, size_B) || (n > 1 && is_contiguous(a, size_B * n));
}

/* Lanes close together, which a few vectors hold: worth a test for wrapping as well. */
static bool is_strided(const struct gen *g, const struct gen_access *a, uint64_t size_B)
{
    return gen_does(g, GEN_PASS_STRIDED) && a->kind == GEN_ACCESS_A && !a->strong &&
           gen_is_spread(g, a->stride, size_B);
}

void gen_load(struct gen *g, const struct ir_instr *in)
{
    if (gen_pattern_load(g, in) || gen_strong_load(g, in))
        return;
    unsigned n = in->mem.vec ? in->mem.vec : 1;
    if (n * gen_half_lanes(g) > WIDEST && gen_singly(g))
        n = 1; /* it is made again */
    assert(in->op == IR_OP_LD && in->ndst == n && n <= 8);
    LLVMTypeRef elem = gen_scalar_type(g, in->type);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps && !contiguous_matters(&a, size_B, n) && !is_strided(g, &a, size_B))
        gen_access_to_index(g, &a, in);
    if (!a.wraps && !are_shared_pieces(g, in, &a))
        gen_access_guess(g, in, &a, size_B * n);
    gen_access_check(g, in, &a, size_B * n);
    LLVMValueRef out[8][2];
    if (a.kind == GEN_ACCESS_U) {
        load_uniform(g, in, &a, elem, size_B, n);
        return;
    }
    if (a.kind == GEN_ACCESS_A && a.stride == 0 && !a.wraps) {
        LLVMValueRef base[2] = {safe_half(g, &a, 0), safe_half(g, &a, 1)};
        for (unsigned j = 0; j < n; j++) {
            int64_t offset = a.offset + (int64_t)(j * size_B);
            LLVMValueRef x0 = load_scalar(g, in, elem, gen_ptr_at(g, base[0], offset), size_B);
            LLVMValueRef x1 = load_scalar(g, in, elem, gen_ptr_at(g, base[1], offset), size_B);
            gen_set(g, in->dst[j], gen_a(x0, x1, 0));
        }
        return;
    }
    if (a.kind == GEN_ACCESS_A)
        gen_prefetch_next(g, in, a.base, a.offset);
    if (a.wraps)
        load_either(g, in, &a, elem, size_B, n, out);
    else
        load_unlike(g, in, &a, elem, size_B, n, out);
    for (unsigned j = 0; j < n; j++)
        gen_set(g, in->dst[j], gen_v(out[j][0], out[j][1]));
}

/* ---- stores */

static void store_interleaved(struct gen *g, const struct gen_access *a, LLVMValueRef x[][2],
                              unsigned n, unsigned align)
{
    unsigned lanes = gen_half_lanes(g);
    assert(lanes * n <= WIDEST);
    for (int h = 0; h < 2; h++) {
        LLVMValueRef all = x[0][h];
        for (unsigned j = 1, have = lanes; j < n; j++, have += lanes) {
            /* Widen the new piece to the length so far, then append. */
            LLVMValueRef ext[WIDEST], cat[WIDEST];
            for (unsigned l = 0; l < have; l++)
                ext[l] = gen_i32(g, l < lanes ? l : 0);
            LLVMValueRef piece = x[j][h];
            if (have > lanes)
                piece = LLVMBuildShuffleVector(g->b, piece, LLVMGetPoison(LLVMTypeOf(piece)),
                                               LLVMConstVector(ext, have), "");
            for (unsigned l = 0; l < have + lanes; l++)
                cat[l] = gen_i32(g, l);
            all = LLVMBuildShuffleVector(g->b, all, piece, LLVMConstVector(cat, have + lanes), "");
        }
        LLVMValueRef order[WIDEST];
        for (unsigned l = 0; l < lanes; l++) {
            for (unsigned j = 0; j < n; j++)
                order[l * n + j] = gen_i32(g, j * lanes + l);
        }
        all = LLVMBuildShuffleVector(g->b, all, LLVMGetPoison(LLVMTypeOf(all)),
                                     LLVMConstVector(order, lanes * n), "");
        LLVMSetAlignment(LLVMBuildStore(g->b, all, gen_ptr_at(g, a->base[h], a->offset)), align);
    }
}

static void store_masked(struct gen *g, const struct gen_access *a, LLVMValueRef x[][2],
                         uint64_t size_B, unsigned n)
{
    bool strided = is_strided(g, a, size_B);
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < 2; h++) {
            int64_t more = (int64_t)(j * size_B);
            if (is_contiguous(a, size_B))
                gen_masked_store(g, x[j][h], gen_ptr_at(g, a->base[h], a->offset + more),
                                 g->mask[h], size_B);
            else if (strided)
                gen_store_strided(g, x[j][h], gen_ptr_at(g, a->base[h], a->offset + more),
                                  g->mask[h], a->stride, size_B);
            else
                gen_scatter(g, x[j][h], gen_access_lanes(g, a, h, more), g->mask[h], size_B,
                            a->strong);
        }
    }
}

static void store_lanes(struct gen *g, const struct gen_access *a, LLVMValueRef x[][2],
                        uint64_t size_B, unsigned n)
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
    LLVMBuildCondBr(g->b, gen_all_active(g), full, part);
    LLVMPositionBuilderAtEnd(g->b, full);
    store_interleaved(g, a, x, n, (unsigned)size_B);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, part);
    store_masked(g, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

static void store_unlike(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                         LLVMValueRef x[][2], uint64_t size_B, unsigned n)
{
    if (gen_are_pieces(g, in, a))
        gen_pieces_store(g, a, x, n);
    else
        store_lanes(g, a, x, size_B, n);
}

static void store_either(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                         LLVMValueRef x[][2], uint64_t size_B, unsigned n)
{
    assert(a->wraps && gen_is_one(g, a->wraps));
    LLVMBasicBlockRef fast = gen_bb(g, "fast"), slow = gen_bb(g, "slow"), join = gen_bb(g, "join");
    struct gen_access idx = *a;
    gen_access_to_index(g, &idx, in);
    gen_cond_br_cold(g, a->wraps, slow, fast);
    LLVMPositionBuilderAtEnd(g->b, fast);
    store_lanes(g, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, slow);
    gen_access_stray(g, &idx, size_B * n);
    store_unlike(g, in, &idx, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

/* All lanes store to one place: the last one's value stays. */
static void store_uniform(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                          uint64_t size_B, unsigned n)
{
    assert(a->kind == GEN_ACCESS_U && n + 1 <= in->nsrc);
    for (unsigned j = 0; j < n; j++) {
        int64_t more = (int64_t)(j * size_B);
        struct gen_val v = gen_get(g, in->src[1 + j]);
        LLVMValueRef x[2] = {v.c[0], NULL};
        if (v.kind != IR_SHAPE_UNIFORM) {
            gen_vector_of(g, v, in->src[1 + j]->type, x);
            x[0] = gen_pick_last(g, x);
        }
        LLVMValueRef st = LLVMBuildStore(g->b, x[0], gen_ptr_at(g, a->base[0], a->offset + more));
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
    assert(in->op == IR_OP_ST && in->nsrc >= 1 + n && n <= 8);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps && !contiguous_matters(&a, size_B, n) && !is_strided(g, &a, size_B))
        gen_access_to_index(g, &a, in);
    if (!a.wraps && !are_shared_pieces(g, in, &a))
        gen_access_guess(g, in, &a, size_B * n);
    gen_access_check(g, in, &a, size_B * n);
    if (a.kind == GEN_ACCESS_U) {
        store_uniform(g, in, &a, size_B, n);
        return;
    }
    LLVMValueRef x[8][2];
    for (unsigned j = 0; j < n; j++)
        gen_vector(g, in->src[1 + j], x[j]);
    if (a.kind == GEN_ACCESS_A)
        gen_prefetch_next(g, in, a.base, a.offset);
    if (a.wraps)
        store_either(g, in, &a, x, size_B, n);
    else
        store_unlike(g, in, &a, x, size_B, n);
}
