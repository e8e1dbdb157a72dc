/*
 * Atomics.
 *
 *   one address for the warp    the lanes' operands are combined first and one operation reaches
 *                               memory; lanes that read a result get theirs from a prefix of the
 *                               combination, as if they had run in lane order
 *   shared memory               plain load, operation, store per lane: a CTA lives on one thread
 *   neighbours                  16 bytes by one locked operation, as far as they are aligned
 *   everything else             one locked operation per lane, in lane order
 *
 * Float sums keep lane order, so they are never combined by pairs: a precompiled helper adds the
 * lanes one after the other and swaps the result in. Types without a form here (16 bits, packed,
 * float min/max ..) go to jit_rt_atom.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <stdio.h>

struct atom {
    const struct ir_instr *in;
    enum ir_atom op;
    LLVMTypeRef elem;      /* iN */
    LLVMTypeRef ft;        /* float type of a float sum, else NULL */
    bool sign;             /* MIN, MAX */
    bool shared;           /* plain operations do */
    bool used;             /* some lane reads the result */
    LLVMValueRef array[3]; /* per lane: addresses, first and second operand; NULL = none */
    LLVMValueRef same[3];  /* instead: one operand for all lanes */
    LLVMValueRef out;      /* per lane results */
};

static bool atom_op_is_value(enum ir_atom op)
{
    return op == IR_ATOM_ADD || op == IR_ATOM_MIN || op == IR_ATOM_MAX;
}

static bool atom_has_native_form(const struct ir_instr *in)
{
    unsigned bits = ir_type_bits(in->type);
    enum ir_type t = in->type;
    if (bits != 32 && bits != 64)
        return false;
    if (!ir_type_is_float(t) || !atom_op_is_value(in->mem.atom))
        return bits == 32 || (in->mem.atom != IR_ATOM_INC && in->mem.atom != IR_ATOM_DEC);
    return in->mem.atom == IR_ATOM_ADD && (t == IR_F32 || t == IR_F64);
}

static bool atom_is_used(const struct gen *g, const struct ir_value *v)
{
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            for (uint32_t s = 0; s < in->nsrc; s++) {
                if (in->src[s] == v)
                    return true;
            }
        }
    }
    return false;
}

/* ---- one operation */

static LLVMValueRef atom_pick_by(struct gen *g, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, p, a, b, ""), a, b, "");
}

/* n times x: the vector. */
static LLVMValueRef atom_repeat(struct gen *g, LLVMValueRef x, unsigned n)
{
    LLVMValueRef first = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), n)), picks[GEN_LANES];
    assert(n <= GEN_LANES);
    for (unsigned i = 0; i < n; i++)
        picks[i] = gen_i32(g, 0);
    first = LLVMBuildInsertElement(g->b, first, x, picks[0], "");
    return LLVMBuildShuffleVector(g->b, first, first, LLVMConstVector(picks, n), "");
}

/* old + x of floats held as integers, or vectors of them; f32 sums have one NaN. */
static LLVMValueRef atom_float_add(struct gen *g, const struct atom *a, LLVMValueRef old,
                                   LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(old), ft = a->ft;
    unsigned n = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 0;
    if (n)
        ft = LLVMVectorType(ft, n);
    LLVMValueRef sum = LLVMBuildFAdd(g->b, LLVMBuildBitCast(g->b, old, ft, ""),
                                     LLVMBuildBitCast(g->b, x, ft, ""), "");
    if (a->ft != g->t->f32)
        return LLVMBuildBitCast(g->b, sum, type, "");
    LLVMValueRef one_nan = gen_i32(g, 0x7fffffff);
    LLVMValueRef is_nan = LLVMBuildFCmp(g->b, LLVMRealUNO, sum, sum, "");
    return LLVMBuildSelect(g->b, is_nan, n ? atom_repeat(g, one_nan, n) : one_nan,
                           LLVMBuildBitCast(g->b, sum, type, ""), "");
}

/* Wrapping counters: inc goes to 0 after x, dec to x after 0. */
static LLVMValueRef atom_wrapping(struct gen *g, const struct atom *a, LLVMValueRef old,
                                  LLVMValueRef x)
{
    LLVMValueRef one = gen_ci(a->elem, 1), zero = gen_ci(a->elem, 0);
    if (a->op == IR_ATOM_INC) {
        LLVMValueRef wraps = LLVMBuildICmp(g->b, LLVMIntUGE, old, x, "");
        return LLVMBuildSelect(g->b, wraps, zero, LLVMBuildAdd(g->b, old, one, ""), "");
    }
    LLVMValueRef wraps = LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, old, zero, ""),
                                     LLVMBuildICmp(g->b, LLVMIntUGT, old, x, ""), "");
    return LLVMBuildSelect(g->b, wraps, x, LLVMBuildSub(g->b, old, one, ""), "");
}

