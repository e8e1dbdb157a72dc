/* Launches. */
#include "api/driver/driver.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"

/* The `extra` form: a packed buffer. */
CUresult drv_launch_extra(void **extra, struct core_launch *launch)
{
    const size_t *size = NULL;

    assert(!launch->buffer && !launch->buffer_B);
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            launch->buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = extra[1];
        else
            return drv_error(CUDA_ERROR_INVALID_VALUE, "unknown word in extra");
    }
    launch->buffer_B = size ? *size : 0;
    return CUDA_SUCCESS;
}

CUresult drv_launch_run(struct core_context *ctx, CUfunction func, CUstream handle,
                        struct core_launch *launch, void **params, void **extra)
{
    CUresult result;

    assert(ctx && launch && !launch->params);
    API_FUNCTION(ctx, function, func);
    API_STREAM(ctx, stream, handle);
    if (HD_UNLIKELY(function->module->ctx != stream->ctx))
        return drv_error(CUDA_ERROR_INVALID_HANDLE,
                         "kernel %s and stream are of different contexts", function->entry->name);
    if (params && extra)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "both params and extra are given");
    launch->params = params;
    result = extra ? drv_launch_extra(extra, launch) : CUDA_SUCCESS;
    if (HD_UNLIKELY(result != CUDA_SUCCESS))
        return result;
    return drv_code_result("launch", core_launch(function, stream, launch));
}

CUresult drv_cuLaunchKernel(CUfunction func, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned smem_B, CUstream stream,
                            void **params, void **extra)
{
    struct core_launch launch = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_smem_B = smem_B};

    API_CALL(cuLaunchKernel);
    API_CONTEXT(ctx);
    return drv_launch_run(ctx, func, stream, &launch, params, extra);
}

CUresult drv_cuLaunchCooperativeKernel(CUfunction func, unsigned gx, unsigned gy, unsigned gz,
                                       unsigned bx, unsigned by, unsigned bz, unsigned smem_B,
                                       CUstream stream, void **params)
{
    struct core_launch launch = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_smem_B = smem_B, .cooperative = true};

    API_CALL(cuLaunchCooperativeKernel);
    API_CONTEXT(ctx);
    return drv_launch_run(ctx, func, stream, &launch, params, NULL);
}

/* ---- one kernel on several devices */

/* References. */
struct mdc_grids {
    struct core_mdc_grid *grids;
    unsigned n;
};

static void launch_mdc_grids_fini(struct mdc_grids *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        core_function_unref(p->grids[i].function);
        core_stream_unref(p->grids[i].stream);
    }
    hd_free(p->grids);
}

/* The stream must be one that was made: its context is the one that the function is launched in. */
static CUresult launch_mdc_grid(const CUDA_LAUNCH_PARAMS *p, struct mdc_grids *all)
{
    const char *const api_name_ = "cuLaunchCooperativeKernelMultiDevice";
    API_HANDLE(stream, stream, p->hStream);
    API_FUNCTION(stream->ctx, function, p->function);
    if (function->module->ctx != stream->ctx)
        return drv_error(CUDA_ERROR_INVALID_HANDLE,
                         "kernel %s and stream are of different contexts", function->entry->name);
    all->grids[all->n++] =
        (struct core_mdc_grid){.function = core_function_ref(function),
                               .stream = core_stream_ref(stream),
                               .launch = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                          .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                          .dynamic_smem_B = p->sharedMemBytes,
                                          .cooperative = true,
                                          .params = p->kernelParams}};
    return CUDA_SUCCESS;
}

#define NO_PRE_SYNC  CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC
#define NO_POST_SYNC CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC
_Static_assert((int)CORE_MDC_NO_PRE_SYNC == NO_PRE_SYNC &&
                   (int)CORE_MDC_NO_POST_SYNC == NO_POST_SYNC,
               "the API's numbers");

CUresult drv_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned n,
                                                  unsigned flags)
{
    __attribute__((cleanup(launch_mdc_grids_fini))) struct mdc_grids all = {0};
    CUresult result = CUDA_SUCCESS;

    API_CALL(cuLaunchCooperativeKernelMultiDevice);
    API_CHECK(list && n && n <= core_device_count());
    API_CHECK(!(flags & ~(unsigned)(NO_PRE_SYNC | NO_POST_SYNC)));
    all.grids = hd_alloc_array(n, sizeof(*all.grids));
    if (!all.grids)
        return drv_error(CUDA_ERROR_OUT_OF_MEMORY, "launch on %u devices", n);
    for (unsigned i = 0; i < n && result == CUDA_SUCCESS; i++)
        result = launch_mdc_grid(&list[i], &all);
    if (result != CUDA_SUCCESS)
        return result;
    return drv_code_result("launch", core_launch_mdc(all.grids, n, flags));
}

