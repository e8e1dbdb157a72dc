/*
 * The elements of tensors and the threads of grids, as PyTorch's CUDA kernels count them: which
 * thread has an element says which numbers it gets.
 */
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <c10/cuda/CUDAFunctions.h>

#include "random_philox.hpp"
#include "random_state.hpp"

namespace heddle::rng {

using Generator = std::optional<at::Generator>;

/* ---- where elements are */

/* The elements of a tensor by number, in the order in which a kernel of CUDA counts them. */
class Elements {
  public:
    Elements(char *data, c10::IntArrayRef sizes, c10::IntArrayRef strides_B)
        : data(data), sizes(sizes), strides(strides_B)
    {
    }
    /* As TensorIterator orders them: dimension 0 is the fastest. */
    Elements(const at::TensorIteratorBase &iter, int operand)
        : Elements(static_cast<char *>(iter.data_ptr(operand)), iter.shape(), iter.strides(operand))
    {
    }
    /* In the order of its indices. */
    explicit Elements(const at::TensorBase &t) : data(static_cast<char *>(t.data_ptr()))
    {
        for (int64_t d = t.dim() - 1; d >= 0; d--) {
            sizes.push_back(t.size(d));
            strides.push_back(t.stride(d) * static_cast<int64_t>(t.element_size()));
        }
    }

    bool is_dense(size_t size_B) const
    {
        int64_t next = static_cast<int64_t>(size_B);
        for (size_t d = 0; d < sizes.size(); d++) {
            if (sizes[d] != 1 && strides[d] != next)
                return false;
            next *= sizes[d];
        }
        return true;
    }
    char *start() const
    {
        return data;
    }

    /* f(its address, i) for i in [0, count): of element first + i. */
    template <class F> void each(int64_t first, int64_t count, F &&f) const
    {
        c10::SmallVector<int64_t, 6> at(sizes.size());
        char *p = data;

        for (size_t d = 0; d < sizes.size(); d++) {
            at[d] = first % sizes[d];
            first /= sizes[d];
            p += at[d] * strides[d];
        }
        for (int64_t i = 0; i < count; i++) {
            f(p, i);
            for (size_t d = 0; d < sizes.size(); d++) {
                p += strides[d];
                if (++at[d] < sizes[d])
                    break;
                p -= strides[d] * sizes[d];
                at[d] = 0;
            }
        }
    }

    /* Sorts dimensions of tensors of one shape by their strides, as CUDA_tensor_apply2() does. */
    static void rearrange(Elements &a, Elements &b)
    {
        size_t n = a.sizes.size();
        for (size_t i = n; i-- > 1;)
            for (size_t j = i; j-- > 0;) {
                if (a.sizes[i] == 1 || a.sizes[j] == 1)
                    continue;
                bool less = a.strides[i] < a.strides[j] || b.strides[i] < b.strides[j];
                bool greater = a.strides[i] > a.strides[j] || b.strides[i] > b.strides[j];
                if (!less || greater)
                    continue;
                std::swap(a.sizes[i], a.sizes[j]);
                std::swap(b.sizes[i], b.sizes[j]);
                std::swap(a.strides[i], a.strides[j]);
                std::swap(b.strides[i], b.strides[j]);
            }
    }

  private:
    char *data;
    c10::SmallVector<int64_t, 6> sizes, strides;
};

template <class T> T &value_at(char *p)
{
    return *reinterpret_cast<T *>(p);
}

/* ---- the grid */

struct Limits {
    uint32_t sms, blocks_per_sm;

    static Limits of_current_device()
    {
        static std::array<std::atomic<uint64_t>, 64> known{}; /* by device; 0: not yet */
        auto device = static_cast<size_t>(c10::cuda::current_device());
        uint64_t found = device < known.size() ? known[device].load() : 0;
        if (!found) {
            int sms, threads;
            C10_CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount,
                                                  static_cast<int>(device)));
            C10_CUDA_CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor,
                                                  static_cast<int>(device)));
            found = static_cast<uint64_t>(sms) << 32 | static_cast<uint64_t>(threads / BLOCK);
            if (device < known.size())
                known[device] = found;
        }
        return {static_cast<uint32_t>(found >> 32), static_cast<uint32_t>(found)};
    }
};

/* calc_execution_policy(): each thread of the grid makes `unroll` numbers an iteration. */
struct Grid {
    uint64_t blocks, threads, iterations, increment;

    Grid(int64_t n, unsigned unroll)
    {
        Limits limits = Limits::of_current_device();
        uint64_t count = static_cast<uint64_t>(n);
        blocks = std::min<uint64_t>(uint64_t{limits.sms} * limits.blocks_per_sm,
                                    static_cast<uint32_t>((count + BLOCK - 1) / BLOCK));
        threads = blocks * BLOCK;
        iterations = (count - 1) / (threads * unroll) + 1;
        increment = iterations * 4;
    }
};

/* f(iteration, block) for all of a grid, on several threads. */
inline void over_grid(const Grid &grid, c10::function_ref<void(uint64_t, uint64_t)> f)
{
    int64_t blocks = static_cast<int64_t>(grid.blocks);
    at::parallel_for(0, static_cast<int64_t>(grid.iterations) * blocks,
                     at::internal::GRAIN_SIZE / BLOCK / 4, [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; i++)
                             f(static_cast<uint64_t>(i / blocks),
                               static_cast<uint64_t>(i % blocks));
                     });
}

/* ---- numbers as elements */

/* What a block makes in one iteration: of each thread up to 4 numbers, all of one kind. */
struct Made {
    enum Kind { FLOATS, DOUBLES, INTEGERS };
    union {
        alignas(64) float f[4][BLOCK];
        double d[2][BLOCK];
        int64_t i[4][BLOCK];
    };
};

/* As PyTorch's kernels convert; a GPU keeps the low bits of what an integer does not hold. */
template <class T, class N> void convert(const N *from, int64_t count, T *to)
{
    for (int64_t i = 0; i < count; i++) {
        if constexpr (std::is_integral_v<T> && !std::is_integral_v<N> && !std::is_same_v<T, bool>)
            to[i] = static_cast<T>(static_cast<int64_t>(from[i]));
        else
            to[i] = static_cast<T>(from[i]);
    }
}

/* Writes numbers to elements of any type. */
class Target {
  public:
    Target(const Elements &elements, at::ScalarType type)
        : elements(elements), type(type), size_B(c10::elementSize(type)),
          is_dense(elements.is_dense(size_B))
    {
    }

    template <class N> void put(int64_t first, int64_t count, const N *from) const
    {
        alignas(64) char buffer[BLOCK * 8];
        char *to = is_dense ? elements.start() + first * static_cast<int64_t>(size_B) : buffer;
        const bool is_same = type == c10::CppTypeToScalarType<N>::value;

        if (is_same && is_dense) {
            memcpy(to, from, static_cast<size_t>(count) * size_B);
            return;
        }
        AT_DISPATCH_V2(type, "numbers", AT_WRAP([&] {
                           convert(from, count, reinterpret_cast<scalar_t *>(to));
                           if (!is_dense)
                               elements.each(first, count, [&](char *p, int64_t i) {
                                   value_at<scalar_t>(p) =
                                       value_at<scalar_t>(to + i * sizeof(scalar_t));
                               });
                       }),
                       AT_EXPAND(AT_ALL_TYPES), at::kBool, at::kHalf, at::kBFloat16,
                       AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
    }

  private:
    Elements elements;
    at::ScalarType type;
    size_t size_B;
    bool is_dense;
};

} // namespace heddle::rng