/* The new value; scalars or vectors, but counters scalars only. */
static LLVMValueRef atom_apply(struct gen *g, const struct atom *a, LLVMValueRef old,
                               LLVMValueRef x, LLVMValueRef y)
{
    switch (a->op) {
    case IR_ATOM_ADD:
        return a->ft ? atom_float_add(g, a, old, x) : LLVMBuildAdd(g->b, old, x, "");
    case IR_ATOM_MIN:
        return atom_pick_by(g, a->sign ? LLVMIntSLT : LLVMIntULT, old, x);
    case IR_ATOM_MAX:
        return atom_pick_by(g, a->sign ? LLVMIntSGT : LLVMIntUGT, old, x);
    case IR_ATOM_AND:
        return LLVMBuildAnd(g->b, old, x, "");
    case IR_ATOM_OR:
        return LLVMBuildOr(g->b, old, x, "");
    case IR_ATOM_XOR:
        return LLVMBuildXor(g->b, old, x, "");
    case IR_ATOM_EXCH:
        return x;
    case IR_ATOM_CAS:
        return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, old, x, ""), y, old, "");
    default:
        return atom_wrapping(g, a, old, x);
    }
}

static LLVMAtomicRMWBinOp atom_rmw_of(const struct atom *a)
{
    switch (a->op) {
    case IR_ATOM_ADD:
        return LLVMAtomicRMWBinOpAdd;
    case IR_ATOM_MIN:
        return a->sign ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
    case IR_ATOM_MAX:
        return a->sign ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
    case IR_ATOM_AND:
        return LLVMAtomicRMWBinOpAnd;
    case IR_ATOM_OR:
        return LLVMAtomicRMWBinOpOr;
    case IR_ATOM_XOR:
        return LLVMAtomicRMWBinOpXor;
    default:
        return LLVMAtomicRMWBinOpXchg;
    }
}

/* Float sums and counters outside shared memory: load, compute, compare-and-swap until it holds. */
static LLVMValueRef atom_swap_loop(struct gen *g, const struct atom *a, LLVMValueRef ptr,
                                   LLVMValueRef x)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef again = gen_bb(g, "swap"), on = gen_bb(g, "swapped");
    LLVMValueRef first = LLVMBuildLoad2(g->b, a->elem, ptr, "");
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(first, LLVMGetIntTypeWidth(a->elem) / 8);
    LLVMBuildBr(g->b, again);
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMValueRef old = LLVMBuildPhi(g->b, a->elem, "");
    LLVMValueRef r = atom_apply(g, a, old, x, NULL);
    LLVMValueRef pair =
        LLVMBuildAtomicCmpXchg(g->b, ptr, old, r, LLVMAtomicOrderingSequentiallyConsistent,
                               LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMValueRef seen = LLVMBuildExtractValue(g->b, pair, 0, "");
    LLVMValueRef values[] = {first, seen};
    LLVMBasicBlockRef blocks[] = {from, again};
    LLVMAddIncoming(old, values, blocks, 2);
    LLVMBuildCondBr(g->b, LLVMBuildExtractValue(g->b, pair, 1, ""), on, again);
    LLVMPositionBuilderAtEnd(g->b, on);
    return old;
}

/* One operation on memory; yields the old value. */
static LLVMValueRef atom_one_op(struct gen *g, const struct atom *a, LLVMValueRef address,
                                LLVMValueRef x, LLVMValueRef y)
{
    LLVMValueRef ptr = LLVMBuildIntToPtr(g->b, address, g->t->ptr, "");
    if (a->shared) {
        LLVMValueRef old = LLVMBuildLoad2(g->b, a->elem, ptr, "");
        LLVMBuildStore(g->b, atom_apply(g, a, old, x, y), ptr);
        return old;
    }
    if (a->op == IR_ATOM_CAS) {
        LLVMValueRef pair =
            LLVMBuildAtomicCmpXchg(g->b, ptr, x, y, LLVMAtomicOrderingSequentiallyConsistent,
                                   LLVMAtomicOrderingSequentiallyConsistent, false);
        return LLVMBuildExtractValue(g->b, pair, 0, "");
    }
    if (a->ft || a->op == IR_ATOM_INC || a->op == IR_ATOM_DEC)
        return atom_swap_loop(g, a, ptr, x);
    return LLVMBuildAtomicRMW(g->b, atom_rmw_of(a), ptr, x,
                              LLVMAtomicOrderingSequentiallyConsistent, false);
}

