#!/usr/bin/env python3
"""20 MB of PTX, hundreds of unrolled matrix kernels: one that is launched is compiled, the others cost little (TAP).

    test_large_module.py RUN_DRIVER [--megabytes N]

Says how long the first kernel took, which decides nothing; memory does.
"""
import argparse
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

HEAD = """.version 9.0
.target sm_120a
.address_size 64
"""
START = """.visible .entry {name}(.param .u64 out, .param .u64 in) {{
.reg .b32 %a<4>; .reg .b32 %b<2>; .reg .f32 %c<32>; .reg .b32 %t<4>; .reg .b64 %l<4>;
.shared .align 16 .b8 tile[4096];
ld.param.u64 %l0, [out]; ld.param.u64 %l1, [in]; cvta.to.global.u64 %l0, %l0; cvta.to.global.u64 %l1, %l1;
mov.u32 %t0, %tid.x; mad.lo.u32 %t1, %t0, 16, 0; mov.u32 %t2, tile; add.u32 %t2, %t2, %t1;
ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%l1]; st.shared.v4.u32 [%t2], {{%a0, %a1, %a2, %a3}}; bar.sync 0;
"""
STEP = """ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%t2+{at}];
mov.b32 %b0, %a{x}; mov.b32 %b1, %a{y};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%c{c0}, %c{c1}, %c{c2}, %c{c3}}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{%c{c0}, %c{c1}, %c{c2}, %c{c3}}};
"""
END = "shl.b32 %t1, %t0, 2; cvt.u64.u32 %l2, %t1; add.u64 %l0, %l0, %l2; st.global.f32 [%l0], %c0;\nret;\n}\n"
STEPS = 256
LIMIT_KB = 2 << 20


def kernel(name):
    steps = []
    for i in range(STEPS):
        c = i % 8 * 4
        steps.append(STEP.format(at=i % 64 * 32, x=i % 4, y=(i + 1) % 4, c0=c, c1=c + 1, c2=c + 2, c3=c + 3))
    zero = "".join(f"mov.f32 %c{i}, 0f00000000;\n" for i in range(32))
    return START.format(name=name) + zero + "".join(steps) + END


def write(where, megabytes):
    """How many kernels it has."""
    count = (megabytes << 20) // len(kernel("k00000")) + 1
    with open(f"{where}/ptx", "w", encoding="ascii") as file:
        file.write(HEAD)
        for i in range(count):
            file.write(kernel(f"k{i:05}"))
    with open(f"{where}/job", "w", encoding="ascii") as file:
        file.write(f"128 16 1\nk{count // 2:05} 32 1 1\n")
    with open(f"{where}/in", "wb") as file:
        file.write(struct.pack("<8e", *(i / 8 for i in range(8))))
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("--megabytes", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as where:
        count = write(where, args.megabytes)
        open(f"{where}/out", "wb").close()
        env = dict(os.environ, HEDDLE_DEBUG="jit", HEDDLE_CACHE="off")
        start = time.time()
        run = subprocess.run([args.driver, f"{where}/job", f"{where}/ptx", f"{where}/in", f"{where}/out", "0"], env=env,
                             capture_output=True, text=True, check=False)
        seconds = time.time() - start
        peak_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        with open(f"{where}/out", "rb") as file:
            ran, size = struct.unpack("<II", file.read(8))
        named = set(re.findall(r"\bk\d{5}\b", run.stderr))
    print(f"# {count} kernels of {STEPS} products, {args.megabytes} MB: {seconds:.2f} s to the first result, {peak_kb >> 10} MiB")
    print(f"{'ok' if ran == 1 and size == 128 else 'not ok'} 1 - the kernel ran")
    print(f"{'ok' if named <= {f'k{count // 2:05}'} else 'not ok'} 2 - no other kernel was compiled ({len(named)} named)")
    print(f"{'ok' if peak_kb < LIMIT_KB else 'not ok'} 3 - {peak_kb >> 10} MiB of at most {LIMIT_KB >> 10}")
    print("1..3")


sys.exit(main())
