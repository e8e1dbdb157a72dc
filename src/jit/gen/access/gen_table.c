/*
 * Small tables: a load whose lanes can only read some words of one variable is a vector of these
 * words, permuted by what each lane asks for, instead of a gather. What the index is made of says
 * which words: `table[x & 3]`, a byte's half, a remainder.
 *
 * Words that no lane asks for may be read, as all of them belong to the variable; lanes that do not
 * run get some word.
 */
#include "jit/gen/access/gen_access.h"

#include <assert.h>

/* How many operations back is looked. */
#define DEPTH 8

#define WORD_B 4u

/* Unsigned: every lane's value is a multiple of `step`, a power of two, and at most `most`. */
struct extent {
    uint64_t most, step;
};

static struct extent extent_of(const struct ir_value *v, unsigned depth);

static uint64_t all_of(const struct ir_value *v)
{
    return UINT64_MAX >> (64 - ir_type_bits(v->type));
}

static uint64_t lowest_bit(uint64_t x)
{
    return x ? x & -x : 1ull << 63;
}

/* What does not fit wraps, and may be anything. */
static struct extent scaled(struct extent x, uint64_t by, uint64_t all)
{
    uint64_t most, step;

    if (__builtin_mul_overflow(x.most, by, &most) || most > all)
        return (struct extent){all, 1};
    if (__builtin_mul_overflow(x.step, lowest_bit(by), &step))
        step = 1ull << 63;
    return (struct extent){most, step};
}

static struct extent masked(struct extent x, uint64_t by)
{
    return (struct extent){HD_MIN(x.most, by), HD_MAX(x.step, lowest_bit(by))};
}

/* Of one more number, without its sign where it has none. */
static bool keeps_value(const struct ir_instr *in, struct extent x)
{
    uint64_t positive = all_of(in->src[0]) >> 1;
    return !ir_type_is_signed(in->op == IR_OP_CVT ? in->type2 : in->type) || x.most <= positive;
}

static struct extent extent_of_cvt(const struct ir_instr *in, struct extent x, uint64_t all)
{
    bool whole = !ir_type_is_float(in->type) && !ir_type_is_float(in->type2) &&
                 ir_type_bits(in->type2) == ir_type_bits(in->src[0]->type) &&
                 ir_type_bits(in->type) == ir_type_bits(in->dst[0]->type);
    bool keeps = whole && !ir_has(in, IR_MOD_SAT) && keeps_value(in, x) && x.most <= all;
    return keeps ? x : (struct extent){all, 1};
}

static struct extent extent_by_const(const struct ir_instr *in, struct extent x, uint64_t c,
                                     uint64_t all)
{
    switch (in->op) {
    case IR_OP_AND:
        return masked(x, c);
    case IR_OP_SHL:
        return c < 64 ? scaled(x, 1ull << c, all) : (struct extent){all, 1};
    case IR_OP_SHR:
        return c < ir_type_bits(in->type) && keeps_value(in, x)
                   ? (struct extent){x.most >> c, HD_MAX(x.step >> c, 1u)}
                   : (struct extent){all, 1};
    case IR_OP_MUL:
        return scaled(x, c, all);
    case IR_OP_MULWIDE:
        return keeps_value(in, x) && c <= INT32_MAX ? scaled(x, c, all) : (struct extent){all, 1};
    default:
        return (struct extent){all, 1};
    }
}

static struct extent extent_of(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    uint64_t all = all_of(v), c;

    if (ir_value_const(v, &c))
        return (struct extent){c & all, lowest_bit(c & all)};
    if (!in || depth == DEPTH || !in->nsrc || !ir_op_has(in->op, IR_F_PURE) ||
        ir_type_lanes(v->type) != 1)
        return (struct extent){all, 1};
    if (in->op == IR_OP_CVT)
        return extent_of_cvt(in, extent_of(in->src[0], depth + 1), all);
    if (in->nsrc != 2 || !ir_value_const(in->src[1], &c))
        return (struct extent){all, 1};
    return extent_by_const(in, extent_of(in->src[0], depth + 1), c & all_of(in->src[1]), all);
}

/* A table: `first` of `words` of a variable, and which of its bytes lanes ask for. */
struct table {
    const struct ir_value *start, *at;
    unsigned words;
};

static unsigned words_max(const struct gen *g)
{
    switch (g->unit->path) {
    case JIT_AVX512:
        return 2 * GEN_LANES;
    case JIT_AVX2:
        return GEN_LANES / 2;
    default:
        return 0;
    }
}

static const struct ir_instr *variable_of(const struct ir_value *v)
{
    const struct ir_instr *in = v->instr;
    bool far = in && in->op == IR_OP_VARADDR &&
               (in->var->space == IR_SPACE_CONST || in->var->space == IR_SPACE_GLOBAL);
    return far && !in->var->reference ? in : NULL;
}

/* Are all words that lanes can ask for the variable's? */
static bool table_fits(const struct gen *g, const struct ir_instr *in, const struct ir_instr *var,
                       struct table *t)
{
    struct extent x = extent_of(t->at, 0);
    int64_t first = (int64_t)var->imm + in->mem.offset;

