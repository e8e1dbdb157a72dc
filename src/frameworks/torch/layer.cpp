/*
 * PyTorch's operators on Heddle: every operator of a CUDA dispatch key runs PyTorch's own CPU kernel
 * over the same memory (alias.hpp), as a kernel of its stream (launch.hpp).
 *
 * The wheels of PyTorch hold machine code of NVIDIA's GPUs, and no PTX. This file is compiled on
 * the user's machine against the headers of the wheel that is there, and loaded when PyTorch first
 * uses a device (torch_hook.h). Which operators are treated in which way: spec/torch.def; those that
 * the CPU has no kernel for: adapters.hpp; random numbers: random.hpp; graphs: capture.hpp; what
 * compiled models call: shims.hpp.
 */
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/copy_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <memory>
#include <torch/library.h>
#include <unordered_map>
#include <unordered_set>

#include "alias.hpp"
#include "launch.hpp"
#include "operator.hpp"
#include "capture.hpp"
#include "random.hpp"
#include "shims.hpp"
#include "adapters.hpp"
#include "kernels.hpp"

namespace heddle {
namespace {

/* The libraries through which operators are registered, one for each namespace and key. */
torch::Library &library(const std::string &ns, c10::DispatchKey key)
{
    static auto *all =
        new std::map<std::pair<std::string, c10::DispatchKey>, std::unique_ptr<torch::Library>>;
    auto &l = (*all)[{ns, key}];
    if (!l)
        l = std::make_unique<torch::Library>(torch::Library::IMPL, ns, key, __FILE__, __LINE__);
    return *l;
}

std::string namespace_of(const std::string &name)
{
    return name.substr(0, name.find("::"));
}

/* ---- what is done with an operator */

enum class Treatment { KEEP, BRIDGE, REFUSE };

/* Rows of spec/torch.def. */
struct Rows {
    std::unordered_set<std::string> keep, also, widened, integers;
    std::unordered_map<std::string, std::string> refused;
    Shims::Older shims;
};

const Rows &rows()
{
    static const Rows r = [] {
        Rows r;
#define KEEP(name)           r.keep.insert(name);
#define ALSO(name)           r.also.insert(name);
#define WIDEN(name)          r.widened.insert(name);
#define WIDEN_INTEGERS(name) r.integers.insert(name);
#define REFUSE(name, why)    r.refused.emplace(name, why);
#define SHIM(name, less)     r.shims.emplace(name, less);
#include "torch.def"
        return r;
    }();
    return r;
}

std::string full_name(const c10::OperatorName &n)
{
    return n.overload_name.empty() ? n.name : n.name + "." + n.overload_name;
}

bool is_view(const c10::FunctionSchema &schema)
{
    for (const auto &r : schema.returns())
        if (r.alias_info() && !r.alias_info()->isWrite())
            return true;
    return false;
}

c10::DispatchKey host_key(c10::DispatchKey key)
{
    switch (key) {
    case c10::DispatchKey::SparseCUDA:
        return c10::DispatchKey::SparseCPU;
    case c10::DispatchKey::SparseCsrCUDA:
        return c10::DispatchKey::SparseCsrCPU;
    case c10::DispatchKey::NestedTensorCUDA:
        return c10::DispatchKey::NestedTensorCPU;
    case c10::DispatchKey::QuantizedCUDA:
        return c10::DispatchKey::QuantizedCPU;
    default:
        return c10::DispatchKey::CPU;
    }
}

/*
 * Whose CUDA kernels are machine code. Others' call into these (c10d's process groups, Triton's
 * kernels), or come as PTX.
 */
const std::unordered_set<std::string> namespaces = {"aten",         "fsdp",      "heddle",
                                                    "quantization", "quantized", "symm_mem"};

When widening_of(const std::string &name)
{
    return rows().widened.count(name)    ? When::HALVES
           : rows().integers.count(name) ? When::INTEGERS
                                         : When::NEVER;
}

Treatment treatment_of(const c10::OperatorHandle &h, const std::string &name, c10::DispatchKey key)
{
    const auto &ns = h.operator_name().getNamespace();
    if (rows().keep.count(name) || is_view(h.schema()) || !ns ||
        !namespaces.count(std::string(*ns)))
        return Treatment::KEEP;
    if (h.hasComputedKernelForDispatchKey(host_key(key)))
        return Treatment::BRIDGE;
    return Treatment::REFUSE;
}

/* ---- registration */

/*
 * Between host and device, and between devices, PyTorch's own kernel calls cudaMemcpyAsync(); what it
 * has to convert before and after comes back here.
 */
class Copy final : public c10::OperatorKernel {
  public:
    explicit Copy(const c10::OperatorHandle &h)
        : bridge(h, "aten::copy_", c10::DispatchKey::CPU,
                 Originals::get().of(h.operator_name(), c10::DispatchKey::CUDA))
    {
    }

