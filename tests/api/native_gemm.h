/*
 * A small library of native kernels: c = a * b for row-major a, column-major b (so both lie along
 * k) and row-major c, of m x k by k x n; m and n are multiples of 64, k of 16, or 32 for bytes.
 * Blocks of c of 64 x 64 are the tiles of launches: grids are (n / 64, m / 64), blocks of 32.
 *
 *     GEMM_BF16   bf16 to f32, m16n8k16
 *     GEMM_S8     bytes to s32, m16n8k32
 *     GEMM_F32    f32, in the order of k, one fused multiply-add each
 *
 * The functions make the products with the helpers that generated code has (jit/jit_products.h),
 * and the PTX in their place has mma: the results are the same, to the bit.
 */
#ifndef HD_TESTS_NATIVE_GEMM_H
#define HD_TESTS_NATIVE_GEMM_H

#include "base/compiler.h"
#include "base/str.h"
#include "heddle/native.h"
#include "jit/rt/jit_rt_products.h"

enum gemm_kind { GEMM_BF16, GEMM_S8, GEMM_F32, GEMM_KINDS };

struct gemm_params {
    const char *a, *b;
    uint32_t *c;
    uint32_t n, k;
};

enum {
    GEMM_BLOCK = 64,
    GEMM_ROWS = 16,
    GEMM_COLS = 8,
    GEMM_LINE_B = 32, /* of a fragment, along k */
    GEMM_A = GEMM_BLOCK / GEMM_ROWS,
    GEMM_B = GEMM_BLOCK / GEMM_COLS,
    GEMM_STEPS = JIT_PRODUCTS_A_MAX / GEMM_A, /* of k, for which there is room at once */
};

/* ---- the functions */

struct gemm_unit {
    uint16_t ntiles, nsteps, tile[2];
    struct jit_products_step step[GEMM_STEPS];
};

/* Everything of one block of c. */
struct gemm_work {
    struct {
        struct jit_products head;
        struct gemm_unit unit[GEMM_A * GEMM_B / 2];
    } list;
    struct jit_products_area area;
    uint32_t a[JIT_PRODUCTS_A_MAX][4][32], b[JIT_PRODUCTS_B_MAX][2][32];
    uint32_t sums[GEMM_A * GEMM_B][4][32];
};

/* Steps fewer than GEMM_STEPS come at the end of k: units are as long as the list says. */
static inline void gemm_list(struct gemm_work *w, uint16_t nsteps)
{
    uint16_t *at = (uint16_t *)(&w->list.head + 1);

    w->list.head = (struct jit_products){.na = (uint16_t)(GEMM_A * nsteps),
                                         .nb = (uint16_t)(GEMM_B * nsteps),
                                         .ntiles = GEMM_A * GEMM_B,
                                         .nunits = GEMM_A * GEMM_B / 2,
                                         .a_registers = 4,
                                         .b_registers = 2,
                                         .sum_registers = 4};
    for (uint16_t r = 0; r < GEMM_A; r++)
        for (uint16_t c = 0; c < GEMM_B; c += 2) {
            *at++ = 2;
            *at++ = nsteps;
            *at++ = (uint16_t)(r * GEMM_B + c);
            *at++ = (uint16_t)(r * GEMM_B + c + 1);
            for (uint16_t s = 0; s < nsteps; s++) {
                *at++ = (uint16_t)(r * nsteps + s);
                *at++ = (uint16_t)(c * nsteps + s);
                *at++ = (uint16_t)((c + 1) * nsteps + s);
            }
        }
}

/* Eight lines of 16 bytes are one register of a fragment. */
static inline void gemm_register(uint32_t reg[32], const char *lines, size_t stride_B)
{
    for (unsigned i = 0; i < 8; i++)
        memcpy((char *)reg + i * 16, lines + i * stride_B, 16);
}

