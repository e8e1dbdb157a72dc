/*
 * Matrix instructions: registers go to memory as they lie in vectors, 32 lanes each, and a helper
 * of the runtime does the work (jit_rt_mma.c). What the results are is src/model/eval_mma.c's to
 * say; lanes that do not take part count as zeros.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/op/gen_products.h"

#include <assert.h>
#include <string.h>

enum { ROWS_PER_REGISTER = 8, ROW_B = 16, LANES = 2 * GEN_LANES };
/* Products of one block often share factors: what is there already is not stored again. */
static void few_operands_store(struct gen *g, const struct ir_instr *in, enum ir_type type,
                               LLVMValueRef area)
{
    struct gen_held *held = &g->held;
    LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);
    if (held->block != block || held->type != type)
        *held = (struct gen_held){.block = block, .type = type};
    for (uint32_t i = 0; i < in->nsrc; i++) {
        if (held->value[i] != in->src[i])
            gen_registers_store(g, in, i, i + 1, type,
                                gen_gep(g, area, 2ull * i * gen_register_half_B(type)));
        held->value[i] = in->src[i];
    }
}

static void gen_mma(struct gen *g, const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    enum ir_type type = ir_mma_register_bits(mma) == 64 ? IR_B64 : IR_B32;
    LLVMValueRef src = gen_registers_area(g, GEN_OPERANDS, in->nsrc),
                 dst = gen_registers_area(g, GEN_RESULTS, in->ndst);
    uint64_t words[2];
    _Static_assert(sizeof(words) == sizeof(*mma), "code hands a product over in two words");
    memcpy(words, mma, sizeof(words));
    LLVMValueRef how = gen_mma_how(g);
    if (in->nsrc <= GEN_FEW)
        few_operands_store(g, in, type, src);
    else
        gen_registers_store(g, in, 0, in->nsrc, type, src);
    if (mma->flags >> IR_MMA_B_WINDOW & 1) {
        LLVMValueRef window_args[] = {gen_i64(g, words[0]), gen_i64(g, words[1]), how, src, dst};
        gen_call_here(g, "jit_rt_mma_window", window_args, HD_COUNT_OF(window_args));
        gen_registers_load(g, in, type, dst);
        return;
    }
    LLVMValueRef args[] = {
        gen_i64(g, words[0]), gen_i64(g, words[1]), how, gen_mask32(g), src, dst};
    gen_call_rt(g, "jit_rt_mma", g->t->void_, args, 6);
    gen_registers_load(g, in, type, dst);
}

void gen_tensor(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef src = gen_registers_room(g, GEN_OPERANDS, in->nsrc);
    LLVMValueRef dst = gen_registers_room(g, GEN_RESULTS, in->ndst);
    uint64_t words[2];
    _Static_assert(sizeof(words) == sizeof(struct ir_tensor), "code hands it over in two words");
    memcpy(words, in->ext, sizeof(words));
    gen_registers_store(g, in, 0, in->nsrc, IR_B32, src);
    LLVMValueRef args[] = {gen_i64(g, words[0]), gen_i64(g, words[1]), gen_i32(g, g->unit->path),
                           src, dst};
    gen_call_here(g, "jit_rt_tensor", args, HD_COUNT_OF(args));
    gen_registers_load(g, in, IR_B32, dst);
}

/* The lanes whose addresses count are the first ones. */
static LLVMValueRef first_lanes(struct gen *g, uint32_t n, int h)
{
    LLVMValueRef lanes[GEN_LANES];
    for (uint32_t l = 0; l < GEN_LANES; l++)
        lanes[l] = gen_ci(g->t->i1, (uint32_t)h * GEN_LANES + l < n);
    return LLVMConstVector(lanes, GEN_LANES);
}

/* Addresses of the rows, checked; *out_mask: the lanes that have one. */
static LLVMValueRef row_addresses(struct gen *g, const struct ir_instr *in, uint32_t nrows,
                                  LLVMValueRef *out_mask)
{
    LLVMValueRef saved[GEN_HALVES], x[GEN_HALVES];
    gen_masks_copy(saved, g->mask);
    LLVMValueRef array = gen_registers_room(g, GEN_OPERANDS, 1);
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    for (int h = 0; h < gen_halves(g) && nrows < LANES; h++)
        g->mask[h] = LLVMBuildAnd(g->b, gen_mask_or_full(g, h), first_lanes(g, nrows, h), "");
    gen_access_check(g, in, &a, ROW_B);
    gen_access_addresses(g, &a, x);
    *out_mask = gen_mask32(g);
    gen_masks_copy(g->mask, saved);
    for (int h = 0; h < gen_halves(g); h++)
        LLVMBuildStore(g->b, x[h], gen_gep(g, array, (uint64_t)h * gen_register_half_B(IR_B64)));
    return array;
}

static void gen_ldmatrix(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef mask, rows = row_addresses(g, in, ROWS_PER_REGISTER * in->ndst, &mask);
    LLVMValueRef place = gen_loaded_slot(g, in);
    LLVMValueRef dst = place ? place : gen_registers_room(g, GEN_RESULTS, in->ndst);
    LLVMValueRef args[] = {gen_i32(g, in->imm), gen_i32(g, in->ndst), mask, rows, dst};
    gen_call_rt(g, "jit_rt_ldmatrix", g->t->void_, args, 5);
    if (place)
        gen_slot_changed(g, in->dst, in->ndst);
    else
        gen_registers_load(g, in, IR_B32, dst);
}

static void gen_stmatrix(struct gen *g, const struct ir_instr *in)
{
    uint32_t n = in->nsrc - 1;
    LLVMValueRef mask, rows = row_addresses(g, in, ROWS_PER_REGISTER * n, &mask);
    LLVMValueRef src = gen_registers_room(g, GEN_RESULTS, n); /* the rows' addresses are operands */
    gen_registers_store(g, in, 1, in->nsrc, IR_B32, src);
    LLVMValueRef args[] = {gen_i32(g, in->imm), gen_i32(g, n), mask, gen_mask32(g), rows, src};
    gen_call_rt(g, "jit_rt_stmatrix", g->t->void_, args, 6);
}

static void gen_movmatrix(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef dst = gen_new_array(g, IR_B32);
    LLVMValueRef args[] = {gen_mask32(g), gen_to_array(g, in->src[0]), dst};
    gen_call_rt(g, "jit_rt_movmatrix", g->t->void_, args, 3);
    gen_registers_load(g, in, IR_B32, dst);
}

void gen_matrix(struct gen *g, const struct ir_instr *in)
{
    assert(ir_op_is_matrix(in->op));
    switch (in->op) {
    case IR_OP_MMA:
        if (!gen_products(g, in))
            gen_mma(g, in);
        return;
    case IR_OP_TENSOR_WARP:
        gen_tensor(g, in);
        return;
    case IR_OP_LDMATRIX:
        if (!gen_rows_load(g, in))
            gen_ldmatrix(g, in);
        return;
    case IR_OP_STMATRIX:
        gen_stmatrix(g, in);
        return;
    default:
        gen_movmatrix(g, in);
        return;
    }
}
