/*
 * The spool: what a process under `heddle prof` writes while it runs, one file for each process,
 * pid.spool in the session's folder. It is memory that is shared with the file, so whatever was
 * written is there after a crash or kill -9.
 *
 *     prof_head   one page
 *     block 0     PROF_BLOCK_B bytes: prof_block, then records of one thread in the order in which
 *     block 1     they were made
 *     ...
 *
 * A record begins with struct prof_record and is a multiple of 8 bytes long. What a block has is
 * `used_B`, which grows when a record is whole. Records of work (KERNEL, LAUNCH, NODE, COPY, FILL)
 * are written when it is submitted and get their times when it is complete: end_ns is 0 until then.
 *
 * A launch is one record, LAUNCH: the call and its kernel. What launches of a kernel have in common
 * is told once, SHAPE. Pages of a file cost the program more than all else that a record does, so
 * records are short.
 *
 * Samples of host code are in a file of their own (is_samples), which signals' handlers write: its
 * blocks go from a thread that ends to another, so a sample says whose it is.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, ids of contexts and streams those of cuCtxGetId() and
 * cuStreamGetId(), names numbers of STRING records of the same file, 0 for none. All little endian.
 */
#ifndef HD_PROF_FORMAT_H
#define HD_PROF_FORMAT_H

#include <stdatomic.h>
#include <stdint.h>

#define PROF_MAGIC        UINT64_C(0x346c6f6f70736468) /* "hdspool4" */
#define PROF_HEAD_B       4096u
#define PROF_BLOCK_B      32768u
#define PROF_SUFFIX       ".spool"
#define PROF_RECORD_MAX_B 8192u

struct prof_head {
    uint64_t magic;
    uint32_t pid, parent;
    uint64_t start_ns;       /* CLOCK_MONOTONIC */
    uint64_t start_real_ns;  /* CLOCK_REALTIME at the same moment */
    _Atomic uint64_t blocks; /* begun */
    _Atomic uint64_t lost; /* records that found no room: the disk is full, or the limit reached */
    char exe[1024];        /* ends with 0 */
    uint32_t is_samples;   /* of a process that has another file as well */
    uint32_t reserved;
};

struct prof_block {
    _Atomic uint32_t used_B; /* with this head */
    uint32_t thread;         /* as gettid() */
};

struct prof_record {
    uint16_t size_B;
    uint16_t type;   /* enum prof_type */
    uint32_t number; /* where the type has one in it: the record is shorter for it */
};

/* X(NAME, type, doc): the records. */
#define PROF_RECORD_LIST(X)                                                                        \
    X(STRING, string, "a text and its number")                                                     \
    X(CALL, call, "an API call that ended")                                                        \
    X(SHAPE, shape, "what launches of a kernel have in common")                                    \
    X(KERNEL, kernel, "a grid whose call has a record of its own")                                 \
    X(LAUNCH, launch, "a grid and the call that launched it")                                      \
    X(NODE, node, "a grid of a graph launch")                                                      \
    X(COPY, copy, "a copy")                                                                        \
    X(FILL, fill, "a fill")                                                                        \
    X(SYNC, sync, "the host waited")                                                               \
    X(MEMORY, memory, "memory was allocated or freed")                                             \
    X(OBJECT, object, "a context or stream that something runs in")                                \
    X(COMPILE, compile, "a kernel or an image was compiled")                                       \
    X(FAULT, fault, "a kernel or a copy failed")                                                   \
    X(OSRT, osrt, "a thread of the program was in a call of the operating system")                 \
    X(NVTX, nvtx, "the program marked something")                                                  \
    X(THREAD, thread, "a thread of the process")                                                   \
    X(DEVICE, device, "a device")                                                                  \
    X(MODULE, module, "what frames of samples are in")                                             \
    X(SAMPLE, sample, "where a thread was")

enum prof_type {
#define X(NAME, type, doc) PROF_##NAME,
    PROF_RECORD_LIST(X)
#undef X
        PROF_TYPE_COUNT
};

struct prof_string {
    struct prof_record record;
    uint32_t id;
    uint32_t len;
    char text[]; /* UTF-8 as it came, without 0 */
};

/* What all work has. */
struct prof_times {
    _Atomic uint64_t start_ns, end_ns; /* on the device; end_ns 0: not complete */
    uint64_t correlation;
    uint32_t stream;
    uint32_t grid_id; /* of a grid */
};

/* Its number is what KERNEL, LAUNCH and NODE have as theirs. */
struct prof_shape {
    struct prof_record record;
    uint32_t name;
    uint32_t regs;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared_B, static_shared_B, local_B;
    uint32_t device, context;
    uint32_t is_cooperative;
    uint32_t arguments; /* a name: what a native kernel says of its parameters */
    uint32_t reserved;
};

struct prof_kernel {
    struct prof_record record;
    struct prof_times times;
};

/* The call succeeded; `call` 0: it had not returned, or is not wanted. */
#define PROF_LAUNCH_DRIVER (UINT32_C(1) << 31)
struct prof_launch {
    struct prof_kernel kernel;
    uint64_t begin_ns;
    uint32_t duration_ns;
    _Atomic uint32_t call; /* a name, PROF_LAUNCH_DRIVER: of the driver API */
};

