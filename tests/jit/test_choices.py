#!/usr/bin/env python3
"""Which code is chosen for kernels whose choice docs/performance.md explains: by what is in the assembly; and of each pass of
spec/gen_passes.def whether it does something where it should, and nothing elsewhere: by what the code generator says.

    test_choices.py COMPILE_PTX

Code is only made, not run, so every path can be looked at on every host.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
sys.path.insert(0, os.path.join(HERE, "../../scripts"))
import gen_passes  # noqa: E402
from support import Tap  # noqa: E402

COMPILE = os.path.abspath(sys.argv[1])
PTX = os.path.join(HERE, "choices.ptx")
tap = Tap()
ok = tap.ok


class Code:
    """The best code of a kernel for a class of blocks."""

    def __init__(self, kernel, path="avx512", blocks="1d_full", ptx=PTX, skip=""):
        args = [COMPILE, "-p", path, "-c", blocks, "-f", "fast", "-b", "-v", "-k", kernel, ptx]
        env = dict(os.environ, HEDDLE_DEBUG="asm", HEDDLE_SKIP_PASS=skip)
        got = subprocess.run(args, env=env, capture_output=True, text=True, timeout=120, check=False)
        self.text = got.stdout + got.stderr
        self.fine = got.returncode == 0
        fired = re.search(rf"^{path} .* {kernel} .* fired (\S+)", self.text, re.MULTILINE)
        self.fired = set(fired[1].split(",")) if fired else set()
        found = re.search(r"warps (\d+)", self.text)
        self.warps = int(found[1]) if found else 0

    def has(self, pattern):
        return self.fine and len(re.findall(pattern, self.text, re.MULTILINE))


def check_atomics():
    for path in "avx512", "avx2":
        ok(Code("atom_near", path).has("cmpxchg16b"), f"neighbours: 16 bytes at a time, {path}")
    apart, generic, shared = Code("atom_apart"), Code("atom_near", "generic"), Code("atom_shared")
    ok(apart.has("cmpxchg") and not apart.has("cmpxchg16b"), "lanes that are apart: one by one", apart.text)
    ok(generic.has("cmpxchg") and not generic.has("cmpxchg16b"), "not on the generic path", generic.text)
    ok(shared.fine and not shared.has(r"^\s+lock"), "none locked in shared memory", shared.text)


def check_full():
    """Stores of words from vector registers, without and with a mask."""
    plain, masked = r"vmov\w+\s+%zmm\d+, [^{\n]*\)$", r"vmov\w+\s+%zmm\d+, .*\) {%k"
    index, data = Code("full_by_index"), Code("full_by_data")
    ok(index.has(plain) and index.has(masked), "lanes by their index: with a version without masks", index.text)
    ok(data.has(masked) and not data.has(plain), "lanes by what they loaded: one version", data.text)
    bits = Code("full_by_bits")
    ok(bits.has(masked) and not bits.has(plain), "lanes by a bit of their number: one version", bits.text)


def check_turns():
    least = r"vpminsd\s"
    each, some = Code("turn_all", blocks="1d_full"), Code("turn_some", blocks="1d_full")
    ok(each.has(least) == 4, "what each turn computes: with a version without masks", each.text)
    ok(some.has(least) == 2, "what some turns compute: one version", some.text)


def check_jam():
    chain, reads = (Code(kernel, blocks="1d_pairs") for kernel in ("jam_chain", "jam_reads"))
    ok(chain.warps == 2, "a chain of operations: two warps at once", f"{chain.warps}\n{chain.text}")
    through, full = (Code(kernel, blocks="1d_pairs") for kernel in ("jam_through", "jam_full"))
    ok(through.warps == 2, "values that only live through the loop do not count", f"{through.warps}\n{through.text}")
    ok(full.warps == 1, "values that it needs do", f"{full.warps}\n{full.text}")
    ok(reads.warps == 1, "a loop of loads: one", f"{reads.warps}\n{reads.text}")


def check_table():
    known, beyond = Code("table_known"), Code("table_beyond")
    ok(known.has(r"vperm\w*\s") and not known.has("gather"), "words of a table: permuted", known.text)
    ok(beyond.has("gather"), "words behind its end: gathered", beyond.text)
    narrow = Code("table_beyond", "avx2")
    ok(narrow.fine and not narrow.has("vpermd"), "more words than a vector: not permuted, avx2", narrow.text)


def check_reach():
    """Rows without lanes take the address of one with lanes (selects of 64 bits)."""
    several, one = Code("jam_rows", blocks="x16_pairs"), Code("jam_rows", blocks="x16_full")
    pick = r"cmovn?eq\s"
    ok(several.has(pick) >= 6, "several warps: rows without lanes read where others do", several.text)
    ok(one.fine and not one.has(pick), "one warp: each half its own", one.text)


def many_values(file, turn, n):
    """A loop over `turn` of each of `n` values that lanes keep, which ends with a minimum."""
    lines = [".version 8.0", ".target sm_80", ".address_size 64", ".visible .entry many(.param .u64 p, .param .u32 n)",
             "{ .reg .b64 %d<4>; .reg .b32 %r<6>, %v<32>, %s<32>; .reg .pred %p;",
             "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, 0;"]
    lines += [f"mul.lo.u32 %v{i}, %r2, {7 + 2 * i}; xor.b32 %s{i}, %v{i}, {i + 1};" for i in range(n)]
    lines += ["LOOP:"] + [turn.format(i=i) for i in range(n)]
    lines += ["min.s32 %s0, %s0, 77; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra LOOP;"]
    lines += [f"xor.b32 %s0, %s0, %s{i};" for i in range(1, n)]
    lines += ["mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %s0; ret; }", ""]
    file.write("\n".join(lines))
    file.flush()


def check_halves():
    apart, chain = "mad.lo.u32 %s{i}, %s{i}, %r3, %v{i};", "add.u32 %s0, %s0, %s{i}; mul.lo.u32 %s0, %s0, %s0;"
    cases = ((apart, 20, 1, "20 sums side by side: half a warp"), (chain, 20, 2, "20 in one chain: a warp"),
             (apart, 32, 2, "32, which half a warp has no room for either: a warp"))
    for turn, n, least, name in cases:
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            many_values(file, turn, n)
            code = Code("many", ptx=file.name)
        ok(code.has(r"vpminsd\s") == least, f"more values than registers: {name} at a time", code.text)


def check_stream():
    past = r"vmovnt\w+\s+%zmm"
    for kernel in "stream_once", "stream_rows":
        code = Code(kernel)
        ok(code.has(past), f"lines that are only written: past the caches ({kernel})", code.text)
    for kernel in "stream_again", "stream_near", "stream_read":
        code = Code(kernel)
        ok(code.fine and not code.has(past), f"{kernel}: not", code.text)


def check_fences():
    every, acq_rel = Code("fence_all"), Code("fence_acq_rel")
    ok(every.has(r"lock\s+orl") and not every.has("mfence"), "membar: an operation with a lock prefix", every.text)
    ok(acq_rel.fine and not acq_rel.has(r"^\s+(lock|mfence)\s"), "fence.acq_rel: nothing but the host's own order",
       acq_rel.text)


def check_order():
    """Blocks begin in the order of their numbers."""
    before, own, other = Code("order_before"), Code("order_own"), Code("order_other")
    ok("in order" in before.text, "loads of what another thread may have stored: blocks in order", before.text)
    ok(own.fine and "in order" not in own.text, "of what it stores itself: not", own.text)
    ok(other.fine and "in order" not in other.text, "by another pointer: not", other.text)


def check_range():
    rest = Code("range_rest")
    ok(rest.fine and not rest.has("jit_rt_eval"), "which way was taken is not computed again", rest.text)


def check_copies():
    call, line = "jit_rt_pieces", r"vmov\w+\s+%zmm\d+, \d*\(%(?!rsp)\w+\)$"
    for path in "avx512", "avx2":
        rows = Code("copy_rows", path)
        ok(rows.fine and not rows.has(call), f"rows of four pieces: copied in line, {path}", rows.text)
    rows = Code("copy_rows")
    ok(rows.has(line) == 8, "a vector for each four pieces, without a mask", rows.text)
    ok(Code("copy_apart").has(call), "pieces that are apart: by a call")


def check_pieces():
    piece = r"(mov\w+\s+%xmm\d+|vextract\w+\s+\$\d, %[yz]mm\d+), [^,\n]*\("
    for path in "avx512", "avx2", "generic":
        code = Code("pieces_apart", path)
        ok(code.has(piece) >= 32, f"16 bytes of each lane at a time, {path}", code.text)


def check_windows():
    many, few = Code("slide_many"), Code("slide_few")
    ok(many.has("valignd") >= 8, "windows that slide: half of them made of others", many.text)
    ok(few.fine and not few.has("valignd"), "a few: loaded", few.text)


def body_of(code, name):
    return re.search(rf"^{name}:(.*?)^\.Lfunc_end", code.text, re.MULTILINE | re.DOTALL)


def check_cold():
    """What is hardly ever run is called, registers stay as they are; upper halves are not cleared there."""
    for path in "avx2", "generic":
        code = Code("cold_sides", path)
        calls = [code.has(rf"call\w*\s+heddle_{what}_32_cold") for what in ("gather", "scatter")]
        ok(min(calls) >= 8, f"the sides of guesses that hardly ever run are calls, {path}", code.text)
    body = body_of(Code("cold_sides", "avx2"), "heddle_gather_32_cold")
    ok(body and "ymm" in body[1] and "vzeroupper" not in body[1], "which leave the upper halves of registers alone",
       body[1] if body else "")
    code = Code("long_chase", "avx2")
    body = body_of(code, "heddle_gather_32")
    ok(body and code.has(r"call\w*\s+heddle_gather_32$") and not re.search(r"%ymm\d+, -?\d*\(%r[sb]p\)", body[1]),
       "gathers beyond a limit are calls that save no registers", code.text)


def check_whole_sum():
    code, plain = Code("whole_sum", "avx2"), Code("whole_sum", "avx512")
    ok(code.fine and not code.has("vcvtps2pd"), "expf()'s sum that is rounded down: in f32", code.text)
    ok(plain.has(r"\{rd-sae\}"), "with AVX-512 as it is", plain.text)


# A kernel in which the pass does nothing, where it might be thought to.
QUIET = {
    "gen_rejoin": "wait_store", "gen_regions": "wait_store", "gen_coarsen": "jam_full avx512 1d_pairs", "gen_halves": "jam_chain",
    "gen_sums": "products_one", "gen_lane_serial": "long_chase", "gen_tuples": "tuples_unlike", "gen_bound": "once_all",
    "gen_phi_slots": "once_all", "gen_unroll": "tree_near avx2", "gen_full": "full_by_bits", "gen_whole": "full_by_data",
    "gen_once": "once_own", "gen_pieces": "pieces_apart", "gen_quads": "copy_rows", "gen_table": "table_beyond",
    "gen_pattern": "once_all", "gen_range": "full_by_index", "gen_guess": "long_chase", "gen_line": "long_chase",
    "gen_strided": "copy_rows", "gen_nontemporal": "stream_near", "gen_prefetch": "stream_once", "gen_rows": "copy_apart",
    "gen_atoms": "atom_apart", "gen_products": "copy_rows", "gen_store_forward": "tree_far", "gen_prefix": "once_all",
    "gen_scalar_gather": "tree_near", "gen_window": "slide_few",
}


def check_pass(a_pass, seen):
    """One row: `seen` gets what did something together."""
    where = list(a_pass.shows)
    ok(where, f"{a_pass.name}: a kernel shows it")
    if not where:
        return
    code, without = Code(*where), Code(*where, skip=a_pass.name)
    ok(code.fine and a_pass.name in code.fired, f"{a_pass.name}: does something in {where[0]}", code.text)
    ok(without.fine and a_pass.name not in without.fired, f"{a_pass.name}: can be left out", without.text)
    for other in a_pass.requires:
        without = Code(*where, skip=other)
        ok(without.fine and a_pass.name not in without.fired, f"{a_pass.name}: requires {other}", without.text)
    quiet = Code(*QUIET[a_pass.name].split())
    ok(quiet.fine and a_pass.name not in quiet.fired, f"{a_pass.name}: nothing in {QUIET[a_pass.name]}", quiet.text)
    seen += [(where[0], code.fired), (QUIET[a_pass.name], quiet.fired)]


def check_passes():
    with open(gen_passes.TABLE, encoding="utf-8") as file:
        text = file.read()
    rows, seen = gen_passes.passes(text), []
    ok({row.name for row in rows} == set(QUIET), "each pass has a kernel in which it does nothing")
    for row in rows:
        check_pass(row, seen)
    for blocks in "1d_pairs", "1d_quads", "x16_pairs", "1d":
        seen += [(f"{row.shows[0]} {blocks}", Code(row.shows[0], blocks=blocks).fired) for row in rows if row.excludes and row.shows]
    for row in rows:
        both = [(where, other) for where, fired in seen for other in row.excludes if {row.name, other} <= fired]
        ok(not both, f"{row.name}: never with what it excludes", both)
    for former, of in gen_passes.former_names(text):
        row = next(row for row in rows if row.id == of)
        code = Code(*row.shows, skip=former)
        ok(code.fine and row.name not in code.fired, f"{former} is understood as {row.name}", code.text)


def main():
    check_passes()
    check_atomics()
    check_full()
    check_turns()
    check_jam()
    check_reach()
    check_table()
    check_halves()
    check_stream()
    check_fences()
    check_order()
    check_range()
    check_copies()
    check_pieces()
    check_windows()
    check_cold()
    check_whole_sum()
    tap.done()


main()
