"""The table of plugin.h in Python, by ctypes: what each front asks of a library of operators."""
import ctypes
import functools
import os

VALUES, DIMS, ATTRIBUTES = 8, 4, 4  # of plugin.h, as the structures below
TYPES = ["float32", "int32", "uint8"]
FOLDER = os.environ.get("OPERATORS", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build"))


class Tensor(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("dims", ctypes.c_int64 * DIMS), ("rank", ctypes.c_int32)]


class Call(ctypes.Structure):
    _fields_ = [("inputs", Tensor * VALUES), ("outputs", Tensor * VALUES), ("attributes", ctypes.c_float * ATTRIBUTES), ("workspace", ctypes.c_void_p)]


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32)]


class Attribute(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_float)]


class Row(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("inputs", Value * VALUES), ("outputs", Value * VALUES), ("attributes", Attribute * ATTRIBUTES),
                ("gradient", ctypes.c_char_p),
                ("shapes", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Call))),
                ("workspace_B", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(Call))),
                ("enqueue", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Call), ctypes.c_void_p))]


def check(text):
    if text:
        raise ValueError(text.decode())


class Operator:
    """A row: `inputs` and `outputs` are lists of (name, type), `attributes` has names and their values."""

    def __init__(self, row):
        self.row, self.name = row, row.name.decode()
        self.inputs = [(v.name.decode(), TYPES[v.type]) for v in row.inputs if v.name]
        self.outputs = [(v.name.decode(), TYPES[v.type]) for v in row.outputs if v.name]
        self.attributes = {a.name.decode(): a.value for a in row.attributes if a.name}
        self.gradient = row.gradient and row.gradient.decode()

    def values(self, attributes):
        """All attributes in their order, of those that the caller gives and the others' defaults."""
        unknown = set(attributes) - set(self.attributes)
        if unknown:
            raise TypeError(f"{self.name} has no {', '.join(sorted(unknown))}")
        return [float(attributes.get(name, value)) for name, value in self.attributes.items()]

    def call(self, shapes, attributes):
        """A call with inputs of these shapes, which knows those of its outputs."""
        call = Call()
        call.attributes[:len(self.attributes)] = self.values(attributes)
        for tensor, shape in zip(call.inputs, shapes, strict=False):
            if len(shape) > DIMS:
                raise ValueError(f"{self.name}: {len(shape)} dimensions, {DIMS} at most")
            tensor.rank, tensor.dims[:len(shape)] = len(shape), [int(n) for n in shape]
        check(self.row.shapes(call))
        return call

    def shapes(self, shapes, attributes):
        call = self.call(shapes, attributes)
        return [tuple(t.dims[:t.rank]) for t in call.outputs[:len(self.outputs)]]

    def workspace_B(self, call):
        return self.row.workspace_B(call) if self.row.workspace_B else 0

    def enqueue(self, call, inputs, outputs, workspace, stream):
        """Launches it; all are addresses."""
        for tensor, at in [*zip(call.inputs, inputs), *zip(call.outputs, outputs)]:
            tensor.at = at
        call.workspace = workspace
        check(self.row.enqueue(call, stream))


@functools.cache
def table():
    """The operators of the library, by name."""
    library = ctypes.CDLL(os.path.join(FOLDER, "liboperators.so"))
    library.plugin_table.restype = ctypes.POINTER(Row)
    rows, found, n = library.plugin_table(), {}, 0
    while rows[n].name:
        operator = Operator(rows[n])
        found[operator.name] = operator
        n += 1
    return found
