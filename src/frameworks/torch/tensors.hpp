/* Names of operators, and tensors among their arguments. */
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>

namespace heddle {

/* "aten::add.Tensor" */
inline c10::OperatorName operator_name_of(const std::string &full)
{
    auto dot = full.find('.', full.find("::"));
    return dot == std::string::npos ? c10::OperatorName(full, "")
                                    : c10::OperatorName(full.substr(0, dot), full.substr(dot + 1));
}

/* f(tensor) for each tensor of an argument. */
template <class F> void each_tensor(const c10::IValue &v, F &&f)
{
    if (v.isTensor())
        f(v.toTensor());
    else if (v.isTensorList())
        for (const at::Tensor &t : v.toTensorList())
            f(t);
    else if (v.isOptionalTensorList())
        for (const std::optional<at::Tensor> &t : v.toOptionalTensorList())
            if (t)
                f(*t);
}

/* How an argument list is passed on: each CUDA tensor in it replaced by f(it). */
template <class F> c10::IValue map_tensors(const c10::IValue &v, F &&f)
{
    if (v.isTensor())
        return f(v.toTensor());
    if (v.isTensorList()) {
        c10::List<at::Tensor> out;
        auto in = v.toTensorList();
        out.reserve(in.size());
        for (const at::Tensor &t : in)
            out.push_back(f(t));
        return out;
    }
    if (v.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> out;
        for (const std::optional<at::Tensor> &t : v.toOptionalTensorList())
            out.push_back(t ? std::optional<at::Tensor>(f(*t)) : std::nullopt);
        return out;
    }
    return v;
}

} // namespace heddle
