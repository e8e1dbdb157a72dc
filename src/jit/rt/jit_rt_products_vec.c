/*
 * Matrix products that stand together, with vectors, compiled for each level.
 *
 * A vector of sums is a part of a register: lane 4 * g + t has row g and column 2 * t, or 2 * t + 1
 * in the other register. So sums need no permutes. For each k, a vector of a has its row's number
 * in four lanes, and one of b its four columns' numbers, again and again. Loads make both, of
 * vectors of four words of rows, and of 16 bytes.
 *
 * What is multiplied for one k are two numbers, or, with instructions that add up several products,
 * two words of them: of two bf16, of four bytes. Numbers of 8 bits are exact as bf16. Integers are
 * multiplied as f32 otherwise, and added to c at the end.
 */
#include "jit/rt/jit_rt_mma_vec.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "jit/rt/jit_rt_products.h"

#define XOR(a, b) TO_WORDS(V(xor_ps)(TO_FLOATS(a), TO_FLOATS(b)))

enum {
    ROW_VECTORS = ROWS * 4 / WIDTH,   /* of a tile, for each parity of the columns */
    REGISTER_VECTORS = LANES / WIDTH, /* of a register */
    GROUPS_MAX = 2,                   /* of words in a row of a fragment */
    WORDS = 4,                        /* of a group */
    PARTS_MAX = 8,                    /* that words are made of */
    EXACT_STEPS = 4,                  /* of integers: 4 * 64 products of 16 bits are exact in f32 */
    A_PART = ROW_VECTORS * WIDTH,     /* of a group of a */
    B_PART = COLUMNS,                 /* of a word of b */
    TF32_BITS = (int)0xffffe000       /* of f32 */
};

/* How numbers or words are multiplied and added: f32, in sums of floats or of integers; tf32; words
 * of two bf16, or of what bf16 has exactly; words of four bytes. */
enum how { FUSED, INTEGERS, SMALLS, WORDS_F32, HALVES, BYTES, A_UNSIGNED, B_UNSIGNED };

/* Prepared fragments. */
struct ready {
    float a[JIT_PRODUCTS_A_MAX * GROUPS_MAX * PARTS_MAX * A_PART] __attribute__((aligned(64)));
    float b[JIT_PRODUCTS_B_MAX * GROUPS_MAX * PARTS_MAX * WORDS * B_PART]
        __attribute__((aligned(64)));
    /* BYTES: what each column of b adds too much, as a counts from -128 on. */
    int32_t excess[JIT_PRODUCTS_B_MAX][COLUMNS] __attribute__((aligned(64)));
    unsigned ngroups, nparts;
    bool is_small; /* HALVES: a number of b is below its limit */
};

INLINE float *ready_a(struct ready *r, unsigned i)
{
    return r->a + (size_t)i * r->ngroups * r->nparts * A_PART;
}

INLINE float *ready_b(struct ready *r, unsigned i)
{
    return r->b + (size_t)i * r->ngroups * r->nparts * WORDS * B_PART;
}

#if defined(__AVX512F__)

/* Four floats again and again. */
INLINE floats four(const float *from)
{
    return _mm512_broadcast_f32x4(_mm_loadu_ps(from));
}

/* A comparison looks at two vectors. */
INLINE bool some_are_nan(const floats x[8])
{
#define UNORDERED(i) _mm512_cmp_ps_mask(x[i], x[(i) + 1], _CMP_UNORD_Q)
    return (UNORDERED(0) | UNORDERED(2) | UNORDERED(4) | UNORDERED(6)) != 0;
#undef UNORDERED
}

/* The words of a register by t, then by the parity of the column, then by column. */
INLINE void columns_order(const uint32_t *reg, floats out[REGISTER_VECTORS])
{
    static const uint32_t order[LANES] = {0,  8,  16, 24, 4,  12, 20, 28, 1,  9, 17,
                                          25, 5,  13, 21, 29, 2,  10, 18, 26, 6, 14,
                                          22, 30, 3,  11, 19, 27, 7,  15, 23, 31};
    words x = _mm512_loadu_si512(reg), y = _mm512_loadu_si512(reg + WIDTH);
    for (unsigned i = 0; i < REGISTER_VECTORS; i++) {
        words at = _mm512_loadu_si512(order + (size_t)i * WIDTH);
        out[i] = TO_FLOATS(_mm512_permutex2var_epi32(x, at, y));
    }
}

