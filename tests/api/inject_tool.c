/* A profiler that CUDA_INJECTION64_PATH names: it counts launches by CUPTI and tells at the end. */
#include <cuda.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned launches, kernels;

static void on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                        const void *what)
{
    const CUpti_CallbackData *data = what;

    (void)user, (void)domain, (void)cbid;
    launches += data->callbackSite == CUPTI_API_ENTER;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
    *size = 4096;
    *buffer = aligned_alloc(8, *size);
    *max = 0;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    CUpti_Activity *record = NULL;

    (void)context, (void)stream, (void)size;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    free(buffer);
}

static void at_exit(void)
{
    (void)cuptiActivityFlushAll(1);
    printf("# tool: %u launches, %u kernels\n", launches, kernels);
    fflush(stdout);
}

__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    CUpti_SubscriberHandle me;
    int n = 0;

    if (cuDeviceGetCount(&n) != CUDA_SUCCESS || !n ||
        cuptiSubscribe(&me, on_callback, NULL) != CUPTI_SUCCESS ||
        cuptiEnableCallback(1, me, CUPTI_CB_DOMAIN_DRIVER_API,
                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) != CUPTI_SUCCESS ||
        cuptiActivityRegisterCallbacks(on_request, on_complete) != CUPTI_SUCCESS ||
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
        return 0;
    return !atexit(at_exit);
}
