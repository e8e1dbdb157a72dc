/* Block copies, in units that no page boundary divides, and barriers in shared memory. */
#include <string.h>

#include "interp/interp_priv.h"
#include "model/mbarrier.h"

struct copy {
    enum ir_space space; /* of dst; src is generic */
    uint64_t dst, src;
    uint64_t size_B, total_B; /* what is read; what is written, the rest with zeroes */
    unsigned unit_B;
    unsigned bytes; /* of each 16: which are written */
};

static bool read_unit(struct interp_thread *t, const struct copy *c, uint64_t at, char *out)
{
    uint64_t n = HD_MIN(c->size_B - at, c->unit_B);
    char *from = interp_host_at(t, IR_SPACE_GENERIC, c->src + at, n, c->unit_B, false);
    if (from)
        memcpy(out, from, n);
    return from != NULL;
}

static bool copy_all(struct interp_thread *t, const struct copy *c)
{
    for (uint64_t at = 0; at < c->total_B; at += c->unit_B) {
        char unit[16] = {0};
        if (at < c->size_B && !read_unit(t, c, at, unit))
            return false;
        char *to = interp_host_at(t, c->space, c->dst + at, c->unit_B, c->unit_B, true);
        for (unsigned i = 0; to && i < c->unit_B; i++) {
            if (c->bytes >> ((at + i) & 15) & 1)
                to[i] = unit[i];
        }
        if (to == NULL)
            return false;
    }
    return true;
}

/* To the same place of each CTA that is named. */
static bool copy_cast(struct interp_thread *t, const struct copy *c)
{
    uint32_t ranks = c->bytes >> IR_COPY_RANKS_AT & 0xffff;
    for (; ranks; ranks &= ranks - 1) {
        struct copy one = *c;
        one.dst = ir_cluster_address(c->dst, (uint32_t)__builtin_ctz(ranks));
        if (!copy_all(t, &one))
            return false;
    }
    return true;
}

enum interp_step interp_copy(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    struct copy c = {.space = in->mem.space,
                     .dst = interp_address(t),
                     .src = interp_src(t, 1),
                     .size_B = interp_src(t, 2),
                     .total_B = interp_src(t, 3),
                     .unit_B = (unsigned)in->imm & ~(unsigned)IR_COPY_CASTS,
                     .bytes = (unsigned)interp_src(t, 4)};
    assert(c.unit_B <= 16 && hd_is_pow2(c.unit_B));
    if (c.total_B % c.unit_B)
        return interp_fail(t, HD_MISALIGNED, "copy of %llu bytes in units of %u",
                           (unsigned long long)c.total_B, c.unit_B);
    bool ok = in->imm & IR_COPY_CASTS ? copy_cast(t, &c) : copy_all(t, &c);
    return ok ? INTERP_NEXT : INTERP_FAULTED;
}

/* One element at a time, each atomic. */
static bool reduce_element(struct interp_thread *t, uint64_t dst, uint64_t src)
{
    const struct ir_instr *in = t->frame->pc;
    unsigned size_B = ir_type_bits(in->type) / 8;
    uint64_t x = 0;
    void *from = interp_host_at(t, IR_SPACE_GENERIC, src, size_B, size_B, false);
    if (!from)
        return false;
    memcpy(&x, from, size_B);
    void *to = interp_host_at(t, in->mem.space, dst, size_B, size_B, true);
    if (to)
        interp_combine(in, to, x, 0);
    return to != NULL;
}

enum interp_step interp_reduce(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    uint64_t dst = interp_address(t), src = interp_src(t, 1), size_B = interp_src(t, 2);
    unsigned element_B = ir_type_bits(in->type) / 8;
    if ((dst | src | size_B) & 15)
        return interp_fail(t, HD_MISALIGNED, "reduction of %llu bytes from %#llx to %#llx",
                           (unsigned long long)size_B, (unsigned long long)src,
                           (unsigned long long)dst);
    for (uint64_t at = 0; at < size_B; at += element_B) {
        if (!reduce_element(t, dst + at, src + at))
            return INTERP_FAULTED;
    }
    return INTERP_NEXT;
}

/* At the same place in each CTA that the operand names. */
static enum interp_step cast(struct interp_thread *t, enum ir_mbarrier op)
{
    uint64_t operand = interp_src(t, 1);
    for (uint32_t ranks = (uint32_t)(operand >> 32); ranks; ranks &= ranks - 1) {
        uint64_t address = ir_cluster_address(interp_address(t), (uint32_t)__builtin_ctz(ranks));
        void *at =
            interp_host_at(t, t->frame->pc->mem.space, address, IR_MBARRIER_B, IR_MBARRIER_B, true);
        if (!at)
            return INTERP_FAULTED;
        ir_mbarrier_do(op, at, (uint32_t)operand);
    }
    return INTERP_NEXT;
}

enum interp_step interp_mbarrier(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    enum ir_mbarrier op = (enum ir_mbarrier)in->imm;
    if (ir_mbarrier_of_cast(op) != op)
        return cast(t, ir_mbarrier_of_cast(op));
    void *at = interp_host_at(t, in->mem.space, interp_address(t), IR_MBARRIER_B, IR_MBARRIER_B,
                              !ir_mbarrier_tests(op));
    if (!at)
        return INTERP_FAULTED;
    uint64_t result = ir_mbarrier_do(op, at, interp_src(t, 1));
    if (in->ndst)
        interp_set(t, 0, result);
    t->warp->has_passed |= ir_mbarrier_tests(op) && result;
    interp_note_poll(t);
    return INTERP_NEXT;
}
