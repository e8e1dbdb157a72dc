"""The text of docs/isa-rationale.md around the numbers of isa_rationale.py."""

HEAD = """# Why our instruction set is as it is

Each decision stands with what else could have been done, and numbers from programs that our compiler made code of: {programs} programs, {kernels} kernels, {instructions} instructions. They are the 32 kernels of `bench/cuda` and the programs of
`examples`. A share counts an instruction ten times for each loop around it, and each program as much as any other. *Cycles* are the static estimate of [codegen.md](codegen.md#what-code-costs). Costs are geometric means of code with less over code with all that there is.

`bench/isa_rationale.py --write` makes this page, in about two minutes; `--json FILE` has all numbers. `HEDDLE_CODEGEN` ([codegen.md](codegen.md#settings)) asks the same of any program. [isa.md](isa.md) has the encoding.
"""


def percent(share):
    return f"{100 * share:.1f} %" if share < 0.9995 else "100 %"


def times(ratio):
    return "-" if ratio is None else f"{ratio:.3f}"


def table(columns, rows):
    return "\n".join(["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"] + ["| " + " | ".join(map(str, r)) + " |" for r in rows])


def section(title, decision, alternatives, *rest):
    return "\n\n".join([f"## {title}", f"**Decision.** {decision}", f"**Alternatives.** {alternatives}", *rest])


def distribution(what, most, whom="kernels"):
    return table([f"{what} that are used", *map(str, most)], [[whom, *most.values()]])


def up_to(most, n):
    return sum(count for used, count in most.items() if int(used) <= n)


def costs(n, limit, columns):
    """A row for each number that was tried."""
    rows = []
    for name, cost in n["less"].items():
        if name.startswith(limit + "="):
            rows.append([name.split("=")[1], *[cell(cost) for _, cell in columns]])
    return table([limit, *[title for title, _ in columns]], rows)


CHANGED = ("kernels that change", lambda c: f"{c['changed']} of {c['kernels']}")
CYCLES = ("cycles", lambda c: times(c["cycles"]))
WORST = ("cycles of the worst kernel", lambda c: times(c["worst"]))
WAITS = ("instructions that wait", lambda c: times(c["waits"]))
EXECUTED = ("instructions executed", lambda c: times(c["instructions"]))
REGISTERS = ("registers", lambda c: times(c["registers"]))
SPILLED = ("spilled bytes", lambda c: c["spilled_B"])
SPILLING = ("kernels that spill", lambda c: c["spilling"])
REFUSED = ("programs that do not compile", lambda c: c["refused"])


def dependence_counters(n):
    one_less = n["less"]["counters=5"]
    shares = table(["counters that are up", *map(str, n["counters"])], [["instructions", *map(percent, n["counters"].values())]])
    return section(
        "Dependence counters: six",
        "A result of variable latency raises one of six counters; a field of three bits names it, and each instruction has a mask of six bits for those that it waits for.",
        "Fewer make the mask shorter, by a bit each. Eight would need two bits more in the mask, and a way to name none in the fields of three bits, which six and seven are there for today.",
        "How many stand for something when an instruction is issued:", shares, "The most at once, by kernel:", distribution("counters", n["counters_most"]),
        f"With one fewer, results share a counter sooner, and whoever waits for one waits for the others. Five cost {times(one_less['cycles'])} in cycles, {times(one_less['worst'])} in the worst kernel. "
        "Waits become fewer as counters are shared, and longer:",
        costs(n, "counters", [CHANGED, WAITS, CYCLES, WORST]),
        "Orders that bring loads further away from their use keep more of them up.")


def predicates(n):
    one_less = n["less"]["predicates=6"]
    return section(
        "Predicates: seven, and one that is true",
        "A predicate is three bits. The guard has one, and up to five operands of a comparison or a carry.",
        "Three and a true one would save a bit in each of those fields; fifteen would need one more in each. A predicate for which there is no room lives in a register as 0 or 1, and costs a comparison where it is read.",
        "The highest that is named, by kernel:", distribution("predicates", n["predicates_most"]),
        f"{up_to(n['predicates_most'], 3)} of {sum(n['predicates_most'].values())} kernels have enough with three. One fewer than there are costs {times(one_less['instructions'])} in instructions and {times(one_less['registers'])} in registers:",
        costs(n, "predicates", [CHANGED, EXECUTED, REGISTERS, CYCLES, WORST]))


def uniform(n):
    kernels, used = sum(n["uniform_most"].values()), sum(count for most, count in n["uniform_most"].items() if int(most))
    fewer = "One fewer costs nothing where none is used." if not used else "Those that kernels use:\n\n" + distribution("registers", n["uniform_most"])
    return section(
        "Uniform registers: 63, and one that is zero",
        "The uniform datapath has 63 registers of a warp, named by six bits, and seven predicates. Constants and addresses can have one as their base.",
        "None, as before compute capability 7.5; or as many as a field of eight bits names, which is what fields of ordinary registers have.",
        f"{percent(n['uniform'])} of all instructions compute what is the same in all lanes of a warp, by the analysis of shapes, and where lanes are together. That is the most that a uniform datapath can take over. "
        f"Of the compiler's code {used} of {kernels} kernels use uniform registers. {fewer}")


def registers(n):
    return section(
        "Registers: 255, and one that is zero",
        "Eight bits name a register.",
        "Seven bits would save a bit in each of up to seven fields, and leave 127 registers. What has none lives in local memory.",
        "Code that may use so many at most:",
        costs(n, "registers", [CHANGED, EXECUTED, CYCLES, WORST, SPILLED, SPILLING, REFUSED]))


