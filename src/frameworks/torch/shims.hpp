/*
 * What AOTInductor's models, and torch.compile() with `cpp_wrapper`, call in place of operators.
 *
 * Their C++ calls functions with C interfaces, aoti_torch_cuda_mm_out() and some 170 more, which
 * call PyTorch's CUDA kernels past the dispatcher. Each is redirected to the operator's kernel for
 * CUDA in the dispatcher. Nothing lists them: their names come from the operators', and the
 * arguments from the schemas, by the rules of torchgen/gen_aoti_c_shim.py:
 *   - a Tensor is a pointer to an at::Tensor, bool and enumerations are int32_t, int and SymInt
 *     int64_t, float and Scalar double; a device is its type and its index;
 *   - what may be None is a pointer to that; a list is a pointer to its elements, and their number;
 *   - `out` comes first, pointers to results last. The function returns 0, or 1 after an error.
 * The arguments are found by the rules of the C ABI: integers and pointers are in registers, doubles
 * in others, each in order; those without a register are on the stack, in order, eight bytes each.
 */
#pragma once

#include <array>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <unordered_map>
#include <utility>

#include "operator.hpp"

namespace heddle {

/* The arguments of a C function, in order. */
class CArguments {
  public:
#ifdef __aarch64__
    static constexpr size_t INTEGERS = 8, DOUBLES = 8;
#else
    static constexpr size_t INTEGERS = 6, DOUBLES = 8;
#endif
    static constexpr size_t ON_STACK = 24; /* of 17 that the longest one has */

    CArguments(const std::array<uint64_t, INTEGERS> &integers,
               const std::array<double, DOUBLES> &doubles,
               const std::array<uint64_t, ON_STACK> &on_stack)
        : integers(integers), doubles(doubles), on_stack(on_stack)
    {
    }

    /* Of an int32_t the upper half may be anything. */
    uint64_t integer()
    {
        return nintegers < INTEGERS ? integers[nintegers++] : next_on_stack();
    }
    template <class T> T *pointer()
    {
        return reinterpret_cast<T *>(integer());
    }
    uint64_t number()
    {
        uint64_t word;
        if (ndoubles == DOUBLES)
            return next_on_stack();
        memcpy(&word, &doubles[ndoubles++], sizeof(word));
        return word;
    }

  private:
    const std::array<uint64_t, INTEGERS> integers;
    const std::array<double, DOUBLES> doubles;
    const std::array<uint64_t, ON_STACK> on_stack;
    size_t nintegers = 0, ndoubles = 0, non_stack = 0;

    uint64_t next_on_stack()
    {
        TORCH_CHECK(non_stack < ON_STACK, "Heddle: more arguments than the layer reads");
        return on_stack[non_stack++];
    }
};

/* One of the functions. */
class Shim {
  public:
    /* missing: arguments that the operator has got since this version of the function. */
    Shim(const c10::OperatorHandle &handle, size_t missing) : handle(handle), missing(missing)
    {
    }

