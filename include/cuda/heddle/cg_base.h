/*
 * Cooperative groups: thread blocks, the grid, clusters. Part of cooperative_groups.h.
 *
 * The grid barrier needs a word of global memory that the cooperative launch provides: its address
 * is in the special registers %envreg1 (upper half) and %envreg2 (lower half); the barrier is the
 * 32-bit word at offset 4. 0 there means that the launch was not cooperative.
 */
#ifndef HEDDLE_CUDA_CG_BASE_H
#define HEDDLE_CUDA_CG_BASE_H

#include "cuda_runtime.h"

#define HEDDLE_CG     static __device__ __forceinline__
#define HEDDLE_MEMBER __device__ __forceinline__

/* CCCL declares thread_block and thread_block_tile in a namespace of this name. */
namespace cooperative_groups {
namespace __v1 {

namespace heddle {

HEDDLE_CG unsigned int lane()
{
    unsigned int r;
    __asm__("mov.u32 %0, %%laneid;" : "=r"(r));
    return r;
}
HEDDLE_CG unsigned int lanes_below()
{
    unsigned int r;
    __asm__("mov.u32 %0, %%lanemask_lt;" : "=r"(r));
    return r;
}
HEDDLE_CG unsigned int block_threads()
{
    return blockDim.x * blockDim.y * blockDim.z;
}
HEDDLE_CG unsigned int thread_in_block()
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
HEDDLE_CG unsigned int block_in_grid()
{
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
HEDDLE_CG unsigned int grid_blocks()
{
    return gridDim.x * gridDim.y * gridDim.z;
}
HEDDLE_CG unsigned int *grid_barrier()
{
    unsigned int hi, lo;
    __asm__ __volatile__("mov.u32 %0, %%envreg1;" : "=r"(hi));
    __asm__ __volatile__("mov.u32 %0, %%envreg2;" : "=r"(lo));
    unsigned long long base = (unsigned long long)hi << 32 | lo;
    return base ? (unsigned int *)(base + 4) : nullptr;
}

/*
 * One thread of each block arrives. Together the arrivals of one barrier add 2^31, so the top bit
 * of the word flips exactly when all are there, whatever it was before: block 0 adds what the
 * others leave.
 */
HEDDLE_CG void grid_arrive_and_wait(unsigned int *word)
{
    unsigned int blocks = grid_blocks();
    unsigned int add = block_in_grid() == 0 ? 0x80000000u - (blocks - 1) : 1u;
    __threadfence();
    unsigned int before = atomicAdd(word, add), now;
    do {
        __asm__ __volatile__("ld.volatile.global.u32 %0, [%1];"
                             : "=r"(now)
                             : "l"(__cvta_generic_to_global(word))
                             : "memory");
    } while (((before ^ now) & 0x80000000u) == 0);
    __threadfence();
}

} // namespace heddle

/* What every group is, with its type erased: for functions that take any group. */
class thread_group {
  public:
    HEDDLE_MEMBER unsigned long long size() const
    {
        return count_;
    }
    HEDDLE_MEMBER unsigned long long num_threads() const
    {
        return count_;
    }
    HEDDLE_MEMBER unsigned long long thread_rank() const
    {
        return rank_;
    }
    HEDDLE_MEMBER void sync() const
    {
        if (mask_)
            __syncwarp(mask_);
        else
            __syncthreads();
    }

  protected:
    HEDDLE_MEMBER thread_group(unsigned int mask, unsigned int count, unsigned int rank)
        : mask_(mask), count_(count), rank_(rank)
    {
    }
    unsigned int mask_; /* lanes of the warp; 0 for the whole block */
    unsigned int count_, rank_;
};

namespace heddle {

/*
 * What a tile of more than a warp needs in shared memory: how many threads arrived, and room to pass a value. Counts
 * only grow; the barrier of a tile is over when they reach the next multiple of its size.
 */
struct tile_memory {
    unsigned int arrived;
    unsigned int pad[3];
    unsigned char value[64];
};

/* Tiles of 64, 128, 256, 512 and 1024 threads of a block of 1024: the place of the first of each size. */
HEDDLE_CG unsigned int tile_place(unsigned int size)
{
    return size == 64 ? 0 : size == 128 ? 16 : size == 256 ? 24 : size == 512 ? 28 : 30;
}

} // namespace heddle

/* In shared memory, for this_thread_block(): lets a block be divided into tiles of more than a warp. */
template <unsigned int _MaxBlockSize = 1024> struct block_tile_memory {
    heddle::tile_memory heddle_tiles[31];
};

class thread_block : public thread_group {
  public:
    HEDDLE_MEMBER thread_block()
        : thread_group(0, heddle::block_threads(), heddle::thread_in_block()), tiles_(nullptr)
    {
    }
    /* All threads of the block call it. */
    template <unsigned int _MaxBlockSize>
    HEDDLE_MEMBER explicit thread_block(block_tile_memory<_MaxBlockSize> &memory) : thread_block()
    {
        tiles_ = memory.heddle_tiles;
        for (unsigned int i = rank_; i < 31; i += count_)
            tiles_[i].arrived = 0;
        __syncthreads();
    }
    HEDDLE_MEMBER heddle::tile_memory *heddle_tiles() const
    {
        return tiles_;
    }
    static HEDDLE_MEMBER void sync()
    {
        __syncthreads();
    }
    static HEDDLE_MEMBER unsigned int size()
    {
        return heddle::block_threads();
    }
    static HEDDLE_MEMBER unsigned int num_threads()
    {
        return heddle::block_threads();
    }
    static HEDDLE_MEMBER unsigned int thread_rank()
    {
        return heddle::thread_in_block();
    }
    static HEDDLE_MEMBER dim3 group_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static HEDDLE_MEMBER dim3 thread_index()
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    static HEDDLE_MEMBER dim3 group_dim()
    {
        return dim3(blockDim.x, blockDim.y, blockDim.z);
    }
    static HEDDLE_MEMBER dim3 dim_threads()
    {
        return group_dim();
    }

