#!/usr/bin/env python3
"""heddle prof --kernel: copies, matrices, vectors, clusters, textures and products cost what they do by hand, on every device and level:
test_prof_accesses.py HEDDLE"""
import os
import sys
import tempfile

from support import Tap
from prof_counters import HERE, CounterBench

tap = Tap()
heddle = os.path.abspath(sys.argv[1])
SAN = os.path.join(HERE, "../san")

BANKS, PASSES = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared{}.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared{}.sum"
SASS_BANKS, SASS_PASSES = ("smsp__sass_" + name.replace("l1tex__", "l1tex_") for name in (BANKS, PASSES))
REQUESTS, SECTORS = "l1tex__t_requests_pipe_lsu_mem_{}_op_{}.sum", "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
LDGSTS = "smsp__sass_l1tex_t_{}_pipe_lsu_mem_global_op_ldgsts.sum"
TMA = "smsp__sass_inst_executed_op_{}.sum"
READ, WRITTEN = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum", "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_{}.sum"
BYTES, OPS, TENSOR = "heddle__bytes_mem_{}.sum", "heddle__ops_tensor.sum", "heddle__inst_executed_op_tensor.sum"

# Kernels of counters_100.ptx, two blocks of a warp each, so that all is twice what one does.
KERNELS = {
    "bulk": {TMA.format("tma_ld"): 2, TMA.format("tma_st"): 2, TMA.format("tma_red"): 2, READ: 2 * 9, BYTES.format("global_op_tma_ld"): 2 * 256,
             WRITTEN.format("st"): 2 * 2, BYTES.format("global_op_tma_st"): 2 * 64, WRITTEN.format("red"): 2, BYTES.format("global_op_tma_red"): 2 * 32,
             BYTES.format("shared_op_tma"): 2 * (256 + 64 + 32 + 64), BYTES.format("global"): 2 * (256 + 64 + 32), BYTES.format("global_op_ld"): 2 * 256,
             REQUESTS.format("global", "ld"): 0, REQUESTS.format("global", "red"): 0, "heddle__requests_atomic.sum": 0, PASSES.format(""): 0,
             "heddle__inst_executed_op_prefetch.sum": 4, "smsp__inst_executed_op_ldgsts.sum": 0, TMA.format("dshared_tma_st"): 0},
    "lanes": {"smsp__inst_executed_op_ldgsts.sum": 4, LDGSTS.format("requests"): 4, LDGSTS.format("sectors"): 2 * (4 + 16),
              "smsp__sass_data_bytes_mem_global_op_ldgsts.sum": 2 * (128 + 256), BANKS.format("_op_ldgsts"): 2, SASS_PASSES.format("_op_ldgsts"): 2 * (2 + 4),
              BANKS.format(""): 2, PASSES.format(""): 12, PASSES.format("_op_ld"): 0, PASSES.format("_op_st"): 0, BYTES.format("shared"): 2 * (128 + 512),
              REQUESTS.format("global", "ld"): 0, BYTES.format("global_op_ld"): 2 * (128 + 256), TMA.format("tma_ld"): 0},
    "matrices": {"smsp__inst_executed_op_ldsm.sum": 4, "smsp__inst_executed_op_shared_stsm.sum": 2, SASS_PASSES.format("_op_ldsm"): 2 * (4 + 2 * 8),
                 SASS_BANKS.format("_op_ldsm"): 2 * 2 * 7, SASS_PASSES.format("_op_stsm"): 2 * 2, SASS_BANKS.format("_op_stsm"): 2 * 1,
                 BANKS.format("_op_ld"): 28, BANKS.format("_op_st"): 2, BYTES.format("shared"): 2 * (512 + 256 + 128)},
    "banks": {PASSES.format("_op_st"): 2 * 2, PASSES.format("_op_ld"): 2 * (4 + 2 + 8), BANKS.format("_op_st"): 0, BANKS.format("_op_ld"): 2 * (2 + 4)},
    "vectors": {REQUESTS.format("global", "ld"): 2, SECTORS.format("global", "ld"): 2 * 32, REQUESTS.format("global", "st"): 4,
                SECTORS.format("global", "st"): 2 * (16 + 8), REQUESTS.format("global", "red"): 2, SECTORS.format("global", "red"): 2 * 16,
                REQUESTS.format("global", "atom"): 2, SECTORS.format("global", "atom"): 2, BYTES.format("global_op_ld"): 2 * 1024,
                BYTES.format("global"): 2 * (1024 + 512 + 256 + 512 + 128), "heddle__requests_atomic.sum": 4, "heddle__atomic_passes.sum": 2 * (1 + 32)},
    "other": {REQUESTS.format("dshared", "ld"): 2, REQUESTS.format("dshared", "st"): 4, REQUESTS.format("dshared", "atom"): 2,
              REQUESTS.format("dshared", "redas"): 2, TMA.format("dshared_tma_st"): 2, TMA.format("tma_st"): 0,
              BYTES.format("dshared"): 2 * (5 * 128 + 96), BYTES.format("shared"): 2 * (128 + 96), PASSES.format("_op_ld"): 2, PASSES.format(""): 2},
    # Both issue it, one copies.
    "multicast": {TMA.format("tma_ld"): 2, READ: 2, BYTES.format("global_op_tma_ld"): 64, BYTES.format("shared_op_tma"): 2 * 64, BYTES.format("dshared"): 0},
    "masked": {TMA.format("tma_st"): 2, WRITTEN.format("st"): 2 * 2, BYTES.format("global_op_tma_st"): 2 * 4 * 4, BYTES.format("shared_op_tma"): 2 * 64},
    "products": {TENSOR: 4, OPS: 2 * (2 * 16 * 8 * 16 + 2 * 16 * 8 * 32), BYTES.format("shared_op_mma"): 0},
}
# Of counters_120.ptx, likewise.
SCALED = {"scaled": {TENSOR: 6, OPS: 2 * (2 * 16 * 8 * 32 + 2 * 16 * 8 * 64 + 2 * 16 * 8 * 256)}}
# Programs: what it is called, options, the case, its last kernel, and what that counts.
PROGRAMS = [
    # Two boxes of 32 x 32 words, whose rows of 128 bytes are 4 sectors.
    ("boxes", ("-arch=sm_90", "-lcuda"), "fine", {TMA.format("tma_ld"): 2, READ: 2 * 32 * 4, BYTES.format("global_op_tma_ld"): 2 * 4096,
                                                  BYTES.format("shared_op_tma"): 2 * 4096}),
    # 8 rows of each lie in the tensor; the others are zero.
    ("boxes", ("-arch=sm_90", "-lcuda"), "edge", {READ: 2 * 8 * 4, BYTES.format("global_op_tma_ld"): 2 * 1024, BYTES.format("shared_op_tma"): 2 * 4096}),
    # What goes out: 4 rows of 64 bytes, and 32 of 128.
    ("../tools/stores_of_boxes", ("-arch=sm_90", "-lcuda"), "", {TMA.format("tma_st"): 1, TMA.format("tma_red"): 1, WRITTEN.format("st"): 4 * 2,
                                                                 BYTES.format("global_op_tma_st"): 256, WRITTEN.format("red"): 32 * 4,
                                                                 BYTES.format("global_op_tma_red"): 4096, BYTES.format("shared_op_tma"): 2 * 4096,
                                                                 REQUESTS.format("global", "st"): 0, "heddle__requests_atomic.sum": 0}),
    # 64 x 8 texels of 4 bytes; between them four for each.
    ("textures", (), "fill", {"smsp__inst_executed_op_surface_st.sum": 16, BYTES.format("surface_op_st"): 2048, "smsp__inst_executed_op_texture.sum": 0}),
    ("textures", (), "zero", {BYTES.format("surface_op_st"): 63 * 8 * 4}),
    ("textures", (), "met", {BYTES.format("surface_op_st"): 2048, BYTES.format("surface_op_ld"): 2048, "smsp__inst_executed_op_surface_ld.sum": 16}),
    ("textures", (), "copied", {"smsp__inst_executed_op_texture.sum": 16, BYTES.format("texture"): 2048, BYTES.format("surface_op_ld"): 0}),
    ("textures", (), "half_between", {"smsp__inst_executed_op_texture.sum": 8, BYTES.format("texture"): 4 * 1024}),
    # 64 threads reduce and load the same word, and store theirs.
    ("multimem", ("-arch=sm_90", "-lcuda"), "added", {"heddle__inst_executed_op_multimem.sum": 4, BYTES.format("multimem"): 512, SECTORS.format("global", "red"): 2,
                                                      REQUESTS.format("global", "ld"): 2, SECTORS.format("global", "ld"): 2, SECTORS.format("global", "st"): 8}),
    # Four warps, twice: m64n8k16, of 64 rows and 8 columns of 32 bytes.
    ("products", ("-gencode=arch=compute_90a,code=compute_90a",), "fine", {TENSOR: 8, OPS: 2 * 2 * 64 * 8 * 16, BYTES.format("shared_op_mma"): 2 * (64 + 8) * 32}),
    # m128n8k16 by one thread, then m256n16k16 of two blocks.
    ("products", ("-gencode=arch=compute_100a,code=compute_100a", "-DTENSOR_MEMORY"), "fine", {TENSOR: 1, OPS: 2 * 128 * 8 * 16, BYTES.format("shared_op_mma"): (128 + 8) * 32}),
    ("products", ("-gencode=arch=compute_100a,code=compute_100a", "-DTENSOR_MEMORY"), "pair", {TENSOR: 1, OPS: 2 * 256 * 16 * 16, BYTES.format("shared_op_mma"): (256 + 16) * 32}),
]


