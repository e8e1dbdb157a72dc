/*
 * The hardware abstraction layer: what core asks of a device. What it says to one, packet by
 * packet, is hal/packet.h; what a device asks of core is hal/client.h.
 *
 *     core ──► hal_device (ops) ── module_load ──► hal_module ── kernel_get ──► hal_kernel
 *                    ├─────────── domain_create ─► hal_domain: what faults and is limited together
 *                    ├─────────── queue_create ──► hal_queue ◄── packets, in order
 *                    └─────────── mem_create ────► hal_mem ── mem_map ──► device addresses
 *
 * A device executes packets. A packet is 128 bytes and means the same to every device, in this
 * process, in another one (hal/serve.h) or behind a bus; docs/launch-protocol.md is its
 * specification. Streams, events and copies are only patterns of packets, made by core.
 *
 * Any number of devices may live in a process; they share nothing but the host.
 *
 * Owners: core owns devices, domains, modules, kernels' parameter blocks and memory objects. A
 * device owns its threads and whatever it compiles. A queue is owned by who created it and may be
 * submitted to by one thread at a time (the caller's lock). Nothing may be destroyed while
 * something made from it exists: queues before their domain, all before the device.
 *
 * Order: packets of one queue are executed one after another; a packet begins when all effects of
 * its predecessor are visible. HAL_FLAG_OVERLAP gives that up for one packet: it may begin while
 * its predecessors still run. Retirement stays in order, and a BARRIER begins when all before it
 * have retired. Queues are independent of each other; WAIT packets order them.
 * (docs/decisions/0042)
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

#include "base/lock.h"
#include "base/status.h"
#include "hal/client.h"
#include "hal/packet.h"
#include "registry/use.h"

struct ir_module;

struct heddle_native_call;

struct hal_device;
struct hal_domain;
struct hal_kernel;
struct hal_mem;
struct hal_module;
struct hal_native_end;
struct hal_queue;

/* ---- fault domains */

/* What a program may set, per domain. */
enum hal_limit {
#define X(name, value, max, doc) HAL_LIMIT_##name,
#include "limits.def"
#undef X
    HAL_LIMIT_COUNT
};

#define HAL_DOMAIN_B 4096u /* of a shared one's memory */

/* Common part of every device's domain. */
struct hal_domain {
    struct hal_device *device;
    struct hal_fault *fault;    /* own_fault, or shared memory */
    struct hal_fault own_fault; /* most domains' */
    int memfd;                  /* of hal_domain_share(), else -1 */
    _Atomic uint64_t limits[HAL_LIMIT_COUNT];
    struct hd_lock lock; /* queues */
    struct hal_queue *queues;
    struct hal_domain *next, **link; /* in device->domains */
    void *owner;                     /* core's: set before the first queue */
    /*
     * Where what the domain's work does is counted (registry/use.h): core may give it another place
     * before the first queue, the device's until then. reg_begin() and reg_end() are for kernels
     * and for copies that are jobs.
     */
    struct reg_use *use;
};

enum hd_status hal_domain_init(struct hal_domain *domain, struct hal_device *device) HD_MUST_CHECK;
void hal_domain_fini(struct hal_domain *domain);
/*
 * Moves the fault into shareable memory, at offset 0, so that a submitter in another process finds
 * the status there. The descriptor stays the domain's. Before its first queue: HD_BUSY.
 * (docs/decisions/0045)
 */
enum hd_status hal_domain_share(struct hal_domain *domain, int *out_fd) HD_MUST_CHECK;
/* For domain_reset: the fault and the limits. */
void hal_domain_reset(struct hal_domain *domain);
/*
 * What devices raise faults with: hal_fault_raise_at() in the domain, which is told. Was it the
 * first? `place` may be NULL.
 */
bool hal_domain_fail(struct hal_domain *domain, enum hd_status status, uint64_t address,
                     const struct hal_fault_site *site, const char *message);
/*
 * Limits take effect at the next launch. A device may give more than was asked for, never less;
 * what was set is what is returned. HD_BAD_ARG above the table's maximum.
 */
enum hd_status hal_limit_set(struct hal_domain *domain, enum hal_limit limit, uint64_t value)
    HD_MUST_CHECK;
