/*
 * Threads with little stack. Parsing, lowering and kernels that run on the calling thread take
 * megabytes of stack, and a program's thread may have PTHREAD_STACK_MIN of it, may have used most
 * of what it had, or may be on a stack of its own making (coroutines, signal stacks). So entry
 * points ask first, and do their work on a stack of ours where there is too little:
 *
 *     if (HD_UNLIKELY(hd_stack_is_short()))
 *         hd_stack_call(again, &args, &result);
 *
 * It stays the same thread: thread-local data, locks and signal masks are as before.
 *
 * Threads: a stack belongs to the thread that asked for it first and goes with that thread.
 */
#ifndef HD_BASE_STACK_H
#define HD_BASE_STACK_H

#include "base/compiler.h"

#define HD_STACK_B ((size_t)8 << 20) /* of threads of ours, and of the stacks made here */

/* Stack pointers p with p - low < size have enough below them, as far as the thread knows. */
struct hd_stack_enough {
    uintptr_t low, size;
};
extern HD_THREAD_LOCAL struct hd_stack_enough hd_stack_enough;

/* Less than HD_STACK_B / 8 * 7 is left to the calling function, or it is not known how much. */
bool hd_stack_is_short(void);

/* False: hd_stack_is_short() has to say. For files with the TLS dialect of src/base/meson.build. */
static inline bool hd_stack_is_surely_enough(void)
{
    return (uintptr_t)__builtin_frame_address(0) - hd_stack_enough.low < hd_stack_enough.size;
}
/*
 * Calls fn(args, result) on the thread's stack of ours, where hd_stack_is_short() is false. When
 * there is no memory for one, and inside of a call that left that stack by a coroutine's switch, it
 * runs where the caller is, with hd_stack_is_short() false as well.
 */
void hd_stack_call(void (*fn)(const void *args, void *result), const void *args, void *result);
/* fn(args, result) where there is enough stack for it. */
void hd_stack_ensure(void (*fn)(const void *args, void *result), const void *args, void *result);
/*
 * Defines `type name(const args_type *a)`, which computes `expr`, where there is enough stack:
 *
 *     HD_STACK_ENSURED(int, sum_anywhere, struct pair, sum(a->x, a->y))
 */
#define HD_STACK_ENSURED(type, name, args_type, expr)                                              \
    static void name##_there(const void *args_, void *result_)                                     \
    {                                                                                              \
        const args_type *a = args_;                                                                \
        *(type *)result_ = (expr);                                                                 \
    }                                                                                              \
    static type name(const args_type *a)                                                           \
    {                                                                                              \
        type result_;                                                                              \
        hd_stack_ensure(name##_there, a, &result_);                                                \
        return result_;                                                                            \
    }

/*
 * Large data of a thread, for what few threads need: thread-local variables themselves take stack
 * from every thread of the program, because the C library puts them there. `slot` is thread-local;
 * size_B bytes, zeroed, are its from the first call on until the thread ends, when it becomes NULL.
 * NULL: no memory. It does not come from malloc().
 */
void *hd_thread_block(void **slot, size_t size_B) HD_MUST_CHECK;

#endif
