/*
 * Addresses in shared memory whose distances between lanes are known: a scalar per half plus a
 * constant per lane, as in s[2 * t - (t & 7)] or s[i + (i >> 5)] with i = 4 * t + 3. Such an access
 * is a few vector loads and constant permutes, or permutes and masked stores: many times faster
 * than a gather or scatter. The shape lattice has strides only, so this looks at the expression.
 *
 * value = base + lane[l]. Bits above a power of two that divides the base and bits below it do not
 * mix, which is what lets and, or, xor and shifts with constants through.
 */
#include "jit/gen/access/gen_lanes.h"

#include <assert.h>
#include <string.h>

#define MAX_VECTORS 16 /* as many as lanes: a gather is no less */
#define VECTOR_B    64
#define OPEN_MAX    4 /* vectors with gaps between them */
#define TID_UNIT    4096
#define BY_TID_MAX  ((int64_t)TID_UNIT << 20) /* times 1024 threads: below 2^31 */

struct gen_pattern {
    bool ok;
    uint64_t divides; /* power of two that divides the base */
    int64_t lane[GEN_LANES];
    /* What the base is made of, when that is known and small enough not to wrap: */
    bool is_known;
    int64_t by_tid; /* in units of 1 / TID_UNIT: half 1's base is this much times 16 further */
    const struct ir_value *plus; /* NULL = 0 */
};

static const struct gen_pattern *pattern_of(struct gen *g, const struct ir_value *v,
                                            unsigned depth);

static uint64_t pattern_low_bit(uint64_t x)
{
    return x ? x & -x : 1ull << 40;
}

/* Moves what all lanes have in common above `divides` to the base; false when lanes reach over. */
static bool pattern_split(const struct gen_pattern *p, int64_t *out_high)
{
    int64_t high = p->lane[0] & ~(int64_t)(p->divides - 1);
    for (int l = 0; l < GEN_LANES; l++) {
        if ((p->lane[l] & ~(int64_t)(p->divides - 1)) != high)
            return false;
    }
    *out_high = high;
    return true;
}

static bool pattern_is_bitwise(enum ir_op op)
{
    return op == IR_OP_AND || op == IR_OP_OR || op == IR_OP_XOR;
}

static uint64_t pattern_bitwise(enum ir_op op, uint64_t a, uint64_t b)
{
    return op == IR_OP_AND ? a & b : op == IR_OP_OR ? a | b : a ^ b;
}

/* One operand is a constant for all operations but addition and subtraction. */
static const struct ir_value *pattern_variable_operand(const struct ir_instr *in,
                                                       uint64_t *out_const)
{
    if (in->nsrc < 2)
        return in->src[0];
    if (ir_value_const(in->src[1], out_const))
        return in->src[0];
    bool either = pattern_is_bitwise(in->op) || in->op == IR_OP_MUL || in->op == IR_OP_MULWIDE;
    return either && ir_value_const(in->src[0], out_const) ? in->src[1] : NULL;
}

static bool pattern_apply_sum(struct gen *g, const struct ir_instr *in, struct gen_pattern *p,
                              unsigned depth)
{
    const struct gen_pattern *a = pattern_of(g, in->src[0], depth);
    const struct gen_pattern *b = pattern_of(g, in->src[1], depth);
    if (!a || !b || !a->ok || !b->ok || ir_has(in, IR_MOD_SAT) || ir_type_lanes(in->type) > 1)
        return false;
    p->divides = HD_MIN(a->divides, b->divides);
    for (int l = 0; l < GEN_LANES; l++)
        p->lane[l] = in->op == IR_OP_ADD ? a->lane[l] + b->lane[l] : a->lane[l] - b->lane[l];
    p->is_known = a->is_known && b->is_known && !(a->plus && b->plus) &&
                  (in->op == IR_OP_ADD || (!b->plus && b->by_tid <= a->by_tid));
    p->plus = a->plus ? a->plus : b->plus;
    p->by_tid = in->op == IR_OP_ADD ? a->by_tid + b->by_tid : a->by_tid - b->by_tid;
    p->is_known &= p->by_tid < BY_TID_MAX;
    return true;
}

