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
    auto add = [&](const char *name, auto *function) {
        auto h =
            c10::Dispatcher::singleton().findSchema(operator_name_of(std::string("aten::") + name));
        TORCH_CHECK(h, "PyTorch has no aten::", name);
        adapt(cuda, *h, c10::DispatchKey::CUDA, function);
    };

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

    add("native_dropout", rng::native_dropout);
    add("_fused_dropout", rng::fused_dropout);
    add("poisson", rng::poisson);
    add("binomial", rng::binomial);
    add("_standard_gamma", rng::standard_gamma);
    add("_sample_dirichlet", rng::sample_dirichlet);
    add("rrelu_with_noise", rng::rrelu_with_noise);
    add("rrelu_with_noise.out", rng::rrelu_with_noise_out);
    add("rrelu_with_noise_", rng::rrelu_with_noise_);
    add("randperm.generator_out", rng::randperm_out);
}

} // namespace heddle
