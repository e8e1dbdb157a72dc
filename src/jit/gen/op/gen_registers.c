/*
 * Registers of instructions whose work functions of the runtime do: in memory, 32 lanes each.
 */
#include "jit/gen/op/gen_products.h"

#include <assert.h>

enum { FEW = GEN_FEW, MANY = 136 }; /* registers of an instruction; those of wgmma are many */

/*
 * Room for the registers of one instruction. All share it: unrolled kernels have hundreds of
 * products, and a room for each would take the whole stack.
 */
LLVMValueRef gen_registers_area(struct gen *g, enum gen_area which, uint32_t n)
{
    LLVMTypeRef half = gen_vec(g, g->t->i64);
    /* Many are of 32 bits. */
    LLVMTypeRef type = LLVMArrayType2(half, n <= FEW ? 2ull * FEW : MANY);
    LLVMValueRef *at = &g->matrix[which][n > FEW];
    assert(n <= MANY);
    if (!*at)
        *at = gen_alloca(g, type, 64, "");
    return *at;
}

LLVMValueRef gen_registers_room(struct gen *g, enum gen_area which, uint32_t n)
{
    if (which == GEN_OPERANDS)
        g->held.block = NULL; /* others are put there */
    return gen_registers_area(g, which, n);
}

uint64_t gen_register_half_B(enum ir_type type)
{
    return ir_type_bits(type) / 8 * GEN_LANES;
}

void gen_values_store(struct gen *g, struct ir_value *const *v, uint32_t n, enum ir_type type,
                      LLVMValueRef area)
{
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef x[GEN_HALVES];
        gen_vector(g, v[i], x);
        for (int h = 0; h < gen_halves(g); h++)
            LLVMBuildStore(g->b, x[h],
                           gen_gep(g, area, (2ull * i + h) * gen_register_half_B(type)));
    }
}

void gen_registers_store(struct gen *g, const struct ir_instr *in, uint32_t first, uint32_t end,
                         enum ir_type type, LLVMValueRef area)
{
    assert(end <= in->nsrc);
    gen_values_store(g, in->src + first, end - first, type, area);
}

void gen_registers_load(struct gen *g, const struct ir_instr *in, enum ir_type type,
                        LLVMValueRef area)
{
    for (uint32_t i = 0; i < in->ndst; i++)
        gen_set(g, in->dst[i],
                gen_from_array(g, gen_gep(g, area, 2ull * i * gen_register_half_B(type)), type));
}

LLVMValueRef gen_mma_how(struct gen *g)
{
    return gen_i32(g, g->unit->path | (g->unit->fp_ftz ? JIT_FLUSHES : 0u));
}
