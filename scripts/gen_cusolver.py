#!/usr/bin/env python3
"""Makes cuSOLVER's routines of spec/api/cusolver.def.

gen_cusolver.py [--check]       the declarations: include/cuda/heddle/cusolver_functions.h
gen_cusolver.py front FILE      entry points of libcusolver: each checks and packs its arguments
gen_cusolver.py list FILE       the engine's routines
"""
import os
import re
import sys

from gen_cublas import CHARS, REAL, TYPES, read, wrap, write
from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = os.path.join(ROOT, "spec/api/cusolver.def")
HEADER = os.path.join(ROOT, "include/cuda/heddle/cusolver_functions.h")
ENGINE = re.compile(r'^ENGINE\((\w+), "([^"]*)"\)$', re.M)
ROW = re.compile(r'^ROUTINE\("([^"]*)", (\w+), (\w+), "([^"]*)", "([^"]*)"\)$', re.M)
LETTERS = "sdcz"
# Kinds that are one letter of LAPACK's: the type in C, and what makes the letter of it.
LETTER_KINDS = {kind: (CHARS[kind][0], f"lib_{kind}") for kind in ("op", "side", "fill", "diag")} | {
    "job": ("cusolverEigMode_t", "solver_job"), "range": ("cusolverEigRange_t", "solver_range"),
    "direct": ("cusolverDirectMode_t", "solver_direct"), "storev": ("cusolverStorevMode_t", "solver_storev")}


class Argument:
    """What a row says of one: `kind` is in small letters, `is_const` for what is only read, `which` of T, R, W."""

    def __init__(self, text):
        self.words = text.split(" ")
        kind, _, which = self.words[0].partition(":")
        self.kind, self.which, self.is_const = kind.lower(), which or "T", kind[0].islower()
        self.name = self.words[1] if len(self.words) > 1 else self.kind


