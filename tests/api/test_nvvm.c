/*
 * libnvvm: every function and result; both dialects become PTX that loads and runs; damaged input
 * is refused.
 */
#include <stdlib.h>

#include "api/driver/cuda_abi.h"
#include "nvvm.h"
#include "tap.h"

/* Typed pointers in every place, and what only looks like one: in a string, a name, a comment. */
static const char old_ir[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "target datalayout = \"e-p:64:64:64-i1:8:8\"\n"
    "; a comment: i8* stays\n"
    "%\"pair*\" = type { i32*, [2 x i8*]* }\n"
    "@\"tile*\" = internal addrspace(3) global [4 x i32] undef\n"
    "@text = private constant [4 x i8] c\"a*b\\00\"\n"
    "declare i32 @twice(i32)\n"
    "define i32 @apply(i32 (i32)* %f, i32 %x) {\n"
    "  %r = call i32 %f(i32 %x)\n"
    "  ret i32 %r\n"
    "}\n"
    "define void @run(i32* %out, %\"pair*\"* %unused) {\n"
    "  %t = getelementptr [4 x i32], [4 x i32] addrspace(3)* @\"tile*\", i32 0, i32 1\n"
    "  store i32 20, i32 addrspace(3)* %t\n"
    "  %v = load i32, i32 addrspace(3)* %t\n"
    "  %d = call i32 @apply(i32 (i32)* @twice, i32 %v)\n"
    "  %b = bitcast i32* %out to i8 * *\n"
    "  %p = bitcast i8** %b to i32*\n"
    "  store i32 %d, i32* %p\n"
    "  ret void\n"
    "}\n"
    "!nvvm.annotations = !{!0}\n"
    "!0 = !{void (i32*, %\"pair*\"*)* @run, !\"kernel\", i32 1}\n";
static const char lazy_ir[] = "define i32 @twice(i32 %x) { %y = add i32 %x, %x ret i32 %y }\n"
                              "define i32 @nobody(i32 %x) { ret i32 %x }\n";
/* Conversions of what an integer cannot hold: each gives 1 when it saturates. */
#define RZ(n, type, from, name, x, want)                                                           \
    "  %c" n " = call " type " @llvm.nvvm." name ".rz(" from " " x ")\n"                           \
    "  %e" n " = icmp eq " type " %c" n ", " want "\n  %z" n " = zext i1 %e" n " to i32\n"
static const char saturating_ir[] =
    "declare i32 @llvm.nvvm.d2i.rz(double)\ndeclare i32 @llvm.nvvm.d2ui.rz(double)\n"
    "declare i64 @llvm.nvvm.d2ll.rz(double)\ndeclare i64 @llvm.nvvm.d2ull.rz(double)\n"
    "declare i32 @llvm.nvvm.f2i.rz(float)\ndeclare i32 @llvm.nvvm.f2ui.rz(float)\n"
    "declare i64 @llvm.nvvm.f2ll.rz(float)\ndeclare i64 @llvm.nvvm.f2ull.rz(float)\n"
    "define void @saturate(i32* %out, i32* %unused) {\n" RZ("0", "i32", "double", "d2i", "1.0e30",
                                                            "2147483647") RZ("1", "i32", "double",
                                                                             "d2ui", "-5.0", "0")
        RZ("2", "i64", "double", "d2ll", "-1.0e30", "-9223372036854775808") RZ(
            "3", "i64", "double", "d2ull", "1.0e30",
            "-1") RZ("4", "i32", "float", "f2i", "0x7FF8000000000000",
                     "0") RZ("5", "i32", "float", "f2ui", "0x46293E5940000000",
                             "-1") RZ("6", "i64", "float", "f2ll", "0x46293E5940000000",
                                      "9223372036854775807")
            RZ("7", "i64", "float", "f2ull", "0xC6293E5940000000",
               "0") "  %s1 = add i32 %z0, %z1\n  %s2 = add i32 %s1, %z2\n  %s3 = add i32 %s2, %z3\n"
                    "  %s4 = add i32 %s3, %z4\n  %s5 = add i32 %s4, %z5\n  %s6 = add i32 %s5, %z6\n"
                    "  %s7 = add i32 %s6, %z7\n  store i32 %s7, i32* %out\n  ret void\n}\n"
                    "!nvvm.annotations = !{!0}\n"
                    "!0 = !{void (i32*, i32*)* @saturate, !\"kernel\", i32 1}\n";
static const char new_ir[] = "define void @k(ptr %p) { store i32 7, ptr %p ret void }\n"
                             "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n";

/*
 * Intrinsics with a mode. What they give thread 4 becomes digits: the product of the shuffles in
 * front, then matches (any, all of 64 and 32 bits) and votes (ballot, uni, any, all).
 */
static const char mode_ir[] =
    "declare {i32, i1} @llvm.nvvm.shfl.sync.i32(i32, i32, i32, i32, i32)\n"
    "declare {i32, i1} @llvm.nvvm.vote.sync(i32, i32, i1)\n"
    "declare {i32, i1} @llvm.nvvm.match.all.sync.i32(i32, i32)\n"
    "declare {i32, i1} @llvm.nvvm.match.all.sync.i64(i32, i64)\n"
    "declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "define void @modes(i32* %out, i32* %unused) {\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %last = icmp eq i32 %t, 31\n"
    "  %s0 = call {i32, i1} @llvm.nvvm.shfl.sync.i32(i32 -1, i32 0, i32 %t, i32 5, i32 31)\n"
    "  %s1 = call {i32, i1} @llvm.nvvm.shfl.sync.i32(i32 -1, i32 1, i32 %t, i32 2, i32 0)\n"
    "  %s2 = call {i32, i1} @llvm.nvvm.shfl.sync.i32(i32 -1, i32 2, i32 %t, i32 3, i32 31)\n"
    "  %s3 = call {i32, i1} @llvm.nvvm.shfl.sync.i32(i32 -1, i32 3, i32 %t, i32 7, i32 31)\n"
    "  %v0 = call {i32, i1} @llvm.nvvm.vote.sync(i32 -1, i32 0, i1 %last)\n"
    "  %v1 = call {i32, i1} @llvm.nvvm.vote.sync(i32 -1, i32 1, i1 %last)\n"
    "  %v2 = call {i32, i1} @llvm.nvvm.vote.sync(i32 -1, i32 2, i1 %last)\n"
    "  %v3 = call {i32, i1} @llvm.nvvm.vote.sync(i32 -1, i32 3, i1 %last)\n"
    "  %m0 = call {i32, i1} @llvm.nvvm.match.all.sync.i32(i32 -1, i32 9)\n"
    "  %m1 = call {i32, i1} @llvm.nvvm.match.all.sync.i64(i32 -1, i64 9)\n"
    "  %m2 = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %t)\n"
    "  %b0 = extractvalue {i32, i1} %v0, 1\n  %b1 = extractvalue {i32, i1} %v1, 1\n"
    "  %b2 = extractvalue {i32, i1} %v2, 1\n  %x3 = extractvalue {i32, i1} %v3, 0\n"
    "  %c0 = extractvalue {i32, i1} %m0, 1\n  %c1 = extractvalue {i32, i1} %m1, 1\n"
    "  %x0 = extractvalue {i32, i1} %s0, 0\n  %x1 = extractvalue {i32, i1} %s1, 0\n"
    "  %x2 = extractvalue {i32, i1} %s2, 0\n  %x4 = extractvalue {i32, i1} %s3, 0\n"
    "  %z0 = zext i1 %b0 to i32\n  %z1 = zext i1 %b1 to i32\n  %z2 = zext i1 %b2 to i32\n"
    "  %z3 = zext i1 %c0 to i32\n  %z4 = zext i1 %c1 to i32\n"
    "  %h = lshr i32 %x3, 31\n  %n = lshr i32 %m2, %t\n"
    "  %k1 = mul i32 %z1, 10\n  %k2 = mul i32 %z2, 100\n  %k3 = mul i32 %h, 1000\n"
    "  %k4 = mul i32 %z3, 10000\n  %k5 = mul i32 %z4, 100000\n  %k6 = mul i32 %n, 1000000\n"
    "  %p0 = mul i32 %x0, 10000000\n"                      /* 5 */
    "  %p1 = mul i32 %x1, %x2\n  %p2 = mul i32 %p1, %x4\n" /* thread 4: 2 * 7 * 3 */
    "  %p3 = mul i32 %p2, 2000000\n"
    "  %a1 = add i32 %z0, %k1\n  %a2 = add i32 %a1, %k2\n  %a3 = add i32 %a2, %k3\n"
    "  %a4 = add i32 %a3, %k4\n  %a5 = add i32 %a4, %k5\n  %a6 = add i32 %a5, %k6\n"
    "  %a7 = add i32 %a6, %p0\n  %a8 = add i32 %a7, %p3\n"
    "  %mine = icmp eq i32 %t, 4\n  br i1 %mine, label %write, label %end\n"
    "write:\n  store i32 %a8, i32* %out\n  br label %end\nend:\n  ret void\n}\n"
    "!nvvm.annotations = !{!0}\n"
    "!0 = !{void (i32*, i32*)* @modes, !\"kernel\", i32 1}\n";

/* What the options for single precision decide. */
static const char float_ir[] =
    "declare float @llvm.nvvm.sqrt.f(float)\n"
    "define float @outside(float %x, float %y) unnamed_addr #0 {\n"
    "  %p = fmul float %x, %y\n  %s = fadd float %p, %y\n  ret float %s\n}\n"
    "define void @f(float* %\"a (\", float* %b) {\n"
    "  %x = load float, float* %\"a (\"\n  %y = load float, float* %b\n"
    "  %q = fdiv float %x, %y\n  %r = call float @llvm.nvvm.sqrt.f(float %q)\n"
    "  %s = call float @outside(float %r, float %y)\n  store float %s, float* %b\n"
    "  ret void\n}\nattributes #0 = { noinline }\n"
    "!nvvm.annotations = !{!0}\n!0 = !{void (float*, float*)* @f, !\"kernel\", i32 1}\n";

static nvvmProgram program(const char *ir, const char *lazy)
{
    nvvmProgram p = NULL;
    eq_u64(nvvmCreateProgram(&p), NVVM_SUCCESS, "create");
    if (ir)
        eq_u64(nvvmAddModuleToProgram(p, ir, strlen(ir), "one"), NVVM_SUCCESS, "add");
    if (lazy)
        eq_u64(nvvmLazyAddModuleToProgram(p, lazy, strlen(lazy) + 1, NULL), NVVM_SUCCESS, "lazy");
    return p;
}

static char *log_of(nvvmProgram p)
{
    size_t size = 0;
    eq_u64(nvvmGetProgramLogSize(p, &size), NVVM_SUCCESS, "size of the log");
    char *log = calloc(1, size + 1);
    eq_u64(nvvmGetProgramLog(p, log), NVVM_SUCCESS, "log");
    eq_u64(strlen(log) + 1, size, "the size counts the NUL");
    return log;
}

static char *result_of(nvvmProgram p)
{
    size_t size = 0;
    eq_u64(nvvmGetCompiledResultSize(p, &size), NVVM_SUCCESS, "size of the result");
    char *result = calloc(1, size + 1);
    eq_u64(nvvmGetCompiledResult(p, result), NVVM_SUCCESS, "result");
    return result;
}

static void runs(const void *image, const char *name, unsigned threads, int want)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr out;
    int got = 0;
    void *arguments[] = {&out, &out};

    (void)cuMemAlloc_v2(&out, 16);
    eq_u64(cuModuleLoadData(&module, image), CUDA_SUCCESS, "the result loads");
    eq_u64(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS, "it has %s", name);
    eq_u64(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL), CUDA_SUCCESS,
           "runs");
    eq_u64(cuMemcpyDtoH_v2(&got, out, 4), CUDA_SUCCESS, "copied back");
    eq_u64(got, want, "the value is right");
    (void)cuMemFree_v2(out);
}

