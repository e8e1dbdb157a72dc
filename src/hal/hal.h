/*
 * The hardware abstraction layer: what core asks of a device, and the packets that carry work.
 *
 *     core ──► hal_device (ops) ── module_load ──► hal_module ── kernel_get ──► hal_kernel
 *                    └─────────── queue_create ──► hal_queue ◄── packets, in order
 *
 * A device executes packets. A packet is 128 bytes and means the same to every device, in this
 * process, in another one or behind a bus; docs/launch-protocol.md is its specification. Streams,
 * events and copies are only patterns of packets, made by core.
 *
 * Owners: core owns devices, modules, kernels' parameter blocks and device memory. A device owns
 * its threads and whatever it compiles. A queue is owned by who created it and may be submitted to
 * by one thread at a time (the caller's lock).
 *
 * Order: packets of one queue are executed one after another; a packet begins when all effects of
 * its predecessor are visible. Queues are independent of each other; WAIT packets order them.
 *
 * Positions: packet number n (from 1) of a queue is retired when ring->retired >= n. `retired` is a
 * semaphore like any other, so a WAIT packet of another queue, or a host thread, can wait for it.
 *
 * Faults: a queue belongs to a fault domain (a CUDA context). The first packet that faults sets the
 * domain's status; from then on the packets of all its queues are retired without being executed,
 * so everybody who waits for them goes on and finds the error. Other domains are not affected.
 *
 * Threads: every op may be called by any thread unless said otherwise. submit() never blocks and
 * never waits for the device. Submitted work makes progress without any further call.
 */
#ifndef HD_HAL_HAL_H
#define HD_HAL_HAL_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/status.h"

struct ir_func;
struct ir_module;

struct hal_device;
struct hal_module;
struct hal_kernel;
struct hal_queue;

/* ---- packets: wire format, little endian, 128 bytes each */

/* name, text, doc */
#define HAL_OP_LIST(X)                                                                             \
    X(NOP, "nop", "nothing; also what a ring slot holds that was never written")                   \
    X(DISPATCH, "dispatch", "run one grid of a kernel")                                            \
    X(COPY, "copy", "copy a 1D, 2D or 3D box of bytes")                                            \
    X(FILL, "fill", "fill a 1D or 2D box with a 1, 2 or 4 byte pattern")                           \
    X(WAIT, "wait", "hold the queue until a 64-bit semaphore is >= a value")                       \
    X(SIGNAL, "signal", "set a 64-bit semaphore")                                                  \
    X(TIMESTAMP, "timestamp", "store the time in ns")                                              \
    X(HOST_CALL, "host_call", "call a host function; it runs on a thread of the device")           \
    X(BARRIER, "barrier", "order for devices that overlap packets; a no-op where they never do")

enum hal_op {
#define X(name, text, doc) HAL_OP_##name,
    HAL_OP_LIST(X)
#undef X
        HAL_OP_COUNT
};
const char *hal_op_name(unsigned op);

/* Dispatch flags. */
enum hal_dispatch_flag {
    HAL_DISPATCH_COOPERATIVE =
        1 << 0, /* all CTAs of the grid must be able to wait for each other */
};

/* The first 8 bytes of every packet. */
struct hal_head {
    uint8_t op; /* enum hal_op */
    uint8_t flags;
    uint16_t reserved;
    uint32_t correlation; /* for tools; not interpreted */
};

#define HAL_INLINE_PARAMS_B 64

struct hal_dispatch {
    struct hal_head head;
    uint64_t kernel;  /* hal_kernel->id */
    uint32_t grid[3]; /* CTAs; each >= 1 */
    uint16_t block[3];
    uint16_t reserved;
    uint32_t dynamic_smem_B;
    uint32_t params_B;      /* size of the parameter block */
    uint32_t params_ring_B; /* bytes of the queue's parameter ring to release at retirement; 0 =
                               params are inline */
    uint64_t params_va;     /* address of the parameter block when params_ring_B is not 0 */
    uint8_t cluster[3];     /* CTAs per cluster; 0 = no clusters */
    uint8_t reserved2;
    uint32_t grid_id;
    uint8_t params[HAL_INLINE_PARAMS_B]; /* 64-byte aligned */
};

