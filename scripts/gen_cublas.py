#!/usr/bin/env python3
"""Makes cuBLAS's routines of spec/api/cublas.def.

gen_cublas.py [--check]         the declarations: include/cuda/heddle/cublas_{functions,names}.h
gen_cublas.py front FILE        entry points of libcublas: each checks and packs its arguments
gen_cublas.py engine FILE       the engine's table: each routine as a function of packed arguments
gen_cublas.py ids FILE          their numbers, which both have
"""
import os
import re
import sys

from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = os.path.join(ROOT, "spec/api/cublas.def")
HEADER = os.path.join(ROOT, "include/cuda/heddle/cublas_functions.h")
NAMES = os.path.join(ROOT, "include/cuda/heddle/cublas_names.h")
ROW = re.compile(r'^(DIRECT|OURS|FRONT)\("([^"]*)", (\w+), (\w*), "([^"]*)"\)$|^(BATCH|INNER)\("([^"]*)", (\w+)(?:, (\w+), "([^"]*)")?\)$', re.M)
TYPES = {"S": "float", "D": "double", "C": "cuComplex", "Z": "cuDoubleComplex", "H": "__half", "": "void"}
REAL = {"S": "float", "D": "double", "C": "float", "Z": "double", "H": "__half", "": "void"}
# The letter of the elements: of "Sc" and "Is" it is the second, of "Cs" the first.
LETTER = {"Sc": "C", "Dz": "Z", "Cs": "C", "Zd": "Z", "Is": "S", "Id": "D", "Ic": "C", "Iz": "Z"}
CHARS = {"op": ("cublasOperation_t", "lib_op"), "op_t": ("cublasOperation_t", "lib_op_t"), "op_c": ("cublasOperation_t", "lib_op_c"),
         "side": ("cublasSideMode_t", "lib_side"), "fill": ("cublasFillMode_t", "lib_fill"), "diag": ("cublasDiagType_t", "lib_diag")}


