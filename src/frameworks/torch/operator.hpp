/* An operator that PyTorch's CPU kernel computes. */
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "checks.hpp"
#include "random_state.hpp"
#include "tensors.hpp"
#include "widen.hpp"

namespace heddle {

struct Operator {
    Operator(const c10::OperatorHandle &handle, const std::string &name, c10::DispatchKey host)
        : handle(handle), host(host), kernel(name)
    {
        const auto &args = handle.schema().arguments();
        const auto &returns = handle.schema().returns();
        bool has_result =
            !returns.empty() && returns[0].type()->kind() == c10::TypeKind::TensorType;
        for (size_t i = 0; i < args.size(); i++) {
            bool is_written = args[i].alias_info() && args[i].alias_info()->isWrite();
            writes |= is_written;
            /* Schemas of norms do not say that they write to these. */
            if (is_written || args[i].name() == "running_mean" || args[i].name() == "running_var")
                written.push_back(i);
            if (args[i].type()->str() == "Generator?" || args[i].type()->str() == "Generator")
                generator = static_cast<int>(i);
            if (args[i].name() == "dropout_p" || args[i].name() == "dropout")
                dropout = static_cast<int>(i);
        }
        draws = generator >= 0 || (has_result && handle.hasTag(at::Tag::nondeterministic_seeded));
    }

    /*
     * What a call draws from, and moves on; its arguments begin at `first`. Attention without dropout
     * draws nothing, as on a GPU.
     */
    std::optional<at::PhiloxCudaState> take(const torch::jit::Stack &stack, size_t first) const
    {
        if (C10_LIKELY(!draws))
            return {};
        if (dropout >= 0 && stack[first + static_cast<size_t>(dropout)].toDouble() == 0)
            return {};
        std::optional<at::Generator> g;
        if (generator >= 0)
            g = stack[first + static_cast<size_t>(generator)].toOptional<at::Generator>();
        return take_numbers(g, HOST_INCREMENT);
    }

    /* The CPU's kernel on aliases that are on the stack; its results replace them. */
    void call_host(torch::jit::Stack *stack,
                   const std::optional<at::PhiloxCudaState> &numbers) const
    {
        at::AutoDispatchBelowADInplaceOrView below;
        std::optional<DefaultSeeded> seeded;
        if (C10_UNLIKELY(numbers.has_value())) {
            uint64_t seed = host_seed(Seed::of(*numbers));
            if (generator >= 0)
                (*stack)[stack->size() - handle.schema().arguments().size() +
                         static_cast<size_t>(generator)] = at::detail::createCPUGenerator(seed);
            else
                seeded.emplace(seed);
        }
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
    bool draws = false;                  /* random numbers */
    int generator = -1;                  /* the argument, if there is one */
    int dropout = -1;                    /* the argument that says how likely, likewise */
};

void capture_operator(Operator &op, torch::jit::Stack *stack, Aliases &aliases,
                      torch::jit::Stack &args, c10::cuda::CUDAStream stream);

/* Types that the CPU's kernel does not take, and CUDA's does: computed with wider ones (widen.hpp). */
enum class When { NEVER, HALVES, INTEGERS };

class Bridge final : public c10::OperatorKernel {
  public:
    Bridge(const c10::OperatorHandle &handle, const std::string &name, c10::DispatchKey host,
           bool is_mixed, When widens = When::NEVER)
        : op(handle, name, host), checks(Checks::find(handle.operator_name())), is_mixed(is_mixed),
          widens(widens)
    {
    }

    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack)
    {
        if (C10_UNLIKELY(checks != nullptr))
            checks->run(Call(op.handle.schema(), *stack, first_of(*stack)));
        compute(stack);
    }

  private:
    Operator op;
    const Checks *checks; /* NULL: none */
    bool is_mixed;
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
        if (!is_mixed && !aliases.empty())
            check_devices(*stack, first, aliases.device);
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
            if (!can_widen(widening))
                throw_as_on_gpu(e);
            widening.call(stack, first, [this](torch::jit::Stack *wide) { compute(wide); });
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
                    : widens == When::HALVES && w.is_of_halves());
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

    /* What PyTorch's CUDA kernels say of tensors in other places. Numbers of the host are fine. */
    static void check_device(const at::Tensor &t, int device)
    {
        if (!t.defined() || (t.is_cuda() && t.device().index() == device) ||
            (t.is_cpu() && t.dim() == 0))
            return;
        TORCH_CHECK(false,
                    "Expected all tensors to be on the same device, but found at least two "
                    "devices, cuda:",
                    device, " and ", t.device().is_cpu() ? "cpu" : t.device().str(), "!");
    }
    static void check_devices(const torch::jit::Stack &stack, size_t first, int device)
    {
        for (size_t i = first; i < stack.size(); i++) {
            if (stack[i].isTensor())
                check_device(stack[i].toTensor(), device);
            else if (stack[i].isTensorList())
                for (const at::Tensor &t : stack[i].toTensorList())
                    check_device(t, device);
        }
    }
};

} // namespace heddle
