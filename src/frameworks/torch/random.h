/*
 * Operators that draw random numbers: a GPU's numbers.
 *
 * The numbers are those of PyTorch's CUDA kernels (ATen/native/cuda/DistributionTemplates.h of the
 * wheel, and the kernels of Dropout.cu, Randperm.cu, Distributions.cu and so on), thread by thread:
 * which thread of which grid draws how often decides what an element gets. The size of a grid
 * depends on the number of SMs and of threads of an SM, so large tensors (of more elements than
 * the device has threads at once) have other numbers on another GPU: Heddle's device says how many
 * it has, and with HEDDLE_MACHINE=a100 the numbers are an A100's. Smaller tensors are the same on all.
 *
 * PyTorch's own functions check arguments and iterate; what is replaced is the kernel that they
 * look up for CUDA (its DispatchStub). spec/torch.def keeps their registrations.
 */
#pragma once

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/native/Distributions.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/native/cuda/thread_constants.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

#include "random_philox.h"
#include "random_state.h"

namespace heddle {
namespace numbers {

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

    /* Sorts dimensions of tensors of the same shape by their strides, as CUDA_tensor_apply2() does. */
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
        int device = c10::cuda::current_device(), sms, threads;
        C10_CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
        C10_CUDA_CHECK(
            cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
        return {static_cast<uint32_t>(sms), static_cast<uint32_t>(threads / BLOCK)};
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
inline void over_grid(const Grid &grid, const std::function<void(uint64_t, uint64_t)> &f)
{
    int64_t blocks = static_cast<int64_t>(grid.blocks);
    at::parallel_for(0, static_cast<int64_t>(grid.iterations) * blocks,
                     at::internal::GRAIN_SIZE / BLOCK / 4, [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; i++)
                             f(static_cast<uint64_t>(i / blocks),
                               static_cast<uint64_t>(i % blocks));
                     });
}

/* ---- kernels that make numbers from nothing (distribution_nullary_kernel) */

/* What a block makes in one iteration: of each thread UNROLL numbers of up to 8 bytes. */
struct Made {
    alignas(64) char of[4 * BLOCK * 8];

    template <class T> T *slot(int i)
    {
        return reinterpret_cast<T *>(of) + i * BLOCK;
    }
};

/* Numbers of the first `count` threads, of each the first `slots`. Not a template on types: it would
 * be compiled for each of them. */
using Fill = std::function<void(const Words &words, int slots, int count, Made &made)>;

struct Target {
    Elements elements;
    size_t size_B;
    bool is_dense;

