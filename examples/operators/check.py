"""Runs every operator through every front whose framework this Python has, and compares with NumPy.

    heddle run python check.py                all of them
    heddle run python check.py torch jax      these, which must be there

Prints a line of TAP for each operator and front; a framework that is not installed, or a front that was not built, is
skipped unless it was named. Exit status: 1 when a front is wrong.
"""
import os
import sys
import traceback

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "fronts"))
try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP no numpy")
    sys.exit(0)

import reference  # noqa: E402  (needs numpy)

TOLERANCE = 2e-5  # of single precision, relative to 1 + |what is right|


def cases():
    """(operator, inputs, attributes): sizes that fill no block, and attributes that are not the defaults."""
    random = np.random.default_rng(1)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    for tokens, heads, dim, attributes in ((1, 1, 2, {}), (5, 3, 80, {}), (7, 4, 128, {"epsilon": 1e-2, "base": 500.0})):
        yield "rmsnorm_rope", (normal(tokens, heads, dim), 1 + normal(dim) / 4, np.arange(tokens, dtype=np.int32) * 9), attributes
    for rows, columns, groups in ((1, 8, 1), (37, 320, 5), (64, 1024, 32)):
        yield "int4_gemv", (random.integers(0, 256, (rows, columns // 2), np.uint8), normal(rows, groups), normal(columns)), {}


def right(name, inputs, attributes):
    """Outputs, gradients of their first input to have any, and the gradient that comes in."""
    y = getattr(reference, name)(*inputs, **attributes)
    d_y = np.random.default_rng(2).standard_normal(y.shape).astype(np.float32)
    gradients = getattr(reference, name + "_grad")(*inputs, d_y, **attributes)
    return y, d_y, gradients if isinstance(gradients, tuple) else (gradients,)


# Each front gives y, and the gradients or None, of numpy arrays.

def cupy():
    import cupy as cp
    import cupy_front

    def run(name, inputs, d_y, attributes):
        inputs = [cp.asarray(x) for x in inputs]
        gradients = getattr(cupy_front, name + "_grad")(*inputs, cp.asarray(d_y), **attributes)
        return (getattr(cupy_front, name)(*inputs, **attributes).get(),
                [g.get() for g in (gradients if isinstance(gradients, tuple) else (gradients,))])
    return run


def torch_with(compiled):
    import torch
    import torch_front  # noqa: F401  (registers)

    def run(name, inputs, d_y, attributes):
        inputs = [torch.from_numpy(x).cuda() for x in inputs]
        op = getattr(torch.ops.plugins, name)
        wanted = [x for x, (n, _) in zip(inputs, torch_front.plugins.table()[name].inputs) if n in ("x", "weight")]
        for x in wanted:
            x.requires_grad_()
        function = torch.compile(lambda *x: op(*x, **attributes) * 1) if compiled else lambda *x: op(*x, **attributes)
        y = function(*inputs)
        y.backward(torch.from_numpy(d_y).cuda())
        return y.detach().cpu().numpy(), [x.grad.cpu().numpy() for x in wanted]
    return run


def torch():
    return torch_with(False)


def torch_compile():
    return torch_with(True)


def torch_opcheck():
    """PyTorch's own check of an operator: schema, fake, autograd."""
    import torch
    import torch_front  # noqa: F401

    def run(name, inputs, d_y, attributes):
        arguments = [torch.from_numpy(x).cuda() for x in inputs]
        arguments[-1 if name == "int4_gemv" else 0].requires_grad_()
        torch.library.opcheck(getattr(torch.ops.plugins, name), tuple(arguments), attributes)
        return None, None
    return run


def jax():
    import jax
    from jax_front import operator

    def run(name, inputs, d_y, attributes):
        op = operator(name, **attributes)
        wanted = tuple(i for i, x in enumerate(inputs) if x.dtype == np.float32 and not (name == "int4_gemv" and i == 1))
        y = jax.jit(op)(*inputs)
        gradients = jax.jit(jax.grad(lambda *x: (op(*x) * d_y).sum(), argnums=wanted))(*inputs)
        return np.asarray(y), [np.asarray(g) for g in gradients]
    return run


def onnx():
    import onnx
    import onnxruntime

    import plugins
    path = os.path.join(plugins.FOLDER, "onnx_front.so")
    if not os.path.exists(path):
        raise ImportError("onnx_front.so is not built")
    kinds = {"float32": onnx.TensorProto.FLOAT, "int32": onnx.TensorProto.INT32, "uint8": onnx.TensorProto.UINT8}

    def session(op, attributes):
        values = [[onnx.helper.make_tensor_value_info(name, kinds[kind], None) for name, kind in side] for side in (op.inputs, op.outputs)]
        node = onnx.helper.make_node(op.name, [v.name for v in values[0]], [v.name for v in values[1]], domain="plugins", **attributes)
        graph = onnx.helper.make_graph([node], op.name, *values)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("plugins", 1)], ir_version=9)
        options = onnxruntime.SessionOptions()
        options.register_custom_ops_library(path)
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CUDAExecutionProvider"])

    def run(name, inputs, d_y, attributes):
        found = []
        for op, arrays in ((plugins.table()[name], inputs), (plugins.table()[name + "_grad"], [*inputs, d_y])):
            found.append(session(op, attributes).run(None, {n: x for (n, _), x in zip(op.inputs, arrays)}))
        return found[0][0], found[1]
    return run


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf
    from tensorflow_front import operators

    def run(name, inputs, d_y, attributes):
        inputs = [tf.constant(x) for x in inputs]
        wanted = [x for i, x in enumerate(inputs) if x.dtype == tf.float32 and not (name == "int4_gemv" and i == 1)]
        with tf.device("GPU:0"), tf.GradientTape() as tape:
            tape.watch(wanted)
            y = getattr(operators, name)(*inputs, **attributes)
        return y.numpy(), [g.numpy() for g in tape.gradient(y, wanted, tf.constant(d_y))]
    return run


FRONTS = [cupy, torch, torch_compile, torch_opcheck, jax, onnx, tensorflow]


def error_of(got, want):
    return float(np.max(np.abs(got - want) / (1 + np.abs(want)), initial=0)) if got.shape == want.shape else float("inf")


def check(run, name, inputs, attributes):
    y, d_y, gradients = right(name, inputs, attributes)
    got, got_gradients = run(name, inputs, d_y, attributes)
    pairs = [] if got is None else [(got, y), *zip(got_gradients, gradients, strict=True)]
    return max([error_of(np.asarray(a), b) for a, b in pairs], default=0.0)


def main(named):
    unknown = set(named) - {f.__name__ for f in FRONTS}
    if unknown:
        sys.exit(f"no such fronts: {', '.join(sorted(unknown))}")
    count = failed = 0
    for front in FRONTS:
        if named and front.__name__ not in named:
            continue
        try:
            run = front()
        except (ImportError, OSError) as e:
            count += 1
            failed += bool(named)
            print(f"{'not ok' if named else 'ok'} {count} - {front.__name__} # {'' if named else 'SKIP '}{e}".splitlines()[0], flush=True)
            continue
        for name, inputs, attributes in cases():
            count += 1
            sizes = " ".join("x".join(map(str, x.shape)) for x in inputs)
            try:
                error = check(run, name, inputs, attributes)
            except Exception:  # a framework's own
                traceback.print_exc()
                error = float("nan")
            failed += not error <= TOLERANCE
            print(f"{'ok' if error <= TOLERANCE else 'not ok'} {count} - {front.__name__}: {name} {sizes}: error {error:.1e}", flush=True)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
