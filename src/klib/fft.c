/* Fourier transforms: plans and kernels. */
#include "klib/fft.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "klib/fft_tables.h"

/* About, of a pass over a vector of numbers in the first cache. */
#define PASS_NS 1.2
/* Of a tile: enough that threads don't wait for tiles, and share the work. */
#define TILE_NS 30000
/* Lanes whose buffers are beyond the caches: a line alone is better, whatever its stride. */
#define LANES_B_MAX (32 << 20)

/* ---- plans */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `plans`, and of their counts */
static struct klib_fft_plan *plans;

static void plan_free(struct klib_fft_plan *plan)
{
    fft_core_destroy(plan->core);
    fft_line_destroy(plan->line);
    free(plan->half);
    free(plan);
}

/* Is a line better done alone than in a lane beside others? */
static bool wants_line(const struct klib_fft_shape *shape, const struct klib_fft_plan *plan)
{
    const struct fft_ops *ops = plan->ops;
    int64_t n = plan->length;
    double line = fft_line_cost(n, ops);
    double lanes_B = 4.0 * (double)fft_core_span(n) * ops->width * (double)ops->real_B;

    if (line == 0)
        return false;
    if (plan->alone || lanes_B > LANES_B_MAX)
        return true;
    double full = (double)fft_ceil(shape->lines, ops->width) * ops->width / (double)shape->lines;
    double lanes = fft_core_cost(n, ops) * full;
    /* Neighbours in memory are of other lines: one alone takes a number of every cache line. */
    if (shape->in_stride != 1 || shape->out_stride != 1)
        line += shape->in_step == 1 && shape->out_step == 1 ? 8 : 2;
    return line < lanes;
}

static bool plan_fill(struct klib_fft_plan *plan)
{
    const struct fft_ops *ops = plan->ops;
    size_t numbers_B = (size_t)(plan->length + 1) * 2 * ops->real_B + 64 * 2;

    if (plan->length != plan->n) {
        plan->half = fft_roots(plan->n, plan->length + 1, ops);
        if (!plan->half)
            return false;
    }
    if (plan->has_line) {
        plan->line = fft_line_create(plan->length, ops);
        if (plan->line)
            plan->scratch_B = numbers_B + plan->line->scratch_B;
        return plan->line != NULL;
    }
    plan->core = fft_core_create(plan->length, ops);
    if (plan->core)
        plan->scratch_B = 2 * (64 + 2 * (size_t)HD_MAX(plan->core->span, plan->length + 1) *
                                        ops->width * ops->real_B);
    return plan->core != NULL;
}

static const struct klib_fft_plan *plan_create(const struct klib_fft_shape *shape)
{
    struct klib_fft_plan wanted = {.n = shape->n, .kind = shape->kind, .type = shape->type};

    wanted.ops = fft_ops_of(shape->type == KLIB_FFT_F64);
    wanted.length = shape->kind != KLIB_FFT_C2C && shape->n % 2 == 0 ? shape->n / 2 : shape->n;
    bool is_whole = wanted.length != shape->n || shape->kind == KLIB_FFT_C2C;
    wanted.alone = shape->alone && shape->lines == 1 && is_whole && fft_is_smooth(wanted.length) &&
                   fft_line_cost(wanted.length, wanted.ops) != 0;
    wanted.has_line = wants_line(shape, &wanted);
    pthread_mutex_lock(&lock);
    struct klib_fft_plan *plan = plans;
    while (plan &&
           !(plan->n == wanted.n && plan->kind == wanted.kind && plan->type == wanted.type &&
             plan->alone == wanted.alone && plan->has_line == wanted.has_line))
        plan = plan->next;
    if (!plan) {
        plan = malloc(sizeof(*plan));
        if (plan) {
            *plan = wanted;
            if (plan_fill(plan)) {
                plan->next = plans;
                plans = plan;
            } else {
                plan_free(plan);
                plan = NULL;
            }
        }
    }
    if (plan)
        plan->references++;
    pthread_mutex_unlock(&lock);
    return plan;
}

static void plan_destroy(const struct klib_fft_plan *plan)
{
    if (!plan)
        return;
    pthread_mutex_lock(&lock);
    struct klib_fft_plan **at = &plans;
    while (*at != plan)
        at = &(*at)->next;
    struct klib_fft_plan *found = *at;
    if (--found->references == 0)
        *at = found->next;
    else
        found = NULL;
    pthread_mutex_unlock(&lock);
    if (found)
        plan_free(found);
}

static uint64_t work_B(const struct klib_fft_plan *plan)
{
    const struct fft_line *line = plan->line;

    if (!plan->alone)
        return 0;
    int64_t width = plan->ops->width;
    return fft_exchange_B(plan) +
           (uint64_t)(fft_ceil(line->n1, width) * width * line->n2) * 2 * plan->ops->real_B;
}

/* ---- kernels */

/* What threads keep for their buffers, until they end. */
#define KEPT_B (8u << 20)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local struct {
    void *at;
    size_t size_B;
} kept;

static void key_create(void)
{
    (void)pthread_key_create(&key, free);
}

