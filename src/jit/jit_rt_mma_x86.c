/*
 * Matrix products of 16 rows and more with vectors, the same bits as ir_eval_mma()'s: sums run in
 * the order of k, vectors go along the 32 lanes of accumulator registers.
 *
 * Lane 4 * g + t of an accumulator has row g and columns 2 * t, 2 * t + 1. So the factor from a is
 * one lane's of each four, which is a shuffle inside of 128 bits, and the factor from b is four
 * columns that are the same for all g. Integers of 8 bits and less are multiplied as f32, where
 * their sums are exact: 64 products of two 8-bit numbers have 22 bits.
 */
#include "jit/jit_rt_mma.h"

#include <assert.h>
#include <string.h>

#include "ir/matrix.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    LANES = 32,
    A_REGISTERS = 8,
    PER_REGISTER = 8, /* elements, at most */
    K_MAX = 64,
    N_TILES = 2,
    SUMS = 4, /* f32 registers of a tile of 16 x 8 */
    MXCSR_DEFAULT = 0x1f80,
    MXCSR_MODES = 0xe040 /* flush, rounding, denormals are zeros */
};

typedef float lanes_f32[LANES] __attribute__((aligned(64)));

struct factors {
    unsigned e; /* elements of a register */
    unsigned k, row_tiles, column_tiles;
    lanes_f32 a[A_REGISTERS][PER_REGISTER];
    /* By column tile and k: columns 0 2 4 6, then 1 3 5 7. */
    float b[N_TILES][K_MAX][2][4] __attribute__((aligned(64)));
};

typedef uint32_t word_lanes[LANES];

/* ---- elements to f32; loops that compilers make vectors of */

#define INLINE static inline __attribute__((always_inline))

/* Where an element lies in a register, and its format: of floats magnitude and scale. */
struct element {
    unsigned box, shift, bits;
    unsigned frac_bits, bias;
    uint32_t infinity, nan; /* magnitudes from which on; UINT32_MAX: it has none */
    enum { FLOAT, UPPER_HALF, TF32, SIGNED, UNSIGNED } kind;
};

INLINE struct element element_of(enum ir_type type, bool bytes)
{
    struct element e = {
        .box = 8, .bits = 8, .kind = FLOAT, .infinity = UINT32_MAX, .nan = UINT32_MAX};
    switch (type) {
    case IR_F16:
        return (struct element){16, 0, 16, 10, 15, 0x7c00, UINT32_MAX, FLOAT};
    case IR_BF16:
        return (struct element){.box = 16, .bits = 16, .kind = UPPER_HALF};
    case IR_TF32:
        return (struct element){.box = 32, .bits = 32, .kind = TF32};
    case IR_E5M2:
        return (struct element){8, 0, 8, 2, 15, 0x7c, UINT32_MAX, FLOAT};
    case IR_E4M3:
        return (struct element){8, 0, 8, 3, 7, UINT32_MAX, 0x7f, FLOAT};
    case IR_E3M2:
        return (struct element){8, 0, 6, 2, 3, UINT32_MAX, UINT32_MAX, FLOAT};
    case IR_E2M3:
        return (struct element){8, 0, 6, 3, 1, UINT32_MAX, UINT32_MAX, FLOAT};
    case IR_E2M1:
        return (struct element){bytes ? 8 : 4, bytes ? 2 : 0, 4,    1, 1,
                                UINT32_MAX,    UINT32_MAX,    FLOAT};
    default:
        e.box = e.bits = ir_type_bits(type);
        e.kind = ir_type_is_signed(type) ? SIGNED : UNSIGNED;
        return e;
    }
}

INLINE float as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

INLINE uint32_t as_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

