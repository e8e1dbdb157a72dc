/*
 * Rows of ldmatrix, and pieces of cp.async, whose distances from each other are known: programs
 * give each lane the address of a row, which they put together from bits of the thread's number
 * (swizzled, often), and all that differs from iteration to iteration and from warp to warp is the
 * same in all lanes. So there is one address to compute and to check, and each row is loaded at a
 * constant distance from it.
 *
 * A value is x + lane[l], where x is alike in the 32 lanes, and a multiple of the lowest bit of
 * `unknown`. As far as it is known, x has no bits but those, and lanes have none of them: then
 * operations on bits keep the form as well. gen_pattern.c does it for lanes of half a warp.
 *
 * Or x is alike in each four or two lanes only: rows of global memory are as far apart as a
 * parameter says, but four lanes share one; and which part of a row a swizzle makes of a piece may
 * depend on the warp.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/op/gen_products.h"

#include <assert.h>

enum { LANES = 2 * GEN_LANES, DEPTH_MAX = 24, FAR_B = 1 << 20 };
enum { ROWS_PER_REGISTER = 8, ROWS_PER_VECTOR = 4, ROW_B = 16, ROW_WORDS = 4 };

#define IS_ZERO (1u << 31) /* an alignment */

struct gen_rows {
    bool ok;
    bool are_bits; /* x has no others than `unknown`, lanes none of them */
    uint64_t unknown;
    uint64_t lane[LANES];
};

/* n: lanes in which x is alike, all or each few; width: of the value that is being found. */
struct finder {
    struct gen *g;
    unsigned n, width, depth;
    struct gen_rows **memo; /* by value id */
};

static const struct gen_rows *rows_of(struct finder *f, const struct ir_value *v);

static uint64_t rows_low_bit(uint64_t x)
{
    return x & -x;
}

static uint64_t rows_ones(uint64_t n)
{
    return n < 64 ? (1ull << n) - 1 : UINT64_MAX;
}

/* `unknown` of multiples of a power of two; of 2^64 (0), nothing. */
static uint64_t rows_from_bit(uint64_t bit)
{
    return bit ? -bit : 0;
}

/* ---- operations */

/* Takes away what is above the value's width. */
static void rows_cut(const struct finder *f, struct gen_rows *p)
{
    p->unknown &= rows_ones(f->width);
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] &= rows_ones(f->width);
}

/* Bits in which lanes differ where x is alike. */
static uint64_t rows_differing(const struct finder *f, const struct gen_rows *p)
{
    uint64_t bits = 0;
    for (unsigned l = 1; l < LANES; l++)
        bits |= p->lane[l] ^ p->lane[l - l % f->n];
    return bits;
}

/* Lets x have what lanes have in common above its lowest bit. */
static bool rows_finish(const struct finder *f, struct gen_rows *p)
{
    rows_cut(f, p);
    const uint64_t above = rows_from_bit(rows_low_bit(p->unknown));
    p->are_bits = !(rows_differing(f, p) & above);
    for (unsigned l = 0; l < LANES && p->are_bits; l++)
        p->lane[l] &= ~above;
    if (p->are_bits)
        p->unknown = above;
    return true;
}

/* Does nothing of the lanes reach bits that are unknown? */
static bool rows_are_apart(const struct finder *f, const struct gen_rows *p, uint64_t unknown)
{
    for (unsigned l = 0; l < LANES; l++) {
        if (p->lane[l] & unknown)
            return false;
    }
    return true;
}

static bool rows_apply_sum(const struct finder *f, enum ir_op op, const struct gen_rows *a,
                           const struct gen_rows *b, struct gen_rows *p)
{
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = op == IR_OP_ADD ? a->lane[l] + b->lane[l] : a->lane[l] - b->lane[l];
    if (a->are_bits && !b->unknown && rows_are_apart(f, p, a->unknown)) {
        p->unknown = a->unknown;
        return p->are_bits = true;
    }
    const uint64_t both = a->unknown | b->unknown;
    p->unknown = rows_from_bit(rows_low_bit(both));
    return rows_finish(f, p);
}

static bool rows_apply_scaled(const struct finder *f, const struct gen_rows *a, uint64_t k,
                              struct gen_rows *p)
{
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = a->lane[l] * k;
    p->unknown = rows_from_bit(rows_low_bit(a->unknown) * rows_low_bit(k));
    return rows_finish(f, p);
}

