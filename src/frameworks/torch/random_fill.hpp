/*
 * Distributions that fill a tensor: distribution_nullary_kernel() of DistributionTemplates.h.
 *
 * A thread's words become numbers of one kind, whatever the tensor's type: PyTorch computes 16-bit
 * floats as float, too. So the code is there once for float, double and integers, and not for each
 * type: the layer is compiled on the user's machine.
 */
#pragma once

#include <ATen/core/DistributionsHelper.h>
#include <ATen/native/UnaryOps.h>
#include <c10/util/MathConstants.h>

#include "random_grid.hpp"

namespace heddle::rng {

/* Makes numbers of the first `count` threads, of each the first `slots`. */
using Fill = std::function<void(const Words &words, int slots, int count, Made &made)>;

inline void fill_all(const Target &out, Made::Kind kind, int64_t n, const Grid &grid, int unroll,
                     const Fill &make, Seed s)
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
        make(words, slots, count, made);
        for (int slot = 0; slot < slots; slot++, first += threads) {
            int64_t some = std::min<int64_t>(n - first, BLOCK);
            if (kind == Made::FLOATS)
                out.put(first, some, made.f[slot]);
            else if (kind == Made::DOUBLES)
                out.put(first, some, made.d[slot]);
            else
                out.put(first, some, made.i[slot]);
        }
    });
}

/* `unroll` numbers of a thread for each four words. */
inline void fill(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator,
                 Made::Kind kind, int unroll, const Fill &make)
{
    int64_t n = iter.numel();
    if (n == 0)
        return;
    Grid grid(n, static_cast<unsigned>(unroll));
    auto state = take_numbers(generator, grid.increment);
    if (!iter.can_use_32bit_indexing()) {
        for (auto &part : iter.with_32bit_indexing())
            fill(kernel, part, generator, kind, unroll, make);
        return;
    }
    Target out(Elements(iter, 0), iter.dtype());
    draw(kernel, state, [=](Seed s) { fill_all(out, kind, n, grid, unroll, make, s); });
}

/* f(u, count) in place, of floats of (0, 1] or, for tensors of double, of doubles. */
template <class F>
void fill_uniform(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator, F f)
{
    if (iter.dtype() == at::kDouble)
        fill(kernel, iter, generator, Made::DOUBLES, 2,
             [f](const Words &w, int slots, int count, Made &made) {
                 for (int s = 0; s < slots; s++) {
                     for (int i = 0; i < count; i++)
                         made.d[s][i] = uniform_of(w.of[2 * s][i], w.of[2 * s + 1][i]);
                     f(made.d[s], count);
                 }
             });
    else
        fill(kernel, iter, generator, Made::FLOATS, 4,
             [f](const Words &w, int slots, int count, Made &made) {
                 for (int s = 0; s < slots; s++) {
                     uniform_block(w.of[s], count, made.f[s]);
                     f(made.f[s], count);
                 }
             });
}

/* x * by + add, rounded once: GPUs fuse it. */
inline void fused(float *x, int count, float by, float add)
{
    if (by != 1 || add != 0)
        fused_block(x, count, by, add);
}
inline void fused(double *x, int count, double by, double add)
{
    for (int i = 0; i < count && (by != 1 || add != 0); i++)
        x[i] = std::fma(x[i], by, add);
}

template <class F>
void fill_normal(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator,
                 double mean, double std, F f)
{
    if (iter.dtype() == at::kDouble)
        fill(kernel, iter, generator, Made::DOUBLES, 2,
             [=](const Words &w, int slots, int count, Made &made) {
                 for (int i = 0; i < count; i++) {
                     auto pair =
                         normal_of(Counter{{w.of[0][i], w.of[1][i], w.of[2][i], w.of[3][i]}});
                     made.d[0][i] = pair.first;
                     made.d[1][i] = pair.second;
                 }
                 for (int s = 0; s < slots; s++) {
                     fused(made.d[s], count, std, mean);
                     f(made.d[s], count);
                 }
             });
    else
        fill(kernel, iter, generator, Made::FLOATS, 4,
             [=](const Words &w, int slots, int count, Made &made) {
                 for (int s = 0; s < slots; s++) {
                     if (s % 2 == 0)
                         normal_block(w.of[s], w.of[s + 1], count, made.f[s], made.f[s + 1]);
                     fused(made.f[s], count, static_cast<float>(std), static_cast<float>(mean));
                     f(made.f[s], count);
                 }
             });
}

