/*
 * What descriptors describe, as the kernel's parameters: checks of the documentation's tables
 * (types, epilogues, modes of factors), and layouts. A D that is stored by rows is the transposed
 * product of transposed factors, stored by columns.
 */
#include <limits.h>

#include "api/cublaslt/cublaslt.h"
#include "api/lib_base/lib_compute.h"

#define F16  CUDA_R_16F
#define BF16 CUDA_R_16BF
#define F32  CUDA_R_32F
#define NONE (-1)

static bool is_fp8(int type)
{
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

/* ---- types that go together */

struct row {
    int8_t sums, scale, ab, c, d; /* sums: enum klib_type; the rest cudaDataType */
    int8_t bias;                  /* NONE: the default epilogue alone */
};

static const struct row rows[] = {
    {KLIB_F16, F16, F16, F16, F16, F16}, /* sums of halves: floats here */
    {KLIB_I32, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, NONE},
    {KLIB_I32, F32, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, F32},
    {KLIB_F32, F32, BF16, BF16, BF16, BF16},
    {KLIB_F32, F32, F16, F16, F16, F16},
    {KLIB_F32, F32, CUDA_R_8I, F32, F32, NONE},
    {KLIB_F32, F32, BF16, F32, F32, F32},
    {KLIB_F32, F32, F16, F32, F32, F32},
    {KLIB_F32, F32, F32, F32, F32, F32},
    {KLIB_F32, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, NONE},
    {KLIB_F64, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {KLIB_F64, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, NONE},
};

/* Of factors of 8 and 4 bits: what C, D and the bias are. D may have 8 bits, or 4. */
static const struct row narrow_rows[] = {
    {KLIB_F32, F32, 0, BF16, BF16, BF16},
    {KLIB_F32, F32, 0, F16, F16, F16},
    {KLIB_F32, F32, 0, F32, F32, BF16},
};

static int sums_of(int compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return KLIB_F16;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return KLIB_I32;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
        return KLIB_F64;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        return KLIB_F32;
    default:
        return NONE;
    }
}

static const struct row *row_of(int compute, int scale, int a, int b, int c, int d)
{
    int sums = sums_of(compute);
    bool fp8 = is_fp8(a) && is_fp8(b) && (a == CUDA_R_8F_E4M3 || b == CUDA_R_8F_E4M3);
    bool fp4 = a == CUDA_R_4F_E2M1 && b == a;

    if (fp8 || fp4) {
        if (sums != KLIB_F32 || scale != F32)
            return NULL;
        for (size_t i = 0; i < HD_COUNT_OF(narrow_rows); i++)
            if (c == (int)narrow_rows[i].c &&
                (d == c || (c != F32 && (fp8 ? is_fp8(d) : d == CUDA_R_4F_E2M1))))
                return &narrow_rows[i];
        return NULL;
    }
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].sums == sums && rows[i].scale == scale && rows[i].ab == a && a == b &&
            rows[i].c == c && rows[i].d == d)
            return &rows[i];
    return NULL;
}

bool lt_has_types(int compute, int scale, int a, int b, int c, int d)
{
    return row_of(compute, scale, a, b, c, d);
}

/* ---- layouts */

static bool has_layout(const struct lt_layout *x)
{
    uint64_t lines = x->order == CUBLASLT_ORDER_COL ? x->rows : x->cols;

    return x->rows <= INT64_MAX && x->cols <= INT64_MAX && x->ld >= 0 && (uint64_t)x->ld >= lines &&
           x->ld >= 1 && x->batch >= 1;
}

/* As a matrix by columns, with BLAS's op; `turned`: of the transposed product. */
static struct klib_matrix matrix_of(const struct lt_layout *x, int trans, bool turned)
{
    bool conjugated = trans == CUBLAS_OP_C && (x->type == CUDA_C_32F || x->type == CUDA_C_64F);
    bool transposed = (trans != CUBLAS_OP_N) ^ (x->order == CUBLASLT_ORDER_ROW) ^ turned;

    return (struct klib_matrix){.ld = x->ld,
                                .step = x->stride,
                                .type = (uint8_t)lib_type(x->type),
                                .op = (uint8_t)(conjugated ? "RC" : "NT")[transposed],
                                .is_listed = x->batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY};
}

/* ---- factors */