static void compiles(const char *arch, bool lto, const char *ir, const char *lazy, const char *name,
                     int want)
{
    const char *options[] = {arch,           "-opt=3", "-ftz=1", "-prec-div=0",
                             "-prec-sqrt=0", "-fma=1", "-g",     "-gen-lto"};
    nvvmProgram p = program(ir, lazy);

    eq_u64(nvvmVerifyProgram(p, 1, options), NVVM_SUCCESS, "%s: verified", arch);
    eq_u64(nvvmCompileProgram(p, lto ? 8 : 7, options), NVVM_SUCCESS, "compiled");
    char *log = log_of(p);
    eq_str(log, "", "nothing to say");
    free(log);
    char *result = result_of(p);
    if (!lto) {
        char target[32];
        (void)snprintf(target, sizeof(target), ".target sm_%s", strrchr(arch, '_') + 1);
        ok(strstr(result, target), "PTX for %s", arch);
        ok(!strstr(result, "nobody"), "of a lazy module only what is needed");
    }
    runs(result, name, ir == mode_ir ? 32 : 1, want);
    free(result);
    eq_u64(nvvmDestroyProgram(&p), NVVM_SUCCESS, "destroy");
    ok(!p, "the handle is gone");
}

/* The PTX of float_ir with one option, or none, has the word. */
static void has(const char *option, const char *word)
{
    nvvmProgram p = program(float_ir, NULL);

    eq_u64(nvvmCompileProgram(p, option ? 1 : 0, &option), NVVM_SUCCESS, "compiled");
    char *result = result_of(p);
    if (!ok(strstr(result, word), "%s: %s", option ? option : "by default", word))
        diag("%s", result);
    free(result);
    eq_u64(nvvmDestroyProgram(&p), NVVM_SUCCESS, "destroy");
}

