"""Heddle, CUDA programs without NVIDIA hardware, as a Python package.

    heddle.prefix()      the folder with bin, lib and include, for tools that look for them
    heddle.__version__   the version of what lies there

There is nothing else in Python: the commands `heddle` and `heddle-nvcc` start the programs in bin.
"""
import os
import signal
import sys

from heddle._version import __version__

__all__ = ["__version__", "prefix"]


def prefix():
    """The folder of this installation: bin/heddle, lib/heddle/libcuda.so.1, include/heddle/cuda, lib/heddle/cuda (a toolkit)."""
    return os.path.dirname(os.path.abspath(__file__))


def _start(name):
    # Python ignores these signals; what is started must not.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    program = os.path.join(prefix(), "bin", "heddle")
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"heddle: {program}: {error.strerror}; install the package again: pip install --force-reinstall heddle-*.whl")


def _main():
    _start("heddle")


def _nvcc():
    _start("heddle-nvcc")