static void *scratch_get(size_t size_B)
{
    if (size_B <= kept.size_B)
        return kept.at;
    if (size_B > KEPT_B)
        return fft_memory(size_B);
    pthread_once(&once, key_create);
    (void)pthread_setspecific(key, NULL);
    free(kept.at);
    kept.at = fft_memory(size_B);
    kept.size_B = kept.at ? size_B : 0;
    (void)pthread_setspecific(key, kept.at);
    return kept.at;
}

static int64_t count_of(const struct klib_fft *p, uint32_t kernel)
{
    int64_t width = p->plan->ops->width;

    switch (kernel) {
    case KLIB_FFT_COLUMNS:
        return fft_ceil(p->plan->line->n2, width);
    case KLIB_FFT_ROWS:
        return fft_ceil(p->plan->line->n1, width);
    case KLIB_FFT_HALVES:
        return p->plan->length + 1;
    default:
        return p->counts[0] * p->counts[1] * p->counts[2];
    }
}

static int run(struct heddle_native_call *call, uint32_t kernel)
{
    const struct klib_fft *p = call->params;
    const struct fft_ops *ops = p->plan->ops;
    void *scratch = kernel == KLIB_FFT_HALVES ? NULL : scratch_get(p->plan->scratch_B);

    if (!scratch && kernel != KLIB_FFT_HALVES)
        return heddle_native_fail(call, 1, "no memory for the buffers of a Fourier transform");
    int64_t first = (int64_t)call->first * p->tile;
    int64_t last = HD_MIN((int64_t)call->last * p->tile, count_of(p, kernel));
    switch (kernel) {
    case KLIB_FFT_LINES:
        ops->lines(p, first, last, scratch);
        break;
    case KLIB_FFT_COLUMNS:
        ops->columns(p, first, last, scratch);
        break;
    case KLIB_FFT_ROWS:
        ops->rows(p, first, last, scratch);
        break;
    case KLIB_FFT_HALVES:
        ops->halves(p, first, last);
        return 0;
    }
    if (scratch != kept.at)
        free(scratch);
    return 0;
}

static int run_lines(struct heddle_native_call *call)
{
    return run(call, KLIB_FFT_LINES);
}
static int run_columns(struct heddle_native_call *call)
{
    return run(call, KLIB_FFT_COLUMNS);
}
static int run_rows(struct heddle_native_call *call)
{
    return run(call, KLIB_FFT_ROWS);
}
static int run_halves(struct heddle_native_call *call)
{
    return run(call, KLIB_FFT_HALVES);
}

static const struct klib_fft_step kernels[KLIB_FFT_KERNELS] = {
    {.kernel = KLIB_FFT_LINES, .function = run_lines, .name = "fft_lines"},
    {.kernel = KLIB_FFT_COLUMNS, .function = run_columns, .name = "fft_columns"},
    {.kernel = KLIB_FFT_ROWS, .function = run_rows, .name = "fft_rows"},
    {.kernel = KLIB_FFT_HALVES, .function = run_halves, .name = "fft_halves"},
};

/* `count` things that cost ns each: tiles of equal size, few enough, and enough for all threads. */
static struct klib_fft_step step_of(uint32_t kernel, int64_t count, double ns, int64_t multiple,
                                    unsigned threads)
{
    double tile = HD_MAX(TILE_NS / ns, 1);
    struct klib_fft_step step = kernels[kernel];

    tile = HD_MIN(tile, HD_MAX((double)count / (4.0 * threads), 1));
    step.tile = fft_ceil((int64_t)tile, multiple) * multiple;
    while (fft_ceil(count, step.tile) > INT32_MAX)
        step.tile *= 2;
    step.tiles = (uint64_t)fft_ceil(count, step.tile);
    step.work_ns = (uint64_t)HD_MIN(ns * (double)count, 1e15);
    return step;
}

static unsigned steps(const struct klib_fft_plan *plan, int64_t lines, unsigned threads,
                      struct klib_fft_step out[KLIB_FFT_STEPS])
{
    const struct fft_ops *ops = plan->ops;
    double passes =
        plan->has_line ? fft_line_cost(plan->length, ops) : fft_core_cost(plan->length, ops);
    double ns = PASS_NS * (passes + 2) * (double)plan->length / ops->width;
    unsigned n = 0;

    if (!plan->alone) {
        out[0] = step_of(KLIB_FFT_LINES, lines, ns, plan->has_line ? 1 : ops->width, threads);
        return 1;
    }
    int64_t columns = fft_ceil(plan->line->n2, ops->width),
            rows = fft_ceil(plan->line->n1, ops->width);
    struct klib_fft_step half = step_of(KLIB_FFT_HALVES, plan->length + 1, 2, 64, threads);
    if (plan->kind == KLIB_FFT_C2R)
        out[n++] = half;
    out[n++] = step_of(KLIB_FFT_COLUMNS, columns, ns / 2 / (double)columns, 1, threads);
    out[n++] = step_of(KLIB_FFT_ROWS, rows, ns / 2 / (double)rows, 1, threads);
    if (plan->kind == KLIB_FFT_R2C)
        out[n++] = half;
    return n;
}

const struct klib_fft_api klib_fft_api = {
    .create = plan_create, .destroy = plan_destroy, .work_B = work_B, .steps = steps};
