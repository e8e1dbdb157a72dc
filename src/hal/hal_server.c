/*
 * Serving a ring: a thread that copies packets out, checks them, submits them to a queue of the
 * device, and tells the submitter what has retired. Position n of the ring is position n of the
 * queue, because every packet becomes exactly one: a bad one a NOP.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/thread.h"
#include "hal/futex.h"
#include "hal/serve.h"

#define BELL_POLL_NS   100000000u /* how often a stop is looked for while nothing happens */
#define RETIRE_POLL_NS 1000000u   /* how often new packets are looked for while some run */

struct region {
    char *at;
    size_t size_B;
};

struct hal_server {
    struct hal_domain *domain;
    struct hal_queue *queue;
    struct hal_ring *ring; /* shared: anything in it may change at any time */
    pthread_t thread;
    _Atomic bool stopping;
    struct region regions[HAL_SERVER_REGIONS];
    struct hd_lock lock;             /* regions */
    uint64_t taken;                  /* packets copied out; the thread's, as all below */
    uint64_t notified;               /* retirements the submitter knows of */
    uint32_t ring_B[HAL_RING_SLOTS]; /* to give back, by slot */
    bool has_stamp[HAL_RING_SLOTS];  /* by slot */
};

/* ---- packets */

/* A region's semaphore as an address of ours. */
static enum hd_status server_translate_sem(struct hal_server *server, struct hal_sem *p)
{
    struct region region = {0};
    unsigned size_B = p->is_32 ? 4 : 8;

    hd_lock_acquire(&server->lock);
    if (p->region < HAL_SERVER_REGIONS)
        region = server->regions[p->region];
    hd_lock_release(&server->lock);
    if (!region.at)
        return hd_error(HD_BAD_ARG, "%s: there is no region %u", hal_op_name(p->head.op),
                        p->region);
    if (p->address > region.size_B || size_B > region.size_B - p->address)
        return hd_error(HD_BAD_ARG, "%s: offset %llu is not in region %u of %zu bytes",
                        hal_op_name(p->head.op), (unsigned long long)p->address, p->region,
                        region.size_B);
    p->address += (uintptr_t)region.at;
    p->region = 0;
    return HD_OK;
}

/* Parameters that lie in the shared ring move to the queue's. Waits while that is full. */
static enum hd_status server_translate_dispatch(struct hal_server *server, struct hal_dispatch *p)
{
    struct hal_device *device = server->domain->device;
    const char *from = (const char *)server->ring + p->ring_offset;
    struct hal_extension extension;
    bool extended = (p->head.flags & HAL_FLAG_EXTENSION) != 0;
    void *to;

    if (p->head.flags & HAL_FLAG_INDIRECT)
        return hd_error(HD_BAD_ARG, "dispatch: an indirect one, not from another process");
    if (p->head.flags & HAL_FLAG_CALLER)
        return hd_error(HD_BAD_ARG, "dispatch: one for its caller, not from another process");
    if (!p->ring_B)
        return HD_OK;
    if (extended) {
        memcpy(&extension, from, sizeof(extension));
        HD_TRY(hal_extension_check(&extension));
        from += sizeof(extension);
    }
    while (!(to = hal_queue_params(server->queue, p, extended ? &extension : NULL, p->params_B))) {
        if (hal_queue_is_idle(server->queue))
            return hd_error(HD_BAD_ARG, "dispatch: %u bytes of parameters are too many",
                            p->params_B);
        HD_TRY(device->ops->wait(device, &server->queue->ring->retired,
                                 hal_queue_retired(server->queue) + 1, UINT64_MAX));
    }
    memcpy(to, from, p->params_B);
    return HD_OK;
}

static enum hd_status server_translate(struct hal_server *server, union hal_packet *p)
{
    HD_TRY(hal_packet_check(p));
    switch ((enum hal_op)p->head.op) {
    case HAL_OP_WAIT:
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
        return server_translate_sem(server, &p->sem);
    case HAL_OP_DISPATCH:
        return server_translate_dispatch(server, &p->dispatch);
    case HAL_OP_HOST_CALL:
        return hd_error(HD_BAD_ARG, "host_call: not from another process");
    case HAL_OP_NOP:
    case HAL_OP_COPY:
    case HAL_OP_FILL:
    case HAL_OP_BARRIER:
    case HAL_OP_COUNT:
        break;
    }
    return HD_OK;
}

/* Takes packet number server->taken + 1, whatever it is. */
static void server_forward(struct hal_server *server)
{
    struct hal_device *device = server->domain->device;
    uint64_t position = server->taken + 1;
    unsigned slot = (position - 1) & (HAL_RING_SLOTS - 1);
    union hal_packet p;
    enum hd_status status;

    memcpy(&p, hal_ring_packet(server->ring, position), sizeof(p));
    server->has_stamp[slot] = (p.head.flags & HAL_FLAG_STAMP) != 0;
    server->ring_B[slot] = p.head.op == HAL_OP_DISPATCH ? p.dispatch.ring_B : 0;
    if (server_translate(server, &p) != HD_OK) {
        hal_domain_fail(server->domain, HD_BAD_ARG, 0, NULL, hd_error_message());
        p = (union hal_packet){.head.op = HAL_OP_NOP};
        p.head.flags = server->has_stamp[slot] ? HAL_FLAG_STAMP : 0;
    }
    while ((status = server->queue->ops->submit(server->queue, &p, 1)) == HD_BUSY)
        (void)!device->ops->wait(device, &server->queue->ring->retired,
                                 hal_queue_retired(server->queue) + 1, UINT64_MAX);
    assert(status == HD_OK);
    server->taken = position;
    assert(server->taken == hal_queue_submitted(server->queue));
}

