/* Handles, numbers and memory as arguments. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "fuzz_api.h"

/* ---- handles */

enum { KEPT = 24 };

static _Atomic uint64_t pools[FUZZ_POOLS][KEPT];
static char source[1 << 16], sink[1 << 16], arena[1 << 18] __attribute__((aligned(4096)));

static int is_in_arena(uint64_t address)
{
    return address - (uintptr_t)arena < sizeof(arena);
}

/*
 * Addresses that no memory has are the program's own to copies, and so is registered memory once it
 * is not registered any more: the program would be to blame.
 */
void fuzz_keep(struct fuzz *z, enum fuzz_pool pool, uint64_t handle)
{
    if (!handle || (pool == FUZZ_MEMORY && (handle <= UINT32_MAX || is_in_arena(handle))))
        return;
    pools[pool][fuzz_below(z, KEPT)] = handle;
    if (pool == FUZZ_HOST) /* pinned memory is memory of devices as well */
        pools[FUZZ_MEMORY][fuzz_below(z, KEPT)] = handle;
}

uint64_t fuzz_take_alive(struct fuzz *z, enum fuzz_pool pool)
{
    unsigned first = (unsigned)fuzz_below(z, KEPT);

    if (pool == FUZZ_DEVICE)
        return fuzz_one_in(z, 6); /* mostly the first one, so that things fit together */
    for (unsigned i = 0; i < KEPT; i++)
        if (pools[pool][(first + i) % KEPT])
            return pools[pool][(first + i) % KEPT];
    return 0;
}

static uint64_t nonsense(struct fuzz *z, enum fuzz_pool pool)
{
    switch (fuzz_below(z, 5)) {
    case 0:
        return 0;
    case 1:
        return fuzz_take_alive(z, pool) + 1;
    case 2:
        return fuzz_take_alive(z, (enum fuzz_pool)fuzz_below(z, FUZZ_FD));
    case 3:
        return fuzz_below(z, 4096);
    default:
        return fuzz_next(z);
    }
}

uint64_t fuzz_take(struct fuzz *z, enum fuzz_pool pool)
{
    if (pool == FUZZ_FD) /* closing what is not ours would close anything */
        return fuzz_one_in(z, 8) ? (uint64_t)-1 : fuzz_take_alive(z, pool);
    if (fuzz_one_in(z, 12))
        return nonsense(z, pool);
    if (pool == FUZZ_STREAM && fuzz_one_in(z, 3))
        return fuzz_below(z, 3); /* the default streams */
    if (pool == FUZZ_MEMORY && fuzz_one_in(z, 4))
        return fuzz_memory(z);
    return fuzz_take_alive(z, pool);
}

uint64_t fuzz_memory(struct fuzz *z)
{
    uint64_t at = fuzz_take_alive(z, FUZZ_MEMORY);

    return at && fuzz_one_in(z, 4) ? at + fuzz_below(z, 64) * 4 : at;
}

void *fuzz_handles(struct fuzz *z, unsigned i, enum fuzz_pool pool)
{
    uint64_t *all = (uint64_t *)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = fuzz_take(z, pool);
    return fuzz_one_in(z, 20) ? NULL : all;
}

void *fuzz_memories(struct fuzz *z, unsigned i)
{
    uint64_t *all = (uint64_t *)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = fuzz_memory(z);
    return all;
}

/* ---- numbers */

uint64_t fuzz_number(struct fuzz *z, uint64_t most)
{
    static const uint64_t some[] = {0, 0, 0,  1,  1,  1,   2,   3,    4,
                                    4, 8, 16, 32, 64, 100, 256, 1024, 4096};
    static const uint64_t large[] = {65536,
                                     (size_t)1 << 20,
                                     (size_t)2 << 20,
                                     (size_t)4 << 20,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     (uint64_t)1 << 40,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     1u << 31,
                                     12345,
                                     65535};
    uint64_t n = some[fuzz_below(z, sizeof(some) / sizeof(*some))];

    if (!most && fuzz_one_in(z, 6))
        n = large[fuzz_below(z, sizeof(large) / sizeof(*large))];
    return most && n > most ? most : n;
}

