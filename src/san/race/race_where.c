/*
 * Where an address is: in whose window, at which page of shadow, and by which key the place that
 * synchronises there is found.
 */
#include "san/race/race.h"

/* ---- CTAs of the cluster */

uint32_t race_peer(const struct race_cta *cta, uint32_t rank)
{
    return cta->launch->base + (uint32_t)san_peer(cta->san, rank);
}

bool race_same_cluster(const struct race_cta *cta, uint32_t serial)
{
    for (uint32_t rank = 0; rank < cta->launch->cluster; rank++)
        if (race_peer(cta, rank) == serial)
            return true;
    return false;
}

/* ---- addresses */

struct race_where race_where(const struct race_cta *cta, enum ir_space space, uint64_t address,
                             uint32_t peer)
{
    const struct race_launch *launch = cta->launch;

    if (!ir_space_is_shared(space))
        return (struct race_where){address, false};
    uint32_t owner = peer ? race_peer(cta, peer - 1) : cta->serial;
    uint64_t offset = address & (IR_CLUSTER_STRIDE_B - 1);
    return (struct race_where){(uint64_t)1 << 63 | (uint64_t)owner << IR_CLUSTER_SHIFT | offset,
                               !launch->sees_cluster};
}

struct race_page *race_page_of(const struct race_cta *cta, enum ir_space space, uint64_t address,
                               uint32_t peer, bool *locks)
{
    *locks = space != IR_SPACE_SHARED || cta->launch->windows;
    if (!*locks) {
        uint64_t i = address >> RACE_PAGE_SHIFT;
        return i < cta->nshared ? cta->shared[i] : NULL; /* outside: memcheck's */
    }
    if (space != IR_SPACE_SHARED) {
        struct race_page *page = race_map_page(race_global(), address);
        if (page && atomic_load_explicit(&page->touched, memory_order_relaxed) != cta->launch->base)
            atomic_store_explicit(&page->touched, cta->launch->base, memory_order_relaxed);
        return page;
    }
    uint32_t owner = peer ? race_peer(cta, peer - 1) : cta->serial;
    uint64_t window = (uint64_t)(owner - cta->launch->base) * IR_CLUSTER_STRIDE_B;
    return race_map_page(cta->launch->windows, window + (address & (IR_CLUSTER_STRIDE_B - 1)));
}
