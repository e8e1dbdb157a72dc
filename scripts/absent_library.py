#!/usr/bin/env python3
"""Makes a library all of whose functions are refused by name: absent_library.py SPEC LIBRARY VERSION SOURCE MAP

SPEC is a file of spec/absent/. Its lines, continued by lines that begin with blanks:

    product NAME                   what the library belongs to
    version SONAME OWN CUDART      for each major version: the version that it says, the runtime that it is for
    library NAME SONAME...         begins a library, with the versions of its soname
    node NAME                      the version of the symbols that follow; else the soname; `none`: no versions
    answer NUMBER                  what the functions that follow return
    forms FORM...                  what there is of the names that follow: VERSION or VERSION_SUFFIX; else each version's
    own NAME...                    names that are exported and written in src/api/absent
    PREFIX: SUFFIX...              names with the same beginning
    NAME...                        names
"""
import re
import sys


def lines(text):
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    return [line for line in re.sub(r"\n +", " ", text).split("\n") if line]


def read(text, library, version):
    """The product, its version's words, (node, name, answer or None) for each name of the library."""
    product, about, found, answer, forms, inside = "", [], [], 0, [], False
    soname = f"lib{library}.so.{version}"
    node = soname
    for line in lines(text):
        first, *rest = line.split()
        if first == "product":
            product = rest[0]
        elif first == "version":
            if rest[0] == version:
                about = rest[1:]
        elif first == "library":
            inside, node, forms = rest[0] == library and version in rest[1:], soname, [version]
        elif first == "node":
            node = rest[0]
        elif first == "answer":
            answer = int(rest[0])
        elif first == "forms":
            forms = rest
        elif inside and first == "own":
            found += [(node, name, None) for name in rest]
        elif inside:
            names = [first[:-1] + suffix for suffix in rest] if first.endswith(":") else [first, *rest]
            found += [(node, name + form[len(version):], answer) for name in names for form in forms if re.fullmatch(version + "(_.*)?", form)]
    return product, about, found


def main():
    spec, library, version, source, symbols = sys.argv[1:]
    with open(spec, encoding="utf-8") as file:
        product, about, found = read(file.read(), library, version)
    if not found or not about:
        sys.exit(f"{spec}: there is no library {library} of version {version}")
    numbers = ", ".join(about[0].split("."))
    text = ['#include "api/absent/absent.h"', "", f'ABSENT_PRODUCT("{product}", {about[1]}, {numbers})']
    text += [f"ABSENT({name}, {answer})" for _, name, answer in found if answer is not None]
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    nodes = sorted({node for node, _, _ in found})
    text = []
    for node in nodes:
        names = "".join(f" {name};" for at, name, _ in found if at == node)
        text.append(f"{'' if node == 'none' else node + ' '}{{ global:{names}{' local: *;' if node == nodes[-1] else ''} }};\n")
    with open(symbols, "w", encoding="utf-8") as file:
        file.writelines(text)


if __name__ == "__main__":
    main()
