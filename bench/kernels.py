"""The kernels and how each implementation is started: shared by run.py and check.py."""
import os
import subprocess

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
NAMES = ("vecadd saxpy reduce scan transpose sgemm_naive sgemm_tiled16 sgemm_tiled32 sgemm_reg "
         "stencil2d conv1d nbody mandelbrot histogram bitonic blackscholes spmv softmax layernorm "
         "md5 lookback radixsort topk bfs sptrsv fft philox grouped_gemm conv2d "
         "flash_attention rmsnorm_rope int4_gemm").split()

# Arguments for the sizes of three purposes. Full size is the programs' own default.
QUICK = {"transpose": ["1024"], "stencil2d": ["1024"], "nbody": ["2048"], "mandelbrot": ["512"],
         "spmv": ["65536"], "softmax": ["1024"], "layernorm": ["1024"], "bitonic": ["131072"],
         "radixsort": ["65536"], "topk": ["256"], "bfs": ["65536"], "sptrsv": ["16384"], "fft": ["1024"],
         "grouped_gemm": ["8"], "conv2d": ["28"], "flash_attention": ["512"], "rmsnorm_rope": ["1024"],
         "int4_gemm": ["1024"]}
SMALL = {"transpose": ["200"], "stencil2d": ["130"], "nbody": ["512"], "mandelbrot": ["96", "100"],
         "spmv": ["3000"], "softmax": ["20", "500"], "layernorm": ["20", "500"],
         "bitonic": ["8192"], "scan": ["5000"], "topk": ["20", "500"], "bfs": ["3000"],
         "sptrsv": ["3000"], "fft": ["20"], "grouped_gemm": ["3"], "conv2d": ["9"],
         "flash_attention": ["128", "2"], "rmsnorm_rope": ["50", "3"], "int4_gemm": ["100", "1024"]}
TINY = {"transpose": ["40"], "stencil2d": ["40"], "nbody": ["256"], "mandelbrot": ["24", "40"],
        "spmv": ["300"], "softmax": ["3", "300"], "layernorm": ["3", "300"], "bitonic": ["2048"],
        "scan": ["3000"], "histogram": ["20000"], "md5": ["3000"], "conv1d": ["700"],
        "blackscholes": ["700"], "reduce": ["3000"], "vecadd": ["1000"], "saxpy": ["1000"],
        "lookback": ["5000"], "radixsort": ["5000"], "topk": ["3", "300"], "bfs": ["500"],
        "sptrsv": ["300"], "fft": ["2"], "grouped_gemm": ["1"], "conv2d": ["5"],
        "flash_attention": ["128", "1"], "rmsnorm_rope": ["5", "3"], "int4_gemm": ["9", "384"]}


def size_args(name, sizes, gemm, default):
    if name.startswith("sgemm"):
        return [gemm]
    return sizes.get(name, [default])


def quick_args(name):
    return size_args(name, QUICK, "512", "1048576")


def small_args(name):
    return size_args(name, SMALL, "128", "20001")


def tiny_args(name):
    return size_args(name, TINY, "64", "1000")


class Setup:
    """Where the programs are, and the tool that runs CUDA programs on the CPU device."""

    def __init__(self, build, out=None):
        self.heddle = os.path.join(os.path.abspath(build), "tools/heddle/heddle")
        self.out = out or os.environ.get("OUT") or os.path.join(BENCH, "out")

    def program(self, flavour, name):
        return os.path.join(self.out, flavour, name)

    def cuda(self, flavour, name):
        return [self.heddle, "run", self.program(flavour, name)]


def run(command, env=None, timeout_s=600):
    """(exit status, stdout, stderr); a timeout is status 124."""
    try:
        r = subprocess.run(command, env=dict(os.environ, **(env or {})), capture_output=True,
                           text=True, errors="replace", timeout=timeout_s, stdin=subprocess.DEVNULL)
        return r.returncode, r.stdout, r.stderr
    except subprocess.TimeoutExpired:
        return 124, "", f"no result within {timeout_s} s"
    except OSError as error:
        return 127, "", str(error)


def result_line(name, stdout):
    """The fields of the program's result line, or None."""
    for line in stdout.splitlines():
        fields = line.split(",")
        if fields[0] == name and len(fields) >= 4:
            return fields
    return None
