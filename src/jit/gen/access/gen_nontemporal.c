/*
 * Non-temporal stores: past the caches.
 *
 * A plain store reads the line that it writes, and what a large grid has written drives out of the
 * caches what it reads; whoever reads that later finds little of it in them anyway. So lines that a
 * kernel only writes are stored past the caches when all of them are more than these hold. The
 * grid tells how many: outside of loops each thread stores once. What a thread stores again, in a
 * loop or at the same address, belongs into the caches until it is through with it.
 *
 * Such stores are not ordered with others. Kernels that tell somebody of what they have stored,
 * through atomics, fences or volatile words, have none; for the end of the launch the device waits
 * (dev/cpu/grid.c).
 */
#include <assert.h>

#include "jit/gen/access/gen_access.h"

/* Does it order accesses, or call what may? */
static bool notifies(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LD:
    case IR_OP_ST:
        return in->mem.sem != IR_SEM_WEAK;
    case IR_OP_SREG:
    case IR_OP_PHI:
    case IR_OP_BAR:
    case IR_OP_WARPSYNC:
    case IR_OP_SHFL:
    case IR_OP_VOTE:
        return false;
    default:
        return !ir_op_has(in->op, IR_F_PURE | IR_F_TERM | IR_F_HINT);
    }
}

static bool may_read(const struct ir_instr *in, const struct ir_value *root)
{
    bool reads = in->op == IR_OP_LD && gen_is_far(in);
    const struct ir_value *from = reads ? gen_root_of(in->src[0]) : NULL;
    return reads && (!from || from == root);
}

static uint32_t stored_B(const struct ir_instr *in)
{
    return ir_type_bits(in->type) / 8 * HD_MAX(in->mem.vec, 1);
}

/* Do the lanes of a warp store to the same lines by both, whose addresses are alike? */
static bool meets(const struct ir_instr *in, const struct ir_instr *st)
{
    int64_t apart_B = in->mem.offset - st->mem.offset, warp_B = 32 * (int64_t)stored_B(st);
    return -warp_B < apart_B && apart_B < warp_B;
}

/* May `in` store where `st` does, or near it for many iterations? */
static bool stores_again(const struct gen *g, const struct ir_instr *in, const struct ir_instr *st)
{
    if (in->op != IR_OP_ST || in == st || in->mem.space != st->mem.space ||
        gen_root_of(in->src[0]) != gen_root_of(st->src[0]))
        return false;
    return g->shapes.loops.loop_of[in->block->id] != IR_NO_BLOCK ||
           (in->src[0] == st->src[0] && meets(in, st));
}

static bool is_written_once(const struct gen *g, const struct ir_instr *st,
                            const struct ir_value *root)
{
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (notifies(in) || may_read(in, root) || stores_again(g, in, st))
                return false;
        }
    }
    return true;
}

static uint32_t stored_once_B(const struct gen *g, const struct ir_instr *in)
{
    bool counts = in->op == IR_OP_ST && in->mem.space == IR_SPACE_GLOBAL &&
                  g->shapes.loops.loop_of[in->block->id] == IR_NO_BLOCK;
    return counts ? stored_B(in) : 0;
}

bool gen_nontemporal_fits(const struct gen *g, const struct ir_instr *in,
                          const struct gen_access *a)
{
    uint32_t size_B = stored_once_B(g, in);
    const struct ir_value *root = size_B >= 4 ? gen_root_of(in->src[0]) : NULL;
    return root && gen_does(g, GEN_PASS_NONTEMPORAL) && g->unit->path != JIT_GENERIC &&
           !g->mask[0] && g->is_kernel && !g->dispatch && a->kind == GEN_ACCESS_A &&
           a->stride == size_B && is_written_once(g, in, root);
}

static LLVMValueRef threads(struct gen *g)
{
    LLVMValueRef n = gen_i64(g, 1);
    for (unsigned i = 0; i < 6; i++) {
        uint64_t at = i < 3 ? offsetof(struct jit_launch, grid) + sizeof(uint32_t) * i
                            : offsetof(struct jit_launch, block) + sizeof(uint32_t) * (i - 3);
        LLVMValueRef x = gen_load_ctx(g, g->t->i32, g->launch, at);
        n = LLVMBuildMul(g->b, n, LLVMBuildZExt(g->b, x, g->t->i64, ""), "");
    }
    return n;
}

/* Does the grid store more than the caches hold? */
static LLVMValueRef is_more(struct gen *g)
{
    uint32_t each_B = 0;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b])
            each_B += stored_once_B(g, in);
    }
    LLVMValueRef one = gen_i64(g, 1),
                 all_B = LLVMBuildMul(g->b, threads(g), gen_i64(g, each_B), "");
    LLVMValueRef caches_B =
        gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, caches_B));
    return LLVMBuildICmp(g->b, LLVMIntULT, LLVMBuildSub(g->b, caches_B, one, ""),
                         LLVMBuildSub(g->b, all_B, one, ""), ""); /* 0: never */
}

static LLVMValueRef are_lines(struct gen *g, const struct gen_access *a)
{
    LLVMValueRef bits = LLVMBuildAdd(g->b, a->base[0], gen_i64(g, (uint64_t)a->offset), "");
    for (int h = 1; h < gen_halves(g); h++) {
        LLVMValueRef at = LLVMBuildAdd(g->b, a->base[h], gen_i64(g, (uint64_t)a->offset), "");
        bits = LLVMBuildOr(g->b, bits, at, "");
    }
    bits = LLVMBuildAnd(g->b, bits, gen_i64(g, GEN_LINE_B - 1), "");
    return LLVMBuildICmp(g->b, LLVMIntEQ, bits, gen_i64(g, 0), "");
}

LLVMValueRef gen_nontemporal_test(struct gen *g, const struct gen_access *a)
{
    return LLVMBuildAnd(g->b, is_more(g), are_lines(g, a), "");
}

void gen_plain_store(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, uint64_t align_B)
{
    LLVMValueRef st = LLVMBuildStore(g->b, x, ptr), one = gen_i32(g, 1);
    LLVMSetAlignment(st, g->nontemporal ? GEN_LINE_B : (unsigned)align_B);
    if (g->nontemporal)
        LLVMSetMetadata(st, LLVMGetMDKindIDInContext(g->unit->ctx, "nontemporal", 11),
                        LLVMMDNodeInContext(g->unit->ctx, &one, 1));
}