unsigned fuzz_enum(struct fuzz *z)
{
    return (unsigned)(fuzz_one_in(z, 30) ? fuzz_next(z)
                                         : fuzz_below(z, fuzz_one_in(z, 4) ? 140 : 8));
}

unsigned fuzz_flags(struct fuzz *z)
{
    return fuzz_one_in(z, 20)  ? (unsigned)fuzz_number(z, 0)
           : fuzz_one_in(z, 3) ? (unsigned)fuzz_below(z, 8)
                               : 0;
}

unsigned fuzz_count(struct fuzz *z)
{
    return fuzz_one_in(z, 3) ? (unsigned)fuzz_below(z, FUZZ_ELEMENTS + 1)
                             : (unsigned)fuzz_below(z, 2);
}

size_t fuzz_granules(struct fuzz *z)
{
    return fuzz_one_in(z, 10) ? fuzz_number(z, 0) : (size_t)2 << (20 + fuzz_below(z, 2));
}

/*
 * Only waits that end, whatever was copied to the memory: for a bit that is not set (NOR). One that
 * flushes, and two that are none.
 */
unsigned fuzz_wait_flags(struct fuzz *z)
{
    static const unsigned some[] = {3, 3, 3, 0x40000003, 0x100, 4};

    return some[fuzz_below(z, sizeof(some) / sizeof(*some))];
}

/* ---- memory of the host */

void *fuzz_out(struct fuzz *z, unsigned i, int may_be_null)
{
    if (fuzz_one_in(z, may_be_null ? 4 : 60))
        return NULL;
    memset(z->scratch[i], 0, 64);
    return z->scratch[i];
}

void *fuzz_inout(struct fuzz *z, unsigned i)
{
    uint64_t n = fuzz_below(z, FUZZ_ELEMENTS);

    memcpy(z->scratch[i], &n, sizeof(n));
    return fuzz_one_in(z, 20) ? NULL : z->scratch[i];
}

void *fuzz_bytes(struct fuzz *z, unsigned i)
{
    for (unsigned k = 0; k < 64; k++)
        z->scratch[i][k] = (char)fuzz_below(z, fuzz_one_in(z, 2) ? 2 : 128);
    z->scratch[i][64] = 0;
    return z->scratch[i];
}

void *fuzz_buffer(struct fuzz *z, unsigned i)
{
    void *bytes = fuzz_bytes(z, i);

    return fuzz_one_in(z, 20) ? NULL : bytes;
}

void *fuzz_numbers(struct fuzz *z, unsigned i, size_t size)
{
    memset(z->scratch[i], 0, FUZZ_ELEMENTS * size);
    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++) /* the lowest byte: little endian */
        z->scratch[i][k * size] = (char)fuzz_below(z, fuzz_one_in(z, 2) ? 8 : 128);
    return fuzz_one_in(z, 20) ? NULL : z->scratch[i];
}

void *fuzz_pointers(struct fuzz *z, unsigned i)
{
    void **all = (void **)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = z->scratch[i] + (k + 1) * FUZZ_BYTES;
    return all;
}

void *fuzz_sizes(struct fuzz *z, unsigned i)
{
    size_t *all = (size_t *)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = fuzz_below(z, 4) * 4;
    return all;
}

/* Two parameters are the most that a kernel has: an address and a number. */
void **fuzz_kernel_params(struct fuzz *z, unsigned i)
{
    char *at = z->scratch[i] + FUZZ_SCRATCH_B / 2;
    void **all = (void **)at;
    uint64_t *values = (uint64_t *)(at + 64);

    /* Memory that goes while the kernel runs would be the program's fault, and end its context. */
    values[0] = fuzz_one_in(z, 200) ? fuzz_next(z) : 0;
    values[1] = fuzz_below(z, 100);
    all[0] = &values[0];
    all[1] = &values[1];
    return all;
}

const void *fuzz_source(void)
{
    return source;
}

void *fuzz_sink(void)
{
    return sink;
}

const void *fuzz_from(struct fuzz *z)
{
    return fuzz_one_in(z, 3) ? source : (const void *)(uintptr_t)fuzz_memory(z);
}

void *fuzz_to(struct fuzz *z)
{
    return fuzz_one_in(z, 3) ? sink : (void *)(uintptr_t)fuzz_memory(z);
}

