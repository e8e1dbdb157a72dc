/* Threads that are inside a native kernel's function, and what they must not wait for. */
#include <assert.h>

#include "hal/hal.h"

static HD_THREAD_LOCAL struct hal_inside *innermost;

void hal_inside_enter(struct hal_inside *inside, const struct hal_queue *queue)
{
    *inside = (struct hal_inside){queue, hal_queue_retired(queue) + 1, innermost};
    innermost = inside;
}

void hal_inside_leave(const struct hal_inside *inside)
{
    assert(innermost == inside);
    innermost = inside->outer;
}

bool hal_inside_any(void)
{
    return innermost != NULL;
}

bool hal_inside_queue(const struct hal_queue *queue, uint64_t position)
{
    for (const struct hal_inside *at = innermost; at; at = at->outer)
        if (at->queue == queue && position >= at->position)
            return true;
    return false;
}

static const struct hal_inside *awaited(const _Atomic uint64_t *semaphore, uint64_t value)
{
    const struct hal_inside *at = innermost;

    while (at && (semaphore != &at->queue->ring->retired || value < at->position))
        at = at->outer;
    return at;
}

bool hal_inside_awaits(const _Atomic uint64_t *semaphore, uint64_t value)
{
    return awaited(semaphore, value) != NULL;
}

enum hd_status hal_inside_wait(const _Atomic uint64_t *semaphore, uint64_t value)
{
    const struct hal_inside *at = awaited(semaphore, value);

    if (value == at->position)
        return HD_OK;
    return hd_error(HD_NOT_SUPPORTED,
                    "a native kernel waits for what it put behind itself into its "
                    "own stream");
}