  private:
    heddle::tile_memory *tiles_;
};

HEDDLE_CG thread_block this_thread_block()
{
    return thread_block();
}
template <unsigned int _MaxBlockSize>
HEDDLE_CG thread_block this_thread_block(block_tile_memory<_MaxBlockSize> &memory)
{
    return thread_block(memory);
}

/* All threads of a cooperative launch. */
class grid_group {
  public:
    HEDDLE_MEMBER bool is_valid() const
    {
        return heddle::grid_barrier() != nullptr;
    }
    HEDDLE_MEMBER void sync() const
    {
        unsigned int *word = heddle::grid_barrier();
        if (!word)
            __trap();
        __syncthreads();
        if (heddle::thread_in_block() == 0)
            heddle::grid_arrive_and_wait(word);
        __syncthreads();
    }
    static HEDDLE_MEMBER unsigned long long num_threads()
    {
        return (unsigned long long)heddle::grid_blocks() * heddle::block_threads();
    }
    static HEDDLE_MEMBER unsigned long long size()
    {
        return num_threads();
    }
    static HEDDLE_MEMBER unsigned long long thread_rank()
    {
        return (unsigned long long)heddle::block_in_grid() * heddle::block_threads() +
               heddle::thread_in_block();
    }
    static HEDDLE_MEMBER dim3 group_dim()
    {
        return dim3(gridDim.x, gridDim.y, gridDim.z);
    }
    static HEDDLE_MEMBER dim3 dim_blocks()
    {
        return group_dim();
    }
    static HEDDLE_MEMBER unsigned long long num_blocks()
    {
        return heddle::grid_blocks();
    }
    static HEDDLE_MEMBER dim3 block_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static HEDDLE_MEMBER unsigned long long block_rank()
    {
        return heddle::block_in_grid();
    }
};

HEDDLE_CG grid_group this_grid()
{
    return grid_group();
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* The blocks of a cluster. */
class cluster_group {
  public:
    static HEDDLE_MEMBER void sync()
    {
        barrier_arrive();
        barrier_wait();
    }
    static HEDDLE_MEMBER void barrier_arrive()
    {
        __cluster_barrier_arrive();
    }
    static HEDDLE_MEMBER void barrier_wait()
    {
        __cluster_barrier_wait();
    }
    static HEDDLE_MEMBER unsigned int num_blocks()
    {
        return __clusterSizeInBlocks();
    }
    static HEDDLE_MEMBER unsigned int num_threads()
    {
        return num_blocks() * heddle::block_threads();
    }
    static HEDDLE_MEMBER unsigned int size()
    {
        return num_threads();
    }
    static HEDDLE_MEMBER unsigned int block_rank()
    {
        return __clusterRelativeBlockRank();
    }
    static HEDDLE_MEMBER dim3 block_index()
    {
        return __clusterRelativeBlockIdx();
    }
    static HEDDLE_MEMBER dim3 dim_blocks()
    {
        return __clusterDim();
    }
    static HEDDLE_MEMBER unsigned int thread_rank()
    {
        return block_rank() * heddle::block_threads() + heddle::thread_in_block();
    }
    template <class _Tp> static HEDDLE_MEMBER _Tp *map_shared_rank(_Tp *ptr, int rank)
    {
        return (_Tp *)__cluster_map_shared_rank(ptr, (unsigned int)rank);
    }
    static HEDDLE_MEMBER unsigned int query_shared_rank(const void *ptr)
    {
        return __cluster_query_shared_rank(ptr);
    }
};

HEDDLE_CG cluster_group this_cluster()
{
    return cluster_group();
}
#endif

/* Functions over any group. */
template <class _Group> HEDDLE_CG void sync(const _Group &group)
{
    group.sync();
}
template <class _Group> HEDDLE_CG unsigned long long thread_rank(const _Group &group)
{
    return group.thread_rank();
}
template <class _Group> HEDDLE_CG unsigned long long group_size(const _Group &group)
{
    return group.size();
}

} // namespace __v1
using namespace __v1;
} // namespace cooperative_groups

#endif
