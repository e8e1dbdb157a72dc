/*
 * Arguments of the kernel library's routines, packed in the order that the routine has them: what
 * an entry point that is made from a table does with its own.
 */
#ifndef HD_API_LIB_BASE_LIB_CALL_H
#define HD_API_LIB_BASE_LIB_CALL_H

/* Elements of two bytes, which C has no type for. */
#include <stdbool.h>
#include <stdint.h>
#ifndef HEDDLE_HALF_IS_RAW
#define __half             uint16_t
#define HEDDLE_HALF_IS_RAW 1
#endif
#include <cublas_api.h>

#include "klib/klib.h"

/* ---- letters of BLAS and LAPACK; 0: no such one */

static inline char lib_op(cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : op == CUBLAS_OP_C ? 'C' : 0;
}
/* Of complex numbers there is no conjugate transpose here. */
static inline char lib_op_t(cublasOperation_t op, bool is_complex)
{
    return op == CUBLAS_OP_N                                         ? 'N'
           : op == CUBLAS_OP_T || (op == CUBLAS_OP_C && !is_complex) ? 'T'
                                                                     : 0;
}
static inline char lib_op_c(cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_C ? 'C' : 0;
}
static inline char lib_side(cublasSideMode_t side)
{
    return side == CUBLAS_SIDE_LEFT ? 'L' : side == CUBLAS_SIDE_RIGHT ? 'R' : 0;
}
static inline char lib_fill(cublasFillMode_t fill)
{
    return fill == CUBLAS_FILL_MODE_LOWER ? 'L' : fill == CUBLAS_FILL_MODE_UPPER ? 'U' : 0;
}
static inline char lib_diag(cublasDiagType_t diag)
{
    return diag == CUBLAS_DIAG_NON_UNIT ? 'N' : diag == CUBLAS_DIAG_UNIT ? 'U' : 0;
}

/* ---- arguments */

void lib_call_int(struct klib_call *call, int64_t value);
void lib_call_real(struct klib_call *call, double value);
void lib_call_char(struct klib_call *call, char letter);
void lib_call_pointer(struct klib_call *call, const void *address);
/* An array with an address for each problem of a batch; or `step` bytes from one to the next. */
void lib_call_listed(struct klib_call *call, const void *addresses);
void lib_call_stepped(struct klib_call *call, const void *address, int64_t step_B);
/* What the host has, copied. At most 40 bytes, and one of more than 16. */
void lib_call_value(struct klib_call *call, const void *value, size_t size_B);

#endif