/* ---- lane after lane */

/* Operand i of a lane (i32, constant or not). Volatile: the arrays stay in memory, where a scalar
 * load is cheaper than taking a vector apart. */
static LLVMValueRef atom_lane_operand(struct gen *g, const struct atom *a, int i, LLVMValueRef lane)
{
    if (a->same[i] || !a->array[i])
        return a->same[i];
    LLVMTypeRef t = i ? a->elem : g->t->i64;
    LLVMValueRef x = LLVMBuildLoad2(g->b, t, LLVMBuildGEP2(g->b, t, a->array[i], &lane, 1, ""), "");
    LLVMSetVolatile(x, true);
    return x;
}

static void atom_lane_op(struct gen *g, const struct atom *a, LLVMValueRef lane)
{
    LLVMValueRef x = atom_lane_operand(g, a, 1, lane), y = atom_lane_operand(g, a, 2, lane);
    LLVMValueRef old = atom_one_op(g, a, atom_lane_operand(g, a, 0, lane), x, y);
    if (a->used) {
        LLVMValueRef at = LLVMBuildGEP2(g->b, a->elem, a->out, &lane, 1, "");
        LLVMSetVolatile(LLVMBuildStore(g->b, old, at), true);
    }
}

/* Thirty-two copies pay where a loop's overhead shows, and cost compile time: not in kernels full
 * of atomics. */
static bool atom_worth_unrolling(const struct gen *g)
{
    unsigned n = 0;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b])
            n += in->op == IR_OP_ATOM && ir_space_is_shared(in->mem.space);
    }
    return n <= 8;
}

static void atom_lanes_all(struct gen *g, const struct atom *a)
{
    assert(!g->mask[0] || LLVMGetBasicBlockParent(LLVMGetInsertBlock(g->b)) == g->fn);
    for (unsigned lane = 0; lane < 2 * GEN_LANES; lane++)
        atom_lane_op(g, a, gen_i32(g, lane));
}

/* while (mask) { lane = ctz(mask); ...; mask &= mask - 1; } */
static void atom_lanes_loop(struct gen *g, const struct atom *a, LLVMValueRef mask)
{
    assert(LLVMTypeOf(mask) == g->t->i32);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef body = gen_bb(g, "lane"), on = gen_bb(g, "lanes_done");
    LLVMValueRef zero = gen_i32(g, 0);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, mask, zero, ""), body, on);
    LLVMPositionBuilderAtEnd(g->b, body);
    LLVMValueRef left = LLVMBuildPhi(g->b, g->t->i32, "");
    LLVMValueRef args[] = {left, gen_ci(g->t->i1, 1)};
    atom_lane_op(g, a, gen_intrinsic(g, "llvm.cttz", &g->t->i32, 1, args, 2));
    LLVMValueRef less = LLVMBuildSub(g->b, left, gen_i32(g, 1), "");
    less = LLVMBuildAnd(g->b, left, less, "");
    LLVMValueRef values[] = {mask, less};
    LLVMBasicBlockRef blocks[] = {from, LLVMGetInsertBlock(g->b)};
    LLVMAddIncoming(left, values, blocks, 2);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, less, zero, ""), body, on);
    LLVMPositionBuilderAtEnd(g->b, on);
}

static LLVMValueRef atom_to_array(struct gen *g, LLVMTypeRef elem, LLVMValueRef const x[GEN_HALVES])
{
    LLVMValueRef array = gen_alloca(g, LLVMArrayType2(gen_vec(g, elem), 2), 64, "");
    for (int h = 0; h < gen_halves(g); h++) {
        uint64_t at = (uint64_t)h * LLVMGetIntTypeWidth(elem) / 8 * GEN_LANES;
        LLVMValueRef st = LLVMBuildStore(g->b, x[h], gen_gep(g, array, at));
        LLVMSetVolatile(st, true);
    }
    return array;
}

static void atom_operand(struct gen *g, struct atom *a, int i)
{
    const struct ir_value *v = a->in->src[i];
    if (gen_shape(g, v)->kind == IR_SHAPE_UNIFORM) {
        a->same[i] = gen_scalar(g, v);
        return;
    }
    LLVMValueRef x[GEN_HALVES];
    gen_vector(g, v, x);
    a->array[i] = atom_to_array(g, a->elem, x);
}

/* ---- lanes that are neighbours: what one locked operation can swap at once */

#define PIECE_B 16u