static bool pattern_apply_scaled(const struct gen_pattern *a, int64_t k, struct gen_pattern *p)
{
    if (k > 4096 || k < -4096)
        return false;
    p->divides = a->divides * pattern_low_bit((uint64_t)k);
    for (int l = 0; l < GEN_LANES; l++)
        p->lane[l] = a->lane[l] * k;
    p->is_known = a->is_known && !a->plus && k > 0 && a->by_tid * k < BY_TID_MAX;
    p->by_tid = a->by_tid * k;
    return true;
}

static bool pattern_apply_bits(const struct ir_instr *in, const struct gen_pattern *a, uint64_t k,
                               struct gen_pattern *p)
{
    int64_t high;
    if (!pattern_split(a, &high))
        return false;
    p->divides = a->divides;
    for (int l = 0; l < GEN_LANES; l++)
        p->lane[l] =
            (int64_t)pattern_bitwise(in->op, (uint64_t)(a->lane[l] - high), k & (a->divides - 1));
    bool cuts_base = in->op == IR_OP_AND; /* k has none of its bits */
    p->is_known = (cuts_base || (a->is_known && !high)) && k < a->divides;
    p->by_tid = cuts_base ? 0 : a->by_tid;
    p->plus = cuts_base ? NULL : a->plus;
    return true;
}

static bool pattern_apply_shr(const struct gen_pattern *a, uint64_t k, struct gen_pattern *p)
{
    int64_t high;
    if (k > 31 || a->divides >> k == 0 || !pattern_split(a, &high))
        return false;
    p->divides = a->divides >> k;
    for (int l = 0; l < GEN_LANES; l++)
        p->lane[l] = (a->lane[l] - high) >> k;
    p->is_known = a->is_known && !a->plus && !high && a->by_tid % ((int64_t)1 << k) == 0;
    p->by_tid = a->by_tid >> k;
    return true;
}

/* Widening is exact when no lane carries into the bits of the base. */
static bool pattern_apply_widened(const struct gen_pattern *a, int64_t k, struct gen_pattern *p)
{
    int64_t high;
    struct gen_pattern low = *a;
    if (!pattern_split(a, &high))
        return false;
    for (int l = 0; l < GEN_LANES; l++)
        low.lane[l] -= high;
    low.is_known &= !high;
    return pattern_apply_scaled(&low, k, p);
}

static bool pattern_is_integer_cvt(const struct ir_instr *in)
{
    enum ir_type from = in->type2, to = in->type;
    bool ints = (from == IR_U32 || from == IR_S32 || from == IR_B32 || from == IR_U64 ||
                 from == IR_S64 || from == IR_B64) &&
                (to == IR_U32 || to == IR_S32 || to == IR_B32 || to == IR_U64 || to == IR_S64 ||
                 to == IR_B64);
    return ints && !ir_has(in, IR_MOD_SAT);
}

static bool pattern_apply(struct gen *g, const struct ir_instr *in, struct gen_pattern *p,
                          unsigned depth)
{
    uint64_t k = 0;
    if (in->op == IR_OP_ADD || in->op == IR_OP_SUB)
        return pattern_apply_sum(g, in, p, depth);
    if (!pattern_is_bitwise(in->op) && in->op != IR_OP_MUL && in->op != IR_OP_MULWIDE &&
        in->op != IR_OP_SHL && in->op != IR_OP_SHR && in->op != IR_OP_CVT)
        return false;
    const struct ir_value *v = pattern_variable_operand(in, &k);
    const struct gen_pattern *a = v ? pattern_of(g, v, depth) : NULL;
    if (!a || !a->ok)
        return false;
    switch (in->op) {
    case IR_OP_MUL:
        return pattern_apply_scaled(a, (int64_t)k, p);
    case IR_OP_MULWIDE:
        return ir_type_bits(in->type) == 32 && k < 4096 && pattern_apply_widened(a, (int64_t)k, p);
    case IR_OP_SHL:
        return k < 12 && pattern_apply_scaled(a, 1 << k, p);
    case IR_OP_SHR:
        return pattern_apply_shr(a, k, p);
    case IR_OP_CVT:
        return pattern_is_integer_cvt(in) &&
               (ir_type_bits(in->type) > ir_type_bits(in->type2) ? pattern_apply_widened(a, 1, p)
                                                                 : pattern_apply_scaled(a, 1, p));
    default:
        return pattern_apply_bits(in, a, k, p);
    }
}

