/*
 * Products that read shared memory while their warps go on: wgmma.
 *
 * Four warps issue one together, and when one of their threads has waited for it, it is over: the
 * thread that then gives a buffer back to other warps speaks for all. So what was read gets an
 * epoch in flight, which says of which warps, in what group of products. Who writes there must know
 * of some thread of the four warps what that did when it had waited; a thread of the four must have
 * waited itself.
 *
 * Groups of products are counted by each thread, which come to the same number. What was read in
 * one of long ago is forgotten.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "san/race/race.h"

enum { NUMBERS = RACE_PRODUCTS, GROUP_THREADS = RACE_GROUP_WARPS * SAN_LANES };
_Static_assert(NUMBERS <= GROUP_THREADS, "they lie in the threads of the group");

static struct race_group *group_of(struct race_cta *cta, uint32_t warp)
{
    if (!cta->groups)
        cta->groups = hd_alloc_array(RACE_GROUPS, sizeof *cta->groups);
    return cta->groups ? &cta->groups[warp / RACE_GROUP_WARPS] : NULL;
}

/* Of the thread in its group. */
static uint32_t in_group(uint32_t thread)
{
    return thread % GROUP_THREADS;
}

static uint64_t in_flight(const struct race_cta *cta, uint32_t warp, uint32_t number)
{
    uint32_t first = warp / RACE_GROUP_WARPS * GROUP_THREADS;

    return race_in_flight(cta->serial, first + number % NUMBERS);
}

bool race_product_is_over(struct race_cta *cta, uint32_t thread, uint64_t epoch, uint64_t key)
{
    uint32_t first = race_thread_of(epoch) / GROUP_THREADS * GROUP_THREADS;
    const struct race_group *group =
        cta->groups ? &cta->groups[race_thread_of(epoch) / GROUP_THREADS] : NULL;

    if (race_serial(epoch) != cta->serial || !group)
        return true; /* another CTA's: not known */
    /* The group's number of the epoch, of those that are remembered. */
    uint32_t low = race_thread_of(epoch) % NUMBERS;
    assert(race_is_in_flight(epoch));
    uint32_t number = group->newest - (group->newest - low) % NUMBERS;
    if (thread - first < GROUP_THREADS)
        return group->done[thread - first] > number;
    for (uint32_t i = 0; i < GROUP_THREADS && first + i < cta->nthreads; i++) {
        uint32_t clock = group->clock[number % NUMBERS][i];
        if (group->done[i] > number &&
            race_ordered(cta, thread, race_epoch(cta->serial, first + i, clock), key) !=
                RACE_NOT_ORDERED)
            return true;
    }
    return false;
}

/* ---- shadow */

static void rename_readers(struct race_cta *cta, const struct race_copy *read, uint64_t from,
                           uint64_t to)
{
    for (uint64_t done_B = 0, part_B; done_B < read->size_B; done_B += part_B) {
        uint64_t at = read->address + done_B;
        bool locks;
        struct race_page *page = race_page_of(cta, IR_SPACE_SHARED, at, 0, &locks);
        part_B = HD_MIN(read->size_B - done_B, RACE_PAGE_B - at % RACE_PAGE_B);
        if (!page)
            continue;
        if (locks)
            race_page_lock(page);
        for (uint64_t i = 0; i < part_B >> page->shift; i++) {
            /* The newest product of the warps stays as the reader. */
            const uint64_t unit = (at % RACE_PAGE_B >> page->shift) + i;
            if (page->reader[unit] == from)
                page->reader[unit] = to;
            if (!page->second || page->second[unit] != from)
                continue;
            page->second[unit] = to;
            if (!to || !race_is_in_flight(page->reader[unit]) ||
                (page->reader[unit] ^ to) >> RACE_CLOCK_BITS >= GROUP_THREADS)
                continue;
            page->reader[unit] = to;
            page->reader_is[unit] = page->second_is[unit];
            page->second[unit] = 0;
        }
        if (locks)
            race_page_unlock(page);
    }
}

/* ---- products */

void race_product_read(struct race_cta *cta, const struct san_access *x)
{
    struct race_group *group = group_of(cta, x->warp);
    uint32_t thread = x->warp * SAN_LANES + (uint32_t)__builtin_ctz(x->lanes);
    uint32_t number = group ? group->closed[in_group(thread)] : 0;
    const struct race_copy read = {x->address[thread % SAN_LANES], (uint32_t)x->size_B, number};
    uint64_t to = 0;

    if (group && hd_vec_push(&group->reads, read)) {
        group->newest = HD_MAX(group->newest, number);
        to = in_flight(cta, x->warp, number);
    }
    rename_readers(cta, &read, cta->epoch[thread], to);
}

static void commit(struct race_cta *cta, uint32_t thread, struct race_group *group)
{
    uint32_t number = ++group->closed[in_group(thread)];

    if (number <= group->newest)
        return;
    group->newest = number;
    /* Before its number comes again. */
    const uint32_t warp = thread / SAN_LANES;
    size_t n = 0;
    for (size_t i = 0; i < group->reads.len; i++) {
        const struct race_copy *read = &group->reads.at[i];
        assert(read->group <= group->newest);
        if (read->group + NUMBERS / 2 < group->newest)
            rename_readers(cta, read, in_flight(cta, warp, read->group), 0);
        else
            group->reads.at[n++] = *read;
    }
    group->reads.len = n;
}

void race_product_group(struct race_cta *cta, const struct san_sync *sync, bool waits,
                        uint32_t left)
{
    struct race_group *group = group_of(cta, sync->warp);

    if (waits)
        race_step(cta, sync->warp, sync->lanes);
    san_foreach_lane(lane, group ? sync->lanes : 0) {
        uint32_t thread = sync->warp * SAN_LANES + lane;
        if (waits) {
            uint32_t i = in_group(thread), closed = group->closed[i];
            uint32_t done = closed > left ? closed - left : 0;

            assert(group->done[i] <= closed);
            for (; group->done[i] < done; group->done[i]++)
                group->clock[group->done[i] % NUMBERS][i] = race_clock(cta->epoch[thread]);
        } else
            commit(cta, thread, group);
    }
}

void race_products_end(struct race_cta *cta)
{
    for (uint32_t i = 0; cta->groups && i < RACE_GROUPS; i++) {
        struct race_group *group = &cta->groups[i];
        memset(group->closed, 0, sizeof group->closed);
        memset(group->done, 0, sizeof group->done);
        group->newest = 0;
        group->reads.len = 0;
    }
}

void race_products_free(struct race_cta *cta)
{
    for (uint32_t i = 0; cta->groups && i < RACE_GROUPS; i++)
        hd_vec_fini(&cta->groups[i].reads);
    hd_free(cta->groups);
}