    int32_t call(CArguments &args) const
    {
        AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
            const auto &formal = handle.schema().arguments();
            torch::jit::Stack stack(formal.size());
            bool is_changed = handle.operator_name().name.back() == '_';
            for (size_t i = 0; i < formal.size(); i++)
                if (formal[i].is_out()) {
                    stack[i] = *args.pointer<at::Tensor>();
                    is_changed = true;
                }
            for (size_t i = 0; i < formal.size(); i++)
                if (i + missing >= formal.size())
                    stack[i] = formal[i].default_value().value_or(c10::IValue());
                else if (formal[i].alias_info() && formal[i].alias_info()->isWrite())
                    stack[i] = formal[i].is_out() ? std::move(stack[i])
                                                  : c10::IValue(*args.pointer<at::Tensor>());
                else
                    stack[i] = value_of(*formal[i].real_type(), args);
            handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CUDA), &stack);
            if (!is_changed)
                for (auto &result : stack)
                    give(result, args.pointer<void>());
        });
    }

  private:
    using Kind = c10::TypeKind;
    c10::OperatorHandle handle;
    size_t missing;

    static const c10::Type &element_of(const c10::Type &list_or_optional)
    {
        return *list_or_optional.containedType(0);
    }

    static c10::IValue value_of(const c10::Type &type, CArguments &args)
    {
        uint64_t word;
        switch (type.kind()) {
        case Kind::OptionalType:
            return optional_of(element_of(type), args);
        case Kind::ListType: {
            auto *at = args.pointer<void>();
            return list_at(element_of(type), at, args.integer());
        }
        case Kind::NumberType:
        case Kind::FloatType:
            word = args.number();
            return value_at(type, &word);
        default:
            word = args.integer();
            return type.kind() == Kind::DeviceObjType ? device_of(word, args.integer())
                                                      : value_at(type, &word);
        }
    }

    static c10::IValue optional_of(const c10::Type &type, CArguments &args)
    {
        auto *at = args.pointer<void>();
        if (type.kind() == Kind::ListType) {
            uint64_t n = args.integer();
            return at ? list_at(element_of(type), *static_cast<void **>(at), n) : c10::IValue();
        }
        if (type.kind() == Kind::DeviceObjType) {
            uint64_t index = args.integer();
            return at ? device_of(*static_cast<int32_t *>(at), index) : c10::IValue();
        }
        return at ? value_at(type, at) : c10::IValue();
    }

    static c10::IValue device_of(uint64_t type, uint64_t index)
    {
        return c10::Device(static_cast<c10::DeviceType>(type),
                           static_cast<c10::DeviceIndex>(index));
    }

    static c10::IValue value_at(const c10::Type &type, const void *at)
    {
        switch (type.kind()) {
        case Kind::TensorType: {
            /* A kernel takes none that is still to be conjugated or negated. */
            const at::Tensor &t = **static_cast<at::Tensor *const *>(at);
            return t.is_conj() || t.is_neg() ? t.clone() : t;
        }
        case Kind::NumberType:
        case Kind::FloatType:
            return *static_cast<const double *>(at);
        case Kind::IntType:
        case Kind::SymIntType:
            return *static_cast<const int64_t *>(at);
        case Kind::BoolType:
            return *static_cast<const int32_t *>(at) != 0;
        case Kind::ScalarTypeType:
        case Kind::LayoutType:
        case Kind::MemoryFormatType:
            return static_cast<int64_t>(*static_cast<const int32_t *>(at));
        case Kind::StringType:
            return std::string(*static_cast<const char *const *>(at));
        case Kind::GeneratorType:
            return **static_cast<at::Generator *const *>(at);
        default:
            TORCH_CHECK_NOT_IMPLEMENTED(false, "Heddle: an argument of type ", type.str(),
                                        " of a C function is not supported");
        }
    }

    template <class T, class Value>
    static c10::IValue list_of(const void *at, uint64_t n, Value &&value)
    {
        c10::List<T> list;
        list.reserve(n);
        for (uint64_t i = 0; i < n; i++)
            list.push_back(value(i));
        return list;
    }

    static c10::IValue list_at(const c10::Type &type, const void *at, uint64_t n)
    {
        switch (type.kind()) {
        case Kind::TensorType:
            return list_of<at::Tensor>(at, n, [&](uint64_t i) {
                return value_at(type, static_cast<void *const *>(at) + i).toTensor();
            });
        case Kind::OptionalType:
            return list_of<std::optional<at::Tensor>>(at, n, [&](uint64_t i) {
                void *t = static_cast<void *const *>(at)[i];
                return t ? std::optional(value_at(element_of(type), t).toTensor()) : std::nullopt;
            });
        case Kind::BoolType:
            return list_of<bool>(
                at, n, [&](uint64_t i) { return static_cast<const int32_t *>(at)[i] != 0; });
        case Kind::FloatType:
            return list_of<double>(at, n,
                                   [&](uint64_t i) { return static_cast<const double *>(at)[i]; });
        default:
            TORCH_CHECK_NOT_IMPLEMENTED(
                type.kind() == Kind::IntType || type.kind() == Kind::SymIntType,
                "Heddle: a list of ", type.str(), " for a C function is not supported");
            return list_of<int64_t>(
                at, n, [&](uint64_t i) { return static_cast<const int64_t *>(at)[i]; });
        }
    }

    /* Results that nobody wants have no place. */
    static void give(c10::IValue &result, void *to)
    {
        if (to && result.isTensor())
            *static_cast<at::Tensor **>(to) = new at::Tensor(std::move(result).toTensor());
        else if (to && result.isDouble())
            *static_cast<double *>(to) = result.toDouble();
        else if (to)
            *static_cast<int64_t *>(to) = result.toSymInt().expect_int();
    }
};

