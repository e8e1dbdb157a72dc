/*
 * Random numbers that depend on a tensor: Bernoulli with probabilities, Poisson, binomial, gamma,
 * Dirichlet, multinomial; and permutations.
 */
#pragma once

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/Distributions.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/cuda/thread_constants.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>

#include "random_grid.hpp"

namespace heddle::rng {

/* ---- kernels with one input (CUDA_tensor_apply2): thread i has elements i * step and on */

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

template <class P>
void bernoulli_of(Kernel &kernel, const at::PhiloxCudaState &state, const at::TensorBase &self,
                  const at::TensorBase &p)
{
    Elements to(self), from(p);
    Elements::rearrange(to, from);
    draw(kernel, state, [out = Target(to, self.scalar_type()), from, n = self.numel()](Seed s) {
        at::parallel_for(0, (n + BLOCK - 1) / BLOCK, 16, [&](int64_t begin, int64_t end) {
            P made[BLOCK];
            for (int64_t first = begin * BLOCK; first < std::min(n, end * BLOCK); first += BLOCK) {
                int64_t count = std::min<int64_t>(n - first, BLOCK);
                Counter words{};
                from.each(first, count, [&](char *at, int64_t i) {
                    P p = value_at<P>(at);
                    TORCH_CHECK(0 <= p && p <= 1,
                                "bernoulli_ expects all probabilities to be in [0, 1], but found ",
                                p);
                    if (i % 4 == 0)
                        words =
                            philox(s.seed, s.offset / 4, static_cast<uint64_t>((first + i) / 4));
                    made[i] = uniform_of(words.c[i % 4]) <= p;
                });
                out.put(first, count, made);
            }
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
    bool is_double = self.scalar_type() == at::kDouble;
    auto p_cuda = at::Tensor(p_).to(
        at::TensorOptions().device(self.device()).dtype(is_double ? at::kDouble : at::kFloat));
    auto p = at::expand_inplace(at::Tensor(self), p_cuda);
    if (is_double)
        bernoulli_of<double>(kernel, state, self, *p);
    else
        bernoulli_of<float>(kernel, state, self, *p);
}

/*
 * curand_poisson(): Knuth's method below 64, a normal number above 4000. Between them cuRAND has
 * approximations of its own of the incomplete gamma function's inverse: there it is Hoermann's
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

template <class K>
void permute(Kernel &kernel, const at::Tensor &keys, const at::Tensor &result, int bits,
             const Generator &generator)
{
    int64_t n = keys.numel();
    auto state = take_numbers(generator, static_cast<uint64_t>(n));
    Target target(Elements(result), result.scalar_type());

    draw(kernel, state, [=, in = keys.const_data_ptr<K>()](Seed s) {
        auto sorted = sorted_by_keys(in, n, bits);
        auto key = [&](int64_t i) { return sorted[static_cast<size_t>(i)].first; };
        auto out = [&](int64_t i) -> int64_t & { return sorted[static_cast<size_t>(i)].second; };
        for (int64_t i = 0, size; i < n; i += size) {
            for (size = 1; i + size < n && key(i + size) == key(i);)
                size++;
            if (size == 1)
                continue;
            Stream stream(s.seed, static_cast<uint64_t>(i), s.offset);
            for (int64_t last = size - 1; last > 0; last--)
                std::swap(out(i + last), out(i + stream.word() % static_cast<uint32_t>(last + 1)));
        }
        int64_t made[BLOCK];
        for (int64_t i = 0, count; i < n; i += count) {
            count = std::min<int64_t>(n - i, BLOCK);
            for (int64_t j = 0; j < count; j++)
                made[j] = out(i + j);
            target.put(i, count, made);
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
    if (is_wide)
        permute<int64_t>(kernel, keys, out, bits, generator);
    else
        permute<int>(kernel, keys, out, bits, generator);
    return out;
}

/* ---- multinomial with replacement (MultinomialKernel.cu); without, PyTorch calls exponential_ */

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

} // namespace heddle::rng
