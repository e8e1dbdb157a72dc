/*
 * The machine under the CUDA APIs: contexts, memory, modules, streams, events and launches, turned
 * into HAL packets. Everything CUDA-specific that is not decoding of arguments lives here.
 *
 * Objects and owners:
 *
 *     core_device* ────── core_context* ──┬── core_module* ── core_function*
 *                                          ├── core_stream* ── hal_queue
 *                                          ├── core_event*
 *                                          ├── core_array*, core_texture*
 *                                          └── device memory blocks
 *     core_library* (no context) ── core_kernel* ; a core_module per context that uses it
 *
 * Handles, references and the life of objects: core/handle.h. What a function returns in an out_
 * parameter comes with a reference; the caller drops it. x_destroy() takes an object out of its
 * owner's lists and makes its handle invalid; the memory goes with the last reference. It returns
 * false when another thread was first. Destroying a context destroys all it owns.
 *
 * Errors: enum hd_status. A fault of a kernel is sticky: core_context_status() returns it for the
 * rest of the context's life (the primary context's until it is reset).
 *
 * Threads: all functions may be called by any thread. Locks, outermost first: context->lock,
 * stream->lock, then the device's and the memory's own.
 */
#ifndef HD_CORE_CORE_H
#define HD_CORE_CORE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/texture/array.h"
#include "core/texture/texture_object.h"
#include "core/handle.h"
#include "core/module/image.h"

/* The API sees no more of hal than these names (scripts/lint_layers.py). */
struct hal_device;
struct hal_domain;
struct hal_native;
struct hal_kernel;
struct hal_module;
struct hal_queue;
union hal_packet;
/* capture.h */
struct core_capture;
struct core_capture_end;
struct core_capture_point;

/* ---- device (device.c) */

#define CORE_DEVICES_MAX 64

struct core_pool; /* memory.h */

/* What launches are checked against and the API reports: CUdevice_attribute numbers. */
enum core_attribute {
#define X(name, number, value) CORE_ATTRIBUTE_##name = (number),
#include "device.def"
#undef X
    CORE_ATTRIBUTE_END
};

/*
 * machine.c: the machine that devices identify as; NULL: the default. Applying one changes what a
 * device says about itself, and gives the product's name.
 */
struct core_machine;
const struct core_machine *core_machine(void);
const char *core_machine_apply(const struct core_machine *machine, int32_t *attributes);

struct reg_use;

/*
 * What a program takes for a device: a device of the HAL, or a part of one, which has some of its
 * multiprocessors, a memory budget and an identity of its own, and nothing else that is its own:
 * contexts of several parts are fault domains of one device. (docs/decisions/0141)
 */
struct core_device {
    int ordinal; /* as the program counts */
    struct hal_device *hal;
    unsigned parts;    /* devices that share it; 1: nobody else has it */
    uint32_t sm_first; /* `units` of its multiprocessors from this one on */
    struct reg_use *use;
    struct core_pool *pool;
    char name[128];
    int cc_major, cc_minor;
    int units; /* multiprocessors */
    int l2_B;
    int clock_khz;
    int pci_bus;
    uint64_t memory_B;
    int priority_greatest;                  /* of streams; 0 is the least */
    int32_t attributes[CORE_ATTRIBUTE_END]; /* what hal says about itself */
    unsigned target;                        /* enum opt_target: what code is made for */
    uint8_t uuid[16];
    struct core_context *primary; /* NULL until retained once; live while primary_refs is not 0 */
    unsigned primary_refs;
    unsigned primary_flags;
    struct hd_lock lock; /* primary_* */
};

/*
 * Creates the devices on first use: what HEDDLE_DEVICES and HEDDLE_DEVICE say, those of them that
 * CUDA_VISIBLE_DEVICES names. HD_NOT_FOUND, HD_BAD_ARG (environment), HD_NO_MEMORY.
 */
enum hd_status core_init(void) HD_MUST_CHECK;
/* 0 before core_init(). They live as long as the process. */
unsigned core_device_count(void);
/* NULL when there is none of that number. */
struct core_device *core_device_at(int ordinal);
/*
 * What tells a device apart from all that there are, also those that CUDA_VISIBLE_DEVICES hides.
 * How many there are; 0 before core_init(). Nothing is written
 * when `index` is not below that.
 */
unsigned core_device_identity(unsigned index, uint8_t out_uuid[16], int *out_pci_bus);
/* Devices in other processes, but for one: how many. Also while devices are opened. */
unsigned core_devices_elsewhere(const struct hal_device *but,
                                struct hal_device *out[CORE_DEVICES_MAX]);
/* Value of a CUdevice_attribute number. HD_BAD_ARG when there is no such attribute. */
enum hd_status core_device_attribute(const struct core_device *d, int number, int *out_value)
    HD_MUST_CHECK;

/*
 * CUDA_VISIBLE_DEVICES (visible.c): the indices of the devices that `list` names, in its order; the
 * result is how many. `uuids` are those of the `count` devices there are.
 */
