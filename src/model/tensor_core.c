/* See tensor_core.h. */
#include "model/tensor_core.h"

bool ir_core_rule_find(enum tcore_unit unit, enum ir_type a, enum ir_type b, bool scaled,
                       unsigned k, struct tcore_rule *out)
{
    const struct tcore_kind kind = {
        .unit = unit,
        .bits = ir_type_bits(a),
        .is_fp8 = !scaled && (a == IR_E4M3 || a == IR_E5M2) && (b == IR_E4M3 || b == IR_E5M2),
        .is_grouped = scaled && a == IR_E2M1 && b == IR_E2M1 && k >= 64};

    return ir_type_is_float(a) && a != IR_F64 && tcore_rule_find(&kind, out);
}

int ir_core_least(enum ir_type type)
{
    switch (type) {
    case IR_F16:
    case IR_E5M2:
        return -14;
    case IR_E4M3:
    case IR_UE4M3:
        return -6;
    case IR_E3M2:
        return -2;
    case IR_E2M3:
    case IR_E2M1:
        return 0;
    case IR_UE8M0:
        return -127;
    default:
        return -126;
    }
}
