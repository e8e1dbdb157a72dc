/* See nvjitlink.h. */
#include "api/nvjitlink/nvjitlink.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/nvjitlink/exports.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stack.h"
#include "base/vec.h"
#include "cuda_version.h"
#include "linker/linker.h"

#define FILE_MAX_B ((size_t)1 << 31)

/* ---- life */

nvJitLinkResult jl_Create(nvJitLinkHandle *handle, uint32_t count, const char **options)
{
    struct nvJitLink *link;
    nvJitLinkResult result;

    if (!handle || (count && !options))
        return NVJITLINK_ERROR_NULL_INPUT;
    link = hd_new(struct nvJitLink);
    if (!link)
        return NVJITLINK_ERROR_INTERNAL;
    hd_buf_init(&link->image);
    hd_buf_init(&link->ltoir);
    hd_buf_init(&link->ptx);
    hd_buf_init(&link->error);
    hd_buf_init(&link->info);
    link->only_ltoir = true;
    result = jl_options_read(link, count, options);
    link->refused = result != NVJITLINK_SUCCESS;
    *handle = link;
    return result;
}

static void nvjitlink_names_fini(jl_names *names)
{
    for (size_t i = 0; i < names->len; i++)
        hd_free(names->at[i]);
    hd_vec_fini(names);
}