    void operator()(const c10::OperatorHandle &h, c10::DispatchKeySet keys,
                    torch::jit::Stack *stack)
    {
        at::Tensor to = torch::jit::peek(stack, 0, 3).toTensor();
        const at::Tensor from = torch::jit::peek(stack, 1, 3).toTensor();
        if (to.device() == from.device()) {
            bridge(h, keys, stack);
            return;
        }
        bool non_blocking = torch::jit::peek(stack, 2, 3).toBool();
        at::AutoDispatchBelowADInplaceOrView below;
        if (to.is_cuda() && from.is_cuda() && !is_one_block(to, from)) {
            /* There a kernel of the source's device would write into the other's memory. */
            auto block = at::empty(to.sizes(), to.options());
            at::native::copy_(
                block,
                from.expand(to.sizes()).to(to.scalar_type()).clone(at::MemoryFormat::Contiguous),
                non_blocking);
            to.copy_(block);
        } else {
            at::native::copy_(to, from, non_blocking);
        }
        torch::jit::drop(stack, 3);
        torch::jit::push(stack, std::move(to));
    }

  private:
    Bridge bridge;

    static bool is_one_block(const at::Tensor &to, const at::Tensor &from)
    {
        return to.scalar_type() == from.scalar_type() && to.is_contiguous() &&
               from.is_contiguous() && to.sizes() == from.sizes() &&
               to.is_conj() == from.is_conj() && to.is_neg() == from.is_neg();
    }
};

/* An operator that nobody can run here says so by its name. */
struct Refusal final : c10::OperatorKernel {
    explicit Refusal(std::string text) : text(std::move(text))
    {
    }
    std::string text;
    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *)
    {
        TORCH_CHECK_NOT_IMPLEMENTED(false, text);
    }
};

std::string refusal_of(const std::string &name)
{
    auto row = rows().refused.find(name);
    if (row == rows().refused.end())
        row = rows().refused.find(namespace_of(name) + "::*");
    return "Heddle: " + name + " is not supported: " +
           (row == rows().refused.end()
                ? "PyTorch has no kernel of it for the CPU, and Heddle none of "
                  "its own"
                : row->second);
}

void register_operator(const c10::OperatorHandle &h, c10::DispatchKey key)
{
    std::string name = full_name(h.operator_name());
    c10::BoxedKernel boxed;
    switch (treatment_of(h, name, key)) {
    case Treatment::KEEP:
        return;
    case Treatment::BRIDGE:
        boxed = c10::BoxedKernel::makeFromFunctor(std::make_unique<Bridge>(
            h, name, host_key(key), Originals::get().of(h.operator_name(), key),
            widening_of(h.operator_name().name)));
        break;
    case Treatment::REFUSE:
        boxed = c10::BoxedKernel::makeFromFunctor(std::make_unique<Refusal>(refusal_of(name)));
        break;
    }
    std::string ns = namespace_of(name);
    library(ns, key).impl(name.substr(ns.size() + 2).c_str(),
                          torch::CppFunction::makeFromBoxedKernel(std::move(boxed)));
}

void register_all()
{
    using c10::DispatchKey;
    /* That kernels are replaced is what this is for: PyTorch's warning about it says nothing new. */
    Silence silence;
    auto &dispatcher = c10::Dispatcher::singleton();
    std::vector<std::pair<c10::OperatorHandle, DispatchKey>> all;
    for (auto key : {DispatchKey::CUDA, DispatchKey::SparseCUDA, DispatchKey::SparseCsrCUDA,
                     DispatchKey::NestedTensorCUDA, DispatchKey::QuantizedCUDA})
        for (const auto &n : dispatcher.getRegistrationsForDispatchKey(key))
            if (auto h = dispatcher.findSchema(n))
                all.emplace_back(*h, key);
    for (const auto &name : rows().also)
        if (auto h = dispatcher.findSchema(operator_name_of(name)))
            all.emplace_back(*h, DispatchKey::CUDA);
    for (const auto &[h, key] : all)
        Originals::get().keep(h, key);
    for (const auto &[h, key] : all)
        register_operator(h, key);
    library("aten", DispatchKey::CUDA)
        .impl("copy_",
              torch::CppFunction::makeFromBoxedKernel(c10::BoxedKernel::makeFromFunctor(
                  std::make_unique<Copy>(dispatcher.findSchemaOrThrow("aten::copy_", "")))));
    adapters_register();
    random_register(library("aten", DispatchKey::CUDA));
    kernels_register();
}

void start(Shims::Redirect redirect)
{
    device_memory.host = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&device_memory, /* priority */ 255);
    register_all();
    Shims::redirect(redirect, rows().shims);
}

} // namespace
} // namespace heddle

/* Called once, by torch_hook.c. NULL, or what went wrong. */
extern "C" __attribute__((visibility("default"))) const char *
heddle_torch_start(heddle::Shims::Redirect redirect)
{
    static std::string why;
    try {
        heddle::start(redirect);
        return nullptr;
    } catch (const std::exception &e) {
        why = e.what();
        return why.c_str();
    }
}
