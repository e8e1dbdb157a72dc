/*
 * Resources of devices, and green contexts made from them. (docs/decisions/0099)
 *
 * A CUdevResource is a value that the program copies around. What it stands for is written where
 * CUDA keeps what is its own, with a sum over it, so that one that was changed is refused.
 */
#include "api/driver/describe.h"
#include "api/driver/driver.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/stream/green.h"

/* What a resource came from: */
enum resource_kind {
    RESOURCE_WHOLE = 1, /* a device or a context: it may be split */
    RESOURCE_PART,      /* a split: it may go into a descriptor, alone or with its siblings */
};

/* In CUdevResource._internal_padding. */
struct resource {
    uint64_t sum;   /* over what follows and the public part */
    uint64_t split; /* which one it came from */
    uint32_t kind, device;
    uint32_t least, multiple; /* of parts of it */
    struct core_sms sms;
};
_Static_assert(sizeof(struct resource) <= sizeof(((CUdevResource *)0)->_internal_padding), "fits");

/* What green contexts are made of. They are never freed, as CUDA has no call for it; equal ones are
 * the same. */
struct CUdevResourceDesc_st {
    struct resource resource; /* its sum is 0 */
    struct CUdevResourceDesc_st *next;
};

static struct {
    struct hd_lock lock;
    struct CUdevResourceDesc_st *first;
} descs = {.lock = HD_LOCK_INIT(LEAF, "descs.lock")};

static _Atomic uint64_t next_split;

/* ---- resources */

static uint64_t green_resource_sum(const struct resource *r, const CUdevSmResource *sm)
{
    uint64_t sum = hd_hash(&r->split, sizeof(*r) - offsetof(struct resource, split), 0x4845);

    return hd_hash(sm, sizeof(*sm), sum);
}

static void green_resource_put(CUdevResource *out, struct resource r)
{
    memset(out, 0, sizeof(*out));
    out->type = CU_DEV_RESOURCE_TYPE_SM;
    out->sm.smCount = core_sms_count(&r.sms);
    out->sm.minSmPartitionSize = r.least;
    out->sm.smCoscheduledAlignment = r.multiple;
    r.sum = green_resource_sum(&r, &out->sm);
    memcpy(out->_internal_padding, &r, sizeof(r));
}

static CUresult green_resource_get(const CUdevResource *in, struct resource *out)
{
    if (in->type != CU_DEV_RESOURCE_TYPE_SM)
        return drv_error(CUDA_ERROR_INVALID_RESOURCE_TYPE, "resource type %d is not SM",
                         (int)in->type);
    memcpy(out, in->_internal_padding, sizeof(*out));
    if (out->sum != green_resource_sum(out, &in->sm))
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "the resource was not made by this driver, or was changed");
    return CUDA_SUCCESS;
}

static CUresult green_resource_of(const struct core_device *device, const struct core_green *green,
                                  CUdevResource *out, CUdevResourceType type)
{
    struct resource r = {.kind = RESOURCE_WHOLE, .device = (uint32_t)device->ordinal};

    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return drv_error(CUDA_ERROR_INVALID_RESOURCE_TYPE, "resource type %d", (int)type);
    /* Least size of parts and what they are a multiple of, by compute capability, as documented. */
    r.multiple = device->cc_major >= 9 ? 8 : 2;
    r.least = device->cc_major == 8 ? 4 : r.multiple;
    /* No GPU has fewer than that; a device that has is one part. */
    r.multiple = HD_MIN(r.multiple, (uint32_t)device->units);
    r.least = HD_MIN(r.least, (uint32_t)device->units);
    for (int sm = 0; !green && sm < device->units; sm++)
        core_sms_add(&r.sms, (uint32_t)sm);
    if (green) {
        r.sms = green->sms;
        r.least = green->least;
        r.multiple = green->multiple;
    }
    green_resource_put(out, r);
    return CUDA_SUCCESS;
}

