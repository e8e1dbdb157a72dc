"""The tables of `make bench` beside the one of the kernels.

A module has NAME, TITLE, measure(Bench) -> [Table], and BUILDS where build.sh has to build more than the CUDA programs.
"""
from . import compile as compiling
from . import copies, floor, launch, matrices

TABLES = [floor, matrices, compiling, launch, copies]
