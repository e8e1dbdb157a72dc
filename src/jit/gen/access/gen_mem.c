/*
 * Loads and stores: the address's shape picks the form.
 *
 *   uniform               one scalar access
 *   uniform per half      two scalar accesses
 *   stride = element      contiguous vector access per half (also ld.v2/.v4 with stride = vector)
 *   base + 32-bit index   gather/scatter with one scalar base
 *   anything else         gather/scatter with 64-bit lane addresses
 *
 * Elements of vectors that are needed in the order of memory only (gen_tuples.c) stay in it.
 *
 * A BASE_INDEX address with an affine index is contiguous unless ext(index) wraps inside the half;
 * when that cannot be ruled out (an index that is a multiple of 16 cannot), the code tests it and
 * has both forms.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/access/gen_lanes.h"
#include "jit/gen/find/gen_tuples.h"

#include <assert.h>

enum { WIDEST = 8 * GEN_LANES }; /* elements of a vector access */

/* ---- loads */

/* Bytes and halfwords where dwords can be gathered: the dword around each (it cannot cross a page),
 * shifted. */
static LLVMValueRef mem_gather_any(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs, int h,
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

static bool mem_is_contiguous(const struct gen_access *a, uint64_t bytes)
{
    return a->kind == GEN_ACCESS_A && a->stride == (int64_t)bytes;
}

/* ld.v2/.v4 of consecutive lanes: whole vectors, then take every n-th element. */
static void mem_load_interleaved(struct gen *g, const struct gen_access *a, LLVMTypeRef elem,
                                 unsigned n, LLVMValueRef out[][GEN_HALVES], unsigned align)
{
    LLVMTypeRef wide = LLVMVectorType(elem, GEN_LANES * n);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x = LLVMBuildLoad2(g->b, wide, gen_ptr_at(g, a->base[h], a->offset), "");
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

/*
 * The halves' own addresses, or that of one with lanes that run for those that have none: theirs
 * may be garbage.
 */
static void mem_safe_halves(struct gen *g, const struct gen_access *a, LLVMValueRef out[GEN_HALVES])
{
    LLVMValueRef some = a->base[0];
    for (int h = 1; h < gen_halves(g); h++)
        some = LLVMBuildSelect(g->b, gen_half_active(g, h), a->base[h], some, "");
    for (int h = 0; h < gen_halves(g); h++)
        out[h] = LLVMBuildSelect(g->b, gen_half_active(g, h), a->base[h], some, "");
}

/*
 * Of several warps at once whole halves often have no lanes that run: rows of a tile behind the
 * end of a matrix. A masked access of a page that nothing is mapped at, or that was not touched
 * yet, takes microcode 400 ns on Zen 5 to find that nothing is to be done: 700 times the access.
 * Shared and local memory is always there, and is forwarded by its addresses.
 */
static bool mem_halves_stray(const struct gen *g, const struct ir_instr *in)
{
    return gen_is_far(in) && g->mask[0] && gen_is_coarse(g);
}

static struct gen_access mem_within_reach(struct gen *g, const struct ir_instr *in,
                                          const struct gen_access *a)
{
    struct gen_access near = *a;
    if (a->kind == GEN_ACCESS_A && mem_halves_stray(g, in))
        mem_safe_halves(g, a, near.base);
    return near;
}

/* ld.v2/.v4 of consecutive lanes, as it lies in memory. */
static void mem_load_in_order(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                              LLVMTypeRef elem, uint64_t size_B, LLVMValueRef out[][GEN_HALVES])
{
    struct gen_access near = mem_within_reach(g, in, a);
    for (uint32_t j = 0; j < in->ndst; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            int64_t at = a->offset + (int64_t)(j * GEN_LANES * size_B);
            LLVMValueRef mask = gen_tuple_mask(g, in->dst[j], g->mask[h]);
            out[j][h] = gen_masked_load(g, elem, gen_ptr_at(g, near.base[h], at), mask, size_B);
        }
    }
}

/* ld.v4 and st.v4 of 32 bits, of lanes that are further apart? */
static bool mem_are_pieces_apart(const struct gen *g, const struct gen_access *a, uint64_t size_B,
                                 unsigned n)
{
    return gen_does(g, GEN_PASS_STRIDED) && a->kind == GEN_ACCESS_A && !a->strong && n == 4 &&
           size_B == 4 && a->stride && a->stride % 16 == 0;
}

static void mem_pieces_apart(struct gen *g, const struct gen_access *a, int h,
                             LLVMValueRef out[GEN_LANES])
{
    LLVMValueRef first = gen_ptr_at(g, a->base[h], a->offset);
    for (unsigned l = 0; l < GEN_LANES; l++)
        out[l] = gen_gep(g, first, (uint64_t)(a->stride * (int64_t)l));
}

static void mem_load_pieces_apart(struct gen *g, const struct gen_access *a,
                                  LLVMValueRef out[][GEN_HALVES])
{
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x[4], at[GEN_LANES];
        mem_pieces_apart(g, a, h, at);
        gen_load_pieces(g, at, x);
        for (unsigned j = 0; j < 4; j++)
            out[j][h] = x[j];
    }
}

