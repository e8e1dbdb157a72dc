/* One CTA: its memory, its warps, its barriers. */
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "dev/cpu/fault/fault.h"

/*
 * Where the first thread's local window starts. Windows are a multiple of what their variables
 * want: the size tells it.
 */
static uint64_t cta_local_align_B(const struct jit_launch *launch)
{
    uint64_t wanted_B = launch->local_B & -launch->local_B;

    return HD_MAX(128u, HD_MIN(wanted_B, IR_LOCAL_ALIGN_MAX_B));
}

/*
 * A processor compares the addresses of loads and earlier stores by their lowest twelve bits first:
 * a load of a spilled value waits for a store to shared memory that has the same ones (Intel's
 * Optimization Reference Manual, "4-KByte aliasing"; a histogram took 1.2 times as long). So the
 * window starts at the place in its page up to which the stack of compiled code reaches: the two
 * have no such addresses in common while both fit into a page.
 */
enum { ALIASING_B = 4096 };

static char *cta_shared_beside_stack(char *start)
{
    uintptr_t stack = hd_align_up((uintptr_t)__builtin_frame_address(0), IR_SHARED_ALIGN_B);

    return start + ((stack - (uintptr_t)start) & (ALIASING_B - 1));
}

/* Every part starts on a 128-byte boundary; the whole starts on a page. */
struct cpu_cta_layout cpu_cta_layout_of(const struct jit_code *code,
                                        const struct jit_launch *launch)
{
    uint64_t nwarps = launch->nwarps;
    struct cpu_cta_layout at;

    at.warps = hd_align_up(sizeof(struct cpu_cta), 128);
    at.alive_seen = hd_align_up(at.warps + nwarps * sizeof(struct jit_warp), 128);
    at.opened_seen = at.alive_seen + nwarps * sizeof(uint32_t);
    at.frames = hd_align_up(at.opened_seen + nwarps * sizeof(uint32_t), 128);
    at.shared = hd_align_up(at.frames + nwarps * code->frame_B, IR_SHARED_ALIGN_B);
    at.local = hd_align_up(at.shared + ALIASING_B + launch->shared_B + CPU_SHARED_SPARE_B,
                           cta_local_align_B(launch));
    at.end = hd_align_up(at.local + nwarps * 32 * launch->local_B + 128, 4096);
    return at;
}

