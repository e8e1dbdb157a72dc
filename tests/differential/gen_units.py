"""Statements of random kernels for the units beside the arithmetic: video, small floats, asynchronous copies,
barriers in memory, matrices. Each is one line, so that it can be deleted; what threads share there is their own.
"""
VIDEO_TYPES = ("u32", "s32")
SMALL = ("e4m3x2", "e5m2x2")
TINY = ("e2m3x2", "e3m2x2", "e2m1x2")


def video_rows():
    rows = []
    for d in VIDEO_TYPES:
        for a in VIDEO_TYPES:
            for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
                rows += [(f"{op}.{d}.{a}.u32", "r", "rr"), (f"{op}.{d}.{a}.s32.sat", "r", "rr"), (f"{op}.{d}.{a}.u32.add", "r", "rrr")]
            rows += [(f"{op}.{d}.{a}.u32.{m}", "r", "rr") for op in ("vshl", "vshr") for m in ("clamp", "wrap")]
            for n in "24":
                rows += [(f"{op}{n}.{d}.{a}.s32{end}", "r", "rrr")
                         for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax") for end in ("", ".sat", ".add")]
    rows += [(f"vset{n}.{a}.u32.{cmp}", "r", "rr" if not n else "rrr") for n in ("", "2", "4") for a in VIDEO_TYPES for cmp in ("lt", "ge", "ne")]
    rows += [(f"vmad.{d}.u32.u32{end}", "r", "rrr") for d in VIDEO_TYPES for end in ("", ".sat", ".shr7", ".shr15")]
    return rows


def small_rows():
    rows = [(f"cvt.pack.sat.{t}.s32", "r", "rr") for t in ("u16", "s16")]
    rows += [(f"cvt.pack.sat.{t}.s32.b32", "r", "rrr") for t in ("u8", "s8", "u4", "s4", "u2", "s2")]
    rows += [(f"cvt.rn.satfinite{relu}.{t}.f32", "h", "ff") for t in SMALL for relu in ("", ".relu")]
    rows += [(f"cvt.rn.satfinite.{t}.f32", "h", "ff") for t in ("e2m3x2", "e3m2x2")]
    rows += [(f"cvt.rn.satfinite.{t}.f16x2", "h", "r") for t in SMALL]
    rows += [(f"cvt.rn{relu}.f16x2.{t}", "r", "h") for t in SMALL + ("e2m3x2", "e3m2x2") for relu in ("", ".relu")]
    rows += [("cvt.rp.ue8m0x2.f32", "h", "ff"), ("cvt.rz.satfinite.ue8m0x2.bf16x2", "h", "r"), ("cvt.rn.bf16x2.ue8m0x2", "r", "h"),
             ("cvt.rna.tf32.f32", "r", "f"), ("cvt.rn.relu.tf32.f32", "r", "f"), ("cvt.rs.satfinite.f16x2.f32", "r", "ffr")]
    for rnd in ("rn", "rz", "rm", "rp"):
        rows += [(f"add.{rnd}.f32.{t}", "f", "hf") for t in ("f16", "bf16")]
        rows += [(f"fma.{rnd}.sat.f32.{t}", "f", "hhf") for t in ("f16", "bf16")]
        rows += [(f"{op}.{rnd}.f32x2", "l", "ll") for op in ("add", "sub", "mul")] + [(f"fma.{rnd}.ftz.f32x2", "l", "lll")]
    return rows


def carry_16(g):
    h = [g.reg("h") for _ in range(6)]
    op = g.rnd.choice(["add", "sub"])
    g.emit(f"{op}.cc.u32 %x0, {g.reg('r')}, {g.reg('r')}; {op}c.u16 {h[0]}, {h[1]}, {h[2]}; {op}c.s16 {h[3]}, {h[4]}, {h[5]}; "
           f"madc.{g.rnd.choice(['lo', 'hi'])}.u16 {h[1]}, {h[0]}, {h[3]}, {h[5]};")


def vector(g):
    g.emit(f"{{ .reg .v4 .b32 v; .reg .v2 .b32 w; mov.v4.b32 v, {{{g.reg('r')}, {g.reg('r')}, {g.reg('f')}, 5}}; mov.b64 w, {g.reg('l')}; "
           f"add.u32 v.y, v.w, w.x; mov.v2.b32 w, {{v.y, v.x}}; mov.b64 {g.reg('l')}, w; xor.b32 {g.reg('r')}, v.z+3, v.y; }}")


def own_place(g):
    """%x1: 16 bytes of shared memory of the thread's own."""
    return "shl.b32 %x1, %me, 4; mov.u32 %x0, own; add.u32 %x1, %x1, %x0;"


def source(g, size):
    return f"and.b32 %x0, {g.reg('r')}, {4096 - size}; cvt.u64.u32 %y0, %x0; add.u64 %y0, %y0, %in;"


def copy(g):
    size = g.rnd.choice([4, 8, 16])
    cache = g.rnd.choice(["cg", "ca"]) if size == 16 else "ca"
    part = g.rnd.choice(["", f", {g.rnd.randrange(size + 1)}"])
    g.emit(f"{source(g, 16)} {own_place(g)} cp.async.{cache}.shared.global [%x1], [%y0], {size}{part}; "
           + g.rnd.choice(["cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"]) + f" ld.shared.b32 {g.reg('r')}, [%x1];")


def begin(g, count=1):
    """An mbarrier in the thread's slot."""
    return f"mbarrier.init.shared.b64 [%slot], {count};"


def end(g, wait):
    """Waits, and leaves the slot as it was."""
    again = g.label()
    return (f"{again}: {wait} @!%z bra {again}; mbarrier.inval.shared.b64 [%slot]; mov.u64 %y1, 0; st.shared.b64 [%slot], %y1;")


def barrier(g):
    r = g.rnd
    g.emit(r.choice([
        f"{begin(g, 2)} mbarrier.arrive.shared.b64 %y0, [%slot]; mbarrier.pending_count.b64 {g.reg('r')}, %y0; "
        f"mbarrier.test_wait.shared.b64 {g.reg('p')}, [%slot], %y0; mbarrier.arrive_drop.shared.b64 %y0, [%slot]; "
        f"{end(g, 'mbarrier.try_wait.parity.shared.b64 %z, [%slot], 0;')}",
        f"{begin(g)} mbarrier.expect_tx.relaxed.cta.shared.b64 [%slot], 12; mbarrier.complete_tx.relaxed.cta.shared.b64 [%slot], 12; "
        f"mbarrier.arrive.release.cta.shared.b64 %y0, [%slot]; {end(g, 'mbarrier.test_wait.acquire.cta.shared.b64 %z, [%slot], %y0;')}",
        f"{begin(g)} {own_place(g)} mbarrier.arrive.expect_tx.shared.b64 %y0, [%slot], 4; "
        f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%x1], {g.reg('r')}, [%slot]; "
        f"{end(g, 'mbarrier.try_wait.shared.b64 %z, [%slot], %y0;')} ld.shared.b32 {g.reg('r')}, [%x1];",
        f"{begin(g)} {own_place(g)} st.shared.b32 [%x1], {g.reg('r')}; mbarrier.arrive.expect_tx.shared.b64 %y0, [%slot], 4; "
        f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{r.choice(['add', 'max', 'inc'])}.u32 [%x1], {g.reg('r')}, [%slot]; "
        f"{end(g, 'mbarrier.try_wait.shared.b64 %z, [%slot], %y0;')} ld.shared.b32 {g.reg('r')}, [%x1];",
        f"{source(g, 16)} and.b64 %y0, %y0, -16; {begin(g)} {own_place(g)} mbarrier.arrive.expect_tx.shared.b64 _, [%slot], 16; "
        f"fence.proxy.async; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%x1], [%y0], 16, [%slot]; "
        f"{end(g, 'mbarrier.try_wait.parity.shared.b64 %z, [%slot], 0;')} ld.shared.b64 {g.reg('l')}, [%x1+8];",
        f"{source(g, 16)} {begin(g)} {own_place(g)} cp.async.ca.shared.global [%x1], [%y0], 8; cp.async.mbarrier.arrive.noinc.shared.b64 [%slot]; "
        f"{end(g, 'mbarrier.try_wait.parity.shared.b64 %z, [%slot], 0;')} ld.shared.b32 {g.reg('r')}, [%x1+4];"]))