static inline uint64_t hal_limit_get(const struct hal_domain *domain, enum hal_limit limit)
{
    return atomic_load_explicit(&domain->limits[limit], memory_order_relaxed);
}
/* Waits until the domain's queues are idle; polls, so it never executes their work itself. */
enum hd_status hal_domain_wait(struct hal_domain *domain, uint64_t timeout_ns) HD_MUST_CHECK;
/*
 * Ends the domain's work: what runs may finish for grace_ns, then it is cancelled, and a line in
 * the log says so. The queues are idle afterwards, unless a host call does not return.
 */
void hal_domain_stop(struct hal_domain *domain, uint64_t grace_ns);
/* The same for all domains of a device: at the exit of the process. */
void hal_device_stop(struct hal_device *device, uint64_t grace_ns);
/* How long to be graceful: HEDDLE_EXIT_WAIT. */
uint64_t hal_stop_grace_ns(void);

/*
 * Notices that threads only wait for each other: `events` counts what they do beside that. True
 * when it has stayed the same in all questions of patience_ns and longer; 0: never. Zeroed at the
 * start. HEDDLE_WATCHDOG says how patient devices are.
 */
struct hal_watchdog {
    uint64_t events, since_ns;
};
uint64_t hal_patience_ns(void);
bool hal_watchdog_bites(struct hal_watchdog *dog, uint64_t events, uint64_t patience_ns);
static inline enum hd_status hal_domain_status(const struct hal_domain *domain)
{
    return hal_fault_status(domain->fault);
}

/* ---- queues */

/*
 * A set of multiprocessors, by %smid: what the grids of a queue may run on. How a device shares its
 * threads among them is its affair, but disjoint sets of enough of them do not disturb each other,
 * and %smid is in the set. (docs/decisions/0099)
 */
#define HAL_SMS_MAX 256u
struct hal_sms {
    uint64_t bits[HAL_SMS_MAX / 64];
};

static inline bool hal_sms_has(const struct hal_sms *sms, uint32_t sm)
{
    return sms->bits[sm / 64] >> (sm % 64) & 1;
}
static inline void hal_sms_add(struct hal_sms *sms, uint32_t sm)
{
    sms->bits[sm / 64] |= (uint64_t)1 << (sm % 64);
}
uint32_t hal_sms_count(const struct hal_sms *sms);
/*
 * The most CTAs that so many multiprocessors hold at the same time: of each 32, 2,048 threads and
 * 228 KiB, which no compute capability exceeds (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"). Programs whose CTAs meet in a barrier of their own have
 * as many in a grid, so a device lets all of them begin.
 */
uint64_t hal_sms_hold(uint32_t nsms, uint32_t threads, uint64_t shared_B);

struct hal_queue {
    const struct hal_queue_ops *ops;
    struct hal_device *device;
    struct hal_domain *domain; /* outlives the queue */
    struct hal_ring *ring;     /* HAL_RING_B bytes of this process; shared ones: hal/serve.h */
    int priority;              /* 0 = least, smaller is more urgent */
    unsigned depth;            /* of its launches: 0, or by how many kernels above them */
    _Atomic bool is_limited;   /* to `sms`; both may be looked at any time */
    _Atomic uint64_t sms[HAL_SMS_MAX / 64];
    uint64_t params_taken;          /* bytes of the parameter ring handed out, by the submitter */
    uint64_t context_id, stream_id; /* core's: what native kernels are told of whose work it is */
    uint32_t ordinal;               /* the same: of the device */
    struct hal_queue *next, **link; /* in domain->queues */
};

struct hal_queue_ops {
    /*
     * Copies n packets to the ring and tells the device. Never blocks; HD_BUSY, without a message,
     * when fewer than n slots are free (nothing is submitted). n <= HAL_RING_SLOTS. The packets are
     * ours: they are not checked. One thread at a time. The device may execute short work before
     * this returns.
     */
    enum hd_status (*submit)(struct hal_queue *queue, const union hal_packet *packets, unsigned n)
        HD_MUST_CHECK;
    /* The queue must be idle. */
    void (*destroy)(struct hal_queue *queue);
    /*
     * Runs the dispatch of that number, submitted by this thread with HAL_FLAG_CALLER, when all
     * before it has retired; waits until then. The caller holds no lock. NULL: of a device without
     * native kernels.
     */
    void (*run)(struct hal_queue *queue, uint32_t grid_id, struct hal_native_end *out_end);
};

