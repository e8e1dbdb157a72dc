/* The submitter's side of a ring that another process serves. */
#include <unistd.h>

#include "hal/futex.h"
#include "hal/serve.h"

enum hd_status hal_client_init(struct hal_client *client)
{
    client->params_taken = 0;
    HD_TRY(hal_shared_create("heddle-queue", HAL_RING_B, &client->memfd, (void **)&client->ring));
    hal_ring_init(client->ring);
    return HD_OK;
}

enum hd_status hal_client_open(struct hal_client *client, int memfd)
{
    HD_TRY(hal_ring_map(memfd, &client->ring));
    client->memfd = dup(memfd);
    client->params_taken = atomic_load(&client->ring->params_released);
    return HD_OK;
}

void hal_client_fini(struct hal_client *client)
{
    hal_shared_destroy(client->memfd, client->ring, HAL_RING_B);
    client->ring = NULL;
    client->memfd = -1;
}

enum hd_status hal_client_submit(struct hal_client *client, const union hal_packet *packets,
                                 unsigned n)
{
    struct hal_ring *ring = client->ring;
    uint64_t submitted = atomic_load_explicit(&ring->submitted, memory_order_relaxed);

    if (submitted + n - hal_ring_retired(ring) > HAL_RING_SLOTS)
        return HD_BUSY;
    for (unsigned i = 0; i < n; i++)
        *hal_ring_packet(ring, submitted + 1 + i) = packets[i];
    atomic_store(&ring->submitted, submitted + n);
    atomic_fetch_add(&ring->doorbell, 1);
    if (atomic_load(&ring->listening))
        hal_futex_wake(&ring->doorbell);
    return HD_OK;
}

void *hal_client_params(struct hal_client *client, struct hal_dispatch *p,
                        const struct hal_extension *extension, uint32_t size_B)
{
    return hal_ring_params(client->ring, &client->params_taken, p, extension, size_B);
}

enum hd_status hal_client_wait(struct hal_client *client, uint64_t position, uint64_t timeout_ns)
{
    struct hal_ring *ring = client->ring;
    uint64_t start_ns = hal_time_ns(), spent_ns = 0, seen;
    enum hd_status status = HD_OK;

    atomic_fetch_add(&ring->waiters, 1);
    while ((seen = atomic_load(&ring->retired)) < position && status == HD_OK) {
        spent_ns = hal_time_ns() - start_ns;
        if (spent_ns >= timeout_ns)
            status = HD_TIMEOUT;
        else
            hal_futex_wait((_Atomic uint32_t *)&ring->retired, (uint32_t)seen,
                           timeout_ns - spent_ns);
    }
    atomic_fetch_sub(&ring->waiters, 1);
    return status;
}
