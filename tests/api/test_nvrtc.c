/* libnvrtc: programs, headers, options, names, logs; what it makes is loaded and run. */
#include "api/driver/cuda_abi.h"
#include "nvrtc.h"
#include "tap.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define success(call, ...) eq_u64((call), 0, __VA_ARGS__)

static nvrtcProgram program_of(const char *source)
{
    nvrtcProgram p = NULL;

    success(nvrtcCreateProgram(&p, source, "prog.cu", 0, NULL, NULL), "create");
    return p;
}

static char *log_of(nvrtcProgram p)
{
    size_t size_B = 0;

    success(nvrtcGetProgramLogSize(p, &size_B), "size of the log");
    char *log = calloc(1, size_B + 1);
    success(nvrtcGetProgramLog(p, log), "log");
    eq_u64(strlen(log) + 1, size_B, "counted with its end");
    return log;
}

static void log_has(nvrtcProgram p, const char *text)
{
    char *log = log_of(p);

    if (!ok(strstr(log, text) != NULL, "the log says: %s", text))
        diag("%s", log);
    free(log);
}

static char *ptx_of(nvrtcProgram p)
{
    size_t size_B = 0;

    success(nvrtcGetPTXSize(p, &size_B), "size of the PTX");
    char *ptx = calloc(1, size_B + 1);
    success(nvrtcGetPTX(p, ptx), "PTX");
    return ptx;
}

static void *cubin_of(nvrtcProgram p)
{
    size_t size_B = 0;

    success(nvrtcGetCUBINSize(p, &size_B), "size of the image");
    ok(size_B > 64, "there is one");
    void *image = malloc(size_B);
    success(nvrtcGetCUBIN(p, image), "image");
    return image;
}

/* Runs kernel(int *out) of an image with one thread; what it stored. */
static int run(const void *image, const char *kernel)
{
    CUmodule module;
    CUfunction func;
    CUdeviceptr out;
    int value = -1;
    void *params[] = {&out};

    success(cuModuleLoadData(&module, image), "load");
    success(cuModuleGetFunction(&func, module, kernel), "function %s", kernel);
    success(cuMemAlloc_v2(&out, sizeof(value)), "memory");
    success(cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
    success(cuMemcpyDtoH_v2(&value, out, sizeof(value)), "result");
    success(cuMemFree_v2(out), "free");
    success(cuModuleUnload(module), "unload");
    return value;
}

static void test_architectures(void)
{
    static const struct {
        const char *option, *target;
        int arch;
    } cases[] = {
        {"-arch=sm_75", ".target sm_75", 750},
        {"-arch=sm_80", ".target sm_80", 800},
        {"-arch=sm_90a", ".target sm_90a", 900},
        {"--gpu-architecture=sm_120", ".target sm_120", 1200},
        {"-arch=sm_120a", ".target sm_120a", 1200},
        {"-arch=sm_100f", ".target sm_100f", 1000},
    };
    static const char source[] =
        "extern \"C\" __global__ void k(int *out) { *out = __CUDA_ARCH__; }";

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nvrtcProgram p = program_of(source);

        success(nvrtcCompileProgram(p, 1, &cases[i].option), "%s", cases[i].option);
        char *ptx = ptx_of(p);
        ok(strstr(ptx, cases[i].target) != NULL, "%s", cases[i].target);
        /* The device is a 12.0: what is specific to others is refused when it is loaded. */
        if (!strpbrk(strchr(cases[i].target, '_'), "af") || cases[i].arch == 1200) {
            void *image = cubin_of(p);
            eq_u64((unsigned)run(image, "k"), (unsigned)cases[i].arch, "__CUDA_ARCH__");
            free(image);
        }
        free(ptx);
        success(nvrtcDestroyProgram(&p), "destroy");
        ok(!p, "the handle is gone");
    }
}

static void test_names_and_headers(void)
{
    static const char *const headers[] = {"#define THREE 3\n"}, *const names[] = {"sub/three.h"};
    static const char *const expressions[] = {"k<int, 4>", "&k<int, 5>", "&ns::limit",
                                              "(hidden<2>)"};
    static const char *const options[] = {"--std=c++17", "-DFOUR=4",        "--define-macro",
                                          "FIVE=5",      "-default-device", "-arch=sm_120"};
    static const char source[] =
        "#include \"sub/three.h\"\n"
        "#include <sub/three.h>\n"
        "namespace ns { __constant__ int limit = 7; }\n"
        "int plain(int x) { return x + FOUR; }\n"
        "template <class T, int N> __global__ void k(T *out)\n"
        "{ assert(N > 3); *out = plain(N) + THREE * 10 + FIVE * 100 + ns::limit * 1000; }\n"
        "template <int N> static __global__ void hidden(int *out) { *out = N; }\n";
    nvrtcProgram p = NULL;
    const char *name[4];

    success(nvrtcCreateProgram(&p, source, NULL, 1, headers, names), "create");
    for (size_t i = 0; i < 4; i++)
        success(nvrtcAddNameExpression(p, expressions[i]), "%s", expressions[i]);
    eq_u64(nvrtcGetLoweredName(p, expressions[0], &name[0]),
           NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, "not before it is compiled");
    if (!success(nvrtcCompileProgram(p, 6, options), "compile"))
        diag("%s", log_of(p));
    for (size_t i = 0; i < 4; i++)
        success(nvrtcGetLoweredName(p, expressions[i], &name[i]), "%s", expressions[i]);
    eq_str(name[0], "_Z1kIiLi4EEvPT_", "mangled as the ABI has it");
    eq_str(name[2], "_ZN2ns5limitE", "a variable");
    void *image = cubin_of(p);
    eq_u64((unsigned)run(image, name[0]), 7538, "the first kernel");
    eq_u64((unsigned)run(image, name[1]), 7539, "the second");
    eq_u64((unsigned)run(image, name[3]), 2, "a static one");
    char *ptx = ptx_of(p);
    ok(!strstr(ptx, "heddle"), "no name of ours is left in the PTX");
    eq_u64(nvrtcGetLoweredName(p, "other", &name[0]), NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
           "a name that was not added");
    eq_u64(nvrtcAddNameExpression(p, "other"), NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
           "too late");
    free(ptx);
    free(image);
    success(nvrtcDestroyProgram(&p), "destroy");
}

