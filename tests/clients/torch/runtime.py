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
