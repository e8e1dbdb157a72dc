#!/usr/bin/env python3
"""heddle serve: metrics, API, requests, pushes, who may ask, hostile clients, Prometheus and a browser beside it.

    test_serve.py HEDDLE [load]

`load`: what 2,000 scrapes and 200 open pages do to it and to a program beside it.
"""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from browser import FAINT, Browser
from support import Bench, Tap

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
HERE = os.path.dirname(os.path.abspath(__file__))
SHARE = os.path.join(HERE, "../../tools/heddle/prometheus")
PATIENCE_S = 100

# The expressions of Grafana's dashboard 12239 (NVIDIA/dcgm-exporter, grafana/dcgm-exporter-dashboard.json) with its two variables
# filled in as Grafana does for "All".
WHERE = '{Hostname=~".*", gpu=~".*"}'
DASHBOARD = [
    f"max(DCGM_FI_DEV_GPU_TEMP{WHERE}) by (Hostname, gpu, uuid)",
    f"avg(DCGM_FI_DEV_GPU_TEMP{WHERE})",
    f"max(DCGM_FI_DEV_POWER_USAGE{WHERE}) by (Hostname, gpu, uuid)",
    f"sum(max(DCGM_FI_DEV_POWER_USAGE{WHERE}) by (gpu))",
    f"max(DCGM_FI_DEV_SM_CLOCK{WHERE} * 1000000) by (Hostname, UUID, gpu)",
    f"max(DCGM_FI_PROF_GR_ENGINE_ACTIVE{WHERE}) by (Hostname, gpu, GPU_I_ID, GPU_I_PROFILE)",
    f"max(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{WHERE}) by (Hostname, gpu, GPU_I_ID, GPU_I_PROFILE)",
    f"max(DCGM_FI_DEV_FB_USED{WHERE}) by (Hostname, gpu, GPU_I_ID, GPU_I_PROFILE)",
    "DCGM_FI_DEV_FB_FREE",
]


def await_for(condition, patience_s=PATIENCE_S):
    """Its value when that is true, or what it was last."""
    end = time.monotonic() + patience_s
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.1)


