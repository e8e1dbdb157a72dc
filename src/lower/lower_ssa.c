/* Registers to SSA values (Braun et al., "Simple and Efficient Construction of SSA Form", CC 2013). */
#include "lower/lower_priv.h"

static uint64_t key(const struct ir_block *block, uint32_t reg)
{
    return (uint64_t)block->id << 32 | reg;
}

static void define(struct lower_fn *f, const struct ir_block *block, uint32_t reg,
                   struct ir_value *v)
{
    if (!hd_map_put_u64(&f->defs, key(block, reg), v) && f->status == HD_OK)
        f->status = hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
}

static struct ir_value *undefined(struct lower_fn *f, uint32_t reg)
{
    struct ir_block *entry = f->ir->blocks[0];
    struct ir_builder b = {.func = f->ir, .block = entry, .before = entry->first};
    struct ir_instr *in = ir_build_instr(&b, IR_OP_UNDEF, f->reg_types[reg], 0, NULL, 1);
    define(f, entry, reg, in->dst[0]);
    return in->dst[0];
}

/* The value at the end of `block`. Chains of single predecessors are walked, not recursed into. */
static struct ir_value *read_at(struct lower_fn *f, struct ir_block *block, uint32_t reg)
{
    struct ir_block *at = block;
    struct ir_value *v = NULL;
    while (!(v = hd_map_get_u64(&f->defs, key(at, reg)))) {
        if (at->npreds == 1) {
            at = at->preds[0];
            continue;
        }
        if (at->npreds == 0) {
            v = undefined(f, reg);
            break;
        }
        struct ir_instr *phi = ir_build_phi(at, f->reg_types[reg]);
        v = phi->dst[0];
        define(f, at, reg, v);
        if (!hd_vec_push(&f->phis, (struct lower_phi){phi, reg}) && f->status == HD_OK)
            f->status = hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
        break;
    }
    for (struct ir_block *b = block; b != at; b = b->preds[0])
        define(f, b, reg, v);
    return v;
}

struct ir_value *lower_reg_read(struct lower_fn *f, uint32_t reg)
{
    return read_at(f, f->b.block, reg);
}

void lower_reg_write(struct lower_fn *f, uint32_t reg, struct ir_value *v)
{
    define(f, f->b.block, reg, v);
}

/* Reading may make more phis: the list grows while it is worked off. */
enum hd_status lower_ssa_finish(struct lower_fn *f)
{
    for (size_t i = 0; i < f->phis.len && f->status == HD_OK; i++) {
        struct lower_phi p = f->phis.at[i];
        for (uint32_t s = 0; s < p.phi->nsrc; s++)
            p.phi->src[s] = read_at(f, p.phi->block->preds[s], p.reg);
    }
    return f->status;
}