static unsigned atom_elem_B(const struct atom *a)
{
    return LLVMGetIntTypeWidth(a->elem) / 8;
}

static bool atom_are_neighbours(struct gen *g, const struct atom *a)
{
    const struct ir_shape *s = gen_shape(g, a->in->src[0]);
    bool fits = a->op != IR_ATOM_CAS && a->op != IR_ATOM_INC && a->op != IR_ATOM_DEC;
    return fits && !a->shared && a->in->mem.space != IR_SPACE_LOCAL &&
           g->unit->path != JIT_GENERIC && s->kind == IR_SHAPE_AFFINE &&
           s->stride == atom_elem_B(a) && gen_does(g, GEN_PASS_ATOMS);
}

static LLVMValueRef atom_first_of(struct gen *g, LLVMValueRef addresses)
{
    return LLVMBuildExtractElement(g->b, addresses, gen_i32(g, 0), "");
}

/* i1: all pieces of the warp are where one operation reaches them. */
static LLVMValueRef atom_are_aligned(struct gen *g, LLVMValueRef const addr[GEN_HALVES])
{
    LLVMValueRef bits = atom_first_of(g, addr[0]);
    for (int h = 1; h < gen_halves(g); h++)
        bits = LLVMBuildOr(g->b, bits, atom_first_of(g, addr[h]), "");
    bits = LLVMBuildAnd(g->b, bits, gen_i64(g, PIECE_B - 1), "");
    return LLVMBuildICmp(g->b, LLVMIntEQ, bits, gen_i64(g, 0), "");
}

/* One piece of lanes: where, operands, which of its lanes run. */
struct piece {
    unsigned lanes;
    LLVMTypeRef type;
    LLVMValueRef ptr, x, runs, at; /* at: bytes from the first piece's (i64) */
};

/* Of the running lanes (bits of an integer), as a vector of i1. */
static LLVMValueRef atom_piece_mask(struct gen *g, LLVMValueRef bits, unsigned lanes)
{
    LLVMValueRef each[GEN_LANES];
    for (unsigned l = 0; l < lanes; l++)
        each[l] = gen_i32(g, 1ull << l);
    LLVMValueRef own = LLVMConstVector(each, lanes);
    own = LLVMBuildAnd(g->b, atom_repeat(g, bits, lanes), own, "");
    return LLVMBuildICmp(g->b, LLVMIntNE, own, LLVMConstNull(LLVMTypeOf(own)), "");
}

/* Loads may tear, as the swap fails then. Leaves the builder behind it; yields what was there. */
static LLVMValueRef atom_piece_swap(struct gen *g, const struct atom *a, const struct piece *p)
{
    LLVMTypeRef whole = LLVMIntTypeInContext(g->unit->ctx, 8 * PIECE_B);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef again = gen_bb(g, "swap"), on = gen_bb(g, "swapped");
    LLVMValueRef first = LLVMBuildLoad2(g->b, p->type, p->ptr, "");
    LLVMSetVolatile(first, true);
    LLVMBuildBr(g->b, again);
    LLVMPositionBuilderAtEnd(g->b, again);
    LLVMValueRef old = LLVMBuildPhi(g->b, p->type, "");
    LLVMValueRef r = LLVMBuildSelect(g->b, p->runs, atom_apply(g, a, old, p->x, NULL), old, "");
    LLVMValueRef pair = LLVMBuildAtomicCmpXchg(
        g->b, p->ptr, LLVMBuildBitCast(g->b, old, whole, ""), LLVMBuildBitCast(g->b, r, whole, ""),
        LLVMAtomicOrderingSequentiallyConsistent, LLVMAtomicOrderingSequentiallyConsistent, false);
    LLVMValueRef seen =
        LLVMBuildBitCast(g->b, LLVMBuildExtractValue(g->b, pair, 0, ""), p->type, "");
    LLVMValueRef values[] = {first, seen};
    LLVMBasicBlockRef blocks[] = {from, again};
    LLVMAddIncoming(old, values, blocks, 2);
    LLVMBuildCondBr(g->b, LLVMBuildExtractValue(g->b, pair, 1, ""), on, again);
    LLVMPositionBuilderAtEnd(g->b, on);
    return old;
}

static LLVMValueRef atom_piece_operand(struct gen *g, const struct atom *a, const struct piece *p)
{
    if (a->same[1])
        return atom_repeat(g, a->same[1], p->lanes);
    LLVMValueRef at = p->at;
    at = LLVMBuildGEP2(g->b, g->t->i8, a->array[1], &at, 1, "");
    LLVMValueRef x = LLVMBuildLoad2(g->b, p->type, at, "");
    LLVMSetVolatile(x, true);
    return x;
}