static void test_floats(void)
{
    has(NULL, "div.rn.f32");
    has(NULL, "sqrt.rn.f32");
    has(NULL, "fma.rn.f32");
    has("-prec-div=0", "div.full.f32");
    has("-fma=0", "mul.rn.f32");
    has("-ftz=1", "div.rn.ftz.f32");
    has("-ftz=1", "sqrt.rn.ftz.f32");
    has("-ftz=1", "fma.rn.ftz.f32");
}

/* Both branches ask which threads are active: each for itself, as libNVVM leaves it. */
static void test_assembly(void)
{
    static const char ir[] = "target triple = \"nvptx64-nvidia-cuda\"\n"
                             "define void @k(i32* %out, i32 %x) {\n"
                             "  %c = icmp eq i32 %x, 0\n"
                             "  br i1 %c, label %a, label %b\n"
                             "a:\n"
                             "  %p = call i32 asm sideeffect \"activemask.b32 $0;\", \"=r\"() #0\n"
                             "  store i32 %p, i32* %out\n  ret void\n"
                             "b:\n"
                             "  %q = call i32 asm sideeffect \"activemask.b32 $0;\", \"=r\"()\n"
                             "  store i32 %q, i32* %out\n  ret void\n}\n"
                             "attributes #0 = { nounwind }\n"
                             "!nvvm.annotations = !{!0}\n"
                             "!0 = !{void (i32*, i32)* @k, !\"kernel\", i32 1}\n";
    nvvmProgram p = program(ir, NULL);

    eq_u64(nvvmCompileProgram(p, 0, NULL), NVVM_SUCCESS, "compiled");
    char *result = result_of(p);
    const char *one = strstr(result, "activemask");
    ok(one && strstr(one + 1, "activemask"), "assembly stays in its branch");
    free(result);
    eq_u64(nvvmDestroyProgram(&p), NVVM_SUCCESS, "destroy");
}

