/*
 * Liveness value by value: from every use backwards to the definition, over the blocks in between.
 * The work and the memory are those of the answer, so that large functions with short lives are
 * cheap. (B. Boissinot et al., "Computing Liveness Sets for SSA-Form Programs", 2011: by use.)
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "analysis/analysis.h"

/* One value is live at one boundary. */
struct live_pair {
    uint32_t block;
    uint32_t id;
};

struct live_walk {
    const struct ir_func *func;
    uint32_t *in_seen; /* by block: the last value found live in, id + 1 */
    uint32_t *out_seen;
    uint32_t *stack; /* blocks whose predecessors are to be visited */
    uint32_t depth;
    HD_VEC(struct live_pair) in; /* in order of ids */
    HD_VEC(struct live_pair) out;
    bool failed;
};

static void live_in_at(struct live_walk *w, uint32_t id, const struct ir_block *block)
{
    if (w->in_seen[block->id] == id + 1)
        return;
    w->in_seen[block->id] = id + 1;
    w->failed |= !hd_vec_push(&w->in, (struct live_pair){block->id, id});
    assert(w->depth < w->func->nblocks);
    w->stack[w->depth++] = block->id;
}

static void live_out_at(struct live_walk *w, const struct ir_value *value,
                        const struct ir_block *block)
{
    if (w->out_seen[block->id] == value->id + 1)
        return;
    assert(block->id < w->func->nblocks && value->id < w->func->nvalues);
    w->out_seen[block->id] = value->id + 1;
    w->failed |= !hd_vec_push(&w->out, (struct live_pair){block->id, value->id});
    if (!value->instr || value->instr->block != block)
        live_in_at(w, value->id, block);
}

/* Backwards over everything from the blocks on the stack to the definition. */
static void live_spread(struct live_walk *w, const struct ir_value *value)
{
    while (w->depth) {
        const struct ir_block *block = w->func->blocks[w->stack[--w->depth]];
        for (uint32_t p = 0; p < block->npreds; p++)
            live_out_at(w, value, block->preds[p]);
    }
}

static void live_use(struct live_walk *w, const struct ir_value *value, const struct ir_instr *user)
{
    if (user->op == IR_OP_PHI) {
        for (uint32_t p = 0; p < user->nsrc; p++)
            if (user->src[p] == value)
                live_out_at(w, value, user->block->preds[p]);
    } else if (!value->instr || value->instr->block != user->block) {
        live_in_at(w, value->id, user->block);
    }
    live_spread(w, value);
}

/* Every value that somebody reads, in order of ids. */
static void live_walk_all(struct live_walk *w, const struct ir_uses *uses)
{
    for (uint32_t v = 0; v < w->func->nvalues && !w->failed; v++) {
        const struct ir_value *value = NULL;
        for (uint32_t u = uses->first[v]; u < uses->first[v + 1]; u++) {
            const struct ir_instr *user = uses->users[u];
            for (uint32_t s = 0; !value && s < user->nsrc; s++)
                value = user->src[s]->id == v ? user->src[s] : NULL;
            assert(value);
            live_use(w, value, user);
        }
    }
}

/* Sorts by block and keeps the order of ids. */
static bool live_sort(const struct ir_func *func, const struct live_pair *pairs, size_t n,
                      struct hd_arena *arena, size_t **out_first, uint32_t **out_ids)
{
    size_t *first = hd_arena_array(arena, size_t, (size_t)func->nblocks + 2);
    uint32_t *ids = hd_arena_array(arena, uint32_t, n + 1);

    if (!first || !ids)
        return false;
    for (size_t i = 0; i < n; i++)
        first[pairs[i].block + 2]++;
    for (uint32_t b = 1; b <= func->nblocks; b++)
        first[b + 1] += first[b];
    for (size_t i = 0; i < n; i++)
        ids[first[pairs[i].block + 1]++] = pairs[i].id;
    assert(first[func->nblocks] == n);
    *out_first = first;
    *out_ids = ids;
    return true;
}

void ir_live_bits(const struct ir_liveness *l, struct ir_live_set set, uint64_t *out_bits)
{
    memset(out_bits, 0, l->words * sizeof(*out_bits));
    assert(!set.n || set.ids[set.n - 1] / 64 < l->words); /* rising */
    for (uint32_t i = 0; i < set.n; i++)
        out_bits[set.ids[i] / 64] |= 1ull << (set.ids[i] % 64);
}

enum hd_status ir_liveness_compute(const struct ir_func *func, struct hd_arena *arena,
                                   struct ir_liveness *out)
{
    struct live_walk w = {.func = func};
    struct hd_arena scratch;
    struct ir_uses uses;
    bool ok;

    hd_arena_init(&scratch);
    out->words = (func->nvalues + 63) / 64;
    w.in_seen = hd_arena_array(&scratch, uint32_t, (size_t)func->nblocks + 1);
    w.out_seen = hd_arena_array(&scratch, uint32_t, (size_t)func->nblocks + 1);
    w.stack = hd_arena_array(&scratch, uint32_t, (size_t)func->nblocks + 1);
    ok = w.in_seen && w.out_seen && w.stack && ir_uses_compute(func, &scratch, &uses) == HD_OK;
    if (ok)
        live_walk_all(&w, &uses);
    ok = ok && !w.failed && live_sort(func, w.in.at, w.in.len, arena, &out->in_first, &out->in) &&
         live_sort(func, w.out.at, w.out.len, arena, &out->out_first, &out->out);
    hd_vec_fini(&w.in);
    hd_vec_fini(&w.out);
    hd_arena_fini(&scratch);
    return ok ? HD_OK : hd_error(HD_NO_MEMORY, "%s: no memory for liveness", func->name);
}
