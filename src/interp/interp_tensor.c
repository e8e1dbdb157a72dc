/* Tensor memory (ir/tensor.h): made when a CTA first uses it. */
#include <string.h>

#include "base/mem.h"
#include "interp/interp_priv.h"
#include "ir/tensor.h"

static struct ir_tensor_memory *memory_of(struct interp_thread *t)
{
    struct interp_cta *cta = t->cta;
    if (!cta->tensor)
        cta->tensor = hd_new(struct ir_tensor_memory);
    if (!cta->tensor)
        interp_fail(t, HD_NO_MEMORY, "no memory for tensor memory");
    return cta->tensor;
}

/* `lane`: of the registers, where the thread's are. */
bool interp_tensor(struct interp_thread *t, const struct ir_tensor *op, unsigned lane,
                   const uint32_t *src, uint32_t *dst)
{
    const struct ir_tensor_cta cta = {.memory = memory_of(t),
                                      .window = {t->cta->shared, t->cta->run->shared_B},
                                      .warp = t->warp->index,
                                      .lane = lane};
    struct ir_tensor_error error;
    if (!cta.memory)
        return false;
    if (ir_tensor_do(op, &cta, src, dst, &error))
        return true;
    interp_fail(t, error.status, "%s: %#llx", error.why, (unsigned long long)error.at);
    return false;
}

enum interp_step interp_tensor_thread(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    uint32_t src[IR_TENSOR_MMA_SOURCES][INTERP_WARP];
    assert(in->op == IR_OP_TENSOR && in->nsrc <= IR_TENSOR_MMA_SOURCES);
    memset(src, 0, sizeof(src));
    for (uint32_t i = 0; i < in->nsrc; i++)
        src[i][0] = (uint32_t)interp_src(t, i);
    return interp_tensor(t, ir_ext_tensor(in), 0, src[0], NULL) ? INTERP_NEXT : INTERP_FAULTED;
}
