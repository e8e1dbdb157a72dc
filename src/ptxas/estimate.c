/* See estimate.h. */
#include "ptxas/estimate.h"

#include "analysis/analysis.h"

/* Of a multiprocessor (CUDA C++ Programming Guide, technical specifications). */
#define SM_REGISTERS 65536u
/* A stack pointer and what addresses take, whatever the kernel does. */
#define OWN_REGISTERS 4
#define BARRIERS_MAX  16
/* An assembler moves instructions to save one register in so many before it spills. */
#define SLACK 4

struct pressure {
    const struct ir_func *func;
    const struct ir_liveness *live;
    uint64_t *bits;
    uint32_t now, most;
};

/* A base and a distance: part of the address of a load or store. */
static bool is_offset(const struct ir_value *v)
{
    uint64_t bits;

    return v->instr && v->instr->op == IR_OP_ADD && v->instr->nsrc == 2 &&
           (ir_value_const(v->instr->src[0], &bits) || ir_value_const(v->instr->src[1], &bits));
}

/* Constants are part of instructions, and predicates have registers of their own. */
static uint32_t weight(const struct ir_value *v)
{
    uint64_t bits;

    if (v->type == IR_PRED || ir_value_const(v, &bits) || is_offset(v))
        return 0;
    return (ir_type_bits(v->type) + 31) / 32;
}

static void value_born(struct pressure *p, const struct ir_value *v)
{
    uint64_t bit = 1ull << (v->id % 64);

    if (p->bits[v->id / 64] & bit)
        return;
    p->bits[v->id / 64] |= bit;
    p->now += weight(v);
}

static void value_dead(struct pressure *p, const struct ir_value *v)
{
    uint64_t bit = 1ull << (v->id % 64);

    if (!(p->bits[v->id / 64] & bit))
        return;
    p->bits[v->id / 64] &= ~bit;
    p->now -= weight(v);
}

/* weights[id]: of every value that an instruction defines. */
static void block_walk(struct pressure *p, const struct ir_block *block, const uint8_t *weights)
{
    struct ir_live_set out = ir_live_out(p->live, block->id);

    ir_live_bits(p->live, out, p->bits);
    p->now = 0;
    for (uint32_t i = 0; i < out.n; i++)
        p->now += weights[out.ids[i]];
    for (const struct ir_instr *in = block->last; in; in = in->prev) {
        /* Backwards: results end here, operands begin. */
        for (uint32_t i = 0; i < in->ndst; i++)
            value_born(p, in->dst[i]);
        p->most = HD_MAX(p->most, p->now);
        for (uint32_t i = 0; i < in->ndst; i++)
            value_dead(p, in->dst[i]);
        for (uint32_t i = 0; i < in->nsrc && in->op != IR_OP_PHI; i++)
            value_born(p, in->src[i]);
        p->most = HD_MAX(p->most, p->now);
    }
}

static enum hd_status pressure_find(const struct ir_func *func, struct hd_arena *arena,
                                    unsigned *out_registers)
{
    struct ir_liveness live;
    struct pressure p = {.func = func, .live = &live};
    uint8_t *weights = hd_arena_array(arena, uint8_t, func->nvalues + 1);

    HD_TRY(ir_liveness_compute(func, arena, &live));
    p.bits = hd_arena_array(arena, uint64_t, live.words + 1);
    if (!weights || !p.bits)
        return hd_error(HD_NO_MEMORY, "estimating the registers of %s", func->name);
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(in, func->blocks[b])
            for (uint32_t i = 0; i < in->ndst; i++)
                weights[in->dst[i]->id] = (uint8_t)weight(in->dst[i]);
    for (uint32_t b = 0; b < func->nblocks; b++)
        block_walk(&p, func->blocks[b], weights);
    *out_registers = p.most + OWN_REGISTERS;
    return HD_OK;
}

/* ---- what instructions name */

static uint32_t barriers_of(const struct ir_instr *in)
{
    uint64_t number = 0;

    if (in->op != IR_OP_BAR || in->imm >= IR_BAR_CLUSTER_ARRIVE)
        return 0;
    if (in->nsrc && !ir_value_const(in->src[0], &number))
        return (1u << BARRIERS_MAX) - 1;
    return number < BARRIERS_MAX ? 1u << number : 0;
}

static bool is_double(const struct ir_instr *in)
{
    return in->type == IR_F64;
}

/* .maxnreg, and what .maxntid and .minnctapersm leave of a multiprocessor's registers. */
static unsigned limit_find(const struct ir_func *func, unsigned limit)
{
    const uint32_t *bound = func->reqntid[0] ? func->reqntid : func->maxntid;
    uint64_t threads = (uint64_t)bound[0] * HD_MAX(bound[1], 1) * HD_MAX(bound[2], 1);

    if (func->maxnreg)
        limit = HD_MIN(limit, func->maxnreg);
    if (threads && threads <= SM_REGISTERS && func->minnctapersm)
        limit = (unsigned)HD_MIN(limit, SM_REGISTERS / threads / func->minnctapersm);
    return limit;
}

enum hd_status ptxas_estimate(const struct ir_func *kernel, unsigned limit,
                              struct ptxas_estimate *out)
{
    struct ir_window window;
    struct hd_arena arena;
    enum hd_status status;

    *out = (struct ptxas_estimate){0};
    HD_TRY(ir_kernel_window(kernel, &window));
    out->stack_B = window.local_B;
    out->shared_B = window.shared_B;
    uint32_t barriers = 0;
    for (uint32_t b = 0; b < kernel->nblocks; b++)
        ir_foreach_instr(in, kernel->blocks[b]) {
            barriers |= barriers_of(in);
            out->uses_doubles |= is_double(in);
        }
    out->barriers = barriers ? 32 - (unsigned)__builtin_clz(barriers) : 0;
    hd_arena_init(&arena);
    status = pressure_find(kernel, &arena, &out->registers);
    hd_arena_fini(&arena);
    limit = limit_find(kernel, limit);
    if (out->registers > limit + limit / SLACK)
        out->spilled = out->registers - limit;
    out->registers = HD_MIN(out->registers, limit);
    return status;
}