INLINE words halves_exchange(words x)
{
    return _mm512_rol_epi32(x, 16);
}

/* Each eight lanes, `step` apart. */
INLINE void eights_store(floats x, float *to, size_t step)
{
    if (step == WIDTH / 2) {
        _mm512_storeu_ps(to, x);
        return;
    }
    _mm256_storeu_ps(to, _mm512_castps512_ps256(x));
    _mm256_storeu_ps(to + step, _mm512_extractf32x8_ps(x, 1));
}

#else

INLINE floats four(const float *from)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)from);
}

INLINE bool some_are_nan(const floats x[8])
{
#define UNORDERED(i) _mm256_cmp_ps(x[i], x[(i) + 1], _CMP_UNORD_Q)
    floats low = _mm256_or_ps(UNORDERED(0), UNORDERED(2));
    floats high = _mm256_or_ps(UNORDERED(4), UNORDERED(6));
    return _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0;
#undef UNORDERED
}

INLINE void columns_order(const uint32_t *reg, floats out[REGISTER_VECTORS])
{
    const float *from = (const float *)(const void *)reg;
    for (unsigned i = 0; i < REGISTER_VECTORS; i++)
        out[i] = _mm256_loadu_ps(from + (size_t)i * WIDTH);
    transpose(out);
}

INLINE words halves_exchange(words x)
{
    return OR(V(slli_epi32)(x, 16), V(srli_epi32)(x, 16));
}

INLINE void eights_store(floats x, float *to, size_t step)
{
    (void)step;
    _mm256_storeu_ps(to, x);
}

#endif

INLINE words words_load(const uint32_t *from)
{
    return TO_WORDS(V(loadu_ps)((const float *)(const void *)from));
}

INLINE void words_store(uint32_t *to, words x)
{
    V(storeu_ps)((float *)(void *)to, TO_FLOATS(x));
}

/* ---- what of a word is multiplied */

INLINE unsigned parts_of(const struct element *e, enum how how)
{
    if (how == FUSED || how == INTEGERS || how == WORDS_F32)
        return 32 / e->box;
    return how == SMALLS ? 2 : 1;
}

/* Two f32 that bf16 has exactly; the upper half of a word is multiplied first. */
INLINE floats halves_pack(floats first, floats second)
{
    return TO_FLOATS(OR(TO_WORDS(first), V(srli_epi32)(TO_WORDS(second), 16)));
}

INLINE void parts_get(const struct element *e, enum how how, words x, floats out[PER_WORD_MAX])
{
    floats y[PER_WORD_MAX] = {V(setzero_ps)()};
    if (how == FUSED || how == INTEGERS || how == WORDS_F32) {
        widen(e, x, out);
    } else if (how == SMALLS) {
        widen(e, x, y);
        out[0] = halves_pack(y[0], y[1]);
        out[1] = halves_pack(y[2], y[3]);
    } else if (how == HALVES) {
        out[0] = TO_FLOATS(halves_exchange(x));
    } else {
        out[0] = TO_FLOATS(x);
    }
}

/* ---- flushing: VDPBF16PS takes denormals for zeros, and makes zeros of them */

/*
 * Products of numbers of 2^-56 and more are multiples of 2^-126, as their last bits are 2^-63. So
 * are sums of 2^-103 and more, and what is added up of both, which thus is never denormal.
 */
enum { HALF_MIN = (127 - 56) << 7, SUM_MIN = (127 - 103) << 23 };

#if defined(__AVX512F__)

/* Twice a number less one has no sign, and makes zero the largest: so the least of all tells. */
INLINE words least_sum(floats a, floats b)
{
    words x = TO_WORDS(a), y = TO_WORDS(b);
    return _mm512_min_epu32(_mm512_sub_epi32(_mm512_add_epi32(x, x), all(1)),
                            _mm512_sub_epi32(_mm512_add_epi32(y, y), all(1)));
}

