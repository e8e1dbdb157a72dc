#!/usr/bin/env python3
"""The debugger's server without GDB: test_rsp.py HEDDLE

What GDB never sends, debuggers that go away, and programs whose kernels all run in their debuggable form: same results."""
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "../tools"))
from rsp import Client, Closed, Target  # noqa: E402
from support import Tap, variants  # noqa: E402

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(FOLDER, "programs/program.cu")
EXAMPLES = ("hello", "linkedlist", *(("halfsaxpy", "cooperative") if variants.current().is_default else ()))  # the longest ones once
SEED = int(os.environ.get("HEDDLE_SEED", "1"))


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
        self.env.update(HEDDLE_CACHE=os.path.join(folder, "cache"), TMPDIR=folder, **variants.current().env())

    def build(self, source, name):
        path = os.path.join(self.folder, name)
        got = subprocess.run(variants.current().command(heddle, source, path, "-G"), capture_output=True, text=True, env=self.env, timeout=200)
        if got.returncode:
            tap.ok(False, "builds " + name, got.stdout + got.stderr)
            tap.done()
        return path

    def plain(self, program, *args):
        return subprocess.run([heddle, "run", program, *args], capture_output=True, text=True, env=self.env, timeout=100).stdout

    def target(self, program, *args):
        return Target(heddle, program, self.folder, *args, env=self.env)


def to_kernel(client):
    """Goes on until a kernel begins."""
    client.monitor("break_on_launch all")
    got = client.go()
    while got.startswith("T") and "library" in got:
        got = client.go()
    return got


def test_basics(bench, program):
    target = bench.target(program)
    client = target.connect()
    features = client.ask("qSupported:swbreak+")
    tap.ok("qXfer:libraries:read+" in features and "ConditionalBreakpoints+" in features, "what it supports", features)
    tap.ok(client.ask("?").startswith("T05"), "it is stopped")
    xml.dom.minidom.parseString(client.transfer(("features", "target.xml")))
    tap.ok(True, "its description is XML")
    stop = to_kernel(client)
    tap.ok(re.match(r"T00thread:[0-9a-f]+;$", stop), "a kernel's begin", stop)
    threads = xml.dom.minidom.parseString(client.transfer(("threads", ""))).getElementsByTagName("thread")
    tap.ok(threads[1].getAttribute("name") in ("(0,0,0)/(0,0,0)", "(1,0,0)/(0,0,0)"), "threads have names")
    libraries = client.transfer(("libraries", ""))
    paths = re.findall(r'name="([^"]+)"', libraries)
    tap.ok(len(paths) == 2 and all(os.path.exists(path) for path in paths), "files of symbols", libraries)
    tap.eq(client.ask("Z0,1234,1"), "E01", "a breakpoint where no code is")
    tap.eq(client.ask("Z2,7000000000000000,4"), "OK", "a watchpoint")
    tap.eq(client.ask("z2,7000000000000000,4"), "OK", "and none")
    tap.eq(client.ask("m0,8"), "E01", "memory that is not there")
    tap.eq(client.ask("m3000000000000000,4"), "00000000", "threadIdx.x")
    tap.eq(client.ask("G00"), "E01", "registers cannot be written")
    tap.eq(client.ask("X0,0:"), "", "an unknown packet")
    tap.ok("kern" in client.monitor("kernels"), "a command of the server")
    tap.ok("commands of the server" in client.monitor("nonsense"), "an unknown one")
    client.monitor("break_on_launch none")
    stops, last = client.run()
    tap.eq((stops, last), (0, "W00"), "the end")
    tap.eq(target.end(), bench.plain(program), "results")


def test_gone(bench, program):
    """The debugger goes while a kernel is stopped; another one comes."""
    target = bench.target(program)
    client = target.connect()
    to_kernel(client)
    client.close()
    tap.eq(target.end(), bench.plain(program), "a debugger that is killed: the program goes on")
    target = bench.target(program)
    client = target.connect()
    tap.eq(client.ask("D"), "OK", "detach")
    tap.eq(target.end(), bench.plain(program), "and the program goes on")
    target = bench.target(program)
    client = target.connect()
    to_kernel(client)
    client.send("k")
    tap.ok(target.end() is not None and target.process.returncode == -9, "kill ends the program", target.process.returncode)
    target = bench.target(program, "spin")
    client = target.connect()
    to_kernel(client)
    client.close()
    second = Client(target.path)
    tap.ok(second.ask("?").startswith("T05"), "another debugger")
    second.send("k")
    target.end()
    left = [name for name in os.listdir(bench.folder) if name.startswith("heddle-gdb-")]
    tap.eq(left, [], "no files are left")


