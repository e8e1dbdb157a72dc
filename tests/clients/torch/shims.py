"""The C functions that AOTInductor's models call in place of operators (aoti_torch_cuda_*), called
through their C interfaces as the header declares them, with the arguments that samples of PyTorch's
op_db give to the operators: results are those of the operators.

    heddle run python shims.py [NAME...]        functions whose names contain one of these; all

Prints a line for each function that fails, and for those that no sample calls.
"""

import ctypes
import os
import re
import sys
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

ROOT = os.path.dirname(torch.__file__)
HEADER = os.path.join(ROOT, "include/torch/csrc/inductor/aoti_torch/generated/c_shim_cuda.h")
HOST = ctypes.CDLL(os.path.join(ROOT, "lib/libtorch_cpu.so"))
DEVICE = ctypes.CDLL(os.path.join(ROOT, "lib/libtorch_cuda.so"))
CALLS = 4  # of each function with each type

# Of these only shapes are compared.
RANDOM = re.compile("rand|bernoulli|dropout|exponential|uniform|normal|rrelu|multinomial")


def declared():
    """Types and names of the arguments of each function."""
    with open(HEADER) as file:
        text = file.read()
    return {name: [tuple(a.strip().rsplit(" ", 1)) for a in args.split(",")]
            for name, args in re.findall(r"Error aoti_torch_cuda_(\w+)\(([^)]*)\);", text)}


def name_of(func):
    name, overload = func._schema.name.split("::")[1], func._schema.overload_name
    return f"{name}_{overload}" if overload else name


def number_of(value):
    """A bool, or a member of an enumeration."""
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        kind = type(value).__name__
        return getattr(HOST, f"aoti_torch_{kind}_{str(value).split('.')[1]}")()
    return int(value)


def address_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)


