/*
 * Where values live between nodes: an alloca that SROA turns into SSA, the warp's frame in dispatch
 * mode, or memory that LLVM leaves alone.
 *
 * The last is for functions with more long-lived values than registers. Promoted to SSA, each of
 * them costs a phi at every join on its way and a live range across all those blocks, and LLVM's
 * register allocation takes the product of both in time, only to spill them in the end.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

/* Values live at one place beyond which registers have run out anyway, and the number of blocks
 * across which a value is long-lived. */
#define LIVE_MAX   96
#define LONG_LIVED 32

/* Host stack that the simple form's slots may take; workers have little. */
#define STACK_SLOTS_MAX_B (512u << 10)

uint64_t gen_component_size(struct gen *g, const struct ir_value *v)
{
    uint64_t bits = ir_type_bits(v->type);
    if (gen_shape(g, v)->kind != IR_SHAPE_VARYING)
        return bits < 8 ? 1 : bits / 8;
    return (v->type == IR_PRED ? 1 : bits) * GEN_LANES / 8;
}

/*
 * A phi where divergent lanes meet is written on each way there, at the branch, and the sweep runs
 * everything between before it is read: how many blocks of the layout that spans at most.
 */
static uint32_t phi_span(const struct gen *g, const struct ir_instr *phi)
{
    assert(phi->op == IR_OP_PHI);
    uint32_t at = phi->block->id, first = at;
    for (uint32_t p = 0; g->shapes.divergent_join[at] && p < phi->block->npreds; p++)
        first = HD_MIN(first, phi->block->preds[p]->id);
    return at - first;
}

/* Adds the phis that are on their way through each block to live[]. */
static void phis_count(const struct gen *g, uint32_t *live)
{
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(phi, g->func->blocks[b]) {
            if (phi->op != IR_OP_PHI)
                break;
            uint32_t span = phi_span(g, phi);
            if (!span)
                continue;
            live[b]--; /* differences, added up by the caller */
            live[b - span]++;
        }
    }
}

/* Are there blocks through which too many values live? */
static bool is_crowded(struct gen *g)
{
    uint32_t *live = hd_arena_array(&g->arena, uint32_t, g->func->nblocks + 1), phis = 0;
    if (!live)
        return false;
    phis_count(g, live);
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        phis += live[b];
        if (phis + ir_live_in(&g->live, b).n > LIVE_MAX)
            return true;
    }
    return false;
}

/* How many blocks each value is live into; NULL when memory is short. */
static uint32_t *spans_count(struct gen *g)
{
    uint32_t *spans = hd_arena_array(&g->arena, uint32_t, g->func->nvalues + 1);
    for (uint32_t b = 0; spans && b < g->func->nblocks; b++) {
        struct ir_live_set in = ir_live_in(&g->live, b);
        for (uint32_t i = 0; i < in.n; i++)
            spans[in.ids[i]]++;
    }
    return spans;
}

static bool is_long_lived(const struct gen *g, const uint32_t *spans, const struct ir_value *v)
{
    uint32_t way = v->instr && v->instr->op == IR_OP_PHI ? phi_span(g, v->instr) : 0;
    return way + spans[v->id] > LONG_LIVED;
}

static LLVMValueRef slot_place(struct gen *g, const struct ir_value *v, bool in_memory)
{
    uint64_t size = gen_component_size(g, v);
    if (g->dispatch && g->is_kernel && g->cross[v->id])
        return gen_gep(g, g->frame, gen_frame_alloc(g, size, size > 64 ? 64 : size));
    LLVMTypeRef type = gen_component_type(g, v);
    LLVMValueRef slot = gen_alloca(g, type, 0, "");
    if (in_memory)
        slot = gen_opaque(g, slot);
    LLVMBuildStore(g->b, LLVMConstNull(type), slot);
    return slot;
}

/*
 * Slots start as zero: a register that no path wrote reads as zero, never as poison. In dispatch
 * mode the warp may suspend between nodes, so what crosses them is in the frame, which starts so
 * too. `spans`, of a crowded function only, decides what stays in memory.
 */
static void slot_create(struct gen *g, const uint32_t *spans, const struct ir_value *v)
{
    bool in_memory = spans && is_long_lived(g, spans, v);
    if (gen_slot_is_given(g, v))
        return;
    for (unsigned i = 0; i < gen_components(g, gen_shape(g, v)); i++) {
        assert(!g->slots[v->id].ptr[i]); /* a component has one place */
        g->slots[v->id].ptr[i] = slot_place(g, v, in_memory);
    }
}

void gen_slots_create(struct gen *g)
{
    bool all = g->unit->req->form == GEN_SIMPLE;
    uint64_t stack_B = 0;
    g->body.crowded = is_crowded(g);
    const uint32_t *spans = g->body.crowded ? spans_count(g) : NULL;
    gen_sums_find(g);
    for (uint32_t a = 0; a < g->func->proto.nparams && !g->is_kernel; a++)
        slot_create(g, spans, g->func->args[a]);
    for (uint32_t i = 0; i < g->func->nblocks; i++) {
        ir_foreach_instr(in, g->func->blocks[i]) {
            for (uint32_t d = 0; d < in->ndst; d++) {
                const struct ir_value *v = in->dst[d];
                if ((all || g->cross[v->id]) && in->op != IR_OP_CONST)
                    slot_create(g, spans, v);
                if (all && !g->cross[v->id])
                    stack_B += 2 * gen_component_size(g, v);
            }
        }
    }
    if (stack_B > STACK_SLOTS_MAX_B)
        gen_unsupported(g, NULL, "too large for the simple form");
}