struct prof_node {
    struct prof_kernel kernel;
    uint64_t graph;
    uint32_t node;
    uint32_t reserved;
};

/* First in COPY and FILL. */
struct prof_work {
    struct prof_record record;
    struct prof_times times;
    uint64_t graph; /* 0: of no graph launch */
    uint32_t node;
    uint32_t device, context;
    uint32_t reserved;
};

struct prof_copy {
    struct prof_work work;
    uint64_t size_B, dst, src;
    uint8_t dst_memory, src_memory; /* enum core_mem_kind: 0 pageable, 1 device, 2 pinned ... */
    uint8_t reserved[6];
    uint32_t dst_device, src_device; /* UINT32_MAX: the host */
};

struct prof_fill {
    struct prof_work work;
    uint64_t size_B, dst;
    uint32_t value;
    uint32_t memory;
};

/* Its number is a name. */
struct prof_call {
    struct prof_record record;
    uint64_t begin_ns, end_ns;
    uint64_t correlation;
    int32_t result;
    uint32_t is_driver; /* a call of the driver API, not inside one of the runtime */
};

/* The numbers of ENUM_CUPTI_SYNC_TYPE. */
enum prof_sync_kind {
    PROF_SYNC_EVENT = 1,
    PROF_SYNC_WAIT_EVENT = 2, /* a stream waits, not the host */
    PROF_SYNC_STREAM = 3,
    PROF_SYNC_CONTEXT = 4,
};

struct prof_sync {
    struct prof_record record;
    uint64_t begin_ns, end_ns;
    uint64_t correlation;
    uint64_t stream, event; /* handles; 0: none */
    uint64_t context;       /* handle */
    uint32_t kind;          /* enum prof_sync_kind */
    uint32_t reserved;
};

struct prof_memory {
    struct prof_record record;
    uint64_t time_ns;
    uint64_t va, size_B;
    uint64_t correlation;
    uint64_t context; /* handle */
    uint32_t memory;  /* enum core_mem_kind */
    uint32_t is_freed;
};

struct prof_object {
    struct prof_record record;
    uint64_t time_ns;
    uint64_t handle; /* of a context's default stream: context + 1 */
    uint64_t context;
    uint32_t type; /* a name: "context", "stream" */
    uint32_t id;   /* as the API counts */
    uint32_t device;
    uint32_t reserved;
};

struct prof_compile {
    struct prof_record record;
    uint64_t begin_ns, end_ns;
    uint64_t correlation;
    uint32_t name, form;
    uint32_t cache_hit, status;
};

struct prof_fault {
    struct prof_record record;
    uint64_t time_ns;
    uint32_t kernel, message;
    uint32_t status;
    uint32_t reserved;
};

/* Its number is a name. */
struct prof_osrt {
    struct prof_record record;
    uint64_t begin_ns, end_ns;
    int64_t result;
};

struct prof_nvtx {
    struct prof_record record;
    uint64_t time_ns;
    uint64_t range, payload;
    uint32_t call; /* enum heddle_nvtx_call */
    uint32_t domain, domain_name, text;
    int32_t level;
    uint32_t category, color_type, color, payload_type;
    uint32_t reserved;
};

struct prof_thread {
    struct prof_record record;
    uint32_t thread, name;
};

struct prof_device {
    struct prof_record record;
    uint32_t device, name;
    uint64_t memory_B;
    uint32_t cc_major, cc_minor, sms, clock_kHz, l2_B, max_threads_per_sm;
    uint32_t shared_per_block_B, shared_per_sm_B, regs_per_block, max_blocks_per_sm;
    uint32_t pci_bus, memory_clock_kHz, bus_width, const_B;
    uint8_t uuid[16];
};

/* Its number is that of frames: a library, or, for what the host does not see into, a kernel. */
struct prof_module {
    struct prof_record record;
    uint32_t is_kernel;
    uint32_t len;
    char name[]; /* a path as the loader has it, "" of the program; mangled; without 0 */
};

/* A frame: 16 bits of its module, 0: none, over 48 of an address, which is the file's, or without a
 * module the process's. Those of callers are inside of their calls. */
#define PROF_FRAME_ADDRESS ((UINT64_C(1) << 48) - 1)
enum prof_stack_end {
    PROF_STACK_WHOLE,
    PROF_STACK_CUT,    /* there were more frames than `depth` */
    PROF_STACK_BROKEN, /* who called the last one is not known */
};
#define PROF_DEPTH_MAX 960u

/* Its number is the thread, as gettid(). */
struct prof_sample {
    struct prof_record record;
    uint64_t time_ns;
    uint64_t weight_ns; /* processor time that it stands for; 0: withdrawn */
    uint32_t cpu;
    uint16_t nframes;
    uint16_t end;      /* enum prof_stack_end */
    uint64_t frames[]; /* innermost first */
};
_Static_assert(sizeof(struct prof_sample) + PROF_DEPTH_MAX * 8 <= PROF_RECORD_MAX_B, "a record");

#endif
