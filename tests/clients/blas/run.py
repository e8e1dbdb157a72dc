#!/usr/bin/env python3
"""netlib's test programs of BLAS (xBLAT1, 2 and 3), each routine a call of cuBLAS's.

    tests/clients/blas/run.py LAPACK [--build FOLDER]

LAPACK is a checkout of github.com/Reference-LAPACK/lapack (3.9.1: later ones test norms of vectors with negative
increments, which are 0 in cuBLAS's documentation, gemmtr and axpby), of which BLAS/TESTING is compiled; it needs gfortran.
The tests of error exits are left out: cuBLAS returns a status where BLAS calls xerbla(). Prints a line for each
program; exit status 1 when one does not pass."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import gen_cublas  # noqa: E402

HEAD = """#include <complex.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
static cublasHandle_t handle;
__attribute__((constructor)) static void start(void)
{
    if (cublasCreate(&handle))
        abort();
}
static void check(int status, const char *name)
{
    if (status || cudaDeviceSynchronize()) {
        printf("%s: status %d\\n", name, status);
        exit(1);
    }
}
static cublasOperation_t op(char c) { return c == 'N' || c == 'n' ? CUBLAS_OP_N : c == 'T' || c == 't' ? CUBLAS_OP_T : CUBLAS_OP_C; }
static cublasSideMode_t side(char c) { return c == 'L' || c == 'l' ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT; }
static cublasFillMode_t fill(char c) { return c == 'L' || c == 'l' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER; }
static cublasDiagType_t diag(char c) { return c == 'U' || c == 'u' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT; }
"""
# Where BLAS returns what cuBLAS stores, and gemm, which the table does not describe by arguments.
FUNCTIONS = """
#define RESULT(R, name, T, call) R name(int *n, T *x, int *incx) { R r; check(call(handle, *n, x, *incx, &r), #name); return r; }
RESULT(float, snrm2_, float, cublasSnrm2) RESULT(double, dnrm2_, double, cublasDnrm2)
RESULT(float, scnrm2_, cuComplex, cublasScnrm2) RESULT(double, dznrm2_, cuDoubleComplex, cublasDznrm2)
RESULT(float, sasum_, float, cublasSasum) RESULT(double, dasum_, double, cublasDasum)
RESULT(float, scasum_, cuComplex, cublasScasum) RESULT(double, dzasum_, cuDoubleComplex, cublasDzasum)
RESULT(int, isamax_, float, cublasIsamax) RESULT(int, idamax_, double, cublasIdamax)
RESULT(int, icamax_, cuComplex, cublasIcamax) RESULT(int, izamax_, cuDoubleComplex, cublasIzamax)
#define DOT(R, name, T, call) R name(int *n, T *x, int *incx, T *y, int *incy) { R r; check(call(handle, *n, x, *incx, y, *incy, (void *)&r), #name); return r; }
DOT(float, sdot_, float, cublasSdot) DOT(double, ddot_, double, cublasDdot)
DOT(float complex, cdotu_, cuComplex, cublasCdotu) DOT(float complex, cdotc_, cuComplex, cublasCdotc)
DOT(double complex, zdotu_, cuDoubleComplex, cublasZdotu) DOT(double complex, zdotc_, cuDoubleComplex, cublasZdotc)
/* In cuBLAS there is none that sums floats as doubles. */
static double sum(int n, const float *x, int incx, const float *y, int incy)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += (double)x[incx < 0 ? (i - n + 1) * incx : i * incx] * y[incy < 0 ? (i - n + 1) * incy : i * incy];
    return s;
}
double dsdot_(int *n, float *x, int *incx, float *y, int *incy) { return sum(*n, x, *incx, y, *incy); }
float sdsdot_(int *n, float *b, float *x, int *incx, float *y, int *incy) { return (float)(sum(*n, x, *incx, y, *incy) + *b); }
#define GEMM(name, T, call) void name(char *ta, char *tb, int *m, int *n, int *k, T *alpha, T *a, int *lda, T *b, int *ldb, T *beta, T *c, int *ldc) \\
    { check(call(handle, op(*ta), op(*tb), *m, *n, *k, alpha, a, *lda, b, *ldb, beta, c, *ldc), #name); }
GEMM(sgemm_, float, cublasSgemm) GEMM(dgemm_, double, cublasDgemm) GEMM(cgemm_, cuComplex, cublasCgemm) GEMM(zgemm_, cuDoubleComplex, cublasZgemm)
/* C = alpha A B in place of B: cuBLAS has a matrix for the result. */
#define TRMM(name, T, call) void name(char *s, char *u, char *t, char *d, int *m, int *n, T *alpha, T *a, int *lda, T *b, int *ldb) \\
    { check(call(handle, side(*s), fill(*u), op(*t), diag(*d), *m, *n, alpha, a, *lda, b, *ldb, b, *ldb), #name); }
TRMM(strmm_, float, cublasStrmm) TRMM(dtrmm_, double, cublasDtrmm) TRMM(ctrmm_, cuComplex, cublasCtrmm) TRMM(ztrmm_, cuDoubleComplex, cublasZtrmm)
"""
LETTERS = {"op": "op", "op_t": "op", "op_c": "op", "side": "side", "fill": "fill", "diag": "diag"}


def shim():
    """BLAS's routines as calls of cuBLAS's: the arguments of both are the same, in the same order."""
    text = [HEAD, FUNCTIONS]
    for r in gen_cublas.routines():
        if r.kind != "DIRECT":
            continue
        parameters, arguments = [], []
        for kind, which, words in r.args():
            low, type_ = kind.lower(), r.type_of(which, "int")
            if low == "size":
                parameters.append(f"int *{words[0]}")
                arguments.append(f"*{words[0]}")
            elif low in LETTERS:
                parameters.append(f"char *{words[0]}_")
                arguments.append(f"{LETTERS[low]}(*{words[0]}_)")
            else:
                parameters.append(f"{type_} *{words[0]}")
                arguments.append(words[0])
                if len(words) > 1 and low in ("vec", "vec1", "mat"):
                    parameters.append(f"int *{words[1]}")
                    arguments.append(f"*{words[1]}")
        text.append(f'void {r.fortran}_({", ".join(parameters)})\n{{ check({r.symbol}(handle, {", ".join(arguments)}), "{r.fortran}"); }}')
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lapack")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    args = parser.parse_args()
    tests = os.path.join(args.lapack, "BLAS/TESTING")
    api = os.path.join(os.path.abspath(args.build), "src/api")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "shim.c")
        gen_cublas.write(source, shim())
        folders = [os.path.join(api, name) for name in ("cublas", "runtime", "driver")]
        for program in [f"{letter}blat{level}" for level in "123" for letter in "sdcz"]:
            exe = os.path.join(folder, program)
            subprocess.run(["gfortran-12", "-w", "-O1", "-std=legacy", os.path.join(tests, f"{program}.f"), "-x", "c", source,
                            "-I" + os.path.join(ROOT, "include/cuda"), "-o", exe, *("-L" + f for f in folders), "-l:libcublas.so.13", "-l:libcudart.so.13",
                            *("-Wl,-rpath," + f for f in folders), "-Wl,-rpath-link," + folders[2]], check=True)
            text = ""
            if program[-1] != "1":
                with open(os.path.join(tests, f"{program}.in"), encoding="utf-8") as file:
                    text = re.sub(r"^T( +LOGICAL FLAG, T TO TEST ERROR EXITS)", r"F\1", file.read(), flags=re.M)
            done = subprocess.run([exe], input=text, capture_output=True, text=True, cwd=folder, check=False)
            out = done.stdout
            for name in os.listdir(folder):
                if name.lower().endswith((".out", ".summ")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        out += file.read()
                    os.remove(os.path.join(folder, name))
            passed = len(re.findall(r"PASSED THE (?:TESTS OF )?(?:COMPUTATIONAL|ROW-MAJOR|COLUMN)|----- PASS -----", out, re.I))
            failed = len(re.findall(r"FAIL", out))
            print(f"{program}: {passed} routines right, {failed} wrong, exit status {done.returncode}")
            if failed or done.returncode or not passed:
                wrong += 1
                print(out[-3000:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