static bool rows_apply_shl(const struct finder *f, unsigned width, const struct gen_rows *a,
                           uint64_t k, struct gen_rows *p)
{
    if (k >= width)
        return false;
    if (!a->are_bits)
        return rows_apply_scaled(f, a, 1ull << k, p);
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = a->lane[l] << k;
    p->unknown = a->unknown << k;
    return p->are_bits = true;
}

static bool rows_apply_shr(const struct finder *f, const struct ir_instr *in,
                           const struct gen_rows *a, uint64_t k, struct gen_rows *p)
{
    const unsigned width = ir_type_bits(in->type);
    const uint64_t sign = 1ull << (width - 1);
    if (k >= width || !a->are_bits ||
        (ir_type_is_signed(in->type) && (a->unknown & sign || !rows_are_apart(f, a, sign))))
        return false;
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = a->lane[l] >> k;
    p->unknown = a->unknown >> k;
    return p->are_bits = true;
}

static uint64_t rows_bitwise(enum ir_op op, uint64_t a, uint64_t b)
{
    return op == IR_OP_AND ? a & b : op == IR_OP_OR ? a | b : a ^ b;
}

/* Which unknown bits stay so when they meet a known one, which is alike where x is. */
static uint64_t rows_kept_by(enum ir_op op, const struct gen_rows *p)
{
    uint64_t kept = op == IR_OP_XOR ? UINT64_MAX : 0;
    for (unsigned l = 0; l < LANES && op != IR_OP_XOR; l++)
        kept |= op == IR_OP_AND ? p->lane[l] : ~p->lane[l];
    return kept;
}

/* Is b known, and nothing of it as high as what is unknown of a? */
static bool rows_is_below(const struct finder *f, const struct gen_rows *b,
                          const struct gen_rows *a)
{
    return !b->unknown && rows_are_apart(f, b, rows_from_bit(rows_low_bit(a->unknown)));
}

static bool rows_apply_bits(const struct finder *f, enum ir_op op, const struct gen_rows *a,
                            const struct gen_rows *b, struct gen_rows *p)
{
    if (op == IR_OP_AND && (rows_is_below(f, b, a) || rows_is_below(f, a, b))) {
        for (unsigned l = 0; l < LANES; l++)
            p->lane[l] = a->lane[l] & b->lane[l];
        p->unknown = 0;
        return p->are_bits = true;
    }
    const uint64_t of_a = a->unknown & ~b->unknown, of_b = b->unknown & ~a->unknown;
    if (!a->are_bits || !b->are_bits || of_a & rows_differing(f, b) || of_b & rows_differing(f, a))
        return false;
    p->unknown =
        (a->unknown & b->unknown) | (of_a & rows_kept_by(op, b)) | (of_b & rows_kept_by(op, a));
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = rows_bitwise(op, a->lane[l], b->lane[l]) & ~p->unknown;
    return p->are_bits = true;
}

static bool rows_apply_field(const struct finder *f, const struct gen_rows *a,
                             const struct gen_rows *b, uint64_t at, uint64_t size,
                             struct gen_rows *p)
{
    const uint64_t field = rows_ones(size) << (at & 31);
    if (!a->are_bits || !b->are_bits || at > 31 || size > 32 - at)
        return false;
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = (a->lane[l] << at & field) | (b->lane[l] & ~field);
    p->unknown = (a->unknown << at & field) | (b->unknown & ~field);
    return p->are_bits = true;
}

static bool rows_apply_shift(const struct finder *f, const struct ir_instr *in,
                             const struct gen_rows *a, struct gen_rows *p)
{
    uint64_t k;
    if (!ir_value_const(in->src[1], &k))
        return false;
    return in->op == IR_OP_SHL ? rows_apply_shl(f, ir_type_bits(in->type), a, k, p)
                               : rows_apply_shr(f, in, a, k, p);
}

static bool rows_apply_product(const struct finder *f, const struct ir_instr *in,
                               const struct gen_rows *a, const struct gen_rows *b,
                               struct gen_rows *p)
{
    uint64_t k;
    if (ir_value_const(in->src[1], &k))
        return rows_apply_scaled(f, a, k, p);
    return ir_value_const(in->src[0], &k) && rows_apply_scaled(f, b, k, p);
}