class Server:
    def __init__(self, env, *args, listen="127.0.0.1:0"):
        self.process = subprocess.Popen([heddle, "serve", "--listen", listen, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        line = self.process.stdout.readline()
        self.address = line.strip()
        if not line:
            raise RuntimeError(self.process.stderr.read())
        self.port = urllib.parse.urlparse(self.address).port

    def ask(self, path, method="GET", body=None, host="127.0.0.1", **headers):
        connection = http.client.HTTPConnection(host, self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            connection.close()

    def api(self, name):
        return json.loads(self.ask("/api/v1/" + name)[1])

    def metrics(self):
        """name -> [(labels, value)]"""
        found = {}
        for line in self.ask("/metrics")[1].splitlines():
            if line.startswith("#"):
                continue
            match = re.fullmatch(r'([\w:]+)(?:\{(.*)\})? (\S+)', line)
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
            found.setdefault(match[1], []).append((labels, float(match[3])))
        return found

    def raw(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, error = self.process.communicate(timeout=PATIENCE_S)
        tap.eq((self.process.returncode, error), (0, ""), "ends when it is told to, without a word")


class Programs(Bench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder, HEDDLE_DEVICES="2", HEDDLE_MEMORY="1G", HEDDLE_REGISTRY=os.path.join(folder, "registry"))
        self.programs = {}

    def program(self, name):
        if name not in self.programs:
            self.programs[name] = self.build(os.path.join(HERE, name + ".cu"))
        return self.programs[name]

    def start(self, name, *args, run=()):
        process = subprocess.Popen([heddle, "run", *run, self.program(name), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.env)
        tap.ok(process.stdout.readline() in ("runs\n", "served\n"), name + " runs")
        return process


def test_idle(bench, server):
    metrics = server.metrics()
    for name in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_XID_ERRORS", "heddle_processes", "heddle_kernel_launches_total"):
        tap.eq([(labels["gpu"], value) for labels, value in metrics[name]], [("0", 0), ("1", 0)], f"{name} of two idle devices")
    labels = metrics["DCGM_FI_DEV_FB_FREE"][1][0]
    tap.eq(sorted(labels), sorted(["gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION"]), "DCGM's labels")
    smi = subprocess.run([heddle, "smi", "--query-gpu=uuid,gpu_bus_id", "--format=csv,noheader", "-i", "1"], capture_output=True, text=True, env=bench.env,
                         timeout=PATIENCE_S).stdout
    tap.eq((labels["device"], labels["Hostname"], f"{labels['UUID']}, {labels['pci_bus_id']}\n"), ("nvidia1", socket.gethostname(), smi),
           "with the values that smi shows")
    tap.eq([value for _, value in metrics["DCGM_FI_DEV_FB_FREE"]], [1024, 1024], "MiB")
    tap.ok("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" not in metrics, "what is not known is not there")
    status, text, headers = server.ask("/metrics")
    tap.eq(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8", "Prometheus' format")
    status, text, headers = server.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0,text/plain;q=0.5")
    tap.ok(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0") and text.endswith("\n# EOF\n"), "OpenMetrics where it is asked for")
    tap.ok("# TYPE heddle_kernel_launches counter\n" in text and "\nheddle_kernel_launches_total{" in text, "whose counters have a family of another name")
    typed = set(re.findall(r"^# TYPE (\S+) ", server.ask("/metrics")[1], re.M))
    helped = set(re.findall(r"^# HELP (\S+) .", server.ask("/metrics")[1], re.M))
    tap.ok(typed == helped and len(typed) > 15, "each has a type and a help text", typed ^ helped)


def test_promtool(server):
    if not shutil.which("promtool"):
        return tap.skip("no promtool")
    got = subprocess.run(["promtool", "check", "metrics"], input=server.ask("/metrics")[1], capture_output=True, text=True, timeout=PATIENCE_S)
    # modelName is what DCGM calls that label, and its counters have no _total.
    rest = [line for line in (got.stdout + got.stderr).splitlines()
            if not re.match(r"DCGM_\w+ (label names should be written in 'snake_case'|counter metrics should have \"_total\")", line)]
    tap.eq((rest, got.returncode in (0, 3)), ([], True), "promtool finds nothing wrong but DCGM's own names")


def test_api(server):
    index = server.ask("/api/v1/")
    names = [path.rsplit("/", 1)[1] for path in json.loads(index[1]) if path.startswith("/api/")]
    tap.eq(names, ["snapshot", "devices", "processes", "kernels", "memory", "requests", "thresholds", "history"], "the API lists what it has")
    for name in names:
        told = server.api(name)
        tap.ok(name == "snapshot" or name in told, name, told)
    snapshot = server.api("snapshot")
    tap.eq([name for name in names[1:] if name not in snapshot], ["history"], "snapshot has all but the history")
    tap.eq([d["memory_total_B"] for d in snapshot["devices"]], [1 << 30] * 2, "devices")
    tap.eq((snapshot["devices"][0]["index"], snapshot["processes"], snapshot["requests"]), (0, [], []), "of which none is in use")
    later = await_for(lambda: server.api("snapshot")["snapshot"] > snapshot["snapshot"])
    tap.ok(later, "there are new ones")
    for path, method, status in (("/nothing", "GET", 404), ("/api/v1/nothing", "GET", 404), ("/metrics", "POST", 405), ("/metrics", "DELETE", 405),
                                 ("/metrics", "HEAD", 200), ("/push", "GET", 404), ("/../etc/passwd", "GET", 404), ("/healthz", "GET", 200)):
        got = server.ask(path, method)
        tap.eq(got[0], status, f"{method} {path}")


def test_busy(bench, server):
    process = bench.start("hang")

    def look():
        snapshot = server.api("snapshot")
        return snapshot if snapshot["devices"][0]["utilization_percent"] >= 95 and snapshot["kernels"] else None
    s = await_for(look) or server.api("snapshot")
    tap.ok(s["devices"][0]["utilization_percent"] >= 95, "the first device is busy", s)
    tap.eq([(p["pid"], p["device"], p["program"]) for p in s["processes"]], [(process.pid, 0, bench.programs["hang"])], "by this process")
    tap.eq([(k["kernel"], k["pid"], k["device"], k["grid"], k["block"], k["blocks"], k["begun"]) for k in s["kernels"] or []],
           [("hang", process.pid, 0, [2, 1, 1], [64, 1, 1], 2, 2)], "the kernel that runs")
    tap.ok(s["kernels"] and 0 < s["kernels"][0]["occupancy"] <= 1, "with its occupancy", s["kernels"])
    metrics = server.metrics()
    tap.ok(metrics["DCGM_FI_DEV_GPU_UTIL"][0][1] >= 90 and metrics["DCGM_FI_PROF_GR_ENGINE_ACTIVE"][0][1] >= 0.9, "as metrics")
    tap.eq([(labels["pid"], labels["program"], labels["gpu"]) for labels, _ in metrics["heddle_process_memory_bytes"]],
           [(str(process.pid), bench.programs["hang"], "0")], "of the process")
    launches = metrics["heddle_kernel_launches_total"][0][1]
    tap.eq(launches, 1, "one launch")
    process.send_signal(signal.SIGSTOP)
    numbers = []
    for _ in range(8): # a question to it is on its way meanwhile
        numbers.append(server.api("snapshot")["snapshot"])
        await_for(lambda: server.api("kernels")["snapshot"] > numbers[-1])
    waits = subprocess.run(["ps", "-o", "stat=", "-p", str(process.pid)], capture_output=True, text=True).stdout
    tap.ok(waits.startswith("T") and len(set(numbers)) == 8, "snapshots go on while it is stopped", (waits, numbers))
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    tap.ok(await_for(lambda: not server.api("processes")["processes"]), "killed, and gone")
    metrics = server.metrics()
    tap.eq((metrics["heddle_kernel_launches_total"][0][1], metrics["heddle_kernel_busy_seconds_total"][0][1] > 0.5), (launches, True),
           "what it did stays counted")


def test_requests(bench, server):
    process = bench.start("requests", "200", "2000", run=("--requests", "infer,order *@shop"))

    def look():
        rows = {r["name"]: r for r in server.api("requests")["requests"]}
        return rows if len(rows) == 2 and all(r["count"] == 200 for r in rows.values()) else None
    rows = await_for(look) or {}
    tap.eq(sorted((r["name"], r["domain"], r["program"], r["count"], r["source"]) for r in rows.values()),
           [("infer", "", "requests", 200, "nvtx"), ("order *", "shop", "requests", 200, "nvtx")], "requests are counted, exactly, by what was asked for")
    order = rows.get("order *", {})
    tap.ok(order and 2 <= order["all_ms"]["p50"] <= order["all_ms"]["p99"] <= order["max_ms"] * 1.0001, "each took its time at least", order)
    tap.ok(order and order["requests_per_s"] > 0 and order["last_minute_ms"] == order["all_ms"], "rate, and all in the last minute", order)
    metrics = server.metrics()
    counts = {labels["range"]: value for labels, value in metrics["heddle_request_duration_seconds_count"]}
    tap.eq(counts, {"infer": 200, "order *": 200}, "as a histogram")
    buckets = [(float(labels["le"]), value) for labels, value in metrics["heddle_request_duration_seconds_bucket"] if labels["range"] == "order *"]
    tap.eq(([value for le, value in buckets if le < 0.002 or le == float("inf")], buckets == sorted(buckets)), ([0] * 7 + [200], True),
           "of which none is too short")
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    tap.eq({r["name"]: r["count"] for r in server.api("requests")["requests"]}, {"infer": 200, "order *": 200}, "kept when the program is killed")
    process = bench.start("requests", "50", "0", run=("--requests", "infer"))
    process.communicate("\n", timeout=PATIENCE_S)
    tap.ok(await_for(lambda: {r["name"]: r["count"] for r in server.api("requests")["requests"]} == {"infer": 250, "order *": 200}),
           "the next run counts on")
    got = subprocess.run([heddle, "run", "--requests", "a,,b", bench.programs["requests"]], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
    tap.ok(got.returncode == 1 and "HEDDLE_REQUESTS: 'a,,b' is no list" in got.stderr, "a list that is none", got.stderr)


HISTOGRAM = """# HELP web_seconds how long
# TYPE web_seconds histogram
web_seconds_bucket{route="/a",le="0.1"} %d
web_seconds_bucket{route="/a",le="0.5"} %d
web_seconds_bucket{route="/a",le="+Inf"} %d
web_seconds_sum{route="/a"} 12
web_seconds_count{route="/a"} %d
"""


def test_push(server):
    def push(text, job="web", **headers):
        got = server.ask("/push?job=" + urllib.parse.quote(job), "POST", text, **headers)
        return got[0], got[1]
    text = "# HELP my_total things\n# TYPE my_total counter\nmy_total{b=\"2\",a=\"x\\\"\"} 3\n" + HISTOGRAM % (90, 99, 100, 100)
    tap.eq(push(text)[0], 200, "a text is taken")
    metrics = await_for(lambda: server.metrics() if "my_total" in server.metrics() else None) or {}
    tap.eq(metrics.get("my_total"), [({"job": "web", "a": 'x\\"', "b": "2"}, 3.0)], "and given again, with its job")

    def look():
        rows = [r for r in server.api("requests")["requests"] if r["source"] == "push"]
        return rows
    rows = await_for(look)
    tap.eq([(r["name"], r["program"], r["count"], r["all_ms"]["p50"], r["all_ms"]["p99"]) for r in rows],
           [('web_seconds{route="/a"}', "web", 100, 100, 500)], "its histogram is among the requests")
    push(HISTOGRAM % (190, 199, 200, 200))
    rows = await_for(lambda: [r for r in look() if r["count"] == 200 and r["requests_per_s"] > 0 and r["last_minute_ms"]]) or []
    tap.ok(rows, "with its rate", look())
    tap.ok("my_total" not in server.metrics(), "a push replaces what its job pushed before")
    tap.eq(push("# TYPE a counter\na_total 1 # {x=\"1\"} 3\n# EOF\n", "other")[0], 200, "OpenMetrics, with an exemplar")
    tap.eq([push(text, "third")[0] for text in ("a_total 1\n", "web_seconds_sum 1\n", "# TYPE web counter\nweb_total 1\n")], [409, 409, 200],
           "a name that is another job's with a suffix")
    push("", "third")
    tap.eq(push("# TYPE web_seconds gauge\nweb_seconds 1\n", "other")[0], 409, "another type in another job")
    for text, why in (("a 1 1700000000\n", "a time"), ("DCGM_FI_DEV_GPU_UTIL 1\n", "not for others"), ('a{job="x"} 1\n', "not called job"),
                      ('a{le="1} 1\n', "without an end"), ("a{x=1} 1\n", "without quotes"), ("a one\n", "is no number"), ("a 0x1\n", "is no number"),
                      ("a 1\na 1\n", "there before"), ('a{x="1",x="2"} 1\n', "twice"), ("9a 1\n", "no name"), ("# TYPE a foo\n", "no type 'foo'"),
                      ("a 1\n# TYPE a gauge\n", "second type"), ('# TYPE a histogram\na_bucket{le="1"} 1\n', "+Inf"),
                      ('# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\n', "do not go up"), ("# TYPE a histogram\na 1\n", "_bucket"),
                      ("# EOF\na 1\n", "behind # EOF"), ("a{" + ",".join(f'l{i}="1"' for i in range(17)) + "} 1\n", "more than 16 labels"),
                      ("".join(f"a{i} 1\n" for i in range(300)), "more than 256"), ("".join(f'a{{x="{i}"}} 1\n' for i in range(4097)), "more than 4096"),
                      ("a1\n", "no blank"), ("# TYPE a info\na 1\n", "_info only"), ("a_sum 1\n# TYPE a summary\n", "samples of another"),
                      (b'a{x="\xff"} 1\n', "UTF-8"), (b"a\0b 1\n", "no blank")):
        status, said = push(text, "bad")
        tap.ok(status == 400 and why in json.loads(said)["error"], f"refused: {why}", (status, said))
    for job in ("", "a b", "x" * 65, "a\"b"):
        tap.eq(push("a 1\n", job)[0], 400, f"no job: {job!r}")
    tap.eq(push(b"a" * (300 << 10))[0], 413, "too much")
    tap.eq(push("a 1\n", "web", Origin="http://evil.example")[0], 403, "from a page of another site")
    tap.eq([push("b 1\n", f"job{i}")[0] for i in range(15)], [200] * 14 + [503], "16 jobs at the most")
    for i in range(14):
        push("", f"job{i}")
    tap.eq(push("b 1\n", "job15")[0], 200, "an empty push makes room")
    push("", "job15")
    push("", "other")
    tap.ok(await_for(lambda: not {"a_total", "b"} & set(server.metrics())), "and what it had pushed is gone when the next text is made")


def test_history(bench, server):
    """What was before somebody asked: devices since the server began, and requests."""
    now = server.api("snapshot")
    history = server.api("history")["history"]
    tap.eq([d["index"] for d in history["devices"]], [0, 1], "a curve of each device")
    curve = history["devices"][0]["utilization_percent"]
    times = [time for time, _ in curve]
    tap.ok(len(curve) >= 5 and times == sorted(set(times)) and now["time_ms"] - 120000 <= times[0] and times[-1] <= now["time_ms"] + 60000,
           "with a point for each look in the last two minutes", (len(curve), times[:2], times[-2:]))
    tap.ok(max(value for _, value in curve) >= 50 and all(0 <= value <= 100 for _, value in curve), "in which it was busy", curve)
    tap.ok({r["name"] for r in now["requests"]} <= {r["name"] for r in history["requests"]} and history["requests"], "and of each kind of request", history["requests"])


def test_heads(server):
    """Host: one in HTTP/1.1, none in 1.0 perhaps, and a local one."""
    for head, status in (("GET /healthz HTTP/1.1\r\n\r\n", 400), ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
                         ("GET /healthz HTTP/1.0\r\n\r\n", 200), ("GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n", 403),
                         ("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403), ("GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", 403),
                         ("GET /healthz HTTP/1.1\r\nhost: localhost\r\nConnection: close\r\n\r\n", 200),
                         ("POST /push?job=a HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400)):
        with server.raw() as s:
            s.sendall(head.encode())
            s.settimeout(PATIENCE_S)
            got = s.recv(1000)
        tap.ok(got.startswith(b"HTTP/1.") and got.split()[1] == str(status).encode(), f"{status} for {head.splitlines()[:2]}", got)


def test_crowd(bench):
    """More slow clients than there may be connections: others are answered at once, and those who are answered keep their place."""
    server = Server(bench.env, "--connections", "64", "--rate", "100000")
    page = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    slow, codes = [], []
    for i in range(300):
        s = server.raw()
        s.sendall(b"GET /metrics HTTP/1.1\r\nX-")
        slow.append(s)
        if i % 20 == 0:
            page.request("GET", "/healthz")
            answer = page.getresponse()
            codes.append((answer.status, answer.read()))
    tap.eq(set(codes), {(200, b"ok\n")}, "a page that asks now and then keeps its connection")
    tap.eq([server.ask("/healthz")[0] for _ in range(5)], [200] * 5, "and others get one, beside 300 that complete nothing")
    open_now = server.metrics()["heddle_serve_connections"][0][1]
    tap.ok(open_now <= 64 + 32, "of which not more are open than may be", open_now)
    page.close()
    for s in slow:
        s.close()
    server.stop()


def test_who(bench, server):
    tap.eq(server.ask("/metrics", Host="evil.example")[0], 403, "by another name than localhost")
    tap.eq(server.ask("/metrics", Host=f"localhost:{server.port}")[0], 200, "by that")
    tap.eq(server.ask("/metrics", Host=f"127.0.0.2:{server.port}")[0], 200, "by another address of this host")
    for host in ("127.example.com", "127.0.0.1.example.com", "localhost.example.com", "[::1", "[::2]", "128.0.0.1"):
        tap.eq(server.ask("/metrics", Host=host)[0], 403, f"by {host}")
    for args, said in ((["--listen", "0.0.0.0:0"], "needs --token-file"), (["--listen", "localhost:99999"], "not possible"), (["--rate", "0"], "not possible"),
                       (["--threshold", "foo=1"], "not possible"), (["--threshold", "p99_ms=x"], "not possible"), (["more"], "unknown argument"),
                       (["--token-file", bench.folder + "/no-such-file"], "/no-such-file")):
        got = subprocess.run([heddle, "serve", *args], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
        tap.ok(got.returncode == 2 and said in got.stderr, "refused: " + " ".join(args), got.stderr)
    got = subprocess.run([heddle, "serve", "--listen", f"127.0.0.1:{server.port}"], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
    tap.ok(got.returncode == 1 and "in use" in got.stderr, "an address that is taken", got.stderr)
    token = os.path.join(bench.folder, "token")
    for text in ("short\n", "with a blank in the middle\n", ""):
        with open(token, "w") as file:
            file.write(text)
        got = subprocess.run([heddle, "serve", "--token-file", token], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
        tap.ok(got.returncode == 2 and "no token" in got.stderr, f"no token: {text!r}", got.stderr)
    with open(token, "w") as file:
        file.write("0123456789abcdefghij\nanother line\n")
    guarded = Server(bench.env, "--token-file", token, "--rate", "100000", listen="0.0.0.0:0")
    good = "0123456789abcdefghij"
    for headers, status in (({}, 401), ({"Authorization": "Bearer " + good}, 200), ({"Authorization": "Bearer " + good[:-1]}, 401),
                            ({"Authorization": "Bearer " + good + "k"}, 401), ({"Authorization": "Bearer "}, 401), ({"Authorization": "Basic " + good}, 401),
                            ({"Cookie": "heddle_token=" + good}, 200), ({"Cookie": "heddle_token=x"}, 401)):
        tap.eq(guarded.ask("/metrics", **headers)[0], status, f"with {headers}")
        tap.eq(guarded.ask("/push?job=a", "POST", "", **headers)[0], status, "to push likewise")
    tap.ok("<form" in guarded.ask("/")[1], "a browser gets a form")
    status, _, headers = guarded.ask("/login", "POST", "token=" + good)
    tap.ok(status == 303 and "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"], "which gives a cookie", headers)
    tap.eq(guarded.ask("/login", "POST", "token=wrong")[0], 403, "for the token only")
    tap.eq(guarded.ask("/login", "POST", "token=" + good, Origin="http://evil.example")[0], 403, "and not from elsewhere")
    tap.eq(guarded.ask("/login", "POST", "x" * 5000)[0], 413, "nor with too much")
    guarded.stop()


def rss_kB(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def test_hostile(bench):
    server = Server(bench.env, "--connections", "32", "--rate", "50")
    before = rss_kB(server.process.pid)
    codes = [server.ask("/healthz")[0] for _ in range(300)]
    tap.ok(429 in codes and codes[0] == 200, "too many requests are refused", codes)
    tap.ok(await_for(lambda: server.ask("/healthz")[0] == 200), "for a while")
    for what, sent in (("nonsense", b"\x00\xff\r\n\r\n" * 10), ("no HTTP", b"HELO\r\n\r\n"), ("a long line", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n"),
                       ("many headers", b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(5000)) + b"\r\n"),
                       ("a length that is none", b"POST /push?job=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n"),
                       ("a huge length", b"POST /push?job=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"),
                       ("bad chunks", b"POST /push?job=a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")):
        time.sleep(0.1)
        with server.raw() as s:
            try:
                s.sendall(sent)
                s.settimeout(30)
                got = s.recv(1000)
            except OSError:
                got = b""
        tap.ok(not got or re.match(rb"HTTP/1\.[01] (4|5)\d\d ", got), what, got)
    # An endless body: it is read, not kept, and cut at last.
    with server.raw() as s:
        s.sendall(b"POST /push?job=a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        begin, sent = time.monotonic(), 0
        try:
            while time.monotonic() - begin < 60:
                s.sendall(b"1000\r\n" + b"a" * 4096 + b"\r\n")
                sent += 4096
        except OSError:
            pass
        tap.ok(time.monotonic() - begin < 59, "an endless body is cut", "%.1f s" % (time.monotonic() - begin))
    # Those who send a byte now and then hold no place for long.
    slow = [server.raw() for _ in range(32)]
    for s in slow:
        s.sendall(b"GET /met")
    stop = threading.Event()

    def dribble():
        while not stop.wait(1):
            for s in slow:
                try:
                    s.sendall(b"r")
                except OSError:
                    pass
    thread = threading.Thread(target=dribble)
    thread.start()

    def served():
        try:
            return server.ask("/healthz")[0] == 200
        except OSError:
            return False
    tap.ok(await_for(served, 60), "32 slow clients of 32 are cut, and others served")
    stop.set()
    thread.join()
    for s in slow:
        s.close()
    cut = {}

    def look():
        try:
            cut.update(server.metrics())
        except (OSError, TypeError):
            return False
        return cut.get("heddle_serve_connections_cut_total", [({}, 0)])[0][1] >= 1
    tap.ok(await_for(look), "which is counted")
    # Who asks and does not read.
    lazy = [server.raw() for _ in range(8)]
    for s in lazy:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
    tap.ok(await_for(served, 60), "others are served while some do not read")
    for s in lazy:
        s.close()
    tap.ok(rss_kB(server.process.pid) < before + 16384, "its memory stays", f"{before} {rss_kB(server.process.pid)}")
    server.stop()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_prometheus(bench, server):
    if not shutil.which("prometheus"):
        return tap.skip("no prometheus")
    for name in ("rules.yml", "alerts.yml"):
        got = subprocess.run(["promtool", "check", "rules", os.path.join(SHARE, name)], capture_output=True, text=True, timeout=PATIENCE_S)
        tap.ok(got.returncode == 0, f"promtool takes {name}", got.stdout + got.stderr)
    got = subprocess.run(["promtool", "check", "config", os.path.join(SHARE, "prometheus.yml")], capture_output=True, text=True, timeout=PATIENCE_S)
    tap.ok(got.returncode == 0, "and prometheus.yml", got.stdout + got.stderr)
    with open(os.path.join(SHARE, "prometheus.yml")) as file:
        config = file.read()
    folder = os.path.join(bench.folder, "prometheus")
    os.mkdir(folder)
    for name in ("rules.yml", "alerts.yml"):
        shutil.copy(os.path.join(SHARE, name), folder)
    config = re.sub(r"127\.0\.0\.1:9400", f"127.0.0.1:{server.port}", config)
    config = re.sub(r"(scrape_interval|evaluation_interval): \S+", r"\1: 1s", config)
    with open(os.path.join(folder, "prometheus.yml"), "w") as file:
        file.write(config)
    port = free_port()
    log = open(os.path.join(folder, "log"), "w+")
    process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)

    def query(expression):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/api/v1/query?query=" + urllib.parse.quote(expression))
            return json.loads(connection.getresponse().read())
        except (OSError, ValueError):
            return {"status": "none", "data": {"result": []}}
        finally:
            connection.close()
    program = bench.start("hang")
    try:
        tap.ok(await_for(lambda: query('DCGM_FI_DEV_GPU_UTIL{gpu="0"} > 90')["data"]["result"]), "Prometheus sees the device busy",
               open(os.path.join(folder, "log")).read()[-3000:])
        metrics = server.metrics()
        for expression in DASHBOARD:
            got = query(expression)
            name = re.search(r"DCGM_\w+", expression)[0]
            tap.ok(got["status"] == "success" and bool(got["data"]["result"]) == (name in metrics), expression, got)
        for line in re.findall(r"record: (\S+)", open(os.path.join(SHARE, "rules.yml")).read()):
            got = query(line)
            tap.eq(got["status"], "success", line)
        tap.ok(await_for(lambda: query("heddle:device_busy:ratio")["data"]["result"]), "recording rules give values")
    finally:
        program.kill()
        program.communicate(timeout=PATIENCE_S)
        process.terminate()
        process.wait(timeout=PATIENCE_S)
        log.close()


def test_page(bench, server):
    status, text, headers = server.ask("/")
    tap.ok(status == 200 and "<html lang" in text and "default-src 'self'" in headers["Content-Security-Policy"], "the page")
    refers = re.findall(r'(?:src|href)="([^"#]+)"', text)
    tap.eq([r for r in refers if not r.startswith(("/", "data:,"))], [], "refers to nothing elsewhere")
    tap.eq({server.ask(r)[0] for r in refers if r.startswith("/")}, {200}, "and to what there is")
    chromium = shutil.which("chromium")
    if not chromium:
        return tap.skip("no chromium")
    program = bench.start("hang")
    await_for(lambda: server.api("kernels")["kernels"])
    got = subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", f"--user-data-dir={bench.folder}/chromium",
                          "--window-size=400,900", "--dump-dom", server.address], capture_output=True, text=True, timeout=PATIENCE_S)
    dom = got.stdout
    browser = Browser(bench.folder, PATIENCE_S)
    for dark in (False, True):
        browser.open(server.address, dark=dark)
        browser.until("!!document.querySelector('article') && !!document.querySelector('td.name')")
        tap.eq(browser.js(FAINT), [], f"texts can be read{' in the dark' if dark else ''}")
    browser.open(server.address)
    went, all_of = browser.tabs()
    tap.ok(went and went == sorted(went) and set(went) >= set(all_of), "Tab goes through the controls in their order", f"{went}\n{all_of}")
    browser.close()
    program.kill()
    program.communicate(timeout=PATIENCE_S)
    tap.ok(len(re.findall(r'<article[^>]*aria-label="Device \d"', dom)) == 2, "a browser shows both devices", dom[-2000:] + got.stderr[-500:])
    tap.ok(re.search(r'<td class="name">hang</td>', dom) and re.search(r'aria-label="Occupancy \d+ %"', dom), "the kernel that runs, with its occupancy", dom[-3000:])
    tap.ok(re.search(r'<td class="name">infer</td>', dom), "requests", dom[-3000:])
    tap.ok(re.search(r'role="alert"[^>]*>Too much: device 0 is \d+ % busy', dom), "and what is too much", dom[-3000:])
    tap.eq(re.findall(r"<(?:button|input|select)(?![^>]*(?:aria-|type=))", dom), [], "controls have names")


def test_load(bench):
    """2,000 scrapes and 200 pages that ask once a second."""
    server = Server(bench.env, "--rate", "2000")
    stop, failures, answers = threading.Event(), [], [0]

    def page(number):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        time.sleep(number / 200)
        while not stop.wait(1):
            try:
                connection.request("GET", "/api/v1/snapshot")
                answer = connection.getresponse()
                json.loads(answer.read())
                answers[0] += 1
                if answer.status != 200:
                    failures.append(answer.status)
            except (OSError, ValueError, http.client.HTTPException) as error:
                failures.append(repr(error))
                connection.close()
        connection.close()
    threads = [threading.Thread(target=page, args=(i,)) for i in range(200)]
    for thread in threads:
        thread.start()
    before = rss_kB(server.process.pid)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: server.ask("/metrics")[0], range(2000)))
    await_for(lambda: answers[0] > 1000)
    stop.set()
    for thread in threads:
        thread.join()
    tap.eq(set(codes), {200}, "2,000 scrapes")
    tap.ok(not failures and answers[0] > 1000, "beside 200 pages", (answers, failures[:5]))
    tap.ok(rss_kB(server.process.pid) < before + 8192, "its memory stays", f"{before} {rss_kB(server.process.pid)}")
    server.stop()


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Programs(folder)
        if "load" in sys.argv:
            test_hostile(bench)
            test_load(bench)
            return tap.done()
        server = Server(bench.env, "--interval", "300", "--rate", "100000", "--threshold", "utilization_percent=50")
        test_idle(bench, server)
        test_api(server)
        test_busy(bench, server)
        test_requests(bench, server)
        test_push(server)
        test_promtool(server)
        test_page(bench, server)
        test_prometheus(bench, server)
        test_history(bench, server)
        test_heads(server)
        test_who(bench, server)
        server.stop()
        test_crowd(bench)
    return tap.done()


sys.exit(main())
