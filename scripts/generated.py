"""What scripts/gen_*.py that make one document have in common."""
import os
import sys


def settle(target, have, want, tool):
    """Writes `want` where it differs from `have`, what the file holds; with --check says so instead: exit status 1."""
    if have == want:
        return 0
    if "--check" in sys.argv:
        name = os.path.relpath(target, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
        print(f"{name} is stale: run scripts/{tool}")
        return 1
    with open(target, "w", encoding="utf-8") as file:
        file.write(want)
    return 0
