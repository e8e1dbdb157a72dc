"""The clients' own test suites, and why single tests of them cannot pass here.

A suite is a client's name, a title, what pip installs, where its tests are from (None: the package), the folder to run
in, a package beside it that the tests use, the files or modules in it, variables ({tools}: where Heddle's tools are), and causes: (cause, pattern), where the pattern is searched in the test's name
and message. What no pattern fits counts as Heddle's.
"""
LIBRARY = "needs a library of NVIDIA's"
CODE = "asks for machine code or LTO-IR"
WORDS = "asks for the vendor compiler's words or choices"
MACHINE = "assumes another machine"
OWN = "the test's own"

# Numbers of registers, SASS, and the vendor's formats.
CODE_PATTERNS = [
    (CODE, r"nvdisasm|cuobjdump|inspect_sass|get_regs_per_thread|LTO-?IR|ltoir|lto_asm|one PTX text of|nullary_option|forceinline flag"),
    (WORDS, r"NVIDIA NVVM Compiler|overriding noinline|FileCheck failed|test_dump_assembly|const_array_3d|test_launch_bounds_with_max_cluster|"
            r"TestCompile::test_fastmath|precompiled headers|traces are not written"),
]

SUITES = [
    {"name": "numba", "title": "numba-cuda", "packages": ["numba-cuda[cu13]", "filecheck", "ml_dtypes", "cffi", "psutil", "pytest-benchmark"],
     "source": ("NVIDIA/numba-cuda", "v0.30.4"), "folder": "testing", "modules": "numba.cuda.tests", "env": {},
     "causes": CODE_PATTERNS + [
         (OWN, r"CUipcMemHandle' object has no attribute|test_cpu_and_cuda_|no default __reduce__"),
         ("too slow for the limit of the test", r"Timeout \(>"),
     ]},
    {"name": "cuda_core", "title": "cuda.core",
     "packages": ["cuda-core[cu13]==1.1.0", "cuda-bindings[all]==13.3.1", "cloudpickle", "psutil", "cffi", "ml-dtypes", "pytest-rerunfailures", "pytest-benchmark"],
     "source": ("NVIDIA/cuda-python", "cuda-core-v1.1.0"), "folder": "cuda_core", "also": "../cuda_python_test_helpers", "files": "tests/**/test_*.py", "env": {},
     "causes": CODE_PATTERNS + [
         ("NVML beyond what finds devices", r"function nvml\w+ is not found|tests/system/"),
         (MACHINE, r"INVALID_RESOURCE_CONFIGURATION"),
         (OWN, r"test_build_hooks|test_enum_coverage"),
     ]},
    {"name": "cuda_bindings", "title": "cuda.bindings",
     "packages": ["cuda-bindings[all]==13.3.1", "cuda-core[cu13]==1.1.0", "psutil", "pytest-benchmark"],
     "source": ("NVIDIA/cuda-python", "v13.3.1"), "folder": "cuda_bindings", "also": "../cuda_python_test_helpers", "files": "tests/**/test_*.py", "env": {},
     "causes": CODE_PATTERNS + [
         ("NVML beyond what finds devices", r"function nvml\w+ is not found"),
         (LIBRARY, r"test_cufile|cudla"),
         (WORDS, r"fail_invalid_ir"),
         (OWN, r"duplicate parametrization"),
     ]},
    {"name": "tinygrad", "title": "tinygrad", "packages": ["tinygrad==0.13.0", "numpy", "torch", "hypothesis"],
     "source": ("tinygrad/tinygrad", "v0.13.0"), "folder": ".",
     "files": ["test/test_tiny.py", "test/backend/test_ops.py", "test/backend/test_dtype.py", "test/backend/test_jit.py"],
     "env": {"DEV": "CUDA", "CUDA": "1"}, "causes": CODE_PATTERNS + [
         # what PyTorch 2.15 answers, with which the tests compare
         (OWN, r"TestOps::test_clip\b|must be >= 1 in every dimension|test_float_to_fp8e4m3_extreme_values"),
     ]},
    {"name": "cupy", "title": "CuPy core_tests", "packages": ["cupy-cuda13x==14.2.0", "ml_dtypes", "pytest<9"],
     "source": ("cupy/cupy", "v14.2.0"), "folder": "tests", "files": "cupy_tests/core_tests/**/test_*.py",
     # Some tests are of two devices, some compile by nvcc: a vendor's makes machine code.
     "env": {"HEDDLE_DEVICES": "2", "NVCC": "{tools}/heddle-nvcc"},
     "causes": [
         # the program that reads the pickle asks cuRAND
         (LIBRARY, r"cublas|curand|cusolver|cufft|cusparse|libcu(blas|rand|solver)|test_raw_picklable"),
         ("needs as much memory as the machine has", r"OutOfMemoryError"),
         # Jitify compiles hundreds of times until it knows every header
         ("too slow for the limit of the test", r"Timeout \(>|no end after"),
     ] + CODE_PATTERNS},
    # docs/clients.md has one test of 20, of fft_test.py all, of linalg_test.py one of 8, of lax_test.py and lax_numpy_test.py one of 25: XLA compiles for seconds each time.
    {"name": "jax", "title": "JAX", "packages": ["jax[cuda13]==0.10.2", "absl-py", "hypothesis", "cloudpickle"],
     "source": ("jax-ml/jax", "jax-v0.10.2"), "folder": ".",
     "files": [f"tests/{name}_test.py" for name in ("fft", "linalg", "lax", "lax_numpy", "random_lax", "random", "lax_scipy", "lax_numpy_einsum", "lax_numpy_indexing",
                                                    "lax_control_flow", "lax_numpy_reducers", "lax_numpy_operators")],
     "env": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
     "causes": [
         (LIBRARY, r"cudnn|Failed to get configs"),
         # its optimiser, for a kernel with hundreds of loads in a row
         ("XLA compiles for minutes", r"test_ragged_dot_general_vmap27"),
     ]},
]
