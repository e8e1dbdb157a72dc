/*
 * Copies that a thread has to wait for: cp.async to shared memory.
 *
 * A device makes them where they are issued, and its store is told as any other. That it may come
 * later is said by what follows it (IR_OP_ASYNC): from there on shadow has a write in flight, which
 * nothing orders, for its own thread neither. When the thread has waited for the group, the write
 * is its own of that moment.
 */
#include <assert.h>

#include "base/mem.h"
#include "san/race/race.h"

/* The writer of these bytes becomes `to` where it is `from`. */
static void rename_writer(struct race_cta *cta, uint64_t address, uint64_t size_B, uint64_t from,
                          uint64_t to)
{
    while (size_B) {
        uint64_t part_B = HD_MIN(size_B, RACE_PAGE_B - address % RACE_PAGE_B);
        bool locks;
        struct race_page *page = race_page_of(cta, IR_SPACE_SHARED, address, 0, &locks);
        if (page && locks)
            race_page_lock(page);
        for (uint64_t i = 0; page && i < part_B >> page->shift; i++) {
            uint64_t *writer = &page->writer[(address % RACE_PAGE_B >> page->shift) + i];
            *writer = *writer == from ? to : *writer;
        }
        if (page && locks)
            race_page_unlock(page);
        address += part_B;
        size_B -= part_B;
    }
}

static void issue(struct race_cta *cta, uint32_t thread, uint64_t address, uint32_t size_B)
{
    struct race_thread *t = &cta->threads[thread];
    struct race_copy copy = {address, size_B, t->group};

    assert(!t->copies.len || hd_vec_last(&t->copies).group <= t->group); /* in order */
    /* Without memory it counts as there at once. */
    if (hd_vec_push(&t->copies, copy))
        rename_writer(cta, address, size_B, cta->epoch[thread],
                      race_in_flight(cta->serial, thread));
}

/* All but the last `left` groups that were closed are there. */
static void wait(struct race_cta *cta, uint32_t thread, uint32_t left)
{
    struct race_thread *t = &cta->threads[thread];
    uint32_t n = 0;

    while (n < t->copies.len && t->copies.at[n].group + left < t->group) {
        const struct race_copy *c = &t->copies.at[n++];
        rename_writer(cta, c->address, c->size_B, race_in_flight(cta->serial, thread),
                      cta->epoch[thread]);
    }
    for (uint32_t i = n; i < t->copies.len; i++)
        t->copies.at[i - n] = t->copies.at[i];
    t->copies.len -= n;
}

void race_async(struct race_cta *cta, const struct san_sync *sync)
{
    uint32_t imm = ir_probe_its_imm(sync->probe), n = imm >> IR_ASYNC_BITS;
    enum ir_async what = (enum ir_async)(imm & ((1u << IR_ASYNC_BITS) - 1));

    if (what == IR_ASYNC_PRODUCT_COMMIT || what == IR_ASYNC_PRODUCT_WAIT) {
        race_product_group(cta, sync, what == IR_ASYNC_PRODUCT_WAIT, n);
        return;
    }
    if (what >= IR_ASYNC_TENSOR_COMMIT) {
        race_tensor_async(cta, sync, what);
        return;
    }
    if (!race_threads(cta))
        return;
    cta->warps[sync->warp].copying |= sync->lanes;
    san_foreach_lane(lane, sync->lanes) {
        uint32_t thread = sync->warp * SAN_LANES + lane;
        switch (what) {
        case IR_ASYNC_COPY:
            issue(cta, thread, sync->operands[0][lane], n);
            break;
        case IR_ASYNC_COMMIT:
            cta->threads[thread].group++;
            break;
        case IR_ASYNC_WAIT:
            wait(cta, thread, n);
            break;
        default:
            break;
        }
    }
}