/* Common part of every device's queue (hal_queue.c). `priority` as for queue_create. */
enum hd_status hal_queue_init(struct hal_queue *queue, const struct hal_queue_ops *ops,
                              struct hal_domain *domain, int priority) HD_MUST_CHECK;
void hal_queue_fini(struct hal_queue *queue);
/* Limits the grids of an idle queue to some multiprocessors; NULL: to none. */
void hal_queue_sms_set(struct hal_queue *queue, const struct hal_sms *sms);
/* The set, as it is now; false: the queue is not limited. */
bool hal_queue_sms(const struct hal_queue *queue, struct hal_sms *out_sms);
static inline bool hal_queue_has_sm(const struct hal_queue *queue, uint32_t sm)
{
    return atomic_load_explicit(&queue->sms[sm / 64], memory_order_relaxed) >> (sm % 64) & 1;
}
/*
 * A block for what does not fit the packet: `extension`, or NULL, and room for size_B bytes of
 * parameters, which is returned, 64-byte aligned; NULL when the ring is full: wait for something to
 * retire. Fills p->ring_B and p->ring_offset. The block is released when the packet retires;
 * packets must be submitted in the order of these calls. size_B <= HAL_RING_PARAMS_B / 4 - 64.
 */
void *hal_queue_params(struct hal_queue *queue, struct hal_dispatch *p,
                       const struct hal_extension *extension, uint32_t size_B);
static inline uint64_t hal_queue_submitted(const struct hal_queue *queue)
{
    return hal_ring_submitted(queue->ring);
}
static inline uint64_t hal_queue_retired(const struct hal_queue *queue)
{
    return hal_ring_retired(queue->ring);
}
static inline bool hal_queue_is_idle(const struct hal_queue *queue)
{
    return hal_queue_retired(queue) == hal_queue_submitted(queue);
}

/* ---- inside a native kernel's function (hal_native.c) */

/*
 * A thread runs the function of the dispatch at the head of the queue. What it gives to the device
 * meanwhile may wait for the queue: for what was before the dispatch, never for itself.
 */
struct hal_inside {
    const struct hal_queue *queue;
    uint64_t position;
    struct hal_inside *outer;
};
void hal_inside_enter(struct hal_inside *inside, const struct hal_queue *queue);
void hal_inside_leave(const struct hal_inside *inside);
/* Is the calling thread inside any? */
bool hal_inside_any(void);
/* Is it at this position of the queue, or before? Then nobody may wait for that on its behalf. */
bool hal_inside_queue(const struct hal_queue *queue, uint64_t position);
/* Would a wait for the semaphore be one for itself? What it then returns: HD_OK at its own
 * position; HD_NOT_SUPPORTED behind it. */
bool hal_inside_awaits(const _Atomic uint64_t *semaphore, uint64_t value);
enum hd_status hal_inside_wait(const _Atomic uint64_t *semaphore, uint64_t value) HD_MUST_CHECK;

/* ---- modules and kernels */

/*
 * What a function pointer holds in device memory: the function's number in its program. Never a
 * host address, so images stay relocatable and calls through garbage are detected.
 */
#define HAL_FUNC_HANDLE(index) (((uint64_t)(index) + 1) << 4)

/*
 * A program as a device sees it before any kernel is asked for; its code comes kernel by kernel
 * (kernel_get). Functions and module-scope variables have dense numbers that hold for the whole
 * program, whatever part of it a device has seen: function handles, kernel requests and var_va use
 * them. Plain data, so a device in another process can be given the same.
 */
struct hal_program {
    const char *name;
    const uint8_t *key;     /* 16 bytes that identify the content for caches, or NULL */
    uint32_t nfuncs;        /* numbers of functions, kernels among them, are below this */
    uint32_t nvars;         /* entries of var_va */
    const uint64_t *var_va; /* address of each variable, 0 for shared ones */
    /* Its text, for reports of failures, or NULL; must outlive the module. */
    const char *ptx;
    /*
     * Code made offline, in the device's own form, or NULL: the whole program. Valid during
     * module_load. Then kernel_get takes no IR: `code` is NULL.
     */
    const void *image;
    size_t image_B;
    const char *image_kind; /* "heddle-isa": what the image says that it is */
    /*
     * Code of its kernels that an assembler made (isa/image.h), or NULL: what a device may take in
     * place of compiling IR, if it runs that code and the key says that the code is of this
     * program. Others do not look at it. Valid during module_load; kernel_get takes IR all the
     * same.
     */
    const void *assembled;
    size_t assembled_B;
    const uint8_t *assembled_key; /* 16 bytes: compile_image_key() */
};

