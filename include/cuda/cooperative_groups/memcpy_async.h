/*
 * memcpy_async() of a group: all members copy together. The copy is finished when memcpy_async()
 * returns in each member, so wait() only has to synchronise them.
 */
#ifndef HEDDLE_CUDA_CG_MEMCPY_ASYNC_H
#define HEDDLE_CUDA_CG_MEMCPY_ASYNC_H

#include "heddle/cg_tile.h"

namespace cooperative_groups {
namespace __v1 {

template <class _Group, class _Tp>
HEDDLE_CG void memcpy_async(const _Group &group, _Tp *dst, const _Tp *src, size_t size_B)
{
    size_t words = size_B / 4, step = group.size(), rank = group.thread_rank();
    bool aligned = (((size_t)dst | (size_t)src) & 3) == 0;
    char *to = (char *)dst;
    const char *from = (const char *)src;
    if (!aligned)
        words = 0;
    for (size_t i = rank; i < words; i += step)
        ((unsigned int *)dst)[i] = ((const unsigned int *)src)[i];
    for (size_t i = words * 4 + rank; i < size_B; i += step)
        to[i] = from[i];
}
template <class _Group> HEDDLE_CG void wait(const _Group &group)
{
    group.sync();
}
template <unsigned int _Stages, class _Group> HEDDLE_CG void wait_prior(const _Group &group)
{
    group.sync();
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