unsigned core_visible_parse(const char *list, const uint8_t (*uuids)[16], unsigned count,
                            unsigned *out_order);
/* A device takes the place of another one. */
struct core_device_pair {
    uint8_t old_uuid[16], new_uuid[16];
};
/*
 * After a checkpoint: what the process knows as one device is another one from now on, which is
 * told by identifiers alone. HD_BAD_ARG, and nothing changes: a device of the process is in no
 * pair, one is in two, or there is none with an identifier. HD_NOT_SUPPORTED: the other is of
 * another kind, or has another share of its multiprocessors. Nobody
 * is inside a call.
 */
enum hd_status core_devices_replace(const struct core_device_pair *pairs, unsigned npairs)
    HD_MUST_CHECK;
/* "GPU-48454444-4c45-..." */
#define CORE_UUID_TEXT_B 41
void core_uuid_text(const uint8_t uuid[16], char out_text[CORE_UUID_TEXT_B]);

/* ---- memory (memory.c; its parts: memory.h) */

enum core_mem_kind {
    CORE_MEM_PAGEABLE = 0, /* the program's own memory, of which we know nothing */
    CORE_MEM_DEVICE = 1,
    CORE_MEM_HOST = 2, /* pinned */
    CORE_MEM_MANAGED = 4,
    CORE_MEM_REGISTERED = 8, /* the same, but registered */
};

struct core_block {
    uint64_t base;
    uint64_t size_B; /* as asked for */
    enum core_mem_kind kind;
    bool is_multicast;          /* nothing but multimem instructions reaches it */
    bool is_own;                /* core's: of a module, an array ...; programs cannot free it */
    uint8_t use;                /* enum heddle_memory_use, for taps */
    bool is_synchronous;        /* see core_memory_sync_set() */
    unsigned flags;             /* the API's */
    struct core_context *ctx;   /* NULL: a mapping (vmm.h) */
    struct core_device *device; /* the context's */
    uint64_t id;                /* never reused */
    struct core_pooled *pooled; /* of a memory pool, or NULL */
    struct core_mapped *mapped; /* of a file (ipc.h), or NULL */
};

/* 256-byte aligned. HD_NO_DEVICE_MEMORY, HD_BAD_ARG for size 0. */
enum hd_status core_memory_alloc(struct core_context *ctx, uint64_t size_B, enum core_mem_kind kind,
                                 unsigned flags, uint64_t *out_va) HD_MUST_CHECK;
/* `kinds`: those that may be freed here. HD_BAD_ARG when va is not the start of a live block. */
enum hd_status core_memory_free(uint64_t va, unsigned kinds) HD_MUST_CHECK;
/* For what core itself keeps in a context; `use`: enum heddle_memory_use, for taps. */
enum hd_status core_memory_alloc_own(struct core_context *ctx, uint64_t size_B,
                                     enum core_mem_kind kind, unsigned use, uint64_t *out_va)
    HD_MUST_CHECK;
void core_memory_free_own(uint64_t va);
/* From here on it belongs to this context, and to the device that it is of. */
void core_memory_give(uint64_t va, struct core_context *ctx);
/* REGISTERED, or MANAGED for variables: those cannot be unregistered. */
enum hd_status core_memory_register(struct core_context *ctx, uint64_t va, uint64_t size_B,
                                    enum core_mem_kind kind, unsigned flags) HD_MUST_CHECK;
enum hd_status core_memory_unregister(uint64_t va) HD_MUST_CHECK;
/* The live block that contains va, by value. */
bool core_memory_find(uint64_t va, struct core_block *out_block);
/* The context of a device's memory at va, where that is another device than ctx's: a reference. */
struct core_context *core_memory_peer(uint64_t va, const struct core_context *ctx);
/* The context of the allocation that holds the address, with a reference; NULL: there is none. */
struct core_context *core_memory_owner(uint64_t va);
/*
 * Do calls that are not asynchronous wait until the memory is written or read, also when nobody on
 * the host could tell? HD_BAD_ARG: there is no such memory.
 */
enum hd_status core_memory_sync_set(uint64_t va, bool is_synchronous) HD_MUST_CHECK;
/*
 * May the device touch [va, va + size_B)? HD_BAD_ARG for a range inside the device's address space
 * that is not within one live block; memory outside it is the program's and its own business.
 * `device_only`: it must be device, managed, pinned or registered memory.
 */
enum hd_status core_memory_check(uint64_t va, uint64_t size_B, bool device_only) HD_MUST_CHECK;
/* The same, and what the first byte is. */
enum hd_status core_memory_classify(uint64_t va, uint64_t size_B, bool device_only,
                                    enum core_mem_kind *out_kind) HD_MUST_CHECK;
void core_memory_info(const struct core_device *device, uint64_t *out_free_B,
                      uint64_t *out_total_B);
uint64_t core_memory_next_id(void);
void core_memory_release_context(struct core_context *ctx);

/* ---- advice for ranges of managed memory (advice.c) */