static bool rows_apply_bfi(const struct finder *f, const struct ir_instr *in,
                           const struct gen_rows *a, const struct gen_rows *b, struct gen_rows *p)
{
    uint64_t at, size;
    return ir_type_bits(in->type) == 32 && ir_value_const(in->src[2], &at) &&
           ir_value_const(in->src[3], &size) && rows_apply_field(f, a, b, at, size, p);
}

/* Of 32 bits: x goes as it is, and lanes, if the sign is not theirs. */
static bool rows_apply_extended(const struct finder *f, const struct gen_rows *a, bool is_signed,
                                struct gen_rows *p)
{
    const uint64_t sign = 1ull << 31;
    if (!a->are_bits || (is_signed && !rows_are_apart(f, a, sign)))
        return false;
    *p = *a;
    if (is_signed && a->unknown & sign)
        p->unknown |= ~rows_ones(32);
    return true;
}

static bool rows_apply_cvt(const struct finder *f, const struct ir_instr *in,
                           const struct gen_rows *a, struct gen_rows *p)
{
    const unsigned from = ir_type_bits(in->type2), to = ir_type_bits(in->type);
    if (ir_type_is_float(in->type2) || from != ir_type_bits(in->src[0]->type) || to != f->width)
        return false;
    if (to > from)
        return rows_apply_extended(f, a, ir_type_is_signed(in->type2), p);
    *p = *a;
    return true;
}

static bool rows_apply_wide_product(const struct finder *f, const struct ir_instr *in,
                                    const struct gen_rows *a, struct gen_rows *p)
{
    const bool is_signed = ir_type_is_signed(in->type);
    struct gen_rows x;
    uint64_t k;
    if (ir_type_bits(in->type) != 32 || !ir_value_const(in->src[1], &k) ||
        !rows_apply_extended(f, a, is_signed, &x))
        return false;
    return rows_apply_scaled(f, &x, is_signed ? (uint64_t)(int64_t)(int32_t)k : k, p);
}

static bool rows_is_operation(const struct ir_instr *in)
{
    const unsigned bits = ir_type_bits(in->type);
    return (bits == 32 || bits == 64) && !ir_type_is_float(in->type) &&
           ir_type_lanes(in->type) == 1 && !ir_has(in, IR_MOD_SAT) &&
           ir_op_has(in->op, IR_F_PURE) && in->ndst == 1 && in->op != IR_OP_PHI;
}

static bool rows_apply(struct finder *f, const struct ir_instr *in, struct gen_rows *p)
{
    const struct gen_rows *of[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2 && i < in->nsrc; i++) {
        of[i] = rows_of(f, in->src[i]);
        if (!of[i] || !of[i]->ok)
            return false;
    }
    f->width = ir_type_bits(in->dst[0]->type);
    switch (in->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
        return in->op == IR_OP_ADD && !of[0]->unknown ? rows_apply_sum(f, in->op, of[1], of[0], p)
                                                      : rows_apply_sum(f, in->op, of[0], of[1], p);
    case IR_OP_MUL:
        return rows_apply_product(f, in, of[0], of[1], p);
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
        return rows_apply_bits(f, in->op, of[0], of[1], p);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return rows_apply_shift(f, in, of[0], p);
    case IR_OP_BFI:
        return rows_apply_bfi(f, in, of[0], of[1], p);
    case IR_OP_CVT:
        return rows_apply_cvt(f, in, of[0], p);
    case IR_OP_MULWIDE:
        return rows_apply_wide_product(f, in, of[0], p);
    default:
        return false;
    }
}

/* What is made of values that are alike in the lanes is alike, too. */
static bool rows_apply_alike(struct finder *f, const struct ir_instr *in, struct gen_rows *p)
{
    for (uint32_t i = 0; i < in->nsrc; i++) {
        const struct gen_rows *of = rows_of(f, in->src[i]);
        if (!of || !of->ok || rows_differing(f, of))
            return false;
    }
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = 0;
    p->unknown = UINT64_MAX;
    return p->are_bits = true;
}

