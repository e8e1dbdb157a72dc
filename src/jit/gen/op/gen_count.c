/*
 * Counters (ir/count.h): what compiled code adds to those of its CTA, which is on one thread.
 *
 * Of accesses that it counts in line that is only what ir_count_settle() does not know: how they
 * differ from one by 32 lanes side by side without a conflict.
 */
#include <string.h>

#include "ir/count.h"
#include "ir/probe.h"
#include "jit/gen/access/gen_access.h"
#include "jit/gen/flow/gen_flow.h"

/* Counters are nobody else's memory, so that sums stay in registers while a loop runs. */
struct apart {
    unsigned scope_kind, noalias_kind;
    LLVMValueRef scopes; /* a list of one */
};

static struct apart count_apart_of(LLVMContextRef ctx)
{
    LLVMMetadataRef name = LLVMMDStringInContext2(ctx, "heddle counters", 15), node, scope[2];
    node = LLVMMDNodeInContext2(ctx, &name, 1);
    scope[0] = name;
    scope[1] = node;
    node = LLVMMDNodeInContext2(ctx, scope, 2);
    return (struct apart){
        .scope_kind = LLVMGetMDKindIDInContext(ctx, "alias.scope", 11),
        .noalias_kind = LLVMGetMDKindIDInContext(ctx, "noalias", 7),
        .scopes = LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, &node, 1)),
    };
}

/* Of calls only those that LLVM itself knows: others may count, or wait. */
static bool count_is_access(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
    case LLVMStore:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return true;
    case LLVMCall:
        return LLVMIsAIntrinsicInst(i) != NULL;
    default:
        return false;
    }
}

void gen_count_apart(struct gen_unit *u)
{
    const struct apart apart = count_apart_of(u->ctx);
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (count_is_access(i) && !LLVMGetMetadata(i, apart.scope_kind))
                    LLVMSetMetadata(i, apart.noalias_kind, apart.scopes);
}

static LLVMValueRef count_counters(struct gen *g)
{
    return gen_load_ctx(g, g->t->ptr, g->cta, offsetof(struct jit_cta, counts));
}

static void count_add(struct gen *g, LLVMValueRef to, size_t word, LLVMValueRef n)
{
    const struct apart apart = count_apart_of(g->unit->ctx);
    LLVMValueRef at = gen_gep(g, to, word * sizeof(uint64_t));
    LLVMValueRef was = LLVMBuildLoad2(g->b, g->t->i64, at, "");
    LLVMValueRef is = LLVMBuildStore(g->b, LLVMBuildAdd(g->b, was, n, ""), at);
    LLVMSetMetadata(was, apart.scope_kind, apart.scopes);
    LLVMSetMetadata(is, apart.scope_kind, apart.scopes);
}

static LLVMValueRef count_lanes_of(struct gen *g, LLVMValueRef mask32)
{
    LLVMValueRef n = gen_intrinsic(g, "llvm.ctpop", &g->t->i32, 1, &mask32, 1);
    return LLVMBuildZExt(g->b, n, g->t->i64, "");
}

static LLVMValueRef count_one_if(struct gen *g, LLVMValueRef is)
{
    return LLVMBuildZExt(g->b, is, g->t->i64, "");
}

static LLVMValueRef count_is_any(struct gen *g, LLVMValueRef mask32)
{
    return LLVMBuildICmp(g->b, LLVMIntNE, mask32, gen_i32(g, 0), "");
}

static int count_warps(struct gen *g)
{
    if (gen_is_half(g))
        (void)gen_singly(g);
    return gen_is_half(g) ? 1 : gen_halves(g) / 2;
}

static bool count_is_all(LLVMValueRef mask32)
{
    return LLVMIsAConstantInt(mask32) && LLVMConstIntGetZExtValue(mask32) == UINT32_MAX;
}

static void count_group(struct gen *g, uint32_t group)
{
    LLVMValueRef to = count_counters(g), any = gen_i64(g, 0), lanes = gen_i64(g, 0);
    size_t word = ir_count_group_word(group);
    for (int w = 0; w < count_warps(g); w++) {
        LLVMValueRef mask = gen_mask_of_warp(g, w);
        any = LLVMBuildAdd(g->b, any, count_one_if(g, count_is_any(g, mask)), "");
        lanes = LLVMBuildAdd(g->b, lanes, count_lanes_of(g, mask), "");
    }
    count_add(g, to, word + IR_COUNT_WARPS, any);
    count_add(g, to, word + IR_COUNT_LANES, lanes);
}

