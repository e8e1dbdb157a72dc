/*
 * Rows of ldmatrix whose distances from each other are known: programs give each lane the address
 * of a row, which they put together from bits of the thread's number (swizzled, often), and all
 * that differs from turn to turn and from warp to warp is the same in all lanes. So there is one
 * address to compute and to check, and each row is loaded at a constant distance from it.
 *
 * A value is x + lane[l], where x is alike in the 32 lanes, and a multiple of the lowest bit of
 * `unknown`. As far as it is known, x has no bits but those, and lanes have none of them: then
 * operations on bits keep the form as well. gen_pattern.c does it for lanes of half a warp.
 */
#include "jit/gen/gen_access.h"
#include "jit/gen/gen_products.h"

#include <assert.h>

enum { LANES = 2 * GEN_LANES, DEPTH_MAX = 24, FAR_B = 1 << 20, ZERO = 1u << 31 };
enum { ROWS_PER_REGISTER = 8, ROWS_PER_VECTOR = 4, ROW_B = 16, ROW_WORDS = 4 };

struct gen_rows {
    bool ok;
    bool are_bits; /* x has no others than `unknown`, lanes none of them */
    uint32_t unknown;
    uint32_t lane[LANES];
};

static const struct gen_rows *rows_of(struct gen *g, const struct ir_value *v, unsigned depth);

static uint32_t low_bit(uint32_t x)
{
    return x & -x;
}

static uint32_t ones(uint32_t n)
{
    return n < 32 ? (1u << n) - 1 : UINT32_MAX;
}

/* `unknown` of multiples of a power of two; of 2^32 (0), nothing. */
static uint32_t from_bit(uint32_t bit)
{
    return bit ? -bit : 0;
}

/* ---- operations */

/* Lets x have what lanes have in common above its lowest bit. */
static bool finish(struct gen_rows *p)
{
    const uint32_t above = from_bit(low_bit(p->unknown)), common = p->lane[0] & above;
    p->are_bits = true;
    for (unsigned l = 0; l < LANES; l++)
        p->are_bits &= (p->lane[l] & above) == common;
    for (unsigned l = 0; l < LANES && p->are_bits; l++)
        p->lane[l] &= ~above;
    if (p->are_bits)
        p->unknown = above;
    return true;
}

/* Does nothing of the lanes reach bits that are unknown? */
static bool are_apart(const struct gen_rows *p, uint32_t unknown)
{
    for (unsigned l = 0; l < LANES; l++) {
        if (p->lane[l] & unknown)
            return false;
    }
    return true;
}

static bool apply_sum(enum ir_op op, const struct gen_rows *a, const struct gen_rows *b,
                      struct gen_rows *p)
{
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = op == IR_OP_ADD ? a->lane[l] + b->lane[l] : a->lane[l] - b->lane[l];
    if (a->are_bits && !b->unknown && are_apart(p, a->unknown)) {
        p->unknown = a->unknown;
        return p->are_bits = true;
    }
    const uint32_t both = a->unknown | b->unknown;
    p->unknown = from_bit(low_bit(both));
    return finish(p);
}

static bool apply_scaled(const struct gen_rows *a, uint32_t k, struct gen_rows *p)
{
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = a->lane[l] * k;
    p->unknown = from_bit(low_bit(a->unknown) * low_bit(k));
    return finish(p);
}

static bool apply_shl(const struct gen_rows *a, uint32_t k, struct gen_rows *p)
{
    if (k > 31)
        return false;
    if (!a->are_bits)
        return apply_scaled(a, 1u << k, p);
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = a->lane[l] << k;
    p->unknown = a->unknown << k;
    return p->are_bits = true;
}

static bool apply_shr(const struct gen_rows *a, uint32_t k, bool is_signed, struct gen_rows *p)
{
    if (k > 31 || !a->are_bits || (is_signed && (a->unknown & ZERO || !are_apart(a, ZERO))))
        return false;
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = a->lane[l] >> k;
    p->unknown = a->unknown >> k;
    return p->are_bits = true;
}

static uint32_t bitwise(enum ir_op op, uint32_t a, uint32_t b)
{
    return op == IR_OP_AND ? a & b : op == IR_OP_OR ? a | b : a ^ b;
}

/* Bits in which lanes differ. */
static uint32_t differing(const struct gen_rows *p)
{
    uint32_t bits = 0;
    for (unsigned l = 1; l < LANES; l++)
        bits |= p->lane[l] ^ p->lane[0];
    return bits;
}

/* Which unknown bits stay so when they meet a known one, which is alike in all lanes. */
static uint32_t kept_by(enum ir_op op, const struct gen_rows *p)
{
    return op == IR_OP_AND ? p->lane[0] : op == IR_OP_OR ? ~p->lane[0] : UINT32_MAX;
}

