/*
 * Operators that draw random numbers: a GPU's numbers.
 *
 * The numbers are those of PyTorch's CUDA kernels (ATen/native/cuda/DistributionTemplates.h of the
 * wheel, and the kernels of Dropout.cu, Randperm.cu, Distributions.cu and so on), thread by thread:
 * which thread of which grid draws how often decides what an element gets. The size of a grid
 * depends on the number of SMs and of threads of an SM, so large tensors (of more elements than
 * the device has threads at once) have other numbers on another GPU: Heddle's device says how many
 * it has, and with HEDDLE_MACHINE=a100 the numbers are an A100's. Smaller tensors are the same on
 * all of them.
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

    uniform_stub.set_cuda_dispatch_ptr(rng::uniform);
    normal_stub.set_cuda_dispatch_ptr(rng::normal);
    log_normal_stub.set_cuda_dispatch_ptr(rng::log_normal);
    exponential_stub.set_cuda_dispatch_ptr(rng::exponential);
    cauchy_stub.set_cuda_dispatch_ptr(rng::cauchy);
    geometric_stub.set_cuda_dispatch_ptr(rng::geometric);
    bernoulli_scalar_stub.set_cuda_dispatch_ptr(rng::bernoulli_scalar);
    bernoulli_tensor_stub.set_cuda_dispatch_ptr(rng::bernoulli_tensor);
    random_from_to_stub.set_cuda_dispatch_ptr(rng::random_from_to);
    random_full_64_bits_range_stub.set_cuda_dispatch_ptr(rng::random_full_range);
    random_stub.set_cuda_dispatch_ptr(rng::random);
    multinomial_with_replacement_stub.set_cuda_dispatch_ptr(rng::multinomial_with_replacement);

    cuda.impl("native_dropout", TORCH_FN(rng::native_dropout));
    cuda.impl("_fused_dropout", TORCH_FN(rng::fused_dropout));
    cuda.impl("poisson", TORCH_FN(rng::poisson));
    cuda.impl("binomial", TORCH_FN(rng::binomial));
    cuda.impl("_standard_gamma", TORCH_FN(rng::standard_gamma));
    cuda.impl("_sample_dirichlet", TORCH_FN(rng::sample_dirichlet));
    cuda.impl("rrelu_with_noise", TORCH_FN(rng::rrelu_with_noise));
    cuda.impl("rrelu_with_noise.out", TORCH_FN(rng::rrelu_with_noise_out));
    cuda.impl("rrelu_with_noise_", TORCH_FN(rng::rrelu_with_noise_));
    cuda.impl("randperm.generator_out", TORCH_FN(rng::randperm_out));
}

} // namespace heddle
