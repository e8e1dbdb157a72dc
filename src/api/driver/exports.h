/* In front of the generated driver_entries.c: what its stubs return. */
#ifndef HD_API_DRIVER_EXPORTS_H
#define HD_API_DRIVER_EXPORTS_H

#include "api/driver/describe.h"
#include "api/driver/driver.h"
#include "core/calls.h"

#define API_RUN(symbol, expr)                                                                      \
    ({                                                                                             \
        struct core_caller *caller_ = core_call_enter();                                           \
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

#define API_MISSING(symbol)                                                                        \
    ({                                                                                             \
        static _Atomic bool logged_;                                                               \
        drv_missing(#symbol, &logged_);                                                            \
    })

#endif
