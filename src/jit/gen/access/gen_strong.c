/*
 * Vector accesses that are not weak (ld.relaxed.v2.u32, st.release.v2.u64): programs rely on each
 * lane's 8 or 16 bytes being read and written at once, as hardware does. A look-back scan keeps a
 * status and a value side by side that way. So the elements travel as one word of 64 bits, or as
 * two through helpers with 16-byte instructions.
 */
#include "jit/gen/access/gen_lanes.h"

static unsigned words_of(const struct ir_instr *in)
{
    unsigned bits = in->mem.vec * ir_type_bits(in->type);
    bool whole = in->mem.vec > 1 && (bits == 64 || bits == 128);
    return in->mem.sem != IR_SEM_WEAK && whole && gen_is_far(in) ? bits / 64 : 0;
}

/* Element j of a lane's words; scalars or vectors. */
static LLVMValueRef element(struct gen *g, const struct ir_instr *in, LLVMValueRef const *words,
                            unsigned j)
{
    unsigned bits = ir_type_bits(in->type);
    LLVMValueRef x = words[j * bits / 64];
    bool vec = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
    if (bits == 64)
        return x;
    x = LLVMBuildLShr(g->b, x, gen_k(g, vec, g->t->i64, j * bits % 64), "");
    return LLVMBuildTrunc(g->b, x, gen_type_as(g, vec, gen_scalar_type(g, in->type)), "");
}

static LLVMValueRef gather64(struct gen *g, LLVMValueRef address, int h)
{
    LLVMValueRef ptrs = LLVMBuildIntToPtr(g->b, address, gen_vec(g, g->t->ptr), "");
    return gen_gather(g, g->t->i64, ptrs, g->mask[h], 8, true);
}

static LLVMValueRef array_of(struct gen *g, LLVMValueRef const x[2])
{
    LLVMValueRef array = gen_new_array(g, IR_B64);
    for (int h = 0; h < 2; h++)
        LLVMBuildStore(g->b, x[h], gen_gep(g, array, (uint64_t)h * 8 * GEN_LANES));
    return array;
}

static void load_words(struct gen *g, LLVMValueRef const address[2], unsigned n,
                       LLVMValueRef out[2][2])
{
    if (n == 1) {
        for (int h = 0; h < 2; h++)
            out[h][0] = gather64(g, address[h], h);
        return;
    }
    LLVMValueRef word[2] = {gen_new_array(g, IR_B64), gen_new_array(g, IR_B64)};
    LLVMValueRef args[] = {gen_mask32(g), array_of(g, address), word[0], word[1]};
    gen_call_rt(g, "jit_rt_load16", g->t->void_, args, 4);
    for (unsigned w = 0; w < 2; w++) {
        struct gen_val v = gen_from_array(g, word[w], IR_B64);
        out[0][w] = v.c[0];
        out[1][w] = v.c[1];
    }
}

/* The lanes of a half agree: what the first running one of each half, or of the other, has read. */
static void share(struct gen *g, LLVMValueRef words[2][2], unsigned n)
{
    for (unsigned w = 0; w < n; w++) {
        LLVMValueRef first[2];
        for (int h = 0; h < 2; h++) {
            LLVMValueRef args[] = {gen_mask_bits(g, h), gen_ci(g->t->i1, 0)};
            LLVMValueRef lane = gen_intrinsic(g, "llvm.cttz", &g->t->i16, 1, args, 2);
            lane = LLVMBuildAnd(g->b, lane, gen_ci(g->t->i16, GEN_LANES - 1), "");
            first[h] = LLVMBuildExtractElement(g->b, words[h][w], lane, "");
        }
        LLVMValueRef none =
            LLVMBuildICmp(g->b, LLVMIntEQ, gen_mask_bits(g, 0), gen_ci(g->t->i16, 0), "");
        words[0][w] = LLVMBuildSelect(g->b, none, first[1], first[0], "");
        words[1][w] = first[1];
    }
}

bool gen_strong_load(struct gen *g, const struct ir_instr *in)
{
    unsigned n = words_of(in);
    LLVMValueRef address[GEN_HALVES], words[2][2];
    enum ir_shape_kind kind = gen_shape(g, in->dst[0])->kind;
    if (!n)
        return false;
    gen_lane_addresses(g, in, address);
    load_words(g, address, n, words);
    if (kind != IR_SHAPE_VARYING)
        share(g, words, n);
    for (unsigned j = 0; j < in->mem.vec; j++) {
        LLVMValueRef x[GEN_HALVES] = {element(g, in, words[0], j), element(g, in, words[1], j)};
        gen_set(g, in->dst[j],
                kind == IR_SHAPE_UNIFORM   ? gen_u(x[0])
                : kind == IR_SHAPE_VARYING ? gen_v(g, x)
                                           : gen_a(g, x, 0));
    }
    return true;
}

static void collect(struct gen *g, const struct ir_instr *in, LLVMValueRef words[2][2])
{
    unsigned bits = ir_type_bits(in->type);
    LLVMTypeRef vt = gen_vec(g, g->t->i64);
    for (unsigned j = 0; j < in->mem.vec; j++) {
        LLVMValueRef x[GEN_HALVES];
        gen_vector(g, in->src[1 + j], x);
        for (int h = 0; h < 2; h++) {
            LLVMValueRef *word = &words[j * bits / 64][h];
            LLVMValueRef wide = bits == 64 ? x[h] : LLVMBuildZExt(g->b, x[h], vt, "");
            if (j * bits % 64 == 0) {
                *word = wide;
                continue;
            }
            wide = LLVMBuildShl(g->b, wide, gen_splat_const(g, g->t->i64, j * bits % 64), "");
            *word = LLVMBuildOr(g->b, *word, wide, "");
        }
    }
}

bool gen_strong_store(struct gen *g, const struct ir_instr *in)
{
    unsigned n = words_of(in);
    LLVMValueRef address[GEN_HALVES], words[2][2];
    if (!n)
        return false;
    gen_lane_addresses(g, in, address);
    collect(g, in, words);
    if (n == 2) {
        LLVMValueRef args[] = {gen_mask32(g), array_of(g, address), array_of(g, words[0]),
                               array_of(g, words[1])};
        gen_call_rt(g, "jit_rt_store16", g->t->void_, args, 4);
        return true;
    }
    for (int h = 0; h < 2; h++) {
        LLVMValueRef ptrs = LLVMBuildIntToPtr(g->b, address[h], gen_vec(g, g->t->ptr), "");
        gen_scatter(g, words[0][h], ptrs, g->mask[h], 8, true);
    }
    return true;
}

/* ---- fences */

/*
 * An operation with a lock prefix that changes nothing orders all that comes before it like MFENCE,
 * and sooner. LLVM makes one on the stack of an idempotent operation whose result nobody reads.
 */
static void fence_all(struct gen *g)
{
    LLVMValueRef at = gen_gep(g, g->cta, offsetof(struct jit_cta, opened));
    (void)LLVMBuildAtomicRMW(g->b, LLVMAtomicRMWBinOpOr, at, gen_i32(g, 0),
                             LLVMAtomicOrderingSequentiallyConsistent, false);
}

/* The CTA's threads run on one of the host, whose own order of loads and stores is acq_rel. */
void gen_fence(struct gen *g, const struct ir_instr *in)
{
    if (in->mem.scope != IR_SCOPE_CTA && in->mem.sem == IR_SEM_SC)
        fence_all(g);
    else
        LLVMBuildFence(g->b, LLVMAtomicOrderingAcquireRelease, in->mem.scope == IR_SCOPE_CTA, "");
}
