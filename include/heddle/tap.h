/*
 * Taps: how a profiler, a checker, CUPTI or a log learns what a running program does.
 *
 * libcuda tells each listener one struct heddle_event at a time: driver and runtime calls with their
 * arguments and results, the packets that they hand to the device and when these are complete, what
 * was compiled, and the life of modules, memory, contexts, streams and events. Listeners are added
 * and removed at any time; with none, each tap costs one load and one predicted branch.
 *
 *     static void on_event(void *user, const struct heddle_event *e)
 *     {
 *         if (e->kind == HEDDLE_EVENT_DRIVER && e->phase == HEDDLE_PHASE_END)
 *             printf("%s = %d\n", e->call.entry->name, (int)e->call.result);
 *     }
 *     uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_event, NULL);
 *     ...
 *     heddle_tap_unsubscribe(id);
 *
 * Correlation. The outermost API call of a thread takes a new id; the driver calls inside a runtime
 * call, their packets (hal_head.correlation), the completion of these and what they cause to be
 * compiled or allocated carry the same. 0 stands for what no call caused. Ids are only given while
 * somebody listens. With a packet's own id, `packet.id`, a PACKET event finds its RETIRED one.
 *
 * Order. A thread's events come in the order in which they happen, properly nested. A PACKET comes
 * before its RETIRED, and RETIRED before a wait for that work returns; when submission fails there is
 * no RETIRED, and the call's END has the error. A FAULT has correlation 0; it comes before the RETIRED
 * of the work that failed, which has that of its call, and before the context is destroyed or reset; a
 * call may return the error earlier. A listener gets no END of a call whose BEGIN
 * came before it subscribed, but may miss the END of one whose BEGIN it got, by unsubscribing.
 *
 * RETIRED or DONE. RETIRED is told before the next work of its stream begins, which costs each
 * submission a host call on the device's thread. DONE is told by API calls, whatever they do, of all
 * work that is complete when they end, before a wait for it returns; it costs the device nothing,
 * and tells nothing while the program makes no calls: heddle_tap_settle(). Both have the same
 * members.
 *
 * Threads. A listener runs on the thread of the event: that of the call, or one that executes the
 * device's work for RETIRED and FAULT, and on several at the same time; DONE on one at a time. In DRIVER, RUNTIME, PACKET
 * and NVTX events it may call the API; its own calls work as usual and are told to nobody, so a listener never
 * recurses. In the others libcuda may hold locks: it must not call the API there, nor wait for a
 * thread that does.
 * heddle_tap_unsubscribe() returns when no other thread is inside the listener; what `user` points to
 * may be freed then.
 *
 * Lifetime. The event, its arguments and strings are valid during the callback, entries until the
 * library that tells them is unloaded. Objects in an event that says they are destroyed still exist.
 *
 * Units: times are nanoseconds of CLOCK_MONOTONIC, sizes are bytes. A PACKET has the time at which
 * its call began, where somebody listens to calls: a clock is read for each event that needs it.
 */
#ifndef HEDDLE_TAP_H
#define HEDDLE_TAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, what it tells: the event's member, its phases */
#define HEDDLE_EVENT_LIST(X)                                                                       \
    X(DRIVER, "a driver API call: call, BEGIN and END")                                            \
    X(RUNTIME, "a runtime API call: call, BEGIN and END")                                          \
    X(PACKET, "work goes to a stream's queue: packet, POINT")                                      \
    X(RETIRED, "work is complete: packet with its times, POINT; on a device's thread")             \
    X(COMPILE, "a kernel or an image is compiled: compile, BEGIN and END; locks may be held")      \
    X(MODULE, "a module was loaded, or is about to be unloaded: object, POINT")                    \
    X(MEMORY, "memory was allocated or freed; a context takes its own with it: memory, POINT")     \
    X(OBJECT, "a context, stream or event exists, or is about to go: object, POINT")               \
    X(FAULT, "a kernel or a copy failed, the first of its context: fault, POINT; locks may be "    \
             "held")                                                                               \
    X(NVTX, "the program marks a moment or a range, or names something: nvtx, POINT")              \
    X(DONE, "work is complete: as RETIRED, but told later and in batches, which costs the device " \
            "nothing; locks may be held")

enum heddle_event_kind {
#define X(name, doc) HEDDLE_EVENT_##name,
    HEDDLE_EVENT_LIST(X)
#undef X
        HEDDLE_EVENT_COUNT
};