struct hal_copy {
    struct hal_head head;
    uint64_t dst, src;
    uint64_t width_B; /* of a row */
    uint64_t height;  /* rows per slice; 1 for 1D */
    uint64_t depth;   /* slices; 1 for 1D and 2D */
    uint64_t dst_pitch_B, src_pitch_B;
    uint64_t dst_slice_B, src_slice_B;
    uint64_t reserved[6];
};

struct hal_fill {
    struct hal_head head;
    uint64_t dst;   /* multiple of elem_B */
    uint64_t width; /* elements per row */
    uint64_t height;
    uint64_t pitch_B;
    uint32_t value;  /* low elem_B bytes */
    uint32_t elem_B; /* 1, 2 or 4 */
    uint64_t reserved[10];
};

/* WAIT, SIGNAL and TIMESTAMP. */
struct hal_sem {
    struct hal_head head;
    uint64_t address; /* of an 8-byte aligned _Atomic uint64_t */
    uint64_t value;   /* WAIT, SIGNAL */
    uint64_t reserved[13];
};

struct hal_host_call {
    struct hal_head head;
    uint64_t func; /* void (*)(void *arg) */
    uint64_t arg;
    uint64_t
        always; /* nonzero: call it even after a fault (the callee looks at the domain itself) */
    uint64_t reserved[12];
};

union hal_packet {
    struct hal_head head;
    struct hal_dispatch dispatch;
    struct hal_copy copy;
    struct hal_fill fill;
    struct hal_sem sem;
    struct hal_host_call host_call;
    uint8_t bytes[128];
};
_Static_assert(sizeof(union hal_packet) == 128, "wire format");
_Static_assert(sizeof(struct hal_dispatch) == 128, "wire format");
_Static_assert(sizeof(struct hal_copy) == 128, "wire format");
_Static_assert(sizeof(struct hal_fill) == 128, "wire format");
_Static_assert(sizeof(struct hal_sem) == 128, "wire format");
_Static_assert(sizeof(struct hal_host_call) <= 128, "wire format");
_Static_assert(offsetof(struct hal_dispatch, params) == 64, "parameters are 64-byte aligned");

/* ---- queues */

/*
 * The shared part of a queue, at the start of its memory. The submitter writes `submitted`, the
 * device `retired`; both only grow. Slot of packet n (from 1) is (n - 1) % slots.
 */
struct hal_ring {
    uint32_t magic; /* HAL_RING_MAGIC */
    uint32_t version;
    uint32_t slots;    /* power of two */
    uint32_t params_B; /* size of the parameter ring behind the packets, power of two */
    _Alignas(64) _Atomic uint64_t submitted;
    _Alignas(64) _Atomic uint64_t retired;
    _Atomic uint64_t params_released; /* bytes of the parameter ring given back, by the device */
    _Alignas(128) union hal_packet packets[];
};
#define HAL_RING_MAGIC    0x51524448u /* "HDRQ" */
#define HAL_RING_VERSION  1
#define HAL_RING_SLOTS    1024
#define HAL_RING_PARAMS_B (256u << 10)
_Static_assert(offsetof(struct hal_ring, submitted) == 64, "wire format");
_Static_assert(offsetof(struct hal_ring, retired) == 128, "wire format");
_Static_assert(offsetof(struct hal_ring, packets) == 256, "wire format");

/* What went wrong first in a fault domain. */
struct hal_fault {
    _Atomic uint32_t status; /* enum hd_status; HD_OK = healthy. Written once by the device. */
    uint64_t address;        /* of the access, when there is one */
    char message[240];       /* written before status */
};
/* Sets the domain's status unless it has one. Returns whether this was the first. */
bool hal_fault_raise(struct hal_fault *fault, enum hd_status status, uint64_t address,
                     const char *message);
