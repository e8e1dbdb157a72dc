#!/usr/bin/env python3
"""Links of the documents lead somewhere, and functions that tours and recipes name exist. Says also which documents docs/README.md
does not lead to."""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def targets(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        links = LINK.findall(file.read())
    return [os.path.normpath(os.path.join(os.path.dirname(path), t)) for t in links if "://" not in t]


def functions_missing():
    """Functions in backquotes, with brackets, that nothing in the tree is called; invented ones have foo or capitals in their names."""
    words = set()
    for top in ("src", "tools", "tests", "include", "scripts", "spec"):
        for path in glob.glob(top + "/**/*.[chdp]*", recursive=True):
            if os.path.isfile(path) and path.endswith((".c", ".h", ".def", ".py")):
                with open(path, encoding="utf-8", errors="replace") as file:
                    words.update(re.findall(r"\w+", file.read()))
    for page in sorted(glob.glob("docs/tours/*.md") + glob.glob("docs/recipes/*.md")):
        with open(page, encoding="utf-8") as file:
            for name in re.findall(r"`(?:\w+\.c: )?(\w+)\(\)", file.read()):
                if name not in words and "foo" not in name.lower() and not re.search(r"[A-Z]{3}", name):
                    yield f"{page}: there is no {name}()"


def main():
    os.chdir(ROOT)
    pages = glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True) + ["spec/README.md"]
    bad = [f"{page}: {target} does not exist" for page in pages for target in targets(page)
           if not os.path.exists(target)]
    bad += functions_missing()
    listed = set(targets("docs/README.md"))
    for page in sorted(glob.glob("docs/*.md")):
        if page not in listed and page != "docs/README.md":
            print(f"lint: docs/README.md does not list {page}")  # a remark: the page may come first
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


sys.exit(main())
