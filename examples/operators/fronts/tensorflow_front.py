"""Operators of TensorFlow, with gradients: they work in tf.function and GradientTape.

    from tensorflow_front import operators
    y = operators.rmsnorm_rope(x, weight, positions, epsilon=1e-5)
"""
import os

import tensorflow as tf

import plugins

operators = tf.load_op_library(os.path.join(plugins.FOLDER, "tensorflow_front.so"))


def register(op):
    type_name = "".join(part[:1].upper() + part[1:] for part in op.name.split("_"))

    @tf.RegisterGradient(type_name)
    def backward(node, *d_outputs):
        gradient = plugins.table()[op.gradient]
        found = getattr(operators, op.gradient)(*node.inputs, *d_outputs, **{name: node.get_attr(name) for name in op.attributes})
        found = dict(zip((name for name, _ in gradient.outputs), found if len(gradient.outputs) > 1 else [found]))
        return [found.get("d_" + name) for name, _ in op.inputs]


for operator in plugins.table().values():
    if operator.gradient:
        register(operator)
