#include "opt/passes.h"

#include <assert.h>

#include "base/mem.h"

void opt_failed(struct ir_func *func)
{
    func->module->arena.failed = true;
}

bool opt_replace_init(struct opt_replace *r, struct ir_func *func)
{
    *r = (struct opt_replace){.func = func, .n = func->nvalues};
    r->map = hd_alloc_array((size_t)func->nvalues + 1, sizeof(*r->map));
    if (!r->map)
        opt_failed(func);
    return r->map != NULL;
}

struct ir_value *opt_replace_get(struct opt_replace *r, struct ir_value *value)
{
    struct ir_value *end = value;

    while (end->id < r->n && r->map[end->id])
        end = r->map[end->id];
    while (value->id < r->n && r->map[value->id]) {
        struct ir_value *next = r->map[value->id];
        r->map[value->id] = end;
        value = next;
    }
    return end;
}

void opt_replace_set(struct opt_replace *r, struct ir_value *from, struct ir_value *to)
{
    assert(r->map && from->type == to->type); /* a value becomes one of its width */
    to = opt_replace_get(r, to);
    if (from->id >= r->n || to == from)
        return;
    r->map[from->id] = to;
    r->changed = true;
}

void opt_replace_sources(struct opt_replace *r, struct ir_instr *instr)
{
    for (uint32_t i = 0; i < instr->nsrc; i++)
        instr->src[i] = opt_replace_get(r, instr->src[i]);
}

bool opt_replace_fini(struct opt_replace *r)
{
    bool changed = r->changed;

    if (changed)
        for (uint32_t b = 0; b < r->func->nblocks; b++)
            ir_foreach_instr(instr, r->func->blocks[b])
                opt_replace_sources(r, instr);
    assert(r->map);
    hd_free(r->map);
    r->map = NULL;
    return changed;
}

struct ir_builder opt_before(struct ir_instr *instr)
{
    return (struct ir_builder){.func = instr->block->func,
                               .block = instr->block,
                               .before = instr,
                               .srcloc = instr->srcloc};
}

void opt_make_const(struct ir_instr *instr, uint64_t bits, uint64_t bits_hi)
{
    enum ir_type type = instr->dst[0]->type;

    assert(instr->ndst == 1 && !ir_op_has(instr->op, IR_F_TERM));
    ir_instr_become(instr, IR_OP_CONST, type);
    instr->nsrc = 0;
    instr->imm = bits & opt_mask(type);
    instr->imm_hi = bits_hi;
}

uint64_t opt_mask(enum ir_type type)
{
    unsigned bits = ir_type_bits(type);

    return bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
}

bool opt_type_is_int(enum ir_type type)
{
    return type != IR_VOID && type != IR_PRED && type != IR_B128 && !ir_type_is_float(type);
}

bool opt_commutes(const struct ir_instr *instr)
{
    return ir_op_has(instr->op, IR_F_COMM) && instr->type != IR_F64;
}

bool opt_removable(const struct ir_instr *instr)
{
    if (ir_op_has(instr->op, IR_F_PURE) || instr->op == IR_OP_SREG)
        return true;
    return instr->op == IR_OP_LD && instr->mem.sem == IR_SEM_WEAK;
}

/* ---- edges */

void opt_edge_remove(struct ir_block *from, struct ir_block *to)
{
    uint32_t at = 0;

    while (at < to->npreds && to->preds[at] != from)
        at++;
    if (at == to->npreds)
        return;
    to->npreds--;
    for (uint32_t i = at; i < to->npreds; i++)
        to->preds[i] = to->preds[i + 1];
    for (struct ir_instr *phi = to->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        phi->nsrc--;
        for (uint32_t i = at; i < phi->nsrc; i++)
            phi->src[i] = phi->src[i + 1];
    }
}

static bool grow(struct hd_arena *arena, void ***array, uint32_t n, void *last)
{
    void **grown = hd_arena_try_alloc_array(arena, (size_t)n + 1, sizeof(void *));

    if (!grown)
        return false;
    if (n)
        memcpy(grown, *array, n * sizeof(void *));
    grown[n] = last;
    *array = grown;
    return true;
}

bool opt_edge_add(struct ir_block *from, struct ir_block *to, uint32_t like)
{
    struct hd_arena *arena = &to->func->module->arena;

    assert(like < to->npreds);
    for (struct ir_instr *phi = to->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
        if (!grow(arena, (void ***)&phi->src, phi->nsrc, phi->src[like]))
            return false;
        phi->nsrc++;
    }
    if (!grow(arena, (void ***)&to->preds, to->npreds, from))
        return false;
    to->npreds++;
    return true;
}