/* Every lane is active and the lanes are a constant distance apart. */
static void mem_load_full(struct gen *g, const struct gen_access *a, LLVMTypeRef elem,
                          uint64_t size_B, unsigned n, LLVMValueRef out[][GEN_HALVES])
{
    if (n > 1 && mem_is_contiguous(a, size_B * n)) {
        mem_load_interleaved(g, a, elem, n, out, (unsigned)size_B);
        return;
    }
    if (mem_are_pieces_apart(g, a, size_B, n)) {
        mem_load_pieces_apart(g, a, out);
        return;
    }
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            LLVMValueRef ptr = gen_ptr_at(g, a->base[h], a->offset + (int64_t)(j * size_B));
            out[j][h] = gen_load_strided(g, elem, ptr, a->stride, size_B);
        }
    }
}

static void mem_load_masked(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                            LLVMTypeRef elem, uint64_t size_B, unsigned n,
                            LLVMValueRef out[][GEN_HALVES])
{
    struct gen_access near = mem_within_reach(g, in, a);
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            int64_t more = (int64_t)(j * size_B);
            if (mem_is_contiguous(a, size_B)) {
                out[j][h] = gen_masked_load(g, elem, gen_ptr_at(g, near.base[h], a->offset + more),
                                            g->mask[h], size_B);
                continue;
            }
            LLVMValueRef ptrs = gen_access_lanes(g, a, h, more);
            out[j][h] = mem_gather_any(g, elem, ptrs, h, size_B, a->strong);
        }
    }
}

static void mem_load_join(struct gen *g, unsigned n, LLVMValueRef a[][GEN_HALVES],
                          LLVMBasicBlockRef a_end, LLVMValueRef b[][GEN_HALVES],
                          LLVMBasicBlockRef b_end, LLVMValueRef out[][GEN_HALVES])
{
    assert(LLVMGetBasicBlockTerminator(a_end) && LLVMGetBasicBlockTerminator(b_end));
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(a[j][h]), "");
            LLVMValueRef vals[] = {a[j][h], b[j][h]};
            LLVMBasicBlockRef from[] = {a_end, b_end};
            LLVMAddIncoming(phi, vals, from, 2);
            out[j][h] = phi;
        }
    }
}

