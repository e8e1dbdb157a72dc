/*
 * Operators in a stream that is captured.
 *
 * Nothing is computed while a graph is made: the operator's Meta kernel says what the results look
 * like, their memory comes from the graph's pool, and the node keeps the arguments. Each launch of
 * the graph runs the CPU's kernel over the same memory, with the memory of the results to allocate
 * from; what a kernel puts elsewhere is copied.
 *
 * A node belongs to its graph and to what is instantiated from it (a user object of CUDA). It keeps
 * no tensor alive: memory of the graph's pool is the graph's, and tensors from outside have to
 * outlive it, as on a GPU.
 */
#pragma once

#include <ATen/ops/empty_strided.h>

#include "operator.hpp"

namespace heddle {

class Node final : public Task {
  public:
    explicit Node(Operator &op) : op(op)
    {
    }
    Operator &op;
    torch::jit::Stack args;                     /* aliases */
    std::vector<at::Tensor> results;            /* aliases; undefined: an argument */
    std::optional<at::PhiloxCudaState> numbers; /* of an operator that draws */

    int run(heddle_native_call *call) override
    {
        return run_reported(call, op.kernel, [this] { replay(); });
    }
    void describe(char *text, size_t size_B) const override
    {
        describe_values(args, text, size_B);
    }

  private:
    void replay()
    {
        torch::jit::Stack stack = args;
        Results r;
        for (auto &t : results)
            if (t.defined() && t.has_storage())
                r.planned.push_back({t.storage().mutable_data(), t.storage().nbytes(), false});
        {
            Inside inside(&r);
            op.call_host(&stack, numbers);
        }
        size_t i = 0;
        for (auto &v : stack)
            map_tensors(v, [&](const at::Tensor &t) {
                put(results.at(i++), t);
                return t;
            });
    }

    static void put(const at::Tensor &to, const at::Tensor &from)
    {
        at::AutoDispatchBelowADInplaceOrView below;
        if (!to.defined() || !from.defined() ||
            (to.const_data_ptr() == from.const_data_ptr() && to.strides() == from.strides()))
            return;
        /* Statistics that nobody asked for: of a batch norm that evaluates. */
        if (from.numel() == 0)
            return;
        TORCH_CHECK(to.sizes() == from.sizes(), "the result has the shape ", from.sizes(),
                    ", and had ", to.sizes(), " when the graph was captured");
        const_cast<at::Tensor &>(to).copy_(from);
    }
};

/* The Meta tensors of one call of an operator. */
class Shapes {
  public:
    at::Tensor of(const at::Tensor &t)
    {
        if (!t.defined() || !t.is_cuda()) /* numbers are tensors of the host */
            return t;
        for (auto &[meta, cuda] : pairs)
            if (cuda.unsafeGetTensorImpl() == t.unsafeGetTensorImpl())
                return meta;
        TORCH_CHECK_NOT_IMPLEMENTED(t.layout() == c10::kStrided && !t.is_nested(),
                                    "Heddle: graphs with tensors of layout ", t.layout(),
                                    " are not supported");
        auto meta = at::empty_strided(t.sizes(), t.strides(), t.options().device(c10::kMeta));
        pairs.emplace_back(meta, t);
        return meta;
    }
    /* The argument that a Meta tensor stands for, or an undefined one. */
    at::Tensor argument(const at::Tensor &meta) const
    {
        for (auto &[m, cuda] : pairs)
            if (meta.defined() && m.unsafeGetTensorImpl() == meta.unsafeGetTensorImpl())
                return cuda;
        return {};
    }
    /* An `out` that is too small grows now: the graph's kernel finds it as it has to be. */
    void resize() const
    {
        for (auto &[meta, cuda] : pairs)
            if (meta.sizes() != cuda.sizes())
                cuda.resize_(meta.sizes());
    }

