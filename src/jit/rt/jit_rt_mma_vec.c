/* Matrix products of registers with vectors, compiled for each level: see jit_rt_mma_vec.h. */
#include "jit/rt/jit_rt_mma_vec.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"

enum { K_MAX = 64, COLUMN_TILES_MAX = 4 };

/* b of a column tile: by register and element, the register's lanes, 4 * column + t. */
typedef float columns[K_MAX / 4][LANES] __attribute__((aligned(64)));

INLINE void b_widen(const struct element *e, const lanes *regs, unsigned groups,
                    float (*out)[LANES])
{
    for (unsigned i = 0; i < groups; i++, out += 32 / e->box) {
        for (unsigned lane = 0; lane < LANES; lane += WIDTH)
            widen_store(e, TO_WORDS(V(loadu_ps)(regs[i] + lane)), out[0] + lane, LANES);
    }
}

/* Each word of a has elements of several k, which follow each other. */
INLINE void word_add(const struct element *e, words x, const float *b, floats sum[COLUMNS])
{
    floats a[PER_WORD_MAX] = {V(setzero_ps)()};
    widen(e, x, a);
#define ADD(j)                                                                                     \
    if ((j) < 32 / e->box)                                                                         \
        sums_add(a[j], b + (j) * LANES, 4, sum);
    EACH_8(ADD)
#undef ADD
}

/* A group: a register of a for each eight rows, and one of b. */
INLINE void groups_add(const struct element *e, const lanes *a, unsigned a_step, unsigned groups,
                       unsigned row, const float (*b)[LANES], floats sum[COLUMNS])
{
    /* Reading single numbers from memory costs nothing; compilers that see the array shuffle. */
    __asm__("" : "+r"(b));
    for (unsigned i = 0; i < groups; i++, a += a_step, b += 32 / e->box) {
        floats x[4];
        rows_load(a, 1, row, x);
#define ADD(t) word_add(e, TO_WORDS(x[t]), b[0] + (t), sum);
        EACH_4(ADD)
#undef ADD
    }
}

/* Out of line: there is much code of each type. */
#define CASE_B(type)                                                                               \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        b_widen(&e, regs, groups, out);                                                            \
        return;                                                                                    \
    }
#define CASE_ADD(type)                                                                             \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        groups_add(&e, a, a_step, groups, row, b, sum);                                            \
        break;                                                                                     \
    }

static HD_NOINLINE void b_widen_any(enum ir_type type, const lanes *regs, unsigned groups,
                                    float (*out)[LANES])
{
    switch (type) {
        ELEMENT_TYPES(CASE_B)
    default:
        assert(!"a type that is multiplied with vectors");
    }
}

static HD_NOINLINE void groups_add_any(enum ir_type type, const lanes *a, unsigned a_step,
                                       unsigned groups, unsigned row, const float (*b)[LANES],
                                       floats sum[COLUMNS])
{
    switch (type) {
        ELEMENT_TYPES(CASE_ADD)
    default:
        assert(!"a type that is multiplied with vectors");
    }
}

static void tile_multiply(const struct tile *t, enum ir_type type, unsigned rows, unsigned groups,
                          const lanes *a, const float (*b)[LANES])
{
    for (unsigned row = 0; row < rows; row += WIDTH) {
        floats sum[COLUMNS];
        sums_load(t, row, sum);
        groups_add_any(type, a, rows / 8, groups, row, b, sum);
        sums_store(t, row, sum);
    }
}

void LEVEL(jit_mma_multiply)(const struct ir_mma *mma, const void *src, void *dst)
{
    const unsigned groups = mma->k * element_of(mma->a).box / (4 * 32);
    const unsigned rows = mma->m < ROWS ? mma->m : ROWS, row_tiles = mma->m / rows;
    const unsigned column_tiles = mma->n / COLUMNS, a_step = groups * (rows / 8);
    const lanes *a = src, *b_regs = a + row_tiles * a_step;
    columns b[COLUMN_TILES_MAX];
    struct tile t = {.c = b_regs + column_tiles * groups,
                     .d = dst,
                     .c_type = mma->c,
                     .d_type = mma->d,
                     .clamps = (mma->flags >> IR_MMA_SAT & 1) != 0};
    assert(rows % WIDTH == 0 && mma->k <= K_MAX && column_tiles <= COLUMN_TILES_MAX);
    for (unsigned i = 0; i < column_tiles; i++)
        b_widen_any(mma->b, b_regs + i * groups, groups, b[i]);
    for (unsigned i = 0; i < row_tiles * column_tiles; i++) {
        tile_multiply(&t, mma->a, rows, groups, a + i / column_tiles * a_step,
                      (const float(*)[LANES])b[i % column_tiles]);
        t.c += sum_registers(mma->c, rows);
        t.d += sum_registers(mma->d, rows);
    }
}