    template <class U> void scatter(int64_t first, int64_t count, const char *from) const
    {
        elements.each(first, count, [&](char *p, int64_t i) {
            memcpy(p, from + i * static_cast<int64_t>(sizeof(U)), sizeof(U));
        });
    }
    void put(int64_t first, int64_t count, const char *from) const
    {
        if (is_dense)
            memcpy(elements.start() + first * static_cast<int64_t>(size_B), from,
                   static_cast<size_t>(count) * size_B);
        else if (size_B == 1)
            scatter<uint8_t>(first, count, from);
        else if (size_B == 2)
            scatter<uint16_t>(first, count, from);
        else if (size_B == 4)
            scatter<uint32_t>(first, count, from);
        else
            scatter<uint64_t>(first, count, from);
    }
};

inline void fill_range(const Target &out, int64_t n, const Grid &grid, int unroll,
                       const Fill &fill_block, Seed s)
{
    over_grid(grid, [&](uint64_t iteration, uint64_t block) {
        Words words;
        Made made;
        int64_t threads = static_cast<int64_t>(grid.threads);
        int64_t first = static_cast<int64_t>(iteration * grid.threads) * unroll +
                        static_cast<int64_t>(block) * BLOCK;
        if (first >= n)
            return;
        int count = static_cast<int>(std::min<int64_t>(n - first, BLOCK));
        int slots = static_cast<int>(std::min<int64_t>((n - first - 1) / threads + 1, unroll));
        philox_block(s.seed, s.offset / 4 + iteration, block * BLOCK, count, &words);
        fill_block(words, slots, count, made);
        for (int slot = 0; slot < slots; slot++) {
            int64_t from = first + slot * threads;
            out.put(from, std::min<int64_t>(n - from, BLOCK),
                    made.of + static_cast<size_t>(slot) * BLOCK * out.size_B);
        }
    });
}

inline void fill(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator,
                 int unroll, const Fill &fill_block)
{
    int64_t n = iter.numel();
    if (n == 0)
        return;
    Grid grid(n, static_cast<unsigned>(unroll));
    auto state = take_numbers(generator, grid.increment);
    if (!iter.can_use_32bit_indexing()) {
        for (auto &part : iter.with_32bit_indexing())
            fill(kernel, part, generator, unroll, fill_block);
        return;
    }
    Target out{Elements(iter, 0), static_cast<size_t>(iter.element_size(0)), false};
    out.is_dense = out.elements.is_dense(out.size_B);
    draw(kernel, state, [=](Seed s) { fill_range(out, n, grid, unroll, fill_block, s); });
}

/* Words as they are, or two as one of 64 bits. */
template <class T, bool IS_WIDE, class F>
void fill_words(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator, F f)
{
    if constexpr (IS_WIDE)
        fill(kernel, iter, generator, 2, [f](const Words &w, int slots, int count, Made &made) {
            for (int s = 0; s < slots; s++)
                for (int i = 0; i < count; i++)
                    made.slot<T>(s)[i] =
                        f(static_cast<uint64_t>(w.of[2 * s][i]) << 32 | w.of[2 * s + 1][i]);
        });
    else
        fill(kernel, iter, generator, 4, [f](const Words &w, int slots, int count, Made &made) {
            for (int s = 0; s < slots; s++)
                for (int i = 0; i < count; i++)
                    made.slot<T>(s)[i] = f(w.of[s][i]);
        });
}

/* f(number): floats, and doubles for double. They are rounded as x * by + add in one step before. */
template <class T, class A, class F>
void fill_uniform(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator, A by,
                  A add, F f)
{
    if constexpr (std::is_same_v<A, double>)
        fill(kernel, iter, generator, 2, [=](const Words &w, int slots, int count, Made &made) {
            for (int s = 0; s < slots; s++)
                for (int i = 0; i < count; i++) {
                    double u = uniform_of(w.of[2 * s][i], w.of[2 * s + 1][i]);
                    made.slot<T>(s)[i] = f(by == 1 && add == 0 ? u : std::fma(u, by, add));
                }
        });
    else
        fill(kernel, iter, generator, 4, [=](const Words &w, int slots, int count, Made &made) {
            Floats u;
            for (int s = 0; s < slots; s++) {
                uniform_block(w.of[s], count, u.of[s]);
                if (by != 1 || add != 0)
                    fused_block(u.of[s], count, by, add);
                for (int i = 0; i < count; i++)
                    made.slot<T>(s)[i] = f(u.of[s][i]);
            }
        });
}

template <class T, class A, class F>
void fill_normal(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator, A std,
                 A mean, F f)
{
    if constexpr (std::is_same_v<A, double>)
        fill(kernel, iter, generator, 2, [=](const Words &w, int slots, int count, Made &made) {
            for (int i = 0; i < count; i++) {
                auto [a, b] = normal_of({{w.of[0][i], w.of[1][i], w.of[2][i], w.of[3][i]}});
                made.slot<T>(0)[i] = f(std::fma(a, std, mean));
                if (slots > 1)
                    made.slot<T>(1)[i] = f(std::fma(b, std, mean));
            }
        });
    else
        fill(kernel, iter, generator, 4, [=](const Words &w, int slots, int count, Made &made) {
            Floats x;
            for (int s = 0; s < slots; s++) {
                if (s % 2 == 0)
                    normal_block(&w, s / 2, count, &x);
                if (std != 1 || mean != 0)
                    fused_block(x.of[s], count, std, mean);
                for (int i = 0; i < count; i++)
                    made.slot<T>(s)[i] = f(x.of[s][i]);
            }
        });
}

/* ---- distributions */

inline void uniform(at::TensorIteratorBase &iter, double from_, double to_, Generator generator)
{
    static Kernel kernel("aten::uniform_");
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "uniform_", [&] {
        using A = at::opmath_type<scalar_t>;
        auto from = static_cast<scalar_t>(from_), to = static_cast<scalar_t>(to_);
        fill_uniform<scalar_t, A>(kernel, iter, generator, static_cast<A>(to - from),
                                  static_cast<A>(from), [=](A x) {
                                      auto value = static_cast<scalar_t>(x);
                                      return value == to ? from : value; /* [from, to) */
                                  });
    });
}

inline void normal(const at::TensorBase &self, double mean, double std, Generator generator)
{
    static Kernel kernel("aten::normal_");
    auto iter = at::TensorIterator::borrowing_nullary_op(self);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "normal_", [&] {
        using A = at::acc_type<scalar_t, true>;
        fill_normal<scalar_t, A>(kernel, iter, generator, static_cast<A>(std), static_cast<A>(mean),
                                 [](A x) { return static_cast<scalar_t>(x); });
    });
}

inline void log_normal(at::TensorIteratorBase &iter, double mean, double std, Generator generator)
{
    static Kernel kernel("aten::log_normal_");
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "log_normal_", [&] {
        using A = at::acc_type<scalar_t, true>;
        fill_normal<scalar_t, A>(kernel, iter, generator, static_cast<A>(std), static_cast<A>(mean),
                                 [](A x) {
                                     if constexpr (std::is_same_v<A, double>)
                                         return std::exp(x);
                                     else
                                         return static_cast<scalar_t>(fast_exp(x));
                                 });
    });
}

inline void exponential(at::TensorIteratorBase &iter, double lambda, Generator generator)
{
    static Kernel kernel("aten::exponential_");
    TORCH_CHECK(
        at::isFloatingType(iter.dtype()),
        "Exponential distribution is a continuous probability distribution. dtype must be a "
        "floating point but you specified ",
        iter.dtype());
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "exponential_", [&] {
        using A = at::acc_type<scalar_t, true>;
        A by = A{-1} / static_cast<A>(lambda);
        fill_uniform<scalar_t, A>(kernel, iter, generator, 1, 0, [by](A u) {
            constexpr A half = std::numeric_limits<A>::epsilon() / 2;
            A log = -half; /* never 0 */
            if (u < 1 - half) {
                if constexpr (std::is_same_v<A, double>)
                    log = std::log(u);
                else
                    log = fast_log(u);
            }
            return static_cast<scalar_t>(by * log);
        });
    });
}

