/* A CTA as it was: for debuggers that go back in time. */
#include <string.h>

#include "base/mem.h"
#include "interp/interp_debug.h"
#include "interp/interp_priv.h"

struct interp_saved {
    struct interp_cta cta;
    uint64_t steps, effects;
    struct interp_thread *threads; /* their frames are copies of ours, innermost first */
    struct interp_warp *warps;
    char *shared, *locals;
    bool failed;
};

static uint64_t frame_B(const struct interp_frame *f)
{
    return sizeof(*f) + ((uint64_t)f->func->nvalues + f->func->nregs) * sizeof(struct ir_bits) +
           f->func->nregs * sizeof(uint32_t);
}

static void frames_free(struct interp_frame *f)
{
    while (f) {
        struct interp_frame *caller = f->caller;
        hd_free(f);
        f = caller;
    }
}

/* NULL and `*failed` when memory is short. */
static struct interp_frame *frames_copy(const struct interp_frame *f, bool *failed)
{
    struct interp_frame *first = NULL, **link = &first;

    for (; f; f = f->caller) {
        struct interp_frame *copy = hd_alloc(frame_B(f));
        if (!copy) {
            *failed = true;
            break;
        }
        memcpy(copy, f, frame_B(f));
        copy->caller = NULL;
        *link = copy;
        link = &copy->caller;
    }
    return first;
}

/* What others share is not ours to save. */
static bool is_alone(const struct interp_cta *cta)
{
    for (unsigned i = 0; i < HD_COUNT_OF(cta->alone.tensor); i++)
        if (cta->alone.tensor[i])
            return false;
    return cta->cluster == &cta->alone;
}

static bool saved_fill(struct interp_saved *s, const struct interp_cta *cta)
{
    const struct interp_run *run = cta->run;

    s->threads = hd_alloc_array(cta->nthreads, sizeof(*s->threads));
    s->warps = hd_alloc_array(cta->nwarps, sizeof(*s->warps));
    s->shared = hd_alloc(run->shared_B + 1);
    s->locals = hd_alloc(run->local_B * cta->nthreads + 1);
    if (!s->threads || !s->warps || !s->shared || !s->locals)
        return false;
    memcpy(s->threads, cta->threads, cta->nthreads * sizeof(*s->threads));
    memcpy(s->warps, cta->warps, cta->nwarps * sizeof(*s->warps));
    memcpy(s->shared, cta->shared, run->shared_B);
    for (uint32_t i = 0; i < cta->nthreads; i++) {
        s->threads[i].frame = frames_copy(cta->threads[i].frame, &s->failed);
        if (run->local_B)
            memcpy(s->locals + i * run->local_B, cta->threads[i].local, run->local_B);
    }
    return !s->failed;
}

struct interp_saved *interp_debug_save(const struct interp_cta *cta)
{
    struct interp_saved *s = is_alone(cta) ? hd_new(struct interp_saved) : NULL;

    if (!s)
        return NULL;
    s->cta = *cta;
    s->steps = cta->run->steps;
    s->effects = cta->run->effects;
    if (saved_fill(s, cta))
        return s;
    interp_debug_saved_free(s);
    return NULL;
}

void interp_debug_saved_free(struct interp_saved *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; s->threads && i < s->cta.nthreads; i++)
        frames_free(s->threads[i].frame);
    hd_free(s->threads);
    hd_free(s->warps);
    hd_free(s->shared);
    hd_free(s->locals);
    hd_free(s);
}

uint64_t interp_debug_saved_B(const struct interp_saved *s)
{
    const struct interp_run *run = s->cta.run;
    uint64_t size_B = sizeof(*s) + run->shared_B + s->cta.nwarps * sizeof(*s->warps);

    for (uint32_t i = 0; i < s->cta.nthreads; i++) {
        size_B += sizeof(*s->threads) + run->local_B;
        for (const struct interp_frame *f = s->threads[i].frame; f; f = f->caller)
            size_B += frame_B(f);
    }
    return size_B;
}

static bool thread_restore(struct interp_thread *t, const struct interp_thread *saved)
{
    bool failed = false;
    struct interp_frame *frames = frames_copy(saved->frame, &failed);

    if (failed) {
        frames_free(frames);
        return false;
    }
    frames_free(t->frame);
    *t = *saved;
    t->frame = frames;
    return true;
}

bool interp_debug_restore(struct interp_cta *cta, const struct interp_saved *s)
{
    struct interp_run *run = cta->run;
    bool good = true;

    assert(cta->nthreads == s->cta.nthreads && cta->run == s->cta.run);
    for (uint32_t i = 0; i < cta->nthreads; i++) {
        good = thread_restore(&cta->threads[i], &s->threads[i]) && good;
        if (run->local_B)
            memcpy(cta->threads[i].local, s->locals + i * run->local_B, run->local_B);
    }
    memcpy(cta->warps, s->warps, cta->nwarps * sizeof(*s->warps));
    memcpy(cta->bars, s->cta.bars, sizeof(cta->bars));
    memcpy(cta->shared, s->shared, run->shared_B);
    cta->live = s->cta.live;
    interp_cluster_fini(&cta->alone);
    cta->alone = s->cta.alone;
    cta->printed = s->cta.printed;
    cta->epoch++;
    run->status = HD_OK;
    run->steps = s->steps;
    run->effects = s->effects;
    return good;
}
