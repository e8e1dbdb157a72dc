/* The entry points of libnvvm: checks, and results handed out. */
#include <string.h>

#include "api/nvvm/program.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/stack.h"

/* The version of CUDA 13.0's libNVVM, of its IR and its debug metadata. */
enum { MAJOR = 2, MINOR = 0, IR_MAJOR = 2, IR_MINOR = 0, DEBUG_MAJOR = 3, DEBUG_MINOR = 1 };
/* The dialect's LLVM: of 7.0 before compute_100, and what clang reads since then. */
enum { LLVM_OLD = 7, LLVM_NEW = 19, FIRST_NEW_CC = 100 };

#define OBJECT_MAX_B ((size_t)1 << 30)

HD_EXPORT const char *nvvmGetErrorString(nvvmResult result)
{
    static const char *const names[] = {
        "NVVM_SUCCESS",
        "NVVM_ERROR_OUT_OF_MEMORY",
        "NVVM_ERROR_PROGRAM_CREATION_FAILURE",
        "NVVM_ERROR_IR_VERSION_MISMATCH",
        "NVVM_ERROR_INVALID_INPUT",
        "NVVM_ERROR_INVALID_PROGRAM",
        "NVVM_ERROR_INVALID_IR",
        "NVVM_ERROR_INVALID_OPTION",
        "NVVM_ERROR_NO_MODULE_IN_PROGRAM",
        "NVVM_ERROR_COMPILATION",
        "NVVM_ERROR_CANCELLED",
    };
    return (size_t)result < HD_COUNT_OF(names) ? names[result] : "NVVM_ERROR unknown";
}

HD_EXPORT nvvmResult nvvmVersion(int *major, int *minor)
{
    if (!major || !minor)
        return NVVM_ERROR_INVALID_INPUT;
    *major = MAJOR;
    *minor = MINOR;
    return NVVM_SUCCESS;
}

HD_EXPORT nvvmResult nvvmIRVersion(int *majorIR, int *minorIR, int *majorDbg, int *minorDbg)
{
    if (!majorIR || !minorIR || !majorDbg || !minorDbg)
        return NVVM_ERROR_INVALID_INPUT;
    *majorIR = IR_MAJOR;
    *minorIR = IR_MINOR;
    *majorDbg = DEBUG_MAJOR;
    *minorDbg = DEBUG_MINOR;
    return NVVM_SUCCESS;
}

HD_EXPORT nvvmResult nvvmLLVMVersion(const char *arch, int *major)
{
    unsigned cc;
    char variant;

    if (!arch || !major || !nv_arch_read(arch, &cc, &variant))
        return NVVM_ERROR_INVALID_INPUT;
    *major = cc < FIRST_NEW_CC ? LLVM_OLD : LLVM_NEW;
    return NVVM_SUCCESS;
}

HD_EXPORT nvvmResult nvvmCreateProgram(nvvmProgram *prog)
{
    if (!prog)
        return NVVM_ERROR_INVALID_PROGRAM;
    *prog = hd_new(struct _nvvmProgram);
    return *prog ? NVVM_SUCCESS : NVVM_ERROR_OUT_OF_MEMORY;
}

HD_EXPORT nvvmResult nvvmDestroyProgram(nvvmProgram *prog)
{
    if (!prog || !*prog)
        return NVVM_ERROR_INVALID_PROGRAM;
    struct _nvvmProgram *p = *prog;
    for (size_t i = 0; i < p->modules.len; i++) {
        hd_free(p->modules.at[i].name);
        hd_buf_fini(&p->modules.at[i].bytes);
    }
    hd_vec_fini(&p->modules);
    hd_buf_fini(&p->log);
    hd_buf_fini(&p->result);
    hd_free(p);
    *prog = NULL;
    return NVVM_SUCCESS;
}

static nvvmResult add(struct _nvvmProgram *p, const char *buffer, size_t size, const char *name,
                      bool lazy)
{
    struct nv_module m = {.lazy = lazy};

    if (!p)
        return NVVM_ERROR_INVALID_PROGRAM;
    if (!buffer || !size || size > OBJECT_MAX_B)
        return NVVM_ERROR_INVALID_INPUT;
    if (!nv_is_bitcode(buffer, size))
        size = strnlen(buffer, size); /* text may be given with its NUL */
    hd_buf_init(&m.bytes);
    hd_buf_append(&m.bytes, buffer, size);
    m.name = hd_strdup(name && *name ? name : "<unnamed>");
    if (!m.bytes.failed && m.name && hd_vec_push(&p->modules, m))
        return NVVM_SUCCESS;
    hd_buf_fini(&m.bytes);
    hd_free(m.name);
    return NVVM_ERROR_OUT_OF_MEMORY;
}

