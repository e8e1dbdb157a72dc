/*
 * What goes wrong, in the words of a GPU.
 *
 * PyTorch's CUDA kernels are functions of the host that look at their arguments, places first, then
 * shapes and types, and launch machine code in the end. The layer keeps those that it replaces, and
 * calls one when something is wrong with a call: what it throws is what the program reads on a GPU,
 * from the same version of PyTorch. Nothing can be launched, so a kernel that comes as far as that
 * has no objections.
 */
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <atomic>
#include <map>
#include <torch/library.h>

#include "launch.hpp"
#include "tensors.hpp"

namespace heddle {

/* While it lives, PyTorch warns nobody. */
class Silence {
    struct Handler final : c10::WarningHandler {
        void process(const c10::Warning &) override
        {
        }
    } handler;
    c10::WarningUtils::WarningHandlerGuard guard{&handler};
};

/* Does it come from the device, or from a library of NVIDIA's? */
inline bool is_of_device(const c10::Error &e)
{
    return says(e, {"CUDA error: ", "CUDA driver error: ", "CUDA NVRTC error: ", "cuDNN",
                    "cuFFT error: ", "cusolver error: ", "CUSPARSE_", "cuSPARSELt",
                    "cudss error: ", "cutlass", "CUTLASS"});
}

/* The kernel that PyTorch has for an operator and a CUDA key. */
class Original {
  public:
    Original(const c10::OperatorHandle &handle, c10::DispatchKey key) : handle(handle), key(key)
    {
        if (handle.hasComputedKernelForDispatchKey(key))
            kernel.emplace(handle.getComputedKernelForDispatchKey(key));
    }

    /* Are the tensors of a call where the kernels of `device` can have them? */
    bool has_places_right(const torch::jit::Stack &stack, size_t first, int device)
    {
        uint64_t scalars = 0;
        for (size_t i = first; i < stack.size(); i++) {
            const c10::IValue &v = stack[i];
            auto is_right = [&](const at::Tensor &t) {
                if (!t.defined() || (t.is_cuda() && t.device().index() == device))
                    return true;
                if (!t.is_cpu() || t.dim())
                    return false;
                if (!t.unsafeGetTensorImpl()->is_wrapped_number())
                    scalars |= uint64_t{1} << (i - first) % 64;
                return true;
            };
            if (v.isTensor()) {
                if (!is_right(v.toTensor()))
                    return false;
            } else if (v.isTensorList()) {
                for (const at::Tensor &t : v.toTensorList())
                    if (!is_right(t))
                        return false;
            } else if (is_optional_tensors(v)) { /* indices, which may be of the host */
                for (const c10::IValue &i : v.toListRef()) {
                    if (!i.isTensor())
                        continue;
                    const at::Tensor &t = i.toTensor();
                    if (!(t.defined() && t.is_cpu()) && !is_right(t))
                        return false;
                }
            }
        }
        return C10_LIKELY((scalars & ~scalars_taken.load(std::memory_order_relaxed)) == 0) ||
               takes_scalars(stack, first, scalars);
    }

    /*
     * Throws what the kernel throws of these arguments. True: it had nothing to launch, or could
     * leave it to other operators, and its results replace the arguments. False: it would have run
     * on a GPU.
     */
    bool call(torch::jit::Stack *stack, size_t first) const
    {
        if (!kernel)
            return false;
        torch::jit::Stack args(stack->begin() + static_cast<ptrdiff_t>(first), stack->end());
        at::AutoDispatchBelowADInplaceOrView below;
        Silence silence;
        Quiet quiet;
        try {
            kernel->callBoxed(handle, c10::DispatchKeySet(key), &args);
        } catch (const c10::Error &e) {
            if (!is_of_device(e))
                throw;
            (void)cudaGetLastError();
            return false;
        }
        stack->resize(first);
        for (auto &v : args)
            stack->push_back(std::move(v));
        return true;
    }

    /* After the CPU's kernel has thrown `e`, which is the exception at work. */
    void call_after(const c10::Error &e, torch::jit::Stack *stack, size_t first) const
    {
        if (dynamic_cast<const c10::OutOfMemoryError *>(&e) || is_of_device(e))
            throw;
        if (call(stack, first))
            return;
        TORCH_CHECK_NOT_IMPLEMENTED(
            !says(e, {"\" not implemented for '"}), "Heddle: ", handle.operator_name(),
            " runs on a GPU, and not here, where PyTorch's CPU kernel says: ",
            e.what_without_backtrace());
        throw;
    }

