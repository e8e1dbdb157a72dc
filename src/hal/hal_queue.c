/* The ring behind every queue. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/list.h"
#include "hal/hal.h"

void hal_ring_init(struct hal_ring *ring)
{
    ring->magic = HAL_RING_MAGIC;
    ring->version = HAL_RING_VERSION;
    ring->slots = HAL_RING_SLOTS;
    ring->params_B = HAL_RING_PARAMS_B;
    ring->stamps_offset = HAL_RING_STAMPS_AT;
    ring->params_offset = HAL_RING_PARAMS_AT;
}

/* What was written to a kept ring stays but for the header: nobody reads slots ahead of it. */
static struct hal_ring *ring_take(struct hal_device *device)
{
    struct hal_ring *ring = NULL;
    void *memory;

    hd_lock_acquire(&device->rings_lock);
    if (device->nidle_rings)
        ring = device->idle_rings[--device->nidle_rings];
    hd_lock_release(&device->rings_lock);
    if (ring) {
        memset(ring, 0, sizeof(*ring));
        return ring;
    }
    memory = mmap(NULL, HAL_RING_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void ring_give(struct hal_device *device, struct hal_ring *ring)
{
    hd_lock_acquire(&device->rings_lock);
    assert(device->nidle_rings <= HAL_IDLE_RINGS);
    if (device->nidle_rings < HAL_IDLE_RINGS) {
        device->idle_rings[device->nidle_rings++] = ring;
        ring = NULL;
    }
    hd_lock_release(&device->rings_lock);
    if (ring)
        munmap(ring, HAL_RING_B);
}

enum hd_status hal_queue_init(struct hal_queue *queue, const struct hal_queue_ops *ops,
                              struct hal_domain *domain, int priority)
{
    queue->ops = ops;
    queue->device = domain->device;
    queue->domain = domain;
    queue->priority = HD_MIN(0, HD_MAX(priority, domain->device->info.priority_greatest));
    queue->params_taken = 0;
    queue->depth = 0;
    hal_queue_sms_set(queue, NULL);
    queue->ring = ring_take(queue->device);
    if (!queue->ring)
        return hd_error(HD_NO_MEMORY, "ring of %zu bytes: %s", (size_t)HAL_RING_B, strerror(errno));
    hal_ring_init(queue->ring);
    hd_lock_acquire(&domain->lock);
    hd_list_push(&domain->queues, queue);
    hd_lock_release(&domain->lock);
    return HD_OK;
}

void hal_queue_fini(struct hal_queue *queue)
{
    if (!queue->ring)
        return;
    assert(hal_queue_is_idle(queue));
    hd_lock_acquire(&queue->domain->lock);
    hd_list_remove(queue);
    hd_lock_release(&queue->domain->lock);
    ring_give(queue->device, queue->ring);
    queue->ring = NULL;
}

/* take_B bytes of the parameter ring that do not wrap around, or false. */
static bool params_take(struct hal_ring *ring, uint64_t *taken, uint32_t take_B,
                        struct hal_dispatch *p)
{
    uint32_t at_B = (uint32_t)(*taken & (HAL_RING_PARAMS_B - 1));
    uint32_t skip_B = at_B + take_B > HAL_RING_PARAMS_B ? HAL_RING_PARAMS_B - at_B : 0;
    uint64_t used_B = *taken - atomic_load_explicit(&ring->params_released, memory_order_acquire);

    assert(used_B <= HAL_RING_PARAMS_B && take_B % 64 == 0);
    if (take_B > HAL_RING_PARAMS_B / 4 || take_B + skip_B > HAL_RING_PARAMS_B - used_B)
        return false;
    /* What is skipped at the end of the ring is released together with the block. */
    *taken += take_B + skip_B;
    p->ring_B = take_B + skip_B;
    p->ring_offset = HAL_RING_PARAMS_AT + ((at_B + skip_B) & (HAL_RING_PARAMS_B - 1));
    return true;
}

void *hal_ring_params(struct hal_ring *ring, uint64_t *taken, struct hal_dispatch *p,
                      const struct hal_extension *extension, uint32_t size_B)
{
    uint64_t need_B = (uint64_t)size_B + (extension ? sizeof(*extension) : 0);
    char *block;

    if (need_B > HAL_RING_PARAMS_B ||
        !params_take(ring, taken, (uint32_t)hd_align_up(HD_MAX(need_B, 1), 64), p))
        return NULL;
    block = (char *)ring + p->ring_offset;
    if (!extension)
        return block;
    p->head.flags |= HAL_FLAG_EXTENSION;
    memcpy(block, extension, sizeof(*extension));
    return block + sizeof(*extension);
}

void *hal_queue_params(struct hal_queue *queue, struct hal_dispatch *p,
                       const struct hal_extension *extension, uint32_t size_B)
{
    return hal_ring_params(queue->ring, &queue->params_taken, p, extension, size_B);
}

/* ---- multiprocessors */

uint32_t hal_sms_count(const struct hal_sms *sms)
{
    uint32_t n = 0;

    for (size_t i = 0; i < HD_COUNT_OF(sms->bits); i++)
        n += (uint32_t)__builtin_popcountll(sms->bits[i]);
    return n;
}

uint64_t hal_sms_hold(uint32_t nsms, uint32_t threads, uint64_t shared_B)
{
    uint64_t ctas = HD_MIN(32u, 2048 / HD_MAX(threads, 1u));

    ctas = HD_MIN(ctas, (UINT64_C(228) << 10) / HD_MAX(shared_B, 1u));
    return nsms * HD_MAX(ctas, 1u);
}

void hal_queue_sms_set(struct hal_queue *queue, const struct hal_sms *sms)
{
    assert(!sms || hal_sms_count(sms));
    if (sms)
        atomic_store(&queue->device->has_limited, true);
    for (size_t i = 0; i < HD_COUNT_OF(queue->sms); i++)
        atomic_store(&queue->sms[i], sms ? sms->bits[i] : 0);
    atomic_store(&queue->is_limited, sms != NULL);
}

bool hal_queue_sms(const struct hal_queue *queue, struct hal_sms *out_sms)
{
    for (size_t i = 0; i < HD_COUNT_OF(queue->sms); i++)
        out_sms->bits[i] = atomic_load(&queue->sms[i]);
    return atomic_load(&queue->is_limited);
}