/* A set of kinds is an OR of these. */
#define HEDDLE_KIND(name) (1u << HEDDLE_EVENT_##name)
#define HEDDLE_KIND_ALL   ((1u << HEDDLE_EVENT_COUNT) - 1)
/* With kinds: no calls that are inside others, as the driver's inside the runtime's. */
#define HEDDLE_OUTERMOST (1u << 31)
/* With kinds: of calls only the END, which has the time of the BEGIN. */
#define HEDDLE_ENDS (1u << 30)
/* With kinds: no calls that compilers write around the program's own (is_plumbing): <<<>>> has two. */
#define HEDDLE_PLAIN (1u << 28)
/* With kinds: each record of an event is a packet, though the event keeps no time. */
#define HEDDLE_EVENT_TIMES (1u << 29)
/* With kinds: the arguments of native kernels in words, in PACKET. */
#define HEDDLE_ARGUMENTS (1u << 27)

enum heddle_event_phase { HEDDLE_PHASE_BEGIN, HEDDLE_PHASE_END, HEDDLE_PHASE_POINT };

/* ---- API calls, described by the tables spec/api/driver.def and runtime.def */

enum heddle_arg_kind {
    HEDDLE_ARG_POINTER, /* handles are pointers as well */
    HEDDLE_ARG_STRING,  /* const char * */
    HEDDLE_ARG_INT,     /* signed, of size_B bytes */
    HEDDLE_ARG_UINT,    /* unsigned and enumerations */
    HEDDLE_ARG_FLOAT,   /* float or double */
    HEDDLE_ARG_STRUCT,  /* by value */
};

enum heddle_arg_direction { HEDDLE_ARG_IN, HEDDLE_ARG_OUT, HEDDLE_ARG_INOUT };

struct heddle_arg {
    const char *name;
    const char *type;    /* as C spells it */
    uint16_t offset_B;   /* in the entry's argument struct */
    uint16_t size_B;     /* there */
    uint16_t target_B;   /* OUT, INOUT: size of what it points to, 0 when that has no type */
    uint8_t kind;        /* enum heddle_arg_kind */
    uint8_t target_kind; /* of what it points to */
    uint8_t direction;   /* enum heddle_arg_direction */
    uint8_t may_be_null;
};

struct heddle_entry {
    uint32_t id; /* place in its table; not the same in every version of Heddle */
    uint32_t nargs;
    const char *name; /* the exported symbol */
    const struct heddle_arg *args;
    /* The call as the program has it: <<<>>> of nvcc 13 is __cudaLaunchKernel, its title is
     * cudaLaunchKernel. Else the name. */
    const char *title;
    uint32_t is_plumbing; /* compilers write it around a call of the program; it submits no work */
};

/* ---- memory and variables */

/* name, whose memory a MEMORY event tells of */
#define HEDDLE_MEMORY_USE_LIST(X)                                                                  \
    X(PROGRAM, "the program allocated or registered it")                                           \
    X(MODULE, "variables of a module: the MODULE event names them")                                \
    X(ARRAY, "texels of an array")                                                                 \
    X(OWN, "libcuda's own")                                                                        \
    X(MAPPED,                                                                                      \
      "addresses that show memory of elsewhere: of another process or API, of cuMemMap(), "        \
      "of a graph")

enum heddle_memory_use {
#define X(name, doc) HEDDLE_MEMORY_##name,
    HEDDLE_MEMORY_USE_LIST(X)
#undef X
};

/* A variable of a module, in memory. */
struct heddle_variable {
    const char *name; /* as PTX has it */
    uint64_t va, size_B;
};

/* ---- graphs and streams */

/*
 * What a graph that is launched is made of. Nodes are in an order that respects the edges: node i
 * comes after the nodes after[first[i]] .. after[first[i + 1] - 1], which have lower numbers. Of a
 * graph in a graph every node is one of these; what joins several may be a node without work.
 */
struct heddle_graph {
    uint32_t nnodes;
    const uint32_t *first; /* nnodes + 1 */
    const uint32_t *after;
};

/* A kernel as it was loaded; lives as long as the process. */
struct heddle_kernel {
    const char *name; /* as PTX has it, which is mangled C++ */
    uint32_t regs;    /* per thread, an estimate */
    uint32_t max_threads;
    uint64_t static_shared_B;
    uint64_t local_B;   /* per thread */
    uint32_t is_native; /* a function of the host (heddle/native.h) */
};