inline void cauchy(at::TensorIteratorBase &iter, double median_, double sigma_, Generator generator)
{
    static Kernel kernel("aten::cauchy_");
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "cauchy_", [&] {
        using A = at::acc_type<scalar_t, true>;
        A median = static_cast<A>(median_), sigma = static_cast<A>(sigma_);
        fill_uniform<scalar_t, A>(kernel, iter, generator, 1, 0, [=](A u) {
            if constexpr (!std::is_same_v<A, double>) {
                constexpr A eps = std::numeric_limits<A>::epsilon();
                u = std::clamp<A>(u, eps, 1 - eps);
            }
            return static_cast<scalar_t>(
                std::fma(sigma, std::tan(c10::pi<A> * (u - A{0.5})), median));
        });
    });
}

/* What a GPU makes of a number that an integer type does not hold: its low bits. */
template <class T, class A> T truncated(A x)
{
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<int64_t>(x));
    else
        return static_cast<T>(x);
}

inline void geometric(at::TensorIteratorBase &iter, double p_, Generator generator)
{
    static Kernel kernel("aten::geometric_");
    AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "geometric_", [&] {
        using A = at::DiscreteDistributionType<scalar_t>::type;
        A p = static_cast<A>(p_), log_q;
        if constexpr (std::is_same_v<A, double>)
            log_q = std::log1p(-p);
        else
            log_q = fast_log(1.0f - p);
        fill_uniform<scalar_t, A>(kernel, iter, generator, 1, 0, [log_q](A u) {
            if constexpr (std::is_same_v<A, double>)
                return truncated<scalar_t>(std::ceil(std::log(u) / log_q));
            else
                return truncated<scalar_t>(std::ceil(fast_log(u) / log_q));
        });
    });
}

inline void bernoulli_scalar(const at::TensorBase &self, double p_, Generator generator)
{
    static Kernel kernel("aten::bernoulli_");
    auto iter = at::TensorIterator::borrowing_nullary_op(self);
    AT_DISPATCH_ALL_TYPES_AND3(
        at::kHalf, at::kBFloat16, at::kBool, iter.dtype(), "bernoulli_", [&] {
            using A = at::DiscreteDistributionType<scalar_t>::type;
            A p = static_cast<A>(p_);
            fill_uniform<scalar_t, A>(kernel, iter, generator, 1, 0,
                                      [p](A u) { return static_cast<scalar_t>(u < p); });
        });
}

inline void random_from_to(at::TensorIteratorBase &iter, uint64_t range, int64_t base,
                           Generator generator)
{
    static Kernel kernel("aten::random_");
    AT_DISPATCH_V2(iter.dtype(), "random_", AT_WRAP([&] {
                       using at::transformation::uniform_int_from_to;
                       if (range >= 1u << 28) {
                           fill_words<scalar_t, true>(kernel, iter, generator, [=](uint64_t x) {
                               return uniform_int_from_to<scalar_t>(x, range, base);
                           });
                       } else {
                           auto narrow = static_cast<uint32_t>(range);
                           fill_words<scalar_t, false>(kernel, iter, generator, [=](uint32_t x) {
                               return uniform_int_from_to<scalar_t>(x % narrow, range, base);
                           });
                       }
                   }),
                   AT_EXPAND(AT_ALL_TYPES), at::kBool, at::kHalf, at::kBFloat16,
                   AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
}

inline void random_full_range(at::TensorIteratorBase &iter, Generator generator)
{
    static Kernel kernel("aten::random_");
    AT_DISPATCH_ALL_TYPES_AND(at::kBFloat16, iter.dtype(), "random_", [&] {
        if constexpr (std::is_same_v<scalar_t, int64_t> || std::is_same_v<scalar_t, double> ||
                      std::is_same_v<scalar_t, float> || std::is_same_v<scalar_t, at::BFloat16>)
            fill_words<scalar_t, true>(kernel, iter, generator, [](uint64_t x) {
                return at::transformation::uniform_int_full_range<scalar_t>(x);
            });
        else
            TORCH_CHECK(false, "random_full_64_bits_range_kernel_cuda handles only int64, double, "
                               "float and bfloat16");
    });
}

inline void random(at::TensorIteratorBase &iter, Generator generator)
{
    static Kernel kernel("aten::random_");
    AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, iter.dtype(), "random_", [&] {
        constexpr bool is_wide =
            std::is_same_v<scalar_t, double> || std::is_same_v<scalar_t, int64_t>;
        fill_words<scalar_t, is_wide>(kernel, iter, generator, [](auto x) {
            return at::transformation::uniform_int<scalar_t>(x);
        });
    });
}

/* ---- kernels with one input (CUDA_tensor_apply2): thread i has `step` elements from i * step on */

/* f(output, input, number of the element), for [begin, end) of parallel_for's. */
template <class T, class P, class F>
void over_pairs(Elements out, Elements in, int64_t n, int64_t grain, F &&f)
{
    at::parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
        constexpr int64_t CHUNK = 512;
        char *inputs[CHUNK];
        for (; begin < end; begin += CHUNK) {
            int64_t count = std::min(end - begin, CHUNK);
            in.each(begin, count, [&](char *p, int64_t i) { inputs[i] = p; });
            out.each(begin, count, [&](char *p, int64_t i) {
                value_at<T>(p) = f(value_at<const P>(inputs[i]), begin + i);
            });
        }
    });
}