/* The lanes of a warp for which it holds, as i32; x: of all halves. */
static LLVMValueRef count_holds(struct gen *g, LLVMValueRef const x[GEN_HALVES], int w)
{
    LLVMValueRef all = gen_i32(g, 0);
    for (int h = 2 * w; h < gen_halves(g) && h < 2 * w + 2; h++) {
        LLVMValueRef bits = LLVMBuildZExt(g->b, gen_bits(g, x[h]), g->t->i32, "");
        bits = LLVMBuildShl(g->b, bits, gen_i32(g, (uint64_t)(h % 2) * GEN_LANES), "");
        all = LLVMBuildOr(g->b, all, bits, "");
    }
    return all;
}

static void count_branch(struct gen *g, const struct ir_instr *probe, uint32_t instr)
{
    size_t word = ir_count_instr_word(g->func->module, instr);
    LLVMValueRef to = count_counters(g), x[GEN_HALVES], n = gen_i64(g, 0), parting = n;
    gen_vector(g, probe->src[0], x);
    for (int w = 0; w < count_warps(g); w++) {
        LLVMValueRef lanes = gen_mask_of_warp(g, w);
        LLVMValueRef taken = LLVMBuildAnd(g->b, count_holds(g, x, w), lanes, "");
        LLVMValueRef parts = LLVMBuildICmp(g->b, LLVMIntNE, taken, lanes, "");
        parts = LLVMBuildAnd(g->b, parts, count_is_any(g, taken), "");
        n = LLVMBuildAdd(g->b, n, count_lanes_of(g, taken), "");
        parting = LLVMBuildAdd(g->b, parting, count_one_if(g, parts), "");
    }
    count_add(g, to, word + IR_COUNT_TAKEN, n);
    count_add(g, to, word + IR_COUNT_DIVERGENT, parting);
}

/* ---- where the lanes of an access are */

enum { SECTOR_B = 32, BANK_B = 4, BANKS = 32 };

/* A scalar for each half of a warp, and from there constant distances of its lanes, in bytes. */
struct line {
    const struct ir_instr *probe;
    uint64_t size_B;
    enum ir_count_space space;
    int warp;
    LLVMValueRef mask, base[2];
    int64_t lane[GEN_LANES];
    bool is_uniform;
    bool goes_on; /* base[1] is `step` further than base[0] */
    int64_t step;
    uint64_t align;    /* that base[0] has at least, if not more than a sector */
    LLVMValueRef fits; /* i1: this is so, and what is added counts these lanes; NULL: always */
    /* What is added; NULL: nothing. */
    LLVMValueRef sectors, ideal_sectors, wavefronts;
};

static void count_when(struct gen *g, struct line *l, LLVMValueRef cond)
{
    l->fits = l->fits ? LLVMBuildAnd(g->b, l->fits, cond, "") : cond;
}

static void count_when_all_run(struct gen *g, struct line *l)
{
    if (!count_is_all(l->mask))
        count_when(g, l, LLVMBuildICmp(g->b, LLVMIntEQ, l->mask, gen_i32(g, UINT32_MAX), ""));
}

static void count_when_some_run(struct gen *g, struct line *l)
{
    if (!count_is_all(l->mask))
        count_when(g, l, count_is_any(g, l->mask));
}

static void count_strides_set(struct line *l, int64_t stride)
{
    for (int i = 0; i < GEN_LANES; i++)
        l->lane[i] = stride * i;
}

static void count_place_by_shape(struct gen *g, const struct gen_val *val, struct line *l)
{
    const struct ir_shape *s = gen_shape(g, l->probe->src[0]);
    bool is_uniform = val->kind == IR_SHAPE_UNIFORM;
    count_strides_set(l, is_uniform ? 0 : val->stride);
    for (int h = 0; h < 2; h++)
        l->base[h] = val->c[is_uniform ? 0 : 2 * l->warp + h];
    l->is_uniform = is_uniform;
    l->goes_on = is_uniform || (s->kind == IR_SHAPE_AFFINE && s->whole);
    l->step = is_uniform ? 0 : val->stride * GEN_LANES;
    l->align = s->kind == IR_SHAPE_AFFINE && s->whole ? s->warp_align : 1;
}

