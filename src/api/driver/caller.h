/* What a thread is in of calls: caller_enter.c and caller.c. */
#ifndef HD_API_DRIVER_CALLER_H
#define HD_API_DRIVER_CALLER_H

#include "api/driver/describe.h"

struct heddle_caller {
    unsigned depth;    /* calls of the runtime that the thread is in */
    unsigned outer;    /* as many of them are around a callback: the next one is the program's */
    uint32_t notified; /* hd_error_count() when a message was last taken for a reason */
    int result;        /* drv_error()'s last, and hd_error_count() then */
    uint32_t result_count;
    int inner_result; /* what a driver call inside the runtime's failed with last; 0: none has */
    uint32_t inner_count; /* hd_error_count() of its reason; 0: it has none */
};

extern HD_THREAD_LOCAL struct heddle_caller drv_caller;

#endif