def compare(of, want, name):
    tap.eq({metric: of.get(metric) for metric in want}, want, name)


def test_kernels(bench, program, ptx, kernels):
    def count(**env):
        return bench.count(program, os.path.join(HERE, ptx), *(f"{name}:2:32" for name in kernels), **env)

    count()
    for (name, want), (_, of) in zip(kernels.items(), bench.values()):
        compare(of, want, name)
    bench.same_everywhere(count, ptx)


def test_programs(bench):
    program = built = None
    for name, options, case, want in PROGRAMS:
        if (name, options) != built:
            program, built = bench.build(os.path.join(SAN, name + ".cu"), *options), (name, options)
        for device, level in bench.devices(): # those that wait for a barrier look as often as they have time
            bench.count(program, case, HEDDLE_DEVICE=device, HEDDLE_CPU=level, HEDDLE_DEVICES="2", HEDDLE_MEMORY="256M")
            compare(bench.values()[-1][1], want, f"{name} {case} {' '.join(options)}: {device} {level}")


with tempfile.TemporaryDirectory() as top:
    b = CounterBench(heddle, tap, top)
    run = b.build(os.path.join(HERE, "counters.cu"), "-lcuda")
    test_kernels(b, run, "counters_100.ptx", KERNELS)
    test_kernels(b, run, "counters_120.ptx", SCALED)
    test_programs(b)
tap.done()
