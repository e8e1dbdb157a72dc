/* What plans are of: sizes, layouts and types, checked. */
#include "api/cufft/fft.h"

#define ROUND(call)                                                                                \
    do {                                                                                           \
        cufftResult status_ = (call);                                                              \
        if (status_)                                                                               \
            return status_;                                                                        \
    } while (0)

static bool kind_of(cufftType type, uint8_t *out_kind, uint8_t *out_type)
{
    switch (type) {
    case CUFFT_C2C:
    case CUFFT_Z2Z:
        *out_kind = KLIB_FFT_C2C;
        break;
    case CUFFT_R2C:
    case CUFFT_D2Z:
        *out_kind = KLIB_FFT_R2C;
        break;
    case CUFFT_C2R:
    case CUFFT_Z2D:
        *out_kind = KLIB_FFT_C2R;
        break;
    default:
        return false;
    }
    *out_type = type & 0x40 ? KLIB_FFT_F64 : KLIB_FFT_F32;
    return true;
}

/* Real or complex numbers of the same kind in, out and in between. */
static bool xt_kind_of(cudaDataType in, cudaDataType out, cudaDataType execution, uint8_t *out_kind,
                       uint8_t *out_type)
{
    static const struct {
        cudaDataType real, complex;
        uint8_t type;
    } types[] = {{CUDA_R_32F, CUDA_C_32F, KLIB_FFT_F32},
                 {CUDA_R_64F, CUDA_C_64F, KLIB_FFT_F64},
                 {CUDA_R_16F, CUDA_C_16F, KLIB_FFT_F16},
                 {CUDA_R_16BF, CUDA_C_16BF, KLIB_FFT_BF16}};

    for (size_t i = 0; i < HD_COUNT_OF(types); i++) {
        cudaDataType real = types[i].real, complex = types[i].complex;
        if (execution != complex || (in != real && in != complex) ||
            (out != real && out != complex) || (in == real && out == real))
            continue;
        *out_kind = in == real ? KLIB_FFT_R2C : out == real ? KLIB_FFT_C2R : KLIB_FFT_C2C;
        *out_type = types[i].type;
        return true;
    }
    return false;
}

/* With `embed`; its first number, of the slowest dimension, is not looked at. */
static void embedded(int rank, const long long *embed, long long stride, long long dist,
                     struct fft_layout *layout)
{
    layout->dist = dist;
    layout->stride[rank - 1] = stride;
    for (int i = rank - 2; i >= 0; i--)
        layout->stride[i] = layout->stride[i + 1] * embed[i + 1];
}

/* Sizes of less than 2^48 numbers in all, so that no product here or below overflows. */
static bool are_sizes(int rank, const long long *n, long long batch)
{
    double product = (double)batch;

    for (int i = 0; i < rank; i++) {
        if (n[i] < 1)
            return false;
        product *= (double)n[i];
    }
    return batch >= 1 && product < 0x1p48;
}

static bool is_layout(int rank, const long long *embed, long long stride, long long dist)
{
    double product = (double)stride;

    for (int i = 1; i < rank; i++) {
        if (embed[i] < 1)
            return false;
        product *= (double)embed[i];
    }
    return stride >= 1 && dist >= 0 && dist < 1LL << 48 && product < 0x1p48;
}

struct layouts {
    const long long *inembed, *onembed;
    long long istride, idist, ostride, odist;
};

static cufftResult problem_of(const char *function, int rank, const long long *n,
                              const struct layouts *layouts, long long batch,
                              struct fft_problem *out)
{
    if (rank < 1 || rank > FFT_RANK)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "the rank is not 1, 2 or 3");
    if (!n)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "the sizes' address is NULL");
    if (!are_sizes(rank, n, batch))
        return fft_invalid(CUFFT_INVALID_SIZE, function, "a size or the batch is out of range");
    out->rank = rank;
    out->batch = batch;
    for (int i = 0; i < rank; i++)
        out->n[i] = n[i];
    out->is_basic = !layouts || !layouts->inembed || !layouts->onembed;
    if (out->is_basic) {
        fft_basic(out, false, &out->in, &out->out);
        return CUFFT_SUCCESS;
    }
    if (!is_layout(rank, layouts->inembed, layouts->istride, layouts->idist) ||
        !is_layout(rank, layouts->onembed, layouts->ostride, layouts->odist))
        return fft_invalid(CUFFT_INVALID_VALUE, function, "a stride or embed is out of range");
    embedded(rank, layouts->inembed, layouts->istride, layouts->idist, &out->in);
    embedded(rank, layouts->onembed, layouts->ostride, layouts->odist, &out->out);
    return CUFFT_SUCCESS;
}

