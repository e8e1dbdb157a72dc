/*
 * Block copies and barriers in shared memory, lane by lane in lane order (gen/gen_async.c). Faults
 * are reported here: what a lane may copy is only known when it does.
 */
#include "jit/jit_private.h"

#include <string.h>

#include "model/mbarrier.h"
#include "jit/jit_cluster.h"

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

/* Who it is, for reports. */
struct here {
    struct jit_cta *cta;
    struct jit_warp *warp;
    uint32_t instr_idx, lane;
};

static void fault(const struct here *h, enum hd_status status, uint64_t address)
{
    h->cta->launch->services->fault(h->cta, h->warp, 1u << h->lane, h->instr_idx, status, address);
}

/* Strict code asks for everything that is not inside the device's space. */
static void check_strict(const struct here *h, const uint64_t *addresses, uint64_t size_B)
{
    const struct jit_launch *launch = h->cta->launch;
    uint64_t address = addresses[h->lane];

    if (!size_B || (address >= launch->space_va && size_B <= launch->space_B &&
                    address - launch->space_va <= launch->space_B - size_B))
        return;
    launch->services->check(h->cta, h->warp, 1u << h->lane, h->instr_idx, addresses,
                            (uint32_t)HD_MIN(size_B, UINT32_MAX));
}

/* ---- copies */

static void check(const struct here *h, uint32_t how, const uint64_t *dst, const uint64_t *src,
                  uint64_t size_B, uint64_t total_B)
{
    uint64_t odd = (how & 31) - 1, to = dst[h->lane], from = src[h->lane];

    if ((to | total_B) & odd)
        fault(h, HD_MISALIGNED, to);
    if (size_B && (from & odd))
        fault(h, HD_MISALIGNED, from);
    if (how & JIT_ASYNC_SHARED && !jit_cluster_holds(h->cta, to, total_B))
        fault(h, HD_ILLEGAL_ADDRESS, to);
    if (how & JIT_ASYNC_STRICT && !(how & JIT_ASYNC_SHARED))
        check_strict(h, dst, total_B);
    if (how & JIT_ASYNC_STRICT)
        check_strict(h, src, size_B);
}

/* src and dst may overlap, although nothing is promised then. */
static void copy(char *dst, const char *src, uint64_t size_B, uint64_t total_B, uint32_t bytes)
{
    if ((bytes & 0xffff) != 0xffff) {
        for (uint64_t i = 0; i < total_B; i++) {
            if (bytes >> (i & 15) & 1)
                dst[i] = i < size_B ? src[i] : 0;
        }
        return;
    }
    if (size_B)
        memmove(dst, src, size_B);
    if (size_B < total_B)
        memset(dst + size_B, 0, total_B - size_B);
}

/* Host address of the place that CTA `rank` has instead of this one. */
static uint64_t address_in(const struct jit_cta *cta, uint64_t address, uint32_t rank)
{
    uint64_t base = (uint64_t)(uintptr_t)cta->cluster;

    return base + ir_cluster_address(address - base, rank);
}

static void copy_cast(const struct here *h, uint32_t how, uint64_t dst, const uint64_t *src,
                      uint64_t size_B, uint64_t total_B, uint32_t bytes)
{
    uint64_t to[32];

    for (uint32_t r = 0; r < IR_CLUSTER_MAX_CTAS; r++) {
        if (!(bytes >> IR_COPY_RANKS_AT >> r & 1))
            continue;
        to[h->lane] = address_in(h->cta, dst, r);
        check(h, how, to, src, size_B, total_B);
        copy((char *)(uintptr_t)to[h->lane], (const char *)(uintptr_t)src[h->lane], size_B, total_B,
             bytes);
    }
}

void jit_rt_copy(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                 uint32_t how, const uint64_t *dst, const uint64_t *src, const uint64_t *size_B,
                 const uint64_t *total_B, const uint32_t *bytes);
