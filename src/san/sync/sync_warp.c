/*
 * Collectives of warps. Their member mask names the lanes that have to come: each with the same
 * mask, to the same kind of operation. Lanes that have ended need not.
 */
#include <assert.h>

#include "san/sync/sync.h"

/* Of the lanes that `lane` waits for, itself among them, those that are there. */
static uint32_t partners(const struct sync_warp *warp, uint32_t lane)
{
    uint32_t there = 0;

    for (uint32_t m = warp->waiting & warp->masks[lane]; m; m &= m - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(m);
        bool fits = warp->masks[other] == warp->masks[lane] &&
                    ir_probe_op(warp->at[other]) == ir_probe_op(warp->at[lane]);
        there |= (uint32_t)fits << other;
    }
    return there;
}

/* Lanes all of whose partners are there have what they came for. */
static void try_all(struct sync_cta *cta, uint32_t w)
{
    struct sync_warp *warp = &cta->warps[w];

    for (uint32_t m = warp->waiting; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m), there;
        if (!(warp->waiting >> lane & 1))
            continue; /* went with an earlier one */
        there = partners(warp, lane);
        assert(there >> lane & 1); /* its mask has itself */
        if (!(warp->masks[lane] & cta->bars.live[w] & ~there))
            warp->waiting &= ~there;
    }
}

static uint32_t mask_of(const struct san_sync *sync, uint32_t lane)
{
    return (uint32_t)san_operand(sync, 0, lane, UINT32_MAX);
}

void sync_collective(struct sync_cta *cta, const struct san_sync *sync)
{
    struct sync_warp *warp = &cta->warps[sync->warp];
    uint32_t wrong = 0;

    for (uint32_t m = sync->lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m), mask = mask_of(sync, lane);
        if (!(mask >> lane & 1)) {
            wrong |= 1u << lane;
            continue;
        }
        warp->waiting |= 1u << lane;
        warp->masks[lane] = mask;
        warp->at[lane] = sync->probe;
    }
    if (wrong)
        sync_report(cta, SYNC_ARGUMENTS, sync->probe, sync->warp, wrong,
                    "The mask 0x%08x does not have the lane that calls",
                    mask_of(sync, (uint32_t)__builtin_ctz(wrong)));
    try_all(cta, sync->warp);
}

/* They leave, or stay for ever, without lanes that their masks name. */
static void judge(struct sync_cta *cta, uint32_t w, uint32_t lanes)
{
    struct sync_warp *warp = &cta->warps[w];

    while ((lanes &= warp->waiting)) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes), there = partners(warp, lane);
        uint32_t missing = warp->masks[lane] & cta->bars.live[w] & ~there;
        assert(there >> lane & 1); /* so it leaves, and this ends */
        sync_report(cta, SYNC_WARP, warp->at[lane], w, there,
                    "Of the lanes 0x%08x of its mask 0x%08x have not come", warp->masks[lane],
                    missing);
        warp->waiting &= ~there;
    }
}

void sync_warp_go_on(struct sync_cta *cta, uint32_t warp, uint32_t lanes)
{
    if (cta->warps[warp].waiting & lanes)
        judge(cta, warp, lanes);
}

void sync_warp_end(struct sync_cta *cta, uint32_t warp)
{
    try_all(cta, warp);
}

void sync_warp_finish(struct sync_cta *cta)
{
    for (uint32_t w = 0; w < cta->bars.nwarps; w++)
        judge(cta, w, UINT32_MAX);
}