HD_EXPORT nvvmResult nvvmAddModuleToProgram(nvvmProgram prog, const char *buffer, size_t size,
                                            const char *name)
{
    return add(prog, buffer, size, name, false);
}

HD_EXPORT nvvmResult nvvmLazyAddModuleToProgram(nvvmProgram prog, const char *buffer, size_t size,
                                                const char *name)
{
    return add(prog, buffer, size, name, true);
}

/* Empties what an earlier call made, and reads the options. */
static nvvmResult begin(struct _nvvmProgram *p, int n, const char **words, struct nv_options *o)
{
    if (!p)
        return NVVM_ERROR_INVALID_PROGRAM;
    hd_buf_clear(&p->log);
    hd_buf_clear(&p->result);
    p->compiled = false;
    if (n < 0 || (n && !words) || !nv_options_read(o, n, words, &p->log))
        return NVVM_ERROR_INVALID_OPTION;
    return p->modules.len ? NVVM_SUCCESS : NVVM_ERROR_NO_MODULE_IN_PROGRAM;
}

struct call_args {
    nvvmProgram prog;
    int noptions;
    const char **options;
};

static nvvmResult compile(nvvmProgram prog, int numOptions, const char **options)
{
    struct nv_options o;
    nvvmResult result = begin(prog, numOptions, options, &o);

    if (!result)
        result = nv_build(prog, &o);
    if (prog)
        prog->compiled = result == NVVM_SUCCESS;
    return result == NVVM_ERROR_INVALID_IR ? NVVM_ERROR_COMPILATION : result;
}

static nvvmResult verify(nvvmProgram prog, int numOptions, const char **options)
{
    struct nv_options o;
    nvvmResult result = begin(prog, numOptions, options, &o);
    return result ? result : nv_verify(prog);
}

HD_STACK_ENSURED(nvvmResult, compile_anywhere, struct call_args,
                 compile(a->prog, a->noptions, a->options))
HD_STACK_ENSURED(nvvmResult, verify_anywhere, struct call_args,
                 verify(a->prog, a->noptions, a->options))

HD_EXPORT nvvmResult nvvmCompileProgram(nvvmProgram prog, int numOptions, const char **options)
{
    return compile_anywhere(&(struct call_args){prog, numOptions, options});
}

HD_EXPORT nvvmResult nvvmVerifyProgram(nvvmProgram prog, int numOptions, const char **options)
{
    return verify_anywhere(&(struct call_args){prog, numOptions, options});
}

/* Of a program that was not compiled the result is an empty text. */
static struct hd_str result_of(const struct _nvvmProgram *prog)
{
    static const struct hd_str empty = {"", 1};

    return prog->compiled ? (struct hd_str){prog->result.ptr, prog->result.len} : empty;
}

HD_EXPORT nvvmResult nvvmGetCompiledResultSize(nvvmProgram prog, size_t *bufferSizeRet)
{
    if (!prog)
        return NVVM_ERROR_INVALID_PROGRAM;
    if (!bufferSizeRet)
        return NVVM_ERROR_INVALID_INPUT;
    *bufferSizeRet = result_of(prog).len;
    return NVVM_SUCCESS;
}

HD_EXPORT nvvmResult nvvmGetCompiledResult(nvvmProgram prog, char *buffer)
{
    if (!prog)
        return NVVM_ERROR_INVALID_PROGRAM;
    if (!buffer)
        return NVVM_ERROR_INVALID_INPUT;
    memcpy(buffer, result_of(prog).ptr, result_of(prog).len);
    return NVVM_SUCCESS;
}

/* With its NUL, also when it is empty. */
HD_EXPORT nvvmResult nvvmGetProgramLogSize(nvvmProgram prog, size_t *bufferSizeRet)
{
    if (!prog)
        return NVVM_ERROR_INVALID_PROGRAM;
    if (!bufferSizeRet)
        return NVVM_ERROR_INVALID_INPUT;
    *bufferSizeRet = prog->log.len + 1;
    return NVVM_SUCCESS;
}

HD_EXPORT nvvmResult nvvmGetProgramLog(nvvmProgram prog, char *buffer)
{
    if (!prog)
        return NVVM_ERROR_INVALID_PROGRAM;
    if (!buffer)
        return NVVM_ERROR_INVALID_INPUT;
    memcpy(buffer, prog->log.len ? prog->log.ptr : "", prog->log.len + 1);
    return NVVM_SUCCESS;
}
