"""The truth about each program: one rule a suite, from the names and headers its authors gave.

A rule answers with a Truth: which kinds of bug the program has, which tools should find each, and of which tools any
report would be false. What a label does not speak of is not judged: a suite about races says nothing on bounds.
"""
import re

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck", "schedcheck")
# schedcheck tells of results, of which no label speaks.
LABELLED = TOOLS[:4]

# kind of bug: the tools that should find it. With more than one, a report of any of them will do: which it is depends
# on what the memory behind happens to be. None of them: the tools do not claim it.
KINDS = {
    "bounds": ("memcheck",),              # access out of bounds, or of a null pointer
    "api": ("memcheck",),                 # a call of the CUDA API that fails
    "race-shared": ("racecheck",),        # data race in shared memory
    "race-global": ("racecheck",),        # data race in global memory
    "uninit": ("initcheck",),             # read of global memory that nobody wrote
    "stale": ("memcheck", "initcheck"),   # read past the used part of a worklist: never written, or out of bounds
    "sync": ("synccheck",),               # barrier that not all reach, or with a wrong mask
    "race-host": ("racecheck",),                      # host and device, or two streams, without an order between them
    "nvtx": (),                           # against what the program tells through NVTX about its memory
    "livelock": (),                       # does not end: a watchdog's work
    "logic": (),                          # wrong result only
    "latent": (),                         # planted, but runs of this size need not do anything wrong
}


class Truth:
    def __init__(self, bugs=(), clean=(), note=""):
        self.bugs, self.clean, self.note = tuple(bugs), frozenset(clean), note
        assert all(kind in KINDS for kind in self.bugs) and not (self.bugs and self.clean)

    def describe(self):
        bugs = ", ".join(f"{kind} ({' or '.join(KINDS[kind]) or 'no tool'})" for kind in self.bugs)
        clean = f"clean for {', '.join(t for t in TOOLS if t in self.clean)}" if self.clean else ""
        return "; ".join(part for part in (bugs, clean, self.note) if part) or "nothing known"


def nvidia(name, facts, source):
    """NVIDIA's samples: the folder names the tool that each is for; the suppressions' ones are told by their code."""
    del facts, source
    folder = name.split("/")[0]
    if name == "Suppressions/suppressions_demo":
        return Truth(["api"])
    if name == "Suppressions/suppressions_initcheck_demo":
        return Truth(["uninit"])
    kind = {"Memcheck": "bounds", "Racecheck": "race-shared", "Initcheck": "uninit", "Synccheck": "sync"}.get(folder, "nvtx")
    return Truth([kind])


def scor_micro(name, facts, source):
    """race_* and norace_*: all races are on global memory. The data is never initialised: nothing said on that."""
    del facts, source
    if name.startswith("race_"):
        return Truth(["race-global"])
    return Truth(clean=("memcheck", "racecheck", "synccheck"))


def scor_apps(name, facts, source):
    """Built with and without RACEY, which weakens scopes, fences and atomics on global memory."""
    del facts, source
    return Truth(["race-global"]) if name.endswith("-racey") else Truth(clean=("racecheck", "synccheck"))


def indigo3_sync(tokens):
    """A barrier is gone. Only where a shared buffer is used again after it does that make a race; in front of a
    __shfl_sync it does nothing, for that waits itself."""
    if tokens[0] == "TC" or "BlockAdd" in tokens:
        return "race-shared"
    again = "Persist" in tokens or ("Pull" in tokens and "Reduction" in tokens)  # the block reduces more than once
    return "race-shared" if "Block" in tokens and again else "latent"


def indigo3_race(tokens):
    """Atomics became plain accesses. Where one thread of each block adds, and the graph fits one block, nothing races."""
    if tokens[0] == "PR" and "Pull" in tokens and "BlockAdd" in tokens:
        return "race-shared"
    one_adds = tokens[0] == "TC" and "GlobalAdd" not in tokens or tokens[0] == "PR" and "Pull" in tokens and "Reduction" in tokens
    working_blocks = "Thread" not in tokens or (tokens[0] == "TC" and "Persist" in tokens)
    return "latent" if one_adds and not working_blocks else "race-global"