/* Small constants go into the lanes: they are the low bits that other constants cut off. */
static bool pattern_small_const(const struct ir_value *v, int64_t *out)
{
    uint64_t k;
    if (!ir_value_const(v, &k))
        return false;
    *out = ir_type_bits(v->type) == 32 ? (int32_t)k : (int64_t)k;
    return *out > -4096 && *out < 4096;
}

static bool pattern_apply_leaf(struct gen *g, const struct ir_value *v, struct gen_pattern *p)
{
    const struct ir_shape *s = gen_shape(g, v);
    int64_t k = 0;
    if (s->kind > IR_SHAPE_AFFINE)
        return false;
    bool small = pattern_small_const(v, &k);
    p->divides = small ? pattern_low_bit(0) : s->align;
    for (int l = 0; l < GEN_LANES; l++)
        p->lane[l] = small ? k : s->kind == IR_SHAPE_AFFINE ? s->stride * l : 0;
    bool is_tid = v->instr && v->instr->op == IR_OP_SREG && v->instr->imm == IR_SREG_TID_X;
    p->is_known = small || s->kind == IR_SHAPE_UNIFORM || (is_tid && s->whole && s->stride == 1);
    p->by_tid = s->kind == IR_SHAPE_AFFINE ? TID_UNIT : 0;
    p->plus = !small && s->kind == IR_SHAPE_UNIFORM ? v : NULL;
    return s->stride > -4096 && s->stride < 4096;
}

static const struct gen_pattern *pattern_of(struct gen *g, const struct ir_value *v, unsigned depth)
{
    struct gen_pattern **memo = &g->patterns[v->id], *p;
    uint64_t bits = ir_type_bits(v->type);
    if (*memo || depth > 24 || (bits != 32 && bits != 64))
        return *memo;
    p = hd_arena_array(&g->arena, struct gen_pattern, 1);
    if (!p)
        return NULL;
    /* A value that keeps what lanes had that do not run now is no expression. */
    bool split_up = gen_shape(g, v)->kind != IR_SHAPE_UNIFORM && v->instr &&
                    !(g->shapes.temporal && g->shapes.temporal[v->id]);
    p->ok = (split_up && pattern_apply(g, v->instr, p, depth + 1)) || pattern_apply_leaf(g, v, p);
    p->divides = HD_MIN(p->divides, pattern_low_bit(0));
    return *memo = p;
}

/* ---- accesses of 4-byte elements */

struct window {
    unsigned nvectors;
    int64_t at[MAX_VECTORS];           /* bytes from the base: where each vector starts */
    int slot[GEN_LANES];               /* of a lane: element counted over the vectors */
    int taken[MAX_VECTORS][GEN_LANES]; /* of an element: lane that has it, or -1 */
    bool distinct;                     /* no element belongs to two lanes */
};

/* Without vectors of words in the host, loads of single lanes are cheaper sooner. */
static uint64_t pattern_reach_B(const struct gen *g)
{
    return (g->unit->path == JIT_GENERIC ? MAX_VECTORS / 4 : MAX_VECTORS) * VECTOR_B;
}

/* Vectors without gaps between them; false: they are too many. */
static bool pattern_window_closed(const struct gen *g, const struct gen_pattern *p, int64_t offset,
                                  struct window *w)
{
    int64_t low = p->lane[0], high = p->lane[0], first;
    for (int l = 1; l < GEN_LANES; l++) {
        low = HD_MIN(low, p->lane[l]);
        high = HD_MAX(high, p->lane[l]);
    }
    first = (low + offset) & ~(int64_t)(VECTOR_B - 1);
    uint64_t end = (uint64_t)(high + offset - first) + 4;
    if (end > pattern_reach_B(g)) { /* fewer without what is in front of the first lane */
        first = low + offset;
        end = (uint64_t)(high - low) + 4;
    }
    if (end > pattern_reach_B(g))
        return false;
    w->nvectors = (unsigned)((end + VECTOR_B - 1) / VECTOR_B);
    for (unsigned k = 0; k < w->nvectors; k++)
        w->at[k] = first + (int64_t)(k * VECTOR_B);
    return true;
}

