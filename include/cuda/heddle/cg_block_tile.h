/*
 * Cooperative groups: tiles of 64 to 1024 threads. Part of cooperative_groups.h. Their threads meet at a counter in the
 * shared memory that this_thread_block(memory) was given; without it using such a tile traps.
 */
#ifndef HEDDLE_CUDA_CG_BLOCK_TILE_H
#define HEDDLE_CUDA_CG_BLOCK_TILE_H

#include "heddle/cg_base.h"

namespace cooperative_groups {
namespace __v1 {

namespace heddle {

/* Not a thread_group: that one knows warps and whole blocks. */
template <unsigned int _Np> class block_tile {
  public:
    HEDDLE_MEMBER explicit block_tile(tile_memory *tiles) : tiles_(tiles)
    {
    }
    HEDDLE_MEMBER void sync() const
    {
        tile_memory *memory = mine();
        __syncwarp();
        if (lane() == 0) {
            constexpr unsigned int warps = _Np / 32;
            __threadfence_block();
            unsigned int goal = (atomicAdd(&memory->arrived, 1u) / warps + 1) * warps;
            while ((int)(*(volatile unsigned int *)&memory->arrived - goal) < 0)
                ;
            __threadfence_block();
        }
        __syncwarp();
    }
    static HEDDLE_MEMBER unsigned int thread_rank()
    {
        return thread_in_block() & (_Np - 1);
    }
    static constexpr HEDDLE_MEMBER unsigned int size()
    {
        return _Np;
    }
    static constexpr HEDDLE_MEMBER unsigned int num_threads()
    {
        return _Np;
    }
    static HEDDLE_MEMBER unsigned int meta_group_rank()
    {
        return thread_in_block() / _Np;
    }
    static HEDDLE_MEMBER unsigned int meta_group_size()
    {
        return (block_threads() + _Np - 1) / _Np;
    }
    /* The value of one thread, the same for all. */
    template <class _Tp> HEDDLE_MEMBER _Tp shfl(_Tp value, unsigned int rank) const
    {
        static_assert(sizeof(_Tp) <= sizeof(tile_memory::value), "values of up to 64 bytes");
        unsigned char *room = mine()->value;
        sync();
        if (thread_rank() == rank)
            __builtin_memcpy(room, &value, sizeof(_Tp));
        sync();
        __builtin_memcpy(&value, room, sizeof(_Tp));
        return value;
    }
    HEDDLE_MEMBER int any(int predicate) const
    {
        unsigned int *found = (unsigned int *)mine()->value;
        sync();
        if (thread_rank() == 0)
            *found = 0;
        sync();
        if (predicate)
            *(volatile unsigned int *)found = 1;
        sync();
        return (int)*found;
    }
    HEDDLE_MEMBER int all(int predicate) const
    {
        return !any(!predicate);
    }
    /* Its warps' values in order; each is uniform in its warp. */
    template <class _Tp, class _Op> HEDDLE_MEMBER _Tp heddle_combine(_Tp of_warp, _Op op) const
    {
        _Tp result = shfl(of_warp, 0);
        for (unsigned int first = 32; first < _Np; first += 32)
            result = op(result, shfl(of_warp, first));
        return result;
    }
    HEDDLE_MEMBER tile_memory *heddle_tiles() const
    {
        return tiles_;
    }

  private:
    HEDDLE_MEMBER tile_memory *mine() const
    {
        if (!tiles_)
            __trap();
        return &tiles_[tile_place(_Np) + meta_group_rank()];
    }
    tile_memory *tiles_;
};

} // namespace heddle

template <unsigned int _Np, class _Parent = void> class thread_block_tile;

#define HEDDLE_BLOCK_TILE(n)                                                                       \
    template <class _Parent> class thread_block_tile<n, _Parent> : public heddle::block_tile<n> {  \
      public:                                                                                      \
        HEDDLE_MEMBER explicit thread_block_tile(heddle::tile_memory *tiles)                       \
            : heddle::block_tile<n>(tiles)                                                         \
        {                                                                                          \
        }                                                                                          \
        template <class _Other>                                                                    \
        HEDDLE_MEMBER thread_block_tile(const thread_block_tile<n, _Other> &other)                 \
            : heddle::block_tile<n>(other.heddle_tiles())                                          \
        {                                                                                          \
        }                                                                                          \
    };
HEDDLE_BLOCK_TILE(64)
HEDDLE_BLOCK_TILE(128)
HEDDLE_BLOCK_TILE(256)
HEDDLE_BLOCK_TILE(512)
HEDDLE_BLOCK_TILE(1024)
#undef HEDDLE_BLOCK_TILE

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