/* f(word): of 32 bits, or of 64. */
template <class F>
void fill_words(Kernel &kernel, at::TensorIteratorBase &iter, const Generator &generator,
                bool is_wide, F f)
{
    fill(kernel, iter, generator, Made::INTEGERS, is_wide ? 2 : 4,
         [f, is_wide](const Words &w, int slots, int count, Made &made) {
             for (int s = 0; s < slots; s++)
                 for (int i = 0; i < count; i++)
                     made.i[s][i] = static_cast<int64_t>(f(
                         is_wide ? static_cast<uint64_t>(w.of[2 * s][i]) << 32 | w.of[2 * s + 1][i]
                                 : w.of[s][i]));
         });
}

/* ---- GPUs' fast functions where PyTorch has them */

inline double log_of(double x)
{
    return std::log(x);
}
inline float log_of(float x)
{
    return fast_log(x);
}
inline double exp_of(double x)
{
    return std::exp(x);
}
inline float exp_of(float x)
{
    return fast_exp(x);
}

/* f(x) for each. */
template <class N, class F> void each(N *x, int count, F &&f)
{
    for (int i = 0; i < count; i++)
        x[i] = f(x[i]);
}

/* What `x` is as an element of a tensor of type `type`, and more precise again. */
inline double rounded(double x, at::ScalarType type)
{
    if (type == at::kHalf)
        return static_cast<at::Half>(static_cast<float>(x));
    if (type == at::kBFloat16)
        return static_cast<at::BFloat16>(static_cast<float>(x));
    return type == at::kFloat ? static_cast<float>(x) : x;
}

/* ---- distributions */

inline void uniform(at::TensorIteratorBase &iter, double from_, double to_, Generator generator)
{
    static Kernel kernel("aten::uniform_");
    auto type = iter.dtype();
    double from = rounded(from_, type), to = rounded(to_, type), range = rounded(to - from, type);

    fill_uniform(kernel, iter, generator, [=](auto *u, int count) {
        using N = std::remove_pointer_t<decltype(u)>;
        N low = static_cast<N>(from), high = static_cast<N>(to);
        fused(u, count, static_cast<N>(range), low);
        if (sizeof(N) == 4 && type != at::kFloat)
            each(u, count, [=](N x) { return static_cast<N>(rounded(x, type)); });
        for (int i = 0; i < count; i++)
            u[i] = u[i] == high ? low : u[i]; /* [from, to) */
    });
}

inline void normal(const at::TensorBase &self, double mean, double std, Generator generator)
{
    static Kernel kernel("aten::normal_");
    auto iter = at::TensorIterator::borrowing_nullary_op(self);
    fill_normal(kernel, iter, generator, mean, std, [](auto *, int) {});
}

inline void log_normal(at::TensorIteratorBase &iter, double mean, double std, Generator generator)
{
    static Kernel kernel("aten::log_normal_");
    fill_normal(kernel, iter, generator, mean, std,
                [](auto *x, int count) { each(x, count, [](auto x) { return exp_of(x); }); });
}

inline void exponential(at::TensorIteratorBase &iter, double lambda, Generator generator)
{
    static Kernel kernel("aten::exponential_");
    TORCH_CHECK(
        at::isFloatingType(iter.dtype()),
        "Exponential distribution is a continuous probability distribution. dtype must be a "
        "floating point but you specified ",
        iter.dtype());
    fill_uniform(kernel, iter, generator, [lambda](auto *u, int count) {
        using N = std::remove_pointer_t<decltype(u)>;
        constexpr N half = std::numeric_limits<N>::epsilon() / 2;
        N by = N{-1} / static_cast<N>(lambda);
        each(u, count, [by](N u) { return by * (u >= 1 - half ? -half : log_of(u)); }); /* not 0 */
    });
}

