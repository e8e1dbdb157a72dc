/* libnvrtc's entry points. Source of names and results: NVIDIA's manual of NVRTC, 12.0 to 13.0. */
#include "api/nvrtc/program.h"

#include "base/mem.h"
#include "base/stack.h"

/* The version of the manual that is followed. */
#define MAJOR 13
#define MINOR 0

/* A pointer that may not be NULL, of a program that exists. */
#define CHECK(condition, error)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return (error);                                                                        \
    } while (0)
#define CHECK_PROGRAM(p) CHECK(p, NVRTC_ERROR_INVALID_PROGRAM)

static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

static const char *const error_names[] = {
    [NVRTC_SUCCESS] = "NVRTC_SUCCESS",
    [NVRTC_ERROR_OUT_OF_MEMORY] = "NVRTC_ERROR_OUT_OF_MEMORY",
    [NVRTC_ERROR_PROGRAM_CREATION_FAILURE] = "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    [NVRTC_ERROR_INVALID_INPUT] = "NVRTC_ERROR_INVALID_INPUT",
    [NVRTC_ERROR_INVALID_PROGRAM] = "NVRTC_ERROR_INVALID_PROGRAM",
    [NVRTC_ERROR_INVALID_OPTION] = "NVRTC_ERROR_INVALID_OPTION",
    [NVRTC_ERROR_COMPILATION] = "NVRTC_ERROR_COMPILATION",
    [NVRTC_ERROR_BUILTIN_OPERATION_FAILURE] = "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    [NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION] =
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    [NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION] =
        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    [NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID] = "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    [NVRTC_ERROR_INTERNAL_ERROR] = "NVRTC_ERROR_INTERNAL_ERROR",
    [NVRTC_ERROR_TIME_FILE_WRITE_FAILED] = "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
    [NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED] = "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED",
    [NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED] = "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED",
    [NVRTC_ERROR_PCH_CREATE] = "NVRTC_ERROR_PCH_CREATE",
    [NVRTC_ERROR_CANCELLED] = "NVRTC_ERROR_CANCELLED",
    [NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED] = "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED",
};

/* ---- about the library */

HD_EXPORT const char *nvrtcGetErrorString(nvrtcResult result)
{
    return (unsigned)result < HD_COUNT_OF(error_names) ? error_names[result]
                                                       : "NVRTC_ERROR unknown";
}

HD_EXPORT nvrtcResult nvrtcVersion(int *major, int *minor)
{
    CHECK(major && minor, NVRTC_ERROR_INVALID_INPUT);
    *major = MAJOR;
    *minor = MINOR;
    return NVRTC_SUCCESS;
}

HD_EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int *numArchs)
{
    CHECK(numArchs, NVRTC_ERROR_INVALID_INPUT);
    *numArchs = (int)HD_COUNT_OF(archs);
    return NVRTC_SUCCESS;
}

HD_EXPORT nvrtcResult nvrtcGetSupportedArchs(int *supportedArchs)
{
    CHECK(supportedArchs, NVRTC_ERROR_INVALID_INPUT);
    memcpy(supportedArchs, archs, sizeof(archs));
    return NVRTC_SUCCESS;
}

/* ---- programs */

static void nvrtc_forget_results(struct _nvrtcProgram *p)
{
    hd_buf_fini(&p->log);
    hd_buf_fini(&p->ptx);
    hd_buf_fini(&p->image);
    hd_buf_init(&p->log);
    hd_buf_init(&p->ptx);
    hd_buf_init(&p->image);
    for (size_t i = 0; i < p->expressions.len; i++) {
        hd_free(p->expressions.at[i].lowered);
        p->expressions.at[i].lowered = NULL;
    }
    p->compiled = p->is_lto = p->has_cubin = false;
}

static void nvrtc_program_free(struct _nvrtcProgram *p)
{
    nvrtc_forget_results(p);
    for (size_t i = 0; i < p->headers.len; i++) {
        hd_free(p->headers.at[i].name);
        hd_free(p->headers.at[i].text);
    }
    for (size_t i = 0; i < p->expressions.len; i++)
        hd_free(p->expressions.at[i].text);
    hd_vec_fini(&p->headers);
    hd_vec_fini(&p->expressions);
    hd_free(p->source);
    hd_free(p->name);
    hd_free(p);
}