nvJitLinkResult jl_Destroy(nvJitLinkHandle *handle)
{
    if (!handle || !*handle)
        return NVJITLINK_ERROR_NULL_INPUT;
    obj_ptx_list_fini(&(*handle)->inputs);
    nvjitlink_names_fini(&(*handle)->options.kernels);
    nvjitlink_names_fini(&(*handle)->options.variables);
    hd_buf_fini(&(*handle)->image);
    hd_buf_fini(&(*handle)->ltoir);
    hd_buf_fini(&(*handle)->ptx);
    hd_buf_fini(&(*handle)->error);
    hd_buf_fini(&(*handle)->info);
    hd_free(*handle);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

/* 12.9 is the last release of 12. */
nvJitLinkResult jl_Version12(unsigned *out_major, unsigned *out_minor)
{
    if (!out_major || !out_minor)
        return NVJITLINK_ERROR_NULL_INPUT;
    *out_major = 12;
    *out_minor = 9;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult jl_Version13(unsigned *out_major, unsigned *out_minor)
{
    if (!out_major || !out_minor)
        return NVJITLINK_ERROR_NULL_INPUT;
    *out_major = __CUDA_API_VER_MAJOR__;
    *out_minor = __CUDA_API_VER_MINOR__;
    return NVJITLINK_SUCCESS;
}

/* ---- inputs */

/* By nvJitLinkInputType; LINKER_INPUT_COUNT: told by the bytes. */
static const struct input {
    const char *name;
    enum linker_input kind;
} inputs[] = {
    [NVJITLINK_INPUT_CUBIN] = {"CUBIN", LINKER_CUBIN},
    [NVJITLINK_INPUT_PTX] = {"PTX", LINKER_PTX},
    [NVJITLINK_INPUT_LTOIR] = {"LTOIR", LINKER_LTOIR},
    [NVJITLINK_INPUT_FATBIN] = {"FATBIN", LINKER_FATBIN},
    [NVJITLINK_INPUT_OBJECT] = {"OBJECT", LINKER_OBJECT},
    [NVJITLINK_INPUT_LIBRARY] = {"LIBRARY", LINKER_LIBRARY},
    [NVJITLINK_INPUT_ANY] = {"ANY", LINKER_INPUT_COUNT},
};

/* What linker_read() says, of this kind of input. */
static nvJitLinkResult nvjitlink_read_result(enum hd_status status, enum linker_input kind)
{
    switch ((int)status) {
    case HD_BAD_PTX:
    case HD_BAD_VERSION:
        return NVJITLINK_ERROR_PTX_COMPILE;
    case HD_NO_IMAGE:
        return kind == LINKER_PTX     ? NVJITLINK_ERROR_PTX_COMPILE
               : kind == LINKER_CUBIN ? NVJITLINK_ERROR_INVALID_INPUT
                                      : NVJITLINK_ERROR_MISSING_FATBIN;
    case HD_NOT_SUPPORTED:
        return kind == LINKER_LTOIR ? NVJITLINK_ERROR_NVVM_COMPILE : NVJITLINK_ERROR_PTX_COMPILE;
    case HD_NO_MEMORY:
        return NVJITLINK_ERROR_INTERNAL;
    default:
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
}

/* LTO-IR of ours is a linked image, and some programs hand PTX over as LTO-IR's replacement. */
static enum linker_input nvjitlink_kind_find(nvJitLinkInputType type, enum linker_input is)
{
    if (type == NVJITLINK_INPUT_ANY)
        return is;
    if (type == NVJITLINK_INPUT_LTOIR && is == LINKER_CUBIN)
        return LINKER_CUBIN;
    return inputs[type].kind;
}

static nvJitLinkResult nvjitlink_input_refuse(struct nvJitLink *link, nvJitLinkInputType type,
                                              const char *name)
{
    if (type == NVJITLINK_INPUT_INDEX)
        return jl_fail(link, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                       "%s: NVJITLINK_INPUT_INDEX is not supported: add the PTX, or the library "
                       "that the index belongs to",
                       name);
    if ((unsigned)type >= HD_COUNT_OF(inputs) || !inputs[type].name)
        return jl_fail(link, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE, "%s: unsupported input type %d",
                       name, (int)type);
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult nvjitlink_modules_add(struct nvJitLink *link, struct obj_ptx_list *list)
{
    if (!hd_vec_reserve(&link->inputs, link->inputs.len + list->len + 1))
        return jl_fail(link, NVJITLINK_ERROR_INTERNAL, "out of memory");
    for (size_t i = 0; i < list->len; i++)
        link->inputs.at[link->inputs.len++] = list->at[i];
    list->len = 0;
    return NVJITLINK_SUCCESS;
}

/* Messages about PTX have ptxas's last line, which programs look for. */
static nvJitLinkResult nvjitlink_input_read(struct nvJitLink *link, enum linker_input kind,
                                            const void *data, size_t size, const char *name)
{
    struct obj_ptx_list list = {0};
    enum hd_status status = linker_read(kind, data, size, name, link->options.cc, &list);
    nvJitLinkResult result =
        status == HD_OK ? nvjitlink_modules_add(link, &list) : nvjitlink_read_result(status, kind);

    if (status != HD_OK)
        jl_fail(link, result, "error   : %s", hd_error_message());
    if (result == NVJITLINK_ERROR_PTX_COMPILE)
        jl_fail(link, result, "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (%s)", name);
    obj_ptx_list_fini(&list);
    return result;
}

static nvJitLinkResult nvjitlink_add(struct nvJitLink *link, nvJitLinkInputType type,
                                     const void *data, size_t size, const char *name)
{
    nvJitLinkResult result = nvjitlink_input_refuse(link, type, name);
    enum linker_input is, kind;

    if (result != NVJITLINK_SUCCESS)
        return result;
    if (!data || !size)
        return jl_fail(link, NVJITLINK_ERROR_INVALID_INPUT, "%s: the input is empty", name);
    is = linker_input_detect(data, size);
    kind = nvjitlink_kind_find(type, is);
    if (kind == LINKER_INPUT_COUNT)
        return jl_fail(link, NVJITLINK_ERROR_UNRECOGNIZED_INPUT, "unrecognized input type: %s",
                       name);
    if (kind != LINKER_LTOIR && kind != is)
        return jl_fail(link, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                       "%s: bad input: does not match type NVJITLINK_INPUT_%s", name,
                       inputs[type].name);
    if (type == NVJITLINK_INPUT_LTOIR && !link->options.lto)
        return jl_fail(link, NVJITLINK_ERROR_LTO_NOT_ENABLED, "%s: LTO-IR needs the option -lto",
                       name);
    result = nvjitlink_input_read(link, kind, data, size, name);
    if (result == NVJITLINK_SUCCESS)
        link->only_ltoir &= type == NVJITLINK_INPUT_LTOIR;
    return result;
}

/* The state that both ways of adding need. */
static nvJitLinkResult nvjitlink_add_check(struct nvJitLink *link)
{
    if (!link)
        return NVJITLINK_ERROR_NULL_INPUT;
    if (link->refused)
        return jl_fail(link, NVJITLINK_ERROR_INTERNAL, "the options were refused");
    if (link->complete)
        return jl_fail(link, NVJITLINK_ERROR_INVALID_INPUT,
                       "the link is complete: nothing can be added");
    return NVJITLINK_SUCCESS;
}

/* Of either way to add. */
struct add_args {
    nvJitLinkHandle handle;
    nvJitLinkInputType type;
    const void *bytes;
    size_t size_B;
    const char *name;
    bool is_file;
};

static nvJitLinkResult nvjitlink_add_data(nvJitLinkHandle handle, nvJitLinkInputType type,
                                          const void *data, size_t size, const char *name)
{
    nvJitLinkResult result = nvjitlink_add_check(handle);

    return result == NVJITLINK_SUCCESS
               ? nvjitlink_add(handle, type, data, size, name ? name : "<unnamed>")
               : result;
}

static nvJitLinkResult nvjitlink_add_file(nvJitLinkHandle handle, nvJitLinkInputType type,
                                          const char *path)
{
    nvJitLinkResult result = nvjitlink_add_check(handle);
    struct hd_buf file;

    if (result != NVJITLINK_SUCCESS)
        return result;
    if (!path)
        return NVJITLINK_ERROR_NULL_INPUT;
    hd_buf_init(&file);
    if (hd_file_read(path, FILE_MAX_B, &file) != HD_OK)
        result = jl_fail(handle, NVJITLINK_ERROR_INVALID_INPUT, "%s", hd_error_message());
    else
        result = nvjitlink_add(handle, type, file.ptr, file.len, path);
    hd_buf_fini(&file);
    return result;
}

HD_STACK_ENSURED(nvJitLinkResult, add_anywhere, struct add_args,
                 a->is_file ? nvjitlink_add_file(a->handle, a->type, a->name)
                            : nvjitlink_add_data(a->handle, a->type, a->bytes, a->size_B, a->name))

nvJitLinkResult jl_AddData(nvJitLinkHandle handle, nvJitLinkInputType type, const void *data,
                           size_t size, const char *name)
{
    return add_anywhere(&(struct add_args){handle, type, data, size, name, false});
}

nvJitLinkResult jl_AddFile(nvJitLinkHandle handle, nvJitLinkInputType type, const char *path)
{
    return add_anywhere(&(struct add_args){handle, type, NULL, 0, path, true});
}

/* ---- the result */

static nvJitLinkResult nvjitlink_image_make(struct nvJitLink *link)
{
    static char empty[] = ".version 7.0\n.target sm_50\n.address_size 64\n", none[] = "";
    struct obj_ptx nothing = {.text = empty, .len = strlen(empty), .arch = 50, .options = none};
    struct obj_ptx_list of_nothing = {.at = &nothing, .len = 1, .cap = 1};
    const struct obj_ptx_list *what = link->inputs.len ? &link->inputs : &of_nothing;
    const struct jl_options *options = &link->options;
    const struct obj_used used = {
        .kernels = {(const char *const *)options->kernels.at, options->kernels.len},
        .variables = {(const char *const *)options->variables.at, options->variables.len},
        .drops_variables = options->drops_variables,
    };
    struct obj_removed removed = {0};
    struct hd_buf missing;
    nvJitLinkResult result = NVJITLINK_SUCCESS;

    nothing.source = none;
    hd_buf_init(&missing);
    if ((options->lto && link->inputs.len &&
         linker_image(what, options->cc, NULL, NULL, &link->ltoir, &missing) != HD_OK) ||
        linker_image(what, options->cc, options->lto && link->inputs.len ? &used : NULL, &removed,
                     &link->image, &missing) != HD_OK) {
        result = NVJITLINK_ERROR_INTERNAL;
        if (missing.len)
            hd_buf_puts(&link->error, missing.ptr);
        else
            jl_fail(link, result, "error   : %s", hd_error_message());
        hd_buf_clear(&link->image);
        hd_buf_clear(&link->ltoir);
    }
    if (result == NVJITLINK_SUCCESS && options->lto && options->verbose)
        hd_buf_printf(&link->info,
                      "info    : removed %u kernels, %u functions, %u variables that are unused\n",
                      removed.kernels, removed.functions, removed.variables);
    hd_buf_fini(&missing);
    return result;
}

/* Names that modules share would need new ones in a text of all of them. */
static nvJitLinkResult nvjitlink_ptx_make(struct nvJitLink *link)
{
    const struct obj_ptx *ptx = link->inputs.at;

    if (!link->only_ltoir)
        return jl_fail(link, NVJITLINK_ERROR_INCORRECT_INPUT_TYPE,
                       "-ptx requires that all inputs are LTO-IR");
    if (link->inputs.len != 1)
        return jl_fail(link, NVJITLINK_ERROR_INTERNAL,
                       "-ptx: one PTX text of %zu modules is not implemented: link to a cubin",
                       link->inputs.len);
    hd_buf_append(&link->ptx, ptx->text, ptx->len);
    hd_buf_putc(&link->ptx, '\0');
    return link->ptx.failed ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_SUCCESS;
}

static double nvjitlink_now_ms(void)
{
    return (double)hd_clock_ns(CLOCK_MONOTONIC) / 1e6;
}

static nvJitLinkResult nvjitlink_complete(nvJitLinkHandle handle)
{
    nvJitLinkResult result;
    double start_ms = nvjitlink_now_ms();

    if (!handle)
        return NVJITLINK_ERROR_NULL_INPUT;
    if (handle->refused)
        return jl_fail(handle, NVJITLINK_ERROR_INTERNAL, "the options were refused");
    if (handle->complete)
        return NVJITLINK_SUCCESS;
    result = nvjitlink_image_make(handle);
    if (result == NVJITLINK_SUCCESS && handle->options.ptx)
        result = nvjitlink_ptx_make(handle);
    handle->complete = result == NVJITLINK_SUCCESS;
    if (handle->options.verbose)
        hd_buf_printf(&handle->info, "info    : %zu modules, %zu bytes linked\n",
                      handle->inputs.len, handle->image.len);
    if (handle->options.time)
        hd_buf_printf(&handle->info, "nvJitLink time until Complete: %f\n",
                      nvjitlink_now_ms() - start_ms);
    return result;
}

HD_STACK_ENSURED(nvJitLinkResult, complete_anywhere, nvJitLinkHandle, nvjitlink_complete(*a))

nvJitLinkResult jl_Complete(nvJitLinkHandle handle)
{
    return complete_anywhere(&handle);
}

/* The image, or why there is none. */
static nvJitLinkResult nvjitlink_image_get(const struct nvJitLink *link, const void *out)
{
    if (!link || !out)
        return NVJITLINK_ERROR_NULL_INPUT;
    return link->complete ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

nvJitLinkResult jl_GetLinkedCubinSize(nvJitLinkHandle handle, size_t *out_size)
{
    nvJitLinkResult result = nvjitlink_image_get(handle, out_size);

    if (result == NVJITLINK_SUCCESS)
        *out_size = handle->image.len;
    return result;
}

nvJitLinkResult jl_GetLinkedCubin(nvJitLinkHandle handle, void *out_cubin)
{
    nvJitLinkResult result = nvjitlink_image_get(handle, out_cubin);

    if (result == NVJITLINK_SUCCESS)
        memcpy(out_cubin, handle->image.ptr, handle->image.len);
    return result;
}

static nvJitLinkResult nvjitlink_ptx_get(struct nvJitLink *link, const void *out)
{
    nvJitLinkResult result = nvjitlink_image_get(link, out);

    if (result != NVJITLINK_ERROR_NULL_INPUT && !link->options.ptx)
        return jl_fail(link, NVJITLINK_ERROR_INVALID_INPUT,
                       "there is no linked PTX without -lto -ptx");
    return result;
}

nvJitLinkResult jl_GetLinkedPtxSize(nvJitLinkHandle handle, size_t *out_size)
{
    nvJitLinkResult result = nvjitlink_ptx_get(handle, out_size);

    if (result == NVJITLINK_SUCCESS)
        *out_size = handle->ptx.len;
    return result;
}

nvJitLinkResult jl_GetLinkedPtx(nvJitLinkHandle handle, char *out_ptx)
{
    nvJitLinkResult result = nvjitlink_ptx_get(handle, out_ptx);

    if (result == NVJITLINK_SUCCESS)
        memcpy(out_ptx, handle->ptx.ptr, handle->ptx.len);
    return result;
}

static nvJitLinkResult nvjitlink_ltoir_get(struct nvJitLink *link, const void *out)
{
    nvJitLinkResult result = nvjitlink_image_get(link, out);

    if (result == NVJITLINK_SUCCESS && !link->options.lto)
        return jl_fail(link, NVJITLINK_ERROR_INVALID_INPUT,
                       "there is no linked LTO-IR without -lto");
    return result;
}

nvJitLinkResult jl_GetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *out_size)
{
    nvJitLinkResult result = nvjitlink_ltoir_get(handle, out_size);

    if (result == NVJITLINK_SUCCESS)
        *out_size = handle->ltoir.len;
    return result;
}

nvJitLinkResult jl_GetLinkedLTOIR(nvJitLinkHandle handle, void *out_ltoir)
{
    nvJitLinkResult result = nvjitlink_ltoir_get(handle, out_ltoir);

    if (result == NVJITLINK_SUCCESS && handle->ltoir.len)
        memcpy(out_ltoir, handle->ltoir.ptr, handle->ltoir.len);
    return result;
}

/* ---- logs: with their NUL, or empty */

static nvJitLinkResult nvjitlink_log_size(const struct hd_buf *log, size_t *out_size)
{
    *out_size = log->len ? log->len + 1 : 0;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult nvjitlink_log_copy(const struct hd_buf *log, char *out_log)
{
    if (log->len)
        memcpy(out_log, log->ptr, log->len + 1);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult jl_GetErrorLogSize(nvJitLinkHandle handle, size_t *out_size)
{
    return handle && out_size ? nvjitlink_log_size(&handle->error, out_size)
                              : NVJITLINK_ERROR_NULL_INPUT;
}

nvJitLinkResult jl_GetErrorLog(nvJitLinkHandle handle, char *out_log)
{
    return handle && out_log ? nvjitlink_log_copy(&handle->error, out_log)
                             : NVJITLINK_ERROR_NULL_INPUT;
}

nvJitLinkResult jl_GetInfoLogSize(nvJitLinkHandle handle, size_t *out_size)
{
    return handle && out_size ? nvjitlink_log_size(&handle->info, out_size)
                              : NVJITLINK_ERROR_NULL_INPUT;
}

nvJitLinkResult jl_GetInfoLog(nvJitLinkHandle handle, char *out_log)
{
    return handle && out_log ? nvjitlink_log_copy(&handle->info, out_log)
                             : NVJITLINK_ERROR_NULL_INPUT;
}
