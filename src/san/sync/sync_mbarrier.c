/*
 * Barriers in shared memory. What their words say is read as the operation comes, before it
 * happens; what is kept is which places were initialised, and which phases somebody waited for.
 *
 * A place may be initialised again without mbarrier.inval, because programs do, but not while a
 * phase has begun.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "model/mbarrier.h"
#include "san/options.h"
#include "san/sync/sync.h"

enum { COUNT_MAX = (1 << IR_MBARRIER_COUNT_BITS) - 1 };

struct location {
    uint32_t rank;   /* whose window */
    uint64_t offset; /* in it */
    const uint64_t *word;
    uint64_t key;
    bool is_own; /* the map of the CTA has it */
};

void sync_mbars_fini(struct hd_map *mbars)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(mbars, &it))
        hd_free(it.value);
    hd_map_fini(mbars);
}

/* From the window of rank 0 on where kernels look into others, else from the own one. */
static bool from_windows(const struct sync_cta *cta, const struct san_sync *sync, uint64_t *at)
{
    const struct san_cta *san = cta->san;
    const uint32_t *c = san->launch->about.cluster;
    uint64_t first = (uintptr_t)san->base->shared, reach = san->launch->about.shared_B;

    if (ir_space_is_shared(sync->probe->mem.space))
        return true;
    if (cta->launch->sees_cluster) {
        first -= san->rank * IR_CLUSTER_STRIDE_B;
        reach = (uint64_t)c[0] * c[1] * c[2] * IR_CLUSTER_STRIDE_B;
    }
    *at -= first;
    return *at < reach;
}

static uint64_t first_cta_of_cluster(const struct sync_cta *cta)
{
    const struct ir_probe_launch *l = &cta->san->launch->about;
    const uint32_t *id = cta->san->base->ctaid;

    assert(l->cluster[0] && l->cluster[1] && l->cluster[2]);
    return id[0] - id[0] % l->cluster[0] +
           (uint64_t)l->grid[0] * (id[1] - id[1] % l->cluster[1] +
                                   (uint64_t)l->grid[1] * (id[2] - id[2] % l->cluster[2]));
}

/* False: not in a window; memcheck's affair. */
static bool find(const struct sync_cta *cta, const struct san_sync *sync, uint64_t address,
                 struct location *out)
{
    const struct san_cta *san = cta->san;
    uint64_t at = address;

    if (!san->base->shared || !from_windows(cta, sync, &at))
        return false;
    out->rank = cta->launch->sees_cluster ? (uint32_t)(at >> IR_CLUSTER_SHIFT) : san->rank;
    out->offset = at & (IR_CLUSTER_STRIDE_B - 1);
    if (out->offset % IR_MBARRIER_B || out->rank >= IR_CLUSTER_MAX_CTAS ||
        out->offset + IR_MBARRIER_B > san->launch->about.shared_B)
        return false;
    int64_t apart = ((int64_t)out->rank - (int64_t)san->rank) * (int64_t)IR_CLUSTER_STRIDE_B;
    out->word = (const uint64_t *)(const void *)(san->base->shared + apart + (int64_t)out->offset);
    out->is_own = !cta->launch->sees_cluster;
    out->key = out->offset;
    if (!out->is_own)
        out->key |= (first_cta_of_cluster(cta) * IR_CLUSTER_MAX_CTAS + out->rank)
                    << IR_CLUSTER_SHIFT;
    return true;
}

/* ---- the word */

static uint64_t word_of(const struct location *p)
{
    return __atomic_load_n(p->word, __ATOMIC_RELAXED);
}
static uint32_t needs(uint64_t word)
{
    return (uint32_t)(word & COUNT_MAX);
}
static uint32_t needs_yet(uint64_t word)
{
    return (uint32_t)(word >> IR_MBARRIER_PENDING_AT & COUNT_MAX);
}
static bool parity_of(uint64_t word)
{
    return word >> 63;
}

/* ---- rules */

static void report_at(struct sync_cta *cta, const struct san_sync *sync, uint32_t lane,
                      enum sync_error error, const struct location *p, const char *more)
{
    sync_report(cta, error, sync->probe, sync->warp, 1u << lane,
                "Barrier is located at shared address 0x%llx%s", (unsigned long long)p->offset,
                more);
}