class Routine:
    """One row with one prefix."""

    def __init__(self, prefix, name, engine, buffer, text, parameters):
        self.prefix, self.name, self.engine, self.buffer, self.parameters = prefix, name, engine, buffer, parameters
        self.args = [Argument(item) for item in text.split(", ")]
        self.is_generic = prefix in ("X", "")
        self.is_refined = len(prefix) == 2
        self.size = "int64_t" if self.is_generic else "cusolver_int_t" if self.is_refined else "int"
        self.T, self.R = ("void", "void") if self.is_generic else (TYPES[prefix[0]], REAL[prefix[0]])
        self.symbol = "cusolverDn" + (prefix + name if prefix else name[0].upper() + name[1:])

    def array(self, a, is_const):
        """The type that comes before an array, and its address."""
        type_ = self.R if a.which == "R" else self.T
        return ([f"cudaDataType dataType{a.name}"] if self.is_generic else []) + [f"{'const ' if is_const else ''}{type_} *{a.name}"]

    def parameters_of(self, a, is_const, of_buffer=False):
        """The parameters in C of one argument."""
        size, name, kind = self.size, a.name, a.kind
        if kind in ("size", "later", "number", "batch"):
            return [f"{size} {name}"]
        if kind in LETTER_KINDS:
            return [f"{LETTER_KINDS[kind][0]} {name}"]
        if kind in ("mat", "steps"):
            return self.array(a, is_const) + [f"{size} {a.words[2]}"]
        if kind == "far":
            return self.array(a, is_const) + [f"{size} {a.words[2]}", f"long long int {a.words[3]}"]
        if kind == "farv":
            return self.array(a, is_const) + [f"long long int {a.words[2]}"]
        if kind in ("vec", "stepv"):
            return self.array(a, is_const)
        if kind == "mats":
            return [f"{self.T} *{name}[]", f"{size} {a.words[2]}"]
        if kind == "spaces":
            one = ["void *bufferOnDevice", "size_t workspaceInBytesOnDevice"]
            return one + (["void *bufferOnHost", "size_t workspaceInBytesOnHost"] if self.prefix == "X" else [])
        if kind == "bytes":
            two = ["size_t *workspaceInBytesOnHost"] if self.prefix == "X" else []
            return (["void *workspace"] if self.is_refined else []) + ["size_t *workspaceInBytesOnDevice"] + two
        index = "int64_t" if self.is_generic else "int"
        return {"mode": [f"int {name}"], "real": [f"{self.R} {name}"], "realp": [f"void *{name}"], "letter": [f"signed char {name}"],
                "itype": [f"cusolverEigType_t {name}"], "pivots": [f"{'const ' if is_const else ''}{index} *{name}"], "meig": [f"{index} *{name}"],
                "info": ["int *info"], "infos": ["int *info"], "work": [f"{self.T} *work", "int lwork"],
                "alone": [f"{self.T} *work"], "lwork": ["int *lwork"], "svdj": ["gesvdjInfo_t params"], "evdj": ["syevjInfo_t params"],
                "params": ["cusolverDnParams_t params"], "compute": ["cudaDataType computeType"], "norms": [f"double *{name}"],
                "zero": [f"double *{name}"], "niters": ["int *niters"], "given": []}[kind]

    def of_buffer(self):
        """(argument, is it constant) of _bufferSize."""
        mine = {a.name: a for a in self.args} | {name: Argument(name) for name in ("lwork", "bytes")}
        seconds = {word for a in self.args if a.kind in ("mat", "steps", "far", "farv", "mats") for word in a.words[2:4]}
        for item in self.buffer.split(" "):
            name = item.lstrip("*")
            if name not in seconds or name in mine:
                yield mine[name], not item.startswith("*")

    def prototype(self):
        parameters = [p for a in self.args for p in self.parameters_of(a, a.is_const)]
        return f"cusolverStatus_t {self.symbol}(cusolverDnHandle_t handle, {', '.join(parameters)})"

    def buffer_prototype(self):
        parameters = [p for a, is_const in self.of_buffer() for p in self.parameters_of(a, is_const)]
        return f"cusolverStatus_t {self.symbol}_bufferSize(cusolverDnHandle_t handle, {', '.join(parameters)})"

    def checks(self, args, of_buffer):
        """What has to be so: sizes, letters and leading dimensions that are in order, and types that go together. Programs
        ask for a workspace with any leading dimension."""
        out, first = [], None
        for a in args:
            if a.kind in ("size", "later", "batch"):
                out.append(f"{a.name} >= 0")
            elif a.kind in LETTER_KINDS:
                out.append(f"{LETTER_KINDS[a.kind][1]}({a.name})")
            elif a.kind == "letter":
                out.append(f"solver_letter({a.name})")
            elif a.kind == "itype":
                out.append(f"{a.name} >= 1 && {a.name} <= 3")
            elif a.kind in ("realp", "meig", "lwork", "niters", "zero"):
                out.append(a.name)
            elif a.kind == "bytes":
                out.append("workspaceInBytesOnDevice" + (" && workspaceInBytesOnHost" if self.prefix == "X" else ""))
            elif a.kind in ("svdj", "evdj"):
                out.append("params")
            rows = a.words[-1]
            if a.kind in ("mat", "mats", "steps", "far") and rows != "-" and not of_buffer:
                out.append(f"{a.words[2]} >= {rows}" if rows.startswith("solver_") else f"{a.words[2]} >= HD_MAX(1, {rows})")
        types = []
        for a in args if self.is_generic else ():
            if a.kind in ("mat", "vec", "steps", "stepv"):
                first = first or a.name
                types.append({"T": f"dataType{a.name} == dataType{first}", "R": f"dataType{a.name} == solver_real(dataType{first})",
                              "W": f"solver_is_kin(dataType{a.name}, dataType{first})"}[a.which] if a.name != first else f"solver_type(dataType{a.name}) >= 0")
            elif a.kind == "compute":
                types.append(f"computeType == dataType{first}")
        return out, types

    def guard(self, args, of_buffer=False):
        checks, types = self.checks(args, of_buffer)
        text = f"    SOLVER_CHECK(handle, {' && '.join(checks)});\n"
        return text + (f"    if (!({' && '.join(types)}))\n        return solver_no_type(__func__);\n" if types else "")

    def buffer_body(self):
        text = f"{self.buffer_prototype()}\n{{\n"
        args = [a for a, _ in self.of_buffer()]
        text += self.guard(args, of_buffer=True)
        out = ["lwork"] if any(a.kind == "lwork" for a in args) else ["workspaceInBytesOnDevice"] + (["workspaceInBytesOnHost"] if self.prefix == "X" else [])
        return text + "".join(f"    *{name} = SOLVER_WORKSPACE;\n" for name in out) + "    return CUSOLVER_STATUS_SUCCESS;\n}\n"

    def packs(self):
        """What packs an argument, by the engine's name."""
        out = {}
        first = next((a.name for a in self.args if a.kind in ("mat", "vec", "steps")), "")
        for a in self.args:
            name, kind = a.name, a.kind
            real = f"solver_size(solver_real(dataType{first}))" if self.is_generic else f"sizeof({self.R})"
            of = real if a.which == "R" else f"solver_size(dataType{first})" if self.is_generic else f"sizeof({self.T})"
            if kind in ("mat", "steps", "far", "mats"):
                out[a.words[2]] = f"lib_call_int(&call.packed, {a.words[2]});"
            if kind == "size":
                out[name] = f"solver_size_arg(&call, {name});"
            elif kind in ("later", "number", "itype", "mode"):
                out[name] = f"lib_call_int(&call.packed, {name});"
            elif kind in LETTER_KINDS:
                out[name] = f"lib_call_char(&call.packed, {LETTER_KINDS[kind][1]}({name}));"
            elif kind == "letter":
                out[name] = f"lib_call_char(&call.packed, (char){name});"
            elif kind == "real":
                out[name] = f"lib_call_real(&call.packed, {name});"
            elif kind == "realp":
                out[name] = f"lib_call_real(&call.packed, solver_value({name}, solver_real(dataType{first})));"
            elif kind in ("mat", "vec"):
                out[name] = f"lib_call_pointer(&call.packed, {name});"
                if a.which == "W":
                    out[name] += f"\n    lib_call_int(&call.packed, solver_type(dataType{name}) >= 2);"
            elif kind == "steps":
                out[name] = f"lib_call_stepped(&call.packed, {name}, (int64_t){a.words[2]} * {a.words[3]} * (int64_t){of});"
            elif kind == "stepv":
                out[name] = f"lib_call_stepped(&call.packed, {name}, (int64_t){a.words[2]} * (int64_t){of});"
            elif kind in ("far", "farv"):
                out[name] = f"lib_call_stepped(&call.packed, {name}, {a.words[-1 if kind == 'farv' else 3]} * (int64_t){of});"
            elif kind == "mats":
                out[name] = f"lib_call_listed(&call.packed, {name});"
            elif kind == "pivots":
                out[name] = f"lib_call_pointer(&call.packed, {name});\n    lib_call_int(&call.packed, sizeof(*{name}));"
            elif kind in ("info", "niters"):
                out[name] = f"lib_call_pointer(&call.packed, {name});"
            elif kind == "meig":
                out[name] = f"lib_call_pointer(&call.packed, range == CUSOLVER_EIG_RANGE_V ? {name} : NULL);\n    lib_call_int(&call.packed, sizeof(*{name}));"
            elif kind == "infos":
                out["info"] = "lib_call_stepped(&call.packed, info, sizeof(*info));"
            elif kind == "norms":
                out[name] = f"lib_call_stepped(&call.packed, {name}, {name} ? sizeof(*{name}) : 0);"
            elif kind in ("svdj", "evdj") and a.which != "0":
                out["residual"] = "lib_call_pointer(&call.packed, solver_residual(params));"
            elif kind == "given":
                value = a.words[2]
                out[name] = f"lib_call_{'int' if value.isdigit() else 'char'}(&call.packed, {value});"
        return out

    def body(self):
        packs, kinds, lines = self.packs(), {a.kind: a for a in self.args}, []
        for parameter in self.parameters:
            name, _, default = parameter.partition("=")
            if name in packs:
                lines.append(packs[name])
            else:
                assert default, f"{self.symbol} has no {name}"
                value = "pointer(&call.packed, NULL)" if default == "NULL" else f"char(&call.packed, {default})" if default[0] == "'" else f"int(&call.packed, {default})"
                lines.append(f"lib_call_{value};")
                if name == "meig":
                    lines.append("lib_call_int(&call.packed, 0);")
        first = next((a.name for a in self.args if a.kind in ("mat", "vec", "steps")), "")
        number = f"KLIB_SOLVE_s{self.engine} + (uint32_t)solver_type(dataType{first})" if self.is_generic else f"KLIB_SOLVE_{self.prefix[0].lower()}{self.engine}"
        text = f"{self.prototype()}\n{{\n    struct solver_call call = {{0}};\n\n"
        text += self.guard(self.args)
        text += f"    call.packed.routine = {number};\n    " + "\n    ".join(lines)
        if "zero" in kinds:
            text += f"\n    *{kinds['zero'].name} = 0;"
        batch = kinds["batch"].name if "batch" in kinds else "1"
        if "meig" in kinds:
            text += "\n    call.waits = range == CUSOLVER_EIG_RANGE_V;"
            text += "\n    if (!call.waits)\n        *meig = range == CUSOLVER_EIG_RANGE_ALL ? n : iu - il + 1;"
        if "norms" in kinds:
            text += f"\n    call.waits = {kinds['norms'].name} != NULL;"
        if "niters" in kinds:
            text += "\n    call.waits = true;"
        return f"{text}\n    return solver_run(handle, &call, {batch});\n}}\n"


