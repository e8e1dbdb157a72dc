/* Matrix products of registers with vectors, compiled for each level: see jit_rt_mma_vec.h. */
#include "jit/rt/jit_rt_core_vec.h"

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

/* ---- as a GPU's tensor cores add */

#define CASE_A(type)                                                                               \
    case IR_##type: {                                                                              \
        const struct element e = element_of(IR_##type);                                            \
        a_widen(&e, regs, rows, k, out);                                                           \
        return;                                                                                    \
    }

static HD_NOINLINE void a_widen_any(enum ir_type type, const lanes *regs, unsigned rows, unsigned k,
                                    float (*out)[ROWS])
{
    switch (type) {
        ELEMENT_TYPES(CASE_A)
    default:
        assert(!"a type that is multiplied with vectors");
    }
}

bool LEVEL(jit_core_multiply)(const struct ir_core_rule *rule, const struct ir_mma *mma,
                              const void *src, void *dst)
{
    const unsigned per = 32 / element_of(mma->a).box, groups = mma->k / (4 * per);
    const unsigned rows = mma->m < ROWS ? mma->m : ROWS, row_tiles = mma->m / rows;
    const unsigned column_tiles = mma->n / COLUMNS, a_step = groups * (rows / 8);
    const lanes *a = src, *b_regs = a + row_tiles * a_step;
    const int a_least = ir_core_least(mma->a), b_least = ir_core_least(mma->b);
    const struct core c = {*rule, mma->c, mma->d, mma->k, per};
    struct core_panels p; /* what is used is written first */
    struct tile t = {
        .c = b_regs + column_tiles * groups, .d = dst, .c_type = mma->c, .d_type = mma->d};
    assert(rows % WIDTH == 0 && mma->k <= CORE_K_MAX);
    for (unsigned i = 0; i < row_tiles; i++, a += a_step) {
        a_widen_any(mma->a, a, rows, mma->k, p.a);
        if (!core_align(p.a[0], mma->k * ROWS, a_least, p.a_exponent[0]))
            return false;
        for (unsigned j = 0; j < column_tiles; j++) {
            b_widen_any(mma->b, b_regs + j * groups, groups, (float(*)[LANES])p.b);
            if (!core_align(p.b, mma->k * COLUMNS, b_least, p.b_exponent))
                return false;
            for (unsigned row = 0; row < rows; row += WIDTH) {
                floats sum[COLUMNS];
                sums_load(&t, row, sum);
                if (!core_sums(&c, &p, row, sum))
                    return false;
                sums_store(&t, row, sum);
            }
            t.c += sum_registers(mma->c, rows);
            t.d += sum_registers(mma->d, rows);
        }
    }
    return true;
}
