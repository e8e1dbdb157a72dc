/*
 * What the first warp of a region does for all.
 *
 * What all warps read right after a barrier, at one place of shared memory.
 *
 * "Return s[0]" at the end of a block-wide sum is such a read. When the code writes there again
 * before the next barrier, the program has a race that every GPU wins: its warps have all read long
 * before the first one comes to write. Here the warps run one after the other, so all but the first
 * would read what it wrote; they take what the first one read instead (docs/decisions/0081). A
 * right program cannot tell the difference, and without such a write nothing changes.
 *
 * And divisions, roots and the like of values that are the same in the whole CTA: the mean of a
 * row, say. Every warp would wait for the same result again.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/find/gen_walk.h"

#include <assert.h>

enum { SLOT_HEAD_B = 16, ELEMENT_B = 16, ROOT_DEPTH = 16, MAX_BLOCKS = 4096 };

static bool writes_shared(const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_STORE | IR_F_ATOM) && ir_space_is_shared(in->mem.space);
}

/* Does every way to `in` lead through a barrier, and past no write to shared memory after it? */
static bool comes_after_barrier(struct gen_walk *w, const struct ir_instr *in)
{
    gen_walk_back_from(w, in);
    while ((in = gen_walk_next(w))) {
        if (writes_shared(in))
            return false;
    }
    return !w->came_to_start;
}

/* The variable that an address lies in; NULL = not known. */
static const struct ir_var *root_of(const struct ir_value *address, unsigned depth)
{
    const struct ir_instr *in = address->instr;
    if (!in || depth == ROOT_DEPTH)
        return NULL;
    if (in->op == IR_OP_VARADDR)
        return in->var;
    if (in->op != IR_OP_ADD && in->op != IR_OP_CVTA && in->op != IR_OP_CVTA_TO)
        return NULL;
    const struct ir_var *root = root_of(in->src[0], depth + 1);
    return root || in->nsrc < 2 ? root : root_of(in->src[1], depth + 1);
}

static bool may_overwrite(const struct ir_instr *load, const struct ir_instr *in)
{
    if (!writes_shared(in))
        return false;
    const struct ir_var *read = root_of(load->src[0], 0), *written = root_of(in->src[0], 0);
    return !read || !written || read == written;
}

/* Is there such a write on some way from `load` to the next barriers? */
static bool is_overwritten(struct gen_walk *w, const struct ir_instr *load)
{
    const struct ir_instr *in;
    gen_walk_from(w, load->next);
    while ((in = gen_walk_next(w))) {
        if (may_overwrite(load, in))
            return true;
    }
    return false;
}

/* Is there a way from `in` back to it past no barrier? Then each iteration has its own value. */
static bool comes_again(struct gen_walk *w, const struct ir_instr *in)
{
    const struct ir_instr *at;
    gen_walk_from(w, in->next);
    while ((at = gen_walk_next(w))) {
        if (at == in)
            return true;
    }
    return false;
}

static bool is_read_once(struct gen *g, const struct ir_instr *in)
{
    struct gen_walk walk;
    if (!g->body.by_region || !g->cta_uniform[in->dst[0]->id] || g->func->nblocks > MAX_BLOCKS)
        return false;
    return in->mem.space == IR_SPACE_SHARED && in->mem.sem == IR_SEM_WEAK &&
           gen_walk_init(g, &walk) && comes_after_barrier(&walk, in) && is_overwritten(&walk, in) &&
           !comes_again(&walk, in);
}

static LLVMValueRef slot_of(struct gen *g, unsigned elements)
{
    LLVMValueRef slot = gen_gep(g, g->once, g->body.once_B);
    g->body.once_B += SLOT_HEAD_B + elements * ELEMENT_B;
    return slot;
}

/* The load's slot: a mark that it is filled, and the elements. */
LLVMValueRef gen_once_slot(struct gen *g, const struct ir_instr *in)
{
    if (!is_read_once(g, in))
        return NULL;
    return slot_of(g, in->mem.vec ? in->mem.vec : 1);
}

LLVMValueRef gen_once_from(struct gen *g, LLVMValueRef slot, unsigned element, LLVMValueRef memory)
{
    LLVMValueRef filled = LLVMBuildLoad2(g->b, g->t->i32, slot, "");
    LLVMValueRef kept = gen_gep(g, slot, SLOT_HEAD_B + element * ELEMENT_B);
    LLVMValueRef is_first = LLVMBuildICmp(g->b, LLVMIntEQ, filled, gen_i32(g, 0), "");
    return LLVMBuildSelect(g->b, is_first, memory, kept, "");
}

void gen_once_keep(struct gen *g, LLVMValueRef slot, unsigned element, LLVMValueRef x)
{
    assert(g->body.by_region && slot);
    LLVMBuildStore(g->b, x, gen_gep(g, slot, SLOT_HEAD_B + element * ELEMENT_B));
}

void gen_once_filled(struct gen *g, LLVMValueRef slot)
{
    LLVMBuildStore(g->b, gen_i32(g, 1), slot);
}

/* ---- operations */

static bool is_slow(enum ir_op op)
{
    return op == IR_OP_DIV || op == IR_OP_REM || op == IR_OP_FDIV || op == IR_OP_FRCP ||
           op == IR_OP_FSQRT || op == IR_OP_FRSQRT || op == IR_OP_FSIN || op == IR_OP_FCOS ||
           op == IR_OP_FEX2 || op == IR_OP_FLG2 || op == IR_OP_FTANH;
}

static bool is_made_once(struct gen *g, const struct ir_instr *in)
{
    struct gen_walk walk;
    if (!gen_does(g, GEN_PASS_ONCE) || !g->body.by_region || !is_slow(in->op) ||
        !g->cta_uniform[in->dst[0]->id] || g->nodes[g->cur].divergent ||
        g->func->nblocks > MAX_BLOCKS)
        return false;
    return gen_walk_init(g, &walk) && !comes_again(&walk, in);
}

bool gen_once_pure(struct gen *g, const struct ir_instr *in)
{
    if (!is_made_once(g, in))
        return false;
    gen_fired(g, GEN_PASS_ONCE);
    for (uint32_t s = 0; s < in->nsrc; s++)
        (void)gen_get_raw(g, in->src[s]); /* where both ways can see it */
    LLVMValueRef slot = slot_of(g, 1), kept = gen_gep(g, slot, SLOT_HEAD_B);
    LLVMBasicBlockRef make = gen_bb(g, "make"), take = gen_bb(g, "take"), join = gen_bb(g, "made");
    LLVMValueRef filled = LLVMBuildLoad2(g->b, g->t->i32, slot, "");
    filled = LLVMBuildICmp(g->b, LLVMIntNE, filled, gen_i32(g, 0), "");
    LLVMBuildCondBr(g->b, filled, take, make);
    LLVMPositionBuilderAtEnd(g->b, make);
    gen_pure(g, in);
    LLVMValueRef x[GEN_HALVES] = {gen_get_raw(g, in->dst[0]).c[0]};
    LLVMBuildStore(g->b, x[0], kept);
    gen_once_filled(g, slot);
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(g->b), take};
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, take);
    x[1] = LLVMBuildLoad2(g->b, LLVMTypeOf(x[0]), kept, "");
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(x[0]), "");
    LLVMAddIncoming(phi, x, from, 2);
    gen_set(g, in->dst[0], gen_u(phi));
    return true;
}