struct hal_module {
    struct hal_device *device;
    uint32_t nfuncs;
    void *owner; /* core's */
};

struct hal_kernel {
    struct hal_module *module;
    uint32_t index;                       /* its number in the program */
    uint64_t id;                          /* for dispatch packets: hal_kernel_publish() */
    _Atomic(struct hal_kernel *) instead; /* hal_device_ops.kernel_instead */
};

/* For devices: what a dispatch that begins now takes in the kernel's place, or NULL. */
static inline struct hal_kernel *hal_kernel_instead(struct hal_kernel *kernel)
{
    return atomic_load_explicit(&kernel->instead, memory_order_acquire);
}

/* Registers of a thread: nobody allocates any, but programs compute with their number. */
#define HAL_REGS_ESTIMATE 32u

static inline uint32_t hal_regs_estimate(uint32_t maxnreg)
{
    return maxnreg ? HD_MIN(maxnreg, HAL_REGS_ESTIMATE) : HAL_REGS_ESTIMATE;
}

struct hal_kernel_info {
    uint64_t shared_B;         /* static shared memory */
    uint64_t dynamic_offset_B; /* where dynamic shared memory begins */
    uint64_t local_B;          /* per thread */
    uint32_t regs;             /* per thread; an estimate unless info.knows_registers */
    uint32_t max_threads;      /* per CTA: .maxntid, else the device's limit */
    uint32_t params_B;
    bool recursive;
};

/*
 * A kernel that is a function of this process (heddle/native.h, docs/decisions/0150). Core's; stays
 * as long as the kernels that devices made of it.
 */
struct hal_native {
    const char *name;
    int (*function)(struct heddle_native_call *call);
    void *user;
    void (*describe)(const void *params, void *user, char *text, size_t size_B); /* or NULL */
    uint64_t tile_ns;                                                            /* 0: not known */
    uint32_t flags; /* enum heddle_native_flag */
    /* The function may be gone: dispatches that begin from now on fail. */
    _Atomic bool withdrawn;
};

/* How a native kernel ended on the thread that launched it. */
struct hal_native_end {
    enum hd_status status; /* HD_OK, or what `message` says */
    char message[512];
};

/*
 * The numbers of a device's kernels: index in a table (low half) and generation (high half), so
 * that a packet holds no pointer, and one that names a kernel that is gone is found out.
 * (docs/decisions/0040)
 */
#define HAL_KERNEL_CHUNK  1024u
#define HAL_KERNEL_CHUNKS 1024u
struct hal_kernel_slot {
    _Atomic(struct hal_kernel *) kernel; /* NULL: free */
    _Atomic uint32_t generation;         /* of the kernel that is or was here, from 1 */
    uint32_t next_free;                  /* index + 1 */
};
struct hal_kernel_table {
    _Atomic(struct hal_kernel_slot *) chunks[HAL_KERNEL_CHUNKS]; /* never freed before the table */
    struct hd_lock lock;                                         /* below; readers need none */
    uint32_t used;                                               /* slots ever handed out */
    uint32_t free;                                               /* list: index + 1, 0 = none */
};

/* ---- memory */

enum hal_prot { HAL_PROT_NONE, HAL_PROT_READ, HAL_PROT_READ_WRITE };

/*
 * Physical memory. Its pages come when they are first touched. Two kinds (docs/decisions/0041):
 *   private    the fastest: huge pages wherever the host has them. Lies at one place: the first
 *              mapping fixes where offset 0 is; others must agree with it.
 *   shareable  can be exported, imported and mapped at several places.
 * Common part of devices whose memory is host memory (hal_mem.c); others have more behind it.
 */
struct hal_mem {
    struct hal_device *device;
    uint64_t size_B;
    int memfd;     /* shareable, else -1 */
    uint64_t base; /* private: address of offset 0 once mapped, else 0 */
};

/* ---- devices */

