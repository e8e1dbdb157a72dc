/* In front of the generated driver_entries.c: what its stubs return. */
#ifndef HD_API_DRIVER_EXPORTS_H
#define HD_API_DRIVER_EXPORTS_H

#include "api/driver/describe.h"
#include "api/driver/driver.h"

#define API_FAILED(caller, symbol, result)                                                         \
    heddle_call_failed(caller, "CUDA", symbol, (int)result, drv_result_name(result),               \
                       drv_result_text(result))

#define API_MISSING(symbol)                                                                        \
    ({                                                                                             \
        static _Atomic bool logged_;                                                               \
        drv_missing(#symbol, &logged_);                                                            \
    })

#endif
