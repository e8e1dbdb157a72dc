"""What a program reads when it makes a mistake on cuda: exceptions and texts, against what PyTorch's
sources, its own tests and reports from GPUs have.

    heddle run python errors.py [NAME...]     rows whose names contain one of these; all

Two tables. Ours has a row for each kind of mistake. PyTorch's are those of its operator, module and
optimizer databases (op_db's error inputs), which its own continuous integration compares on GPUs.
"""

import io
import os
import re
import subprocess
import sys
import traceback
import warnings

if "HEDDLE_DEVICES" not in os.environ:  # before a library of CUDA's is loaded
    os.environ["HEDDLE_DEVICES"] = "2"
    os.execv(sys.executable, [sys.executable, *sys.argv])

import torch
import torch.nn.functional as F
from torch import nn

ROWS = []
# What a GPU refuses for the sake of its kernels, and is computed here.
KNOWN = {"operators.median_0": "more than 25 dimensions"}
CHECKED_IN = r" \(when checking argument in method {}\)$"


def row(error, text):
    """A function that raises `error`, with a message that the regular expression is found in."""
    def add(function):
        ROWS.append((function.__name__, error, text, function))
        return function
    return add


def misplaced(argument, method, place="cpu", others="cuda:0"):
    """The check of generated kernels: aten/src/ATen/core/adaption.cpp; the name of the method is
    made by torchgen/dest/register_dispatch_key.py."""
    return row(RuntimeError, f"^Expected all tensors to be on the same device, but got {argument} is "
               f"on {place}, different from other tensors on {others}" + CHECKED_IN.format(method))


def two_devices(a="cuda:0", b="cpu"):
    """The check of TensorIterator: aten/src/ATen/TensorIterator.cpp."""
    return row(RuntimeError, "^Expected all tensors to be on the same device, but found at least "
               f"two devices, {a} and {b}!$")


def x(*size, device="cuda", dtype=torch.float32):
    return torch.ones(size, device=device, dtype=dtype)


def host(*size, dtype=torch.float32):
    return x(*size, device="cpu", dtype=dtype)


# ---- places: products, test_cuda.py test_matmul_device_mismatch


@misplaced("mat2", "wrapper_CUDA_mm")
def mm_with_host():
    x(2, 2) @ host(2, 2)


@misplaced("mat2", "wrapper_CUDA_mm", "cuda:0", "cpu")
def mm_of_host():
    host(2, 2) @ x(2, 2)


@misplaced("self", "wrapper_CUDA_mm_out_out", "cuda:0", "cpu")
def mm_out_of_host():
    torch.mm(x(2, 2), x(2, 2), out=host(2, 2))


@misplaced("mat1", "wrapper_CUDA_addmm")
def linear_of_host_input():
    nn.Linear(3, 4, device="cuda")(host(2, 3))


@misplaced("mat1", "wrapper_CUDA_addmm", "cuda:0", "cpu")
def linear_of_host_weights():
    nn.Linear(3, 4)(x(2, 3))


@misplaced("mat2", "wrapper_CUDA_bmm")
def bmm_with_host():
    torch.bmm(x(2, 3, 4), host(2, 4, 5))


@misplaced("mat2", "wrapper_CUDA_bmm")
def einsum_with_host():
    torch.einsum("bij,bjk->bik", x(2, 3, 4), host(2, 4, 5))


@misplaced("tensor", "wrapper_CUDA__dot")
def dot_with_host():
    torch.dot(x(3), host(3))


@misplaced("mat2", "wrapper_CUDA_mm", "cuda:1")
def mm_of_two_devices():
    x(2, 2) @ x(2, 2, device="cuda:1")


# ---- places: elementwise


@two_devices()
def add_host():
    x(3) + host(3)


@two_devices()
def add_of_host():
    host(3) + x(3)


@two_devices()
def add_to_host_in_place():
    host(3).add_(x(3))


@two_devices()
def add_out_of_host():
    torch.add(x(3), x(3), out=host(3))


@two_devices("cuda:0", "cuda:1")
def add_of_two_devices():
    x(3) + x(3, device="cuda:1")


@two_devices()
def where_with_host():
    torch.where(x(3) > 0, x(3), host(3))


@two_devices()
def mse_loss_with_host():
    F.mse_loss(x(3), host(3))


@misplaced("min", "wrapper_CUDA_clamp_Tensor")
def clamp_between_host():
    x(3).clamp(min=host(3), max=host(3))