static inline enum hd_status hal_fault_status(const struct hal_fault *fault)
{
    return (enum hd_status)atomic_load_explicit(&fault->status, memory_order_acquire);
}

struct hal_queue {
    const struct hal_queue_ops *ops;
    struct hal_device *device;
    struct hal_fault *fault; /* the domain; outlives the queue */
    struct hal_ring *ring;
    size_t ring_B;         /* mapped bytes */
    int memfd;             /* the ring's memory, to be shared; -1 when not shareable */
    uint64_t params_taken; /* bytes of the parameter ring handed out, by the submitter */
};

struct hal_queue_ops {
    /*
     * Copies n packets to the ring and tells the device. Never blocks; HD_BUSY, without a message,
     * when fewer than n slots are free (nothing is submitted). n <= HAL_RING_SLOTS.
     * One thread at a time. The device may execute short work before this returns.
     */
    enum hd_status (*submit)(struct hal_queue *queue, const union hal_packet *packets, unsigned n)
        HD_MUST_CHECK;
    /* The queue must be idle. */
    void (*destroy)(struct hal_queue *queue);
};

/* Common part of every device's queue (hal_queue.c). */
enum hd_status hal_queue_init(struct hal_queue *queue, const struct hal_queue_ops *ops,
                              struct hal_device *device, struct hal_fault *fault) HD_MUST_CHECK;
void hal_queue_fini(struct hal_queue *queue);
/*
 * A block for parameters that do not fit a packet: 64-byte aligned, released when the packet with
 * the returned *out_ring_B retires. Packets must be submitted in the order of these calls.
 * NULL when the ring is full: wait for something to retire. size_B <= HAL_RING_PARAMS_B / 4.
 */
void *hal_queue_params(struct hal_queue *queue, uint32_t size_B, uint32_t *out_ring_B);
static inline union hal_packet *hal_ring_packet(struct hal_ring *ring, uint64_t position)
{
    return &ring->packets[(position - 1) & (ring->slots - 1)];
}
static inline uint64_t hal_queue_submitted(const struct hal_queue *queue)
{
    return atomic_load_explicit(&queue->ring->submitted, memory_order_acquire);
}
static inline uint64_t hal_queue_retired(const struct hal_queue *queue)
{
    return atomic_load_explicit(&queue->ring->retired, memory_order_acquire);
}
static inline bool hal_queue_is_idle(const struct hal_queue *queue)
{
    return hal_queue_retired(queue) == hal_queue_submitted(queue);
}

/*
 * What a function pointer holds in device memory: the position in module->funcs order. Never a host
 * address, so images stay relocatable and calls through garbage are detected.
 */
#define HAL_FUNC_HANDLE(index) (((uint64_t)(index) + 1) << 4)

/* ---- modules and kernels */

struct hal_module {
    struct hal_device *device;
};

struct hal_kernel {
    struct hal_module *module;
    uint64_t id; /* for dispatch packets */
};

struct hal_kernel_info {
    uint64_t shared_B;         /* static shared memory */
    uint64_t dynamic_offset_B; /* where dynamic shared memory begins */
    uint64_t local_B;          /* per thread */
    uint32_t regs;             /* per thread, estimate */
    uint32_t max_threads;      /* per CTA: .maxntid, else the device's limit */
    uint32_t params_B;
    bool recursive;
};

/* ---- devices */

enum hal_limit {
    HAL_LIMIT_STACK_B,  /* local memory of a thread of a recursive kernel */
    HAL_LIMIT_HEAP_B,   /* device malloc() */
    HAL_LIMIT_PRINTF_B, /* printf buffer */
};

struct hal_device_info {
    const char *name; /* of the backend: "cpu" */
    char description[96];
    unsigned units; /* CTAs that run at the same time: what is reported as multiprocessors */
    unsigned resident_ctas;  /* per unit, that can wait for each other */
    bool ptx_only_reference; /* slow oracle, not for use */
};

struct hal_device {
    const struct hal_device_ops *ops;
    struct hal_device_info info;
};

