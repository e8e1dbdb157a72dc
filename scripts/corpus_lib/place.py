"""Where sources, programs, their input and results live, and how long jobs show how far they are."""
import contextlib
import fcntl
import os
import re
import sys
import threading
import time

import table


class Place:
    """The folder of the corpus: src/<repository>, data, build/<variant>/<repository>/<program>, results/<variant>.json."""

    def __init__(self, folder):
        default = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "heddle-corpus")
        self.top = os.path.abspath(folder or os.environ.get("HEDDLE_CORPUS") or default)

    def source(self, repo):
        return os.path.join(self.top, "src", repo)

    def data(self):
        return os.path.join(self.top, "data")

    def expanded(self, text):
        """{repository}, {tables} and {data} in flags and arguments stand for folders."""
        folders = {repo: os.path.realpath(self.source(repo)) for repo in table.repositories()}
        folders.update(tables=table.TABLES, data=self.data())
        return re.sub(r"\{([\w-]+)\}", lambda word: folders.get(word[1], word[0]), text)

    def built_tree(self, variant, repo):
        return os.path.join(self.top, "build", str(variant), repo)

    @contextlib.contextmanager
    def lock(self, variant, *names):
        """Held by one thread of one process at a time."""
        folder = os.path.join(self.top, "build", str(variant), "locks")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "+".join(names).replace("/", "+")), "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def shortened(self, text, repo):
        """Without what is only true on this machine."""
        for path, name in ((os.path.realpath(self.source(repo)), repo), (self.top, "corpus")):
            text = text.replace(path, name)
        return text

    def results(self, variant):
        return os.path.join(self.top, "results", f"{variant}.json")


class Progress:
    """One line on a terminal, rewritten: done, left, what came out so far, time left. Silent in a pipe."""

    def __init__(self, what, total, stream=sys.stderr):
        self.what, self.total, self.stream = what, total, stream
        self.start, self.done, self.counts = time.monotonic(), 0, {}
        self.lock = threading.Lock()
        self.live = stream.isatty()

    def step(self, name, outcome):
        with self.lock:
            self.done += 1
            self.counts[outcome] = self.counts.get(outcome, 0) + 1
            if self.live:
                self.stream.write(f"\r\033[K{self.text()}  {name}: {outcome}"[:200])
                self.stream.flush()

    def text(self):
        left_s = (time.monotonic() - self.start) / max(self.done, 1) * (self.total - self.done)
        return f"{self.what} {self.done}/{self.total}, {int(left_s // 60)} min {int(left_s % 60)} s left"

    def end(self):
        if self.live:
            self.stream.write("\r\033[K")
        counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(self.counts.items()))
        print(f"{self.what}: {counts or 'nothing to do'}")
