/*
 * Contexts (context.c, context_wait.c): a fault domain of a device, and all that a program makes in
 * it, which goes with it. The primary context of a device is made once, counted and reset.
 *
 * A fault of a kernel is sticky: core_context_status() returns it for the rest of the context's
 * life, the primary context's until it is reset. Threads: any.
 */
#ifndef HD_CORE_CONTEXT_H
#define HD_CORE_CONTEXT_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/status.h"
#include "base/vec.h"
#include "core/handle.h"

struct core_device;
struct core_dump_settings;
struct hal_domain;
struct hal_queue;

/* What all streams have to wait for, also those to come: core_streams_wait() (green.h). */
struct core_gate {
    struct hal_queue *queue; /* NULL: nothing */
    uint64_t position;
};

struct core_context {
    struct core_object object;
    struct core_device *device;
    _Atomic uint64_t id;    /* another one after a reset */
    _Atomic unsigned flags; /* this and the configurations: what any thread sets and asks */
    unsigned api_version;
    _Atomic unsigned attached; /* cuCtxAttach() without its cuCtxDetach() */
    bool primary;
    _Atomic int cache_config, smem_config;
    struct hal_domain *domain;            /* what faults and is limited together */
    const _Atomic uint32_t *fault_status; /* the domain's: enum hd_status */
    struct core_stream *legacy; /* owned, lives as long as the context; has no reference to it */
    struct core_gate gate;      /* lock */
    _Atomic uint32_t grid_id_blocks;
    _Atomic uint64_t pending_launches; /* by kernels: cdp.h */
    _Atomic unsigned ncapturing;       /* blocking streams that are capturing */
    _Atomic unsigned nblocking;        /* blocking streams in the two lists of streams */
    struct hd_lock lock;               /* all below */
    bool closing;                      /* nothing is added any more */
    struct core_module *modules;       /* live ones */
    struct core_stream *streams;       /* all but legacy that somebody has a reference to */
    struct core_event *events;         /* the same */
    struct core_array *arrays;         /* the same */
    struct core_texture *textures;     /* the same, surfaces too */
    /* Finalised objects that the device is not done with; they have no reference to the context. */
    struct core_stream *draining_streams; /* work is left */
    struct core_event *draining_events;   /* their time is to be stored */
    HD_VEC(uint64_t) peers; /* ids of contexts whose memory cuCtxEnablePeerAccess() opened */
    /* Queues live as long as the context: events refer to them. */
    HD_VEC(struct hal_queue *) idle_queues;
    _Atomic size_t nqueues;          /* idle or not; idle_queues has room for all */
    uint64_t nblocks;                /* of memory; core_memory_lock */
    struct core_dump_settings *dump; /* coredump.c's lock; NULL: the process's */
    _Atomic bool dumped;             /* its failure is in a file */
    uint64_t next_id;
};

enum hd_status core_context_create(struct core_device *device, unsigned flags,
                                   struct core_context **out_ctx) HD_MUST_CHECK;
/* Waits for its work. Threads that have it current find it not live from then on. */
bool core_context_destroy(struct core_context *ctx);
enum hd_status core_primary_retain(struct core_device *device, struct core_context **out_ctx)
    HD_MUST_CHECK;
enum hd_status core_primary_release(struct core_device *device) HD_MUST_CHECK;
/* Destroys what is in it and makes it usable again; references stay. */
enum hd_status core_primary_reset(struct core_device *device) HD_MUST_CHECK;
/* Sticky error or HD_OK. */
static inline enum hd_status core_context_status(const struct core_context *ctx)
{
    return (enum hd_status)atomic_load_explicit(ctx->fault_status, memory_order_acquire);
}
/* Why it has failed, in one line; "" while it has not. Valid until it is reset. */
const char *core_context_failure(const struct core_context *ctx);
/* What a program may set per context: spec/limits.def. */
enum core_limit {
#define X(name, value, max, doc) CORE_LIMIT_##name,
#include "limits.def"
#undef X
    CORE_LIMIT_COUNT
};
/* Takes effect at the next launch; what was set is what is returned. HD_BAD_ARG: above the most. */
enum hd_status core_context_limit_set(struct core_context *ctx, enum core_limit limit,
                                      uint64_t value) HD_MUST_CHECK;
uint64_t core_context_limit(const struct core_context *ctx, enum core_limit limit);
/* Everything that was submitted is complete. */
bool core_context_is_idle(struct core_context *ctx);
/* Waits for all work of the context. */
enum hd_status core_context_synchronize(struct core_context *ctx) HD_MUST_CHECK;

/*
 * Access to the memory of a context of another device. There is one memory, so it needs no doing;
 * what was asked for is remembered, because CUDA reports it. HD_BUSY: was enabled before;
 * HD_NOT_FOUND: was not; HD_BAD_ARG: a context of the same device.
 */
enum hd_status core_peer_enable(struct core_context *ctx, struct core_context *peer) HD_MUST_CHECK;
enum hd_status core_peer_disable(struct core_context *ctx, struct core_context *peer) HD_MUST_CHECK;

#endif