class Routine:
    """One row with one prefix."""

    def __init__(self, kind, prefix, name, suffix, text, routine):
        self.kind, self.prefix, self.name, self.suffix = kind, prefix, name, suffix
        letter = LETTER.get(prefix, prefix)
        self.is_complex = letter in ("C", "Z")
        self.T, self.R = TYPES[letter], REAL[letter]
        self.symbol = f"cublas{prefix}{name}{suffix}"
        self.fortran = prefix.lower() + routine
        self.text = text

    def args(self):
        """(kind, which of T R I, words) of each argument."""
        for item in self.text.split(", "):
            words = item.split(" ")
            kind, _, which = words[0].partition(":")
            yield kind, which or "T", words[1:]

    def type_of(self, which, size):
        return {"T": self.T, "R": self.R, "I": size, "0": ""}[which]

    def parameters(self, size):
        if self.kind == "FRONT":
            return [re.sub(r"\bI\b", size, re.sub(r"\bT\b", self.T, p)) for p in self.text.split(", ")]
        out = []
        for kind, which, words in self.args():
            type_, a = self.type_of(which, size), words[0]
            const = "const " if kind[0].islower() else ""
            kind = kind.lower()
            if kind in ("size", "batch"):
                out.append(f"{size} {a}")
            elif kind in CHARS:
                out.append(f"{CHARS[kind][0]} {a}")
            elif kind in ("in", "in5", "pack"):
                out.append(f"{const}{type_} *{a}")
            elif kind in ("out", "io"):
                out.append(f"{type_} *{a}")
            elif kind in ("pivots", "infos"):
                out.append(f"{const}int *{a}")
            elif kind == "info":
                out.append(f"int *{a}")
            elif kind in ("mats", "vecs", "list"):
                out.append(f"{const}{type_} *const {a}[]")
            elif kind != "only":
                out.append(f"{const}{type_} *{a}")
            if kind in ("vec", "vec1", "mat", "vecs", "mats", "steps", "stepv"):
                out.append(f"{size} {words[1]}")
            if kind in ("steps", "stepv"):
                out.append(f"long long int {words[2]}")
        return out

    def prototype(self, size):
        name = self.symbol + ("_64" if size == "int64_t" else "")
        return f"cublasStatus_t {name}(cublasHandle_t handle, {', '.join(self.parameters(size))})"

    def sizes(self):
        """Without sizes that may be large, or with packed ones, there is no _64."""
        only = self.kind == "BATCH" and ("info" in self.text.lower()) or self.name in ("rotg", "rotmg", "tpttr", "trttp")
        return ["int"] if only else ["int", "int64_t"]

    def body(self, size):
        """Checks that need no memory, then the packed arguments: what the engine's routine is called with."""
        checks, packs, last, batch, info, results, place = [], [], "", "", "", False, 0
        of_vectors = ("copy", "swap", "axpy", "scal", "dot", "dotu", "dotc", "rot", "rotm", "dgmm")  # an increment may be 0
        for kind, which, words in self.args():
            type_, a, low = self.type_of(which, size), words[0], kind.lower()
            place += 1
            if low == "size":
                checks.append((place, f"{a} >= 0"))
                packs.append(f"blas_size(&call, {a});")
            elif low in CHARS:
                arg = f"{CHARS[low][1]}({a}{', ' + str(int(self.is_complex)) if low == 'op_t' else ''})"
                checks.append((place, arg))
                packs.append(f"lib_call_char(&call.packed, {arg});")
            elif low in ("in", "in5"):
                checks.append((place, a))
                packs.append(f"blas_factor(&call, handle, {a}, {5 if low == 'in5' else 1} * sizeof({type_}));")
            elif low in ("out", "io"):
                checks.append((place, a))
                packs.append(f"lib_call_pointer(&call.packed, {a});")
                if which == "I":
                    packs.append(f"lib_call_int(&call.packed, sizeof({size}));")
                results = True
            elif low == "pack":
                packs.append(f"lib_call_pointer(&call.packed, {a});")
            elif low == "pivots":
                packs.append(f"blas_ints(&call, {a}, n);")
            elif low == "infos":
                if which == "T":
                    checks.append((place, a))
                packs.append(f"blas_ints(&call, {a}, 1);")
            elif low == "info":
                info = a
            elif low == "batch":
                checks.append((place, f"{a} >= 0"))
                batch = a
            elif low == "only":
                last += f"    if (!({a}))\n        return CUBLAS_STATUS_NOT_SUPPORTED;\n"
            elif low == "list":
                packs.append(f"lib_call_listed(&call.packed, {a});")
            else:
                function = "listed" if low in ("vecs", "mats") else "stepped" if low in ("steps", "stepv") else "pointer"
                step = f", {words[2]} * (int64_t)sizeof({type_})" if function == "stepped" else ""
                packs += [f"lib_call_{function}(&call.packed, {a}{step});", f"lib_call_int(&call.packed, {words[1]});"]
                place += 1
                if low in ("mat", "mats", "steps"):
                    checks.append((place, f"{words[1]} >= HD_MAX(1, {words[-1]})"))
                elif low != "vec1" and self.name not in of_vectors:
                    checks.append((place, f"{words[1]} != 0"))
                place += function == "stepped"
        text = f"{self.prototype(size)}\n{{\n    struct blas_call call = {{.packed.routine = KLIB_{self.fortran}}};\n\n"
        condition = " && ".join(text for _, text in checks)
        if info:  # the number of the first wrong argument
            numbers = " : ".join(f"!({text}) ? {place}" for place, text in checks)
            text += f"    if (handle && {info})\n        *{info} = -({numbers} : 0);\n"
            condition = f"{info} && {condition}"
        text += f"    BLAS_CHECK(handle, {condition});\n{last}    " + "\n    ".join(packs)
        if batch:
            return f"{text}\n    return blas_run_batch(handle, &call, {batch});\n}}\n"
        return f"{text}\n    return blas_run(handle, &call, {'true' if results else 'false'});\n}}\n"


