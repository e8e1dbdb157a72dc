"""Operators of PyTorch: torch.ops.plugins.NAME, with shapes for the compiler (fake) and gradients.

    import torch_front                       # registers all of the table
    y = torch.ops.plugins.rmsnorm_rope(x, weight, positions, epsilon=1e-5)

They work in torch.compile, torch.export and CUDA graphs. Shapes are numbers: with dynamic shapes each one compiles again.
"""
import torch

import plugins

NAMESPACE = "plugins"
library = torch.library.Library(NAMESPACE, "DEF")


def schema_of(op):
    parts = [f"Tensor {name}" for name, _ in op.inputs]
    if op.attributes:
        parts += ["*"] + [f"float {name}={value}" for name, value in op.attributes.items()]
    results = ["Tensor"] * len(op.outputs)
    return f"{op.name}({', '.join(parts)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


def outputs_of(op, call, device):
    return [torch.empty(tuple(t.dims[:t.rank]), dtype=getattr(torch, kind), device=device)
            for t, (_, kind) in zip(call.outputs, op.outputs)]


def one_or_all(values):
    return values[0] if len(values) == 1 else tuple(values)


def run(op, *inputs, **attributes):
    for x, (name, kind) in zip(inputs, op.inputs):
        if x.dtype != getattr(torch, kind) or x.device != inputs[0].device:
            raise ValueError(f"{op.name}: {name} must be {kind} on {inputs[0].device}")
    inputs = [x.contiguous() for x in inputs]
    call = op.call([x.shape for x in inputs], attributes)
    with torch.cuda.device(inputs[0].device):
        outputs = outputs_of(op, call, inputs[0].device)
        workspace = torch.empty(op.workspace_B(call), dtype=torch.uint8, device=inputs[0].device)
        op.enqueue(call, [x.data_ptr() for x in inputs], [x.data_ptr() for x in outputs], workspace.data_ptr(),
                   torch.cuda.current_stream().cuda_stream)
    return one_or_all(outputs)


def fake(op, *inputs, **attributes):
    return one_or_all(outputs_of(op, op.call([x.shape for x in inputs], attributes), inputs[0].device))


def register(op):
    def setup(ctx, inputs, output, keyword_only_inputs=None):
        ctx.save_for_backward(*inputs)
        ctx.attributes = keyword_only_inputs or {}

    def backward(ctx, *d_outputs):
        gradient = plugins.table()[op.gradient]
        found = getattr(torch.ops.plugins, op.gradient)(*ctx.saved_tensors, *d_outputs, **ctx.attributes)
        found = dict(zip((name for name, _ in gradient.outputs), (found,) if isinstance(found, torch.Tensor) else found))
        return tuple(found.get("d_" + name) for name, _ in op.inputs)

    library.define(schema_of(op))
    library.impl(op.name, lambda *inputs, **attributes: run(op, *inputs, **attributes), "CUDA")
    torch.library.register_fake(f"{NAMESPACE}::{op.name}", lambda *inputs, **attributes: fake(op, *inputs, **attributes), lib=library)
    if op.gradient:
        torch.library.register_autograd(f"{NAMESPACE}::{op.name}", backward, setup_context=setup, lib=library)


for operator in plugins.table().values():
    register(operator)
