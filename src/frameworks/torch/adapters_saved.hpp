/*
 * What operators save for their gradients, in the form that CUDA's kernels give it: programs see it,
 * and compiled ones count on its shapes.
 */
#pragma once

#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/_embedding_bag_forward_only.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_sigmoid_backward.h>
#include <ATen/ops/log_sigmoid_forward.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

namespace heddle {

/* The CPU's buffer is exp(-|x|). CUDA's kernels compute it again. */
inline std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor &self)
{
    static const Inner<at::_ops::log_sigmoid_forward> inner;
    return {std::get<0>(inner(self)), at::empty({0}, self.options())};
}
inline Tensor log_sigmoid_buffer(const Tensor &self, const Tensor &buffer)
{
    Composition composition;
    return buffer.sizes() == self.sizes() ? buffer : self.abs().neg().exp();
}
inline Tensor log_sigmoid_backward(const Tensor &grad, const Tensor &self, const Tensor &buffer)
{
    static const Inner<at::_ops::log_sigmoid_backward> inner;
    return inner(grad, self, log_sigmoid_buffer(self, buffer));
}
inline Tensor &log_sigmoid_backward_out(const Tensor &grad, const Tensor &self,
                                        const Tensor &buffer, Tensor &out)
{
    static const Inner<at::_ops::log_sigmoid_backward_grad_input> inner;
    inner(grad, self, log_sigmoid_buffer(self, buffer), out);
    return out;
}

/* Output; of each index the bag; the sizes of bags; of each maximum the index. */
using Bags = std::tuple<Tensor, Tensor, Tensor, Tensor>;

inline Bags bags_of_cuda(Bags bags, const Tensor &indices, const Tensor &offsets, int64_t mode,
                         bool has_last_offset)
{
    constexpr int64_t MODE_MAX = 2;
    auto &[out, bag_of, sizes, maxima] = bags;
    int64_t n = indices.size(0);
    Composition composition;
    if (bag_of.numel() != n) {
        auto starts = has_last_offset ? offsets.narrow(0, 0, offsets.size(0) - 1) : offsets;
        auto begins = at::zeros({n + 1}, starts.options());
        begins.index_add_(0, starts, at::ones_like(starts));
        bag_of = (begins.cumsum(0) - 1).narrow(0, 0, n).to(maxima.scalar_type());
    }
    if (sizes.numel() != offsets.numel()) {
        auto all = at::zeros(offsets.sizes(), sizes.options());
        all.narrow(0, 0, sizes.size(0)).copy_(sizes);
        sizes = all;
    }
    if (mode != MODE_MAX)
        maxima = at::empty({0}, maxima.options());
    return bags;
}

template <class Op>
Bags embedding_bag(const Tensor &weight, const Tensor &indices, const Tensor &offsets,
                   bool scale_by_freq, int64_t mode, bool is_sparse,
                   const std::optional<Tensor> &per_sample, bool has_last_offset, int64_t padding)
{
    static const Inner<Op> inner;
    return bags_of_cuda(inner(weight, indices, offsets, scale_by_freq, mode, is_sparse, per_sample,
                              has_last_offset, padding),
                        indices, offsets, mode, has_last_offset);
}

inline void saved_register(Adapters &a)
{
    a.add("log_sigmoid_forward", &log_sigmoid_forward);
    a.add("log_sigmoid_backward", &log_sigmoid_backward);
    a.add("log_sigmoid_backward.grad_input", &log_sigmoid_backward_out);
    a.add("_embedding_bag", &embedding_bag<at::_ops::_embedding_bag>);
    a.add("_embedding_bag_forward_only", &embedding_bag<at::_ops::_embedding_bag_forward_only>);
}

} // namespace heddle
