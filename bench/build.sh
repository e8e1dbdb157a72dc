#!/bin/bash
# Builds the benchmarks into bench/out (or $OUT):
#   build.sh [cuda] [cuda-static] [cuda-heddle] [ocl] [omp] [launch]      nothing named: everything whose compiler is here
#   build.sh tensor                                                       products of matrices; not built unless named
#   build.sh products                                                     cuBLAS and cuDNN beside oneDNN; likewise
#   build.sh floor start native                                           what the machine could do; PTX of a file; launches of native kernels; likewise
# HEDDLE_HOST_CPU=avx2 or generic compiles C for such a host as well.
# NVCC, ARCH (default compute_75: PTX only, any driver), CLANG, CLANGXX and HEDDLE choose the tools; DEVICE_FLAGS go
# to the CUDA compiler as well (e.g. -G); PROGRAMS=cuda leaves out the programs that are no kernels of cuda/.
set -u
cd "$(dirname "$0")" || exit 1
OUT=${OUT:-out}
NVCC=${NVCC:-nvcc}
ARCH=${ARCH:-compute_75}
CLANG=${CLANG:-clang-19}
CLANGXX=${CLANGXX:-clang++-19}
HEDDLE=${HEDDLE:-../build/tools/heddle/heddle}
JOBS=${JOBS:-2}
case ${HEDDLE_HOST_CPU:-} in
avx2*) MARCH=x86-64-v3 ;;
generic*) MARCH=x86-64-v2 ;;
*) MARCH=native ;;
esac
PROGRAMS=${PROGRAMS:-cuda launch start}
read -ra device_flags <<<"${DEVICE_FLAGS:-}"
mkdir -p "$OUT"

have() { command -v "$1" >/dev/null 2>&1; }
quietly() { "$@" || { echo "FAILED: $*" >&2; return 1; }; }

# The CUDA sources, ending in 0 bytes.
cuda_sources() {
    local p
    for p in $PROGRAMS; do
        find "$p" -name '*.cu' -print0
    done
}