static void count_first_lanes(struct gen *g, LLVMValueRef const x[GEN_HALVES], struct line *l)
{
    for (int h = 0; h < 2; h++)
        l->base[h] = LLVMBuildExtractElement(g->b, x[2 * l->warp + h], gen_i32(g, 0), "");
}

static bool count_place_by_pattern(struct gen *g, LLVMValueRef const x[GEN_HALVES], struct line *l)
{
    if (l->space != IR_COUNT_IN_SHARED ||
        !gen_pattern_distances(g, l->probe->src[0], l->lane, &l->goes_on, &l->step))
        return false;
    count_first_lanes(g, x, l);
    return true;
}

/* Taken for neighbours: `fits` says at run time whether they are. */
static void count_place_by_guess(struct gen *g, LLVMValueRef const x[GEN_HALVES], struct line *l)
{
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(x[0]));
    count_strides_set(l, (int64_t)l->size_B);
    count_first_lanes(g, x, l);
    l->align = 1;
    count_when_all_run(g, l);
    for (int h = 0; h < 2; h++) {
        LLVMValueRef want = gen_lanes(g, type, l->lane[1]);
        want = LLVMBuildAdd(g->b, want, gen_splat(g, l->base[h]), "");
        LLVMValueRef other = LLVMBuildICmp(g->b, LLVMIntNE, x[2 * l->warp + h], want, "");
        count_when(g, l, LLVMBuildICmp(g->b, LLVMIntEQ, gen_bits(g, other), gen_no_bits(g), ""));
    }
}

static void count_place(struct gen *g, LLVMValueRef const x[GEN_HALVES], struct line *l)
{
    struct gen_val val = gen_get(g, l->probe->src[0]);
    if (val.kind == IR_SHAPE_UNIFORM || val.kind == IR_SHAPE_AFFINE)
        count_place_by_shape(g, &val, l);
    else if (!count_place_by_pattern(g, x, l))
        count_place_by_guess(g, x, l);
}

/* What all lanes cost by the rules for any, where the second half is `step` further. */
static void count_costs_of(const struct line *l, int64_t step, uint64_t out[IR_COUNT_ACCESS_WORDS])
{
    uint64_t address[IR_COUNT_WARP];
    const struct ir_count_access access = {
        .words = out, .space = l->space, .lanes = ~0u, .size_B = l->size_B, .address = address};
    memset(out, 0, IR_COUNT_ACCESS_WORDS * sizeof(*out));
    for (int i = 0; i < IR_COUNT_WARP; i++)
        address[i] =
            (UINT64_C(1) << 40) + (uint64_t)(l->lane[i % GEN_LANES] + (i >= GEN_LANES ? step : 0));
    ir_count_access(&access);
}

static void count_span_of(const struct line *l, int64_t *out_low, int64_t *out_high)
{
    *out_low = *out_high = 0;
    for (int i = 0; i < GEN_LANES; i++) {
        *out_low = HD_MIN(*out_low, l->lane[i]);
        *out_high = HD_MAX(*out_high, l->lane[i]);
    }
}

static LLVMValueRef count_step_of(struct gen *g, const struct line *l)
{
    return LLVMBuildSub(g->b, l->base[1], l->base[0], "");
}

static LLVMValueRef count_is_const(struct gen *g, LLVMValueRef x, uint64_t k)
{
    return LLVMBuildICmp(g->b, LLVMIntEQ, x, LLVMConstInt(LLVMTypeOf(x), k, true), "");
}

/* ---- shared memory */

/* The passes of words of 4 bytes by how many words the second half is further: a table that `far`
 * of no common words, by banks, stands behind. */
enum { NEAR_MAX = 1024 };

struct passes {
    int64_t near; /* more words apart halves have none in common */
    uint8_t at[2 * NEAR_MAX + 1 + BANKS];
    bool is_same; /* whatever the step */
};

