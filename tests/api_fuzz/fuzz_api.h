/*
 * Random calls of the API from several threads: what draws arguments, what keeps handles.
 *
 * A round is a process of its own with a seed; its calls come from generated functions
 * (gen_calls.py), one per entry point. Most arguments are right, some are null, of another kind,
 * long gone, or nonsense; pointers to the host's memory are always good, as no implementation can
 * check them. Nothing that is called may crash, hang, leak, race, or answer CUDA_ERROR_UNKNOWN.
 */
#ifndef HD_TESTS_FUZZ_API_H
#define HD_TESTS_FUZZ_API_H

#include <stddef.h>
#include <stdint.h>

#include "api/driver/cuda_abi.h"

enum {
    FUZZ_ARGS = 20,
    FUZZ_TRACE = 24,         /* calls that a thread remembers */
    FUZZ_ELEMENTS = 8,       /* of arrays that are passed */
    FUZZ_BYTES = 4096,       /* of buffers that are passed; elements of those that are written */
    FUZZ_SCRATCH_B = 1 << 17 /* per argument */
};

enum fuzz_pool {
    FUZZ_ARRAY,
    FUZZ_CONTEXT,
    FUZZ_EVENT,
    FUZZ_EXT_MEMORY,
    FUZZ_EXT_SEMAPHORE,
    FUZZ_FUNCTION,
    FUZZ_GRAPH,
    FUZZ_EXEC,
    FUZZ_NODE,
    FUZZ_GREEN,
    FUZZ_KERNEL,
    FUZZ_RUNTIME_KERNEL,
    FUZZ_LIBRARY,
    FUZZ_LINK,
    FUZZ_ALLOCATION,
    FUZZ_MEMPOOL,
    FUZZ_MIPMAP,
    FUZZ_MODULE,
    FUZZ_STREAM,
    FUZZ_SURFACE,
    FUZZ_TEXTURE,
    FUZZ_TEXREF,
    FUZZ_SURFREF,
    FUZZ_USER,
    FUZZ_MEMORY,
    FUZZ_DEVICE,
    FUZZ_CONDITION,
    FUZZ_RESOURCE,
    FUZZ_DESC,
    FUZZ_ASYNC,
    FUZZ_LOG,
    FUZZ_RANGE, /* reserved addresses */
    FUZZ_HOST,  /* pinned memory */
    FUZZ_FD,    /* file descriptors of shareable handles */
    FUZZ_POOLS
};

struct fuzz_call {
    const char *symbol;
    uint64_t args[FUZZ_ARGS];
    unsigned number; /* of the thread's calls */
    int result;      /* -1: it has not returned */
};

/* What a thread does, in memory that the parent reads when its child has died. */
struct fuzz_trace {
    struct fuzz_call calls[FUZZ_TRACE];
    unsigned next;
};

struct fuzz {
    uint64_t random;
    struct fuzz_trace *trace;
    struct fuzz_call *call; /* the one that is made */
    char *scratch[FUZZ_ARGS];
    size_t used_B[FUZZ_ARGS]; /* of the scratch memory, by structs and what they point to */
};

/* Answers and their numbers are the same in both APIs. */
struct fuzz_entry {
    const char *symbol;
    int (*call)(struct fuzz *);
    unsigned weight;
    int is_refused; /* it never succeeds */
};

extern const struct fuzz_entry fuzz_driver_entries[], fuzz_runtime_entries[];
extern const unsigned fuzz_driver_entry_count, fuzz_runtime_entry_count;