def numbers(n):
    covered = n["covered"]
    widths = [w for w in covered["integers"]]
    rows = [[name, *[percent(covered[key][w]) for w in widths], n["widths"][key][95], n["widths"][key][99]]
            for key, name in (("integers", "integers"), ("offsets", "offsets of addresses, in bytes"), ("targets", "distances of jumps, in instructions"))]
    have, short = n["operands"], 20
    return section(
        "Numbers in instructions: 32 bits, offsets 24, jumps 32",
        "One source of most instructions can be a number of 32 bits, or a word of a bank of constants. Memory instructions add a signed offset of 24 bits. A jump has 32 bits, in bytes.",
        f"A shorter number frees bits for a further source, and costs a `MOV` where it is too short. With {short} bits that would be {percent(have['int'] * (1 - covered['integers'][short]))} of all instructions for integers.",
        f"{percent(have['int'])} of the instructions have an integer, {percent(have['float'])} a floating-point number, {percent(have['constant'])} a constant of a bank. Signed widths that cover so many of them, and the bits that 95 % and 99 % need:",
        table(["width", *map(str, widths), "95 %", "99 %"], rows),
        f"Of floating-point numbers {percent(n['short_floats'])} have zeros in their lower half. Offsets in the bank of constants are below {1 << n['widths']['constants'][99]} bytes for 99 % of its uses; parameters begin at 256, and the field has sixteen bits.")


def stalls(n):
    widths = n["widths"]["stalls"]
    return section(
        "Stall counts: four bits",
        "An instruction says for up to 15 cycles when the next one may be issued; a longer wait is a `NOP`.",
        f"Three bits would need a `NOP` more for the {percent(n['long_stalls'])} of the instructions that stall for more than seven cycles, five bits hardly any.",
        f"Half of the instructions stall for at most {widths[50]} cycles, 95 % for {widths[95]}, 99 % for {widths[99]}. {percent(n['nops'])} of the instructions are `NOP`s.")


def barriers(n):
    return section(
        "Convergence barriers: sixteen",
        "Lanes that will meet again are remembered in one of sixteen barriers of the warp, named by four bits.",
        "Eight would save a bit in the instructions of control flow alone, where there is room. Too few cannot be helped by spilling: moving a barrier to a register and back is two instructions at each meeting point.",
        distribution("barriers", n["barriers_most"]))


def reuse(n):
    return section(
        "Reuse flags: three bits",
        "Each of the first three sources can be kept for the next instruction, which then reads it from the operand cache.",
        "Hardware that finds out by itself compares register numbers of two instructions; none reads each operand from the register file.",
        f"{percent(n['reused'])} of all reads of registers are saved, in {percent(n['reusing'])} of the instructions that read any. The flags are set where the next instruction reads the same register in the same slot and waits for no counter.")


def space(n):
    e = n["encoding"]
    fullest, seen = [], set()
    for (name, form), bits in sorted(e["free"].items(), key=lambda item: item[1]):
        if name not in seen:
            seen.add(name)
            fullest.append([f"`{name}`", form, bits])
    free = sorted(e["free"].values())
    return section(
        "The word: 128 bits",
        "Every instruction has a word of 128 bits with its control fields in it.",
        "64 bits, with a word of control fields for several instructions, as older GPUs had; or words of both lengths.",
        f"{e['used']} of {e['opcodes']} opcodes are used, so {e['opcodes'] - e['used']} are left. {e['nowhere']} bits have a meaning in no instruction. Of the {e['words']} forms of words the middle one leaves {free[len(free) // 2]} bits free. The fullest instructions, with their fullest form:",
        table(["instruction", "form", "bits left"], fullest[:8]),
        "In a word of 64 bits three source registers, a result, guard, form and opcode are 48 bits and the control fields 20, before any modifier.")


def operations(n):
    rows, gained = [], 0.0
    for name, o in n["operations"].items():
        if o["each"] > 2.0 and o["programs"] > 1:
            gain = o["share"] * (1 - 1 / o["each"])
            gained += gain
            rows.append((gain, [f"`{name}`", o["occurs"], o["programs"], f"{o['each']:.1f}", percent(o["share"]), percent(gain)]))
    most = max(rows, key=lambda r: r[0], default=(0.0, ["none"]))
    rows = [row for _, row in sorted(rows, key=lambda r: -r[0])]
    add = n["operations"].get("add.s64", {"share": 0.0, "each": 1.0})
    return section(
        "What takes more than two instructions",
        "What hardware would need much area for, or a long latency, is a sequence: division, roots, most of 64-bit integers, and instructions that hardware has no unit for.",
        "An instruction of its own for each.",
        "Operations of the IR ([ir.md](ir.md)) that take more than two instructions and are in at least two programs. *Gain* is the share of all instructions that one instruction in place of the sequence would save, without what calls of slow cases execute:",
        table(["operation", "occurrences", "programs", "instructions each", "share of instructions", "gain"], rows[:20]),
        f"All of them together would save {percent(gained)}, the first {percent(most[0])}. Of the operations that take two at most, addresses of 64 bits have the largest part: `add.s64` is {percent(add['share'])} of all instructions, at {add['each']:.1f} each. "
        f"An addition of 64 bits that takes a constant, or a load that adds a register of 32 bits to an address of 64, would save up to {percent(add['share'] * (1 - 1 / add['each']))}.")


def page(n):
    parts = [HEAD.format(**n).strip()] + [make(n) for make in (dependence_counters, predicates, uniform, registers, numbers, stalls, barriers, reuse, space, operations)]
    return "\n\n".join(parts) + "\n"