static void atom_piece_out(struct gen *g, const struct atom *a, struct piece *p, LLVMValueRef old)
{
    LLVMValueRef at = LLVMBuildGEP2(g->b, g->t->i8, a->out, &p->at, 1, "");
    LLVMSetVolatile(LLVMBuildStore(g->b, old, at), true);
}

/* Where the piece `at` bytes from the warp's first is: halves may be apart. */
static LLVMValueRef atom_piece_address(struct gen *g, const struct atom *a,
                                       LLVMValueRef const addr[GEN_HALVES], LLVMValueRef at)
{
    LLVMValueRef half_B = gen_i64(g, (uint64_t)GEN_LANES * atom_elem_B(a));
    LLVMValueRef second = LLVMBuildSub(g->b, atom_first_of(g, addr[1]), half_B, "");
    LLVMValueRef is_first = LLVMBuildICmp(g->b, LLVMIntULT, at, half_B, "");
    LLVMValueRef base = LLVMBuildSelect(g->b, is_first, atom_first_of(g, addr[0]), second, "");
    base = LLVMBuildAdd(g->b, base, at, "");
    return LLVMBuildIntToPtr(g->b, base, g->t->ptr, "");
}

/* Piece after piece of those in which some lane runs. */
static void atom_pieces_loop(struct gen *g, const struct atom *a,
                             LLVMValueRef const addr[GEN_HALVES])
{
    struct piece p = {.lanes = PIECE_B / atom_elem_B(a)};
    p.type = LLVMVectorType(a->elem, p.lanes);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b), next = gen_bb(g, "next");
    LLVMBasicBlockRef head = gen_bb(g, "piece"), some = gen_bb(g, "some"), on = gen_bb(g, "on");
    LLVMValueRef mask = gen_mask32(g), start = gen_i64(g, 0), step = gen_i64(g, PIECE_B);
    LLVMBuildBr(g->b, head);
    LLVMPositionBuilderAtEnd(g->b, head);
    LLVMValueRef left = LLVMBuildPhi(g->b, g->t->i32, "");
    p.at = LLVMBuildPhi(g->b, g->t->i64, "");
    LLVMValueRef bits = LLVMBuildAnd(g->b, left, gen_i32(g, (1ull << p.lanes) - 1), "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, bits, gen_i32(g, 0), ""), some, next);
    LLVMPositionBuilderAtEnd(g->b, some);
    p.runs = atom_piece_mask(g, bits, p.lanes);
    p.ptr = atom_piece_address(g, a, addr, p.at);
    p.x = atom_piece_operand(g, a, &p);
    LLVMValueRef old = atom_piece_swap(g, a, &p);
    if (a->used)
        atom_piece_out(g, a, &p, old);
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
    LLVMValueRef lefts[] = {mask, LLVMBuildLShr(g->b, left, gen_i32(g, p.lanes), "")};
    LLVMValueRef ats[] = {start, LLVMBuildAdd(g->b, p.at, step, "")};
    LLVMBasicBlockRef blocks[] = {from, next};
    LLVMAddIncoming(left, lefts, blocks, 2);
    LLVMAddIncoming(p.at, ats, blocks, 2);
    LLVMValueRef more = LLVMBuildICmp(g->b, LLVMIntNE, lefts[1], gen_i32(g, 0), "");
    LLVMBuildCondBr(g->b, more, head, on);
    LLVMPositionBuilderAtEnd(g->b, on);
}

/* Pieces where they are aligned, else lane after lane. */
static void atom_neighbours(struct gen *g, const struct atom *a,
                            LLVMValueRef const addr[GEN_HALVES])
{
    LLVMBasicBlockRef pieces = gen_bb(g, "pieces"), lanes = gen_bb(g, "lanes"),
                      on = gen_bb(g, "lanes_on");
    LLVMBuildCondBr(g->b, atom_are_aligned(g, addr), pieces, lanes);
    LLVMPositionBuilderAtEnd(g->b, pieces);
    atom_pieces_loop(g, a, addr);
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, lanes);
    atom_lanes_loop(g, a, gen_mask32(g));
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, on);
}

