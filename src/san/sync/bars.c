/* The barriers of a CTA: bars.h. */
#include "san/sync/bars.h"

#include <assert.h>
#include <string.h>

void san_bars_init(struct san_bars *bars, uint32_t nthreads)
{
    assert(nthreads);
    memset(bars, 0, sizeof *bars);
    bars->nwarps = (nthreads + SAN_LANES - 1) / SAN_LANES;
    bars->nlive = nthreads;
    assert(bars->nwarps <= SAN_WARPS);
    for (uint32_t w = 0; w < bars->nwarps; w++) {
        uint32_t n = nthreads - w * SAN_LANES;
        bars->live[w] = n >= SAN_LANES ? UINT32_MAX : (1u << n) - 1;
    }
}

bool san_bar_has_all(const struct san_bars *bars, uint32_t id)
{
    for (uint32_t w = 0; w < bars->nwarps; w++)
        if (bars->live[w] & ~bars->bar[id].come[w])
            return false;
    return true;
}

bool san_bar_is_full(const struct san_bars *bars, uint32_t id)
{
    const struct san_bar *bar = &bars->bar[id];
    uint32_t total = 0;

    if (!bar->n)
        return false;
    if (!bar->count)
        return bar->n >= bars->nlive && san_bar_has_all(bars, id);
    for (uint32_t w = 0; w < bars->nwarps; w++) {
        uint32_t n = bar->by_warp[w], alive = (uint32_t)__builtin_popcount(bars->live[w]);
        total += n && n >= alive && n < SAN_LANES ? SAN_LANES : n;
    }
    return total >= bar->count;
}

bool san_bar_come(struct san_bars *bars, uint32_t id, uint32_t count, uint32_t warp, uint32_t lanes,
                  bool waits)
{
    struct san_bar *bar = &bars->bar[id];
    uint32_t n = (uint32_t)__builtin_popcount(lanes);

    assert(id < SAN_BARS && warp < bars->nwarps);
    assert(lanes && !(lanes & ~bars->live[warp]));
    bar->count = count;
    bar->n += n;
    bar->come[warp] |= lanes;
    bar->by_warp[warp] += n;
    if (waits) {
        bar->waiting[warp] |= lanes;
        bars->blocked[warp] |= lanes;
    }
    return san_bar_is_full(bars, id);
}

void san_bar_open(struct san_bars *bars, uint32_t id)
{
    struct san_bar *bar = &bars->bar[id];

    assert(id < SAN_BARS);
    for (uint32_t w = 0; w < bars->nwarps; w++) {
        bars->blocked[w] &= ~bar->waiting[w];
        bar->come[w] = bar->waiting[w] = bar->by_warp[w] = 0;
    }
    bar->n = bar->count = 0;
}

void san_bars_end(struct san_bars *bars, uint32_t warp, uint32_t lanes)
{
    uint32_t n = (uint32_t)__builtin_popcount(bars->live[warp] & lanes);

    assert(warp < bars->nwarps && n <= bars->nlive);
    bars->nlive -= n;
    bars->live[warp] &= ~lanes;
}

uint32_t san_bar_of(const struct san_bars *bars, uint32_t warp, uint32_t lane)
{
    assert(warp < bars->nwarps && lane < SAN_LANES);
    for (uint32_t id = 0; id < SAN_BARS; id++)
        if (bars->bar[id].waiting[warp] >> lane & 1)
            return id;
    return SAN_BARS;
}