/* What the shape says: nothing of lanes that are not in one line. */
static bool rows_apply_shape(struct finder *f, const struct ir_value *v, struct gen_rows *p)
{
    const struct ir_shape *s = gen_shape(f->g, v);
    uint64_t k;
    f->width = ir_type_bits(v->type);
    if (ir_value_const(v, &k)) {
        for (unsigned l = 0; l < LANES; l++)
            p->lane[l] = k;
        p->unknown = 0;
        return p->are_bits = true;
    }
    const bool is_line = s->kind == IR_SHAPE_AFFINE && s->whole,
               is_twice = s->kind == IR_SHAPE_AFFINE && (s->align == IS_ZERO || f->n < LANES);
    if (s->kind != IR_SHAPE_UNIFORM && !is_line && !is_twice)
        return false;
    const uint32_t align = is_line ? s->warp_align : s->align;
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = s->kind == IR_SHAPE_UNIFORM ? 0 : (uint64_t)s->stride * (is_line ? l : l % 16);
    p->unknown = align == IS_ZERO ? 0 : rows_from_bit(align);
    return rows_finish(f, p);
}

static bool rows_knows_more(const struct gen_rows *a, const struct gen_rows *b)
{
    if (a->are_bits != b->are_bits)
        return a->are_bits;
    return __builtin_popcountll(a->unknown) < __builtin_popcountll(b->unknown);
}

static const struct gen_rows *rows_of(struct finder *f, const struct ir_value *v)
{
    const unsigned width = ir_type_bits(v->type);
    struct gen_rows **memo = &f->memo[v->id], *p;
    if (*memo || f->depth > DEPTH_MAX || (width != 32 && width != 64))
        return *memo;
    if (!(p = hd_arena_array(&f->g->arena, struct gen_rows, 1)))
        return NULL;
    /* A value that keeps what lanes had that do not run now is no expression. */
    bool is_made = v->instr && rows_is_operation(v->instr) &&
                   !(f->g->shapes.temporal && f->g->shapes.temporal[v->id]);
    struct gen_rows made, shape;
    f->depth++;
    made.ok = is_made && (rows_apply(f, v->instr, &made) || rows_apply_alike(f, v->instr, &made));
    f->depth--;
    shape.ok = rows_apply_shape(f, v, &shape);
    *p = made.ok && (!shape.ok || rows_knows_more(&made, &shape)) ? made : shape;
    if (p->ok)
        rows_cut(f, p);
    return *memo = p;
}

/* NULL: nothing is known, or some lanes do not run. n: LANES, 4 or 2. */
static const struct gen_rows *rows_find(struct gen *g, const struct ir_value *v, unsigned n)
{
    struct gen_rows ***memo = &g->rows[n == LANES ? 0 : n / 2];
    if (!gen_does(g, GEN_PASS_ROWS) || !gen_is_warp(g) || g->dispatch || g->mask[0] || g->mask[1])
        return NULL;
    if (!*memo)
        *memo = hd_arena_array(&g->arena, struct gen_rows *, g->func->nvalues + 1);
    struct finder f = {.g = g, .n = n, .memo = *memo};
    const struct gen_rows *p = f.memo ? rows_of(&f, v) : NULL;
    return p && p->ok ? p : NULL;
}

/* ---- loads */

/* Distances from the first lane in which x is alike; false: not those of rows. */
static bool rows_distances(const struct gen_rows *p, unsigned n, int64_t out[LANES])
{
    for (unsigned l = 0; l < LANES; l++) {
        out[l] = (int64_t)(p->lane[l] - p->lane[l - l % n]);
        if (out[l] % ROW_B || out[l] > FAR_B || out[l] < -FAR_B)
            return false;
    }
    return true;
}

static bool is_row(const struct ir_instr *in)
{
    return in->mem.space == IR_SPACE_SHARED && ir_type_bits(in->src[0]->type) == 32;
}

bool gen_row_distances(struct gen *g, const struct ir_instr *in, int64_t out[LANES])
{
    const struct gen_rows *p = is_row(in) ? rows_find(g, in->src[0], LANES) : NULL;
    return p && rows_distances(p, LANES, out);
}

bool gen_group_distances(struct gen *g, const struct ir_instr *in, unsigned n, int64_t out[LANES])
{
    const struct gen_rows *p = is_row(in) ? rows_find(g, in->src[0], n) : NULL;
    return p && p->are_bits && rows_distances(p, n, out);
}

