/* requires: nothing. keeps: cfg, dominance. breaks: liveness, shapes. */
#include "opt/passes.h"

#include <string.h>

/*
 * Devices make products that stand together at once, and prepare each factor once. So a product
 * moves down to the next one of its kind, past loads of later factors: up to whoever needs its
 * result, or waits.
 */

enum { WAITING_MAX = 128 };

struct waiting {
    struct ir_instr *product[WAITING_MAX];
    unsigned n;
};

/* All registers, which nobody can see changing. */
static bool can_move(const struct ir_instr *in)
{
    return in->op == IR_OP_MMA && !(ir_ext_mma(in)->flags >> IR_MMA_A_WINDOW & 1) &&
           !(ir_ext_mma(in)->flags >> IR_MMA_B_WINDOW & 1);
}

static bool is_alike(const struct ir_instr *a, const struct ir_instr *b)
{
    return can_move(b) && !memcmp(ir_ext_mma(a), ir_ext_mma(b), sizeof(struct ir_mma));
}

static bool waits(const struct waiting *w, const struct ir_instr *in)
{
    for (unsigned i = 0; i < w->n; i++) {
        if (w->product[i] == in)
            return true;
    }
    return false;
}

static bool reads(const struct waiting *w, const struct ir_instr *in)
{
    for (uint32_t i = 0; i < in->nsrc; i++) {
        const struct ir_instr *from = in->src[i]->instr;
        if (from && from->op == IR_OP_MMA && waits(w, from))
            return true;
    }
    return false;
}

/* Lanes may end, meet or wait there. */
static bool parts(const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_EFFECT | IR_F_TERM) && in->op != IR_OP_LDMATRIX &&
           in->op != IR_OP_STMATRIX && in->op != IR_OP_MOVMATRIX;
}

/* The products go where the last of them is, in their order. */
static bool move(struct waiting *w)
{
    bool changed = false;
    for (unsigned i = 0; i + 1 < w->n; i++) {
        if (w->product[i]->next == w->product[i + 1])
            continue;
        for (unsigned j = 0; j <= i; j++)
            ir_instr_move_before(w->product[j], w->product[i + 1]);
        changed = true;
    }
    w->n = 0;
    return changed;
}

bool ir_opt_products(struct ir_func *func)
{
    bool changed = false;

    for (uint32_t b = 0; b < func->nblocks; b++) {
        struct waiting w = {.n = 0};
        ir_foreach_instr_safe(in, func->blocks[b]) {
            if (!can_move(in)) {
                if (w.n && (parts(in) || reads(&w, in)))
                    changed |= move(&w);
                continue;
            }
            if (w.n == WAITING_MAX || (w.n && !is_alike(w.product[0], in)))
                changed |= move(&w);
            w.product[w.n++] = in;
        }
        changed |= move(&w);
    }
    return changed;
}
