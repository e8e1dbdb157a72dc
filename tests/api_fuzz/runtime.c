/*
 * What the calls of the runtime API need: registered code, and its structs. Those that are laid out
 * as the driver's are filled as those.
 */
#include <string.h>

#include "fuzz_runtime.h"
#include "runtime/runtime_fixture.h"

/* ---- registered code */

static char count_stub, put_stub, lost_stub, word_shadow, constant_shadow, managed_shadow;
static void *managed;

void fuzz_register(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(fuzz_ptx));

    fixture_function(handle, &count_stub, "count");
    fixture_function(handle, &put_stub, "put");
    fixture_function(handle, &lost_stub, "missing"); /* the image has no such kernel */
    fixture_variable(handle, &word_shadow, "word", 4, 0);
    fixture_variable(handle, &constant_shadow, "constant", 4, 1);
    fixture_managed(handle, &managed, "managed", 4);
    __cudaRegisterFatBinaryEnd(handle);
}

const void *fuzz_func(struct fuzz *z)
{
    const void *const some[] = {&count_stub, &put_stub,    &count_stub, &put_stub,
                                &lost_stub,  &word_shadow, NULL};

    if (fuzz_one_in(z, 6))
        return (const void *)(uintptr_t)fuzz_take(z, FUZZ_RUNTIME_KERNEL);
    return some[fuzz_below(z, sizeof(some) / sizeof(*some))];
}

const void *fuzz_symbol(struct fuzz *z)
{
    const void *const some[] = {&word_shadow,    &constant_shadow, &managed,
                                &managed_shadow, &count_stub,      NULL};

    return some[fuzz_below(z, fuzz_one_in(z, 4) ? sizeof(some) / sizeof(*some) : 3)];
}

enum cudaMemcpyKind fuzz_kind(struct fuzz *z)
{
    return fuzz_one_in(z, 2)
               ? cudaMemcpyDefault
               : (enum cudaMemcpyKind)(fuzz_one_in(z, 20) ? fuzz_enum(z) : fuzz_below(z, 5));
}

/* ---- structs that both APIs lay out alike */

#define SAME(ours, type, driver)                                                                   \
    _Static_assert(sizeof(type) == sizeof(driver), "laid out alike");                              \
    void fill_##ours(struct fuzz *z, unsigned i, void *out)                                        \
    {                                                                                              \
        fill_##driver(z, i, out);                                                                  \
    }

SAME(cudaExternalMemoryBufferDesc, struct cudaExternalMemoryBufferDesc,
     CUDA_EXTERNAL_MEMORY_BUFFER_DESC)
SAME(cudaExternalMemoryHandleDesc, struct cudaExternalMemoryHandleDesc,
     CUDA_EXTERNAL_MEMORY_HANDLE_DESC)
SAME(cudaExternalSemaphoreHandleDesc, struct cudaExternalSemaphoreHandleDesc,
     CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC)
SAME(cudaExternalSemaphoreSignalParams, struct cudaExternalSemaphoreSignalParams,
     CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS)
SAME(cudaExternalSemaphoreWaitParams, struct cudaExternalSemaphoreWaitParams,
     CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS)
SAME(cudaExternalSemaphoreSignalNodeParams, struct cudaExternalSemaphoreSignalNodeParams,
     CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)
SAME(cudaExternalSemaphoreWaitNodeParams, struct cudaExternalSemaphoreWaitNodeParams,
     CUDA_EXT_SEM_WAIT_NODE_PARAMS)
SAME(cudaGraphEdgeData, cudaGraphEdgeData, CUgraphEdgeData)
SAME(cudaGraphInstantiateParams, cudaGraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS)
SAME(cudaHostNodeParams, struct cudaHostNodeParams, CUDA_HOST_NODE_PARAMS)
SAME(cudaLaunchAttributeValue, cudaLaunchAttributeValue, CUkernelNodeAttrValue)
SAME(cudaMemAccessDesc, struct cudaMemAccessDesc, CUmemAccessDesc)
SAME(cudaMemAllocNodeParams, struct cudaMemAllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS)
SAME(cudaMemLocation, struct cudaMemLocation, CUmemLocation)
SAME(cudaMemPoolProps, struct cudaMemPoolProps, CUmemPoolProps)
SAME(cudaMemcpy3DBatchOp, struct cudaMemcpy3DBatchOp, CUDA_MEMCPY3D_BATCH_OP)
SAME(cudaMemcpyAttributes, struct cudaMemcpyAttributes, CUmemcpyAttributes)
SAME(cudaMemsetParams, struct cudaMemsetParams, CUDA_MEMSET_NODE_PARAMS)
SAME(cudaResourceViewDesc, struct cudaResourceViewDesc, CUDA_RESOURCE_VIEW_DESC)

/* ---- its own */

void fill_dim3(struct fuzz *z, unsigned i, void *out)
{
    *(dim3 *)out = (dim3){fuzz_dim(z), fuzz_dim(z), 1};
}