static int factors_mode(int mode)
{
    static const int8_t modes[] = {[CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F] = KLIB_LT_SCALAR,
                                   [CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3] = KLIB_LT_VEC16,
                                   [CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0] = KLIB_LT_VEC32,
                                   [CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F] = KLIB_LT_OUTER,
                                   [CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F] = KLIB_LT_VEC128,
                                   [CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F] =
                                       KLIB_LT_BLOCK128};

    return mode >= 0 && mode < (int)HD_COUNT_OF(modes) ? modes[mode] : NONE;
}

static cublasStatus_t operand_factors(const void *address, int mode, const struct lt_layout *x,
                                      char name, const char *function,
                                      struct klib_lt_factors *out_factors)
{
    int kind = factors_mode(mode);
    bool fp4 = x->type == CUDA_R_4F_E2M1, fp8 = is_fp8((int)x->type);

    if (kind == NONE)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "%c's scale mode %d", name, mode);
    if (fp4 && (kind != KLIB_LT_VEC16 || !address))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "%c has 4 bits, which needs VEC16_UE4M3 factors", name);
    if (!address && kind == KLIB_LT_SCALAR)
        return CUBLAS_STATUS_SUCCESS;
    if (!address)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "%c's scale mode %d without a scale pointer", name, mode);
    if (!fp4 && !fp8)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "a scale pointer of %c, which has more than 8 bits", name);
    if (fp8 && kind == KLIB_LT_VEC16)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "%c's VEC16_UE4M3 of 8 bits", name);
    if (x->batch > 1 && kind >= KLIB_LT_OUTER)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "%c's factors of blocks in a batch",
                        name);
    *out_factors = (struct klib_lt_factors){address, (uint8_t)kind};
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t plan_factors(const struct lt_desc *desc, const struct lt_layout *a,
                                   const struct lt_layout *b, const struct lt_layout *d,
                                   bool turned, const char *function, struct klib_lt_matmul *p)
{
    int out = factors_mode(desc->d_out_mode);
    bool fp4 = d->type == CUDA_R_4F_E2M1, narrow = fp4 || is_fp8((int)d->type);
    cublasStatus_t status = operand_factors(desc->a_scale, desc->a_mode, a, 'A', function,
                                            turned ? &p->b_factors : &p->a_factors);

    if (!status)
        status = operand_factors(desc->b_scale, desc->b_mode, b, 'B', function,
                                 turned ? &p->a_factors : &p->b_factors);
    if (status)
        return status;
    /* Modes that go together: alike, but for the two of 128 of k. */
    int ka = p->a_factors.mode, kb = p->b_factors.mode;
    bool wide = ka >= KLIB_LT_VEC128 && kb >= KLIB_LT_VEC128;
    if (wide ? ka == KLIB_LT_BLOCK128 && kb == ka
             : ka != kb && (ka > KLIB_LT_SCALAR || kb > KLIB_LT_SCALAR))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "scale modes %d of A and %d of B",
                        desc->a_mode, desc->b_mode);
    if (narrow && (ka == KLIB_LT_OUTER || wide || (ka == KLIB_LT_VEC32) != !!desc->d_out) && !fp4)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "D of 8 bits with scale mode %d of A and %d of D's output", desc->a_mode,
                        desc->d_out_mode);
    if (desc->c_scale && ((!is_fp8((int)a->type) && a->type != CUDA_R_4F_E2M1) || desc->c_mode))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "a scale pointer of C beside factors of more than 8 bits");
    if (!narrow && (desc->d_scale || desc->amax_d || desc->d_out))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "factors or the largest value of D, which has more than 8 bits");
    if (desc->d_scale && desc->d_mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "D's scale mode %d", desc->d_mode);
    if (fp4 && (out != KLIB_LT_VEC16 || !desc->d_out))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "D has 4 bits, which needs VEC16_UE4M3 output factors");
    if (desc->d_out && !fp4 && out != KLIB_LT_VEC32)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "D's output scale mode %d",
                        desc->d_out_mode);
    if (desc->d_out && (turned || d->batch > 1))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "output factors of a D by rows or in a batch");
    p->c_factor = desc->c_scale;
    p->d_factor = desc->d_scale;
    p->d_amax = desc->amax_d;
    p->d_out = desc->d_out;
    p->d_out_mode = desc->d_out ? (uint8_t)out : KLIB_LT_NONE;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- epilogues */

