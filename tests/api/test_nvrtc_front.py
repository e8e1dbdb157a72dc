#!/usr/bin/env python3
"""What libnvrtc keeps between programs (src/api/nvrtc/kept.c), in later processes and when its files are damaged: every program compiles,
nothing is said, and what is kept is of use again.

    test_nvrtc_front.py PROGRAM
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
HEAD_B = 64  # of an entry
STANDARDS = ("c++11", "c++14", "c++17", "c++20", "c++23")
tap = Tap()
number = 0


def start(cache, *options, count=2):
    """Programs that no process had."""
    global number
    number += count
    return subprocess.Popen([PROGRAM, "compile", str(number), str(count), *options], env=dict(os.environ, HEDDLE_CACHE=cache), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def compiles(name, cache, *options, count=2):
    said, _ = start(cache, *options, count=count).communicate(timeout=120)
    tap.eq(said, "fine\n", name)


def fronts(cache):
    return sorted(f for f in glob.glob(os.path.join(cache, "*.code")) if os.path.isfile(f) and os.path.getsize(f) > 500000)


def copy_of(cache, folder):
    where = os.path.join(folder, "damaged")
    shutil.rmtree(where, ignore_errors=True)
    return shutil.copytree(cache, where)


def rewrite(path, change):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data = change(data)
    with open(path, "wb") as file:
        file.write(data)


def flip(data, at):
    data[at] ^= 0x55
    return data


def put_inside(path, data):
    """A sound entry with other contents."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        done = subprocess.run([PROGRAM, "put", os.path.dirname(path), os.path.basename(path)[:32], file.name], capture_output=True, text=True,
                              check=False)
    assert done.stdout == "fine\n", done


def special(path, make):
    os.unlink(path)
    make(path)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def damages(front, other):
    """name: what is done to the file."""
    inside = read(front)[HEAD_B:]
    yield from {
        "empty": lambda p: rewrite(p, lambda d: d[:0]),
        "a head alone": lambda p: rewrite(p, lambda d: d[:HEAD_B]),
        "half of it": lambda p: rewrite(p, lambda d: d[:len(d) // 2]),
        "one byte less": lambda p: rewrite(p, lambda d: d[:-1]),
        "one byte more": lambda p: rewrite(p, lambda d: d + b"x"),
        "another version": lambda p: rewrite(p, lambda d: flip(d, 8)),
        "another key": lambda p: rewrite(p, lambda d: flip(d, 16)),
        "another size": lambda p: rewrite(p, lambda d: flip(d, 34)),
        "a bit at the start": lambda p: rewrite(p, lambda d: flip(d, HEAD_B)),
        "a bit in the middle": lambda p: rewrite(p, lambda d: flip(d, len(d) // 2)),
        "a bit at the end": lambda p: rewrite(p, lambda d: flip(d, len(d) - 1)),
        "not readable": lambda p: os.chmod(p, 0),
        "a link to nowhere": lambda p: special(p, lambda q: os.symlink("/nowhere/at/all", q)),
        "a link to itself": lambda p: special(p, lambda q: os.symlink(q, q)),
        "a folder": lambda p: special(p, os.mkdir),
        "a pipe": lambda p: special(p, os.mkfifo),
        "a sound entry: nothing": lambda p: put_inside(p, b""),
        "a sound entry: two bytes": lambda p: put_inside(p, b"xx"),
        "a sound entry: zeros": lambda p: put_inside(p, bytes(100000)),
        "a sound entry: half": lambda p: put_inside(p, inside[:len(inside) // 2]),
        "a sound entry: no signature": lambda p: put_inside(p, b"XPCH" + inside[4:]),
        "a sound entry: another standard's": lambda p: put_inside(p, read(other)[HEAD_B:]),
    }.items()


def check_standards(folder):
    for standard in STANDARDS:
        cache, option = os.path.join(folder, standard), f"-std={standard}"
        compiles(f"{standard}: a process", cache, option, count=3)
        tap.ok(len(fronts(cache)) == 1, f"{standard}: keeps a front", os.listdir(cache))
        before = {f: read(f) for f in fronts(cache)}
        compiles(f"{standard}: another one", cache, option)
        compiles(f"{standard}: with another macro", cache, option, "-DX=1", count=3)
        tap.ok(all(read(f) == data for f, data in before.items()), f"{standard}: the front is as it was")


def check_damages(folder):
    cache = os.path.join(folder, "c++20")
    other, = fronts(os.path.join(folder, "c++17"))[:1]
    front = next(f for f in fronts(cache))
    for name, damage in damages(front, other):
        broken = copy_of(cache, folder)
        for path in fronts(broken):
            damage(path)
        compiles(f"{name}: a process", broken, "-std=c++20")
        compiles(f"{name}: the next", broken, "-std=c++20", count=3)
        compiles(f"{name}: and a third", broken, "-std=c++20")


def check_all_damaged(folder):
    for name, change in (("truncated", lambda d: d[:len(d) * 2 // 3]), ("flipped", lambda d: flip(d, len(d) - 1))):
        broken = copy_of(os.path.join(folder, "c++20"), folder)
        for path in glob.glob(os.path.join(broken, "*.code")):
            rewrite(path, change)
        compiles(f"all files {name}", broken, "-std=c++20", count=3)
        tap.ok(fronts(broken), f"all files {name}: there is a front again", os.listdir(broken))


def check_folders(folder):
    no_folder = os.path.join(folder, "file")
    with open(no_folder, "w", encoding="utf-8") as file:
        file.write("no folder\n")
    closed = os.path.join(folder, "closed")
    os.mkdir(closed, 0o500)
    for name, cache in (("off", "off"), ("a file", no_folder), ("below a file", no_folder + "/x"), ("of the system", "/proc/none"), ("closed", closed)):
        compiles(f"a cache that cannot be: {name}", cache, "-std=c++17", count=3)
    full = copy_of(os.path.join(folder, "c++17"), folder)
    for path in glob.glob(os.path.join(full, "*")):
        os.chmod(path, 0o400)
    os.chmod(full, 0o500)
    compiles("a cache that cannot be written", full, "-std=c++17", count=3)
    os.chmod(full, 0o700)


def check_many(folder):
    for standard in ("c++17", "c++20"):
        for cache in (os.path.join(folder, "many-" + standard), os.path.join(folder, standard)):
            started = [start(cache, f"-std={standard}", count=3) for _ in range(4)]
            said = [p.communicate(timeout=240)[0] for p in started]
            tap.eq(said, ["fine\n"] * 4, f"{standard}: four at once, {'new' if 'many' in cache else 'kept'}")


with tempfile.TemporaryDirectory() as work:
    check_standards(work)
    check_damages(work)
    check_all_damaged(work)
    check_folders(work)
    check_many(work)
tap.done()