# test_torch.py test_addcmul_cuda_errors_with_cpu_scalars
@row(RuntimeError, "CPU Scalar support for tensor1 argument is not supported when calling addcmul on "
     "CUDA tensors")
def addcmul_with_host_scalar():
    torch.addcmul(x(2), torch.tensor(1.0), x(2))


# A number of the host is fine for one check, and not for the other.
@misplaced("index", "wrapper_CUDA__index_select")
def index_select_by_host_scalar():
    x(3) + torch.tensor(1.0)
    torch.index_select(x(3), 0, torch.tensor(0))


@row(None, "")
def foreach_over_two_devices():
    """native_functions.yaml: foreach kernels take the slow path when tensors are on several."""
    sums = torch._foreach_add([x(2), x(2, device="cuda:1")], [x(2), x(2, device="cuda:1")])
    assert [s.device.index for s in sums] == [0, 1] and all(s.eq(2).all() for s in sums)
    torch._foreach_copy_([x(2), x(2)], [host(2), x(2, device="cuda:1")])


@row(None, "")
def what_may_be_of_the_host():
    """test_indexing.py test_index_put_src_datatype..., test_torch.py test_advancedindex_mixed..."""
    a = x(4)
    a[torch.tensor([0, 1])] = 2
    a[host(4) > 0] *= torch.tensor(2.0)
    assert a[torch.tensor([0, 3])].tolist() == [4, 2]
    a.copy_(host(4))
    assert x(2, 3).t().to("cuda:1", torch.float64).sum() == 6


# ---- places: indices


# test_torch.py test_advancedindex_mixed_devices_error
@row(RuntimeError, r"^indices should be either on cpu or on the same device as the indexed tensor "
     r"\(cpu\)$")
def index_host_by_device():
    host(3)[x(2, dtype=torch.long)]


@row(RuntimeError, r"on the same device as the indexed tensor \(cuda:0\)$")
def index_by_other_device():
    x(3)[x(2, device="cuda:1", dtype=torch.long)]


# aten/src/ATen/native/TensorAdvancedIndexing.cpp, _index_put_impl_()
@row(RuntimeError, "^expected device cuda:0 but got device cpu for value tensor$")
def index_put_host_values():
    x(3).index_put_((x(2, dtype=torch.long),), host(2), accumulate=True)


@misplaced("index", "wrapper_CUDA__index_select")
def embedding_of_host_ids():
    nn.Embedding(4, 2, device="cuda")(torch.tensor([1, 2]))


@misplaced("index", "wrapper_CUDA_gather")
def gather_by_host():
    x(3).gather(0, host(2, dtype=torch.long))


@misplaced("src", "wrapper_CUDA_scatter__src")
def scatter_from_host():
    x(3).scatter_(0, x(2, dtype=torch.long), host(2))


@misplaced("tensors", "wrapper_CUDA_cat")
def cat_with_host():
    torch.cat([x(2), host(2)])


# aten/src/ATen/native/cuda/Indexing.cu
@row(RuntimeError, "^expected self and mask to be on the same device, but got mask on cpu and self on "
     "cuda:0$")
def masked_fill_by_host():
    x(3).masked_fill_(host(3) > 0, 1.0)


# ---- places: modules, losses, optimizers


# aten/src/ATen/native/Convolution.cpp
@row(RuntimeError, r"^Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\) "
     "should be the same$")
def conv_of_host_weights():
    nn.Conv2d(3, 4, 3)(x(1, 3, 8, 8))


@row(RuntimeError, r"^Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\) "
     "should be the same or input should be a MKLDNN tensor and weight is a dense tensor$")
def conv_of_host_input():
    nn.Conv2d(3, 4, 3, device="cuda")(host(32, 3, 8, 8))


# What oneDNN is not for: "(... argument weight in method wrapper_CUDA___slow_conv2d_forward)" in reports
@misplaced("weight", "wrapper_CUDA___slow_conv2d_forward", "cuda:0", "cpu")
def conv_of_small_host_input():
    nn.Conv2d(3, 4, 3, device="cuda")(host(1, 3, 8, 8))


@misplaced("running_mean", "wrapper_CUDA__(native|cudnn)_batch_norm")
def batch_norm_of_host_statistics():
    F.batch_norm(x(2, 3, 4, 4), host(3), host(3), x(3), x(3), training=True)