/* What can be asked about a device: CUdevice_attribute numbers (spec/device.def). */
enum hal_attribute {
#define X(name, number, value) HAL_ATTRIBUTE_##name = (number),
#include "device.def"
#undef X
    HAL_ATTRIBUTE_END
};

/*
 * A device's clock: TIMESTAMP packets and stamps hold its ticks. It runs as long as the device and
 * never jumps. Device time is turned into host time, CLOCK_MONOTONIC, here and nowhere else.
 * (docs/decisions/0142)
 */
struct hal_clock {
    uint64_t hz;             /* ticks in a second */
    uint64_t ticks, host_ns; /* the same moment by both clocks */
};
/* The host's clock, which devices have unless they say otherwise. */
#define HAL_CLOCK_HOST {.hz = 1000000000u}
/* The host's time at which the device's clock shows, or has shown, `ticks`. */
static inline uint64_t hal_clock_host_ns(const struct hal_clock *clock, uint64_t ticks)
{
    int64_t since = (int64_t)(ticks - clock->ticks);

    if (HD_UNLIKELY(clock->hz != 1000000000u))
        since = (int64_t)((__int128)since * 1000000000 / (__int128)clock->hz);
    return clock->host_ns + (uint64_t)since;
}
/* From one reading to another; negative when the second is the earlier one. */
static inline double hal_clock_between_ns(const struct hal_clock *clock, uint64_t from, uint64_t to)
{
    return (double)(int64_t)(to - from) * (1e9 / (double)clock->hz);
}

struct hal_device_info {
    const char *name;   /* of the backend: "cpu" */
    const char *target; /* what kernel_get's code is to be optimised for (opt/opt.h): "common" */
    char description[96];
    unsigned units;        /* CTAs that run at the same time: what is reported as multiprocessors */
    int priority_greatest; /* of queues: 0 down to this */
    struct hal_clock clock;
    bool is_elsewhere;    /* grids run in another process, and reach its memory objects only */
    bool checks_accesses; /* in strict mode asks client.refusal, as it says */
    bool knows_registers; /* kernel_info says what the code has, not an estimate */
};

/* Rings of destroyed queues that a device keeps: making one costs as much as 30 launches. */
#define HAL_IDLE_RINGS 16

struct hal_device {
    const struct hal_device_ops *ops;
    struct hal_device_info info;
    struct hal_kernel_table kernels;
    struct hd_lock domains_lock; /* domains */
    struct hal_domain *domains;
    struct hd_lock rings_lock; /* below */
    struct hal_ring *idle_rings[HAL_IDLE_RINGS];
    unsigned nidle_rings;
    uint64_t patience_ns;     /* of watchdogs; 0: endless */
    uint32_t nsms;            /* multiprocessors that are reported; set by core before any work */
    _Atomic bool has_limited; /* a queue has been limited to some of them: stays */
    struct reg_use own_use;   /* of domains that have no other */
    struct hal_client_ops client; /* constant; all NULL when nobody answers */
};

/* A kernel that runs, and what blocks of it that wait are at. */
struct hal_waiting {
    uint32_t index[3]; /* of the first block */
    uint32_t blocks;   /* that are at the same */
    const char *what;  /* "2 of 3 warps wait; warp 0 at barrier 0, ..." */
};
struct hal_running {
    const char *kernel;
    const struct hal_domain *domain;
    uint32_t grid[3], block[3];
    uint64_t grid_id;
    uint64_t running_ns;    /* a short grid: since a report saw it first */
    uint64_t blocks, begun; /* of the grid, and how many of these have begun; short grids: all */
    uint32_t threads, of;   /* of the host's that execute it now, of those that the device has */
    const struct hal_waiting *waits;
    size_t nwaits;
};
typedef void hal_notify_running(void *arg, const struct hal_running *running);

/* Where a sampled thread was. */
enum hal_sample_where {
    HAL_SAMPLE_IN_CODE, /* the instruction's own code */
    HAL_SAMPLE_IN_CALL, /* a function of the device that the instruction called; or not known */
    HAL_SAMPLE_WHERE
};
/* Samples of one instruction since they were last told. */
struct hal_sample {
    uint32_t instr; /* its number in the kernel's code (ir_module_instr_at); 0: not known */
    uint32_t line;  /* of the source, or of the PTX; 0: not known */
    const char *file;
    uint32_t count[HAL_SAMPLE_WHERE];
    uint32_t lost; /* of the kernel, for want of room */
};

