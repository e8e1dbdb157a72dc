/*
 * Operators of CUDA that PyTorch's CPU has no kernel for: cuDNN's, cuBLAS', fused kernels.
 *
 * An adapter composes other operators on tensors of the device, each of which is a kernel of its
 * stream: order, graphs and several devices need nothing here. What none of them can do is an
 * operator of our own ("heddle::") with a kernel for the CPU, bridged as PyTorch's are.
 * What has no adapter is refused by its name, with a reason if spec/torch.def has a row.
 */
#pragma once

/* Of the operators only what is named: all of them take a minute to compile. */
#ifndef AT_PER_OPERATOR_HEADERS
#define AT_PER_OPERATOR_HEADERS
#endif
#include <ATen/TensorOperators.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "operator.hpp"

namespace heddle {

/* In an adapter: what it calls is neither recorded by autograd nor cast by autocast. */
struct Composition {
    at::AutoDispatchBelowADInplaceOrView below;
    c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

class Adapters {
  public:
    /*
     * `name` as in "mm.dtype_out". Another version of PyTorch may lack the operator, or have other
     * arguments: then it stays refused.
     */
    template <class F> void add(const char *name, F *function)
    {
        add(cuda, c10::DispatchKey::CUDA, name, function);
    }
    /* For matrices that are compressed along a dimension. */
    template <class F> void add_compressed(const char *name, F *function)
    {
        add(compressed, c10::DispatchKey::SparseCsrCUDA, name, function);
    }

  private:
    torch::Library cuda{torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__};
    torch::Library compressed{torch::Library::IMPL, "aten", c10::DispatchKey::SparseCsrCUDA,
                              __FILE__, __LINE__};

    template <class F>
    static void add(torch::Library &to, c10::DispatchKey key, const char *name, F *function)
    {
        auto h =
            c10::Dispatcher::singleton().findSchema(operator_name_of(std::string("aten::") + name));
        constexpr size_t nargs = c10::guts::infer_function_traits_t<F>::number_of_parameters;
        if (!h || h->schema().arguments().size() != nargs)
            return;
        try {
            adapt(to, *h, key, function);
        } catch (const c10::Error &e) {
            TORCH_WARN("Heddle: no adapter for aten::", name, ": ", e.what_without_backtrace());
        }
    }
};

/* The bridged kernel of an operator that has an adapter: what the adapter is around. */
template <class Op> class Inner {
  public:
    Inner()
        : handle(c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name)),
          kernel(c10::KernelFunction::makeFromBoxedFunctor(
              std::make_unique<Bridge>(handle, Op::name, c10::DispatchKey::CPU, nullptr)))
    {
    }
    template <class... A> auto operator()(A &&...args) const
    {
        return call(static_cast<typename Op::schema *>(nullptr), std::forward<A>(args)...);
    }

  private:
    c10::OperatorHandle handle;
    c10::KernelFunction kernel;

    template <class R, class... P, class... A> R call(R (*)(P...), A &&...args) const
    {
        return kernel.call<R, P...>(handle, c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                    std::forward<A>(args)...);
    }
};

inline bool is_half(const at::Tensor &t)
{
    return t.scalar_type() == c10::kHalf || t.scalar_type() == c10::kBFloat16;
}

/* An operator's result as its `out`. */
inline at::Tensor &give(at::Tensor &out, const at::Tensor &result)
{
    out.resize_(result.sizes());
    return out.copy_(result);
}

/* The type in which sums are made. */
inline c10::ScalarType sum_type(const at::Tensor &t)
{
    return is_half(t) ? c10::kFloat : t.scalar_type();
}

inline std::optional<at::Tensor> defined(const std::optional<at::Tensor> &t)
{
    return t && t->defined() ? t : std::nullopt;
}

} // namespace heddle

#include "adapters_attention.hpp"
#include "adapters_conv.hpp"
#include "adapters_matmul.hpp"
#include "adapters_norm.hpp"
#include "adapters_optim.hpp"
#include "adapters_rnn.hpp"
#include "adapters_saved.hpp"
#include "adapters_sparse.hpp"

namespace heddle {

inline void adapters_register()
{
    static auto *adapters = new Adapters;
    attention_register(*adapters);
    rnn_register(*adapters);
    saved_register(*adapters);
    norm_register(*adapters);
    conv_register(*adapters);
    matmul_register(*adapters);
    optim_register(*adapters);
    sparse_register(*adapters);
}

} // namespace heddle