def table():
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    engines = {m.group(1): m.group(2).split(" ") for m in ENGINE.finditer(text)}
    found = [Routine(prefix, m.group(2), m.group(3), m.group(4), m.group(5), engines[m.group(3)]) for m in ROW.finditer(text) for prefix in m.group(1).split(" ")]
    assert len(re.findall(r"^(?:ROUTINE|ENGINE)\(", text, re.M)) == len(ROW.findall(text)) + len(engines), "a row of cusolver.def that does not read"
    return found, engines


def header(found):
    text = ["/*", " * The routines of cuSOLVER. Generated by scripts/gen_cusolver.py from spec/api/cusolver.def.", " */",
            "#ifndef HEDDLE_CUSOLVER_FUNCTIONS_H", "#define HEDDLE_CUSOLVER_FUNCTIONS_H", "", "/* clang-format off */"]
    for r in found:
        text += ([wrap(r.buffer_prototype() + ";")] if r.buffer != "-" else []) + [wrap(r.prototype() + ";")]
    return "\n".join(text + ["/* clang-format on */", "", "#endif", ""])


def main():
    found, engines = table()
    if len(sys.argv) == 3:
        what, path = sys.argv[1:]
        if what == "front":
            write(path, "\n".join((r.buffer_body() + "\n" if r.buffer != "-" else "") + r.body() for r in found))
        else:
            names = [letter + name for name in engines for letter in LETTERS]
            write(path, "".join(f"KLIB_SOLVER({name})\n" for name in names))
        return 0
    return settle(HEADER, read(HEADER), header(found), "gen_cusolver.py")


if __name__ == "__main__":
    sys.exit(main())