/* Vectors where lanes are, each from the first lane on that those before do not reach. Lanes that
 * do not run may lie far outside of the window. */
static bool pattern_window_open(const struct gen *g, const struct gen_pattern *p, int64_t offset,
                                struct window *w)
{
    int64_t from = INT64_MIN;
    w->nvectors = 0;
    if (g->mask[0] || g->unit->path == JIT_GENERIC)
        return false;
    for (;;) {
        int64_t low = INT64_MAX;
        for (int l = 0; l < GEN_LANES; l++) {
            if (p->lane[l] >= from)
                low = HD_MIN(low, p->lane[l]);
        }
        if (low == INT64_MAX)
            return true;
        if (w->nvectors == OPEN_MAX)
            return false;
        w->at[w->nvectors++] = low + offset;
        from = low + VECTOR_B;
    }
}

/* The last vector that starts there or before. */
static unsigned pattern_vector_of(const struct window *w, int64_t at)
{
    unsigned k = w->nvectors - 1;
    while (k && w->at[k] > at)
        k--;
    assert(at >= w->at[k] && at + 4 <= w->at[k] + VECTOR_B);
    return k;
}

static bool pattern_window_of(const struct gen *g, const struct gen_pattern *p, int64_t offset,
                              struct window *w)
{
    w->distinct = true;
    memset(w->taken, -1, sizeof(w->taken));
    for (int l = 1; l < GEN_LANES; l++) {
        if ((p->lane[l] - p->lane[0]) % 4)
            return false;
    }
    if (!pattern_window_closed(g, p, offset, w) && !pattern_window_open(g, p, offset, w))
        return false;
    for (int l = 0; l < GEN_LANES; l++) {
        int64_t at = p->lane[l] + offset;
        unsigned k = pattern_vector_of(w, at);
        if ((at - w->at[k]) % 4)
            return false;
        unsigned i = (unsigned)(at - w->at[k]) / 4;
        w->slot[l] = (int)(k * GEN_LANES + i);
        w->distinct &= w->taken[k][i] < 0;
        w->taken[k][i] = l;
    }
    return true;
}

static bool pattern_is_dense(const struct gen_pattern *p)
{
    for (int l = 1; l < GEN_LANES; l++) {
        if (p->lane[l] != p->lane[0] + 4 * l)
            return false;
    }
    return true;
}

static const struct gen_pattern *pattern_at(struct gen *g, const struct ir_value *v)
{
    if (!g->patterns)
        g->patterns = hd_arena_array(&g->arena, struct gen_pattern *, g->func->nvalues + 1);
    return g->patterns ? pattern_of(g, v, 0) : NULL;
}

/* Is this an access that the pattern serves better than what the address's shape allows? */
static const struct gen_pattern *pattern_for(struct gen *g, const struct ir_instr *in,
                                             struct window *w)
{
    const struct ir_shape *s = gen_shape(g, in->src[0]);
    bool strided = s->kind == IR_SHAPE_AFFINE && s->stride != 4 && s->stride != 0;
    if (!gen_does(g, GEN_PASS_PATTERN) || gen_is_coarse(g) || in->mem.space != IR_SPACE_SHARED ||
        in->mem.vec > 1 || ir_type_bits(in->type) != 32 ||
        (in->mem.sem != IR_SEM_WEAK && in->mem.sem != IR_SEM_VOLATILE) || g->dispatch ||
        (s->kind != IR_SHAPE_VARYING && !strided))
        return NULL;
    const struct gen_pattern *p = pattern_at(g, in->src[0]);
    if (!p || !p->ok || p->divides % 4 || !pattern_window_of(g, p, in->mem.offset, w))
        return NULL;
    return p;
}

