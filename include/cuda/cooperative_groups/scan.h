/* Prefix sums over a tile or a coalesced group, in rank order. */
#ifndef HEDDLE_CUDA_CG_SCAN_H
#define HEDDLE_CUDA_CG_SCAN_H

#include "cooperative_groups/reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
HEDDLE_CG T inclusive_scan(const Group &group, T value, Op op)
{
    unsigned int count = group.size(), rank = group.thread_rank();
    for (unsigned int step = 1; step < count; step *= 2) {
        T other = group.shfl_up(value, step);
        if (rank >= step)
            value = op(other, value);
    }
    return value;
}
template <class Group, class T> HEDDLE_CG T inclusive_scan(const Group &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}

/* The first member gets T(). */
template <class Group, class T, class Op>
HEDDLE_CG T exclusive_scan(const Group &group, T value, Op op)
{
    T before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> HEDDLE_CG T exclusive_scan(const Group &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups

#endif