template <class T, class P>
void bernoulli_of(Kernel &kernel, const at::PhiloxCudaState &state, const at::TensorBase &self,
                  const at::TensorBase &p)
{
    Elements to(self), from(p);
    Elements::rearrange(to, from);
    draw(kernel, state, [to, from, n = self.numel()](Seed s) {
        Counter words{};
        int64_t thread = -1;
        over_pairs<T, P>(to, from, n, 4096, [&s, words, thread](P p, int64_t i) mutable {
            TORCH_CHECK(0 <= p && p <= 1,
                        "bernoulli_ expects all probabilities to "
                        "be in [0, 1], but found ",
                        p);
            if (i / 4 != thread) {
                thread = i / 4;
                words = philox(s.seed, s.offset / 4, static_cast<uint64_t>(thread));
            }
            return static_cast<T>(uniform_of(words.c[i % 4]) <= p);
        });
    });
}

inline void bernoulli_tensor(const at::TensorBase &self, const at::TensorBase &p_,
                             Generator generator)
{
    static Kernel kernel("aten::bernoulli_.Tensor");
    auto state = take_numbers(generator, 10);
    TORCH_CHECK(at::isFloatingType(p_.scalar_type()),
                "expected probabilities tensor to have floating type, got ", p_.scalar_type());
    auto type = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    auto p_cuda = at::Tensor(p_).to(at::TensorOptions().device(self.device()).dtype(type));
    auto p = at::expand_inplace(at::Tensor(self), p_cuda);
    AT_DISPATCH_ALL_TYPES_AND3(
        at::kHalf, at::kBFloat16, at::kBool, self.scalar_type(), "bernoulli_", [&] {
            using P = std::conditional_t<std::is_same_v<scalar_t, double>, double, float>;
            bernoulli_of<scalar_t, P>(kernel, state, self, *p);
        });
}

/*
 * curand_poisson(): Knuth's method below 64, a normal number above 4000. Between them cuRAND inverts
 * the incomplete gamma function by approximations that are not published: there it is Hoermann's
 * transformed rejection (PTRS, 1993), and not a GPU's numbers.
 */
inline uint32_t poisson_of(Stream &s, double lambda)
{
    if (lambda < 64) {
        float p = std::exp(static_cast<float>(lambda));
        uint32_t k = 0;
        do {
            k++;
            p *= s.uniform();
        } while (p > 1.0f);
        return k - 1;
    }
    if (lambda > 4000)
        return static_cast<uint32_t>(std::fma(s.normal_double(), std::sqrt(lambda), lambda) + 0.5);
    double b = 0.931 + 2.53 * std::sqrt(lambda), a = -0.059 + 0.02483 * b;
    double alpha = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - std::fabs(u);
        double k = std::floor((2 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= quick)
            return static_cast<uint32_t>(k);
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (std::log(v * alpha / (a / (us * us) + b)) <=
            k * std::log(lambda) - lambda - std::lgamma(k + 1))
            return static_cast<uint32_t>(k);
    }
}

/* One Stream for each element: f(stream, input). */
template <class T, class F>
void draw_each(Kernel &kernel, const at::PhiloxCudaState &state, const at::Tensor &result,
               const at::Tensor &input, F f)
{
    Elements to(result), from(input);
    Elements::rearrange(to, from);
    draw(kernel, state, [to, from, f, n = result.numel()](Seed s) {
        over_pairs<T, T>(to, from, n, 512, [&](T x, int64_t i) {
            Stream stream(s.seed, static_cast<uint64_t>(i), s.offset);
            return f(stream, x);
        });
    });
}

inline at::Tensor poisson(const at::Tensor &lambda, Generator generator)
{
    static Kernel kernel("aten::poisson");
    c10::cuda::OptionalCUDAGuard guard(lambda.device());
    auto result = at::empty_like(lambda, at::MemoryFormat::Contiguous);
    auto state = take_numbers(generator, 20);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, result.scalar_type(), "poisson", [&] {
        draw_each<scalar_t>(kernel, state, result, lambda, [](Stream &s, scalar_t rate) {
            TORCH_CHECK(rate >= scalar_t(0),
                        "invalid Poisson rate, expected rate to be non-negative");
            return static_cast<scalar_t>(poisson_of(s, static_cast<double>(rate)));
        });
    });
    return result;
}

inline at::Tensor standard_gamma(const at::Tensor &alpha, Generator generator)
{
    static Kernel kernel("aten::_standard_gamma");
    c10::cuda::OptionalCUDAGuard guard(alpha.device());
    auto result = at::empty_like(alpha, at::MemoryFormat::Contiguous);
    auto state = take_numbers(generator, 10);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, result.scalar_type(), "gamma", [&] {
        using A = at::acc_type<scalar_t, true>;
        draw_each<scalar_t>(kernel, state, result, alpha, [](Stream &s, scalar_t a) {
            auto uniform = [&s] { return s.uniform(); };
            auto normal = [&s] { return s.normal(); };
            BaseSampler<A, decltype(uniform)> uniforms(uniform);
            BaseSampler<A, decltype(normal)> normals(normal);
            auto x = sample_gamma<scalar_t, A>(a, uniforms, normals);
            auto least = std::numeric_limits<scalar_t>::min();
            return least > x ? least : x;
        });
    });
    return result;
}

