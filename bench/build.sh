#!/bin/bash
# Builds the benchmarks into bench/out (or $OUT):
#   build.sh [cuda] [cuda-static] [cuda-heddle] [ocl] [omp] [launch]      nothing named: everything whose compiler is here
# NVCC, ARCH (default compute_75: PTX only, any driver), CLANG, CLANGXX and HEDDLE choose the tools.
set -u
cd "$(dirname "$0")" || exit 1
OUT=${OUT:-out}
NVCC=${NVCC:-nvcc}
ARCH=${ARCH:-compute_75}
CLANG=${CLANG:-clang-19}
CLANGXX=${CLANGXX:-clang++-19}
HEDDLE=${HEDDLE:-../build/tools/heddle/heddle}
JOBS=${JOBS:-2}
mkdir -p "$OUT"

have() { command -v "$1" >/dev/null 2>&1; }
quietly() { "$@" || { echo "FAILED: $*" >&2; return 1; }; }

# Every cuda/*.cu with one compiler: build_cuda FOLDER COMPILER ARGS...
build_cuda() {
    local dir=$OUT/$1
    shift
    mkdir -p "$dir"
    for f in cuda/*.cu launch/launch.cu start/*.cu; do
        [ -e "$f" ] && printf '%s\0' "$f"
    done | xargs -0 -P "$JOBS" -I{} bash -c '
        dir=$1; shift
        name=$(basename {} .cu)
        [ "$dir/$name" -nt {} ] && [ "$dir/$name" -nt common/refs.h ] && [ "$dir/$name" -nt common/bench.h ] &&
            [ "$dir/$name" -nt cuda/cu.h ] && exit 0
        "$@" {} -o "$dir/$name" || { echo "FAILED $name" >&2; exit 1; }' _ "$dir" "$@"
}

build_ocl() {
    quietly "$CLANGXX" -O2 -std=c++14 ocl/host.cpp -o "$OUT/ocl" -lOpenCL
}

build_omp() {
    local flags=(-O3 -march=native -fopenmp -c)
    for f in kernels sgemm; do
        quietly "$CLANG" "${flags[@]}" "omp/$f.c" -o "$OUT/${f}_base.o" &&
            quietly "$CLANG" "${flags[@]}" -mprefer-vector-width=512 -ffast-math "omp/$f.c" \
                -o "$OUT/${f}_best.o" || return 1
    done
    quietly "$CLANGXX" -O2 -std=c++14 -fopenmp -c omp/main.cpp -o "$OUT/omp_main.o" || return 1
    for v in base best; do
        quietly "$CLANGXX" -fopenmp "$OUT/omp_main.o" "$OUT/kernels_$v.o" "$OUT/sgemm_$v.o" \
            -o "$OUT/omp_$v" -lm || return 1
    done
    quietly "$CLANG" -O2 -fopenmp launch/omp.c -o "$OUT/omp_launch"
}

nvcc_flags=(-O3 -std=c++14 -diag-suppress 177)
build() {
    case $1 in
    cuda) build_cuda cuda "$NVCC" "-arch=$ARCH" -cudart shared "${nvcc_flags[@]}" ;;
    cuda-events) build_cuda cuda-events "$NVCC" "-arch=$ARCH" -DBENCH_EVENTS "${nvcc_flags[@]}" ;;
    cuda-static) build_cuda cuda-static "$NVCC" "-arch=$ARCH" "${nvcc_flags[@]}" ;;
    cuda-heddle) build_cuda cuda-heddle "$HEDDLE" cc -O3 ;;
    ocl) build_ocl ;;
    omp) build_omp ;;
    *) echo "unknown target $1" >&2; return 1 ;;
    esac
}

targets=("$@")
if [ $# = 0 ]; then
    have "$NVCC" && targets+=(cuda cuda-static)
    have "$HEDDLE" && targets+=(cuda-heddle)
    [ -e /usr/include/CL/cl.h ] && targets+=(ocl)
    have "$CLANG" && targets+=(omp)
fi
rc=0
for t in "${targets[@]}"; do
    build "$t" || rc=1
done
exit $rc
