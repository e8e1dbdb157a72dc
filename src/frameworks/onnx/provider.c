/* See provider.h: the plug-in, its factory and providers. */
#include "frameworks/onnx/provider.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "frameworks/onnx/status.h"

struct ort_status *CreateEpFactories(const char *name, const struct ort_base *base,
                                     const struct ort_logger *logger,
                                     struct ort_factory **factories, size_t max, size_t *out_count);
struct ort_status *ReleaseEpFactory(struct ort_factory *base);

/* ---- a provider, which is a session's */

struct provider {
    struct ort_ep ep;
    CUdevice device;
    CUcontext context; /* the primary one */
    CUstream stream;
};

static const char *ep_name(const struct ort_ep *ep)
{
    return PROVIDER_NAME;
}

static struct ort_status *ep_get_capability(struct ort_ep *ep, const struct ort_graph *graph,
                                            struct ort_support *support)
{
    return capability_find(graph, support);
}

static void ep_release_computes(struct ort_ep *ep, struct ort_compute **computes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        subgraph_destroy(computes[i]);
}

static struct ort_status *ep_compile(struct ort_ep *ep, const struct ort_graph **graphs,
                                     const struct ort_node **fused, size_t count,
                                     struct ort_compute **computes, struct ort_node **contexts)
{
    const struct provider *p = (const struct provider *)ep;
    struct ort_status *status = NULL;

    for (size_t i = 0; i < count && !status; i++) {
        status = subgraph_create(p->context, p->stream, graphs[i], fused[i], &computes[i]);
        if (status)
            ep_release_computes(ep, computes, i);
    }
    return status;
}

static void provider_destroy(struct provider *p)
{
    if (p->stream && cuCtxPushCurrent(p->context) == CUDA_SUCCESS) {
        (void)cuStreamDestroy(p->stream);
        (void)cuCtxPopCurrent(NULL);
    }
    if (p->context)
        (void)cuDevicePrimaryCtxRelease(p->device);
    hd_free(p);
}

static struct ort_status *provider_create(int ordinal, struct ort_ep **out)
{
    struct provider *p = hd_alloc(sizeof(*p));

    if (!p)
        return status_no_memory();
    *p = (struct provider){.ep = {.version = ORT_VERSION,
                                  .name = ep_name,
                                  .get_capability = ep_get_capability,
                                  .compile = ep_compile,
                                  .release_computes = ep_release_computes}};
    CUresult result = cuDeviceGet(&p->device, ordinal);
    if (result == CUDA_SUCCESS)
        result = cuDevicePrimaryCtxRetain(&p->context, p->device);
    if (result == CUDA_SUCCESS)
        result = cuCtxPushCurrent(p->context);
    if (result == CUDA_SUCCESS) {
        result = cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING);
        (void)cuCtxPopCurrent(NULL);
    }
    if (result != CUDA_SUCCESS) {
        provider_destroy(p);
        return status_of_driver("a provider's stream", result);
    }
    *out = &p->ep;
    return NULL;
}

/* ---- the factory, one for each device: ONNX Runtime asks it for nothing but its address */

struct factory {
    struct ort_factory base;
    int ordinal;
    struct ort_memory_info *memory; /* the device's; ONNX Runtime keeps the address */
};

static const char *factory_name(const struct ort_factory *f)
{
    return PROVIDER_NAME;
}

static const char *factory_vendor(const struct ort_factory *f)
{
    return "Heddle";
}

static uint32_t factory_vendor_id(const struct ort_factory *f)
{
    return PROVIDER_VENDOR_ID;
}

static const char *factory_version(const struct ort_factory *f)
{
    return "0.1.0";
}