bool gen_group_step(struct gen *g, const struct ir_value *address, unsigned n, int64_t *out_step_B)
{
    const struct gen_rows *p = ir_type_bits(address->type) == 64 ? rows_find(g, address, n) : NULL;
    const uint64_t step_B = p ? p->lane[1] - p->lane[0] : 0;
    for (unsigned l = 0; l < LANES && p; l++) {
        if (l % n && p->lane[l] - p->lane[l - 1] != step_B)
            return false;
    }
    *out_step_B = (int64_t)step_B;
    return p != NULL;
}

/* The first lane's row, checked for all. */
LLVMValueRef gen_first_row(struct gen *g, const struct ir_instr *in)
{
    struct gen_val v = gen_get(g, in->src[0]);
    LLVMValueRef x = v.c[0];
    if (v.kind == IR_SHAPE_VARYING)
        x = LLVMBuildExtractElement(g->b, x, gen_i32(g, 0), "");
    x = LLVMBuildSExt(g->b, x, g->t->i64, "");
    x = LLVMBuildAdd(g->b, gen_window_base(g, IR_SPACE_SHARED), x, "");
    struct gen_access a = {.kind = GEN_ACCESS_U, .base = {x}, .offset = in->mem.offset};
    gen_access_check(g, in, &a, ROW_B);
    return gen_ptr_at(g, x, in->mem.offset);
}

static LLVMValueRef rows_words_load(struct gen *g, LLVMValueRef first, int64_t more_B, unsigned n)
{
    LLVMTypeRef row = LLVMVectorType(g->t->i32, n);
    LLVMValueRef x = LLVMBuildLoad2(g->b, row, gen_gep(g, first, (uint64_t)more_B), "");
    LLVMSetAlignment(x, ROW_B);
    return x;
}

/* Elements `from` of a and b. */
static LLVMValueRef pick(struct gen *g, LLVMValueRef a, LLVMValueRef b, const unsigned *from,
                         unsigned n)
{
    LLVMValueRef at[2 * LANES];
    assert(n <= HD_COUNT_OF(at));
    for (unsigned i = 0; i < n; i++)
        at[i] = gen_i32(g, from[i]);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(at, n), "");
}

static LLVMValueRef rows_side_by_side(struct gen *g, LLVMValueRef a, LLVMValueRef b, unsigned n)
{
    unsigned from[GEN_LANES];
    for (unsigned i = 0; i < n; i++)
        from[i] = i;
    return pick(g, a, b, from, n);
}

/* Four rows: a vector of half a warp. */
static LLVMValueRef rows_load(struct gen *g, LLVMValueRef first, const int64_t *more_B)
{
    LLVMValueRef row[ROWS_PER_VECTOR];
    for (unsigned i = 0; i < ROWS_PER_VECTOR; i++)
        row[i] = rows_words_load(g, first, more_B[i], ROW_WORDS);
    LLVMValueRef a = rows_side_by_side(g, row[0], row[1], 2 * ROW_WORDS);
    LLVMValueRef b = rows_side_by_side(g, row[2], row[3], 2 * ROW_WORDS);
    return rows_side_by_side(g, a, b, GEN_LANES);
}

/* Are rows of two registers neighbours, each with one of the other? */
static bool rows_are_beside(const int64_t *a_B, const int64_t *b_B)
{
    bool yes = true;
    for (unsigned i = 0; i < ROWS_PER_REGISTER; i++)
        yes &= b_B[i] - a_B[i] == ROW_B || a_B[i] - b_B[i] == ROW_B;
    return yes;
}

/* Two rows of each of two registers side by side: what the rows of one are, in two such vectors. */
static LLVMValueRef rows_pick(struct gen *g, LLVMValueRef low, LLVMValueRef high,
                              const int64_t *a_B, const int64_t *b_B)
{
    unsigned from[GEN_LANES];
    for (unsigned i = 0; i < GEN_LANES; i++) {
        const unsigned row = i / ROW_WORDS, second = a_B[row] > b_B[row];
        from[i] = (2 * row + second) * ROW_WORDS + i % ROW_WORDS;
    }
    return pick(g, low, high, from, GEN_LANES);
}

