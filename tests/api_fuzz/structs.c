/* Structs as arguments: members of every kind, most of them plausible. */
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_api.h"

void *fuzz_structs(struct fuzz *z, unsigned i, size_t size, fuzz_fill fill)
{
    enum { FILLED = 2 };

    z->used_B[i] = 0;
    char *all = fuzz_more(z, i, FUZZ_ELEMENTS * size);
    for (unsigned k = 0; k < FILLED; k++)
        fill(z, i, all + k * size);
    return all;
}

void *fuzz_more(struct fuzz *z, unsigned i, size_t size)
{
    char *at = z->scratch[i] + z->used_B[i];

    z->used_B[i] += (size + 63) & ~(size_t)63;
    if (z->used_B[i] > FUZZ_SCRATCH_B)
        __builtin_trap(); /* FUZZ_SCRATCH_B is too small for what structs.c makes */
    memset(at, 0, size);
    return at;
}

static uint64_t small(struct fuzz *z)
{
    return fuzz_below(z, 5);
}

uint64_t fuzz_extent(struct fuzz *z)
{
    static const unsigned some[] = {0, 1, 1, 2, 3, 4, 8, 16, 16, 32, 64, 65, 100, 1000};

    return fuzz_one_in(z, 50) ? fuzz_number(z, 0)
                              : some[fuzz_below(z, sizeof(some) / sizeof(*some))];
}

unsigned fuzz_dim(struct fuzz *z)
{
    static const unsigned some[] = {1, 1, 1, 1, 2, 3, 8, 32};

    return fuzz_one_in(z, 50) ? fuzz_one_in(z, 2) ? 0 : UINT32_MAX : some[fuzz_below(z, 8)];
}

/* Mostly 0. */
static unsigned flags(struct fuzz *z)
{
    return fuzz_one_in(z, 4) ? (unsigned)fuzz_number(z, 0) : 0;
}

#define ENUM(type) ((type)fuzz_enum(z))

static unsigned format(struct fuzz *z)
{
    static const unsigned some[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT32,
                                    CU_AD_FORMAT_FLOAT, CU_AD_FORMAT_HALF};

    return fuzz_one_in(z, 8) ? fuzz_enum(z) : some[fuzz_below(z, 4)];
}

void fill_CUDA_ARRAY3D_DESCRIPTOR(struct fuzz *z, unsigned i, void *out)
{
    CUDA_ARRAY3D_DESCRIPTOR *d = out;

    *d = (CUDA_ARRAY3D_DESCRIPTOR){fuzz_extent(z),
                                   fuzz_extent(z),
                                   fuzz_one_in(z, 2) ? 0 : fuzz_extent(z),
                                   (CUarray_format)format(z),
                                   1u << fuzz_below(z, 4),
                                   flags(z)};
}

void fill_CUDA_ARRAY_DESCRIPTOR(struct fuzz *z, unsigned i, void *out)
{
    CUDA_ARRAY_DESCRIPTOR *d = out;

    *d = (CUDA_ARRAY_DESCRIPTOR){fuzz_extent(z), fuzz_extent(z), (CUarray_format)format(z),
                                 1u << fuzz_below(z, 4)};
}

void fill_CUstreamBatchMemOpParams(struct fuzz *z, unsigned i, void *out)
{
    CUstreamBatchMemOpParams *op = out;

    op->operation = ENUM(CUstreamBatchMemOpType);
    op->waitValue.address = TAKE(CUdeviceptr, MEMORY);
    if (op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
        op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
        op->writeValue.value64 = 0x01010101 * fuzz_below(z, 128);
        op->writeValue.flags = (unsigned)small(z);
    } else if (op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
               op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
        op->waitValue.flags = fuzz_wait_flags(z);
    }
}

static CUstreamBatchMemOpParams *mem_ops(struct fuzz *z, unsigned i)
{
    CUstreamBatchMemOpParams *ops = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(*ops));

    fill_CUstreamBatchMemOpParams(z, i, ops);
    fill_CUstreamBatchMemOpParams(z, i, ops + 1);
    return ops;
}

void fill_CUDA_BATCH_MEM_OP_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_BATCH_MEM_OP_NODE_PARAMS *p = out;

    p->ctx = TAKE(CUcontext, CONTEXT);
    p->count = (unsigned)fuzz_below(z, 3);
    p->paramArray = mem_ops(z, i);
    p->flags = flags(z);
}

void fill_CUDA_EXTERNAL_MEMORY_BUFFER_DESC(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d = out;

    d->offset = fuzz_one_in(z, 2) ? 0 : fuzz_number(z, 0);
    d->size = fuzz_number(z, 0);
    d->flags = flags(z);
}

