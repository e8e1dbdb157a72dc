/* Barriers in shared memory: see mbarrier.h. */
#include "model/mbarrier.h"

#include <assert.h>

#define COUNT_MASK ((1ull << IR_MBARRIER_COUNT_BITS) - 1)
#define TX_AT      40u
#define TX_MASK    ((1ull << 21) - 1)
#define PARITY_AT  63u

struct fields {
    uint64_t needed, pending, tx, parity;
};

static struct fields unpack(uint64_t word)
{
    return (struct fields){.needed = word & COUNT_MASK,
                           .pending = word >> IR_MBARRIER_PENDING_AT & COUNT_MASK,
                           .tx = word >> TX_AT & TX_MASK,
                           .parity = word >> PARITY_AT};
}

/* What a program overdraws stays in its field. */
static uint64_t pack(const struct fields *f)
{
    return (f->needed & COUNT_MASK) | (f->pending & COUNT_MASK) << IR_MBARRIER_PENDING_AT |
           (f->tx & TX_MASK) << TX_AT | f->parity << PARITY_AT;
}

static uint64_t next(enum ir_mbarrier op, uint64_t word, uint64_t n)
{
    struct fields f = unpack(word);

    if (!n)
        return word;
    if (op == IR_MBARRIER_DROP)
        f.needed -= n;
    if (ir_mbarrier_arrives(op))
        f.pending -= n;
    else
        f.tx += op == IR_MBARRIER_EXPECT_TX ? n : 0 - n;
    if (!(f.pending & COUNT_MASK) && !(f.tx & TX_MASK)) {
        f.pending = f.needed;
        f.parity ^= 1;
    }
    return pack(&f);
}

uint64_t ir_mbarrier_do(enum ir_mbarrier op, void *at, uint64_t operand)
{
    uint64_t *word = at;
    struct fields fresh = {.needed = operand, .pending = operand};

    assert(((uintptr_t)at & (IR_MBARRIER_B - 1)) == 0);
    switch (op) {
    case IR_MBARRIER_INIT:
    case IR_MBARRIER_INVAL:
        __atomic_store_n(word, pack(&fresh), __ATOMIC_SEQ_CST);
        return 0;
    case IR_MBARRIER_TEST:
        return (__atomic_load_n(word, __ATOMIC_SEQ_CST) ^ operand) >> PARITY_AT;
    case IR_MBARRIER_TEST_PARITY:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST) >> PARITY_AT != (operand & 1);
    case IR_MBARRIER_ARRIVE:
    case IR_MBARRIER_DROP:
    case IR_MBARRIER_EXPECT_TX:
    case IR_MBARRIER_COMPLETE_TX:
        break;
    case IR_MBARRIER_CAST_TX: /* of several barriers: the caller's */
    case IR_MBARRIER_CAST_ARRIVE:
        assert(!"an operation on one barrier");
        return 0;
    }
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, next(op, old, operand), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
        ;
    return old;
}
