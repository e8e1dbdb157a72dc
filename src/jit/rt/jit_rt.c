/*
 * Functions that generated code calls: everything LLVM would lower badly or not at all.
 * Arrays have 32 elements, one per lane; lanes outside `mask` are left alone.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "model/eval.h"
#include "jit/rt/jit_rt_count.h"

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

/* ---- any pure operation, by its reference semantics */

static struct ir_bits lane_read(const void *array, uint32_t lane, unsigned size_B)
{
    struct ir_bits bits = {0, 0};
    memcpy(&bits, (const char *)array + (size_t)lane * size_B, size_B);
    return bits;
}

void jit_rt_eval(uint32_t op, uint64_t words, uint64_t imm, uint32_t mask, uint64_t sizes,
                 const void *s0, const void *s1, const void *s2, const void *s3, void *out);
void jit_rt_eval(uint32_t op, uint64_t words, uint64_t imm, uint32_t mask, uint64_t sizes,
                 const void *s0, const void *s1, const void *s2, const void *s3, void *out)
{
    const void *src[4] = {s0, s1, s2, s3};
    struct ir_instr in = {.op = (enum ir_op)(op & 0xffff), .nsrc = op >> 16, .imm = imm};
    unsigned out_B = (unsigned)(sizes >> 32 & 255);
    ir_instr_set_words(&in, words);
    FOR_LANES(lane, mask)
    {
        struct ir_bits x[4], r = {0, 0};
        for (uint32_t s = 0; s < in.nsrc && s < 4; s++)
            x[s] = lane_read(src[s], lane, (unsigned)(sizes >> (8 * s) & 255));
        bool is_known = ir_eval(&in, x, &r);
        assert(is_known); /* else it needs a handler in src/jit/gen */
        (void)is_known;
        memcpy((char *)out + (size_t)lane * out_B, &r, out_B);
    }
}

/* ---- 64-bit division of sixteen lanes; how: bit 0 remainder, bit 1 signed. Never traps. */

static uint64_t divide_unsigned(bool rem, uint64_t a, uint64_t b)
{
    if (!b)
        return rem ? a : ~0ull;
    if (!((a | b) >> 32)) /* a fraction of the time of a 64-bit division on most hosts */
        return rem ? (uint32_t)a % (uint32_t)b : (uint32_t)a / (uint32_t)b;
    return rem ? a % b : a / b;
}

static uint64_t divide_signed(bool rem, uint64_t a, uint64_t b)
{
    bool neg_a = a >> 63, neg_b = b >> 63;
    if (!b)
        return rem ? a : ~0ull;
    uint64_t r = divide_unsigned(rem, neg_a ? 0 - a : a, neg_b ? 0 - b : b);
    return (rem ? neg_a : neg_a != neg_b) ? 0 - r : r;
}

void jit_rt_divide64(uint32_t how, uint64_t *a, const uint64_t *b);
void jit_rt_divide64(uint32_t how, uint64_t *a, const uint64_t *b)
{
    for (int lane = 0; lane < 16; lane++)
        a[lane] = how & 2 ? divide_signed(how & 1, a[lane], b[lane])
                          : divide_unsigned(how & 1, a[lane], b[lane]);
}

/* ---- warp operations (PTX ISA 9.7.9.6 and 9.7.13) */

/* Per lane 16 bytes at once: aligned SSE accesses are on every CPU with AVX. */
typedef long long rt_pair __attribute__((vector_size(16)));

void jit_rt_load16(uint32_t mask, const uint64_t *address, uint64_t *low, uint64_t *high);
void jit_rt_load16(uint32_t mask, const uint64_t *address, uint64_t *low, uint64_t *high)
{
    for (uint32_t l = 0; l < 32; l++) {
        if (!(mask >> l & 1))
            continue;
        rt_pair x = *(const volatile rt_pair *)(uintptr_t)address[l];
        low[l] = (uint64_t)x[0];
        high[l] = (uint64_t)x[1];
    }
}

void jit_rt_store16(uint32_t mask, const uint64_t *address, const uint64_t *low,
                    const uint64_t *high);
void jit_rt_store16(uint32_t mask, const uint64_t *address, const uint64_t *low,
                    const uint64_t *high)
{
    for (uint32_t l = 0; l < 32; l++) {
        rt_pair x = {(long long)low[l], (long long)high[l]};
        if (mask >> l & 1)
            *(volatile rt_pair *)(uintptr_t)address[l] = x;
    }
}

/* The fault of the lanes whose address is no multiple of size_B; returns when there are none. */
void jit_rt_misaligned_lanes(struct jit_cta *cta, struct jit_warp *warp, uint32_t index,
                             uint32_t lanes, uint32_t instr_idx, uint32_t size_B,
                             const uint64_t *addresses);
void jit_rt_misaligned_lanes(struct jit_cta *cta, struct jit_warp *warp, uint32_t index,
                             uint32_t lanes, uint32_t instr_idx, uint32_t size_B,
                             const uint64_t *addresses)
{
    uint32_t bad = 0;

    FOR_LANES(lane, lanes)
    bad |= (uint32_t)((addresses[lane] & (size_B - 1)) != 0) << lane;
    if (!bad)
        return;
    warp->index = index;
    cta->launch->services->fault(cta, warp, bad, instr_idx, HD_MISALIGNED,
                                 addresses[__builtin_ctz(bad)]);
}

/* The same where lanes are `step` bytes apart, from a start for each half. */
void jit_rt_misaligned(struct jit_cta *cta, struct jit_warp *warp, uint32_t index, uint32_t lanes,
                       uint32_t instr_idx, uint32_t size_B, uint64_t start_low, uint64_t start_high,
                       uint64_t step);
