/* Reductions over a tile or a coalesced group, and the usual operators. */
#ifndef HEDDLE_CUDA_CG_REDUCE_H
#define HEDDLE_CUDA_CG_REDUCE_H

#include "heddle/cg_tile.h"

namespace cooperative_groups {

#define HEDDLE_OPERATOR(name, expr)                                                                \
    template <class T> struct name {                                                               \
        HEDDLE_MEMBER T operator()(const T &a, const T &b) const                                   \
        {                                                                                          \
            return expr;                                                                           \
        }                                                                                          \
    };
HEDDLE_OPERATOR(plus, a + b)
HEDDLE_OPERATOR(less, b < a ? b : a)
HEDDLE_OPERATOR(greater, a < b ? b : a)
HEDDLE_OPERATOR(bit_and, a &b)
HEDDLE_OPERATOR(bit_or, a | b)
HEDDLE_OPERATOR(bit_xor, a ^ b)
#undef HEDDLE_OPERATOR

/* The same value in every member: a butterfly over the tile. */
template <unsigned int N, class Parent, class T, class Op>
HEDDLE_CG T reduce(const thread_block_tile<N, Parent> &group, T value, Op op)
{
#pragma unroll
    for (unsigned int step = N / 2; step > 0; step /= 2)
        value = op(value, group.shfl_xor(value, step));
    return value;
}

/* Members in rank order; the first holds the result and hands it out. */
template <class T, class Op> HEDDLE_CG T reduce(const coalesced_group &group, T value, Op op)
{
    unsigned int count = group.size(), rank = group.thread_rank();
    for (unsigned int step = 1; step < count; step *= 2) {
        T other = group.shfl_down(value, step);
        if (rank % (2 * step) == 0 && rank + step < count)
            value = op(value, other);
    }
    return group.shfl(value, 0);
}

} // namespace cooperative_groups

#endif
