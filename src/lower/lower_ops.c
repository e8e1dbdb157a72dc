/* The tables of opcodes and modifiers: which function lowers each, what a guard makes of it. */
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

/* The column "lowering" is behind LOWER_MOD_. */
#define LOWER_MOD_NO       {.is_lowered = false}
#define LOWER_MOD_YES      {.is_lowered = true}
#define LOWER_MOD_IR(name) {.is_lowered = true, .ir = IR_MOD_##name}

const struct lower_mod lower_mods[PTX_MOD_COUNT] = {
#define PTX_MOD(id, text, class_, lowering) [PTX_MOD_##id] = LOWER_MOD_##lowering,
#include "ptx_mods.def"
#undef PTX_MOD
    [PTX_MOD_TYPE] = LOWER_MOD_YES,
    [PTX_MOD_SPACE] = LOWER_MOD_YES,
};