struct hal_device_ops {
    /* All queues, domains, modules and memory must be gone. */
    void (*destroy)(struct hal_device *device);

    /*
     * Overwrites the defaults of spec/device.def where this device differs. `values` is indexed by
     * enum hal_attribute. What launches are checked against and what the API reports are these.
     */
    void (*describe)(struct hal_device *device, int32_t values[HAL_ATTRIBUTE_END]);

    /*
     * Copies what it keeps of the description. There is no code yet, unless there is an image. A
     * device that takes no images of the kind, or none at all, refuses it by name:
     * HD_NOT_SUPPORTED, hal_program_refuse_image(). HD_BAD_IMAGE: it is damaged.
     */
    enum hd_status (*module_load)(struct hal_device *device, const struct hal_program *program,
                                  struct hal_module **out_module) HD_MUST_CHECK;
    /* No packet may refer to the module any more. Frees its kernels. */
    void (*module_unload)(struct hal_module *module);
    /*
     * Makes kernel number `index` known to the device. `code` holds it and whatever it reaches
     * (ir_module_func_at), optimised, with laid out windows; it is immutable and must outlive the
     * module. Its text form (ir_print_module) says all there is to say, for devices that are not in
     * this process. The result is borrowed from the module; the same index gives the same kernel,
     * and `code` is looked at the first time only. Compiles nothing yet. HD_NOT_FOUND when `code`
     * has no kernel of that number.
     */
    enum hd_status (*kernel_get)(struct hal_module *module, uint32_t index,
                                 const struct ir_module *code, struct hal_kernel **out_kernel)
        HD_MUST_CHECK;
    enum hd_status (*kernel_info)(struct hal_kernel *kernel, struct hal_kernel_info *out_info)
        HD_MUST_CHECK;
    /*
     * Makes code for launches of this size. Must have succeeded before a dispatch with that block
     * size is submitted; cheap when repeated. The grid only says how much there is to run: a device
     * may begin a small launch in a slower form while it makes better code. A grid of zeros stands
     * for launches that are to come: the best code is made. HD_NO_MEMORY.
     */
    enum hd_status (*kernel_prepare)(struct hal_kernel *kernel, const uint32_t grid[3],
                                     const uint32_t block[3]) HD_MUST_CHECK;

    /*
     * From now on a dispatch of `kernel` that begins runs `other` in its place, if that is prepared
     * for its block size; NULL: no more. Any time, any number of times, until one of them is
     * unloaded. NULL: the device cannot, and dispatches run what they name.
     */
    void (*kernel_instead)(struct hal_kernel *kernel, struct hal_kernel *other);

    enum hd_status (*domain_create)(struct hal_device *device, struct hal_domain **out_domain)
        HD_MUST_CHECK;
    /* Its queues must be gone. Frees the device heap and writes out what was printed. */
    void (*domain_destroy)(struct hal_domain *domain);
    /*
     * Back to how it was created: healthy, with default limits and an empty device heap. Its queues
     * stay and must be idle.
     */
    void (*domain_reset)(struct hal_domain *domain);
    /*
     * Ends the domain's work: packets are skipped as after a fault, with HD_CANCELLED when there
     * was none yet, and CTAs that run are stopped where they are, also those that never end by
     * themselves. A function of a native kernel cannot be stopped: it runs to its end. Returns at
     * once; wait for the queues as usual.
     */
    void (*domain_cancel)(struct hal_domain *domain);

    /*
     * `priority` 0 is the least, info.priority_greatest the most urgent; others are clamped. When
     * several queues are ready, the device takes work from the most urgent ones.
     */
    enum hd_status (*queue_create)(struct hal_domain *domain, int priority,
                                   struct hal_queue **out_queue) HD_MUST_CHECK;

    /*
     * Blocks until *semaphore >= value. The calling thread may execute work of the device
     * meanwhile, but never host calls and never a kernel that may wait for the host.
     * timeout_ns 0 only looks; UINT64_MAX never gives up. HD_TIMEOUT without a message.
     */
    enum hd_status (*wait)(struct hal_device *device, const _Atomic uint64_t *semaphore,
                           uint64_t value, uint64_t timeout_ns) HD_MUST_CHECK;