inline void cauchy(at::TensorIteratorBase &iter, double median, double sigma, Generator generator)
{
    static Kernel kernel("aten::cauchy_");
    fill_uniform(kernel, iter, generator, [=](auto *u, int count) {
        using N = std::remove_pointer_t<decltype(u)>;
        constexpr N eps = sizeof(N) == 4 ? std::numeric_limits<N>::epsilon() : 0;
        each(u, count,
             [=](N u) { return std::tan(c10::pi<N> * (std::clamp<N>(u, eps, 1 - eps) - N{0.5})); });
        fused(u, count, static_cast<N>(sigma), static_cast<N>(median));
    });
}

inline void geometric(at::TensorIteratorBase &iter, double p, Generator generator)
{
    static Kernel kernel("aten::geometric_");
    fill_uniform(kernel, iter, generator, [p](auto *u, int count) {
        using N = std::remove_pointer_t<decltype(u)>;
        N log_q = sizeof(N) == 8 ? static_cast<N>(std::log1p(-p))
                                 : log_of(N{1} - static_cast<N>(p)); /* GPUs have no fast log1p */
        each(u, count, [log_q](N u) { return std::ceil(log_of(u) / log_q); });
    });
}

inline void bernoulli_scalar(const at::TensorBase &self, double p_, Generator generator)
{
    static Kernel kernel("aten::bernoulli_");
    auto iter = at::TensorIterator::borrowing_nullary_op(self);
    fill_uniform(kernel, iter, generator, [p_](auto *u, int count) {
        using N = std::remove_pointer_t<decltype(u)>;
        N p = static_cast<N>(p_);
        each(u, count, [p](N u) { return static_cast<N>(u < p); });
    });
}

inline void random_from_to(at::TensorIteratorBase &iter, uint64_t range, int64_t base,
                           Generator generator)
{
    static Kernel kernel("aten::random_");
    bool is_wide = range >= 1u << 28;
    auto narrow = static_cast<uint32_t>(range);

    if (is_wide)
        fill_words(kernel, iter, generator, true,
                   [=](uint64_t x) { return x % range + static_cast<uint64_t>(base); });
    else
        fill_words(kernel, iter, generator, false, [=](uint64_t x) {
            return static_cast<uint32_t>(x) % narrow + static_cast<uint64_t>(base);
        });
}

/* All 64 bits, of types that random_() takes them for. */
inline void random_full_range(at::TensorIteratorBase &iter, Generator generator)
{
    static Kernel kernel("aten::random_");
    auto type = iter.dtype();
    TORCH_CHECK(
        type == at::kLong || type == at::kDouble || type == at::kFloat || type == at::kBFloat16,
        "random_full_64_bits_range_kernel_cuda handles only int64, double, float and bfloat16");
    fill_words(kernel, iter, generator, true, [](uint64_t x) { return x; });
}

/* From 0 to the largest value, or of floats to the last number below which all integers are. */
inline void random(at::TensorIteratorBase &iter, Generator generator)
{
    static Kernel kernel("aten::random_");
    uint64_t count = 0;
    AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, iter.dtype(),
                               "random_kernel_cuda", [&] {
                                   using limits = std::numeric_limits<scalar_t>;
                                   if constexpr (std::is_integral_v<scalar_t>)
                                       count = static_cast<uint64_t>(limits::max()) + 1;
                                   else
                                       count = (uint64_t{1} << limits::digits) + 1;
                               });
    bool is_wide = iter.dtype() == at::kDouble || iter.dtype() == at::kLong;
    fill_words(kernel, iter, generator, is_wide, [count](uint64_t x) { return x % count; });
}

} // namespace heddle::rng
