/* An operator that PyTorch's CPU kernel computes. */
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "errors.hpp"
#include "random_state.hpp"
#include "tensors.hpp"
#include "widen.hpp"

namespace heddle {

struct Operator {
    Operator(const c10::OperatorHandle &handle, const std::string &name, c10::DispatchKey host)
        : handle(handle), host(host), kernel(name)
    {
        const auto &args = handle.schema().arguments();
        for (size_t i = 0; i < args.size(); i++) {
            if (args[i].alias_info() && args[i].alias_info()->isWrite())
                writes = true;
            if (args[i].type()->str() == "Generator?" || args[i].type()->str() == "Generator")
                generator = static_cast<int>(i);
        }
    }

    /* What a call draws from, and moves on; its arguments begin at `first`. */
    std::optional<at::PhiloxCudaState> take(const torch::jit::Stack &stack, size_t first) const
    {
        if (C10_LIKELY(generator < 0))
            return {};
        auto &g = stack[first + static_cast<size_t>(generator)];
        return take_numbers(g.toOptional<at::Generator>(), HOST_INCREMENT);
    }

    /* The CPU's kernel on aliases that are on the stack; its results replace them. */
    void call_host(torch::jit::Stack *stack,
                   const std::optional<at::PhiloxCudaState> &numbers) const
    {
        at::AutoDispatchBelowADInplaceOrView below;
        if (C10_UNLIKELY(numbers.has_value()))
            (*stack)[stack->size() - handle.schema().arguments().size() +
                     static_cast<size_t>(generator)] =
                at::detail::createCPUGenerator(host_seed(Seed::of(*numbers)));
        handle.redispatchBoxed(c10::DispatchKeySet(host), stack);
    }

    c10::OperatorHandle handle;
    c10::DispatchKey host;
    Kernel kernel;
    bool writes = false; /* to arguments */
    int generator = -1;  /* the argument, of an operator that draws random numbers */
};

void capture_operator(Operator &op, torch::jit::Stack *stack, Aliases &aliases,
                      torch::jit::Stack &args, c10::cuda::CUDAStream stream);

class Bridge final : public c10::OperatorKernel {
  public:
    struct Ways {
        bool widens = false;        /* WIDEN of spec/torch.def */
        bool takes_integers = true; /* it has no NO_INTEGERS */
    };
    /* `original`: PyTorch's kernel; without one nobody looks after what goes wrong. */
    Bridge(const c10::OperatorHandle &handle, const std::string &name, c10::DispatchKey host,
           Original *original, Ways ways)
        : op(handle, name, host), original(original), ways(ways)
    {
    }

    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack)
    {
        size_t nargs = op.handle.schema().arguments().size(), first = stack->size() - nargs;
        Aliases aliases;
        torch::jit::Stack args;
        args.reserve(nargs);
        for (size_t i = first; i < stack->size(); i++)
            args.push_back(alias_of((*stack)[i], aliases));
        if (original && !aliases.empty() &&
            C10_UNLIKELY(!original->has_places_right(*stack, first, aliases.device))) {
            if (!original->call(stack, first))
                refuse_places(*stack, first, aliases.device);
            return;
        }
        if (C10_UNLIKELY(!ways.takes_integers) && original && has_integers(*stack, first) &&
            original->call(stack, first))
            return;
        if (aliases.device < 0)
            aliases.device = c10::cuda::current_device();
        auto device = static_cast<c10::DeviceIndex>(aliases.device);
        c10::cuda::OptionalCUDAGuard guard(c10::Device(c10::kCUDA, device));
        auto stream = c10::cuda::getCurrentCUDAStream(device);
        if (C10_UNLIKELY(c10::cuda::currentStreamCaptureStatusMayInitCtx() !=
                         c10::cuda::CaptureStatus::None)) {
            capture_operator(op, stack, aliases, args, stream);
            return;
        }
        auto numbers = op.take(*stack, first);
        Results r;
        r.device = aliases.device;
        try {
            run_in_stream(op.kernel, stream.stream(), [&] {
                Inside inside(&r);
                op.call_host(&args, numbers);
            });
        } catch (const c10::Error &e) {
            Widening widening(op.handle, *stack, first);
            if (can_widen(widening))
                widening.call(stack, first);
            else if (original)
                original->call_after(e, stack, first);
            else
                throw;
            return;
        }
        if (op.writes)
            aliases.written();
        stack->resize(first);
        for (auto &v : args)
            stack->push_back(map_tensors(v, [&](const at::Tensor &t) { return aliases.back(t); }));
    }

  private:
    Operator op;
    Original *original;
    Ways ways;

    /* CUDA's kernels take complex numbers of halves in general, the CPU's hardly any. */
    bool can_widen(const Widening &w) const
    {
        return w.is_possible() && (ways.widens || w.narrow_type() == c10::kComplexHalf);
    }

    static bool has_integers(const torch::jit::Stack &stack, size_t first)
    {
        return stack[first].isTensor() && stack[first].toTensor().defined() &&
               c10::isIntegralType(stack[first].toTensor().scalar_type(), /* includeBool */ true);
    }

    [[noreturn]] static void refuse_places(const torch::jit::Stack &stack, size_t first, int device)
    {
        c10::Device own(c10::kCUDA, static_cast<c10::DeviceIndex>(device)), other(c10::kCPU);
        for (size_t i = first; i < stack.size(); i++)
            each_tensor(stack[i], [&](const at::Tensor &t) {
                if (t.defined() && t.device() != own)
                    other = t.device();
            });
        TORCH_CHECK(false,
                    "Expected all tensors to be on the same device, but found at least two "
                    "devices, ",
                    own, " and ", other, "!");
    }
    static c10::IValue alias_of(const c10::IValue &v, Aliases &aliases)
    {
        if (v.isDevice() && v.toDevice().is_cuda()) {
            auto d = v.toDevice();
            aliases.device = d.has_index() ? d.index() : c10::cuda::current_device();
            return c10::Device(c10::kCPU);
        }
        return map_tensors(v, [&](const at::Tensor &t) { return aliases.of(t); });
    }
};

} // namespace heddle
