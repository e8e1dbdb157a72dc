/*
 * Multimem instructions of a warp, lane by lane in lane order (gen/gen_async.c):
 * src/model/multimem.h says what they do. Faults are reported here.
 */
#include "model/multimem.h"

#include <assert.h>
#include <string.h>

#include "jit/jit_cluster.h"
#include "jit/jit_private.h"

enum { LANES = 32, BLOCK_B = 16 };

struct call {
    struct jit_cta *cta;
    struct jit_warp *warp;
    uint32_t instr_idx;
    struct ir_multimem m;
};

static bool find(void *user, uint64_t address, struct ir_replicas *out_replicas)
{
    const struct call *c = user;
    return c->cta->launch->services->replicas(c->cta, address, out_replicas);
}

static void check(const struct call *c, uint32_t lane, enum hd_status status, uint64_t address)
{
    const char *reason = status == HD_ILLEGAL_ADDRESS ? ir_multimem_refusal : NULL;
    if (status != HD_OK)
        c->cta->launch->services->refuse(c->cta, c->warp, 1u << lane, c->instr_idx, status, address,
                                         reason);
}

/* Register i of a lane: they lie as arrays of 32 lanes. */
static void *register_at(const struct call *c, void *registers, unsigned i, uint32_t lane)
{
    return (char *)registers + ((size_t)i * LANES + lane) * c->m.register_B;
}

static void access_lane(struct call *c, uint32_t lane, uint64_t address, void *registers)
{
    uint64_t words[IR_MULTIMEM_REGISTERS] = {0};
    for (unsigned i = 0; i < c->m.registers; i++)
        memcpy(&words[i], register_at(c, registers, i, lane), c->m.register_B);
    check(c, lane, ir_multimem_access(&c->m, (struct ir_replica_finder){find, c}, address, words),
          address);
    for (unsigned i = 0; i < c->m.registers; i++)
        memcpy(register_at(c, registers, i, lane), &words[i], c->m.register_B);
}

void jit_rt_multimem(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                     uint64_t what, const uint64_t *addresses, void *registers);
void jit_rt_multimem(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                     uint64_t what, const uint64_t *addresses, void *registers)
{
    struct call c = {.cta = cta, .warp = warp, .instr_idx = instr_idx};
    memcpy(&c.m, &what, sizeof(c.m));
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        access_lane(&c, lane, addresses[lane], registers);
    }
}

/* ---- copies, from shared memory */

static void copy_lane(struct call *c, uint32_t lane, uint64_t dst, uint64_t src, uint64_t size_B,
                      uint32_t bytes)
{
    if (src % BLOCK_B)
        check(c, lane, HD_MISALIGNED, src);
    if (!jit_cluster_holds(c->cta, src, size_B))
        c->cta->launch->services->fault(c->cta, c->warp, 1u << lane, c->instr_idx,
                                        HD_ILLEGAL_ADDRESS, src);
    check(c, lane,
          ir_multimem_copy(&c->m, (struct ir_replica_finder){find, c}, dst,
                           (const void *)(uintptr_t)src, size_B, bytes),
          dst);
}

void jit_rt_multimem_copy(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx,
                          uint32_t mask, uint64_t what, const uint64_t *dst, const uint64_t *src,
                          const uint64_t *size_B, const uint32_t *bytes);
void jit_rt_multimem_copy(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx,
                          uint32_t mask, uint64_t what, const uint64_t *dst, const uint64_t *src,
                          const uint64_t *size_B, const uint32_t *bytes)
{
    struct call c = {.cta = cta, .warp = warp, .instr_idx = instr_idx};
    memcpy(&c.m, &what, sizeof(c.m));
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        copy_lane(&c, lane, dst[lane], src[lane], size_B[lane], bytes ? bytes[lane] : 0);
    }
}

void *jit_rt_multimem_lookup(const char *name);
void *jit_rt_multimem_lookup(const char *name)
{
    if (!strcmp(name, "jit_rt_multimem"))
        return (void *)jit_rt_multimem;
    return strcmp(name, "jit_rt_multimem_copy") ? NULL : (void *)jit_rt_multimem_copy;
}