def routines():
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    found = []
    for m in ROW.finditer(text):
        if m.group(6):
            kind, prefixes, name, suffix, args = m.group(6), m.group(7), m.group(8), "", m.group(10)
        else:
            kind, prefixes, name, suffix, args = m.group(1), m.group(2), m.group(3), m.group(4), m.group(5)
        found += [Routine(kind, p, name, suffix, args, m.group(9) or name) for p in (prefixes.split(" ") if prefixes else [""])]
    rows = len(re.findall(r"^(?:DIRECT|OURS|FRONT|BATCH|INNER)\(", text, re.M))
    assert rows == len(ROW.findall(text)), "a row of cublas.def that does not read"
    return found


def wrap(text, width=100):
    """A declaration on lines of at most `width` columns, after its opening parenthesis as clang-format does."""
    indent = " " * (text.index("(") + 1)
    lines, line = [], ""
    for i, part in enumerate(text.split(", ")):
        piece = part if i == 0 else ", " + part
        if len(line) + len(piece) + 1 > width and line:
            lines.append(line + ",")
            line = indent + part
        else:
            line += piece
    return "\n".join(lines + [line])


def header(all_routines):
    text = ["/*", " * The routines of cuBLAS. Generated by scripts/gen_cublas.py from spec/api/cublas.def.", " */",
            "#ifndef HEDDLE_CUBLAS_FUNCTIONS_H", "#define HEDDLE_CUBLAS_FUNCTIONS_H", "", "/* clang-format off */"]
    halves = [r for r in all_routines if r.prefix == "H"]
    for r in all_routines:
        if r not in halves:
            text += [wrap(r.prototype(size) + ";") for size in r.sizes()]
    text.append("#if defined(__cplusplus) || defined(HEDDLE_HALF_IS_RAW)")
    for r in halves:
        text += [wrap(r.prototype(size) + ";") for size in r.sizes()]
    return "\n".join(text + ["#endif", "/* clang-format on */", "", "#endif", ""])


def names(all_routines):
    text = ["/*", " * The names that programs write, of functions with a second version. Generated by",
            " * scripts/gen_cublas.py from spec/api/cublas.def.", " */",
            "#ifndef HEDDLE_CUBLAS_NAMES_H", "#define HEDDLE_CUBLAS_NAMES_H", "", "/* clang-format off */"]
    for r in all_routines:
        if r.suffix:
            text += [f"#define cublas{r.prefix}{r.name}{end} {r.symbol}{end}" for end in ("", "_64")[:len(r.sizes())]]
    return "\n".join(text + ["/* clang-format on */", "", "#endif", ""])


def engine(mine):
    text = []
    for r in mine:
        if r.kind == "DIRECT":
            n = sum(1 if k in ("size", "in", "in5", "io", "pack", "Pack") or k in CHARS else 2 for k, _, _ in r.args())
            text.append(f"void {r.fortran}_({', '.join(['void *'] * n)});\nstatic void direct_{r.fortran}(void *const *p)\n{{\n"
                        f"    {r.fortran}_({', '.join(f'p[{i}]' for i in range(n))});\n}}")
        else:
            text.append(f"void klib_{r.fortran}(void *const *p);")
    text += ["", "const struct klib_routine klib_routines[KLIB_ROUTINES] = {"]
    for r in mine:
        function = f"direct_{r.fortran}" if r.kind == "DIRECT" else f"klib_{r.fortran}"
        text.append(f'    [KLIB_{r.fortran}] = {{"{r.fortran}", {function}}},')
    return "\n".join(text + ["};", ""])


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    found = routines()
    packed = [r for r in found if r.kind in ("DIRECT", "OURS", "BATCH")]
    of_engine = [r for r in found if r.kind in ("DIRECT", "OURS", "INNER")]
    found = [r for r in found if r.kind != "INNER"]
    if len(sys.argv) == 3:
        what, path = sys.argv[1:]
        if what == "front":
            write(path, "\n".join(r.body(size) for r in packed for size in r.sizes()))
        elif what == "ids":
            write(path, "".join(f"    KLIB_{r.fortran},\n" for r in of_engine))
        else:
            write(path, engine(of_engine))
        return 0
    return max(settle(path, read(path), text, "gen_cublas.py") for path, text in ((HEADER, header(found)), (NAMES, names(found))))


if __name__ == "__main__":
    sys.exit(main())