/* Is one of a tile's sums (f32), apart from zero, below its limit? */
static HD_NOINLINE bool products_vec_sums_are_small(const uint32_t (*tile)[LANES])
{
    words least = all(UINT32_MAX);
    for (unsigned i = 0; i < ROWS / 4; i++) {
        const float *reg = (const float *)(const void *)tile[i];
        least = _mm512_min_epu32(least, least_sum(_mm512_loadu_ps(reg), _mm512_loadu_ps(reg + 16)));
    }
    return _mm512_cmplt_epu32_mask(least, all(2 * SUM_MIN - 1)) != 0;
}

/* The lesser magnitude. */
INLINE floats lesser(floats a, floats b)
{
    return _mm512_range_ps(a, b, 0xa);
}

/* Could one be, or is one zero? Takes a third of the operations. */
INLINE bool sums_may_be_small(const floats sum[8])
{
    floats x = lesser(lesser(sum[0], sum[1]), lesser(sum[2], sum[3]));
    floats y = lesser(lesser(sum[4], sum[5]), lesser(sum[6], sum[7]));
    return _mm512_cmp_ps_mask(lesser(x, y), TO_FLOATS(all(SUM_MIN)), _CMP_NGE_UQ) != 0;
}

INLINE words least_half(words least, words x)
{
    x = _mm512_add_epi16(_mm512_add_epi16(x, x), all(UINT32_MAX));
    return _mm512_min_epu16(least, x);
}

/* Was one of the factors, apart from zero, below its limit? */
INLINE bool halves_are_small(words least)
{
    return _mm512_cmplt_epu16_mask(least, _mm512_set1_epi16(2 * HALF_MIN - 1)) != 0;
}

#else

/* Nothing flushes them. */
INLINE bool sums_may_be_small(const floats sum[8])
{
    (void)sum;
    return false;
}

INLINE bool products_vec_sums_are_small(const uint32_t (*tile)[LANES])
{
    (void)tile;
    return false;
}

INLINE words least_half(words least, words x)
{
    (void)x;
    return least;
}

INLINE bool halves_are_small(words least)
{
    (void)least;
    return false;
}

#endif

/* ---- fragments */

INLINE void a_prepare(const struct element *e, enum how how, const uint32_t (*regs)[LANES],
                      unsigned nregs, float *out)
{
    const unsigned parts = parts_of(e, how);
    assert(nregs / 2 <= GROUPS_MAX && parts <= PARTS_MAX);
    for (unsigned group = 0; group < nregs / 2; group++) {
        for (unsigned v = 0; v < ROW_VECTORS; v++) {
            const uint32_t *from = regs[2 * group + v / REGISTER_VECTORS];
            words x = words_load(from + v % REGISTER_VECTORS * WIDTH);
            floats y[PER_WORD_MAX] = {V(setzero_ps)()};
            float *to = out + (size_t)group * parts * A_PART + v * WIDTH;
            parts_get(e, how, x, y);
#define STORE(j)                                                                                   \
    if ((j) < parts)                                                                               \
        V(store_ps)(to + (j) * A_PART, y[j]);
            EACH_8(STORE)
#undef STORE
        }
    }
}

/* Returns the least number so far. */
INLINE words b_prepare(const struct element *e, enum how how, const uint32_t (*regs)[LANES],
                       unsigned nregs, float *out, words least)
{
    const unsigned parts = parts_of(e, how);
    for (unsigned group = 0; group < nregs; group++) {
        floats ordered[REGISTER_VECTORS], y[PER_WORD_MAX] = {V(setzero_ps)()};
        columns_order(regs[group], ordered);
        for (unsigned i = 0; i < REGISTER_VECTORS; i++) {
            unsigned word = group * WORDS + i * WIDTH / COLUMNS;
            float *to = out + (size_t)word * parts * B_PART;
            parts_get(e, how, TO_WORDS(ordered[i]), y);
            if (how == HALVES)
                least = least_half(least, TO_WORDS(y[0]));
#define STORE(j)                                                                                   \
    if ((j) < parts)                                                                               \
        eights_store(y[j], to + (j) * B_PART, (size_t)parts * B_PART);
            EACH_8(STORE)
#undef STORE
        }
    }
    return least;
}