static void mem_load_lanes(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                           LLVMTypeRef elem, uint64_t size_B, unsigned n,
                           LLVMValueRef out[][GEN_HALVES])
{
    if (a->kind == GEN_ACCESS_A && gen_tuple_of(g, in->dst[0])) {
        mem_load_in_order(g, in, a, elem, size_B, out);
        return;
    }
    if (a->kind != GEN_ACCESS_A || mem_is_contiguous(a, size_B)) {
        mem_load_masked(g, in, a, elem, size_B, n, out);
        return;
    }
    if (!gen_does(g, GEN_PASS_STRIDED)) {
        mem_load_masked(g, in, a, elem, size_B, n, out);
        return;
    }
    gen_fired(g, GEN_PASS_STRIDED);
    if (!g->mask[0]) {
        mem_load_full(g, a, elem, size_B, n, out);
        return;
    }
    LLVMBasicBlockRef full = gen_bb(g, "full"), part = gen_bb(g, "part"), join = gen_bb(g, "both");
    LLVMValueRef x[8][GEN_HALVES], y[8][GEN_HALVES];
    LLVMBuildCondBr(g->b, gen_all_active(g), full, part);
    LLVMPositionBuilderAtEnd(g->b, full);
    mem_load_full(g, a, elem, size_B, n, x);
    LLVMBasicBlockRef full_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, part);
    mem_load_masked(g, in, a, elem, size_B, n, y);
    LLVMBasicBlockRef part_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    mem_load_join(g, n, x, full_end, y, part_end, out);
}

/* In shared memory layouts keep neighbours apart, and nothing is gained by finding some. */
static bool mem_are_shared_pieces(const struct gen *g, const struct ir_instr *in,
                                  const struct gen_access *a)
{
    return ir_space_is_shared(in->mem.space) && gen_are_pieces(g, in, a);
}

/* Lanes whose addresses may be anything, or are neighbours. */
static void mem_load_unlike(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                            LLVMTypeRef elem, uint64_t size_B, unsigned n,
                            LLVMValueRef out[][GEN_HALVES])
{
    if (gen_are_fours(g, in, a))
        gen_fours_load(g, a, out);
    else if (gen_are_pieces(g, in, a))
        gen_pieces_load(g, a, elem, n, out);
    else
        mem_load_lanes(g, in, a, elem, size_B, n, out);
}

/* Both forms of an access whose index might wrap, chosen at run time. */
static void mem_load_either(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                            LLVMTypeRef elem, uint64_t size_B, unsigned n,
                            LLVMValueRef out[][GEN_HALVES])
{
    assert(a->wraps && gen_is_one(g, a->wraps));
    LLVMBasicBlockRef fast = gen_bb(g, "fast"), slow = gen_bb(g, "slow"), join = gen_bb(g, "join");
    LLVMValueRef a_out[8][GEN_HALVES], b_out[8][GEN_HALVES];
    struct gen_access idx = *a;
    gen_access_to_index(g, &idx, in); /* before the branch; LLVM sinks it into the cold side */
    gen_cond_br_cold(g, a->wraps, slow, fast);
    LLVMPositionBuilderAtEnd(g->b, fast);
    mem_load_lanes(g, in, a, elem, size_B, n, a_out);
    LLVMBasicBlockRef fast_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, slow);
    g->cold = true;
    gen_access_stray(g, &idx, size_B * n);
    mem_load_unlike(g, in, &idx, elem, size_B, n, b_out);
    g->cold = false;
    if (gen_tuple_of(g, in->dst[0]))
        gen_tuple_from_lanes(g, b_out, n);
    LLVMBasicBlockRef slow_end = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    mem_load_join(g, n, a_out, fast_end, b_out, slow_end, out);
}

static bool mem_load_is_volatile(const struct ir_instr *in)
{
    return in->mem.sem != IR_SEM_WEAK;
}

