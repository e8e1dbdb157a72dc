"""Extensions of PyTorch: where they are from, how they are built, which of their tests run, and why single tests fail.

An extension is a name, the GitHub project, its version, the PyTorch that it was tried with, what is built; then, where
they differ from the usual, `folder` (what pip installs), `env` (variables of building and testing), `build` (a command
instead of pip), `tests_in` (where the tests run), `tests` (a file of tests, and arguments of pytest), `scripts` (programs
that are right when they end with status 0), `requires` (what the tests import), `selection` (what of its tests that is),
`causes` (a cause and a pattern of the test's name and message: what no pattern fits counts as Heddle's) and a remark.
`typed` are the two commands of a user.
"""
GITHUB = "heddle run pip install --no-build-isolation git+https://github.com/"
TORCH = "PyTorch's"
OWN = "the project's own"

EXTENSIONS = [
    {"name": "diff-gaussian-rasterization", "project": "graphdeco-inria/diff-gaussian-rasterization", "version": "59f5f77", "torch": "2.15", "built": "all",
     "selection": "it has none: `extension_checks.py`", "scripts": [{"name": "diff_gaussian", "arguments": ["{here}/extension_checks.py", "diff_gaussian"]}],
     "typed": (GITHUB + "graphdeco-inria/diff-gaussian-rasterization", "heddle run python -c 'import diff_gaussian_rasterization'")},
    {"name": "fused-ssim", "project": "rahul-goel/fused-ssim", "version": "0ac916a", "torch": "2.15", "built": "all", "requires": ["pytorch-msssim"],
     "selection": "both, smaller images and fewer rounds", "scripts": [{"name": name, "arguments": ["{here}/extension_checks.py", "fused_ssim", f"tests/{name}"]}
                                                              for name in ("test.py", "test_3D.py")],
     "remark": "at full size the reference of `test_3D.py`, a convolution of doubles, takes 17.6 GB in PyTorch's CPU kernel",
     "typed": (GITHUB + "rahul-goel/fused-ssim", "heddle run python -c 'import fused_ssim'")},
    {"name": "bitsandbytes", "project": "bitsandbytes-foundation/bitsandbytes", "version": "95f9af3", "torch": "2.15", "built": "all, by CMake", "tests_in": "tests",
     "build": "cmake -G Ninja -S . -B build -DCOMPUTE_BACKEND=cuda -DCOMPUTE_CAPABILITY=120 -DCMAKE_CUDA_COMPILER={tools}/heddle-nvcc && ninja -C build",
     "env": {"BNB_TEST_DEVICE": "cuda", "PYTHONPATH": ".."}, "requires": ["einops", "lion-pytorch", "scipy"],
     "selection": "32-bit optimizers of test_optim.py, the first 62 of 144; of test_ops.py those with int8 in their names; test_linear8bitlt.py",
     "tests": [["test_optim.py", "-k", "optimizer32bit"], ["test_ops.py", "-k", "int8"], ["test_linear8bitlt.py"]],
     "causes": [],
     "remark": "with `-use_fast_math` halves keep subnormal numbers, since which float16 is right; of test_functional.py eight tests ended: six are right, two failed, "
               "`test_dynamic_blockwise_quantization` of bfloat16 in blocks of 4096, likely for the limit of 600 s on a busy machine: single quantisations are as exact as on the host, but take 162 ms of processor time, those of float16 6 ms",
     "typed": ("pip install bitsandbytes", "heddle run python program.py")},
    {"name": "gsplat", "project": "nerfstudio-project/gsplat", "version": "1.5.3", "torch": "2.12", "built": "all", "selection": "test_basic.py, test_2dgs.py", "requires": ["pytest<9", "nerfacc", "jaxtyping", "rich", "typing_extensions"],
     "tests_in": "tests", "tests": [[f"test_{name}.py"] for name in ("basic", "2dgs")],
     "causes": [],
     "remark": "all twelve of `test_2dgs.py` are right, in an earlier run 105 of `test_basic.py`, and seven of its nine of `rasterize_to_pixels`, whose reference is nerfacc's; of the two of 128 channels in a batch one failed, in a process of 13 GB, and one was not run to its end", "typed": (GITHUB + "nerfstudio-project/gsplat@v1.5.3", "heddle run python -c 'import gsplat'")},
    {"name": "nvdiffrast", "project": "NVlabs/nvdiffrast", "version": "253ac4f", "torch": "2.15", "built": "all",
     "selection": "it has none: `extension_checks.py`", "scripts": [{"name": "nvdiffrast", "arguments": ["{here}/extension_checks.py", "nvdiffrast"]}],
     "typed": (GITHUB + "NVlabs/nvdiffrast", "heddle run python samples/torch/triangle.py")},
    {"name": "pytorch3d", "project": "facebookresearch/pytorch3d", "version": "9381c40", "torch": "2.12", "built": "all", "env": {"FORCE_CUDA": "1"}, "requires": ["iopath", "pillow"],
     "selection": "19 files with tests on cuda",
     "tests_in": "tests", "tests": [[f"test_{name}.py"] for name in (
         "ball_query", "knn", "face_areas_normals", "interpolate_face_attributes", "iou_box3d", "marching_cubes", "packed_to_padded", "point_mesh_distance", "points_to_volumes",
         "rasterize_meshes", "rasterize_points", "compositing", "blending", "sample_farthest_points", "chamfer", "graph_conv", "mesh_filtering", "sample_pdf", "points_normals")],
     "causes": [],
     "typed": ("FORCE_CUDA=1 " + GITHUB + "facebookresearch/pytorch3d", "heddle run python -c 'import pytorch3d._C'")},
    {"name": "nerfacc", "project": "nerfstudio-project/nerfacc", "version": "0.5.3", "torch": "2.12", "built": "all", "env": {"NVCC_FLAGS": "-std=c++17 -include {here}/cub_equality.cuh"}, "requires": ["tqdm", "rich"],
     "tests_in": "tests", "tests": [[f"test_{name}.py"] for name in ("camera", "grid", "pack", "pdf", "rendering", "scan", "vdb")],
     "causes": [], "remark": "with a header that says what `cub::Equality` is",
     "typed": ("NVCC_FLAGS=\"-std=c++17 -include $PWD/tests/clients/cub_equality.cuh\" " + GITHUB + "nerfstudio-project/nerfacc", "heddle run python -c 'import nerfacc'")},
    {"name": "causal-conv1d", "project": "Dao-AILab/causal-conv1d", "version": "0d2252d", "torch": "2.12", "built": "all", "env": {"CAUSAL_CONV1D_FORCE_BUILD": "TRUE"},
     "requires": ["einops"], "selection": "all but the largest of test_causal_conv1d_varlen", "tests_in": "tests", "tests": [["test_causal_conv1d.py"]], "causes": [],
     "remark": "the first 2712, in another run, are right as well",
     "typed": ("CAUSAL_CONV1D_FORCE_BUILD=TRUE " + GITHUB + "Dao-AILab/causal-conv1d", "heddle run python -c 'import causal_conv1d'")},
    {"name": "torch_scatter", "project": "rusty1s/pytorch_scatter", "version": "648dda3", "torch": "2.15", "built": "all", "env": {"FORCE_CUDA": "1"},
     "tests_in": "test", "tests": [[f"test_{name}.py"] for name in ("broadcasting", "gather", "multi_gpu", "scatter", "segment", "zero_tensors")], "causes": [],
     "typed": ("FORCE_CUDA=1 " + GITHUB + "rusty1s/pytorch_scatter", "heddle run python -c 'import torch_scatter'")},
    {"name": "torch_cluster", "project": "rusty1s/pytorch_cluster", "version": "3d1d9e3", "torch": "2.15", "built": "all that has CUDA (`FORCE_ONLY_CUDA=1`)", "env": {"FORCE_CUDA": "1"}, "requires": ["scipy"],
     "tests_in": "test", "tests": [[f"test_{name}.py"] for name in ("fps", "graclus", "grid", "knn", "nearest", "radius", "rw", "sampler")],
     "causes": [("the project's own, on the CPU: SciPy takes no halves", r"type other than float or double not supported")],
     "typed": ("FORCE_CUDA=1 " + GITHUB + "rusty1s/pytorch_cluster", "heddle run python -c 'import torch_cluster'")},
    {"name": "torch_sparse", "project": "rusty1s/pytorch_sparse", "version": "91feaa5", "torch": "2.15", "requires": ["scipy", "torch-scatter"], "built": "all, without the second, CPU-only build of each part", "env": {"FORCE_CUDA": "1", "FORCE_ONLY_CUDA": "1"},
     "tests_in": "test", "tests": [[f"test_{name}.py"] for name in ("add", "cat", "coalesce", "convert", "diag", "ego_sample", "eye", "matmul", "metis", "mul", "neighbor_sample", "overload", "permute",
                                                     "saint", "sample", "spmm", "spspmm", "storage", "tensor", "transpose")], "causes": [],
     "typed": ("FORCE_CUDA=1 " + GITHUB + "rusty1s/pytorch_sparse", "heddle run python -c 'import torch_sparse'")},
    {"name": "pointnet2_ops", "project": "erikwijmans/Pointnet2_PyTorch", "version": "b5ceb6d", "torch": "2.15", "built": "all", "folder": "pointnet2_ops_lib",
     "selection": "they need hydra 0.11 and pytorch-lightning 0.7: `extension_checks.py`", "scripts": [{"name": "pointnet2", "arguments": ["{here}/extension_checks.py", "pointnet2"]}],
     "typed": (GITHUB + "erikwijmans/Pointnet2_PyTorch#subdirectory=pointnet2_ops_lib", "heddle run python -c 'import pointnet2_ops'")},
    {"name": "mamba", "project": "state-spaces/mamba", "version": "e9594ce", "torch": "2.12", "built": "`selective_scan_cuda`", "env": {"MAMBA_FORCE_BUILD": "TRUE", "MAMBA_KEEP_CUDA_BUILD": "TRUE"}, "requires": ["einops"],
     "selection": "test_selective_scan.py", "tests_in": "tests/ops", "tests": [["test_selective_scan.py"]], "causes": [],
     "typed": ("MAMBA_FORCE_BUILD=TRUE MAMBA_KEEP_CUDA_BUILD=TRUE " + GITHUB + "state-spaces/mamba", "heddle run python -c 'import selective_scan_cuda'")},
    {"name": "apex", "project": "NVIDIA/apex", "version": "6424da3", "torch": "2.12", "built": "the twelve of `--cpp_ext` and `--cuda_ext`", "env": {"APEX_CPP_EXT": "1", "APEX_CUDA_EXT": "1", "PYTHONPATH": "run_optimizers"}, "requires": ["expecttest", "hypothesis"],
     "selection": "tests/L0, of test_fused_layer_norm.py without 65536 rows, of test_mlp.py all but `test_performance`", "tests_in": "tests/L0",
     "tests": [["run_optimizers/test_adam.py"], ["run_optimizers/test_fused_novograd.py"], ["run_optimizers/test_fused_optimizer.py"], ["run_optimizers/test_lamb.py"],
               ["run_fused_layer_norm/test_fused_layer_norm.py", "-k", "not 65536"], ["run_mlp/test_mlp.py", "-k", "not performance"]], "causes": [],
     "remark": "its setup asks for the very CUDA version of PyTorch; test_fused_layer_norm.py with 65536 rows makes strided tensors of 6 GB on host and device",
     "typed": ("APEX_CPP_EXT=1 APEX_CUDA_EXT=1 " + GITHUB + "NVIDIA/apex", "heddle run python -c 'import amp_C'")},
    {"name": "spconv", "project": "traveller59/spconv", "version": "v2.3.8", "torch": "2.12", "built": "no: PyPI's `spconv-cu126`", "requires": ["pandas"],
     "build": "{python} -m pip install spconv-cu126==2.3.8", "selection": "test_conv.py",
     "tests_in": "test", "tests": [["test_conv.py", "--timeout=3600"]], "causes": [],
     "remark": "each shape is tuned over all kernels that fit, which are compiled for it; `test_multi_impl.py` did not end in 40 minutes on a busy machine",
     "typed": ("pip install spconv-cu126", "heddle run python -c 'import spconv.pytorch'")},
    {"name": "xformers", "project": "facebookresearch/xformers", "version": "v0.0.35", "torch": "2.12", "built": "no: PyPI's wheel",
     "build": "{python} -m pip install --no-deps xformers==0.0.35 && mkdir -p apart && cp -r tests apart/",  # beside its sources they would import those
     "selection": "test_sparsity24.py", "tests_in": "apart", "tests": [["tests/test_sparsity24.py"]], "causes": [],
     "remark": "51 of the skipped are for machines of sm_80, as which (`HEDDLE_MACHINE=a100`) the first, of a whole layer, did not end in 20 minutes on a busy machine, 14 want cuSPARSELt, two sm_90",
     "typed": ("pip install xformers", "heddle run python program.py")},
    {"name": "vLLM", "project": "vllm-project/vllm", "version": "v0.33.0", "torch": "2.12", "built": "no: PyPI's wheel, of which FlashAttention 2 (`_vllm_fa2_C`)",
     "build": "{python} -m pip download --no-deps vllm==0.33.0 && {python} -m zipfile -e vllm-0.33.0-*.whl wheel", "tests_in": "wheel/vllm/vllm_flash_attn",
     "selection": "`extension_checks.py`: attention of float16 and bfloat16, causal, in windows, over pages",
     "scripts": [{"name": "attention", "arguments": ["{here}/extension_checks.py", "vllm", "_vllm_fa2_C.abi3.so"]}],
     "remark": "vLLM as a whole does not run: PTX is in 20 of the 118 fat binaries of `_C_stable_libtorch`, in 15 of the 35 of `_moe_C_stable_libtorch` and in none of the other libraries; "
               "what models need of them (`rms_norm_kernel`, `topkGating`) is there as NVIDIA's machine code only",
     "typed": ("pip install --no-deps vllm==0.33.0", "heddle run python program.py    # torch.ops.load_library(\".../vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so\")")},
]

# What was not built to the end, or whose tests did not run: project, version, PyTorch, what was tried, what is missing.
UNBUILT = [
    ("pytorch3d", "9381c40", "2.12", "nine of 31 `.cu` files, all that were tried, compile", "the rest was not tried; its `-std=c++17` needs PyTorch 2.12"),
    ("torch_sparse", "91feaa5", "2.15", "all is built; `ind2ptr`, `ptr2ind` and `spmm_sum`, `_min` and `_max` of one matrix are equal to the host's", "its tests did not run: they want torch_scatter beside it, which was not there"),
    ("mamba", "e9594ce", "2.12", "nothing yet", "the command is there: `extensions.py`"),
    ("flash-attention", "0251105a", "2.12", "clang's front end takes `flash_fwd_hdim64_fp16_sm80.cu` in a minute", "the back end takes 3.7 GB and did not end in four minutes of processor time; the same kernels run from vLLM's wheel, above"),
]