def test_examples(bench):
    """Every kernel in the form for debuggers: the same results."""
    for name in EXAMPLES:
        program = bench.build(os.path.join(FOLDER, "../../examples", name + ".cu"), name)
        target = bench.target(program)
        client = target.connect()
        client.monitor("break_on_launch all")
        stops, last = client.run()
        tap.ok(stops > 0 and last == "W00", f"{name}: ends, after {stops} kernels", last)
        printed = target.end() or ""  # by blocks in any order
        tap.eq(sorted(printed.splitlines()), sorted(bench.plain(program).splitlines()), f"{name}: as without a debugger")


def random_packet(rng):
    """Something like a packet, with something wrong."""
    words = ["qSupported", "?", "g", "G", "p1", "P1=00", "m%x,%x" % (rng.getrandbits(rng.choice([8, 48, 64])), rng.getrandbits(12)),
             "M%x,4:00" % rng.getrandbits(20), "X10,2:}}", "H%s%x" % (rng.choice("gcx"), rng.getrandbits(12)), "T%x" % rng.getrandbits(16),
             "Z%d,%x,%x" % (rng.randrange(6), rng.choice([0x4000000000000010, 0x5003ffffff000000, rng.getrandbits(64)]), rng.getrandbits(8)),
             "Z0,4000000000000010,1;X%x,%s" % (rng.getrandbits(6), "%x" % rng.getrandbits(160)), "z0,4000000000000010,1",
             "qXfer:threads:read::%x,%x" % (rng.getrandbits(16), rng.getrandbits(16)), "qXfer:libraries:read::0,fff",
             "qXfer:features:read:target.xml:%x,10" % rng.getrandbits(40), "qRcmd," + rng.choice(
                 ["focus", "find 1 2 3 4 5 6", "registers 99 %r1", "ptx 4000000000000000", "threads", "lanes", "warps", "%s%n"]).encode().hex(),
             "qRcmd,zz", "vCont?", "vCont;", "vCont;s:-1", "vCont;r1", "vCont;q", "qfThreadInfo", "qC", "vMustReplyEmpty", "QStartNoAckMode", "bs", "bc", "qRcmd," + b"record".hex(),
             "m4000000000000000,%x" % rng.getrandbits(12), "m5003ffffff000000,40", "m6000000000000000,40", "m3000000000000000,99"]
    text = bytearray(rng.choice(words).encode())
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        if text:
            text[rng.randrange(len(text))] = rng.getrandbits(8)
    text = bytes(text[:rng.choice([len(text), len(text), rng.randrange(len(text) + 1)])])
    return b"" if text.startswith((b"k", b"vKill")) else text  # those would do what they say


def fuzz(client, rng, packets):
    for _ in range(packets):
        kind = rng.randrange(20)
        if kind == 0:
            client.raw(bytes(rng.choice(b"+-\x03") for _ in range(rng.randrange(40))))  # all that may stand between packets
        elif kind == 1:
            client.raw(b"$" + random_packet(rng).replace(b"#", b".") + b"#zz")  # a wrong sum
        elif kind == 2:
            client.raw(b"\x03")
        else:
            client.send(random_packet(rng).replace(b"#", b".").replace(b"$", b"."))
        drain(client)
    settle(client)


def drain(client):
    """Answers are read, as debuggers do: who does not read stops the server."""
    client.socket.setblocking(False)
    try:
        while True:
            if not client.socket.recv(65536):
                raise Closed("end")
    except BlockingIOError:
        client.socket.settimeout(30)


def settle(client):
    """Whatever was said, the server answers a question; if the program runs, it is stopped first."""
    client.socket.settimeout(0.5)
    for _ in range(60):
        client.raw(b"$#00\x03")
        client.send("qXfer:threads:read::0,b")
        try:
            while True:
                got = client.receive()
                if got == "m<threads><t":
                    return
                if got.startswith("W"):
                    raise Closed("the program has ended")
        except TimeoutError:
            pass
    raise OSError("no answer")


def test_fuzz(bench, program):
    want = bench.plain(program)
    bad = []
    for seed in range(SEED, SEED + 12):
        rng = random.Random(seed)
        target = bench.target(program)
        client = target.connect()
        try:
            if seed % 3:
                to_kernel(client)
            fuzz(client, rng, 300)
        except (Closed, ConnectionResetError, BrokenPipeError):
            pass  # a detach, or bytes that are none of the protocol, with more behind them: the server hangs up
        except OSError as error:
            bad.append((seed, "no answer", str(error)))
        client.close()
        got = target.end()
        if target.process.returncode != 0 or (got != want and "M" not in str(bad)):
            bad.append((seed, target.process.returncode, got))
    tap.eq(bad, [], f"random packets, seeds {SEED} to {SEED + 11}: the program ends as if nothing had been")