def indigo3_field(tokens):
    """Another field of the graph as the number of items. As many edges as that are past the end of what belongs to
    vertices; as many vertices are too few edges. A worklist is read past its used part where that is sure to be short."""
    edges, algorithm = "E" in tokens, tokens[0]
    if "Data" not in tokens:
        return "logic" if edges else "bounds"
    return "stale" if algorithm in ("BFS", "SSSP") or (algorithm in ("MIS", "MST") and not edges) else "latent"


def indigo3_bug(bug, tokens):
    """What a planted bug does on a graph of 100 vertices and 400 edges in blocks of 512 threads (templates: codeGen/cuda)."""
    exact_grid = "NonPersist" in tokens and "Block" in tokens  # one block an item: no thread is in excess
    items = "stale" if "Data" in tokens else "bounds"
    if bug == "RaceBug":
        return indigo3_race(tokens)
    if bug == "SyncBug":
        return indigo3_sync(tokens)
    if bug == "UninitializedBug":
        return "uninit"        # an array's initialisation is gone
    if bug in ("NbrBoundsBug", "NborBoundsBug"):
        return "bounds"        # <= at the end of the neighbours: the last vertex reads past the list of edges
    if bug == "BoundsBug":
        return items           # <= at the end of the items
    if bug == "ExcessThreadsBug":
        return "latent" if exact_grid else items   # no test whether there is an item for the thread
    if bug == "FieldBug":
        return "latent" if exact_grid else indigo3_field(tokens)
    return "livelock" if bug == "LivelockBug" else "logic"   # OverflowBug, PrecedenceBug


def indigo3_unnamed(tokens):
    """Of which tools a report on a variant without planted bugs may be right: what these programs do wrong in all variants. PageRank's block_sum_reduction reads its shared
    buffer after its last barrier, so a second call races with the first; it is called behind `if (src < N)`, which
    not all threads of a block enter; BlockAdd of the pulling kind reads the sum while others add to it; and in variants
    of a warp or block for each vertex all its threads write the vertex's score, which some still read."""
    if tokens[0] == "CC" and "Pull" in tokens and "Persist" in tokens and "Thread" not in tokens:
        return ("racecheck",)   # `updated` in shared memory is set for the next vertex while others still read it
    if tokens[0] == "SSSP" and "E" in tokens and "Data" in tokens:
        return ("initcheck",)   # time[] has a word for each edge, and as many as there are vertices are set to 0
    if tokens[0] != "PR":
        return ()
    several = "Thread" not in tokens
    reducing = "Reduction" in tokens
    races = several or reducing or ("Pull" in tokens and "BlockAdd" in tokens)
    return ("racecheck",) * races + ("synccheck",) * reducing


def indigo3(name, facts, source):
    """The name spells each planted bug and, with No in front, each that is not. A variant whose text is that of the
    one without the bug (`void`) has none."""
    del source
    tokens = name.split("_")
    planted = [token for token in tokens if token.endswith("Bug") and not token.startswith("No")]
    real = [bug for bug in planted if bug not in facts.get("void", [])]
    if "FieldBug" in real and "E" in tokens and "Data" not in tokens and "BoundsBug" in real:
        real.remove("BoundsBug")  # one more than as many edges as there are vertices: still fewer than there are
    if real:
        return Truth(sorted({indigo3_bug(bug, tokens) for bug in real}))
    unnamed = indigo3_unnamed(tokens)
    return Truth(clean=[tool for tool in LABELLED if tool not in unnamed], note="has bugs that no label names" if unnamed else "")


