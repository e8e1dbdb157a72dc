/* Reductions over a tile or a coalesced group, and the usual operators. */
#ifndef HEDDLE_CUDA_CG_REDUCE_H
#define HEDDLE_CUDA_CG_REDUCE_H

#include "heddle/cg_tile.h"

namespace cooperative_groups {
namespace __v1 {

#define HEDDLE_OPERATOR(name, expr)                                                                \
    template <class _Tp> struct name {                                                             \
        HEDDLE_MEMBER _Tp operator()(const _Tp &a, const _Tp &b) const                             \
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

/* The same value in every member: a butterfly over the tile, over each warp of a larger one. */
namespace heddle {
template <bool _Large> struct tile_reduce {
    template <unsigned int _Np, class _Parent, class _Tp, class _Op>
    static HEDDLE_MEMBER _Tp of(const thread_block_tile<_Np, _Parent> &group, _Tp value, _Op op)
    {
#pragma unroll
        for (unsigned int step = _Np / 2; step > 0; step /= 2)
            value = op(value, group.shfl_xor(value, step));
        return value;
    }
};
template <> struct tile_reduce<true> {
    template <unsigned int _Np, class _Parent, class _Tp, class _Op>
    static HEDDLE_MEMBER _Tp of(const thread_block_tile<_Np, _Parent> &group, _Tp value, _Op op)
    {
        return group.heddle_combine(tile_reduce<false>::of(thread_block_tile<32>(), value, op), op);
    }
};
} // namespace heddle
template <unsigned int _Np, class _Parent, class _Tp, class _Op>
HEDDLE_CG _Tp reduce(const thread_block_tile<_Np, _Parent> &group, _Tp value, _Op op)
{
    return heddle::tile_reduce<(_Np > 32)>::of(group, value, op);
}

/* Members in rank order; the first holds the result and hands it out. */
template <class _Tp, class _Op>
HEDDLE_CG _Tp reduce(const coalesced_group &group, _Tp value, _Op op)
{
    unsigned int count = group.size(), rank = group.thread_rank();
    for (unsigned int step = 1; step < count; step *= 2) {
        _Tp other = group.shfl_down(value, step);
        if (rank % (2 * step) == 0 && rank + step < count)
            value = op(value, other);
    }
    return group.shfl(value, 0);
}

/*
 * The result in one place: combined with what an atomic holds, or stored. libcu++'s atomics are
 * taken as what they can do, since this header does not include them.
 */
template <class _Group, class _Cell, class _Tp, class _Op>
HEDDLE_CG auto reduce_update_async(const _Group &group, _Cell &&atomic, _Tp value, _Op op)
    -> decltype((void)atomic.load())
{
    value = reduce(group, value, op);
    if (group.thread_rank() != 0)
        return;
    auto seen = atomic.load();
    while (!atomic.compare_exchange_weak(seen, op(seen, value)))
        ;
}
template <class _Group, class _Cell, class _Tp, class _Op>
HEDDLE_CG auto reduce_store_async(const _Group &group, _Cell &&atomic, _Tp value, _Op op)
    -> decltype((void)atomic.load())
{
    value = reduce(group, value, op);
    if (group.thread_rank() == 0)
        atomic.store(value);
}
template <class _Group, class _Value, class _Tp, class _Op>
HEDDLE_CG void reduce_store_async(const _Group &group, _Value *out, _Tp value, _Op op)
{
    value = reduce(group, value, op);
    if (group.thread_rank() == 0)
        *out = value;
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
