"""What the tables share: medians, text, targets, and how programs are started."""
import math
import os
import statistics
import sys

import kernels


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def median(values):
    return statistics.median(values) if values else None


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def text(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}" if value < 100 else f"{value:.0f}"


def ratio(over, under):
    return over / under if over and under else None


class Table:
    """Cells are text. `values` is what the JSON file has; the rows are made of it."""

    def __init__(self, title, columns, values=None):
        self.title, self.columns, self.values = title, columns, values if values is not None else {}
        self.rows, self.notes = [], []

    def add(self, *cells):
        self.rows.append([cell if isinstance(cell, str) else text(cell) for cell in cells])

    def plain(self):
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows)]
        lines = [self.title, "=" * len(self.title)]
        for row in [self.columns, ["-" * w for w in widths]] + self.rows:
            cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
            lines.append("  ".join(cells).rstrip())
        return lines + self.notes + [""]

    def markdown(self):
        lines = ["## " + self.title, "", "| " + " | ".join(self.columns) + " |", "|---" * len(self.columns) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return lines + [line for note in self.notes for line in ("", note)] + [""]


def missing(title, why):
    """A table that could not be measured says so."""
    table = Table(title, ["not measured"], {"not measured": why})
    table.add(why)
    return table


def judged(value, target, more_is_better=False):
    """Three cells: the target, value over target, and whether it is met. Nothing fails by it."""
    if target is None or value is None:
        return ["-" if target is None else limit(target, more_is_better), "-", "-"]
    met = value >= target if more_is_better else value <= target
    share = "-" if not target else text(value / target)
    return [limit(target, more_is_better), share, "met" if met else "MISSED"]


JUDGED = ["target", "of target", ""]


def limit(target, more_is_better):
    return (">= " if more_is_better else "<= ") + text(target)


class Bench:
    """What a table needs to know: where things are, and how thorough to be."""

    def __init__(self, setup, flavour, quick, rounds, names):
        self.setup, self.flavour, self.quick, self.rounds, self.names = setup, flavour, quick, rounds, names

    def built(self, *path):
        """A program of bench/out, or None."""
        program = os.path.join(self.setup.out, *path)
        return program if os.path.exists(program) else None

    def heddle(self):
        return self.setup.heddle if os.path.exists(self.setup.heddle) else None

    def run_cuda(self, program, args=(), threads=1, env=None, setup=None):
        """A CUDA program on the CPU device, of another build with `setup`: (status, stdout, stderr)."""
        command = pin(threads) + [(setup or self.setup).heddle, "run", program] + list(args)
        return kernels.run(command, {"HEDDLE_THREADS": str(threads), **(env or {})})

    def run_host(self, program, args=(), threads=1, env=None):
        """A program of the host, with OpenMP."""
        places = ",".join(f"{{{i}}}" for i in range(threads))
        env = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "close", "OMP_PLACES": places, **(env or {})}
        return kernels.run(pin(threads) + [program] + list(args), env)


def pin(cpus):
    return ["taskset", "-c", ",".join(map(str, range(cpus)))]


def lines_of(result, fields):
    """The comma-separated lines of a program's output, by their first field."""
    rows = [line.split(",") for line in result[1].splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) >= fields}


def why_failed(result):
    last = (result[2] or result[1]).strip().splitlines()
    return f"status {result[0]}: {last[-1] if last else 'no output'}"
