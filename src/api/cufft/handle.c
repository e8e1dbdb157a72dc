/* Handles of cuFFT, and what a plan keeps. */
#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>

#include "api/cufft/fft.h"
#include "api/cufft/version.h"
#include "base/mem.h"

#define CUDART_VERSION_OF_US 13000

static const struct lib_status statuses[] = {
#define ROW(name) {name, #name},
    ROW(CUFFT_SUCCESS) ROW(CUFFT_INVALID_PLAN) ROW(CUFFT_ALLOC_FAILED) ROW(CUFFT_INVALID_TYPE)
        ROW(CUFFT_INVALID_VALUE) ROW(CUFFT_INTERNAL_ERROR) ROW(CUFFT_EXEC_FAILED)
            ROW(CUFFT_SETUP_FAILED) ROW(CUFFT_INVALID_SIZE) ROW(CUFFT_INVALID_DEVICE)
                ROW(CUFFT_NO_WORKSPACE) ROW(CUFFT_NOT_SUPPORTED)
#undef ROW
};

const struct lib_info fft_info = {.name = "cuFFT",
                                  .version = {CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH},
                                  .cudart = CUDART_VERSION_OF_US,
                                  .statuses = statuses,
                                  .nstatuses = HD_COUNT_OF(statuses),
                                  .unknown = "unknown"};

cufftResult fft_status(int cuda_result)
{
    switch (cuda_result) {
    case CUDA_SUCCESS:
        return CUFFT_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUFFT_ALLOC_FAILED;
    case CUDA_ERROR_NOT_SUPPORTED:
        return CUFFT_NOT_SUPPORTED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
        return CUFFT_SETUP_FAILED;
    default:
        return CUFFT_EXEC_FAILED;
    }
}

cufftResult fft_invalid(cufftResult status, const char *function, const char *what)
{
    lib_error(&fft_info, "%s: %s: %s", function, lib_status_name(&fft_info, (int)status), what);
    return status;
}

/* ---- handles: numbers from 1 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table */
static struct fft_plan **table;
static int table_size;

struct fft_plan *fft_plan_of(cufftHandle handle)
{
    struct fft_plan *plan = NULL;

    pthread_mutex_lock(&lock);
    if (handle > 0 && handle <= table_size)
        plan = table[handle - 1];
    pthread_mutex_unlock(&lock);
    return plan;
}

static cufftHandle table_add(struct fft_plan *plan)
{
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < table_size && table[i])
        i++;
    if (i == table_size) {
        int size = table_size ? 2 * table_size : 16;
        struct fft_plan **larger = realloc(table, (size_t)size * sizeof(*table));
        if (larger) {
            for (int k = table_size; k < size; k++)
                larger[k] = NULL;
            table = larger;
            table_size = size;
        }
    }
    if (i < table_size)
        table[i] = plan;
    else
        i = -1;
    pthread_mutex_unlock(&lock);
    return i + 1;
}

cufftResult cufftCreate(cufftHandle *handle)
{
    if (!handle)
        return CUFFT_INVALID_VALUE;
    *handle = 0;
    int result = lib_context();
    if (result)
        return fft_status(result);
    struct fft_plan *plan = hd_new(struct fft_plan);
    if (!plan)
        return CUFFT_ALLOC_FAILED;
    lib_handle_init(&plan->base, &fft_info);
    atomic_init(&plan->references, 1);
    plan->keeps_work = true;
    *handle = table_add(plan);
    if (*handle)
        return CUFFT_SUCCESS;
    hd_free(plan);
    return CUFFT_ALLOC_FAILED;
}

void fft_plan_unref(struct fft_plan *plan)
{
    if (atomic_fetch_sub(&plan->references, 1) > 1)
        return;
    const struct klib *klib = lib_klib(&fft_info);
    for (int i = 0; klib && i < FFT_RANK; i++)
        klib->fft->destroy(plan->passes[i].plan);
    free(plan->own_work);
    hd_free(plan);
}

/*
 * Is the work done that was launched with the plan? Where it cannot be known, as its stream is gone
 * or is being captured, the plan is kept for good: its tables must not go while they are read.
 */
static bool is_idle(struct fft_plan *plan)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    if (!plan->has_run)
        return true;
    if (plan->has_run_elsewhere)
        return !cuCtxSynchronize();
    if (cuStreamIsCapturing(plan->base.stream, &status) || status != CU_STREAM_CAPTURE_STATUS_NONE)
        return false;
    return !lib_wait(&plan->base) || !cuCtxSynchronize();
}

