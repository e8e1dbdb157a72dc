/*
 * Log and debug flags.
 *
 * Debug flags are one table, below; the user sets HEDDLE_DEBUG=ptx,ir,jit and HEDDLE_DEBUG=help
 * prints the table. Testing a flag is one load. Everything goes to stderr, or to the file named by
 * HEDDLE_LOG, each line with one write() so that threads do not interleave.
 *
 * Several libraries of one process hold a copy of this: each reads the variables, and libcuda
 * alone speaks about them (hd_env_check() in base/env.h).
 */
#ifndef HD_BASE_LOG_H
#define HD_BASE_LOG_H

#include "base/compiler.h"
#include "base/env.h"

/* name (lower case in HEDDLE_DEBUG), doc */
#define HD_DEBUG_FLAG_LIST(X)                                                                      \
    X(ERROR, "error", "every error when it is born, with its place")                               \
    X(API, "api", "driver and runtime calls with arguments and results")                           \
    X(LOAD, "load", "images and which one was chosen; device attributes 0 for lack of a feature")  \
    X(PTX, "ptx", "the PTX of every module that is loaded")                                        \
    X(IR, "ir", "IR after lowering")                                                               \
    X(OPT, "opt", "IR after every pass that made progress")                                        \
    X(SHAPE, "shape", "IR with the shape of every value, per launch class")                        \
    X(LLVM, "llvm", "LLVM IR before optimisation")                                                 \
    X(POST, "post", "LLVM IR after each rewriter behind LLVM's optimiser that changed it")         \
    X(ASM, "asm", "host assembly of every kernel")                                                 \
    X(ISA, "isa", "the sim device's code of every kernel")                                         \
    X(CODE, "code", "the sim device's code as JSON, a line for each function, for scripts")        \
    X(COUNTS, "counts",                                                                            \
      "the sim device: what each kernel's code costs; interp and sim: instructions and time of "   \
      "each launch")                                                                               \
    X(PERF, "perf", "writes jit-PID.dump, from which `perf inject --jit` names kernels")           \
    X(JIT, "jit", "what is compiled, cache hits, times")                                           \
    X(VALIDATE, "validate", "validate IR after every pass, verify LLVM modules")                   \
    X(LAUNCH, "launch", "every kernel launch: grid, block, worker split; how long it took")        \
    X(MEM, "mem", "device memory allocations and frees")                                           \
    X(CACHE, "cache", "on-disk code cache: hits, misses, writes")                                  \
    X(QUEUE, "queue", "packets as they are submitted and retired")                                 \
    X(WAITS, "waits",                                                                              \
      "Ctrl-C while kernels run tells who waits where, also when stderr is no terminal")           \
    X(SYNC, "sync", "run every launch synchronously on the calling thread's behalf")

enum hd_debug_flag_index {
#define X(name, text, doc) HD_DEBUG_INDEX_##name,
    HD_DEBUG_FLAG_LIST(X)
#undef X
        HD_DEBUG_FLAG_COUNT
};

enum hd_debug_flag {
#define X(name, text, doc) HD_DEBUG_##name = 1u << HD_DEBUG_INDEX_##name,
    HD_DEBUG_FLAG_LIST(X)
#undef X
};

/* Parsed from HEDDLE_DEBUG before main(). */
extern uint32_t hd_debug_flags;

static inline bool hd_debug(enum hd_debug_flag flag)
{
    return HD_UNLIKELY(hd_debug_flags & flag);
}

/* One line to the log ("heddle: ..."), whatever the flags. */
void hd_log(const char *fmt, ...) HD_PRINTF(1, 2);
/* One line when the flag is set ("heddle[jit]: ..."). */
void hd_log_debug(enum hd_debug_flag flag, const char *fmt, ...) HD_PRINTF(2, 3);
/* Multi-line dump with a heading, when the flag is set. */
void hd_log_dump(enum hd_debug_flag flag, const char *heading, const char *text);

/* Opens a file to append to; a FIFO that nobody reads is an error (ENXIO), and never waited for. -1
 * and errno. */
int hd_log_open(const char *path);

/* Sets flags from a comma list ("jit,ir"); other words are passed over. */
void hd_debug_parse(const char *list);
/* Says which words of HEDDLE_DEBUG are no flags, and prints the table when one is `help`. */
void hd_debug_check(void);

#endif
