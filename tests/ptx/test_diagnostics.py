#!/usr/bin/env python3
"""Every text that the PTX front end can say about bad input appears in a golden file. Speaks TAP."""
import glob
import os
import re
import sys

src, golden = sys.argv[1:3]

# Calls that produce a message or a part of one, and what they cannot reach in a test of this size.
CALL = re.compile(r"\b(?:ptx_fail|ptx_expected|ptx_eat|ptx_eat_u32|ptx_parse_const_u64|lex_error|hd_error|"
                  r"bad_operand|bad_insn|bad_init|check_arity|snprintf)\s*\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
EXEMPT = {
    "%s: text is longer than 2 GiB",
    "m%un%uk%u", "m%un%u",  # parts of a modifier's name
    "%s: what is known about its functions is about another text",  # tests/ptx/test_later.c
}


def arguments(text, at):
    """The argument list that opens at text[at] == '(' up to its closing one; strings may hold brackets."""
    depth, i = 0, at
    while i < len(text):
        if text[i] == '"':
            i = STRING.match(text, i).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
        if depth == 0:
            break
    return text[at:i]


def messages(path):
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    for call in CALL.finditer(text):
        joined = re.sub(r'"\s*\n\s*"', "", arguments(text, call.end() - 1))
        for string in STRING.finditer(joined):
            yield string.group(1).replace('\\"', '"').replace("\\\\", "\\")


def pattern(message):
    literal = re.split(r"%[-.*0-9]*(?:l|ll)?[a-zA-Z]", message)
    return re.compile(".*?".join(re.escape(part) for part in literal))


expected = "".join(open(path).read().split("; ---- expect\n")[-1]
                   for path in glob.glob(os.path.join(golden, "bad_*.ptx")))
seen = set()
count = 0
failed = False
for path in sorted(glob.glob(os.path.join(src, "*.c"))):
    if "print" in path:
        continue
    for message in messages(path):
        if message in seen or message in EXEMPT or not re.search(r"[a-z]{3}|'", message):
            continue
        seen.add(message)
        count += 1
        good = pattern(message).search(expected)
        failed |= not good
        print("%sok %d - %s: %s" % ("" if good else "not ", count, os.path.basename(path), message.replace("#", "\\#")))
print("1..%d" % count)
sys.exit(failed)