static bool count_passes_fill(const struct line *l, struct passes *p)
{
    uint64_t costs[IR_COUNT_ACCESS_WORDS];
    int64_t low, high;
    count_span_of(l, &low, &high);
    p->near = (high - low) / BANK_B;
    p->is_same = true;
    if (p->near > NEAR_MAX)
        return false;
    for (int64_t i = 0; i < 2 * p->near + 1 + BANKS; i++) {
        int64_t words = i <= 2 * p->near ? i - p->near : i - (2 * p->near + 1) + BANKS * NEAR_MAX;
        count_costs_of(l, words * BANK_B, costs);
        p->at[i] = (uint8_t)costs[IR_COUNT_WAVEFRONTS];
        p->is_same &= p->at[i] == p->at[0];
    }
    return true;
}

static LLVMValueRef count_passes_table(struct gen *g, const struct passes *p)
{
    unsigned n = (unsigned)(2 * p->near + 1) + BANKS;
    LLVMValueRef text =
        LLVMConstStringInContext2(g->unit->ctx, (const char *)p->at, n, /*no NUL*/ true);
    LLVMValueRef table = LLVMAddGlobal(g->unit->mod, LLVMTypeOf(text), "heddle_passes");
    LLVMSetInitializer(table, text);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetGlobalConstant(table, true);
    return table;
}

static LLVMValueRef count_passes_read(struct gen *g, const struct line *l, const struct passes *p)
{
    LLVMValueRef d = count_step_of(g, l);
    LLVMTypeRef type = LLVMTypeOf(d);
    d = LLVMBuildAShr(g->b, d, LLVMConstInt(type, 2, false), "");
    LLVMValueRef near = LLVMBuildAdd(g->b, d, LLVMConstInt(type, (uint64_t)p->near, false), "");
    LLVMValueRef count = LLVMConstInt(type, (uint64_t)(2 * p->near + 1), false);
    LLVMValueRef far = LLVMBuildAnd(g->b, d, LLVMConstInt(type, BANKS - 1, false), "");
    far = LLVMBuildAdd(g->b, far, count, "");
    LLVMValueRef is_near = LLVMBuildICmp(g->b, LLVMIntULT, near, count, "");
    LLVMValueRef at = LLVMBuildSelect(g->b, is_near, near, far, "");
    at = LLVMBuildZExt(g->b, at, g->t->i64, "");
    at = LLVMBuildGEP2(g->b, g->t->i8, count_passes_table(g, p), &at, 1, "");
    LLVMValueRef n = LLVMBuildLoad2(g->b, g->t->i8, at, "");
    return LLVMBuildZExt(g->b, n, g->t->i64, "");
}

static void count_add_passes(struct gen *g, struct line *l, uint64_t n, uint64_t ideal)
{
    if (n != ideal)
        l->wavefronts = gen_i64(g, n - ideal);
}

/* Lanes without a conflict have none if fewer of them run, either. */
static bool count_shared_words(struct gen *g, struct line *l)
{
    uint64_t costs[IR_COUNT_ACCESS_WORDS];
    struct passes p;
    if (!l->goes_on && !count_passes_fill(l, &p))
        return false;
    if (l->goes_on || p.is_same) {
        count_costs_of(l, l->step, costs);
        if (costs[IR_COUNT_WAVEFRONTS] > 1)
            count_when_all_run(g, l);
        count_add_passes(g, l, costs[IR_COUNT_WAVEFRONTS], 1);
        return true;
    }
    LLVMValueRef n = count_passes_read(g, l, &p);
    if (!count_is_all(l->mask)) {
        LLVMValueRef all = LLVMBuildICmp(g->b, LLVMIntEQ, l->mask, gen_i32(g, UINT32_MAX), "");
        count_when(g, l, LLVMBuildOr(g->b, all, count_is_const(g, n, 1), ""));
    }
    l->wavefronts = LLVMBuildSub(g->b, n, gen_i64(g, 1), "");
    return true;
}

/* Parts of words: only where all lie in 32 words that follow each other. */
static bool count_shared_parts(const struct line *l)
{
    int64_t low, high;
    count_span_of(l, &low, &high);
    low += HD_MIN(l->step, 0);
    high += HD_MAX(l->step, 0);
    return l->goes_on && high - low <= (BANKS - 1) * BANK_B;
}