  private:
    c10::OperatorHandle handle;
    c10::DispatchKey key;
    std::optional<c10::SafeKernelFunction> kernel;
    std::atomic<uint64_t> scalars_taken{0}; /* arguments that may be a number of the host */

    /* What fails here is not the program's. */
    struct Quiet {
        int was = Driver::get().native_quiet(1);
        ~Quiet()
        {
            Driver::get().native_quiet(was);
        }
    };

    /*
     * A tensor of the host that is a number is fine for kernels that check by TensorIterator, or not
     * at all; for the others all tensors are of one device. One call, with nothing to do on the
     * device, tells which kind this is.
     */
    bool takes_scalars(const torch::jit::Stack &stack, size_t first, uint64_t scalars)
    {
        torch::jit::Stack args;
        for (size_t i = first; i < stack.size(); i++)
            args.push_back(map_tensors(stack[i], [](const at::Tensor &t) {
                return !t.defined() || t.is_cpu() ? t : at::empty({0}, t.options());
            }));
        try {
            call(&args, 0);
        } catch (const c10::Error &e) {
            if (says(e, {"(when checking argument in method wrapper_", "CPU Scalar support"}))
                return false;
        }
        scalars_taken.fetch_or(scalars, std::memory_order_relaxed);
        return true;
    }
};

/* What there was before the layer: taken of all operators before the first is replaced. */
class Originals {
  public:
    static Originals &get()
    {
        static auto *all = new Originals;
        return *all;
    }
    void keep(const c10::OperatorHandle &handle, c10::DispatchKey key)
    {
        auto &o = kept[{handle.operator_name(), key}];
        if (!o)
            o = std::make_unique<Original>(handle, key);
    }
    Original *of(const c10::OperatorName &name, c10::DispatchKey key) const
    {
        auto found = kept.find({name, key});
        return found == kept.end() ? nullptr : found->second.get();
    }

  private:
    using Key = std::pair<c10::OperatorName, c10::DispatchKey>;
    struct Less {
        bool operator()(const Key &a, const Key &b) const
        {
            return std::tie(a.first.name, a.first.overload_name, a.second) <
                   std::tie(b.first.name, b.first.overload_name, b.second);
        }
    };
    std::map<Key, std::unique_ptr<Original>, Less> kept;
};

/* A kernel of the layer's that is a C++ function. */
class Adapted final : public c10::OperatorKernel {
  public:
    Adapted(Original *original, c10::KernelFunction kernel)
        : original(original), kernel(std::move(kernel))
    {
    }
    void operator()(const c10::OperatorHandle &handle, c10::DispatchKeySet keys,
                    torch::jit::Stack *stack)
    {
        size_t nargs = handle.schema().arguments().size(), first = stack->size() - nargs;
        int device = -1;
        for (size_t i = first; i < stack->size() && device < 0; i++)
            each_tensor((*stack)[i], [&](const at::Tensor &t) {
                if (device < 0 && t.defined() && t.is_cuda())
                    device = t.device().index();
            });
        /* What PyTorch's kernel does not object to, as lengths of the host, the adapter takes. */
        if (device >= 0 && !original->has_places_right(*stack, first, device) &&
            original->call(stack, first))
            return;
        torch::jit::Stack args(stack->begin() + static_cast<ptrdiff_t>(first), stack->end());
        try {
            kernel.callBoxed(handle, keys, &args);
        } catch (const c10::Error &e) {
            original->call_after(e, stack, first);
            return;
        }
        stack->resize(first);
        for (auto &v : args)
            stack->push_back(std::move(v));
    }

  private:
    Original *original;
    c10::KernelFunction kernel;
};

/* Registers `function` as the kernel of an operator; throws if its arguments are others. */
template <class F>
void adapt(torch::Library &to, const c10::OperatorHandle &handle, c10::DispatchKey key, F *function)
{
    const auto &n = handle.operator_name();
    std::string name = n.name.substr(n.name.find("::") + 2);
    if (!n.overload_name.empty())
        name += "." + n.overload_name;
    to.impl(name.c_str(), torch::CppFunction(function));
    if (auto *original = Originals::get().of(n, key))
        to.impl(name.c_str(),
                torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Adapted>(
                    original, c10::KernelFunction::makeFromUnboxedRuntimeFunction(function))));
}

} // namespace heddle