    /*
     * Memory: core hands out addresses inside a range that it has reserved. Sizes, offsets and
     * addresses are multiples of 4 KiB. HD_NO_DEVICE_MEMORY, HD_NOT_SUPPORTED, HD_BAD_ARG.
     */
    enum hd_status (*mem_create)(struct hal_device *device, uint64_t size_B, bool shareable,
                                 struct hal_mem **out_mem) HD_MUST_CHECK;
    /*
     * Nothing may be mapped. Other processes keep what they imported; private pages that were not
     * discarded stay with their addresses.
     */
    void (*mem_destroy)(struct hal_mem *mem);
    /* A file descriptor of the caller's that stands for the memory, also in another process. */
    enum hd_status (*mem_export)(struct hal_mem *mem, int *out_fd) HD_MUST_CHECK;
    /* The same memory from a descriptor, which stays the caller's. HD_BAD_ARG: it is no memory. */
    enum hd_status (*mem_import)(struct hal_device *device, int fd, struct hal_mem **out_mem)
        HD_MUST_CHECK;
    /* Makes [offset, offset + size_B) accessible at va, for device and host. */
    enum hd_status (*mem_map)(struct hal_mem *mem, uint64_t va, uint64_t offset_B, uint64_t size_B,
                              enum hal_prot prot) HD_MUST_CHECK;
    /* Makes the range inaccessible. The pages stay the object's. */
    void (*mem_unmap)(struct hal_mem *mem, uint64_t va, uint64_t size_B);
    /* Gives pages back to the host; they read as 0 when next touched. */
    void (*mem_discard)(struct hal_mem *mem, uint64_t offset_B, uint64_t size_B);

    /* What the device's clock shows now. NULL: it is the host's. */
    uint64_t (*clock_now)(struct hal_device *device);
    /* Writes out what the domain's kernels printed so far. Called at synchronisation points. */
    void (*printf_flush)(struct hal_domain *domain);
    /*
     * For somebody who asks why nothing goes on: calls `tell` for each kernel that runs. It only
     * looks, and takes up to half a second. NULL: the device does not know.
     */
    void (*report)(struct hal_device *device, hal_notify_running *notify, void *arg);
    /*
     * From now on threads that execute launches made from now on are sampled at each period; 0:
     * none are. NULL, with the next one: the device cannot.
     */
    enum hd_status (*sample)(struct hal_device *device, uint64_t period_ns) HD_MUST_CHECK;
    /* Tells client.sampled of what there is. */
    void (*samples_notify)(struct hal_device *device);

    /*
     * As kernel_get, of a kernel whose code is a host function: `native` stays as long as the
     * module. NULL, or HD_NOT_SUPPORTED without a message: the device cannot call functions of this
     * process; core gives it the kernel's PTX.
     */
    enum hd_status (*native_get)(struct hal_module *module, uint32_t index,
                                 const struct hal_native *native, struct hal_kernel **out_kernel)
        HD_MUST_CHECK;
};

/* Common part of every device (hal_device.c). `client` is copied; NULL: nobody answers. */
void hal_device_init(struct hal_device *device, const struct hal_device_ops *ops,
                     const struct hal_client_ops *client);
void hal_device_fini(struct hal_device *device);
/* The attributes of a device: defaults, and what it says itself. */
void hal_device_attributes(struct hal_device *device, int32_t values[HAL_ATTRIBUTE_END]);

/*
 * The devices that are linked in: one row each, a row without a name ends the table (src/dev).
 * hal_device_create() makes the one that is called `name`. HD_NOT_FOUND lists what there is. What
 * the device asks of its user is `client`, which is copied; NULL: nothing (hal/client.h).
 */
struct hal_backend {
    const char *name; /* value of HEDDLE_DEVICE */
    const char *doc;
    enum hd_status (*create)(const struct hal_client_ops *client, struct hal_device **out_device);
    bool records; /* what HEDDLE_PROFILE asks for (ir/profile.h); others are refused with it */
};
extern const struct hal_backend hal_backends[];
enum hd_status hal_device_create(const char *name, const struct hal_client_ops *client,
                                 struct hal_device **out_device) HD_MUST_CHECK;

/* ---- for devices */