bool gen_pattern_is_sparse(struct gen *g, const struct ir_value *v, int64_t step)
{
    const struct gen_pattern *p = pattern_at(g, v);
    bool sparse = false;
    for (int l = 1; p && p->ok && l < GEN_LANES; l++)
        sparse |= p->lane[l] != p->lane[0] + step * l;
    return sparse;
}

/* ---- values that are in registers still */

static const struct gen_pattern *pattern_known(struct gen *g, const struct ir_value *v)
{
    const struct gen_pattern *p = pattern_at(g, v);
    return p && p->ok && p->is_known && p->by_tid * GEN_LANES % TID_UNIT == 0 ? p : NULL;
}

bool gen_pattern_is_aligned(struct gen *g, const struct ir_instr *in, uint64_t size_B)
{
    if (in->mem.space != IR_SPACE_SHARED || !gen_does(g, GEN_PASS_PATTERN) || g->dispatch)
        return false;
    const struct gen_pattern *p = pattern_at(g, in->src[0]);
    bool aligned = p && p->ok && p->divides % size_B == 0;
    for (int l = 0; aligned && l < GEN_LANES; l++)
        aligned = (uint64_t)(p->lane[l] + in->mem.offset) % size_B == 0;
    return aligned;
}

bool gen_pattern_distances(struct gen *g, const struct ir_value *address, int64_t out[GEN_LANES],
                           bool *out_goes_on, int64_t *out_step)
{
    const struct gen_pattern *p = pattern_at(g, address);
    if (!p || !p->ok || g->dispatch)
        return false;
    for (int l = 0; l < GEN_LANES; l++)
        out[l] = p->lane[l] - p->lane[0];
    *out_goes_on = pattern_known(g, address) != NULL;
    *out_step = *out_goes_on ? p->by_tid * GEN_LANES / TID_UNIT : 0;
    return true;
}

/* Of 4 bytes each, by any lane of the warp. */
static bool pattern_are_apart(struct gen *g, const struct ir_instr *x, const struct ir_instr *y)
{
    const struct gen_pattern *a = pattern_known(g, x->src[0]), *b = pattern_known(g, y->src[0]);
    if (!a || !b || a->by_tid != b->by_tid || a->plus != b->plus)
        return false;
    int64_t half = a->by_tid * GEN_LANES / TID_UNIT;
    for (int i = 0; i < 2 * GEN_LANES; i++) {
        int64_t at = a->lane[i % GEN_LANES] + x->mem.offset + i / GEN_LANES * half;
        for (int k = 0; k < 2 * GEN_LANES; k++) {
            int64_t d = b->lane[k % GEN_LANES] + y->mem.offset + k / GEN_LANES * half - at;
            if ((d > -4 && d < 4) || d != (int32_t)d)
                return false;
        }
    }
    return true;
}

static bool pattern_is_shared_word(const struct ir_instr *in)
{
    return in->mem.space == IR_SPACE_SHARED && in->mem.sem == IR_SEM_WEAK && in->mem.vec <= 1 &&
           ir_type_bits(in->type) == 32;
}

static bool pattern_loads_same(const struct ir_instr *a, const struct ir_instr *b)
{
    return a->op == IR_OP_LD && pattern_is_shared_word(a) && a->src[0] == b->src[0] &&
           a->type == b->type && a->mem.offset == b->mem.offset;
}

static bool pattern_leaves_memory(const struct ir_instr *in)
{
    bool counts = ir_is_probe(in) && in->block->func->module->has_counts;
    return ir_op_has(in->op, IR_F_PURE) || in->op == IR_OP_SREG || in->op == IR_OP_PHI || counts ||
           (in->op == IR_OP_LD && in->mem.sem == IR_SEM_WEAK);
}

/* The load before `in` in its block whose value memory still has; NULL: none. */
static const struct ir_instr *pattern_loaded_before(struct gen *g, const struct ir_instr *in)
{
    for (const struct ir_instr *at = in->prev; at; at = at->prev) {
        if (pattern_loads_same(at, in))
            return at;
        bool is_elsewhere =
            at->op == IR_OP_ST && pattern_is_shared_word(at) && pattern_are_apart(g, at, in);
        if (!is_elsewhere && !pattern_leaves_memory(at))
            return NULL;
    }
    return NULL;
}

