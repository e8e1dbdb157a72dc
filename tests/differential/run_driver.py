#!/usr/bin/env python3
"""Runs generated kernels through the driver API: the twin of run_interp.c.

    run_driver.py LIBCUDA DIR TAG OUT_BYTES BLOCKS THREADS SEED...

reads DIR/SEED.ptx and DIR/SEED.in, writes DIR/SEED.TAG.out, or DIR/SEED.TAG.err with the error.
The device is the one that HEDDLE_DEVICE names; a real GPU's libcuda.so.1 works as well.
"""
import ctypes
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

cu = None


class DriverError(Exception):
    pass


def call(name, *args):
    code = getattr(cu, name)(*args)
    if code:
        text = ctypes.c_char_p()
        cu.cuGetErrorString(code, byref(text))
        raise DriverError(f"{name}: {code} {(text.value or b'').decode()}")


def run(ptx, data, out_bytes, blocks, threads):
    module, func = c_void_p(), c_void_p()
    out, inp = c_uint64(), c_uint64()
    result = ctypes.create_string_buffer(out_bytes)
    call("cuModuleLoadData", byref(module), ptx + b"\0")
    try:
        call("cuModuleGetFunction", byref(func), module, b"fuzz")
        call("cuMemAlloc_v2", byref(out), c_size_t(out_bytes))
        call("cuMemAlloc_v2", byref(inp), c_size_t(len(data)))
        call("cuMemsetD8_v2", out, ctypes.c_ubyte(0), c_size_t(out_bytes))
        call("cuMemcpyHtoD_v2", inp, data, c_size_t(len(data)))
        params = (c_void_p * 2)(ctypes.addressof(out), ctypes.addressof(inp))
        call("cuLaunchKernel", func, *[c_uint(n) for n in (blocks, 1, 1, threads, 1, 1, 0)], None,
             params, None)
        call("cuCtxSynchronize")
        call("cuMemcpyDtoH_v2", result, out, c_size_t(out_bytes))
    finally:
        for p in (out, inp):
            if p.value:
                cu.cuMemFree_v2(p)
        cu.cuModuleUnload(module)
    return result.raw


def main():
    global cu
    lib, where, tag, out_bytes, blocks, threads = sys.argv[1:7]
    cu = ctypes.CDLL(lib)
    device, context = c_int(), c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", byref(device), 0)
    call("cuDevicePrimaryCtxRetain", byref(context), device)
    call("cuCtxSetCurrent", context)
    for seed in sys.argv[7:]:
        with open(f"{where}/{seed}.ptx", "rb") as f:
            ptx = f.read()
        with open(f"{where}/{seed}.in", "rb") as f:
            data = f.read()
        try:
            kind, answer = "out", run(ptx, data, int(out_bytes), int(blocks), int(threads))
        except DriverError as e:
            kind, answer = "err", str(e).encode()
        with open(f"{where}/{seed}.{tag}.{kind}", "wb") as f:
            f.write(answer)


if __name__ == "__main__":
    main()