cufftResult cufftDestroy(cufftHandle handle)
{
    struct fft_plan *plan = NULL;

    pthread_mutex_lock(&lock);
    if (handle > 0 && handle <= table_size) {
        plan = table[handle - 1];
        table[handle - 1] = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    if (is_idle(plan))
        fft_plan_unref(plan);
    return CUFFT_SUCCESS;
}

/* ---- what a plan keeps */

#define PLAN_OR_FAIL(plan, handle)                                                                 \
    struct fft_plan *plan = fft_plan_of(handle);                                                   \
    if (!plan)                                                                                     \
    return fft_invalid(CUFFT_INVALID_PLAN, __func__, "there is no such plan")

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    PLAN_OR_FAIL(plan, handle);
    if (plan->has_run && plan->base.stream != stream)
        plan->has_run_elsewhere = true;
    plan->base.stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *workArea)
{
    PLAN_OR_FAIL(plan, handle);
    plan->work = workArea;
    return CUFFT_SUCCESS;
}

cufftResult cufftXtSetWorkArea(cufftHandle handle, void **workArea)
{
    PLAN_OR_FAIL(plan, handle);
    if (!workArea)
        return CUFFT_INVALID_VALUE;
    plan->work = workArea[0];
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int autoAllocate)
{
    PLAN_OR_FAIL(plan, handle);
    plan->keeps_work = autoAllocate != 0;
    return CUFFT_SUCCESS;
}

cufftResult cufftGetSize(cufftHandle handle, size_t *workSize)
{
    PLAN_OR_FAIL(plan, handle);
    if (!workSize)
        return CUFFT_INVALID_VALUE;
    *workSize = plan->work_B;
    return CUFFT_SUCCESS;
}

/* Every policy has the same need. */
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy,
                                     size_t *workSize)
{
    PLAN_OR_FAIL(plan, handle);
    if (!plan->is_made)
        return fft_invalid(CUFFT_INVALID_PLAN, __func__, "the plan has not been made");
    switch (policy) {
    case CUFFT_WORKAREA_USER:
        if (!workSize)
            return CUFFT_INVALID_VALUE;
        return *workSize < plan->work_B ? CUFFT_INVALID_SIZE : CUFFT_SUCCESS;
    case CUFFT_WORKAREA_MINIMAL:
    case CUFFT_WORKAREA_PERFORMANCE:
        if (workSize)
            *workSize = plan->work_B;
        return CUFFT_SUCCESS;
    }
    return CUFFT_INVALID_VALUE;
}

static bool is_property(cufftProperty property)
{
    return property == NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT ||
           property == NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS;
}

/* They tell how plans are made, which is always the same here. */
cufftResult cufftSetPlanPropertyInt64(cufftHandle handle, cufftProperty property,
                                      const long long int inputValueInt)
{
    PLAN_OR_FAIL(plan, handle);
    if (!is_property(property))
        return CUFFT_INVALID_VALUE;
    if (plan->is_made)
        return fft_invalid(CUFFT_INVALID_PLAN, __func__, "the plan has been made");
    plan->properties[property] = inputValueInt;
    return CUFFT_SUCCESS;
}

cufftResult cufftGetPlanPropertyInt64(cufftHandle handle, cufftProperty property,
                                      long long int *returnPtrValue)
{
    PLAN_OR_FAIL(plan, handle);
    if (!is_property(property) || !returnPtrValue)
        return CUFFT_INVALID_VALUE;
    *returnPtrValue = plan->properties[property];
    return CUFFT_SUCCESS;
}

cufftResult cufftResetPlanProperty(cufftHandle handle, cufftProperty property)
{
    return cufftSetPlanPropertyInt64(handle, property, 0);
}

/* ---- versions */

cufftResult cufftGetVersion(int *version)
{
    if (!version)
        return CUFFT_INVALID_VALUE;
    *version = fft_version[0] * 1000 + fft_version[1] * 100 + fft_version[2];
    return CUFFT_SUCCESS;
}

cufftResult cufftGetProperty(libraryPropertyType type, int *value)
{
    if (!value || (unsigned)type > PATCH_LEVEL)
        return CUFFT_INVALID_VALUE;
    *value = fft_version[type];
    return CUFFT_SUCCESS;
}
