/* Names of operators, and their arguments. */
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <sstream>

namespace heddle {

/* "aten::add.Tensor" */
inline c10::OperatorName operator_name_of(const std::string &full)
{
    auto dot = full.find('.', full.find("::"));
    return dot == std::string::npos ? c10::OperatorName(full, "")
                                    : c10::OperatorName(full.substr(0, dot), full.substr(dot + 1));
}

/* f(tensor) for each tensor of an argument. */
/*
 * Is it a list of tensors that may be absent? IValue's own question compares types by address, and
 * TorchScript makes those of its lists anew. The elements are None or tensors.
 */
inline bool is_optional_tensors(const c10::IValue &v)
{
    return v.isOptionalTensorList() ||
           (v.isList() && v.toList().elementType()->isSubtypeOf(*c10::OptionalType::ofTensor()));
}

template <class F> void each_tensor(const c10::IValue &v, F &&f)
{
    if (v.isTensor())
        f(v.toTensor());
    else if (v.isTensorList())
        for (const at::Tensor &t : v.toTensorList())
            f(t);
    else if (is_optional_tensors(v))
        for (const c10::IValue &t : v.toListRef())
            if (t.isTensor())
                f(t.toTensor());
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
    if (is_optional_tensors(v)) {
        c10::List<std::optional<at::Tensor>> out;
        for (const c10::IValue &t : v.toListRef())
            out.push_back(t.isTensor() ? std::optional<at::Tensor>(f(t.toTensor())) : std::nullopt);
        return out;
    }
    return v;
}

/* "float32[64, 8]", "[1, 2]", "0.5" */
inline void describe_value(std::ostream &out, const c10::IValue &v)
{
    auto list = [&out](const auto &elements) {
        const char *between = "[";
        for (const auto &e : elements) {
            out << between;
            describe_value(out, e);
            between = ", ";
        }
        out << (elements.empty() ? "[]" : "]");
    };
    if (v.isTensor() && v.toTensor().defined())
        out << c10::getDtypeNames(v.toTensor().scalar_type()).first << v.toTensor().sizes();
    else if (v.isList())
        list(v.toListRef());
    else if (v.isBool())
        out << (v.toBool() ? "True" : "False");
    else if (v.isNone() || v.isTensor())
        out << "None";
    else if (v.isInt())
        out << v.toInt();
    else if (v.isDouble())
        out << v.toDouble();
    else if (v.isString())
        out << v.toStringRef();
    else
        out << v.tagKind();
}

/* What tools show of an operator's arguments; those at the end that are None say nothing. */
inline void describe_values(c10::ArrayRef<c10::IValue> values, char *text, size_t size_B)
{
    std::ostringstream out;
    while (!values.empty() && values.back().isNone())
        values = values.slice(0, values.size() - 1);
    for (size_t i = 0; i < values.size(); i++) {
        out << (i ? ", " : "");
        describe_value(out, values[i]);
    }
    snprintf(text, size_B, "%s", out.str().c_str());
}

} // namespace heddle