struct cpu_cta *cpu_cta_create(size_t block_B)
{
    void *block = mmap(NULL, block_B, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (block == MAP_FAILED)
        return NULL;
    ((struct cpu_cta *)block)->block_B = block_B;
    return block;
}

void cpu_cta_destroy(struct cpu_cta *cta)
{
    if (!cta)
        return;
    cpu_fibers_release(cta);
    cpu_inplace_release(cta);
    hd_free(cta->cta.tensor);
    munmap(cta, cta->block_B);
}

static void cta_start_warps(struct cpu_cta *cta)
{
    const struct jit_launch *launch = cta->cta.launch;
    const struct jit_code *code = cta->code;
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    char *frames = cta->cta.frames;

    memset(frames, 0, launch->nwarps * code->frame_B);
    for (uint32_t w = 0; w < launch->nwarps; w++) {
        struct jit_warp *warp = &cta->cta.warps[w];
        uint32_t lanes = HD_MIN(threads - w * 32, 32u);

        warp->index = w;
        warp->alive = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
        warp->state = 0;
        warp->polls = 0;
        warp->frame = frames + w * code->frame_B;
        cta->alive_seen[w] = warp->alive;
        cta->opened_seen[w] = 0;
    }
    cta->remaining = launch->nwarps;
    cta->cta.live_threads = threads;
}

/* The state of warps and barriers at the start. */
static void cta_reset(struct cpu_cta *cta)
{
    const struct jit_code *code = cta->code;

    cta->cta.opened = 0;
    cta->dog = (struct hal_watchdog){0};
    cta->running = NULL;
    if (HD_UNLIKELY(cta->fibers || cta->inplace)) {
        /* What the last CTA left that was given up half way. */
        if (cta->fibers)
            cpu_fibers_release(cta);
        cpu_inplace_release(cta);
    }
    if (code->form == JIT_INTERP)
        cta->remaining = 1; /* the CTA as a whole */
    else if (!code->run_cta)
        cta_start_warps(cta);
    if (code->has_barrier) {
        memset(cta->cta.bars, 0, sizeof(cta->cta.bars));
        memset(cta->expected, 0, sizeof(cta->expected));
        if (!code->simple_barriers) {
            memset(cta->arrived, 0, sizeof(cta->arrived));
            memset(cta->at_cluster, 0, sizeof(cta->at_cluster));
            cta->cluster = &cta->alone;
            cta->alone =
                (struct cpu_cluster){.ctas = {cta}, .nctas = 1, .live = cta->cta.live_threads};
        }
    }
}

/* Rows of CTAs that a tiled order takes together. */
#define TILE_ROWS 16u

/*
 * Kernels that loop over tiles (loops and barriers on a two-dimensional grid): a column of
 * TILE_ROWS CTAs before the next column, so that what CTAs of one column share is still in the
 * caches. Others mostly stream along rows. Kernels that spin may wait for lower indices and keep
 * the plain order.
 */
bool cpu_grid_is_tiled(const struct jit_code *code, const struct jit_launch *launch)
{
    return code->has_barrier && !code->may_spin && code->cost_ops == UINT64_MAX &&
           launch->grid[1] > 1;
}

static void cta_placement(struct cpu_cta *cta, uint64_t index)
{
    const uint32_t *grid = cta->cta.launch->grid;
    uint64_t plane, in_plane;

    if (!index) { /* small grids need no division */
        memset(cta->cta.ctaid, 0, sizeof(cta->cta.ctaid));
        return;
    }
    plane = (uint64_t)grid[0] * grid[1];
    in_plane = index % plane;
    cta->cta.ctaid[2] = (uint32_t)(index / plane);
    if (cta->job->tiled) {
        uint64_t strip = (uint64_t)grid[0] * TILE_ROWS, at = in_plane % strip;
        uint32_t row = (uint32_t)(in_plane / strip) * TILE_ROWS;
        uint32_t rows = HD_MIN(TILE_ROWS, grid[1] - row);
        cta->cta.ctaid[0] = (uint32_t)(at / rows);
        cta->cta.ctaid[1] = row + (uint32_t)(at % rows);
        return;
    }
    cta->cta.ctaid[0] = (uint32_t)(in_plane % grid[0]);
    cta->cta.ctaid[1] = (uint32_t)(in_plane / grid[0]);
}

static void cta_prepare(struct cpu_cta *cta, struct cpu_job *job, const struct cpu_form *form,
                        uint32_t smid)
{
    const struct cpu_cta_layout *at = &form->layout;
    char *base = (char *)cta;

    assert(cta->block_B >= at->end);
    cta->job = job;
    cta->code = form->code;
    cta->order = NULL;
    cta->cta.launch = &job->launch;
    cta->cta.smid = smid;
    cta->cta.shared = cta->cta.cluster = cta_shared_beside_stack(base + at->shared);
    cta->cta.cluster_rank = 0;
    cta->cta.local = base + at->local;
    cta->cta.frames = base + at->frames;
    cta->cta.warps = (struct jit_warp *)(base + at->warps);
    cta->alive_seen = (uint32_t *)(base + at->alive_seen);
    cta->opened_seen = (uint32_t *)(base + at->opened_seen);
    cta_reset(cta);
}

void cpu_cta_start(struct cpu_cta *cta, struct cpu_job *job, const struct cpu_form *form,
                   uint32_t smid, uint64_t index)
{
    assert(index < atomic_load(&job->total) && job->launch.cluster_ctas == 1);
    cta_prepare(cta, job, form, smid);
    cta->index = index;
    cta_placement(cta, index);
}

/* Clusters in the order of their numbers, .x first, and so their CTAs. */
static void cta_placement_in(struct cpu_cta *cta, uint64_t index, uint32_t rank)
{
    const struct jit_launch *launch = cta->cta.launch;

    for (unsigned i = 0; i < 3; i++) {
        uint32_t n = launch->cluster[i], clusters = launch->grid[i] / n;
        cta->cta.ctaid[i] = (uint32_t)(index % clusters) * n + rank % n;
        index /= clusters;
        rank /= n;
    }
    assert(!index && !rank);
}

void cpu_cta_start_in(struct cpu_cluster *cluster, uint32_t rank, struct cpu_job *job,
                      const struct cpu_form *form, uint32_t smid, uint64_t index)
{
    struct cpu_cta *cta = cluster->ctas[rank];

    assert(cluster->windows && rank < cluster->nctas);
    cta_prepare(cta, job, form, smid);
    cta->index = index * cluster->nctas + rank;
    cta_placement_in(cta, index, rank);
    cta->cluster = cluster;
    cta->cta.cluster = cluster->windows;
    cta->cta.cluster_rank = rank;
    cta->cta.shared = cluster->windows + rank * IR_CLUSTER_STRIDE_B;
    if (form->code->run_cta)
        cta->remaining = 1; /* the CTA as a whole */
}

/* In the order in which CTAs start. */
static inline void cta_advance(struct cpu_cta *cta)
{
    const uint32_t *grid = cta->cta.launch->grid;
    uint32_t *id = cta->cta.ctaid;

    cta->index++;
    if (cta->job->tiled) {
        cta_placement(cta, cta->index);
    } else if (++id[0] == grid[0]) {
        id[0] = 0;
        if (++id[1] == grid[1]) {
            id[1] = 0;
            id[2]++;
        }
    }
}

/* Everything that arrived at barrier `id` goes on. */
static void cta_barrier_open(struct jit_cta *cta, unsigned id)
{
    struct jit_barrier *bar = &cta->bars[id];

    assert(id < JIT_NBARRIERS);
    bar->result_votes = bar->votes;
    bar->result_arrived = bar->arrived;
    bar->arrived = bar->votes = 0;
    bar->generation++;
    cta->opened++;
}

/*
 * A barrier's count is in whole warps (PTX ISA, bar): one all of whose live threads have arrived
 * counts as 32, whatever it lacks.
 */
static uint32_t cta_counted_arrivals(const struct cpu_cta *cta, unsigned id)
{
    uint32_t nwarps = cta->cta.launch->nwarps, sum = 0;

    assert(id < JIT_NBARRIERS && cta->cta.live_threads <= nwarps * 32);
    if (!cta->expected[id] || cta->cta.live_threads == nwarps * 32)
        return cta->cta.bars[id].arrived;
    for (uint32_t w = 0; w < nwarps; w++) {
        uint32_t n = cta->arrived[id][w];
        bool all = n && n >= (uint32_t)__builtin_popcount(cta->cta.warps[w].alive);
        sum += all ? HD_MAX(n, 32u) : n;
    }
    return sum;
}

void cpu_cta_open_barriers(struct cpu_cta *cta)
{
    for (unsigned id = 0; id < JIT_NBARRIERS; id++) {
        const struct jit_barrier *bar = &cta->cta.bars[id];
        uint32_t expected = cta->expected[id] ? cta->expected[id] : cta->cta.live_threads;

        if (!bar->arrived || cta_counted_arrivals(cta, id) < expected)
            continue;
        cta_barrier_open(&cta->cta, id);
        memset(cta->arrived[id], 0, sizeof(cta->arrived[id]));
    }
}

/* Runs one warp until it stops and accounts for lanes that ended. */
static enum jit_stop cta_warp_run(struct cpu_cta *cta, uint32_t w)
{
    struct jit_warp *warp = &cta->cta.warps[w];
    uint32_t ended;

