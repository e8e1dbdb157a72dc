"""The CUDA toolkit of this machine, where there is one; nothing needs it."""
import os
import re
import shutil
import subprocess


def find_nvcc():
    """The path of nvcc, or None: NVCC of the environment, PATH, the folder where it is by default."""
    for path in (shutil.which(os.environ.get("NVCC", "nvcc")), "/usr/local/cuda/bin/nvcc"):
        if path and os.access(path, os.X_OK):
            return path
    return None


def home(nvcc):
    """The toolkit's folder in nvcc's own words: what is on PATH may be a script or a link that starts it elsewhere."""
    shown = subprocess.run([nvcc, "-dryrun", "-x", "cu", "/dev/null"], capture_output=True, text=True, timeout=60)
    top = re.search(r"^#\$ TOP=(.+)$", shown.stderr, re.M)
    return os.path.realpath(top.group(1).strip()) if top else None