#define FUSED_TYPES(X)   X(F16) X(BF16) X(TF32) X(E4M3) X(E5M2) X(E3M2) X(E2M3) X(E2M1)
#define INTEGER_TYPES(X) X(S8) X(U8) X(S4) X(U4)
#define HALVES_TYPES(X)  X(BF16)
#define SMALL_TYPES(X)   X(E4M3) X(E5M2) X(E3M2) X(E2M3) X(E2M1)
#define BYTES_TYPES(X)   X(S8) X(U8)

/* Fragments of one kind. */
struct some {
    enum ir_type type;
    unsigned n, nregs;
    const uint32_t (*const *of)[LANES];
};

#define A_PREPARE(type)                                                                            \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        for (unsigned i = 0; i < s->n; i++)                                                        \
            a_prepare(&e, HOW, s->of[i], s->nregs, ready_a(r, i));                                 \
        return;                                                                                    \
    }
#define B_PREPARE(type)                                                                            \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        words least = all(UINT32_MAX);                                                             \
        for (unsigned i = 0; i < s->n; i++)                                                        \
            least = b_prepare(&e, HOW, s->of[i], s->nregs, ready_b(r, i), least);                  \
        r->is_small = halves_are_small(least);                                                     \
        return;                                                                                    \
    }
#define PREPARE(name, TYPES, CASE)                                                                 \
    static HD_NOINLINE void name(const struct some *s, struct ready *r)                            \
    {                                                                                              \
        switch (s->type) {                                                                         \
            TYPES(CASE)                                                                            \
        default:                                                                                   \
            assert(!"a type that is multiplied so");                                               \
        }                                                                                          \
    }

#define HOW FUSED
PREPARE(a_prepare_fused, FUSED_TYPES, A_PREPARE)
PREPARE(b_prepare_fused, FUSED_TYPES, B_PREPARE)
#undef HOW
#define HOW INTEGERS
PREPARE(a_prepare_integers, INTEGER_TYPES, A_PREPARE)
PREPARE(b_prepare_integers, INTEGER_TYPES, B_PREPARE)
#undef HOW

#if defined(__AVX512BF16__)
#define HOW HALVES
PREPARE(b_prepare_halves, HALVES_TYPES, B_PREPARE)
#undef HOW
#define HOW SMALLS
PREPARE(a_prepare_smalls, SMALL_TYPES, A_PREPARE)
PREPARE(b_prepare_smalls, SMALL_TYPES, B_PREPARE)
#undef HOW
#endif

#if defined(__AVX512VNNI__)
#define HOW BYTES
PREPARE(b_prepare_bytes, BYTES_TYPES, B_PREPARE)
#undef HOW

static void products_vec_excess_find(struct ready *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const float *b = ready_b(r, i);
        __m256i sum = _mm256_setzero_si256();
        for (unsigned k = 0; k < r->ngroups * WORDS; k++) {
            __m256i x = _mm256_castps_si256(_mm256_loadu_ps(b + (size_t)k * B_PART));
            sum = _mm256_dpbusd_epi32(sum, _mm256_set1_epi8((char)0x80), x);
        }
        _mm256_storeu_si256((__m256i *)(void *)r->excess[i], sum);
    }
}
#endif

/* ---- sums */

typedef uint32_t lane_words[LANES];

/* Four vectors of rows from `first` on, of both parities of the columns: sum[2 * v + parity]. */
INLINE uint32_t *sum_at(lane_words *tile, unsigned row_vector, unsigned registers)
{
    return tile[row_vector / REGISTER_VECTORS * registers] + row_vector % REGISTER_VECTORS * WIDTH;
}

/* A vector of rows: even and odd columns. */
INLINE void pair_get(enum ir_type type, lane_words *tile, unsigned row_vector, floats out[2])
{
    if (type == IR_F16) {
        halves_split(words_load(sum_at(tile, row_vector, 1)), &out[0], &out[1]);
        return;
    }
    const uint32_t *from = sum_at(tile, row_vector, 2);
    out[0] = TO_FLOATS(words_load(from));
    out[1] = TO_FLOATS(words_load(from + LANES));
}

INLINE void pair_put(enum ir_type type, lane_words *tile, unsigned row_vector, const floats x[2])
{
    if (type == IR_F16) {
        words_store(sum_at(tile, row_vector, 1), halves_join(x[0], x[1]));
        return;
    }
    uint32_t *to = sum_at(tile, row_vector, 2);
    words_store(to, TO_WORDS(x[0]));
    words_store(to + LANES, TO_WORDS(x[1]));
}

