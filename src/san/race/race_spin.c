/*
 * By which reads loops wait: what they read synchronises, whatever the program calls it. And which
 * plain reads only begin a loop of compare-and-swap, which sees whether the value was right.
 */
#include "analysis/analysis.h"
#include "analysis/spin.h"
#include "ir/probe.h"
#include "san/race/race.h"

#include <assert.h>

/* What the probe stands for. */
static const struct ir_instr *probed(const struct ir_instr *probe)
{
    const struct ir_instr *in = probe->next;

    while (in && (ir_is_probe(in) || in->op != ir_probe_op(probe)))
        in = in->next;
    return in;
}

/* Of a function once: it may have many reads that wait. NULL: no memory. */
static const struct ir_loops *loops_of_locked(struct race_launch *launch,
                                              const struct ir_func *func)
{
    struct hd_arena *arena = &launch->loops_arena;
    struct ir_loops *loops;
    struct ir_dom dom;
    void *known;

    assert(hd_lock_held(&launch->found_lock));
    if (hd_map_find_u64(&launch->loops, (uintptr_t)func, &known))
        return known;
    loops = hd_arena_try_alloc(arena, sizeof(*loops));
    if (loops && (ir_dom_compute(func, arena, &dom) != HD_OK ||
                  ir_loops_compute(func, &dom, arena, loops) != HD_OK))
        loops = NULL;
    (void)!hd_map_put_u64(&launch->loops, (uintptr_t)func, loops);
    return loops;
}

static bool waits(const struct ir_loops *loops, const struct ir_instr *in)
{
    struct hd_arena arena;
    bool waits = false;

    hd_arena_init(&arena);
    for (uint32_t l = loops->loop_of[in->block->id]; l != IR_NO_BLOCK && !waits;
         l = loops->loops[l].parent)
        waits = ir_spin_waits(in->block->func, loops, l, in, &arena);
    hd_arena_fini(&arena);
    return waits || loops->irreducible;
}

bool race_polls(struct race_launch *launch, const struct ir_instr *probe, uint32_t number)
{
    const struct ir_instr *in = probed(probe);
    const struct ir_loops *loops = NULL;
    void *known;

    hd_lock_acquire(&launch->found_lock);
    bool is_known = hd_map_find_u64(&launch->polls, number, &known);
    if (!is_known && in && ir_polls(in))
        loops = loops_of_locked(launch, in->block->func);
    hd_lock_release(&launch->found_lock);
    if (is_known)
        return known != NULL;
    bool polls = loops && waits(loops, in);
    hd_lock_acquire(&launch->found_lock);
    (void)!hd_map_put_u64(&launch->polls, number, polls ? launch : NULL);
    hd_lock_release(&launch->found_lock);
    return polls;
}

/* Of the same place by the same address. */
static bool swaps_there(const struct ir_instr *cas, const struct ir_instr *ld)
{
    return cas->op == IR_OP_ATOM && cas->mem.atom == IR_ATOM_CAS && cas->src[0] == ld->src[0] &&
           cas->mem.offset == ld->mem.offset && cas->mem.space == ld->mem.space;
}

bool race_begins_swap(const struct ir_instr *probe)
{
    const struct ir_instr *ld = probe ? probed(probe) : NULL;

    if (!ld || ld->op != IR_OP_LD)
        return false;
    for (uint32_t b = 0; b < ld->block->func->nblocks; b++)
        ir_foreach_instr(in, ld->block->func->blocks[b])
            if (swaps_there(in, ld))
                return true;
    return false;
}
