/*
 * The debugger's half in the process that runs kernels: a server of GDB's remote serial protocol.
 *
 *     dbg_start("unix:PATH")            before main(): waits for the debugger's first `continue`
 *     dbg_program_create(units)         a program is loaded: the debugger gets its symbols and has
 *                                       a chance to set breakpoints before this returns
 *     dbg_wants(program)                is there anything in it: then launches take the debuggable
 *                                       form (compile.h: `debug`), which src/interp runs
 *
 * Kernels that the debugger has nothing in run in compiled code. In those that it has, each CUDA
 * thread is a thread of GDB's, its program counter an instruction of the PTX text, its registers
 * PTX's. GDB is told that they are an x86-64 program: an ELF file per unit of PTX is made, with the
 * DWARF of the PTX (elf.c). docs/decisions/0122-debugger.md says why.
 *
 * Threads: all functions may be called by any thread. While the debugger has the program stopped,
 * threads that run debuggable kernels or load programs wait; others go on.
 *
 * Source: GDB manual, appendix E (Remote Protocol); PTX ISA, 11.5 (debugging directives).
 */
#ifndef HD_DBG_DBG_H
#define HD_DBG_DBG_H

#include "base/status.h"
#include "base/str.h"

/* A text of PTX. */
struct dbg_text {
    const char *name;
    const char *ptx;
    size_t len;
};

struct dbg_program;
struct ir_module;

/* The debugger lets the program go on: dbg_wanted() of a program has changed. Locks are held: it
 * calls nothing of this header but that. */
typedef void dbg_notified_fn(const struct dbg_program *program);
/* What runs, in lines of text: asked when Ctrl-C meets no kernel that can be stopped. No lock is
 * held. */
typedef void dbg_running_fn(struct hd_buf *out);

/*
 * `where`: `unix:PATH`, `:PORT` or `HOST:PORT`. Returns when the debugger lets the program go on.
 * HD_BAD_ARG, HD_IO, HD_NO_MEMORY.
 */
enum hd_status dbg_start(const char *where, dbg_notified_fn *notified, dbg_running_fn *running)
    HD_MUST_CHECK;
/* Did dbg_start() succeed in this process? */
bool dbg_is_active(void);

/* The texts are copied. NULL: the debugger cannot have it; it was told why. */
struct dbg_program *dbg_program_create(const struct dbg_text *texts, size_t count);
void dbg_program_destroy(struct dbg_program *program); /* NULL is fine */
/* A module of its debuggable code, which outlives the program here; again and again does no harm.
 * False: no memory. */
bool dbg_program_code(struct dbg_program *program, const struct ir_module *code) HD_MUST_CHECK;
/* Where a variable of the program is, and whether it is managed, which its PTX need not say; of
 * several contexts the last one counts. */
void dbg_program_global(struct dbg_program *program, const char *name, uint64_t va,
                        bool is_managed);
/* Shall launches of its kernels be debuggable? */
bool dbg_wants(const struct dbg_program *program);
/* The same without a wait: as it was when the debugger last let the program go on. */
bool dbg_wanted(const struct dbg_program *program);
/*
 * A core dump (dump.h), for one debugger, which finds the threads as they were: this process runs
 * nothing. Returns when the debugger has gone. HD_IO; HD_BAD_IMAGE: it is no core dump; HD_CORRUPT:
 * it is damaged or cut off; HD_BAD_VERSION, HD_BAD_PTX, HD_NO_MEMORY.
 */
enum hd_status dbg_core_serve(const char *path, const char *where) HD_MUST_CHECK;
/* Does it look like one? The same errors. */
enum hd_status dbg_core_check(const char *path) HD_MUST_CHECK;
/* A line for the debugger's user. */
void dbg_say(const char *fmt, ...) HD_PRINTF(1, 2);

#endif
