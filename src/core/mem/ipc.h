/*
 * Memory and events of one process in another one.
 *
 * Both are memory files. What the API calls a handle tells where the file is: process, descriptor
 * there, and the file's number, which tells a process that came later, or a descriptor that was
 * used again, from the one that is meant. The other process opens /proc/<pid>/fd/<fd>, which a
 * process of the same user may; from then on it needs the first one no more.
 *
 * Memory that was allocated in the usual way becomes a memory file when its handle is first asked
 * for: its contents move, its addresses stay. Small blocks take their whole slab along.
 *
 * An event's file holds the number of its last recording and cells that the devices of both
 * processes signal: recording n writes n to cell n mod CORE_IPC_CELLS, after n - CORE_IPC_CELLS is
 * there, so whoever waits for n is neither released early nor forgotten.
 *
 * Threads: any; an event's file is only accessed atomically, memory's under core_memory_lock.
 */
#ifndef HD_CORE_MEM_IPC_H
#define HD_CORE_MEM_IPC_H

#include "core/handle.h"

struct core_block;
struct core_device;

/* What the API hands to other processes, as bytes. */
struct core_ipc_handle {
    uint64_t magic; /* of memory or of an event */
    uint64_t file;  /* its inode */
    int32_t pid, fd;
    uint64_t offset_B, size_B; /* memory: of the block in the file */
};

/* ---- memory */

/* Whether the memory has a handle for other processes: what was allocated in the usual way. */
bool core_ipc_memory_can(const struct core_block *block);
/* The caller waited for work on it. HD_BAD_ARG: no allocation of device memory begins there. */
enum hd_status core_ipc_memory_export(uint64_t va, struct core_ipc_handle *out_handle)
    HD_MUST_CHECK;
/*
 * The same memory at the same address for each time a process opens it, counted. HD_BAD_ARG: no
 * handle of memory, or its process is gone; HD_BUSY, without a message: it is of this process.
 */
enum hd_status core_ipc_memory_open(struct core_context *ctx, const struct core_ipc_handle *handle,
                                    uint64_t *out_va) HD_MUST_CHECK;
/* HD_BAD_ARG: not what core_ipc_memory_open() returned. */
enum hd_status core_ipc_memory_close(uint64_t va) HD_MUST_CHECK;

/* ---- external memory: a descriptor of a memory file */

/* Duplicates the descriptor. HD_BAD_ARG: no such file, or smaller than size_B. */
enum hd_status core_extmem_create(struct core_device *device, int fd, uint64_t size_B,
                                  struct core_extmem **out_extmem) HD_MUST_CHECK;
/* What is mapped stays. */
bool core_extmem_destroy(struct core_extmem *extmem);
/* A part of it as device memory, freed like other memory. */
enum hd_status core_extmem_map(struct core_context *ctx, struct core_extmem *extmem,
                               uint64_t offset_B, uint64_t size_B, uint64_t *out_va) HD_MUST_CHECK;

struct core_extmem {
    struct core_object object;
    struct core_device *device;
    int fd;
    uint64_t size_B;
};

/* ---- a block of memory that was mapped from a file (of core_block.mapped) */

struct core_pool;

struct core_mapped {
    struct core_pool *pool; /* what maps it; goes with the block */
    bool by_handle;         /* closed by its count, not freed */
    unsigned count;
    struct core_ipc_handle handle;
    struct core_block *block;
    struct core_mapped *next, **link; /* all with by_handle; core_memory_lock */
};

/* ---- events */

#define CORE_IPC_CELLS 64u

struct core_ipc_event {
    uint64_t magic;
    _Atomic uint64_t claimed;  /* numbers given to recordings, from 1 */
    _Atomic uint64_t recorded; /* the last recording that its queue has; 0: none */
    uint64_t reserved[5];
    _Atomic uint64_t cells[CORE_IPC_CELLS];
};

/* For event.c. `fd` -1: a new one, else another process's; it becomes the event's. */
enum hd_status core_ipc_event_init(struct core_event *event, int fd) HD_MUST_CHECK;
void core_ipc_event_fini(struct core_event *event);
/* `locked`: the stream's lock is held. */
enum hd_status core_ipc_event_record(struct core_event *event, struct core_stream *stream,
                                     bool locked) HD_MUST_CHECK;
bool core_ipc_event_is_reached(const struct core_event *event);
enum hd_status core_ipc_event_synchronize(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_ipc_event_wait(struct core_stream *stream, struct core_event *event,
                                   bool locked) HD_MUST_CHECK;

/* For the API. HD_BAD_ARG: not made for it; no handle of an event, or its process is gone. */
enum hd_status core_ipc_event_export(const struct core_event *event,
                                     struct core_ipc_handle *out_handle) HD_MUST_CHECK;
enum hd_status core_ipc_event_open(struct core_context *ctx, const struct core_ipc_handle *handle,
                                   struct core_event **out_event) HD_MUST_CHECK;

/* ---- between the files of it */

#define CORE_IPC_MEMORY 0x6d656d6c64646548u
#define CORE_IPC_EVENT  0x6e76656c64646548u

enum hd_status core_ipc_handle_make(uint64_t magic, int fd, struct core_ipc_handle *out_handle)
    HD_MUST_CHECK;
/* The file of a handle; the descriptor is the caller's. */
enum hd_status core_ipc_handle_open(uint64_t magic, const struct core_ipc_handle *handle,
                                    int *out_fd) HD_MUST_CHECK;

#endif