INLINE void small_floats(const struct element *e, const uint32_t *restrict words, unsigned at,
                         float *restrict out)
{
    uint32_t magnitude_mask = (1u << (e->bits - 1)) - 1, sign_bit = 1u << (e->bits - 1);
    uint32_t infinity = e->infinity, nan = e->nan;
    unsigned up = 23 - e->frac_bits, sign_up = 32 - e->bits;
    float scale = as_float((254 - e->bias) << 23); /* makes denormals right, too */
    for (unsigned i = 0; i < LANES; i++) {
        uint32_t x = words[i] >> at, magnitude = x & magnitude_mask;
        uint32_t bits = as_bits(as_float(magnitude << up) * scale);
        bits |= magnitude >= infinity ? 0x7f800000u : 0;
        bits |= magnitude >= nan ? 0x7fffffffu : 0;
        out[i] = as_float(bits | (x & sign_bit) << sign_up);
    }
}

INLINE void integers(const struct element *e, const uint32_t *restrict words, unsigned at,
                     float *restrict out)
{
    unsigned unused = 32 - e->bits, left = unused - at;
    if (e->kind == SIGNED) {
        for (unsigned i = 0; i < LANES; i++)
            out[i] = (float)((int32_t)(words[i] << left) >> unused);
    } else {
        for (unsigned i = 0; i < LANES; i++)
            out[i] = (float)(int32_t)(words[i] << left >> unused);
    }
}

INLINE void upper_halves(const uint32_t *restrict words, unsigned at, float *restrict out)
{
    for (unsigned i = 0; i < LANES; i++)
        out[i] = as_float(words[i] >> at << 16);
}

INLINE void tf32s(const uint32_t *restrict words, float *restrict out)
{
    for (unsigned i = 0; i < LANES; i++)
        out[i] = as_float(words[i] & ~0x1fffu);
}

/* Element `j` of the lanes of a register. */
INLINE void widen(const struct element *e, const uint32_t *restrict words, unsigned j,
                  float *restrict out)
{
    unsigned at = j * e->box + e->shift;
    if (e->kind == FLOAT)
        small_floats(e, words, at, out);
    else if (e->kind == UPPER_HALF)
        upper_halves(words, at, out);
    else if (e->kind == TF32)
        tf32s(words, out);
    else
        integers(e, words, at, out);
}

/* ---- factors in the order in which they are used */

/* Lanes 4 * n + t of b's register are column n: of each t, the even columns or the odd ones. */
INLINE void b_transpose(const float *lanes, unsigned step, unsigned odd, float (*out)[2][4])
{
    __m128 x0 = _mm_load_ps(lanes + 4 * odd), x1 = _mm_load_ps(lanes + 8 + 4 * odd);
    __m128 x2 = _mm_load_ps(lanes + 16 + 4 * odd), x3 = _mm_load_ps(lanes + 24 + 4 * odd);
    _MM_TRANSPOSE4_PS(x0, x1, x2, x3);
    _mm_store_ps(out[0][odd], x0);
    _mm_store_ps(out[step][odd], x1);
    _mm_store_ps(out[2 * step][odd], x2);
    _mm_store_ps(out[3 * step][odd], x3);
}

/* ir_mma_registers() of what is done here, where the compiler sees it. */
INLINE unsigned registers(unsigned lines, unsigned k, unsigned box)
{
    return lines * k * box / (32 * LANES);
}

INLINE void factors_make(const struct ir_mma *mma, const word_lanes *src, struct factors *f)
{
    bool bytes = (mma->flags >> IR_MMA_BYTES & 1) != 0;
    struct element ea = element_of(mma->a, bytes), eb = element_of(mma->b, bytes);
    unsigned na = registers(mma->m, mma->k, ea.box), nb = registers(mma->n, mma->k, eb.box);
    f->e = 32 / ea.box;
    f->k = mma->k;
    f->row_tiles = mma->m / 16u;
    f->column_tiles = mma->n / 8u;
    assert(na <= A_REGISTERS && f->e <= PER_REGISTER && f->k <= K_MAX);
    for (unsigned r = 0; r < na; r++) {
        for (unsigned j = 0; j < f->e; j++)
            widen(&ea, src[r], j, f->a[r][j]);
    }
    unsigned per_tile = nb / f->column_tiles;
    for (unsigned r = 0; r < nb; r++) {
        for (unsigned j = 0; j < f->e; j++) {
            lanes_f32 x;
            widen(&eb, src[na + r], j, x);
            float(*to)[2][4] = &f->b[r / per_tile][r % per_tile * 4 * f->e + j];
            b_transpose(x, f->e, 0, to);
            b_transpose(x, f->e, 1, to);
        }
    }
}

