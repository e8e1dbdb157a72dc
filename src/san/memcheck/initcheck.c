/* Accesses of kernels: writes set bits of shadows, reads look at them. */
#include "san/memcheck/initcheck.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/mbarrier.h"
#include "san/lanes.h"
#include "san/options.h"
#include "san/range.h"

/* ---- launches */

static bool initcheck_init_wants(enum san_init_space space)
{
    return san_options()->initcheck_space & (unsigned)space;
}

static bool initcheck_init_launch_begin(struct san_launch *launch)
{
    struct initcheck_launch *own = hd_new(struct initcheck_launch);
    const uint32_t *cluster = launch->about.cluster;
    struct san_memory_launch from;

    if (!own)
        return false;
    from = san_memory_of_launch(launch->about.correlation);
    own->memory = from.memory;
    own->is_late = from.is_late;
    if (!own->memory) {
        hd_free(own);
        return false;
    }
    /* Of a cluster other CTAs write as well. */
    own->checks_shared = initcheck_init_wants(SAN_INIT_SPACE_SHARED) && launch->about.shared_B &&
                         cluster[0] * cluster[1] * cluster[2] <= 1;
    launch->own[SAN_INITCHECK] = own;
    return true;
}

static void initcheck_init_launch_end(struct san_launch *launch)
{
    struct initcheck_launch *own = launch->own[SAN_INITCHECK];

    if (!own)
        return;
    san_memory_unref(own->memory);
    hd_free(own);
    launch->own[SAN_INITCHECK] = NULL;
}

static bool initcheck_init_cta_begin(struct san_cta *cta)
{
    if (!initcheck_launch_of(cta)->checks_shared)
        return true;
    cta->own[SAN_INITCHECK] = san_shadow_create(cta->launch->about.shared_B);
    return cta->own[SAN_INITCHECK] != NULL;
}

static void initcheck_init_cta_end(struct san_cta *cta)
{
    struct san_shadow *shadow = cta->own[SAN_INITCHECK];

    if (shadow && san_options()->track_unused_memory && !cta->launch->is_quiet)
        initcheck_unused_shared(cta, shadow);
    san_shadow_destroy(shadow);
    cta->own[SAN_INITCHECK] = NULL;
}

/* ---- what is said */

/* `base`: address of the shadow's first byte; 0 of shared memory. */
struct region {
    const struct san_block *block; /* NULL: shared memory */
    struct san_shadow *shadow;
    uint64_t base;
};

static void initcheck_init_say_bytes(struct san_finding *f, const struct region *region,
                                     uint64_t va, uint64_t size_B)
{
    uint64_t at = va - region->base,
             missing = size_B - san_shadow_count(region->shadow, at, size_B);
    uint64_t first = san_shadow_first_clear(region->shadow, at, size_B);

    san_detail(f, "Address 0x%llx", (unsigned long long)va);
    if (missing < size_B)
        san_detail(f, "%llu of %llu bytes are not initialised, the first at 0x%llx",
                   (unsigned long long)missing, (unsigned long long)size_B,
                   (unsigned long long)(region->base + first));
    if (!region->block)
        return;
    san_detail(f, "in the allocation at 0x%llx of size %llu bytes",
               (unsigned long long)region->block->base, (unsigned long long)region->block->size_B);
    f->allocated = &region->block->allocated;
}

static void initcheck_init_report(const struct san_cta *cta, const struct san_access *a,
                                  uint32_t lane, const struct region *region)
{
    const char *space = region->block ? "global" : "shared";
    struct san_finding f = {.tool = "initcheck",
                            .kind = "uninitialized-read",
                            .severity = SAN_ERROR,
                            .actors = {{.cta = cta, .at = a->probe, .warp = a->warp, .lane = lane}},
                            .nactors = 1,
                            .address = a->address[lane],
                            .has_address = true,
                            .launch = cta->launch,
                            .count = 1,
                            .space = space,
                            .direction = a->what == SAN_ATOMIC ? "atomic" : "read",
                            .size_B = a->size_B};

    assert(a->lanes >> lane & 1);
    snprintf(f.title, sizeof(f.title), "Uninitialized __%s__ memory read of size %llu bytes", space,
             (unsigned long long)a->size_B);
    initcheck_init_say_bytes(&f, region, a->address[lane], a->size_B);
    san_report(&f);
}

