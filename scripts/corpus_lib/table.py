"""The table of programs (tests/corpus/*.tsv) and the variants they are built in."""
import os
import re
import shlex
import zlib
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
TABLES = os.environ.get("HEDDLE_CORPUS_TABLES") or os.path.join(ROOT, "tests", "corpus")
JUDGES = ("pass", "exit", "interp", "none")
BUILDERS = ("make", "cuda-dir", "files", "unit")
RUN_OPTIONS = ("program", "cwd", "env", "needs", "data")  # what programs of one build may differ in


class TableError(Exception):
    """A line of a table that says nothing sensible; the message has its place."""


@dataclass
class Repository:
    name: str
    url: str
    commit: str


@dataclass
class Harness:
    """What single-file programs of one kind are compiled and linked with."""
    name: str
    sources: list    # [(repository, file)]
    flags: str       # {repository} and {tables} stand for folders
    source_flags: str  # of those sources alone, not of the programs

    def copy(self):
        """The folder of its objects in a variant's tree: what was built otherwise has another name."""
        return f"{self.name}~{digest(self)}"


@dataclass
class Program:
    name: str        # unique: repository/program
    repo: str
    folder: str      # within the repository; of builder unit: the source
    builder: str
    options: dict = field(default_factory=dict)
    args: list = field(default_factory=list)
    judge: str = "pass"
    note: str = ""
    copy: str = ""   # of the folder, in a variant's tree: programs of one build share it

    def environment(self):
        """What its runs find in the environment, besides what is there."""
        return dict(word.split("=", 1) for word in self.options.get("env", "").split(",") if word)


@dataclass(frozen=True)
class Variant:
    arch: str      # 75, 80, 90, 120
    cudart: str    # shared, static
    compiler: str  # nvcc, heddle-cc
    opt: str       # O3, O0-G

    def __str__(self):
        return f"{self.arch}-{self.cudart}-{self.compiler}-{self.opt}"


def rows(path, columns):
    """The lines of a table as lists of `columns` cells; '#' begins a comment line."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            cells = [cell.strip() for cell in line.split("\t")]
            if len(cells) > columns:
                raise TableError(f"{path}:{number}: {len(cells)} cells, there are {columns} columns")
            yield number, cells + [""] * (columns - len(cells))


def digest(build):
    return f"{zlib.crc32(repr(build).encode()):08x}"


def repositories():
    path = os.path.join(TABLES, "repositories.tsv")
    return {cells[0]: Repository(*cells) for _, cells in rows(path, 3)}


def harnesses():
    path = os.path.join(TABLES, "harnesses.tsv")
    return {name: Harness(name, [tuple(word.split(":", 1)) for word in sources.split()], flags, source_flags)
            for _, (name, sources, flags, source_flags) in rows(path, 4)}


def program(path, number, repo, cells):
    name, folder, build, args, judge, note = cells
    where = f"{path}:{number}"
    words = shlex.split(build)
    if not words or words[0] not in BUILDERS:
        raise TableError(f"{where}: builder '{build}' is none of: {', '.join(BUILDERS)}")
    bad = [word for word in words[1:] if "=" not in word]
    if bad:
        raise TableError(f"{where}: build option '{bad[0]}' is not name=value")
    judge = judge or "pass"
    if judge not in JUDGES and not re.fullmatch(r"/.*/", judge):
        raise TableError(f"{where}: judge '{judge}' is none of: {', '.join(JUDGES)}, /regular expression/")
    options = dict(word.split("=", 1) for word in words[1:])
    bad = [word for word in options.get("env", "").split(",") if word and "=" not in word]
    if bad:
        raise TableError(f"{where}: env: '{bad[0]}' is not NAME=value")
    return Program(f"{repo}/{name}", repo, folder or name, words[0], options, shlex.split(args), judge, note)


def choose_copies(found):
    """A folder may hold programs of several builds, and each build removes what the last one left: so each has a copy, whose name comes
    from how it is built. What a row was built to is never taken for another's when rows change."""
    for p in found:
        build = (p.builder, sorted((name, value) for name, value in p.options.items() if name not in RUN_OPTIONS))
        p.copy = f"{p.folder}~{digest(build)}"


def programs(patterns=()):
    """All programs whose name matches one of the patterns (regular expressions), or all."""
    found = {}
    for repo in repositories():
        path = os.path.join(TABLES, repo + ".tsv")
        for number, cells in rows(path, 6):
            p = program(path, number, repo, cells)
            if p.name in found:
                raise TableError(f"{path}:{number}: a second program '{p.name}'")
            found[p.name] = p
    choose_copies(found.values())
    return [p for p in found.values() if not patterns or any(re.search(pattern, p.name) for pattern in patterns)]
