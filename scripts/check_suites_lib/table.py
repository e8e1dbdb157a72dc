"""What came out, against the truth: found, missed, false reports; as text, Markdown and JSON."""
import json

import programs
import run
import truth

HEADS = ("suite", "tool", "programs", "bugs", "found", "missed", "free of bugs", "false reports", "timeouts", "failed")
KIND_HEADS = ("suite", "kind of bug", "found by", "programs", "found", "missed", "not run")


def claims(options):
    """KINDS with what --claim adds and takes away."""
    kinds = {kind: list(tools) for kind, tools in truth.KINDS.items()}
    for claim in options.claim:
        tool, _, kind = claim.partition("=")
        take, kind = kind.startswith("-"), kind.lstrip("-")
        if tool not in truth.TOOLS or kind not in kinds:
            raise programs.Problem(f"--claim {claim}: TOOL=KIND, with a tool of {', '.join(truth.TOOLS)} and a kind of {', '.join(kinds)}")
        if take and tool in kinds[kind]:
            kinds[kind].remove(tool)
        elif not take and tool not in kinds[kind]:
            kinds[kind].append(tool)
    return {kind: tuple(tools) for kind, tools in kinds.items()}


class Row:
    """One suite under one tool."""

    def __init__(self, suite, tool):
        self.suite, self.tool = suite, tool
        self.ran, self.bugs, self.free = 0, 0, 0
        self.found, self.missed, self.false, self.timeouts, self.failed, self.beside = [], [], [], [], [], []

    def add(self, program, result, kinds):
        """Only kinds that this tool alone should find count here; the table of kinds has those of several."""
        word, name = result["outcome"], program.name
        self.ran += 1
        if word == "timeout":
            self.timeouts.append(name)
        if word == "failed":
            self.failed.append(name)
        if any(kinds[kind] == (self.tool,) for kind in program.truth.bugs):
            self.bugs += 1
            (self.found if word == "reported" else self.missed).append(name)
        elif self.tool in program.truth.clean:
            self.free += 1
            if word == "reported":
                self.false.append(name)
        elif word == "reported":
            self.beside.append(name)

    def cells(self):
        return (self.suite, self.tool, self.ran, self.bugs, len(self.found), len(self.missed), self.free, len(self.false),
                len(self.timeouts), len(self.failed))

    def as_dict(self):
        return {"suite": self.suite, "tool": self.tool, "programs": self.ran, "bugs": self.bugs, "free": self.free, "found": self.found,
                "missed": self.missed, "false": self.false, "timeouts": self.timeouts, "failed": self.failed, "not_judged": self.beside}


def tool_rows(chosen, results, kinds):
    rows = {}
    for tool, of_tool in results.items():
        for program in chosen:
            if program.full_name in of_tool:
                row = rows.setdefault((program.suite, tool), Row(program.suite, tool))
                row.add(program, of_tool[program.full_name], kinds)
    return [rows[key] for key in sorted(rows)]


def kind_rows(chosen, results, kinds):
    """Each kind of bug of each suite: a report of any tool that should find it will do."""
    rows = {}
    for program in chosen:
        for kind in program.truth.bugs:
            words = [results[tool][program.full_name]["outcome"] for tool in kinds[kind] if program.full_name in results.get(tool, {})]
            row = rows.setdefault((program.suite, kind), [0, 0, 0, 0])
            row[0] += 1
            row[1 if "reported" in words else 2 if words else 3] += 1
    return [(suite, kind, " or ".join(kinds[kind]) or "no tool", *row) for (suite, kind), row in sorted(rows.items())]


def count_kinds(chosen):
    counts = {}
    for program in chosen:
        words = list(program.truth.bugs) or ["no bug" if program.truth.clean else "nothing known"]
        for word in words:
            counts[program.suite, word] = counts.get((program.suite, word), 0) + 1
    totals = {}
    for program in chosen:
        totals[program.suite] = totals.get(program.suite, 0) + 1
    rows = [(suite, kind, count) for (suite, kind), count in sorted(counts.items())]
    return [("suite", "kind", "programs"), *rows, *((suite, "all", count) for suite, count in sorted(totals.items()))]


def text_rows(rows):
    """Columns of equal width; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = []
    for row, words in zip(rows, cells):
        padded = (word.rjust(width) if isinstance(cell, int) else word.ljust(width) for cell, word, width in zip(row, words, widths))
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def md_rows(rows):
    head = [f"| {' | '.join(map(str, rows[0]))} |", "|" + "---|" * len(rows[0])]
    return "\n".join(head + [f"| {' | '.join(map(str, row))} |" for row in rows[1:]])


def names(rows, title, of):
    """A list for each row that has any."""
    return [(f"{title}: {row.suite}, {row.tool}", of(row)) for row in rows if of(row)]


def lists(rows):
    return (names(rows, "missed", lambda row: row.missed) + names(rows, "false reports", lambda row: row.false)
            + names(rows, "timeouts", lambda row: row.timeouts) + names(rows, "the checker failed", lambda row: row.failed))


def as_markdown(rows, kinds):
    parts = ["# Suites of labelled bugs\n", md_rows([HEADS, *(row.cells() for row in rows)]), "", md_rows([KIND_HEADS, *kinds])]
    for title, found in lists(rows):
        parts += [f"\n## {title[0].upper()}{title[1:]} ({len(found)})\n", *(f"- {name}" for name in found)]
    return "\n".join(parts) + "\n"


def as_text(rows, kinds):
    parts = [text_rows([HEADS, *(row.cells() for row in rows)]), "", text_rows([KIND_HEADS, *kinds])]
    for title, found in lists(rows):
        parts += [f"\n{title} ({len(found)})", *(f"  {name}" for name in found)]
    return "\n".join(parts)


def write(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise programs.Problem(f"{path}: {error.strerror}") from error


def show(options):
    kinds = claims(options)
    chosen = programs.choose(options)
    loaded = {tool: run.load_results(options.dir, tool, options.compiler) for tool in truth.TOOLS}
    results = {tool: found for tool, found in loaded.items() if found}
    if not results:
        raise programs.Problem("no results yet: `check-suites run --tool ...` comes first")
    rows, by_kind = tool_rows(chosen, results, kinds), kind_rows(chosen, results, kinds)
    if options.json:
        data = {"rows": [row.as_dict() for row in rows], "kinds": [dict(zip(KIND_HEADS, row)) for row in by_kind]}
        write(options.json, json.dumps(data, indent=1) + "\n")
    if options.md:
        write(options.md, as_markdown(rows, by_kind))
    print(as_text(rows, by_kind))
    failed = any(row.failed for row in rows) or (options.fail_on_false and any(row.false for row in rows))
    return 1 if failed else 0