  private:
    std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
};

inline void alias_again(const Aliases &aliases)
{
    aliases.each([](const at::Tensor &cuda, const at::Tensor &cpu) {
        if (cuda.sizes() == cpu.sizes())
            return;
        Aliases again;
        auto now = again.of(cuda);
        auto *to = cpu.unsafeGetTensorImpl();
        to->set_storage_keep_dtype(now.storage());
        to->set_sizes_and_strides(now.sizes(), now.strides(), now.storage_offset());
    });
}

/*
 * For an operator that PyTorch has no Meta kernel for: its results, if they are all arguments that it
 * writes. Fused optimizers are such.
 */
inline bool are_arguments(const c10::FunctionSchema &schema, const torch::jit::Stack &args,
                          torch::jit::Stack &out_results)
{
    for (const auto &r : schema.returns()) {
        size_t i = 0;
        while (i < args.size() && !(r.alias_info() && r.alias_info()->isWrite() &&
                                    schema.arguments()[i].alias_info() &&
                                    *schema.arguments()[i].alias_info() == *r.alias_info()))
            i++;
        if (i == args.size())
            return false;
        out_results.push_back(args[i]);
    }
    return true;
}

/* Not only PyTorch's fallback, which throws. */
inline bool has_meta_kernel(const c10::OperatorHandle &handle)
{
    using c10::DispatchKey;
    for (auto key : {DispatchKey::Meta, DispatchKey::CompositeExplicitAutograd,
                     DispatchKey::CompositeExplicitAutogradNonFunctional,
                     DispatchKey::CompositeImplicitAutograd})
        if (handle.hasKernelForDispatchKey(key))
            return true;
    return false;
}

/* What the operator returns, by its Meta kernel; the call's arguments are given as Meta tensors. */
inline torch::jit::Stack shapes_of_results(const Operator &op, const torch::jit::Stack &stack,
                                           size_t first, Shapes &shapes)
{
    torch::jit::Stack meta;
    for (size_t i = first; i < stack.size(); i++) {
        const c10::IValue &v = stack[i];
        if (v.isDevice())
            meta.emplace_back(c10::Device(c10::kMeta));
        else if (v.isGenerator())
            meta.emplace_back();
        else
            meta.push_back(map_tensors(v, [&](const at::Tensor &t) { return shapes.of(t); }));
    }
    if (C10_UNLIKELY(!has_meta_kernel(op.handle))) {
        torch::jit::Stack results;
        if (are_arguments(op.handle.schema(), meta, results))
            return results;
    }
    at::AutoDispatchBelowADInplaceOrView below;
    op.handle.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &meta);
    return meta;
}

inline void capture_operator(Operator &op, torch::jit::Stack *stack, Aliases &aliases,
                             torch::jit::Stack &args, c10::cuda::CUDAStream stream)
{
    size_t first = stack->size() - op.handle.schema().arguments().size();
    c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(aliases.device));
    Shapes shapes;
    torch::jit::Stack meta;
    try {
        meta = shapes_of_results(op, *stack, first, shapes);
    } catch (...) {
        /* A result whose shape depends on numbers: for these a GPU waits, which a capture forbids. */
        if (op.handle.hasTag(at::Tag::dynamic_output_shape))
            C10_CUDA_CHECK(cudaStreamSynchronize(stream.stream()));
        throw;
    }
    shapes.resize();
    alias_again(aliases);
    auto node = std::make_unique<Node>(op);
    torch::jit::Stack results;

    node->args = args;
    node->numbers = op.take(*stack, first);
    for (auto &v : meta)
        results.push_back(map_tensors(v, [&](const at::Tensor &m) -> at::Tensor {
            at::Tensor argument = shapes.argument(m);
            if (!m.defined() || argument.defined()) {
                node->results.emplace_back();
                return argument;
            }
            auto t = at::empty_strided(m.sizes(), m.strides(), m.options().device(device));
            Aliases own;
            node->results.push_back(own.of(t));
            return t;
        }));
    Node *n = node.release();
    give_to_graph(stream.stream(), n);
    op.kernel.launch(stream.stream(), n);
    stack->resize(first);
    for (auto &v : results)
        stack->push_back(std::move(v));
}

} // namespace heddle
