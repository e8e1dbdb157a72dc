/*
 * Private to src/ir: the spelling of every enumeration in the text form; printer and reader share
 * it. An empty string is a default that is not printed.
 */
#ifndef HD_IR_IR_NAMES_H
#define HD_IR_IR_NAMES_H

#include "ir/ir.h"

/* How many there are: no enumerator, which every switch would have to name. */
#define IR_ONE(...)            +1u
#define IR_SPACE_COUNT_        (0u IR_SPACE_LIST(IR_ONE))
#define IR_RND_COUNT_          (0u IR_RND_LIST(IR_ONE))
#define IR_CMP_COUNT_          (0u IR_CMP_LIST(IR_ONE))
#define IR_ATOM_COUNT_         (0u IR_ATOM_LIST(IR_ONE))
#define IR_SEM_COUNT_          (0u IR_SEM_LIST(IR_ONE))
#define IR_SCOPE_COUNT_        (0u IR_SCOPE_LIST(IR_ONE))
#define IR_CACHE_COUNT_        (0u IR_CACHE_LIST(IR_ONE))
#define IR_MMA_COUNT_          (0u IR_MMA_LIST(IR_ONE))
#define IR_LINK_COUNT_         (0u IR_LINK_LIST(IR_ONE))
#define IR_TENSOR_OP_COUNT_    (0u IR_TENSOR_OP_LIST(IR_ONE))
#define IR_TENSOR_SHAPE_COUNT_ (0u IR_TENSOR_SHAPE_LIST(IR_ONE))
#define IR_TENSOR_KIND_COUNT_  (0u IR_TENSOR_KIND_LIST(IR_ONE))
#define IR_TENSOR_FLAG_COUNT_  (0u IR_TENSOR_FLAG_LIST(IR_ONE))
#define IR_TEX_WHATS_          (0u IR_TEX_WHAT_LIST(IR_ONE))
#define IR_TEX_GEOMETRIES_     (0u IR_TEX_GEOMETRY_LIST(IR_ONE))
#define IR_TEX_LODS_           (0u IR_TEX_LOD_LIST(IR_ONE))
#define IR_TEX_CLAMPS_         (0u IR_TEX_CLAMP_LIST(IR_ONE))
#define IR_TEX_FLAGS_          (0u IR_TEX_FLAG_LIST(IR_ONE))

extern const char *const ir_space_names[IR_SPACE_COUNT_];
extern const char *const ir_rnd_names[IR_RND_COUNT_];
extern const char *const ir_cmp_names[IR_CMP_COUNT_];
extern const char *const ir_atom_names[IR_ATOM_COUNT_];
extern const char *const ir_sem_names[IR_SEM_COUNT_];
extern const char *const ir_scope_names[IR_SCOPE_COUNT_];
extern const char *const ir_cache_names[IR_CACHE_COUNT_];
extern const char *const ir_mma_names[IR_MMA_COUNT_];
extern const char *const ir_tensor_op_names[IR_TENSOR_OP_COUNT_];
extern const char *const ir_tensor_shape_names[IR_TENSOR_SHAPE_COUNT_];
extern const char *const ir_tensor_kind_names[IR_TENSOR_KIND_COUNT_];
extern const char *const ir_tensor_flag_names[IR_TENSOR_FLAG_COUNT_];
extern const char *const ir_tex_what_names[IR_TEX_WHATS_];
extern const char *const ir_tex_geometry_names[IR_TEX_GEOMETRIES_];
extern const char *const ir_tex_lod_names[IR_TEX_LODS_];
extern const char *const ir_tex_clamp_names[IR_TEX_CLAMPS_];
extern const char *const ir_tex_flag_names[IR_TEX_FLAGS_];
extern const char *const ir_mod_names[IR_MOD_COUNT];
extern const char *const ir_linkage_names[IR_LINK_COUNT_];

/* Names for instr->imm where it selects a variant of the operation; 0 where it is a number. */
size_t ir_imm_names(enum ir_op op, const char *const **out_names);

#endif