static void refused(const char *ir, const char *option, nvvmResult want, const char *text)
{
    nvvmProgram p = program(ir, NULL);
    size_t size;

    eq_u64(nvvmCompileProgram(p, option ? 1 : 0, &option), want, "refused");
    char *log = log_of(p);
    if (!ok(strstr(log, text), "the log says %s", text))
        diag("%s", log);
    free(log);
    eq_u64(nvvmGetCompiledResultSize(p, &size), NVVM_SUCCESS, "no result yet");
    eq_u64(size, 1, "is an empty text");
    char none = 'x';
    eq_u64(nvvmGetCompiledResult(p, &none), NVVM_SUCCESS, "which can be had");
    eq_u64((unsigned char)none, 0, "with its end");
    eq_u64(nvvmDestroyProgram(&p), NVVM_SUCCESS, "destroy");
}

/* The log says it and nothing else, not even the end of a line. */
static void refused_alone(const char *option, const char *text)
{
    nvvmProgram p = program(new_ir, NULL);

    eq_u64(nvvmCompileProgram(p, 1, &option), NVVM_ERROR_INVALID_OPTION, "refused");
    char *log = log_of(p);
    eq_str(log, text, "in these words");
    free(log);
    eq_u64(nvvmDestroyProgram(&p), NVVM_SUCCESS, "destroy");
}