def small_things(g):
    g.emit(g.rnd.choice([
        f"mapa.shared::cluster.u32 %x0, %slot, 0; ld.shared::cluster.b32 {g.reg('r')}, [%x0];",
        f"getctarank.shared::cluster.u32 {g.reg('r')}, %slot;",
        "griddepcontrol.wait; griddepcontrol.launch_dependents; membar.proxy.alias;",
        "nanosleep.u32 0; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" if not g.depth and not g.ended else "nanosleep.u32 1;",
        f"prefetchu.L1 [%in]; applypriority.global.L2::evict_normal [%in], 128; cp.async.bulk.prefetch.L2.global [%in], 64; "
        f"createpolicy.fractional.L2::evict_first.b64 %y1; ld.global.L2::cache_hint.b32 {g.reg('r')}, [%in+8], %y1;",
        f"{own_place(g)} st.bulk.weak.shared::cta [%x1], 16, 0; ld.shared.b32 {g.reg('r')}, [%x1+8];",
        f"{{ .reg .b64 sp, place; stacksave.u64 sp; alloca.u64 place, 32; st.local.b32 [place+4], {g.reg('r')}; "
        f"ld.local.b32 {g.reg('r')}, [place+4]; stackrestore.u64 sp; }}"]))


def distinct(g, cls, n, count):
    return ", ".join(f"%{cls}{i}" for i in g.rnd.sample(range(count), n))


