"""Matrix products and fused attention by mma.sync, one thread, beside oneDNN and a loop of plain multiply-adds."""
from .common import Table, geomean, lines_of, median, missing, progress, ratio, text

NAME, TITLE = "matrices", "Matrix products of n 1024 by mma.sync, one thread, GF/s (s8: Gop/s)"
ATTENTION = "Attention by mma.sync, 2048 queries and keys, 4 heads, bf16, one thread, GF/s"
BUILDS = ["tensor"]

# A type's program lines: ours, and oneDNN's; it has no f16 on most CPUs, and f32 where we have tf32.
PRODUCTS = {"bf16": ("gemm bf16", "onednn bf16"), "f16": ("gemm f16", None), "tf32": ("gemm tf32", "onednn f32"),
            "s8": ("gemm s8", "onednn s8")}
HEADS = {"d 64": ("attention d64", "onednn attention d64"), "d 128": ("attention d128", "onednn attention d128")}
WAIT = {"HEDDLE_DEBUG": "sync"}  # for the best code, which large kernels get in the background
NO_ONEDNN = "no oneDNN: bench/out/tensor/onednn is not built (Debian's libdnnl-dev 2.x)"


class Rates:
    """GF/s of every line of the programs, in turns; verdicts that are wrong."""

    def __init__(self):
        self.rates, self.bad = {}, []

    def take(self, result):
        for name, fields in lines_of(result, 2).items():
            if fields[-1] in ("FAIL", "SKIP", "PASS") and (fields[-1] == "FAIL" or not fields[1]):
                self.bad.append(f"{name}: {fields[-1]}")
            elif fields[1:] or name == "plain":
                self.rates.setdefault(name, []).append(float(fields[1] if fields[1:] else fields[0]))
        if result[0] and not result[1]:
            self.bad.append((result[2].strip().splitlines() or ["failed"])[-1])

    def of(self, name):
        return median(self.rates.get(name, []))


def products(bench, rates, rounds):
    reps = ["-r", "3", "-w", "3"] if bench.quick else ["-r", "7", "-w", "5"]
    onednn = bench.built("tensor", "onednn")
    for r in range(rounds):
        progress(f"matrix products, round {r + 1} of {rounds}")
        check = [] if r == 0 else ["-n"]
        rates.take(bench.run_cuda(bench.built("tensor", "gemm"), reps + check, env=WAIT))
        if onednn:
            rates.take(bench.run_host(onednn, reps))
        if bench.built("tensor", "plain"):
            rates.take(bench.run_cuda(bench.built("tensor", "plain"), ["-q"]))


def products_table(bench):
    rates = Rates()
    products(bench, rates, 1 if bench.quick else bench.rounds)
    plain, shares = rates.of("plain"), []
    table = Table(TITLE, ["type", "ours", "oneDNN", "ours/oneDNN", "plain loop", "ours/plain"], rates.rates)
    for kind, (ours, theirs) in PRODUCTS.items():
        share = ratio(rates.of(ours), rates.of(theirs))
        shares += [share] if share else []
        table.add(kind, rates.of(ours), rates.of(theirs), share, plain, ratio(rates.of(ours), plain))
    table.add("geometric mean", "", "", geomean(shares), "", "")
    table.notes.append("tf32 stands beside oneDNN's f32")
    packed = [f"{name} {text(rates.of(name))}" for name in ("onednn bf16 packed", "onednn s8 packed") if rates.of(name)]
    if packed:
        table.notes.append("b packed beforehand: " + ", ".join(packed))
    return finish(bench, table, rates)


def attention_table(bench):
    rates = Rates()
    reps = ["-r", "1", "-w", "1"] if bench.quick else ["-r", "3", "-w", "5"]
    onednn = bench.built("tensor", "onednn")
    for r in range(1 if bench.quick else bench.rounds):
        progress(f"attention, round {r + 1}")
        check = [] if r == 0 else ["-n"]
        rates.take(bench.run_cuda(bench.built("tensor", "attention"), reps + check, env=WAIT))
        if onednn:
            rates.take(bench.run_host(onednn, ["attention"] + reps + check))
    table = Table(ATTENTION, ["head", "ours", "oneDNN", "ours/oneDNN"], rates.rates)
    for head, (ours, theirs) in HEADS.items():
        table.add(head, rates.of(ours), rates.of(theirs), ratio(rates.of(ours), rates.of(theirs)))
    table.notes.append("oneDNN: a product, a softmax and a product of each head; "
                       "4 operations for a query, key and element")
    return finish(bench, table, rates)


def finish(bench, table, rates):
    if not bench.built("tensor", "onednn"):
        table.notes.append(NO_ONEDNN)
    table.notes += sorted(set(rates.bad))
    return table


def measure(bench):
    if not bench.heddle() or not bench.built("tensor", "gemm") or not bench.built("tensor", "attention"):
        return [missing(TITLE, "bench/out/tensor is not built")]
    return [products_table(bench), attention_table(bench)]