void fill_CUDA_EXTERNAL_MEMORY_HANDLE_DESC(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d = out;

    d->type = fuzz_one_in(z, 2) ? CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
                                : ENUM(CUexternalMemoryHandleType);
    /* It belongs to the importer; when it is refused, to nobody until the round ends. */
    d->handle.fd = fuzz_one_in(z, 4) ? -1 : memfd_create("external", 0);
    (void)!ftruncate(d->handle.fd, 2 << 20);
    d->size = fuzz_number(z, 0);
    d->flags = flags(z);
}

void fill_CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d = out;

    d->type = fuzz_one_in(z, 2) ? CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
                                : ENUM(CUexternalSemaphoreHandleType);
    d->handle.fd = fuzz_one_in(z, 4) ? -1 : eventfd(1 << 30, EFD_SEMAPHORE);
    d->flags = flags(z);
}

void fill_CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p = out;

    p->params.fence.value = fuzz_number(z, 0);
    p->flags = flags(z);
}

/* Only waits that end: an eventfd counts down from a large number (above), timelines are at 0. */
void fill_CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p = out;

    memset(p, 0, sizeof(*p)); /* what the memory was used for before stands there */
    p->flags = flags(z);
}

#define FILL_SEMAPHORES(p, params, n)                                                              \
    do {                                                                                           \
        (p)->extSemArray = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(CUexternalSemaphore));           \
        (p)->paramsArray = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(params));                        \
        for (unsigned k = 0; k < FUZZ_ELEMENTS; k++) {                                             \
            (p)->extSemArray[k] = TAKE(CUexternalSemaphore, EXT_SEMAPHORE);                        \
            fill_##params(z, i, (void *)&(p)->paramsArray[k]);                                     \
        }                                                                                          \
        (p)->numExtSems = n;                                                                       \
    } while (0)

void fill_CUDA_EXT_SEM_SIGNAL_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p = out;

    FILL_SEMAPHORES(p, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, (unsigned)fuzz_below(z, 3));
}

void fill_CUDA_EXT_SEM_WAIT_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_EXT_SEM_WAIT_NODE_PARAMS *p = out;

    FILL_SEMAPHORES(p, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, (unsigned)fuzz_below(z, 3));
}

void fill_CUDA_GRAPH_INSTANTIATE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS *p = out;

    p->flags = flags(z);
    p->hUploadStream = TAKE(CUstream, STREAM);
}

void fill_CUDA_HOST_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_HOST_NODE_PARAMS *p = out;

    p->fn = fuzz_one_in(z, 10) ? NULL : fuzz_host_fn;
}

void fill_CUDA_KERNEL_NODE_PARAMS_v1(struct fuzz *z, unsigned i, void *out)
{
    CUDA_KERNEL_NODE_PARAMS_v1 *p = out;

    p->func = TAKE(CUfunction, FUNCTION);
    p->gridDimX = fuzz_dim(z);
    p->gridDimY = fuzz_dim(z);
    p->gridDimZ = 1;
    p->blockDimX = fuzz_dim(z);
    p->blockDimY = fuzz_dim(z);
    p->blockDimZ = 1;
    p->sharedMemBytes = fuzz_one_in(z, 4) ? (unsigned)fuzz_number(z, 0) : 0;
    p->kernelParams = fuzz_one_in(z, 20) ? NULL : fuzz_kernel_params(z, i);
}

void fill_CUDA_KERNEL_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_KERNEL_NODE_PARAMS *p = out;
    CUDA_KERNEL_NODE_PARAMS_v1 first = {0};

    fill_CUDA_KERNEL_NODE_PARAMS_v1(z, i, &first);
    memcpy(p, &first, sizeof(first)); /* its members come first */
    if (fuzz_one_in(z, 4)) {
        p->func = NULL;
        p->kern = TAKE(CUkernel, KERNEL);
    }
    if (fuzz_one_in(z, 4))
        p->ctx = TAKE(CUcontext, CONTEXT);
}

#define COPY_SIDE(d, side, host)                                                                   \
    do {                                                                                           \
        (d)->side##XInBytes = fuzz_one_in(z, 2) ? 0 : fuzz_extent(z);                              \
        (d)->side##Y = fuzz_one_in(z, 2) ? 0 : small(z);                                           \
        (d)->side##MemoryType =                                                                    \
            (CUmemorytype)(fuzz_one_in(z, 20) ? fuzz_enum(z) : 1 + fuzz_below(z, 4));              \
        (d)->side##Host = host;                                                                    \
        (d)->side##Device = fuzz_memory(z);                                                        \
        (d)->side##Array = TAKE(CUarray, ARRAY);                                                   \
        (d)->side##Pitch = fuzz_one_in(z, 2) ? 0 : 128;                                            \
    } while (0)

