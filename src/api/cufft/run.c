/* Transforms: passes along the dimensions, in the plan's stream. */
#include <assert.h>
#include <cuda.h>
#include <stdlib.h>

#include "api/cufft/fft.h"

/* A pass along dimension `dim` of what `n` says, from one layout to the other. */
static struct klib_fft lines_of(const struct fft_problem *problem, const int64_t n[FFT_RANK],
                                int dim, const struct fft_layout *in, const struct fft_layout *out)
{
    struct klib_fft p = {
        .in_stride = in->stride[dim], .out_stride = out->stride[dim], .counts = {1, 1, 1}};
    int i = 0;

    for (int other = problem->rank - 1; other >= 0; other--)
        if (other != dim) {
            p.counts[i] = n[other];
            p.in_steps[i] = in->stride[other];
            p.out_steps[i++] = out->stride[other];
        }
    p.counts[i] = problem->batch;
    p.in_steps[i] = in->dist;
    p.out_steps[i] = out->dist;
    return p;
}

/* Numbers that are transformed as complex ones: half of the real ones' last dimension. */
static void complex_sizes(const struct fft_problem *problem, int64_t n[FFT_RANK])
{
    for (int i = 0; i < problem->rank; i++)
        n[i] = problem->n[i];
    if (problem->kind != KLIB_FFT_C2C)
        n[problem->rank - 1] = n[problem->rank - 1] / 2 + 1;
}

static void dense(int rank, const int64_t n[FFT_RANK], struct fft_layout *layout)
{
    int64_t size = 1;

    for (int i = rank - 1; i >= 0; i--) {
        layout->stride[i] = size;
        size *= n[i];
    }
    layout->dist = size;
}

void fft_basic(struct fft_problem *problem, bool in_place, struct fft_layout *in,
               struct fft_layout *out)
{
    int64_t halves[FFT_RANK], reals[FFT_RANK];
    int last = problem->rank - 1;

    complex_sizes(problem, halves);
    for (int i = 0; i <= last; i++)
        reals[i] = problem->n[i];
    if (in_place && problem->kind != KLIB_FFT_C2C)
        reals[last] = 2 * halves[last];
    dense(problem->rank, problem->kind == KLIB_FFT_R2C ? reals : halves, in);
    dense(problem->rank, problem->kind == KLIB_FFT_C2R ? reals : halves, out);
}

size_t fft_number_B(const struct fft_problem *problem, bool is_out)
{
    static const uint8_t sizes[] = {
        [KLIB_FFT_F32] = 4, [KLIB_FFT_F64] = 8, [KLIB_FFT_F16] = 2, [KLIB_FFT_BF16] = 2};
    bool is_real = problem->kind == (is_out ? KLIB_FFT_C2R : KLIB_FFT_R2C);

    return (size_t)sizes[problem->type] * (is_real ? 1 : 2);
}

/* ---- plans */

/* Longer lines that are alone are for several threads. */
#define ALONE_MIN (1 << 15)

static struct klib_fft pass_lines(const struct fft_problem *problem, int dim, bool is_real,
                                  const struct fft_layout *in, const struct fft_layout *out)
{
    int64_t halves[FFT_RANK];

    complex_sizes(problem, halves);
    return lines_of(problem, is_real ? problem->n : halves, dim, in, out);
}

cufftResult fft_plan_make(struct fft_plan *plan, const struct fft_problem *problem)
{
    const struct klib *klib = lib_klib(&fft_info);
    uint64_t alone_B = 0;

    if (!klib)
        return CUFFT_SETUP_FAILED;
    plan->problem = *problem;
    int last = problem->rank - 1;
    for (int i = 0; i <= last; i++) {
        /* The last dimension first, or of C2R last: numbers between passes are complex. */
        int dim = problem->kind != KLIB_FFT_C2R ? last - i : i;
        bool is_real = dim == last && problem->kind != KLIB_FFT_C2C;
        struct klib_fft p =
            pass_lines(problem, dim, is_real, i == 0 ? &problem->in : &problem->out, &problem->out);
        struct klib_fft_shape shape = {.n = problem->n[dim],
                                       .lines = p.counts[0] * p.counts[1] * p.counts[2],
                                       .in_stride = p.in_stride,
                                       .out_stride = p.out_stride,
                                       .in_step = p.in_steps[0],
                                       .out_step = p.out_steps[0],
                                       .kind = is_real ? problem->kind : KLIB_FFT_C2C,
                                       .type = problem->type};
        shape.alone = shape.n >= ALONE_MIN && lib_threads() > 1;
        klib->fft->destroy(plan->passes[i].plan); /* of an attempt before */
        plan->passes[i] = (struct fft_pass){klib->fft->create(&shape), dim};
        if (!plan->passes[i].plan)
            return CUFFT_ALLOC_FAILED;
        alone_B = HD_MAX(alone_B, klib->fft->work_B(plan->passes[i].plan));
    }
    if (problem->kind == KLIB_FFT_C2R && problem->rank > 1) {
        int64_t halves[FFT_RANK];
        uint64_t numbers = (uint64_t)problem->batch;
        complex_sizes(problem, halves);
        for (int i = 0; i < problem->rank; i++)
            numbers *= (uint64_t)halves[i];
        plan->between_B = hd_align_up(numbers * fft_number_B(problem, false), 64);
    }
    plan->work_B = plan->between_B + alone_B;
    if (plan->keeps_work && plan->work_B) {
        free(plan->own_work);
        plan->own_work = aligned_alloc(64, hd_align_up(plan->work_B, 64));
        if (!plan->own_work)
            return CUFFT_ALLOC_FAILED;
        plan->work = plan->own_work;
    }
    plan->is_made = true;
    return CUFFT_SUCCESS;
}