CUresult drv_cuDeviceGetDevResource(CUdevice dev, CUdevResource *resource, CUdevResourceType type)
{
    API_CALL(cuDeviceGetDevResource);
    API_CHECK(resource);
    API_DEVICE(device, dev);
    return green_resource_of(device, NULL, resource, type);
}

CUresult drv_cuCtxGetDevResource(CUcontext handle, CUdevResource *resource, CUdevResourceType type)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    API_CALL(cuCtxGetDevResource);
    API_CHECK(resource);
    ctx = core_context_find(handle, &green);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%p is not a live context", (void *)handle);
    return green_resource_of(ctx->device, green, resource, type);
}

/* ---- splitting */

struct split {
    uint32_t size, groups; /* multiprocessors of each, and how many can be had */
    uint32_t least, multiple;
};

/* Largest clusters need as many multiprocessors. */
#define CLUSTER_SMS 16u

static CUresult green_split_flags(const struct core_device *device, unsigned flags,
                                  struct split *split)
{
    const unsigned ignore = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    const unsigned clusters = CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;

    if (flags & ~(ignore | clusters) || flags == (ignore | clusters))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "flags 0x%x of a split", flags);
    if (flags & clusters && device->cc_major < 9)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "clusters need compute capability 9.0");
    if (flags & ignore)
        split->least = split->multiple = HD_MIN(2u, (uint32_t)device->units);
    if (flags & clusters)
        split->least = HD_MAX(split->least, CLUSTER_SMS);
    return CUDA_SUCCESS;
}

static void green_split_size(struct split *split, uint32_t count, uint32_t min_count)
{
    uint32_t multiple = split->multiple;

    split->size = HD_MAX(split->least, (min_count + multiple - 1) / multiple * multiple);
    split->groups = count / split->size;
}

/* Moves the n first of `from` to `to`. */
static void green_sms_move(struct core_sms *from, struct core_sms *to, uint32_t n)
{
    for (uint32_t sm = 0; sm < CORE_SMS_MAX && n; sm++) {
        if (!core_sms_has(from, sm))
            continue;
        core_sms_add(to, sm);
        from->bits[sm / 64] &= ~((uint64_t)1 << (sm % 64));
        n--;
    }
}

/* The parts, and what is left: no resource when that is nothing. */
static void green_split_put(struct resource r, const struct split *split, CUdevResource *parts,
                            unsigned n, CUdevResource *rest)
{
    struct core_sms left = r.sms;

    r.kind = RESOURCE_PART;
    r.split = atomic_fetch_add(&next_split, 1) + 1;
    r.least = split->least;
    r.multiple = split->multiple;
    for (unsigned i = 0; i < n; i++) {
        r.sms = (struct core_sms){{0}};
        green_sms_move(&left, &r.sms, split->size);
        green_resource_put(&parts[i], r);
    }
    r.sms = left;
    if (rest && core_sms_count(&left))
        green_resource_put(rest, r);
    else if (rest)
        memset(rest, 0, sizeof(*rest)); /* CU_DEV_RESOURCE_TYPE_INVALID */
}

static CUresult green_split_check(const struct resource *r, unsigned flags, unsigned min_count,
                                  struct split *split)
{
    struct core_device *device = core_device_at((int)r->device);
    uint32_t count = core_sms_count(&r->sms);
    CUresult result;

    if (r->kind != RESOURCE_WHOLE)
        return drv_error(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                         "a part can be split again when a green context was made of it");
    if (min_count > count)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "parts of %u multiprocessors, there are %u",
                         min_count, count);
    *split = (struct split){.least = r->least, .multiple = r->multiple};
    result = green_split_flags(device, flags, split);
    if (result == CUDA_SUCCESS)
        green_split_size(split, count, min_count);
    return result;
}

