/*
 * Atomic operations that generated code does not do itself (gen/gen_atom.c), lane by lane in lane
 * order. Shared memory (`_cta`) belongs to the thread that runs the CTA, so its forms are plain;
 * the others are sequentially consistent.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <string.h>

#include "base/float/swap16.h"
#include "model/eval.h"

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

/* ---- float sums of a warp into one address, in lane order */

typedef void sum_fn(uint32_t mask, void *address, const void *x, void *out);

/* The canonical NaN where an f32 sum has one. */
static inline float one_nan_f32(float v)
{
    return v != v ? __builtin_nanf("0x3fffff") : v;
}

static inline double one_nan_f64(double v)
{
    return v;
}

/*
 * Adds the lanes to `sum`; what each found goes to `out`. A sum that is a NaN stays one, so the
 * chain of additions goes on without looking.
 */
#define SUM_LIST(X) X(f32, float) X(f64, double)

#define X(name, type)                                                                              \
    static type sum_lanes_##name(uint32_t mask, type sum, const type *x, type *out)                \
    {                                                                                              \
        type found = sum;                                                                          \
        FOR_LANES(lane, mask)                                                                      \
        {                                                                                          \
            if (out)                                                                               \
                out[lane] = found;                                                                 \
            sum += x[lane];                                                                        \
            found = out ? one_nan_##name(sum) : sum;                                               \
        }                                                                                          \
        return mask ? one_nan_##name(sum) : sum;                                                   \
    }                                                                                              \
    static void sum_##name##_cta(uint32_t mask, void *address, const void *x, void *out)           \
    {                                                                                              \
        if (mask)                                                                                  \
            *(type *)address = sum_lanes_##name(mask, *(type *)address, x, out);                   \
    }                                                                                              \
    static void sum_##name(uint32_t mask, void *address, const void *x, void *out)                 \
    {                                                                                              \
        type old, sum;                                                                             \
        if (!mask)                                                                                 \
            return;                                                                                \
        __atomic_load((type *)address, &old, __ATOMIC_SEQ_CST);                                    \
        do {                                                                                       \
            sum = sum_lanes_##name(mask, old, x, out);                                             \
        } while (!__atomic_compare_exchange((type *)address, &old, &sum, false, __ATOMIC_SEQ_CST,  \
                                            __ATOMIC_SEQ_CST));                                    \
    }
SUM_LIST(X)
#undef X

/* ---- 16 bytes: exch and cas */

static void atom_16(enum ir_atom atom, uint32_t mask, const uint64_t *addr, const struct hd_16 *a,
                    const struct hd_16 *b, struct hd_16 *out)
{
    assert(atom == IR_ATOM_EXCH || atom == IR_ATOM_CAS);
    FOR_LANES(lane, mask)
    {
        void *p = (void *)(uintptr_t)addr[lane];
        struct hd_16 old = a[lane];
        if (atom == IR_ATOM_EXCH)
            old = hd_exchange_16(p, old);
        else
            hd_swap_16(p, &old, b[lane]);
        if (out)
            out[lane] = old;
    }
}

/* ---- every other combination */

void jit_rt_atom(uint32_t atom, uint32_t type, uint32_t noftz, uint32_t mask, const uint64_t *addr,
                 const void *a, const void *b, void *out);
void jit_rt_atom(uint32_t atom, uint32_t type, uint32_t noftz, uint32_t mask, const uint64_t *addr,
                 const void *a, const void *b, void *out)
{
    unsigned size_B = ir_type_bits((enum ir_type)type) / 8;
    if (size_B == 16) {
        atom_16((enum ir_atom)atom, mask, addr, a, b, out);
        return;
    }
    FOR_LANES(lane, mask)
    {
        uint64_t x = 0, y = 0, old;
        memcpy(&x, (const char *)a + (size_t)lane * size_B, size_B);
        if (b)
            memcpy(&y, (const char *)b + (size_t)lane * size_B, size_B);
        old = ir_atom_at((enum ir_atom)atom, (enum ir_type)type, noftz,
                         (void *)(uintptr_t)addr[lane], x, y);
        if (out)
            memcpy((char *)out + (size_t)lane * size_B, &old, size_B);
    }
}

static const struct {
    const char *name;
    sum_fn *call;
} sums[] = {
#define X(name, type)                                                                              \
    {"jit_rt_atom_sum_" #name, sum_##name}, {"jit_rt_atom_sum_" #name "_cta", sum_##name##_cta},
    SUM_LIST(X)
#undef X
};

void *jit_rt_atom_lookup(const char *name);
void *jit_rt_atom_lookup(const char *name)
{
    if (!strcmp(name, "jit_rt_atom"))
        return (void *)jit_rt_atom;
    for (size_t i = 0; i < HD_COUNT_OF(sums); i++) {
        if (!strcmp(sums[i].name, name))
            return (void *)sums[i].call;
    }
    return NULL;
}
