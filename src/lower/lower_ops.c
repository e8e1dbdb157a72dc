/* The table of opcodes: which function lowers each, and what a guard makes of it. */
#include "lower/lower_priv.h"

#define IR_OP_NONE LOWER_NO_OP
/* The column "lowering" is behind `.run =`. */
#undef lower_do_IR
#define lower_do_IR(int_, float_)                                                                  \
    lower_do_simple, .int_op = IR_OP_##int_, .float_op = IR_OP_##float_
#define lower_do_NO NULL

const struct lower_op lower_ops[PTX_OP_COUNT] = {
#define PTX_OP(id, name, min, max, sig, classes, own, ptx_ver, sm, doc, lowering, guard_)          \
    [PTX_OP_##id] = {.guard = LOWER_GUARD_##guard_, .run = lower_do_##lowering},
#include "ptx_ops.def"
#undef PTX_OP
};
