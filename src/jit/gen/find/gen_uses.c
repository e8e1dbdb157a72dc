/*
 * Who uses a value: found when first asked for.
 */
#include "jit/gen/gen.h"

bool gen_uses_find(struct gen *g)
{
    return g->uses.first || ir_uses_compute(g->func, &g->arena, &g->uses) == HD_OK;
}

bool gen_used_once(struct gen *g, const struct ir_value *v)
{
    return gen_uses_find(g) && g->uses.first[v->id + 1] - g->uses.first[v->id] == 1;
}
