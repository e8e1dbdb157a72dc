/* Prefix sums over a tile or a coalesced group, in rank order. */
#ifndef HEDDLE_CUDA_CG_SCAN_H
#define HEDDLE_CUDA_CG_SCAN_H

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {
namespace __v1 {

template <class _Group, class _Tp, class _Op>
HEDDLE_CG _Tp inclusive_scan(const _Group &group, _Tp value, _Op op)
{
    unsigned int count = group.size(), rank = group.thread_rank();
    for (unsigned int step = 1; step < count; step *= 2) {
        _Tp other = group.shfl_up(value, step);
        if (rank >= step)
            value = op(other, value);
    }
    return value;
}
template <class _Group, class _Tp> HEDDLE_CG _Tp inclusive_scan(const _Group &group, _Tp value)
{
    return inclusive_scan(group, value, plus<_Tp>());
}

/* The first member gets T(). */
template <class _Group, class _Tp, class _Op>
HEDDLE_CG _Tp exclusive_scan(const _Group &group, _Tp value, _Op op)
{
    _Tp before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? _Tp() : before;
}
template <class _Group, class _Tp> HEDDLE_CG _Tp exclusive_scan(const _Group &group, _Tp value)
{
    return exclusive_scan(group, value, plus<_Tp>());
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