/* HD_OK when the program has no image, for devices that take none. */
enum hd_status hal_program_refuse_image(const struct hal_device *device,
                                        const struct hal_program *program) HD_MUST_CHECK;
/* The op kernel_instead of a device whose dispatches look at hal_kernel_instead(). */
void hal_kernel_set_instead(struct hal_kernel *kernel, struct hal_kernel *other);
/* Numbers a kernel of the device: sets kernel->id. HD_NO_MEMORY, HD_LAUNCH_LIMIT (a million). */
enum hd_status hal_kernel_publish(struct hal_device *device, struct hal_kernel *kernel)
    HD_MUST_CHECK;
/* The number is free for another one; kernel->id becomes 0. Nothing happens when it is 0. */
void hal_kernel_withdraw(struct hal_device *device, struct hal_kernel *kernel);
/* The kernel with this id, NULL when there is none (any more). Takes no lock. */
static inline struct hal_kernel *hal_kernel_find(struct hal_device *device, uint64_t id)
{
    uint32_t index = (uint32_t)id;
    struct hal_kernel_slot *chunk;

    if (HD_UNLIKELY(index >= HAL_KERNEL_CHUNK * HAL_KERNEL_CHUNKS))
        return NULL;
    chunk = atomic_load_explicit(&device->kernels.chunks[index / HAL_KERNEL_CHUNK],
                                 memory_order_acquire);
    if (HD_UNLIKELY(!chunk))
        return NULL;
    chunk += index % HAL_KERNEL_CHUNK;
    if (HD_UNLIKELY(atomic_load_explicit(&chunk->generation, memory_order_relaxed) != id >> 32))
        return NULL;
    return atomic_load_explicit(&chunk->kernel, memory_order_acquire);
}

/* Memory objects over host memory: the mem_* ops of such a device. */
enum hd_status hal_host_mem_create(struct hal_device *device, uint64_t size_B, bool shareable,
                                   struct hal_mem **out_mem) HD_MUST_CHECK;
void hal_host_mem_destroy(struct hal_mem *mem);
enum hd_status hal_host_mem_export(struct hal_mem *mem, int *out_fd) HD_MUST_CHECK;
enum hd_status hal_host_mem_import(struct hal_device *device, int fd, struct hal_mem **out_mem)
    HD_MUST_CHECK;
enum hd_status hal_host_mem_map(struct hal_mem *mem, uint64_t va, uint64_t offset_B,
                                uint64_t size_B, enum hal_prot prot) HD_MUST_CHECK;
void hal_host_mem_unmap(struct hal_mem *mem, uint64_t va, uint64_t size_B);
void hal_host_mem_discard(struct hal_mem *mem, uint64_t offset_B, uint64_t size_B);

/* A small region of shareable memory, zeroed: rings, domains. destroy takes -1 and NULL too. */
enum hd_status hal_shared_create(const char *name, size_t size_B, int *out_fd, void **out_at)
    HD_MUST_CHECK;
void hal_shared_destroy(int fd, void *at, size_t size_B);
/* Of a memory file that cannot shrink; 0 for anything else, which might fault under our feet. */
uint64_t hal_shared_size(int fd);

/* CLOCK_MONOTONIC in ns. */
uint64_t hal_time_ns(void);
/* What the device's clock shows: what TIMESTAMP and stamps hold. */
static inline uint64_t hal_device_now(struct hal_device *device)
{
    return HD_UNLIKELY(device->ops->clock_now != NULL) ? device->ops->clock_now(device)
                                                       : hal_time_ns();
}

/* ---- one at a time (hal_serial.c) */

/*
 * Whatever a device does to memory is inside, between enter and leave, so that a launch can be
 * alone. Nothing, until hal_serial_start(). Threads: any; they may block, but never for what comes
 * later in the queue of who is alone.
 */
void hal_serial_start(void);
bool hal_serial_is_on(void);
void hal_serial_enter(void);
void hal_serial_leave(void);
/* True: nobody else is inside until leave_alone() or share(). False: others did not end in so much
 * time, and the caller is inside with them. */
bool hal_serial_enter_alone(uint64_t patience_ns) HD_MUST_CHECK;
void hal_serial_leave_alone(void);
/* Who was alone is inside with others. */
void hal_serial_share(void);

#endif