/* ---- launches with attributes */

/* A launch as its attributes change it. */
struct launch_ex {
    struct core_launch launch;
    uint32_t preferred[3];        /* cluster; 0 = none */
    struct core_event *events[2]; /* recorded behind it; references */
    unsigned nevents;
};

static CUresult attribute_COOPERATIVE(const CUlaunchAttributeValue *value, struct launch_ex *ex)
{
    ex->launch.cooperative = value->cooperative != 0;
    return CUDA_SUCCESS;
}

static CUresult attribute_CLUSTER_DIMENSION(const CUlaunchAttributeValue *value,
                                            struct launch_ex *ex)
{
    ex->launch.cluster[0] = value->clusterDim.x;
    ex->launch.cluster[1] = value->clusterDim.y;
    ex->launch.cluster[2] = value->clusterDim.z;
    return CUDA_SUCCESS;
}

/* Clusters of the required size do. */
static CUresult attribute_PREFERRED_CLUSTER_DIMENSION(const CUlaunchAttributeValue *value,
                                                      struct launch_ex *ex)
{
    ex->preferred[0] = value->preferredClusterDim.x;
    ex->preferred[1] = value->preferredClusterDim.y;
    ex->preferred[2] = value->preferredClusterDim.z;
    return CUDA_SUCCESS;
}

static CUresult launch_check_preferred(struct core_context *ctx, CUfunction func,
                                       const struct launch_ex *ex)
{
    API_FUNCTION(ctx, function, func);
    return drv_code_result("launch",
                           core_cluster_check_preferred(function, &ex->launch, ex->preferred));
}

/* The event must keep no time and be of this process. */
static CUresult launch_event_add(const char *name, CUevent handle, int flags, struct launch_ex *ex)
{
    __attribute__((cleanup(core_event_unref_at))) struct core_event *event =
        core_event_lookup(handle);

    if (!event)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "launch attribute %s: not an event", name);
    if (flags || !(event->flags & CORE_EVENT_DISABLE_TIMING))
        return drv_error(CUDA_ERROR_INVALID_VALUE,
                         "launch attribute %s: takes no flags and an event without timing", name);
    if (ex->nevents == HD_COUNT_OF(ex->events))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "launch attribute %s: given twice", name);
    ex->events[ex->nevents++] = core_event_ref(event);
    return CUDA_SUCCESS;
}

static CUresult attribute_PROGRAMMATIC_EVENT(const CUlaunchAttributeValue *value,
                                             struct launch_ex *ex)
{
    return launch_event_add("PROGRAMMATIC_EVENT", value->programmaticEvent.event,
                            value->programmaticEvent.flags, ex);
}

static CUresult attribute_LAUNCH_COMPLETION_EVENT(const CUlaunchAttributeValue *value,
                                                  struct launch_ex *ex)
{
    return launch_event_add("LAUNCH_COMPLETION_EVENT", value->launchCompletionEvent.event,
                            value->launchCompletionEvent.flags, ex);
}

/* The handle is written where the program gave the attribute. */
static CUresult attribute_DEVICE_UPDATABLE_KERNEL_NODE(const CUlaunchAttributeValue *value,
                                                       struct launch_ex *ex)
{
    CUlaunchAttributeValue *out = (CUlaunchAttributeValue *)(uintptr_t)value;
    int wanted = value->deviceUpdatableKernelNode.deviceUpdatable;

    if (wanted != 0 && wanted != 1)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "launch attribute: deviceUpdatable is 0 or 1");
    ex->launch.for_graphs = true;
    if (wanted)
        ex->launch.out_device_node = (void **)&out->deviceUpdatableKernelNode.devNode;
    return CUDA_SUCCESS;
}

