/*
 * In front of the generated runtime_entries.c: how an entry point is exported, what stubs return.
 *
 * A symbol has two version nodes, because one library stands for two: programs linked with a
 * libcudart.so.12 ask for name@libcudart.so.12. A function is entry_NAME, local to the library; the
 * exported names are its aliases:
 *
 *     RT_EXPORT_BOTH       both nodes
 *     RT_EXPORT_V12, V13   one node; the version script knows which
 *     RT_EXPORT_SPLIT_V12  the node of 12; the other one is RT_EXPORT_SPLIT_V13's
 *
 * The static library has no versions: it is a libcudart of 13.
 */
#ifndef HD_API_RUNTIME_EXPORTS_H
#define HD_API_RUNTIME_EXPORTS_H

#include "api/driver/describe.h"
#include "api/runtime/runtime.h"

#define RT_ALIAS(func, alias)                                                                      \
    __asm__(".globl " #alias "\n.type " #alias ", %function\n.set " #alias ", " #func);
#ifdef RT_STATIC
#define RT_EXPORT_BOTH(func, name) RT_ALIAS(func, name)
#define RT_EXPORT_V13(func, name)  RT_ALIAS(func, name)
#define RT_EXPORT_V12(func, name)
#define RT_EXPORT_SPLIT_V13(func, name) RT_ALIAS(func, name)
#define RT_EXPORT_SPLIT_V12(func, name)
#else
#define RT_VERSION(alias, name, version) __asm__(".symver " #alias ", " #name version);
#define RT_EXPORT_V13(func, name)        RT_ALIAS(func, name)
#define RT_EXPORT_V12(func, name)        RT_ALIAS(func, name)
#define RT_EXPORT_SPLIT_V13(func, name)                                                            \
    RT_ALIAS(func, rt13_##name) RT_VERSION(rt13_##name, name, "@@libcudart.so.13")
#define RT_EXPORT_SPLIT_V12(func, name)                                                            \
    RT_ALIAS(func, rt12_##name##_) RT_VERSION(rt12_##name##_, name, "@libcudart.so.12")
#define RT_EXPORT_BOTH(func, name)                                                                 \
    RT_EXPORT_SPLIT_V13(func, name)                                                                \
    RT_EXPORT_SPLIT_V12(func, name)
#endif

#define API_STACK_IS_SHORT() heddle_stack_is_short()
#define API_APART(type, name, params, ...)                                                         \
    API_APART_ON(heddle_stack_call, type, name, params, __VA_ARGS__)

/* `apart` is the exported function's whole result when its thread has too little stack. */
#define API_RUN(symbol, expr, apart)                                                               \
    ({                                                                                             \
        struct heddle_caller *caller_ = heddle_call_enter();                                       \
        if (HD_UNLIKELY(!caller_))                                                                 \
            return apart;                                                                          \
        cudaError_t run_result_ = (expr);                                                          \
        if (HD_UNLIKELY(run_result_))                                                              \
            heddle_runtime_failed(#symbol, (int)run_result_, rt_cudaGetErrorName(run_result_),     \
                                  rt_cudaGetErrorString(run_result_));                             \
        heddle_call_leave(caller_);                                                                \
        run_result_;                                                                               \
    })

#define API_MISSING(symbol)                                                                        \
    ({                                                                                             \
        static _Atomic bool logged_;                                                               \
        rt_missing(#symbol, &logged_);                                                             \
    })

#endif
