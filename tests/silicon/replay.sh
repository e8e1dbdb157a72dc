#!/bin/sh
# Runs the rows of a recording on one of our devices and compares, as TAP:
#   replay.sh HEDDLE VECTORS_PROGRAM RECORDED DEVICE
set -u
out=$(mktemp)
trap 'rm -f "$out"' EXIT
HEDDLE_DEVICE=$4 "$1" run "$2" >"$out"
grep -q '^@' "$out" || { echo "1..1"; echo "not ok 1 - the rows run"; tail -3 "$out"; exit 1; }
exec "$(dirname "$0")/compare.py" --tap "$3" "$out"
