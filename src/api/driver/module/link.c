/* Links: several inputs become one image. */
#include "core/module/link.h"

#include "api/driver/driver.h"
#include "api/driver/module/jit.h"
#include "base/mem.h"

static CUresult link_create(const char *name, unsigned count, CUjit_option *options, void **values,
                            CUlinkState *out)
{
    struct core_link *link;
    struct drv_jit given, *jit;
    CUresult result;

    API_CALL_NAMED(name);
    API_CHECK(out);
    API_CONTEXT(ctx);
    (void)ctx;
    result = drv_jit_begin(&given, count, options, values);
    if (result != CUDA_SUCCESS)
        return result;
    jit = drv_jit_keep(&given);
    if (!jit)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
    result = drv_result(core_link_create(jit, &link));
    if (result != CUDA_SUCCESS) {
        hd_free(jit);
        return result;
    }
    DRV_GIVE(link, out, link);
    return CUDA_SUCCESS;
}

CUresult drv_cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
    return link_create("cuLinkCreate_v2", count, options, values, out);
}

CUresult drv_cuLinkCreate(unsigned count, CUjit_option *options, void **values, CUlinkState *out)
{
    return link_create("cuLinkCreate", count, options, values, out);
}

/* Calls of one link measure their time one after the other. */
static struct drv_jit *jit_of(struct core_link *link)
{
    struct drv_jit *jit = link->options;

    drv_jit_resume(jit);
    return jit;
}

static CUresult add_data(const char *name, CUlinkState state, CUjitInputType type, void *data,
                         size_t size, const char *input, unsigned count, CUjit_option *options,
                         void **values)
{
    struct drv_jit *jit;
    CUresult result;

    API_CALL_NAMED(name);
    API_CHECK(data && size);
    API_CHECK((unsigned)type < CU_JIT_NUM_INPUT_TYPES);
    API_HANDLE(link, link, state);
    /* What a call adds to the options of the link: hints for this input. Answers are the link's. */
    struct drv_jit unused;
    result = drv_jit_begin(&unused, count, options, values);
    if (result != CUDA_SUCCESS)
        return result;
    jit = jit_of(link);
    enum hd_status status =
        core_link_add(link, (enum core_link_input)type, data, size, input ? input : "<unnamed>");
    return drv_jit_end(jit, name, status, NULL);
}

CUresult drv_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                              const char *input, unsigned count, CUjit_option *options,
                              void **values)
{
    return add_data("cuLinkAddData_v2", state, type, data, size, input, count, options, values);
}

CUresult drv_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                           const char *input, unsigned count, CUjit_option *options, void **values)
{
    return add_data("cuLinkAddData", state, type, data, size, input, count, options, values);
}

static CUresult add_file(const char *name, CUlinkState state, CUjitInputType type, const char *path,
                         unsigned count, CUjit_option *options, void **values)
{
    CUresult result;
    size_t size_B;
    char *bytes;

    API_CALL_NAMED(name);
    API_CHECK(path);
    result = drv_read_file(path, &bytes, &size_B);
    if (result != CUDA_SUCCESS)
        return result;
    result = add_data(name, state, type, bytes, size_B, path, count, options, values);
    hd_free(bytes);
    return result;
}

CUresult drv_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                              unsigned count, CUjit_option *options, void **values)
{
    return add_file("cuLinkAddFile_v2", state, type, path, count, options, values);
}

CUresult drv_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
                           CUjit_option *options, void **values)
{
    return add_file("cuLinkAddFile", state, type, path, count, options, values);
}

CUresult drv_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    struct hd_buf missing;
    const void *image;
    struct drv_jit *jit;
    size_t image_B;
    CUresult result;

    API_CALL(cuLinkComplete);
    API_CHECK(cubin);
    API_HANDLE(link, link, state);
    jit = jit_of(link);
    hd_buf_init(&missing);
    const struct core_link_used used = {
        .kernels = jit->kernels.at,
        .nkernels = jit->kernels.count,
        .variables = jit->variables.at,
        .nvariables = jit->variables.count,
        .drops_variables = jit->drops_variables,
    };
    enum hd_status status =
        core_link_complete(link, jit->lto ? &used : NULL, &image, &image_B, &missing);
    if (status == HD_OK) {
        *cubin = (void *)(uintptr_t)image;
        if (size)
            *size = image_B;
    }
    result = drv_jit_end(jit, api_name_, status, missing.len ? missing.ptr : NULL);
    hd_buf_fini(&missing);
    return result;
}

CUresult drv_cuLinkDestroy(CUlinkState state)
{
    API_CALL(cuLinkDestroy);
    API_HANDLE(link, link, state);
    API_CHECK(core_link_destroy(link));
    return CUDA_SUCCESS;
}