/* What the host's memory can hold: FUZZ_BYTES wide rows are the most. */
static void fit(size_t *x, size_t *width, size_t *height)
{
    *x %= 64;
    *width %= 65;
    *height %= 9;
}

void fill_CUDA_MEMCPY2D(struct fuzz *z, unsigned i, void *out)
{
    CUDA_MEMCPY2D *d = out;

    COPY_SIDE(d, src, fuzz_source());
    COPY_SIDE(d, dst, fuzz_sink());
    d->WidthInBytes = fuzz_extent(z);
    d->Height = fuzz_extent(z);
    fit(&d->srcXInBytes, &d->WidthInBytes, &d->Height);
    d->dstXInBytes %= 64;
}

#define FILL_COPY3D(d)                                                                             \
    do {                                                                                           \
        COPY_SIDE(d, src, fuzz_source());                                                          \
        COPY_SIDE(d, dst, fuzz_sink());                                                            \
        (d)->WidthInBytes = fuzz_extent(z);                                                        \
        (d)->Height = fuzz_extent(z);                                                              \
        fit(&(d)->srcXInBytes, &(d)->WidthInBytes, &(d)->Height);                                  \
        (d)->dstXInBytes %= 64;                                                                    \
        (d)->Depth = fuzz_below(z, 3);                                                             \
        (d)->srcZ = fuzz_below(z, 2);                                                              \
        (d)->dstZ = fuzz_below(z, 2);                                                              \
        (d)->srcHeight = fuzz_below(z, 2) * 8;                                                     \
        (d)->dstHeight = fuzz_below(z, 2) * 8;                                                     \
    } while (0)

void fill_CUDA_MEMCPY3D(struct fuzz *z, unsigned i, void *out)
{
    CUDA_MEMCPY3D *d = out;

    FILL_COPY3D(d);
}

void fill_CUDA_MEMCPY3D_PEER(struct fuzz *z, unsigned i, void *out)
{
    CUDA_MEMCPY3D_PEER *d = out;

    FILL_COPY3D(d);
    d->srcContext = TAKE(CUcontext, CONTEXT);
    d->dstContext = TAKE(CUcontext, CONTEXT);
}

static void operand(struct fuzz *z, CUmemcpy3DOperand *o)
{
    o->type = ENUM(CUmemcpy3DOperandType);
    if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        o->op.array.array = TAKE(CUarray, ARRAY);
        o->op.array.offset = (CUoffset3D){small(z), small(z), small(z)};
        return;
    }
    o->op.ptr.ptr = fuzz_memory(z);
    o->op.ptr.rowLength = fuzz_extent(z) % 100;
    o->op.ptr.layerHeight = small(z);
    fill_CUmemLocation(z, 0, &o->op.ptr.locHint);
}

void fill_CUDA_MEMCPY3D_BATCH_OP(struct fuzz *z, unsigned i, void *out)
{
    CUDA_MEMCPY3D_BATCH_OP *op = out;

    operand(z, &op->src);
    operand(z, &op->dst);
    op->extent = (CUextent3D){fuzz_extent(z), fuzz_extent(z), small(z)};
    op->srcAccessOrder = ENUM(CUmemcpySrcAccessOrder);
    op->flags = flags(z);
}

void fill_CUDA_MEMSET_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_MEMSET_NODE_PARAMS *p = out;

    p->dst = TAKE(CUdeviceptr, MEMORY);
    p->pitch = fuzz_one_in(z, 2) ? 0 : fuzz_extent(z);
    p->value = 0x01010101u * (unsigned)fuzz_below(z, 128);
    p->elementSize = fuzz_one_in(z, 8) ? (unsigned)small(z) : 1u << fuzz_below(z, 3);
    p->width = fuzz_extent(z);
    p->height = fuzz_one_in(z, 2) ? 1 : fuzz_extent(z);
}

void fill_CUmemLocation(struct fuzz *z, unsigned i, void *out)
{
    CUmemLocation *l = out;

    l->type = fuzz_one_in(z, 4) ? ENUM(CUmemLocationType) : CU_MEM_LOCATION_TYPE_DEVICE;
    l->id = (int)fuzz_take(z, FUZZ_DEVICE);
}

