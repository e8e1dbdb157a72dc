/*
 * Private to src/ir: the spelling of every enumeration in the text form; printer and reader share
 * it. An empty string is a default that is not printed.
 */
#ifndef HD_IR_IR_NAMES_H
#define HD_IR_IR_NAMES_H

#include "ir/ir.h"

/* How many there are: no enumerator, which every switch would have to name. */
#define IR_ONE(...)     +1u
#define IR_SPACE_COUNT_ (0u IR_SPACE_LIST(IR_ONE))
#define IR_RND_COUNT_   (0u IR_RND_LIST(IR_ONE))
#define IR_CMP_COUNT_   (0u IR_CMP_LIST(IR_ONE))
#define IR_ATOM_COUNT_  (0u IR_ATOM_LIST(IR_ONE))
#define IR_SEM_COUNT_   (0u IR_SEM_LIST(IR_ONE))
#define IR_SCOPE_COUNT_ (0u IR_SCOPE_LIST(IR_ONE))
#define IR_CACHE_COUNT_ (0u IR_CACHE_LIST(IR_ONE))
#define IR_MMA_COUNT_   (0u IR_MMA_LIST(IR_ONE))
#define IR_LINK_COUNT_  (0u IR_LINK_LIST(IR_ONE))

extern const char *const ir_space_names[IR_SPACE_COUNT_];
extern const char *const ir_rnd_names[IR_RND_COUNT_];
extern const char *const ir_cmp_names[IR_CMP_COUNT_];
extern const char *const ir_atom_names[IR_ATOM_COUNT_];
extern const char *const ir_sem_names[IR_SEM_COUNT_];
extern const char *const ir_scope_names[IR_SCOPE_COUNT_];
extern const char *const ir_cache_names[IR_CACHE_COUNT_];
extern const char *const ir_mma_names[IR_MMA_COUNT_];
extern const char *const ir_mod_names[IR_MOD_COUNT];
extern const char *const ir_linkage_names[IR_LINK_COUNT_];

/* Names for instr->imm where it selects a variant of the operation; 0 where it is a number. */
size_t ir_imm_names(enum ir_op op, const char *const **out_names);

#endif