/* ---- as a GPU's tensor cores add (jit_rt_tcore.c): fragments as numbers by k */

#define CASE_A(type)                                                                               \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        a_widen(&e, regs, ROWS, k, out);                                                           \
        return;                                                                                    \
    }

static void core_a_read(enum ir_type type, const void *from, unsigned k, float (*out)[ROWS])
{
    const lanes *regs = from;
    switch (type) {
        ELEMENT_TYPES(CASE_A)
    default:
        assert(!"a type that is multiplied with vectors");
    }
}

/* The words of a register by t, then the even columns, then the odd ones. */
INLINE void words_by_t(const float *reg, floats out[LANES / WIDTH])
{
#if defined(__AVX512F__)
    const words first = _mm512_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29);
    const words second = V(add_epi32)(first, all(2));
    floats x = V(loadu_ps)(reg), y = V(loadu_ps)(reg + WIDTH);
    out[0] = _mm512_permutex2var_ps(x, first, y);
    out[1] = _mm512_permutex2var_ps(x, second, y);
#else
    for (unsigned i = 0; i < LANES / WIDTH; i++)
        out[i] = V(loadu_ps)(reg + i * WIDTH);
    transpose(out);
#endif
}

INLINE void b_columns(const struct element *e, const lanes *regs, unsigned k, float (*out)[COLUMNS])
{
    const unsigned per = 32 / e->box, ts = WIDTH / COLUMNS;
    for (unsigned first = 0; first < k; first += 4 * per, regs++) {
        floats x[LANES / WIDTH], y[PER_WORD_MAX] = {V(setzero_ps)()};
        words_by_t(regs[0], x);
        for (unsigned i = 0; i < LANES / WIDTH; i++) {
            float(*to)[COLUMNS] = out + first + i * ts * per;
            widen(e, TO_WORDS(x[i]), y);
#if defined(__AVX512F__)
#define STORE(j)                                                                                   \
    if ((j) < 32 / e->box) {                                                                       \
        _mm256_storeu_ps(to[j], _mm512_castps512_ps256(y[j]));                                     \
        _mm256_storeu_ps(to[(j) + 32 / e->box], _mm512_extractf32x8_ps(y[j], 1));                  \
    }
#else
#define STORE(j)                                                                                   \
    if ((j) < 32 / e->box)                                                                         \
        _mm256_storeu_ps(to[j], y[j]);
#endif
            EACH_8(STORE)
#undef STORE
        }
    }
}

#define CASE_COLUMNS(type)                                                                         \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        b_columns(&e, regs, k, out);                                                               \
        return;                                                                                    \
    }

static void core_b_read(enum ir_type type, const void *from, unsigned k, float (*out)[COLUMNS])
{
    const lanes *regs = from;
    switch (type) {
        ELEMENT_TYPES(CASE_COLUMNS)
    default:
        assert(!"a type that is multiplied with vectors");
    }
}

/* Even columns, then odd ones, as b has them. */
#define BY_PARITY(i) ((i) / 2 + (i) % 2 * 4)

static void core_sums_read(enum ir_type type, const void *from, float (*out)[ROWS])
{
    const struct tile t = {.c = from, .c_type = type};
    for (unsigned row = 0; row < ROWS; row += WIDTH) {
        floats sum[COLUMNS];
        sums_load(&t, row, sum);
#define STORE(i) V(storeu_ps)(out[BY_PARITY(i)] + row, sum[i]);
        EACH_8(STORE)
#undef STORE
    }
}

static void core_sums_write(enum ir_type type, const float (*from)[ROWS], void *to)
{
    const struct tile t = {.d = to, .d_type = type};
    for (unsigned row = 0; row < ROWS; row += WIDTH) {
        floats sum[COLUMNS];
#define LOAD(i) sum[i] = V(loadu_ps)(from[BY_PARITY(i)] + row);
        EACH_8(LOAD)
#undef LOAD
        sums_store(&t, row, sum);
    }
}

const struct jit_core_level LEVEL(jit_core_level) = {
    .a = core_a_read, .b = core_b_read, .sums = core_sums_read, .put = core_sums_write};
