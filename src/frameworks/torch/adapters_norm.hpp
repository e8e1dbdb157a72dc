/*
 * Normalisation: the parts of SyncBatchNorm, cuDNN's batch normalisation, gradients of RMSNorm, and
 * softmax of halves into floats.
 */
#pragma once

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>

namespace heddle {

using at::Tensor;

/* [C] as it meets [N, C, ...]. */
inline Tensor channels(const Tensor &t, const Tensor &like)
{
    std::vector<int64_t> sizes(like.dim(), 1);
    sizes[1] = t.numel();
    return t.view(sizes);
}
inline std::vector<int64_t> all_but_channels(const Tensor &t)
{
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < t.dim(); d++)
        if (d != 1)
            dims.push_back(d);
    return dims;
}

inline std::tuple<Tensor, Tensor> batch_norm_stats(const Tensor &input, double eps)
{
    Composition composition;
    auto x = input.to(sum_type(input));
    auto dims = all_but_channels(input);
    auto mean = x.mean(dims);
    auto var = (x - channels(mean, x)).square().mean(dims);
    return {mean, (var + eps).rsqrt()};
}

inline Tensor batch_norm_elemt(const Tensor &input, const std::optional<Tensor> &weight,
                               const std::optional<Tensor> &bias, const Tensor &mean,
                               const Tensor &invstd, double)
{
    Composition composition;
    auto type = sum_type(input);
    auto y = (input.to(type) - channels(mean, input)) * channels(invstd, input);
    if (defined(weight))
        y = y * channels(weight->to(type), input);
    if (defined(bias))
        y = y + channels(bias->to(type), input);
    return y.to(input.scalar_type());
}
inline Tensor &batch_norm_elemt_out(const Tensor &input, const std::optional<Tensor> &weight,
                                    const std::optional<Tensor> &bias, const Tensor &mean,
                                    const Tensor &invstd, double eps, Tensor &out)
{
    auto r = heddle::batch_norm_elemt(input, weight, bias, mean, invstd, eps);
    Composition composition;
    return give(out, r);
}

/* One mean and variance of those of several parts, row i being that of counts[i] elements. */
inline std::tuple<Tensor, Tensor>
batch_norm_gather_stats_with_counts(const Tensor &, const Tensor &mean, const Tensor &invstd,
                                    const std::optional<Tensor> &running_mean,
                                    const std::optional<Tensor> &running_var, double momentum,
                                    double eps, const Tensor &counts)
{
    Composition composition;
    auto n = counts.to(mean.scalar_type()).reshape({-1, 1});
    auto total = n.sum();
    auto m = (mean * n).sum(0) / total;
    auto var = invstd.square().reciprocal() - eps;
    auto squares = ((var + (mean - m).square()) * n).sum(0);
    if (defined(running_mean))
        running_mean->mul_(1 - momentum).add_(m.to(running_mean->scalar_type()), momentum);
    if (defined(running_var))
        running_var->mul_(1 - momentum)
            .add_((squares / (total - 1)).to(running_var->scalar_type()), momentum);
    return {m, (squares / total + eps).rsqrt()};
}
inline std::tuple<Tensor, Tensor> batch_norm_gather_stats(const Tensor &input, const Tensor &mean,
                                                          const Tensor &invstd,
                                                          const std::optional<Tensor> &running_mean,
                                                          const std::optional<Tensor> &running_var,
                                                          double momentum, double eps,
                                                          int64_t count)
{
    auto counts = at::full({mean.size(0)}, count, mean.options());
    return heddle::batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean,
                                                       running_var, momentum, eps, counts);
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor>
batch_norm_backward_reduce(const Tensor &grad, const Tensor &input, const Tensor &mean,
                           const Tensor &invstd, const std::optional<Tensor> &weight, bool of_input,
                           bool of_weight, bool of_bias)
{
    Composition composition;
    auto type = sum_type(input);
    auto dims = all_but_channels(input);
    auto g = grad.to(type);
    auto sum = g.sum(dims), sum_xmu = (g * (input.to(type) - channels(mean, input))).sum(dims);
    auto as_weight = [&](const Tensor &t) {
        return defined(weight) ? t.to(weight->scalar_type()) : t;
    };
    std::tuple<Tensor, Tensor, Tensor, Tensor> r;
    if (of_input) {
        std::get<0>(r) = sum;
        std::get<1>(r) = sum_xmu;
    }
    if (of_weight)
        std::get<2>(r) = as_weight(sum_xmu * invstd);
    if (of_bias)
        std::get<3>(r) = as_weight(of_input && !defined(weight) ? sum.clone() : sum);
    return r;
}