inline at::Tensor sample_dirichlet(const at::Tensor &alpha, Generator generator)
{
    auto result = standard_gamma(alpha, generator);
    result.div_(result.sum(-1, /* keepdim */ true));
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, result.scalar_type(), "dirichlet", [&] {
            auto most =
                static_cast<scalar_t>(scalar_t(1) - std::numeric_limits<scalar_t>::epsilon());
            result.clamp_(static_cast<double>(std::numeric_limits<scalar_t>::min()),
                          static_cast<double>(most));
        });
    return result;
}

/* distribution_binary_kernel(): a thread has elements that lie num_threads() apart. */
inline at::Tensor binomial(const at::Tensor &count, const at::Tensor &p, Generator generator)
{
    static Kernel kernel("aten::binomial");
    for (auto &[t, name] : {std::pair{count, "count"}, {p, "prob"}})
        TORCH_CHECK_VALUE(at::isFloatingType(t.scalar_type()),
                          "binomial only supports floating-point dtypes for ", name,
                          ", got: ", t.scalar_type());
    c10::cuda::OptionalCUDAGuard guard(count.device());
    auto result = at::empty_like(count, at::MemoryFormat::Contiguous);
    auto iter = at::TensorIteratorConfig().add_output(result).add_input(count).add_input(p).build();
    auto state = take_numbers(generator, 42);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iter.dtype(), "binomial", [&] {
        using A = at::acc_type<scalar_t, true>;
        auto one = [](Stream &s, scalar_t count, scalar_t p) {
            auto uniform = [&s] { return static_cast<float>(s.word() & 0xffffffu) * 0x1p-24f; };
            BaseSampler<A, decltype(uniform)> uniforms(uniform);
            return sample_binomial<scalar_t, A>(count, p, uniforms);
        };
        auto body = [one, n = iter.numel(), to = Elements(iter, 0), counts = Elements(iter, 1),
                     ps = Elements(iter, 2)](Seed s) {
            constexpr int64_t apart = num_threads(), work = block_work_size();
            at::parallel_for(0, (n + work - 1) / work, 1, [&](int64_t begin, int64_t end) {
                char *x[work], *y[work], *z[work];
                for (int64_t block = begin; block < end; block++) {
                    int64_t some = std::min(n - block * work, work);
                    to.each(block * work, some, [&](char *at, int64_t i) { x[i] = at; });
                    counts.each(block * work, some, [&](char *at, int64_t i) { y[i] = at; });
                    ps.each(block * work, some, [&](char *at, int64_t i) { z[i] = at; });
                    for (int64_t t = 0; t < apart; t++) {
                        Stream stream(s.seed, static_cast<uint64_t>(block * apart + t), s.offset);
                        for (int64_t i = t; i < some; i += apart)
                            value_at<scalar_t>(x[i]) =
                                one(stream, value_at<scalar_t>(y[i]), value_at<scalar_t>(z[i]));
                    }
                }
            });
        };
        if (iter.numel())
            draw(kernel, state, body);
    });
    return result;
}

/* ---- dropout (Dropout.cu) */

/* How many neighbours a thread of the kernel has: 1 means the kernel for any strides. */
inline int dropout_width(const at::Tensor &self, const at::Tensor &result, const at::Tensor &mask)
{
    if (!self.is_non_overlapping_and_dense() || !result.is_non_overlapping_and_dense() ||
        !mask.is_non_overlapping_and_dense())
        return 1;
    int size_B = static_cast<int>(self.element_size()), width = std::min(16 / size_B, 8);
    auto address = reinterpret_cast<uintptr_t>(self.const_data_ptr());
    while (width > 1 && (address % static_cast<uintptr_t>(width * size_B) || self.numel() % width))
        width /= 2;
    return width;
}

/* An element of a dropout: kept or not. */
template <class T, class M, class A> struct Drop {
    A p, scale;

    void operator()(T x, float u, T &result, M &mask) const
    {
        float kept = u < p;
        result = static_cast<T>(x * kept * scale);
        mask = static_cast<M>(kept);
    }
};

/* Threads have `width` neighbours each in an iteration, from as many curand_uniform4() as it takes. */
template <class T, class M, class A>
void dropout_wide(const Drop<T, M, A> &drop, Seed s, Grid grid, int width, int64_t n, const T *from,
                  T *to, M *mask)
{
    int quads = (width + 3) / 4, used = std::min(width, 4);
    grid.iterations =
        (static_cast<uint64_t>(n) - 1) / (grid.threads * static_cast<uint64_t>(width)) + 1;
    over_grid(grid, [&](uint64_t iteration, uint64_t block) {
        Words words;
        Floats u;
        int64_t first = static_cast<int64_t>(iteration * grid.threads + block * BLOCK) * width;
        int count = static_cast<int>(std::clamp<int64_t>((n - first) / width, 0, BLOCK));
        for (int quad = 0; quad < quads && count; quad++) {
            philox_block(s.seed,
                         s.offset / 4 + iteration * static_cast<uint64_t>(quads) +
                             static_cast<uint64_t>(quad),
                         block * BLOCK, count, &words);
            for (int c = 0; c < used; c++)
                uniform_block(words.of[c], count, u.of[c]);
            for (int i = 0; i < count; i++)
                for (int c = 0; c < used; c++) {
                    int64_t at = first + i * width + quad * 4 + c;
                    drop(from[at], u.of[c][i], to[at], mask[at]);
                }
        }
    });
}

