"""Operators of JAX, by its foreign function interface: they work in jit, grad, and vmap one by one.

    from jax_front import operator
    y = operator("rmsnorm_rope", epsilon=1e-5)(x, weight, positions)
"""
import ctypes
import functools
import os

import jax
import numpy as np

import plugins

TARGET = "plugin_call"
library = ctypes.CDLL(os.path.join(plugins.FOLDER, "jax_front.so"))
jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(library.plugin_call_handler), platform="CUDA")


def call(op, attributes, inputs):
    shapes = op.shapes([x.shape for x in inputs], attributes)
    results = [jax.ShapeDtypeStruct(shape, kind) for shape, (_, kind) in zip(shapes, op.outputs)]
    return jax.ffi.ffi_call(TARGET, results, vmap_method="sequential")(*inputs, op=op.name, attributes=np.array(op.values(attributes), np.float32))


@functools.cache
def bind(name, attributes):
    op, attributes = plugins.table()[name], dict(attributes)

    def forward(*inputs):
        outputs = call(op, attributes, inputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def backward(inputs, d_outputs):
        gradient = plugins.table()[op.gradient]
        d_outputs = d_outputs if isinstance(d_outputs, tuple) else (d_outputs,)
        found = dict(zip((name for name, _ in gradient.outputs), call(gradient, attributes, [*inputs, *d_outputs])))
        return tuple(found.get("d_" + name) for name, _ in op.inputs)

    if not op.gradient:
        return forward
    differentiable = jax.custom_vjp(forward)
    differentiable.defvjp(lambda *inputs: (forward(*inputs), inputs), backward)
    return differentiable


def operator(name, **attributes):
    return bind(name, tuple(sorted(attributes.items())))
