/* Atomic operations on memory: the reference semantics, swapped in. */
#include "model/eval.h"

#include <assert.h>

struct atom {
    enum ir_atom atom;
    enum ir_type type;
    bool noftz;
    uint64_t a, b;
};

#define SWAP(word)                                                                                 \
    static uint64_t swap_##word(const struct atom *x, word *p)                                     \
    {                                                                                              \
        word old = __atomic_load_n(p, __ATOMIC_RELAXED), want;                                     \
        do                                                                                         \
            want = (word)ir_eval_atom(x->atom, x->type, x->noftz, old, x->a, x->b);                \
        while (!__atomic_compare_exchange_n(p, &old, want, false, __ATOMIC_SEQ_CST,                \
                                            __ATOMIC_SEQ_CST));                                    \
        return old;                                                                                \
    }
SWAP(uint16_t)
SWAP(uint32_t)
SWAP(uint64_t)
#undef SWAP

uint64_t ir_atom_at(enum ir_atom atom, enum ir_type type, bool noftz, void *p, uint64_t a,
                    uint64_t b)
{
    const struct atom x = {atom, type, noftz, a, b};
    switch (ir_type_bits(type)) {
    case 16:
        return swap_uint16_t(&x, p);
    case 32:
        return swap_uint32_t(&x, p);
    default:
        assert(ir_type_bits(type) == 64);
        return swap_uint64_t(&x, p);
    }
}