/* Macros of programs reach the program, not the headers that stand in front of it. */
static void test_macros(void)
{
    static const char *const options[] = {"-arch=sm_120", "-DN=3",          "-DT=int",   "-DHD=5",
                                          "-DNDEBUG",     "-DSUM(a,b)=a+b", "-D",        "WITH=1",
                                          "-UWITH",       "-DGroup=7",      "-include=", "-DOp=9"};
    char included[] = "/tmp/nvrtc-include-XXXXXX", word[64];
    const char *words[HD_COUNT_OF(options)];
    nvrtcProgram p =
        program_of("#include <cuda_fp16.h>\n"
                   "#include <cooperative_groups.h>\n"
                   "#ifdef WITH\n#error it was undefined\n#endif\n"
                   "extern \"C\" __global__ void k(T *out)\n"
                   "{ assert(false); *out = SUM(N, HD) * 100 + Group + Op + MORE; }\n");
    int fd = mkstemp(included);

    if (fd < 0 || write(fd, "#define MORE (1000 * N)\n", 24) != 24)
        abort();
    close(fd);
    memcpy(words, options, sizeof(words));
    snprintf(word, sizeof(word), "-include=%s", included);
    words[10] = word;
    if (!success(nvrtcCompileProgram(p, (int)HD_COUNT_OF(words), words), "compile"))
        diag("%s", log_of(p));
    void *image = cubin_of(p);
    eq_u64((unsigned)run(image, "k"), 3 + 500 + 16 + 3000, "what it computes with them");
    free(image);
    success(nvrtcDestroyProgram(&p), "destroy");
    p = program_of("extern \"C\" __global__ void k() { }");
    success(!nvrtcCompileProgram(p, 1, (const char *const[]){"-D1=2"}), "a name that is none");
    log_has(p, "command line(1)");
    success(nvrtcDestroyProgram(&p), "destroy");
    unlink(included);
}

