"""Why a program does not run: what Heddle says is missing, in its own words where it has any."""
import re

LENGTH = 240
OURS = re.compile(r"^heddle(\[error\])?: ")
LOGGED = re.compile(r"^heddle(\[\w+\])?: ")
REFUSED = re.compile(r"not supported|no kernel image|not implemented|is not there|does(?: not|n't) support|does not have|"
                     r"unresolved|no PTX|Heddle has no|needs lib|cannot open shared object|out of memory", re.I)
WAIVED = re.compile(r"\bwaiv(ed|ing)\b", re.I)
# An error that something is missing has one of these states (src/base/status.h).
STATE = re.compile(r"^heddle\[error\]: (NOT_SUPPORTED|NO_IMAGE|UNRESOLVED): ")

# "ptx:64:1: in _Z6kernelPf: instruction `mbarrier.init.shared.b64 [%r49], %r4;`: the instruction is not supported"
IN_KERNEL = re.compile(r"^(\S+:\d+:\d+): in (\w+): (.*)$")
INSTRUCTION = re.compile(r"`([^`]*)`")
OPERANDS = 60  # an instruction that is longer is shown by its name alone


def kernel_name(symbol):
    """What the source calls a function: the last name of a mangled one, without its template's arguments."""
    at, name = re.match(r"(_ZN?K?)?", symbol).end(), symbol
    while at and (length := re.match(r"\d+", symbol[at:])):
        at += length.end()
        name, at = symbol[at:at + int(length[0])], at + int(length[0])
    return name


def plain(line):
    """A line of the log without what only says that it is one, in an order that may be cut: the kernel comes last."""
    said = re.sub(r"^.*?heddle: *", "", STATE.sub("", line)).strip()
    place = IN_KERNEL.match(said)
    if place:
        said = f"{place[3]} (in {kernel_name(place[2])}, {place[1]})"
    said = INSTRUCTION.sub(lambda i: i[0] if len(i[1]) <= OPERANDS else f"`{i[1].split()[0]} ...`", said, count=1)
    return said[:LENGTH]


def first_line(pattern, *texts):
    for text in texts:
        for line in text.splitlines():
            if pattern.search(line):
                return plain(line)
    return ""


def refusal_of(run):
    """What Heddle lacked: its own words come first. Libraries probe cuGetExportTable and live without it."""
    lines = (run.log + run.err).splitlines()
    ours = "\n".join(line for line in lines if OURS.search(line) and "cuGetExportTable" not in line)
    others = "\n".join(line for line in lines if not LOGGED.search(line))
    own = first_line(STATE, ours) or first_line(REFUSED, ours)
    return own or first_line(REFUSED, others, run.out)


def waiver_of(run):
    """What a program gave up for that ends with words of that."""
    return first_line(WAIVED, run.out, run.err)
