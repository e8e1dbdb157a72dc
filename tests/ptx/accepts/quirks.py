"""Forms that one side takes and the other rightly does not: (opcodes, pattern of the instruction, why)."""
import re

# What ptxas takes and the manual's syntax does not have.
THEIRS = [
    ("addc|subc", r"\.sat\.", "a saturation that the manual does not give the carry forms"),
    ("testp", r"testp\.f(32|64) ", "no class is asked for"),
    ("fma", r"\.r[mpz]\.bf16", "bf16 rounds to nearest only"),
    ("fma", r"\.oob\.rn\.sat\.", "the manual gives .oob a .relu only"),
    ("rcp", r"\.ftz\.r[nzmp]\.f64", "only rcp.approx.ftz.f64 flushes"),
    ("bar.*red", r"\.any\.", "a word of vote that is passed over"),
    ("mapa|getctarank", r"\.s(32|64) ", "addresses are unsigned"),
    ("mapa|getctarank", r"(mapa|getctarank)\.u32 ", "32 bits do not hold a generic address"),
]
# What Heddle takes and this ptxas does not.
OURS = [
    ("cvt", r"\.e(4m3|5m2|2m3|3m2|2m1)x2\.b?f16x2 ", "PTX 9.1 has more pairs of halves than the assembler of 13.0"),
    ("ld|st", r"\.volatile\.local|\.local\.volatile", "since PTX 9.1"),
    ("mad", r"mad\.(ftz\.|sat\.)*f32 ", "sm_1x writes no rounding; the assembler has dropped those targets"),
]


def known(quirks, name, text):
    return any(re.fullmatch(ops, name) and re.search(pattern, text) for ops, pattern, _ in quirks)
