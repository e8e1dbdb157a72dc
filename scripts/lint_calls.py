#!/usr/bin/env python3
"""Counts calls against the order of a module's files, which are what ties it into a knot.

    lint_calls.py [FOLDER]         a folder's files without limits, not those that git knows: for its test
    lint_calls.py --list MODULE    its arrows that point backwards, with the functions

A file calls another when it names a function that is defined there and not static. The files of a module are put into the order in
which the fewest of these arrows point backwards, or nearly: what a file calls stands behind it. An order without any is a module that
can be read, and taken apart, from one end. The limits below are what there is: a module that has more fails, and one that has fewer
gets a lower limit.
"""
import collections
import os
import re
import sys

from lint_files import paths_of
from lint_text import ROOT

# Arrows that point backwards; modules that are not here have none.
LIMITS = {
    "src/api/cudnn": 6, "src/jit": 13, "src/lower": 2, "src/ptx": 1,
}
# Where subfolders are modules of their own.
DEEPER = {"src/api", "src/dev", "tools/heddle"}

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# A function's brace stands alone in column 0, behind its head without an empty line.
DEFINITION = re.compile(r"(?:\A|\n)((?:[^\n;{}]+\n)+)\{\n")
NAME = re.compile(r"\b(?!__attribute__)([a-z_]\w*)\s*\(")
WORD = re.compile(r"(?<!\w)(?<!struct )(?<!enum )[A-Za-z_]\w*")


def module_of(path):
    folder = os.path.dirname(path)
    while os.path.dirname(folder) not in DEEPER | {"src", "tools", ""}:
        folder = os.path.dirname(folder)
    return folder


def arrows(files):
    """{(from, to): [functions]} of the files of a module, {path: text}."""
    where, own = {}, collections.defaultdict(set)
    for path, text in files.items():
        for match in DEFINITION.finditer(text):
            name = NAME.search(match[1])
            if name and re.search(r"\bstatic\b", match[1]):
                own[path].add(name[1])
            elif name:
                where[name[1]] = path
    found = collections.defaultdict(list)
    for path, text in files.items():
        for name in sorted(set(WORD.findall(text)) - own[path]):
            if where.get(name, path) != path:
                found[path, where[name]].append(name)
    return dict(found)


def neighbours(edges):
    """What each file calls, and what calls it."""
    out, into = collections.defaultdict(set), collections.defaultdict(set)
    for a, b in edges:
        out[a].add(b)
        into[b].add(a)
    return out, into


def greedy(nodes, edges):
    """An order with few edges backwards: Eades, Lin, Smyth, "A fast and effective heuristic for the feedback arc set problem", 1993."""
    out, into = neighbours(edges)
    left, first, last = set(nodes), [], []

    def take(node):
        left.discard(node)
        for b in out[node]:
            into[b].discard(node)
        for a in into[node]:
            out[a].discard(node)

    while left:
        order = sorted(left)
        sink = next((n for n in order if not out[n]), None)
        source = next((n for n in order if not into[n]), None)
        if sink is not None:
            last.append(sink)
            take(sink)
        elif source is not None:
            first.append(source)
            take(source)
        else:
            best = max(order, key=lambda n: len(out[n]) - len(into[n]))
            first.append(best)
            take(best)
    return first + last[::-1]


def improve(order, edges):
    """Moves single files to where the fewest edges point backwards, while that helps."""
    out, into = neighbours(edges)
    moved = True
    while moved:
        moved = False
        for node in sorted(order):
            rest = [n for n in order if n != node]
            now = order.index(node)
            cost = sum(a in into[node] for a in rest)  # in front of all: callers stand behind
            best, at, own = cost, 0, cost if now == 0 else None
            for i, other in enumerate(rest, 1):
                cost += (other in out[node]) - (other in into[node])
                own = cost if i == now else own
                if cost < best:
                    best, at = cost, i
            if best < own:
                order, moved = rest[:at] + [node] + rest[at:], True
    return order


def backward(edges):
    nodes = sorted({n for edge in edges for n in edge})
    order = improve(greedy(nodes, edges), edges)
    place = {n: i for i, n in enumerate(order)}
    return sorted(edge for edge in edges if place[edge[0]] > place[edge[1]])


def modules(root, paths):
    found = collections.defaultdict(dict)
    for path in paths:
        if path.startswith(("src/", "tools/heddle/")) and path.endswith(".c") and os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                found[module_of(path)][path] = COMMENT_OR_STRING.sub(" ", file.read())
    return found


def check(root, paths, limits, shown):
    for module, files in sorted(modules(root, paths).items()):
        edges = arrows(files)
        against, limit = backward(edges), limits.get(module, 0)
        if module == shown:
            yield from (f"{a} -> {b}: {', '.join(edges[a, b])}" for a, b in against)
        elif len(against) > limit:
            yield f"{module}: {len(against)} calls against the order of its files, {limit} are allowed: scripts/lint_calls.py --list {module}"
        elif len(against) < limit:
            yield f"{module}: {len(against)} calls against the order of its files, no longer {limit}: LIMITS of scripts/lint_calls.py says so"


def main():
    args = sys.argv[1:]
    shown = args[1] if args[:1] == ["--list"] else None
    root = args[0] if args and not shown else ROOT
    wrong = list(check(root, paths_of(root), LIMITS if root == ROOT else {}, shown))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong and not shown else 0


if __name__ == "__main__":
    sys.exit(main())