    if (x.most >= (uint64_t)words_max(g) * WORD_B || x.step % WORD_B || first < 0 ||
        first % WORD_B || var->var->align_B % WORD_B)
        return false;
    t->words = (unsigned)(x.most / WORD_B) + 1;
    return (uint64_t)first + (uint64_t)t->words * WORD_B <= var->var->size_B;
}

static bool table_find(struct gen *g, const struct ir_instr *in, struct table *t)
{
    const struct ir_instr *sum = in->src[0]->instr;

    if (!gen_does(g, GEN_PASS_TABLE) || in->mem.vec || in->mem.sem != IR_SEM_WEAK ||
        ir_type_bits(in->type) != 8 * WORD_B || gen_shape(g, in->dst[0])->kind != IR_SHAPE_VARYING)
        return false;
    if (!sum || sum->op != IR_OP_ADD || !ir_is_plain_add(sum))
        return false;
    for (unsigned s = 0; s < 2; s++) {
        const struct ir_instr *var = variable_of(sum->src[s]);
        *t = (struct table){sum->src[s], sum->src[1 - s], 0};
        if (var)
            return table_fits(g, in, var, t);
    }
    return false;
}

/* `n` words of the table from `first` on; those behind its end are undefined. */
static LLVMValueRef words_of(struct gen *g, LLVMValueRef table, unsigned size, unsigned first,
                             unsigned n)
{
    LLVMValueRef pick[GEN_LANES];

    assert(n <= GEN_LANES);
    for (unsigned i = 0; i < n; i++)
        pick[i] = first + i < size ? gen_i32(g, first + i) : LLVMGetPoison(g->t->i32);
    return LLVMBuildShuffleVector(g->b, table, LLVMGetPoison(LLVMTypeOf(table)),
                                  LLVMConstVector(pick, n), "");
}

static LLVMValueRef table_load(struct gen *g, const struct ir_instr *in, const struct table *t)
{
    LLVMTypeRef type = LLVMVectorType(g->t->i32, t->words);
    LLVMValueRef from = gen_ptr_at(g, gen_get(g, t->start).c[0], in->mem.offset);
    LLVMValueRef x = LLVMBuildLoad2(g->b, type, from, "");

    LLVMSetAlignment(x, WORD_B);
    return x;
}

/* One half of the lanes' words, by the numbers of the words. */
static LLVMValueRef pick_zmm(struct gen *g, const struct table *t, LLVMValueRef x, LLVMValueRef at)
{
    LLVMValueRef low = words_of(g, x, t->words, 0, GEN_LANES);

    if (t->words <= GEN_LANES)
        return gen_intrinsic(g, "llvm.x86.avx512.permvar.si.512", NULL, 0,
                             (LLVMValueRef[]){low, at}, 2);
    LLVMValueRef high = words_of(g, x, t->words, GEN_LANES, GEN_LANES);
    return gen_intrinsic(g, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0,
                         (LLVMValueRef[]){low, at, high}, 3);
}

static LLVMValueRef pick_ymm(struct gen *g, const struct table *t, LLVMValueRef x, LLVMValueRef at)
{
    enum { PART = GEN_LANES / 2 };
    LLVMValueRef words = words_of(g, x, t->words, 0, PART), part[2], both[GEN_LANES];

    for (unsigned p = 0; p < 2; p++) {
        LLVMValueRef some = words_of(g, at, GEN_LANES, p * PART, PART);
        part[p] =
            gen_intrinsic(g, "llvm.x86.avx2.permd", NULL, 0, (LLVMValueRef[]){words, some}, 2);
    }
    for (unsigned i = 0; i < GEN_LANES; i++)
        both[i] = gen_i32(g, i);
    return LLVMBuildShuffleVector(g->b, part[0], part[1], LLVMConstVector(both, GEN_LANES), "");
}

bool gen_table_load(struct gen *g, const struct ir_instr *in)
{
    struct table t;
    LLVMValueRef at[GEN_HALVES], out[GEN_HALVES];

    if (!table_find(g, in, &t))
        return false;
    gen_fired(g, GEN_PASS_TABLE);
    LLVMTypeRef words = gen_vec(g, g->t->i32), elems = gen_vec(g, gen_scalar_type(g, in->type));
    LLVMValueRef x = table_load(g, in, &t);
    gen_vector_of(g, gen_get(g, t.at), t.at->type, at);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef number = LLVMBuildTrunc(g->b, at[h], words, "");
        number = LLVMBuildLShr(g->b, number, gen_splat_const(g, g->t->i32, 2), "");
        number =
            g->unit->path == JIT_AVX512 ? pick_zmm(g, &t, x, number) : pick_ymm(g, &t, x, number);
        out[h] = LLVMBuildBitCast(g->b, number, elems, "");
    }
    gen_set(g, in->dst[0], gen_v(g, out));
    return true;
}
