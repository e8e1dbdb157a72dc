"""A plugin of pytest that writes one line of JSON for each test of a client's own suite.

    {"begin": "test_sort.py::test_float"}
    {"test": "test_sort.py::test_float", "outcome": "failed", "message": "E   AssertionError: ...", "seconds": 0.3}

The lines go to the file that CLIENT_SUITE_LINES names. A line that only begins is a test that ended its process.
The tests that CLIENT_SUITE_DONE (a file of names) lists are left out: an earlier process ran them. Of the others
every CLIENT_SUITE_EVERY-th of a file is run.
"""
import json
import os

state = {}


def read_done():
    path = os.environ.get("CLIENT_SUITE_DONE")
    if not path or not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return set(file.read().splitlines())


def write(line):
    with open(os.environ["CLIENT_SUITE_LINES"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config, items):
    done, every = read_done(), int(os.environ.get("CLIENT_SUITE_EVERY", "1"))
    left, out = [], []
    for i, item in enumerate(items):
        (left if i % every == 0 and item.nodeid not in done else out).append(item)
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = left


def pytest_runtest_logstart(nodeid, location):
    del location
    state.clear()
    state.update(outcome="passed", message="", seconds=0.0)
    write({"begin": nodeid})


def pytest_runtest_logreport(report):
    if not state:  # of a subtest after its test's end
        return
    state["seconds"] += report.duration
    if report.failed:
        state["outcome"] = "failed"
        state["message"] = (state["message"] or report.longreprtext)[-3000:]
    elif report.skipped and state["outcome"] == "passed":
        state["outcome"] = "xfailed" if hasattr(report, "wasxfail") else "skipped"
        state["message"] = str(report.longrepr)[-300:]


def pytest_runtest_logfinish(nodeid, location):
    del location
    write(dict(state, test=nodeid, seconds=round(state["seconds"], 3)))


def pytest_collectreport(report):
    if report.failed:
        write({"test": report.nodeid, "outcome": "failed", "message": report.longreprtext[-3000:], "seconds": 0.0, "collect": True})