enum core_advise {
    CORE_ADVISE_READ_MOSTLY,
    CORE_ADVISE_PREFERRED,
    CORE_ADVISE_ACCESSED_BY,
    CORE_ADVISE_PREFETCHED
};
/* Locations have the API's types and numbers; a device's is the only one that matters here. */
#define CORE_ADVICE_DEVICE 1
struct core_advice {
    bool read_mostly, host_accesses;
    uint64_t accessed_by; /* devices, by ordinal */
    int preferred_type, preferred_id;
    int prefetch_type, prefetch_id;
};
struct core_advice_change {
    enum core_advise what;
    bool set;
    int type, id; /* of the location */
};
/* For whole pages. HD_NO_MEMORY. */
enum hd_status core_advice_set(uint64_t va, uint64_t size_B,
                               const struct core_advice_change *change) HD_MUST_CHECK;
/* What holds for all of the range. */
void core_advice_get(uint64_t va, uint64_t size_B, struct core_advice *out_advice);

/* ---- memory pools (mempool.c, mempool_life.c; inside: mempool.h) */

enum core_place { CORE_PLACE_DEVICE, CORE_PLACE_HOST };
enum core_policy {
    CORE_POLICY_FOLLOW_EVENTS, /* reuse what the stream waited for by an event */
    CORE_POLICY_OPPORTUNISTIC, /* reuse what happens to be free */
    CORE_POLICY_INTERNAL_WAIT, /* make the stream wait */
    CORE_POLICY_THRESHOLD,     /* bytes that are kept at synchronisation */
    CORE_MEMPOOL_POLICIES
};
enum core_mempool_stat {
    CORE_STAT_RESERVED,
    CORE_STAT_RESERVED_HIGH,
    CORE_STAT_USED,
    CORE_STAT_USED_HIGH,
    CORE_MEMPOOL_STATS
};
struct core_mempool_props {
    enum core_place place;
    int place_id; /* of the device */
    bool managed;
    bool exportable;
    uint64_t max_B; /* 0: no limit */
};

enum hd_status core_mempool_create(const struct core_mempool_props *props,
                                   struct core_mempool **out_pool) HD_MUST_CHECK;
/* False: another thread was first. Never for a default pool. Its blocks live on. */
bool core_mempool_destroy(struct core_mempool *pool);
/* The default or the current pool of a place, with a reference. HD_NO_MEMORY. */
enum hd_status core_mempool_at(const struct core_mempool_props *place, bool current,
                               struct core_mempool **out_pool) HD_MUST_CHECK;
/* HD_BAD_ARG when the pool is of another place, or imported. */
enum hd_status core_mempool_current_set(const struct core_mempool_props *place,
                                        struct core_mempool *pool) HD_MUST_CHECK;
bool core_mempool_is_default(const struct core_mempool *pool);
const struct core_mempool_props *core_mempool_props(const struct core_mempool *pool);

/* Memory that is the caller's in stream order. HD_NO_DEVICE_MEMORY, HD_BAD_ARG: imported pool. */
enum hd_status core_mempool_alloc(struct core_mempool *pool, struct core_stream *stream,
                                  uint64_t size_B, uint64_t *out_va) HD_MUST_CHECK;
/* Gives memory back in stream order, also memory of no pool. HD_BAD_ARG: no block begins there. */
enum hd_status core_mempool_free(struct core_stream *stream, uint64_t va) HD_MUST_CHECK;
/* Gives cached memory back until no more than keep_B are reserved. */
void core_mempool_trim(struct core_mempool *pool, uint64_t keep_B);
/* Work was waited for: gives back what is above the thresholds. */
void core_mempools_settle(void);

uint64_t core_mempool_policy(struct core_mempool *pool, enum core_policy policy);
void core_mempool_policy_set(struct core_mempool *pool, enum core_policy policy, uint64_t value);
uint64_t core_mempool_stat(struct core_mempool *pool, enum core_mempool_stat stat);
/* Of a high-water mark: begins again at what there is. */
void core_mempool_stat_reset(struct core_mempool *pool, enum core_mempool_stat stat);
/* What a device may do with the pool's memory: 0, 1 read, 3 read and write. */
unsigned core_mempool_access(struct core_mempool *pool, const struct core_device *device);
void core_mempool_access_set(struct core_mempool *pool, const struct core_device *device,
                             unsigned access);
/* The pool of the live block around va, with a reference, or NULL. */
struct core_mempool *core_mempool_of(uint64_t va);

/* Memory of a pool that another process may map. */
struct core_mempool_pointer {
    uint64_t magic, file, offset_B, size_B;
};
/* HD_NOT_SUPPORTED: not made for it. The descriptor is the caller's. */
enum hd_status core_mempool_export(struct core_mempool *pool, int *out_fd) HD_MUST_CHECK;
/* HD_BAD_ARG: the descriptor is of no pool. It stays the caller's. */
enum hd_status core_mempool_import(struct core_device *device, int fd,
                                   struct core_mempool **out_pool) HD_MUST_CHECK;
enum hd_status core_mempool_pointer_export(uint64_t va, struct core_mempool_pointer *out_pointer)
    HD_MUST_CHECK;
