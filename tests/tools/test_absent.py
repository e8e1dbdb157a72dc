#!/usr/bin/env python3
"""Libraries that refuse every function (src/api/absent): test_absent.py HEDDLE FOLDER"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

from support import Tap

HEDDLE, FOLDER = sys.argv[1:]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from absent_library import read  # noqa: E402

tap = Tap()
# Product, and what a function answers: of the first the whole 64 bits.
ANSWERS = [("libnvjpeg.so.13", "nvjpegCreateSimple", 9), ("libnvjpeg.so.12", "nvjpegEncoderParamsCopyHuffmanTables", 9),
           ("libnppial.so.12", "nppiAdd_8u_C1RSfs", -9999), ("libnppial.so.13", "nppiAdd_8u_C1RSfs_Ctx", -9999), ("libnppisu.so.13", "nppiMalloc_8u_C1", 0),
           ("libcutensor.so.2", "cutensorCreate", 15), ("libcutensorMg.so.2", "cutensorMgCreate", 15), ("libcutensorMp.so.2", "cutensorMpCreate", 15),
           ("libcufile.so.0", "cuFileDriverOpen", 5007), ("libcufile.so.0", "cuFileRead", -5007), ("libcusparseLt.so.0", "cusparseLtInit", 10),
           ("libcudss.so.1", "cudssCreate", 4), ("libcusolverMg.so.11", "cusolverMgCreate", 9), ("libcusolverMg.so.12", "cusolverMgPotrf", 9),
           ("libnvshmem_host.so.3", "nvshmemx_hostlib_init_attr", 3), ("libnvshmem_host.so.3", "nvshmem_malloc", 0),
           ("libnvshmem_host.so.3", "nvshmem_my_pe", -1)]


def path(soname):
    new, old = os.path.join(FOLDER, soname), os.path.join(FOLDER, "cuda12", soname)
    return new if os.path.exists(new) else old


def product(name):
    with open(os.path.join(ROOT, "spec/absent", name), encoding="utf-8") as file:
        return file.read()


def test_names():
    """Every name of the tables is there, under its version."""
    libc = ctypes.CDLL(None)
    libc.dlvsym.restype = libc.dlsym.restype = ctypes.c_void_p
    for spec in sorted(os.listdir(os.path.join(ROOT, "spec/absent"))):
        text = product(spec)
        for row in re.findall(r"^library (.*)$", text, re.M):
            library, *versions = row.split()
            for version in versions:
                soname = f"lib{library}.so.{version}"
                handle = ctypes.c_void_p(ctypes.CDLL(path(soname))._handle)
                found = read(text, library, version)[2]
                lacking = [name for node, name, _ in found
                           if not (libc.dlsym(handle, name.encode()) if node == "none" else libc.dlvsym(handle, name.encode(), node.encode()))]
                tap.ok(found and not lacking, f"{soname}: {len(found)} names", "\n".join(lacking[:9]))


def test_answers():
    for soname, function, answer in ANSWERS:
        code = (f"import ctypes; f = ctypes.CDLL({path(soname)!r}).{function}; f.restype = ctypes.c_int64\n"
                "print(f(None, None), f(None, None))")
        made = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
        tap.eq(made.stdout, f"{answer} {answer}\n", f"{function} answers {answer}")
        tap.eq(len(re.findall(rf"\b{function}: Heddle's \w+ does not have it", made.stderr)), 1, f"{function}: said once")


def test_truths():
    def numbers(function, n, *before):
        out = [ctypes.c_int() for _ in range(n)]
        status = function(*before, *map(ctypes.byref, out))
        return status, [o.value for o in out]

    jpeg = ctypes.CDLL(path("libnvjpeg.so.13"))
    tap.eq([numbers(jpeg.nvjpegGetProperty, 1, i)[1][0] for i in range(3)], [13, 2, 3], "nvJPEG's version")
    tap.eq([numbers(jpeg.nvjpegGetCudartProperty, 1, i)[1][0] for i in range(3)], [13, 0, 0], "its runtime's")
    tap.eq(numbers(jpeg.nvjpegGetProperty, 1, 3)[0], 2, "a property that there is not")
    for version, want in (("12", [12, 4, 1]), ("13", [13, 2, 0])):
        npp = ctypes.CDLL(path(f"libnppc.so.{version}"))
        npp.nppGetLibVersion.restype = ctypes.POINTER(ctypes.c_int)
        tap.eq(npp.nppGetLibVersion()[:3], want, f"version of NPP {version}")
    tensor = ctypes.CDLL(path("libcutensor.so.2"))
    tensor.cutensorGetErrorString.restype = ctypes.c_char_p
    tap.eq((tensor.cutensorGetVersion(), tensor.cutensorGetCudartVersion()), (20801, 13000), "cuTENSOR's version")
    tap.eq(tensor.cutensorGetErrorString(15), b"CUTENSOR_STATUS_NOT_SUPPORTED", "cuTENSOR's statuses")
    tap.eq(ctypes.c_char_p.in_dll(tensor, "CUTENSOR_COMPUTE_DESC_TF32").value, b"TF32", "a type of cuTENSOR's")
    sparse = ctypes.CDLL(path("libcusparseLt.so.0"))
    sparse.cusparseLtGetErrorName.restype = ctypes.c_char_p
    tap.eq(numbers(sparse.cusparseLtGetVersion, 1, None), (0, [1000]), "cuSPARSELt's version")
    tap.eq(sparse.cusparseLtGetErrorName(10), b"CUSPARSE_STATUS_NOT_SUPPORTED", "cuSPARSELt's statuses")
    tap.eq(numbers(ctypes.CDLL(path("libcufile.so.0")).cuFileGetVersion, 1), (0, [1190]), "cuFile's version")
    tap.eq(numbers(ctypes.CDLL(path("libcudss.so.1")).cudssGetProperty, 1, 0), (0, [1]), "cuDSS's version")
    tap.eq(numbers(ctypes.CDLL(path("libnvshmem_host.so.3")).nvshmemx_vendor_get_version_info, 3)[1], [3, 8, 0], "NVSHMEM's version")


def test_opened():
    """A program under `heddle run` gets them by name; `heddle info` does not list them, as they do nothing."""
    code = "import ctypes; ctypes.CDLL('libnppc.so.12'); ctypes.CDLL('libcutensor.so'); print(open('/proc/self/maps').read())"
    maps = subprocess.run([HEDDLE, "run", sys.executable, "-c", code], text=True, capture_output=True, check=False).stdout
    for soname in ("libnppc.so.12", "libcutensor.so.2"):
        tap.ok(os.path.realpath(path(soname)) in maps, f"{soname} is opened by name", maps)
    with tempfile.TemporaryDirectory() as folder:
        other = os.path.join(folder, "libnvshmem_host.so.3")
        shutil.copy(path("libnppc.so.12"), other)
        code = f"import ctypes; ctypes.CDLL({other!r}); print(open('/proc/self/maps').read())"
        maps = subprocess.run([HEDDLE, "run", sys.executable, "-c", code], text=True, capture_output=True, check=False).stdout
        tap.ok(other in maps and os.path.realpath(path("libnvshmem_host.so.3")) not in maps, "the vendor's own stays", maps)
    listed = subprocess.run([HEDDLE, "info"], text=True, capture_output=True, check=False).stdout
    tap.ok("libcudnn" in listed and "libnppc" not in listed, "heddle info lists what does something", listed)


test_names()
test_answers()
test_truths()
test_opened()
tap.done()