#define DO_DONE(name, why) attribute_##name(&a->value, ex)
#define DO_HINT(name, why) CUDA_SUCCESS
#define DO_REFUSED(name, why)                                                                      \
    drv_error(CUDA_ERROR_NOT_SUPPORTED, "launch attribute " #name ": " why)
#define DO_STREAM(name, why)                                                                       \
    drv_error(CUDA_ERROR_INVALID_VALUE, "launch attribute " #name ": for streams: " why)

static CUresult attribute_decode(const CUlaunchAttribute *a, struct launch_ex *ex)
{
    switch (a->id) {
#define X(name, number, verb, why)                                                                 \
    case CU_LAUNCH_ATTRIBUTE_##name:                                                               \
        return DO_##verb(name, why);
#include "api/launch_attributes.def"
#undef X
    }
    return drv_error(CUDA_ERROR_INVALID_VALUE, "launch attribute %d is unknown", (int)a->id);
}

static CUresult launch_events_record(struct core_context *ctx, CUstream handle,
                                     const struct launch_ex *ex)
{
    assert(ex->nevents && ex->nevents <= HD_COUNT_OF(ex->events));
    API_STREAM(ctx, stream, handle);
    for (unsigned i = 0; i < ex->nevents; i++) {
        CUresult result = drv_result(core_event_record(ex->events[i], stream, false));
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static void launch_ex_fini(struct launch_ex *ex)
{
    assert(ex->nevents <= HD_COUNT_OF(ex->events));
    for (unsigned i = 0; i < ex->nevents; i++)
        core_event_unref(ex->events[i]);
}

CUresult drv_launch_attribute(const CUlaunchAttribute *attribute, struct core_launch *launch)
{
    __attribute__((cleanup(launch_ex_fini))) struct launch_ex ex = {.launch = *launch};
    CUresult result = attribute_decode(attribute, &ex);

    if (result == CUDA_SUCCESS && ex.nevents)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "kernel nodes take no events as attributes");
    if (result == CUDA_SUCCESS)
        *launch = ex.launch;
    return result;
}

static CUresult launch_decode(const CUlaunchConfig *config, struct launch_ex *ex)
{
    CUresult result = CUDA_SUCCESS;

    ex->launch = (struct core_launch){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_smem_B = config->sharedMemBytes,
    };
    for (unsigned i = 0; i < config->numAttrs && result == CUDA_SUCCESS; i++)
        result = attribute_decode(&config->attrs[i], ex);
    return result;
}

CUresult drv_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction func, void **params,
                              void **extra, CUstream null_stream)
{
    __attribute__((cleanup(launch_ex_fini))) struct launch_ex ex = {0};
    CUstream stream;
    CUresult result;

    API_CALL(cuLaunchKernelEx);
    API_CHECK(config);
    API_CHECK(!config->numAttrs || config->attrs);
    API_CONTEXT(ctx);
    stream = config->hStream ? config->hStream : null_stream;
    result = launch_decode(config, &ex);
    if (result == CUDA_SUCCESS && (ex.preferred[0] | ex.preferred[1] | ex.preferred[2]))
        result = launch_check_preferred(ctx, func, &ex);
    if (result == CUDA_SUCCESS)
        result = drv_launch_run(ctx, func, stream, &ex.launch, params, extra);
    if (result == CUDA_SUCCESS && ex.nevents)
        result = launch_events_record(ctx, stream, &ex);
    return result;
}

CUresult drv_cuLaunchHostFunc(CUstream handle, CUhostFn func, void *arg)
{
    API_CALL(cuLaunchHostFunc);
    API_CHECK(func);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, handle);
    return drv_result(core_stream_host(stream, func, arg));
}

/* ---- occupancy */

CUresult drv_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction func,
                                                                  int block_size, size_t smem_B,
                                                                  unsigned flags)
{
    API_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags);
    API_CHECK(blocks);
    API_CHECK(block_size > 0);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_DESCRIBED_FUNCTION(ctx, function, func);
    *blocks = core_occupancy(function, block_size, smem_B);
    return CUDA_SUCCESS;
}

CUresult drv_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction func,
                                                         int block_size, size_t smem_B)
{
    return drv_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size,
                                                                    smem_B, 0);
}

/* The block size that keeps most threads resident; the larger one of equals. */
/* Multiprocessors that a launch into the default stream may use. */
static int launch_current_sms(const struct core_context *ctx)
{
    const struct core_green *green = core_current_green();

    return green ? (int)green->nsms : ctx->device->units;
}

