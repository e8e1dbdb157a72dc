/* Products of tiles of 16 x 8: gen_products.c makes them, gen_sums.c finds places for them. */
#ifndef HD_JIT_GEN_OP_GEN_PRODUCTS_H
#define HD_JIT_GEN_OP_GEN_PRODUCTS_H

#include "jit/gen/gen.h"

enum { GEN_TILE_ROWS = 16, GEN_TILE_COLUMNS = 8, GEN_REGISTER_B = 4 * 2 * GEN_LANES };

/* Registers of a tile's fragments. */
static inline unsigned gen_tile_a(const struct ir_mma *mma)
{
    return ir_mma_registers(mma, 'a') / (mma->m / GEN_TILE_ROWS);
}

static inline unsigned gen_tile_b(const struct ir_mma *mma)
{
    return ir_mma_registers(mma, 'b') / (mma->n / GEN_TILE_COLUMNS);
}

static inline unsigned gen_tiles(const struct ir_mma *mma)
{
    return mma->m / GEN_TILE_ROWS * (mma->n / GEN_TILE_COLUMNS);
}

static inline unsigned gen_tile_sums(const struct ir_mma *mma)
{
    return ir_mma_registers(mma, 'd') / gen_tiles(mma);
}

/* gen_registers.c: 32 lanes of each value, one after the other; what helpers are told of the
 * level. */
void gen_values_store(struct gen *g, struct ir_value *const *v, uint32_t n, enum ir_type type,
                      LLVMValueRef area);
LLVMValueRef gen_mma_how(struct gen *g);

/* Dense, not scaled, of tiles, all in registers of 32 bits. */
bool gen_is_made_of_tiles(const struct ir_mma *mma);

/* The tile in which c becomes d; NULL: they have no place in common. */
LLVMValueRef gen_sums_slot(struct gen *g, struct ir_value *const *c, struct ir_value *const *d,
                           unsigned n);
/* Where the results of an ldmatrix belong, one after the other; NULL: in slots of their own. */
LLVMValueRef gen_loaded_slot(const struct gen *g, const struct ir_instr *in);
/* Registers of a fragment in memory, as they were loaded; NULL: they are not. */
LLVMValueRef gen_fragment_slot(struct gen *g, struct ir_value *const *reg, unsigned n);
/* What is in the slots has been changed: values are made. */
void gen_slot_changed(struct gen *g, struct ir_value *const *d, unsigned n);

#endif