void fill_cudaChannelFormatDesc(struct fuzz *z, unsigned i, void *out)
{
    struct cudaChannelFormatDesc *d = out;
    int bits = 8 << fuzz_below(z, 4), n = 1 + (int)fuzz_below(z, 4);

    *d = (struct cudaChannelFormatDesc){
        bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0,
        (enum cudaChannelFormatKind)fuzz_below(z, fuzz_one_in(z, 8) ? 30 : 3)};
}

void fill_cudaDeviceProp(struct fuzz *z, unsigned i, void *out)
{
    struct cudaDeviceProp *p = out;

    p->major = (int)fuzz_below(z, 14);
    p->minor = (int)fuzz_below(z, 4);
    p->totalGlobalMem = fuzz_number(z, 0);
    p->multiProcessorCount = (int)fuzz_number(z, 0);
}

void fill_cudaExtent(struct fuzz *z, unsigned i, void *out)
{
    *(struct cudaExtent *)out = (struct cudaExtent){fuzz_extent(z), fuzz_extent(z), fuzz_extent(z)};
}

void fill_cudaExternalMemoryMipmappedArrayDesc(struct fuzz *z, unsigned i, void *out)
{
    struct cudaExternalMemoryMipmappedArrayDesc *d = out;

    d->offset = fuzz_one_in(z, 2) ? 0 : fuzz_number(z, 0);
    fill_cudaChannelFormatDesc(z, i, &d->formatDesc);
    fill_cudaExtent(z, i, &d->extent);
    d->flags = fuzz_flags(z);
    d->numLevels = (unsigned)fuzz_below(z, 4);
}

void fill_cudaPitchedPtr(struct fuzz *z, unsigned i, void *out)
{
    *(struct cudaPitchedPtr *)out =
        (struct cudaPitchedPtr){(void *)(uintptr_t)fuzz_take(z, FUZZ_MEMORY), fuzz_extent(z),
                                fuzz_extent(z), fuzz_extent(z)};
}

/* What the host's memory holds: structs.c, fit(). */
static struct cudaPos position(struct fuzz *z)
{
    return (struct cudaPos){fuzz_below(z, 64), fuzz_below(z, 4), fuzz_below(z, 2)};
}

static struct cudaPitchedPtr rows(struct fuzz *z, const void *at)
{
    return (struct cudaPitchedPtr){(void *)(uintptr_t)at, fuzz_one_in(z, 2) ? 0 : 128, 0,
                                   fuzz_below(z, 2) * 8};
}

#define FILL_COPY(p)                                                                               \
    do {                                                                                           \
        if (fuzz_one_in(z, 3))                                                                     \
            (p)->srcArray = TAKE(cudaArray_t, ARRAY);                                              \
        else                                                                                       \
            (p)->srcPtr = rows(z, fuzz_from(z));                                                   \
        if (fuzz_one_in(z, 3))                                                                     \
            (p)->dstArray = TAKE(cudaArray_t, ARRAY);                                              \
        else                                                                                       \
            (p)->dstPtr = rows(z, fuzz_to(z));                                                     \
        (p)->srcPos = position(z);                                                                 \
        (p)->dstPos = position(z);                                                                 \
        (p)->extent = (struct cudaExtent){fuzz_below(z, 65), fuzz_below(z, 9), fuzz_below(z, 3)};  \
    } while (0)

void fill_cudaMemcpy3DParms(struct fuzz *z, unsigned i, void *out)
{
    struct cudaMemcpy3DParms *p = out;

    FILL_COPY(p);
    p->kind = fuzz_kind(z);
}

void fill_cudaMemcpy3DPeerParms(struct fuzz *z, unsigned i, void *out)
{
    struct cudaMemcpy3DPeerParms *p = out;

    FILL_COPY(p);
    p->srcDevice = (int)fuzz_take(z, FUZZ_DEVICE);
    p->dstDevice = (int)fuzz_take(z, FUZZ_DEVICE);
}

void fill_cudaKernelNodeParams(struct fuzz *z, unsigned i, void *out)
{
    struct cudaKernelNodeParams *p = out;

    p->func = (void *)(uintptr_t)fuzz_func(z);
    fill_dim3(z, i, &p->gridDim);
    fill_dim3(z, i, &p->blockDim);
    p->sharedMemBytes = fuzz_one_in(z, 4) ? (unsigned)fuzz_number(z, 0) : 0;
    p->kernelParams = fuzz_one_in(z, 20) ? NULL : fuzz_kernel_params(z, i);
}

void fill_cudaLaunchConfig_t(struct fuzz *z, unsigned i, void *out)
{
    cudaLaunchConfig_t *c = out;

    fill_dim3(z, i, &c->gridDim);
    fill_dim3(z, i, &c->blockDim);
    c->dynamicSmemBytes = fuzz_one_in(z, 4) ? fuzz_number(z, 0) : 0;
    c->stream = TAKE(cudaStream_t, STREAM);
    c->attrs = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(*c->attrs));
    c->numAttrs = (unsigned)fuzz_below(z, 3);
    for (unsigned k = 0; k < c->numAttrs; k++) {
        c->attrs[k].id = (cudaLaunchAttributeID)fuzz_enum(z);
        fill_cudaLaunchAttributeValue(z, i, &c->attrs[k].val);
    }
}

