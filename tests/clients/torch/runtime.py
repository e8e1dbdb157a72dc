#!/usr/bin/env python3
"""What of PyTorch is no operator: kernels that it launches itself, streams, events, TorchScript. TAP.

    heddle run python runtime.py [NAME...]     tests whose names contain one of these; all
"""

import os
import subprocess
import sys
import traceback

import torch

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def cycles(ms):
    """Of the device's clock, by what the device says of it."""
    import ctypes
    khz = ctypes.c_int()
    clock_rate = 13  # CU_DEVICE_ATTRIBUTE_CLOCK_RATE
    assert not ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(khz), clock_rate, 0)
    return khz.value * ms


@test
def sleep_is_a_kernel_of_its_stream():
    """It takes its time there, and the host and other streams go on meanwhile."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        begin.record()
        torch.cuda._sleep(cycles(2000))
        end.record()
    assert not end.query() and not side.query(), "the host has waited for it"
    assert torch.ones(3, device="cuda").sum().item() == 3
    assert not end.query(), "another stream has waited for it"
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    assert end.query()
    assert begin.elapsed_time(end) >= 1999, begin.elapsed_time(end)


@test
def sleep_in_a_graph():
    graph, begin, end = torch.cuda.CUDAGraph(), *(torch.cuda.Event(enable_timing=True)
                                                  for _ in range(2))
    with torch.cuda.graph(graph):
        torch.cuda._sleep(cycles(100))
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    assert begin.elapsed_time(end) >= 99, begin.elapsed_time(end)


@test
def sleep_has_its_name_in_profiles():
    with torch.profiler.profile() as p:
        torch.cuda._sleep(1000)
        torch.cuda.synchronize()
    names = [e.key for e in p.key_averages()]
    assert any("spin_kernel(long)" in n for n in names), names


@test
def graphs_of_operators_without_a_meta_kernel():
    """Fused optimizers return nothing, and PyTorch does not say what they do to shapes."""
    def state():
        g = torch.Generator().manual_seed(5)
        return [[torch.rand(7, generator=g).cuda() for _ in range(2)] for _ in range(4)] + \
            [[torch.ones((), device="cuda") for _ in range(2)]]

    def adagrad(p, grad, total, _, steps):
        torch._fused_adagrad_(p, grad, total, steps, lr=0.1, lr_decay=0.0, weight_decay=0.0,
                              eps=1e-8, maximize=False)

    lr = torch.tensor(0.1, device="cuda")

    def adamw(p, grad, avgs, sqs, steps):
        torch._fused_adamw_(p, grad, avgs, sqs, [], steps, lr=lr, beta1=0.9, beta2=0.99,
                            weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False)

    def sgd(p, grad, momenta, _, steps):
        torch._fused_sgd_(p, grad, momenta, weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0,
                          nesterov=False, maximize=False, is_first_step=False)

    for step in (adagrad, adamw, sgd):
        eager, graphed = state(), state()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(*graphed)
        for _ in range(3):
            step(*eager)
            graph.replay()
        for a, b in zip(sum(eager, []), sum(graphed, [])):
            assert torch.equal(a, b), f"{step.__name__}: {a}, {b}"
        assert not torch.equal(eager[0][0], state()[0][0]), f"{step.__name__} did nothing"


@test
def segments_that_expand_in_many_streams():
    """Each reserves addresses for more than all memory."""
    program = """
import torch
kept = []
for _ in range(20):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        kept += [stream, torch.ones(10, device="cuda"), torch.ones(3 << 20, device="cuda")]
torch.cuda.synchronize()
assert all(t.sum() == t.numel() for t in kept if isinstance(t, torch.Tensor))
"""
    subprocess.run([sys.executable, "-c", program], check=True,
                   env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})


@test
def lists_of_indices_from_torchscript():
    """TorchScript makes the types of lists itself: they equal those of eager calls, elsewhere."""
    class Indexing(torch.nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor):
            x[x < 1] = 1.0
            x[i] = 7.0
            return x, x[x > 2], x[i]

    compiled = torch.jit.script(Indexing())
    on = {device: compiled(torch.tensor([0., 3., -1., 5.], device=device),
                           torch.tensor([3], device=device)) for device in ("cpu", "cuda")}
    for got, want in zip(on["cuda"], on["cpu"]):
        assert got.is_cuda and torch.equal(got.cpu(), want), f"{got}, not {want}"


@test
def operators_with_and_without_tools():
    """Without tools a launch takes a shorter way; with them it is the call that a GPU's program makes."""
    x = torch.ones(3, device="cuda")
    assert torch.neg(x).tolist() == [-1] * 3
    with torch.profiler.profile() as p:
        assert torch.neg(x).tolist() == [-1] * 3
    names = [e.name for e in p.events()]
    assert "cudaLaunchKernel" in names and "cuLaunchKernel" not in names, names
    assert torch.neg(x).tolist() == [-1] * 3


DEVICES = """
import ctypes, torch
current = lambda: torch.cuda.current_device()
x, y = torch.ones(4, device="cuda:0"), torch.ones(4, device="cuda:1")
for i in range(3):
    for device, t in enumerate((x, y)):
        r = t + i
        assert r.device.index == device and r.tolist() == [1 + i] * 4, (device, r)
        assert current() == 0, current()
        with torch.cuda.device(1):
            assert (t * 2).device.index == device and current() == 1, current()
        side = torch.cuda.Stream(device)
        with torch.cuda.stream(side):
            assert t.mul(3).device.index == device
before = torch.cuda.memory_allocated(0), torch.cuda.memory_allocated(1)
y2 = y.clone()
assert torch.cuda.memory_allocated(0) == before[0] and torch.cuda.memory_allocated(1) > before[1]
# A context that is no primary one: the program's own work, beside which operators have a device still.
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert not cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 1)
assert (y + 1).tolist() == [2] * 4 and (x + 1).tolist() == [2] * 4
assert not cuda.cuCtxDestroy_v2(context)
assert (x + 2).tolist() == [3] * 4 and (y + 2).tolist() == [3] * 4
print("right")
"""


@test
def operators_of_another_device():
    """Whatever is current, an operator runs where its tensors are, and leaves the rest as it was."""
    env = dict(os.environ, HEDDLE_DEVICES="2")
    done = subprocess.run([sys.executable, "-c", DEVICES], env=env, capture_output=True, text=True)
    assert done.stdout == "right\n", done.stdout + done.stderr


def main():
    names = sys.argv[1:]
    tests = [t for t in TESTS if not names or any(n in t.__name__ for n in names)]
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for i, t in enumerate(tests, 1):
        try:
            t()
            print(f"ok {i} - {t.__name__}", flush=True)
        except Exception:  # noqa: BLE001: any is this test's failure
            failed += 1
            print(f"not ok {i} - {t.__name__}", flush=True)
            for line in traceback.format_exc().splitlines():
                print("# " + line, flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