CUresult drv_cuDevSmResourceSplitByCount(CUdevResource *parts, unsigned *n,
                                         const CUdevResource *input, CUdevResource *rest,
                                         unsigned flags, unsigned min_count)
{
    struct resource r;
    struct split split = {0};
    CUresult result;

    API_CALL(cuDevSmResourceSplitByCount);
    API_CHECK(n && input);
    result = green_resource_get(input, &r);
    if (result == CUDA_SUCCESS)
        result = green_split_check(&r, flags, min_count, &split);
    if (result != CUDA_SUCCESS)
        return result;
    if (!parts) {
        *n = split.groups;
        return CUDA_SUCCESS;
    }
    API_CHECK(*n);
    if (!split.groups)
        return drv_error(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                         "parts are of %u multiprocessors at least, there are %u", split.size,
                         core_sms_count(&r.sms));
    *n = HD_MIN(*n, split.groups);
    green_split_put(r, &split, parts, *n, rest);
    return CUDA_SUCCESS;
}

/* ---- descriptors */

/* Adds a resource to what the ones before it made. */
static CUresult green_resource_merge(struct resource *all, const CUdevResource *in, bool is_first)
{
    struct resource r;
    CUresult result = green_resource_get(in, &r);

    if (result != CUDA_SUCCESS || is_first) {
        *all = r;
        return result;
    }
    if (r.kind != RESOURCE_PART || all->kind != RESOURCE_PART || r.split != all->split ||
        r.device != all->device)
        return drv_error(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                         "several resources must be of one split");
    for (size_t i = 0; i < HD_COUNT_OF(r.sms.bits); i++) {
        if (all->sms.bits[i] & r.sms.bits[i])
            return drv_error(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                             "a resource is there twice");
        all->sms.bits[i] |= r.sms.bits[i];
    }
    return CUDA_SUCCESS;
}

static struct CUdevResourceDesc_st *green_desc_make(const struct resource *r)
{
    struct CUdevResourceDesc_st *d;

    hd_lock_acquire(&descs.lock);
    d = descs.first;
    while (d && memcmp(&d->resource, r, sizeof(*r)) != 0)
        d = d->next;
    if (!d)
        d = hd_new(struct CUdevResourceDesc_st);
    if (d && !d->resource.kind) {
        d->resource = *r;
        d->next = descs.first;
        descs.first = d;
    }
    hd_lock_release(&descs.lock);
    return d;
}

/* False: it is none of ours. */
static bool green_desc_get(CUdevResourceDesc desc, struct resource *out)
{
    struct CUdevResourceDesc_st *d;

    hd_lock_acquire(&descs.lock);
    for (d = descs.first; d && d != desc; d = d->next)
        ;
    if (d)
        *out = d->resource;
    hd_lock_release(&descs.lock);
    return d != NULL;
}

CUresult drv_cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources,
                                       unsigned n)
{
    struct resource all;

    API_CALL(cuDevResourceGenerateDesc);
    API_CHECK(desc && resources && n);
    memset(&all, 0, sizeof(all));
    for (unsigned i = 0; i < n; i++) {
        CUresult result = green_resource_merge(&all, &resources[i], i == 0);
        if (result != CUDA_SUCCESS)
            return result;
    }
    all.sum = all.split = 0;
    *desc = green_desc_make(&all);
    return *desc ? CUDA_SUCCESS
                 : drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: memory is short", api_name_);
}

/* ---- green contexts */

/* Declares `green`, with a reference: what the handle names, and it is usable. */
#define API_GREEN(green, handle)                                                                   \
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green =                       \
        core_green_lookup(handle);                                                                 \
    do {                                                                                           \
        if (!green)                                                                                \
            return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: %p is not a live green context",     \
                             api_name_, (void *)(handle));                                         \
        if (!core_green_is_usable(green))                                                          \
            return drv_error(CUDA_ERROR_CONTEXT_IS_DESTROYED,                                      \
                             "%s: the primary context was reset or released", api_name_);          \
    } while (0)

CUresult drv_cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev, unsigned flags)
{
    struct core_green *green;
    struct resource r;
    enum hd_status status;

    API_CALL(cuGreenCtxCreate);
    API_CHECK(out);
    API_CHECK(flags == CU_GREEN_CTX_DEFAULT_STREAM);
    API_DEVICE(device, dev);
    if (!green_desc_get(desc, &r))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: %p is not a resource descriptor", api_name_,
                         (void *)desc);
    if (r.device != (uint32_t)dev)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: the resources are those of device %u",
                         api_name_, r.device);
    status = core_green_create(device, &r.sms, r.least, r.multiple, &green);
    if (status == HD_OK)
        DRV_GIVE(green, out, green);
    return drv_result(status);
}