struct hal_device_ops {
    /* All queues and modules must be gone. */
    void (*destroy)(struct hal_device *device);

    /*
     * Takes a linked module with laid out windows. It must outlive the result. `key` (16 bytes)
     * identifies its content for caches, or NULL. var_va[i] is the address of module-scope variable
     * number i in list order, 0 for shared ones; the array is copied. Compiles nothing yet.
     */
    enum hd_status (*module_load)(struct hal_device *device, const struct ir_module *module,
                                  const uint8_t key[16], const uint64_t *var_va, size_t var_count,
                                  struct hal_module **out_module) HD_MUST_CHECK;
    /* No packet may refer to the module any more. Frees its kernels. */
    void (*module_unload)(struct hal_module *module);
    /* Borrowed from the module; the same function gives the same kernel. */
    enum hd_status (*kernel_get)(struct hal_module *module, const struct ir_func *func,
                                 struct hal_kernel **out_kernel) HD_MUST_CHECK;
    enum hd_status (*kernel_info)(struct hal_kernel *kernel, struct hal_kernel_info *out_info)
        HD_MUST_CHECK;
    /*
     * Makes code for launches with this block size. Must have succeeded before a dispatch with that
     * block size is submitted; cheap when repeated. HD_JIT, HD_NOT_SUPPORTED, HD_NO_MEMORY.
     */
    enum hd_status (*kernel_prepare)(struct hal_kernel *kernel, const uint32_t block[3])
        HD_MUST_CHECK;

    enum hd_status (*queue_create)(struct hal_device *device, struct hal_fault *fault,
                                   struct hal_queue **out_queue) HD_MUST_CHECK;

    /*
     * Blocks until *semaphore >= value. The calling thread may execute work of the device
     * meanwhile, but never host calls and never a kernel that may wait for the host.
     * timeout_ns 0 only looks; UINT64_MAX never gives up. HD_TIMEOUT without a message.
     */
    enum hd_status (*wait)(struct hal_device *device, const _Atomic uint64_t *semaphore,
                           uint64_t value, uint64_t timeout_ns) HD_MUST_CHECK;

    /*
     * Memory: core hands out addresses inside its reserved range; the device backs them. Both are
     * multiples of 4 KiB. bind makes a range readable and writable for device and host;
     * unbind makes it inaccessible, and keeps its pages for the next bind when `keep` is set.
     */
    enum hd_status (*mem_bind)(struct hal_device *device, void *va, size_t size_B) HD_MUST_CHECK;
    void (*mem_unbind)(struct hal_device *device, void *va, size_t size_B, bool keep);

    enum hd_status (*limit_set)(struct hal_device *device, enum hal_limit limit, uint64_t value)
        HD_MUST_CHECK;
    uint64_t (*limit_get)(struct hal_device *device, enum hal_limit limit);

    /* Writes out what kernels printed so far. Called at synchronisation points. */
    void (*printf_flush)(struct hal_device *device);
};

/*
 * The devices that are linked in: one row each, a row without a name ends the table (src/dev).
 * hal_device_create() makes the one that is called `name`. HD_NOT_FOUND lists what there is.
 */
struct hal_backend {
    const char *name; /* value of HEDDLE_DEVICE */
    const char *doc;
    enum hd_status (*create)(struct hal_device **out_device);
};
extern const struct hal_backend hal_backends[];
enum hd_status hal_device_create(const char *name, struct hal_device **out_device) HD_MUST_CHECK;

/* ---- for devices: host memory behind mem_bind/mem_unbind, and time */

enum hd_status hal_host_mem_bind(struct hal_device *device, void *va, size_t size_B) HD_MUST_CHECK;
void hal_host_mem_unbind(struct hal_device *device, void *va, size_t size_B, bool keep);
/* CLOCK_MONOTONIC in ns: what TIMESTAMP stores. */
uint64_t hal_time_ns(void);
/* Checks a packet that comes from elsewhere. HD_BAD_ARG names the field. */
enum hd_status hal_packet_check(const union hal_packet *packet) HD_MUST_CHECK;

#endif
