#!/usr/bin/env python3
"""Makes what derives from the tables of CUPTI's numbers, spec/api/cupti_*.def and nvtx.def, and of entry points.

    gen_cupti.py            the headers that are kept in include/cuda: cupti_*_cbid.h, generated_cuda*_meta.h;
                            --check only compares
    gen_cupti.py cbids OUT  at build time: the number of each entry point
"""
import os
import re
import sys

import gen_api
from generated import settle

ROOT = gen_api.ROOT
INCLUDE = os.path.join(ROOT, "include/cuda")


def numbers(api):
    """[(number, name)] of a domain."""
    with open(os.path.join(ROOT, f"spec/api/cupti_{api}.def"), encoding="utf-8") as file:
        return [(int(number), name) for number, name in re.findall(r"^X\((\d+), (\w+)\)", file.read(), re.M)]


# ---- which number an entry point has

def versions():
    """{name of a runtime function: [(version, number, name with the version)]}, oldest first."""
    found = {}
    for number, name in numbers("runtime"):
        base, version = re.fullmatch(r"(\w+)_v(\d+)", name).groups()
        found.setdefault(base, []).append((int(version), number, name))
    return {base: sorted(list_) for base, list_ in found.items()}


def split_symbol(symbol):
    """cudaMemAdvise_v2_ptsz -> cudaMemAdvise_ptsz, 2"""
    match = re.fullmatch(r"(\w+?)(?:_v(\d))?(_pt[sd][sz])?", symbol)
    return match[1] + (match[3] or ""), int(match[2] or 1)


def runtime_number(entry, symbol, known, symbols):
    """(number, name); None: CUPTI has none. Several versions of a name are several functions: the table has the
    older one for 12 or beside a _v2, the newer one for 13 or as _v2."""
    if symbol in known and len(known[symbol]) == 1:
        return known[symbol][0][1:]
    base, version = split_symbol(symbol)
    found = known.get(symbol) or known.get(base)
    if not found:
        return None
    is_old = version == 1 and (entry.nodes == "V12" or (entry.nodes == "BOTH" and f"{symbol}_v2" in symbols))
    return found[0 if is_old else -1][1:]


def entry_numbers(api, table):
    """[(entry, symbol, number, name)]"""
    if api == "driver":
        known = {name: number for number, name in numbers("driver")}
        return [(e, s, known.get(s, 0), s) for e in table for s, _ in gen_api.symbols(e)]
    known = versions()
    symbols = {s for e in table for s, _ in gen_api.symbols(e)}
    out = []
    for entry in table:
        for symbol, _ in gen_api.symbols(entry):
            out.append((entry, symbol, *(runtime_number(entry, symbol, known, symbols) or (0, symbol))))
    return out


def cbids():
    out = ["/* Made by scripts/gen_cupti.py: CUPTI's number of an entry point, by heddle_entry.id. */"]
    for api in ("driver", "runtime"):
        out.append(f"static const uint16_t {api}_numbers[] = {{")
        out += [f"    {number}, /* {symbol} */" for _, symbol, number, _ in entry_numbers(api, gen_api.READ[api]())]
        out.append("};")
    return "\n".join(out) + "\n"


def names():
    out = ["/* Made by scripts/gen_cupti.py: X(entry point of the runtime, its name with CUPTI's version). */"]
    out += [f"X({symbol}, {name})" for _, symbol, number, name in entry_numbers("runtime", gen_api.READ["runtime"]())
            if number]
    return "\n".join(out) + "\n"


# ---- headers

# Functions of CUDA before 3.2, whose types no header has any more.
OLD_TYPE = re.compile(r"\b(CUDA_ARRAY3D_DESCRIPTOR|CUDA_ARRAY_DESCRIPTOR|CUdeviceptr|CUDA_MEMCPY[23]D)_v1\b")


def page(name, title, body):
    guard = "HEDDLE_CUDA_" + name.upper().replace(".", "_")
    return "\n".join([f"/* {title} Made by scripts/gen_cupti.py. */", "/* clang-format off */",
                      f"#ifndef {guard}", f"#define {guard}", "", *body, "", "/* clang-format on */", "#endif"]) + "\n"


def cbid_page(api):
    prefix = f"CUPTI_{api.upper()}_TRACE_CBID_"
    rows = numbers(api)
    body = ["typedef enum {", f"    {prefix}INVALID = 0,", *(f"    {prefix}{name} = {number}," for number, name in rows),
            f"    {prefix}SIZE = {rows[-1][0] + 1},", f"    {prefix}FORCE_INT = 0x7fffffff",
            f"}} CUpti_{api}_api_trace_cbid;"]
    return page(f"cupti_{api}_cbid.h", f"CUPTI: numbers of the {api} API's functions, for callbacks and records.", body)


def nvtx_page():
    with open(os.path.join(ROOT, "spec/api/nvtx.def"), encoding="utf-8") as file:
        rows = re.findall(r"^X\(\w+, \d+, (\d+), (\w+)\)", file.read(), re.M)
    rows = sorted((int(number), name) for number, name in rows if int(number))
    prefix = "CUPTI_CBID_NVTX_"
    body = ["typedef enum {", f"    {prefix}INVALID = 0,",
            *(f"    {prefix}nvtx{name} = {number}," for number, name in rows),
            f"    {prefix}SIZE = {rows[-1][0] + 1},", f"    {prefix}FORCE_INT = 0x7fffffff", "} CUpti_nvtx_api_trace_cbid;"]
    return page("cupti_nvtx_cbid.h", "CUPTI: numbers of NVTX's functions, for callbacks.", body)


def params_page(api, name, includes):
    table = [e for e in gen_api.READ[api]() if e.nodes != "V12" and not gen_api.NOT_PUBLIC.search(e.symbol)
             and not any(OLD_TYPE.search(p.type) for p in e.params)]
    body = [*(f"#include {i}" for i in includes), ""]
    for entry, _, _, struct in entry_numbers(api, table):
        members = [f"    {gen_api.declare(p)};" for p in entry.params] or ["    char none;"]
        body += [f"typedef struct {struct}_params_st {{", *members, f"}} {struct}_params;"]
    return page(name, f"CUPTI: what functionParams of callbacks around the {api} API's functions points to.", body)


PAGES = {
    "cupti_driver_cbid.h": lambda: cbid_page("driver"),
    "cupti_runtime_cbid.h": lambda: cbid_page("runtime"),
    "cupti_nvtx_cbid.h": nvtx_page,
    "generated_cuda_meta.h": lambda: params_page("driver", "generated_cuda_meta.h", ["<cuda.h>"]),
    "generated_cuda_runtime_api_meta.h":
        lambda: params_page("runtime", "generated_cuda_runtime_api_meta.h", ["<cuda_runtime_api.h>"]),
}


def main():
    if sys.argv[1:2] in (["cbids"], ["names"]):
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(cbids() if sys.argv[1] == "cbids" else names())
        return 0
    status = 0
    for name, make in PAGES.items():
        path = os.path.join(INCLUDE, name)
        have = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                have = file.read()
        status |= settle(path, have, make(), "gen_cupti.py")
    return status


if __name__ == "__main__":
    sys.exit(main())