static void init(struct sync_cta *cta, const struct san_sync *sync, uint32_t lane,
                 const struct location *p, struct hd_map *map)
{
    assert(p->is_own || hd_lock_held(&cta->launch->lock));
    struct sync_mbar *mbar = hd_map_get_u64(map, p->key);
    uint64_t count = (uint32_t)san_operand(sync, 1, lane, 0), word = word_of(p);

    if (!count || count > COUNT_MAX)
        report_at(cta, sync, lane, SYNC_ARGUMENTS, p, ": a count of 0, or of more than 1048575");
    /* Else somebody used the memory for something else in between. */
    bool is_mbarrier = mbar && needs(word) && needs_yet(word) <= needs(word);
    if (is_mbarrier && mbar->parity == parity_of(word) && needs_yet(word) != needs(word))
        report_at(cta, sync, lane, SYNC_IN_USE, p, ": some threads have arrived");
    if (!mbar) {
        if (!(mbar = hd_new(struct sync_mbar)))
            return;
        if (!hd_map_put_u64(map, p->key, mbar)) {
            hd_free(mbar);
            return;
        }
    }
    *mbar = (struct sync_mbar){0};
}

static void inval(const struct location *p, struct hd_map *map)
{
    struct sync_mbar *mbar = hd_map_get_u64(map, p->key);

    hd_map_remove_u64(map, p->key);
    hd_free(mbar);
}

static enum hd_status use(struct sync_cta *cta, const struct san_sync *sync, uint32_t lane,
                          const struct location *p, struct hd_map *map, enum ir_mbarrier op)
{
    struct sync_mbar *mbar = hd_map_get_u64(map, p->key);
    uint32_t n = (uint32_t)san_operand(sync, 1, lane, 0); /* arrivals */

    assert(p->is_own || hd_lock_held(&cta->launch->lock));
    if (!mbar) {
        report_at(cta, sync, lane, SYNC_INIT, p, "");
        return san_options()->missing_init_is_fatal ? HD_TRAP : HD_OK;
    }
    /* A phase that ended is followed by another end, and nobody asked in between. */
    if (parity_of(word_of(p)) != mbar->parity) {
        mbar->parity = !mbar->parity;
        if (mbar->phased && !mbar->waited)
            report_at(cta, sync, lane, SYNC_WAIT, p, ": two phases have ended without one");
        mbar->phased = true;
        mbar->waited = false;
    }
    if (ir_mbarrier_tests(op))
        mbar->waited = true;
    if (ir_mbarrier_arrives(op) && (!n || n > needs_yet(word_of(p))))
        report_at(cta, sync, lane, SYNC_ARGUMENTS, p,
                  n ? ": more arrivals than the phase needs" : ": no arrivals");
    return HD_OK;
}

/* ---- one lane */

static enum hd_status at_location(struct sync_cta *cta, const struct san_sync *sync, uint32_t lane,
                                  uint64_t address)
{
    enum ir_mbarrier op = ir_mbarrier_of_cast((enum ir_mbarrier)ir_probe_its_imm(sync->probe));
    struct sync_launch *launch = cta->launch;
    enum hd_status status = HD_OK;
    struct location p;

    if (!find(cta, sync, address, &p))
        return HD_OK;
    struct hd_map *map = p.is_own ? &cta->mbars : &launch->mbars;
    if (!p.is_own)
        hd_lock_acquire(&launch->lock);
    if (op == IR_MBARRIER_INIT)
        init(cta, sync, lane, &p, map);
    else if (op == IR_MBARRIER_INVAL)
        inval(&p, map);
    else
        status = use(cta, sync, lane, &p, map, op);
    if (!p.is_own)
        hd_lock_release(&launch->lock);
    return status;
}

static enum hd_status one_lane(struct sync_cta *cta, const struct san_sync *sync, uint32_t lane)
{
    enum ir_mbarrier op = (enum ir_mbarrier)ir_probe_its_imm(sync->probe);
    uint64_t address = san_operand(sync, 0, lane, 0);
    enum hd_status status = HD_OK;

    if (ir_mbarrier_of_cast(op) == op || !cta->launch->sees_cluster)
        return at_location(cta, sync, lane, address);
    for (uint32_t m = san_operand(sync, 1, lane, 0) >> 32 & 0xffff; m; m &= m - 1) {
        enum hd_status said =
            at_location(cta, sync, lane, ir_cluster_address(address, (uint32_t)__builtin_ctz(m)));
        status = status == HD_OK ? said : status;
    }
    return status;
}

enum hd_status sync_mbarrier(struct sync_cta *cta, const struct san_sync *sync)
{
    enum hd_status status = HD_OK;

    for (uint32_t m = sync->lanes; m; m &= m - 1) {
        enum hd_status said = one_lane(cta, sync, (uint32_t)__builtin_ctz(m));
        status = status == HD_OK ? said : status;
    }
    return status;
}