    cta->opened_seen[w] = cta->cta.opened;
    cta->running = warp;
    warp->state =
        cta->code->waits_in_calls ? cpu_fiber_run(cta, w) : cta->code->run(&cta->cta, warp);
    if (warp->state == JIT_DONE) {
        assert(cta->remaining > 0);
        warp->alive = 0;
        cta->remaining--;
    }
    assert(!(warp->alive & ~cta->alive_seen[w])); /* lanes do not come back */
    ended = cta->alive_seen[w] & ~warp->alive;
    if (ended) {
        cta->alive_seen[w] = warp->alive;
        cta->cta.live_threads -= (uint32_t)__builtin_popcount(ended);
        if (cta->code->has_barrier && !cta->code->simple_barriers) {
            cpu_cta_open_barriers(cta);
            cpu_cluster_ended(cta, w, ended);
        }
    }
    return JIT_STOP(warp->state);
}

static bool cta_warp_is_done(const struct cpu_cta *cta, uint32_t w)
{
    return cta->alive_seen[w] == 0;
}

/*
 * All barriers are __syncthreads: regions run warp after warp. This is the inner loop of most
 * kernels with barriers, so it does no accounting; a warp that is done has state 0, as it had at
 * the start, which is why the first round is apart.
 */
static void cta_run_simple(struct cpu_cta *cta)
{
    uint32_t (*run)(struct jit_cta *, struct jit_warp *) = cta->code->run;
    struct jit_warp *warps = cta->cta.warps, *end = warps + cta->cta.launch->nwarps;
    uint32_t waiting = 0;

    for (struct jit_warp *warp = warps; warp < end; warp++) {
        cta->running = warp;
        waiting |= warp->state = run(&cta->cta, warp);
    }
    while (waiting) {
        cta_barrier_open(&cta->cta, 0);
        waiting = 0;
        for (struct jit_warp *warp = warps; warp < end; warp++) {
            if (!warp->state)
                continue;
            cta->running = warp;
            waiting |= warp->state = run(&cta->cta, warp);
        }
    }
}

/* The same in the order of a schedule. */
static void cta_run_ordered(struct cpu_cta *cta)
{
    uint32_t waiting = 1;

    for (bool first = true; waiting; first = false) {
        waiting = 0;
        for (uint32_t i = 0; i < cta->cta.launch->nwarps; i++) {
            struct jit_warp *warp = &cta->cta.warps[cta->order[i]];
            if (!first && !warp->state)
                continue;
            cta->running = warp;
            waiting |= warp->state = cta->code->run(&cta->cta, warp);
        }
        if (waiting)
            cta_barrier_open(&cta->cta, 0);
    }
}

static void cta_run_general(struct cpu_cta *cta)
{
    while (cta->remaining)
        if (!cpu_cta_step(cta))
            cpu_guard_leave(HD_TIMEOUT, 0); /* threads wait at barriers that can never open */
}

void cpu_cta_run(struct cpu_cta *cta)
{
    const struct jit_code *code = cta->code;

    if (code->run_cta)
        code->run_cta(&cta->cta);
    else if (code->form == JIT_INTERP)
        cpu_inplace_run(cta);
    else if (HD_UNLIKELY(cta->order) && (!code->has_barrier || code->simple_barriers))
        cta_run_ordered(cta);
    else if (!code->has_barrier || code->simple_barriers)
        cta_run_simple(cta);
    else
        cta_run_general(cta);
}

static void cta_run_watched(struct cpu_cta *cta, uint64_t n)
{
    cpu_watch_cta_begin(cta);
    for (;;) {
        cpu_cta_run(cta);
        if (!--n)
            break;
        cta_advance(cta);
        cta_reset(cta);
        if (cpu_watch_cta_next(cta))
            continue;
        cpu_watch_cta_end(cta);
        cpu_watch_cta_begin(cta);
    }
    cpu_watch_cta_end(cta);
}

void cpu_cta_run_many(struct cpu_cta *cta, uint64_t n)
{
    const struct jit_code *code = cta->code;

    assert(n > 0);
    if (HD_UNLIKELY(cta->job->watch)) {
        cta_run_watched(cta, n);
        return;
    }
    cpu_cta_run(cta);
    if (code->run_cta && !code->has_barrier) {
        /* Nothing to prepare: small CTAs take not much longer than this loop. */
        for (void (*run)(struct jit_cta *) = code->run_cta; --n;) {
            cta_advance(cta);
            run(&cta->cta);
        }
        return;
    }
    while (--n) {
        cta_advance(cta);
        cta_reset(cta);
        cpu_cta_run(cta);
    }
}

/* With simple barriers: is every warp that is not done at the barrier, waiting? */
static bool cta_all_at_barrier(const struct cpu_cta *cta)
{
    for (uint32_t w = 0; w < cta->cta.launch->nwarps; w++)
        if (!cta_warp_is_done(cta, w) && (JIT_STOP(cta->cta.warps[w].state) != JIT_BARRIER ||
                                          cta->opened_seen[w] != cta->cta.opened))
            return false;
    return true;
}

bool cpu_cta_step(struct cpu_cta *cta)
{
    bool progress = false;

    for (uint32_t i = 0; i < cta->cta.launch->nwarps; i++) {
        uint32_t w = cta->order ? cta->order[i] : i;
        uint32_t before = cta->cta.warps[w].state;

        /* A warp that polls may always run; one at a barrier when some barrier has opened since. */
        uint32_t state = cta->cta.warps[w].state;
        if (cta_warp_is_done(cta, w))
            continue;
        if (JIT_STOP(state) == JIT_BARRIER && cta->opened_seen[w] == cta->cta.opened)
            continue;
        /* Polling again in the same place is no progress. */
        if (cta_warp_run(cta, w) != JIT_YIELD || cta->cta.warps[w].state != before)
            progress = true;
    }
    if (cta->code->simple_barriers && cta->remaining && cta_all_at_barrier(cta)) {
        cta_barrier_open(&cta->cta, 0);
        progress = true;
    }
    return progress;
}