void fill_CUmemAccessDesc(struct fuzz *z, unsigned i, void *out)
{
    CUmemAccessDesc *d = out;

    fill_CUmemLocation(z, i, &d->location);
    d->flags = fuzz_one_in(z, 4) ? ENUM(CUmemAccess_flags) : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

void fill_CUmemPoolProps(struct fuzz *z, unsigned i, void *out)
{
    CUmemPoolProps *p = out;

    p->allocType = fuzz_one_in(z, 8) ? ENUM(CUmemAllocationType) : CU_MEM_ALLOCATION_TYPE_PINNED;
    p->handleTypes = fuzz_one_in(z, 2) ? ENUM(CUmemAllocationHandleType) : 0;
    fill_CUmemLocation(z, i, &p->location);
    p->maxSize = fuzz_one_in(z, 2) ? 0 : fuzz_number(z, 0);
}

void fill_CUmemAllocationProp(struct fuzz *z, unsigned i, void *out)
{
    CUmemAllocationProp *p = out;

    p->type = fuzz_one_in(z, 8) ? ENUM(CUmemAllocationType) : CU_MEM_ALLOCATION_TYPE_PINNED;
    p->requestedHandleTypes = fuzz_one_in(z, 2) ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
    fill_CUmemLocation(z, i, &p->location);
}

void fill_CUDA_MEM_ALLOC_NODE_PARAMS(struct fuzz *z, unsigned i, void *out)
{
    CUDA_MEM_ALLOC_NODE_PARAMS *p = out;
    CUmemAccessDesc *access = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(*access));

    fill_CUmemPoolProps(z, i, &p->poolProps);
    fill_CUmemAccessDesc(z, i, access);
    p->accessDescs = access;
    p->accessDescCount = fuzz_below(z, 2);
    p->bytesize = fuzz_number(z, 0);
}

void fill_CUDA_RESOURCE_DESC(struct fuzz *z, unsigned i, void *out)
{
    CUDA_RESOURCE_DESC *d = out;

    d->resType = ENUM(CUresourcetype);
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        d->res.array.hArray = TAKE(CUarray, ARRAY);
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        d->res.mipmap.hMipmappedArray = TAKE(CUmipmappedArray, MIPMAP);
        break;
    default:
        d->res.pitch2D.devPtr = TAKE(CUdeviceptr, MEMORY);
        d->res.pitch2D.format = (CUarray_format)format(z);
        d->res.pitch2D.numChannels = 1u << fuzz_below(z, 3);
        d->res.pitch2D.width = fuzz_extent(z);
        d->res.pitch2D.height = fuzz_extent(z);
        d->res.pitch2D.pitchInBytes = 512;
    }
    d->flags = flags(z);
}

void fill_CUDA_RESOURCE_VIEW_DESC(struct fuzz *z, unsigned i, void *out)
{
    CUDA_RESOURCE_VIEW_DESC *d = out;

    d->format = ENUM(CUresourceViewFormat);
    d->width = fuzz_extent(z);
    d->height = fuzz_extent(z);
    d->lastMipmapLevel = (unsigned)small(z);
    d->lastLayer = (unsigned)small(z);
}

void fill_CUDA_TEXTURE_DESC(struct fuzz *z, unsigned i, void *out)
{
    CUDA_TEXTURE_DESC *d = out;

    d->addressMode[0] = ENUM(CUaddress_mode);
    d->filterMode = ENUM(CUfilter_mode);
    d->flags = flags(z);
    d->maxAnisotropy = (unsigned)small(z);
}

void fill_CUctxCreateParams(struct fuzz *z, unsigned i, void *out)
{
    CUctxCreateParams *p = out;

    if (fuzz_one_in(z, 2))
        return;
    p->execAffinityParams = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(*p->execAffinityParams));
    fill_CUexecAffinityParam(z, i, p->execAffinityParams);
    p->numExecAffinityParams = (int)fuzz_below(z, 3);
}

void fill_CUexecAffinityParam(struct fuzz *z, unsigned i, void *out)
{
    CUexecAffinityParam *p = out;

    p->type = (CUexecAffinityType)fuzz_below(z, 2);
    p->param.smCount.val = (unsigned)fuzz_number(z, 0);
}

void fill_CUgraphEdgeData(struct fuzz *z, unsigned i, void *out)
{
    CUgraphEdgeData *e = out;

    if (fuzz_one_in(z, 3))
        *e = (CUgraphEdgeData){
            (unsigned char)small(z), (unsigned char)small(z), (unsigned char)small(z), {0}};
}

/*
 * No loops: the word of a condition may lie where memory was that has been freed, and calls with
 * its address would keep a loop going for ever.
 */