void fill_cudaLaunchParams(struct fuzz *z, unsigned i, void *out)
{
    struct cudaLaunchParams *p = out;

    p->func = (void *)(uintptr_t)fuzz_func(z);
    fill_dim3(z, i, &p->gridDim);
    fill_dim3(z, i, &p->blockDim);
    p->args = fuzz_kernel_params(z, i);
    p->stream = TAKE(cudaStream_t, STREAM);
}

void fill_cudaResourceDesc(struct fuzz *z, unsigned i, void *out)
{
    struct cudaResourceDesc *d = out;

    d->resType = (enum cudaResourceType)fuzz_below(z, fuzz_one_in(z, 10) ? 100 : 4);
    switch (d->resType) {
    case cudaResourceTypeArray:
        d->res.array.array = TAKE(cudaArray_t, ARRAY);
        break;
    case cudaResourceTypeMipmappedArray:
        d->res.mipmap.mipmap = TAKE(cudaMipmappedArray_t, MIPMAP);
        break;
    case cudaResourceTypeLinear:
        d->res.linear.devPtr = (void *)(uintptr_t)fuzz_take(z, FUZZ_MEMORY);
        fill_cudaChannelFormatDesc(z, i, &d->res.linear.desc);
        d->res.linear.sizeInBytes = fuzz_number(z, 0);
        break;
    default:
        d->res.pitch2D.devPtr = (void *)(uintptr_t)fuzz_take(z, FUZZ_MEMORY);
        fill_cudaChannelFormatDesc(z, i, &d->res.pitch2D.desc);
        d->res.pitch2D.width = fuzz_extent(z);
        d->res.pitch2D.height = fuzz_extent(z);
        d->res.pitch2D.pitchInBytes = 512;
    }
    d->flags = fuzz_flags(z);
}

void fill_cudaTextureDesc(struct fuzz *z, unsigned i, void *out)
{
    struct cudaTextureDesc *d = out;

    d->addressMode[0] = (enum cudaTextureAddressMode)fuzz_enum(z);
    d->filterMode = (enum cudaTextureFilterMode)fuzz_below(z, 3);
    d->readMode = (enum cudaTextureReadMode)fuzz_below(z, 3);
    d->normalizedCoords = (int)fuzz_below(z, 2);
    d->maxAnisotropy = (unsigned)fuzz_below(z, 20);
    d->sRGB = fuzz_one_in(z, 8);
}

static void fill_conditional(struct fuzz *z, struct cudaConditionalNodeParams *p)
{
    p->handle = fuzz_take(z, FUZZ_CONDITION);
    p->type = (enum cudaGraphConditionalNodeType)fuzz_enum(z);
    if (p->type == cudaGraphCondTypeWhile) /* structs.c */
        p->type = cudaGraphCondTypeIf;
    p->size = (unsigned)fuzz_below(z, 5);
}

void fill_cudaGraphNodeParams(struct fuzz *z, unsigned i, void *out)
{
    struct cudaGraphNodeParams *p = out;

    p->type = (enum cudaGraphNodeType)fuzz_below(z, 15);
    switch (p->type) {
    case cudaGraphNodeTypeKernel:
        fill_cudaKernelNodeParams(z, i, &p->kernel);
        break;
    case cudaGraphNodeTypeMemcpy:
        fill_cudaMemcpy3DParms(z, i, &p->memcpy.copyParams);
        break;
    case cudaGraphNodeTypeMemset:
        fill_cudaMemsetParams(z, i, &p->memset);
        break;
    case cudaGraphNodeTypeHost:
        fill_cudaHostNodeParams(z, i, &p->host);
        break;
    case cudaGraphNodeTypeGraph:
        p->graph.graph = TAKE(cudaGraph_t, GRAPH);
        p->graph.ownership = (enum cudaGraphChildGraphNodeOwnership)fuzz_below(z, 3);
        break;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        p->eventWait.event = TAKE(cudaEvent_t, EVENT);
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
        fill_cudaExternalSemaphoreSignalNodeParams(z, i, &p->extSemSignal);
        break;
    case cudaGraphNodeTypeExtSemaphoreWait:
        fill_cudaExternalSemaphoreWaitNodeParams(z, i, &p->extSemWait);
        break;
    case cudaGraphNodeTypeMemAlloc:
        fill_cudaMemAllocNodeParams(z, i, &p->alloc);
        break;
    case cudaGraphNodeTypeMemFree:
        p->free.dptr = (void *)(uintptr_t)fuzz_take(z, FUZZ_MEMORY);
        break;
    case cudaGraphNodeTypeConditional:
        fill_conditional(z, &p->conditional);
        break;
    default:
        break; /* empty, or nothing in it */
    }
}
