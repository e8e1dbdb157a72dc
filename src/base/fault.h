/*
 * Named fault points: places that can be told to fail, so that tests reach what stands behind them.
 *
 * The user sets HEDDLE_FAULT=jit.fast,alloc:17 before the process starts; a program sets them with
 * hd_fault_set(). A point that is set fails every time it is passed; alloc:N (base/mem.h, debug
 * builds) fails one allocation. Passing a point that is not set costs one load, so points stand in
 * release builds too: how a slower form behaves can be seen anywhere.
 *
 * Threads: points may be set and passed at any time.
 */
#ifndef HD_BASE_FAULT_H
#define HD_BASE_FAULT_H

#include <stdatomic.h>

#include "base/compiler.h"

/* name, text in HEDDLE_FAULT, what fails */
/* clang-format off */
#define HD_FAULT_LIST(X)                                                                           \
    X(JIT_FAST, "jit.fast", "the fast form of a kernel")                                           \
    X(JIT_PLAIN, "jit.plain", "the plain form of a kernel: no optional transformations")           \
    X(JIT_SIMPLE, "jit.simple", "the simple form of a kernel: every value in memory")              \
    X(JIT_NEXT, "jit.next", "going on to the next form: a kernel without its first form is an error") \
    X(JIT_LLVM, "jit.llvm", "LLVM ends the fast form with a fatal error")                          \
    X(JIT_CRASH, "jit.crash", "a wild access inside the code generator ends the fast form")        \
    X(JIT_SINGLY, "jit.singly", "keeping to single warps where code for several of them is possible") \
    X(JIT_WHOLE, "jit.whole", "keeping to whole warps where code for halves of them is possible") \
    X(JIT_STACK, "jit.stack", "the fast form needs more of the host's stack than there is")        \
    X(JIT_HANG, "jit.hang", "the code generator never comes back with the fast form")              \
    X(JIT_BEST, "jit.best", "the best code of a kernel: every one gets what can be made quickly") \
    X(CPU_CACHES, "cpu.caches", "the host's caches: what may be stored past them is")              \
    X(REMOTE_LIMITS, "remote.limits", "a device in a process of its own: it refuses limits and sets of multiprocessors") \
    X(ROOFLINE_BUSY, "roofline.busy", "seeing that other programs had the CPUs while the host was measured")
/* clang-format on */

enum hd_fault_index {
#define X(name, text, doc) HD_FAULT_INDEX_##name,
    HD_FAULT_LIST(X)
#undef X
        HD_FAULT_COUNT
};

enum hd_fault {
#define X(name, text, doc) HD_FAULT_##name = 1u << HD_FAULT_INDEX_##name,
    HD_FAULT_LIST(X)
#undef X
};

extern _Atomic uint32_t hd_fault_points; /* those that are set */

/* Has this point been told to fail? */
static inline bool hd_fault(enum hd_fault point)
{
    return HD_UNLIKELY(atomic_load_explicit(&hd_fault_points, memory_order_relaxed) & point);
}

/* Sets or clears points. */
void hd_fault_set(uint32_t points, bool fail);
/* The point of a name in the list, 0 when there is none. */
enum hd_fault hd_fault_find(const char *text, size_t len);

/* ---- allocations */

/* Makes the n-th allocation of this process from now (1 = next) fail; later ones work; 0 = off. */
void hd_fault_set_alloc(uint64_t n);
/* Allocations since the last hd_fault_set_alloc(). */
uint64_t hd_fault_alloc_count(void);
/* For who makes them: counts one allocation; true when it is the one that has to fail. */
extern _Atomic uint64_t hd_fault_alloc_at;     /* number of the one that fails; 0: none */
extern _Atomic uint64_t hd_fault_alloc_number; /* of the last one, since that was set */
static inline bool hd_fault_alloc(void)
{
    uint64_t number =
        atomic_fetch_add_explicit(&hd_fault_alloc_number, 1, memory_order_relaxed) + 1;
    return HD_UNLIKELY(number == atomic_load_explicit(&hd_fault_alloc_at, memory_order_relaxed));
}

#endif