CUresult drv_cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block_size,
                                                       CUfunction func, CUoccupancyB2DSize smem_of,
                                                       size_t smem_B, int limit, unsigned flags)
{
    int best_threads = 0, max, per_sm;

    API_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags);
    API_CHECK(min_grid && block_size);
    API_CHECK(!(flags & ~1u));
    API_CONTEXT(ctx);
    API_DESCRIBED_FUNCTION(ctx, function, func);
    max = (int)function->info.max_threads;
    if (limit > 0 && limit < max)
        max = limit;
    *block_size = *min_grid = 0;
    for (int size = (max + 31) / 32 * 32; size > 0; size -= 32) {
        int threads = HD_MIN(size, max);

        per_sm = core_occupancy(function, threads, smem_of ? smem_of(threads) : smem_B);
        if (per_sm * threads > best_threads) {
            assert(threads > 0 && threads <= max && per_sm > 0);
            best_threads = per_sm * threads;
            *block_size = threads;
            *min_grid = per_sm * launch_current_sms(ctx);
        }
    }
    return CUDA_SUCCESS;
}

CUresult drv_cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, CUfunction func,
                                              CUoccupancyB2DSize smem_of, size_t smem_B, int limit)
{
    return drv_cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block_size, func, smem_of,
                                                         smem_B, limit, 0);
}

CUresult drv_cuOccupancyAvailableDynamicSMemPerBlock(size_t *smem_B, CUfunction func, int blocks,
                                                     int block_size)
{
    API_CALL(cuOccupancyAvailableDynamicSMemPerBlock);
    API_CHECK(smem_B && blocks > 0 && block_size > 0);
    API_CONTEXT(ctx);
    API_DESCRIBED_FUNCTION(ctx, function, func);
    *smem_B = core_occupancy_smem(function, blocks, block_size);
    return CUDA_SUCCESS;
}

/* ---- clusters */

/* CTAs of the launch's clusters; the other way out is an error. */
static CUresult launch_cluster_size(struct core_function *function, const struct launch_ex *ex,
                                    uint32_t *out_ctas)
{
    struct core_launch launch = ex->launch;
    enum hd_status status = HD_OK;

    if (core_cluster_is_named(function, &launch))
        status = core_cluster_resolve(function, &launch);
    *out_ctas = HD_MAX(launch.cluster[0] * launch.cluster[1] * launch.cluster[2], 1u);
    return drv_result(status);
}

static int launch_clusters_that_fit(uint32_t sms, const struct core_function *function,
                                    const struct core_launch *launch, uint32_t ctas)
{
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    int per_sm =
        threads <= INT_MAX ? core_occupancy(function, (int)threads, launch->dynamic_smem_B) : 0;

    return (int)((uint64_t)per_sm * sms / ctas);
}

CUresult drv_cuOccupancyMaxActiveClusters(int *clusters, CUfunction func,
                                          const CUlaunchConfig *config)
{
    __attribute__((cleanup(launch_ex_fini))) struct launch_ex ex = {0};
    uint32_t ctas;
    CUresult result;

    API_CALL(cuOccupancyMaxActiveClusters);
    API_CHECK(clusters && config && (!config->numAttrs || config->attrs));
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, config->hStream);
    API_DESCRIBED_FUNCTION(ctx, function, func);
    result = launch_decode(config, &ex);
    if (result == CUDA_SUCCESS)
        result = launch_cluster_size(function, &ex, &ctas);
    if (result == CUDA_SUCCESS)
        *clusters = launch_clusters_that_fit(core_stream_sms(stream), function, &ex.launch, ctas);
    return result;
}

/* The cluster's size in `config` is not looked at; one that the function requires is the answer. */
CUresult drv_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction func,
                                                const CUlaunchConfig *config)
{
    __attribute__((cleanup(launch_ex_fini))) struct launch_ex ex = {0};
    uint32_t need[3];
    CUresult result;

    API_CALL(cuOccupancyMaxPotentialClusterSize);
    API_CHECK(size && config && (!config->numAttrs || config->attrs));
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, config->hStream);
    API_DESCRIBED_FUNCTION(ctx, function, func);
    result = launch_decode(config, &ex);
    if (result != CUDA_SUCCESS)
        return result;
    core_cluster_required(function, need);
    *size = need[0] ? (int)(need[0] * need[1] * need[2]) : (int)core_cluster_max(function);
    while (*size > 1 && !launch_clusters_that_fit(core_stream_sms(stream), function, &ex.launch,
                                                  (uint32_t)*size))
        --*size;
    return CUDA_SUCCESS;
}