/* ---- sums of a tile of 16 x 8: registers of (row g, even), (row g, odd), (row g + 8, ..) .. */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define AVX2   __attribute__((target("avx2,fma")))

/*
 * The sums stay in registers, so nothing here is indexed by a variable: SUMS_LIST(X) for a sum of
 * `low` (row g) or `high`, with the even or the odd columns, of part h of the lanes.
 */
#define SUMS_LIST(X)                                                                               \
    X(0, low0, even, 0)                                                                            \
    X(1, low0, odd, 0)                                                                             \
    X(2, high0, even, 0)                                                                           \
    X(3, high0, odd, 0)                                                                            \
    X(0, low1, even, 1)                                                                            \
    X(1, low1, odd, 1)                                                                             \
    X(2, high1, even, 1)                                                                           \
    X(3, high1, odd, 1)

#define SUM_LOAD_512(i, a, b, h)  __m512 sum##i##h = _mm512_load_ps(out[i] + 16 * (h));
#define SUM_ADD_512(i, a, b, h)   sum##i##h = _mm512_fmadd_ps(a, b, sum##i##h);
#define SUM_STORE_512(i, a, b, h) _mm512_store_ps(out[i] + 16 * (h), sum##i##h);
#define LANE_512(p, t)            _mm512_permute_ps(_mm512_load_ps(p), (t) * 0x55)

/* One k for each element j: lane `t` of each four has a's. */
#define STEP_512(t)                                                                                \
    for (unsigned j = 0; j < e; j++) {                                                             \
        const float(*b)[4] = f->b[tile][at + (t) * e + j];                                         \
        __m512 even = _mm512_broadcast_f32x4(_mm_load_ps(b[0]));                                   \
        __m512 odd = _mm512_broadcast_f32x4(_mm_load_ps(b[1]));                                    \
        __m512 low0 = LANE_512(low_a[j], t), low1 = LANE_512(low_a[j] + 16, t);                    \
        __m512 high0 = LANE_512(high_a[j], t), high1 = LANE_512(high_a[j] + 16, t);                \
        SUMS_LIST(SUM_ADD_512)                                                                     \
    }

AVX512 INLINE void tile_avx512(const struct factors *f, unsigned first, unsigned tile,
                               lanes_f32 *out)
{
    const unsigned e = f->e;
    SUMS_LIST(SUM_LOAD_512)
    for (unsigned at = 0, r = first; at < f->k; at += 4 * e, r += 2) {
        const lanes_f32 *low_a = f->a[r], *high_a = f->a[r + 1];
        STEP_512(0)
        STEP_512(1)
        STEP_512(2)
        STEP_512(3)
    }
    SUMS_LIST(SUM_STORE_512)
}

#define SUM_LOAD_256(i, a, b, h)  __m256 sum##i##h = _mm256_load_ps(out[i] + half + 8 * (h));
#define SUM_ADD_256(i, a, b, h)   sum##i##h = _mm256_fmadd_ps(a, b, sum##i##h);
#define SUM_STORE_256(i, a, b, h) _mm256_store_ps(out[i] + half + 8 * (h), sum##i##h);
#define LANE_256(p, t)            _mm256_permute_ps(_mm256_load_ps(p), (t) * 0x55)

#define STEP_256(t)                                                                                \
    for (unsigned j = 0; j < e; j++) {                                                             \
        const float(*b)[4] = f->b[tile][at + (t) * e + j];                                         \
        __m256 even = _mm256_broadcast_ps((const __m128 *)(const void *)b[0]);                     \
        __m256 odd = _mm256_broadcast_ps((const __m128 *)(const void *)b[1]);                      \
        __m256 low0 = LANE_256(low_a[j] + half, t), low1 = LANE_256(low_a[j] + half + 8, t);       \
        __m256 high0 = LANE_256(high_a[j] + half, t), high1 = LANE_256(high_a[j] + half + 8, t);   \
        SUMS_LIST(SUM_ADD_256)                                                                     \
    }