static void atom_lanes(struct gen *g, struct atom *a)
{
    LLVMValueRef addr[GEN_HALVES];
    gen_lane_addresses(g, a->in, addr);
    a->array[0] = atom_to_array(g, g->t->i64, addr);
    atom_operand(g, a, 1);
    if (a->op == IR_ATOM_CAS)
        atom_operand(g, a, 2);
    if (a->used)
        a->out = gen_new_array(g, ir_type_value(a->in->type));
    /* A locked operation hides the loop around it; a plain one does not. */
    bool unroll = a->shared && atom_worth_unrolling(g);
    if (unroll && !g->mask[0] && !g->mask[1]) {
        atom_lanes_all(g, a);
    } else if (unroll && a->op != IR_ATOM_CAS) {
        LLVMValueRef mask = gen_mask32(g);
        LLVMBasicBlockRef all = gen_bb(g, "lanes_all"), some = gen_bb(g, "lanes_some");
        LLVMBasicBlockRef on = gen_bb(g, "lanes_on");
        LLVMValueRef full = LLVMBuildICmp(g->b, LLVMIntEQ, mask, gen_i32(g, ~0u), "");
        LLVMBuildCondBr(g->b, full, all, some);
        LLVMPositionBuilderAtEnd(g->b, all);
        atom_lanes_all(g, a);
        LLVMBuildBr(g->b, on);
        LLVMPositionBuilderAtEnd(g->b, some);
        atom_lanes_loop(g, a, mask);
        LLVMBuildBr(g->b, on);
        LLVMPositionBuilderAtEnd(g->b, on);
    } else if (atom_are_neighbours(g, a)) {
        gen_fired(g, GEN_PASS_ATOMS);
        atom_neighbours(g, a, addr);
    } else {
        atom_lanes_loop(g, a, gen_mask32(g));
    }
    if (a->used)
        gen_set(g, a->in->dst[0], gen_from_array(g, a->out, ir_type_value(a->in->type)));
}

/* ---- one address for the whole warp */

static bool atom_op_combines(const struct atom *a)
{
    switch (a->op) {
    case IR_ATOM_ADD:
    case IR_ATOM_MIN:
    case IR_ATOM_MAX:
    case IR_ATOM_AND:
    case IR_ATOM_OR:
    case IR_ATOM_XOR:
        return true;
    default:
        return false;
    }
}

static uint64_t atom_identity(const struct atom *a)
{
    uint64_t top = 1ull << (LLVMGetIntTypeWidth(a->elem) - 1);
    switch (a->op) {
    case IR_ATOM_MIN:
        return a->sign ? top - 1 : ~0ull;
    case IR_ATOM_MAX:
        return a->sign ? top : 0;
    case IR_ATOM_AND:
        return ~0ull;
    default:
        return 0;
    }
}

/* Lane l gets x of lane l - step; the first ones get `fill`. */
static LLVMValueRef atom_shift_lanes(struct gen *g, LLVMValueRef x, LLVMValueRef fill,
                                     unsigned step)
{
    LLVMValueRef pick[GEN_LANES];
    for (unsigned l = 0; l < GEN_LANES; l++)
        pick[l] = gen_i32(g, l < step ? GEN_LANES + l : l - step);
    return LLVMBuildShuffleVector(g->b, x, fill, LLVMConstVector(pick, GEN_LANES), "");
}

/* Combination of all lanes up to and including each. */
static LLVMValueRef atom_inclusive(struct gen *g, const struct atom *a, LLVMValueRef x,
                                   LLVMValueRef fill)
{
    for (unsigned step = 1; step < GEN_LANES; step *= 2)
        x = atom_apply(g, a, atom_shift_lanes(g, x, fill, step), x, NULL);
    return x;
}

static const char *atom_reducer(const struct atom *a)
{
    switch (a->op) {
    case IR_ATOM_MIN:
        return a->sign ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin";
    case IR_ATOM_MAX:
        return a->sign ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax";
    case IR_ATOM_AND:
        return "llvm.vector.reduce.and";
    case IR_ATOM_OR:
        return "llvm.vector.reduce.or";
    case IR_ATOM_XOR:
        return "llvm.vector.reduce.xor";
    default:
        return "llvm.vector.reduce.add";
    }
}

/* Operands of lanes that do not run change nothing. */
static void atom_active_operands(struct gen *g, const struct atom *a, LLVMValueRef out[GEN_HALVES])
{
    gen_vector(g, a->in->src[1], out);
    for (int h = 0; h < gen_halves(g); h++) {
        if (g->mask[h])
            out[h] = LLVMBuildSelect(g->b, g->mask[h], out[h],
                                     gen_splat_const(g, a->elem, atom_identity(a)), "");
    }
}

