/*
 * libnvptxcompiler: the PTX Compiler API on the assembler that `heddle ptxas` is (src/ptxas).
 *
 * A handle keeps its PTX, and what its last compilation left. It belongs to one thread at a time,
 * as the manual asks. Logs are handed out with their NUL, which their size counts.
 */
#include "base/stack.h"
#include "nvPTXCompiler.h"

#include <string.h>

#include "base/mem.h"
#include "cuda_version.h"
#include "ptxas/ptxas.h"

#define MAGIC 0x6c69706d6f437470ull

struct nvPTXCompiler {
    uint64_t magic;
    struct hd_buf ptx;
    struct ptxas work;
    bool complete; /* there is an image */
    int (*flow)(void *payload, void *reserved);
    void *flow_payload;
};

#define RESULT HD_EXPORT nvPTXCompileResult

/* Memory of another kind was not handed out here, or was destroyed. */
static bool is_handle(nvPTXCompilerHandle compiler)
{
    return compiler && compiler->magic == MAGIC;
}

/* ---- versions */

RESULT nvPTXCompilerGetVersion(unsigned *major, unsigned *minor)
{
    if (!major || !minor)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *major = __CUDA_API_VER_MAJOR__;
    *minor = __CUDA_API_VER_MINOR__;
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerGetNumSupportedArchs(int *numArchs)
{
    if (!numArchs)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *numArchs = (int)ptxas_architectures(NULL);
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerGetSupportedArchs(int *supportedArchs)
{
    if (!supportedArchs)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    ptxas_architectures(supportedArchs);
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerGetNumSupportedVersions(int *numVersions)
{
    if (!numVersions)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *numVersions = (int)ptxas_versions(NULL);
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerGetSupportedVersions(int (*versions)[2])
{
    if (!versions)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    ptxas_versions(versions);
    return NVPTXCOMPILE_SUCCESS;
}

/* ---- life */

RESULT nvPTXCompilerCreate(nvPTXCompilerHandle *compiler, size_t ptxCodeLen, const char *ptxCode)
{
    struct nvPTXCompiler *made;

    if (!compiler || !ptxCode || !ptxCodeLen)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    made = hd_new(struct nvPTXCompiler);
    if (!made)
        return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
    made->magic = MAGIC;
    ptxas_init(&made->work);
    hd_buf_init(&made->ptx);
    hd_buf_append(&made->ptx, ptxCode, ptxCodeLen);
    *compiler = made;
    if (made->ptx.failed) {
        (void)nvPTXCompilerDestroy(compiler);
        return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
    }
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerDestroy(nvPTXCompilerHandle *compiler)
{
    if (!compiler || !is_handle(*compiler))
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    (*compiler)->magic = 0;
    ptxas_fini(&(*compiler)->work);
    hd_buf_fini(&(*compiler)->ptx);
    hd_free(*compiler);
    *compiler = NULL;
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerSetFlowCallback(nvPTXCompilerHandle compiler, int (*callback)(void *, void *),
                                    void *payload)
{
    if (!is_handle(compiler))
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (!callback)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    compiler->flow = callback;
    compiler->flow_payload = payload;
    return NVPTXCOMPILE_SUCCESS;
}

/* ---- compiling */

static nvPTXCompileResult result_of(enum hd_status status, const struct ptxas *work)
{
    switch ((int)status) {
    case HD_OK:
        return work->options.target.is_virtual ? NVPTXCOMPILE_PARSE_ONLY_SUCCESS
                                               : NVPTXCOMPILE_SUCCESS;
    case HD_NO_MEMORY:
        return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
    case HD_BAD_VERSION:
        return NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION;
    case HD_CANCELLED:
        return NVPTXCOMPILE_ERROR_CANCELLED;
    default:
        return NVPTXCOMPILE_ERROR_COMPILATION_FAILURE;
    }
}

/* The architecture has no default here. */
static bool options_read(struct ptxas *work, size_t count, const char *const *options)
{
    work->options.target.name = NULL;
    if (!ptxas_options_read(work, PTXAS_API, count, options) || work->failed)
        return false;
    if (!work->options.target.name)
        ptxas_say(work, PTXAS_FATAL, "Option '--gpu-name' is missing, such as --gpu-name=sm_90");
    return !work->failed;
}

static nvPTXCompileResult compile(struct nvPTXCompiler *compiler, size_t count,
                                  const char *const *options)
{
    struct ptxas *work = &compiler->work;
    enum hd_status status;

    ptxas_fini(work);
    ptxas_init(work);
    work->flow = compiler->flow;
    work->flow_payload = compiler->flow_payload;
    if (!options_read(work, count, options))
        return NVPTXCOMPILE_ERROR_COMPILATION_FAILURE;
    status = ptxas_input_add(work, "application ptx input", compiler->ptx.ptr, compiler->ptx.len);
    if (status == HD_OK)
        status = ptxas_assemble(work);
    return result_of(status, work);
}

struct compile_args {
    nvPTXCompilerHandle compiler;
    size_t noptions;
    const char *const *options;
};

HD_STACK_ENSURED(nvPTXCompileResult, compile_anywhere, struct compile_args,
                 compile(a->compiler, a->noptions, a->options))

RESULT nvPTXCompilerCompile(nvPTXCompilerHandle compiler, int numCompileOptions,
                            const char *const *compileOptions)
{
    const struct compile_args args = {compiler, (size_t)numCompileOptions, compileOptions};
    nvPTXCompileResult result;

    if (!is_handle(compiler))
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (numCompileOptions < 0 || (numCompileOptions && !compileOptions))
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    result = compile_anywhere(&args);
    compiler->complete = result == NVPTXCOMPILE_SUCCESS;
    return result;
}

/* ---- what came out */

static nvPTXCompileResult image_check(nvPTXCompilerHandle compiler, const void *out)
{
    if (!is_handle(compiler))
        return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
    if (!compiler->complete)
        return NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE;
    return out ? NVPTXCOMPILE_SUCCESS : NVPTXCOMPILE_ERROR_INVALID_INPUT;
}

RESULT nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle compiler, size_t *binaryImageSize)
{
    nvPTXCompileResult result = image_check(compiler, binaryImageSize);

    if (result == NVPTXCOMPILE_SUCCESS)
        *binaryImageSize = compiler->work.image.len;
    return result;
}

RESULT nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle compiler, void *binaryImage)
{
    nvPTXCompileResult result = image_check(compiler, binaryImage);

    if (result == NVPTXCOMPILE_SUCCESS)
        memcpy(binaryImage, compiler->work.image.ptr, compiler->work.image.len);
    return result;
}

static nvPTXCompileResult log_size(const struct hd_buf *log, size_t *out_size)
{
    if (!out_size)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    *out_size = log->len ? log->len + 1 : 0;
    return NVPTXCOMPILE_SUCCESS;
}

static nvPTXCompileResult log_copy(const struct hd_buf *log, char *out_log)
{
    if (!out_log)
        return NVPTXCOMPILE_ERROR_INVALID_INPUT;
    if (log->len)
        memcpy(out_log, log->ptr, log->len + 1);
    return NVPTXCOMPILE_SUCCESS;
}

RESULT nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle compiler, size_t *errorLogSize)
{
    return is_handle(compiler) ? log_size(&compiler->work.error, errorLogSize)
                               : NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
}

RESULT nvPTXCompilerGetErrorLog(nvPTXCompilerHandle compiler, char *errorLog)
{
    return is_handle(compiler) ? log_copy(&compiler->work.error, errorLog)
                               : NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
}

RESULT nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle compiler, size_t *infoLogSize)
{
    return is_handle(compiler) ? log_size(&compiler->work.info, infoLogSize)
                               : NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
}

RESULT nvPTXCompilerGetInfoLog(nvPTXCompilerHandle compiler, char *infoLog)
{
    return is_handle(compiler) ? log_copy(&compiler->work.info, infoLog)
                               : NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
}
