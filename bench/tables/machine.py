"""What the numbers were measured on and with."""
import os
import platform
import re
import shutil

import kernels

TOOLS = {"clang": ("clang-19", "--version"), "gcc": ("gcc", "--version"), "nvcc": ("nvcc", "--version"),
         "llvm": ("llvm-config-19", "--version")}


def file_text(path, default="unknown"):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return default


def cpu_model():
    match = re.search(r"^model name\s*: (.*)$", file_text("/proc/cpuinfo"), re.M)
    family = re.search(r"^cpu family\s*: (\d+)$", file_text("/proc/cpuinfo"), re.M)
    number = re.search(r"^model\s*: (\d+)$", file_text("/proc/cpuinfo"), re.M)
    if not match:
        return platform.machine()
    return match[1] + (f" (family {family[1]}, model {number[1]})" if family and number else "")


def isa_level():
    flags = set(file_text("/proc/cpuinfo").split())
    levels = [("x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
              ("x86-64-v3", {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}), ("x86-64-v2", {"sse4_2", "popcnt"})]
    level = next((name for name, needs in levels if needs <= flags), platform.machine())
    extra = [f for f in ("avx512_bf16", "avx512_vnni", "avx512_fp16", "avx_vnni", "amx_bf16", "amx_int8") if f in flags]
    return " ".join([level] + extra)


def caches():
    """Of CPU 0: "L1d 48K, ..." """
    found, folder = [], "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        kind = file_text(f"{folder}/{index}/type", "")
        if kind and kind != "Instruction":
            name = "L" + file_text(f"{folder}/{index}/level") + ("d" if kind == "Data" else "")
            found.append(f"{name} {file_text(f'{folder}/{index}/size')}")
    return ", ".join(found) or "unknown"


def memory():
    match = re.search(r"MemTotal:\s*(\d+)", file_text("/proc/meminfo"))
    pages = re.search(r"\[(\w+)\]", file_text("/sys/kernel/mm/transparent_hugepage/enabled"))
    return f"{int(match[1]) / 2 ** 20:.1f} GiB, huge pages: {pages[1] if pages else 'unknown'}" if match else "unknown"


def tool_version(command):
    if not shutil.which(command[0]):
        return None
    lines = [line for line in kernels.run(command)[1].splitlines() if re.search(r"\d+\.\d+", line)]
    return lines[0].strip() if lines else None


def packages():
    """Versions of the peers' libraries, where dpkg knows them."""
    if not shutil.which("dpkg-query"):
        return {}
    names = ["pocl-opencl-icd", "libpocl2", "libdnnl2", "libdnnl3", "libomp-19-dev", "libc6"]
    out = kernels.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n"] + names)[1]
    return dict(line.split() for line in out.splitlines() if len(line.split()) == 2)


def describe(setup):
    seen = os.environ.get("HEDDLE_HOST_CPU")
    host = {"CPU": cpu_model(), "CPUs": str(os.cpu_count()), "ISA": isa_level() + (f", used as a host with {seen}" if seen else ""), "caches": caches(), "memory": memory(),
            "governor": file_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "kernel": platform.release(), "load": " ".join(f"{x:.1f}" for x in os.getloadavg())}
    host["virtual"] = "yes" if "hypervisor" in file_text("/proc/cpuinfo").split() else "no"
    versions = {name: tool_version(command) for name, command in TOOLS.items()}
    versions["heddle"] = tool_version([setup.heddle, "--version"])
    host.update({k: v for k, v in versions.items() if v})
    host.update(packages())
    return host


def plain(host):
    return [f"{key + ':':18}{value}" for key, value in host.items()]


def markdown(host):
    return [f"- {key}: {value}" for key, value in host.items()]