def packets(*texts):
    return b"+".join(b"$" + text + b"#%02x" % (sum(text) & 255) for text in texts)


STRANGERS = (
    ("an HTTP request with packets in it",
     b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n" + packets(b"QStartNoAckMode", b"?", b"k")),
    ("a line before packets", b"\r\n" + packets(b"?", b"k")),
    ("TLS", b"\x16\x03\x01" + packets(b"?", b"k")),
    ("zeros", bytes(8) + packets(b"?", b"k")),
    ("nothing", b""),
)


def heard(client):
    """All that comes until the other side hangs up."""
    try:
        while True:
            more = client.socket.recv(65536)
            if not more:
                return client.data
            client.data += more
    except ConnectionError:
        return client.data


def test_strangers(bench, program):
    """What is no debugger has no say, is not kept, and does not disturb the next one; with HEDDLE_GDB_LOST=end it does not end the program."""
    env = {**bench.env, "HEDDLE_GDB_LOST": "end"}
    for make in (Target, Target.on_tcp):
        target = make(heddle, program, bench.folder, env=env)
        for name, data in STRANGERS:
            client = target.connect()
            client.raw(data)
            with contextlib.suppress(OSError):  # the program may have hung up already
                client.socket.shutdown(1)
            tap.eq(heard(client), b"", f"{make.__name__}: {name}: hangs up, says nothing")
        client = target.connect()
        tap.ok(client.ask("?").startswith("T05"), f"{make.__name__}: then a debugger comes, and the program has waited for it")
        stops, last = client.run()
        tap.eq(last, "W00", f"{make.__name__}: the program ends")
        tap.eq(target.end(), bench.plain(program), f"{make.__name__}: with its results")
        target = make(heddle, program, bench.folder, env=bench.env)
        client = target.connect()
        client.ask("?")
        client.raw(b"x" + packets(b"k"))
        heard(client)
        tap.eq(target.end(), bench.plain(program), f"{make.__name__}: bytes between packets end the conversation, what is behind them is not read")


AS_NOBODY = """
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
at = sys.argv[1]
s = socket.socket(socket.AF_INET if at.isdigit() else socket.AF_UNIX)
s.settimeout(60)
try:
    s.connect(("127.0.0.1", int(at)) if at.isdigit() else at)
    s.sendall(b"$?#3f")
    if sys.argv[2] == "gone":
        sys.exit("[]")
    got = s.recv(100)
except (ConnectionError, PermissionError):
    got = b""
sys.exit("[%s]" % got.decode())
"""


def test_users(bench, program):
    """Another user may not debug, whether he waits for an answer or not."""
    if os.getuid() != 0:
        tap.skip("only root can be somebody else")
        return
    for make in (Target, Target.on_tcp):
        target = make(heddle, program, bench.folder, env=bench.env)
        if make is Target:
            os.chmod(bench.folder, 0o755)
            os.chmod(target.path, 0o777)
        for how in ("stays", "gone"):
            got = subprocess.run([sys.executable, "-c", AS_NOBODY, str(target.path), how], capture_output=True, text=True, timeout=100)
            tap.eq(got.stderr.strip(), "[]", f"{make.__name__}: another user is refused, who {how}")
        client = target.connect()
        tap.ok(client.ask("?").startswith("T05"), f"{make.__name__}: the program still waits for its debugger")
        client.send("k")
        target.end()


def test_where(bench, program):
    for where, why in (("nonsense", "neither :PORT"), ("unix:" + "x" * 200, "too long"), (":", "neither")):
        got = subprocess.run([heddle, "run", "--gdbserver", where, program], capture_output=True, text=True, env=bench.env,
                             timeout=60)
        tap.ok(got.returncode == 1 and why in got.stderr, f"'{where[:10]}' is refused", got.stderr)


with tempfile.TemporaryDirectory() as folder:
    bench = Bench(folder)
    program = bench.build(SOURCE, "program")
    test_basics(bench, program)
    test_gone(bench, program)
    test_fuzz(bench, program)
    test_strangers(bench, program)
    test_users(bench, program)
    test_where(bench, program)
    test_examples(bench)
tap.done()
