/*
 * Kernels whose blocks may read what others store.
 *
 * No block can rely on another one without waiting for it; yet there are programs in which one
 * does, and which GPUs never show to be wrong, because blocks start in the order of their numbers
 * and those before have long been through. So a kernel that loads by a pointer by which it stores,
 * but not what the same thread stores there, has its blocks begin in that order on the CPU device
 * as well (dev/cpu/share.c). A kernel that only updates elements keeps its shares.
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/flow/gen_flow.h"

/* A store, and the one before that has the same address but for the constant. */
struct store {
    const struct ir_instr *in;
    struct store *before;
};

struct stores {
    bool *by;            /* by value: a pointer that something is stored by */
    struct store **last; /* by value: of the stores to it */
};

static bool store_note(struct gen *g, struct stores *stores, const struct ir_instr *in)
{
    struct store *store = hd_arena_array(&g->arena, struct store, 1);
    const struct ir_value *root = gen_root_of(in->src[0]);

    if (!store)
        return false;
    *store = (struct store){.in = in, .before = stores->last[in->src[0]->id]};
    stores->last[in->src[0]->id] = store;
    if (root)
        stores->by[root->id] = true;
    return true;
}

static bool stores_find(struct gen *g, struct stores *out)
{
    out->by = hd_arena_array(&g->arena, bool, g->func->nvalues + 1);
    out->last = hd_arena_array(&g->arena, struct store *, g->func->nvalues + 1);
    if (!out->by || !out->last)
        return false;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (in->op == IR_OP_ST && gen_is_far(in) && !store_note(g, out, in))
                return false;
        }
    }
    return true;
}

static bool reads_others(const struct stores *stores, const struct ir_instr *in)
{
    const struct ir_value *root = gen_root_of(in->src[0]);
    const struct store *store = stores->last[in->src[0]->id];

    while (store && store->in->mem.offset != in->mem.offset)
        store = store->before;
    return root && stores->by[root->id] && !store;
}

bool gen_reads_stored(struct gen *g)
{
    struct stores stores;

    if (!stores_find(g, &stores))
        return true; /* no memory, which the arena knows */
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (in->op == IR_OP_LD && gen_is_far(in) && reads_others(&stores, in))
                return true;
        }
    }
    return false;
}
