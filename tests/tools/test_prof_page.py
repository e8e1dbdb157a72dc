#!/usr/bin/env python3
"""The page of heddle prof, in a browser: test_prof_page.py HEDDLE. Skipped without one."""
import os
import sqlite3
import subprocess
import sys
import tempfile

from browser import FAINT, Browser, find_browser
from prof_report import Report
from support import Tap

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
HOSTILE = "</script><script>window.stolen=1</script><img src=x onerror='window.stolen=2'>&\"\u2028"
WALL = 100_000


def make_report(path):
    """What is where (see EXPECTED): two processes, two streams, copies beside kernels, nested ranges."""
    r = Report(path)
    r.process(100, "/bin/" + HOSTILE, wall=WALL)
    r.process(200, "child")
    r.thread(HOSTILE, 100, 101)
    r.row("TARGET_INFO_GPU", vmId=1, id=0, name="GPU " + HOSTILE)
    r.api("cudaMalloc_v3020", 2000, 4000, corr=1)
    r.memory(3000, 1 << 20)
    r.api("cudaMemcpyAsync_v3020", 5000, 6000, corr=2)
    r.copy(5500, 9500, 1 << 20, corr=2)
    r.range("outer", 1000, 60000)
    r.range("inner", 10000, 30000, registered=True)
    r.range(HOSTILE, 11000, 12000)
    r.range("mark", 15000, None, kind=34)
    r.api("cudaLaunchKernel_v7000", 10000, 14000, corr=3)
    r.compile("_Z5scalePfi", 10500, 13500)
    r.kernel("scale(float *, int)", 14000, 24000, corr=3, grid=(4, 2, 1))
    r.copy(20000, 26000, 1 << 19, kind=2, stream=9)
    for i in range(10):
        r.api("cudaLaunchKernel_v7000", 30000 + 1000 * i, 30200 + 1000 * i, corr=10 + i)
        r.kernel(HOSTILE, 30500 + 1000 * i, 30900 + 1000 * i, corr=10 + i, stream=9)
    r.api("cudaDeviceSynchronize_v3020", 41000, 44000, corr=30)
    r.sync(41000, 44000, corr=30)
    r.osrt("poll", 50000, 55000, tid=101)
    r.api("cudaFree_v3020", 70000, 71000, corr=31, pid=200, tid=200, result=17)
    r.memory(70500, 1 << 20, freed=True)
    r.fill(80000, 81000, 4096, pid=200)
    r.row("CUPTI_ACTIVITY_KIND_KERNEL", start=9, end=3, deviceId=0, contextId=1, streamId=7, demangledName=0, shortName=0, registersPerThread=1, gridX=1,
          gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1, staticSharedMemory=0, dynamicSharedMemory=0)
    return r.done()


EXPECTED = {
    "Kernels": 10000 + 10 * 400, "Copies and fills": 4000 + 2000 + 1000, "Compilation waited for": 3000, "Waiting": 3000,
    # malloc; before the copy; around the compilation; ten launches; free
    "CUDA calls": 2000 + 500 + 1000 + 10 * 200 + 1000, "Before CUDA": 2000, "After CUDA": WALL - 81000,
}
EXPECTED["Host code"] = WALL - sum(EXPECTED.values())

ROWS = """Object.fromEntries([...document.querySelectorAll('#table-%s tbody tr')].map(tr =>
    [tr.querySelector('.name').textContent, [...tr.querySelectorAll('[data-value]')].map(td => Number(td.dataset.value))]))"""