void *fuzz_zeroes(struct fuzz *z, unsigned i)
{
    return memset(z->scratch[i], 0, FUZZ_BYTES);
}

void *fuzz_arena(struct fuzz *z)
{
    return arena + fuzz_below(z, 32) * 4096;
}

/* ---- text */

CUcoredumpSettings fuzz_dump_setting(struct fuzz *z)
{
    unsigned setting = fuzz_enum(z);

    /* Its flags stay as main.c sets them: a dump does not abort the process. */
    return setting == CU_COREDUMP_GENERATION_FLAGS ? CU_COREDUMP_FILE : (CUcoredumpSettings)setting;
}

void *fuzz_dump_value(struct fuzz *z, unsigned i)
{
    static const char *const values[] = {"", "\1", "dump", "missing/dump"};

    snprintf(z->scratch[i], FUZZ_SCRATCH_B, "%s",
             values[fuzz_below(z, sizeof(values) / sizeof(*values))]);
    return z->scratch[i];
}

const char *fuzz_name(struct fuzz *z)
{
    static const char *const names[] = {
        "count",   "put",     "word",   "texture",      "surface",      "",
        "managed", "missing", "cuInit", "0000:00:00.0", "0000:01:00.0", "cuMemAlloc"};

    return fuzz_one_in(z, 40)  ? NULL
           : fuzz_one_in(z, 2) ? names[fuzz_below(z, 5)]
                               : names[fuzz_below(z, sizeof(names) / sizeof(*names))];
}

const char *fuzz_path(struct fuzz *z)
{
    static const char *const paths[] = {"output", "image.ptx", "missing/file", "", "/"};

    return paths[fuzz_below(z, sizeof(paths) / sizeof(*paths))];
}

const char fuzz_ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .u32 word; .visible .const .align 4 .u32 constant = 3;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 managed;\n"
    ".global .texref texture; .global .surfref surface;\n"
    ".visible .entry count() { .reg .b32 r; atom.global.inc.u32 r, [word], 1000; ret; }\n"
    ".visible .entry put(.param .u64 p, .param .u32 v) {\n"
    ".reg .b32 r; .reg .b64 a; .reg .pred c; ld.param.u64 a, [p]; ld.param.u32 r, [v];\n"
    "setp.ne.u64 c, a, 0; @c st.global.u32 [a], r; ret; }\n";

void *fuzz_image(struct fuzz *z)
{
    return fuzz_one_in(z, 20) ? NULL : fuzz_one_in(z, 10) ? (void *)source : (void *)fuzz_ptx;
}

size_t fuzz_image_size(void)
{
    return sizeof(fuzz_ptx);
}

/* Options whose values are numbers, and one that writes to where its value points. */
void *fuzz_options(struct fuzz *z, unsigned i)
{
    static const unsigned some[] = {CU_JIT_MAX_REGISTERS, CU_JIT_THREADS_PER_BLOCK,
                                    CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_LOG_VERBOSE, 1000};
    unsigned *all = (unsigned *)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = some[fuzz_below(z, sizeof(some) / sizeof(*some))];
    return all;
}

/* All but the one whose value is a table of functions. */
void *fuzz_library_options(struct fuzz *z, unsigned i)
{
    unsigned *all = (unsigned *)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = fuzz_one_in(z, 4) ? 1000 : CU_LIBRARY_BINARY_IS_PRESERVED;
    return all;
}

void **fuzz_option_values(struct fuzz *z, unsigned i)
{
    void **all = (void **)z->scratch[i];

    for (unsigned k = 0; k < FUZZ_ELEMENTS; k++)
        all[k] = (void *)(uintptr_t)fuzz_below(z, 5);
    return all;
}

/* ---- functions of the program */

static _Atomic unsigned called;

void fuzz_host_fn(void *unused)
{
    called++;
}

void fuzz_stream_fn(CUstream stream, CUresult status, void *unused)
{
    called++;
}

size_t fuzz_block_fn(int block)
{
    return (size_t)block * 4;
}

void fuzz_async_fn(CUasyncNotificationInfo *info, void *unused, CUasyncCallbackHandle handle)
{
    called++;
}

void fuzz_log_fn(void *unused, CUlogLevel level, char *message, size_t length)
{
    called++;
}