# Every source newer than what was made of it: build_each FOLDER SUFFIX COMPILER ARGS...
build_each() {
    mkdir -p "$OUT/$1"
    cuda_sources | xargs -0 -P "$JOBS" -I{} bash -c '
        made=$1/$(basename {} .cu)$2; shift 2
        current=1
        for f in {} common/*.h cuda/*.h; do
            [ "$made" -nt "$f" ] || current=0
        done
        [ $current = 0 ] || exit 0
        "$@" {} -o "$made" || { echo "FAILED $made" >&2; exit 1; }' _ "$OUT/$1" "$2" "${@:3}"
}

# Objects are the same for every runtime: build_nvcc FOLDER LINK-FLAGS...
build_nvcc() {
    local dir=$1
    shift
    build_each cuda-obj .o "$NVCC" "-arch=$ARCH" -c "${nvcc_flags[@]}" "${device_flags[@]}" || return 1
    mkdir -p "$OUT/$dir"
    find "$OUT/cuda-obj" -name '*.o' -print0 | xargs -0 -P "$JOBS" -I{} bash -c '
        made=$1/$(basename {} .o); shift
        [ "$made" -nt {} ] || "$@" {} -o "$made" || { echo "FAILED $made" >&2; exit 1; }' _ "$OUT/$dir" "$NVCC" "-arch=$ARCH" "$@"
}

build_ocl() {
    quietly "$CLANGXX" -O2 -std=c++14 ocl/host.cpp -o "$OUT/ocl" -lOpenCL
}

build_omp() {
    local flags=(-O3 "-march=$MARCH" -fopenmp -Wno-psabi -c) # vectors are passed within a file only
    for f in kernels sgemm arrays layers; do
        quietly "$CLANG" "${flags[@]}" "omp/$f.c" -o "$OUT/${f}_base.o" &&
            quietly "$CLANG" "${flags[@]}" -mprefer-vector-width=512 -ffast-math "omp/$f.c" \
                -o "$OUT/${f}_best.o" || return 1
    done
    quietly "$CLANGXX" -O2 -std=c++14 -fopenmp -c omp/main.cpp -o "$OUT/omp_main.o" || return 1
    for v in base best; do
        quietly "$CLANGXX" -fopenmp "$OUT/omp_main.o" "$OUT"/{kernels,sgemm,arrays,layers}_$v.o -o "$OUT/omp_$v" -lm || return 1
    done
    quietly "$CLANG" -O2 -fopenmp launch/omp.c -o "$OUT/omp_launch"
}

# up_to_date MADE SOURCE..
up_to_date() {
    local made=$1 source
    shift
    for source; do
        [ "$made" -nt "$source" ] || return 1
    done
}

# Each needs the PTX of its instructions: compile_tensor ARCH SOURCE MADE
compile_tensor() {
    if have "$NVCC"; then
        quietly "$NVCC" -gencode "arch=compute_$1,code=compute_$1" -cudart shared "${nvcc_flags[@]}" -Xcompiler "-march=$MARCH" "$2" -o "$3"
    else
        quietly "$HEDDLE" cc -arch "sm_$1" "${heddle_flags[@]}" "$2" -o "$3"
    fi
}

build_tensor() {
    local programs="plain:80 gemm:80 attention:80" program name made
    have "$NVCC" && programs+=" warps:80 copies:90 groups:90a blocks:100a"
    mkdir -p "$OUT/tensor"
    for program in $programs; do
        name=${program%:*} made=$OUT/tensor/${program%:*}
        up_to_date "$made" "tensor/$name.cu" tensor/*.h common/bench.h cuda/cu.h ||
            compile_tensor "${program#*:}" "tensor/$name.cu" "$made" || return 1
    done
    made=$OUT/tensor/onednn
    [ ! -e /usr/include/dnnl.h ] || up_to_date "$made" tensor/onednn.cpp tensor/attention.h common/bench.h ||
        quietly "$CLANGXX" -O2 -std=c++14 tensor/onednn.cpp -o "$made" -ldnnl
}

build_floor() {
    quietly "$CLANG" -O3 "-march=$MARCH" -mprefer-vector-width=512 -ffp-contract=fast -fopenmp floor/floor.c -o "$OUT/floor"
}

build_start() {
    quietly "$CLANG" -O2 start/ptx.c -o "$OUT/ptx" -ldl
}

build_native() {
    quietly "$CLANG" -O2 -I../include -I../include/cuda launch/native.c -o "$OUT/native" \
        -L"$(dirname "$HEDDLE")/cuda/lib64" -lcuda
}

build_products() {
    quietly "$CLANG" -O2 -I../include -I../include/cuda products/products.c -o "$OUT/products" \
        -L"$(dirname "$HEDDLE")/cuda/lib64" -lcublas -lcudart -ldl &&
        quietly "$CLANG" -O2 -I../include -I../include/cuda products/layers.c -o "$OUT/layers" \
            -L"$(dirname "$HEDDLE")/cuda/lib64" -lcudnn -lcudart -ldl
}

nvcc_flags=(-O3 -std=c++14 -diag-suppress 177)
heddle_flags=(-O3)
build() {
    case $1 in
    cuda) build_nvcc cuda -cudart shared ;;
    cuda-events) build_each cuda-events '' "$NVCC" "-arch=$ARCH" -DBENCH_EVENTS "${nvcc_flags[@]}" ;;
    cuda-static) build_nvcc cuda-static -cudart static ;;
    cuda-heddle) build_each cuda-heddle '' "$HEDDLE" cc ${HEDDLE_ARCH:+-arch "$HEDDLE_ARCH"} "${heddle_flags[@]}" "${device_flags[@]}" ;;
    ocl) build_ocl ;;
    omp) build_omp ;;
    tensor) build_tensor ;;
    floor) build_floor ;;
    start) build_start ;;
    native) build_native ;;
    products) build_products ;;
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
