/* Vector registers: where one stands for its elements, the rest of the lowering sees their list. */
#include "lower/lower_priv.h"

static bool has_vector(const struct ptx_operand *op)
{
    bool found = ptx_operand_is_vector(op);
    for (uint32_t i = 0; i < op->nitems && !found; i++)
        found = has_vector(&op->items[i]);
    return found;
}

/* False: no memory. */
static bool spread(struct lower_fn *f, const struct ptx_operand *op, struct ptx_operand *out)
{
    *out = *op;
    if (!has_vector(op))
        return true;
    uint32_t n = ptx_operand_is_vector(op) ? PTX_MAX_VECTOR : op->nitems;
    struct ptx_operand *items = hd_arena_array(&f->arena, struct ptx_operand, n);
    if (!items)
        return false;
    if (ptx_operand_is_vector(op)) {
        *out = ptx_operand_elements(op, items);
        return true;
    }
    out->items = items;
    for (uint32_t i = 0; i < op->nitems; i++) {
        if (!spread(f, &op->items[i], &items[i]))
            return false;
    }
    return true;
}

const struct ptx_insn *lower_spread(struct lower_fn *f, const struct ptx_insn *in)
{
    bool found = false;
    for (uint32_t i = 0; i < in->nops; i++)
        found |= has_vector(&in->ops[i]);
    if (!found)
        return in;
    size_t size_B = sizeof(*in) + in->nops * sizeof(in->ops[0]);
    struct ptx_insn *copy = hd_arena_alloc(&f->arena, size_B);
    for (uint32_t i = 0; copy && i < in->nops; i++) {
        if (!i)
            *copy = *in;
        if (!spread(f, &in->ops[i], &copy->ops[i]))
            copy = NULL;
    }
    if (!copy && f->status == HD_OK)
        f->status = hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
    return copy ? copy : in;
}
