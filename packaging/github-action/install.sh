#!/bin/bash
# Installs Heddle's wheel into an environment of its own and tells the steps that follow:  install.sh
# From the action: HEDDLE_WHEEL, HEDDLE_VERSION, HEDDLE_REPOSITORY; from GitHub: RUNNER_TEMP, GITHUB_PATH, GITHUB_OUTPUT.
set -euo pipefail

if [ "$(uname -sm)" != 'Linux x86_64' ]; then
    echo "::error::Heddle's wheel is for Linux on x86-64, this runner is $(uname -sm)" >&2
    exit 1
fi
wheel=$HEDDLE_WHEEL
if [ -z "$wheel" ]; then
    mkdir -p "$RUNNER_TEMP/heddle-wheel"
    # Without a tag it is the newest release.
    gh release download ${HEDDLE_VERSION:+"v$HEDDLE_VERSION"} --repo "$HEDDLE_REPOSITORY" --clobber \
        --pattern 'heddle-*-py3-none-manylinux*_x86_64.whl' --dir "$RUNNER_TEMP/heddle-wheel"
    wheel=$(ls "$RUNNER_TEMP"/heddle-wheel/*.whl)
fi
# Its own environment: the job's Python may be any, or come later.
python3 -m venv "$RUNNER_TEMP/heddle"
"$RUNNER_TEMP/heddle/bin/pip" install --quiet --disable-pip-version-check --no-deps "$wheel"
# Only these commands: the environment's python must not hide the job's.
mkdir -p "$RUNNER_TEMP/heddle/path"
ln -sf ../bin/heddle ../bin/heddle-nvcc "$RUNNER_TEMP/heddle/path"
echo "$RUNNER_TEMP/heddle/path" >>"$GITHUB_PATH"
"$RUNNER_TEMP/heddle/bin/python" -c 'import heddle; print(f"version={heddle.__version__}\nprefix={heddle.prefix()}")' >>"$GITHUB_OUTPUT"
"$RUNNER_TEMP/heddle/bin/heddle" info
