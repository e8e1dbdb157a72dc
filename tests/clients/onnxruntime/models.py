"""Five small models as exporters write them: a perceptron, a convolutional network, a transformer, an LSTM, a residual network.

Each is (bytes of the model, inputs by name). Weights are random, of a fixed seed; the first dimension is a batch of any size."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Nodes, one behind the other, with names made up."""

    def __init__(self):
        self.rng = np.random.default_rng(5)
        self.nodes, self.constants = [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32))

    def node(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, shape, output, kind=TensorProto.FLOAT, rank=2):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", kind, ["n", *shape])],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * rank)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def perceptron():
    b = Builder()
    x = "x"
    for _ in range(3):
        x = b.node("Relu", b.node("Gemm", x, b.weight(32, 32), b.weight(32), transB=1))
    return b.model([32], b.node("Softmax", x, axis=-1)), {"x": b.rng.standard_normal((7, 32)).astype(np.float32)}


def convolution(b, x, width, out, stride=1):
    x = b.node("Conv", x, b.weight(out, width, 3, 3), b.weight(out), kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[stride, stride])
    ones, zeros = b.constant(np.ones(out, np.float32)), b.constant(np.zeros(out, np.float32))
    return b.node("BatchNormalization", x, ones, zeros, zeros, ones)


def convolutional():
    b = Builder()
    x = b.node("Relu", convolution(b, "x", 3, 8))
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Relu", convolution(b, x, 8, 16))
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.model([3, 16, 16], b.node("Gemm", x, b.weight(10, 16), b.weight(10), transB=1)), {"x": b.rng.standard_normal((2, 3, 16, 16)).astype(np.float32)}


def residual():
    b = Builder()
    x = b.node("Relu", convolution(b, "x", 3, 16))
    for out, stride in ((16, 1), (32, 2)):
        y = convolution(b, b.node("Relu", convolution(b, x, 16, out, stride)), out, out)
        if stride > 1:
            x = b.node("Conv", x, b.weight(out, 16, 1, 1), kernel_shape=[1, 1], strides=[stride, stride])
        x = b.node("Relu", b.node("Add", x, y))
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.model([3, 16, 16], b.node("Gemm", x, b.weight(10, 32), b.weight(10), transB=1)), {"x": b.rng.standard_normal((2, 3, 16, 16)).astype(np.float32)}


def transformer():
    """Tokens, an embedding, one layer of attention over four heads, and a projection to the vocabulary."""
    b, width, heads = Builder(), 32, 4
    x = b.node("Gather", b.weight(50, width), "x")
    shape = b.node("Shape", "x")
    split = b.node("Concat", shape, b.constant(np.array([heads, width // heads], np.int64)), axis=0)
    joined = b.node("Concat", shape, b.constant(np.array([width], np.int64)), axis=0)
    h = b.node("LayerNormalization", x, b.weight(width), b.weight(width), axis=-1)
    q, k, v = (b.node("Reshape", b.node("MatMul", h, b.weight(width, width)), split) for _ in range(3))
    q, v = (b.node("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
    scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 2, 3, 1]))
    scores = b.node("Softmax", b.node("Div", scores, b.constant(np.float32(np.sqrt(width // heads)))), axis=-1)
    h = b.node("Reshape", b.node("Transpose", b.node("MatMul", scores, v), perm=[0, 2, 1, 3]), joined)
    x = b.node("Add", x, b.node("MatMul", h, b.weight(width, width)))
    h = b.node("LayerNormalization", x, b.weight(width), b.weight(width), axis=-1)
    h = b.node("MatMul", h, b.weight(width, 4 * width))
    h = b.node("Mul", h, b.node("Sigmoid", h))
    x = b.node("Add", x, b.node("MatMul", h, b.weight(4 * width, width)))
    return b.model(["t"], b.node("MatMul", x, b.weight(width, 50)), TensorProto.INT64, 3), {"x": b.rng.integers(0, 50, (2, 11))}


def lstm():
    b, width = Builder(), 16
    x = b.node("Transpose", "x", perm=[1, 0, 2])
    y, _, _ = b.node("LSTM", x, b.weight(2, 4 * width, 8), b.weight(2, 4 * width, width), b.weight(2, 8 * width), outputs=3, hidden_size=width,
                     direction="bidirectional", activations=["Sigmoid", "Tanh", "Tanh"] * 2)
    y = b.node("Transpose", y, perm=[2, 0, 1, 3])
    y = b.node("Reshape", y, b.constant(np.array([0, 0, 2 * width], np.int64)))
    return b.model([9, 8], b.node("Gemm", b.node("ReduceMean", y, axes=[1], keepdims=0), b.weight(4, 2 * width), b.weight(4), transB=1)), \
        {"x": b.rng.standard_normal((3, 9, 8)).astype(np.float32)}


MODELS = {"perceptron": perceptron, "convolutional": convolutional, "transformer": transformer, "lstm": lstm, "residual": residual}