static LLVMValueRef mem_load_scalar(struct gen *g, const struct ir_instr *in, LLVMTypeRef elem,
                                    LLVMValueRef ptr, uint64_t size_B)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, elem, ptr, "");
    LLVMSetAlignment(x, (unsigned)size_B);
    if (mem_load_is_volatile(in)) {
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

/*
 * A place a multiple away from another one, for LLVM's strength reduction: of sums that become
 * addresses afterwards it makes a counter each, of these one for all. Loops of scalar code alone
 * have such addresses that are not the same in the whole CTA.
 */
static LLVMValueRef mem_indexed_ptr(struct gen *g, LLVMValueRef address, int64_t offset)
{
    LLVMValueRef far = LLVMIsABinaryOperator(address) ? LLVMGetOperand(address, 1) : NULL;
    bool is_index = g->nodes[g->cur].region && far &&
                    LLVMGetInstructionOpcode(address) == LLVMAdd && LLVMIsABinaryOperator(far) &&
                    LLVMGetInstructionOpcode(far) == LLVMMul;
    if (!is_index)
        return gen_ptr_at(g, address, offset);
    LLVMValueRef p = gen_ptr_at(g, LLVMGetOperand(address, 0), 0);
    p = LLVMBuildGEP2(g->b, g->t->i8, p, &far, 1, "");
    return gen_gep(g, p, (uint64_t)offset);
}

static void mem_load_uniform(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                             LLVMTypeRef elem, uint64_t size_B, unsigned n)
{
    assert(a->kind == GEN_ACCESS_U && n == in->ndst);
    LLVMValueRef slot = gen_once_slot(g, in);
    for (unsigned j = 0; j < n; j++) {
        LLVMValueRef ptr = mem_indexed_ptr(g, a->base[0], a->offset + (int64_t)(j * size_B));
        LLVMValueRef x =
            mem_load_scalar(g, in, elem, slot ? gen_once_from(g, slot, j, ptr) : ptr, size_B);
        if (slot)
            gen_once_keep(g, slot, j, x);
        gen_set(g, in->dst[j], gen_u(x));
    }
    if (slot)
        gen_once_filled(g, slot);
}

/* The lanes of a half have one address. */
static void mem_load_by_half(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                             LLVMTypeRef elem, uint64_t size_B)
{
    LLVMValueRef base[GEN_HALVES], x[GEN_HALVES];
    mem_safe_halves(g, a, base);
    for (uint32_t j = 0; j < in->ndst; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            LLVMValueRef ptr = gen_ptr_at(g, base[h], a->offset + (int64_t)(j * size_B));
            x[h] = mem_load_scalar(g, in, elem, ptr, size_B);
        }
        gen_set(g, in->dst[j], gen_a(g, x, 0));
    }
}

static bool mem_contiguous_matters(const struct gen_access *a, uint64_t size_B, unsigned n)
{
    return mem_is_contiguous(a, size_B) || (n > 1 && mem_is_contiguous(a, size_B * n));
}

/* Lanes close together, which a few vectors hold: worth a test for wrapping as well. */
static bool mem_is_strided(const struct gen *g, const struct gen_access *a, uint64_t size_B)
{
    return gen_does(g, GEN_PASS_STRIDED) && a->kind == GEN_ACCESS_A && !a->strong &&
           gen_is_spread(g, a->stride, size_B);
}

void gen_load(struct gen *g, const struct ir_instr *in)
{
    if (!gen_tuple_of(g, in->dst[0]) &&
        (gen_table_load(g, in) || gen_pattern_load(g, in) || gen_strong_load(g, in)))
        return;
    unsigned n = in->mem.vec ? in->mem.vec : 1;
    assert(in->op == IR_OP_LD && in->ndst == n && n <= 8);
    LLVMTypeRef elem = gen_scalar_type(g, in->type);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps && !mem_contiguous_matters(&a, size_B, n) && !mem_is_strided(g, &a, size_B))
        gen_access_to_index(g, &a, in);
    if (!a.wraps && !mem_are_shared_pieces(g, in, &a))
        gen_access_guess(g, in, &a, size_B * n);
    gen_access_check(g, in, &a, size_B * n);
    LLVMValueRef out[8][GEN_HALVES];
    if (a.kind == GEN_ACCESS_U) {
        mem_load_uniform(g, in, &a, elem, size_B, n);
        return;
    }
    if (a.kind == GEN_ACCESS_A && a.stride == 0 && !a.wraps) {
        mem_load_by_half(g, in, &a, elem, size_B);
        return;
    }
    if (a.kind == GEN_ACCESS_A)
        gen_prefetch_next(g, in, &a);
    if (a.wraps)
        mem_load_either(g, in, &a, elem, size_B, n, out);
    else
        mem_load_unlike(g, in, &a, elem, size_B, n, out);
    for (unsigned j = 0; j < n; j++)
        gen_set(g, in->dst[j], gen_v(g, out[j]));
}

