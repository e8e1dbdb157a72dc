/*
 * libcufftw: FFTW's interface, on libcufft's. A plan of FFTW's is one of cuFFT's, which has its
 * last batch dimension; others are loops around it. A plan that cannot be made is NULL, and the log
 * says why.
 */
#include <cufftw.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "cuda.h"

enum { RANK_MAX = 3, LOOPS_MAX = 8 };

struct plan {
    cufftHandle fft;
    cufftType type;
    int sign;
    void *in, *out;
    unsigned nloops; /* batch dimensions but the last */
    fftw_iodim64 loops[LOOPS_MAX];
};

/* Which transform, in one precision. */
enum kind { C2C, R2C, C2R };
static const cufftType types[2][3] = {{CUFFT_C2C, CUFFT_R2C, CUFFT_C2R},
                                      {CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D}};

/* Bytes of an element of input or output. */
static size_t element_B(cufftType type, bool is_input)
{
    bool is_double = type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
    bool is_real =
        is_input ? type == CUFFT_R2C || type == CUFFT_D2Z : type == CUFFT_C2R || type == CUFFT_Z2D;

    return (is_double ? sizeof(double) : sizeof(float)) * (is_real ? 1 : 2);
}

static void *refuse(const char *why)
{
    hd_log("cuFFTW: no plan is made: %s", why);
    return NULL;
}

/* cuFFT has a stride of the last dimension, and of others by what one is a multiple of the next. */
static bool embed(const ptrdiff_t *steps, int rank, long long *out_embed)
{
    out_embed[0] = 1; /* it is not looked at */
    for (int i = 1; i < rank; i++) {
        if (steps[i] <= 0 || steps[i - 1] % steps[i] != 0)
            return false;
        out_embed[i] = steps[i - 1] / steps[i];
    }
    return steps[rank - 1] > 0;
}

static void *make(cufftType type, int rank, const fftw_iodim64 *dims, int batch_rank,
                  const fftw_iodim64 *batch, int sign, void *in, void *out)
{
    long long n[RANK_MAX], in_embed[RANK_MAX], out_embed[RANK_MAX];
    ptrdiff_t in_steps[RANK_MAX], out_steps[RANK_MAX];
    fftw_iodim64 last = {.n = 1, .is = 1, .os = 1};
    size_t work_B;

    if (rank < 1 || rank > RANK_MAX || !dims)
        return refuse("there are transforms of one, two and three dimensions");
    if (batch_rank < 0 || batch_rank > LOOPS_MAX || (batch_rank && !batch))
        return refuse("there are at most eight batch dimensions");
    if (sign != FFTW_FORWARD && sign != FFTW_BACKWARD)
        return refuse("the sign is neither forward nor backward");
    for (int i = 0; i < rank; i++) {
        n[i] = dims[i].n;
        in_steps[i] = dims[i].is;
        out_steps[i] = dims[i].os;
    }
    if (!embed(in_steps, rank, in_embed) || !embed(out_steps, rank, out_embed))
        return refuse("cuFFT has no layout with such strides");
    /* It is not looked at, but has to hold the dimension. */
    in_embed[0] = out_embed[0] = n[0];

    struct plan *plan = hd_new(struct plan);
    if (!plan)
        return refuse("out of memory");
    *plan = (struct plan){.type = type, .sign = sign, .in = in, .out = out};
    if (batch_rank) {
        last = batch[batch_rank - 1];
        plan->nloops = (unsigned)batch_rank - 1;
        for (unsigned i = 0; i < plan->nloops; i++)
            plan->loops[i] = batch[i];
    }
    if (cufftCreate(&plan->fft)) {
        hd_free(plan);
        return refuse("out of memory");
    }
    if (cufftMakePlanMany64(plan->fft, rank, n, in_embed, in_steps[rank - 1], last.is, out_embed,
                            out_steps[rank - 1], last.os, type, last.n, &work_B)) {
        (void)cufftDestroy(plan->fft);
        hd_free(plan);
        return refuse("cuFFT does not take its sizes, strides or batch");
    }
    return plan;
}