inline Tensor batch_norm_backward_elemt(const Tensor &grad, const Tensor &input, const Tensor &mean,
                                        const Tensor &invstd, const std::optional<Tensor> &weight,
                                        const Tensor &sum_dy, const Tensor &sum_dy_xmu,
                                        const Tensor &counts)
{
    Composition composition;
    auto type = sum_type(input);
    auto total = counts.sum().to(type);
    auto slope = invstd.square() * sum_dy_xmu / total;
    auto factor = defined(weight) ? invstd * weight->to(type) : invstd;
    auto r = (grad.to(type) - channels(sum_dy / total, input) -
              (input.to(type) - channels(mean, input)) * channels(slope, input)) *
             channels(factor, input);
    return r.to(input.scalar_type());
}

inline std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor &grad, const Tensor &input,
                                                    at::IntArrayRef shape, const Tensor &rstd,
                                                    const std::optional<Tensor> &weight,
                                                    std::array<bool, 2> wanted)
{
    Composition composition;
    auto type = sum_type(input);
    std::vector<int64_t> dims, others;
    int64_t first = input.dim() - static_cast<int64_t>(shape.size());
    for (int64_t d = 0; d < input.dim(); d++)
        (d < first ? others : dims).push_back(d);
    auto r = rstd.to(type).view([&] {
        auto sizes = input.sizes().vec();
        for (auto d : dims)
            sizes[d] = 1;
        return sizes;
    }());
    auto normal = input.to(type) * r, g = grad.to(type);
    std::tuple<Tensor, Tensor> result;
    if (wanted[0]) {
        auto gw = defined(weight) ? g * weight->to(type) : g;
        std::get<0>(result) =
            (r * (gw - normal * (gw * normal).mean(dims, true))).to(input.scalar_type());
    }
    if (wanted[1] && defined(weight)) {
        auto dw = g * normal;
        std::get<1>(result) = (others.empty() ? dw : dw.sum(others)).to(weight->scalar_type());
    }
    return result;
}

/*
 * Statistics of tensors of 16 bits. A GPU's kernels save them in float32, and compiled programs
 * count on that; the CPU's do if weights are in float32.
 */
inline std::optional<Tensor> as_float(const std::optional<Tensor> &t)
{
    return defined(t) ? std::optional<Tensor>(t->to(c10::kFloat)) : std::nullopt;
}
inline Tensor back_to(const Tensor &t, const std::optional<Tensor> &like)
{
    return t.defined() && defined(like) ? t.to(like->scalar_type()) : t;
}

inline std::tuple<Tensor, Tensor, Tensor> layer_norm(const Tensor &input, at::IntArrayRef shape,
                                                     const std::optional<Tensor> &weight,
                                                     const std::optional<Tensor> &bias, double eps)
{
    static const Inner<at::_ops::native_layer_norm> inner;
    auto sym = c10::fromIntArrayRefSlow(shape);
    if (!is_half(input))
        return inner(input, sym, weight, bias, eps);
    Composition composition;
    auto w = as_float(weight);
    if (!w)
        w = at::ones(shape, input.options().dtype(c10::kFloat));
    return inner(input, sym, w, as_float(bias), eps);
}

inline std::tuple<Tensor, Tensor, Tensor>
layer_norm_backward(const Tensor &grad, const Tensor &input, at::IntArrayRef shape,
                    const Tensor &mean, const Tensor &rstd, const std::optional<Tensor> &weight,
                    const std::optional<Tensor> &bias, std::array<bool, 3> wanted)
{
    static const Inner<at::_ops::native_layer_norm_backward> inner;
    auto sym = c10::fromIntArrayRefSlow(shape);
    if (!is_half(input))
        return inner(grad, input, sym, mean, rstd, weight, bias, wanted);
    Composition composition;
    auto w = as_float(weight);
    if (!w)
        w = at::ones(shape, input.options().dtype(c10::kFloat));
    auto [dx, dw, db] = inner(grad, input, sym, mean.to(c10::kFloat), rstd.to(c10::kFloat), w,
                              as_float(bias), wanted);
    return {dx, back_to(dw, weight), back_to(db, bias)};
}

/* Running statistics are updated in float32, and rounded. */
struct Running {
    std::optional<Tensor> own, wide;
    explicit Running(const std::optional<Tensor> &t) : own(defined(t)), wide(as_float(t))
    {
    }
    void update() const
    {
        if (own && own->scalar_type() != c10::kFloat)
            own->copy_(*wide);
    }
};

