/* See extent.h. */
#include "san/extent.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"

static void widen_index(bool is_first, uint32_t range[2][3], const uint32_t low[3],
                        const uint32_t high[3])
{
    for (int i = 0; i < 3; i++) {
        assert(low[i] <= high[i]);
        range[0][i] = is_first ? low[i] : HD_MIN(range[0][i], low[i]);
        range[1][i] = is_first ? high[i] : HD_MAX(range[1][i], high[i]);
    }
}

static void widen(bool is_first, uint64_t range[2], uint64_t low, uint64_t high)
{
    assert(low <= high);
    range[0] = is_first ? low : HD_MIN(range[0], low);
    range[1] = is_first ? high : HD_MAX(range[1], high);
}

void san_extent_add_thread(struct san_extent *to, const uint32_t thread[3], const uint32_t block[3])
{
    widen_index(!to->has_threads, to->thread, thread, thread);
    widen_index(!to->has_threads, to->block, block, block);
    to->has_threads = true;
}

void san_extent_add_launch(struct san_extent *to, uint64_t launch)
{
    widen(!to->has_launches, to->launch, launch, launch);
    to->has_launches = true;
}

void san_extent_add_address(struct san_extent *to, uint64_t address)
{
    widen(!to->has_addresses, to->address, address, address);
    to->has_addresses = true;
}

void san_extent_join(struct san_extent *to, const struct san_extent *from)
{
    if (from->has_threads) {
        widen_index(!to->has_threads, to->thread, from->thread[0], from->thread[1]);
        widen_index(!to->has_threads, to->block, from->block[0], from->block[1]);
    }
    if (from->has_launches)
        widen(!to->has_launches, to->launch, from->launch[0], from->launch[1]);
    if (from->has_addresses)
        widen(!to->has_addresses, to->address, from->address[0], from->address[1]);
    to->has_threads |= from->has_threads;
    to->has_launches |= from->has_launches;
    to->has_addresses |= from->has_addresses;
    to->size_B += from->size_B;
}

uint64_t san_extent_threads(const struct san_extent *extent)
{
    uint64_t n = extent->has_threads;

    for (int i = 0; n && i < 3; i++) {
        uint64_t threads = (uint64_t)extent->thread[1][i] - extent->thread[0][i] + 1;
        uint64_t blocks = (uint64_t)extent->block[1][i] - extent->block[0][i] + 1;
        if (__builtin_mul_overflow(n, threads, &n) || __builtin_mul_overflow(n, blocks, &n))
            return UINT64_MAX;
    }
    return n;
}