@misplaced("weight", "wrapper_CUDA__native_layer_norm")
def layer_norm_of_host_weights():
    F.layer_norm(x(2, 3), (3,), host(3), host(3))


# test_nn.py test_rnn_check_device; aten/src/ATen/native/RNN.cpp
@row(RuntimeError, "^Input and parameter tensors are not at the same device, found input tensor at "
     "cpu and parameter tensor at cuda:0$")
def lstm_of_host_input():
    nn.LSTM(3, 4, device="cuda")(host(2, 1, 3))


@row(RuntimeError, "^Input and hidden tensors are not at the same device, found input tensor at "
     "cuda:0 and hidden tensor at cpu$")
def lstm_of_host_state():
    nn.LSTM(3, 4, device="cuda")(x(2, 1, 3), (host(1, 1, 4), host(1, 1, 4)))


@misplaced("target", "wrapper_CUDA_nll_loss_forward")
def cross_entropy_of_host_target():
    F.cross_entropy(x(2, 3), torch.tensor([0, 1]))


# aten/src/ATen/native/transformers/sdp_utils_cpp.h
@row(RuntimeError, "^Expected query, key, and value to have the same device type, but got "
     "query.device: cuda:0 key.device: cpu and value.device: cuda:0 instead.$")
def attention_with_host():
    q = x(1, 2, 4, 8)
    F.scaled_dot_product_attention(q, q.cpu(), q)


# torch/csrc/autograd/python_variable.cpp
@row(RuntimeError, "^attempting to assign a gradient with device type 'cpu' to a tensor with device "
     "type 'cuda'. Please ensure that the gradient and the tensor are on the same device$")
def gradient_of_host_is_set():
    nn.Parameter(x(3)).grad = host(3)


# torch/csrc/autograd/engine.cpp, validate_outputs()
@row(RuntimeError, "invalid gradient at index 0 - expected device cuda:0 but got cpu$")
def gradient_of_host_is_passed():
    (x(3).requires_grad_() * 2).backward(host(3))


# torch/optim/adam.py
@row(RuntimeError, r"Attempting CUDA graph capture of step\(\) for an instance of Adam")
def optimizer_that_is_captured():
    p = nn.Parameter(x(3))
    o = torch.optim.Adam([p])
    p.grad = x(3)
    o.step()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        o.step()


# test_linalg.py test_cholesky_solve_error
@row(RuntimeError, "^Expected b and A to be on the same device, but found b on cpu and A on cuda:0 "
     "instead.$")
def cholesky_solve_of_host():
    torch.cholesky_solve(host(3, 2), x(3, 3))


@misplaced("B", "wrapper_CUDA__linalg_solve_ex")
def solve_of_host():
    torch.linalg.solve(torch.eye(3, device="cuda"), host(3, 2))


# test_sparse.py test_cuda_sparse_cpu_dense_add
@row(RuntimeError, "^add: expected 'self' to be a CUDA tensor, but got a CPU tensor$")
def add_sparse_to_host():
    host(3, 4) + torch.eye(3, 4, device="cuda").to_sparse()


# torch/csrc/utils/tensor_numpy.cpp
@row(TypeError, r"^can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy the "
     "tensor to host memory first.$")
def numpy_of_device():
    x(3).numpy()


# aten/src/ATen/core/Generator.h
@row(RuntimeError, "^Expected a 'cuda' device type for generator but found 'cpu'$")
def generator_of_host():
    torch.randn(3, device="cuda", generator=torch.Generator())


@row(RuntimeError, "^Expected a 'cuda' device type for generator but found 'cpu'$")
def permutation_by_generator_of_host():
    torch.randperm(3, device="cuda", generator=torch.Generator())


# aten/src/ATen/native/Memory.cpp
@row(RuntimeError, "^cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned$")
def pin_device():
    x(3).pin_memory()


# ---- types: the names are those of the CUDA kernels (AT_DISPATCH in aten/src/ATen/native/cuda)


# aten/src/ATen/native/cuda/Blas.cpp, addmm_out_cuda_impl(): the CPU's says "m1 and m2"
@row(RuntimeError, "^expected mat1 and mat2 to have the same dtype, but got: float != double$")
def mm_of_two_types():
    x(2, 2) @ x(2, 2, dtype=torch.float64)


