"""docs/architecture.svg: modules in rows, each above what it uses; see gen_layers.py."""
from xml.sax.saxutils import escape

BOX_W, BOX_H, GAP_X, GAP_Y, MARGIN = 136, 44, 12, 58, 24
# What a module is about, by its colour.
GROUPS = {
    "libraries": ("api/", "klib", "preload", "frameworks/"),
    "devices": ("dev", "hal"),
    "compiler": ("ptx", "ir", "tcore", "model", "analysis", "interp", "lower", "opt", "compile", "jit", "linker", "ptxas", "isa", "codegen", "tune", "sim", "obj", "clang", "libdevice"),
    "watching": ("san", "prof", "report", "advise", "count", "dbg", "tap", "registry", "requests"),
    "core": ("core",),
}
STYLE = """
  .box { stroke-width: 1.2 }
  .libraries { fill: #dbe9ff; stroke: #3b6fc4 } .devices { fill: #dff3e3; stroke: #2f8a4c } .compiler { fill: #fff0d6; stroke: #b97d16 }
  .watching { fill: #f3e3f7; stroke: #8a4a9c } .core { fill: #ffdfdc; stroke: #c2473a }
  .name { font: 600 13px system-ui, sans-serif; fill: #1b1b1b; text-anchor: middle }
  .row { font: 12px system-ui, sans-serif; fill: #666 }
  .arrow { stroke: #8a8a8a; stroke-width: 1; fill: none; opacity: .6 }
  @media (prefers-color-scheme: dark) { .row { fill: #aaa } .arrow { stroke: #9a9a9a } }
"""


def levels_of(uses):
    """{module: how many modules stand below it, one above the other}."""
    levels = {}

    def level(name):
        if name not in levels:
            levels[name] = 1 + max(map(level, uses[name]), default=-1)
        return levels[name]

    for name in uses:
        level(name)
    used = {n for names in uses.values() for n in names}
    top = max(levels.values())
    # Libraries that programs load are the front, whatever stands below them.
    return {n: top if n not in used and group_of(n) == "libraries" else at for n, at in levels.items()}


def reduced(uses):
    """Arrows that no longer way says already."""
    below = {}

    def reach(name):
        if name not in below:
            below[name] = set(uses[name]).union(*(reach(n) for n in uses[name]), set())
        return below[name]

    for name in uses:
        reach(name)
    return [(a, b) for a in uses for b in sorted(uses[a]) if not any(b in below[c] for c in uses[a])]


def rows_of(levels, arrows):
    """[[module]] from the bottom; in a row as their neighbours stand, so that arrows cross seldom."""
    rows = [sorted(n for n in levels if levels[n] == at) for at in range(max(levels.values()) + 1)]
    near = {n: [] for n in levels}
    for a, b in arrows:
        near[a].append(b)
        near[b].append(a)
    for _ in range(24):
        place = {n: (i + .5) / len(row) for row in rows for i, n in enumerate(row)}
        for row in rows:
            row.sort(key=lambda n: (sum(place[m] for m in near[n]) / len(near[n]) if near[n] else place[n], n))
            place.update({n: (i + .5) / len(row) for i, n in enumerate(row)})
    return rows


def group_of(name):
    return next(group for group, starts in GROUPS.items() for start in starts
                if name == start or (start.endswith("/") and name.startswith(start)) or (start == "dev" and name.startswith("dev/")))


def draw(modules):
    """The picture as text. `modules`: {name: (what it holds, the modules it uses)}; base, which all use, is the ground."""
    uses = {name: sorted(used) for name, (_, used) in modules.items() if name != "base"}
    arrows = reduced(uses)
    rows = rows_of(levels_of(uses), arrows)
    width = 2 * MARGIN + max(len(row) for row in rows) * (BOX_W + GAP_X) - GAP_X
    height = 3 * MARGIN + len(rows) * (BOX_H + GAP_Y) + BOX_H
    at = {}
    for level, row in enumerate(rows):
        step = (width - 2 * MARGIN) / len(row)
        for i, name in enumerate(row):
            at[name] = (MARGIN + step * (i + .5), height - MARGIN - 2 * BOX_H - GAP_Y / 2 - level * (BOX_H + GAP_Y))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="Modules of Heddle, each above those it uses">',
           "<title>Modules of Heddle, each above those it uses</title>", f"<style>{STYLE}</style>"]
    for a, b in arrows:
        (x1, y1), (x2, y2) = at[a], at[b]
        y1 += BOX_H
        out.append(f'<path class="arrow" d="M{x1:.0f} {y1:.0f} C{x1:.0f} {y1 + GAP_Y / 2:.0f} {x2:.0f} {y2 - GAP_Y / 2:.0f} {x2:.0f} {y2:.0f}"/>')
    for name, (x, y) in sorted(at.items()):
        out.append(f'<g><title>src/{escape(name)}: {escape(modules[name][0])}</title>'
                   f'<rect class="box {group_of(name)}" x="{x - BOX_W / 2:.0f}" y="{y:.0f}" width="{BOX_W}" height="{BOX_H}" rx="6"/>'
                   f'<text class="name" x="{x:.0f}" y="{y + BOX_H / 2 + 5:.0f}">{escape(name)}</text></g>')
    y = height - MARGIN - BOX_H
    out.append(f'<g><title>src/base: {escape(modules["base"][0])}</title><rect class="box core" style="fill:#eee;stroke:#888" x="{MARGIN}" y="{y}" '
               f'width="{width - 2 * MARGIN}" height="{BOX_H}" rx="6"/><text class="name" x="{width / 2:.0f}" y="{y + BOX_H / 2 + 5:.0f}">'
               "base: what all use</text></g>")
    for i, group in enumerate(GROUPS):
        x = MARGIN + i * 110
        out.append(f'<rect class="box {group}" x="{x}" y="{MARGIN / 2:.0f}" width="14" height="14" rx="3"/><text class="row" x="{x + 20}" y="{MARGIN / 2 + 12:.0f}">{group}</text>')
    return "\n".join(out) + "\n</svg>\n"
