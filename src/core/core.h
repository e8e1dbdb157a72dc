/*
 * The machine under the CUDA APIs: contexts, memory, modules, streams, events and launches, turned
 * into HAL packets. Everything CUDA-specific that is not decoding of arguments lives here.
 *
 * Objects and owners:
 *
 *     core_device (one) ── core_context* ──┬── core_module* ── core_function*
 *                                          ├── core_stream* ── hal_queue
 *                                          ├── core_event*
 *                                          └── device memory blocks
 *     core_library* (no context) ── core_kernel* ; a core_module per context that uses it
 *
 * Handles: what the API hands out are pointers to these structs. They live in slabs that are never
 * unmapped, and begin with a mark, so a stale or invented handle is found out without a lock
 * (core_handle_is). Destroying a context destroys all it owns.
 *
 * Errors: enum hd_status. A fault of a kernel is sticky: core_context_status() returns it for the
 * rest of the context's life (the primary context's until it is reset).
 *
 * Threads: all functions may be called by any thread. Locks, outermost first: context->lock,
 * stream->lock, then the device's and the memory's own.
 */
#ifndef HD_CORE_CORE_H
#define HD_CORE_CORE_H

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "hal/hal.h"
#include "ir/ir.h"

/* ---- handles (handle.c) */

/* name, struct */
#define CORE_HANDLE_LIST(X)                                                                        \
    X(CONTEXT, struct core_context)                                                                \
    X(MODULE, struct core_module)                                                                  \
    X(FUNCTION, struct core_function)                                                              \
    X(LIBRARY, struct core_library)                                                                \
    X(KERNEL, struct core_kernel)                                                                  \
    X(STREAM, struct core_stream)                                                                  \
    X(EVENT, struct core_event)

enum core_handle_kind {
#define X(name, type) CORE_##name,
    CORE_HANDLE_LIST(X)
#undef X
        CORE_HANDLE_COUNT
};

/* First member of everything that is handed out. */
struct core_object {
    _Atomic uint32_t mark; /* of the kind while alive, else 0 */
    uint32_t kind;
    struct core_object *next_free;
};

/* Zeroed and marked; NULL when memory is short. */
void *core_handle_alloc(enum core_handle_kind kind) HD_MUST_CHECK;
void core_handle_free(void *object);
/* Is this a live object of the kind? Any value may be asked. */
bool core_handle_is(enum core_handle_kind kind, const void *handle);

/* ---- device (device.c) */

struct core_device {
    struct hal_device *hal;
    char name[128];
    int cc_major, cc_minor;
    int units;
    int l2_B;
    int clock_khz;
    int pci_bus;
    uint64_t memory_B;
    uint8_t uuid[16];
    struct core_context *primary; /* NULL or inactive until retained */
    unsigned primary_refs;
    unsigned primary_flags;
    struct hd_lock lock; /* primary_* */
};

/* Limits that launches are checked against; part of spec/device.def. */
enum {
#define X(name, number, value) CORE_ATTRIBUTE_##name = number,
#include "device.def"
#undef X
};

/* Creates the device on first use. HD_NOT_FOUND, HD_BAD_ARG (environment), HD_NO_MEMORY. */
enum hd_status core_init(void) HD_MUST_CHECK;
/* NULL before core_init(). */
struct core_device *core_device_get(void);
/* Value of a CUdevice_attribute number. HD_BAD_ARG when there is no such attribute. */
enum hd_status core_device_attribute(const struct core_device *d, int number, int *out_value)
    HD_MUST_CHECK;

/* ---- memory (memory.c) */

enum core_mem_kind {
    CORE_MEM_DEVICE = 1,
    CORE_MEM_HOST = 2, /* pinned */
    CORE_MEM_MANAGED = 4,
    CORE_MEM_REGISTERED = 8, /* the program's own memory */
};

struct core_block {
    uint64_t base;
    uint64_t size_B; /* as asked for */
    enum core_mem_kind kind;
    unsigned flags; /* the API's */
    struct core_context *ctx;
    uint64_t id; /* never reused */
};

enum hd_status core_memory_init(struct core_device *device, uint64_t limit_B) HD_MUST_CHECK;
/* 256-byte aligned. HD_NO_DEVICE_MEMORY, HD_BAD_ARG for size 0. */
enum hd_status core_memory_alloc(struct core_context *ctx, uint64_t size_B, enum core_mem_kind kind,
                                 unsigned flags, uint64_t *out_va) HD_MUST_CHECK;
/* `kinds`: those that may be freed here. HD_BAD_ARG when va is not the start of a live block. */
enum hd_status core_memory_free(uint64_t va, unsigned kinds) HD_MUST_CHECK;
enum hd_status core_memory_register(struct core_context *ctx, uint64_t va, uint64_t size_B,
                                    unsigned flags) HD_MUST_CHECK;
enum hd_status core_memory_unregister(uint64_t va) HD_MUST_CHECK;
/* The live block that contains va, by value. */
bool core_memory_find(uint64_t va, struct core_block *out_block);
/*
 * May the device touch [va, va + size_B)? HD_BAD_ARG for a range inside the device's address space
 * that is not within one live block; memory outside it is the program's and its own business.
 * `device_only`: it must be device, managed, pinned or registered memory.
 */
