/*
 * What PyTorch's CUDA kernels look at before they compute, and its CPU kernels do not: whether a
 * program may use an operator that is not deterministic, or one that waits for the device, and types
 * that they do not take. The rows are in spec/torch.def.
 */
#pragma once

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/version.h>
#include <unordered_map>

#include "tensors.hpp"

namespace heddle {

/* The arguments of a call by their names. */
class Call {
  public:
    Call(const c10::FunctionSchema &schema, const torch::jit::Stack &stack, size_t first)
        : schema(schema), stack(stack), first(first)
    {
    }
    const c10::IValue &operator[](const char *name) const
    {
        return stack[first + static_cast<size_t>(schema.argumentIndexWithName(name).value())];
    }
    const at::Tensor &tensor(const char *name) const
    {
        return (*this)[name].toTensor();
    }
    bool has(const char *name) const
    {
        return !(*this)[name].isNone();
    }
    /* Of the first argument. */
    c10::ScalarType type() const
    {
        return stack[first].toTensor().scalar_type();
    }
    bool is_integral() const
    {
        return c10::isIntegralType(type(), /* includeBool */ true);
    }
    bool is_half() const
    {
        return type() == c10::kHalf || type() == c10::kBFloat16;
    }
    bool is_complex() const
    {
        return c10::isComplexType(type());
    }
    bool is(const char *name, std::string_view text) const
    {
        return (*this)[name].toStringRef() == text;
    }

    /* Whether tensors that index have to be looked at, or copied, before their shape is known. */
    bool waits_for_indices() const
    {
        bool waits = false;
        each_tensor((*this)["indices"], [&waits](const at::Tensor &i) {
            waits |= i.defined() && is_mask(i) == i.is_cuda();
        });
        return waits;
    }
    /* Numbers of the host where one mask is set: it is not looked at. */
    bool fills_mask() const
    {
        size_t masks = 0;
        if ((*this)["accumulate"].toBool() || !tensor("values").is_cpu() ||
            tensor("values").numel() != 1)
            return false;
        bool others = false;
        each_tensor((*this)["indices"], [&masks, &others](const at::Tensor &i) {
            others |= i.defined() && (++masks > 1 || !is_mask(i) || !i.is_cuda());
        });
        return !others;
    }

  private:
    const c10::FunctionSchema &schema;
    const torch::jit::Stack &stack;
    size_t first;

    static bool is_mask(const at::Tensor &t)
    {
        return t.scalar_type() == c10::kBool || t.scalar_type() == c10::kByte;
    }
};

/* The rows of one operator. */
struct Checks {
    struct Row {
        enum Kind { NONDETERMINISTIC, WAITS, PRECISE, ASKS } kind;
        std::string text;
        bool (*applies)(const Call &);
    };
    std::vector<Row> rows;

    /* A row is for one overload, or for all of a name. */
    static const Checks *find(const c10::OperatorName &name)
    {
        static const auto *all = make();
        auto row = name.overload_name.empty() ? all->end()
                                              : all->find(name.name + "." + name.overload_name);
        if (row == all->end())
            row = all->find(name.name);
        return row == all->end() ? nullptr : &row->second;
    }

    void run(const Call &call) const
    {
        for (const auto &row : rows)
            run(row, call);
    }

    /* Whether 16-bit numbers are to be computed in float. */
    bool wants_floats(const Call &call) const
    {
        return any(Row::PRECISE, call);
    }
    /* Whether PyTorch's own kernel is to be called first. */
    bool asks(const Call &call) const
    {
        return any(Row::ASKS, call);
    }
    /* After it did not object: it may have launched something before it looked at types. */
    void refuse(const Call &call) const
    {
        for (const auto &row : rows)
            TORCH_CHECK_NOT_IMPLEMENTED(
                row.kind != Row::ASKS || row.text.empty() || !row.applies(call), '"', row.text,
                "\" not implemented for '", call.type(), "'");
    }

  private:
    bool any(Row::Kind kind, const Call &call) const
    {
        for (const auto &row : rows)
            if (row.kind == kind && row.applies(call))
                return true;
        return false;
    }

    static void run(const Row &row, const Call &call)
    {
        switch (row.kind) {
        case Row::NONDETERMINISTIC:
            if (at::globalContext().deterministicAlgorithms() && row.applies(call))
                at::globalContext().alertNotDeterministic(row.text);
            break;
        case Row::WAITS:
            /* The mode is c10's, and read there: an inline function would have one of its own. */
            if (row.applies(call))
                c10::cuda::warn_or_error_on_sync();
            break;
        case Row::PRECISE:
        case Row::ASKS:
            break;
        }
    }

    static std::unordered_map<std::string, Checks> *make()
    {
        auto *all = new std::unordered_map<std::string, Checks>;
#define ADD(name, kind, text, when)                                                                \
    (*all)[name].rows.push_back(                                                                   \
        {Row::kind, text, []([[maybe_unused]] const Call &call) -> bool { return when; }});
#define NONDETERMINISTIC(name, text, when) ADD(name, NONDETERMINISTIC, text, when)
#define WAITS(name, when)                  ADD(name, WAITS, "", when)
#define ASKS(name, kernel, when)           ADD(name, ASKS, kernel, when)
#define PRECISE(name, when)                ADD(name, PRECISE, "", when)
#include "torch.def"
#undef ADD
        return all;
    }
};

} // namespace heddle
