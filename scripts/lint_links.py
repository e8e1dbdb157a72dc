#!/usr/bin/env python3
"""Links of the documents lead somewhere. Says also which documents docs/README.md does not lead to."""
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


def main():
    os.chdir(ROOT)
    pages = glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True) + ["spec/README.md"]
    bad = [f"{page}: {target} does not exist" for page in pages for target in targets(page)
           if not os.path.exists(target)]
    listed = set(targets("docs/README.md"))
    for page in sorted(glob.glob("docs/*.md")):
        if page not in listed and page != "docs/README.md":
            print(f"lint: docs/README.md does not list {page}")  # a remark: the page may come first
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


sys.exit(main())