INLINE void sums_get(lane_words *tile, unsigned first, enum ir_type type, floats sum[8])
{
    pair_get(type, tile, first, &sum[0]);
    pair_get(type, tile, first + 1, &sum[2]);
    pair_get(type, tile, first + 2, &sum[4]);
    pair_get(type, tile, first + 3, &sum[6]);
}

/* NaN is rare, and made canonical. */
INLINE void sums_put(lane_words *tile, unsigned first, enum ir_type type, floats sum[8])
{
#define REPLACE(i) sum[i] = nan_replace(sum[i], NAN_BITS);
    if (type != IR_S32 && some_are_nan(sum)) {
        EACH_8(REPLACE)
    }
#undef REPLACE
    pair_put(type, tile, first, &sum[0]);
    pair_put(type, tile, first + 1, &sum[2]);
    pair_put(type, tile, first + 2, &sum[4]);
    pair_put(type, tile, first + 3, &sum[6]);
}

INLINE void pair_round(floats x[2])
{
    halves_split(halves_join(x[0], x[1]), &x[0], &x[1]);
}

/* f16 sums are rounded behind each product. */
INLINE void sums_round(floats sum[8])
{
    pair_round(&sum[0]);
    pair_round(&sum[2]);
    pair_round(&sum[4]);
    pair_round(&sum[6]);
}

/* ---- units */

INLINE floats add(enum how how, floats a, floats b, floats sum)
{
    (void)how;
#if defined(__AVX512BF16__)
    if (how == HALVES || how == SMALLS)
        return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
#endif
#if defined(__AVX512VNNI__)
    if (how == BYTES || how == A_UNSIGNED)
        return TO_FLOATS(_mm512_dpbusd_epi32(TO_WORDS(sum), TO_WORDS(a), TO_WORDS(b)));
    if (how == B_UNSIGNED)
        return TO_FLOATS(_mm512_dpbusd_epi32(TO_WORDS(sum), TO_WORDS(b), TO_WORDS(a)));
#endif
    return V(fmadd_ps)(a, b, sum);
}

struct pass {
    const struct jit_products_task *t;
    struct ready *r;
    const struct jit_products_unit *u;
};

/* Words of a register of a are used as they are but for what makes them unsigned, changes the
 * halves' places, or cuts off what tf32 does not have. */
INLINE bool is_direct(enum how how)
{
    return how >= WORDS_F32;
}

/* Lane t of each four, in all four. */
INLINE floats quad(enum how how, floats x, unsigned t)
{
    if (how == WORDS_F32)
        x = TO_FLOATS(AND(TO_WORDS(x), all(TF32_BITS)));
#if defined(__AVX512F__)
    if (how == BYTES)
        x = TO_FLOATS(XOR(TO_WORDS(x), all(0x80808080)));
    if (how == HALVES) {
        words order = all(0x01000302 + 0x04040404 * t);
        return TO_FLOATS(_mm512_shuffle_epi8(TO_WORDS(x), order));
    }
#endif
#define PERMUTE(i)                                                                                 \
    if (t == (i))                                                                                  \
        return V(permute_ps)(x, (i) * 0x55);
    EACH_4(PERMUTE)
#undef PERMUTE
    return x;
}

/* One fragment of a, from vector `first` of its rows on, with those of b of one tile or two.
 * Returns the least number so far of HALVES. */