/* What a packet does; members that its operation does not have are 0. */
struct heddle_work {
    uint32_t device;     /* its ordinal */
    uint32_t context_id; /* as cuCtxGetId() */
    uint32_t stream_id;  /* as cuStreamGetId() */
    uint32_t grid_id;
    const struct heddle_kernel *kernel; /* NULL: no grid, or no memory to note it */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared_B;
    uint32_t is_cooperative;
    uint32_t value;  /* of a fill */
    uint64_t size_B; /* of a copy or a fill */
    uint64_t dst, src;
    uint32_t dst_memory, src_memory; /* enum core_mem_kind, as memory.memory; 0: pageable */
    uint32_t dst_device, src_device; /* ordinals; UINT32_MAX: the host's memory */
    uint64_t graph;                  /* a number of the executable graph; 0: of none */
    uint32_t node;                   /* which of its nodes */
    uint32_t is_default_stream;      /* the stream is its context's default one */
    const char *arguments; /* in PACKET, with HEDDLE_ARGUMENTS: what the kernel says; or NULL */
};

/* name, bit, what an OBJECT event of a stream says */
#define HEDDLE_STREAM_LIST(X)                                                                      \
    X(NON_BLOCKING, 0, "it does not order with the legacy default stream")                         \
    X(PER_THREAD, 1, "it is the default stream of the thread that the event has")                  \
    X(DEFAULT, 2, "blocking streams of a green context order with it, as with the legacy one")

enum heddle_stream_flag {
#define X(name, bit, doc) HEDDLE_STREAM_##name = 1 << (bit),
    HEDDLE_STREAM_LIST(X)
#undef X
};

/* ---- NVTX */

/* name, the calls of NVTX that tell it, and which members of the event they set besides `domain` */
#define HEDDLE_NVTX_LIST(X)                                                                        \
    X(MARK, "nvtxMark*: the attributes, text to payload")                                          \
    X(RANGE_PUSH, "nvtxRangePush*: the attributes; level")                                         \
    X(RANGE_POP, "nvtxRangePop: level, that of its push; -1: nothing was pushed")                  \
    X(RANGE_START, "nvtxRangeStart*: the attributes; range")                                       \
    X(RANGE_END, "nvtxRangeEnd, perhaps on another thread: range")                                 \
    X(NAME_CATEGORY, "nvtxNameCategory*: category, text")                                          \
    X(NAME_THREAD, "nvtxNameOsThread*: object is the thread as the system has it; text")           \
    X(NAME_RESOURCE, "nvtxNameCu*, nvtxNameCuda*, nvtxDomainResourceCreate: object_type, object, " \
                     "text")                                                                       \
    X(FORGET_RESOURCE, "nvtxDomainResourceDestroy: object_type, object, text")                     \
    X(DOMAIN_CREATE, "nvtxDomainCreate*")                                                          \
    X(DOMAIN_DESTROY, "nvtxDomainDestroy")                                                         \
    X(REGISTER_STRING, "nvtxDomainRegisterString*: string, text")                                  \
    X(SYNC_CREATE, "nvtxDomainSyncUserCreate: object is the lock's id from now on, text its name") \
    X(SYNC_DESTROY, "nvtxDomainSyncUserDestroy: object, text")                                     \
    X(SYNC_ACQUIRE_START, "the thread wants the lock: object, text")                               \
    X(SYNC_ACQUIRE_FAILED, "it did not get it: object, text")                                      \
    X(SYNC_ACQUIRE_SUCCESS, "it has it: object, text")                                             \
    X(SYNC_RELEASING, "it is about to let it go: object, text")

enum heddle_nvtx_call {
#define X(name, doc) HEDDLE_NVTX_##name,
    HEDDLE_NVTX_LIST(X)
#undef X
};

