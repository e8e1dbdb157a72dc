#include <assert.h>

#include "analysis/analysis.h"

enum hd_status ir_uses_compute(const struct ir_func *func, struct hd_arena *arena,
                               struct ir_uses *out)
{
    uint32_t total;

    /* One more in front: filling moves first[id + 1] from where id starts to where it ends. */
    out->first = hd_arena_array(arena, uint32_t, (size_t)func->nvalues + 2);
    if (!out->first)
        return hd_error(HD_NO_MEMORY, "%s: no memory for uses", func->name);
    /* Each value's uses in out->first[id + 2], and the number of all. */
    total = 0;
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(instr, func->blocks[b])
            for (uint32_t i = 0; i < instr->nsrc; i++) {
                assert(instr->src[i]->id < func->nvalues);
                out->first[instr->src[i]->id + 2]++;
                total++;
            }
    out->users = hd_arena_array(arena, struct ir_instr *, (size_t)total + 1);
    if (!out->users)
        return hd_error(HD_NO_MEMORY, "%s: no memory for uses", func->name);
    for (uint32_t v = 1; v <= func->nvalues; v++)
        out->first[v + 1] += out->first[v];
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(instr, func->blocks[b])
            for (uint32_t i = 0; i < instr->nsrc; i++)
                out->users[out->first[instr->src[i]->id + 1]++] = instr;
    assert(out->first[func->nvalues] == total);
    return HD_OK;
}
