#!/bin/bash
# Records what this machine's GPU answers, into tests/silicon/<gpu>-<date>/ (or the folder given):
#   vectors.txt  one PTX instruction per row (silicon.h has the format)
#   timing.txt   launch latency and the times of the kernels of bench/, by device events
#   env.txt      device, driver, compiler
# Needs a driver and gcc; timing needs nvcc as well. SM: architecture for nvcc (default sm_90).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
sm=${SM:-sm_90}
export PATH=$PATH:/usr/local/cuda/bin
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr -cs 'A-Za-z0-9\n' '-' | tr A-Z a-z | sed 's/-$//')
out=${1:-$here/$gpu-$(date +%Y-%m-%d)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$out"

{
    echo "date: $(date -u +%Y-%m-%d)"
    nvidia-smi --query-gpu=name,driver_version,vbios_version,compute_cap,clocks.max.sm,clocks.max.mem,memory.total \
        --format=csv
    nvcc --version 2>/dev/null | tail -2 || echo "no nvcc"
    uname -sr
} >"$out/env.txt"

cc=$(command -v gcc || command -v cc)
"$cc" -std=gnu17 -O1 -o "$tmp/vectors" "$here"/*.c -ldl
"$tmp/vectors" >"$out/vectors.txt" || echo "some rows failed: see # lines in vectors.txt"
grep -c '^@' "$out/vectors.txt"
tail -1 "$out/vectors.txt"

if command -v nvcc >/dev/null; then
    JOBS=$(nproc) ARCH=$sm OUT=$tmp/bench "$root/bench/build.sh" cuda-events
    {
        echo "# name,median_ms,gflops_or_gbs,check,min_ms,first_ms (device events, 20 runs)"
        for p in "$root"/bench/cuda/*.cu; do
            "$tmp/bench/cuda-events/$(basename "$p" .cu)" -e -v -r 20 -w 3 || true
        done
        echo "# launch: name,grid,block,us"
        "$tmp/bench/cuda-events/launch"
    } >"$out/timing.txt"
    cat "$out/timing.txt"
fi
ls -l "$out"
