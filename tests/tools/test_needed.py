#!/usr/bin/env python3
"""A library that is linked with the vendor's, by an rpath as wheels have it, gets Heddle's of that name: test_needed.py HEDDLE CC"""
import os
import subprocess
import sys
import tempfile

from support import Tap, write

heddle, cc = sys.argv[1:3]
tap = Tap()


def library(folder, name, source, *flags):
    path = os.path.join(folder, name)
    subprocess.run([cc, "-w", "-shared", "-fPIC", write(path + ".c", source), "-o", path, f"-Wl,-soname,{name}", *flags], check=True)
    return path


with tempfile.TemporaryDirectory() as folder:
    vendor = library(folder, "libnvrtc.so.13", "int nvrtcVersion(int *major, int *minor) { return 77; }\n")
    user = library(folder, "libuser.so", "int nvrtcVersion(int *, int *);\nint answer(void) { int a, b; return nvrtcVersion(&a, &b); }\n",
                   vendor, f"-Wl,--disable-new-dtags,-rpath,{folder}")
    program = os.path.join(folder, "program")
    subprocess.run([cc, "-w", "-x", "c", write(program + ".c", "#include <dlfcn.h>\n#include <stdio.h>\nint main(int n, char **names) { void *user = dlopen(names[1], RTLD_NOW);\n"
                    'int (*answer)(void) = user ? dlsym(user, "answer") : 0; printf("%d", answer ? answer() : -1); return 0; }\n'), "-o", program], check=True)
    tap.eq(subprocess.run([program, user], text=True, capture_output=True, check=False).stdout, "77", "alone it gets the vendor's")
    done = subprocess.run([heddle, "run", program, user], text=True, capture_output=True, check=False)
    tap.eq((done.stdout, done.stderr), ("0", ""), "under `heddle run` ours")
tap.done()