/* ---- retirement */

/* Tells the submitter what has retired meanwhile; whether anything has. */
static bool server_notify(struct hal_server *server)
{
    uint64_t retired = hal_queue_retired(server->queue);

    if (retired == server->notified)
        return false;
    for (uint64_t n = server->notified + 1; n <= retired; n++) {
        unsigned slot = (n - 1) & (HAL_RING_SLOTS - 1);

        if (server->has_stamp[slot]) {
            const struct hal_stamp *from = hal_ring_stamp(server->queue->ring, n);
            struct hal_stamp *to = hal_ring_stamp(server->ring, n);

            atomic_store(&to->start_ticks, atomic_load(&from->start_ticks));
            atomic_store(&to->end_ticks, atomic_load(&from->end_ticks));
        }
        atomic_fetch_add(&server->ring->params_released, server->ring_B[slot]);
    }
    server->notified = retired;
    atomic_store(&server->ring->retired, retired);
    if (atomic_load(&server->ring->waiters))
        hal_futex_wake((_Atomic uint32_t *)&server->ring->retired);
    return true;
}

/* ---- the thread */

/* Something was submitted that we have not taken, and there is room to remember it. */
static bool server_can_take(const struct hal_server *server)
{
    return hal_ring_submitted(server->ring) != server->taken &&
           server->taken - server->notified < HAL_RING_SLOTS;
}

static void server_sleep_until_bell(struct hal_server *server)
{
    struct hal_ring *ring = server->ring;
    uint32_t seen = atomic_load(&ring->doorbell);

    atomic_store(&ring->listening, 1);
    if (!server_can_take(server) && !atomic_load(&server->stopping))
        hal_futex_wait(&ring->doorbell, seen, BELL_POLL_NS);
    atomic_store(&ring->listening, 0);
}

static void *server_main(void *arg)
{
    struct hal_server *server = arg;
    struct hal_device *device = server->domain->device;

    while (!atomic_load(&server->stopping) || server_can_take(server) ||
           server->taken != server->notified) {
        if (server_can_take(server))
            server_forward(server);
        else if (!server_notify(server) && server->taken != server->notified)
            (void)!device->ops->wait(device, &server->queue->ring->retired, server->notified + 1,
                                     RETIRE_POLL_NS);
        else if (server->taken == server->notified)
            server_sleep_until_bell(server);
    }
    return NULL;
}

/* ---- life */

enum hd_status hal_ring_map(int memfd, struct hal_ring **out_ring)
{
    enum hd_status status;
    void *at;

    if (hal_shared_size(memfd) < HAL_RING_B)
        return hd_error(HD_BAD_ARG, "descriptor %d is no ring", memfd);
    at = mmap(NULL, HAL_RING_B, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    if (at == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "ring: %s", strerror(errno));
    status = hal_ring_check(at, HAL_RING_B);
    if (status != HD_OK)
        munmap(at, HAL_RING_B);
    else
        *out_ring = at;
    return status;
}

static void server_free(struct hal_server *server)
{
    for (unsigned i = 0; i < HAL_SERVER_REGIONS; i++)
        if (server->regions[i].at)
            munmap(server->regions[i].at, server->regions[i].size_B);
    if (server->queue)
        server->queue->ops->destroy(server->queue);
    if (server->ring)
        munmap(server->ring, HAL_RING_B);
    hd_lock_fini(&server->lock);
    hd_free(server);
}

static enum hd_status server_start(struct hal_server *server, int priority, int memfd)
{
    struct hal_domain *domain = server->domain;
    int error;

    HD_TRY(hal_ring_map(memfd, &server->ring));
    /* Positions go together from the beginning. */
    if (hal_ring_retired(server->ring))
        return hd_error(HD_BAD_ARG, "the ring has been served before");
    HD_TRY(domain->device->ops->queue_create(domain, priority, &server->queue));
    error = hd_thread_create(&server->thread, NULL, server_main, server);
    return error ? hd_error(HD_NO_MEMORY, "thread of a ring: %s", strerror(error)) : HD_OK;
}

enum hd_status hal_server_create(struct hal_domain *domain, int priority, int memfd,
                                 struct hal_server **out_server)
{
    struct hal_server *server = hd_new(struct hal_server);
    enum hd_status status;

    if (!server)
        return hd_error(HD_NO_MEMORY, "server");
    server->domain = domain;
    hd_lock_init(&server->lock, HD_RANK_LEAF, "regions");
    status = server_start(server, priority, memfd);
    if (status != HD_OK) {
        server_free(server);
        return status;
    }
    *out_server = server;
    return HD_OK;
}

void hal_server_sms_set(struct hal_server *server, const struct hal_sms *sms)
{
    hal_queue_sms_set(server->queue, sms);
}

void hal_server_destroy(struct hal_server *server)
{
    atomic_store(&server->stopping, true);
    hal_futex_wake(&server->ring->doorbell);
    pthread_join(server->thread, NULL);
    server_free(server);
}

enum hd_status hal_server_region(struct hal_server *server, uint32_t number, int memfd)
{
    uint64_t size_B = hal_shared_size(memfd);
    void *at;

    if (!number || number >= HAL_SERVER_REGIONS || server->regions[number].at)
        return hd_error(HD_BAD_ARG, "region %u", number);
    if (!size_B)
        return hd_error(HD_BAD_ARG, "descriptor %d is no memory", memfd);
    at = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    if (at == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "region: %s", strerror(errno));
    hd_lock_acquire(&server->lock);
    server->regions[number] = (struct region){at, size_B};
    hd_lock_release(&server->lock);
    return HD_OK;
}
