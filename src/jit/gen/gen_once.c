/*
 * What all warps read right after a barrier, at one place of shared memory: read once per region.
 *
 * "Return s[0]" at the end of a block-wide sum is such a read. When the code writes there again
 * before the next barrier, the program has a race that every GPU wins: its warps have all read long
 * before the first one comes to write. Here the warps run one after the other, so all but the first
 * would read what it wrote; they take what the first one read instead (docs/decisions/0081). A
 * right program cannot tell the difference, and without such a write nothing changes.
 */
#include "jit/gen/gen_flow.h"
#include "jit/gen/gen_walk.h"

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

static bool is_read_once(struct gen *g, const struct ir_instr *in)
{
    struct gen_walk walk;
    if (!g->body.by_region || !g->cta_uniform[in->dst[0]->id] || g->func->nblocks > MAX_BLOCKS)
        return false;
    return in->mem.space == IR_SPACE_SHARED && in->mem.sem == IR_SEM_WEAK &&
           gen_walk_init(g, &walk) && comes_after_barrier(&walk, in) && is_overwritten(&walk, in);
}

/* The load's slot: a mark that it is filled, and the elements. */
LLVMValueRef gen_once_slot(struct gen *g, const struct ir_instr *in)
{
    if (!is_read_once(g, in))
        return NULL;
    unsigned n = in->mem.vec ? in->mem.vec : 1;
    LLVMValueRef slot = gen_gep(g, g->once, g->body.once_B);
    g->body.once_B += SLOT_HEAD_B + n * ELEMENT_B;
    return slot;
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