/*
 * Compilers load s[j] again behind a store to s[i], as they do not see that no i is a j. The
 * lanes' distances say so, and a load would have to wait for the store all the same.
 */
static bool pattern_load_again(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef x[GEN_HALVES];
    if (!gen_does(g, GEN_PASS_PATTERN) || gen_is_coarse(g) || g->dispatch ||
        !pattern_is_shared_word(in) || gen_shape(g, in->dst[0])->kind != IR_SHAPE_VARYING)
        return false;
    const struct ir_instr *before = pattern_loaded_before(g, in);
    if (!before || !gen_value_available(g, before->dst[0]))
        return false;
    gen_fired(g, GEN_PASS_PATTERN);
    gen_vector(g, before->dst[0], x);
    gen_set(g, in->dst[0], gen_v(g, x));
    return true;
}

/* ---- accesses */

/* Host address of `at` bytes from lane 0's, for a half that runs; else somewhere in the window. */
static LLVMValueRef address(struct gen *g, const struct ir_instr *in, int h, int64_t at)
{
    struct gen_val v = gen_get(g, in->src[0]);
    LLVMValueRef x = v.c[h], shared = gen_window_base(g, IR_SPACE_SHARED);
    if (v.kind == IR_SHAPE_VARYING)
        x = LLVMBuildExtractElement(g->b, x, gen_i32(g, 0), "");
    if (LLVMTypeOf(x) != g->t->i64) /* lane 0 may lie below the window when it does not run */
        x = LLVMBuildSExt(g->b, x, g->t->i64, "");
    x = LLVMBuildAdd(g->b, x, gen_i64(g, (uint64_t)at), "");
    if (g->mask[h]) {
        LLVMValueRef runs = LLVMBuildICmp(g->b, LLVMIntNE, gen_mask_bits(g, h), gen_no_bits(g), "");
        x = LLVMBuildSelect(g->b, runs, x, gen_i64(g, 0), "");
    }
    x = LLVMBuildAdd(g->b, shared, x, "");
    return LLVMBuildIntToPtr(g->b, x, g->t->ptr, "");
}

static LLVMValueRef pattern_permute(struct gen *g, LLVMValueRef a, LLVMValueRef b, const int *from)
{
    LLVMValueRef pick[GEN_LANES];
    for (int l = 0; l < GEN_LANES; l++)
        pick[l] = from[l] < 0 ? LLVMGetPoison(g->t->i32) : gen_i32(g, (uint64_t)from[l]);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(pick, GEN_LANES), "");
}

static LLVMValueRef pattern_load_at(struct gen *g, LLVMValueRef at, uint64_t offset)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, gen_vec(g, g->t->i32), gen_gep(g, at, offset), "");
    LLVMSetAlignment(x, 4);
    return x;
}

/* Bytes from the first vector to another. */
static uint64_t pattern_from_first(const struct window *w, unsigned k)
{
    assert(k < w->nvectors && w->at[k] >= w->at[0]);
    return (uint64_t)(w->at[k] - w->at[0]);
}

/* Lanes whose element lies in vectors 2k and 2k + 1; the others are taken from `others`. */
static LLVMValueRef pattern_load_pair(struct gen *g, const struct window *w, LLVMValueRef at,
                                      unsigned k, LLVMValueRef others)
{
    int from[GEN_LANES];
    LLVMValueRef mine[GEN_LANES];
    for (int l = 0; l < GEN_LANES; l++) {
        int slot = w->slot[l] - (int)(2 * k * GEN_LANES);
        bool in = slot >= 0 && slot < 2 * GEN_LANES;
        from[l] = in ? slot : -1;
        mine[l] = gen_ci(g->t->i1, in);
    }
    LLVMValueRef a = pattern_load_at(g, at, pattern_from_first(w, 2 * k)),
                 b = LLVMGetPoison(LLVMTypeOf(a));
    if (2 * k + 1 < w->nvectors)
        b = pattern_load_at(g, at, pattern_from_first(w, 2 * k + 1));
    LLVMValueRef x = pattern_permute(g, a, b, from);
    return others ? LLVMBuildSelect(g->b, LLVMConstVector(mine, GEN_LANES), x, others, "") : x;
}