/* Is b known, and nothing of it as high as what is unknown of a? */
static bool is_below(const struct gen_rows *b, const struct gen_rows *a)
{
    return !b->unknown && are_apart(b, from_bit(low_bit(a->unknown)));
}

static bool apply_bits(enum ir_op op, const struct gen_rows *a, const struct gen_rows *b,
                       struct gen_rows *p)
{
    if (op == IR_OP_AND && (is_below(b, a) || is_below(a, b))) {
        for (unsigned l = 0; l < LANES; l++)
            p->lane[l] = a->lane[l] & b->lane[l];
        p->unknown = 0;
        return p->are_bits = true;
    }
    const uint32_t of_a = a->unknown & ~b->unknown, of_b = b->unknown & ~a->unknown;
    if (!a->are_bits || !b->are_bits || of_a & differing(b) || of_b & differing(a))
        return false;
    p->unknown = (a->unknown & b->unknown) | (of_a & kept_by(op, b)) | (of_b & kept_by(op, a));
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = bitwise(op, a->lane[l], b->lane[l]) & ~p->unknown;
    return p->are_bits = true;
}

static bool apply_field(const struct gen_rows *a, const struct gen_rows *b, uint32_t at,
                        uint32_t size, struct gen_rows *p)
{
    const uint32_t field = ones(size) << (at & 31);
    if (!a->are_bits || !b->are_bits || at > 31 || size > 32 - at)
        return false;
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = (a->lane[l] << at & field) | (b->lane[l] & ~field);
    p->unknown = (a->unknown << at & field) | (b->unknown & ~field);
    return p->are_bits = true;
}

static bool word_const(const struct ir_value *v, uint32_t *out)
{
    uint64_t k;
    if (!ir_value_const(v, &k))
        return false;
    *out = (uint32_t)k;
    return true;
}

static bool apply_shift(const struct ir_instr *in, const struct gen_rows *a, struct gen_rows *p)
{
    uint32_t k;
    if (!word_const(in->src[1], &k))
        return false;
    return in->op == IR_OP_SHL ? apply_shl(a, k, p)
                               : apply_shr(a, k, ir_type_is_signed(in->type), p);
}

static bool apply_product(const struct ir_instr *in, const struct gen_rows *a,
                          const struct gen_rows *b, struct gen_rows *p)
{
    uint32_t k;
    if (word_const(in->src[1], &k))
        return apply_scaled(a, k, p);
    return word_const(in->src[0], &k) && apply_scaled(b, k, p);
}

static bool apply_bfi(const struct ir_instr *in, const struct gen_rows *a, const struct gen_rows *b,
                      struct gen_rows *p)
{
    uint32_t at, size;
    return word_const(in->src[2], &at) && word_const(in->src[3], &size) &&
           apply_field(a, b, at, size, p);
}

static bool is_word_operation(const struct ir_instr *in)
{
    return ir_type_bits(in->type) == 32 && !ir_type_is_float(in->type) &&
           ir_type_lanes(in->type) == 1 && !ir_has(in, IR_MOD_SAT);
}

static bool apply(struct gen *g, const struct ir_instr *in, struct gen_rows *p, unsigned depth)
{
    const struct gen_rows *of[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2 && i < in->nsrc; i++) {
        of[i] = rows_of(g, in->src[i], depth);
        if (!of[i] || !of[i]->ok)
            return false;
    }
    switch (in->op) {
    case IR_OP_ADD:
    case IR_OP_SUB:
        return in->op == IR_OP_ADD && !of[0]->unknown ? apply_sum(in->op, of[1], of[0], p)
                                                      : apply_sum(in->op, of[0], of[1], p);
    case IR_OP_MUL:
        return apply_product(in, of[0], of[1], p);
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
        return apply_bits(in->op, of[0], of[1], p);
    case IR_OP_SHL:
    case IR_OP_SHR:
        return apply_shift(in, of[0], p);
    case IR_OP_BFI:
        return apply_bfi(in, of[0], of[1], p);
    default:
        return false;
    }
}

/* What the shape says: nothing of lanes that are not in one line. */
static bool apply_shape(struct gen *g, const struct ir_value *v, struct gen_rows *p)
{
    const struct ir_shape *s = gen_shape(g, v);
    const bool is_line = s->kind == IR_SHAPE_AFFINE && s->whole,
               is_twice = s->kind == IR_SHAPE_AFFINE && s->align == ZERO;
    uint32_t k;
    if (word_const(v, &k)) {
        for (unsigned l = 0; l < LANES; l++)
            p->lane[l] = k;
        p->unknown = 0;
        return p->are_bits = true;
    }
    if (s->kind != IR_SHAPE_UNIFORM && !is_line && !is_twice)
        return false;
    const uint32_t align = is_line ? s->warp_align : s->align;
    for (unsigned l = 0; l < LANES; l++)
        p->lane[l] = s->kind == IR_SHAPE_UNIFORM ? 0 : (uint32_t)s->stride * (is_line ? l : l % 16);
    p->unknown = align == ZERO ? 0 : from_bit(align);
    return finish(p);
}

