/*
 * Block copies and barriers in shared memory: functions do them lane by lane (jit_rt_async.c). Most
 * are the business of one lane.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <string.h>

#include "model/mbarrier.h"
#include "model/multimem.h"
#include "model/tensor_copy.h"

/* Host addresses of the instruction's first source, in memory. */
static LLVMValueRef address_array(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef x[GEN_HALVES];
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    gen_access_addresses(g, &a, x);
    return gen_array_of(g, gen_v(g, x), IR_B64);
}

void gen_call_here(struct gen *g, const char *name, LLVMValueRef const *args, unsigned n)
{
    LLVMValueRef all[20] = {g->cta, g->warp, gen_i32(g, gen_srcloc(g)), gen_mask32(g)};
    assert(n + 4 <= HD_COUNT_OF(all));
    if (g->is_kernel) /* the loop over warps keeps it in a register */
        LLVMBuildStore(g->b, g->warp_index, gen_gep(g, g->warp, offsetof(struct jit_warp, index)));
    for (unsigned i = 0; i < n; i++)
        all[4 + i] = args[i];
    gen_call_rt(g, name, g->t->void_, all, 4 + n);
}

static uint32_t access_bits(const struct gen *g, const struct ir_instr *in)
{
    uint32_t how = 0;
    if (ir_space_is_shared(in->mem.space))
        how |= JIT_ASYNC_SHARED;
    if (g->unit->req->strict)
        how |= JIT_ASYNC_STRICT;
    return how;
}

void gen_copy(struct gen *g, const struct ir_instr *in)
{
    assert(in->op == IR_OP_COPY && in->nsrc >= 5);
    uint32_t how = access_bits(g, in) | (uint32_t)in->imm;
    LLVMValueRef args[] = {gen_i32(g, how),
                           address_array(g, in),
                           gen_to_array(g, in->src[1]),
                           gen_to_array(g, in->src[2]),
                           gen_to_array(g, in->src[3]),
                           gen_to_array(g, in->src[4])};
    gen_call_here(g, "jit_rt_copy", args, HD_COUNT_OF(args));
}

void gen_reduce(struct gen *g, const struct ir_instr *in)
{
    assert(in->op == IR_OP_REDUCE && in->nsrc >= 3);
    LLVMValueRef args[] = {gen_i32(g, access_bits(g, in)), gen_i32(g, in->mem.atom),
                           gen_i32(g, in->type),           address_array(g, in),
                           gen_to_array(g, in->src[1]),    gen_to_array(g, in->src[2])};
    gen_call_here(g, "jit_rt_reduce", args, HD_COUNT_OF(args));
}

/* As many operands as the function has; those that the instruction has not are null. */
void gen_tensor_copy(struct gen *g, const struct ir_instr *in)
{
    enum {
        ADDRESS = 2,
        OPERANDS = IR_TENSOR_OPERAND_0 - 1 + IR_TENSOR_RANK_MAX + IR_TENSOR_INFO_MAX
    };
    LLVMValueRef args[ADDRESS + 1 + OPERANDS] = {
        gen_i32(g, access_bits(g, in)), gen_i32(g, (uint32_t)in->imm), address_array(g, in)};
    assert(in->op == IR_OP_TENSORCOPY && in->nsrc >= IR_TENSOR_OPERAND_0 &&
           in->nsrc - 1 <= OPERANDS);
    for (unsigned i = 0; i < OPERANDS; i++)
        args[ADDRESS + 1 + i] =
            1 + i < in->nsrc ? gen_to_array(g, in->src[1 + i]) : LLVMConstNull(g->t->ptr);
    gen_call_here(g, "jit_rt_tensor_copy", args, HD_COUNT_OF(args));
}

static void gen_multimem_copy(struct gen *g, const struct ir_instr *in, LLVMValueRef what)
{
    LLVMValueRef args[] = {what, address_array(g, in), gen_to_array(g, in->src[1]),
                           gen_to_array(g, in->src[2]),
                           in->nsrc > 3 ? gen_to_array(g, in->src[3]) : LLVMConstNull(g->t->ptr)};
    gen_call_here(g, "jit_rt_multimem_copy", args, HD_COUNT_OF(args));
}

void gen_multimem(struct gen *g, const struct ir_instr *in)
{
    static const enum ir_type types[] = {[1] = IR_B8, [2] = IR_B16, [4] = IR_B32, [8] = IR_B64};
    const struct ir_multimem m = ir_multimem_of(in);
    uint64_t word;
    _Static_assert(sizeof(word) == sizeof(m), "code hands it over in one word");
    memcpy(&word, &m, sizeof(word));
    if (ir_multimem_copies(&m)) {
        gen_multimem_copy(g, in, gen_i64(g, word));
        return;
    }
    LLVMValueRef room = gen_registers_room(g, GEN_OPERANDS, m.registers);
    LLVMValueRef args[] = {gen_i64(g, word), address_array(g, in), room};
    gen_registers_store(g, in, 1, in->nsrc, types[m.register_B], room);
    gen_call_here(g, "jit_rt_multimem", args, HD_COUNT_OF(args));
    gen_registers_load(g, in, types[m.register_B], room);
}

void gen_mbarrier(struct gen *g, const struct ir_instr *in)
{
    assert(in->op == IR_OP_MBARRIER && in->nsrc == 2);
    uint32_t how = access_bits(g, in) | (uint32_t)in->imm;
    LLVMValueRef out = in->ndst ? gen_new_array(g, IR_B64) : LLVMConstNull(g->t->ptr);
    LLVMValueRef args[] = {gen_i32(g, how), address_array(g, in), gen_to_array(g, in->src[1]), out};
    gen_call_here(g, "jit_rt_mbarrier", args, HD_COUNT_OF(args));
    if (!in->ndst)
        return;
    struct gen_val r = gen_from_array(g, out, IR_B64);
    for (int h = 0; h < gen_halves(g) && in->dst[0]->type == IR_PRED; h++)
        r.c[h] = LLVMBuildTrunc(g->b, r.c[h], g->t->mask, "");
    gen_set(g, in->dst[0], r);
    if (!ir_mbarrier_tests((enum ir_mbarrier)in->imm))
        return;
    LLVMValueRef passed[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++)
        passed[h] = LLVMBuildBitCast(g->b, LLVMBuildAnd(g->b, r.c[h], gen_mask_or_full(g, h), ""),
                                     g->t->i16, "");
    gen_take_turns(g, passed);
}
