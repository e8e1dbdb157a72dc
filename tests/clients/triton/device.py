"""Arrays that NumPy and Triton share: managed memory of the driver, without PyTorch."""
import ctypes

import numpy as np

# bfloat16 and the 8-bit floats are kept as the integers that NumPy has.
HOLDERS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
MANAGED_GLOBAL = 1
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76

cuda = ctypes.CDLL("libcuda.so.1")


def check(result, what):
    if result:
        text = ctypes.c_char_p()
        cuda.cuGetErrorName(result, ctypes.byref(text))
        raise RuntimeError(f"{what}: {(text.value or b'unknown').decode()}")


def init():
    """Makes the primary context current, as PyTorch would have done."""
    context = ctypes.c_void_p()
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")


def capability():
    numbers = [ctypes.c_int(), ctypes.c_int()]
    for number, attribute in zip(numbers, (CAPABILITY_MAJOR, CAPABILITY_MINOR)):
        check(cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, 0), "cuDeviceGetAttribute")
    return 10 * numbers[0].value + numbers[1].value


def synchronize():
    check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")


class Dtype:
    """A type's name, as Triton reads it from str()."""

    known = {}

    def __init__(self, name):
        self.name = name
        self.itemsize = np.dtype(HOLDERS.get(name, name)).itemsize
        self.is_floating_point = "float" in name

    def __str__(self):
        return self.name


def dtype_of(name):
    return Dtype.known.setdefault(name, Dtype(name))


class Array:
    """What Triton asks of a tensor: data_ptr(), dtype, shape, stride()."""

    def __init__(self, shape, dtype):
        holder = np.dtype(HOLDERS.get(dtype, dtype))
        count = int(np.prod(shape))
        self.dtype = dtype_of(dtype)
        self.shape = tuple(shape)
        self.address = ctypes.c_uint64()
        size = max(count * holder.itemsize, 16)
        check(cuda.cuMemAllocManaged(ctypes.byref(self.address), ctypes.c_size_t(size), MANAGED_GLOBAL),
              "cuMemAllocManaged")
        memory = (ctypes.c_char * size).from_address(self.address.value)
        self.host = np.frombuffer(memory, holder, count).reshape(self.shape)
        self.host[...] = 0

    def __del__(self):
        cuda.cuMemFree_v2(self.address)

    @property
    def strides(self):
        return self.stride()

    def data_ptr(self):
        return self.address.value

    def stride(self, axis=None):
        steps = tuple(s // self.host.itemsize for s in self.host.strides)
        return steps if axis is None else steps[axis]

    def numpy(self):
        """The values, as float32 for what NumPy lacks."""
        synchronize()
        return bfloat16_value(self.host) if self.dtype.name == "bfloat16" else self.host.copy()


def bfloat16_bits(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bfloat16_value(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_device(values, dtype=None):
    values = np.ascontiguousarray(values)
    array = Array(values.shape, dtype or values.dtype.name)
    array.host[...] = bfloat16_bits(values) if dtype == "bfloat16" else values
    return array


def empty(shape, dtype):
    return Array(shape, dtype)


def scratch(size, alignment, stream):
    """Memory that kernels ask for themselves, for triton.set_allocator()."""
    return Array((size + alignment,), "int8")