/* Sixteen lanes at a time: eight sums fit the registers. */
AVX2 INLINE void half_avx2(const struct factors *f, unsigned first, unsigned tile, unsigned half,
                           lanes_f32 *out)
{
    const unsigned e = f->e;
    SUMS_LIST(SUM_LOAD_256)
    for (unsigned at = 0, r = first; at < f->k; at += 4 * e, r += 2) {
        const lanes_f32 *low_a = f->a[r], *high_a = f->a[r + 1];
        STEP_256(0)
        STEP_256(1)
        STEP_256(2)
        STEP_256(3)
    }
    SUMS_LIST(SUM_STORE_256)
}

AVX2 INLINE void tile_avx2(const struct factors *f, unsigned first, unsigned tile, lanes_f32 *out)
{
    half_avx2(f, first, tile, 0, out);
    half_avx2(f, first, tile, 16, out);
}

/* ---- accumulators */

INLINE void sums_read(const struct ir_mma *mma, const word_lanes *c, lanes_f32 *out)
{
    struct element half = element_of(IR_F16, false);
    for (unsigned i = 0; i < SUMS; i++) {
        if (mma->c == IR_F16)
            widen(&half, c[i / 2], i % 2, out[i]);
        else if (mma->c == IR_F32)
            memcpy(out[i], c[i], sizeof(out[i]));
        else
            memset(out[i], 0, sizeof(out[i])); /* integers: c is added to the sum of products */
    }
}

INLINE uint32_t canonical(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : bits;
}

