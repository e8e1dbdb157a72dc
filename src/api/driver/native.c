/* Native kernels: kernels whose code is a function of the host (heddle/native.h). */
#include "heddle/native.h"

#include <fnmatch.h>

#include "api/driver/driver.h"
#include "base/mem.h"

#define PARAMS_MAX_B 4096u

struct heddle_native_kernel {
    struct core_library *library; /* both are references */
    struct core_image *image;     /* the library's */
    struct core_kernel *kernel;
};

static CUresult kernel_fill(struct heddle_native_kernel *native, const struct heddle_native *desc,
                            const char *api_name_)
{
    const struct core_entry *entry;
    enum hd_status status;

    status = core_image_load_native(desc, &native->image, &entry);
    if (status != HD_OK)
        return drv_code_result(api_name_, status);
    status = core_library_create_of(native->image, &native->library);
    if (status != HD_OK) {
        core_image_unref(native->image);
        return drv_result(status);
    }
    return drv_result(core_library_kernel_at(native->library, entry->position, &native->kernel));
}

static void kernel_free(struct heddle_native_kernel *native)
{
    if (native->kernel)
        core_kernel_unref(native->kernel);
    if (native->library) {
        core_library_destroy(native->library);
        core_library_unref(native->library);
    }
    hd_free(native);
}

HD_EXPORT int heddle_native_register(const struct heddle_native *desc,
                                     struct heddle_native_kernel **out_kernel)
{
    struct heddle_native_kernel *native;
    CUresult result;

    API_CALL_ANY(heddle_native_register);
    API_CHECK(desc && out_kernel);
    API_CHECK(desc->size_B >= offsetof(struct heddle_native, describe) && !desc->reserved);
    API_CHECK(desc->name && *desc->name && desc->function);
    API_CHECK(desc->flags < HEDDLE_NATIVE_FLAGS_END);
    API_CHECK(!(desc->flags & (HEDDLE_NATIVE_WAIT | HEDDLE_NATIVE_RECOVERS)) ||
              desc->flags & HEDDLE_NATIVE_INLINE);
    API_CHECK(desc->ptx ? !desc->params_B : !desc->entry && desc->params_B <= PARAMS_MAX_B);
    API_TRY(drv_cuInit(0));
    native = hd_new(struct heddle_native_kernel);
    if (!native)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = kernel_fill(native, desc, api_name_);
    if (result == CUDA_SUCCESS)
        *out_kernel = native;
    else
        kernel_free(native);
    return result;
}

HD_EXPORT int heddle_native_get_function(struct heddle_native_kernel *native,
                                         CUfunction *out_function)
{
    struct core_function *function;
    enum hd_status status;

    API_CALL(heddle_native_get_function);
    API_CHECK(native && out_function);
    API_CONTEXT(ctx);
    status = core_kernel_function(native->kernel, ctx, &function);
    if (status == HD_OK)
        DRV_GIVE(function, out_function, function);
    return drv_code_result(api_name_, status);
}

HD_EXPORT int heddle_native_get_kernel(struct heddle_native_kernel *native, CUkernel *out_kernel)
{
    API_CALL(heddle_native_get_kernel);
    API_CHECK(native && out_kernel);
    *out_kernel = core_kernel_handle(native->kernel);
    return CUDA_SUCCESS;
}

/* First nothing begins any more, then what has begun is waited for. */
HD_EXPORT int heddle_native_unregister(struct heddle_native_kernel *native)
{
    API_CALL(heddle_native_unregister);
    API_CHECK(native);
    core_image_withdraw_native(native->image);
    kernel_free(native);
    return CUDA_SUCCESS;
}

/* ---- kernels that stand in for those of programs */

/* Never freed, nor changed once it is in the list. */
struct stand_in {
    struct stand_in *next;
    CUkernel kernel;
    char symbol[];
};

static _Atomic(struct stand_in *) stand_ins; /* the latest first */

HD_EXPORT int heddle_native_stand_in(const char *symbol, CUkernel kernel)
{
    struct stand_in *s;
    size_t size_B;

    API_CALL(heddle_native_stand_in);
    API_CHECK(symbol && *symbol);
    API_HANDLE(kernel, held, kernel);
    size_B = strlen(symbol) + 1;
    s = hd_alloc(sizeof(*s) + size_B);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->kernel = kernel;
    memcpy(s->symbol, symbol, size_B);
    s->next = atomic_load(&stand_ins);
    while (!atomic_compare_exchange_weak(&stand_ins, &s->next, s))
        ;
    return CUDA_SUCCESS;
}

HD_EXPORT CUkernel heddle_native_standing_in(const char *symbol)
{
    for (struct stand_in *s = atomic_load(&stand_ins); s; s = s->next)
        if (!fnmatch(s->symbol, symbol, FNM_NOESCAPE))
            return s->kernel;
    return NULL;
}
