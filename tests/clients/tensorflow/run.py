#!/usr/bin/env python3
"""TensorFlow on Heddle, compared with its own CPU:  heddle run PYTHON tests/clients/tensorflow/run.py [NAME...]

PYTHON has tensorflow. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

del sys.path[0]  # Keras looks for a module jax, as a folder there is called
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

rng = np.random.default_rng(0)
X = rng.standard_normal((64, 33)).astype(np.float32)
Y = rng.standard_normal((64, 33)).astype(np.float32)
M = rng.standard_normal((24, 24)).astype(np.float32)
IMAGES = rng.standard_normal((4, 12, 12, 3)).astype(np.float32)


def on(device, function, *arrays):
    with tf.device(device):
        return [np.asarray(t).astype(np.float64) for t in tf.nest.flatten(function(*[tf.constant(a) for a in arrays]))]


def same(function, *arrays, tolerance=1e-5):
    """The function on the device and on the CPU. Placement is not soft: an operator without a kernel for the device is an error."""
    def check():
        if not tf.config.list_physical_devices("GPU"):
            raise RuntimeError("TensorFlow finds no device")
        tf.config.set_soft_device_placement(False)
        return on("/GPU:0", function, *arrays), on("/CPU:0", function, *arrays), tolerance
    return check


def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.tanh(x) * tf.nn.softmax(x, axis=1))
    return tape.gradient(y, x)


def layers():
    r = np.random.default_rng(1)
    return [tf.Variable(r.standard_normal(shape).astype(np.float32) * scale) for shape, scale in
            (((33, 32), 0.2), ((32,), 0.0), ((32, 1), 0.2), ((1,), 0.0))]


def train(x):
    """A perceptron by gradient descent; the step is a graph."""
    w1, b1, w2, b2 = variables = layers()
    goal = tf.sin(tf.reduce_sum(x, axis=1, keepdims=True))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.relu(x @ w1 + b1) @ w2 + b2 - goal) ** 2)
        for v, g in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(0.05 * g)
        return loss
    return [step() for _ in range(40)][-1]


def keras(make, inputs):
    """Two epochs of Keras's fit() with Adam: the losses."""
    def check():
        losses = []
        tf.config.set_soft_device_placement(True)
        for device in ("/GPU:0", "/CPU:0"):
            tf.keras.utils.set_random_seed(3)
            with tf.device(device):
                model = make()
                model.compile("adam", "mse")
                history = model.fit(inputs, np.tanh(inputs.reshape(len(inputs), -1)[:, :1]), batch_size=16, epochs=2, shuffle=False, verbose=0)
            losses.append(history.history["loss"])
        return losses[0], losses[1], 1e-4
    return check


def perceptron():
    return tf.keras.Sequential([tf.keras.layers.Dense(32, "relu"), tf.keras.layers.LayerNormalization(), tf.keras.layers.Dense(1)])


def transformer():
    """One layer of attention over sequences of 11 steps of 3."""
    x = tf.keras.Input((11, 3))
    h = tf.keras.layers.Dense(16)(x)
    h = h + tf.keras.layers.MultiHeadAttention(2, 8)(h, h)
    h = h + tf.keras.layers.Dense(16)(tf.keras.layers.Dense(32, "gelu")(tf.keras.layers.LayerNormalization()(h)))
    return tf.keras.Model(x, tf.keras.layers.Dense(1)(tf.keras.layers.GlobalAveragePooling1D()(h)))


def convolutional():
    return tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3, activation="relu"), tf.keras.layers.MaxPooling2D(), tf.keras.layers.Flatten(),
                                tf.keras.layers.Dense(1)])


def convolution(x):
    try:
        return tf.nn.conv2d(x, tf.reshape(tf.range(5 * 27, dtype=tf.float32) / 100, [3, 3, 3, 5]), 1, "SAME")
    except tf.errors.NotFoundError as e:  # it does not say whose algorithms
        raise RuntimeError(f"cuDNN: {e}") from e


