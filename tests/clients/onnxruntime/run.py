#!/usr/bin/env python3
"""ONNX Runtime's CUDAExecutionProvider on Heddle, compared with its CPU provider:  heddle run PYTHON tests/clients/onnxruntime/run.py [NAME...]

PYTHON has onnxruntime-gpu and onnx. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

del sys.path[0]
import models  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

ort.set_default_logger_severity(3)
CUDA = ["CUDAExecutionProvider"]


def session(model, providers, whole=True):
    """whole: a node that the provider does not take is an error, and no node of the CPU's."""
    options = ort.SessionOptions()
    if whole and providers == CUDA:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    s = ort.InferenceSession(model, options, providers=providers)
    if s.get_providers()[0] != (providers[0] if isinstance(providers[0], str) else providers[0][0]):
        raise RuntimeError(f"ONNX Runtime took {s.get_providers()}")
    return s


def on_cpu(model, feeds):
    return session(model, ["CPUExecutionProvider"]).run(None, feeds)


def runs(name):
    """A model, twice, with batches of two sizes."""
    def check():
        model, feeds = models.MODELS[name]()
        s, one = session(model, CUDA), {k: v[:1] for k, v in feeds.items()}
        return s.run(None, feeds) + s.run(None, one), on_cpu(model, feeds) + on_cpu(model, one), 1e-5
    return check


def bound():
    """Inputs and outputs in the device's memory."""
    model, feeds = models.residual()
    s = session(model, CUDA)
    binding, x = s.io_binding(), ort.OrtValue.ortvalue_from_numpy(feeds["x"], "cuda", 0)
    binding.bind_ortvalue_input("x", x)
    binding.bind_output(s.get_outputs()[0].name, "cuda", 0)
    s.run_with_iobinding(binding)
    y = binding.get_outputs()[0]
    if (x.device_name(), y.device_name()) != ("cuda", "cuda"):
        raise RuntimeError(f"memory of {x.device_name()} and {y.device_name()}")
    return y.numpy(), on_cpu(model, feeds), 1e-5


def options():
    model, feeds = models.perceptron()
    s = session(model, [("CUDAExecutionProvider", {"device_id": "0", "cudnn_conv_algo_search": "HEURISTIC"}), "CPUExecutionProvider"])
    return s.run(None, feeds), on_cpu(model, feeds), 1e-5


def branches():
    """A node with bodies between others: it is the CPU's, in the midst of the provider's."""
    body = [helper.make_graph([helper.make_node(kind, ["a"], ["b"])], kind, [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, [None, None])])
            for kind in ("Exp", "Neg")]
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
             helper.make_node("Greater", ["s", "limit"], ["c"]),
             helper.make_node("If", ["c"], ["d"], then_branch=body[0], else_branch=body[1]), helper.make_node("Add", ["d", "a"], ["y"])]
    limit = helper.make_tensor("limit", TensorProto.FLOAT, [], [10.0])
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, None])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])], [limit])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    got, want, s = [], [], session(model, CUDA, whole=False)
    for scale in (0.1, 10):
        feeds = {"x": np.linspace(-scale, scale, 20, dtype=np.float32).reshape(4, 5)}
        got, want = got + s.run(None, feeds), want + on_cpu(model, feeds)
    return got, want, 1e-5


def attributes():
    """An attribute of each type: a number, numbers, a string, strings, a tensor."""
    nodes = [helper.make_node("LeakyRelu", ["x"], ["a"], alpha=0.3),
             helper.make_node("Resize", ["a", "", "scales"], ["b"], mode="linear", coordinate_transformation_mode="asymmetric"),
             helper.make_node("ConstantOfShape", ["shape"], ["c"], value=helper.make_tensor("", TensorProto.FLOAT, [1], [2.5])),
             helper.make_node("Transpose", ["b"], ["d"], perm=[0, 1, 3, 2]),
             helper.make_node("Flatten", ["d"], ["e"], axis=2),
             helper.make_node("Unsqueeze", ["e", "axis"], ["f"]),
             helper.make_node("RNN", ["f", "w", "r"], ["", "h"], hidden_size=3, activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.25]),
             helper.make_node("Mul", ["h", "c"], ["y"])]
    rng = np.random.default_rng(2)
    constants = [helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2]), helper.make_tensor("shape", TensorProto.INT64, [1], [3]),
                 helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
                 helper.make_tensor("w", TensorProto.FLOAT, [1, 3, 48], rng.standard_normal(144)), helper.make_tensor("r", TensorProto.FLOAT, [1, 3, 3], rng.standard_normal(9))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 3)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    feeds = {"x": rng.standard_normal((2, 3, 4, 3)).astype(np.float32)}
    return session(model, CUDA).run(None, feeds), on_cpu(model, feeds), 1e-5


def wrong_shape():
    """An error in a kernel is the program's exception, and the session goes on."""
    model, feeds = models.transformer()
    s, failed = session(model, CUDA), 0
    try:
        s.run(None, {"x": feeds["x"] + 1000})
    except Exception:  # ONNX Runtime's own class
        failed = 1
    return [np.float32(failed), *s.run(None, feeds)], [np.float32(1), *on_cpu(model, feeds)], 1e-5


CHECKS = [(name, runs(name)) for name in models.MODELS] + [
    ("bound", bound), ("options", options), ("branches", branches), ("attributes", attributes), ("wrong_shape", wrong_shape)]

if __name__ == "__main__":
    sys.exit(harness.main(CHECKS))
