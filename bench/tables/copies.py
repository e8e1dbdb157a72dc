"""Copies and fills on the device beside the C library's memcpy() and memset()."""
from .common import JUDGED, Table, judged, median, missing, progress

NAME, TITLE = "copies", "Copies and fills on the device beside memcpy() and memset(), GB/s"

LARGE_B = 8 << 20


def target(size_B):
    """Of the rate of the C library."""
    return 1.5 if size_B >= LARGE_B else 1.0


def sized(size_B):
    return f"{size_B >> 20} MiB" if size_B >= 1 << 20 else f"{size_B >> 10} KiB"


def measure_all(bench, program):
    """{(what, size): {threads: [(device, C)]}}, and what was wrong"""
    rates, bad = {}, []
    for r in range(1 if bench.quick else max(bench.rounds // 2, 1)):
        for threads in (1, 2):
            progress(f"copies, round {r + 1}: {threads} threads")
            result = bench.run_cuda(program, ["-q"] if bench.quick else [], threads)
            for row in (line.split(",") for line in result[1].splitlines()):
                if len(row) == 5:
                    cell = rates.setdefault((row[0], int(row[1])), {1: [], 2: []})
                    cell[threads].append((float(row[2]), float(row[3])))
                    bad += [] if row[4] == "PASS" else [f"{row[0]} of {row[1]} bytes: {row[4]}"]
    return rates, bad


def measure(bench):
    program = bench.built(bench.flavour, "memory")
    if not program or not bench.heddle():
        return [missing(TITLE, f"bench/out/{bench.flavour}/memory is not built")]
    rates, bad = measure_all(bench, program)
    table = Table(TITLE, ["what", "ours 1T", "C 1T", *JUDGED, "ours 2T", "C beside it"],
                  [{"what": what, "size_B": size_B, "rates": cell} for (what, size_B), cell in rates.items()])
    for (what, size_B), cell in rates.items():
        ours, theirs = [[median([pair[i] for pair in cell[threads]]) for threads in (1, 2)] for i in (0, 1)]
        share = median([pair[0] / pair[1] for pair in cell[1]])
        table.add(f"{what} {sized(size_B)}", ours[0], theirs[0], *judged_share(share, target(size_B)), ours[1],
                  theirs[1])
    table.notes.append("target: of the C library's rate, one thread; a copy counts its bytes once")
    table.notes += bad
    return [table]


def judged_share(share, least):
    limit, _, met = judged(share, least, more_is_better=True)
    return [limit, share, met]
