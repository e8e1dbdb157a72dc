"""What holds in every report of `heddle prof`, whatever the program."""
WORK = ("KERNEL", "MEMCPY", "MEMSET")


def has(db, table):
    return db.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0] > 0


def orphans(db):
    """Kernels, copies and fills whose call is not in the report, or is there twice: (table, correlation, calls)."""
    calls = {}
    if has(db, "CUPTI_ACTIVITY_KIND_RUNTIME"):
        calls = dict((row[:2], row[2]) for row in db.execute("SELECT globalTid >> 24, correlationId, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1, 2"))
    found = []
    for kind in WORK:
        if has(db, "CUPTI_ACTIVITY_KIND_" + kind):
            for pid, correlation in db.execute(f"SELECT globalPid >> 24, correlationId FROM CUPTI_ACTIVITY_KIND_{kind}"):
                if calls.get((pid, correlation)) != 1:
                    found.append((kind, correlation, calls.get((pid, correlation), 0)))
    return found


def early(db):
    """Work that begins before its call does."""
    found = []
    for kind in WORK:
        if has(db, "CUPTI_ACTIVITY_KIND_" + kind) and has(db, "CUPTI_ACTIVITY_KIND_RUNTIME"):
            found += db.execute(f"SELECT '{kind}', correlationId FROM CUPTI_ACTIVITY_KIND_{kind} w JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) "
                                "WHERE r.globalTid >> 24 = w.globalPid >> 24 AND w.start < r.start").fetchall()
    return found


def bad_arrows(trace):
    """Of Chrome's events: arrows that lack an end, or have one twice; that end before they begin; and work without one."""
    events = trace["traceEvents"]
    starts, ends = ([e for e in events if e["ph"] == kind] for kind in "sf")
    begun = {e["id"]: e["ts"] for e in starts}
    found = [("start", i) for i in set(begun) - {e["id"] for e in ends}] + [("end", e["id"]) for e in ends if e["id"] not in begun]
    found += [("twice", len(starts), len(ends))] if len(begun) != len(starts) or len(ends) != len({e["id"] for e in ends}) else []
    found += [("back", e["id"]) for e in ends if e["ts"] < begun.get(e["id"], 0)]
    at = {(e["pid"], e["tid"], e["ts"]) for e in ends}
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    found += [("none", e["name"]) for e in work if e["args"]["correlation"] and (e["pid"], e["tid"], e["ts"]) not in at]
    return found if starts or not work else ["no arrows"]


def calls(db):
    """{name without CUPTI's version: how many}"""
    found = {}
    for name, count in db.execute("SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId GROUP BY value"):
        base = name.rsplit("_v", 1)[0]
        found[base] = found.get(base, 0) + count
    return found