enum hd_status core_mempool_pointer_import(struct core_context *ctx, struct core_mempool *pool,
                                           const struct core_mempool_pointer *pointer,
                                           uint64_t *out_va) HD_MUST_CHECK;

/* ---- contexts (context.c) */

/* What a stream keeps for launches on it; numbers and values are the API's. */
#define CORE_STREAM_ATTRIBUTE_MAX 16
#define CORE_STREAM_ATTRIBUTE_B   64

/* A position that a stream was made to wait for: all it is given later comes behind it. */
struct core_awaited {
    const _Atomic uint64_t *semaphore;
    uint64_t value;
};

struct core_stream {
    struct core_object object;
    struct core_context *ctx;
    struct hal_queue *queue;
    struct core_green *green; /* whose multiprocessors it uses, or NULL; until it is finalised */
    struct core_stream *home; /* the default stream that it orders with; NULL: the context's */
    bool is_default;          /* of its context or green context */
    unsigned flags;           /* CU_STREAM_NON_BLOCKING = 1 */
    int priority;
    uint64_t id;
    struct hd_lock lock;    /* submission */
    uint64_t legacy_waited; /* position of the legacy stream that this one already waits for */
    _Atomic uint64_t waited_by_legacy; /* position of this one that the legacy stream waits for */
    uint32_t grid_id;                  /* of the last launch; lock */
    uint8_t (*attributes)[CORE_STREAM_ATTRIBUTE_B]; /* by number; NULL: none was set; lock */
    HD_VEC(struct core_awaited) awaited;            /* by events, one per queue; lock */
    struct core_stream *next, **link;               /* ctx->lock */
    _Atomic(struct core_capture *) capture;         /* what it gives work to; capture.h */
    struct core_capture_end *captured;
    struct core_stream *capture_next;
};

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

/* ---- what a thread has (thread.c) */

/* The top of the calling thread's stack of contexts; borrowed, NULL when empty. Maybe not live. */
struct core_context *core_current(void);
/* The green context as which it was made current; borrowed, NULL: as itself. */
struct core_green *core_current_green(void);
/*
 * Replaces the top, NULL drops it. The caller has a reference. `green`: as this green context of
 * it, or NULL. HD_NO_MEMORY.
 */
enum hd_status core_current_set_green(struct core_context *ctx, struct core_green *green)
    HD_MUST_CHECK;
enum hd_status core_current_push_green(struct core_context *ctx, struct core_green *green)
    HD_MUST_CHECK;
static inline HD_MUST_CHECK enum hd_status core_current_set(struct core_context *ctx)
{
    return core_current_set_green(ctx, NULL);
}
static inline HD_MUST_CHECK enum hd_status core_current_push(struct core_context *ctx)
{
    return core_current_push_green(ctx, NULL);
}
/* NULL when the stack is empty; else with a reference. */
struct core_context *core_current_pop(void);
/*
 * The calling thread's default stream of the context, or the green context, made on first use,
 * destroyed with the thread. Borrowed: the thread has a reference.
 */
enum hd_status core_stream_per_thread(struct core_context *ctx, struct core_stream **out_stream)
    HD_MUST_CHECK;
/* Drops the calling thread's references to default streams that were destroyed with a context. */
void core_thread_prune(void);

/* ---- streams and events (stream.c, event.c) */

#define CORE_STREAM_NON_BLOCKING 1u
#define CORE_STREAM_PER_THREAD   (1u << 16) /* ours; the API does not show it */

enum hd_status core_stream_create(struct core_context *ctx, unsigned flags, int priority,
                                  struct core_stream **out_stream) HD_MUST_CHECK;
/* The same on the multiprocessors of a green context, NULL: on all. */
enum hd_status core_stream_create_green(struct core_context *ctx, struct core_green *green,
                                        unsigned flags, int priority,
                                        struct core_stream **out_stream) HD_MUST_CHECK;
/* What the stream's kernels may use. */
uint32_t core_stream_sms(const struct core_stream *stream);
/* Returns at once; submitted work still completes, and the legacy stream still waits for it. */
bool core_stream_destroy(struct core_stream *stream);
/*
 * Submits packets with the order of streams around them. `params` of `params_B` bytes is copied for
 * a single dispatch packet whose parameters do not fit it. Waits when the ring is full.
 * *out_position (may be NULL): of the last packet in the stream's queue. Only this call knows it:
 * once the stream's lock is released, other threads submit behind it.
 */
enum hd_status core_stream_submit(struct core_stream *stream, union hal_packet *packets, unsigned n,
                                  const void *params, uint32_t params_B, uint64_t *out_position)
    HD_MUST_CHECK;
/*
 * A dispatch that has HAL_FLAG_CALLER: who submits it runs it next (hal_queue_ops.run). Unless it
 * `waits`, the flag goes where the stream is not idle.
 */
enum hd_status core_stream_submit_caller(struct core_stream *stream, union hal_packet *packet,
                                         bool waits, const void *params, uint32_t params_B)
    HD_MUST_CHECK;
