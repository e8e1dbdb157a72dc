/*
 * Which kernels may have code for several warps at once, or for one half of a warp after the other.
 * What the lanes of a warp do together has no form for either; the rest is the code generator's to
 * judge.
 */
#include "jit/launch_class.h"

#include "base/arena.h"
#include "ir/probe.h"

enum { INSTRS_MAX = 1500, VECTOR_MAX = 2, VECTOR_OF_HALF_MAX = 4 };

static bool memory_fits(const struct ir_instr *in, unsigned vector_max)
{
    return in->mem.sem == IR_SEM_WEAK && in->mem.space != IR_SPACE_LOCAL &&
           in->mem.space != IR_SPACE_TENSOR && in->mem.vec <= vector_max &&
           ir_type_bits(in->type) <= 64;
}

/* Counters add up over the warps; what is told is told of one. */
static bool probe_fits(const struct ir_instr *probe)
{
    enum ir_op op = ir_probe_op(probe);

    if (!probe->block->func->module->has_counts)
        return false;
    return probe->op == IR_OP_PROBE
               ? op == IR_OP_NOTE || op == IR_OP_CBR
               : (op == IR_OP_LD || op == IR_OP_ST) &&
                     (probe->mem.space == IR_SPACE_SHARED || probe->mem.space == IR_SPACE_GLOBAL);
}

static bool instr_fits(const struct ir_instr *in, unsigned vector_max)
{
    switch (in->op) {
    case IR_OP_LD:
    case IR_OP_ST:
        return memory_fits(in, vector_max);
    case IR_OP_PROBE:
    case IR_OP_PROBE_ACCESS:
        return probe_fits(in);
    case IR_OP_BAR:
        return in->imm < IR_BAR_RED_POPC;
    case IR_OP_SREG:
        return ir_sreg_scope((enum ir_sreg)in->imm) != IR_SREG_WARP &&
               ir_sreg_scope((enum ir_sreg)in->imm) != IR_SREG_VOLATILE;
    case IR_OP_BR:
    case IR_OP_CBR:
    case IR_OP_SWITCH:
    case IR_OP_RET:
    case IR_OP_EXIT:
        return true;
    default:
        return ir_op_has(in->op, IR_F_PURE) || ir_op_has(in->op, IR_F_HINT);
    }
}

static bool all_fit(const struct ir_func *kernel, unsigned vector_max)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < kernel->nblocks; b++) {
        ir_foreach_instr(in, kernel->blocks[b]) {
            if (!instr_fits(in, vector_max) || ++n > INSTRS_MAX)
                return false;
        }
    }
    return true;
}

bool jit_warps_fit(const struct ir_func *kernel)
{
    return all_fit(kernel, VECTOR_MAX);
}

/* ---- halves: what one lane of a warp leaves in memory, another one may find without a barrier */

enum { SHARED = 1, GLOBAL = 2, STORES_AT = 2 /* bits of loads, then those of stores */ };

static unsigned accesses_of(const struct ir_instr *in)
{
    enum ir_space space = in->mem.space;
    unsigned memory = space == IR_SPACE_GLOBAL    ? GLOBAL
                      : ir_space_is_shared(space) ? SHARED
                      : space == IR_SPACE_GENERIC ? SHARED | GLOBAL
                                                  : 0;

    if ((in->op != IR_OP_LD && in->op != IR_OP_ST) || ir_has(in, IR_MOD_NC)) /* nobody writes */
        return 0;
    return in->op == IR_OP_LD ? memory : memory << STORES_AT;
}

/* What there was since the last barrier, behind the block; false: the same memory was read and
 * written in between. */
static bool through(const struct ir_block *b, uint8_t *seen)
{
    ir_foreach_instr(in, b) {
        *seen = in->op == IR_OP_BAR ? 0 : *seen | (uint8_t)accesses_of(in);
        if (*seen & *seen >> STORES_AT)
            return false;
    }
    return true;
}

static bool memory_is_apart(const struct ir_func *kernel, uint8_t *at_start)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < kernel->nblocks; b++) {
            const struct ir_block *block = kernel->blocks[b];
            uint8_t seen = at_start[b];
            if (!through(block, &seen))
                return false;
            for (uint32_t s = 0; s < block->nsuccs; s++) {
                uint8_t *next = &at_start[block->succs[s]->id];
                changed |= (seen & ~*next) != 0;
                *next |= seen;
            }
        }
    }
    return true;
}

bool jit_halves_fit(const struct ir_func *kernel)
{
    struct hd_arena arena;

    /* A warp's halves would have to be counted together. */
    if (kernel->module->has_counts || !all_fit(kernel, VECTOR_OF_HALF_MAX))
        return false;
    hd_arena_init(&arena);
    uint8_t *at_start = hd_arena_array(&arena, uint8_t, kernel->nblocks);
    bool fits = at_start && memory_is_apart(kernel, at_start);
    hd_arena_fini(&arena);
    return fits;
}
