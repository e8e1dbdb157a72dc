#!/usr/bin/env python3
"""Words of our own that have a standard one: which, where, and what to write instead.

    scripts/lint_words.py [FOLDER]     the files of a folder, not those that git knows: for its test
"""
import os
import re
import sys

from lint_files import run

# word; where it must not stand; what to write; what it may mean there all the same
WORDS = [
    (r"[Tt]urns?", ("src/jit/", "src/opt/", "src/analysis/", "docs/jit.md", "docs/performance.md"), "iteration (of a loop)",
     r"[Ii]n turns?\b|\b(take|takes|taken|taking) turns\b|\b(has|in) its turn\b|\bturns? (out|into|it|that back|those)\b|\bturns? .* into\b|would turn from|\bturns (logic|@p|local|small)"),
    (r"gen_(?:jam|carr(?:y|ies)|mend|few|stop|serial|step|words?|forward|stream|places?)(?:_\w+)?", ("src/jit/",),
     "coarsen, live, workarounds, scalar_gather, suspend, lane_serial, address_stride, promote, store_forward, nontemporal, srcloc or slot", r"$^"),
    (r"[Pp]art(y|ies)", ("src/", "spec/", "tests/api/"), "multi-device cooperative launch (mdc)", r"third.part"),
    (r"[Ff]amil(y|ies)", ("src/core/",), "device runtime (CDP)", r"$^"),
    (r"[Tt]wins?", ("src/core/", "src/dev/", "src/jit/", "src/dbg/"), "debug variant", r"$^"),
    (r"struct (\w+_)?places?", ("src/",), "srcloc (of source text), location (of memory), coord (of a matrix), slot or site", r"$^"),
    (r"\w+_(tell|told|untold)(_\w+)?|(tell|told)_\w+", ("src/", "tools/"), "notify (an event) or report (a finding)", r"$^"),
    (r"cpu_(share|claim)\w*", ("src/dev/",), "partition, chunk", r"$^"),
]
ENDINGS = (".c", ".h", ".def", ".md", ".build")


def check(root, path):
    rows = [(re.compile(rf"\b{word}\b"), instead, re.compile(fine)) for word, folders, instead, fine in WORDS if path.startswith(folders)]
    if not rows or not path.endswith(ENDINGS):
        return
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            for word, instead, fine in rows:
                found = word.search(line)
                if found and not fine.search(line):
                    yield f"{path}:{number}: \"{found[0]}\" is {instead} here: scripts/lint_words.py"


if __name__ == "__main__":
    sys.exit(run(check))
