/*
 * The PTX Compiler API: PTX to an image that the driver loads. Written from the public manual;
 * docs/ptxas.md says what Heddle's does.
 */
#ifndef HEDDLE_CUDA_NVPTXCOMPILER_H
#define HEDDLE_CUDA_NVPTXCOMPILER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    NVPTXCOMPILE_SUCCESS = 0,
    NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE = 1,
    NVPTXCOMPILE_ERROR_INVALID_INPUT = 2,
    NVPTXCOMPILE_ERROR_COMPILATION_FAILURE = 3,
    NVPTXCOMPILE_ERROR_INTERNAL = 4,
    NVPTXCOMPILE_ERROR_OUT_OF_MEMORY = 5,
    NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE = 6,
    NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION = 7,
    NVPTXCOMPILE_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 8,
    NVPTXCOMPILE_ERROR_CANCELLED = 9,
    NVPTXCOMPILE_PARSE_ONLY_SUCCESS = 10
} nvPTXCompileResult;

typedef struct nvPTXCompiler *nvPTXCompilerHandle;

nvPTXCompileResult nvPTXCompilerGetVersion(unsigned int *major, unsigned int *minor);
nvPTXCompileResult nvPTXCompilerGetNumSupportedArchs(int *numArchs);
nvPTXCompileResult nvPTXCompilerGetSupportedArchs(int *supportedArchs);
nvPTXCompileResult nvPTXCompilerGetNumSupportedVersions(int *numVersions);
nvPTXCompileResult nvPTXCompilerGetSupportedVersions(int (*versions)[2]);

nvPTXCompileResult nvPTXCompilerCreate(nvPTXCompilerHandle *compiler, size_t ptxCodeLen,
                                       const char *ptxCode);
nvPTXCompileResult nvPTXCompilerDestroy(nvPTXCompilerHandle *compiler);
/* The callback returns 1 to end a compilation, 0 to go on; its second argument is NULL. */
nvPTXCompileResult nvPTXCompilerSetFlowCallback(nvPTXCompilerHandle compiler,
                                                int (*callback)(void *, void *), void *payload);
/* --gpu-name is needed. */
nvPTXCompileResult nvPTXCompilerCompile(nvPTXCompilerHandle compiler, int numCompileOptions,
                                        const char *const *compileOptions);

nvPTXCompileResult nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle compiler,
                                                       size_t *binaryImageSize);
nvPTXCompileResult nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle compiler, void *binaryImage);
nvPTXCompileResult nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle compiler, size_t *errorLogSize);
nvPTXCompileResult nvPTXCompilerGetErrorLog(nvPTXCompilerHandle compiler, char *errorLog);
nvPTXCompileResult nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle compiler, size_t *infoLogSize);
nvPTXCompileResult nvPTXCompilerGetInfoLog(nvPTXCompilerHandle compiler, char *infoLog);

#ifdef __cplusplus
}
#endif

#endif