/* The combined operand of a warp whose lanes all bring the same x. */
static LLVMValueRef atom_total_same(struct gen *g, const struct atom *a, LLVMValueRef x)
{
    if (a->op != IR_ATOM_ADD && a->op != IR_ATOM_XOR)
        return x;
    LLVMValueRef mask = gen_mask32(g);
    LLVMValueRef n = gen_intrinsic(g, "llvm.ctpop", &g->t->i32, 1, &mask, 1);
    if (a->op == IR_ATOM_XOR)
        n = LLVMBuildAnd(g->b, n, gen_i32(g, 1), "");
    if (a->elem == g->t->i64)
        n = LLVMBuildZExt(g->b, n, g->t->i64, "");
    return LLVMBuildMul(g->b, x, n, "");
}

static LLVMValueRef atom_total_of(struct gen *g, const struct atom *a,
                                  LLVMValueRef const x[GEN_HALVES])
{
    LLVMValueRef part[2];
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMTypeRef vt = LLVMTypeOf(x[h]);
        LLVMValueRef v = x[h];
        part[h] = gen_intrinsic(g, atom_reducer(a), &vt, 1, &v, 1);
    }
    return atom_apply(g, a, part[0], part[1], NULL);
}

/* atomicAdd(p, x) with one x: a lane is preceded by the running lanes below it. */
static void atom_prefix_same(struct gen *g, const struct atom *a, LLVMValueRef x,
                             LLVMValueRef out[GEN_HALVES])
{
    LLVMValueRef mask = gen_splat(g, gen_mask32(g));
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef below[GEN_LANES];
        for (unsigned l = 0; l < GEN_LANES; l++)
            below[l] = gen_i32(g, (1ull << (l + (unsigned)h * GEN_LANES)) - 1);
        LLVMValueRef n = LLVMBuildAnd(g->b, mask, LLVMConstVector(below, GEN_LANES), "");
        LLVMTypeRef vt = LLVMTypeOf(n);
        n = gen_intrinsic(g, "llvm.ctpop", &vt, 1, &n, 1);
        if (a->elem == g->t->i64)
            n = LLVMBuildZExt(g->b, n, gen_vec(g, g->t->i64), "");
        out[h] = LLVMBuildMul(g->b, n, gen_splat(g, x), "");
    }
}

/* Combination of the lanes below each, and of all. */
static LLVMValueRef atom_prefix_of(struct gen *g, const struct atom *a,
                                   LLVMValueRef const x[GEN_HALVES], LLVMValueRef out[GEN_HALVES])
{
    LLVMValueRef fill = gen_splat_const(g, a->elem, atom_identity(a)), sum[GEN_HALVES],
                 last[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        sum[h] = atom_inclusive(g, a, x[h], fill);
        out[h] = atom_shift_lanes(g, sum[h], fill, 1);
        last[h] = LLVMBuildExtractElement(g->b, sum[h], gen_i32(g, GEN_LANES - 1), "");
    }
    out[1] = atom_apply(g, a, gen_splat(g, last[0]), out[1], NULL);
    return atom_apply(g, a, last[0], last[1], NULL);
}

/* Runs what follows only when some lane is there: lanes may have ended in a callee. */
static LLVMBasicBlockRef atom_if_any_lane(struct gen *g)
{
    if (!g->mask[0] && !g->mask[1])
        return NULL;
    LLVMBasicBlockRef go = gen_bb(g, "atom"), on = gen_bb(g, "atom_done");
    LLVMValueRef some = LLVMBuildICmp(g->b, LLVMIntNE, gen_mask32(g), gen_i32(g, 0), "");
    LLVMBuildCondBr(g->b, some, go, on);
    LLVMPositionBuilderAtEnd(g->b, go);
    return on;
}