enum hd_status core_memory_check(uint64_t va, uint64_t size_B, bool device_only) HD_MUST_CHECK;
/* Pageable memory: neither allocated nor registered here. */
bool core_memory_is_pageable(uint64_t va);
void core_memory_info(uint64_t *out_free_B, uint64_t *out_total_B);
void core_memory_release_context(struct core_context *ctx);

/* ---- contexts (context.c) */

struct core_stream {
    struct core_object object;
    struct core_context *ctx;
    struct hal_queue *queue;
    unsigned flags; /* CU_STREAM_NON_BLOCKING = 1 */
    int priority;
    uint64_t id;
    struct hd_lock lock;    /* submission */
    uint64_t legacy_waited; /* position of the legacy stream that this one already waits for */
    _Atomic uint64_t waited_by_legacy; /* position of this one that the legacy stream waits for */
    uint64_t thread;                   /* owner of a per-thread default stream, else 0 */
    struct core_stream *next;
};

struct core_context {
    struct core_object object;
    struct core_device *device;
    uint64_t id;
    unsigned flags;
    unsigned api_version;
    bool primary;
    int cache_config, smem_config;
    struct hal_fault fault;
    struct hd_lock lock; /* lists below */
    struct core_stream *legacy;
    struct core_stream *streams; /* all but legacy */
    _Atomic unsigned nblocking;  /* of these, blocking ones */
    struct core_module *modules;
    struct core_event *events;
    HD_VEC(struct hal_queue *)
    idle_queues; /* queues live as long as the context: events refer to them */
    uint64_t next_id;
    _Atomic uint32_t next_grid_id;
};

enum hd_status core_context_create(struct core_device *device, unsigned flags,
                                   struct core_context **out_ctx) HD_MUST_CHECK;
/* Waits for its work. Threads that have it current get HD_BAD_ARG from then on. */
void core_context_destroy(struct core_context *ctx);
enum hd_status core_primary_retain(struct core_device *device, struct core_context **out_ctx)
    HD_MUST_CHECK;
enum hd_status core_primary_release(struct core_device *device) HD_MUST_CHECK;
/* Destroys what is in it and makes it usable again; references stay. */
enum hd_status core_primary_reset(struct core_device *device) HD_MUST_CHECK;
/* Sticky error or HD_OK. */
static inline enum hd_status core_context_status(const struct core_context *ctx)
{
    return hal_fault_status(&ctx->fault);
}
/* Waits for all work of the context. */
enum hd_status core_context_synchronize(struct core_context *ctx) HD_MUST_CHECK;

/* The calling thread's stack of contexts. */
struct core_context *core_current(void);
void core_current_set(struct core_context *ctx);
/* HD_LAUNCH_LIMIT when too deep. */
enum hd_status core_current_push(struct core_context *ctx) HD_MUST_CHECK;
struct core_context *core_current_pop(void);

/* ---- streams and events (stream.c, event.c) */

#define CORE_STREAM_NON_BLOCKING 1u

enum hd_status core_stream_create(struct core_context *ctx, unsigned flags, int priority,
                                  struct core_stream **out_stream) HD_MUST_CHECK;
/* Returns at once; submitted work still completes. */
void core_stream_destroy(struct core_stream *stream);
/* The calling thread's default stream of the context, made on first use. */
enum hd_status core_stream_per_thread(struct core_context *ctx, struct core_stream **out_stream)
    HD_MUST_CHECK;
/*
 * Submits packets with the order of streams around them. `params` of `params_B` bytes is copied for
 * a single dispatch packet whose parameters do not fit it. Waits when the ring is full.
 */
enum hd_status core_stream_submit(struct core_stream *stream, union hal_packet *packets, unsigned n,
                                  const void *params, uint32_t params_B) HD_MUST_CHECK;
enum hd_status core_stream_synchronize(struct core_stream *stream) HD_MUST_CHECK;
/* HD_BUSY, without a message, while work is left. */
enum hd_status core_stream_query(struct core_stream *stream) HD_MUST_CHECK;
/* Calls func(arg) in stream order; `always`: after a fault too. */
enum hd_status core_stream_call(struct core_stream *stream, void (*func)(void *), void *arg,
                                bool always) HD_MUST_CHECK;

#define CORE_EVENT_DISABLE_TIMING 2u

struct core_event {
    struct core_object object;
    struct core_context *ctx;
    unsigned flags;
    struct hd_lock lock;               /* below */
    const _Atomic uint64_t *semaphore; /* NULL: never recorded */
    uint64_t value;
    _Atomic uint64_t time_ns;
    struct core_event *next, **link;
};

enum hd_status core_event_create(struct core_context *ctx, unsigned flags,
                                 struct core_event **out_event) HD_MUST_CHECK;
void core_event_destroy(struct core_event *event);
enum hd_status core_event_record(struct core_event *event, struct core_stream *stream)
    HD_MUST_CHECK;
