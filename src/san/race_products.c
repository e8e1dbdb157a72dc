/*
 * Products that read shared memory while their warps go on: wgmma.
 *
 * Four warps issue one together, and when one of them has waited for it, it is over: the thread
 * that then gives a buffer back to other warps speaks for the group. No thread's clock can stand
 * for that, so what was read has an epoch in flight, which says of which warps, in what group of
 * products, and whether some warp has waited. For a thread of another group of warps that counts,
 * for one of the own whether its warp has. When all have waited, the read is forgotten: what is
 * found is who writes too early.
 *
 * Groups of products are counted by each warp, which come to the same number.
 */
#include <string.h>

#include "base/mem.h"
#include "san/race.h"

/* Thread of such an epoch: warps << 7 | is it over << 6 | the group's number. */
enum { NUMBERS = 64, OVER = NUMBERS, GROUP_THREADS = RACE_GROUP_WARPS * SAN_LANES };
_Static_assert(2 * NUMBERS == GROUP_THREADS, "they lie in the threads of the group");

static struct race_group *group_of(struct race_cta *cta, uint32_t warp)
{
    if (!cta->groups)
        cta->groups = hd_alloc_array(RACE_GROUPS, sizeof *cta->groups);
    return cta->groups ? &cta->groups[warp / RACE_GROUP_WARPS] : NULL;
}

static uint64_t in_flight(const struct race_cta *cta, uint32_t warp, uint32_t number, bool is_over)
{
    uint32_t first = warp / RACE_GROUP_WARPS * GROUP_THREADS;

    return race_in_flight(cta->serial, first + (is_over ? OVER : 0) + number % NUMBERS);
}

bool race_product_is_over(const struct race_cta *cta, uint32_t thread, uint64_t epoch)
{
    uint32_t of = race_thread_of(epoch), group = of / GROUP_THREADS, warp = thread / SAN_LANES;

    if (race_serial(epoch) != cta->serial || warp / RACE_GROUP_WARPS != group || !cta->groups)
        return of & OVER;
    uint32_t done = cta->groups[group].done[warp % RACE_GROUP_WARPS];
    return (done - of - 1) % NUMBERS < NUMBERS / 2;
}

/* ---- shadow */

static void rename_unit(struct race_page *page, uint64_t unit, uint64_t from, uint64_t to)
{
    if (page->reader[unit] == from)
        page->reader[unit] = to;
    if (page->second && page->second[unit] == from)
        page->second[unit] = to;
}

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
        for (uint64_t i = 0; i < part_B >> page->shift; i++)
            rename_unit(page, (at % RACE_PAGE_B >> page->shift) + i, from, to);
        if (locks)
            race_page_unlock(page);
    }
}

/* ---- products */

void race_product_read(struct race_cta *cta, const struct san_access *x)
{
    struct race_group *group = group_of(cta, x->warp);
    uint32_t thread = x->warp * SAN_LANES + (uint32_t)__builtin_ctz(x->lanes);
    uint32_t number = group ? group->closed[x->warp % RACE_GROUP_WARPS] : 0;
    const struct race_copy read = {x->address[thread % SAN_LANES], (uint32_t)x->size_B, number};
    uint64_t to = 0;

    if (group && hd_vec_push(&group->reads, read))
        to = in_flight(cta, x->warp, number, number < group->waited);
    rename_readers(cta, &read, cta->epoch[thread], to);
}

/* Groups that all warps have waited for. */
static uint32_t done_by_all(const struct race_cta *cta, uint32_t warp,
                            const struct race_group *group)
{
    uint32_t first = warp / RACE_GROUP_WARPS * RACE_GROUP_WARPS, done = UINT32_MAX;

    for (uint32_t i = 0; i < RACE_GROUP_WARPS && first + i < cta->nwarps; i++)
        done = HD_MIN(done, group->done[i]);
    return done;
}

static void wait(struct race_cta *cta, uint32_t warp, struct race_group *group, uint32_t left)
{
    uint32_t *done = &group->done[warp % RACE_GROUP_WARPS], before = group->waited, all, n = 0;
    uint32_t closed = group->closed[warp % RACE_GROUP_WARPS];

    *done = HD_MAX(*done, closed > left ? closed - left : 0);
    group->waited = HD_MAX(before, *done);
    all = done_by_all(cta, warp, group);
    for (size_t i = 0; i < group->reads.len; i++) {
        const struct race_copy *read = &group->reads.at[i];
        bool is_over = read->group < group->waited, was_over = read->group < before;
        uint64_t over = in_flight(cta, warp, read->group, true);
        if (is_over && !was_over)
            rename_readers(cta, read, in_flight(cta, warp, read->group, false), over);
        if (read->group < all)
            rename_readers(cta, read, over, 0);
        else
            group->reads.at[n++] = *read;
    }
    group->reads.len = n;
}

/* All lanes come to these; devices may tell them one by one. */
void race_product_group(struct race_cta *cta, const struct san_sync *sync, bool waits,
                        uint32_t left)
{
    struct race_group *group = group_of(cta, sync->warp);

    if (!group || !(sync->lanes & 1))
        return;
    if (waits)
        wait(cta, sync->warp, group, left);
    else
        group->closed[sync->warp % RACE_GROUP_WARPS]++;
}

void race_products_end(struct race_cta *cta)
{
    for (uint32_t i = 0; cta->groups && i < RACE_GROUPS; i++) {
        struct race_group *group = &cta->groups[i];
        memset(group->closed, 0, sizeof group->closed);
        memset(group->done, 0, sizeof group->done);
        group->waited = 0;
        group->reads.len = 0;
    }
}

void race_products_free(struct race_cta *cta)
{
    for (uint32_t i = 0; cta->groups && i < RACE_GROUPS; i++)
        hd_vec_fini(&cta->groups[i].reads);
    hd_free(cta->groups);
}
