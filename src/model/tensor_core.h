/*
 * Sums as a GPU's tensor cores make them (tcore/tcore.h) for types of the IR: HEDDLE_MMA. Without
 * it sums are those of docs/decisions/0090. Any thread.
 */
#ifndef HD_MODEL_TENSOR_CORE_H
#define HD_MODEL_TENSOR_CORE_H

#include "ir/ir.h"
#include "tcore/tcore.h"

/* False: nobody asks for a GPU's bits, or not for such products (integers, f64). `scaled`: with
 * scales of blocks. */
bool ir_core_rule_find(enum tcore_unit unit, enum ir_type a, enum ir_type b, bool scaled,
                       unsigned k, struct tcore_rule *out) HD_MUST_CHECK;

/* Sums of such elements, which a device has to make as tcore_sum() does. */
static inline bool ir_core_makes(enum ir_type a)
{
    return ir_type_is_float(a) && a != IR_F64 && tcore_is_set();
}

/* The exponent of the least normal number. */
int ir_core_least(enum ir_type type);

#endif