static bool has_epilogue(unsigned epilogue)
{
    static const uint16_t all[] = {
        CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_RELU,        CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX,    CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
        CUBLASLT_EPILOGUE_DRELU,     CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_GELU,
        CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,    CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
        CUBLASLT_EPILOGUE_DGELU,     CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,
        CUBLASLT_EPILOGUE_BGRADB};

    for (size_t i = 0; i < HD_COUNT_OF(all); i++)
        if (all[i] == epilogue)
            return true;
    return false;
}

static cublasStatus_t plan_aux(const struct lt_desc *desc, const struct lt_layout *d, int sums,
                               const char *function, struct klib_lt_matmul *p)
{
    bool bits = desc->epilogue & (KLIB_LT_RELU | KLIB_LT_DRELU);
    int type = lib_type((uint32_t)(desc->aux_type >= 0 ? desc->aux_type : (int32_t)d->type));

    if (!desc->aux)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "epilogue %u without an auxiliary matrix", desc->epilogue);
    if (desc->aux_ld < (int64_t)d->rows || (bits && (desc->aux_ld % 128 || desc->aux_stride % 8)))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "the auxiliary matrix's leading dimension %lld of %llu rows",
                        (long long)desc->aux_ld, (unsigned long long)d->rows);
    if (!bits && (sums == KLIB_F64 ? type != KLIB_F64
                                   : type != KLIB_F32 && type != KLIB_F16 && type != KLIB_BF16 &&
                                         type != KLIB_E4M3 && type != KLIB_E5M2))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "an auxiliary matrix of type %d",
                        desc->aux_type);
    if ((desc->aux_scale || desc->aux_amax) && (bits || (type != KLIB_E4M3 && type != KLIB_E5M2)))
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "factors of an auxiliary matrix of more than 8 bits");
    p->aux = (struct klib_lt_beside){desc->aux, desc->aux_ld, desc->aux_stride, (uint8_t)type};
    p->aux_factor = desc->aux_scale;
    p->aux_amax = desc->aux_amax;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t plan_epilogue(const struct lt_desc *desc, const struct row *row,
                                    const struct lt_layout *a, const struct lt_layout *d,
                                    bool turned, const char *function, struct klib_lt_matmul *p)
{
    unsigned epilogue = desc->epilogue;
    unsigned gradients = KLIB_LT_BGRAD | KLIB_LT_BGRADA | KLIB_LT_BGRADB;
    bool bytes = a->type == CUDA_R_8I;

    p->epilogue = (uint16_t)epilogue;
    if (!has_epilogue(epilogue) || (epilogue != CUBLASLT_EPILOGUE_DEFAULT && row->bias == NONE) ||
        (epilogue & (gradients | KLIB_LT_AUX) && (bytes || turned)) ||
        (epilogue & (KLIB_LT_BGRADA | KLIB_LT_BGRADB) &&
         (is_fp8((int)a->type) || a->type == CUDA_R_4F_E2M1)))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "epilogue %u with these matrices",
                        epilogue);
    if (epilogue & (KLIB_LT_BIAS | gradients)) {
        if (!desc->bias)
            return lt_error(CUBLAS_STATUS_INVALID_VALUE, function, "epilogue %u without a bias",
                            epilogue);
        if (desc->bias_type >= 0 && desc->bias_type != row->bias)
            return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                            "a bias of type %d, which has to be %d", desc->bias_type, row->bias);
        p->bias = (struct klib_lt_beside){desc->bias, 0, desc->bias_stride,
                                          (uint8_t)lib_type((uint32_t)row->bias)};
    }
    return epilogue & KLIB_LT_AUX ? plan_aux(desc, d, row->sums, function, p)
                                  : CUBLAS_STATUS_SUCCESS;
}

/* ---- all of it */

cublasStatus_t lt_plan(const struct lt_desc *desc, const struct lt_layout *a,
                       const struct lt_layout *b, const struct lt_layout *c,
                       const struct lt_layout *d, const char *function,
                       struct klib_lt_matmul *out_plan, uint64_t *out_problems)
{
    const struct lt_layout *all[] = {a, b, c, d};
    bool turned = d->order == CUBLASLT_ORDER_ROW, vectors = desc->pointer_mode > 1;
    bool listed = false;