# aten/src/ATen/native/LinearAlgebra.cpp
@row(RuntimeError, "^mat1 and mat2 must have the same dtype, but got Half and Float$")
def linear_of_two_types():
    nn.Linear(2, 2, device="cuda")(x(2, 2, dtype=torch.half))


@row(NotImplementedError, "^\"addmm_cuda\" not implemented for 'Bool'$")
def mm_of_bools():
    x(2, 2, dtype=torch.bool) @ x(2, 2, dtype=torch.bool)


@row(NotImplementedError, "^\"addmm_cuda\" not implemented for 'Int'$")
def mm_of_integers():
    x(2, 2, dtype=torch.int32) @ x(2, 2, dtype=torch.int32)


# SoftMax.cu; "softmax_lastdim_kernel_impl" of the CPU
@row(NotImplementedError, "^\"host_softmax\" not implemented for 'Long'$")
def softmax_of_integers():
    F.softmax(x(2, 2, dtype=torch.long), -1)


# aten/src/ATen/native/LossNLL.cpp
@row(RuntimeError, "^expected target dtype to be Long or Byte, but got Int$")
def cross_entropy_of_int32():
    F.cross_entropy(x(2, 3), x(2, dtype=torch.int32))


# BinaryBitwiseOpsKernels.cu
@row(NotImplementedError, "^\"bitwise_and_cuda\" not implemented for 'Float'$")
def bitwise_of_floats():
    x(2) & x(2)


# A report of an image generator: "Input type (c10::Half) and bias type (float) should be the same"
@row(RuntimeError, r"^Input type \(c10::Half\) and bias type \(float\) should be the same$")
def conv_of_two_types():
    nn.Conv2d(3, 4, 3, device="cuda")(x(1, 3, 8, 8, dtype=torch.half))


# aten/src/ATen/TensorUtils.cpp
@row(RuntimeError, "^Expected tensor for argument #1 'indices' to have one of the following scalar "
     r"types: Long, Int; but got torch.cuda.FloatTensor instead \(while checking arguments for "
     r"embedding\)$")
def embedding_of_floats():
    nn.Embedding(4, 2, device="cuda")(x(2))


@row(IndexError, "^tensors used as indices must be long, int, byte or bool tensors$")
def index_by_floats():
    x(3)[x(2)]


# aten/src/ATen/native/cuda/linalg/BatchLinearAlgebraLib.cpp
@row(NotImplementedError, "^\"cholesky_cusolver\" not implemented for 'Half'$")
def cholesky_of_halves():
    torch.linalg.cholesky(x(2, 2, dtype=torch.half))


# ---- shapes


@row(RuntimeError, r"^(mm: )?mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)$")
def mm_of_wrong_shapes():
    x(2, 3) @ x(2, 3)


@row(RuntimeError, r"^The size of tensor a \(2\) must match the size of tensor b \(3\) at "
     "non-singleton dimension 0$")
def add_of_wrong_shapes():
    x(2) + x(3)


@row(RuntimeError, r"^Given groups=1, weight of size \[4, 3, 3, 3\], expected input\[1, 2, 8, 8\] to "
     "have 3 channels, but got 2 channels instead$")
def conv_of_wrong_channels():
    nn.Conv2d(3, 4, 3, device="cuda")(x(1, 2, 8, 8))


@row(RuntimeError, "^Sizes of tensors must match except in dimension 0. Expected size 3 but got "
     "size 4 for tensor number 1 in the list.$")
def cat_of_wrong_shapes():
    torch.cat([x(2, 3), x(2, 4)])


# ---- what the numbers are


# aten/src/ATen/native/BatchLinearAlgebra.cpp
@row(torch.linalg.LinAlgError, "^linalg.cholesky: The factorization could not be completed because "
     r"the input is not positive-definite \(the leading minor of order 2 is not positive-definite\)")
def cholesky_of_indefinite():
    torch.linalg.cholesky(x(2, 2) * 2 - torch.eye(2, device="cuda") * 1.5)


@row(torch.linalg.LinAlgError, "^linalg.inv: The diagonal element 2 is zero, the inversion could not "
     "be completed because the input matrix is singular")
def inverse_of_singular():
    torch.linalg.inv(x(2, 2))


# ---- memory and devices