bool gen_pattern_load(struct gen *g, const struct ir_instr *in)
{
    struct window w;
    LLVMValueRef out[GEN_HALVES];
    if (pattern_load_again(g, in))
        return true;
    const struct gen_pattern *p = pattern_for(g, in, &w);
    if (!p)
        return false;
    gen_fired(g, GEN_PASS_PATTERN);
    for (int h = 0; h < gen_halves(g); h++) {
        if (pattern_is_dense(p)) {
            out[h] = pattern_load_at(g, address(g, in, h, in->mem.offset), 0);
            continue;
        }
        LLVMValueRef at = address(g, in, h, w.at[0] - p->lane[0]);
        out[h] = pattern_load_pair(g, &w, at, 0, NULL);
        for (unsigned k = 1; 2 * k < w.nvectors; k++)
            out[h] = pattern_load_pair(g, &w, at, k, out[h]);
    }
    gen_set(g, in->dst[0], gen_v(g, out));
    return true;
}

/* How many elements of vector k are stored, if they are the first and as many as a register of some
 * size has; 0: others are. */
static unsigned pattern_stored_first(const struct window *w, unsigned k)
{
    unsigned n = 0;
    for (int i = 0; i < GEN_LANES; i++)
        n += w->taken[k][i] >= 0;
    for (unsigned i = 0; i < n; i++) {
        if (w->taken[k][i] < 0)
            return 0;
    }
    return n >= 4 && hd_is_pow2(n) ? n : 0;
}

static void pattern_store_short(struct gen *g, LLVMValueRef x, const int *from, unsigned n,
                                LLVMValueRef at)
{
    LLVMValueRef pick[GEN_LANES];
    assert(n && n <= GEN_LANES);
    for (unsigned i = 0; i < n; i++)
        pick[i] = gen_i32(g, (uint64_t)from[i]);
    x = LLVMBuildShuffleVector(g->b, x, x, LLVMConstVector(pick, n), "");
    LLVMSetAlignment(LLVMBuildStore(g->b, x, at), 4);
}

static void pattern_store_window(struct gen *g, const struct window *w, LLVMValueRef at,
                                 LLVMValueRef x, int h)
{
    for (unsigned k = 0; k < w->nvectors; k++) {
        LLVMValueRef has[GEN_LANES];
        bool any = false;
        for (int i = 0; i < GEN_LANES; i++) {
            has[i] = gen_ci(g->t->i1, w->taken[k][i] >= 0);
            any |= w->taken[k][i] >= 0;
        }
        if (!any)
            continue;
        LLVMValueRef to = gen_gep(g, at, pattern_from_first(w, k));
        if (!g->mask[h] && pattern_stored_first(w, k)) {
            pattern_store_short(g, x, w->taken[k], pattern_stored_first(w, k), to);
            continue;
        }
        LLVMValueRef mask = LLVMConstVector(has, GEN_LANES);
        if (g->mask[h]) {
            LLVMValueRef runs =
                pattern_permute(g, g->mask[h], LLVMConstNull(g->t->mask), w->taken[k]);
            mask = LLVMBuildSelect(g->b, mask, runs, LLVMConstNull(g->t->mask), "");
        }
        gen_masked_store(g, pattern_permute(g, x, LLVMGetPoison(LLVMTypeOf(x)), w->taken[k]), to,
                         mask, 4);
    }
}

/* ---- two stores that fill vectors together */

/* Does it read nothing that a store before it may have written? */
static bool pattern_passes_stores(struct gen *g, const struct ir_instr *in)
{
    bool from_shared =
        in->op == IR_OP_LD && in->mem.space != IR_SPACE_GLOBAL && in->mem.space != IR_SPACE_PARAM;
    return pattern_leaves_memory(in) &&
           (!from_shared || (pattern_is_shared_word(in) && pattern_loaded_before(g, in)));
}