template <class T, class M, class A>
void dropout_strided(const Drop<T, M, A> &drop, Seed s, const Grid &grid, int64_t n,
                     const Elements &from, const Elements &to, const Elements &mask)
{
    over_grid(grid, [&](uint64_t iteration, uint64_t block) {
        Words words;
        Floats u;
        char *x[BLOCK], *m[BLOCK];
        int64_t threads = static_cast<int64_t>(grid.threads);
        int64_t first = static_cast<int64_t>(iteration * grid.threads * 4 + block * BLOCK);
        philox_block(s.seed, s.offset / 4 + iteration, block * BLOCK, BLOCK, &words);
        for (int slot = 0; slot < 4 && first < n; slot++, first += threads) {
            int64_t some = std::min<int64_t>(n - first, BLOCK);
            uniform_block(words.of[slot], BLOCK, u.of[slot]);
            from.each(first, some, [&](char *p, int64_t i) { x[i] = p; });
            mask.each(first, some, [&](char *p, int64_t i) { m[i] = p; });
            to.each(first, some, [&](char *p, int64_t i) {
                drop(value_at<T>(x[i]), u.of[slot][i], value_at<T>(p), value_at<M>(m[i]));
            });
        }
    });
}

/* `p` is the probability to be kept. */
template <class M>
std::tuple<at::Tensor, at::Tensor> dropout(Kernel &kernel, const at::Tensor &self, double p,
                                           const Generator &generator)
{
    c10::cuda::OptionalCUDAGuard guard(self.device());
    auto mask = at::empty_like(self, self.options().dtype(c10::CppTypeToScalarType<M>::value));
    int64_t n = self.numel();
    if (n == 0)
        return {self.clone(), mask};
    auto result = at::empty_like(self);
    Grid grid(n, 4);
    auto state = take_numbers(generator, grid.increment);
    int width = dropout_width(self, result, mask);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "dropout", [&] {
        using A = at::acc_type<scalar_t, true>;
        Drop<scalar_t, M, A> drop{static_cast<A>(p), static_cast<A>(1.0 / static_cast<A>(p))};
        if (width > 1)
            draw(kernel, state,
                 [=, from = self.const_data_ptr<scalar_t>(),
                  to = result.mutable_data_ptr<scalar_t>(),
                  kept = mask.template mutable_data_ptr<M>()](Seed s) {
                     dropout_wide(drop, s, grid, width, n, from, to, kept);
                 });
        else
            draw(kernel, state,
                 [=, from = Elements(self), to = Elements(result), kept = Elements(mask)](Seed s) {
                     dropout_strided(drop, s, grid, n, from, to, kept);
                 });
    });
    return {result, mask};
}

inline std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor &self, double p,
                                                         std::optional<bool> train)
{
    static Kernel kernel("aten::native_dropout");
    auto bools = self.options().dtype(at::kBool);
    if (train && !*train)
        return {self.clone(), at::ones_like(self, bools)};
    if (p == 1)
        return {at::zeros_like(self), at::zeros_like(self, bools)};
    return dropout<bool>(kernel, self, 1.0 - p, std::nullopt);
}

inline std::tuple<at::Tensor, at::Tensor> fused_dropout(const at::Tensor &self, double p,
                                                        Generator generator)
{
    static Kernel kernel("aten::_fused_dropout");
    return dropout<uint8_t>(kernel, self, p, generator);
}

/* ---- rrelu (RreluWithNoise.cu) */

template <class T>
void rrelu_train(const at::Tensor &self, at::Tensor &noise, double lower, double upper,
                 const Generator &generator, at::Tensor &out)
{
    static Kernel kernel("aten::rrelu_with_noise");
    constexpr int unroll = std::is_same_v<T, double> ? 2 : 4;
    int64_t n = self.numel();
    Grid grid(n, unroll);
    auto state = take_numbers(generator, grid.increment);

    draw(kernel, state,
         [=, x = self.const_data_ptr<T>(), y = out.mutable_data_ptr<T>(),
          made = noise.mutable_data_ptr<T>()](Seed s) {
             over_grid(grid, [&](uint64_t iteration, uint64_t block) {
                 Words words;
                 philox_block(s.seed, s.offset / 4 + iteration, block * BLOCK, BLOCK, &words);
                 int64_t first =
                     static_cast<int64_t>(iteration * grid.threads * unroll + block * BLOCK);
                 for (int slot = 0; slot < unroll;
                      slot++, first += static_cast<int64_t>(grid.threads))
                     for (int64_t i = first; i < std::min(n, first + BLOCK); i++) {
                         int64_t t = i - first;
                         T r;
                         if constexpr (unroll == 2)
                             r = uniform_of(words.of[2 * slot][t], words.of[2 * slot + 1][t]);
                         else
                             r = static_cast<T>(uniform_of(words.of[slot][t]));
                         r = static_cast<T>(std::fma(static_cast<double>(r), upper - lower, lower));
                         bool is_negative = x[i] <= T(0);
                         y[i] = is_negative ? static_cast<T>(x[i] * r) : x[i];
                         made[i] = is_negative ? r : static_cast<T>(1);
                     }
             });
         });
}

