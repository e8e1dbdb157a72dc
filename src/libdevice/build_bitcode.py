#!/usr/bin/env python3
"""Builds heddle-libdevice.bc: the C sources of the device maths library as one LLVM bitcode module.

    build_bitcode.py CLANG LLVM_LINK OUTPUT SOURCE...

The functions must be inlinable into code for any sm_XX, so the attributes that pin a target or a frame
layout are taken out; the compiler that links the module in gives its own.
"""
import os
import re
import subprocess
import sys
import tempfile

PINNED = re.compile(r' "(?:target-cpu|target-features|frame-pointer|stack-protector-buffer-size|'
                    r'no-trapping-math|no-builtins)"(?:="[^"]*")?')
REFLECT = """@ld_ftz = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\\\\00"
declare i32 @__nvvm_reflect(ptr)"""
FLAGS = ["--target=nvptx64-nvidia-cuda", "-march=sm_50", "-Xclang", "-target-feature", "-Xclang", "+ptx63",
         "-nogpulib", "-nostdinc", "-fno-builtin", "-fno-math-errno", "-ffp-contract=off", "-O2", "-Wall", "-Wextra",
         "-Werror", "-S", "-emit-llvm", "-Xclang", "-no-enable-noundef-analysis"]  # lanes may pass what they never set


def main():
    clang, link, output, *sources = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        modules = []
        for source in sources:
            module = os.path.join(work, os.path.basename(source) + ".ll")
            subprocess.run([clang, *FLAGS, source, "-o", module], check=True)
            with open(module, encoding="utf-8") as f:
                text = PINNED.sub("", f.read()).replace("= { }", "= { nounwind }")
            if "@ld_reflect_ftz()" in text:
                text = re.sub(r"^declare (?:dso_local )?i32 @ld_reflect_ftz\(\)", REFLECT, text, flags=re.M)
                text = text.replace("@ld_reflect_ftz()", "@__nvvm_reflect(ptr @ld_ftz)")
            text = re.sub(r"^!llvm\.ident = .*\n", "", text, flags=re.M)
            with open(module, "w", encoding="utf-8") as f:
                f.write(text)
            modules.append(module)
        subprocess.run([link, *modules, "-o", output], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
