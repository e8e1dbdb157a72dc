"""Each kernel beside what the machine could do at best: the time in which its bytes can be read and written, or its
operations be done, measured in turns with it by floor/floor.c."""
import kernels

from .common import Table, geomean, median, missing, progress, ratio, why_failed

NAME, TITLE = "floor", "Kernels beside the machine's floor"
BUILDS = ["floor"]

# What of a kernel's work, as its program counts it (bytes, or operations), must be done whatever way it is written:
#     ("bytes", read, written[, "-u"])    shares of the bytes that are read and written; -u: in place
#     ("fma",) or ("int",)                operations, two to a multiply-add
# None of the bytes come from a cache, unless all of them fit one.
NEEDS = {
    "vecadd": ("bytes", 2 / 3, 1 / 3), "saxpy": ("bytes", 2 / 3, 1 / 3, "-u"), "reduce": ("bytes", 1, 0),
    "scan": ("bytes", 1 / 2, 1 / 2), "transpose": ("bytes", 1 / 2, 1 / 2), "stencil2d": ("bytes", 1 / 2, 1 / 2),
    "histogram": ("bytes", 1, 0), "bitonic": ("bytes", 1 / 2, 1 / 2, "-u"), "blackscholes": ("bytes", 3 / 5, 2 / 5),
    "spmv": ("bytes", 0.95, 0.05), "softmax": ("bytes", 1 / 2, 1 / 2), "layernorm": ("bytes", 1 / 2, 1 / 2),
    "sgemm_naive": ("fma",), "sgemm_tiled16": ("fma",), "sgemm_tiled32": ("fma",), "sgemm_reg": ("fma",),
    "conv1d": ("fma",), "nbody": ("fma",), "mandelbrot": ("fma",), "md5": ("int",),
    "lookback": ("bytes", 1 / 2, 1 / 2), "radixsort": ("bytes", 1 / 2, 1 / 2), "topk": ("bytes", 1, 0),
    "philox": ("bytes", 0, 1), "bfs": ("bytes", 1, 0), "sptrsv": ("bytes", 0.95, 0.05),
    "rmsnorm_rope": ("bytes", 1 / 2, 1 / 2), "fft": ("fma",), "grouped_gemm": ("fma",), "conv2d": ("fma",),
    "flash_attention": ("fma",), "int4_gemm": ("fma",),
}
FORMULA = {"bytes": "(read + written bytes) / streaming rate of such a mix", "fma": "operations / multiply-add rate",
           "int": "operations / rate of additions, logic and rotations"}


def number(result, field=1):
    fields = result[1].strip().split(",")
    return float(fields[field]) if result[0] == 0 and len(fields) > field else None


def floor_ms(bench, program, needs, work, threads):
    """Milliseconds in which the machine could do `work`, now."""
    if needs[0] != "bytes":
        rate = number(bench.run_host(program, [needs[0]], threads))
        return work / rate * 1e-6 if rate else None
    sizes = [str(int(work * share)) for share in needs[1:3]]
    return number(bench.run_host(program, sizes + list(needs[3:]), threads))


def kernel_ms(bench, name, threads):
    """(milliseconds of the fastest run, as the floor's, work)"""
    size = kernels.quick_args(name) if bench.quick else []
    program = bench.setup.program(bench.flavour, name)
    result = bench.run_cuda(program, size + ["-n", "-v", "-r", "5" if bench.quick else "11"], threads)
    fields = kernels.result_line(name, result[1])
    if not fields:
        return None, why_failed(result)
    return float(fields[4]), float(fields[2]) * float(fields[1]) * 1e6


def measure_all(bench, program):
    """{kernel: {threads: {"ms": [], "floor_ms": []}}}"""
    times = {n: {t: {"ms": [], "floor_ms": []} for t in (1, 2)} for n in bench.names if n in NEEDS}
    for r in range(bench.rounds):
        for n, row in times.items():
            for threads, cell in row.items():
                progress(f"floor, round {r + 1} of {bench.rounds}: {n}, {threads} threads")
                ms, work = kernel_ms(bench, n, threads)
                floor = ms and floor_ms(bench, program, NEEDS[n], work, threads)
                if floor:
                    cell["ms"].append(ms)
                    cell["floor_ms"].append(floor)
    return times


def measure(bench):
    program = bench.built("floor")
    if not program or not bench.heddle():
        return [missing(TITLE, "bench/out/floor is not built (clang with OpenMP)")]
    times = measure_all(bench, program)
    table = Table(TITLE, ["kernel", "needs", "ms 1T", "floor 1T", "floor/ours 1T", "ms 2T", "floor 2T",
                          "floor/ours 2T"], times)
    shares = {1: [], 2: []}
    for n, row in times.items():
        cells = [n, NEEDS[n][0]]
        for threads, cell in row.items():
            ms, floor = median(cell["ms"]), median(cell["floor_ms"])
            cells += [ms, floor, ratio(floor, ms)]
            shares[threads] += [floor / ms] if ms and floor else []
        table.add(*cells)
    table.add("geometric mean", "", "", "", geomean(shares[1]), "", "", geomean(shares[2]))
    table.notes += [f"floor of {need}: {formula}" for need, formula in FORMULA.items()]
    unknown = [n for n in bench.names if n not in NEEDS]
    if unknown:
        table.notes.append("no floor is known of: " + ", ".join(unknown))
    return [table]
