/* Records what a device answers to single PTX instructions.
 *
 * A *row* is one PTX instruction (or a short fixed sequence) with up to four inputs and two
 * outputs, each in a 64-bit slot of
 * memory. A *set* names the inputs that the row is fed with. vectors.c turns every row into one
 * kernel, runs it through the
 * driver API and prints a header per row and a line per vector:
 *
 *     @add.rn.f32|w:ww                        name|widths of outputs:inputs (h 16, w 32, l 64 bits)
 *     3f800000,40000000|40400000              inputs|outputs, hexadecimal without leading zeros
 * # REFUSED fns.b32: reason               the device does not load the row; "# FAILED": it does
 * not run it
 *
 * Warp-wide rows print one line for 32 lanes: all lanes' first input, then all second ones;
 * outputs likewise.
 * Only the public driver API is used (found with dlopen), so the same program runs on a GPU and
 * on any other libcuda.so.1:
 * the recording of one is the expectation of the other.
 *
 * Everything is deterministic: special values in a fixed order, then a fixed pseudo-random
 * sequence per row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SIL_MAX_IN = 4,         /* input slots per vector */
    SIL_MAX_OUT = 2,        /* output slots per vector */
    SIL_MAX_VECTORS = 2048, /* per row */
    SIL_NAME_MAX = 96,
    SIL_BODY_MAX = 512,
};

enum sil_set {
    SIL_U16,
    SIL_U32,
    SIL_U64,
    SIL_SHIFT16, /* second (or third) operand is a shift count, also beyond the width */
    SIL_SHIFT32,
    SIL_SHIFT64,
    SIL_F16,
    SIL_BF16,
    SIL_F16X2,
    SIL_BF16X2,
    SIL_F32,
    SIL_F32_CVT, /* f32 with many values near integer and half-precision boundaries */
    SIL_F64,
    SIL_F64_CVT,
    SIL_WARP, /* groups of 32 vectors, one per lane; printed as one line */
};

/* One row. sig is "outputs:inputs", one letter per operand: h 16-bit, w 32-bit, l 64-bit register.
 * In the body, $d $e are the outputs and $a $b $c $f the inputs; %p %q are free predicates,
 * %t0..%t3 free 32-bit and
 * %u0..%u3 free 64-bit registers. $O is the address of the thread's output slots (global), $S
 * the same in shared memory. */
struct sil_row {
    char name[SIL_NAME_MAX];
    char body[SIL_BODY_MAX];
    char sig[8];
    enum sil_set set;
};

struct sil_rows {
    struct sil_row *row; /* owned */
    size_t n, cap;
};

/* Appends a row whose body is "name operands;". */
void sil_add(struct sil_rows *rows, enum sil_set set, const char *sig, const char *name);

/* Appends a row with its own body; the name only labels it. */
void sil_add_body(struct sil_rows *rows, enum sil_set set, const char *sig, const char *name,
                  const char *body);

/* Appends all rows (rows_int.c, rows_float.c, rows_cvt.c, rows_warp.c). */
void sil_rows_int(struct sil_rows *rows);
void sil_rows_float(struct sil_rows *rows);
void sil_rows_cvt(struct sil_rows *rows);
void sil_rows_warp(struct sil_rows *rows);

/* Number of inputs of a signature. */
unsigned sil_num_in(const char *sig);
unsigned sil_num_out(const char *sig);

/* Fills in[][] with the vectors of a row; returns their number (<= SIL_MAX_VECTORS). */
unsigned sil_inputs(const struct sil_row *row, uint64_t in[SIL_MAX_VECTORS][SIL_MAX_IN]);