INLINE words step_add(enum how how, unsigned parts, const struct pass *p,
                      const struct jit_products_step *step, unsigned first, unsigned tile,
                      unsigned ntiles, floats sum0[8], floats sum1[8], words least)
{
    struct ready *r = p->r;
    const void *loaded = p->t->area->a[step->a];
    const float *group = is_direct(how) ? loaded : ready_a(r, step->a);
    group += first * WIDTH;
    const float *b0 = ready_b(r, step->b[tile]), *b1 = ready_b(r, step->b[1]);
    for (unsigned i = 0; i < r->ngroups; i++, group += parts * A_PART) {
#define ADD(v, t)                                                                                  \
    {                                                                                              \
        floats x = V(loadu_ps)(a + (v) * WIDTH);                                                   \
        if (how == HALVES && (t) == 0)                                                             \
            least = least_half(least, TO_WORDS(x));                                                \
        x = quad(how, x, t);                                                                       \
        sum0[2 * (v)] = add(how, x, b00, sum0[2 * (v)]);                                           \
        sum0[2 * (v) + 1] = add(how, x, b01, sum0[2 * (v) + 1]);                                   \
        if (ntiles == 2) {                                                                         \
            sum1[2 * (v)] = add(how, x, b10, sum1[2 * (v)]);                                       \
            sum1[2 * (v) + 1] = add(how, x, b11, sum1[2 * (v) + 1]);                               \
        }                                                                                          \
    }
#define WORD(t)                                                                                    \
    _Pragma("GCC unroll 8") for (unsigned j = 0; j < parts; j++, b0 += B_PART, b1 += B_PART)       \
    {                                                                                              \
        const float *a = group + j * A_PART;                                                       \
        floats b00 = four(b0), b01 = four(b0 + 4), b10 = four(b1), b11 = four(b1 + 4);             \
        ADD(0, t) ADD(1, t) ADD(2, t) ADD(3, t)                                                    \
    }
        EACH_4(WORD)
#undef WORD
#undef ADD
    }
    return least;
}

/* What all steps of a tile add too much. */
INLINE void excess_subtract(struct ready *r, const struct jit_products_unit *u, unsigned tile,
                            floats sum[8])
{
    __m128i even = _mm_setzero_si128(), odd = even;
    for (unsigned s = 0; s < u->nsteps; s++) {
        const __m128i *excess = (const __m128i *)(const void *)r->excess[u->step[s].b[tile]];
        even = _mm_add_epi32(even, _mm_load_si128(excess));
        odd = _mm_add_epi32(odd, _mm_load_si128(excess + 1));
    }
    float both[2 * 4];
    _mm_storeu_si128((__m128i *)(void *)both, even);
    _mm_storeu_si128((__m128i *)(void *)(both + 4), odd);
    words x = TO_WORDS(four(both)), y = TO_WORDS(four(both + 4));
#define SUBTRACT(v)                                                                                \
    sum[2 * (v)] = TO_FLOATS(V(sub_epi32)(TO_WORDS(sum[2 * (v)]), x));                             \
    sum[2 * (v) + 1] = TO_FLOATS(V(sub_epi32)(TO_WORDS(sum[2 * (v) + 1]), y));
    EACH_4(SUBTRACT)
#undef SUBTRACT
}

INLINE lane_words *tile_of(const struct pass *p, unsigned tile)
{
    return p->t->area->tile[p->u->tile[tile]];
}

/* Adds what are whole numbers. */
INLINE void pair_add(lane_words *tile, unsigned row_vector, const floats x[2])
{
    uint32_t *to = sum_at(tile, row_vector, 2);
    words_store(to, V(add_epi32)(words_load(to), V(cvttps_epi32)(x[0])));
    words_store(to + LANES, V(add_epi32)(words_load(to + LANES), V(cvttps_epi32)(x[1])));
}

INLINE void integers_put(lane_words *tile, unsigned first, const floats sum[8])
{
    pair_add(tile, first, &sum[0]);
    pair_add(tile, first + 1, &sum[2]);
    pair_add(tile, first + 2, &sum[4]);
    pair_add(tile, first + 3, &sum[6]);
}

INLINE void sums_zero(floats sum[8])
{
    sum[0] = sum[1] = sum[2] = sum[3] = V(setzero_ps)();
    sum[4] = sum[5] = sum[6] = sum[7] = V(setzero_ps)();
}

/* The tiles from `tile` on, four vectors of their rows. */
INLINE void integers_add(unsigned parts, const struct pass *p, unsigned first, unsigned tile,
                         unsigned ntiles)
{
    floats sum0[8], sum1[8];
    const words none = all(UINT32_MAX);
    for (unsigned s = 0; s < p->u->nsteps;) {
        sums_zero(sum0);
        sums_zero(sum1);
        for (unsigned n = 0; n < EXACT_STEPS && s < p->u->nsteps; n++, s++)
            (void)step_add(INTEGERS, parts, p, &p->u->step[s], first, tile, ntiles, sum0, sum1,
                           none);
        integers_put(tile_of(p, tile), first, sum0);
        if (ntiles == 2)
            integers_put(tile_of(p, 1), first, sum1);
    }
}