static inline void gemm_steps(struct gemm_work *w, const struct ir_mma *mma, uint32_t how,
                              const char *a, const char *b, size_t stride_B, uint16_t nsteps)
{
    uint64_t words[2];

    gemm_list(w, nsteps);
    for (unsigned s = 0; s < nsteps; s++) {
        for (unsigned r = 0; r < GEMM_A; r++)
            for (unsigned i = 0; i < 4; i++)
                gemm_register(w->a[r * nsteps + s][i],
                              a + (r * GEMM_ROWS + i % 2 * 8) * stride_B + s * GEMM_LINE_B +
                                  i / 2 * 16,
                              stride_B);
        for (unsigned c = 0; c < GEMM_B; c++)
            for (unsigned i = 0; i < 2; i++)
                gemm_register(w->b[c * nsteps + s][i],
                              b + c * GEMM_COLS * stride_B + s * GEMM_LINE_B + i * 16, stride_B);
    }
    memcpy(words, mma, sizeof(words));
    jit_rt_products(words[0], words[1], how, UINT32_MAX, &w->list.head, &w->area);
}

static inline void gemm_block(struct gemm_work *w, const struct gemm_params *p,
                              const struct ir_mma *mma, uint32_t how, uint32_t row, uint32_t col)
{
    size_t stride_B = (size_t)p->k * GEMM_LINE_B / mma->k;
    const char *a = p->a + row * stride_B, *b = p->b + col * stride_B;

    memset(w->sums, 0, sizeof(w->sums));
    for (size_t at = 0; at < stride_B; at += GEMM_STEPS * GEMM_LINE_B)
        gemm_steps(w, mma, how, a + at, b + at, stride_B,
                   (uint16_t)HD_MIN((stride_B - at) / GEMM_LINE_B, (size_t)GEMM_STEPS));
    for (unsigned t = 0; t < GEMM_A * GEMM_B; t++)
        for (unsigned i = 0; i < 4; i++)
            for (unsigned lane = 0; lane < 32; lane++)
                p->c[(size_t)(row + t / GEMM_B * GEMM_ROWS + lane / 4 + i / 2 * 8) * p->n + col +
                     t % GEMM_B * GEMM_COLS + lane % 4 * 2 + i % 2] = w->sums[t][i][lane];
}

static inline int gemm_products(struct heddle_native_call *call, const struct ir_mma *mma)
{
    const struct gemm_params *p = call->params;
    struct gemm_work *w = malloc(sizeof(*w));
    enum jit_path path;

    if (!w)
        return heddle_native_fail(call, 1, "no workspace");
    if (jit_path_get(&path) != HD_OK)
        path = JIT_GENERIC;
    for (unsigned i = 0; i < HD_COUNT_OF(w->a); i++)
        w->area.a[i] = (const uint32_t(*)[32])w->a[i];
    for (unsigned i = 0; i < HD_COUNT_OF(w->b); i++)
        w->area.b[i] = (const uint32_t(*)[32])w->b[i];
    for (unsigned i = 0; i < HD_COUNT_OF(w->sums); i++)
        w->area.tile[i] = w->sums[i];
    for (uint64_t tile = call->first; tile < call->last; tile++)
        gemm_block(w, p, mma, path, (uint32_t)(tile / call->grid[0]) * GEMM_BLOCK,
                   (uint32_t)(tile % call->grid[0]) * GEMM_BLOCK);
    free(w);
    return 0;
}

static inline int gemm_bf16(struct heddle_native_call *call)
{
    static const struct ir_mma mma = {
        .m = 16, .n = 8, .k = 16, .a = IR_BF16, .b = IR_BF16, .c = IR_F32, .d = IR_F32};

    return gemm_products(call, &mma);
}

static inline int gemm_s8(struct heddle_native_call *call)
{
    static const struct ir_mma mma = {
        .m = 16, .n = 8, .k = 32, .a = IR_S8, .b = IR_S8, .c = IR_S32, .d = IR_S32};

    return gemm_products(call, &mma);
}

static inline int gemm_f32(struct heddle_native_call *call)
{
    const struct gemm_params *p = call->params;
    const float *a = (const float *)(const void *)p->a, *b = (const float *)(const void *)p->b;

    for (uint64_t tile = call->first; tile < call->last; tile++)
        for (uint32_t i = 0; i < GEMM_BLOCK * GEMM_BLOCK; i++) {
            size_t row = tile / call->grid[0] * GEMM_BLOCK + i / GEMM_BLOCK;
            size_t col = tile % call->grid[0] * GEMM_BLOCK + i % GEMM_BLOCK;
            float sum = 0;

            for (uint32_t k = 0; k < p->k; k++)
                sum = __builtin_fmaf(a[row * p->k + k], b[col * p->k + k], sum);
            memcpy(&p->c[row * p->n + col], &sum, sizeof(sum));
        }
    return 0;
}