/* Half a warp's vectors of both registers: half the loads. */
static void rows_load_two(struct gen *g, LLVMValueRef first, const int64_t *a_B, const int64_t *b_B,
                          LLVMValueRef *a, LLVMValueRef *b)
{
    LLVMValueRef two[ROWS_PER_VECTOR];
    for (unsigned i = 0; i < ROWS_PER_VECTOR; i++)
        two[i] = rows_words_load(g, first, HD_MIN(a_B[i], b_B[i]), 2 * ROW_WORDS);
    LLVMValueRef low = rows_side_by_side(g, two[0], two[1], 4 * ROW_WORDS);
    LLVMValueRef high = rows_side_by_side(g, two[2], two[3], 4 * ROW_WORDS);
    *a = rows_pick(g, low, high, a_B, b_B);
    *b = rows_pick(g, low, high, b_B, a_B);
}

/* The registers of an ldmatrix, those of which rows are neighbours two at a time. */
static void rows_registers_load(struct gen *g, LLVMValueRef first, const int64_t *more_B,
                                unsigned n, LLVMValueRef x[][GEN_HALVES])
{
    bool done[LANES / ROWS_PER_REGISTER] = {false};
    assert(n <= HD_COUNT_OF(done));
    for (unsigned i = 0; i < n; i++) {
        const int64_t *a_B = more_B + (size_t)i * ROWS_PER_REGISTER;
        unsigned j = i + 1;
        while (j < n && (done[j] || !rows_are_beside(a_B, more_B + (size_t)j * ROWS_PER_REGISTER)))
            j++;
        for (unsigned h = 0; h < 2 && !done[i]; h++) {
            const size_t at = (size_t)h * ROWS_PER_VECTOR;
            if (j < n)
                rows_load_two(g, first, a_B + at, more_B + (size_t)j * ROWS_PER_REGISTER + at,
                              &x[i][h], &x[j][h]);
            else
                x[i][h] = rows_load(g, first, a_B + at);
        }
        if (j < n && !done[i])
            done[j] = true;
    }
}

/* Lane 4 g + t takes the elements g of the rows 2 t and 2 t + 1. */
static void rows_transpose(struct gen *g, LLVMValueRef x[GEN_HALVES])
{
    LLVMTypeRef elements = LLVMVectorType(g->t->i16, 2 * GEN_LANES), words = gen_vec(g, g->t->i32);
    LLVMValueRef a = LLVMBuildBitCast(g->b, x[0], elements, "");
    LLVMValueRef b = LLVMBuildBitCast(g->b, x[1], elements, "");
    for (unsigned h = 0; h < 2; h++) {
        unsigned from[2 * GEN_LANES];
        for (unsigned i = 0; i < 2 * GEN_LANES; i++)
            from[i] = i % ROWS_PER_REGISTER * ROWS_PER_REGISTER + i / ROWS_PER_REGISTER + 4 * h;
        x[h] = LLVMBuildBitCast(g->b, pick(g, a, b, from, 2 * GEN_LANES), words, "");
    }
}

static bool rows_can_load(const struct gen *g, const struct ir_instr *in)
{
    return in->imm == IR_TILE_M8N8 || (in->imm == IR_TILE_M8N8_TRANS && g->unit->avx512);
}

bool gen_rows_load(struct gen *g, const struct ir_instr *in)
{
    int64_t more_B[LANES];
    LLVMValueRef x[LANES / ROWS_PER_REGISTER][GEN_HALVES];
    if (!rows_can_load(g, in) || !gen_row_distances(g, in, more_B))
        return false;
    LLVMValueRef first = gen_first_row(g, in), place = gen_loaded_slot(g, in);
    gen_fired(g, GEN_PASS_ROWS);
    rows_registers_load(g, first, more_B, in->ndst, x);
    for (uint32_t i = 0; i < in->ndst; i++) {
        if (in->imm == IR_TILE_M8N8_TRANS)
            rows_transpose(g, x[i]);
        for (unsigned h = 0; h < 2 && place; h++)
            LLVMBuildStore(g->b, x[i][h],
                           gen_gep(g, place, i * GEN_REGISTER_B + h * GEN_REGISTER_B / 2));
        if (!place)
            gen_set(g, in->dst[i], gen_v(g, x[i]));
    }
    if (place)
        gen_slot_changed(g, in->dst, in->ndst);
    return true;
}