static cufftResult typed(const char *function, int rank, const long long *n,
                         const struct layouts *layouts, cufftType type, long long batch,
                         struct fft_problem *out)
{
    if (!kind_of(type, &out->kind, &out->type))
        return fft_invalid(CUFFT_INVALID_TYPE, function, "there is no such type of transform");
    return problem_of(function, rank, n, layouts, batch, out);
}

static cufftResult make(const char *function, cufftHandle handle, const struct fft_problem *problem,
                        size_t *work_B)
{
    struct fft_plan *plan = fft_plan_of(handle);

    if (!plan || plan->is_made)
        return fft_invalid(CUFFT_INVALID_PLAN, function,
                           plan ? "the plan has been made" : "there is no such plan");
    if (!work_B)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "the work size's address is NULL");
    ROUND(fft_plan_make(plan, problem));
    *work_B = plan->work_B;
    return CUFFT_SUCCESS;
}

/* As make(), with a plan that goes away: what it would need. */
static cufftResult estimate(const char *function, const struct fft_problem *problem, size_t *work_B)
{
    cufftHandle handle;

    if (!work_B)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "the work size's address is NULL");
    ROUND(cufftCreate(&handle));
    cufftResult status = cufftSetAutoAllocation(handle, 0);
    if (!status)
        status = make(function, handle, problem, work_B);
    (void)cufftDestroy(handle);
    return status;
}

static cufftResult plan_at_once(const char *function, cufftHandle *out_plan,
                                const struct fft_problem *problem)
{
    size_t work_B;

    ROUND(cufftCreate(out_plan));
    cufftResult status = make(function, *out_plan, problem, &work_B);
    if (status) {
        (void)cufftDestroy(*out_plan);
        *out_plan = 0;
    }
    return status;
}

/* ---- sizes as arguments */

#define ONE(nx)           ((const long long[]){nx})
#define TWO(nx, ny)       ((const long long[]){nx, ny})
#define THREE(nx, ny, nz) ((const long long[]){nx, ny, nz})

#define PLANS(Rank, rank, sizes, batch, PARAMETERS, BATCH)                                         \
    cufftResult cufftPlan##Rank(cufftHandle *plan, PARAMETERS, cufftType type BATCH)               \
    {                                                                                              \
        struct fft_problem problem;                                                                \
        if (!plan)                                                                                 \
            return fft_invalid(CUFFT_INVALID_VALUE, __func__, "the plan's address is NULL");       \
        ROUND(typed(__func__, rank, sizes, NULL, type, batch, &problem));                          \
        return plan_at_once(__func__, plan, &problem);                                             \
    }                                                                                              \
    cufftResult cufftMakePlan##Rank(cufftHandle plan, PARAMETERS, cufftType type BATCH,            \
                                    size_t *workSize)                                              \
    {                                                                                              \
        struct fft_problem problem;                                                                \
        ROUND(typed(__func__, rank, sizes, NULL, type, batch, &problem));                          \
        return make(__func__, plan, &problem, workSize);                                           \
    }                                                                                              \
    cufftResult cufftEstimate##Rank(PARAMETERS, cufftType type BATCH, size_t *workSize)            \
    {                                                                                              \
        struct fft_problem problem;                                                                \
        ROUND(typed(__func__, rank, sizes, NULL, type, batch, &problem));                          \
        return estimate(__func__, &problem, workSize);                                             \
    }                                                                                              \
    cufftResult cufftGetSize##Rank(cufftHandle handle, PARAMETERS, cufftType type BATCH,           \
                                   size_t *workSize)                                               \
    {                                                                                              \
        struct fft_problem problem;                                                                \
        ROUND(typed(__func__, rank, sizes, NULL, type, batch, &problem));                          \
        return fft_plan_of(handle) ? estimate(__func__, &problem, workSize) : CUFFT_INVALID_PLAN;  \
    }
#define AND ,

PLANS(1d, 1, ONE(nx), batch, int nx, AND int batch)
PLANS(2d, 2, TWO(nx, ny), 1, int nx AND int ny, )
PLANS(3d, 3, THREE(nx, ny, nz), 1, int nx AND int ny AND int nz, )

/* ---- layouts as arguments */

/* 64 bits of each; NULL stays NULL. */
struct many {
    long long n[FFT_RANK], inembed[FFT_RANK], onembed[FFT_RANK];
    struct layouts layouts;
};