/* f32 to f16 as bits, to nearest even, in integers. */
INLINE uint32_t half_bits(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    /* Below the smallest normal f16, adding 0.5 rounds where the last bit of f16 is. */
    uint32_t small = as_bits(as_float(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13;
    uint32_t out = magnitude < 0x38800000u ? small : normal;
    out = magnitude >= 0x477ff000u ? 0x7c00 : out;
    return magnitude > 0x7f800000u ? 0x7fff : sign | out;
}

/* One register of each kind of results. */
INLINE void halves_write(const float *restrict low, const float *restrict high,
                         uint32_t *restrict d)
{
    for (unsigned i = 0; i < LANES; i++)
        d[i] = half_bits(as_bits(low[i])) | half_bits(as_bits(high[i])) << 16;
}

INLINE void singles_write(const float *restrict sum, uint32_t *restrict d)
{
    for (unsigned i = 0; i < LANES; i++)
        d[i] = canonical(as_bits(sum[i]));
}

INLINE void integers_write(const float *restrict products, const uint32_t *restrict c,
                           uint32_t *restrict d)
{
    for (unsigned i = 0; i < LANES; i++)
        d[i] = (uint32_t)(int32_t)products[i] + c[i];
}

/* The sum of two numbers whose sum has neither's sign left the range. */
INLINE void clamped_write(const float *restrict products, const uint32_t *restrict c,
                          uint32_t *restrict d)
{
    for (unsigned i = 0; i < LANES; i++) {
        uint32_t a = (uint32_t)(int32_t)products[i], sum = a + c[i];
        uint32_t limit = c[i] >> 31 ? 0x80000000u : 0x7fffffffu;
        d[i] = ((a ^ sum) & (c[i] ^ sum)) >> 31 ? limit : sum;
    }
}

INLINE void sums_write(const struct ir_mma *mma, const word_lanes *c, const lanes_f32 *sums,
                       word_lanes *d)
{
    bool clamps = (mma->flags >> IR_MMA_SAT & 1) != 0;
    for (unsigned r = 0; r < SUMS; r++) {
        if (mma->d == IR_F32)
            singles_write(sums[r], d[r]);
        else if (mma->d == IR_S32 && clamps)
            clamped_write(sums[r], c[r], d[r]);
        else if (mma->d == IR_S32)
            integers_write(sums[r], c[r], d[r]);
        else if (r % 2)
            halves_write(sums[r - 1], sums[r], d[r / 2]);
    }
}

/* ---- the whole, for each level */

typedef void tile_fn(const struct factors *f, unsigned first, unsigned tile, lanes_f32 *out);

INLINE void multiply(const struct ir_mma *mma, const word_lanes *src, word_lanes *dst,
                     tile_fn *tile)
{
    struct factors f;
    lanes_f32 sums[SUMS];
    unsigned c_regs = mma->c == IR_F16 ? SUMS / 2 : SUMS;
    unsigned d_regs = mma->d == IR_F16 ? SUMS / 2 : SUMS;
    factors_make(mma, src, &f);
    unsigned na = registers(mma->m, mma->k, 32 / f.e), nb = registers(mma->n, mma->k, 32 / f.e);
    const word_lanes *c = src + na + nb;
    for (unsigned row = 0; row < f.row_tiles; row++) {
        for (unsigned col = 0; col < f.column_tiles; col++, c += c_regs, dst += d_regs) {
            sums_read(mma, c, sums);
            tile(&f, na / f.row_tiles * row, col, sums);
            sums_write(mma, c, sums, dst);
        }
    }
}

/* Products that programs are made of have code of their own: m, n, k, d, a, b, c. */
#define HOT_LIST(X)                                                                                \
    X(16, 8, 16, F32, F16, F16, F32)                                                               \
    X(16, 8, 16, F16, F16, F16, F16)                                                               \
    X(16, 8, 16, F32, BF16, BF16, F32)                                                             \
    X(16, 8, 8, F32, TF32, TF32, F32)                                                              \
    X(16, 8, 32, S32, S8, S8, S32)                                                                 \
    X(16, 8, 32, F32, E4M3, E4M3, F32)                                                             \
    X(16, 16, 16, F32, F16, F16, F32)

#define IF_HOT(m_, n_, k_, d_, a_, b_, c_)                                                         \
    static const struct ir_mma hot_##m_##n_##k_##d_##a_ = {                                        \
        .m = m_, .n = n_, .k = k_, .a = IR_##a_, .b = IR_##b_, .c = IR_##c_, .d = IR_##d_};        \
    if (!memcmp(mma, &hot_##m_##n_##k_##d_##a_, sizeof(*mma))) {                                   \
        multiply(&hot_##m_##n_##k_##d_##a_, src, dst, tile);                                       \
        return;                                                                                    \
    }

INLINE void multiply_any(const struct ir_mma *mma, const word_lanes *src, word_lanes *dst,
                         tile_fn *tile)
{
    HOT_LIST(IF_HOT)
    multiply(mma, src, dst, tile);
}

AVX512 static void multiply_avx512(const struct ir_mma *mma, const word_lanes *src, word_lanes *dst)
{
    multiply_any(mma, src, dst, tile_avx512);
}

AVX2 static void multiply_avx2(const struct ir_mma *mma, const word_lanes *src, word_lanes *dst)
{
    multiply_any(mma, src, dst, tile_avx2);
}

static bool is_here(const struct ir_mma *mma, enum jit_path path)
{
    bool plain = !(mma->flags >> IR_MMA_SPARSE & 1) && !(mma->flags >> IR_MMA_QUADS & 1);
    return path != JIT_GENERIC && plain && !mma->scales && mma->m >= 16 && mma->k <= K_MAX &&
           mma->n <= 8 * N_TILES && mma->a != IR_F64 && mma->a != IR_B1;
}

bool jit_mma_vectors(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst)
{
    unsigned mode = _mm_getcsr();
    if (!is_here(mma, path))
        return false;
    if (mode & MXCSR_MODES)
        _mm_setcsr(MXCSR_DEFAULT);
    if (path == JIT_AVX512)
        multiply_avx512(mma, src, dst);
    else
        multiply_avx2(mma, src, dst);
    if (mode & MXCSR_MODES)
        _mm_setcsr(mode);
    return true;
}

/* ---- products of wgmma: b, and maybe a, is read from shared memory */

enum { WINDOW_N_MAX = 256, ROWS = 16 };

struct window_factors {
    unsigned k, n;
    /* Four rows at a time, each for four lanes. */
    float a[K_MAX][4][16] __attribute__((aligned(64)));
    /* Rows of k; of each eight columns the even ones first. */
    float b[K_MAX * WINDOW_N_MAX] __attribute__((aligned(64)));
};

typedef void window_tile_fn(const struct window_factors *f, unsigned tile, lanes_f32 *out);

AVX512 INLINE void window_tile_avx512(const struct window_factors *f, unsigned tile, lanes_f32 *out)
{
    const float *b = f->b + 8 * tile;
    SUMS_LIST(SUM_LOAD_512)
    for (unsigned k = 0; k < f->k; k++, b += f->n) {
        __m512 even = _mm512_broadcast_f32x4(_mm_loadu_ps(b));
        __m512 odd = _mm512_broadcast_f32x4(_mm_loadu_ps(b + 4));
        __m512 low0 = _mm512_load_ps(f->a[k][0]), low1 = _mm512_load_ps(f->a[k][1]);
        __m512 high0 = _mm512_load_ps(f->a[k][2]), high1 = _mm512_load_ps(f->a[k][3]);
        SUMS_LIST(SUM_ADD_512)
    }
    SUMS_LIST(SUM_STORE_512)
}

AVX2 INLINE void window_half_avx2(const struct window_factors *f, unsigned tile, unsigned half,
                                  lanes_f32 *out)
{
    const float *b = f->b + 8 * tile;
    SUMS_LIST(SUM_LOAD_256)
    for (unsigned k = 0; k < f->k; k++, b += f->n) {
        const float(*a)[16] = &f->a[k][half / 16];
        __m256 even = _mm256_broadcast_ps((const __m128 *)(const void *)b);
        __m256 odd = _mm256_broadcast_ps((const __m128 *)(const void *)(b + 4));
        __m256 low0 = _mm256_load_ps(a[0]), low1 = _mm256_load_ps(a[0] + 8);
        __m256 high0 = _mm256_load_ps(a[2]), high1 = _mm256_load_ps(a[2] + 8);
        SUMS_LIST(SUM_ADD_256)
    }
    SUMS_LIST(SUM_STORE_256)
}

AVX2 INLINE void window_tile_avx2(const struct window_factors *f, unsigned tile, lanes_f32 *out)
{
    window_half_avx2(f, tile, 0, out);
    window_half_avx2(f, tile, 16, out);
}

/* Rows of k of the warp's sixteen rows, from registers. */
static void rows_from_registers(const struct ir_mma *mma, const word_lanes *src, float (*out)[ROWS])
{
    struct element e = element_of(mma->a, false);
    unsigned per = 32 / e.box, n = registers(ROWS, mma->k, e.box);
    lanes_f32 x;
    for (unsigned r = 0; r < n; r++) {
        for (unsigned j = 0; j < per; j++) {
            widen(&e, src[r], j, x);
            for (unsigned lane = 0; lane < LANES; lane++)
                out[r / 2 * 4 * per + lane % 4 * per + j][lane / 4 + r % 2 * 8] = x[lane];
        }
    }
}

static bool rows_from_window(const struct ir_mma *mma, const struct ir_matrix_place *at,
                             const void *src, float (*out)[ROWS])
{
    const struct ir_matrix_panel p = {.from = ir_mma_matrix(mma, 'a', at, src),
                                      .window = at->window,
                                      .type = mma->a,
                                      .first = at->warp % 4 * ROWS,
                                      .outer = ROWS,
                                      .inner = mma->k,
                                      .outer_stride = 1,
                                      .k_stride = ROWS,
                                      .out = out[0]};
    return jit_panel_read(&p);
}

static bool window_a_make(const struct ir_mma *mma, const struct ir_matrix_place *at,
                          const void *src, struct window_factors *f)
{
    float rows[K_MAX][ROWS] __attribute__((aligned(64)));
    float sign = mma->flags >> IR_MMA_MINUS & 1 ? -1.0f : 1.0f;
    if (!(mma->flags >> IR_MMA_A_WINDOW & 1))
        rows_from_registers(mma, src, rows);
    else if (!rows_from_window(mma, at, src, rows))
        return false;
    for (unsigned k = 0; k < f->k; k++) {
        for (unsigned row = 0; row < ROWS; row++)
            _mm_store_ps(&f->a[k][row / 4][row % 4 * 4], _mm_set1_ps(sign * rows[k][row]));
    }
    return true;
}

static bool window_b_make(const struct ir_mma *mma, const struct ir_matrix_place *at,
                          const void *src, struct window_factors *f)
{
    const struct ir_matrix_panel p = {.from = ir_mma_matrix(mma, 'b', at, src),
                                      .window = at->window,
                                      .type = mma->b,
                                      .outer = f->n,
                                      .inner = f->k,
                                      .outer_stride = 1,
                                      .k_stride = f->n,
                                      .paired = true,
                                      .out = f->b};
    return jit_panel_read(&p);
}

INLINE void window_sums(const struct ir_mma *mma, const struct window_factors *f,
                        const word_lanes *c, word_lanes *d, window_tile_fn *tile)
{
    unsigned regs = mma->d == IR_F16 ? SUMS / 2 : SUMS;
    lanes_f32 sums[SUMS];
    for (unsigned i = 0; i < f->n / 8; i++, c += regs, d += regs) {
        sums_read(mma, c, sums);
        tile(f, i, sums);
        sums_write(mma, c, sums, d);
    }
}

AVX512 static void window_avx512(const struct ir_mma *mma, const struct window_factors *f,
                                 const word_lanes *c, word_lanes *d)
{
    if (mma->d == IR_F32) {
        static const struct ir_mma singles = {.c = IR_F32, .d = IR_F32};
        window_sums(&singles, f, c, d, window_tile_avx512);
    } else
        window_sums(mma, f, c, d, window_tile_avx512);
}

AVX2 static void window_avx2(const struct ir_mma *mma, const struct window_factors *f,
                             const word_lanes *c, word_lanes *d)
{
    window_sums(mma, f, c, d, window_tile_avx2);
}

static bool window_multiply(const struct ir_mma *mma, enum jit_path path,
                            const struct ir_matrix_place *at, const void *src, void *dst)
{
    struct window_factors f; /* what is used is written first */
    const word_lanes *c = src;
    c += ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b');
    f.k = mma->k;
    f.n = mma->n;
    if (!window_a_make(mma, at, src, &f) || !window_b_make(mma, at, src, &f))
        return false;
    if (path == JIT_AVX512)
        window_avx512(mma, &f, c, dst);
    else
        window_avx2(mma, &f, c, dst);
    return true;
}

bool jit_mma_window(const struct ir_mma *mma, enum jit_path path, const struct ir_matrix_place *at,
                    const void *src, void *dst)
{
    unsigned mode = _mm_getcsr();
    bool done;
    if (path == JIT_GENERIC || mma->flags >> IR_MMA_SPARSE & 1 || mma->a == IR_B1)
        return false;
    if (mode & MXCSR_MODES)
        _mm_setcsr(MXCSR_DEFAULT);
    done = window_multiply(mma, path, at, src, dst);
    if (mode & MXCSR_MODES)
        _mm_setcsr(mode);
    return done;
}

#else

bool jit_mma_vectors(const struct ir_mma *mma, enum jit_path path, const void *src, void *dst)
{
    (void)mma, (void)path, (void)src, (void)dst;
    return false;
}

bool jit_mma_window(const struct ir_mma *mma, enum jit_path path, const struct ir_matrix_place *at,
                    const void *src, void *dst)
{
    (void)mma, (void)path, (void)at, (void)src, (void)dst;
    return false;
}

#endif