inline std::tuple<Tensor, Tensor, Tensor>
batch_norm(const Tensor &input, const std::optional<Tensor> &weight,
           const std::optional<Tensor> &bias, const std::optional<Tensor> &mean,
           const std::optional<Tensor> &var, bool training, double momentum, double eps)
{
    static const Inner<at::_ops::native_batch_norm> inner;
    if (!is_half(input))
        return inner(input, weight, bias, mean, var, training, momentum, eps);
    Composition composition;
    Running m(mean), v(var);
    auto w = as_float(weight);
    if (!w)
        w = at::ones({input.size(1)}, input.options().dtype(c10::kFloat));
    auto r = inner(input, w, as_float(bias), m.wide, v.wide, training, momentum, eps);
    if (training) {
        m.update();
        v.update();
    }
    return r;
}

/* What is saved without training: a GPU's kernels give the running statistics, the CPU's nothing. */
inline std::tuple<Tensor, Tensor, Tensor>
native_batch_norm(const Tensor &input, const std::optional<Tensor> &weight,
                  const std::optional<Tensor> &bias, const std::optional<Tensor> &mean,
                  const std::optional<Tensor> &var, bool training, double momentum, double eps)
{
    auto r = batch_norm(input, weight, bias, mean, var, training, momentum, eps);
    if (!training && defined(mean) && defined(var)) {
        Composition composition;
        std::get<1>(r) = mean->to(sum_type(input), /* non_blocking */ false, /* copy */ true);
        std::get<2>(r) = (var->to(sum_type(input)) + eps).rsqrt();
    }
    return r;
}

inline std::tuple<Tensor, Tensor, Tensor> native_batch_norm_backward(
    const Tensor &grad, const Tensor &input, const std::optional<Tensor> &weight,
    const std::optional<Tensor> &running_mean, const std::optional<Tensor> &running_var,
    const std::optional<Tensor> &mean, const std::optional<Tensor> &invstd, bool training,
    double eps, std::array<bool, 3> wanted)
{
    static const Inner<at::_ops::native_batch_norm_backward> inner;
    if (!is_half(input))
        return inner(grad, input, weight, running_mean, running_var, mean, invstd, training, eps,
                     wanted);
    Composition composition;
    auto w = as_float(weight);
    if (!w)
        w = at::ones({input.size(1)}, input.options().dtype(c10::kFloat));
    auto [dx, dw, db] = inner(grad, input, w, as_float(running_mean), as_float(running_var),
                              as_float(mean), as_float(invstd), training, eps, wanted);
    return {dx, back_to(dw, weight), back_to(db, weight)};
}

/* Its reserve is empty: the gradient needs none. */
inline std::tuple<Tensor, Tensor, Tensor, Tensor>
cudnn_batch_norm(const Tensor &input, const Tensor &weight, const std::optional<Tensor> &bias,
                 const std::optional<Tensor> &running_mean,
                 const std::optional<Tensor> &running_var, bool training, double momentum,
                 double eps)
{
    Composition composition;
    auto [out, mean, invstd] =
        batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
    return {out, mean, invstd, at::empty({0}, input.options().dtype(c10::kByte))};
}
inline std::tuple<Tensor &, Tensor &, Tensor &, Tensor &>
cudnn_batch_norm_out(const Tensor &input, const Tensor &weight, const std::optional<Tensor> &bias,
                     const std::optional<Tensor> &running_mean,
                     const std::optional<Tensor> &running_var, bool training, double momentum,
                     double eps, Tensor &out0, Tensor &out1, Tensor &out2, Tensor &out3)
{
    auto r = heddle::cudnn_batch_norm(input, weight, bias, running_mean, running_var, training,
                                      momentum, eps);
    Composition composition;
    return {give(out0, std::get<0>(r)), give(out1, std::get<1>(r)), give(out2, std::get<2>(r)),
            give(out3, std::get<3>(r))};
}
inline std::tuple<Tensor, Tensor, Tensor>
cudnn_batch_norm_backward(const Tensor &input, const Tensor &grad, const Tensor &weight,
                          const std::optional<Tensor> &running_mean,
                          const std::optional<Tensor> &running_var,
                          const std::optional<Tensor> &mean, const std::optional<Tensor> &invstd,
                          double eps, const Tensor &)
{
    Composition composition;
    return at::native_batch_norm_backward(grad, input, weight, running_mean, running_var, mean,
                                          invstd, true, eps, {true, true, true});
}