static inline uint64_t fuzz_next(struct fuzz *z) /* splitmix64 */
{
    uint64_t x = z->random += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t fuzz_below(struct fuzz *z, uint64_t n)
{
    return fuzz_next(z) % n;
}

static inline int fuzz_one_in(struct fuzz *z, uint64_t n)
{
    return !fuzz_below(z, n);
}

static inline void fuzz_shows(struct fuzz *z, unsigned i, uint64_t value)
{
    z->call->args[i] = value;
}

/* ---- handles (pools.c): all threads share them */

void fuzz_keep(struct fuzz *z, enum fuzz_pool pool, uint64_t handle);
uint64_t fuzz_take(struct fuzz *z, enum fuzz_pool pool); /* most of the time one that is alive */
uint64_t fuzz_take_alive(struct fuzz *z, enum fuzz_pool pool); /* or 0 */
uint64_t fuzz_memory(struct fuzz *z);                          /* for copies: of devices, or 0 */
#define TAKE(type, pool) ((type)(uintptr_t)fuzz_take(z, FUZZ_##pool))
/* FUZZ_ELEMENTS of them in the scratch memory of argument i. */
void *fuzz_handles(struct fuzz *z, unsigned i, enum fuzz_pool pool);
void *fuzz_memories(struct fuzz *z, unsigned i);

/* ---- numbers and memory (values.c) */

/* At most `most`; 0: anything. */
uint64_t fuzz_number(struct fuzz *z, uint64_t most);
unsigned fuzz_enum(struct fuzz *z);
unsigned fuzz_wait_flags(struct fuzz *z);
unsigned fuzz_flags(struct fuzz *z);  /* mostly 0 */
unsigned fuzz_count(struct fuzz *z);  /* of dependencies: mostly 0 */
size_t fuzz_granules(struct fuzz *z); /* what can be mapped */
void *fuzz_out(struct fuzz *z, unsigned i, int may_be_null);
void *fuzz_inout(struct fuzz *z, unsigned i);  /* a small number */
void *fuzz_bytes(struct fuzz *z, unsigned i);  /* small ones */
void *fuzz_buffer(struct fuzz *z, unsigned i); /* the same, or null */
void *fuzz_numbers(struct fuzz *z, unsigned i, size_t size);
void *fuzz_pointers(struct fuzz *z, unsigned i); /* to places where something may be written */
void *fuzz_sizes(struct fuzz *z, unsigned i);
void **fuzz_kernel_params(struct fuzz *z, unsigned i);
void *fuzz_zeroes(struct fuzz *z, unsigned i);
const void *fuzz_source(void); /* memory that only asynchronous copies read, and write */
void *fuzz_sink(void);
const void *fuzz_from(struct fuzz *z); /* for copies: of the host, or of devices */
void *fuzz_to(struct fuzz *z);
void *fuzz_arena(struct fuzz *z);                     /* pages that may be registered */
CUcoredumpSettings fuzz_dump_setting(struct fuzz *z); /* never one that ends the process */
void *fuzz_dump_value(struct fuzz *z, unsigned i);    /* a flag that is off or on, or a name */
const char *fuzz_name(struct fuzz *z);
const char *fuzz_path(struct fuzz *z);
extern const char fuzz_ptx[];
void *fuzz_image(struct fuzz *z);
size_t fuzz_image_size(void);
void *fuzz_options(struct fuzz *z, unsigned i);
void *fuzz_library_options(struct fuzz *z, unsigned i);
void **fuzz_option_values(struct fuzz *z, unsigned i);

void fuzz_host_fn(void *unused);
void fuzz_stream_fn(CUstream stream, CUresult status, void *unused);
size_t fuzz_block_fn(int block);
void fuzz_async_fn(CUasyncNotificationInfo *info, void *unused, CUasyncCallbackHandle handle);
void fuzz_log_fn(void *unused, CUlogLevel level, char *message, size_t length);

/* ---- structs (structs.c): FUZZ_ELEMENTS of them, the first ones filled */

uint64_t fuzz_extent(struct fuzz *z); /* mostly small */
unsigned fuzz_dim(struct fuzz *z);    /* none of a grid that takes minutes */
typedef void (*fuzz_fill)(struct fuzz *z, unsigned i, void *out);
void *fuzz_structs(struct fuzz *z, unsigned i, size_t size, fuzz_fill fill);
void *fuzz_more(struct fuzz *z, unsigned i, size_t size); /* for what they point to; zeroes */

#define FUZZ_FILL(type) void fill_##type(struct fuzz *z, unsigned i, void *out);
#include "structs.def"
#undef FUZZ_FILL

#endif