void jit_rt_misaligned(struct jit_cta *cta, struct jit_warp *warp, uint32_t index, uint32_t lanes,
                       uint32_t instr_idx, uint32_t size_B, uint64_t start_low, uint64_t start_high,
                       uint64_t step)
{
    uint64_t addresses[32];

    for (uint32_t lane = 0; lane < 32; lane++)
        addresses[lane] = (lane < 16 ? start_low : start_high) + lane % 16 * step;
    jit_rt_misaligned_lanes(cta, warp, index, lanes, instr_idx, size_B, addresses);
}

void jit_rt_shfl(uint32_t mode, const uint32_t *x, const uint32_t *b, const uint32_t *c,
                 uint32_t *out, uint8_t *out_ok);
void jit_rt_shfl(uint32_t mode, const uint32_t *x, const uint32_t *b, const uint32_t *c,
                 uint32_t *out, uint8_t *out_ok)
{
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t seg = c[lane] >> 8 & 31, clamp = c[lane] & 31, d = b[lane] & 31, j;
        uint32_t min = lane & seg, max = min | (clamp & ~seg);
        bool ok;
        switch ((enum ir_shfl)mode) {
        case IR_SHFL_UP:
            j = lane - d;
            ok = (int32_t)j >= (int32_t)max;
            break;
        case IR_SHFL_DOWN:
            j = lane + d;
            ok = j <= max;
            break;
        case IR_SHFL_BFLY:
            j = lane ^ d;
            ok = j <= max;
            break;
        default:
            j = min | (d & ~seg);
            ok = j <= max;
            break;
        }
        out[lane] = x[ok ? j & 31 : lane];
        out_ok[lane] = ok;
    }
}

void jit_rt_vote(uint32_t mode, uint32_t mask, const uint8_t *p, const uint32_t *member, void *out);
void jit_rt_vote(uint32_t mode, uint32_t mask, const uint8_t *p, const uint32_t *member, void *out)
{
    uint32_t bits = 0;
    FOR_LANES(lane, mask)
    bits |= (uint32_t)(p[lane] & 1) << lane;
    FOR_LANES(lane, mask)
    {
        uint32_t who = member[lane] & mask, yes = bits & who;
        bool r = mode == IR_VOTE_ALL   ? yes == who
                 : mode == IR_VOTE_ANY ? yes != 0
                                       : yes == who || !yes;
        if (mode == IR_VOTE_BALLOT)
            ((uint32_t *)out)[lane] = yes;
        else
            ((uint8_t *)out)[lane] = r;
    }
}

static uint32_t redux(uint32_t op, uint32_t type, const uint32_t *x, uint32_t who)
{
    uint32_t first = who ? (uint32_t)__builtin_ctz(who) : 0, r = who ? x[first] : 0;

    FOR_LANES(other, who & ~(1u << first))
    r = ir_eval_redux((enum ir_redux)op, (enum ir_type)type, r, x[other]);
    return r;
}

void jit_rt_redux(uint32_t op, uint32_t type, uint32_t mask, const uint32_t *x,
                  const uint32_t *member, uint32_t *out);
void jit_rt_redux(uint32_t op, uint32_t type, uint32_t mask, const uint32_t *x,
                  const uint32_t *member, uint32_t *out)
{
    uint32_t done = 0, r = 0; /* of the members that the lane before had, as a rule */

    FOR_LANES(lane, mask)
    {
        uint32_t who = member[lane] & mask;
        if (who != done)
            r = redux(op, type, x, who);
        out[lane] = r;
        done = who;
    }
}

/* ---- external names */

struct rt_name {
    const char *name;
    void *address;
};

#define RT(f) {#f, (void *)(f)}

static const struct rt_name names[] = {
    RT(jit_rt_eval),
    RT(jit_rt_divide64),
    RT(jit_rt_count_generic),
#if defined(__x86_64__)
    RT(jit_rt_count_avx2),
    RT(jit_rt_count_avx512),
#endif
    RT(jit_rt_load16),
    RT(jit_rt_store16),
    RT(jit_rt_misaligned_lanes),
    RT(jit_rt_misaligned),
    RT(jit_rt_shfl),
    RT(jit_rt_vote),
    RT(jit_rt_redux),
    /* What LLVM itself may call. */
    RT(memcpy),
    RT(memset),
    RT(memmove),
    RT(fmaf),
    RT(fma),
    RT(floorf),
    RT(floor),
    RT(ceilf),
    RT(ceil),
    RT(truncf),
    RT(trunc),
    RT(roundevenf),
    RT(roundeven),
    RT(sqrtf),
    RT(sqrt),
};

void *jit_rt_atom_lookup(const char *name);
void *jit_rt_async_lookup(const char *name);
void *jit_rt_tensor_copy_lookup(const char *name);

void *jit_rt_multimem_lookup(const char *name);

void *jit_rt_lookup(const char *name)
{
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        if (!strcmp(names[i].name, name))
            return names[i].address;
    }
    void *found = jit_rt_atom_lookup(name);
    if (!found)
        found = jit_rt_async_lookup(name);
    if (!found)
        found = jit_rt_pieces_lookup(name);
    if (!found)
        found = jit_rt_tensor_lookup(name);
    if (!found)
        found = jit_rt_tex_lookup(name);
    if (!found)
        found = jit_rt_tensor_copy_lookup(name);
    if (!found)
        found = jit_rt_multimem_lookup(name);
    return found ? found : jit_rt_mma_lookup(name);
}