static bool knows_more(const struct gen_rows *a, const struct gen_rows *b)
{
    if (a->are_bits != b->are_bits)
        return a->are_bits;
    return __builtin_popcount(a->unknown) < __builtin_popcount(b->unknown);
}

static const struct gen_rows *rows_of(struct gen *g, const struct ir_value *v, unsigned depth)
{
    struct gen_rows **memo = &g->rows[v->id], *p;
    if (*memo || depth > DEPTH_MAX || ir_type_bits(v->type) != 32)
        return *memo;
    if (!(p = hd_arena_array(&g->arena, struct gen_rows, 1)))
        return NULL;
    /* A value that keeps what lanes had that do not run now is no expression. */
    bool is_made = v->instr && is_word_operation(v->instr) &&
                   !(g->shapes.temporal && g->shapes.temporal[v->id]);
    struct gen_rows made, shape;
    made.ok = is_made && apply(g, v->instr, &made, depth + 1);
    shape.ok = apply_shape(g, v, &shape);
    *p = made.ok && (!shape.ok || knows_more(&made, &shape)) ? made : shape;
    return *memo = p;
}

/* ---- loads */

/* Bytes from the first lane's row to each; false: they are not known, or some lanes do not run. */
static bool distances(struct gen *g, const struct ir_instr *in, int64_t out[LANES])
{
    if (!gen_does(g, GEN_PASS_ROWS) || !gen_is_warp(g) || g->dispatch || g->mask[0] || g->mask[1] ||
        in->mem.space != IR_SPACE_SHARED)
        return false;
    if (!g->rows)
        g->rows = hd_arena_array(&g->arena, struct gen_rows *, g->func->nvalues + 1);
    const struct gen_rows *p = g->rows ? rows_of(g, in->src[0], 0) : NULL;
    if (!p || !p->ok)
        return false;
    for (unsigned l = 0; l < LANES; l++) {
        out[l] = (int32_t)(p->lane[l] - p->lane[0]);
        if (out[l] % ROW_B || out[l] > FAR_B || out[l] < -FAR_B)
            return false;
    }
    return true;
}

/* The first lane's row, checked for all. */
static LLVMValueRef first_row(struct gen *g, const struct ir_instr *in)
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

static LLVMValueRef row_load(struct gen *g, LLVMValueRef first, int64_t more_B)
{
    LLVMTypeRef row = LLVMVectorType(g->t->i32, ROW_WORDS);
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

static LLVMValueRef side_by_side(struct gen *g, LLVMValueRef a, LLVMValueRef b, unsigned n)
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
        row[i] = row_load(g, first, more_B[i]);
    LLVMValueRef a = side_by_side(g, row[0], row[1], 2 * ROW_WORDS);
    LLVMValueRef b = side_by_side(g, row[2], row[3], 2 * ROW_WORDS);
    return side_by_side(g, a, b, GEN_LANES);
}

/* Lane 4 g + t takes the elements g of the rows 2 t and 2 t + 1. */
static void turn(struct gen *g, LLVMValueRef x[GEN_HALVES])
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

static bool can_load(const struct gen *g, const struct ir_instr *in)
{
    return in->imm == IR_TILE_M8N8 || (in->imm == IR_TILE_M8N8_TRANS && g->unit->avx512);
}

bool gen_rows_load(struct gen *g, const struct ir_instr *in)
{
    int64_t more_B[LANES];
    if (!can_load(g, in) || !distances(g, in, more_B))
        return false;
    LLVMValueRef first = first_row(g, in), place = gen_loaded_place(g, in);
    for (uint32_t i = 0; i < in->ndst; i++) {
        LLVMValueRef x[GEN_HALVES];
        for (unsigned h = 0; h < 2; h++)
            x[h] = rows_load(g, first,
                             more_B + (size_t)i * ROWS_PER_REGISTER + (size_t)h * ROWS_PER_VECTOR);
        if (in->imm == IR_TILE_M8N8_TRANS)
            turn(g, x);
        for (unsigned h = 0; h < 2 && place; h++)
            LLVMBuildStore(g->b, x[h],
                           gen_gep(g, place, i * GEN_REGISTER_B + h * GEN_REGISTER_B / 2));
        if (!place)
            gen_set(g, in->dst[i], gen_v(g, x));
    }
    if (place)
        gen_place_changed(g, in->dst, in->ndst);
    return true;
}