    for (int i = 0; i < 4; i++) {
        if (all[i]->order != CUBLASLT_ORDER_COL && all[i]->order != CUBLASLT_ORDER_ROW)
            return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                            "%c's order %d: only COL and ROW are", "ABCD"[i], all[i] -> order);
        if (!has_layout(all[i]))
            return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                            "%c's layout: %llu x %llu, leading dimension %lld, %d in the batch",
                            "ABCD"[i], (unsigned long long)all[i] -> rows,
                            (unsigned long long)all[i] -> cols, (long long)all[i] -> ld,
                            all[i] -> batch);
        if (all[i]->batch_mode > CUBLASLT_BATCH_MODE_POINTER_ARRAY)
            return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "%c's batch mode %u: groups",
                            "ABCD"[i], all[i] -> batch_mode);
        listed = listed || all[i]->batch_mode;
        if (all[i]->plane)
            return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "planes of complex numbers");
    }
    if ((unsigned)desc->transa > CUBLAS_OP_C || (unsigned)desc->transb > CUBLAS_OP_C ||
        (unsigned)desc->pointer_mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function, "an operation or a pointer mode");
    if (desc->transc != CUBLAS_OP_N || desc->fill != CUBLAS_FILL_MODE_FULL)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "a transposed or triangular C");
    uint64_t m = desc->transa == CUBLAS_OP_N ? a->rows : a->cols;
    uint64_t k = desc->transa == CUBLAS_OP_N ? a->cols : a->rows;
    uint64_t n = desc->transb == CUBLAS_OP_N ? b->cols : b->rows;
    if (k != (desc->transb == CUBLAS_OP_N ? b->rows : b->cols) || c->rows != m || c->cols != n ||
        d->rows != m || d->cols != n || a->batch != b->batch || a->batch != c->batch ||
        a->batch != d->batch)
        return lt_error(CUBLAS_STATUS_INVALID_VALUE, function,
                        "sizes that do not go together: %llu x %llu by %llu x %llu to %llu x %llu",
                        (unsigned long long)m, (unsigned long long)k,
                        (unsigned long long)(desc->transb == CUBLAS_OP_N ? b->rows : b->cols),
                        (unsigned long long)n, (unsigned long long)d->rows,
                        (unsigned long long)d->cols);
    if (c->order != d->order)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function, "C and D of different orders");
    const struct row *row =
        row_of(desc->compute, desc->scale, (int)a->type, (int)b->type, (int)c->type, (int)d->type);
    if (!row)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "types %u, %u, %u to %u in compute type %d with factors of type %d",
                        a->type, b->type, c->type, d->type, desc->compute, desc->scale);
    if (vectors &&
        (row->scale == CUDA_R_32I || row->scale == CUDA_C_32F || row->scale == CUDA_C_64F))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "vectors of factors that are whole or complex");

    if (listed && desc->epilogue != CUBLASLT_EPILOGUE_DEFAULT)
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "epilogue %u of matrices that an array has addresses of", desc->epilogue);

    struct klib_matrix ma = matrix_of(a, desc->transa, turned);
    struct klib_matrix mb = matrix_of(b, desc->transb, turned);
    if (a->type == CUDA_R_4F_E2M1 &&
        (ma.op != (turned ? 'N' : 'T') || mb.op != (turned ? 'T' : 'N') || a->ld % 2 || b->ld % 2 ||
         (d->type == CUDA_R_4F_E2M1 && d->ld % 2)))
        return lt_error(CUBLAS_STATUS_NOT_SUPPORTED, function,
                        "elements of 4 bits that are not along k, or an odd leading dimension");
    int sums = row->scale == CUDA_C_32F   ? KLIB_C32
               : row->scale == CUDA_C_64F ? KLIB_C64
               : row->sums == KLIB_F16    ? KLIB_F32
                                          : row->sums;
    *out_plan = (struct klib_lt_matmul){
        .g = {.a = turned ? mb : ma,
              .b = turned ? ma : mb,
              .c = matrix_of(d, CUBLAS_OP_N, turned),
              .m = (int64_t)(turned ? n : m),
              .n = (int64_t)(turned ? m : n),
              .k = (int64_t)k,
              .sums = (uint8_t)sums,
              .factors = (uint8_t)lib_type((uint32_t)row->scale),
              .is_pedantic = desc->compute == CUBLAS_COMPUTE_16F_PEDANTIC ||
                             desc->compute == CUBLAS_COMPUTE_32F_PEDANTIC},
        .c = matrix_of(c, CUBLAS_OP_N, turned),
        .is_turned = turned,
        .vector_step = desc->alpha_stride,
    };
    *out_problems = m && n ? (uint64_t)a->batch : 0;
    cublasStatus_t status = plan_factors(desc, a, b, d, turned, function, out_plan);
    return status ? status : plan_epilogue(desc, row, a, d, turned, function, out_plan);
}
