/* Products in tensor memory: sums as model/eval_mma.c makes them. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "model/mma.h"
#include "model/tensor_mma.h"

enum { WARP = 32 };

/* ---- sums */

struct row {
    const float *a;
    unsigned number;
    unsigned column[IR_TENSOR_K_MAX]; /* of the row's elements */
};

/* Element `col` of b's columns. */
static float sum_float(const struct ir_tensor_mma *p, const struct row *r, unsigned col, float sum)
{
    const float *b = ir_tensor_own(p->cta)->b + col;
    unsigned block = p->kind->scaled ? p->k / p->op->scales : 1;

    for (unsigned j = 0; j < p->stored_k; j++) {
        float x = r->a[j], y = b[r->column[j] * p->n];
        if (p->kind->scaled && !p->folded_scales) {
            unsigned s = r->column[j] / block;
            sum += (float)((double)x * y * p->scale_a[r->number][s] *
                           p->scale_b[r->number / p->rows][col][s]);
        } else
            sum = fmaf(x, y, sum);
    }
    return sum;
}

static uint32_t sum_integer(const struct ir_tensor_mma *p, const struct row *r, unsigned col,
                            uint32_t c)
{
    const float *b = ir_tensor_own(p->cta)->b + col;
    int64_t sum = (int32_t)c;

    for (unsigned j = 0; j < p->stored_k; j++)
        sum += (int64_t)r->a[j] * (int64_t)b[r->column[j] * p->n];
    if (p->saturates)
        sum = HD_MAX(HD_MIN(sum, INT32_MAX), INT32_MIN);
    return (uint32_t)sum;
}

/* As a GPU's tensor cores do. */
static float sum_as_core(const struct ir_tensor_mma *p, const struct tcore_rule *rule,
                         const struct row *r, unsigned col, float c)
{
    const float *b = ir_tensor_own(p->cta)->b + col;
    float y[IR_TENSOR_K_MAX], scale_a[IR_TENSOR_K_MAX], scale_b[IR_TENSOR_K_MAX];
    struct tcore_products products = {.a_least = ir_core_least(p->a),
                                      .b_least = ir_core_least(p->b),
                                      .scale_least = ir_core_least(p->scale),
                                      .c_least = ir_core_least(p->d),
                                      .d_is_half = p->d == IR_F16,
                                      .n = p->stored_k,
                                      .a = r->a,
                                      .b = y};

    for (unsigned j = 0; j < p->stored_k; j++)
        y[j] = b[r->column[j] * p->n];
    if (p->kind->scaled) {
        unsigned block = p->k / p->op->scales;
        for (unsigned j = 0; j < p->stored_k; j++) {
            unsigned s = r->column[j] / block;
            scale_a[j] = p->scale_a[r->number][s];
            scale_b[j] = p->scale_b[r->number / p->rows][col][s];
        }
        products.scale_a = scale_a, products.scale_b = scale_b;
    }
    return tcore_sum(rule, &products, c);
}

static float old_sum(const struct ir_tensor_mma *p, uint32_t cell)
{
    float c = ir_mma_float(p->d, cell);
    return p->op->scale_d ? c * ldexpf(1.0f, -(int)p->op->scale_d) : c;
}

static void row_sum(const struct ir_tensor_mma *p, const struct row *r, unsigned first, unsigned n,
                    uint32_t *cells)
{
    bool has_c = ir_tensor_mma_source(p, IR_TENSOR_ENABLE_D) != 0;
    struct tcore_rule rule;
    bool has_rule = ir_core_rule_find(TCORE_TCGEN05, p->a, p->b, p->kind->scaled, p->k, &rule);

    for (unsigned i = 0; i < n; i++) {
        if (p->d == IR_S32) {
            cells[i] = sum_integer(p, r, first + i, has_c ? cells[i] : 0);
            continue;
        }
        float c = has_c ? old_sum(p, cells[i]) : 0.0f;
        cells[i] = ir_mma_narrow(p->d, has_rule ? sum_as_core(p, &rule, r, first + i, c)
                                                : sum_float(p, r, first + i, c));
    }
}