/* All of them. Which one is called is known by the C function that is: there is one for each. */
class Shims {
  public:
    using Redirect = bool (*)(void *from, void *to);
    /* For functions of which there is a newer version: how many arguments less they have. */
    using Older = std::unordered_map<std::string, size_t>;

    static void redirect(Redirect redirect, const Older &older)
    {
        auto *shims = all = new Shims(redirect, older);
        for (const auto &name : c10::Dispatcher::singleton().getAllOpNames())
            if (name.getNamespace() == "aten")
                shims->add(name);
    }

  private:
    static constexpr size_t MAX = 384;
    static inline Shims *all;

    template <class T, size_t> using Each = T;
    template <size_t I, class = std::make_index_sequence<CArguments::INTEGERS>,
              class = std::make_index_sequence<CArguments::DOUBLES>,
              class = std::make_index_sequence<CArguments::ON_STACK>>
    struct Entry;
    template <size_t I, size_t... N, size_t... D, size_t... S>
    struct Entry<I, std::index_sequence<N...>, std::index_sequence<D...>,
                 std::index_sequence<S...>> {
        static int32_t call(Each<uint64_t, N>... integers, Each<double, D>... doubles,
                            Each<uint64_t, S>... on_stack)
        {
            CArguments args({integers...}, {doubles...}, {on_stack...});
            return all->shims[I].call(args);
        }
    };
    template <size_t... I> static std::array<void *, MAX> make_entries(std::index_sequence<I...>)
    {
        return {reinterpret_cast<void *>(&Entry<I>::call)...};
    }

    const Redirect to_entry;
    const Older &older;
    const std::array<void *, MAX> entries = make_entries(std::make_index_sequence<MAX>());
    void *const libtorch_cuda = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    std::vector<Shim> shims;

    Shims(Redirect redirect, const Older &older) : to_entry(redirect), older(older)
    {
        TORCH_CHECK(libtorch_cuda, "Heddle: libtorch_cuda.so is not loaded");
        shims.reserve(MAX);
    }

    void *find(const std::string &name) const
    {
        return dlsym(libtorch_cuda, ("aoti_torch_cuda_" + name).c_str());
    }

    /* A function that got arguments has versions, and the last one has all that the operator has. */
    void add(const c10::OperatorName &op)
    {
        std::string name = op.name.substr(strlen("aten::"));
        if (!op.overload_name.empty())
            name += "_" + op.overload_name;
        void *function = find(name);
        auto handle = c10::Dispatcher::singleton().findSchema(op);
        if (!function || !handle)
            return;
        std::string version = name;
        for (unsigned next = 2; function; next++) {
            std::string newer = name + "_v" + std::to_string(next);
            void *newer_function = find(newer);
            auto less = newer_function ? older.find(version) : older.end();
            bool is_known = !newer_function || less != older.end();
            if (is_known && shims.size() < MAX && to_entry(function, entries[shims.size()]))
                shims.emplace_back(*handle, newer_function ? less->second : 0);
            else
                TORCH_WARN("Heddle: aoti_torch_cuda_", version, "() cannot be redirected");
            function = newer_function;
            version = newer;
        }
    }
};

} // namespace heddle
