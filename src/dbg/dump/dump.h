/*
 * Core dumps of kernels: a file of what the blocks that run are at, when one of them fails.
 *
 *     dump_start(&host)                  once; nothing is dumped before
 *     dump_program_create(texts, owner)  a module whose kernels run in their debuggable form
 *                                        (compile.h: `debug`), which the interpreter executes:
 *                                        only there each thread has a place and registers
 *     ... a kernel fails: host.begin(), the file, host.end()
 *     dump_now()                         the same without a failure
 *
 * It takes the debugger's place at the interpreter: a process has either. Blocks run side by side;
 * while a file is written they stand between two turns, and those that failed at the same moment
 * where they are. One that does not come to the end of its turn within a second is not in the file.
 * docs/decisions/0125-core-dumps.md says why; dbg.h opens such a file again.
 *
 * Threads: any. The host's functions are called on the thread that fails, with no lock of ours but
 * the one that keeps dumps apart.
 */
#ifndef HD_DBG_DUMP_DUMP_H
#define HD_DBG_DUMP_DUMP_H

#include "base/status.h"
#include "base/vec.h"
#include "dbg/dbg.h"

/* What is left out: CUcoredumpGenerationFlags' bits. */
enum {
    DUMP_SKIP_GLOBAL = 1 << 1,
    DUMP_SKIP_SHARED = 1 << 2,
    DUMP_SKIP_LOCAL = 1 << 3,
    DUMP_SKIP_ABORT = 1 << 4, /* the host's affair */
    DUMP_SKIP_CONST = 1 << 5,
};

struct dump_range {
    uint64_t va, size_B;
};
struct dump_ranges {
    HD_VEC(struct dump_range) list;
};

struct dump_wish {
    char path[1100];
    unsigned flags;
};

struct dump_host {
    /* A kernel of `owner` has failed (NULL: dump_now()). True: it is to be dumped, like this. */
    bool (*begin)(const void *owner, struct dump_wish *out_wish);
    /* Appends the memory of devices; false: no memory for that. */
    bool (*memory)(struct dump_ranges *out);
    /* It is there, or why not in hd_error_message(). Need not return. */
    void (*end)(const void *owner, const struct dump_wish *wish, enum hd_status status);
};

/* Of the process, for its life. */
void dump_start(const struct dump_host *host);

struct dump_program;
struct dump_variable {
    const char *name;
    uint64_t va, size_B;
    bool is_constant, is_managed;
};

/* Texts and owner stay the caller's and outlive the program; names are copied. NULL: no memory. */
struct dump_program *dump_program_create(const struct dbg_text *texts, size_t count,
                                         const void *owner);
void dump_program_destroy(struct dump_program *program); /* NULL is fine */
bool dump_program_variable(struct dump_program *program, const struct dump_variable *variable)
    HD_MUST_CHECK;
/* A module of its debuggable code, which outlives the program here. */
bool dump_program_code(struct dump_program *program, const struct ir_module *code) HD_MUST_CHECK;

void dump_now(void);

#endif
