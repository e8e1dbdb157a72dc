#include "ir/analysis.h"

static void set_add(uint64_t *set, uint32_t id)
{
    set[id / 64] |= 1ull << (id % 64);
}

static void set_remove(uint64_t *set, uint32_t id)
{
    set[id / 64] &= ~(1ull << (id % 64));
}

/* Operands that the phis of `succ` read on the edges from `block`. */
static void add_phi_operands(const struct ir_block *block, const struct ir_block *succ,
                             uint64_t *live)
{
    for (const struct ir_instr *phi = succ->first; phi && phi->op == IR_OP_PHI; phi = phi->next)
        for (uint32_t p = 0; p < succ->npreds; p++)
            if (succ->preds[p] == block && phi->src[p])
                set_add(live, phi->src[p]->id);
}

/* out = union of the successors' in, plus their phi operands. Did it grow? */
static bool flow_out(const struct ir_liveness *l, const struct ir_block *block)
{
    uint64_t *out = l->live_out + (size_t)block->id * l->words;
    bool grew = false;

    for (uint32_t s = 0; s < block->nsuccs; s++) {
        const uint64_t *in = l->live_in + (size_t)block->succs[s]->id * l->words;
        for (uint32_t w = 0; w < l->words; w++) {
            grew |= (in[w] & ~out[w]) != 0;
            out[w] |= in[w];
        }
    }
    return grew;
}

static void flow_in(const struct ir_liveness *l, const struct ir_block *block)
{
    uint64_t *in = l->live_in + (size_t)block->id * l->words;
    const uint64_t *out = l->live_out + (size_t)block->id * l->words;

    for (uint32_t w = 0; w < l->words; w++)
        in[w] = out[w];
    for (const struct ir_instr *instr = block->last; instr; instr = instr->prev) {
        for (uint32_t d = 0; d < instr->ndst; d++)
            set_remove(in, instr->dst[d]->id);
        if (instr->op == IR_OP_PHI)
            continue;
        for (uint32_t s = 0; s < instr->nsrc; s++)
            set_add(in, instr->src[s]->id);
    }
}

enum hd_status ir_liveness_compute(const struct ir_func *func, struct hd_arena *arena,
                                   struct ir_liveness *out)
{
    bool changed = true, first = true;
    size_t total;

    out->words = (func->nvalues + 63) / 64;
    total = (size_t)out->words * func->nblocks + 1;
    out->live_in = hd_arena_array(arena, uint64_t, total);
    out->live_out = hd_arena_array(arena, uint64_t, total);
    if (!out->live_in || !out->live_out)
        return hd_error(HD_NO_MEMORY, "%s: no memory for liveness", func->name);
    for (uint32_t i = 0; i < func->nblocks; i++)
        for (uint32_t s = 0; s < func->blocks[i]->nsuccs; s++)
            add_phi_operands(func->blocks[i], func->blocks[i]->succs[s],
                             out->live_out + (size_t)i * out->words);
    while (changed) {
        changed = false;
        for (uint32_t i = func->nblocks; i-- > 0;) {
            if (!flow_out(out, func->blocks[i]) && !first)
                continue;
            flow_in(out, func->blocks[i]);
            changed = true;
        }
        first = false;
    }
    return HD_OK;
}
