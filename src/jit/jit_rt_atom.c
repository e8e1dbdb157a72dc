/*
 * Atomic operations, lane by lane in lane order. Shared memory (`_cta`) belongs to the thread that
 * runs the CTA, so its forms are plain; the others are sequentially consistent.
 */
#include "jit/jit_private.h"

#include <string.h>

#include "ir/eval.h"

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

typedef void atom_fn(uint32_t mask, const uint64_t *addr, const void *a, const void *b, void *out);

/* name, C type, new value from old, x (first operand), y (second). */
#define ATOM_LIST(X)                                                                               \
    X(add_u32, uint32_t, old + x)                                                                  \
    X(add_u64, uint64_t, old + x)                                                                  \
    X(add_f32, float, old + x)                                                                     \
    X(add_f64, double, old + x)                                                                    \
    X(min_u32, uint32_t, old < x ? old : x)                                                        \
    X(min_s32, int32_t, old < x ? old : x)                                                         \
    X(min_u64, uint64_t, old < x ? old : x)                                                        \
    X(min_s64, int64_t, old < x ? old : x)                                                         \
    X(max_u32, uint32_t, old > x ? old : x)                                                        \
    X(max_s32, int32_t, old > x ? old : x)                                                         \
    X(max_u64, uint64_t, old > x ? old : x)                                                        \
    X(max_s64, int64_t, old > x ? old : x)                                                         \
    X(inc_b32, uint32_t, old >= x ? 0 : old + 1)                                                   \
    X(dec_b32, uint32_t, old == 0 || old > x ? x : old - 1)                                        \
    X(and_b32, uint32_t, old &x)                                                                   \
    X(and_b64, uint64_t, old &x)                                                                   \
    X(or_b32, uint32_t, old | x)                                                                   \
    X(or_b64, uint64_t, old | x)                                                                   \
    X(xor_b32, uint32_t, old ^ x)                                                                  \
    X(xor_b64, uint64_t, old ^ x)                                                                  \
    X(exch_b32, uint32_t, x)                                                                       \
    X(exch_b64, uint64_t, x)                                                                       \
    X(cas_b32, uint32_t, old == x ? y : old)                                                       \
    X(cas_b64, uint64_t, old == x ? y : old)

/* The canonical NaN where an f32 sum has one. */
static inline void canonical(void *value, bool is_f32)
{
    float f;
    if (!is_f32)
        return;
    memcpy(&f, value, sizeof(f));
    if (f != f)
        memcpy(value, &(uint32_t){0x7fffffff}, 4);
}

#define IS_F32(type) _Generic((type){0}, float: true, default: false)

#define X(name, type, expr)                                                                        \
    static void atom_##name##_cta(uint32_t mask, const uint64_t *addr, const void *a,              \
                                  const void *b, void *out)                                        \
    {                                                                                              \
        FOR_LANES(lane, mask)                                                                      \
        {                                                                                          \
            type *p = (type *)(uintptr_t)addr[lane], old = *p, x = ((const type *)a)[lane];        \
            type y = b ? ((const type *)b)[lane] : x, r = (expr);                                  \
            (void)y;                                                                               \
            canonical(&r, IS_F32(type));                                                           \
            *p = r;                                                                                \
            if (out)                                                                               \
                ((type *)out)[lane] = old;                                                         \
        }                                                                                          \
    }                                                                                              \
    static void atom_##name(uint32_t mask, const uint64_t *addr, const void *a, const void *b,     \
                            void *out)                                                             \
    {                                                                                              \
        FOR_LANES(lane, mask)                                                                      \
        {                                                                                          \
            type *p = (type *)(uintptr_t)addr[lane], old, x = ((const type *)a)[lane], r;          \
            type y = b ? ((const type *)b)[lane] : x;                                              \
            (void)y;                                                                               \
            __atomic_load(p, &old, __ATOMIC_SEQ_CST);                                              \
            do {                                                                                   \
                r = (expr);                                                                        \
                canonical(&r, IS_F32(type));                                                       \
            } while (!__atomic_compare_exchange(p, &old, &r, false, __ATOMIC_SEQ_CST,              \
                                                __ATOMIC_SEQ_CST));                                \
            if (out)                                                                               \
                ((type *)out)[lane] = old;                                                         \
        }                                                                                          \
    }
ATOM_LIST(X)
#undef X

/* Every other combination: the reference semantics under compare-and-swap of the containing word.
 * */
void jit_rt_atom(uint32_t atom, uint32_t type, uint32_t noftz, uint32_t mask, const uint64_t *addr,
                 const void *a, const void *b, void *out);
void jit_rt_atom(uint32_t atom, uint32_t type, uint32_t noftz, uint32_t mask, const uint64_t *addr,
                 const void *a, const void *b, void *out)
{
    unsigned size_B = ir_type_bits((enum ir_type)type) / 8;
    FOR_LANES(lane, mask)
    {
        uint64_t x = 0, y = 0, value_mask = size_B == 8 ? ~0ull : (1ull << (8 * size_B)) - 1;
        memcpy(&x, (const char *)a + (size_t)lane * size_B, size_B);
        if (b)
            memcpy(&y, (const char *)b + (size_t)lane * size_B, size_B);
        uint64_t word_at = size_B == 8 ? addr[lane] : addr[lane] & ~3ull;
        unsigned shift = size_B == 8 ? 0 : (unsigned)(addr[lane] & 3) * 8;
        uint64_t *p64 = (uint64_t *)(uintptr_t)word_at;
        uint32_t *p32 = (uint32_t *)(uintptr_t)word_at, word32, new32;
        uint64_t old, word64, new64;
        bool done;
        do {
            word32 = size_B == 8 ? 0 : __atomic_load_n(p32, __ATOMIC_SEQ_CST);
            word64 = size_B == 8 ? __atomic_load_n(p64, __ATOMIC_SEQ_CST) : word32;
            old = word64 >> shift & value_mask;
            uint64_t r = ir_eval_atom((enum ir_atom)atom, (enum ir_type)type, noftz, old, x, y);
            new64 = (word64 & ~(value_mask << shift)) | (r & value_mask) << shift;
            new32 = (uint32_t)new64;
            done = size_B == 8 ? __atomic_compare_exchange_n(p64, &word64, new64, false,
                                                             __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
                               : __atomic_compare_exchange_n(p32, &word32, new32, false,
                                                             __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        } while (!done);
        if (out)
            memcpy((char *)out + (size_t)lane * size_B, &old, size_B);
    }
}

static const struct {
    const char *name;
    atom_fn *plain, *cta;
} atoms[] = {
#define X(name, type, expr) {#name, atom_##name, atom_##name##_cta},
    ATOM_LIST(X)
#undef X
};

void *jit_rt_atom_lookup(const char *name);
void *jit_rt_atom_lookup(const char *name)
{
    static const char prefix[] = "jit_rt_atom_";
    if (!strcmp(name, "jit_rt_atom"))
        return (void *)jit_rt_atom;
    if (strncmp(name, prefix, sizeof(prefix) - 1))
        return NULL;
    name += sizeof(prefix) - 1;
    size_t len = strlen(name);
    bool cta = len > 4 && !strcmp(name + len - 4, "_cta");
    for (size_t i = 0; i < HD_COUNT_OF(atoms); i++) {
        if (strlen(atoms[i].name) == len - (cta ? 4 : 0) &&
            !strncmp(atoms[i].name, name, strlen(atoms[i].name)))
            return (void *)(cta ? atoms[i].cta : atoms[i].plain);
    }
    return NULL;
}
