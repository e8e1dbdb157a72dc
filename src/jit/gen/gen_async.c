/*
 * Block copies: a function does them lane by lane (jit_rt_async.c). Most are made by one lane.
 */
#include "jit/gen/gen_access.h"

#include <assert.h>

/* Host addresses of the instruction's first source, in memory. */
static LLVMValueRef address_array(struct gen *g, const struct ir_instr *in)
{
    LLVMValueRef x[2];
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    gen_access_addresses(g, &a, x);
    return gen_array_of(g, gen_v(x[0], x[1]), IR_B64);
}

/* Calls a function that reports faults itself: it is told where it is. */
static void call_here(struct gen *g, const char *name, LLVMValueRef const *args, unsigned n)
{
    LLVMValueRef all[16] = {g->cta, g->warp, gen_i32(g, gen_place(g)), gen_mask32(g)};
    assert(n + 4 <= HD_COUNT_OF(all));
    if (g->is_kernel) /* the loop over warps keeps it in a register */
        LLVMBuildStore(g->b, g->warp_index, gen_gep(g, g->warp, offsetof(struct jit_warp, index)));
    for (unsigned i = 0; i < n; i++)
        all[4 + i] = args[i];
    gen_call_rt(g, name, g->t->void_, all, 4 + n);
}

void gen_copy(struct gen *g, const struct ir_instr *in)
{
    assert(in->op == IR_OP_COPY && in->nsrc >= 5);
    uint32_t how = (uint32_t)in->imm;
    if (in->mem.space == IR_SPACE_SHARED)
        how |= JIT_COPY_SHARED;
    if (g->unit->req->strict)
        how |= JIT_COPY_STRICT;
    LLVMValueRef args[] = {gen_i32(g, how),
                           address_array(g, in),
                           gen_to_array(g, in->src[1]),
                           gen_to_array(g, in->src[2]),
                           gen_to_array(g, in->src[3]),
                           gen_to_array(g, in->src[4])};
    call_here(g, "jit_rt_copy", args, HD_COUNT_OF(args));
}
