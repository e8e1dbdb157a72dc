/* The ring behind every queue: one mapping of a memfd, so that another process can map it too. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hal/hal.h"

enum hd_status hal_queue_init(struct hal_queue *queue, const struct hal_queue_ops *ops,
                              struct hal_device *device, struct hal_fault *fault)
{
    size_t packets_B = sizeof(struct hal_ring) + HAL_RING_SLOTS * sizeof(union hal_packet);
    struct hal_ring *ring;

    queue->ops = ops;
    queue->device = device;
    queue->fault = fault;
    queue->params_taken = 0;
    queue->ring_B = hd_align_up(packets_B, 4096) + HAL_RING_PARAMS_B;
    queue->memfd = memfd_create("heddle-queue", MFD_CLOEXEC);
    if (queue->memfd < 0 || ftruncate(queue->memfd, (off_t)queue->ring_B)) {
        hal_queue_fini(queue);
        return hd_error(HD_NO_MEMORY, "queue memory: %s", strerror(errno));
    }
    ring = mmap(NULL, queue->ring_B, PROT_READ | PROT_WRITE, MAP_SHARED, queue->memfd, 0);
    if (ring == MAP_FAILED) {
        hal_queue_fini(queue);
        return hd_error(HD_NO_MEMORY, "queue memory: %s", strerror(errno));
    }
    ring->magic = HAL_RING_MAGIC;
    ring->version = HAL_RING_VERSION;
    ring->slots = HAL_RING_SLOTS;
    ring->params_B = HAL_RING_PARAMS_B;
    queue->ring = ring;
    return HD_OK;
}

void hal_queue_fini(struct hal_queue *queue)
{
    if (queue->ring)
        munmap(queue->ring, queue->ring_B);
    if (queue->memfd >= 0)
        close(queue->memfd);
    queue->ring = NULL;
    queue->memfd = -1;
}

void *hal_queue_params(struct hal_queue *queue, uint32_t size_B, uint32_t *out_ring_B)
{
    struct hal_ring *ring = queue->ring;
    char *base = (char *)ring + queue->ring_B - ring->params_B;
    uint32_t take_B = (uint32_t)hd_align_up(size_B ? size_B : 1, 64);
    uint32_t at_B = (uint32_t)(queue->params_taken & (ring->params_B - 1));
    uint32_t skip_B = at_B + take_B > ring->params_B ? ring->params_B - at_B : 0;
    uint64_t free_B =
        ring->params_B -
        (queue->params_taken - atomic_load_explicit(&ring->params_released, memory_order_acquire));

    if (take_B > ring->params_B / 4 || take_B + skip_B > free_B)
        return NULL;
    /* What is skipped at the end of the ring is released together with the block. */
    queue->params_taken += take_B + skip_B;
    *out_ring_B = take_B + skip_B;
    return base + ((at_B + skip_B) & (ring->params_B - 1));
}
