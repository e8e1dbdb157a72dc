/*
 * Reference semantics: one pure instruction on known bits.
 *
 * The table spec/ir_semantics.def says what every pure operation computes; this evaluates it. The
 * reference interpreter runs on it, the constant folder folds with it, and the JIT's lowering of
 * each operation is tested against it. It is slow and obvious on purpose.
 *
 * Independent of the caller's floating-point environment (rounding mode, flush-to-zero): arithmetic
 * is done in integers (base/float/softfp.h), and the approximations run in the default environment,
 * which is restored. Any thread.
 */
#ifndef HD_MODEL_EVAL_H
#define HD_MODEL_EVAL_H

#include "ir/ir.h"

/* The bits of a value, zero-extended: a pred is 0 or 1. */
struct ir_bits {
    uint64_t lo;
    uint64_t hi; /* b128 only */
};

/*
 * The result of a PURE instruction from its sources' bits (src[i] belongs to instr->src[i]; the
 * values themselves are not looked at, so a bare instr without operands and block will do). False
 * for operations that are not a function of their sources' bits: PHI, VARADDR, FUNCADDR, CVTA,
 * CVTA_TO, ISSPACEP, and everything that is not PURE.
 */
bool ir_eval(const struct ir_instr *instr, const struct ir_bits *src, struct ir_bits *out);

/*
 * What an atomic leaves in memory. `old` and `operand` are elements of `type`; for CAS `swap` is
 * the new value and old is compared with operand. Packed types are done per half.
 */
uint64_t ir_eval_atom(enum ir_atom atom, enum ir_type type, bool noftz, uint64_t old,
                      uint64_t operand, uint64_t swap);
/* That atomic on memory, one of 16, 32 or 64 bits; what it found there. Sequentially consistent. */
uint64_t ir_atom_at(enum ir_atom atom, enum ir_type type, bool noftz, void *p, uint64_t operand,
                    uint64_t swap);
/* REDUX over n >= 1 values of type u32, s32 or b32. */
uint32_t ir_eval_redux(enum ir_redux redux, enum ir_type type, uint32_t a, uint32_t b);

/*
 * The product of a warp. `src` and `dst` are registers of 32 lanes each, sources in the order of
 * the instruction's, all of ir_mma_register_bits(). Lanes that are not there have zeros.
 */
void ir_eval_mma(const struct ir_mma *mma, const void *src, void *dst);
/* Registers of 32 lanes from rows and back: 8 rows per register. */
void ir_eval_ldmatrix(enum ir_tile tile, unsigned nregs, const uint8_t (*rows)[16],
                      uint32_t (*regs)[32]);
void ir_eval_stmatrix(enum ir_tile tile, unsigned nregs, const uint32_t (*regs)[32],
                      uint8_t (*rows)[16]);
void ir_eval_movmatrix(const uint32_t src[32], uint32_t dst[32]);

/* Bits of the result, as the table's result column says; 0 when it has none or is per result. */
unsigned ir_eval_result_bits(const struct ir_instr *instr);

#endif