static bool count_shared_line(struct gen *g, struct line *l)
{
    uint64_t costs[IR_COUNT_ACCESS_WORDS];
    if (l->size_B == BANK_B)
        return count_shared_words(g, l);
    if (l->size_B < BANK_B)
        return count_shared_parts(l);
    count_when_all_run(g, l); /* lanes that go together are of one half */
    count_costs_of(l, 0, costs);
    count_add_passes(g, l, costs[IR_COUNT_WAVEFRONTS], costs[IR_COUNT_IDEAL_WAVEFRONTS]);
    return true;
}

/* ---- global memory */

static LLVMValueRef count_shift(struct gen *g, LLVMValueRef x, int64_t by)
{
    return LLVMBuildAdd(g->b, x, gen_i64(g, (uint64_t)by), "");
}

static LLVMValueRef count_sector_of(struct gen *g, LLVMValueRef address)
{
    return LLVMBuildLShr(g->b, address, gen_i64(g, 5), "");
}

/* From the sector of one byte to that of another. */
static LLVMValueRef count_sectors_to(struct gen *g, LLVMValueRef low, LLVMValueRef high)
{
    LLVMValueRef n = LLVMBuildSub(g->b, count_sector_of(g, high), count_sector_of(g, low), "");
    return count_shift(g, n, 1);
}

static LLVMValueRef count_extreme(struct gen *g, const char *which, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef args[] = {a, b};
    return gen_intrinsic(g, which, &g->t->i64, 1, args, 2);
}

/* What packed lanes would take. */
static LLVMValueRef packed(struct gen *g, const struct line *l, LLVMValueRef lanes)
{
    LLVMValueRef n = LLVMBuildMul(g->b, lanes, gen_i64(g, l->size_B), "");
    return count_sector_of(g, count_shift(g, n, SECTOR_B - 1));
}

static uint64_t count_packed_all(const struct line *l)
{
    return l->size_B * IR_COUNT_WARP / SECTOR_B;
}

static void count_add_sectors(struct gen *g, struct line *l, LLVMValueRef n, LLVMValueRef at_least)
{
    LLVMValueRef ideal = count_extreme(g, "llvm.umin", n, at_least);
    l->sectors = count_shift(g, n, -(int64_t)count_packed_all(l));
    l->ideal_sectors = count_shift(g, ideal, -(int64_t)count_packed_all(l));
}

/* That so many bytes from there on touch; words are aligned, so they touch one. */
static LLVMValueRef count_sectors_from(struct gen *g, const struct line *l, LLVMValueRef x,
                                       int64_t size_B)
{
    if (size_B == (int64_t)l->size_B)
        return gen_i64(g, 1);
    x = LLVMBuildAnd(g->b, x, gen_i64(g, SECTOR_B - 1), "");
    return count_sector_of(g, count_shift(g, x, size_B + SECTOR_B - 1));
}

/*
 * All lanes, dense: each half touches every sector between its ends; the size of the union. Halves
 * at one place, as in blocks of rows, come out as one.
 */
static LLVMValueRef count_sectors_of_halves(struct gen *g, const struct line *l)
{
    int64_t low, high;
    LLVMValueRef x[2], n[2], zero = gen_i64(g, 0);
    count_span_of(l, &low, &high);
    for (int h = 0; h < 2; h++) {
        x[h] = count_shift(g, l->base[h], l->probe->mem.offset + low);
        n[h] = count_sectors_from(g, l, x[h], high - low + (int64_t)l->size_B);
    }
    LLVMValueRef apart = LLVMBuildSub(g->b, count_sector_of(g, x[1]), count_sector_of(g, x[0]), "");
    if (low == high)
        return count_shift(g, count_one_if(g, LLVMBuildNot(g->b, count_is_const(g, apart, 0), "")),
                           1);
    LLVMValueRef both = LLVMBuildAdd(g->b, n[1], apart, "");
    both = count_extreme(g, "llvm.smin", n[0], both);
    both = LLVMBuildSub(g->b, both, count_extreme(g, "llvm.smax", apart, zero), "");
    both = count_extreme(g, "llvm.smax", both, zero);
    return LLVMBuildSub(g->b, LLVMBuildAdd(g->b, n[0], n[1], ""), both, "");
}