/* ---- runs */

static void drop(void *plan)
{
    fft_plan_unref(plan);
}

/* A graph that is being captured holds on to the plan. */
static int retain(struct fft_plan *plan)
{
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    CUuserObject object;
    int result = cuStreamIsCapturing(plan->base.stream, &status);

    if (result || status == CU_STREAM_CAPTURE_STATUS_NONE) {
        plan->has_run = true;
        return result;
    }
    result = cuStreamGetCaptureInfo(plan->base.stream, &status, NULL, &graph, NULL, NULL, NULL);
    if (result)
        return result;
    atomic_fetch_add(&plan->references, 1);
    result = cuUserObjectCreate(&object, plan, drop, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result) {
        fft_plan_unref(plan);
        return result;
    }
    result = cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result)
        (void)cuUserObjectRelease(object, 1);
    return result;
}

static int launch(const struct fft_plan *plan, const struct klib *klib, struct klib_fft *p)
{
    static struct lib_kernel kernels[KLIB_FFT_KERNELS];
    struct klib_fft_step steps[KLIB_FFT_STEPS];
    unsigned count =
        klib->fft->steps(p->plan, p->counts[0] * p->counts[1] * p->counts[2], lib_threads(), steps);

    for (unsigned i = 0; i < count; i++) {
        p->tile = steps[i].tile;
        int result = lib_launch(&plan->base, &kernels[steps[i].kernel], steps[i].name,
                                steps[i].function, p, sizeof(*p), steps[i].tiles, steps[i].work_ns);
        if (result)
            return result;
    }
    return CUDA_SUCCESS;
}

cufftResult fft_run(struct fft_plan *plan, const void *in, void *out, bool inverse,
                    const char *function)
{
    const struct klib *klib = lib_klib(&fft_info);
    struct fft_problem *problem = &plan->problem;
    struct fft_layout from = problem->in, to = problem->out, between;
    int64_t halves[FFT_RANK];
    int last = problem->rank - 1;

    if (!in || !out)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "an array's address is NULL");
    if (!klib)
        return CUFFT_INTERNAL_ERROR;
    if (problem->is_basic)
        fft_basic(problem, in == out, &from, &to);
    assert(problem->rank >= 1 && problem->rank <= FFT_RANK);
    bool via = plan->between_B && in != out;
    if ((plan->work_B > plan->between_B || via) && !plan->work)
        return fft_invalid(CUFFT_NO_WORKSPACE, function, "the plan has no work area");
    int result = lib_context();
    if (!result)
        result = retain(plan);

    complex_sizes(problem, halves);
    dense(problem->rank, halves, &between);
    const void *source = in;
    for (int i = 0; i <= last && !result; i++) {
        int dim = plan->passes[i].dim;
        bool is_real = dim == last && problem->kind != KLIB_FFT_C2C;
        /* Of C2R the input is kept: all but the last pass are in place, or go through the area. */
        bool is_between = problem->kind == KLIB_FFT_C2R && i < last;
        const struct fft_layout *source_layout = i == 0 ? &from : &to, *target_layout = &to;
        void *target = out;
        if (is_between) {
            target = via ? plan->work : (void *)in;
            target_layout = via ? &between : &from;
        }
        if (i > 0 && problem->kind == KLIB_FFT_C2R)
            source_layout = via ? &between : &from;
        struct klib_fft p = pass_lines(problem, dim, is_real, source_layout, target_layout);
        p.plan = plan->passes[i].plan;
        p.in = source;
        p.out = target;
        p.work = plan->work ? (char *)plan->work + plan->between_B : NULL;
        p.inverse = inverse;
        result = launch(plan, klib, &p);
        source = target;
    }
    return fft_status(result);
}
