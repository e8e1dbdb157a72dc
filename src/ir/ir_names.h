/*
 * Private to src/ir: the spelling of every enumeration in the text form; printer and reader share
 * it. An empty string is a default that is not printed.
 */
#ifndef HD_IR_IR_NAMES_H
#define HD_IR_IR_NAMES_H

#include "ir/ir.h"

enum {
    IR_SPACE_COUNT_ = IR_SPACE_PARAM + 1,
    IR_RND_COUNT_ = IR_FULL + 1,
    IR_CMP_COUNT_ = IR_NAN + 1,
    IR_ATOM_COUNT_ = IR_ATOM_CAS + 1,
    IR_SEM_COUNT_ = IR_SEM_VOLATILE + 1,
    IR_SCOPE_COUNT_ = IR_SCOPE_SYS + 1,
    IR_CACHE_COUNT_ = IR_CACHE_NC + 1,
    IR_LINK_COUNT_ = IR_LINK_COMMON + 1,
};

extern const char *const ir_space_names[IR_SPACE_COUNT_];
extern const char *const ir_rnd_names[IR_RND_COUNT_];
extern const char *const ir_cmp_names[IR_CMP_COUNT_];
extern const char *const ir_atom_names[IR_ATOM_COUNT_];
extern const char *const ir_sem_names[IR_SEM_COUNT_];
extern const char *const ir_scope_names[IR_SCOPE_COUNT_];
extern const char *const ir_cache_names[IR_CACHE_COUNT_];
extern const char *const ir_linkage_names[IR_LINK_COUNT_];

/* Names for instr->imm where it selects a variant of the operation; 0 where it is a number. */
size_t ir_imm_names(enum ir_op op, const char *const **out_names);

/* Which groups of instr->mem an operation uses. */
static inline bool ir_op_has_space(enum ir_op op)
{
    return op == IR_OP_LD || op == IR_OP_ST || op == IR_OP_ATOM || op == IR_OP_CVTA ||
           op == IR_OP_CVTA_TO || op == IR_OP_ISSPACEP;
}

static inline bool ir_op_has_address(enum ir_op op)
{
    return op == IR_OP_LD || op == IR_OP_ST || op == IR_OP_ATOM;
}

#endif