@tf.function(jit_compile=True)
def compiled(x, y):
    return tf.nn.softmax(tf.tanh(x) @ tf.transpose(y), axis=1), tf.reduce_sum(x * y, axis=0)


CHECKS = [
    ("sum", same(tf.reduce_sum, np.arange(10, dtype=np.float32))),
    ("elementwise", same(lambda x, y: [tf.exp(x), tf.tanh(x * y), tf.where(x > y, x, y), tf.math.erf(x), tf.pow(tf.abs(x), y)], X, Y, tolerance=1e-3)),
    ("integers", same(lambda x: [x // 7, x % 7, tf.bitwise.bitwise_xor(x, x + 5), tf.bitwise.left_shift(tf.cast(x, tf.int64), 3)], np.arange(-500, 500, dtype=np.int32))),
    ("half", same(lambda x: tf.cast(tf.cast(x, tf.float16) * 2 + 1, tf.float32), X)),
    ("bfloat16", same(lambda x: tf.cast(tf.cast(x, tf.bfloat16) * 2 + 1, tf.float32), X)),
    ("reductions", same(lambda x: [tf.reduce_sum(x, 0), tf.reduce_max(x, 1), tf.reduce_prod(x[:4, :5]), tf.argmax(x, 1), tf.math.reduce_std(x)], X, tolerance=1e-4)),
    ("cumsum", same(lambda x: [tf.cumsum(x, 1), tf.math.cumprod(x[:5, :5], 0)], X, tolerance=1e-4)),
    ("sort", same(lambda x: [tf.sort(x, 1), tf.nn.top_k(x, 5)], X)),
    ("gather_scatter", same(lambda x: [tf.gather(x, [3, 1, 1, 0]), tf.tensor_scatter_nd_add(x, [[0], [5], [0]], x[:3]), tf.math.unsorted_segment_sum(x, tf.range(64) % 5, 5)],
                            X, tolerance=1e-4)),
    ("shapes", same(lambda x: [tf.transpose(x), tf.concat([x, x], 1), tf.pad(x, [[1, 2], [0, 1]]), tf.reverse(x, [1]), tf.tile(x, [2, 2]), x[::2, 1::3]], X)),
    ("softmax", same(lambda x: [tf.nn.softmax(x), tf.nn.log_softmax(x), tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x)], X)),
    ("matmul", same(lambda x, y: [x @ tf.transpose(y), tf.einsum("ij,kj->ik", x, y)], X, Y, tolerance=1e-4)),
    ("matmul_half", same(lambda x, y: tf.cast(tf.cast(x, tf.float16) @ tf.transpose(tf.cast(y, tf.float16)), tf.float32), X, Y, tolerance=0.05)),
    ("linalg", same(lambda m: [tf.linalg.cholesky(m @ tf.transpose(m) + 24 * tf.eye(24)), tf.linalg.solve(m + 24 * tf.eye(24), m), tf.linalg.svd(m, compute_uv=False),
                               tf.linalg.det(m / 4)], M, tolerance=1e-3)),
    ("fft", same(lambda x: [tf.abs(tf.signal.rfft(x)), tf.abs(tf.signal.fft2d(tf.complex(x, x)))], X, tolerance=1e-3)),
    ("random", same(lambda: [tf.random.stateless_normal([1000], [1, 2]), tf.random.stateless_uniform([1000], [3, 4])], tolerance=1e-5)),
    ("gradient", same(gradient, X)),
    ("training", same(train, X, tolerance=1e-4)),
    ("xla", same(compiled, X, Y, tolerance=1e-4)),
    ("keras_perceptron", keras(perceptron, X)),
    ("keras_transformer", keras(transformer, X.reshape(64, 11, 3))),
    ("convolution", same(convolution, IMAGES, tolerance=1e-3)),
    ("keras_convolutional", keras(convolutional, IMAGES)),
]

if __name__ == "__main__":
    sys.exit(harness.main(CHECKS))
