/*
 * Cooperative groups within a warp: tiles of a power of two and the threads that happen to be
 * active. Part of cooperative_groups.h.
 */
#ifndef HEDDLE_CUDA_CG_TILE_H
#define HEDDLE_CUDA_CG_TILE_H

#include "heddle/cg_base.h"
#include "heddle/cg_block_tile.h"

namespace cooperative_groups {
namespace __v1 {

namespace heddle {

/* Applies a 32-bit shuffle to every word of a value of any size. */
template <class _Tp, class _Shuffle> HEDDLE_CG _Tp by_words(_Tp value, _Shuffle shuffle)
{
    static_assert(__is_trivially_copyable(_Tp), "shuffled types are copied bit by bit");
    constexpr unsigned int count = (sizeof(_Tp) + 3) / 4;
    unsigned int words[count] = {0};
    __builtin_memcpy(words, &value, sizeof(_Tp));
#pragma unroll
    for (unsigned int i = 0; i < count; i++)
        words[i] = shuffle(words[i]);
    __builtin_memcpy(&value, words, sizeof(_Tp));
    return value;
}

/* Lanes of `mask` whose value equals the caller's. */
template <class _Tp> HEDDLE_CG unsigned int match_any(unsigned int mask, _Tp value)
{
    static_assert(sizeof(_Tp) == 4 || sizeof(_Tp) == 8, "match takes types of 4 or 8 bytes");
    if (sizeof(_Tp) == 4) {
        unsigned int w = 0;
        __builtin_memcpy(&w, &value, sizeof(_Tp) < 4 ? sizeof(_Tp) : 4);
        return __match_any_sync(mask, w);
    }
    unsigned long long w = 0;
    __builtin_memcpy(&w, &value, sizeof(_Tp));
    return __match_any_sync(mask, w);
}

} // namespace heddle

/* The active threads of a warp at the call, in lane order. */
class coalesced_group : public thread_group {
  public:
    HEDDLE_MEMBER explicit coalesced_group(unsigned int mask)
        : thread_group(mask, (unsigned int)__popc(mask),
                       (unsigned int)__popc(mask & heddle::lanes_below()))
    {
    }
    HEDDLE_MEMBER unsigned int size() const
    {
        return count_;
    }
    HEDDLE_MEMBER unsigned int num_threads() const
    {
        return count_;
    }
    HEDDLE_MEMBER unsigned int thread_rank() const
    {
        return rank_;
    }
    HEDDLE_MEMBER void sync() const
    {
        __syncwarp(mask_);
    }
    HEDDLE_MEMBER unsigned int meta_group_size() const
    {
        return 1;
    }
    HEDDLE_MEMBER unsigned int meta_group_rank() const
    {
        return 0;
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl(_Tp value, unsigned int rank) const
    {
        int lane = lane_of(rank % count_);
        unsigned int mask = mask_;
        return heddle::by_words(
            value, [=] __device__(unsigned int w) { return __shfl_sync(mask, w, lane); });
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl_down(_Tp value, unsigned int delta) const
    {
        unsigned int from = rank_ + delta < count_ ? rank_ + delta : rank_;
        return shfl(value, from);
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl_up(_Tp value, unsigned int delta) const
    {
        return shfl(value, rank_ >= delta ? rank_ - delta : rank_);
    }
    HEDDLE_MEMBER int any(int predicate) const
    {
        return __any_sync(mask_, predicate);
    }
    HEDDLE_MEMBER int all(int predicate) const
    {
        return __all_sync(mask_, predicate);
    }
    HEDDLE_MEMBER unsigned int ballot(int predicate) const
    {
        return pack(__ballot_sync(mask_, predicate));
    }
    template <class _Tp> HEDDLE_MEMBER unsigned int match_any(_Tp value) const
    {
        return pack(heddle::match_any(mask_, value));
    }
    template <class _Tp> HEDDLE_MEMBER unsigned int match_all(_Tp value, int &predicate) const
    {
        predicate = heddle::match_any(mask_, value) == mask_;
        return predicate ? (count_ == 32 ? 0xffffffffu : (1u << count_) - 1) : 0;
    }
    HEDDLE_MEMBER unsigned int heddle_mask() const
    {
        return mask_;
    }

  private:
    /* Lane number of the member with this rank. */
    HEDDLE_MEMBER int lane_of(unsigned int rank) const
    {
        return mask_ == 0xffffffffu ? (int)rank : (int)__fns(mask_, 0, (int)rank + 1);
    }
    /* Bits of the members, squeezed together in rank order. */
    HEDDLE_MEMBER unsigned int pack(unsigned int lanes) const
    {
        if (mask_ == 0xffffffffu)
            return lanes;
        unsigned int packed = 0, at = 0;
        for (unsigned int left = mask_; left; left &= left - 1)
            packed |= (lanes >> (__ffs((int)left) - 1) & 1u) << at++;
        return packed;
    }
};

HEDDLE_CG coalesced_group coalesced_threads()
{
    return coalesced_group(__activemask());
}

/* N consecutive lanes; N is 1, 2, 4, 8, 16 or 32, and more in cg_block_tile.h. */
template <unsigned int _Np, class _Parent> class thread_block_tile : public thread_group {
    static_assert(_Np >= 1 && _Np <= 32 && (_Np & (_Np - 1)) == 0,
                  "tiles have a power of two of up to 1024 threads");

  public:
    HEDDLE_MEMBER thread_block_tile() : thread_group(lanes(), _Np, heddle::lane() & (_Np - 1))
    {
    }
    template <class _Other>
    HEDDLE_MEMBER thread_block_tile(const thread_block_tile<_Np, _Other> &other)
        : thread_group(other)
    {
    }
    HEDDLE_MEMBER void sync() const
    {
        __syncwarp(mask_);
    }
    HEDDLE_MEMBER unsigned int thread_rank() const
    {
        return heddle::lane() & (_Np - 1);
    }
    static constexpr HEDDLE_MEMBER unsigned int size()
    {
        return _Np;
    }
    static constexpr HEDDLE_MEMBER unsigned int num_threads()
    {
        return _Np;
    }
    HEDDLE_MEMBER unsigned int meta_group_rank() const
    {
        return heddle::thread_in_block() / _Np;
    }
    HEDDLE_MEMBER unsigned int meta_group_size() const
    {
        return (heddle::block_threads() + _Np - 1) / _Np;
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl(_Tp value, int rank) const
    {
        unsigned int mask = mask_;
        return heddle::by_words(
            value, [=] __device__(unsigned int w) { return __shfl_sync(mask, w, rank, (int)_Np); });
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl_up(_Tp value, unsigned int delta) const
    {
        unsigned int mask = mask_;
        return heddle::by_words(value, [=] __device__(unsigned int w) {
            return __shfl_up_sync(mask, w, delta, (int)_Np);
        });
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl_down(_Tp value, unsigned int delta) const
    {
        unsigned int mask = mask_;
        return heddle::by_words(value, [=] __device__(unsigned int w) {
            return __shfl_down_sync(mask, w, delta, (int)_Np);
        });
    }
    template <class _Tp> HEDDLE_MEMBER _Tp shfl_xor(_Tp value, unsigned int lane_mask) const
    {
        unsigned int mask = mask_;
        return heddle::by_words(value, [=] __device__(unsigned int w) {
            return __shfl_xor_sync(mask, w, (int)lane_mask, (int)_Np);
        });
    }
    HEDDLE_MEMBER int any(int predicate) const
    {
        return __any_sync(mask_, predicate);
    }
    HEDDLE_MEMBER int all(int predicate) const
    {
        return __all_sync(mask_, predicate);
    }
    HEDDLE_MEMBER unsigned int ballot(int predicate) const
    {
        return __ballot_sync(mask_, predicate) >> first() & full();
    }
    template <class _Tp> HEDDLE_MEMBER unsigned int match_any(_Tp value) const
    {
        return heddle::match_any(mask_, value) >> first() & full();
    }
    template <class _Tp> HEDDLE_MEMBER unsigned int match_all(_Tp value, int &predicate) const
    {
        predicate = heddle::match_any(mask_, value) == mask_;
        return predicate ? full() : 0;
    }
    HEDDLE_MEMBER unsigned int heddle_mask() const
    {
        return mask_;
    }

  private:
    static constexpr HEDDLE_MEMBER unsigned int full()
    {
        return _Np == 32 ? 0xffffffffu : (1u << (_Np & 31)) - 1;
    }
    static HEDDLE_MEMBER unsigned int first()
    {
        return heddle::lane() & ~(_Np - 1);
    }
    static HEDDLE_MEMBER unsigned int lanes()
    {
        return full() << first();
    }
};

/* Splits a block or a larger tile. */
namespace heddle {
template <unsigned int _Np, class _Parent, bool _Large = (_Np > 32)> struct tile_of {
    static HEDDLE_MEMBER thread_block_tile<_Np, _Parent> make(const _Parent &)
    {
        return thread_block_tile<_Np, _Parent>();
    }
};
template <unsigned int _Np, class _Parent> struct tile_of<_Np, _Parent, true> {
    static HEDDLE_MEMBER thread_block_tile<_Np, _Parent> make(const _Parent &parent)
    {
        return thread_block_tile<_Np, _Parent>(parent.heddle_tiles());
    }
};
} // namespace heddle
template <unsigned int _Np, class _Parent>
HEDDLE_CG thread_block_tile<_Np, _Parent> tiled_partition(const _Parent &parent)
{
    return heddle::tile_of<_Np, _Parent>::make(parent);
}
HEDDLE_CG coalesced_group tiled_partition(const coalesced_group &parent, unsigned int count)
{
    /* Members of the same slice of ranks. */
    unsigned int slice = parent.thread_rank() / count;
    return coalesced_group(heddle::match_any(parent.heddle_mask(), slice));
}
HEDDLE_CG coalesced_group tiled_partition(const thread_block &, unsigned int count)
{
    unsigned int full = count == 32 ? 0xffffffffu : (1u << count) - 1;
    return coalesced_group(full << (heddle::lane() & ~(count - 1)));
}

/* Splits by a predicate or by a label. Callers may name a tile's size, or the label's type and it. */
HEDDLE_CG coalesced_group binary_partition(const coalesced_group &group, bool predicate)
{
    unsigned int mask = group.heddle_mask(), yes = __ballot_sync(mask, predicate);
    return coalesced_group(predicate ? yes : mask & ~yes);
}
template <unsigned int _Np, class _Parent>
HEDDLE_CG coalesced_group binary_partition(const thread_block_tile<_Np, _Parent> &tile,
                                           bool predicate)
{
    static_assert(_Np <= 32, "binary_partition: only of tiles of at most 32 threads");
    return binary_partition(coalesced_group(tile.heddle_mask()), predicate);
}
template <class _Label>
HEDDLE_CG coalesced_group labeled_partition(const coalesced_group &group, _Label label)
{
    return coalesced_group(heddle::match_any(group.heddle_mask(), label));
}
template <class _Label, unsigned int _Np, class _Parent>
HEDDLE_CG coalesced_group labeled_partition(const thread_block_tile<_Np, _Parent> &tile,
                                            _Label label)
{
    static_assert(_Np <= 32, "labeled_partition: only of tiles of at most 32 threads");
    return coalesced_group(heddle::match_any(tile.heddle_mask(), label));
}

/* Runs on one member; _broadcast gives its result to all. */
template <class _Group, class _Fn> HEDDLE_CG void invoke_one(const _Group &group, _Fn fn)
{
    if (group.thread_rank() == 0)
        fn();
}
template <class _Group, class _Fn>
HEDDLE_CG auto invoke_one_broadcast(const _Group &group, _Fn fn) -> decltype(fn())
{
    decltype(fn()) result{};
    if (group.thread_rank() == 0)
        result = fn();
    return group.shfl(result, 0);
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
