/* racecheck: launches and CTAs. race.h says how it works. */
#include "san/memory.h"
#include "san/race/race_streams.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "san/options.h"

static struct {
    _Atomic uint64_t serials; /* that were given */
    struct hd_lock lock;
    struct race_cta *free;
} all = {.lock = HD_LOCK_INIT(LEAF, "racecheck's CTAs")};

static bool start(void)
{
    race_check_start();
    return race_shadow_start() && race_streams_start();
}

/* ---- CTA states: large, and each is soon needed again */

struct race_cta *race_cta_take(void)
{
    hd_lock_acquire(&all.lock);
    struct race_cta *cta = all.free;
    if (cta)
        all.free = cta->next;
    hd_lock_release(&all.lock);
    return cta ? cta : hd_new(struct race_cta);
}

void race_cta_give(struct race_cta *cta)
{
    hd_lock_acquire(&all.lock);
    assert(cta != all.free);
    cta->next = all.free;
    all.free = cta;
    hd_lock_release(&all.lock);
}

/* ---- launches */

static bool sees_cluster(const struct ir_func *kernel)
{
    struct ir_window window;

    return ir_kernel_window(kernel, &window) == HD_OK && window.clusters;
}

static void launch_end(struct san_launch *san)
{
    struct race_launch *launch = san->own[SAN_RACECHECK];

    if (!launch)
        return;
    race_report(launch);
    race_quiet_end(launch);
    race_streams_end(launch);
    assert(!launch->past);
    for (size_t i = 0; i < launch->lent.len; i++)
        race_syncvars_fini(&launch->lent.at[i]);
    hd_vec_fini(&launch->lent);
    race_syncvars_fini(&launch->syncvars);
    race_map_destroy(launch->windows);
    hd_map_fini(&launch->polls);
    hd_map_fini(&launch->loops);
    hd_arena_fini(&launch->loops_arena);
    for (unsigned i = 0; i < RACE_PROBE_CHUNKS; i++)
        hd_free(launch->probes[i]);
    hd_lock_fini(&launch->syncvars_lock);
    hd_lock_fini(&launch->found_lock);
    hd_free(launch);
    san->own[SAN_RACECHECK] = NULL;
}

static bool launch_begin(struct san_launch *san)
{
    const struct ir_probe_launch *about = &san->about;
    const uint32_t *c = about->cluster;
    struct race_launch *launch = hd_new(struct race_launch);

    assert(!san->own[SAN_RACECHECK]);
    san->own[SAN_RACECHECK] = launch;
    if (!launch)
        return false;
    launch->san = san;
    launch->cluster = HD_MAX(c[0], 1u) * HD_MAX(c[1], 1u) * HD_MAX(c[2], 1u);
    launch->sees_cluster = launch->cluster > 1 && sees_cluster(about->kernel);
    /* Serials are 32 bits: after so many CTAs, launches are not looked at. */
    const uint64_t n = (uint64_t)about->grid[0] * about->grid[1] * about->grid[2];
    uint64_t first = atomic_fetch_add(&all.serials, n) + 1;
    launch->blind = first + n > UINT32_MAX;
    launch->base = launch->low = (uint32_t)first;
    launch->ncta = (uint32_t)n;
    launch->reach = n;
    hd_lock_init(&launch->syncvars_lock, HD_RANK_LEAF, "racecheck's places");
    hd_lock_init(&launch->found_lock, HD_RANK_LEAF, "racecheck's hazards");
    race_syncvars_init(&launch->syncvars);
    hd_map_init(&launch->found);
    hd_map_init(&launch->polls);
    hd_map_init(&launch->loops);
    hd_arena_init(&launch->loops_arena);
    if (launch->sees_cluster && !(launch->windows = race_map_create())) {
        launch_end(san);
        return false;
    }
    race_quiet_begin(launch);
    race_streams_begin(launch);
    return true;
}

/* ---- CTAs */

static bool window_begin(struct race_cta *cta, uint64_t size_B)
{
    uint32_t n = (uint32_t)((size_B + RACE_PAGE_B - 1) >> RACE_PAGE_SHIFT);

    if (n <= cta->nshared)
        return true;
    struct race_page **pages = hd_realloc(cta->shared, n * sizeof(struct race_page *));
    if (!pages)
        return false;
    cta->shared = pages;
    while (cta->nshared < n) {
        if (!(pages[cta->nshared] = race_page_create()))
            return false;
        cta->nshared++;
    }
    return true;
}

static void threads_begin(struct race_cta *cta)
{
    assert(cta->nthreads && cta->nthreads <= RACE_THREADS_MAX);
    cta->floor = cta->top = 1;
    for (uint32_t t = 0; t < cta->nthreads; t++)
        cta->epoch[t] = race_epoch(cta->serial, t, 1);
    san_bars_init(&cta->bars, cta->nthreads);
    race_syncvars_init(&cta->syncvars);
}