/* Also after its context was reset. */
CUresult drv_cuGreenCtxDestroy(CUgreenCtx handle)
{
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    API_CALL(cuGreenCtxDestroy);
    green = core_green_lookup(handle);
    if (!green || !core_green_destroy(green))
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: %p is not a live green context",
                         api_name_, (void *)handle);
    return CUDA_SUCCESS;
}

CUresult drv_cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle)
{
    API_CALL(cuCtxFromGreenCtx);
    API_CHECK(out);
    API_GREEN(green, handle);
    *out = core_green_context_handle(green);
    return CUDA_SUCCESS;
}

CUresult drv_cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *resource,
                                      CUdevResourceType type)
{
    API_CALL(cuGreenCtxGetDevResource);
    API_CHECK(resource);
    API_GREEN(green, handle);
    return green_resource_of(green->ctx->device, green, resource, type);
}

CUresult drv_cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *id)
{
    API_CALL(cuGreenCtxGetId);
    API_CHECK(id);
    if (!handle)
        handle = core_green_handle(core_current_green());
    API_GREEN(green, handle);
    *id = green->id;
    return CUDA_SUCCESS;
}

CUresult drv_cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned flags, int priority)
{
    API_CALL(cuGreenCtxStreamCreate);
    API_CHECK(out);
    API_CHECK(flags == CU_STREAM_NON_BLOCKING);
    API_GREEN(green, handle);
    return drv_stream_create(green->ctx, green, flags, priority, out);
}

HD_EXPORT CUcontext heddle_context_base_slow(CUcontext handle)
{
    struct core_context *ctx = core_context_find(handle, NULL);
    CUcontext base = core_context_handle(ctx);

    core_context_unref(ctx);
    return base;
}

/* ---- events of all streams at once */

static CUresult green_record(struct core_context *ctx, struct core_green *green, CUevent handle,
                             const char *api_name_)
{
    API_HANDLE(event, event, handle);
    if (event->ctx != ctx)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: the event is of another context",
                         api_name_);
    return drv_result(core_streams_record(ctx, green, event));
}

static CUresult green_wait_for(struct core_context *ctx, struct core_green *green, CUevent handle,
                               const char *api_name_)
{
    enum hd_status status;

    API_HANDLE(event, event, handle);
    status = core_streams_wait(ctx, green, event);
    return status == HD_CAPTURED_EVENT ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : drv_result(status);
}

CUresult drv_cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event)
{
    API_CALL(cuGreenCtxRecordEvent);
    API_GREEN(green, handle);
    return green_record(green->ctx, green, event, api_name_);
}

CUresult drv_cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event)
{
    API_CALL(cuGreenCtxWaitEvent);
    API_GREEN(green, handle);
    return green_wait_for(green->ctx, green, event, api_name_);
}

CUresult drv_cuCtxRecordEvent(CUcontext handle, CUevent event)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    API_CALL(cuCtxRecordEvent);
    ctx = core_context_find(handle, &green);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: %p is not a live context", api_name_,
                         (void *)handle);
    return green_record(ctx, green, event, api_name_);
}

CUresult drv_cuCtxWaitEvent(CUcontext handle, CUevent event)
{
    __attribute__((cleanup(core_context_unref_at))) struct core_context *ctx = NULL;
    __attribute__((cleanup(core_green_unref_at))) struct core_green *green = NULL;

    API_CALL(cuCtxWaitEvent);
    ctx = core_context_find(handle, &green);
    if (!ctx)
        return drv_error(CUDA_ERROR_INVALID_CONTEXT, "%s: %p is not a live context", api_name_,
                         (void *)handle);
    return green_wait_for(ctx, green, event, api_name_);
}
