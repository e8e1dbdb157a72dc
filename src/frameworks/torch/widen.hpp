/*
 * Types that PyTorch's CUDA kernels take and its CPU kernels do not: the operator is called with
 * wider ones, and its results are narrowed.
 */
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/resize.h>

#include "tensors.hpp"

namespace heddle {

/* What holds all values of `type`; itself, if there is nothing wider. */
inline c10::ScalarType wider(c10::ScalarType type)
{
    if (type == c10::kHalf || type == c10::kBFloat16)
        return c10::kFloat;
    if (type == c10::kComplexHalf)
        return c10::kComplexFloat;
    if (type == c10::kBool)
        return c10::kByte;
    return c10::isIntegralType(type, /* includeBool */ false) ? c10::kDouble : type;
}

/* The type of a result that was computed from wider ones: real and complex halves are a pair. */
inline c10::ScalarType narrowed(c10::ScalarType result, c10::ScalarType type)
{
    bool halves = type == c10::kHalf || type == c10::kComplexHalf;
    if (halves && result == c10::kFloat)
        return c10::kHalf;
    if (halves && result == c10::kComplexFloat)
        return c10::kComplexHalf;
    return result == wider(type) ? type : result;
}

/* One call of an operator with wider arguments: those of the type of the first tensor. */
class Widening {
  public:
    Widening(const c10::OperatorHandle &handle, const torch::jit::Stack &stack, size_t first)
        : handle(handle)
    {
        for (size_t i = first; i < stack.size() && type == c10::ScalarType::Undefined; i++)
            if (stack[i].isTensor() && stack[i].toTensor().defined())
                type = stack[i].toTensor().scalar_type();
    }

    bool is_of_halves() const
    {
        return type == c10::kHalf || type == c10::kBFloat16;
    }
    c10::ScalarType narrow_type() const
    {
        return type;
    }

    /* compute(stack) is called with wider arguments, and leaves results. */
    template <class F> void call(torch::jit::Stack *stack, size_t first, F &&compute)
    {
        torch::jit::Stack args;
        for (size_t i = first; i < stack->size(); i++)
            args.push_back(map_tensors((*stack)[i], [&](const at::Tensor &t) { return widen(t); }));
        compute(&args);
        give_back(*stack, first);
        stack->resize(first);
        for (auto &v : args)
            stack->push_back(map_tensors(v, [&](const at::Tensor &t) { return narrow(t); }));
    }

  private:
    const c10::OperatorHandle &handle;
    c10::ScalarType type = c10::ScalarType::Undefined;
    std::vector<std::pair<at::Tensor, at::Tensor>> pairs; /* the argument, and what stands for it */

    at::Tensor widen(const at::Tensor &t)
    {
        if (!t.defined() || t.scalar_type() != type)
            return t;
        for (auto &[given, wide] : pairs)
            if (given.unsafeGetTensorImpl() == t.unsafeGetTensorImpl())
                return wide;
        pairs.emplace_back(t, at::_to_copy(t, wider(type)));
        return pairs.back().second;
    }
    at::Tensor narrow(const at::Tensor &t) const
    {
        if (!t.defined())
            return t;
        for (auto &[given, wide] : pairs)
            if (wide.unsafeGetTensorImpl() == t.unsafeGetTensorImpl())
                return given;
        auto to = narrowed(t.scalar_type(), type);
        return to == t.scalar_type() ? t : at::_to_copy(t, to);
    }
    /* What the operator has written into arguments. */
    void give_back(const torch::jit::Stack &stack, size_t first)
    {
        const auto &args = handle.schema().arguments();
        for (size_t i = 0; i < args.size(); i++) {
            if (!args[i].alias_info() || !args[i].alias_info()->isWrite() ||
                !stack[first + i].isTensor())
                continue;
            at::Tensor to = stack[first + i].toTensor(), from = widen(to);
            if (from.unsafeGetTensorImpl() == to.unsafeGetTensorImpl())
                continue;
            if (to.sizes() != from.sizes())
                to.resize_(from.sizes());
            to.copy_(from);
        }
    }
};

} // namespace heddle