/* ---- stores */

static void mem_store_interleaved(struct gen *g, const struct gen_access *a,
                                  LLVMValueRef x[][GEN_HALVES], unsigned n, unsigned align)
{
    unsigned lanes = GEN_LANES;
    assert(lanes * n <= WIDEST);
    for (int h = 0; h < gen_halves(g); h++) {
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
        gen_plain_store(g, all, gen_ptr_at(g, a->base[h], a->offset), align);
    }
}

/* st.v2/.v4 of consecutive lanes whose elements are in the order of memory. */
static void mem_store_in_order(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                               LLVMValueRef x[][GEN_HALVES], uint64_t size_B)
{
    struct gen_access near = mem_within_reach(g, in, a);
    for (uint32_t j = 0; j + 1 < in->nsrc; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            int64_t at = a->offset + (int64_t)(j * GEN_LANES * size_B);
            LLVMValueRef mask = gen_tuple_mask(g, in->src[1 + j], g->mask[h]);
            gen_masked_store(g, x[j][h], gen_ptr_at(g, near.base[h], at), mask, size_B);
        }
    }
}

static void mem_store_masked(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                             LLVMValueRef x[][GEN_HALVES], uint64_t size_B, unsigned n)
{
    struct gen_access near = mem_within_reach(g, in, a);
    bool strided = mem_is_strided(g, a, size_B);
    if (strided && !mem_is_contiguous(a, size_B))
        gen_fired(g, GEN_PASS_STRIDED);
    for (unsigned j = 0; j < n; j++) {
        for (int h = 0; h < gen_halves(g); h++) {
            int64_t more = (int64_t)(j * size_B);
            if (mem_is_contiguous(a, size_B))
                gen_masked_store(g, x[j][h], gen_ptr_at(g, near.base[h], a->offset + more),
                                 g->mask[h], size_B);
            else if (strided)
                gen_store_strided(g, x[j][h], gen_ptr_at(g, near.base[h], a->offset + more),
                                  g->mask[h], a->stride, size_B);
            else
                gen_scatter(g, x[j][h], gen_access_lanes(g, a, h, more), g->mask[h], size_B,
                            a->strong);
        }
    }
}

/* Every lane is active, and what they store are vectors. */
static void mem_store_full(struct gen *g, const struct gen_access *a, LLVMValueRef x[][GEN_HALVES],
                           uint64_t size_B, unsigned n)
{
    if (mem_is_contiguous(a, size_B * n)) {
        mem_store_interleaved(g, a, x, n, (unsigned)size_B);
        return;
    }
    gen_fired(g, GEN_PASS_STRIDED);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at[GEN_LANES], of_half[4] = {x[0][h], x[1][h], x[2][h], x[3][h]};
        mem_pieces_apart(g, a, h, at);
        gen_store_pieces(g, at, of_half);
    }
}

