"""Kernels in Gluon, where layouts, barriers and asynchronous copies are written out."""
import device
import matrix
import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell, hopper
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout, allocate_tensor_memory, tcgen05_mma
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

rng = np.random.default_rng(4)


def describe(tensor, block, **layout):
    return TensorDescriptor.from_tensor(tensor, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16, **layout))


# ---- a row over all blocks of a cluster

@gluon.jit
def softmax_kernel(x, out, stride, N: gl.constexpr):
    row = gl.program_id(0) * stride
    blocks: gl.constexpr = ((1, ), (2, ), (4, ), (8, ))[:gl.num_ctas().bit_length() - 1]
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0], cga_layout=blocks)
    at = gl.arange(0, N, layout)
    values = gl.load(x + row + at)
    powers = gl.exp(values - gl.max(values, axis=0))
    gl.store(out + row + at, powers * (1.0 / gl.sum(powers, axis=0)))


def cluster_softmax():
    x = rng.standard_normal((5, 8192)).astype(np.float32)
    out = device.empty(x.shape, "float32")
    softmax_kernel[(5,)](device.to_device(x), out, x.shape[1], N=x.shape[1], num_warps=4, num_ctas=4)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return out.numpy(), powers / powers.sum(axis=1, keepdims=True), 1e-7


# ---- warps with work of their own

@gluon.jit
def produce(x, buffer, ready, free, N: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [1], [0])
    for step in range(STEPS):
        mbarrier.wait(free, (step & 1) ^ 1)
        buffer.store(gl.load(x + step * N + gl.arange(0, N, layout)))
        mbarrier.arrive(ready, count=1)


@gluon.jit
def consume(out, buffer, ready, free, N: gl.constexpr, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    for step in range(STEPS):
        mbarrier.wait(ready, step & 1)
        values = buffer.load(layout)
        mbarrier.arrive(free, count=1)
        gl.store(out + step * N + gl.arange(0, N, layout), values * 2)


@gluon.jit
def specialized_kernel(x, out, N: gl.constexpr, STEPS: gl.constexpr):
    buffer = gl.allocate_shared_memory(gl.float32, [N], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.init(free, count=1)
    gl.warp_specialize([(consume, (out, buffer, ready, free, N, STEPS)), (produce, (x, buffer, ready, free, N, STEPS))],
                       [1], [24])


def warp_specialize():
    x = rng.standard_normal((9, 256)).astype(np.float32)
    out = device.empty(x.shape, "float32")
    specialized_kernel[(2,)](device.to_device(x), out, 256, 9, num_warps=4)
    return out.numpy(), 2 * x, 0


# ---- wgmma

@gluon.jit
def wgmma_kernel(a, b, c, M: gl.constexpr, N: gl.constexpr):
    a_tile = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    b_tile = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    mbarrier.expect(loaded, a.nbytes_per_cta + b.nbytes_per_cta)
    tma.async_load(a, [0, 0], loaded, a_tile)
    tma.async_load(b, [0, 0], loaded, b_tile)
    mbarrier.wait(loaded, 0)
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, N, 16])
    sums = hopper.warpgroup_mma(a_tile, b_tile, gl.zeros([M, N], gl.float32, layout), is_async=True)
    sums = hopper.warpgroup_mma_wait(0, deps=[sums])
    c_tile.store(sums.to(c.dtype))
    hopper.fence_async_shared()
    tma.async_store(c, [0, 0], c_tile)
    tma.store_wait(0)


def wgmma():
    m, n, k = 64, 128, 128
    a, b, c = matrix.half(m, k), matrix.half(k, n), device.empty((m, n), "float16")
    wgmma_kernel[(1,)](describe(device.to_device(a), [m, k]), describe(device.to_device(b), [k, n]), describe(c, [m, n]),
                       m, n, num_warps=4)
    return c.numpy(), matrix.product(a, b), 5e-2


# ---- tcgen05 by a pair of blocks

@gluon.jit
def pair_kernel(a, b, c):
    rows: gl.constexpr = a.block_shape[0]
    columns: gl.constexpr = b.block_shape[1]
    a_tile = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    b_tile = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    loaded, done = mbarrier.allocate_mbarrier(two_ctas=True), mbarrier.allocate_mbarrier()
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    mbarrier.expect(loaded, a.nbytes_per_cta + b.nbytes_per_cta)
    tma.async_load(a, [0, 0], loaded, a_tile)
    tma.async_load(b, [0, 0], loaded, b_tile)
    mbarrier.wait(loaded, phase=0, deps=[a_tile, b_tile])
    mbarrier.invalidate(loaded)
    layout: gl.constexpr = TensorMemoryLayout(block=(rows // 2, columns), col_stride=1, cga_layout=c.layout.cga_layout,
                                              two_ctas=True)
    sums = allocate_tensor_memory(gl.float32, [rows, columns], layout)
    tcgen05_mma(a_tile, b_tile, sums, use_acc=False, mbarriers=[done])
    mbarrier.wait(done, phase=0, deps=[a_tile, b_tile])
    mbarrier.invalidate(done)
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    c_tile.store(sums.load(sums.get_reg_layout()).to(c.dtype))
    blackwell.fence_async_shared()
    tma.async_store(c, [0, 0], c_tile)
    tma.store_wait(0)


def tcgen05_pair():
    m, n, k = 256, 128, 64
    a, b, c = matrix.half(m, k), matrix.half(k, n), device.empty((m, n), "float16")
    pair_kernel[(1,)](describe(device.to_device(a), [m, k], cga_layout=[[1, 0]]),
                      describe(device.to_device(b), [k, n], cga_layout=[[0, 1]]),
                      describe(c, [m, n], cga_layout=[[1, 0]]), num_warps=4, num_ctas=2)
    return c.numpy(), matrix.product(a, b), 5e-2


# name, what runs it, the least capability, the first that lacks it
CASES = [
    ("cluster_softmax", cluster_softmax, 90),
    ("warp_specialize", warp_specialize, 90),
    ("wgmma", wgmma, 90, 100),
    ("tcgen05_pair", tcgen05_pair, 100, 120),
]