/* ---- accesses */

static bool initcheck_init_is_missing(const struct region *region, uint64_t va, uint64_t size_B)
{
    uint64_t at = va - region->base;

    if (HD_LIKELY(size_B <= 64))
        return san_shadow_missing(region->shadow, at, (unsigned)size_B);
    return san_shadow_first_clear(region->shadow, at, size_B) < at + size_B;
}

/* Lanes that read something that nobody wrote. Neighbours often read the same. */
static uint32_t initcheck_init_lanes_missing(const struct san_access *a,
                                             const struct region *region)
{
    uint64_t last = 0;
    uint32_t result = 0;
    bool missing = false, any = false;

    san_foreach_lane(lane, a->lanes) {
        if (!any || a->address[lane] != last)
            missing = initcheck_init_is_missing(region, a->address[lane], a->size_B);
        last = a->address[lane];
        any = true;
        result |= (uint32_t)missing << lane;
    }
    return result;
}

static void initcheck_init_look(const struct san_cta *cta, const struct san_access *a,
                                const struct region *region)
{
    uint32_t missing;

    if (cta->launch->is_quiet || (region->block && initcheck_launch_of(cta)->is_late))
        return;
    missing = initcheck_init_lanes_missing(a, region);
    san_foreach_lane(lane, missing)
        initcheck_init_report(cta, a, lane, region);
}

static bool initcheck_init_reads(const struct san_access *a)
{
    bool makes_barrier = ir_probe_op(a->probe) == IR_OP_MBARRIER &&
                         ir_mbarrier_begins((enum ir_mbarrier)ir_probe_its_imm(a->probe));

    return a->what != SAN_WRITE && !makes_barrier;
}

/* All lanes lie in the shadow's memory. */
static void initcheck_init_access_in(const struct san_cta *cta, const struct san_access *a,
                                     const struct region *region)
{
    uint64_t va, size_B;

    if (san_lanes_are_range(a, &va, &size_B)) {
        uint64_t at = va - region->base;

        if (initcheck_init_reads(a) &&
            HD_UNLIKELY(san_shadow_first_clear(region->shadow, at, size_B) < at + size_B))
            initcheck_init_look(cta, a, region);
        if (a->what != SAN_READ)
            san_shadow_set(region->shadow, at, size_B);
        return;
    }
    if (initcheck_init_reads(a))
        initcheck_init_look(cta, a, region);
    if (a->what != SAN_READ) {
        san_foreach_lane(lane, a->lanes)
            san_shadow_set(region->shadow, a->address[lane] - region->base, a->size_B);
    }
}

/* How far around an access memory is initialised, so that it need not be looked at any more. */
enum { RUN_WORTH_B = 4096 };

static void initcheck_init_range_find(const struct san_cta *cta, const struct san_access *a,
                                      struct san_block *block)
{
    struct san_shadow *shadow = initcheck_shadow(block);
    uint64_t at = a->address[__builtin_ctz(a->lanes)] - block->base, first, end;

    assert(at < block->size_B && (!shadow || shadow->size_B == block->size_B));
    if (!shadow || san_shadow_is_full(shadow)) {
        san_range_set(cta, a, block->base, block->size_B);
        return;
    }
    end = san_shadow_first_clear(shadow, at, shadow->size_B - at);
    if (end == at)
        return;
    first = san_shadow_run_begin(shadow, at);
    if (end - first >= RUN_WORTH_B)
        san_range_set(cta, a, block->base + first, end - first);
}

static void initcheck_init_block_access(const struct san_cta *cta, const struct san_access *a,
                                        struct san_block *block)
{
    struct san_shadow *shadow = initcheck_shadow(block);
    const struct region region = {block, shadow, block->base};

