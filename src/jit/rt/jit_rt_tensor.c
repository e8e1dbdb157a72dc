/* Operations on tensor memory (model/tensor.h), which gen/gen_matrix.c calls. */
#include "jit/rt/jit_rt_mma.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "model/tensor.h"
#include "jit/jit_cluster.h"

enum { LANES = 32 };

struct here {
    struct jit_cta *cta;
    struct jit_warp *warp;
    uint32_t instr_idx, lane;
};

static void fault(const struct here *h, enum hd_status status, uint64_t address)
{
    h->cta->launch->services->fault(h->cta, h->warp, 1u << h->lane, h->instr_idx, status, address);
}

/* Workers keep the memory for the CTAs that come after. */
static struct ir_tensor_memory *memory_of(const struct here *h, struct jit_cta *cta)
{
    const uint64_t owner[3] = {(uint64_t)(uintptr_t)cta->launch ^ cta->launch->grid_id << 48,
                               cta->ctaid[0] | (uint64_t)cta->ctaid[1] << 32, cta->ctaid[2] + 1ull};
    if (!cta->tensor)
        cta->tensor = hd_new(struct ir_tensor_memory);
    if (!cta->tensor)
        fault(h, HD_NO_MEMORY, 0);
    ir_tensor_memory_own(cta->tensor, owner);
    return cta->tensor;
}

static struct ir_tensor_block block_of(const struct here *h, struct jit_cta *cta)
{
    return (struct ir_tensor_block){memory_of(h, cta), {cta->shared, cta->launch->shared_B}};
}

/* The CTA, or where it needs a pair, the two; a cluster may lack one. */
static void blocks_find(const struct here *h, const struct ir_tensor *op, struct ir_tensor_cta *out)
{
    uint32_t rank = h->cta->cluster_rank, even = rank & ~1u;

    out->nblocks = 1;
    if (!(op->flags >> IR_TENSOR_PAIR & 1) || even + 1 >= jit_cluster_ctas(h->cta)) {
        out->block[0] = block_of(h, h->cta);
        return;
    }
    out->own = rank & 1;
    for (out->nblocks = 0; out->nblocks < IR_TENSOR_BLOCKS; out->nblocks++)
        out->block[out->nblocks] =
            block_of(h, h->cta->launch->services->cluster_cta(h->cta, even + out->nblocks));
}

static void tensor_do(const struct here *h, const struct ir_tensor *op, enum jit_path path,
                      const uint32_t *src, uint32_t *dst)
{
    struct ir_tensor_cta cta = {
        .warp = h->warp->index,
        .lane = h->lane,
        .fast = jit_tensor_fast(path),
    };
    struct ir_tensor_error error;
    blocks_find(h, op, &cta);
    if (ir_tensor_do(op, &cta, src, dst, &error))
        return;
    h->cta->launch->services->refuse(h->cta, h->warp, 1u << h->lane, h->instr_idx, error.status,
                                     error.at, error.why);
}

/* A warp's operation, or one for each lane; other lanes' registers hold anything. */
void jit_rt_tensor(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                   uint64_t low, uint64_t high, uint32_t path, const uint32_t *src, uint32_t *dst);
void jit_rt_tensor(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                   uint64_t low, uint64_t high, uint32_t path, const uint32_t *src, uint32_t *dst)
{
    const uint64_t words[2] = {low, high};
    struct here h = {cta, warp, instr_idx, 0};
    struct ir_tensor op;
    memcpy(&op, words, sizeof(op));
    for (; mask; mask &= mask - 1) {
        h.lane = (uint32_t)__builtin_ctz(mask);
        tensor_do(&h, &op, (enum jit_path)path, src, dst);
        if (op.op < IR_TENSOR_CP)
            return;
    }
}

void *jit_rt_tensor_lookup(const char *name)
{
    return strcmp(name, "jit_rt_tensor") ? NULL : (void *)jit_rt_tensor;
}
