/* Pure instructions: rows of sources to rows of results, in the lanes that execute them. */
#include "sim/sim_private.h"

#include <string.h>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

void sim_mode(struct sim_run *run, uint32_t mode)
{
    mode = mode ? mode : SIM_MODE_USUAL;
    if (run->mode == mode)
        return;
    run->mode = mode;
#ifdef __x86_64__
    _mm_setcsr(mode);
#endif
}

bool sim_bank_word(const struct sim_run *run, unsigned bank, int64_t offset, uint32_t *out_word)
{
    *out_word = 0;
    if (bank >= HD_COUNT_OF(run->banks) || offset < 0 || offset + 4 > run->banks[bank].size_B)
        return false;
    memcpy(out_word, run->banks[bank].at + offset, 4);
    return true;
}

/* A source that is one value for the warp; false after a fault. */
static bool uniform_value(struct sim_warp *w, const struct sim_op *op, unsigned i, uint32_t mask,
                          uint32_t out_words[2])
{
    const struct isa_operand *operand = &op->insn->operands[op->src[i].at];

    out_words[1] = 0;
    if (operand->kind == ISA_KIND_UREG) {
        out_words[0] = w->ureg[operand->value];
        if (op->src[i].n > 1 && operand->value != ISA_URZ)
            out_words[1] = w->ureg[operand->value + 1];
        return true;
    }
    assert(operand->kind == ISA_KIND_CONSTANT && op->src[i].n <= 2);
    for (unsigned k = 0; k < op->src[i].n; k++) {
        int64_t offset = operand->value + 4 * k;

        offset += operand->ureg == ISA_URZ ? 0 : w->ureg[operand->ureg];
        if (!sim_bank_word(w->run, operand->bank, offset, &out_words[k])) {
            sim_fail(w, (unsigned)__builtin_ctz(mask), HD_ILLEGAL_ADDRESS,
                     "read outside of bank %u of constants, at %#llx", operand->bank,
                     (unsigned long long)offset);
            return false;
        }
    }
    return true;
}

bool sim_fetch_uniform(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t words[2];

        if (op->src[i].base != SIM_BASE_UNIFORM)
            continue;
        if (!uniform_value(w, op, i, mask, words))
            return false;
        for (unsigned k = 0; k < 2; k++)
            for (unsigned lane = 0; lane < SIM_LANES; lane++)
                w->uniform[2 * i + k][lane] = words[k];
    }
    return true;
}

/* ---- the reference, lane by lane */

static uint64_t lane_source(const uint32_t *rows, unsigned n, unsigned lane)
{
    return n > 1 ? sim_pair(rows, lane) : rows[lane];
}

static void reference_rows(struct sim_io *io)
{
    const struct sim_op *op = io->op;

    SIM_FOR_LANES(lane, io->mask)
    {
        struct sim_lane l = {.a = lane_source(io->a, op->src[0].n, lane),
                             .b = lane_source(io->b, op->src[1].n, lane),
                             .c = lane_source(io->c, op->src[2].n, lane),
                             .pa = io->pa >> lane & 1,
                             .pb = io->pb >> lane & 1,
                             .pc = io->pc >> lane & 1};

        sim_sem_lane(op->sem, &l);
        for (unsigned k = 0; k < op->nd; k++)
            io->d[k * SIM_LANES + lane] = (uint32_t)(l.d >> 32 * k);
        io->pd |= (uint32_t)l.pd << lane;
        io->pe |= (uint32_t)l.pe << lane;
    }
}

enum sim_step sim_exec_pure(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t *d = w->regs + op->d * SIM_LANES;
    struct sim_io io = {.op = op, .mask = mask};

    if (op->has_uniform_source && !sim_fetch_uniform(w, op, mask))
        return SIM_STOP;
    io.d = mask == UINT32_MAX && op->nd ? d : w->scratch[0];
    io.a = sim_src_rows(w, op, 0);
    io.b = sim_src_rows(w, op, 1);
    io.c = sim_src_rows(w, op, 2);
    io.pa = sim_pred(w, op, op->pa, op->pa_not);
    io.pb = sim_pred(w, op, op->pb, op->pb_not);
    io.pc = sim_pred(w, op, op->pc, op->pc_not);
    if (op->rows) {
        if (op->mode)
            sim_mode(w->run, op->mode);
        op->rows(&io);
    } else {
        sim_mode(w->run, 0);
        reference_rows(&io);
    }
    if (io.d != d)
        sim_blend(w, d, io.d, op->nd, mask);
    sim_set_pred(w, op, op->pd, mask, io.pd);
    sim_set_pred(w, op, op->pe, mask, io.pe);
    return SIM_NEXT;
}

/* One that has a loop, and no predicates and uniform registers. */
enum sim_step sim_exec_simple(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t *d = w->regs + op->d * SIM_LANES;
    struct sim_io io = {.op = op,
                        .d = mask == UINT32_MAX ? d : w->scratch[0],
                        .a = w->base[op->src[0].base] + op->src[0].row * SIM_LANES,
                        .b = w->base[op->src[1].base] + op->src[1].row * SIM_LANES,
                        .c = w->base[op->src[2].base] + op->src[2].row * SIM_LANES};

    if (op->mode)
        sim_mode(w->run, op->mode);
    op->rows(&io);
    if (io.d != d)
        sim_blend(w, d, io.d, op->nd, mask);
    return SIM_NEXT;
}

/* ---- the uniform datapath */

static bool uniform_source(struct sim_warp *w, const struct sim_op *op, unsigned i, uint32_t mask,
                           uint64_t *out_value)
{
    uint32_t words[2] = {0, 0};

    *out_value = 0;
    if (!op->src[i].n)
        return true;
    if (op->src[i].base == SIM_BASE_UNIFORM) {
        if (!uniform_value(w, op, i, mask, words))
            return false;
    } else {
        const uint32_t *rows = sim_src_rows(w, op, i);

        for (unsigned k = 0; k < op->src[i].n; k++)
            words[k] = rows[k * SIM_LANES];
    }
    *out_value = words[0] | (uint64_t)words[1] << 32;
    return true;
}

enum sim_step sim_exec_uniform(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_lane l = {.pa = sim_pred(w, op, op->pa, op->pa_not) & 1,
                         .pb = sim_pred(w, op, op->pb, op->pb_not) & 1,
                         .pc = sim_pred(w, op, op->pc, op->pc_not) & 1};

    if (!uniform_source(w, op, 0, mask, &l.a) || !uniform_source(w, op, 1, mask, &l.b) ||
        !uniform_source(w, op, 2, mask, &l.c))
        return SIM_STOP;
    sim_mode(w->run, 0);
    sim_sem_lane(op->sem, &l);
    for (unsigned k = 0; k < op->nd && op->d != ISA_URZ; k++)
        w->ureg[op->d + k] = (uint32_t)(l.d >> 32 * k);
    sim_set_pred(w, op, op->pd, mask, l.pd);
    sim_set_pred(w, op, op->pe, mask, l.pe);
    return SIM_NEXT;
}
