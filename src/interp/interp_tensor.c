/* Tensor memory (model/tensor.h): made when a CTA first uses it. */
#include <string.h>

#include "base/mem.h"
#include "interp/interp_priv.h"
#include "model/tensor.h"

/* Of the CTA of this rank in the cluster. */
static struct ir_tensor_memory *memory_of(struct interp_thread *t, uint32_t rank)
{
    struct ir_tensor_memory **at = &t->cta->cluster->tensor[rank];
    if (!*at)
        *at = hd_new(struct ir_tensor_memory);
    if (!*at)
        interp_fail(t, HD_NO_MEMORY, "no memory for tensor memory");
    return *at;
}

/* The CTA, or where it needs a pair, the two; a cluster may lack one. */
static bool blocks_find(struct interp_thread *t, const struct ir_tensor *op,
                        struct ir_tensor_cta *out)
{
    const struct interp_run *run = t->cta->run;
    uint32_t even = t->cta->rank & ~1u;
    bool paired = op->flags >> IR_TENSOR_PAIR & 1 && even + 1 < interp_cluster_ctas(run);
    out->nblocks = paired ? IR_TENSOR_BLOCKS : 1;
    out->own = paired ? t->cta->rank & 1 : 0;
    for (uint32_t i = 0; i < out->nblocks; i++) {
        uint32_t rank = paired ? even + i : t->cta->rank;
        char *shared = paired ? t->cta->windows + rank * IR_CLUSTER_STRIDE_B : t->cta->shared;
        out->block[i] = (struct ir_tensor_block){memory_of(t, rank), {shared, run->shared_B}};
        if (!out->block[i].memory)
            return false;
    }
    return true;
}

/* `lane`: of the registers, where the thread's are. */
bool interp_tensor(struct interp_thread *t, const struct ir_tensor *op, unsigned lane,
                   const uint32_t *src, uint32_t *dst)
{
    struct ir_tensor_cta cta = {.warp = t->warp->index, .lane = lane};
    struct ir_tensor_error error;
    if (!blocks_find(t, op, &cta))
        return false;
    if (ir_tensor_do(op, &cta, src, dst, &error))
        return true;
    interp_fail(t, error.status, "%s: %#llx", error.why, (unsigned long long)error.at);
    return false;
}

void interp_tensor_end(struct interp_thread *t)
{
    const struct ir_tensor_memory *memory = t->cta->cluster->tensor[t->cta->rank];
    if (memory && ir_tensor_columns_left(memory))
        interp_fail(t, HD_TRAP, "%s", IR_TENSOR_LEFT);
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