static void mem_store_alike(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                            LLVMValueRef x[][GEN_HALVES], uint64_t size_B, unsigned n)
{
    if (a->kind == GEN_ACCESS_A && gen_tuple_of(g, in->src[1])) {
        mem_store_in_order(g, in, a, x, size_B);
        return;
    }
    if (n == 1 || !(mem_is_contiguous(a, size_B * n) || mem_are_pieces_apart(g, a, size_B, n))) {
        mem_store_masked(g, in, a, x, size_B, n);
        return;
    }
    if (!g->mask[0]) {
        mem_store_full(g, a, x, size_B, n);
        return;
    }
    LLVMBasicBlockRef full = gen_bb(g, "full"), part = gen_bb(g, "part"), join = gen_bb(g, "both");
    LLVMBuildCondBr(g->b, gen_all_active(g), full, part);
    LLVMPositionBuilderAtEnd(g->b, full);
    mem_store_full(g, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, part);
    mem_store_masked(g, in, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

static void mem_store_lanes(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                            LLVMValueRef x[][GEN_HALVES], uint64_t size_B, unsigned n)
{
    if (!gen_nontemporal_fits(g, in, a)) {
        mem_store_alike(g, in, a, x, size_B, n);
        return;
    }
    gen_fired(g, GEN_PASS_NONTEMPORAL);
    LLVMBasicBlockRef past = gen_bb(g, "past"), near = gen_bb(g, "near"), join = gen_bb(g, "join");
    LLVMBuildCondBr(g->b, gen_nontemporal_test(g, a), past, near);
    LLVMPositionBuilderAtEnd(g->b, past);
    g->nontemporal = true;
    mem_store_alike(g, in, a, x, size_B, n);
    g->nontemporal = false;
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, near);
    gen_prefetch_next(g, in, a);
    mem_store_alike(g, in, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

static void mem_store_unlike(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                             LLVMValueRef x[][GEN_HALVES], uint64_t size_B, unsigned n)
{
    if (gen_are_fours(g, in, a))
        gen_fours_store(g, a, x);
    else if (gen_are_pieces(g, in, a))
        gen_pieces_store(g, a, x, n);
    else
        mem_store_lanes(g, in, a, x, size_B, n);
}

static void mem_store_either(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                             LLVMValueRef x[][GEN_HALVES], uint64_t size_B, unsigned n)
{
    assert(a->wraps && gen_is_one(g, a->wraps));
    LLVMBasicBlockRef fast = gen_bb(g, "fast"), slow = gen_bb(g, "slow"), join = gen_bb(g, "join");
    struct gen_access idx = *a;
    gen_access_to_index(g, &idx, in);
    gen_cond_br_cold(g, a->wraps, slow, fast);
    LLVMPositionBuilderAtEnd(g->b, fast);
    mem_store_lanes(g, in, a, x, size_B, n);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, slow);
    if (gen_tuple_of(g, in->src[1]))
        gen_tuple_to_lanes(g, x, n);
    g->cold = true;
    gen_access_stray(g, &idx, size_B * n);
    mem_store_unlike(g, in, &idx, x, size_B, n);
    g->cold = false;
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

/* All lanes store to one place: the last one's value stays. */
static void mem_store_uniform(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                              uint64_t size_B, unsigned n)
{
    assert(a->kind == GEN_ACCESS_U && n + 1 <= in->nsrc);
    for (unsigned j = 0; j < n; j++) {
        int64_t more = (int64_t)(j * size_B);
        struct gen_val v = gen_get(g, in->src[1 + j]);
        LLVMValueRef x[GEN_HALVES] = {v.c[0], NULL};
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
    if (!gen_tuple_of(g, in->src[1]) && (gen_pattern_store(g, in) || gen_strong_store(g, in)))
        return;
    unsigned n = in->mem.vec ? in->mem.vec : 1;
    assert(in->op == IR_OP_ST && in->nsrc >= 1 + n && n <= 8);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps && !mem_contiguous_matters(&a, size_B, n) && !mem_is_strided(g, &a, size_B))
        gen_access_to_index(g, &a, in);
    if (!a.wraps && !mem_are_shared_pieces(g, in, &a))
        gen_access_guess(g, in, &a, size_B * n);
    gen_access_check(g, in, &a, size_B * n);
    if (a.kind == GEN_ACCESS_U) {
        mem_store_uniform(g, in, &a, size_B, n);
        return;
    }
    LLVMValueRef x[8][GEN_HALVES];
    for (unsigned j = 0; j < n; j++)
        gen_vector(g, in->src[1 + j], x[j]);
    if (a.kind == GEN_ACCESS_A && !gen_nontemporal_fits(g, in, &a))
        gen_prefetch_next(g, in, &a);
    if (a.wraps)
        mem_store_either(g, in, &a, x, size_B, n);
    else
        mem_store_unlike(g, in, &a, x, size_B, n);
}