struct heddle_event {
    uint32_t size_B;    /* of this struct: later versions add members at the end */
    uint8_t kind;       /* enum heddle_event_kind */
    uint8_t phase;      /* enum heddle_event_phase */
    uint16_t has_begin; /* of a call: the BEGIN was told to whoever wants it */
    uint32_t thread;    /* of the kernel's, as gettid() */
    uint32_t is_inner;  /* of a call: it is inside another one */
    uint64_t correlation;
    uint64_t time_ns;
    uint64_t begin_ns; /* END: time of its BEGIN; else time_ns */
    void *context;     /* CUcontext: the event's, or the thread's current one; may be NULL */
    void *stream;      /* CUstream, where there is one; NULL does not mean the default stream */
    union {
        struct {
            const struct heddle_entry *entry;
            const void *args; /* struct NAME_params; a twin has the struct of its base */
            int64_t result;   /* END: CUresult or cudaError_t */
        } call;
        struct {
            uint64_t id;
            const void *packet; /* union hal_packet (src/hal), only in PACKET */
            uint32_t op;        /* enum hal_op */
            uint32_t status;    /* RETIRED: 0, or the context's sticky error as enum hd_status */
            uint64_t start_ns, end_ns; /* RETIRED: on the device */
            /* PACKET: of a graph launch, and which node of it; NULL: of none */
            const struct heddle_graph *graph;
            uint32_t node;
            const struct heddle_work *work; /* what it does, in both */
        } packet;
        struct {
            const char *name;   /* of the kernel */
            const char *form;   /* "ir": to the portable form; else the code path, e.g. "avx512" */
            uint32_t cache_hit; /* END */
            uint32_t status;    /* END: enum hd_status */
        } compile;
        struct {
            uint64_t va, size_B;
            uint32_t memory; /* enum core_mem_kind: 1 device, 2 pinned, 4 managed, 8 registered */
            uint32_t is_freed;
            uint32_t
                use; /* enum heddle_memory_use; `stream`, where it is allocated or freed in one */
        } memory;
        struct {
            const char *kernel;  /* NULL: not a kernel's fault */
            const char *message; /* one line, as it is logged */
            const char *file;    /* of the source, or of the PTX; NULL: not known */
            uint64_t address;    /* of the access; 0: of none */
            uint32_t status;     /* enum hd_status: the context's sticky error from now on */
            uint32_t line;       /* in file */
            uint32_t has_block, has_thread;
            uint32_t block[3], thread[3]; /* where they are known */
        } fault;
        struct {
            void *handle;     /* what the API handed out */
            const char *type; /* "context", "stream", "event", "module" */
            uint32_t is_destroyed;
            uint32_t nvariables; /* MODULE, when it was loaded */
            const struct heddle_variable *variables;
            uint32_t flags; /* of a stream, when it exists: enum heddle_stream_flag */
            /* MODULE, when it was loaded: 16 bytes that identify its content */
            const uint8_t *image;
        } object;
        struct {
            uint32_t call;           /* enum heddle_nvtx_call */
            uint32_t domain;         /* 0: the default one; each name has one id in a process */
            const char *domain_name; /* NULL: the default one */
            const char *text;        /* UTF-8; also where the program gave a registered string */
            uint64_t string;         /* id of the registered string that text is; 0: of none */
            uint64_t range;          /* START, END: unique in the process */
            int32_t level; /* PUSH, POP: ranges of thread and domain around it; -2: unknown */
            uint32_t category;
            uint32_t color_type, color; /* 1: ARGB; 0: no colour */
            uint32_t payload_type;      /* nvtxPayloadType_t; 0: no payload */
            uint32_t object_type;       /* NVTX's: class << 16 | index */
            uint64_t payload;           /* its bits */
            uint64_t object;            /* handle or number of what is named */
            uint32_t cbid;              /* CUPTI's number of the function; 0: none */
            const void *params;         /* its arguments, as CUPTI's struct NAME_params */
            const void *result;         /* what it returns; NULL: nothing */
        } nvtx;
    };
};

typedef void (*heddle_listener)(void *user, const struct heddle_event *event);

/* The kinds somebody listens to; taps look here first. Read it, do not write it. */
extern uint32_t heddle_tap_kinds;

static inline uint32_t heddle_tap_kinds_wanted(void)
{
    return __atomic_load_n(&heddle_tap_kinds, __ATOMIC_RELAXED);
}

/* A nonzero id; 0 when kinds is empty, the function is null or 16 listeners are there. */
uint32_t heddle_tap_subscribe(uint32_t kinds, heddle_listener listener, void *user);
/* Nothing for an id that is not subscribed. A listener may remove itself. */
void heddle_tap_unsubscribe(uint32_t id);

/* Tells DONE of all work that is complete now. Not from within a listener. */
void heddle_tap_settle(void);

/*
 * For tools that are NVTX's themselves, to pass on what their InitializeInjectionNvtx2() is given:
 * the program's marks become NVTX events. 1: its tables are filled; 0: this version does not know
 * them. libcuda's own InitializeInjectionNvtx2() is this.
 */
int heddle_nvtx_initialize(const void *(*get_table)(uint32_t id));

/* ---- for the API libraries: what a tap around a call keeps on its stack */

struct heddle_call {
    struct heddle_event event;
    uint64_t outer; /* correlation around it */
    int told;
};

/* `kind` is DRIVER or RUNTIME. Every begin is followed by an end on the same thread. */
void heddle_tap_call_begin(struct heddle_call *call, enum heddle_event_kind kind,
                           const struct heddle_entry *entry, const void *args);
void heddle_tap_call_end(struct heddle_call *call, int64_t result);

#ifdef __cplusplus
}
#endif
#endif