/* For who has the stream's lock, and its place among the others: graph launches. Waits for room. */
enum hd_status core_stream_submit_locked(struct core_stream *stream,
                                         const union hal_packet *packets, unsigned n) HD_MUST_CHECK;
/* The position that stands for what the stream was given so far; nothing is submitted for it. */
enum hd_status core_stream_mark(struct core_stream *stream, uint64_t *out_position) HD_MUST_CHECK;
/* An event made the stream wait for it (pools ask). */
void core_stream_awaited(struct core_stream *stream, const _Atomic uint64_t *semaphore,
                         uint64_t value);
/* Attributes that were never set read as 0. HD_NO_MEMORY. */
enum hd_status core_stream_attribute_set(struct core_stream *stream, unsigned number,
                                         const void *value) HD_MUST_CHECK;
void core_stream_attribute_get(struct core_stream *stream, unsigned number, void *out_value);
/* Makes all attributes of `to` those of `from`. */
enum hd_status core_stream_attributes_copy(struct core_stream *to, struct core_stream *from)
    HD_MUST_CHECK;
enum hd_status core_stream_synchronize(struct core_stream *stream) HD_MUST_CHECK;
/* HD_BUSY, without a message, while work is left. */
enum hd_status core_stream_query(struct core_stream *stream) HD_MUST_CHECK;
/* The same as below, and a node in a capturing stream. */
enum hd_status core_stream_host(struct core_stream *stream, void (*func)(void *), void *arg)
    HD_MUST_CHECK;
/* Calls func(arg) in stream order; `always`: after a fault too. */
enum hd_status core_stream_call(struct core_stream *stream, void (*func)(void *), void *arg,
                                bool always) HD_MUST_CHECK;

/* Operations of a stream on memory (mem_op.c). */
enum core_mem_op_kind { CORE_MEM_OP_WAIT, CORE_MEM_OP_WRITE, CORE_MEM_OP_BARRIER };
enum core_compare { CORE_COMPARE_GEQ, CORE_COMPARE_EQ, CORE_COMPARE_AND, CORE_COMPARE_NOR };
struct core_mem_op {
    enum core_mem_op_kind kind;
    enum core_compare compare; /* wait */
    bool is_32;
    uint64_t va, value;
};
/* HD_BAD_ARG: the address is misaligned, of managed memory, or of none that the device knows. */
enum hd_status core_mem_op_packet(const struct core_mem_op *op, union hal_packet *out_packet)
    HD_MUST_CHECK;
/* In this order; nothing is submitted when one of them is wrong. */
enum hd_status core_stream_mem_ops(struct core_stream *stream, const struct core_mem_op *ops,
                                   unsigned n) HD_MUST_CHECK;

#define CORE_EVENT_DISABLE_TIMING 2u
#define CORE_EVENT_INTERPROCESS   4u

/*
 * An event's recordings in one queue: reached when *semaphore >= value. Each queue stores times in
 * a cell of its own, so that one that comes late never overwrites that of a later recording
 * elsewhere. (docs/decisions/0046)
 */
struct core_event_cell {
    const _Atomic uint64_t *semaphore; /* the queue's `retired`; constant once it is in a list */
    uint64_t value;                    /* event->lock: of the last one; 0: none */
    _Atomic uint64_t ticks;            /* by the device, even after the event was destroyed */
    struct core_event_cell *next;      /* constant */
};

struct core_event {
    struct core_object object;
    struct core_context *ctx;
    unsigned flags;
    _Atomic(struct core_event_cell *) cells;    /* one per queue it was recorded in; only grows */
    struct core_event_cell first;               /* of the first queue: most events know only one */
    struct hd_lock lock;                        /* below, and adding to `cells` */
    _Atomic(struct core_capture_point *) point; /* last recorded in a capture; capture.h */
    struct core_event_cell *last;               /* of the last recording; NULL: never recorded */
    struct core_event *next, **link;            /* ctx->lock */
    struct core_ipc_event *shared; /* INTERPROCESS: instead of cells (ipc.h); constant */
    int shared_fd;
};

enum hd_status core_event_create(struct core_context *ctx, unsigned flags,
                                 struct core_event **out_event) HD_MUST_CHECK;
/* Returns at once; streams that wait for it go on waiting. */
bool core_event_destroy(struct core_event *event);
/* Frees finalised streams and events that the device is done with. Under ctx->lock. */
void core_streams_reap_locked(struct core_context *ctx);
void core_events_reap_locked(struct core_context *ctx);
/* `external`: in a capturing stream, as a node of the graph. */
enum hd_status core_event_record(struct core_event *event, struct core_stream *stream,
                                 bool external) HD_MUST_CHECK;
/* The same under the stream's lock. */
enum hd_status core_event_record_locked(struct core_event *event, struct core_stream *stream)
    HD_MUST_CHECK;
enum hd_status core_event_wait_locked(struct core_stream *stream, struct core_event *event)
    HD_MUST_CHECK;
