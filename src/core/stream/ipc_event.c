/* Events that several processes know (ipc.h). */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/context.h"
#include "core/device.h"
#include "core/mem/ipc.h"
#include "core/stream/event.h"
#include "core/stream/stream.h"
#include "hal/hal.h"

#define FILE_B 4096u

_Static_assert(sizeof(struct core_ipc_event) <= FILE_B, "an event fits its file");

/* ---- life */

static enum hd_status file_map(struct core_event *event, int fd)
{
    struct core_ipc_event *at = MAP_FAILED;

    if (hal_shared_size(fd) == FILE_B)
        at = mmap(NULL, FILE_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED && at->magic != CORE_IPC_EVENT) {
        munmap(at, FILE_B);
        at = MAP_FAILED;
    }
    if (at == MAP_FAILED) {
        close(fd);
        return hd_error(HD_BAD_ARG, "this is no event of another process");
    }
    event->shared = at;
    event->shared_fd = fd;
    return HD_OK;
}

enum hd_status core_ipc_event_init(struct core_event *event, int fd)
{
    void *at;

    if (fd >= 0)
        return file_map(event, fd);
    HD_TRY(hal_shared_create("heddle-event", FILE_B, &event->shared_fd, &at));
    event->shared = at;
    event->shared->magic = CORE_IPC_EVENT;
    return HD_OK;
}

void core_ipc_event_fini(struct core_event *event)
{
    hal_shared_destroy(event->shared_fd, event->shared, FILE_B);
    event->shared = NULL;
}

/* ---- recording and waiting */

static _Atomic uint64_t *cell_of(const struct core_event *event, uint64_t recording)
{
    return &event->shared->cells[recording % CORE_IPC_CELLS];
}

static void event_release(void *event)
{
    core_event_unref(event);
}

/* The file must not go before the packets ahead are done with it. */
static union hal_packet release_packet(struct core_event *event)
{
    union hal_packet p = {
        .host_call = {.head = {.op = HAL_OP_HOST_CALL, .flags = HAL_FLAG_ALWAYS}}};

    p.host_call.func = (uintptr_t)event_release;
    p.host_call.arg = (uintptr_t)core_event_ref(event);
    return p;
}

static union hal_packet sem_packet(enum hal_op op, _Atomic uint64_t *cell, uint64_t value)
{
    union hal_packet p = {.sem = {.head.op = (uint8_t)op, .value = value}};

    p.sem.address = (uintptr_t)cell;
    return p;
}

static enum hd_status submit(struct core_stream *stream, union hal_packet *p, unsigned n,
                             bool locked)
{
    return locked ? core_stream_submit_locked(stream, p, n)
                  : core_stream_submit(stream, p, n, NULL, 0, NULL);
}

enum hd_status core_ipc_event_record(struct core_event *event, struct core_stream *stream,
                                     bool locked)
{
    uint64_t n = atomic_fetch_add(&event->shared->claimed, 1) + 1;
    _Atomic uint64_t *cell = cell_of(event, n);
    union hal_packet p[3];
    unsigned count = 0;
    enum hd_status status;

    if (n > CORE_IPC_CELLS && atomic_load(cell) < n - CORE_IPC_CELLS)
        p[count++] = sem_packet(HAL_OP_WAIT, cell, n - CORE_IPC_CELLS);
    p[count++] = sem_packet(HAL_OP_SIGNAL, cell, n);
    p[count++] = release_packet(event);
    status = submit(stream, p, count, locked);
    if (status != HD_OK) {
        atomic_store(cell, n); /* nobody shall wait for what does not come */
        core_event_unref(event);
        return status;
    }
    /*
     * Only what its queue has may be waited for: the default stream orders itself behind a stream
     * that waits already, and its recording would stand behind the wait for it.
     */
    uint64_t last = atomic_load(&event->shared->recorded);
    while (last < n && !atomic_compare_exchange_weak(&event->shared->recorded, &last, n))
        ;
    return HD_OK;
}

bool core_ipc_event_is_reached(const struct core_event *event)
{
    uint64_t n = atomic_load(&event->shared->recorded);

    return atomic_load(cell_of(event, n)) >= n;
}

enum hd_status core_ipc_event_synchronize(struct core_event *event)
{
    struct hal_device *hal = event->ctx->device->hal;
    uint64_t n = atomic_load(&event->shared->recorded);

    return hal->ops->wait(hal, cell_of(event, n), n, UINT64_MAX);
}

enum hd_status core_ipc_event_wait(struct core_stream *stream, struct core_event *event,
                                   bool locked)
{
    uint64_t n = atomic_load(&event->shared->recorded);
    union hal_packet p[2];
    enum hd_status status;

    if (core_ipc_event_is_reached(event))
        return HD_OK;
    p[0] = sem_packet(HAL_OP_WAIT, cell_of(event, n), n);
    p[1] = release_packet(event);
    status = submit(stream, p, 2, locked);
    if (status != HD_OK)
        core_event_unref(event);
    return status;
}

/* ---- handles */

enum hd_status core_ipc_event_export(const struct core_event *event,
                                     struct core_ipc_handle *out_handle)
{
    if (!event->shared)
        return hd_error(HD_BAD_ARG, "the event was not created for other processes");
    return core_ipc_handle_make(CORE_IPC_EVENT, event->shared_fd, out_handle);
}