static bool cta_begin(struct san_cta *san)
{
    struct race_launch *launch = san->launch->own[SAN_RACECHECK];
    struct race_cta *cta = launch->blind ? NULL : race_cta_take();

    san->own[SAN_RACECHECK] = cta;
    if (launch->blind)
        return true;
    if (!cta)
        return false;
    assert(san->base->index < launch->ncta);
    cta->launch = launch;
    cta->san = san;
    cta->serial = launch->base + (uint32_t)san->base->index;
    cta->nthreads = san->launch->nthreads;
    cta->nwarps = (cta->nthreads + SAN_LANES - 1) / SAN_LANES;
    threads_begin(cta);
    if (!launch->windows && !window_begin(cta, san->launch->about.shared_B)) {
        san->own[SAN_RACECHECK] = NULL;
        race_cta_give(cta);
        return false;
    }
    return true;
}

/* As new, but for what was allocated. */
static void warp_end(struct race_cta *cta, uint32_t w)
{
    struct race_warp *warp = &cta->warps[w];
    uint32_t used = warp->pending | warp->knowing | warp->fences | warp->copying;
    struct race_know know = warp->know;

    for (uint32_t m = cta->threads ? used : 0; m; m &= m - 1) {
        struct race_thread *t = &cta->threads[w * SAN_LANES + (uint32_t)__builtin_ctz(m)];
        race_know_clear(&t->know);
        race_know_clear(&t->waits);
        t->pending.how = RACE_PEND_NONE;
        t->copies.len = 0;
        t->group = 0;
        memset(t->fence, 0, sizeof t->fence);
    }
    race_know_clear(&know);
    memset(warp, 0, sizeof *warp);
    warp->know = know;
}

static void syncvars_end(struct race_cta *cta)
{
    struct race_launch *launch = cta->launch;
    bool kept = false;

    if (cta->lent) {
        hd_lock_acquire(&launch->syncvars_lock);
        kept = hd_vec_push(&launch->lent, cta->syncvars);
        hd_lock_release(&launch->syncvars_lock);
    }
    /* Without memory to keep them they stay where they are: nobody may be left with a dead one. */
    if (!kept && !cta->lent)
        race_syncvars_fini(&cta->syncvars);
    race_syncvars_init(&cta->syncvars);
}

static void cta_end(struct san_cta *san)
{
    struct race_cta *cta = san->own[SAN_RACECHECK];

    if (!cta)
        return;
    for (uint32_t w = 0; w < cta->nwarps; w++)
        warp_end(cta, w);
    race_know_clear(&cta->know);
    syncvars_end(cta);
    race_products_end(cta);
    race_tensor_end(cta);
    memset(cta->known, 0, sizeof cta->known);
    memset(cta->fenced, 0, sizeof cta->fenced);
    memset(cta->arrived_at, 0, sizeof cta->arrived_at);
    cta->blind = cta->fences = cta->lent = false;
    san->own[SAN_RACECHECK] = NULL;
    race_cta_give(cta);
}

static void cta_free(struct race_cta *cta)
{
    for (uint32_t t = 0; cta->threads && t < RACE_THREADS_MAX; t++) {
        hd_vec_fini(&cta->threads[t].copies);
        race_know_fini(&cta->threads[t].know);
        race_know_fini(&cta->threads[t].waits);
    }
    for (uint32_t w = 0; w < SAN_WARPS; w++)
        race_know_fini(&cta->warps[w].know);
    race_know_fini(&cta->know);
    for (uint32_t i = 0; i < cta->nshared; i++)
        race_page_destroy(cta->shared[i]);
    race_products_free(cta);
    race_tensor_free(cta);
    hd_free(cta->shared);
    hd_free(cta->threads);
    hd_free(cta);
}

/* Shadow stays: workers may still be at it when a process ends. */
static void finish(void)
{
    for (struct race_cta *cta; hd_lock_acquire(&all.lock), cta = all.free, cta != NULL;) {
        all.free = cta->next;
        hd_lock_release(&all.lock);
        cta_free(cta);
    }
    hd_lock_release(&all.lock);
}

static unsigned probes_wanted(void)
{
    return IR_PROBE_SHARED | IR_PROBE_SYNC | IR_PROBE_VALUES | IR_PROBE_TENSOR |
           (san_options()->racecheck_global ? IR_PROBE_GLOBAL : 0u);
}

const struct san_tool san_racecheck = {
    .id = SAN_RACECHECK,
    .probes = IR_PROBE_GLOBAL | IR_PROBE_SHARED | IR_PROBE_SYNC | IR_PROBE_VALUES | IR_PROBE_TENSOR,
    .wants = probes_wanted,
    .start = start,
    .launch_begin = launch_begin,
    .launch_end = launch_end,
    .cta_begin = cta_begin,
    .cta_end = cta_end,
    .access = race_access,
    .sync = race_sync,
    .tensor = race_tensor,
    .events = SAN_MEMORY_EVENTS | HEDDLE_KIND(DRIVER) | HEDDLE_KIND(RUNTIME) | HEDDLE_KIND(RETIRED),
    .host = race_streams_host,
    .finish = finish,
};