inline at::Tensor &rrelu_with_noise_out(const at::Tensor &self, at::Tensor &noise,
                                        const at::Scalar &lower, const at::Scalar &upper,
                                        bool training, Generator generator, at::Tensor &out)
{
    at::native::resize_output(out, self.sizes());
    if (self.numel() == 0)
        return out;
    TORCH_CHECK(self.device() == noise.device() && self.device() == out.device(),
                "rrelu_with_noise: expected all tensors to be on the same device");
    c10::cuda::OptionalCUDAGuard guard(self.device());
    if (!training) {
        at::leaky_relu_out(out, self, (lower.toDouble() + upper.toDouble()) / 2);
        return out;
    }
    auto x = self.contiguous(), made = noise.contiguous(), y = out.contiguous();
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, self.scalar_type(), "rrelu_with_noise_out_cuda",
        [&] { rrelu_train<scalar_t>(x, made, lower.toDouble(), upper.toDouble(), generator, y); });
    if (!out.is_contiguous())
        out.copy_(y);
    return out;
}

inline at::Tensor rrelu_with_noise(const at::Tensor &self, at::Tensor &noise,
                                   const at::Scalar &lower, const at::Scalar &upper, bool training,
                                   Generator generator)
{
    auto out = at::empty_like(self, at::MemoryFormat::Contiguous);
    rrelu_with_noise_out(self, noise, lower, upper, training, std::move(generator), out);
    return out;
}

inline at::Tensor &rrelu_with_noise_(at::Tensor &self, at::Tensor &noise, const at::Scalar &lower,
                                     const at::Scalar &upper, bool training, Generator generator)
{
    return rrelu_with_noise_out(self, noise, lower, upper, training, std::move(generator), self);
}

/* ---- randperm (Randperm.cu): the order of random keys; equal ones are shuffled */

/* Sorts by the low `bits` bits of the keys; a sign is part of them only if all bits are. */
template <class K>
std::vector<std::pair<K, int64_t>> sorted_by_keys(const K *keys, int64_t n, int bits)
{
    using U = std::make_unsigned_t<K>;
    constexpr int all = sizeof(K) * 8;
    U mask = bits == all ? ~U{0} : static_cast<U>((U{1} << bits) - 1);
    U flip = bits == all ? static_cast<U>(U{1} << (all - 1)) : 0;
    std::vector<std::pair<U, int64_t>> a(static_cast<size_t>(n)), b(a.size());

    for (int64_t i = 0; i < n; i++)
        a[static_cast<size_t>(i)] = {(static_cast<U>(keys[i]) & mask) ^ flip, i};
    if (n < 4096) {
        std::sort(a.begin(), a.end()); /* of equal keys the lower index first */
    } else {
        for (int shift = 0; shift < bits; shift += 11) {
            size_t starts[2049] = {};
            for (auto &x : a)
                starts[(x.first >> shift & 2047) + 1]++;
            for (int i = 0; i < 2048; i++)
                starts[i + 1] += starts[i];
            for (auto &x : a)
                b[starts[x.first >> shift & 2047]++] = x;
            a.swap(b);
        }
    }
    std::vector<std::pair<K, int64_t>> out(a.size());
    for (size_t i = 0; i < a.size(); i++)
        out[i] = {static_cast<K>(a[i].first), a[i].second};
    return out;
}

template <class K, class T>
void permute(Kernel &kernel, const at::Tensor &keys, at::Tensor &result, int bits,
             const Generator &generator)
{
    int64_t n = keys.numel();
    auto state = take_numbers(generator, static_cast<uint64_t>(n));

    draw(kernel, state,
         [=, in = keys.const_data_ptr<K>(), out = result.mutable_data_ptr<T>()](Seed s) {
             auto sorted = sorted_by_keys(in, n, bits);
             for (int64_t i = 0; i < n; i++)
                 out[i] = static_cast<T>(sorted[static_cast<size_t>(i)].second);
             auto key = [&](int64_t i) { return sorted[static_cast<size_t>(i)].first; };
             for (int64_t i = 0, size; i < n; i += size) {
                 for (size = 1; i + size < n && key(i + size) == key(i);)
                     size++;
                 if (size == 1)
                     continue;
                 Stream stream(s.seed, static_cast<uint64_t>(i), s.offset);
                 for (int64_t last = size - 1; last > 0; last--)
                     std::swap(out[i + last],
                               out[i + stream.word() % static_cast<uint32_t>(last + 1)]);
             }
         });
}

inline at::Tensor &randperm_out(int64_t n, Generator generator, at::Tensor &out)
{
    static Kernel kernel("aten::randperm");
    TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
    at::native::check_supported_max_int_with_precision(n, out);
    c10::cuda::OptionalCUDAGuard guard(out.device());
    out.resize_({n});
    if (n == 0)
        return out;
    double x = static_cast<double>(n);
    int bits = std::min(
        64, static_cast<int>(std::ceil(std::log2(x - (6 * x * x + 1) / (std::log(0.9) * 12)))));
    bool is_wide = bits > 32;
    auto keys = at::empty({n}, out.options().dtype(is_wide ? at::kLong : at::kInt));
    if (is_wide)
        keys.random_(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                     generator);
    else
        keys.random_(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), generator);
    auto result = out.is_contiguous() ? out : at::empty({n}, out.options());
    AT_DISPATCH_ALL_TYPES_AND2(
        at::kHalf, at::kBFloat16, out.scalar_type(), "randperm_out_cuda", [&] {
            if (is_wide)
                permute<int64_t, scalar_t>(kernel, keys, result, bits, generator);
            else
                permute<int, scalar_t>(kernel, keys, result, bits, generator);
        });
    if (!out.is_contiguous())
        out.copy_(result);
    return out;
}

