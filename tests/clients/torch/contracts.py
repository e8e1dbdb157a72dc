"""What torch.compile believes of operators on the device (their fake implementations) against what
they give on Heddle: types, shapes and strides of results, over samples of PyTorch's op_db. Each
operator that a sample calls is compared, so that what composite functions save for gradients counts.

    heddle run python contracts.py [--dtype bfloat16] [--samples N] [NAME...]

Prints a line for each operator that differs, and ends with 1 if there is one that is not known.
"""

import argparse
import sys
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

# Strides of these say nothing: the fake implementation does not follow a GPU's either.
RANDOM_SHAPES = ("nonzero", "unique", "masked_select", "repeat_interleave", "_local_scalar_dense")

# (operator, result): what the CPU's kernels hand from forward to backward in their own way.
KNOWN = set()


def described(t):
    return f"{t.dtype} {tuple(t.shape)} {t.stride()}".replace("torch.", "")


class Compare(TorchDispatchMode):
    """Runs each operator, and its fake implementation on the like of its arguments."""

    def __init__(self):
        super().__init__()
        self.found = {}
        self.raised = {}  # of operators whose fake implementation fails: why
        self.compared = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        fake = self.fake(func, args, kwargs)
        real = func(*args, **kwargs)
        if fake is not None:
            self.compared.add(str(func))
            got = [t for t in tree_flatten(real)[0] if isinstance(t, torch.Tensor)]
            want = [t for t in tree_flatten(fake)[0] if isinstance(t, torch.Tensor)]
            self.note(func, got, want)
        return real

    def fake(self, func, args, kwargs):
        if any(n in str(func) for n in RANDOM_SHAPES) or func.is_view:
            return None
        flat = [a for a in tree_flatten((args, kwargs))[0] if isinstance(a, torch.Tensor)]
        if any(a.layout != torch.strided or a.is_nested for a in flat):
            return None
        try:
            with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                a, k = tree_map(
                    lambda t: mode.from_tensor(t) if isinstance(t, torch.Tensor) else t,
                    (args, kwargs))
                return func(*a, **k)
        except Exception as e:  # noqa: BLE001: torch.compile would not have it either
            self.raised.setdefault(str(func), f"{type(e).__name__}: {str(e).splitlines()[0]}" if str(e) else type(e).__name__)
            return None

    def note(self, func, got, want):
        for i, (g, w) in enumerate(zip(got, want)):
            if g.layout != torch.strided or g.numel() == 0 and w.numel() == 0 and \
                    g.dtype == w.dtype and g.shape == w.shape:
                continue
            if g.dtype != w.dtype or g.shape != w.shape or g.device != w.device:
                kind = "type"
            elif [s for n, s in zip(g.shape, g.stride()) if n > 1] != \
                    [s for n, s in zip(w.shape, w.stride()) if n > 1]:
                kind = "strides"
            else:
                continue
            self.found.setdefault((str(func), i, kind), f"{described(g)}, not {described(w)}")


def main():
    from torch.testing._internal.common_methods_invocations import op_db

    p = argparse.ArgumentParser()
    p.add_argument("--dtype", default="float32,bfloat16,float16")
    p.add_argument("--samples", type=int, default=4)
    p.add_argument("-v", action="store_true", dest="is_verbose", help="say what runs")
    p.add_argument("names", nargs="*")
    options = p.parse_args()
    warnings.simplefilter("ignore")
    compare = Compare()
    for name in options.dtype.split(","):
        dtype = getattr(torch, name)
        for op in op_db:
            if options.names and op.name not in options.names:
                continue
            if dtype not in op.dtypesIfCUDA:
                continue
            if options.is_verbose:
                print(f"# {op.name} {op.variant_test_name} {name}", file=sys.stderr, flush=True)
            try:
                samples = list(op.sample_inputs("cuda", dtype, requires_grad=op.supports_autograd))
            except Exception:  # noqa: BLE001: counted by the tests of operators
                continue
            for s in samples[: options.samples]:
                try:
                    with compare:
                        out = op(s.input, *s.args, **s.kwargs)
                        outs = [o for o in tree_flatten(out)[0]
                                if isinstance(o, torch.Tensor) and o.requires_grad
                                and o.layout == torch.strided]
                        if outs:
                            torch.autograd.backward(outs, [torch.ones_like(o) for o in outs])
                except Exception:  # noqa: BLE001
                    pass
    for func, why in sorted(compare.raised.items()):
        print(f"fake of {func} raises {why}", flush=True)
    for (func, i, kind), text in sorted(compare.found.items(), key=lambda f: (f[0][2], f[0])):
        print(f"{kind} {func} result {i}: {text}", flush=True)
    types = [f for f in compare.found if f[2] == "type"]
    wrong = [f for f in types if f[:2] not in KNOWN]
    print(f"{len(compare.compared)} operators compared: {len(wrong)} results of another type or "
          f"shape, {len(types) - len(wrong)} that are known, "
          f"{len(compare.found) - len(types)} of other strides")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