/* What libraries for NVRTC (libcu++, CUB) and a toolkit's headers beside a program lean on. */
static void test_language(void)
{
    static const char source[] =
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        "#if !defined(__CUDA_FP16_H__) || !defined(__CUDA_BF16_H__) || defined(INT_MAX) || "
        "defined(NAN)\n"
        "#error macros\n#endif\n"
        "#define CHAR_BIT 8\n"
        "template <class T> T of(...);\n" /* a variadic function that is never called */
        "template <class T> struct same { static constexpr bool value = sizeof(of<T>(1)) == "
        "sizeof(T); };\n"
        "__NV_SILENCE_DEPRECATION_BEGIN\n__device__ volatile __half "
        "kept;\n__NV_SILENCE_DEPRECATION_END\n"
        "__device__ volatile float zero;\n"
        "extern \"C\" __global__ void k(int *out)\n"
        "{ __nv_bfloat16 x = __float2bfloat16(zero), y = x + __float2bfloat16(1);\n"
        "  kept = __half_raw{0x4000}; __half two(kept);\n"
        "  *out = (y > x) + (x < y) + (int)__bfloat162float(__hmax(y, __hfma(y, y, y))) + "
        "(int)two\n"
        "         + same<int>::value + (cudaRoundZero == 1);\n"
        "  NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (*out += 10;), (*out += 100;))\n"
        "  NV_IF_ELSE_TARGET(NV_IS_HOST, (*out = 0;), NV_IF_ELSE_TARGET(NV_NO_TARGET, (*out = 1;), "
        "(int one = 1, no = 0; *out += one + no;)))\n"
        "  NV_IF_TARGET(NV_IS_HOST, (*out = 0;)) NV_IF_TARGET(NV_IS_DEVICE, (*out += 20;)) }\n"
        "#if __NV_BUILTIN_INITIALIZER_LIST != 1\n#error no list\n#endif\n";
    /* What clients name of the host's folders is not asked for the headers in front. */
    static const char *const options[] = {"-arch=sm_90", "-I/usr/include"}, *const newer[] = {
                                                                                "-arch=sm_120",
                                                                                "-ftz=true"};

    for (int i = 0; i < 2; i++) {
        nvrtcProgram p = program_of(source);

        if (!success(nvrtcCompileProgram(p, 2, i ? newer : options), "compile"))
            diag("%s", log_of(p));
        void *image = cubin_of(p);
        eq_u64((unsigned)run(image, "k"), 39, "its result");
        free(image);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

static size_t entries_of(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    for (struct dirent *d; dir && (d = readdir(dir));)
        n += strstr(d->d_name, ".code") != NULL;
    if (dir)
        closedir(dir);
    return n;
}

static void empty(const char *folder)
{
    DIR *dir = opendir(folder);
    char path[512];

    for (struct dirent *d; dir && (d = readdir(dir));) {
        snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
        (void)unlink(path);
    }
    if (dir)
        closedir(dir);
    (void)rmdir(folder);
}

/* The same words again: what stands in front is compiled ahead. Others are not mixed up. */
static void test_front(const char *cache)
{
    static const char source[] =
        "extern \"C\" __global__ void k(int *out) { assert(N > 0); *out = __CUDA_ARCH__ + N; }";
    static const struct {
        const char *arch, *macro;
        size_t kept; /* results, and of words: a note, then what is compiled ahead */
        int result;
    } rounds[] = {
        {"-arch=sm_90", "-DN=1", 2, 901},   {"-arch=sm_90", "-DN=2", 2, 902},
        {"-arch=sm_90", "-DN=1", 0, 901},   {"-arch=sm_120", "-DN=1", 2, 1201},
        {"-arch=sm_120", "-DN=3", 2, 1203}, {"-arch=sm_90", "-DN=4", 1, 904},
    };
    char *first = NULL;

    for (size_t i = 0; i < HD_COUNT_OF(rounds); i++) {
        const char *words[] = {rounds[i].arch, rounds[i].macro};
        size_t before = entries_of(cache);
        nvrtcProgram p = program_of(source);

        if (!success(nvrtcCompileProgram(p, 2, words), "round %zu", i))
            diag("%s", log_of(p));
        eq_u64(entries_of(cache) - before, rounds[i].kept, "what is kept");
        char *ptx = ptx_of(p);
        void *image = cubin_of(p);
        eq_u64((unsigned)run(image, "k"), (unsigned)rounds[i].result, "its result");
        if (i == 0)
            first = ptx;
        else if (i == 2)
            eq_str(ptx, first, "the PTX is the same as without");
        if (i)
            free(ptx);
        free(image);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
    free(first);
}

/* Programs of every standard, with what is compiled ahead and before there is any. */
static void test_standards(void)
{
    static const char *const standards[] = {"--std=c++11", "--std=c++14", "--std=c++17",
                                            "--std=c++20", "--std=c++23"};
    char source[256];

    for (unsigned i = 0; i < 3 * HD_COUNT_OF(standards); i++) {
        snprintf(source, sizeof(source),
                 "extern \"C\" __global__ void k(int *out)\n"
                 "{ *out = max(3, %u) + (int)min(2.5f, *(float *)out); }",
                 i);
        nvrtcProgram p = program_of(source);
        const char *standard = standards[i / 3];

        if (!success(nvrtcCompileProgram(p, 1, &standard), "%s, program %u", standard, i % 3))
            diag("%s", log_of(p));
        char *ptx = ptx_of(p);
        ok(strstr(ptx, ".entry k("), "it is compiled");
        free(ptx);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

/*
 * A compiler that takes nothing that was compiled ahead: programs compile without, errors are their
 * own, and what is of no use is not tried for ever.
 */
static void test_useless_front(const char *cache, const char *folder)
{
    static const char *const sources[] = {
        "extern \"C\" __global__ void k(int *out) { *out = 1; }",
        "extern \"C\" __global__ void k(int *out) { *out = 2; }",
        "extern \"C\" __global__ void k(int *out) { *out = 3; }",
        "extern \"C\" __global__ void k(int *out) { *out = four; }",
    };
    static const size_t kept[] = {2, 2, 1, 0}; /* a note or a front, and the result */
    char script[256], count[256];

    snprintf(script, sizeof(script), "%s-clang", folder);
    snprintf(count, sizeof(count), "%s-count", folder);
    FILE *f = fopen(script, "w");
    fprintf(f,
            "#!/bin/sh\ncase \" $* \" in *\" -include-pch \"*)\n"
            "echo x >>%s; echo 'fatal error: no such thing'; exit 1;; esac\n"
            "command -v clang++-19 >/dev/null && exec clang++-19 \"$@\"\n"
            "exec /usr/lib/llvm-19/bin/clang++ \"$@\"\n",
            count);
    fclose(f);
    (void)chmod(script, 0700);
    setenv("HEDDLE_CLANG", script, 1);
    for (size_t i = 0; i < HD_COUNT_OF(sources); i++) {
        nvrtcProgram p = program_of(sources[i]);
        size_t before = entries_of(cache);

        eq_u64(nvrtcCompileProgram(p, 0, NULL), i < 3 ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION,
               "program %zu", i);
        eq_u64(entries_of(cache) - before, kept[i], "what is kept");
        if (i == 3)
            log_has(p, "four");
        success(nvrtcDestroyProgram(&p), "destroy");
    }
    struct stat st = {.st_size = 0};
    (void)!stat(count, &st);
    eq_u64((unsigned)st.st_size, 2, "it was tried once");
    (void)unlink(script);
    (void)unlink(count);
}

/* Results are kept of programs that depend on nothing else: not of those that include files. */
static void test_kept_results(const char *cache)
{
    static const char *const bodies[] = {"1", "2"}, *const names[] = {"value.h"},
                             *const option[] = {"-arch=sm_75"};
    static const char including[] = "#include \"value.h\"\n"
                                    "extern \"C\" __global__ void k(int *out) { *out = VALUE; }";
    static const char plain[] = "#warning told\ntemplate <class... T> using first = "
                                "T...[0];\nextern \"C\" __global__ void k(int *out) { *out = 3; }";
    char header[64], *logs[2];

    for (int i = 0; i < 2; i++) {
        nvrtcProgram p = NULL;

        snprintf(header, sizeof(header), "#define VALUE %s\n", bodies[i]);
        success(nvrtcCreateProgram(&p, including, NULL, 1, (const char *const[]){header}, names),
                "create");
        success(nvrtcCompileProgram(p, 1, option), "compile");
        void *image = cubin_of(p);
        eq_u64((unsigned)run(image, "k"), (unsigned)i + 1, "another header, another program");
        free(image);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
    for (int i = 0; i < 2; i++) {
        nvrtcProgram p = program_of(plain);
        size_t before = entries_of(cache);

        success(nvrtcCompileProgram(p, 1, option), "compile");
        eq_u64(entries_of(cache) - before, i == 0, "it is kept once");
        logs[i] = log_of(p);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
    ok(strstr(logs[0], "told") != NULL, "there is a warning");
    ok(!strstr(logs[0], "extension"), "and none of younger standards");
    eq_str(logs[1], logs[0], "which is told again");
    free(logs[0]);
    free(logs[1]);
}

static void test_kinds_of_results(void)
{
    static const char *const is_virtual[] = {"-arch=compute_90"};
    static const char *const lto[] = {"-arch=sm_90", "-dlto"};
    nvrtcProgram p = program_of("extern \"C\" __global__ void k(int *out) { *out = 1; }");
    size_t size_B = 1;

    eq_u64(nvrtcGetPTXSize(p, &size_B), NVRTC_ERROR_INVALID_PROGRAM, "not compiled");
    success(nvrtcCompileProgram(p, 1, is_virtual), "for a virtual architecture");
    success(nvrtcGetCUBINSize(p, &size_B), "size of the image");
    eq_u64(size_B, 0, "no image");
    char *ptx = ptx_of(p);
    eq_u64((unsigned)run(ptx, "k"), 1, "the PTX runs");
    success(nvrtcCompileProgram(p, 2, lto), "again, to be linked");
    success(nvrtcGetLTOIRSize(p, &size_B), "size");
    ok(size_B > 0, "there is something to link");
    success(nvrtcGetOptiXIRSize(p, &size_B), "size");
    eq_u64(size_B, 0, "nothing for OptiX");
    free(ptx);
    success(nvrtcDestroyProgram(&p), "destroy");
}

/* What only looks like it is left alone, also on the same line. */
static void test_commas_at_ends_of_arguments(void)
{
    static const char source[] =
        "template <class T, int... N> struct list { int n = sizeof...(N); };\n"
        "#define FIRST(a, b) a\n"
        "extern \"C\" __global__ void k(int *out)\n"
        "{ const char *text = \", >\"; list<int, > none; list<list<int,>,> both; int big = 1'000;\n"
        "  list<int, 1, 2\n"
        "    ,\n"
        "  > two; bool more = FIRST(1, >);\n"
        "  *out = text[0] + none.n + 100 * two.n + big * (more + both.n); }\n";
    static const char *const arch = "-arch=sm_90";
    nvrtcProgram p = program_of(source);

    if (!success(nvrtcCompileProgram(p, 1, &arch), "template arguments that end with a comma"))
        diag("%s", log_of(p));
    void *image = cubin_of(p);
    eq_u64((unsigned)run(image, "k"), ',' + 200 + 1000, "its result");
    free(image);
    success(nvrtcDestroyProgram(&p), "destroy");

    p = program_of("template <class T> struct one {};\none<int,,> x;\n");
    eq_u64(nvrtcCompileProgram(p, 1, &arch), NVRTC_ERROR_COMPILATION, "one comma, not two");
    log_has(p, "prog.cu(2): error: expected expression");
    success(nvrtcDestroyProgram(&p), "destroy");
}

/* Bytes but 0 are true, as NVIDIA's compiler has it, and stay what they are. */
static void test_bools_of_any_byte(void)
{
    static const char source[] =
        "struct pair { bool first, second; };\n"
        "__device__ unsigned char bytes[] = {0, 1, 2, 254}, copies[4];\n"
        "__device__ bool neither(bool a, bool b) { return !a && !b; }\n"
        "extern \"C\" __global__ void k(int *out)\n"
        "{ const bool *b = (const bool *)bytes; bool *to = (bool *)copies;\n"
        "  __shared__ bool shared[4]; const pair *p = (const pair *)bytes; int n = 0;\n"
        "  for (int i = 0; i < 4; i++) { to[i] = shared[i] = b[i]; n = n * 10 + (b[i] ? 1 : "
        "2); }\n"
        "  n = n * 10 + neither(b[2], b[0]);\n"
        "  n = n * 10 + (p[1].first && p[1].second);\n"
        "  n = n * 10 + (shared[2] && !shared[0]);\n"
        "  n = n * 10 + (b[3] ? 5 : 6);\n"
        "  *out = n + (copies[2] == 2 && copies[3] == 254 ? 100000000 : 0); }\n";
    static const char *const options[] = {"-arch=sm_90", "-G"};

    for (int n = 1; n <= 2; n++) {
        nvrtcProgram p = program_of(source);

        if (!success(nvrtcCompileProgram(p, n, options), "bools, %d options", n))
            diag("%s", log_of(p));
        void *image = cubin_of(p);
        eq_u64((unsigned)run(image, "k"), 121110115, "its result");
        free(image);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

/* What an integer cannot hold, the device saturates; also where the compiler sees the constant. */
static void test_conversions(void)
{
    static const char source[] = "template <class T> __device__ T made(double x) { return (T)x; }\n"
                                 "extern \"C\" __global__ void k(int *out) { int n = 0;\n"
                                 "  n += __double2int_rz(1e30) == 0x7fffffff;\n"
                                 "  n += __float2int_rz(-1e30f) == (int)0x80000000;\n"
                                 "  n += __float2uint_rz(5e9f) == 0xffffffff;\n"
                                 "  n += __double2ll_rz(1e30) == 0x7fffffffffffffff;\n"
                                 "  n += (int)1e30f == 0x7fffffff;\n"
                                 "  n += (unsigned)-1.0 == 0;\n"
                                 "  n += made<int>(-1e30) == (int)0x80000000;\n"
                                 "  n += made<unsigned long long>(1e30) == ~0ull;\n"
                                 "  n += made<short>(70000.0) == 4464;\n"
                                 "  *out = n; }\n";
    static const char *const options[] = {"-arch=sm_90", "-G"};

    for (int n = 1; n <= 2; n++) {
        nvrtcProgram p = program_of(source);

        success(nvrtcCompileProgram(p, n, options), "conversions, %d options", n);
        void *image = cubin_of(p);
        eq_u64((unsigned)run(image, "k"), 9, "all saturate");
        free(image);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

/* What NVIDIA's front end takes and clang alone does not (clang/dialect.c); built-in variables. */
static void test_dialect(void)
{
    static const char source[] =
        "struct T { int v = 7; __device__ T() {} __device__ ~T() { v = 0; } };\n"
        "template <class A, class B> struct same { enum { value = 0 }; };\n"
        "template <class A> struct same<A, A> { enum { value = 1 }; };\n"
        "__host__ __device__ [[nodiscard]] int three() { return 3; }\n"
        "struct base { int a; __device__ base() : a(5) {} __device__ virtual ~base() {} };\n"
        "struct derived : virtual base { __device__ ~derived() { a = 0; } };\n"
        "template <class Q> __device__ int in_shared() {\n"
        "  __shared__ Q t, u[2]; t.v = 1; u[1].v = 2; return t.v + u[1].v; }\n"
        "__device__ constexpr char add[] = \"add\";\n"
        "template <class Q> struct flagged { static constexpr bool four = sizeof(Q) == 4; Q v;\n"
        "  template <int N> __device__ int operator()(int x) const { return x + N; }\n"
        "  __device__ int f() const { if constexpr (this->four) return 1; else return v.n; } };\n"
        "template <class F> __device__ int call(F f) { return f.operator()<2>(0); }\n"
        "template <class Q> struct base_of { struct type { int v; __device__ type(int n) : v(n) {} "
        "};\n"
        "  template <class U> __device__ int initial(U u) const { return u + 1; } };\n"
        "template <class Q> struct derives : base_of<Q> {\n"
        "  template <class U> __device__ int sum(U u) const { return initial(u); }\n"
        "  __device__ constexpr int held(int n) const { typename base_of<Q>::type t(n); return "
        "t.v; } };\n"
        "template <class Q> __device__ int makes(int n) { auto t = Q::type(n); return t.v; }\n"
        "extern \"C\" __global__ void k(int *out) {\n"
        "  int text; asm(\"%1.s32 %0, %2, 7;\" : \"=r\"(text) : \"C\"(add), \"r\"(1000000));\n"
        "  __shared__ alignas(16) int aligned[4]; aligned[0] = 100; unsigned lane;\n"
        "  asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(lane));\n"
        "  auto t = threadIdx; const auto &b = blockDim; base *p = new derived; int a = p->a;\n"
        "  delete p;\n"
        "  *out = in_shared<T>() + aligned[0] + lane + three() + t.x + b.x * 1000 + a * 10000\n"
        "    + same<decltype(threadIdx), const uint3>::value * 100000 + text\n"
        "    + 10000000 * (flagged<int>().f() + call(flagged<int>()))\n"
        "    + 100000000 * (derives<T>().sum(1) + derives<T>().held(3) + makes<base_of<T>>(4)); "
        "}\n";
    static const char *const options[] = {"-arch=sm_90", "--std=c++20", "-G"};

    for (int n = 1; n <= 3; n++) {
        nvrtcProgram p = program_of(source);

        if (!success(nvrtcCompileProgram(p, n, options), "dialect, %d options", n))
            diag("%s", log_of(p));
        void *image = cubin_of(p);
        eq_u64((unsigned)run(image, "k"), 931151113, "its result");
        free(image);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
    nvrtcProgram p = program_of("__host__ __device__ [[nodiscard]] int three() { return 3; }\n\n"
                                "__global__ void k(int *out) { *out = for; }\n");
    eq_u64(nvrtcCompileProgram(p, 1, options), NVRTC_ERROR_COMPILATION,
           "an error of the program's");
    log_has(p, "prog.cu(3): error: expected expression");
    success(nvrtcDestroyProgram(&p), "destroy");
}

/* What the second run of clang is told counts as when there was one. */
static void test_options_of_both_runs(void)
{
    static const struct {
        const char *option, *instruction;
    } cases[] = {
        {"-fmad=true", "fma.rn.f32"},         {"-fmad=false", "mul.rn.f32"},
        {"-ftz=true", "fma.rn.ftz.f32"},      {"-prec-div=false", "div.approx.f32"},
        {"-prec-div=true", "div.rn.f32"},     {"-lineinfo", "\t.loc\t"},
        {"-use_fast_math", "div.approx.ftz"}, {"-arch=sm_90a", ".target sm_90a"},
    };
    static const char source[] = "extern \"C\" __global__ void k(float *f)\n"
                                 "{ f[0] = f[1] * f[2] + f[3]; f[4] = f[5] / f[6]; }\n";

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nvrtcProgram p = program_of(source);

        success(nvrtcCompileProgram(p, 1, &cases[i].option), "%s", cases[i].option);
        char *ptx = ptx_of(p);
        if (!ok(strstr(ptx, cases[i].instruction) != NULL, "%s: %s", cases[i].option,
                cases[i].instruction))
            diag("%s", ptx);
        free(ptx);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

/* Who has the module alone finds variables of the program's own by name, and may change them. */
static void test_static_variables(void)
{
    static const char source[] =
        "static __device__ bool done; static __constant__ int factor = 1;\n"
        "static const __device__ int table[] = {1, 2, 3};\n"
        "static __device__ int add(int a, int b) { return a + b; }\n"
        "extern \"C\" __global__ void k(int *out)\n"
        "{ done = true; *out = add(factor * table[*out & 1 ? 2 : 1], done ? 4 : 5); }\n";
    static const char *const options[] = {"-arch=sm_90", "-rdc=true"};
    const char *lowered = NULL;
    int *one = (int[]){5}, value = -1;
    void *params[] = {NULL};
    CUdeviceptr at, out;
    CUmodule module;
    CUfunction k;
    size_t size_B;
    nvrtcProgram p = program_of(source);

    success(nvrtcAddNameExpression(p, "&factor"), "a name");
    if (!success(nvrtcCompileProgram(p, 1, options), "compile"))
        diag("%s", log_of(p));
    char *ptx = ptx_of(p);
    ok(strstr(ptx, "\n.global .align 1 .u8 done;"), "as nvcc writes it");
    ok(strstr(ptx, "\n.const .align 4 .u32 factor = 1;"), "with its value");
    success(nvrtcGetLoweredName(p, "&factor", &lowered), "lowered");
    ok(lowered && !strcmp(lowered, "factor"), "the same name");
    success(cuModuleLoadData(&module, ptx), "load");
    success(cuModuleGetGlobal_v2(&at, &size_B, module, "factor"), "the constant");
    success(cuMemcpyHtoD_v2(at, one, sizeof(*one)), "is changed");
    success(cuMemAlloc_v2(&out, sizeof(int)), "memory");
    success(cuMemsetD32_v2(out, 0, 1), "0");
    params[0] = &out;
    success(cuModuleGetFunction(&k, module, "k"), "kernel");
    success(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
    success(cuMemcpyDtoH_v2(&value, out, sizeof(value)), "result");
    eq_u64((unsigned)value, 14, "of the changed constant");
    success(cuModuleGetGlobal_v2(&at, &size_B, module, "done"), "the variable");
    eq_u64(size_B, 1, "of a byte");
    success(cuMemFree_v2(out), "free");
    success(cuModuleUnload(module), "unload");
    free(ptx);
    success(nvrtcDestroyProgram(&p), "destroy");

    p = program_of(source);
    success(nvrtcCompileProgram(p, 2, options), "to be linked");
    ptx = ptx_of(p);
    ok(!strstr(ptx, ".u32 factor"), "there other programs may have the name");
    free(ptx);
    success(nvrtcDestroyProgram(&p), "destroy");
}

/* Sizes of clusters come from the program, also from its headers. */
static void test_clusters(void)
{
    static const char source[] =
        "template <int N> struct two { static constexpr int n = N; };\n"
        "extern \"C\" __global__ void __cluster_dims__(two<2>::n) k(int *out)\n"
        "{ if (blockIdx.x == 1) *out = 1; }\n"
        "#include \"more.h\"\n",
                      more[] =
                          "extern \"C\" __global__ void __block_size__((64, 2, 1)) m(int *out)\n"
                          "{ *out = blockDim.y; }\n";
    static const char *const headers[] = {more}, *const names[] = {"more.h"};
    static const char *const options[] = {"-arch=compute_90"};
    nvrtcProgram p = NULL;

    success(nvrtcCreateProgram(&p, source, "prog.cu", 1, headers, names), "create");
    if (!success(nvrtcCompileProgram(p, 1, options), "compile"))
        diag("%s", log_of(p));
    char *ptx = ptx_of(p);
    ok(strstr(ptx, "\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{"), "of a kernel");
    ok(strstr(ptx, "\n.blocksareclusters\n.reqntid 64, 2, 1\n.reqnctapercluster 1, 1, 1\n{"),
       "of one whose blocks are clusters");
    free(ptx);
    success(nvrtcDestroyProgram(&p), "destroy");
}

/*
 * A program's math.h is its own, and not what the device's own headers find; also for the first
 * program of a command line.
 */
static void test_headers_by_standard_names(void)
{
    static const char *const headers[] = {"#error of the program's\n", "#define ANSWER 42\n"};
    static const char *const names[] = {"math.h", "limits"};
    static const char *const options[] = {"-arch=compute_90", "-DHEADERS_BY_STANDARD_NAMES"};
    static const char source[] = "#include <limits>\n__global__ void k(int *p) { *p = ANSWER; }\n";
    nvrtcProgram p = NULL;

    success(nvrtcCreateProgram(&p, source, "prog.cu", 2, headers, names), "create");
    if (!success(nvrtcCompileProgram(p, 2, options), "compile"))
        diag("%s", log_of(p));
    success(nvrtcDestroyProgram(&p), "destroy");
}

/* Clients that add what a failed compilation misses: the same words each time, then PTX. */
static void test_headers_one_by_one(void)
{
    static const char source[] = "#include \"a.h\"\n__global__ void k(int *p) { *p = B; }\n";
    static const char *const headers[] = {"#include \"b/c.h\"\n", "#include <c.h>\n#define B 1\n",
                                          "\n"};
    static const char *const names[] = {"a.h", "b/c.h", "c.h"}; /* <c.h> is not b/c.h */

    for (int have = 0; have <= 3; have++) {
        nvrtcProgram p = NULL;
        char want[96];

        success(nvrtcCreateProgram(&p, source, "prog.cu", have, headers, names), "create");
        nvrtcResult result = nvrtcCompileProgram(p, 0, NULL);
        eq_u64(result, have < 3 ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS, "with %d headers", have);
        (void)snprintf(want, sizeof(want),
                       "%s(1): catastrophic error: cannot open source file \"%s\"",
                       have ? names[have - 1] : "prog.cu", names[have % 3]);
        if (have < 3)
            log_has(p, want);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

/* Kernels that launch kernels, in relocatable code. */
static void test_launches_in_kernels(void)
{
    static const char source[] =
        "template <class T> __global__ void child(T *out, T n) { atomicAdd(out, n); }\n"
        "extern \"C\" __global__ void parent(int *out)\n"
        "{ child<<<dim3(2), 3>>>(out, 7); if (cudaGetLastError()) *out = -1; }\n",
                      called[] = "__global__ void child() {}\n"
                                 "__global__ void parent() { child<<<1, 1>>>(); child(); }\n";
    static const char *const options[] = {"-arch=sm_90", "-rdc=true"};
    const char *lowered = NULL;
    int value = -1;
    CUdeviceptr out;
    CUmodule module;
    CUfunction k;
    void *params[] = {&out};
    nvrtcProgram p = program_of(source);

    success(nvrtcAddNameExpression(p, "child<float>"), "a kernel that nothing launches");
    if (!success(nvrtcCompileProgram(p, 2, options), "compile"))
        diag("%s", log_of(p));
    char *ptx = ptx_of(p);
    success(nvrtcGetLoweredName(p, "child<float>", &lowered), "its name");
    success(cuModuleLoadData(&module, ptx), "load");
    success(cuModuleGetFunction(&k, module, lowered ? lowered : ""), "it is a kernel");
    success(cuModuleGetFunction(&k, module, "parent"), "the parent");
    success(cuMemAlloc_v2(&out, sizeof(int)), "memory");
    success(cuMemsetD32_v2(out, 0, 1), "0");
    success(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
    success(cuMemcpyDtoH_v2(&value, out, sizeof(value)), "result");
    eq_u64((unsigned)value, 42, "of six threads of the child");
    success(cuMemFree_v2(out), "free");
    success(cuModuleUnload(module), "unload");
    free(ptx);
    success(nvrtcDestroyProgram(&p), "destroy");

    p = program_of(called);
    eq_u64(nvrtcCompileProgram(p, 2, options), NVRTC_ERROR_COMPILATION, "a kernel that is called");
    log_has(p, "must be configured with <<<...>>>");
    success(nvrtcDestroyProgram(&p), "destroy");
}

static void test_errors(void)
{
    static const struct {
        const char *source, *option, *log;
        nvrtcResult result;
    } cases[] = {
        {"extern \"C\" __global__ void __cluster_dims__(2) k() {}", "-arch=sm_80",
         "k: __cluster_dims__ needs compute capability 9.0", NVRTC_ERROR_COMPILATION},
        {"extern \"C\" __global__ void __cluster_dims__(2, 0) k() {}", "-arch=sm_90",
         "k: __cluster_dims__ takes one to three sizes above 0", NVRTC_ERROR_COMPILATION},
        {"int x = y;", NULL, "prog.cu(1): error: identifier \"y\" is undefined",
         NVRTC_ERROR_COMPILATION},
        {"type y;", NULL, "prog.cu(1): error: identifier \"type\" is undefined",
         NVRTC_ERROR_COMPILATION},
        {"int f() { int no; return 1; } int y = f(2);", NULL,
         "prog.cu(1): warning #177-D: variable \"no\" was declared but never referenced",
         NVRTC_ERROR_COMPILATION},
        {"\n#include \"no.h\"\n", NULL,
         "prog.cu(2): catastrophic error: cannot open source file \"no.h\"",
         NVRTC_ERROR_COMPILATION},
        {"", "--bogus", "unrecognized option --bogus", NVRTC_ERROR_INVALID_OPTION},
        {"", "-arch=sm_12345", "invalid value for -arch=sm_12345", NVRTC_ERROR_INVALID_OPTION},
        {"", "-arch", "missing value for -arch", NVRTC_ERROR_INVALID_OPTION},
        {"", "--ftz=maybe", "invalid value", NVRTC_ERROR_INVALID_OPTION},
        {"", "-std=c++1", "invalid value", NVRTC_ERROR_INVALID_OPTION},
        {"", "--use_fast_math=true", "invalid value", NVRTC_ERROR_INVALID_OPTION},
        {"", "--create-pch=x", "precompiled headers", NVRTC_ERROR_INVALID_OPTION},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        nvrtcProgram p = program_of(cases[i].source);

        eq_u64(nvrtcCompileProgram(p, cases[i].option != NULL, &cases[i].option), cases[i].result,
               "result");
        log_has(p, cases[i].log);
        success(nvrtcDestroyProgram(&p), "destroy");
    }
}

static void test_bad_calls(void)
{
    static const char *const header[] = {"x"}, *const above[] = {"../x.h"};
    nvrtcProgram p = NULL;
    int major = 0, n = 0, archs[64];

    success(nvrtcVersion(&major, &n), "version");
    eq_u64((unsigned)major, 13, "13");
    success(nvrtcGetNumSupportedArchs(&n), "architectures");
    success(nvrtcGetSupportedArchs(archs), "which");
    eq_u64((unsigned)archs[0], 75, "from 75");
    eq_u64(nvrtcVersion(NULL, &n), NVRTC_ERROR_INVALID_INPUT, "no place");
    eq_u64(nvrtcCreateProgram(NULL, "", NULL, 0, NULL, NULL), NVRTC_ERROR_INVALID_INPUT,
           "no place");
    eq_u64(nvrtcCreateProgram(&p, NULL, NULL, 0, NULL, NULL), NVRTC_ERROR_INVALID_INPUT,
           "no source");
    eq_u64(nvrtcCreateProgram(&p, "", NULL, 1, NULL, above), NVRTC_ERROR_INVALID_INPUT,
           "no headers");
    eq_u64(nvrtcDestroyProgram(&p), NVRTC_ERROR_INVALID_PROGRAM, "no program");
    eq_u64(nvrtcCompileProgram(NULL, 0, NULL), NVRTC_ERROR_INVALID_PROGRAM, "no program");
    success(nvrtcCreateProgram(&p, "", NULL, 1, header, above), "a header above the program");
    eq_u64(nvrtcCompileProgram(p, 0, NULL), NVRTC_ERROR_INVALID_INPUT, "is not written");
    log_has(p, "../x.h");
    success(nvrtcDestroyProgram(&p), "destroy");
    eq_str(nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION", "names");
    eq_str(nvrtcGetErrorString((nvrtcResult)99), "NVRTC_ERROR unknown", "of no error");
}

/* Nothing may stay in the folder for temporary files. */
static void test_leftovers(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;

    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    eq_u64(n, 0, "no temporary file is left");
    (void)rmdir(folder);
}

static void *compile_in_thread(void *out_result)
{
    const char *options[] = {"--gpu-architecture=compute_80"};
    nvrtcProgram p;

    *(int *)out_result =
        nvrtcCreateProgram(&p, "__global__ void k(int *p) { *p = 1; }", "prog.cu", 0, NULL, NULL);
    if (!*(int *)out_result)
        *(int *)out_result = nvrtcCompileProgram(p, 1, options);
    nvrtcDestroyProgram(&p);
    return NULL;
}

static void test_little_stack(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    int result = -1;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 20 << 10);
    if (pthread_create(&thread, &attr, compile_in_thread, &result))
        abort();
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    eq_u64((uint64_t)result, NVRTC_SUCCESS, "on a thread with 20 KiB of stack");
}

/* A thread compiles one program that the others compile too, one of its own, and a wrong one. */
struct compiling {
    unsigned number;
    nvrtcResult results[3];
    char *common, *own, *log;
};

static void *compile_three(void *arg)
{
    struct compiling *c = arg;
    const char *options[] = {"-arch=compute_80"};
    char own[128];
    const char *sources[] = {"extern \"C\" __global__ void k(int *p) { *p = 7; }", own,
                             "__global__ void wrong(int *p) { *p = missing; }"};

    snprintf(own, sizeof(own), "extern \"C\" __global__ void k%u(int *p) { *p = %u; }", c->number,
             c->number);
    for (unsigned i = 0; i < 3; i++) {
        nvrtcProgram p = NULL;
        size_t size_B = 0;
        char **text = i == 0 ? &c->common : i == 1 ? &c->own : &c->log;

        nvrtcCreateProgram(&p, sources[i], "prog.cu", 0, NULL, NULL);
        c->results[i] = nvrtcCompileProgram(p, 1, options);
        (i < 2 ? nvrtcGetPTXSize : nvrtcGetProgramLogSize)(p, &size_B);
        *text = calloc(1, size_B + 1);
        (i < 2 ? nvrtcGetPTX : nvrtcGetProgramLog)(p, *text);
        nvrtcDestroyProgram(&p);
    }
    return NULL;
}

/* Several threads at once, twice: the second round finds what the first one left in the cache. */
static void test_threads(void)
{
    pthread_t threads[3];
    struct compiling c[HD_COUNT_OF(threads)];
    char name[16];

    for (int round = 0; round < 2; round++) {
        memset(c, 0, sizeof(c));
        for (unsigned i = 0; i < HD_COUNT_OF(threads); i++) {
            c[i].number = i + 1;
            if (pthread_create(&threads[i], NULL, compile_three, &c[i]))
                abort();
        }
        for (unsigned i = 0; i < HD_COUNT_OF(threads); i++)
            pthread_join(threads[i], NULL);
        for (unsigned i = 0; i < HD_COUNT_OF(threads); i++) {
            snprintf(name, sizeof(name), "k%u", c[i].number);
            success(c[i].results[0], "the common one");
            success(c[i].results[1], "its own");
            eq_u64(c[i].results[2], NVRTC_ERROR_COMPILATION, "the wrong one");
            ok(!strcmp(c[i].common, c[0].common), "the same for all");
            eq_u64((unsigned)run(c[i].own, name), c[i].number, "its own runs");
            ok(strstr(c[i].log, "missing") != NULL, "its own log");
        }
        for (unsigned i = 0; i < HD_COUNT_OF(threads); i++) {
            free(c[i].common);
            free(c[i].own);
            free(c[i].log);
        }
    }
}

static void test_calls(void)
{
    test_architectures();
    test_macros();
    test_names_and_headers();
    test_kinds_of_results();
    test_options_of_both_runs();
    test_launches_in_kernels();
    test_errors();
    test_little_stack();
    test_bad_calls();
}

static void test_what_it_compiles(void)
{
    test_language();
    test_commas_at_ends_of_arguments();
    test_bools_of_any_byte();
    test_conversions();
    test_dialect();
    test_headers_by_standard_names();
    test_headers_one_by_one();
    test_clusters();
    test_static_variables();
}

/*
 * test_nvrtc [language | front | useless | threads]
 *
 * front: what is kept between programs, in a cache of its own. useless: what is kept and of no use.
 */
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "calls";
    char folder[] = "/tmp/nvrtc-XXXXXX", cache[64];
    bool is_cached = strcmp(what, "calls") && strcmp(what, "language");
    CUcontext ctx;

    if (!mkdtemp(folder))
        return 1;
    setenv("TMPDIR", folder, 1);
    setenv("HEDDLE_MEMORY", "256M", 1);
    snprintf(cache, sizeof(cache), "%s/cache", folder);
    setenv("HEDDLE_CACHE", is_cached ? cache : "off", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    if (!strcmp(what, "useless")) {
        test_useless_front(cache, folder);
    } else if (!strcmp(what, "threads")) {
        test_threads();
    } else if (!strcmp(what, "front")) {
        test_front(cache);
        test_standards();
        test_kept_results(cache);
    } else if (!strcmp(what, "language")) {
        test_what_it_compiles();
    } else {
        test_calls();
    }
    if (is_cached)
        empty(cache);
    test_leftovers(folder);
    return done();
}