# test_cuda.py test_out_of_memory; c10/cuda/CUDACachingAllocator.cpp
@row(torch.OutOfMemoryError, r"^CUDA out of memory. Tried to allocate 800000000.00 GiB. GPU 0 has a "
     r"total capacity of [0-9.]+ [GM]iB of which [0-9.]+ [GM]iB is free. .*Of the allocated memory "
     r"[0-9.]+ \w+ is allocated by PyTorch, and [0-9.]+ \w+ is reserved by PyTorch but unallocated.")
def out_of_memory():
    torch.empty(1024 * 1024 * 1024 * 800000000, dtype=torch.int8, device="cuda")


@row(torch.OutOfMemoryError, "Tried to allocate more than 1EB memory")
def out_of_all_memory():
    torch.empty(1024 * 1024 * 1024 * 8000000000, dtype=torch.int8, device="cuda")


@row(torch.OutOfMemoryError, "^CUDA out of memory. Tried to allocate ")
def out_of_memory_in_a_kernel():
    a = x(1).expand(1 << 40)
    a + 1


# test_cuda.py test_check_error
@row(torch.cuda.CudaError, "out of memory")
def error_number_two():
    torch.cuda.check_error(2)


# c10/cuda/CUDAException.cpp, CUDAMiscFunctions.cpp
@row(torch.AcceleratorError, "^CUDA error: invalid device ordinal\n"
     r"GPU device may be out of range, do you have enough GPUs\?\n")
def device_that_is_not_there():
    torch.empty(1, device="cuda:7")


# torch/serialization.py
@row(RuntimeError, r"^Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count\(\) "
     "is 1. Please use torch.load with map_location to map your storages to an existing device.$")
def load_from_a_device_that_is_not_there():
    file = io.BytesIO()
    torch.save(x(3, device="cuda:1"), file)
    file.seek(0)
    count = torch.cuda.device_count
    torch.cuda.device_count = lambda: 1
    try:
        torch.load(file)
    finally:
        torch.cuda.device_count = count


# test_cuda.py test_events_elapsedtime
@row(ValueError, "^Both events must be recorded before calculating elapsed time.$")
def events_without_times():
    a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    a.elapsed_time(b)


# A report has it as "Could not run 'aten::histogram.bin_ct' with arguments from the 'CUDA' backend".
@row(NotImplementedError, r"^Could not run 'aten::histogram.bin_ct' with arguments from the 'CUDA' "
     "backend. This could be because the operator doesn't exist for this backend")
def operator_that_cuda_lacks():
    torch.histogram(x(3), 2)


# ---- graphs


# aten/src/ATen/cuda/CUDAGraph.cpp
@row(RuntimeError, "^Called CUDAGraph::replay without a preceding successful capture.$|"
     r"^capture_end\(\) must have been called before calling instantiate$")
def replay_without_capture():
    torch.cuda.CUDAGraph().replay()


# ---- in a process of their own: the context is lost

ASSERTION = (r"(?s)\w: block: \[0,0,0\], thread: \[0,0,0\] Assertion `[^\n]*` failed\.\n.*"
             r"torch\.AcceleratorError: CUDA error: device-side assert triggered\n"
             r"Search for `cudaErrorAssert' in https://docs\.nvidia\.com/cuda/[^\n]*\n"
             r"CUDA kernel errors might be asynchronously reported at some other API call, so the "
             r"stacktrace below might be incorrect\.\n"
             r"For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n")
SYNCHRONIZES = r"(?s)torch\.AcceleratorError: CUDA error: operation not permitted when stream is capturing\n"

# Name, what stderr has, the program. Reports of the first kind: index_select of ids beyond the
# vocabulary; cross_entropy of labels beyond the classes.
PROGRAMS = [
    ("embedding_out_of_range", ASSERTION, """
torch.nn.Embedding(4, 2, device="cuda")(torch.tensor([7], device="cuda"))
torch.cuda.synchronize()"""),
    ("label_out_of_range", ASSERTION, """
torch.nn.functional.cross_entropy(torch.ones(2, 3, device="cuda"), torch.tensor([0, 3], device="cuda"))
torch.cuda.synchronize()"""),
    ("index_out_of_range", ASSERTION, """
torch.ones(3, device="cuda")[torch.tensor([3], device="cuda")]
torch.cuda.synchronize()"""),
    ("after_an_assertion", ASSERTION, """
try:
    torch.ones(3, device="cuda")[torch.tensor([3], device="cuda")]
    torch.cuda.synchronize()
except torch.AcceleratorError:
    pass
torch.ones(3, device="cuda")"""),
    ("item_in_capture", SYNCHRONIZES, """
a = torch.ones(3, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    a.sum().item()"""),
    ("nonzero_in_capture", SYNCHRONIZES, """
a = torch.ones(3, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    a.nonzero()"""),
]


