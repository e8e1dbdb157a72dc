/*
 * Private to src/ir: what the payloads of spec/ir_ext.def need.
 *
 *   print   as one or more operands, each after operand_next()
 *   read    at a `(`: makes the payload of the instruction
 *   same    is the content equal?
 *   check   the payload by itself; NULL or what is wrong with it
 */
#ifndef HD_IR_IR_EXT_H
#define HD_IR_IR_EXT_H

#include "ir/ir_read.h"

#define X(op, name, type)                                                                          \
    void ir_ext_print_##name(const type *ext, struct hd_buf *out);                                 \
    enum hd_status ir_ext_read_##name(struct ir_reader *r, struct ir_instr *instr) HD_MUST_CHECK;  \
    bool ir_ext_same_##name(const type *a, const type *b);                                         \
    const char *ir_ext_check_##name(const type *ext);
#include "ir_ext.def"
#undef X

#endif