static void fill_conditional(struct fuzz *z, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
    p->handle = fuzz_take(z, FUZZ_CONDITION);
    p->type = ENUM(CUgraphConditionalNodeType);
    if (p->type == CU_GRAPH_COND_TYPE_WHILE)
        p->type = CU_GRAPH_COND_TYPE_IF;
    p->size = (unsigned)small(z);
    p->ctx = TAKE(CUcontext, CONTEXT);
}

static void fill_copy_node(struct fuzz *z, unsigned i, CUDA_MEMCPY_NODE_PARAMS *p)
{
    fill_CUDA_MEMCPY3D(z, i, &p->copyParams);
    p->copyCtx = TAKE(CUcontext, CONTEXT);
}

void fill_CUgraphNodeParams(struct fuzz *z, unsigned i, void *out)
{
    CUgraphNodeParams *p = out;

    p->type = (CUgraphNodeType)fuzz_below(z, 15);
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        fill_CUDA_KERNEL_NODE_PARAMS(z, i, &p->kernel);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        fill_copy_node(z, i, &p->memcpy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        fill_CUDA_MEMSET_NODE_PARAMS(z, i, &p->memset);
        p->memset.ctx = TAKE(CUcontext, CONTEXT);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        fill_CUDA_HOST_NODE_PARAMS(z, i, &p->host);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        p->graph.graph = TAKE(CUgraph, GRAPH);
        p->graph.ownership = (CUgraphChildGraphNodeOwnership)fuzz_below(z, 3);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        p->eventWait.event = TAKE(CUevent, EVENT);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        fill_CUDA_MEM_ALLOC_NODE_PARAMS(z, i, &p->alloc);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        p->free.dptr = TAKE(CUdeviceptr, MEMORY);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        FILL_SEMAPHORES(&p->extSemSignal, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 1);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        FILL_SEMAPHORES(&p->extSemWait, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, 1);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        fill_CUDA_BATCH_MEM_OP_NODE_PARAMS(z, i, &p->memOp);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        fill_conditional(z, &p->conditional);
        break;
    default:
        break; /* empty, or nothing in it */
    }
}

void fill_CUkernelNodeAttrValue(struct fuzz *z, unsigned i, void *out)
{
    CUkernelNodeAttrValue *v = out;

    v->clusterDim.x = fuzz_dim(z);
    v->clusterDim.y = fuzz_dim(z);
    v->clusterDim.z = fuzz_dim(z);
    if (fuzz_one_in(z, 4))
        v->programmaticEvent.event = TAKE(CUevent, EVENT);
}

void fill_CUstreamAttrValue(struct fuzz *z, unsigned i, void *out)
{
    fill_CUkernelNodeAttrValue(z, i, out);
}

void fill_CUlaunchConfig(struct fuzz *z, unsigned i, void *out)
{
    CUlaunchConfig *c = out;

    c->gridDimX = fuzz_dim(z);
    c->gridDimY = fuzz_dim(z);
    c->gridDimZ = 1;
    c->blockDimX = fuzz_dim(z);
    c->blockDimY = fuzz_dim(z);
    c->blockDimZ = 1;
    c->sharedMemBytes = fuzz_one_in(z, 4) ? (unsigned)fuzz_number(z, 0) : 0;
    c->hStream = TAKE(CUstream, STREAM);
    c->attrs = fuzz_more(z, i, FUZZ_ELEMENTS * sizeof(*c->attrs));
    c->numAttrs = (unsigned)fuzz_below(z, 3);
    for (unsigned k = 0; k < c->numAttrs; k++) {
        c->attrs[k].id = ENUM(CUlaunchAttributeID);
        fill_CUkernelNodeAttrValue(z, i, &c->attrs[k].value);
    }
}

void fill_CUmemcpyAttributes(struct fuzz *z, unsigned i, void *out)
{
    CUmemcpyAttributes *a = out;

    a->srcAccessOrder = ENUM(CUmemcpySrcAccessOrder);
    fill_CUmemLocation(z, i, &a->srcLocHint);
    fill_CUmemLocation(z, i, &a->dstLocHint);
    a->flags = flags(z);
}

void fill_CUmulticastObjectProp(struct fuzz *z, unsigned i, void *out)
{
    CUmulticastObjectProp *p = out;

    p->numDevices = fuzz_one_in(z, 8) ? 0 : 1;
    p->size = fuzz_one_in(z, 2) ? (size_t)2 << 20 : fuzz_number(z, 0);
    p->handleTypes = small(z);
    p->flags = flags(z);
}