def matrix(g, counts):
    """Of full warps in convergent code. Numbers are small, so that no sum depends on its order."""
    r, names = g.rnd, (lambda n: distinct(g, "r", n, counts["r"]))
    four, two, out = names(4), names(2), names(4)
    small = "".join(f"and.b32 %r{i}, %r{i}, 0x01030201;" for i in range(counts["r"]))
    g.emit(r.choice([
        f"{small} mma.sync.aligned.m16n8k32.row.col.s32.{r.choice(['s8', 'u8'])}.{r.choice(['s8', 'u8'])}.s32 {{{out}}}, {{{four}}}, {{{two}}}, {{{four}}};",
        f"mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32 {{{out}}}, {{{four}}}, {{{two}}}, {{{four}}};",
        f"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {{{names(2)}}}, {{{names(1)}}}, {{{names(1)}}}, {{{two}}};",
        f"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.{r.choice(['xor', 'and'])}.popc {{{out}}}, {{{names(2)}}}, {{{names(1)}}}, {{{four}}};",
        f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{distinct(g, 'f', 4, 4)}}}, {{{four}}}, {{{two}}}, {{{distinct(g, 'f', 4, 4)}}};",
        f"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{distinct(g, 'f', 4, 4)}}}, {{{four}}}, {{{two}}}, {{{distinct(g, 'f', 4, 4)}}};",
        f"movmatrix.sync.aligned.m8n8.trans.b16 {names(1)}, {names(1)};",
        f"{own_place(g)} st.shared.v4.b32 [%x1], {{{four}}}; bar.warp.sync -1; "
        f"ldmatrix.sync.aligned.m8n8.x4{r.choice(['', '.trans'])}.shared.b16 {{{out}}}, [%x1]; bar.warp.sync -1;",
        f"{own_place(g)} bar.warp.sync -1; stmatrix.sync.aligned.m8n8.x4{r.choice(['', '.trans'])}.shared.b16 [%x1], {{{four}}}; "
        f"bar.warp.sync -1; ld.shared.b32 {names(1)}, [%x1+4]; bar.warp.sync -1;"]))


PLACES = [carry_16, vector, copy, copy, barrier, barrier, small_things]