/* HD_BUSY while not reached; HD_OK when never recorded. */
enum hd_status core_event_query(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_event_synchronize(struct core_event *event) HD_MUST_CHECK;
enum hd_status core_event_wait(struct core_stream *stream, struct core_event *event) HD_MUST_CHECK;
/* HD_BUSY while one is not reached; HD_BAD_ARG when one was not recorded or keeps no time. */
enum hd_status core_event_elapsed(struct core_event *start, struct core_event *end, float *out_ms)
    HD_MUST_CHECK;

/* ---- modules (image.c, module.c, library.c) */

/* Compiled PTX: shared by the modules of all contexts. */
struct core_image {
    _Atomic unsigned refs;
    struct ir_module *ir;
    uint8_t key[16];
    unsigned nkernels;
};

/* Any image the API takes; size_B may be SIZE_MAX. */
enum hd_status core_image_load(const void *image, size_t size_B, struct core_image **out_image)
    HD_MUST_CHECK;
void core_image_unref(struct core_image *image);

struct core_function {
    struct core_object object;
    struct core_module *module;
    const struct ir_func *func;
    struct hal_kernel *kernel;
    struct hal_kernel_info info;
    uint32_t max_dynamic_B; /* limit of dynamic shared memory, opt-in */
    int carveout;
    int cache_config;
    struct core_function *next;
};

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
    struct core_library *library; /* that loaded it, or NULL */
    uint64_t *var_va;             /* by position in ir->vars */
    uint64_t const_B;
    HD_VEC(uint64_t) blocks; /* memory behind the variables */
    struct hd_lock lock;     /* functions */
    struct core_function *functions;
    struct core_module *next, **link;
};

enum hd_status core_module_create(struct core_context *ctx, struct core_image *image,
                                  struct core_module **out_module) HD_MUST_CHECK;
/* Waits for the context's work. */
void core_module_destroy(struct core_module *module);
/* HD_NOT_FOUND. */
enum hd_status core_module_function(struct core_module *module, const char *name,
                                    struct core_function **out_function) HD_MUST_CHECK;
enum hd_status core_module_var(struct core_module *module, const char *name,
                               struct core_var *out_var) HD_MUST_CHECK;

struct core_kernel {
    struct core_object object;
    struct core_library *library;
    const struct ir_func *func;
    struct core_kernel *next;
    int max_dynamic_B; /* set before a context's function existed; -1 = not set */
    int carveout;
};

struct core_library {
    struct core_object object;
    const void *bytes; /* lazily loaded image, NULL once loaded */
    size_t size_B;
    struct hd_lock lock;
    struct core_image *image;
    enum hd_status failed; /* of the lazy load */
    struct core_kernel *kernels;
    HD_VEC(struct core_module *) modules; /* one per context that used it */
};

/* `preserved`: the image stays mapped, so loading can wait. */
enum hd_status core_library_create(const void *image, size_t size_B, bool preserved,
                                   struct core_library **out_library) HD_MUST_CHECK;
void core_library_destroy(struct core_library *library);
enum hd_status core_library_image(struct core_library *library, struct core_image **out_image)
    HD_MUST_CHECK;
enum hd_status core_library_kernel(struct core_library *library, const char *name,
                                   struct core_kernel **out_kernel) HD_MUST_CHECK;
enum hd_status core_library_module(struct core_library *library, struct core_context *ctx,
                                   struct core_module **out_module) HD_MUST_CHECK;
enum hd_status core_kernel_function(struct core_kernel *kernel, struct core_context *ctx,
                                    struct core_function **out_function) HD_MUST_CHECK;
/* The library forgets a module that its context destroys. */
void core_library_forget(struct core_library *library, struct core_module *module);

/* ---- launches and copies (launch.c, copy.c) */

struct core_launch {
    uint32_t grid[3], block[3];
    uint32_t dynamic_smem_B;
    bool cooperative;
    void **params;      /* one pointer per parameter, or NULL */
    const void *buffer; /* packed parameter block instead */
    size_t buffer_B;
};

/*
 * HD_BAD_ARG for dimensions and sizes outside the limits; HD_LAUNCH_LIMIT for a cooperative grid
 * that cannot be resident.
 */
enum hd_status core_launch(struct core_function *function, struct core_stream *stream,
                           const struct core_launch *launch) HD_MUST_CHECK;
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
};
enum hd_status core_copy(struct core_stream *stream, const struct core_copy *copy) HD_MUST_CHECK;
enum hd_status core_fill(struct core_stream *stream, uint64_t dst, uint64_t pitch_B, uint32_t value,
                         uint32_t elem_B, uint64_t width, uint64_t height) HD_MUST_CHECK;

/* ---- taps (tap.c) */

/*
 * Listeners of API calls and submissions; NULL members are not called. One table at a time. Nobody
 * listening costs one predicted branch.
 */
struct core_tap {
    void (*api_begin)(const char *name, uint64_t correlation);
    void (*api_end)(const char *name, uint64_t correlation);
    void (*packet)(const struct core_stream *stream, const union hal_packet *packet);
};
extern _Atomic(const struct core_tap *) core_tap;
void core_tap_set(const struct core_tap *tap);

#endif