static void *make32(cufftType type, int rank, const fftw_iodim *dims, int batch_rank,
                    const fftw_iodim *batch, int sign, void *in, void *out)
{
    fftw_iodim64 wide[RANK_MAX], wide_batch[LOOPS_MAX];

    for (int i = 0; dims && i < HD_MIN(rank, RANK_MAX); i++)
        wide[i] = (fftw_iodim64){dims[i].n, dims[i].is, dims[i].os};
    for (int i = 0; batch && i < HD_MIN(batch_rank, LOOPS_MAX); i++)
        wide_batch[i] = (fftw_iodim64){batch[i].n, batch[i].is, batch[i].os};
    return make(type, rank, dims ? wide : NULL, batch_rank, batch ? wide_batch : NULL, sign, in,
                out);
}

/* How many elements of the last dimension lie in an array: halves are complex, real ones padded. */
static int last_of(int n, bool is_complex, enum kind kind, bool in_place)
{
    if (kind == C2C)
        return n;
    return is_complex ? n / 2 + 1 : in_place ? 2 * (n / 2 + 1) : n;
}

static void *make_many(bool is_double, enum kind kind, int rank, const int *n, int batch,
                       const int *in_embed, int in_stride, int in_dist, const int *out_embed,
                       int out_stride, int out_dist, int sign, void *in, void *out)
{
    fftw_iodim64 dims[RANK_MAX], all = {batch, in_dist, out_dist};
    ptrdiff_t is = in_stride, os = out_stride;

    if (rank < 1 || rank > RANK_MAX || !n)
        return refuse("there are transforms of one, two and three dimensions");
    for (int i = rank - 1; i >= 0; i--) {
        bool is_last = i == rank - 1;
        dims[i] = (fftw_iodim64){n[i], is, os};
        is *= in_embed ? in_embed[i] : is_last ? last_of(n[i], kind != R2C, kind, in == out) : n[i];
        os *= out_embed ? out_embed[i]
              : is_last ? last_of(n[i], kind != C2R, kind, in == out)
                        : n[i];
    }
    return make(types[is_double][kind], rank, dims, 1, &all, sign, in, out);
}

static void *make_simple(bool is_double, enum kind kind, int rank, const int *n, int sign, void *in,
                         void *out)
{
    return make_many(is_double, kind, rank, n, 1, NULL, 1, 1, NULL, 1, 1, sign, in, out);
}

/* One transform of cuFFT's, in the default stream. */
static cufftResult start(const struct plan *plan, void *in, void *out)
{
    switch (plan->type) {
    case CUFFT_C2C:
        return cufftExecC2C(plan->fft, in, out, plan->sign);
    case CUFFT_R2C:
        return cufftExecR2C(plan->fft, in, out);
    case CUFFT_C2R:
        return cufftExecC2R(plan->fft, in, out);
    case CUFFT_Z2Z:
        return cufftExecZ2Z(plan->fft, in, out, plan->sign);
    case CUFFT_D2Z:
        return cufftExecD2Z(plan->fft, in, out);
    case CUFFT_Z2D:
        return cufftExecZ2D(plan->fft, in, out);
    }
    return CUFFT_INVALID_TYPE;
}

static void execute(const struct plan *plan, void *in, void *out)
{
    ptrdiff_t at[LOOPS_MAX] = {0};
    cufftResult result = CUFFT_SUCCESS;
    unsigned i = 0;

    if (!plan) {
        hd_log("cuFFTW: a plan that is NULL is executed");
        return;
    }
    for (unsigned j = 0; j < plan->nloops; j++)
        if (plan->loops[j].n <= 0)
            return;
    do {
        char *from = in, *to = out;
        for (unsigned j = 0; j < plan->nloops; j++) {
            from += at[j] * plan->loops[j].is * (ptrdiff_t)element_B(plan->type, true);
            to += at[j] * plan->loops[j].os * (ptrdiff_t)element_B(plan->type, false);
        }
        result = start(plan, from, to);
        for (i = 0; i < plan->nloops && ++at[i] == plan->loops[i].n; i++)
            at[i] = 0;
    } while (!result && i < plan->nloops);
    int waited = (int)cuStreamSynchronize(NULL);
    if (result || waited)
        hd_log("cuFFTW: a transform failed: %d of cuFFT, %d of CUDA", (int)result, waited);
}

static void destroy(struct plan *plan)
{
    if (!plan)
        return;
    (void)cufftDestroy(plan->fft);
    hd_free(plan);
}

#define F(name)   fftw_##name
#define R         double
#define C         fftw_complex
#define IS_DOUBLE true
#include "functions.inc"
#undef F
#undef R
#undef C
#undef IS_DOUBLE
#define F(name)   fftwf_##name
#define R         float
#define C         fftwf_complex
#define IS_DOUBLE false
#include "functions.inc"