def tensors_at(pointers):
    """The tensors that a function has given; they are ours from now on."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return torch._C._aoti.alloc_tensors_by_stealing_from_void_ptrs(
        [make(p, None, None) for p in pointers])


class Call:
    """The C arguments of one call."""

    def __init__(self, declaration, values):
        self.args, self.kept, self.results = [], [], []
        declaration = list(declaration)
        while declaration:
            kind, name = declaration.pop(0)
            if re.fullmatch(r"ret\d+", name):
                place = ctypes.c_double() if kind == "double*" else ctypes.c_int64()
                self.results.append((kind, place))
                self.args.append(ctypes.byref(place))
                continue
            value = values[name]
            if declaration and declaration[0][1] == name + "_len_":
                declaration.pop(0)
                self.add_list(kind, value)
            elif declaration and declaration[0][1] == name + "_index_":
                declaration.pop(0)
                self.add_device(kind, value)
            elif kind.endswith("*") and kind != "const char*":
                self.args.append(self.pointer_to(kind[:-1], value))
            else:
                self.args.append(self.scalar(kind, value))

    def keep(self, value):
        self.kept.append(value)
        return value

    def scalar(self, kind, value):
        if kind == "AtenTensorHandle":
            self.keep(value)
            return ctypes.c_void_p(address_of(
                torch._C._aoti.unsafe_alloc_void_ptrs_from_tensors([value])[0]))
        if kind == "const char*":
            return ctypes.c_char_p(self.keep(value.encode()))
        if kind == "double":
            return ctypes.c_double(value)
        if kind == "int64_t":
            return ctypes.c_int64(value)
        assert kind == "int32_t", kind
        # Above the 32 bits is what the compiler left there.
        return ctypes.c_int64((0x5a5a5a5a << 32) | (number_of(value) & 0xffffffff))

    def array(self, kind, values):
        made = [ctypes.c_int32(number_of(v)) if kind == "int32_t" else self.scalar(kind, v)
                for v in values]
        array = ((type(made[0]) if made else ctypes.c_int64) * max(len(made), 1))()
        for i, m in enumerate(made):
            array[i] = m.value
        return ctypes.c_void_p(ctypes.addressof(self.keep(array)))

    def pointer_to(self, kind, value):
        return ctypes.c_void_p() if value is None else self.array(kind, [value])

    def add_list(self, kind, values):
        element = kind.removeprefix("const ").removesuffix("*")
        if kind.endswith("**") and not kind.startswith("const AtenTensorHandle"):  # may be None
            inner = self.array(element[:-1], values) if values is not None else None
            values = values or []
            pointer = self.keep((ctypes.c_void_p * 1)(inner.value if inner else None))
            self.args.append(ctypes.c_void_p(ctypes.addressof(pointer) if inner else None))
        elif kind.endswith("**"):  # of elements that may be None
            pointers = [self.pointer_to(element[:-1], v).value for v in values]
            array = self.keep((ctypes.c_void_p * max(len(pointers), 1))(*pointers))
            self.args.append(ctypes.c_void_p(ctypes.addressof(array)))
        else:
            self.args.append(self.array(element, values))
        self.args.append(ctypes.c_int64(len(values)))

    def add_device(self, kind, value):
        number = DEVICE_TYPES[value.type] if value is not None else None
        self.args.append(self.pointer_to("int32_t", number) if kind.endswith("*")
                         else ctypes.c_int32(number))
        index = value.index if value is not None and value.index is not None else -1
        self.args.append(ctypes.c_int32(index if value is not None else 0))

    def run(self, name):
        code = getattr(DEVICE, "aoti_torch_cuda_" + name)(*self.args)
        assert code == 0, "it fails"
        out = []
        for kind, place in self.results:
            if kind != "AtenTensorHandle*":
                out.append(place.value)
            else:  # an undefined tensor is None
                out.append(tensors_at([place.value])[0] if place.value else None)
        return out


DEVICE_TYPES = {"cpu": HOST.aoti_torch_device_type_cpu(),
                "cuda": HOST.aoti_torch_device_type_cuda()}


class Compare(TorchDispatchMode):
    """Runs each operator, and its C function on the like of its arguments."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions
        self.calls = {}
        self.failed = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = name_of(func)
        on_device = any(isinstance(a, torch.Tensor) and a.is_cuda and a.layout == torch.strided
                        for a in tree_flatten((args, kwargs))[0])
        if not func.namespace == "aten" or name not in self.functions or not on_device:
            return func(*args, **kwargs)
        dtype = next(a.dtype for a in tree_flatten((args, kwargs))[0] if isinstance(a, torch.Tensor))
        if self.calls.get((name, dtype), 0) < CALLS:
            self.note(func, args, kwargs, dtype)
        return func(*args, **kwargs)

    def note(self, func, args, kwargs, dtype=None):
        name = name_of(func)
        self.calls[name, dtype] = self.calls.get((name, dtype), 0) + 1
        try:
            self.compare(func, name, args, kwargs)
        except Exception as e:  # noqa: BLE001
            self.failed[name] = f"{type(e).__name__}: {e}"

    def compare(self, func, name, args, kwargs):
        arguments = func._schema.arguments
        values = {a.name: args[i] if i < len(args) else kwargs.get(a.name, a.default_value)
                  for i, a in enumerate(arguments)}
        for a in arguments:  # a double in C
            if "number" in str(a.type).lower() and values[a.name] is not None:
                if isinstance(values[a.name], (complex, torch.Tensor)):
                    return
                values[a.name] = float(values[a.name])
            if str(a.type) == "Tensor" and values[a.name] is None:
                return  # an undefined tensor, which Python cannot make
        for version in [n for n in self.functions if n == name or n.startswith(name + "_v")]:
            state = torch.cuda.get_rng_state()
            mine, theirs = (tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t,
                                     values) for _ in range(2))
            try:
                want = func(*[theirs[a.name] for a in arguments if not a.kwarg_only],
                            **{a.name: theirs[a.name] for a in arguments if a.kwarg_only})
            except Exception:  # noqa: BLE001: not for these arguments
                return
            torch.cuda.set_rng_state(state)
            results = Call(self.functions[version], mine).run(version)
            changed = [mine[a.name] for a in arguments
                       if a.alias_info and a.alias_info.is_write]
            want = want if isinstance(want, (tuple, list)) else [want]
            got = changed or results
            assert len(got) == len(want), f"{len(got)} results, not {len(want)}"
            for g, w in zip(got, want):
                self.same(name, g, w)

    @staticmethod
    def same(name, g, w):
        if w is None or g is None or not isinstance(w, torch.Tensor):
            assert g is w or g == w or (w is None and g.numel() == 0), f"{g}, not {w}"
            return
        if w.layout != torch.strided:
            g, w = g.to_dense(), w.to_dense()
        assert g.dtype == w.dtype and g.shape == w.shape and g.device == w.device, \
            f"{g.dtype} {tuple(g.shape)}, not {w.dtype} {tuple(w.shape)}"
        if not RANDOM.search(name) and not ("attention" in name and g.dtype == torch.uint64):
            torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-5, equal_nan=True)


