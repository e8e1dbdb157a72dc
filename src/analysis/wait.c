/* May threads of a module wait for others of the launch? What analysis/spin.c says of its loops. */
#include "analysis/analysis.h"
#include "analysis/spin.h"

static bool func_may_wait(const struct ir_func *func, struct hd_arena *arena)
{
    struct ir_dom dom;
    struct ir_loops loops;

    if (ir_dom_compute(func, arena, &dom) != HD_OK ||
        ir_loops_compute(func, &dom, arena, &loops) != HD_OK || loops.irreducible)
        return true;
    ir_loops_mark_spins(func, arena, &loops);
    for (uint32_t l = 0; l < loops.nloops; l++)
        if (loops.loops[l].spin_suspect)
            return true;
    return false;
}

bool ir_may_wait(const struct ir_module *module)
{
    struct hd_arena arena;
    bool may = false;

    hd_arena_init(&arena);
    ir_foreach_func(func, module)
        may = may || (func->nblocks && func_may_wait(func, &arena));
    hd_arena_fini(&arena);
    return may;
}
