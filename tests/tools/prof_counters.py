"""What the tests of counters share."""
import os
import sqlite3
import sys

from support import Bench, variants

# A level that the machine lacks is left to the next one.
DEVICES = tuple(("cpu", level) for level in variants.levels(os.path.abspath(sys.argv[1]))) + ((("interp", "generic"),) if variants.current().is_default else ())
HERE = os.path.dirname(os.path.abspath(__file__))


def is_of_time(name):
    return "time_duration" in name or name.endswith("per_second") or name.startswith(("heddle__roofline_", "heddle__host_"))


class CounterBench(Bench):
    # The host's peaks are measured again and again where other work disturbs them: most of a test's time.
    roofline = ("--roofline", "none")

    def devices(self):
        """Those of DEVICES that this host has."""
        for device, level in DEVICES:
            why = self.lacks(level)
            if why:
                self.tap.skip(why)
            else:
                yield device, level

    def count(self, *program, code=0, options=(), **env):
        """Runs the program and counts its kernels."""
        got = self.run("prof", "--kernel", "-f", "-o", "report", *self.roofline, *options, *program, **env)
        self.tap.ok(got.returncode == code, f"exit status {code}", f"{got.returncode}\n{got.stderr}")
        return got

    def rows(self, sql):
        return sqlite3.connect(os.path.join(self.folder, "report.sqlite")).execute(sql).fetchall()

    def values(self):
        """[(name, {metric: value})] of the launches."""
        of = {}
        for launch, name, value in self.rows("SELECT launchId, name, value FROM HEDDLE_METRICS"):
            of.setdefault(launch, {})[name] = value
        return [(name, of[launch]) for launch, name in self.rows("SELECT launchId, name FROM HEDDLE_LAUNCHES ORDER BY launchId")]

    def counted(self):
        """What does not depend on the time: all values, and those of lines."""
        values = [(name, {k: v for k, v in of.items() if not is_of_time(k) and k != "launch__registers_per_thread"}) for name, of in self.values()]
        return values, sorted(self.rows("SELECT launchId, file, line, function, name, value FROM HEDDLE_SOURCE_METRICS"))

    def same_everywhere(self, count, what):
        """count(**env) has counted; it counts the same on each device and level."""
        want = self.counted()
        for device, level in self.devices():
            count(HEDDLE_DEVICE=device, HEDDLE_CPU=level)
            have = self.counted()
            self.tap.ok(have == want, f"{what}: {device} {level} counts the same", differences(have, want))


def differences(have, want):
    pairs = zip(have[0], want[0])
    lines = [f"{name} {metric}: {of.get(metric)}, not {was[metric]}" for (name, of), (_, was) in pairs for metric in was if of.get(metric) != was[metric]]
    return "\n".join(lines[:40] or ["of lines"])