/* ---- multinomial with replacement (MultinomialKernel.cu); PyTorch makes the other kind of others */

template <class T>
void multinomial_of(Kernel &kernel, const at::PhiloxCudaState &state, const at::Tensor &sums,
                    const at::Tensor &ps, at::Tensor &result)
{
    int64_t rows = ps.size(0), cols = ps.size(1), samples = result.size(1);
    int64_t grid_y = std::min<int64_t>(rows, 65535), row_threads = ((samples - 1) / 128 + 1) * 128;

    draw(kernel, state,
         [=, sum = sums.const_data_ptr<T>(), p = ps.const_data_ptr<T>(),
          out = result.mutable_data_ptr<int64_t>()](Seed s) {
             at::parallel_for(0, rows * samples, 2048, [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; i++) {
                     int64_t row = i / samples, sample = i % samples;
                     const T *sums = sum + row * cols, *ps = p + row * cols;
                     auto thread = static_cast<int32_t>(row % grid_y * row_threads + sample);
                     auto word = philox(s.seed, s.offset / 4 + static_cast<uint64_t>(row / grid_y),
                                        static_cast<uint64_t>(int64_t{thread}));
                     TORCH_CHECK(sums[cols - 1] > T(0),
                                 "invalid multinomial distribution (sum of probabilities <= 0)");
                     auto u = static_cast<T>(uniform_of(word.c[0]));
                     int64_t at = std::lower_bound(sums, sums + cols, u) - sums;
                     if (at == cols)
                         at--;
                     while (at >= 1 && ps[at] == T(0))
                         at--;
                     out[i] = at;
                 }
             });
         });
}

inline void multinomial_with_replacement(at::Tensor &result, const at::Tensor &self,
                                         int64_t samples, Generator generator)
{
    static Kernel kernel("aten::multinomial");
    auto rows = self.dim() == 1 ? self.unsqueeze(0) : self;
    result.resize_({rows.size(0), samples});
    auto ps = rows.contiguous();
    auto total = ps.sum(1, /* keepdim */ true);
    ps = ps.div(total);
    auto sums = ps.cumsum(1);
    int64_t grid_y = std::min<int64_t>(rows.size(0), 65535);
    auto state =
        take_numbers(generator, static_cast<uint64_t>(((rows.size(0) - 1) / grid_y + 1) * 4));
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, self.scalar_type(), "multinomial_kernel_cuda",
        [&] { multinomial_of<scalar_t>(kernel, state, sums, ps, result); });
    if (self.dim() == 1)
        result.resize_({samples});
}

} // namespace numbers

inline void random_register(torch::Library &cuda)
{
    using namespace at::native;

    uniform_stub.set_cuda_dispatch_ptr(numbers::uniform);
    normal_stub.set_cuda_dispatch_ptr(numbers::normal);
    log_normal_stub.set_cuda_dispatch_ptr(numbers::log_normal);
    exponential_stub.set_cuda_dispatch_ptr(numbers::exponential);
    cauchy_stub.set_cuda_dispatch_ptr(numbers::cauchy);
    geometric_stub.set_cuda_dispatch_ptr(numbers::geometric);
    bernoulli_scalar_stub.set_cuda_dispatch_ptr(numbers::bernoulli_scalar);
    bernoulli_tensor_stub.set_cuda_dispatch_ptr(numbers::bernoulli_tensor);
    random_from_to_stub.set_cuda_dispatch_ptr(numbers::random_from_to);
    random_full_64_bits_range_stub.set_cuda_dispatch_ptr(numbers::random_full_range);
    random_stub.set_cuda_dispatch_ptr(numbers::random);
    multinomial_with_replacement_stub.set_cuda_dispatch_ptr(numbers::multinomial_with_replacement);

    cuda.impl("native_dropout", TORCH_FN(numbers::native_dropout));
    cuda.impl("_fused_dropout", TORCH_FN(numbers::fused_dropout));
    cuda.impl("poisson", TORCH_FN(numbers::poisson));
    cuda.impl("binomial", TORCH_FN(numbers::binomial));
    cuda.impl("_standard_gamma", TORCH_FN(numbers::standard_gamma));
    cuda.impl("_sample_dirichlet", TORCH_FN(numbers::sample_dirichlet));
    cuda.impl("rrelu_with_noise", TORCH_FN(numbers::rrelu_with_noise));
    cuda.impl("rrelu_with_noise.out", TORCH_FN(numbers::rrelu_with_noise_out));
    cuda.impl("rrelu_with_noise_", TORCH_FN(numbers::rrelu_with_noise_));
    cuda.impl("randperm.generator_out", TORCH_FN(numbers::randperm_out));
}

} // namespace heddle