/* The same by other names. */
inline std::tuple<Tensor, Tensor, Tensor> batch_norm_legit(const Tensor &input,
                                                           const std::optional<Tensor> &weight,
                                                           const std::optional<Tensor> &bias,
                                                           Tensor &mean, Tensor &var, bool training,
                                                           double momentum, double eps)
{
    return heddle::native_batch_norm(input, weight, bias, mean, var, training, momentum, eps);
}
inline std::tuple<Tensor, Tensor, Tensor>
batch_norm_legit_no_stats(const Tensor &input, const std::optional<Tensor> &weight,
                          const std::optional<Tensor> &bias, bool training, double momentum,
                          double eps)
{
    return heddle::native_batch_norm(input, weight, bias, std::nullopt, std::nullopt, training,
                                     momentum, eps);
}
inline std::tuple<Tensor, Tensor, Tensor, Tensor>
batch_norm_with_update(const Tensor &input, const std::optional<Tensor> &weight,
                       const std::optional<Tensor> &bias, Tensor &mean, Tensor &var,
                       double momentum, double eps)
{
    auto [out, m, invstd] =
        heddle::native_batch_norm(input, weight, bias, mean, var, true, momentum, eps);
    return {out, m, invstd, at::empty({0}, input.options().dtype(c10::kByte))};
}
inline std::tuple<Tensor, Tensor, Tensor>
batch_norm_backward(const Tensor &grad, const Tensor &input, const Tensor &weight,
                    const std::optional<Tensor> &running_mean,
                    const std::optional<Tensor> &running_var, const std::optional<Tensor> &mean,
                    const std::optional<Tensor> &invstd, bool training, double eps,
                    std::array<bool, 3> wanted, const Tensor &)
{
    return heddle::native_batch_norm_backward(grad, input, weight, running_mean, running_var, mean,
                                              invstd, training, eps, wanted);
}

/* ---- softmax(half, dtype=float), which CUDA's kernels do in one step */

template <class Op> Tensor softmax(const Tensor &input, int64_t dim, bool half_to_float)
{
    static const Inner<Op> inner;
    if (!half_to_float)
        return inner(input, dim, false);
    TORCH_CHECK(input.scalar_type() == c10::kHalf, "conversion is supported for Half type only");
    Composition composition;
    return inner(input.to(c10::kFloat), dim, false);
}

template <class Op>
Tensor softmax_backward(const Tensor &grad, const Tensor &output, int64_t dim, c10::ScalarType type)
{
    static const Inner<Op> inner;
    if (grad.scalar_type() == type)
        return inner(grad, output, dim, type);
    TORCH_CHECK(grad.scalar_type() == c10::kFloat && type == c10::kHalf,
                "expected input and grad types to match, or input to be at::Half and grad to be "
                "at::Float");
    Composition composition;
    return inner(grad, output, dim, c10::kFloat).to(type);
}

inline void norm_register(Adapters &a)
{
    a.add("batch_norm_stats", &batch_norm_stats);
    a.add("batch_norm_elemt", &batch_norm_elemt);
    a.add("batch_norm_elemt.out", &batch_norm_elemt_out);
    a.add("batch_norm_gather_stats", &batch_norm_gather_stats);
    a.add("batch_norm_gather_stats_with_counts", &batch_norm_gather_stats_with_counts);
    a.add("batch_norm_backward_reduce", &batch_norm_backward_reduce);
    a.add("batch_norm_backward_elemt", &batch_norm_backward_elemt);
    a.add("cudnn_batch_norm", &cudnn_batch_norm);
    a.add("cudnn_batch_norm.out", &cudnn_batch_norm_out);
    a.add("cudnn_batch_norm_backward", &cudnn_batch_norm_backward);
    a.add("_fused_rms_norm_backward", &rms_norm_backward);
    a.add("native_layer_norm", &layer_norm);
    a.add("native_layer_norm_backward", &layer_norm_backward);
    a.add("native_batch_norm", &heddle::native_batch_norm);
    a.add("native_batch_norm_backward", &heddle::native_batch_norm_backward);
    a.add("_native_batch_norm_legit", &batch_norm_legit);
    a.add("_native_batch_norm_legit.no_stats", &batch_norm_legit_no_stats);
    a.add("_batch_norm_with_update", &batch_norm_with_update);
    a.add("batch_norm_backward", &batch_norm_backward);
    a.add("_softmax", &softmax<at::_ops::_softmax>);
    a.add("_log_softmax", &softmax<at::_ops::_log_softmax>);
    a.add("_softmax_backward_data", &softmax_backward<at::_ops::_softmax_backward_data>);
    a.add("_log_softmax_backward_data", &softmax_backward<at::_ops::_log_softmax_backward_data>);
}

} // namespace heddle