NAMED = "(SELECT value FROM StringIds WHERE id = %s)"
QUERIES = {
    "kernel": f"SELECT {NAMED % 'demangledName'} AS n, sum(end - start), count(*), avg(end - start), min(end - start), max(end - start) FROM "
              "CUPTI_ACTIVITY_KIND_KERNEL WHERE end > start GROUP BY n",
    "api": f"SELECT replace(replace({NAMED % 'nameId'}, '_v3020', ''), '_v7000', '') AS n, sum(end - start), count(*), avg(end - start), min(end - start), "
           "max(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY n",
    "nvtx": f"SELECT coalesce(text, {NAMED % 'textId'}) AS n, sum(end - start), count(*), avg(end - start), min(end - start), max(end - start) FROM NVTX_EVENTS "
            "WHERE end IS NOT NULL GROUP BY n",
    "osrt": f"SELECT {NAMED % 'nameId'} AS n, sum(end - start), count(*), avg(end - start), min(end - start), max(end - start) FROM OSRT_API GROUP BY n",
}


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.report = make_report(os.path.join(folder, "report.sqlite"))
        self.page = self.export("page")
        self.browser = Browser(folder)

    def export(self, name, *args, report=None):
        path = os.path.join(self.folder, name + ".html")
        got = subprocess.run([heddle, "prof", "export", "-t", "html", "-o", path, *args, report or self.report], capture_output=True, text=True, timeout=60)
        tap.ok(got.returncode == 0 and os.path.exists(path), f"export: {name}", got.stderr)
        return path

    def range(self):
        return tuple(self.browser.js("[Number(document.getElementById('view').dataset.from), Number(document.getElementById('view').dataset.to)]"))

    def text(self, selector):
        return self.browser.js(f"document.querySelector({selector!r}).textContent.replaceAll('\\u00a0', ' ')")

    def point(self, time, label):
        """Of the canvas: where a moment is, in the first row with the label."""
        box = self.browser.js("(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
        first, last = self.range()
        gutter = 170 if box[2] >= 600 else 84
        # heights of rows: a device's head, its use and its memory; a context; streams 7 and 9
        top = {"stream 7": 22 + 19 + 34 + 34 + 19, "stream 9": 22 + 19 + 34 + 34 + 19 + 19}[label]
        return box[0] + gutter + (time - first) / (last - first) * (box[2] - gutter), box[1] + top + 9


def test_time(bench):
    page = bench.browser
    got = page.js("Object.fromEntries([...document.querySelectorAll('#time tbody tr')].map(tr => [tr.cells[0].textContent, Number(tr.cells[1].dataset.value)]))")
    tap.eq(got, EXPECTED, "where the time went")
    tap.eq((sum(got.values()), page.js("Number(document.querySelector('#time tfoot [data-value]').dataset.value)")), (WALL, WALL), "adds up to the time of the run")
    tap.ok("error of heddle" not in page.js("document.body.innerText"), "the page's own checks hold", page.js("document.getElementById('notes').innerText"))
    wide = page.js("[...document.querySelectorAll('#bar div')].reduce((s, d) => s + parseFloat(d.style.width), 0)")
    tap.ok(abs(wide - 100) < 1e-6, "the bar is whole", wide)
    tap.ok(bench.text("#sentence").startswith("Of 100 µs, 45.5 % went into host code with the device idle, 19.0 % into the time after"), "a sentence", bench.text("#sentence"))


def test_tables(bench):
    page, db = bench.browser, sqlite3.connect(bench.report)
    for table, query in QUERIES.items():
        want = {name: list(rest) for name, *rest in db.execute(query)}
        tap.eq(page.js(ROWS % table), want, f"{table}: numbers are those of the report")
    copies = page.js(ROWS % "copy")
    tap.eq({k: (v[0], v[1], v[5]) for k, v in copies.items()}, {"[CUDA memcpy Host-to-Device]": (4000, 1, 1 << 20), "[CUDA memcpy Device-to-Host]": (6000, 1, 1 << 19),
                                                               "[CUDA memset]": (1000, 1, 4096)}, "copies with their bytes")
    device = page.js("[...document.querySelectorAll('#table-device [data-value]')].map(td => Number(td.dataset.value))")
    tap.eq(device, [EXPECTED["Kernels"] + EXPECTED["Copies and fills"], EXPECTED["Kernels"]], "a device's busy time, what overlaps counted once")
    page.js("document.querySelector('#table-api th:nth-child(4) button').click()")
    order = page.js("[[...document.querySelectorAll('#table-api tbody tr')].map(tr => Number(tr.cells[3].dataset.value)), "
                    "document.querySelector('#table-api th:nth-child(4)').ariaSort]")
    tap.eq(order, [[11, 1, 1, 1, 1], "descending"], "sorted by count")
    page.js("document.getElementById('visible').click()")
    tap.ok(page.js("document.getElementById('visible').checked") and page.js(ROWS % "copy") == copies, "sums of the events that are visible, of all", copies)


def test_keys(bench):
    page = bench.browser
    page.js("document.getElementById('canvas').focus()")
    tap.eq(bench.range(), (0, WALL), "at first all is visible")
    page.key("w")
    tap.eq(bench.range(), (WALL / 4, WALL * 3 / 4), "W zooms in")
    page.key("ArrowRight")
    tap.eq(bench.range(), (WALL * 3 / 8, WALL * 7 / 8), "an arrow moves")
    page.key("a")
    page.key("-")
    tap.eq(bench.range(), (0, WALL), "A moves back, - zooms out")
    page.key("s")
    page.key("a")
    tap.eq(bench.range(), (0, WALL), "not beyond what there is")
    for key in "wwwwwwwwwwwwwwwwwwww":
        page.key(key)
    first, last = bench.range()
    tap.eq(last - first, 10, "nor nearer than ten nanoseconds")
    page.key("0")
    page.key("ArrowDown")
    tap.ok(bench.text("#details h3").startswith("[CUDA memcpy") and not page.js("document.getElementById('tip').hidden"), "a row's first event, with its tooltip",
           bench.text("#details"))
    page.key("n")
    tap.eq(bench.text("#details h3"), "scale(float *, int)", "N: the next")
    tap.ok("4 × 2 × 1" in bench.text("#details") and "Takes: 10 µs" in bench.text("#tip"), "what it is", bench.text("#details") + bench.text("#tip"))
    page.key("Enter")
    tap.eq(bench.text("#details h3"), "cudaLaunchKernel", "Enter: its call")
    page.key("Enter")
    tap.eq(bench.text("#details h3"), "scale(float *, int)", "and back")
    page.key("f")
    tap.eq(bench.range(), (14000 - 2500, 24000 + 2500), "F zooms to it")
    page.key("Escape")
    tap.eq(bench.text("#details"), "", "no selection")
    page.key("0")


def test_visible(bench):
    """Tables of a part of the time."""
    page = bench.browser
    page.js("document.getElementById('canvas').focus()")
    page.key("w")  # 25 to 75 us
    page.until("document.querySelectorAll('#table-kernel tbody tr').length === 1")
    kernels = page.js(ROWS % "kernel")
    tap.eq(list(kernels.values()), [[4000, 10, 400, 400, 400]], "kernels of the middle")
    tap.eq(page.js(ROWS % "copy")["[CUDA memcpy Device-to-Host]"][:2], [1000, 1], "the part of a copy that is inside")
    page.key("0")
    page.js("document.getElementById('visible').click()")


def test_mouse(bench):
    page = bench.browser
    x, y = bench.point(19000, "stream 7")
    page.mouse("mouseMoved", x, y)
    tap.ok("scale(float *, int)" in bench.text("#tip") and not page.js("document.getElementById('tip').hidden"), "a tooltip", bench.text("#tip"))
    page.click(x, y)
    tap.eq(bench.text("#details h3"), "scale(float *, int)", "a click selects")
    tap.eq(bench.text("#details button"), "Launched by cudaLaunchKernel", "the call that launched it")
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
    first, last = bench.range()
    tap.ok(last - first < WALL * 0.7 and abs((19000 - first) / (last - first) - 0.19) < 0.01, "the wheel zooms, around the pointer", (first, last))
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    page.mouse("mouseMoved", x - 100, y, button="left", buttons=1)
    page.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
    tap.ok(bench.range()[0] > first and abs(bench.range()[1] - bench.range()[0] - (last - first)) < 1e-6, "dragging moves", bench.range())
    page.js("document.querySelector('[data-do=fit]').click()")
    tap.eq(bench.range(), (0, WALL), "the button shows all")
    many = page.js("""(() => { const c = document.getElementById('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
        for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size; })()""")
    tap.ok(many > 12, "the timeline is drawn", many)


def test_search(bench):
    page = bench.browser
    page.js("document.getElementById('search').focus()")
    page.call("Input.insertText", text="LAUNCHkernel")
    tap.eq(bench.text("#matches"), "11 matches", "search")
    page.key("Enter")
    first = page.js("document.getElementById('view').dataset.selected")
    tap.eq(first, "cudaLaunchKernel", "Enter goes to a match")
    before = bench.text("#details")
    page.key("Enter")
    tap.ok(bench.text("#details") != before, "and to the next")
    page.js("document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))")
    tap.eq(bench.text("#matches"), "", "no search")
    page.js("document.querySelector('#table-kernel td.name button').click()")
    tap.eq(bench.text("#matches"), "2 matches", "a name of a table is searched: the kernel, and its compilation")
    page.js("document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))")


def test_labels(bench):
    page = bench.browser
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in nodes:
        if not node.get("ignored"):
            roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("button", "searchbox", "checkbox", "table", "region", "application", "image", "toolbar"):
        tap.ok(roles.get(role) and all(roles[role]), f"{role}: there is one, and each has a name", roles.get(role))
    tap.eq(page.js("[...document.querySelectorAll('table')].filter(t => !t.tHead || [...t.tHead.querySelectorAll('th')].some(h => h.scope !== 'col')).length"), 0,
           "tables have heads")
    tap.eq(page.js("document.documentElement.lang"), "en", "the language")
    tap.eq(page.js("window.stolen"), None, "names of the program are no code")
    tap.ok(HOSTILE in page.js(ROWS % "kernel") and page.js("document.images.length") == 0, "but text")
    notes = bench.text("#notes")
    tap.ok("all 35 events" in notes and "Their sums are those of the tables" in notes and "1 row of the report has no valid times" in notes, "notes", notes)


def test_looks(bench):
    page = bench.browser
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.js(back)
    page.js("document.getElementById('theme').click()")
    tap.ok(page.js(back) != light and page.js("document.getElementById('theme').textContent") == "Light", "a dark page", page.js(back))
    page.js("document.getElementById('theme').click()")
    tap.eq(page.js(back), light, "and a light one")
    tap.eq(page.js(FAINT), [], "whose texts can be read")
    for width in (1280, 400):
        page.open(bench.page, width=width, dark=True)
        tap.ok(page.js(back) != light, f"{width}: dark where that is preferred", page.js(back))
        tap.eq(page.js(FAINT), [], f"{width}: texts can be read in the dark")
        went, all_of = page.tabs()
        tap.ok(len(went) > 10 and went == sorted(went) and set(went) >= set(all_of), f"{width}: Tab goes through all of it in its order", f"{went}\n{all_of}")
        tap.ok(page.js("document.documentElement.scrollWidth <= innerWidth"), f"{width}: nothing is wider than the page", page.js("document.documentElement.scrollWidth"))


def test_limit(bench):
    page = bench.browser
    page.open(bench.export("few", "--page-events", "5"))
    notes = bench.text("#notes")
    tap.ok("leaves out 30 of 35 events, none longer than 4 µs" in notes, "what is left out is told", notes)
    tap.eq(len(page.js(ROWS % "kernel")), 2, "tables have all")
    tap.eq(page.js("document.querySelector('#table-device [data-value]').dataset.value"), str(EXPECTED["Kernels"] + EXPECTED["Copies and fills"]), "also of devices")
    empty = Report(os.path.join(bench.folder, "empty.sqlite"))
    empty.process(1, "nothing")
    empty.string("a report")
    page.open(bench.export("empty", report=empty.done()))
    tap.eq(bench.text("#sentence"), "Nothing was recorded.", "a report without events")


PEAKS = {"sp": 1e12, "dp": 5e11, "dram": 1e11, "l3": 4e11, "l2": 1e12, "l1": 2e12}


def make_roofline(path):
    """Three kernels: far left, far right while counted, and one without operations. The first two launches are alike."""
    r = Report(path)
    r.process(100, "program", wall=WALL)
    r.string("a report")
    kernels = [(HOSTILE, {"intensity.ratio": 0.1, "flop.sum.per_second": 4e9, "bytes.sum.per_second": 4e10, "roof.pct": 40, "launches_uncounted.sum": 3})] * 2 + [
        ("far(float *)", {"intensity.ratio": 10, "flop.sum.per_second": 4e11, "bytes.sum.per_second": 4e10, "roof.pct": 41, "launches_uncounted.sum": 0}),
        ("copy", {"intensity.ratio": 0, "flop.sum.per_second": 0, "bytes.sum.per_second": 5e10, "roof.pct": 50, "launches_uncounted.sum": 1})]
    for launch, (name, values) in enumerate(kernels):
        r.row("HEDDLE_LAUNCHES", launchId=launch, demangledName=name, gridX=16, gridY=2, gridZ=1, blockX=64, blockY=1, blockZ=1)
        for metric, value in [*values.items(), *((f"peak_{what}.per_second", peak) for what, peak in PEAKS.items())]:
            r.row("HEDDLE_METRICS", launchId=launch, name="heddle__roofline_" + metric, unit="", value=value)
    return r.done()


def test_roofline(bench):
    page = bench.browser
    tap.ok(page.js("document.getElementById('roofline').hidden"), "no roofline: no section")
    page.open(bench.export("roofline", report=make_roofline(os.path.join(bench.folder, "roofline.sqlite"))), width=1000)
    rows = page.js("[...document.querySelectorAll('#table-roofline tbody tr')].map(tr => [tr.cells[1].textContent, tr.cells[2].textContent.replaceAll('\\u00a0', ' '), "
                   "...[...tr.querySelectorAll('[data-value]')].map(td => Number(td.dataset.value)), tr.cells[8].textContent])")
    tap.eq(rows, [[HOSTILE, "16 × 2 × 1", 0.1, 4e9, 4e10, 40, "3 not counted"], ["far(float *)", "16 × 2 × 1", 10, 4e11, 4e10, 41, "while counted"],
                  ["copy", "16 × 2 × 1", 0, 0, 5e10, 50, "1 not counted"]], "rows: a kernel with its grid and block")
    tap.eq(page.js("[...document.querySelectorAll('#table-roofline tbody tr:last-child td')].map(td => td.textContent)")[4:6], ["n/a", "n/a"], "without operations: n/a")
    points = page.js("[...document.querySelectorAll('#roofline circle')].map(c => [c.cx.baseVal.value, c.cy.baseVal.value, c.getAttribute('class')])")
    tap.eq([p[2] for p in points], ["timed", "slowed"], "a point for each with operations; those while counted differ")
    # The same factor is the same distance everywhere: 0.1 to 10 FLOP/byte, 4e9 to 4e11 FLOP/s; the roof of DRAM goes up to (10, 1e12).
    ridge = [float(v) for v in page.js("document.querySelector('#roofline polyline.roof').getAttribute('points')").split()[1].split(",")]
    tap.ok(abs(ridge[0] - points[1][0]) < 0.01, "the ridge is where memory gives as much as FP32 takes", (ridge, points))
    ceilings = page.js("['line.roof', 'line.double'].map(s => document.querySelector('#roofline ' + s).y1.baseVal.value)")
    tap.ok(abs(ridge[1] - ceilings[0]) < 0.01, "at the ceiling of FP32", (ridge, ceilings))
    decade = (points[0][1] - points[1][1]) / 2
    tap.ok(abs((ceilings[1] - ceilings[0]) / decade - 0.30103) < 1e-3 and abs((points[1][1] - ceilings[0]) / decade - 0.39794) < 1e-3, "as logarithms", (ceilings, decade))
    label = page.js("document.querySelector('#roofline svg').getAttribute('aria-label')").replace("\u00a0", " ")
    tap.ok(label.startswith("Roofline: 2 kernels under 1 TFLOP/s in FP32, 500 GFLOP/s in FP64; DRAM 100 GB/s"), "in words", label)
    roles = [(n["role"]["value"], n.get("name", {}).get("value")) for n in page.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored")]
    tap.ok(any(role == "image" and name and name.startswith("Roofline") for role, name in roles), "an image with a name", [r for r in roles if r[0] == "image"])
    tap.eq(page.js("window.stolen"), None, "names of kernels are text")
    stroke = "getComputedStyle(document.querySelector('#roofline line.roof')).stroke"
    light = page.js(stroke)
    page.js("document.getElementById('theme').click()")
    tap.ok(page.js(stroke) != light, "dark colours", light)
    page.open(os.path.join(bench.folder, "roofline.html"), width=400)
    tap.ok(page.js("document.documentElement.scrollWidth <= innerWidth"), "no wider than a small page", page.js("document.documentElement.scrollWidth"))


def test_source(bench):
    """Counters by line, with the line's text; a counter that no line has is no column."""
    page = bench.browser
    page.open(bench.page)
    tap.ok(page.js("document.getElementById('source').hidden"), "nothing was counted: no lines of the source")
    source = os.path.join(bench.folder, "lines.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write("first\n  a[i] = '<b>' + b[i];\n")
    path = make_roofline(os.path.join(bench.folder, "lines.sqlite"))
    r = sqlite3.connect(path)
    r.execute("CREATE TABLE HEDDLE_SOURCE_METRICS(launchId INTEGER, file TEXT, line INTEGER, function TEXT, name TEXT, value REAL)")
    for launch, name, line, value in ((0, source, 2, 30), (1, source, 2, 12), (2, "ptx", 7, 99)):
        r.execute("INSERT INTO HEDDLE_SOURCE_METRICS VALUES(?, ?, ?, 'f', 'smsp__inst_executed.sum', ?)", (launch, name, line, value))
    r.execute("INSERT INTO HEDDLE_SOURCE_METRICS VALUES(0, ?, 2, 'f', 'memory_l2_theoretical_sectors_global', 5)", (source,))
    r.commit()
    r.close()
    page.open(bench.export("lines", report=path), width=1000)
    rows = page.js("[...document.querySelectorAll('#table-source tr')].map(tr => [...tr.cells].map(c => c.dataset.value ? Number(c.dataset.value) : c.textContent))")
    tap.eq(rows, [["Instructions", "Sectors", "Line", "Source", "Kernel"], [99, 0, "ptx:7", "", "far(float *)"],
                  [42, 5, "lines.cu:2", "a[i] = '<b>' + b[i];", HOSTILE]], "lines of the source, sums of launches, the most instructions first")
    tap.eq(page.js("window.stolen"), None, "source is text")
    page.open(os.path.join(bench.folder, "lines.html"), width=400)
    tap.ok(page.js("document.documentElement.scrollWidth <= innerWidth"), "no wider than a small page", page.js("document.documentElement.scrollWidth"))


def test_strange_roofline(bench):
    """Values that are none."""
    for i, value in enumerate(("NULL", "'text'", "x'ff00'", "-1", "0", "9223372036854775807", "1e999")):
        path = make_roofline(os.path.join(bench.folder, "odd.sqlite"))
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE other AS SELECT * FROM HEDDLE_METRICS")
        db.execute("DROP TABLE HEDDLE_METRICS")
        db.execute("ALTER TABLE other RENAME TO HEDDLE_METRICS")
        db.execute(f"UPDATE HEDDLE_METRICS SET value = {value} WHERE rowid % 3 = {i % 3}")
        db.commit()
        db.close()
        bench.browser.open(bench.export(f"odd{i}", report=path))
        tap.eq(bench.browser.js("document.documentElement.dataset.ready"), "yes", f"{value}: the page is there")
        bad = bench.browser.js("[...document.querySelectorAll('#roofline circle, #roofline line')].filter(n => /NaN|Infinity/.test(n.outerHTML)).length")
        tap.eq(bad, 0, f"{value}: nothing is drawn nowhere")


def test_strange(bench):
    """What damaged and foreign files may have in their columns."""
    values = ("NULL", "'text'", "x'ff00'", "-1", "9223372036854775807", "-9223372036854775808", "1.5", "1e999")
    for i, value in enumerate(values):
        path = os.path.join(bench.folder, "strange.sqlite")
        make_report(path)
        db = sqlite3.connect(path)
        for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'ENUM%'").fetchall():
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            db.execute(f"CREATE TABLE other AS SELECT * FROM {table}")
            db.execute(f"DROP TABLE {table}")
            db.execute(f"ALTER TABLE other RENAME TO {table}")
            for at, column in enumerate(columns):
                db.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid % {len(columns)} = {(at + i) % len(columns)}")
        db.commit()
        db.close()
        bench.browser.open(bench.export(f"strange{i}", report=path))
        sums = bench.browser.js("[...document.querySelectorAll('#time [data-value]')].map(td => Number(td.dataset.value))")
        tap.eq(sum(sums[:-1]), sums[-1], f"{value} everywhere: the page is there, and its times add up")


def main():
    if not find_browser():
        tap.skip("no Chromium")
        tap.done()
    with tempfile.TemporaryDirectory(prefix="heddle-page-") as folder:
        bench = Bench(folder)
        try:
            bench.browser.open(bench.page)
            for test in (test_time, test_tables, test_keys, test_visible, test_mouse, test_search, test_labels, test_looks, test_limit, test_roofline, test_source, test_strange_roofline, test_strange):
                test(bench)
            tap.eq(bench.browser.messages, [], "nothing on the console")
        finally:
            bench.browser.close()
    tap.done()


main()
