/* Exceptions of kernels, as cuda-gdb numbers them. Source: CUDA-GDB, chapter "Errors Codes". */
#ifndef HD_DBG_EXCEPTIONS_H
#define HD_DBG_EXCEPTIONS_H

#include "base/status.h"

/* name of the exception, its CUDA number, the signal that GDB is told, status */
#define DBG_EXCEPTION_LIST(X)                                                                      \
    X("Warp Illegal Address", 14, 11, HD_ILLEGAL_ADDRESS)                                          \
    X("Warp Misaligned Address", 6, 10, HD_MISALIGNED)                                             \
    X("Warp Assert", 12, 5, HD_ASSERT)                                                             \
    X("Warp Illegal Instruction", 4, 4, HD_ILLEGAL_INSTRUCTION)                                    \
    X("Lane User Stack Overflow", 2, 11, HD_STACK_OVERFLOW)

struct dbg_exception {
    const char *name;
    unsigned number, signal;
};
/* NULL: the status is none. */
const struct dbg_exception *dbg_exception_of(enum hd_status status);

#endif