/* ---- the PTX in their place */

/* %d1, %d2: the block's first lines of a and b; %d4: lines' size; %r4: in c. A warp for a block. */
static inline void gemm_ptx_begin(struct hd_buf *out, const char *name, unsigned elem_B)
{
    hd_buf_printf(out,
                  ".version 8.0\n.target sm_80\n.address_size 64\n"
                  ".visible .entry %s(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n, "
                  ".param .u32 k) {\n"
                  ".reg .b32 %%r<40>; .reg .b64 %%d<40>; .reg .f32 %%f<20>; .reg .pred %%p<8>;\n"
                  "ld.param.u64 %%d1, [a]; ld.param.u64 %%d2, [b]; ld.param.u64 %%d3, [c];\n"
                  "ld.param.u32 %%r1, [n]; ld.param.u32 %%r2, [k];\n"
                  "mul.wide.u32 %%d4, %%r2, %u;\n"
                  "mov.u32 %%r3, %%tid.x; mov.u32 %%r5, %%ctaid.x; mov.u32 %%r6, %%ctaid.y;\n"
                  "shl.b32 %%r5, %%r5, 6; shl.b32 %%r6, %%r6, 6;\n"
                  "cvt.u64.u32 %%d5, %%r6; mad.lo.u64 %%d1, %%d5, %%d4, %%d1;\n"
                  "cvt.u64.u32 %%d6, %%r5; mad.lo.u64 %%d2, %%d6, %%d4, %%d2;\n",
                  name, elem_B);
}

/* For each of 32 tiles (%r10), for each step along k (%d20): one mma. */
static inline void gemm_ptx_products(struct hd_buf *out, const char *name, const char *mma,
                                     unsigned elem_B, bool is_float)
{
    const char *t = is_float ? "f" : "r";

    gemm_ptx_begin(out, name, elem_B);
    hd_buf_puts(out, "shr.u32 %r7, %r3, 2; and.b32 %r8, %r3, 3; shl.b32 %r9, %r8, 2;\n"
                     "cvt.u64.u32 %d7, %r9; cvt.u64.u32 %d8, %r7; shl.b64 %d9, %d4, 3;\n"
                     "mov.u32 %r10, 0;\n"
                     "TILE:\n"
                     "shr.u32 %r11, %r10, 3; and.b32 %r12, %r10, 7;\n"
                     "shl.b32 %r11, %r11, 4; shl.b32 %r12, %r12, 3;\n"
                     "cvt.u64.u32 %d10, %r11; add.u64 %d10, %d10, %d8;\n"
                     "mad.lo.u64 %d11, %d10, %d4, %d1; add.u64 %d11, %d11, %d7;\n"
                     "cvt.u64.u32 %d12, %r12; add.u64 %d12, %d12, %d8;\n"
                     "mad.lo.u64 %d13, %d12, %d4, %d2; add.u64 %d13, %d13, %d7;\n");
    for (unsigned i = 0; i < 4; i++)
        hd_buf_printf(out, is_float ? "mov.f32 %%f%u, 0f00000000;\n" : "mov.u32 %%r%u, 0;\n",
                      is_float ? 10 + i : 30 + i);
    hd_buf_puts(out,
                "mov.u64 %d20, 0;\n"
                "STEP:\n"
                "add.u64 %d14, %d11, %d20; add.u64 %d15, %d14, %d9; add.u64 %d16, %d13, %d20;\n"
                "ld.global.b32 %r20, [%d14]; ld.global.b32 %r21, [%d15];\n"
                "ld.global.b32 %r22, [%d14+16]; ld.global.b32 %r23, [%d15+16];\n"
                "ld.global.b32 %r24, [%d16]; ld.global.b32 %r25, [%d16+16];\n");
    unsigned s = is_float ? 10 : 30;
    hd_buf_printf(out,
                  "%s {%%%s%u,%%%s%u,%%%s%u,%%%s%u}, {%%r20,%%r21,%%r22,%%r23}, {%%r24,%%r25}, "
                  "{%%%s%u,%%%s%u,%%%s%u,%%%s%u};\n",
                  mma, t, s, t, s + 1, t, s + 2, t, s + 3, t, s, t, s + 1, t, s + 2, t, s + 3);
    hd_buf_printf(
        out,
        "add.u64 %%d20, %%d20, 32; setp.lt.u64 %%p1, %%d20, %%d4; @%%p1 bra STEP;\n"
        "add.u32 %%r13, %%r6, %%r11; add.u32 %%r13, %%r13, %%r7;\n"
        "add.u32 %%r14, %%r5, %%r12; shl.b32 %%r15, %%r8, 1; add.u32 %%r14, %%r14, %%r15;\n"
        "mad.lo.u32 %%r16, %%r13, %%r1, %%r14; mul.wide.u32 %%d17, %%r16, 4;\n"
        "add.u64 %%d17, %%d17, %%d3; mul.wide.u32 %%d18, %%r1, 32;\n"
        "add.u64 %%d18, %%d18, %%d17;\n"
        "st.global.%s [%%d17], %%%s%u; st.global.%s [%%d17+4], %%%s%u;\n"
        "st.global.%s [%%d18], %%%s%u; st.global.%s [%%d18+4], %%%s%u;\n"
        "add.u32 %%r10, %%r10, 1; setp.lt.u32 %%p2, %%r10, 32; @%%p2 bra TILE;\n"
        "ret; }\n",
        is_float ? "f32" : "u32", t, s, is_float ? "f32" : "u32", t, s + 1,
        is_float ? "f32" : "u32", t, s + 2, is_float ? "f32" : "u32", t, s + 3);
}

