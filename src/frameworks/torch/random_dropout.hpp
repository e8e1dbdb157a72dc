/* Dropout and randomised leaky ReLU: kernels with a grid and numbers of threads of their own. */
#pragma once

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/cuda/CUDAGuard.h>

#include "random_grid.hpp"

namespace heddle::rng {

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
template <class T, class A> struct Drop {
    A p, scale;

    void operator()(T x, float u, T &result, uint8_t &mask) const
    {
        float kept = u < p;
        result = static_cast<T>(x * kept * scale);
        mask = static_cast<uint8_t>(kept);
    }
};

/* In an iteration a thread has `width` neighbours, of as many curand_uniform4() as it takes. */
template <class T, class A>
void dropout_wide(const Drop<T, A> &drop, Seed s, Grid grid, int width, int64_t n, const T *from,
                  T *to, uint8_t *mask)
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

template <class T, class A>
void dropout_strided(const Drop<T, A> &drop, Seed s, const Grid &grid, int64_t n,
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
                drop(value_at<T>(x[i]), u.of[slot][i], value_at<T>(p), value_at<uint8_t>(m[i]));
            });
        }
    });
}

/* `p` is the probability to be kept. */
inline std::tuple<at::Tensor, at::Tensor> dropout(Kernel &kernel, const at::Tensor &self, double p,
                                                  const Generator &generator,
                                                  at::ScalarType mask_type)
{
    c10::cuda::OptionalCUDAGuard guard(self.device());
    auto mask = at::empty_like(self, self.options().dtype(mask_type));
    int64_t n = self.numel();
    if (n == 0)
        return {self.clone(), mask};
    auto result = at::empty_like(self);
    Grid grid(n, 4);
    auto state = take_numbers(generator, grid.increment);
    int width = dropout_width(self, result, mask);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "dropout", [&] {
        using A = at::acc_type<scalar_t, true>;
        Drop<scalar_t, A> drop{static_cast<A>(p), static_cast<A>(1.0 / static_cast<A>(p))};
        if (width > 1)
            draw(kernel, state,
                 [=, from = self.const_data_ptr<scalar_t>(),
                  to = result.mutable_data_ptr<scalar_t>(),
                  kept = static_cast<uint8_t *>(mask.mutable_data_ptr())](Seed s) {
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
    return dropout(kernel, self, 1.0 - p, std::nullopt, at::kBool);
}

inline std::tuple<at::Tensor, at::Tensor> fused_dropout(const at::Tensor &self, double p,
                                                        Generator generator)
{
    static Kernel kernel("aten::_fused_dropout");
    return dropout(kernel, self, p, generator, at::kByte);
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

} // namespace heddle::rng