/* False: they cannot be added in this way, nothing is done. */
INLINE bool tiles_add(enum how how, unsigned parts, enum ir_type type, const struct pass *p,
                      unsigned first, unsigned tile, unsigned ntiles)
{
    floats sum0[8], sum1[8];
    words least = all(UINT32_MAX);
    if (how == INTEGERS) {
        integers_add(parts, p, first, tile, ntiles);
        return true;
    }
    sums_get(tile_of(p, tile), first, type, sum0);
    sums_get(tile_of(p, ntiles - 1), first, type, sum1);
    if ((how == HALVES || how == SMALLS) && (sums_may_be_small(sum0) || sums_may_be_small(sum1)) &&
        (products_vec_sums_are_small((const uint32_t(*)[LANES])tile_of(p, tile)) ||
         products_vec_sums_are_small((const uint32_t(*)[LANES])tile_of(p, ntiles - 1))))
        return false;
    if (how == BYTES) {
        excess_subtract(p->r, p->u, tile, sum0);
        excess_subtract(p->r, p->u, ntiles - 1, sum1);
    }
    for (unsigned s = 0; s < p->u->nsteps; s++) {
        least = step_add(how, parts, p, &p->u->step[s], first, tile, ntiles, sum0, sum1, least);
        if (type == IR_F16) {
            sums_round(sum0);
            sums_round(sum1);
        }
    }
    if (how == HALVES && halves_are_small(least))
        return false;
    sums_put(tile_of(p, tile), first, type, sum0);
    if (ntiles == 2)
        sums_put(tile_of(p, 1), first, type, sum1);
    return true;
}

/* Where there are registers for sixteen sums, two tiles go together, and all rows. */
INLINE bool unit_add(enum how how, unsigned parts, enum ir_type type, const struct pass *p)
{
    if (WIDTH == 16)
        return p->u->ntiles == 2 ? tiles_add(how, parts, type, p, 0, 0, 2)
                                 : tiles_add(how, parts, type, p, 0, 0, 1);
    for (unsigned first = 0; first < ROW_VECTORS; first += 4) {
        for (unsigned tile = 0; tile < p->u->ntiles; tile++)
            tiles_add(how, parts, type, p, first, tile, 1);
    }
    return true;
}

/* ---- all of it */

/*
 * Adds units; `left`: which are not added yet, NULL = all. How many parts a word has is a constant
 * of the loop over its products.
 */
#define UNITS_ADD(name, how, parts, type)                                                          \
    static HD_NOINLINE void name(struct pass *p, const bool *left)                                 \
    {                                                                                              \
        p->u = jit_products_first(p->t->list);                                                     \
        for (unsigned i = 0; i < p->t->list->nunits; i++, p->u = jit_products_next(p->u)) {        \
            if (!left || left[i])                                                                  \
                (void)unit_add(how, parts, type, p);                                               \
        }                                                                                          \
    }

UNITS_ADD(fused_add_1, WORDS_F32, 1, IR_F32)
UNITS_ADD(fused_add_2, FUSED, 2, IR_F32)
UNITS_ADD(fused_add_4, FUSED, 4, IR_F32)
UNITS_ADD(halves_add_2, FUSED, 2, IR_F16)
UNITS_ADD(halves_add_4, FUSED, 4, IR_F16)

static void products_vec_fused_add(struct pass *p, const bool *left)
{
    const bool f16 = p->t->mma->d == IR_F16;
    switch (p->r->nparts) {
    case 1:
        assert(!f16 && p->t->mma->a == IR_TF32);
        fused_add_1(p, left);
        return;
    case 2:
        (f16 ? halves_add_2 : fused_add_2)(p, left);
        return;
    default:
        assert(p->r->nparts == 4);
        (f16 ? halves_add_4 : fused_add_4)(p, left);
    }
}

static void products_vec_fused_make(struct pass *p, const struct some *a, const struct some *b,
                                    const bool *left)
{
    const struct element e = element_of(a->type);
    p->r->ngroups = a->nregs / 2;
    p->r->nparts = parts_of(&e, FUSED);
    b_prepare_fused(b, p->r);
    if (a->type != IR_TF32)
        a_prepare_fused(a, p->r);
    products_vec_fused_add(p, left);
}