/* Lanes that follow each other, of which the mask has a first and a last one: no others between. */
static LLVMValueRef count_sectors_of_run(struct gen *g, struct line *l)
{
    LLVMValueRef ends[2] = {gen_i64(g, 0), gen_i64(g, IR_COUNT_WARP - 1)};
    if (!count_is_all(l->mask)) {
        LLVMValueRef args[] = {l->mask, gen_ci(g->t->i1, 0)};
        LLVMValueRef zeros = gen_intrinsic(g, "llvm.cttz", &g->t->i32, 1, args, 2);
        LLVMValueRef run = LLVMBuildLShr(
            g->b, l->mask, LLVMBuildAnd(g->b, zeros, gen_i32(g, IR_COUNT_WARP - 1), ""), "");
        LLVMValueRef next = LLVMBuildAdd(g->b, run, gen_i32(g, 1), "");
        count_when_some_run(g, l);
        count_when(g, l,
                   LLVMBuildNot(g->b, count_is_any(g, LLVMBuildAnd(g->b, run, next, "")), ""));
        ends[0] = LLVMBuildZExt(g->b, zeros, g->t->i64, "");
        ends[1] = count_shift(g, LLVMBuildAdd(g->b, ends[0], count_lanes_of(g, l->mask), ""), -1);
    }
    bool falls = l->lane[1] < 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = LLVMBuildMul(g->b, ends[i], gen_i64(g, (uint64_t)l->lane[1]), "");
        ends[i] = LLVMBuildAdd(g->b, ends[i], count_shift(g, l->base[0], l->probe->mem.offset), "");
    }
    return count_sectors_to(g, ends[falls], count_shift(g, ends[!falls], (int64_t)l->size_B - 1));
}

/* Side by side: more than the fewest only if the first one is not where a sector begins. */
static void count_add_neighbours(struct gen *g, struct line *l)
{
    int64_t first = l->lane[1] < 0 ? l->lane[1] * (IR_COUNT_WARP - 1) : 0;
    first += l->probe->mem.offset;
    if (!(l->align % SECTOR_B) && !(first % SECTOR_B))
        return;
    LLVMValueRef inside = count_shift(g, l->base[0], first);
    inside = LLVMBuildAnd(g->b, inside, gen_i64(g, SECTOR_B - 1), "");
    l->sectors = count_one_if(g, LLVMBuildNot(g->b, count_is_const(g, inside, 0), ""));
}

static void count_when_halves_go_on(struct gen *g, struct line *l)
{
    if (!l->goes_on)
        count_when(g, l,
                   count_is_const(g, count_step_of(g, l), (uint64_t)(l->lane[1] * GEN_LANES)));
}

static bool count_global_line(struct gen *g, struct line *l)
{
    int64_t far = l->lane[1] < 0 ? -l->lane[1] : l->lane[1];
    LLVMValueRef n = count_lanes_of(g, l->mask);
    if (LLVMTypeOf(l->base[0]) != g->t->i64 || l->size_B > SECTOR_B)
        return false;
    if (l->is_uniform) {
        count_when_some_run(g, l);
        count_add_sectors(g, l, gen_i64(g, 1), gen_i64(g, 1));
    } else if (far > SECTOR_B) { /* each lane has its own */
        count_when_halves_go_on(g, l);
        count_when_some_run(g, l);
        count_add_sectors(g, l, n, packed(g, l, n));
    } else if (!l->goes_on) {
        count_when_all_run(g, l);
        count_add_sectors(g, l, count_sectors_of_halves(g, l), gen_i64(g, count_packed_all(l)));
    } else if (count_is_all(l->mask) && far == (int64_t)l->size_B) {
        count_add_neighbours(g, l);
    } else {
        count_add_sectors(g, l, count_sectors_of_run(g, l), packed(g, l, n));
    }
    return true;
}

/* ---- an access */

static bool count_is_simple(const struct ir_instr *probe)
{
    enum ir_op op = ir_probe_op(probe);
    return (op == IR_OP_LD || op == IR_OP_ST || op == IR_OP_ATOM) &&
           (probe->mem.space == IR_SPACE_SHARED || probe->mem.space == IR_SPACE_GLOBAL ||
            probe->mem.space == IR_SPACE_LOCAL);
}

