/* Fused optimizers whose state is of a narrower type than what they optimize. */
#pragma once

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/copy.h>

namespace heddle {

/* Tensors that are computed with as float, and written back. */
class AsFloat {
  public:
    explicit AsFloat(at::TensorList tensors) : narrow(tensors)
    {
        for (const auto &t : tensors)
            wide.push_back(at::_to_copy(t, c10::kFloat));
    }
    std::vector<at::Tensor> wide;

    void write_back() const
    {
        for (size_t i = 0; i < wide.size(); i++)
            narrow[i].copy_(wide[i]);
    }

  private:
    at::TensorList narrow;
};

/*
 * The CPU's kernel wants one type. The only other choice of CUDA's is parameters of float with a
 * state of bfloat16.
 */
template <class Op, class Lr>
void fused_adam(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs,
                at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs,
                at::TensorList state_steps, Lr lr, double beta1, double beta2, double weight_decay,
                double eps, bool amsgrad, bool maximize,
                const std::optional<at::Tensor> &grad_scale,
                const std::optional<at::Tensor> &found_inf)
{
    static const auto *inner = new Inner<Op>;
    Composition here;

    if (self.empty() || exp_avgs.empty() || self[0].scalar_type() == exp_avgs[0].scalar_type()) {
        (*inner)(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
                 weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
        return;
    }
    TORCH_CHECK(self[0].scalar_type() == c10::kFloat, "fused Adam requires float32 params, got ",
                self[0].scalar_type());
    for (auto list : {exp_avgs, exp_avg_sqs, max_exp_avg_sqs})
        TORCH_CHECK(list.empty() || list[0].scalar_type() == c10::kBFloat16,
                    "fused Adam requires bfloat16 optimizer states, got ", list[0].scalar_type());
    AsFloat avgs(exp_avgs), sqs(exp_avg_sqs), max_sqs(max_exp_avg_sqs);
    (*inner)(self, grads, avgs.wide, sqs.wide, max_sqs.wide, state_steps, lr, beta1, beta2,
             weight_decay, eps, amsgrad, maximize, grad_scale, found_inf);
    for (auto *state : {&avgs, &sqs, &max_sqs})
        state->write_back();
}

inline void optim_register(Adapters &a)
{
    a.add("_fused_adam_", fused_adam<at::_ops::_fused_adam_, double>);
    a.add("_fused_adam_.tensor_lr",
          fused_adam<at::_ops::_fused_adam__tensor_lr, const at::Tensor &>);
    a.add("_fused_adamw_", fused_adam<at::_ops::_fused_adamw_, double>);
    a.add("_fused_adamw_.tensor_lr",
          fused_adam<at::_ops::_fused_adamw__tensor_lr, const at::Tensor &>);
}

} // namespace heddle
