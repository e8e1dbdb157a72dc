/* Numbers of contexts, devices, streams; names that records point to. */
#include <cuda.h>
#include <pthread.h>

#include "api/cupti/cupti.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

#define CONTEXTS 256u

/* Contexts that were seen, by handle modulo CONTEXTS; id and device in one word. */
static struct {
    _Atomic uintptr_t handle;
    _Atomic uint64_t value;
} contexts[CONTEXTS];

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(names_lock, names_lock);
static struct hd_map names; /* text -> itself; names_lock */
static size_t names_B;      /* names_lock */
#define NAMES_MAX_B ((size_t)64 << 20)

static size_t place_of(const void *handle)
{
    return ((uintptr_t)handle >> 4) % CONTEXTS;
}

struct cupti_context cupti_context_known(void *handle)
{
    size_t i = place_of(handle);
    uint64_t value;

    if (!handle || atomic_load(&contexts[i].handle) != (uintptr_t)handle)
        return (struct cupti_context){0};
    value = atomic_load(&contexts[i].value);
    return (struct cupti_context){(uint32_t)value, (uint32_t)(value >> 32)};
}

/* A context that was reset has another id: it is asked for each time. */
struct cupti_context cupti_context_of(void *handle)
{
    size_t i = place_of(handle);
    unsigned long long id;
    CUdevice device = 0;

    if (!handle || cuCtxGetId(handle, &id) != CUDA_SUCCESS)
        return (struct cupti_context){0};
    if (cuCtxGetDevice_v2(&device, handle) != CUDA_SUCCESS)
        device = 0;
    atomic_store(&contexts[i].handle, 0);
    atomic_store(&contexts[i].value, (uint64_t)(uint32_t)device << 32 | (uint32_t)id);
    atomic_store(&contexts[i].handle, (uintptr_t)handle);
    return (struct cupti_context){(uint32_t)id, (uint32_t)device};
}

uint32_t cupti_stream_of(void *stream)
{
    unsigned long long id;

    return cuStreamGetId(stream, &id) == CUDA_SUCCESS ? (uint32_t)id : 0;
}

/* Handles are an index above four bits, and a generation. */
uint32_t cupti_handle_number(const void *handle)
{
    uint64_t bits = (uintptr_t)handle;

    return handle ? (uint32_t)(bits >> 4 & 0xffffff) | (uint32_t)(bits >> 28 & 0xff) << 24 : 0;
}

const char *cupti_name_keep(const char *name)
{
    char *kept;

    if (!name)
        return NULL;
    pthread_mutex_lock(&names_lock);
    kept = hd_map_get(&names, hd_str_from(name));
    if (!kept && names_B < NAMES_MAX_B) {
        kept = hd_strdup(name);
        if (kept && hd_map_put(&names, hd_str_from(kept), kept)) {
            names_B += strlen(kept) + 1;
        } else {
            hd_free(kept);
            kept = NULL;
        }
    }
    pthread_mutex_unlock(&names_lock);
    return kept;
}

CUPTI_EXPORT(cuptiGetContextId)
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    struct cupti_context c = cupti_context_of(context);

    if (!context || !c.id)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    if (!contextId)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *contextId = c.id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetDeviceId)
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    CUcontext current = context;
    struct cupti_context c;

    if (!deviceId)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (!context && cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        current = NULL;
    c = cupti_context_of(current);
    if (!c.id)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    *deviceId = c.device;
    return CUPTI_SUCCESS;
}

/* Null and the special handles mean streams of the context, which is the current one meanwhile. */
static CUptiResult stream_id(CUcontext context, CUstream stream, uint32_t *streamId)
{
    unsigned long long id;
    CUresult result;
    CUcontext popped;

    if (!streamId)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (context && cuCtxPushCurrent(context) != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_CONTEXT;
    result = cuStreamGetId(stream, &id);
    if (context)
        (void)cuCtxPopCurrent(&popped);
    if (result != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_STREAM;
    *streamId = (uint32_t)id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetStreamId)
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
    return cupti_result(stream_id(context, stream, streamId));
}

CUPTI_EXPORT(cuptiGetStreamIdEx)
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
                               uint32_t *streamId)
{
    if (!stream)
        stream = perThreadStream ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    return cupti_result(stream_id(context, stream, streamId));
}
