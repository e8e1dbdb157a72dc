/*
 * What the generated tables of entry points (gen_api.py source) are written with, in both APIs.
 */
#ifndef HD_API_DRIVER_DESCRIBE_H
#define HD_API_DRIVER_DESCRIBE_H

#include "api/driver/cuda_abi.h"
#include "base/compiler.h"
#include "heddle/tap.h"

/* enum heddle_arg_kind of a type. Enumerations are integers here, as they are for the compiler. */
#define ARG_KIND(type)                                                                             \
    _Generic(*(type *)0,                                                                           \
        const char *: HEDDLE_ARG_STRING,                                                           \
        float: HEDDLE_ARG_FLOAT,                                                                   \
        double: HEDDLE_ARG_FLOAT,                                                                  \
        signed char: HEDDLE_ARG_INT,                                                               \
        short: HEDDLE_ARG_INT,                                                                     \
        int: HEDDLE_ARG_INT,                                                                       \
        long: HEDDLE_ARG_INT,                                                                      \
        long long: HEDDLE_ARG_INT,                                                                 \
        char: HEDDLE_ARG_UINT,                                                                     \
        unsigned char: HEDDLE_ARG_UINT,                                                            \
        unsigned short: HEDDLE_ARG_UINT,                                                           \
        unsigned: HEDDLE_ARG_UINT,                                                                 \
        unsigned long: HEDDLE_ARG_UINT,                                                            \
        unsigned long long: HEDDLE_ARG_UINT,                                                       \
        default: __builtin_classify_type(*(type *)0) == 5 ? HEDDLE_ARG_POINTER                     \
                                                          : HEDDLE_ARG_STRUCT)

#define ARG_ROW(params, type_, member, direction_, opt, target_B_, target_kind_)                   \
    {.name = #member,                                                                              \
     .type = #type_,                                                                               \
     .offset_B = offsetof(params, member),                                                         \
     .size_B = sizeof(((params *)0)->member),                                                      \
     .target_B = target_B_,                                                                        \
     .kind = ARG_KIND(type_),                                                                      \
     .target_kind = target_kind_,                                                                  \
     .direction = HEDDLE_ARG_##direction_,                                                         \
     .may_be_null = opt}
#define ARG(params, type, member, direction, opt)                                                  \
    ARG_ROW(params, type, member, direction, opt, 0, 0)
/* `target` is what the argument points to. */
#define ARG_TO(params, type, member, direction, opt, target)                                       \
    ARG_ROW(params, type, member, direction, opt, sizeof(target), ARG_KIND(target))

/*
 * hd_stack_is_short() and hd_stack_call() (base/stack.h) with the driver's stacks, for the runtime.
 * They and what enters calls are bound when the runtime is loaded: at the first call that takes
 * 3 KiB of stack.
 */
#if defined(__clang__)
#define DESCRIBE_BOUND_EARLY
#else
#define DESCRIBE_BOUND_EARLY __attribute__((noplt))
#endif
bool heddle_stack_is_short(void) DESCRIBE_BOUND_EARLY;
void heddle_stack_call(void (*fn)(const void *args, void *result), const void *args,
                       void *result) DESCRIBE_BOUND_EARLY;

/*
 * What an exported function does with the result of its body (caller.c). A call that fails is an
 * entry of the error log, once, by the outermost call: what a driver call inside a call of the
 * runtime fails with is that one's reason. So calls of the runtime enter and leave; those of the
 * driver, which call no others, cost nothing unless they fail.
 */
struct heddle_caller;
/* NULL: the thread's stack is too short for calls (base/stack.h). */
struct heddle_caller *heddle_call_enter(void) DESCRIBE_BOUND_EARLY;
void heddle_call_leave(struct heddle_caller *caller);
/* Before it leaves. The result's name and text. */
void heddle_driver_failed(const char *symbol, int result, const char *name, const char *text);
void heddle_runtime_failed(const char *symbol, int result, const char *name, const char *text);

/*
 * The primary context behind that of a green context, whose handle is odd; others as they are. What
 * the runtime keeps by contexts is the same for both.
 */
CUcontext heddle_context_base_slow(CUcontext ctx);
static inline CUcontext heddle_context_base(CUcontext ctx)
{
    return HD_UNLIKELY((uintptr_t)ctx & 1) ? heddle_context_base_slow(ctx) : ctx;
}

/* An exported function whose caller has too little stack for it calls itself again on another. */
#define API_APART_ON(stack_call, type, name, params, ...)                                          \
    ({                                                                                             \
        type apart_result_;                                                                        \
        stack_call(apart_##name, &(const struct params##_params){__VA_ARGS__}, &apart_result_);    \
        apart_result_;                                                                             \
    })
#define API_APART_VOID(type, name, params, ...)                                                    \
    heddle_stack_call(apart_##name, &(const struct params##_params){__VA_ARGS__}, NULL)

/* The rest of an exported function somebody listens to. */
#define TELL(kind, entry, args, expr)                                                              \
    do {                                                                                           \
        struct heddle_call call_;                                                                  \
        heddle_tap_call_begin(&call_, HEDDLE_EVENT_##kind, (entry), (args));                       \
        __auto_type result_ = (expr);                                                              \
        heddle_tap_call_end(&call_, result_);                                                      \
        return result_;                                                                            \
    } while (0)

/* Stream 0 of a _ptsz twin. */
#define PER_THREAD_STREAM(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

#endif