static const long long *widen(const int *from, int rank, long long *to)
{
    for (int i = 0; from && i < rank && i < FFT_RANK; i++)
        to[i] = from[i];
    return from ? to : NULL;
}

static cufftResult many(const char *function, int rank, const int *n, const int *inembed,
                        int istride, int idist, const int *onembed, int ostride, int odist,
                        cufftType type, int batch, struct fft_problem *out)
{
    struct many m;

    m.layouts = (struct layouts){.inembed = widen(inembed, rank, m.inembed),
                                 .onembed = widen(onembed, rank, m.onembed),
                                 .istride = istride,
                                 .idist = idist,
                                 .ostride = ostride,
                                 .odist = odist};
    return typed(function, rank, widen(n, rank, m.n), &m.layouts, type, batch, out);
}

cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist,
                          int *onembed, int ostride, int odist, cufftType type, int batch)
{
    struct fft_problem problem;

    if (!plan)
        return fft_invalid(CUFFT_INVALID_VALUE, __func__, "the plan's address is NULL");
    ROUND(many(__func__, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
               &problem));
    return plan_at_once(__func__, plan, &problem);
}

cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride,
                              int idist, int *onembed, int ostride, int odist, cufftType type,
                              int batch, size_t *workSize)
{
    struct fft_problem problem;

    ROUND(many(__func__, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
               &problem));
    return make(__func__, plan, &problem, workSize);
}

cufftResult cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
    struct fft_problem problem;

    ROUND(many(__func__, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
               &problem));
    return estimate(__func__, &problem, workSize);
}

cufftResult cufftGetSizeMany(cufftHandle handle, int rank, int *n, int *inembed, int istride,
                             int idist, int *onembed, int ostride, int odist, cufftType type,
                             int batch, size_t *workSize)
{
    if (!fft_plan_of(handle))
        return CUFFT_INVALID_PLAN;
    return cufftEstimateMany(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                             workSize);
}

#define LAYOUTS                                                                                    \
    (&(struct layouts){.inembed = inembed,                                                         \
                       .onembed = onembed,                                                         \
                       .istride = istride,                                                         \
                       .idist = idist,                                                             \
                       .ostride = ostride,                                                         \
                       .odist = odist})

cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long int *n,
                                long long int *inembed, long long int istride, long long int idist,
                                long long int *onembed, long long int ostride, long long int odist,
                                cufftType type, long long int batch, size_t *workSize)
{
    struct fft_problem problem;

    ROUND(typed(__func__, rank, n, LAYOUTS, type, batch, &problem));
    return make(__func__, plan, &problem, workSize);
}

cufftResult cufftGetSizeMany64(cufftHandle plan, int rank, long long int *n, long long int *inembed,
                               long long int istride, long long int idist, long long int *onembed,
                               long long int ostride, long long int odist, cufftType type,
                               long long int batch, size_t *workSize)
{
    struct fft_problem problem;

    if (!fft_plan_of(plan))
        return CUFFT_INVALID_PLAN;
    ROUND(typed(__func__, rank, n, LAYOUTS, type, batch, &problem));
    return estimate(__func__, &problem, workSize);
}

cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long int *n,
                                long long int *inembed, long long int istride, long long int idist,
                                cudaDataType inputtype, long long int *onembed,
                                long long int ostride, long long int odist, cudaDataType outputtype,
                                long long int batch, size_t *workSize, cudaDataType executiontype)
{
    struct fft_problem problem;

    if (!xt_kind_of(inputtype, outputtype, executiontype, &problem.kind, &problem.type))
        return fft_invalid(CUFFT_INVALID_TYPE, __func__, "there is no transform of these types");
    ROUND(problem_of(__func__, rank, n, LAYOUTS, batch, &problem));
    return make(__func__, plan, &problem, workSize);
}

cufftResult cufftXtGetSizeMany(cufftHandle plan, int rank, long long int *n, long long int *inembed,
                               long long int istride, long long int idist, cudaDataType inputtype,
                               long long int *onembed, long long int ostride, long long int odist,
                               cudaDataType outputtype, long long int batch, size_t *workSize,
                               cudaDataType executiontype)
{
    struct fft_problem problem;

    if (!fft_plan_of(plan))
        return CUFFT_INVALID_PLAN;
    if (!xt_kind_of(inputtype, outputtype, executiontype, &problem.kind, &problem.type))
        return fft_invalid(CUFFT_INVALID_TYPE, __func__, "there is no transform of these types");
    ROUND(problem_of(__func__, rank, n, LAYOUTS, batch, &problem));
    return estimate(__func__, &problem, workSize);
}
