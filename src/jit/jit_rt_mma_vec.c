/* Matrix products of registers with vectors, compiled for each level: see jit_rt_mma_vec.h. */
#include "jit/jit_rt_mma_vec.h"

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

/* Types that no hot product has. Out of line: there is much code of each. */
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

INLINE void tile_multiply(const struct tile *t, enum ir_type type, const struct element *hot,
                          unsigned rows, unsigned groups, const lanes *a, const float (*b)[LANES])
{
    for (unsigned row = 0; row < rows; row += WIDTH) {
        floats sum[COLUMNS];
        sums_load(t, row, sum);
        if (hot)
            groups_add(hot, a, rows / 8, groups, row, b, sum);
        else
            groups_add_any(type, a, rows / 8, groups, row, b, sum);
        sums_store(t, row, sum);
    }
}

/* `hot`: of both factors; NULL: any type. */
INLINE void multiply(const struct ir_mma *mma, const struct element *hot, const void *src,
                     void *dst)
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
    for (unsigned i = 0; i < column_tiles; i++) {
        if (hot)
            b_widen(hot, b_regs + i * groups, groups, b[i]);
        else
            b_widen_any(mma->b, b_regs + i * groups, groups, b[i]);
    }
    for (unsigned i = 0; i < row_tiles * column_tiles; i++) {
        tile_multiply(&t, mma->a, hot, rows, groups, a + i / column_tiles * a_step,
                      (const float(*)[LANES])b[i % column_tiles]);
        t.c += sum_registers(mma->c, rows);
        t.d += sum_registers(mma->d, rows);
    }
}

/* Products that programs are made of, b as a, have code of their own: m, n, k, d, a, b, c. */
#define HOT_LIST(X)                                                                                \
    X(16, 8, 16, F32, F16, F16, F32)                                                               \
    X(16, 8, 16, F16, F16, F16, F16)                                                               \
    X(16, 8, 16, F32, BF16, BF16, F32)                                                             \
    X(16, 8, 8, F32, F16, F16, F32)                                                                \
    X(16, 8, 8, F32, TF32, TF32, F32)                                                              \
    X(16, 8, 32, S32, S8, S8, S32)                                                                 \
    X(16, 8, 32, F32, E4M3, E4M3, F32)                                                             \
    X(16, 16, 16, F32, F16, F16, F32)

#define IF_HOT(m_, n_, k_, d_, a_, b_, c_)                                                         \
    static const struct ir_mma hot_##m_##n_##k_##d_##a_ = {                                        \
        .m = m_, .n = n_, .k = k_, .a = IR_##a_, .b = IR_##b_, .c = IR_##c_, .d = IR_##d_};        \
    if (!memcmp(mma, &hot_##m_##n_##k_##d_##a_, sizeof(*mma))) {                                   \
        const struct element e = element_of(IR_##a_);                                              \
        multiply(&hot_##m_##n_##k_##d_##a_, &e, src, dst);                                         \
        return;                                                                                    \
    }

void LEVEL(jit_mma_multiply)(const struct ir_mma *mma, const void *src, void *dst)
{
    HOT_LIST(IF_HOT)
    multiply(mma, NULL, src, dst);
}