def run_program(text, code):
    run = subprocess.run([sys.executable, "-c", "import torch\n" + code], capture_output=True,
                         text=True, timeout=600)
    assert run.returncode, "the program ended well"
    assert re.search(text, run.stderr), f"stderr:\n{run.stderr}"


# ---- PyTorch's tables


def run_row(error, text, function):
    try:
        result = function()
    except Exception as e:  # noqa: BLE001: any is looked at
        if error is None:
            raise
        said = str(e)
        assert isinstance(e, error), f"{type(e).__name__}: {said}"
        assert re.search(text, said), f"said {said!r}, not {text!r}"
        return
    assert error is None or result is NotImplemented, f"no {error.__name__}"


def operators():
    """(name, error, text, function) of op_db, as test_ops.py test_errors has them."""
    from torch.testing._internal.common_methods_invocations import op_db

    layouts = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc,
               torch.sparse_coo)
    for op in op_db:
        if any(getattr(d, "test_name", None) == "test_errors" and d.is_active(
                "TestCommon", "test_errors", "cuda", torch.float32, {}) for d in op.decorators):
            continue  # PyTorch expects it to fail
        inputs = list(op.error_inputs("cuda")) if op.error_inputs_func else []
        if op.error_inputs_sparse_func:
            inputs += [e for layout in layouts for e in op.error_inputs_sparse("cuda", layout)]
        for i, e in enumerate(inputs):
            s = e.sample_input
            yield (f"{op.name}_{i}", e.error_type, e.error_regex,
                   lambda op=op, s=s: op(s.input, *s.args, **s.kwargs))


def modules():
    """Those of module_db, as test_modules.py test_errors has them."""
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

    for info in module_db:
        if not info.module_error_inputs_func:
            continue
        for i, e in enumerate(info.module_error_inputs_func(
                info, device="cuda", dtype=torch.float32, requires_grad=False, training=True)):
            make, call = e.module_error_input.constructor_input, e.module_error_input.forward_input

            def run(cls=info.module_cls, make=make, call=call, of=e.error_on):
                m = cls(*make.args, **make.kwargs)
                if of == ModuleErrorEnum.FORWARD_ERROR:
                    m(*call.args, **call.kwargs)
            yield f"{info.name}_{i}", e.error_type, e.error_regex, run


def optimizers():
    """Those of optim_db, as test_optim.py test_errors has them."""
    from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

    for info in optim_db:
        if not info.optim_error_inputs_func:
            continue
        for i, e in enumerate(info.optim_error_inputs_func(device="cuda", dtype=torch.float32)):
            given = e.optimizer_error_input
            if issubclass(e.error_type, Warning):
                continue

            def run(cls=info.optim_cls, given=given, of=e.error_on):
                o = cls(given.params, **given.kwargs)
                if of == OptimizerErrorEnum.STEP_ERROR:
                    o.step()
            yield f"{info.optim_cls.__name__}_{i}", e.error_type, e.error_regex, run


def main():
    names = sys.argv[1:]
    warnings.simplefilter("ignore")
    tests = [(n, lambda r=(e, t, f): run_row(*r)) for n, e, t, f in ROWS]
    tests += [(n, lambda p=(t, c): run_program(*p)) for n, t, c in PROGRAMS]
    ours = len(tests)
    for table in (operators, modules, optimizers):
        tests += [(f"{table.__name__}.{n}", lambda r=(e, t, f): run_row(*r))
                  for n, e, t, f in table()]
    tests = [t for t in tests if not names or any(n in t[0] for n in names)]
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for i, (name, function) in enumerate(tests, 1):
        if name in KNOWN:
            print(f"ok {i} - {name} # SKIP {KNOWN[name]}", flush=True)
            continue
        try:
            function()
            print(f"ok {i} - {name}", flush=True)
        except Exception:  # noqa: BLE001: any is this test's failure
            failed += 1
            print(f"not ok {i} - {name}", flush=True)
            for line in traceback.format_exc().splitlines():
                print("# " + line, flush=True)
    print(f"# {len(tests)} errors, {ours} of them in this file's rows; {failed} are not as on a GPU")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