def more_calls():
    """Of functions whose operators are composed of others before a sample arrives there."""
    aten, x = torch.ops.aten, torch.randn(6, 8, device="cuda")
    bytes_ = torch.ones(32, 16, dtype=torch.int8, device="cuda")
    cuda = {"device": torch.device("cuda", 0)}
    return [
        (aten.hann_window.default, (5,), cuda),
        (aten.narrow.default, (x, 0, 1, 2), {}),
        (aten.pad.default, (x, [1, 2]), {}),
        (aten.pad.default, (x, [1, 2], "constant", 3.0), {}),
        (aten.reshape.default, (x, [4, 12]), {}),
        (aten.rand.default, ([3, 4],), cuda),
        (aten.rand.default, ([3, 4],), {"dtype": torch.float16, **cuda}),
        (aten.randn.default, ([3, 4],), cuda),
        (aten.randn.generator, ([3, 4],), {"generator": None, **cuda}),
        (aten.randint.default, (9, [3]), cuda),
        (aten.randint.low, (2, 9, [3]), cuda),
        (aten.randint.low_out, (2, 9, [6, 8]), {"out": x.clone()}),
        (aten.randperm.default, (9,), cuda),
        (aten.repeat_interleave.Tensor, (torch.tensor([1, 2, 3], device="cuda"),), {}),
        (aten.searchsorted.Scalar, (x[0].sort().values, 0.1), {"side": "right"}),
        (aten.sort.stable, (x,), {"stable": True, "dim": 0, "descending": True}),
        (aten.to_sparse.default, (x,), {}),
        (aten.scatter.value_out, (x, 0, torch.zeros(2, 3, dtype=torch.int64, device="cuda"), 2.5),
         {"out": x.clone()}),
        (aten._int_mm.out, (bytes_, bytes_.t()[:, :32].contiguous()),
         {"out": torch.empty(32, 32, dtype=torch.int32, device="cuda")}),
        (aten._addmm_activation.default, (x[0], x, x.t()[:, :6] @ x), {"use_gelu": True}),
        (aten.bernoulli_.Tensor, (x, torch.full_like(x, 0.5)), {}),
        (aten.exponential.default, (x,), {}),
        (aten.uniform.default, (x, 0.0, 2.0), {}),
        (aten.normal_functional.default, (x, 0.0, 2.0), {}),
        (aten._embedding_bag_forward_only.default,
         (x, torch.tensor([1, 2, 5], device="cuda"), torch.tensor([0, 2], device="cuda")), {}),
    ]


def main():
    from torch.testing._internal.common_methods_invocations import op_db

    functions = {n: d for n, d in declared().items()
                 if not sys.argv[1:] or any(a in n for a in sys.argv[1:])}
    warnings.simplefilter("ignore")
    compare = Compare(functions)
    for op in op_db:
        for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16):
            if dtype not in op.dtypesIfCUDA:
                continue
            try:
                samples = list(op.sample_inputs("cuda", dtype, requires_grad=op.supports_autograd
                                                and dtype.is_floating_point))
            except Exception:  # noqa: BLE001: other tests count these
                continue
            for s in samples[:3]:
                try:
                    with compare:
                        out = op(s.input, *s.args, **s.kwargs)
                        outs = [o for o in tree_flatten(out)[0]
                                if isinstance(o, torch.Tensor) and o.requires_grad]
                        if outs:
                            torch.autograd.backward(outs, [torch.ones_like(o) for o in outs])
                        if isinstance(out, torch.Tensor) and op.supports_out:
                            op(s.input, *s.args, **s.kwargs, out=torch.empty_like(out))
                except Exception:  # noqa: BLE001
                    pass
    for func, args, kwargs in more_calls():
        if name_of(func) in functions:
            compare.note(func, args, kwargs)
    called = {n for n, _ in compare.calls}
    for name, why in sorted(compare.failed.items()):
        print(f"{name}: {why}", flush=True)
    print("not called:", *sorted(set(functions) - called), flush=True)
    print(f"{len(called)} of {len(functions)} functions called, {len(compare.failed)} wrong")
    sys.exit(bool(compare.failed) or not called)


if __name__ == "__main__":
    main()