static void atom_combined(struct gen *g, struct atom *a)
{
    assert(atom_op_combines(a) && a->op != IR_ATOM_CAS);
    const struct ir_value *xv = a->in->src[1];
    bool same = gen_shape(g, xv)->kind == IR_SHAPE_UNIFORM;
    LLVMValueRef addr[GEN_HALVES], x[GEN_HALVES], before[GEN_HALVES], total;
    gen_lane_addresses(g, a->in, addr);
    LLVMValueRef address = LLVMBuildExtractElement(g->b, addr[0], gen_i32(g, 0), "");
    if (same && !a->used) {
        total = atom_total_same(g, a, gen_scalar(g, xv));
    } else if (same && a->op == IR_ATOM_ADD) {
        total = atom_total_same(g, a, gen_scalar(g, xv));
        atom_prefix_same(g, a, gen_scalar(g, xv), before);
    } else {
        atom_active_operands(g, a, x);
        total = a->used ? atom_prefix_of(g, a, x, before) : atom_total_of(g, a, x);
    }
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b), on = atom_if_any_lane(g);
    LLVMValueRef old = atom_one_op(g, a, address, total, NULL);
    if (on) {
        LLVMBasicBlockRef done = LLVMGetInsertBlock(g->b);
        LLVMBuildBr(g->b, on);
        LLVMPositionBuilderAtEnd(g->b, on);
        LLVMValueRef phi = LLVMBuildPhi(g->b, a->elem, "");
        LLVMValueRef values[] = {gen_ci(a->elem, 0), old};
        LLVMBasicBlockRef blocks[] = {from, done};
        if (a->used)
            LLVMAddIncoming(phi, values, blocks, 2);
        else
            LLVMInstructionEraseFromParent(phi);
        old = phi;
    }
    if (!a->used)
        return;
    for (int h = 0; h < gen_halves(g); h++)
        x[h] = atom_apply(g, a, gen_splat(g, old), before[h], NULL);
    gen_set(g, a->in->dst[0], gen_v(g, x));
}

/* Float sums into one address: in lane order, one swap for the warp. */
static void atom_float_sum(struct gen *g, struct atom *a)
{
    char name[64];
    LLVMValueRef addr[GEN_HALVES];
    gen_lane_addresses(g, a->in, addr);
    LLVMValueRef address = LLVMBuildExtractElement(g->b, addr[0], gen_i32(g, 0), "");
    LLVMValueRef x = gen_to_array(g, a->in->src[1]);
    enum ir_type type = ir_type_value(a->in->type);
    LLVMValueRef out = a->used ? gen_new_array(g, type) : LLVMConstNull(g->t->ptr);
    snprintf(name, sizeof(name), "jit_rt_atom_sum_%s%s", ir_type_name(a->in->type),
             a->shared ? "_cta" : "");
    LLVMValueRef args[] = {gen_mask32(g), address, x, out};
    gen_call_rt(g, name, g->t->void_, args, 4);
    if (a->used)
        gen_set(g, a->in->dst[0], gen_from_array(g, out, type));
}

/* ---- the rest, by the reference semantics */

static void atom_by_reference(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef addr[GEN_HALVES];
    gen_lane_addresses(g, in, addr);
    LLVMValueRef addresses = atom_to_array(g, g->t->i64, addr);
    LLVMValueRef x = gen_to_array(g, in->src[1]);
    LLVMValueRef y =
        in->mem.atom == IR_ATOM_CAS ? gen_to_array(g, in->src[2]) : LLVMConstNull(g->t->ptr);
    enum ir_type type = ir_type_value(in->type);
    LLVMValueRef out = in->ndst ? gen_new_array(g, type) : LLVMConstNull(g->t->ptr);
    LLVMValueRef args[] = {gen_i32(g, in->mem.atom),
                           gen_i32(g, in->type),
                           gen_i32(g, ir_has(in, IR_MOD_NOFTZ)),
                           gen_mask32(g),
                           addresses,
                           x,
                           y,
                           out};
    gen_call_rt(g, "jit_rt_atom", g->t->void_, args, 8);
    if (in->ndst)
        gen_set(g, in->dst[0], gen_from_array(g, out, type));
}

void gen_atom(struct gen *g, const struct ir_instr *in)
{
    assert(in->op == IR_OP_ATOM && in->nsrc >= 1);
    if (!atom_has_native_form(in)) {
        atom_by_reference(g, in);
        return;
    }
    bool sum = in->mem.atom == IR_ATOM_ADD && ir_type_is_float(in->type);
    struct atom a = {
        .in = in,
        .op = in->mem.atom,
        .elem = gen_scalar_type(g, in->type),
        .ft = sum ? gen_float_type(g, in->type) : NULL,
        .sign = ir_type_is_signed(in->type),
        .shared = ir_space_is_shared(in->mem.space),
        .used = in->ndst && atom_is_used(g, in->dst[0]),
    };
    if (in->ndst && !a.used) /* whatever asks for it all the same finds something */
        gen_set(
            g, in->dst[0],
            gen_coerce(g, gen_u(gen_ci(a.elem, 0)), in->dst[0]->type, gen_shape(g, in->dst[0])));
    bool one_address =
        gen_shape(g, in->src[0])->kind == IR_SHAPE_UNIFORM && in->mem.space != IR_SPACE_LOCAL;
    if (one_address && sum)
        atom_float_sum(g, &a);
    else if (one_address && atom_op_combines(&a))
        atom_combined(g, &a);
    else
        atom_lanes(g, &a);
}
