/* Multimem instructions: model/multimem.h says what they do; here is where their operands are. */
#include "interp/interp_priv.h"
#include "model/multimem.h"

enum { BLOCK_B = 16 };

static bool find(void *user, uint64_t address, struct ir_replicas *out_replicas)
{
    const struct interp_launch *l = user;
    return l->replicas && l->replicas(address, out_replicas);
}

static struct ir_replica_finder finder_of(const struct interp_thread *t)
{
    return (struct ir_replica_finder){find, (void *)(uintptr_t)t->cta->run->launch};
}

static enum interp_step end(struct interp_thread *t, enum hd_status status, uint64_t address)
{
    if (status == HD_OK)
        return INTERP_NEXT;
    if (status == HD_MISALIGNED)
        return interp_fail(t, status, "misaligned multimem access at 0x%llx",
                           (unsigned long long)address);
    return interp_fail(t, status, "multimem access at 0x%llx: %s", (unsigned long long)address,
                       ir_multimem_refusal);
}

static enum interp_step copy(struct interp_thread *t, const struct ir_multimem *m)
{
    uint64_t dst = interp_address(t), size_B = interp_src(t, 2);
    uint64_t src = interp_from_generic(t, IR_SPACE_SHARED, interp_src(t, 1));
    uint32_t bytes = m->verb == IR_MULTIMEM_COPY ? (uint32_t)interp_src(t, 3) : 0;
    if ((dst | size_B) % BLOCK_B)
        return end(t, HD_MISALIGNED, dst);
    for (uint64_t at = 0; at < size_B; at += BLOCK_B) {
        void *from = interp_host_at(t, IR_SPACE_SHARED, src + at, BLOCK_B, BLOCK_B, false);
        if (!from)
            return INTERP_FAULTED;
        enum hd_status status = ir_multimem_copy(m, finder_of(t), dst + at, from, BLOCK_B, bytes);
        if (status != HD_OK)
            return end(t, status, dst + at);
    }
    t->cta->run->effects++;
    return INTERP_NEXT;
}

enum interp_step interp_multimem(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    const struct ir_multimem m = ir_multimem_of(in);
    uint64_t registers[IR_MULTIMEM_REGISTERS] = {0};
    if (ir_multimem_copies(&m))
        return copy(t, &m);
    for (uint32_t i = 1; i < in->nsrc; i++)
        registers[i - 1] = interp_src(t, i);
    uint64_t address = interp_address(t);
    enum hd_status status = ir_multimem_access(&m, finder_of(t), address, registers);
    for (uint32_t i = 0; i < in->ndst; i++)
        interp_set(t, i, registers[i]);
    t->cta->run->effects += m.verb != IR_MULTIMEM_LOAD;
    interp_note_poll(t);
    return end(t, status, address);
}
