#!/bin/sh
# Compiles one example with `heddle cc` and runs it on the CPU device:  run.sh HEDDLE SOURCE OUT_DIR [ARG...]
set -eu
heddle=$1
source=$2
out=$3
shift 3
mkdir -p "$out"
program=$out/$(basename "$source" .cu)${1+-$$}
trap '[ $# = 0 ] || rm -f "$program"' EXIT
"$heddle" cc -O2 "$source" -o "$program"
"$heddle" run "$program" "$@"