/* The machine's processor is what the device runs on. */
static struct ort_status *factory_devices(struct ort_factory *base,
                                          const struct ort_hardware *const *hardware, size_t count,
                                          struct ort_ep_device **devices, size_t max,
                                          size_t *out_count)
{
    struct factory *f = (struct factory *)base;
    struct ort_pairs *metadata = NULL;
    size_t processor = 0;
    char id[16];

    *out_count = 0;
    while (processor < count && ORT(HardwareDevice_Type)(hardware[processor]) != ORT_HARDWARE_CPU)
        processor++;
    if (processor == count || !max)
        return NULL;
    (void)snprintf(id, sizeof(id), "%d", f->ordinal);
    ORT(CreateKeyValuePairs)(&metadata);
    ORT(AddKeyValuePair)(metadata, "cuda_device_id", id);
    struct ort_status *status =
        ORT(CreateEpDevice)(base, hardware[processor], metadata, NULL, &devices[0]);
    ORT(ReleaseKeyValuePairs)(metadata);
    ORT_TRY(status);
    *out_count = 1;
    return ORT(EpDevice_AddAllocatorInfo)(devices[0], f->memory);
}

static struct ort_status *factory_create_ep(struct ort_factory *f,
                                            const struct ort_hardware *const *hardware,
                                            const struct ort_pairs *const *metadata, size_t count,
                                            const struct ort_session_options *options,
                                            const struct ort_logger *logger, struct ort_ep **out)
{
    return provider_create(((struct factory *)f)->ordinal, out);
}

static void factory_release_ep(struct ort_factory *f, struct ort_ep *ep)
{
    provider_destroy((struct provider *)ep);
}

static struct ort_status *factory_create_allocator(struct ort_factory *f,
                                                   const struct ort_memory_info *info,
                                                   const struct ort_pairs *options,
                                                   struct ort_allocator **out)
{
    return memory_allocator_create(((struct factory *)f)->ordinal, out);
}

static void factory_release_allocator(struct ort_factory *f, struct ort_allocator *allocator)
{
    memory_allocator_destroy(allocator);
}

static struct ort_status *factory_create_transfer(struct ort_factory *f, struct ort_transfer **out)
{
    return memory_transfer_create(out);
}

/* Kernels have run when a run of the session returns: there is nothing to wait for. */
static bool factory_has_streams(const struct ort_factory *f)
{
    return false;
}

static const struct factory factory_template = {
    .base = {.version = ORT_VERSION,
             .name = factory_name,
             .vendor = factory_vendor,
             .devices = factory_devices,
             .create_ep = factory_create_ep,
             .release_ep = factory_release_ep,
             .vendor_id = factory_vendor_id,
             .own_version = factory_version,
             .create_allocator = factory_create_allocator,
             .release_allocator = factory_release_allocator,
             .create_transfer = factory_create_transfer,
             .has_streams = factory_has_streams},
};

/* ---- what ONNX Runtime looks for in a plug-in */

static bool find_functions(const struct ort_base *base)
{
    const void *const *table = base->get_api(ORT_VERSION);

    if (!table)
        return false;
#define X(name, at, result, parameters) *(const void **)&ort_api.name = table[at];
    ORT_FUNCTIONS(X)
    table = ORT(GetEpApi)();
    ORT_EP_FUNCTIONS(X)
#undef X
    return true;
}

HD_EXPORT struct ort_status *CreateEpFactories(const char *name, const struct ort_base *base,
                                               const struct ort_logger *logger,
                                               struct ort_factory **factories, size_t max,
                                               size_t *out_count)
{
    int count = 0;

    *out_count = 0;
    if (!find_functions(base)) {
        /* CreateStatus() is the first function of every version */
        struct ort_status *(*create)(int, const char *) = NULL;
        *(const void **)&create = base->get_api(1)[0];
        return create(ORT_FAIL, "Heddle's provider needs ONNX Runtime 1.23 or newer");
    }
    ORT_TRY(status_of_driver("cuInit", cuInit(0)));
    ORT_TRY(status_of_driver("cuDeviceGetCount", cuDeviceGetCount(&count)));
    for (int i = 0; i < count && *out_count < max; i++) {
        struct factory *f = hd_alloc(sizeof(*f));
        if (!f)
            return status_no_memory();
        *f = factory_template;
        f->ordinal = i;
        factories[(*out_count)++] = &f->base;
        ORT_TRY(memory_info_create(i, &f->memory));
    }
    return NULL;
}

HD_EXPORT struct ort_status *ReleaseEpFactory(struct ort_factory *base)
{
    struct factory *f = (struct factory *)base;

    ORT(ReleaseMemoryInfo)(f->memory);
    hd_free(f);
    return NULL;
}
