/* An operator that PyTorch's CPU kernel computes. */
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "checks.hpp"
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
            bool is_written = args[i].alias_info() && args[i].alias_info()->isWrite();
            writes |= is_written;
            /* Schemas of norms do not say that they write to these. */
            if (is_written || args[i].name() == "running_mean" || args[i].name() == "running_var")
                written.push_back(i);
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

    /* Lazy clones get memory of their own when they are written to, and not when they are read. */
    void own_what_is_written(const torch::jit::Stack &stack, size_t first) const
    {
        auto own = [](const at::Tensor &t) {
            if (t.defined() && t.has_storage())
                t.storage().mutable_data();
        };
        for (size_t i : written) {
            const c10::IValue &v = stack[first + i];
            if (v.isTensor())
                own(v.toTensor());
            else if (v.isTensorList())
                for (const at::Tensor &t : v.toTensorList())
                    own(t);
        }
    }

    c10::OperatorHandle handle;
    c10::DispatchKey host;
    Kernel kernel;
    c10::SmallVector<size_t, 2> written; /* arguments */
    bool writes = false;                 /* to arguments */
    int generator = -1; /* the argument, of an operator that draws random numbers */
};

void capture_operator(Operator &op, torch::jit::Stack *stack, Aliases &aliases,
                      torch::jit::Stack &args, c10::cuda::CUDAStream stream);

/* Types that the CPU's kernel does not take, and CUDA's does: computed with wider ones (widen.hpp). */
enum class When { NEVER, HALVES, INTEGERS };

class Bridge final : public c10::OperatorKernel {
  public:
    /* `original`: PyTorch's kernel; without one nobody looks after what goes wrong. */
    Bridge(const c10::OperatorHandle &handle, const std::string &name, c10::DispatchKey host,
           Original *original, When widens = When::NEVER)
        : op(handle, name, host), checks(Checks::find(handle.operator_name())), original(original),
          widens(widens)
    {
    }

    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack)
    {
        if (C10_UNLIKELY(checks != nullptr)) {
            Call call(op.handle.schema(), *stack, first_of(*stack));
            checks->run(call);
            if (C10_UNLIKELY(checks->asks(call)) && original) {
                if (original->call(stack, first_of(*stack)))
                    return;
                checks->refuse(call);
            }
        }
        compute(stack);
    }

  private:
    Operator op;
    const Checks *checks; /* NULL: none */
    Original *original;
    When widens;

    size_t first_of(const torch::jit::Stack &stack) const
    {
        return stack.size() - op.handle.schema().arguments().size();
    }

    void compute(torch::jit::Stack *stack)
    {
        size_t first = first_of(*stack);
        if (C10_UNLIKELY(checks && checks->wants_floats(Call(op.handle.schema(), *stack, first)))) {
            Widening widening(op.handle, *stack, first);
            if (widening.is_of_halves()) {
                widening.call(stack, first, [this](torch::jit::Stack *wide) { compute(wide); });
                return;
            }
        }
        op.own_what_is_written(*stack, first);
        Aliases aliases;
        torch::jit::Stack args;
        args.reserve(stack->size() - first);
        for (size_t i = first; i < stack->size(); i++)
            args.push_back(alias_of((*stack)[i], aliases));
        if (original && !aliases.empty() &&
            C10_UNLIKELY(!original->has_places_right(*stack, first, aliases.device))) {
            if (!original->call(stack, first))
                refuse_places(*stack, first, aliases.device);
            return;
        }
        if (aliases.device < 0)
            aliases.device = c10::cuda::current_device();
        auto device = static_cast<c10::DeviceIndex>(aliases.device);
        OnDevice on_device(device);
        auto stream = c10::cuda::getCurrentCUDAStream(device);
        if (C10_UNLIKELY(is_capturing(stream))) {
            capture_operator(op, stack, aliases, args, stream);
            return;
        }
        auto numbers = op.take(*stack, first);
        Results r;
        r.device = aliases.device;
        try {
            run_in_stream(
                op.kernel, stream.stream(),
                [&] {
                    Inside inside(&r);
                    op.call_host(&args, numbers);
                },
                c10::ArrayRef(*stack).slice(first), on_device.context);
        } catch (const c10::Error &e) {
            Widening widening(op.handle, *stack, first);
            if (can_widen(widening))
                widening.call(stack, first, [this](torch::jit::Stack *wide) { compute(wide); });
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

    /* CUDA's kernels take complex numbers of halves in general, the CPU's hardly any. */
    bool can_widen(const Widening &w) const
    {
        return w.narrow_type() == c10::kComplexHalf ||
               (widens == When::INTEGERS
                    ? c10::isIntegralType(w.narrow_type(), /* includeBool */ false)
                    : widens == When::HALVES &&
                          (w.is_of_halves() || w.narrow_type() == c10::kBool));
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