/* Each thread has two columns of the block. */
static inline void gemm_ptx_f32(struct hd_buf *out)
{
    gemm_ptx_begin(out, "gemm_f32", 4);
    hd_buf_puts(out, "mov.u32 %r10, %r3;\n"
                     "ELEMENT:\n"
                     "shr.u32 %r11, %r10, 6; and.b32 %r12, %r10, 63;\n"
                     "cvt.u64.u32 %d10, %r11; mad.lo.u64 %d11, %d10, %d4, %d1;\n"
                     "cvt.u64.u32 %d12, %r12; mad.lo.u64 %d13, %d12, %d4, %d2;\n"
                     "mov.f32 %f1, 0f00000000; mov.u64 %d20, 0;\n"
                     "STEP:\n"
                     "add.u64 %d14, %d11, %d20; add.u64 %d15, %d13, %d20;\n"
                     "ld.global.f32 %f2, [%d14]; ld.global.f32 %f3, [%d15];\n"
                     "fma.rn.f32 %f1, %f2, %f3, %f1;\n"
                     "add.u64 %d20, %d20, 4; setp.lt.u64 %p1, %d20, %d4; @%p1 bra STEP;\n"
                     "add.u32 %r13, %r6, %r11; add.u32 %r14, %r5, %r12;\n"
                     "mad.lo.u32 %r16, %r13, %r1, %r14; mul.wide.u32 %d17, %r16, 4;\n"
                     "add.u64 %d17, %d17, %d3; st.global.f32 [%d17], %f1;\n"
                     "add.u32 %r10, %r10, 32; setp.lt.u32 %p2, %r10, 4096; @%p2 bra ELEMENT;\n"
                     "ret; }\n");
}

static inline void gemm_ptx(struct hd_buf *out, enum gemm_kind kind)
{
    if (kind == GEMM_BF16)
        gemm_ptx_products(out, "gemm_bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                          2, true);
    else if (kind == GEMM_S8)
        gemm_ptx_products(out, "gemm_s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 1,
                          false);
    else
        gemm_ptx_f32(out);
}

static const struct {
    const char *name;
    heddle_native_fn *function;
    uint32_t elem_B;
    uint64_t tile_ns; /* of a block, k = 256 */
} gemm_kinds[GEMM_KINDS] = {
    [GEMM_BF16] = {"gemm_bf16", gemm_bf16, 2, 20000},
    [GEMM_S8] = {"gemm_s8", gemm_s8, 1, 10000},
    [GEMM_F32] = {"gemm_f32", gemm_f32, 4, 500000},
};

#endif