static bool pattern_fill_together(const struct window *a, const struct window *b)
{
    if (a->nvectors != b->nvectors || !a->distinct || !b->distinct)
        return false;
    for (unsigned k = 0; k < a->nvectors; k++) {
        if (a->at[k] != b->at[k])
            return false;
        for (int i = 0; i < GEN_LANES; i++) {
            if ((a->taken[k][i] < 0) == (b->taken[k][i] < 0))
                return false;
        }
    }
    return true;
}

/* The next store of the block, where it can be made together with this one; NULL: it cannot. */
static const struct ir_instr *pattern_filled_by(struct gen *g, const struct ir_instr *in,
                                                struct window *w)
{
    struct window other;
    const struct ir_instr *at = in->next;
    while (at && at->op != IR_OP_ST && pattern_passes_stores(g, at))
        at = at->next;
    if (!at || at->op != IR_OP_ST || !pattern_is_shared_word(in) || !pattern_is_shared_word(at) ||
        !pattern_for(g, in, w) || !pattern_for(g, at, &other))
        return NULL;
    const struct gen_pattern *a = pattern_known(g, in->src[0]), *b = pattern_known(g, at->src[0]);
    bool same_base = a && b && a->by_tid == b->by_tid && a->plus == b->plus;
    return same_base && pattern_fill_together(w, &other) ? at : NULL;
}

/* The store before `in` that was left to it; NULL: none. */
static const struct ir_instr *pattern_left_to(struct gen *g, const struct ir_instr *in,
                                              struct window *w)
{
    struct window none;
    const struct ir_instr *at = in->prev;
    while (at && at->op != IR_OP_ST)
        at = at->prev;
    return at && pattern_filled_by(g, at, w) == in && !pattern_left_to(g, at, &none) ? at : NULL;
}

static void pattern_store_together(struct gen *g, const struct ir_instr *first,
                                   const struct window *wa, const struct ir_instr *in,
                                   const struct window *wb)
{
    const struct gen_pattern *p = pattern_known(g, in->src[0]);
    LLVMValueRef a[GEN_HALVES], b[GEN_HALVES];
    gen_vector(g, first->src[1], a);
    gen_vector(g, in->src[1], b);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at = address(g, in, h, wb->at[0] - p->lane[0]);
        for (unsigned k = 0; k < wb->nvectors; k++) {
            int from[GEN_LANES];
            for (int i = 0; i < GEN_LANES; i++)
                from[i] = wa->taken[k][i] >= 0 ? wa->taken[k][i] : GEN_LANES + wb->taken[k][i];
            LLVMValueRef runs =
                g->mask[h] ? pattern_permute(g, g->mask[h], g->mask[h], from) : NULL;
            gen_masked_store(g, pattern_permute(g, a[h], b[h], from),
                             gen_gep(g, at, pattern_from_first(wb, k)), runs, 4);
        }
    }
}

/* Is the store made together with another one, by this call or later? */
static bool pattern_stores_together(struct gen *g, const struct ir_instr *in,
                                    const struct window *w)
{
    struct window other;
    const struct ir_instr *first = pattern_left_to(g, in, &other);
    if (first)
        pattern_store_together(g, first, &other, in, w);
    return first || pattern_filled_by(g, in, &other);
}

bool gen_pattern_store(struct gen *g, const struct ir_instr *in)
{
    struct window w;
    const struct gen_pattern *p = pattern_for(g, in, &w);
    LLVMValueRef x[GEN_HALVES];
    if (!p || !w.distinct)
        return false;
    gen_fired(g, GEN_PASS_PATTERN);
    if (pattern_stores_together(g, in, &w))
        return true;
    gen_vector(g, in->src[1], x);
    for (int h = 0; h < gen_halves(g); h++) {
        if (pattern_is_dense(p))
            gen_masked_store(g, x[h], address(g, in, h, in->mem.offset), g->mask[h], 4);
        else
            pattern_store_window(g, &w, address(g, in, h, w.at[0] - p->lane[0]), x[h], h);
    }
    return true;
}
