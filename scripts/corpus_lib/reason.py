"""Why a program does not run: what Heddle says is missing, in its own words where it has any."""
import re

LENGTH = 240
OURS = re.compile(r"^heddle(\[\w+\])?: ")
REFUSED = re.compile(r"not supported|no kernel image|not implemented|is not there|does(?: not|n't) support|does not have|"
                     r"unresolved|no PTX|Heddle has no|needs lib|cannot open shared object|out of memory", re.I)
# An error that something is missing has one of these states (src/base/status.h).
STATE = re.compile(r"^heddle\[error\]: (NOT_SUPPORTED|NO_IMAGE|UNRESOLVED): ")


def plain(line):
    """A line of the log without what only says that it is one."""
    return re.sub(r"^.*?heddle: *", "", STATE.sub("", line)).strip()[:LENGTH]


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
    others = "\n".join(line for line in lines if not OURS.search(line))
    return first_line(STATE, ours) or first_line(REFUSED, ours, others, run.out, run.log, run.err)
