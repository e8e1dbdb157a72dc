/*
 * Cells of recurrent networks. nn.LSTM, nn.GRU and nn.RNN take PyTorch's own path through them, as
 * cuDNN is never acceptable, whatever torch.backends.cudnn.enabled says.
 */
#pragma once

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

namespace heddle {

using at::Tensor;

inline Tensor plus(const Tensor &t, const std::optional<Tensor> &bias)
{
    return defined(bias) ? t + bias->to(t.scalar_type()) : t;
}

/* The gates' order is that of PyTorch's weights: input, forget, cell, output. */
inline std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor &input_gates,
                                                    const Tensor &hidden_gates, const Tensor &cx,
                                                    const std::optional<Tensor> &input_bias,
                                                    const std::optional<Tensor> &hidden_bias)
{
    Composition composition;
    auto type = sum_type(cx), own = cx.scalar_type();
    auto gates = plus(plus(input_gates.to(type), input_bias) + hidden_gates.to(type), hidden_bias)
                     .chunk(4, 1);
    auto i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh(),
         o = gates[3].sigmoid();
    auto cy = f * cx.to(type) + i * g;
    return {(o * cy.tanh()).to(own), cy.to(own), at::cat({i, f, g, o}, 1).to(own)};
}

inline std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const std::optional<Tensor> &grad_hy,
                                                             const std::optional<Tensor> &grad_cy,
                                                             const Tensor &cx, const Tensor &cy,
                                                             const Tensor &workspace, bool has_bias)
{
    Composition composition;
    if (!defined(grad_hy) && !defined(grad_cy))
        return {};
    auto type = sum_type(cx), own = cx.scalar_type();
    auto gates = workspace.to(type).chunk(4, 1);
    auto &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
    auto tanh_cy = cy.to(type).tanh();
    auto ghy = defined(grad_hy) ? grad_hy->to(type) : at::zeros_like(tanh_cy);
    auto gcy = ghy * o * (1 - tanh_cy * tanh_cy);
    if (defined(grad_cy))
        gcy = gcy + grad_cy->to(type);
    auto grad = at::cat({gcy * g * i * (1 - i), gcy * cx.to(type) * f * (1 - f),
                         gcy * i * (1 - g * g), ghy * tanh_cy * o * (1 - o)},
                        1);
    return {grad.to(own), (gcy * f).to(own), has_bias ? grad.sum(0).to(own) : Tensor()};
}

/* Reset, update, new. */
inline std::tuple<Tensor, Tensor> gru_cell(const Tensor &input_gates, const Tensor &hidden_gates,
                                           const Tensor &hx,
                                           const std::optional<Tensor> &input_bias,
                                           const std::optional<Tensor> &hidden_bias)
{
    Composition composition;
    auto type = sum_type(hx), own = hx.scalar_type();
    auto in = plus(input_gates.to(type), input_bias).chunk(3, 1);
    auto hidden = plus(hidden_gates.to(type), hidden_bias).chunk(3, 1);
    auto r = (in[0] + hidden[0]).sigmoid(), z = (in[1] + hidden[1]).sigmoid();
    auto n = (in[2] + r * hidden[2]).tanh();
    auto h = hx.to(type);
    return {(n + z * (h - n)).to(own), at::cat({r, z, n, h, hidden[2]}, 1).to(own)};
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
gru_cell_backward(const Tensor &grad_hy, const Tensor &workspace, bool has_bias)
{
    Composition composition;
    auto type = sum_type(grad_hy), own = grad_hy.scalar_type();
    auto saved = workspace.to(type).chunk(5, 1);
    auto &r = saved[0], &z = saved[1], &n = saved[2], &h = saved[3], &hn = saved[4];
    auto g = grad_hy.to(type);
    auto dn = g * (1 - z) * (1 - n * n);
    auto dz = g * (h - n) * z * (1 - z);
    auto dr = dn * hn * r * (1 - r);
    auto input = at::cat({dr, dz, dn}, 1), hidden = at::cat({dr, dz, dn * r}, 1);
    return {input.to(own), hidden.to(own), (g * z).to(own),
            has_bias ? input.sum(0).to(own) : Tensor(),
            has_bias ? hidden.sum(0).to(own) : Tensor()};
}

inline bool cudnn_is_acceptable(const Tensor &)
{
    return false;
}

/* Weights one after the other in one buffer, which is all that there is to see of it. */
inline Tensor rnn_flatten_weight(at::TensorList weights, int64_t, int64_t, int64_t, int64_t,
                                 int64_t, int64_t, bool, bool)
{
    Composition composition;
    TORCH_CHECK(!weights.empty(), "_cudnn_rnn_flatten_weight_: cannot flatten empty weight list");
    int64_t total = 0;
    for (const Tensor &w : weights)
        total += w.numel();
    auto all = at::empty({total}, weights[0].options());
    int64_t first = 0;
    for (Tensor w : weights) {
        auto own = all.narrow(0, first, w.numel()).view(w.sizes());
        own.copy_(w);
        w.set_(own);
        first += w.numel();
    }
    return all;
}

inline void rnn_register(Adapters &a)
{
    a.add("_thnn_fused_lstm_cell", &lstm_cell);
    a.add("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
    a.add("_thnn_fused_gru_cell", &gru_cell);
    a.add("_thnn_fused_gru_cell_backward", &gru_cell_backward);
    a.add("cudnn_is_acceptable", &cudnn_is_acceptable);
    a.add("_cudnn_rnn_flatten_weight", &rnn_flatten_weight);
}

} // namespace heddle