#if defined(__AVX512BF16__)

/* Returns whether some units are left. */
INLINE bool halves_add(enum how how, unsigned parts, struct pass *p, bool *left)
{
    bool some = false;
    p->u = jit_products_first(p->t->list);
    for (unsigned i = 0; i < p->t->list->nunits; i++, p->u = jit_products_next(p->u)) {
        left[i] = !unit_add(how, parts, IR_F32, p);
        some |= left[i];
    }
    return some;
}

/* False: some of b is too small, nothing is done. */
static bool products_vec_halves_make(struct pass *p, const struct some *a, const struct some *b)
{
    bool left[JIT_PRODUCTS_MAX];
    p->r->ngroups = a->nregs / 2;
    p->r->nparts = 1;
    b_prepare_halves(b, p->r);
    if (p->r->is_small)
        return false;
    if (halves_add(HALVES, 1, p, left))
        products_vec_fused_make(p, a, b, left);
    return true;
}

/* False: they are added in another way. */
static bool products_vec_dots_make(struct pass *p, const struct some *a, const struct some *b)
{
    if (p->t->mma->d != IR_F32 || a->type == IR_F16 || a->type == IR_TF32)
        return false;
    if (a->type == IR_BF16)
        return products_vec_halves_make(p, a, b);
    bool left[JIT_PRODUCTS_MAX];
    p->r->ngroups = a->nregs / 2;
    p->r->nparts = 2;
    a_prepare_smalls(a, p->r);
    b_prepare_smalls(b, p->r);
    if (halves_add(SMALLS, 2, p, left))
        products_vec_fused_make(p, a, b, left);
    return true;
}

#endif

#if defined(__AVX512VNNI__)

UNITS_ADD(bytes_add, BYTES, 1, IR_S32)
UNITS_ADD(a_unsigned_add, A_UNSIGNED, 1, IR_S32)
UNITS_ADD(b_unsigned_add, B_UNSIGNED, 1, IR_S32)

/* False: not such a pair of types. */
static bool products_vec_bytes_make(struct pass *p, const struct some *a, const struct some *b)
{
    if (ir_type_bits(a->type) != 8 || (a->type == IR_U8 && b->type == IR_U8))
        return false;
    p->r->ngroups = a->nregs / 2;
    p->r->nparts = 1;
    b_prepare_bytes(b, p->r);
    if (a->type == b->type) {
        products_vec_excess_find(p->r, b->n);
        bytes_add(p, NULL);
        return true;
    }
    if (a->type == IR_U8)
        a_unsigned_add(p, NULL);
    else
        b_unsigned_add(p, NULL);
    return true;
}

#else

static bool products_vec_bytes_make(struct pass *p, const struct some *a, const struct some *b)
{
    (void)p, (void)a, (void)b;
    return false;
}

#endif

UNITS_ADD(integers_add_4, INTEGERS, 4, IR_S32)
UNITS_ADD(integers_add_8, INTEGERS, 8, IR_S32)

static void products_vec_integers_make(struct pass *p, const struct some *a, const struct some *b)
{
    const struct element e = element_of(a->type);
    p->r->ngroups = a->nregs / 2;
    p->r->nparts = parts_of(&e, INTEGERS);
    a_prepare_integers(a, p->r);
    b_prepare_integers(b, p->r);
    (p->r->nparts == 8 ? integers_add_8 : integers_add_4)(p, NULL);
}

static void products_vec_floats_make(struct pass *p, const struct some *a, const struct some *b)
{
#if defined(__AVX512BF16__)
    if (products_vec_dots_make(p, a, b))
        return;
#endif
    products_vec_fused_make(p, a, b, NULL);
}

void JIT_PRODUCTS(const struct jit_products_task *t)
{
    struct ready ready;
    struct pass p = {.t = t, .r = &ready};
    const struct some a = {t->mma->a, t->list->na, t->list->a_registers, t->area->a};
    const struct some b = {t->mma->b, t->list->nb, t->list->b_registers, t->area->b};
    if (ir_type_is_float(a.type))
        products_vec_floats_make(&p, &a, &b);
    else if (!products_vec_bytes_make(&p, &a, &b))
        products_vec_integers_make(&p, &a, &b);
}
