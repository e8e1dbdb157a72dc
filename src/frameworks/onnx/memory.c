/* See provider.h: the device's memory. */
#include "frameworks/onnx/provider.h"

#include "base/mem.h"
#include "frameworks/onnx/status.h"

/* The name is that of ONNX Runtime's own CUDA provider. */
struct ort_status *memory_info_create(int ordinal, struct ort_memory_info **out)
{
    return ORT(CreateMemoryInfo_V2)("Cuda", ORT_MEMORY_GPU, PROVIDER_VENDOR_ID, ordinal, 0, 0,
                                    ORT_DEVICE_ALLOCATOR, out);
}

/* ---- allocation */

struct device_allocator {
    struct ort_allocator base;
    struct ort_memory_info *info;
    CUdevice device;
    CUcontext context;
};

static void *allocator_alloc(struct ort_allocator *base, size_t size_B)
{
    const struct device_allocator *a = (const struct device_allocator *)base;
    CUdeviceptr at = 0;

    if (!size_B || cuCtxPushCurrent(a->context) != CUDA_SUCCESS)
        return NULL;
    CUresult result = cuMemAlloc(&at, size_B);
    (void)cuCtxPopCurrent(NULL);
    return result == CUDA_SUCCESS ? (void *)(uintptr_t)at : NULL;
}

static void allocator_free(struct ort_allocator *base, void *at)
{
    const struct device_allocator *a = (const struct device_allocator *)base;

    if (!at || cuCtxPushCurrent(a->context) != CUDA_SUCCESS)
        return;
    (void)cuMemFree((CUdeviceptr)(uintptr_t)at);
    (void)cuCtxPopCurrent(NULL);
}

static const struct ort_memory_info *allocator_info(const struct ort_allocator *base)
{
    return ((const struct device_allocator *)base)->info;
}

void memory_allocator_destroy(struct ort_allocator *base)
{
    struct device_allocator *a = (struct device_allocator *)base;

    ORT(ReleaseMemoryInfo)(a->info);
    if (a->context)
        (void)cuDevicePrimaryCtxRelease(a->device);
    hd_free(a);
}

struct ort_status *memory_allocator_create(int ordinal, struct ort_allocator **out)
{
    struct device_allocator *a = hd_alloc(sizeof(*a));

    if (!a)
        return status_no_memory();
    *a = (struct device_allocator){.base = {.version = ORT_VERSION,
                                            .alloc = allocator_alloc,
                                            .free = allocator_free,
                                            .info = allocator_info,
                                            .reserve = allocator_alloc}};
    struct ort_status *status = memory_info_create(ordinal, &a->info);
    if (!status)
        status = status_of_driver("cuDeviceGet", cuDeviceGet(&a->device, ordinal));
    if (!status)
        status = status_of_driver("cuDevicePrimaryCtxRetain",
                                  cuDevicePrimaryCtxRetain(&a->context, a->device));
    if (status)
        memory_allocator_destroy(&a->base);
    else
        *out = &a->base;
    return status;
}

/* ---- copies */

static bool is_of_device(const struct ort_memory_device *memory)
{
    return ORT(MemoryDevice_GetDeviceType)(memory) == ORT_MEMORY_GPU &&
           ORT(MemoryDevice_GetVendorId)(memory) == PROVIDER_VENDOR_ID;
}

static bool is_of_host(const struct ort_memory_device *memory)
{
    return ORT(MemoryDevice_GetDeviceType)(memory) == ORT_MEMORY_CPU;
}

static bool transfer_can_copy(const struct ort_transfer *transfer,
                              const struct ort_memory_device *from,
                              const struct ort_memory_device *to)
{
    return (is_of_device(from) && (is_of_device(to) || is_of_host(to))) ||
           (is_of_host(from) && is_of_device(to));
}

static struct ort_status *copy_one(const struct ort_value *from, struct ort_value *to)
{
    void *source, *target;
    size_t size_B;

    /* only read */
    ORT_TRY(ORT(GetTensorMutableData)((struct ort_value *)(uintptr_t)from, &source));
    ORT_TRY(ORT(GetTensorMutableData)(to, &target));
    ORT_TRY(ORT(GetTensorSizeInBytes)(from, &size_B));
    if (!size_B)
        return NULL;
    /* in the default stream, as the program's own work may be that fills the memory */
    return status_of_driver(
        "a copy", cuMemcpy((CUdeviceptr)(uintptr_t)target, (CUdeviceptr)(uintptr_t)source, size_B));
}

static struct ort_status *transfer_copy(struct ort_transfer *transfer,
                                        const struct ort_value **from, struct ort_value **to,
                                        struct ort_stream **streams, size_t count)
{
    CUdevice device;
    CUcontext context;

    ORT_TRY(status_of_driver("cuDeviceGet", cuDeviceGet(&device, 0)));
    ORT_TRY(
        status_of_driver("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, device)));
    struct ort_status *status = status_of_driver("cuCtxPushCurrent", cuCtxPushCurrent(context));
    if (!status) {
        for (size_t i = 0; i < count && !status; i++)
            status = copy_one(from[i], to[i]);
        (void)cuCtxPopCurrent(NULL);
    }
    (void)cuDevicePrimaryCtxRelease(device);
    return status;
}

static void transfer_release(struct ort_transfer *transfer)
{
}

struct ort_status *memory_transfer_create(struct ort_transfer **out)
{
    static struct ort_transfer transfer = {.version = ORT_VERSION,
                                           .release = transfer_release,
                                           .can_copy = transfer_can_copy,
                                           .copy = transfer_copy};

    *out = &transfer;
    return NULL;
}