void jit_rt_copy(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                 uint32_t how, const uint64_t *dst, const uint64_t *src, const uint64_t *size_B,
                 const uint64_t *total_B, const uint32_t *bytes)
{
    FOR_LANES(lane, mask)
    {
        const struct here h = {cta, warp, instr_idx, lane};
        uint64_t n = HD_MIN(size_B[lane], total_B[lane]);

        if (how & IR_COPY_CASTS) {
            copy_cast(&h, how, dst[lane], src, n, total_B[lane], bytes[lane]);
            continue;
        }
        check(&h, how, dst, src, n, total_B[lane]);
        copy((char *)(uintptr_t)dst[lane], (const char *)(uintptr_t)src[lane], n, total_B[lane],
             bytes[lane]);
    }
}

/* ---- reductions */

enum { REDUCE_UNIT_B = 16 };

void jit_rt_atom(uint32_t atom, uint32_t type, uint32_t noftz, uint32_t mask, const uint64_t *addr,
                 const void *a, const void *b, void *out);

void jit_rt_reduce(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                   uint32_t how, uint32_t atom, uint32_t type, const uint64_t *dst,
                   const uint64_t *src, const uint64_t *size_B);
void jit_rt_reduce(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                   uint32_t how, uint32_t atom, uint32_t type, const uint64_t *dst,
                   const uint64_t *src, const uint64_t *size_B)
{
    unsigned element_B = ir_type_bits((enum ir_type)type) / 8;

    FOR_LANES(lane, mask)
    {
        const struct here h = {cta, warp, instr_idx, lane};

        check(&h, how | REDUCE_UNIT_B, dst, src, size_B[lane], size_B[lane]);
        for (uint64_t at = 0; at < size_B[lane]; at += element_B) {
            uint64_t to = dst[lane] + at;
            jit_rt_atom(atom, type, 0, 1, &to, (const char *)(uintptr_t)src[lane] + at, NULL, NULL);
        }
    }
}

/* ---- barriers */

static void check_barrier(const struct here *h, uint32_t how, const uint64_t *addresses)
{
    uint64_t address = addresses[h->lane];

    if (address & (IR_MBARRIER_B - 1))
        fault(h, HD_MISALIGNED, address);
    if (how & JIT_ASYNC_SHARED && !jit_cluster_holds(h->cta, address, IR_MBARRIER_B))
        fault(h, HD_ILLEGAL_ADDRESS, address);
    if (how & JIT_ASYNC_STRICT && !(how & JIT_ASYNC_SHARED))
        check_strict(h, addresses, IR_MBARRIER_B);
}

/* The barriers that CTAs have at this address. */
static void cast(const struct here *h, uint32_t how, enum ir_mbarrier op, uint64_t address,
                 uint64_t operand)
{
    uint64_t at[32];

    for (uint32_t r = 0; r < IR_CLUSTER_MAX_CTAS; r++) {
        if (!(operand >> 32 >> r & 1))
            continue;
        at[h->lane] = address_in(h->cta, address, r);
        check_barrier(h, how, at);
        ir_mbarrier_do(op, (void *)(uintptr_t)at[h->lane], (uint32_t)operand);
    }
}

void jit_rt_mbarrier(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                     uint32_t how, const uint64_t *address, const uint64_t *operand, uint64_t *out);
void jit_rt_mbarrier(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx, uint32_t mask,
                     uint32_t how, const uint64_t *address, const uint64_t *operand, uint64_t *out)
{
    enum ir_mbarrier op = (enum ir_mbarrier)(how & 255), each = ir_mbarrier_of_cast(op);

    FOR_LANES(lane, mask)
    {
        const struct here h = {cta, warp, instr_idx, lane};
        uint64_t result;

        if (each != op) {
            cast(&h, how, each, address[lane], operand[lane]);
            continue;
        }
        check_barrier(&h, how, address);
        result = ir_mbarrier_do(op, (void *)(uintptr_t)address[lane], operand[lane]);
        if (out)
            out[lane] = result;
    }
}

static const struct {
    const char *name;
    void *call;
} names[] = {
    {"jit_rt_copy", (void *)jit_rt_copy},
    {"jit_rt_reduce", (void *)jit_rt_reduce},
    {"jit_rt_mbarrier", (void *)jit_rt_mbarrier},
};

void *jit_rt_async_lookup(const char *name);
void *jit_rt_async_lookup(const char *name)
{
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        if (!strcmp(names[i].name, name))
            return names[i].call;
    }
    return NULL;
}
