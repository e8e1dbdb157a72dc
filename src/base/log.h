/*
 * Log and debug flags.
 *
 * Debug flags are one table (spec/debug_flags.def); the user sets HEDDLE_DEBUG=ptx,ir,jit and
 * HEDDLE_DEBUG=help prints the table. Testing a flag is one load. Everything goes to stderr, or to
 * the file named by HEDDLE_LOG, each line with one write() so that threads do not interleave.
 * Environment variables that Heddle reads are one table too (spec/env.def): use hd_env().
 */
#ifndef HD_BASE_LOG_H
#define HD_BASE_LOG_H

#include "base/compiler.h"

/* name (lower case in HEDDLE_DEBUG), doc */
#define HD_DEBUG_FLAG_LIST(X)                                                                      \
    X(ERROR, "error", "every error when it is born, with its place")                               \
    X(API, "api", "driver and runtime calls with arguments and results")                           \
    X(LOAD, "load", "fat binaries, images and which one was chosen")                               \
    X(PTX, "ptx", "the PTX of every module that is loaded")                                        \
    X(IR, "ir", "IR after lowering")                                                               \
    X(OPT, "opt", "IR after every pass that made progress")                                        \
    X(SHAPE, "shape", "IR with the shape of every value, per launch class")                        \
    X(LLVM, "llvm", "LLVM IR before optimisation")                                                 \
    X(ASM, "asm", "host assembly of every kernel")                                                 \
    X(JIT, "jit", "what is compiled, cache hits, times")                                           \
    X(VALIDATE, "validate", "validate IR after every pass, verify LLVM modules")                   \
    X(LAUNCH, "launch", "every kernel launch: grid, block, class, worker split")                   \
    X(MEM, "mem", "device memory allocations and frees")                                           \
    X(CACHE, "cache", "on-disk code cache: hits, misses, writes")                                  \
    X(QUEUE, "queue", "packets as they are submitted and retired")                                 \
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

/* Sets flags from a comma list ("jit,ir"); unknown names are reported and ignored. "help" prints the table. */
void hd_debug_parse(const char *list);

/* name, doc; hd_env() asserts that the name is in this table, docs/envvars.md is made from it. */
/* clang-format off */
#define HD_ENV_LIST(X)                                                                             \
    X("HEDDLE_DEBUG", "comma list of debug flags; `help` prints them")                             \
    X("HEDDLE_LOG", "file that receives the log instead of stderr")                                \
    X("HEDDLE_CPU", "code path of the CPU device: avx512, avx2 or generic; default: best the host has") \
    X("HEDDLE_THREADS", "worker threads of the CPU device; default: the CPUs this process may use") \
    X("HEDDLE_CACHE", "directory of the code cache, or `off`; default: $XDG_CACHE_HOME/heddle")    \
    X("HEDDLE_CACHE_SIZE", "size cap of the code cache, e.g. 512M; default: 1G")                   \
    X("HEDDLE_MEMORY", "device memory size, e.g. 4G; default: half of the host's memory")          \
    X("HEDDLE_DEVICE", "device kind: cpu (default) or interp, the slow reference")                 \
    X("HEDDLE_MACHINE", "machine description the device identifies as")                            \
    X("HEDDLE_CLANG", "clang 19 that `heddle cc` runs; default: clang++-19 of the path")            \
    X("HEDDLE_INCLUDE", "directory of Heddle's CUDA headers, for `heddle cc`")                     \
    X("HEDDLE_LIBDIR", "directory of Heddle's libraries, for `heddle cc` and `heddle run`")        \
    X("HEDDLE_SKIP_PASS", "comma list of ir_opt_* passes to leave out")                            \
    X("HEDDLE_FAULT", "fault injection, e.g. alloc:17 fails the 17th allocation (debug builds)")
/* clang-format on */

/* getenv() for a variable of the table; NULL when unset or empty. */
const char *hd_env(const char *name);

#endif