static bool nvrtc_add_header(struct _nvrtcProgram *p, const char *name, const char *text)
{
    struct rtc_header header = {hd_strdup(name), hd_strdup(text)};

    if (header.name && header.text && hd_vec_push(&p->headers, header))
        return true;
    hd_free(header.name);
    hd_free(header.text);
    return false;
}

HD_EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram *prog, const char *src, const char *name,
                                         int numHeaders, const char *const *headers,
                                         const char *const *includeNames)
{
    CHECK(prog && src && numHeaders >= 0 && (!numHeaders || (headers && includeNames)),
          NVRTC_ERROR_INVALID_INPUT);
    for (int i = 0; i < numHeaders; i++)
        CHECK(headers[i] && includeNames[i], NVRTC_ERROR_INVALID_INPUT);
    struct _nvrtcProgram *p = hd_new(struct _nvrtcProgram);
    CHECK(p, NVRTC_ERROR_OUT_OF_MEMORY);
    *p = (struct _nvrtcProgram){0};
    p->source = hd_strdup(src);
    p->name = hd_strdup(name && *name ? name : "default_program");
    bool worked = p->source && p->name;
    for (int i = 0; i < numHeaders && worked; i++)
        worked = nvrtc_add_header(p, includeNames[i], headers[i]);
    if (!worked) {
        nvrtc_program_free(p);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    *prog = p;
    return NVRTC_SUCCESS;
}

HD_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *prog)
{
    CHECK_PROGRAM(prog && *prog);
    nvrtc_program_free(*prog);
    *prog = NULL;
    return NVRTC_SUCCESS;
}

/* 1 asks to stop: looked at before the compiler, a program of its own, runs. */
static bool nvrtc_is_cancelled(const struct _nvrtcProgram *p)
{
    return p->flow && p->flow(p->flow_payload, NULL) == 1;
}

struct compile_args {
    nvrtcProgram prog;
    int noptions;
    const char *const *options;
};

static nvrtcResult nvrtc_compile(nvrtcProgram prog, int numOptions, const char *const *options)
{
    struct rtc_options o;

    CHECK_PROGRAM(prog);
    CHECK(numOptions >= 0 && (!numOptions || options), NVRTC_ERROR_INVALID_INPUT);
    nvrtc_forget_results(prog);
    nvrtcResult result = NVRTC_ERROR_INVALID_OPTION;
    if (rtc_options_read(&o, numOptions, options, &prog->log))
        result = nvrtc_is_cancelled(prog) ? NVRTC_ERROR_CANCELLED : rtc_build(prog, &o);
    rtc_options_fini(&o);
    prog->compiled = result == NVRTC_SUCCESS;
    return result;
}

HD_STACK_ENSURED(nvrtcResult, compile_anywhere, struct compile_args,
                 nvrtc_compile(a->prog, a->noptions, a->options))

HD_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions,
                                          const char *const *options)
{
    return compile_anywhere(&(struct compile_args){prog, numOptions, options});
}

HD_EXPORT nvrtcResult nvrtcSetFlowCallback(nvrtcProgram prog, int (*callback)(void *, void *),
                                           void *payload)
{
    CHECK_PROGRAM(prog);
    CHECK(callback, NVRTC_ERROR_INVALID_INPUT);
    prog->flow = callback;
    prog->flow_payload = payload;
    return NVRTC_SUCCESS;
}

/* ---- results */

/* What a program has of a kind: NULL when it was not compiled or not for this. */
typedef const struct hd_buf *(*result_of)(const struct _nvrtcProgram *p);

static const struct hd_buf *nvrtc_ptx_of(const struct _nvrtcProgram *p)
{
    return p->compiled ? &p->ptx : NULL;
}

static const struct hd_buf *nvrtc_cubin_of(const struct _nvrtcProgram *p)
{
    return p->compiled && p->has_cubin ? &p->image : NULL;
}

static const struct hd_buf *nvrtc_lto_of(const struct _nvrtcProgram *p)
{
    return p->compiled && p->is_lto ? &p->image : NULL;
}

static const struct hd_buf *nvrtc_log_of(const struct _nvrtcProgram *p)
{
    return &p->log;
}