static void test_bad(void)
{
    nvvmProgram none = NULL, p = program(NULL, NULL);
    int a, b, c, d;
    char bytes[64] = "BC\xc0\xde";

    refused("define void @k( {", NULL, NVVM_ERROR_COMPILATION, "one:1:");
    refused("* * ] ) \"", NULL, NVVM_ERROR_COMPILATION, "error");
    refused(new_ir, "-arch=sm_90", NVVM_ERROR_INVALID_OPTION, "-arch=sm_90");
    refused(new_ir, "-arch=compute_9000", NVVM_ERROR_INVALID_OPTION, "compute_9000");
    refused(new_ir, "-opt=2", NVVM_ERROR_INVALID_OPTION, "-opt=2");
    refused(new_ir, "-ftz=x", NVVM_ERROR_INVALID_OPTION, "-ftz=x");
    refused(new_ir, "-frob", NVVM_ERROR_INVALID_OPTION, "-frob");
    refused_alone("-frob", "libnvvm : error: -frob is an unsupported option");
    eq_u64(nvvmCompileProgram(p, 0, NULL), NVVM_ERROR_NO_MODULE_IN_PROGRAM, "no module");
    eq_u64(nvvmVerifyProgram(p, 0, NULL), NVVM_ERROR_NO_MODULE_IN_PROGRAM, "no module");
    eq_u64(nvvmAddModuleToProgram(p, NULL, 1, NULL), NVVM_ERROR_INVALID_INPUT, "no text");
    eq_u64(nvvmAddModuleToProgram(p, "", 0, NULL), NVVM_ERROR_INVALID_INPUT, "empty");
    eq_u64(nvvmAddModuleToProgram(p, bytes, sizeof(bytes), NULL), NVVM_SUCCESS, "bad bitcode");
    eq_u64(nvvmVerifyProgram(p, 0, NULL), NVVM_ERROR_INVALID_IR, "is found");
    eq_u64(nvvmDestroyProgram(&p), NVVM_SUCCESS, "destroy");
    eq_u64(nvvmDestroyProgram(&none), NVVM_ERROR_INVALID_PROGRAM, "no program");
    eq_u64(nvvmCreateProgram(NULL), NVVM_ERROR_INVALID_PROGRAM, "nowhere to put it");
    eq_u64(nvvmCompileProgram(NULL, 0, NULL), NVVM_ERROR_INVALID_PROGRAM, "no program");
    eq_u64(nvvmLLVMVersion("compute_90", &a), NVVM_SUCCESS, "LLVM");
    eq_u64(a, 7, "of the old dialect");
    eq_u64(nvvmLLVMVersion("sm_90", &a), NVVM_ERROR_INVALID_INPUT, "no architecture");
    eq_u64(nvvmVersion(&a, &b), NVVM_SUCCESS, "version");
    eq_u64(nvvmVersion(&a, NULL), NVVM_ERROR_INVALID_INPUT, "nowhere to put it");
    eq_u64(nvvmIRVersion(&a, &b, &c, &d), NVVM_SUCCESS, "IR version");
    ok(a == 2 && b == 0 && c == 3 && d == 1, "2.0 and 3.1");
    eq_str(nvvmGetErrorString(NVVM_ERROR_INVALID_IR), "NVVM_ERROR_INVALID_IR", "text");
    eq_str(nvvmGetErrorString((nvvmResult)99), "NVVM_ERROR unknown", "text of none");
}

int main(void)
{
    CUcontext context;

    (void)cuInit(0);
    (void)cuDevicePrimaryCtxRetain(&context, 0);
    (void)cuCtxSetCurrent(context);
    compiles("-arch=compute_75", false, old_ir, lazy_ir, "run", 40);
    compiles("-arch=compute_90a", false, old_ir, lazy_ir, "run", 40);
    compiles("-arch=compute_120", true, old_ir, lazy_ir, "run", 40);
    compiles("-arch=compute_120a", false, new_ir, NULL, "k", 7);
    compiles("-arch=compute_75", false, mode_ir, NULL, "modes", 50000000 + 84000000 + 1111010);
    compiles("-arch=compute_75", true, mode_ir, NULL, "modes", 50000000 + 84000000 + 1111010);
    compiles("-arch=compute_75", false, saturating_ir, NULL, "saturate", 8);
    test_floats();
    test_assembly();
    test_bad();
    return done();
}