/* HD_BUSY while not reached; HD_OK when never recorded. */
enum hd_status core_event_query(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_event_synchronize(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_event_wait(struct core_stream *stream, struct core_event *event, bool external)
    HD_MUST_CHECK;
/* HD_BUSY while one is not reached; HD_BAD_ARG when one was not recorded or keeps no time. */
enum hd_status core_event_elapsed(struct core_event *start, struct core_event *end, float *out_ms)
    HD_MUST_CHECK;

/* ---- modules (module.c, library.c; image.h) */

/* What a kernel needs of a device. */
struct core_function_info {
    uint64_t shared_B;    /* static shared memory */
    uint64_t local_B;     /* per thread */
    uint32_t regs;        /* per thread, estimate */
    uint32_t max_threads; /* per CTA: .maxntid, else the device's limit */
};

struct core_function {
    struct core_object object;
    struct core_module *module;
    const struct core_entry *entry;
    _Atomic(struct hal_kernel *) kernel; /* NULL until core_function_load() */
    struct core_function_info info;      /* set by core_function_describe() */
    _Atomic bool is_described;
    uint64_t calls; /* of the runtime: a set of ir/device_runtime.h; set before `kernel` */
    const struct hal_native *native; /* what its device runs; NULL: code. As calls */
    /* Limit of dynamic shared memory, opt-in; CORE_DYNAMIC_DEFAULT until set or described. */
    _Atomic uint32_t max_dynamic_B;
    /* Programs set these while other threads launch. */
    _Atomic int carveout;
    _Atomic int cache_config;
    _Atomic int cluster[3]; /* required, where the kernel does not say it; 0 = none */
    _Atomic int cluster_policy;
    _Atomic bool large_clusters; /* beyond CORE_CLUSTER_PORTABLE */
    struct core_setup *setup;    /* module->lock; NULL until something was said (launch_setup.c) */
    _Atomic bool was_named;      /* as a native kernel, to who looks into kernels */
};
#define CORE_DYNAMIC_DEFAULT UINT32_MAX

struct core_var {
    uint64_t va;
    uint64_t size_B;
    bool managed;
};

struct core_module {
    struct core_object object;
    struct core_context *ctx;
    struct core_image *image;
    struct hal_module *hal;
    struct hal_module *forms[CORE_FORM_COUNT]; /* lock; the others; NULL: none yet */
    struct dump_program *dump;                 /* lock; NULL: none yet (coredump.h) */
    struct core_library *library;              /* that it was made for, or NULL; a reference */
    uint64_t *var_va;                          /* by number (ir_var.index) */
    uint64_t const_B;
    HD_VEC(uint64_t) blocks;                /* memory behind the variables */
    struct hd_lock lock;                    /* functions, their loading, references, closing */
    bool closing;                           /* no function is added any more */
    struct core_function **functions;       /* by position of the entry; NULL = not asked for yet */
    struct core_texref *texrefs;            /* lock: those that were asked for (texref.h) */
    HD_VEC(struct core_texture *) samplers; /* of its variables */
    struct core_module *next, **link;       /* ctx->lock */
};

/* `library`: that it is made for, or NULL. */
enum hd_status core_module_create(struct core_context *ctx, struct core_image *image,
                                  struct core_library *library, struct core_module **out_module)
    HD_MUST_CHECK;
/* Waits for the context's work. */
bool core_module_destroy(struct core_module *module);
/* The handle; its code is not touched. HD_NOT_FOUND. */
enum hd_status core_module_function(struct core_module *module, const char *name,
                                    struct core_function **out_function) HD_MUST_CHECK;
/* The same by position of its entry, below core_image_count(). */
enum hd_status core_module_function_at(struct core_module *module, uint32_t position,
                                       struct core_function **out_function) HD_MUST_CHECK;
/*
 * Compiles the function and gives it to the device, unless that was done: then it costs one load.
 * Must have succeeded before `kernel` is looked at; describes the function, too. HD_NOT_SUPPORTED,
 * HD_UNRESOLVED, HD_BAD_PTX, HD_NO_MEMORY.
 */
enum hd_status core_function_load(struct core_function *function) HD_MUST_CHECK;
/*
 * Finds out what the function needs, `info` and `max_dynamic_B`, from its PTX, unless that was
 * done. What looks as if it cannot be compiled, and native kernels, are loaded: the errors are
 * those. A kernel that is described may fail to load all the same; once it has, this fails as well.
 */
enum hd_status core_function_describe(struct core_function *function) HD_MUST_CHECK;
/* Of a block: what the PTX says, at most what the device takes. */
uint32_t core_function_threads(const struct core_function *function);
static inline bool core_function_is_described(const struct core_function *function)
{
    return atomic_load_explicit(&function->is_described, memory_order_acquire);
}
/*
 * The kernel in another form than the plain one, made when it is first asked for, and its code.
 * They live as long as the module, whose variables all forms share.
 */
enum hd_status core_function_form(struct core_function *function, enum core_form form,
                                  struct hal_kernel **out_kernel, const struct ir_module **out_code)
    HD_MUST_CHECK;
static inline bool core_function_is_loaded(const struct core_function *function)
{
    return atomic_load_explicit(&function->kernel, memory_order_acquire) != NULL;
}
enum hd_status core_module_var(struct core_module *module, const char *name,
                               struct core_var *out_var) HD_MUST_CHECK;
/* By its PTX, or placed in managed memory of the program. */
struct ir_var;
bool core_module_var_is_managed(const struct core_module *module, const struct ir_var *var);

struct core_kernel {
    struct core_object object;
    struct core_library *library;
    const struct core_entry *entry;
    _Atomic int max_dynamic_B; /* set before a context's function existed; -1 = not set */
    _Atomic int carveout;
};

/* A managed variable that is where the program has it; the first module gives it its value. */
struct core_placed {
    const char *name; /* the caller's, for the library's life */
    uint64_t va;
    uint64_t size_B;
    bool has_value;
};

struct core_library {
    struct core_object object;
    const void *bytes; /* lazily loaded image, NULL once loaded */
    size_t size_B;
    struct hd_lock lock; /* all below */
    bool closing;        /* nothing is added any more */
    struct core_image *image;
    enum hd_status failed;                /* of the lazy load */
    struct core_kernel **kernels;         /* by position of the entry; NULL = not asked for yet */
    HD_VEC(struct core_module *) modules; /* one per context that used it; they have references */
    uint64_t managed_va; /* memory of its managed variables, of a user's context; 0 = none */
    HD_VEC(struct core_module *) managed_users;
    HD_VEC(struct core_placed) placed; /* before the first module is made; only then no lock */
};

/* `preserved`: the image stays mapped, so loading can wait. */
enum hd_status core_library_create(const void *image, size_t size_B, bool preserved,
                                   struct core_library **out_library) HD_MUST_CHECK;
/* Of a native kernel's image, whose reference goes to it. */
enum hd_status core_library_create_of(struct core_image *image, struct core_library **out_library)
    HD_MUST_CHECK;
bool core_library_destroy(struct core_library *library);
/* HD_BUSY: a module has been made, so the variable is elsewhere. */
enum hd_status core_library_place(struct core_library *library, const char *name, uint64_t va,
                                  uint64_t size_B) HD_MUST_CHECK;
enum hd_status core_library_image(struct core_library *library, struct core_image **out_image)
    HD_MUST_CHECK;
enum hd_status core_library_kernel(struct core_library *library, const char *name,
                                   struct core_kernel **out_kernel) HD_MUST_CHECK;
/* The same by position of its entry, below core_image_count(). */
enum hd_status core_library_kernel_at(struct core_library *library, uint32_t position,
                                      struct core_kernel **out_kernel) HD_MUST_CHECK;
enum hd_status core_library_module(struct core_library *library, struct core_context *ctx,
                                   struct core_module **out_module) HD_MUST_CHECK;
enum hd_status core_kernel_function(struct core_kernel *kernel, struct core_context *ctx,
                                    struct core_function **out_function) HD_MUST_CHECK;

/* ---- launches and copies (launch.c, copy.c) */

struct core_launch {
    uint32_t grid[3], block[3];
    uint32_t dynamic_smem_B;
    uint32_t cluster[3]; /* CTAs; 0: as the kernel says */
    bool cooperative;
    uint16_t mdc;       /* of several devices (mdc.c), or 0 */
    void **params;      /* one pointer per parameter, or NULL */
    const void *buffer; /* packed parameter block instead */
    size_t buffer_B;
    bool for_graphs; /* it can only become a node of one */
    /* Kernels may change the node that it becomes, by the handle that is written here; or NULL. */
    void **out_device_node;
};
/* Of a launch or a graph that was just submitted: waits for its end if the checker runs launches
 * again; not for ever. */
void core_launch_settle(struct core_stream *stream);

/*
 * HD_BAD_ARG for dimensions and sizes outside the limits; HD_LAUNCH_LIMIT for a cooperative grid
 * that cannot be resident; HD_BAD_CLUSTER.
 */
enum hd_status core_launch(struct core_function *function, struct core_stream *stream,
                           const struct core_launch *launch) HD_MUST_CHECK;
/*
 * Launches of the first version are set up call by call: the function keeps what was said, from one
 * launch to the next (launch_setup.c). HD_BAD_ARG: bytes outside of its parameters.
 */
struct core_setup {
    uint32_t block[3]; /* zeros until said */
    uint32_t dynamic_smem_B;
    uint32_t params_B; /* as said */
    uint8_t params[];  /* as many as the function has */
};
enum hd_status core_setup_block(struct core_function *function, const uint32_t block[3])
    HD_MUST_CHECK;
enum hd_status core_setup_smem(struct core_function *function, uint32_t size_B) HD_MUST_CHECK;
enum hd_status core_setup_params(struct core_function *function, uint32_t size_B) HD_MUST_CHECK;
enum hd_status core_setup_param(struct core_function *function, uint32_t offset_B,
                                const void *bytes, uint32_t size_B) HD_MUST_CHECK;
/* What was said so far; the caller frees it with hd_free(). NULL: no memory. */
struct core_setup *core_setup_copy(struct core_function *function);
/*
 * One grid of the same kernel on each of several devices, which can wait for each other (mdc.c):
 * streams of contexts of different devices. `flags`: CORE_MDC_*. HD_BAD_ARG: not the same kernel
 * or dimensions, two on one device; else as core_launch().
 */
struct core_mdc_grid {
    struct core_function *function;
    struct core_stream *stream;
    struct core_launch launch;
};
enum core_mdc_flag {
    CORE_MDC_NO_PRE_SYNC = 1,  /* a grid waits for its own stream only */
    CORE_MDC_NO_POST_SYNC = 2, /* what follows waits for the grid of its own stream only */
};
enum hd_status core_launch_mdc(const struct core_mdc_grid *grids, unsigned n, unsigned flags)
    HD_MUST_CHECK;
/* Its parts: for graphs, which launch later what is given now. Compiles the function. */
#define CORE_PARAMS_MAX_B 32764u
enum hd_status core_launch_check(struct core_function *function, const struct core_launch *launch)
    HD_MUST_CHECK;
/* Could some kernel be launched like this? */
bool core_launch_fits(const struct core_device *device, const struct core_launch *launch);
/* Packs the parameters into entry->params_B bytes at `block`. */
enum hd_status core_launch_pack(const struct core_entry *entry, const struct core_launch *launch,
                                uint8_t *block) HD_MUST_CHECK;
/* All of the packet but its parameters and the grid's number. */
void core_launch_packet(const struct core_function *function, const struct core_launch *launch,
                        union hal_packet *out_packet);
/*
 * Clusters (cluster.c). Is one of a size that kernel, program or launch names? Then resolving it
 * makes the launch's cluster that size, and counts its grid in CTAs.
 */
enum { CORE_CLUSTER_PORTABLE = 8 };
static inline bool core_cluster_is_named(const struct core_function *f, const struct core_launch *l)
{
    return l->cluster[0] | l->cluster[1] | l->cluster[2] | f->entry->cluster[0] |
           (uint32_t)(f->cluster[0] | f->cluster[1] | f->cluster[2]) | f->entry->explicit_cluster;
}
enum hd_status core_cluster_resolve(const struct core_function *function,
                                    struct core_launch *launch) HD_MUST_CHECK;
/* Is `preferred`, which may be used instead, a multiple that divides the grid? */
enum hd_status core_cluster_check_preferred(const struct core_function *function,
                                            const struct core_launch *launch,
                                            const uint32_t preferred[3]) HD_MUST_CHECK;
/* The most CTAs that a cluster of the function may have. */
uint32_t core_cluster_max(const struct core_function *function);
/* The size that the function requires; out[0] is 0 when it does not. */
void core_cluster_required(const struct core_function *function, uint32_t out[3]);
/* CTAs of this size that fit a multiprocessor; 0 when none does. */
int core_occupancy(const struct core_function *function, int threads, uint64_t dynamic_smem_B);
/* Dynamic shared memory one CTA may use so that `ctas` fit. */
uint64_t core_occupancy_smem(const struct core_function *function, int ctas, int threads);

/* A box of bytes; pitches and slices 0 for 1D. Checks both ranges. */
struct core_copy {
    uint64_t dst, src;
    uint64_t width_B, height, depth;
    uint64_t dst_pitch_B, src_pitch_B, dst_slice_B, src_slice_B;
    bool dst_is_device, src_is_device; /* must be memory of ours */
    bool async;                        /* the caller asked for an asynchronous copy */
    bool names_array;                  /* one side is a CUDA array */
};
enum hd_status core_copy(struct core_stream *stream, const struct core_copy *copy) HD_MUST_CHECK;
enum hd_status core_fill(struct core_stream *stream, uint64_t dst, uint64_t pitch_B, uint32_t value,
                         uint32_t elem_B, uint64_t width, uint64_t height, bool async)
    HD_MUST_CHECK;

/* Their parts, as for launches. */
enum hd_status core_copy_check(const struct core_copy *copy) HD_MUST_CHECK;
void core_copy_packet(const struct core_copy *copy, union hal_packet *out_packet);
/* Bytes that go from host memory to a device's, and back. */
struct core_bus_bytes {
    uint64_t to_device_B, to_host_B;
};
void core_copy_add_bytes(const struct core_copy *copy, struct core_bus_bytes *bytes);
/* They are copied now: other processes see it. */
void core_copy_count(const struct core_context *ctx, const struct core_bus_bytes *bytes);
enum hd_status core_fill_check(uint64_t dst, uint64_t pitch_B, uint32_t elem_B, uint64_t width,
                               uint64_t height) HD_MUST_CHECK;
void core_fill_packet(uint64_t dst, uint64_t pitch_B, uint32_t value, uint32_t elem_B,
                      uint64_t width, uint64_t height, union hal_packet *out_packet);

#endif
