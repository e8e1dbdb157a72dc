#!/usr/bin/env python3
"""What the tools say of textures.cu, products.cu, multimem.cu and tensor.cu, on both devices: test_payload_programs.py HEDDLE (cc|nvcc)"""
import re
import subprocess

from programs import HEDDLE, build, environment, main, ok

# What is found, by tool: (case, in the text); everything else is nothing.
TEXTURES = {
    "memcheck": {"beyond": "Invalid __surface__ write of size 4 bytes", "misaligned": "Invalid __surface__ read of size 4 bytes",
                 "freed": "that was freed"},
    "initcheck": {"unwritten": "Uninitialized __global__ memory read of size 4", "half_copied": "Uninitialized", "half_between": "Uninitialized",
                  "unmet": "Uninitialized"},
    "racecheck": {"unmet": "Race reported between Write", "streams": "Race between streams reported between Write",
                  "clamped": "Race reported between Write"},
}
TEXTURE_CASES = ("fill beyond clamped zero misaligned copied unwritten half_copied freed half_rows half_between met unmet streams ordered").split()
PRODUCTS = {
    "memcheck": {"beyond": "Invalid __shared__ read of size 16 bytes"},
    "initcheck": {"unwritten": "Uninitialized __shared__ memory read of size 256 bytes"},
    "racecheck": {"early": "Race reported between Write", "overwritten": "and Write access at multiply"},
}
PRODUCT_CASES = "fine early overwritten beyond unwritten".split()
# Which of two products a wait is for; copies to tensor memory, and products of two blocks.
WGMMA = {"memcheck": {}, "initcheck": {},
         "racecheck": {"second_again": "The read is of a product that was not waited for", "pipeline_early": "The read is of a product that was not"}}
WGMMA_CASES = ["first_again", "second_again", "pipeline", "pipeline_early"]
COPIES = {"memcheck": {}, "initcheck": {},
          "racecheck": {"copied_early": "and Write access at multiply", "pair_early": "Race reported between Write"}}
COPY_CASES = ["copied_early", "pair", "pair_early"]

MULTIMEM = {
    "memcheck": {"beyond": "device 1 has no memory bound to the multicast object there", "unbound": "Invalid __multimem__ write of size 4 bytes",
                 "misaligned": "Invalid __multimem__ write of size 8 bytes", "unmapped": "no multicast object is mapped there",
                 "plain": "a multicast object"},
    "initcheck": {"unwritten": "Uninitialized __global__ memory read of size 4", "unwritten_sum": "Uninitialized __global__ memory read of size 4"},
    "racecheck": {"added_early": "One access is atomic, the other is not", "stored_twice": "Race reported between Write access",
                  "read_early": "and Read access at read_own"},
}
MULTIMEM_CASES = "added added_early stored stored_twice read read_early beyond unbound misaligned unmapped plain written unwritten unwritten_sum".split()

TENSOR = {
    "memcheck": {"beyond": "columns 64 to 95 are not allocated", "outside": "column 510", "lanes": "these lanes are not the warp's",
                 "leak": "Tensor memory is not deallocated", "freed": "columns 0 to 31 were deallocated", "twice": "which were deallocated",
                 "part": "which were not allocated together", "odd": "48 columns", "late": "given up the right to allocate",
                 "half_warp": ("by 16 threads of the warp", "Hardware exception: timed out"), "too_far": "Access at lane 0, column 64 of d"},
    "initcheck": {"unwritten": "Uninitialized __tensor__ memory read of size 512 bytes", "half_written": "column 4", "again": "Access at lane 0, column 0",
                  "sum_of_nothing": "column 0 of d", "of_nothing": "column 32 of a", "beside": "column 8", "pair_sum": "of d, in the other block of the pair"},
    "racecheck": {"early": "Nothing says that the product or copy is complete", "stored_early": "Race reported between Write access",
                  "stored_no_wait": "not waited for by tcgen05.wait::st", "again_early": "Race reported between",
                  "again_no_wait": "not waited for by tcgen05.wait::ld"},
}
TENSOR_CASES = ("fine beyond outside lanes unwritten half_written leak freed twice part odd late half_warp again "
                "product sum sum_of_nothing of_copy of_nothing too_far beside pair pair_sum "
                "in_order early stored stored_early stored_no_wait again_later again_early again_no_wait").split()


def check(program, name, tool, text, env):
    space = ["--initcheck-address-space", "all"] if tool == "initcheck" else []
    done = subprocess.run([HEDDLE, "check", "--tool", tool, *space, program, name], env=env, capture_output=True, text=True, timeout=100, check=False)
    summary = re.search(r"(?:RACECHECK SUMMARY: (\d+) hazards? displayed|ERROR SUMMARY: (\d+) error)", done.stdout)
    some = summary and int(summary[1] or summary[2]) > 0
    ok(summary and bool(some) == bool(text) and text in done.stdout, f"{name}, {tool}, {env['HEDDLE_DEVICE']}: {text or 'nothing'}",
       done.stdout + done.stderr)


def check_cases(program, cases, found, **more):
    for device in ("cpu", "interp", "sim"):
        env = environment(device, **more)
        for tool, texts in found.items():
            for case in cases if program else ():
                # Whether one meets what another one is to write depends on who is first.
                if (case, tool) not in (("early", "initcheck"), ("streams", "initcheck"), ("stored_early", "initcheck")):
                    text = texts.get(case, "")
                    check(program, case, tool, text if isinstance(text, str) else text[device != "cpu"], env)


def check_all(folder):
    check_cases(build(folder, "textures", 80), TEXTURE_CASES, TEXTURES)
    check_cases(build(folder, "multimem", 90, "-lcuda"), MULTIMEM_CASES, MULTIMEM, HEDDLE_DEVICES="2")
    wgmma = build(folder, "products", "90a")
    check_cases(wgmma, PRODUCT_CASES, PRODUCTS, HEDDLE_MACHINE="h100")
    check_cases(wgmma, WGMMA_CASES, WGMMA, HEDDLE_MACHINE="h100")
    tensor = build(folder, "products", "100a", "-DTENSOR_MEMORY")
    check_cases(tensor, PRODUCT_CASES, PRODUCTS, HEDDLE_MACHINE="b200")
    check_cases(tensor, COPY_CASES, COPIES, HEDDLE_MACHINE="b200")
    check_cases(build(folder, "tensor", "100a"), TENSOR_CASES, TENSOR, HEDDLE_MACHINE="b200")


main(check_all)