bool ir_tensor_mma_is_off(const struct ir_tensor_mma *p, unsigned row, unsigned lane)
{
    unsigned number = row / p->rows * IR_TENSOR_LANES + lane;

    return ir_tensor_mma_source(p, IR_TENSOR_OFF + number / WARP) >> lane % WARP & 1;
}

/* Where a row of a part of d is; NULL: it is not to be written. */
static uint32_t *row_cells(const struct ir_tensor_mma *p, unsigned part, unsigned row)
{
    unsigned lane = ir_tensor_mma_d_lane(p, part, row);

    if (ir_tensor_mma_is_off(p, row, lane))
        return NULL;
    return &ir_tensor_mma_block(p, row)->memory->cell[lane][p->at.column];
}

static void model_product(const struct ir_tensor_mma *p)
{
    unsigned n = p->n / p->parts;
    struct row r;

    for (unsigned row = 0; row < p->m; row++) {
        r.a = ir_tensor_own(p->cta)->a + row * p->stored_k;
        r.number = row;
        for (unsigned j = 0; j < p->stored_k; j++)
            r.column[j] = ir_tensor_mma_column(p, row, j);
        for (unsigned part = 0; part < p->parts; part++) {
            uint32_t *cells = row_cells(p, part, row);
            if (cells)
                row_sum(p, &r, part * n, n, cells);
        }
    }
}

/* ---- sums of a device that does them faster */

/* d is f32, and lies where its sums are made. */
static void fast_product(const struct ir_tensor_mma *p)
{
    struct ir_tensor_product q = {
        .n = p->n / p->parts, .k = p->k, .ldb = p->n, .b = ir_tensor_own(p->cta)->b};

    for (unsigned part = 0; part < p->parts; part++, q.b += q.n) {
        q.m = 0;
        for (unsigned row = 0; row < p->m; row++) {
            uint32_t *cells = row_cells(p, part, row);
            if (!cells)
                continue;
            const unsigned n = q.n;
            bool has_c = ir_tensor_mma_source(p, IR_TENSOR_ENABLE_D) != 0;
            if (!has_c)
                memset(cells, 0, n * sizeof(*cells));
            for (unsigned i = 0; has_c && p->op->scale_d && i < n; i++) {
                float c = old_sum(p, cells[i]);
                memcpy(&cells[i], &c, sizeof(c));
            }
            q.a[q.m] = ir_tensor_own(p->cta)->a + row * p->stored_k;
            q.d[q.m++] = (float *)(void *)cells;
        }
        p->cta->fast->product(&q);
    }
}

/* ---- the whole */

static bool multiply(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                     const uint32_t *src, struct ir_tensor_error *error)
{
    struct ir_tensor_mma p; /* large: what is used is written first */

    p.op = op;
    p.cta = cta;
    p.src = src;
    p.error = error;
    p.folded_scales = false;
    if (!ir_tensor_mma_describe(&p) ||
        !ir_tensor_locate(cta, ir_tensor_mma_source(&p, IR_TENSOR_D), ir_tensor_mma_lanes(&p, true),
                          p.n / p.parts, &p.at, error) ||
        !ir_tensor_mma_read(&p))
        return false;
    if (cta->fast && !tcore_is_set() && !p.sparse && p.d == IR_F32 &&
        (!p.kind->scaled || p.folded_scales))
        fast_product(&p);
    else
        model_product(&p);
    return true;
}

/* Called through memory: the arithmetic must stay between the two changes of environment. */
static bool (*volatile const multiply_call)(const struct ir_tensor *, const struct ir_tensor_cta *,
                                            const uint32_t *, struct ir_tensor_error *) = multiply;

bool ir_tensor_mma(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                   struct ir_tensor_error *error)
{
    bool ok;
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    ok = multiply_call(op, cta, src, error);
    fesetenv(&env);
    return ok;
}
