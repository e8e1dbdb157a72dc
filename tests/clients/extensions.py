"""Extensions of PyTorch that were built from source with Heddle's compiler: the lines of docs/clients.md about them."""

# project, version, PyTorch, what was built, its tests and examples, causes of what failed
TRIED = [
    ("bitsandbytes", "0.50.2 from PyPI", "2.15", "nothing: the wheel's `libbitsandbytes_cuda130.so` has PTX (202 kernels)", "4-bit and blockwise quantisation, `Linear4bit`, `Adam8bit` run",
     "`Linear8bitLt` needs cuBLASLt"),
    ("bitsandbytes", "95f9af3", "2.15", "all, by CMake", "of a part of `test_optim.py` 69 passed, 22 failed, 3 skipped; the run was not finished",
     "the 22 are all 32-bit optimizers on float16, beyond the tolerance (one element of 32,768 in the one that was looked at). Heddle's: with `-use_fast_math` subnormal halves become zero "
     "(`cvt.ftz.f32.f16`, `mul.ftz.f16`), which nvcc writes without `.ftz`; the wheel's kernels are right. `test_ops.py`: eight of the first tests fail, which need cuBLASLt"),
    ("fused-ssim", "0ac916a", "2.15", "all, by `pip`", "both of its tests pass, with smaller images and fewer rounds",
     "at full size the reference of `test_3D.py`, a convolution of doubles, takes 17.6 GB in PyTorch's CPU kernel"),
    ("gsplat", "1.5.3", "2.15", "device code of all 20 `.cu` files, as C++20", "not run", "with its own `-std=c++17` PyTorch 2.15 refuses it, with any compiler: PyTorch 2.12 takes C++17"),
    ("nerfacc", "0.5.3", "2.12", "all, with `NVCC_FLAGS=-std=c++17`", "not run", "as C++20 its `lerp` clashes with the C library's `<math.h>`, with g++, too"),
    ("nvdiffrast", "253ac4f", "none", "device code of all five `.cu` files", "not run", ""),
    ("causal-conv1d", "0d2252d", "2.15", "device code of two of three `.cu` files", "not run", ""),
    ("pytorch3d", "9381c40", "2.12", "device code of six of 31 `.cu` files, all that were tried", "not run", "its `-std=c++17` needs PyTorch 2.12"),
    ("flash-attention", "2.8.3.post2", "2.15", "clang's front end takes `flash_fwd_hdim64_fp16_sm80.cu`", "not run",
     "clang's back end needs more than 3.7 GB for the 18 kernels of one such file"),
]


def report():
    out = ["## Extensions of PyTorch, from source", "",
           "Unedited sources, compiled for sm_80 (fused-ssim: sm_120) by `heddle-nvcc`. Where only device code is named, the extension was not linked.", "",
           "```", "heddle run pip install --no-build-isolation git+https://github.com/rahul-goel/fused-ssim", "heddle run python -c 'import fused_ssim'", "```", "",
           "```", "pip install bitsandbytes", "heddle run python program.py", "```", "",
           "| project | version | PyTorch | built | its tests | causes |", "|---|---|---|---|---|---|"]
    return out + [f"| {' | '.join(row)} |" for row in TRIED] + [""]