/* Texts are counted and copied with their final NUL. */
static nvrtcResult nvrtc_size_of(nvrtcProgram prog, result_of of, bool is_text, size_t *out_size_B)
{
    CHECK_PROGRAM(prog);
    CHECK(out_size_B, NVRTC_ERROR_INVALID_INPUT);
    const struct hd_buf *have = of(prog);
    CHECK(have || prog->compiled, NVRTC_ERROR_INVALID_PROGRAM);
    *out_size_B = have ? have->len + is_text : 0;
    return NVRTC_SUCCESS;
}

static nvrtcResult nvrtc_copy_of(nvrtcProgram prog, result_of of, bool is_text, char *out)
{
    CHECK_PROGRAM(prog);
    CHECK(out, NVRTC_ERROR_INVALID_INPUT);
    const struct hd_buf *have = of(prog);
    CHECK(have, NVRTC_ERROR_INVALID_PROGRAM);
    if (have->len)
        memcpy(out, have->ptr, have->len);
    if (is_text)
        out[have->len] = '\0';
    return NVRTC_SUCCESS;
}

#define RESULT(name, of, is_text)                                                                  \
    HD_EXPORT nvrtcResult nvrtcGet##name##Size(nvrtcProgram prog, size_t *size)                    \
    {                                                                                              \
        return nvrtc_size_of(prog, of, is_text, size);                                             \
    }                                                                                              \
    HD_EXPORT nvrtcResult nvrtcGet##name(nvrtcProgram prog, char *out)                             \
    {                                                                                              \
        return nvrtc_copy_of(prog, of, is_text, out);                                              \
    }
RESULT(PTX, nvrtc_ptx_of, true)
RESULT(CUBIN, nvrtc_cubin_of, false)
RESULT(LTOIR, nvrtc_lto_of, false)
RESULT(ProgramLog, nvrtc_log_of, true)
#undef RESULT

static const struct hd_buf *nvrtc_optix_of(const struct _nvrtcProgram *p)
{
    return NULL; /* -optix-ir is refused */
}

HD_EXPORT nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram prog, size_t *optixirSizeRet)
{
    return nvrtc_size_of(prog, nvrtc_optix_of, false, optixirSizeRet);
}

HD_EXPORT nvrtcResult nvrtcGetOptiXIR(nvrtcProgram prog, char *optixir)
{
    return nvrtc_copy_of(prog, nvrtc_optix_of, false, optixir);
}

/* ---- names */

HD_EXPORT nvrtcResult nvrtcAddNameExpression(nvrtcProgram prog, const char *name_expression)
{
    CHECK_PROGRAM(prog);
    CHECK(name_expression, NVRTC_ERROR_INVALID_INPUT);
    CHECK(!prog->compiled, NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
    struct rtc_expression e = {.text = hd_strdup(name_expression)};
    if (e.text && hd_vec_push(&prog->expressions, e))
        return NVRTC_SUCCESS;
    hd_free(e.text);
    return NVRTC_ERROR_OUT_OF_MEMORY;
}

HD_EXPORT nvrtcResult nvrtcGetLoweredName(nvrtcProgram prog, const char *name_expression,
                                          const char **lowered_name)
{
    CHECK_PROGRAM(prog);
    CHECK(name_expression && lowered_name, NVRTC_ERROR_INVALID_INPUT);
    CHECK(prog->compiled, NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    for (size_t i = 0; i < prog->expressions.len; i++)
        if (!strcmp(prog->expressions.at[i].text, name_expression)) {
            *lowered_name = prog->expressions.at[i].lowered;
            return NVRTC_SUCCESS;
        }
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

/* ---- precompiled headers: the options that make them are refused */

HD_EXPORT nvrtcResult nvrtcGetPCHHeapSize(size_t *ret)
{
    CHECK(ret, NVRTC_ERROR_INVALID_INPUT);
    *ret = 0;
    return NVRTC_SUCCESS;
}

HD_EXPORT nvrtcResult nvrtcSetPCHHeapSize(size_t size)
{
    return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

HD_EXPORT nvrtcResult nvrtcGetPCHCreateStatus(nvrtcProgram prog)
{
    CHECK_PROGRAM(prog);
    return NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED;
}

HD_EXPORT nvrtcResult nvrtcGetPCHHeapSizeRequired(nvrtcProgram prog, size_t *size)
{
    CHECK_PROGRAM(prog);
    CHECK(size, NVRTC_ERROR_INVALID_INPUT);
    return NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED;
}
