/* In front of the generated driver_entries.c: what its stubs return. */
#ifndef HD_API_DRIVER_EXPORTS_H
#define HD_API_DRIVER_EXPORTS_H

#include "api/driver/describe.h"
#include "api/driver/driver.h"
#include "base/stack.h"
#include "core/calls.h"

#define API_STACK_IS_SHORT() hd_stack_is_short()
#define API_APART(type, name, params, ...)                                                         \
    API_APART_ON(hd_stack_call, type, name, params, __VA_ARGS__)

/* `apart` is the exported function's whole result when its thread has too little stack. */
#define API_RUN(symbol, expr, apart)                                                               \
    ({                                                                                             \
        struct core_caller *caller_ = core_call_enter();                                           \
        if (HD_UNLIKELY(!caller_))                                                                 \
            return apart;                                                                          \
        CUresult entered_result_ = API_RUN_ANYTIME(symbol, expr);                                  \
        core_call_leave(caller_);                                                                  \
        entered_result_;                                                                           \
    })

/* The same for what has to work while others wait (core/calls.h). */
#define API_RUN_ANYTIME(symbol, expr)                                                              \
    ({                                                                                             \
        CUresult run_result_ = (expr);                                                             \
        if (HD_UNLIKELY(run_result_))                                                              \
            heddle_driver_failed(#symbol, (int)run_result_, drv_result_name(run_result_),          \
                                 drv_result_text(run_result_));                                    \
        run_result_;                                                                               \
    })

/* Around what is UNSAFE in spec/api/capture.def. */
#define API_UNSAFE(expr)                                                                           \
    ({                                                                                             \
        enum hd_status unsafe_status_ = core_capture_any() ? core_capture_refuse_unsafe() : HD_OK; \
        unsafe_status_ == HD_OK ? (expr) : drv_result(unsafe_status_);                             \
    })

#define API_MISSING(symbol)                                                                        \
    ({                                                                                             \
        static _Atomic bool logged_;                                                               \
        drv_missing(#symbol, &logged_);                                                            \
    })

#endif
