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

#include <torch/library.h>

#include "random_dropout.hpp"
#include "random_each.hpp"
#include "random_fill.hpp"

namespace heddle {

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