def indigo(name, facts, source):
    """atomicBug, raceBug: a plain access where all threads write. guardBug: a plain read in front of the atomic. syncBug: no
    barrier around a shared buffer. boundsBug: no test whether there is a vertex for the thread, or an edge for the vertex;
    the first and the last vertex of the graph have none, so both ends of the list are passed."""
    del source
    kinds = {"atomicBug": "race-global", "raceBug": "race-global", "guardBug": "race-global",
             "syncBug": "race-shared", "boundsBug": "bounds"}
    planted = [bug for bug in re.findall(r"_([a-z]+Bug)", name) if bug not in facts.get("void", [])]
    if not planted:
        return Truth(clean=LABELLED)
    return Truth(sorted({kinds[bug] for bug in planted}))


# What the failing kernels of GPUVerify fail for, read off their headers and sources. Those that fail for an assertion, an
# invariant or a construct that the verifier does not take are 'logic': no run shows anything.
GPUVERIFY_FAILS = {
    "race-global": ("atomics/add_tid", "atomics/add_zero", "cooperative_groups/fail/race", "fresh_arrays/fail/",
                    "memcpy/fail_", "memcpy/lentoobig", "memcpy/notexactdiv", "memcpy/unhandled_varlen", "misc/fail/miscfail3",
                    "misc/fail/miscfail4", "param_values/value_causing_race", "pointeranalysistests/testbasicaliasing", "curand_tests/fail/curand_race",
                    "curand_tests/fail/init_race", "warpsync/bad_inter_group", "warpsync/broken_shuffle"),
    "race-shared": ("fail_tests/", "pointertests/cast", "loop_unwind"),
    "bounds": ("memcpy/null_", "memset/null_dst", "misc/fail/miscfail7", "function_pointers/basic_argument_fail",
               "function_pointers/basic_assignment_fail", "function_pointers/constant_value", "function_pointers/funcptr_to_ptr_add",
               "function_pointers/pass_struct/call"),
    "sync": ("cooperative_groups/fail/block_divergence_grid_group", "cooperative_groups/fail/divergence_"),
}
# Verified under an assumption that CUDA does not give: threads of a warp in lockstep.
GPUVERIFY_LOCKSTEP = ("warpsync/",)


def gpuverify(name, facts, source):
    """`//pass`: free of races and of divergent barriers, proved. `//xfail`: see the table. Proofs say nothing of bounds."""
    del facts
    verdict = re.match(r"//\s*(\w+)", source)
    if verdict and verdict.group(1).lower() == "pass":
        if name.startswith(GPUVERIFY_LOCKSTEP):
            return Truth(note="verified for threads in lockstep")
        return Truth(clean=("racecheck", "synccheck"))
    for kind, names in GPUVERIFY_FAILS.items():
        if name.startswith(names):
            return Truth([kind])
    return Truth(["logic"])


def cusan(name, facts, source):
    """The FileCheck lines say whether a data race is to be reported (CHECK-DAG) or not (CHECK-NOT)."""
    prefix = re.escape(facts.get("prefix", "CHECK"))
    if re.search(rf"{prefix}-NOT:.*data race", source):
        if "alloc_implicit_sync" in name and re.search(r"^//\s*XFAIL:", source, re.MULTILINE):
            return Truth(note="its authors expect it to fail: cudaMalloc() orders nothing, as cusan-tests has it")
        return Truth(clean=("memcheck", "racecheck", "synccheck"))
    if re.search(rf"{prefix}(-DAG)?:.*data race", source):
        return Truth(["race-host"])
    return Truth(note="its test checks something else")


def cusan_tests(name, facts, source):
    """The name ends in nok where there is a race, whether or not CuSan finds it."""
    del facts, source
    return Truth(["race-host"]) if name.endswith("_nok") else Truth(clean=("memcheck", "racecheck", "synccheck"))


RULES = {"nvidia-samples": nvidia, "scor-micro": scor_micro, "scor-apps": scor_apps, "indigo3": indigo3, "indigo": indigo,
         "gpuverify": gpuverify, "cusan": cusan, "cusan-tests": cusan_tests}


def of(suite, name, facts, source):
    """The truth about one program; a suite without a rule is a mistake of programs.json."""
    return RULES[suite](name, facts, source) if suite in RULES else Truth(note="no rule for this suite")