static enum ir_count_space space_of(const struct ir_instr *probe)
{
    return probe->mem.space == IR_SPACE_SHARED  ? IR_COUNT_IN_SHARED
           : probe->mem.space == IR_SPACE_LOCAL ? IR_COUNT_IN_LOCAL
                                                : IR_COUNT_IN_GLOBAL;
}

static void count_line_add(struct gen *g, const struct line *l)
{
    size_t word = ir_count_access_word(g->func->module, ir_probe_its_imm(l->probe), l->space);
    LLVMValueRef to = count_counters(g);
    if (l->sectors)
        count_add(g, to, word + IR_COUNT_SECTORS, l->sectors);
    if (l->ideal_sectors)
        count_add(g, to, word + IR_COUNT_IDEAL_SECTORS, l->ideal_sectors);
    if (l->wavefronts)
        count_add(g, to, word + IR_COUNT_WAVEFRONTS, l->wavefronts);
}

/* False: nothing of it can be counted in line. */
static bool count_line_make(struct gen *g, LLVMValueRef const x[GEN_HALVES], struct line *l)
{
    if (!ir_count_is_settled(g->func->module, l->probe) || gen_is_half(g))
        return false;
    count_place(g, x, l);
    return l->space == IR_COUNT_IN_SHARED ? count_shared_line(g, l) : count_global_line(g, l);
}

static const char *count_of_level(enum jit_path path)
{
    return path == JIT_AVX512 ? "jit_rt_count_avx512"
           : path == JIT_AVX2 ? "jit_rt_count_avx2"
                              : "jit_rt_count_generic";
}

static void count_called(struct gen *g, const struct line *l, LLVMValueRef addresses)
{
    size_t word = ir_count_access_word(g->func->module, ir_probe_its_imm(l->probe), l->space);
    LLVMValueRef args[] = {
        gen_gep(g, count_counters(g), word * sizeof(uint64_t)),
        gen_i32(g, l->space),
        gen_i32(g, ir_probe_op(l->probe) == IR_OP_ATOM),
        l->mask,
        gen_i64(g, l->size_B),
        addresses,
    };
    gen_call_rt(g, count_of_level(g->unit->req->path), g->t->void_, args, HD_COUNT_OF(args));
}

static void count_warp(struct gen *g, struct line *l, LLVMValueRef const x[GEN_HALVES],
                       LLVMValueRef const words[GEN_HALVES])
{
    LLVMBasicBlockRef in_line = NULL, other = NULL, on = NULL;
    bool is_line = count_line_make(g, x, l);
    if (is_line && l->fits) {
        in_line = gen_bb(g, "in_line");
        other = gen_bb(g, "count");
        on = gen_bb(g, "counted");
        LLVMBuildCondBr(g->b, l->fits, in_line, other);
        LLVMPositionBuilderAtEnd(g->b, in_line);
    }
    if (is_line)
        count_line_add(g, l);
    if (on) {
        LLVMBuildBr(g->b, on);
        LLVMPositionBuilderAtEnd(g->b, other);
    }
    if (!is_line || on)
        count_called(g, l, gen_probe_lanes(g, words, l->warp));
    if (on) {
        LLVMBuildBr(g->b, on);
        LLVMPositionBuilderAtEnd(g->b, on);
    }
}

bool gen_count_access(struct gen *g, const struct ir_instr *probe,
                      LLVMValueRef const words[GEN_HALVES])
{
    LLVMValueRef x[GEN_HALVES];
    if (!g->func->module->has_counts || !count_is_simple(probe))
        return false;
    gen_vector(g, probe->src[0], x);
    for (int w = 0; w < count_warps(g); w++) {
        struct line l = {.probe = probe,
                         .size_B = ir_probe_size_B(probe),
                         .space = space_of(probe),
                         .warp = w,
                         .mask = gen_mask_of_warp(g, w)};
        count_warp(g, &l, x, words);
    }
    return true;
}

bool gen_count(struct gen *g, const struct ir_instr *probe)
{
    if (!g->func->module->has_counts)
        return false;
    switch (ir_probe_op(probe)) {
    case IR_OP_NOTE:
        count_group(g, ir_probe_its_imm(probe));
        return true;
    case IR_OP_CBR:
        count_branch(g, probe, ir_probe_its_imm(probe));
        return true;
    default:
        return false;
    }
}
