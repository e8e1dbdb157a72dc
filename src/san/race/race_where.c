/*
 * Where an address is: in whose window, at which page of shadow, and by which key the place that
 * synchronises there is found.
 */
#include <assert.h>

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

struct race_page *race_window_page(const struct race_cta *cta, uint64_t address, uint32_t peer)
{
    uint32_t owner = peer ? race_peer(cta, peer - 1) : cta->serial;
    uint64_t window = (uint64_t)(owner - cta->launch->base) * IR_CLUSTER_STRIDE_B;

    assert(cta->launch->windows && owner - cta->launch->base < cta->launch->ncta);
    return race_map_page(cta->launch->windows, window + (address & (IR_CLUSTER_STRIDE_B - 1)));
}
