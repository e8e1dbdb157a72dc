/* Convolutions by cuDNN's names, and what else has them: sampling grids, CTC. */
#pragma once

#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/affine_grid_generator_backward.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/ones_like.h>

namespace heddle {

using at::IntArrayRef;
using at::Tensor;

inline Tensor cudnn_convolution(const Tensor &self, const Tensor &weight, IntArrayRef padding,
                                IntArrayRef stride, IntArrayRef dilation, int64_t groups, bool,
                                bool, bool)
{
    Composition composition;
    std::vector<int64_t> none(padding.size(), 0);
    return at::convolution(self, weight, {}, stride, padding, dilation, false, none, groups);
}
inline Tensor &cudnn_convolution_out(const Tensor &self, const Tensor &weight, IntArrayRef padding,
                                     IntArrayRef stride, IntArrayRef dilation, int64_t groups,
                                     bool benchmark, bool deterministic, bool tf32, Tensor &out)
{
    auto r = heddle::cudnn_convolution(self, weight, padding, stride, dilation, groups, benchmark,
                                       deterministic, tf32);
    Composition composition;
    return give(out, r);
}

inline Tensor cudnn_convolution_transpose(const Tensor &self, const Tensor &weight,
                                          IntArrayRef padding, IntArrayRef output_padding,
                                          IntArrayRef stride, IntArrayRef dilation, int64_t groups,
                                          bool, bool, bool)
{
    Composition composition;
    return at::convolution(self, weight, {}, stride, padding, dilation, true, output_padding,
                           groups);
}

inline Tensor cudnn_convolution_relu(const Tensor &self, const Tensor &weight,
                                     const std::optional<Tensor> &bias, IntArrayRef stride,
                                     IntArrayRef padding, IntArrayRef dilation, int64_t groups)
{
    Composition composition;
    std::vector<int64_t> none(padding.size(), 0);
    return at::convolution(self, weight, bias, stride, padding, dilation, false, none, groups)
        .relu();
}
inline Tensor cudnn_convolution_add_relu(const Tensor &self, const Tensor &weight, const Tensor &z,
                                         const std::optional<at::Scalar> &alpha,
                                         const std::optional<Tensor> &bias, IntArrayRef stride,
                                         IntArrayRef padding, IntArrayRef dilation, int64_t groups)
{
    Composition composition;
    std::vector<int64_t> none(padding.size(), 0);
    return at::convolution(self, weight, bias, stride, padding, dilation, false, none, groups)
        .add(z, alpha.value_or(1))
        .relu();
}

/* One filter, or a few, for each channel. */
inline Tensor conv_depthwise(const Tensor &self, const Tensor &weight, IntArrayRef,
                             const std::optional<Tensor> &bias, IntArrayRef stride,
                             IntArrayRef padding, IntArrayRef dilation)
{
    Composition composition;
    std::vector<int64_t> none(padding.size(), 0);
    return at::convolution(self, weight, bias, stride, padding, dilation, false, none,
                           self.size(1));
}
inline Tensor &conv_depthwise2d_out(const Tensor &self, const Tensor &weight, IntArrayRef kernel,
                                    const std::optional<Tensor> &bias, IntArrayRef stride,
                                    IntArrayRef padding, IntArrayRef dilation, Tensor &out)
{
    auto r = conv_depthwise(self, weight, kernel, bias, stride, padding, dilation);
    Composition composition;
    return give(out, r);
}

/* Bilinear, zeros outside, corners aligned. */
inline Tensor cudnn_grid_sampler(const Tensor &self, const Tensor &grid)
{
    Composition composition;
    return at::grid_sampler_2d(self, grid, 0, 0, true);
}
inline std::tuple<Tensor, Tensor>
cudnn_grid_sampler_backward(const Tensor &self, const Tensor &grid, const Tensor &grad)
{
    Composition composition;
    return at::grid_sampler_2d_backward(grad, self, grid, 0, 0, true, {true, true});
}
inline Tensor cudnn_affine_grid_generator(const Tensor &theta, int64_t n, int64_t c, int64_t h,
                                          int64_t w)
{
    Composition composition;
    return at::affine_grid_generator(theta, {n, c, h, w}, true);
}
inline Tensor cudnn_affine_grid_generator_backward(const Tensor &grad, int64_t n, int64_t c,
                                                   int64_t h, int64_t w)
{
    Composition composition;
    return at::affine_grid_generator_backward(grad, {n, c, h, w}, true);
}

/* cuDNN returns the gradient for a gradient of one beside the loss. */
template <class Lengths>
std::tuple<Tensor, Tensor> ctc_loss(const Tensor &log_probs, const Tensor &targets,
                                    Lengths input_lengths, Lengths target_lengths, int64_t blank,
                                    bool, bool zero_infinity)
{
    Composition composition;
    auto places = targets.to(log_probs.device());
    auto [loss, alpha] =
        at::_ctc_loss(log_probs, places, input_lengths, target_lengths, blank, zero_infinity);
    auto grad = at::_ctc_loss_backward(at::ones_like(loss), log_probs, places, input_lengths,
                                       target_lengths, loss, alpha, blank, zero_infinity);
    return {loss, grad};
}

inline bool use_cudnn_ctc_loss(const Tensor &, const Tensor &, IntArrayRef, IntArrayRef, int64_t)
{
    return false;
}
inline bool use_cudnn_ctc_loss_tensor(const Tensor &, const Tensor &, const Tensor &,
                                      const Tensor &, int64_t)
{
    return false;
}

inline void conv_register(Adapters &a)
{
    a.add("cudnn_convolution", &cudnn_convolution);
    a.add("cudnn_convolution.out", &cudnn_convolution_out);
    a.add("cudnn_convolution_transpose", &cudnn_convolution_transpose);
    a.add("cudnn_convolution_relu", &cudnn_convolution_relu);
    a.add("cudnn_convolution_add_relu", &cudnn_convolution_add_relu);
    a.add("_conv_depthwise2d", &conv_depthwise);
    a.add("_conv_depthwise2d.out", &conv_depthwise2d_out);
    a.add("conv_depthwise3d", &conv_depthwise);
    a.add("cudnn_grid_sampler", &cudnn_grid_sampler);
    a.add("cudnn_grid_sampler_backward", &cudnn_grid_sampler_backward);
    a.add("cudnn_affine_grid_generator", &cudnn_affine_grid_generator);
    a.add("cudnn_affine_grid_generator_backward", &cudnn_affine_grid_generator_backward);
    a.add("_cudnn_ctc_loss", &ctc_loss<IntArrayRef>);
    a.add("_cudnn_ctc_loss.Tensor", &ctc_loss<const Tensor &>);
    a.add("_use_cudnn_ctc_loss", &use_cudnn_ctc_loss);
    a.add("_use_cudnn_ctc_loss.Tensor", &use_cudnn_ctc_loss_tensor);
}

} // namespace heddle