    if (shadow)
        initcheck_init_access_in(cta, a, &region);
}

/* The first access of a place in a launch, and those of places that change between blocks. The
 * lanes of each block by themselves. What lies in none, or leaves it, is memcheck's affair. */
static void initcheck_init_global_slow(const struct san_cta *cta, const struct san_access *a)
{
    struct initcheck_launch *own = initcheck_launch_of(cta);
    uint32_t left = a->lanes;
    struct san_access part = *a;

    while (left) {
        uint64_t va = a->address[__builtin_ctz(left)];
        struct san_block *block = san_memory_find(own->memory, va);

        part.lanes = 0;
        san_foreach_lane(lane, left) {
            uint64_t at = a->address[lane] - (block ? block->base : va);
            bool is_in = block && a->size_B <= block->size_B && at <= block->size_B - a->size_B;

            part.lanes |= (uint32_t)is_in << lane;
        }
        left &= ~part.lanes & (left - 1); /* the first is done in any case */
        if (!part.lanes)
            continue;
        atomic_store_explicit(&own->near[a->number % INITCHECK_NEAR], block, memory_order_relaxed);
        initcheck_init_block_access(cta, &part, block);
        if (san_range_is_open(cta, &part))
            initcheck_init_range_find(cta, &part, block);
    }
}

static void initcheck_init_global_access(const struct san_cta *cta, const struct san_access *a)
{
    struct initcheck_launch *own = initcheck_launch_of(cta);
    struct san_block *block =
        atomic_load_explicit(&own->near[a->number % INITCHECK_NEAR], memory_order_relaxed);

    if (HD_LIKELY(block && san_lanes_are_in(a, block->base, block->size_B)))
        initcheck_init_block_access(cta, a, block);
    else
        initcheck_init_global_slow(cta, a);
}

static void initcheck_init_shared_access(const struct san_cta *cta, const struct san_access *a)
{
    struct san_shadow *shadow = cta->own[SAN_INITCHECK];
    const struct region region = {NULL, shadow, 0};

    if (shadow && !a->peer && san_lanes_are_in(a, 0, shadow->size_B))
        initcheck_init_access_in(cta, a, &region);
}

static enum hd_status initcheck_init_access(struct san_cta *cta, const struct san_access *a)
{
    assert(a->lanes && a->size_B);
    if ((a->space == IR_SPACE_GLOBAL || a->space == IR_SPACE_CONST) &&
        initcheck_init_wants(SAN_INIT_SPACE_GLOBAL))
        initcheck_init_global_access(cta, a);
    else if (a->space == IR_SPACE_SHARED)
        initcheck_init_shared_access(cta, a);
    return HD_OK;
}

static unsigned initcheck_init_probes_wanted(void)
{
    return (initcheck_init_wants(SAN_INIT_SPACE_GLOBAL) ? IR_PROBE_GLOBAL : 0u) |
           (initcheck_init_wants(SAN_INIT_SPACE_SHARED) ? IR_PROBE_SHARED | IR_PROBE_TENSOR : 0u);
}

static bool initcheck_init_start(void)
{
    san_memory_start(SAN_INITCHECK, initcheck_gone);
    return true;
}

const struct san_tool san_initcheck = {
    .id = SAN_INITCHECK,
    .probes = IR_PROBE_GLOBAL | IR_PROBE_SHARED | IR_PROBE_TENSOR,
    .wants = initcheck_init_probes_wanted,
    .sees_all = true,
    .start = initcheck_init_start,
    .launch_begin = initcheck_init_launch_begin,
    .launch_end = initcheck_init_launch_end,
    .cta_begin = initcheck_init_cta_begin,
    .cta_end = initcheck_init_cta_end,
    .access = initcheck_init_access,
    .events = SAN_MEMORY_EVENTS | HEDDLE_KIND(RETIRED),
    .host = initcheck_host,
    .finish = initcheck_finish,
};
