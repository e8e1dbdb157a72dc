/* Events of the taps become activity records. */
#include <assert.h>
#include <cuda.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "api/cupti/cupti.h"
#include "api/cupti/sampler.h"
#include "base/map.h"
#include "base/mem.h"

/* Operations of packets (enum hal_op) that leave records. */
enum { OP_DISPATCH = 1, OP_COPY = 2, OP_FILL = 3 };

static _Atomic uint32_t process_id;

uint32_t cupti_process(void)
{
    if (!atomic_load_explicit(&process_id, memory_order_relaxed))
        atomic_store_explicit(&process_id, (uint32_t)getpid(), memory_order_relaxed);
    return atomic_load_explicit(&process_id, memory_order_relaxed);
}

/* ---- graphs: a record for each launch, instead of one for each node */

/* Launches whose nodes are not all done, by correlation. */
#define GRAPHS 64u
struct graph_launch {
    uint64_t correlation; /* 0: free */
    uint64_t start_ns, end_ns, graph;
    uint32_t submitted, retired, device, context, stream;
    bool is_whole; /* the call has returned: nothing is submitted any more */
};
static struct {
    pthread_mutex_t lock;
    struct graph_launch launches[GRAPHS];
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic uint32_t ngraphs;

static uint32_t record_graph_number(uint64_t graph)
{
    return (uint32_t)(graph >> 4);
}

static struct graph_launch *record_graph_find_locked(uint64_t correlation)
{
    for (size_t i = 0; i < GRAPHS; i++)
        if (graphs.launches[i].correlation == correlation)
            return &graphs.launches[i];
    return NULL;
}

static void record_graph_record_locked(struct graph_launch *launch)
{
    CUpti_ActivityGraphTrace2 *r;

    assert(launch->correlation && atomic_load(&ngraphs));
    if (!launch->is_whole || launch->retired < launch->submitted)
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    if (r) {
        r->correlationId = (uint32_t)launch->correlation;
        r->start = launch->start_ns;
        r->end = launch->end_ns;
        r->deviceId = r->endDeviceId = launch->device;
        r->contextId = r->endContextId = launch->context;
        r->streamId = launch->stream;
        r->graphId = record_graph_number(launch->graph);
        cupti_record_end();
    }
    launch->correlation = 0;
    atomic_fetch_sub(&ngraphs, 1);
}

static void record_graph_submit(const struct heddle_event *event)
{
    const struct heddle_work *work = event->packet.work;
    struct graph_launch *launch;

    assert(work);
    if (!work->graph || !event->correlation)
        return;
    pthread_mutex_lock(&graphs.lock);
    launch = record_graph_find_locked(event->correlation);
    if (!launch && (launch = record_graph_find_locked(0))) {
        *launch = (struct graph_launch){.correlation = event->correlation,
                                        .start_ns = UINT64_MAX,
                                        .graph = work->graph,
                                        .device = work->device,
                                        .context = work->context_id,
                                        .stream = work->stream_id};
        atomic_fetch_add(&ngraphs, 1);
        assert(atomic_load(&ngraphs) <= GRAPHS);
    }
    if (launch)
        launch->submitted++;
    pthread_mutex_unlock(&graphs.lock);
}

/* False: it is none of a graph that is recorded as a whole. */
static bool record_graph_retire(const struct heddle_event *event)
{
    struct graph_launch *launch;

    if (!event->packet.work->graph || !event->correlation)
        return false;
    pthread_mutex_lock(&graphs.lock);
    launch = record_graph_find_locked(event->correlation);
    if (launch) {
        launch->retired++;
        launch->start_ns = HD_MIN(launch->start_ns, event->packet.start_ns);
        launch->end_ns = HD_MAX(launch->end_ns, event->packet.end_ns);
        record_graph_record_locked(launch);
    }
    pthread_mutex_unlock(&graphs.lock);
    return launch != NULL;
}

/* ---- work that is done */

static uint64_t record_node_number(const struct heddle_work *work)
{
    return work->graph ? (uint64_t)record_graph_number(work->graph) << 32 | (work->node + 1) : 0;
}

static void record_kernel(const struct heddle_event *event, const struct heddle_work *work,
                          CUpti_ActivityKind kind)
{
    CUpti_ActivityKernel10 *r = cupti_record_begin(kind);

    if (!r)
        return;
    r->start = event->packet.start_ns;
    r->end = r->completed = event->packet.end_ns;
    if (cupti_latency_is_wanted())
        r->submitted = event->packet.start_ns;
    r->deviceId = work->device;
    r->contextId = work->context_id;
    r->streamId = work->stream_id;
    r->correlationId = (uint32_t)event->correlation;
    r->gridX = (int32_t)work->grid[0], r->gridY = (int32_t)work->grid[1];
    r->gridZ = (int32_t)work->grid[2];
    r->blockX = (int32_t)work->block[0], r->blockY = (int32_t)work->block[1];
    r->blockZ = (int32_t)work->block[2];
    r->clusterX = work->cluster[0], r->clusterY = work->cluster[1], r->clusterZ = work->cluster[2];
    r->dynamicSharedMemory = (int32_t)work->dynamic_shared_B;
    r->gridId = work->grid_id;
    r->launchType = work->is_cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                         : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
    r->graphNodeId = record_node_number(work);
    r->graphId = record_graph_number(work->graph);
    r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    r->partitionedGlobalCacheRequested = r->partitionedGlobalCacheExecuted =
        CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
    if (work->kernel) {
        r->name = work->kernel->name;
        r->registersPerThread = (uint16_t)work->kernel->regs;
        r->staticSharedMemory = (int32_t)work->kernel->static_shared_B;
        r->sharedMemoryExecuted = (uint32_t)work->kernel->static_shared_B + work->dynamic_shared_B;
        r->localMemoryPerThread = (uint32_t)work->kernel->local_B;
    }
    cupti_record_end();
}

static CUpti_ActivityMemoryKind record_memory_kind(uint32_t memory)
{
    switch (memory) {
    case 1:
        return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    case 2:
    case 8:
        return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case 4:
        return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    default:
        return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    }
}

static bool record_is_on_device(uint32_t memory)
{
    return memory == 1 || memory == 4;
}

static CUpti_ActivityMemcpyKind record_copy_kind(const struct heddle_work *work)
{
    if (record_is_on_device(work->src_memory))
        return record_is_on_device(work->dst_memory) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                                                     : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    return record_is_on_device(work->dst_memory) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                                                 : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

/* Between two devices; UINT32_MAX is the host. */
static bool record_is_peer(const struct heddle_work *work)
{
    return work->src_device != work->dst_device && work->src_device != UINT32_MAX &&
           work->dst_device != UINT32_MAX;
}

static void record_peer(const struct heddle_event *event, const struct heddle_work *work)
{
    CUpti_ActivityMemcpyPtoP4 *r;

    if (!cupti_records(CUPTI_ACTIVITY_KIND_MEMCPY2))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MEMCPY2);
    if (!r)
        return;
    r->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    r->srcKind = r->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r->flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
    r->bytes = work->size_B;
    r->start = event->packet.start_ns;
    r->end = event->packet.end_ns;
    r->deviceId = work->device;
    r->contextId = work->context_id;
    r->streamId = work->stream_id;
    r->srcDeviceId = work->src_device;
    r->dstDeviceId = work->dst_device;
    r->correlationId = (uint32_t)event->correlation;
    r->graphNodeId = record_node_number(work);
    r->graphId = record_graph_number(work->graph);
    r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
    cupti_record_end();
}

static void record_copy(const struct heddle_event *event, const struct heddle_work *work)
{
    CUpti_ActivityMemcpy6 *r;

    if (record_is_peer(work)) {
        record_peer(event, work);
        return;
    }
    if (!cupti_records(CUPTI_ACTIVITY_KIND_MEMCPY))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MEMCPY);
    if (!r)
        return;
    r->copyKind = (uint8_t)record_copy_kind(work);
    r->srcKind = (uint8_t)record_memory_kind(work->src_memory);
    r->dstKind = (uint8_t)record_memory_kind(work->dst_memory);
    r->flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
    r->bytes = work->size_B;
    r->start = event->packet.start_ns;
    r->end = event->packet.end_ns;
    r->deviceId = work->device;
    r->contextId = work->context_id;
    r->streamId = work->stream_id;
    r->correlationId = (uint32_t)event->correlation;
    r->graphNodeId = record_node_number(work);
    r->graphId = record_graph_number(work->graph);
    r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
    r->copyCount = 1;
    cupti_record_end();
}

static void record_fill(const struct heddle_event *event, const struct heddle_work *work)
{
    CUpti_ActivityMemset4 *r;

    if (!cupti_records(CUPTI_ACTIVITY_KIND_MEMSET))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MEMSET);
    if (!r)
        return;
    r->value = work->value;
    r->bytes = work->size_B;
    r->start = event->packet.start_ns;
    r->end = event->packet.end_ns;
    r->deviceId = work->device;
    r->contextId = work->context_id;
    r->streamId = work->stream_id;
    r->correlationId = (uint32_t)event->correlation;
    r->flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
    r->memoryKind = (uint16_t)record_memory_kind(work->dst_memory);
    r->graphNodeId = record_node_number(work);
    r->graphId = record_graph_number(work->graph);
    r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    cupti_record_end();
}

static void record_retired(const struct heddle_event *event)
{
    const struct heddle_work *work = event->packet.work;

    assert(work);
    if (cupti_records(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) && record_graph_retire(event))
        return;
    if (!event->packet.end_ns)
        return; /* work that a fault kept from running */
    if (event->packet.op == OP_DISPATCH) {
        if (cupti_records(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
            record_kernel(event, work, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        else if (cupti_records(CUPTI_ACTIVITY_KIND_KERNEL))
            record_kernel(event, work, CUPTI_ACTIVITY_KIND_KERNEL);
    } else if (event->packet.op == OP_COPY) {
        record_copy(event, work);
    } else if (event->packet.op == OP_FILL) {
        record_fill(event, work);
    }
}

/* ---- calls */

/* The runtime's call that this thread is in, or was in last: no other call has its correlation. */
static HD_THREAD_LOCAL uint64_t runtime_correlation;

static void record_api(const struct heddle_event *event, uint32_t cbid)
{
    bool is_driver = event->kind == HEDDLE_EVENT_DRIVER;
    CUpti_ActivityAPI *r;

    if (!cupti_api_is_recorded(is_driver, cbid))
        return;
    if (cupti_records(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        cupti_external_record((uint32_t)event->correlation); /* goes before its call's record */
    r = cupti_record_begin(is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
    if (!r)
        return;
    r->cbid = cbid;
    r->start = event->begin_ns;
    r->end = event->time_ns;
    r->processId = cupti_process();
    r->threadId = cupti_thread(event);
    r->correlationId = (uint32_t)event->correlation;
    r->returnValue = (uint32_t)event->call.result;
    cupti_record_end();
}

static void record_sync(const struct heddle_event *event, const struct cupti_entry *entry,
                        CUpti_ActivitySynchronizationType type)
{
    struct cupti_context context;
    void *cuda_event = cupti_argument(event, entry->event);
    uint32_t stream = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    CUpti_ActivitySynchronization2 *r;

    if (!cupti_records(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
        return;
    context = cupti_context_of(event->context);
    if (entry->stream >= 0)
        stream = cupti_stream_of(cupti_argument(event, entry->stream));
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    if (!r)
        return;
    r->type = type;
    r->start = event->begin_ns;
    r->end = event->time_ns;
    r->correlationId = (uint32_t)event->correlation;
    r->contextId = context.id;
    r->streamId = stream;
    r->cudaEventId =
        cuda_event ? cupti_handle_number(cuda_event) : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    r->returnValue = (uint32_t)event->call.result;
    cupti_record_end();
}

static void record_event(const struct heddle_event *event, const struct cupti_entry *entry)
{
    struct cupti_context context;
    CUpti_ActivityCudaEvent2 record = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT};

    if (!cupti_records(CUPTI_ACTIVITY_KIND_CUDA_EVENT) || event->call.result)
        return;
    context = cupti_context_of(event->context);
    record.correlationId = (uint32_t)event->correlation;
    record.contextId = context.id;
    record.deviceId = context.device;
    record.streamId = cupti_stream_of(cupti_argument(event, entry->stream));
    record.eventId = cupti_handle_number(cupti_argument(event, entry->event));
    cupti_event_record(&record);
}

static void record_pool(const struct heddle_event *event,
                        CUpti_ActivityMemoryPoolOperationType operation)
{
    void *pool = cupti_argument(event, 0);
    struct cupti_context context;
    cuuint64_t threshold = 0, reserved = 0, used = 0;
    CUpti_ActivityMemoryPool3 *r;

    if (!cupti_records(CUPTI_ACTIVITY_KIND_MEMORY_POOL) || event->call.result)
        return;
    if (operation == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED)
        pool = *(void **)pool;
    if (operation != CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED) {
        (void)cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
        (void)cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
        (void)cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    }
    context = cupti_context_of(event->context);
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
    if (!r)
        return;
    r->memoryPoolOperationType = operation;
    r->memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    r->correlationId = (uint32_t)event->correlation;
    r->processId = cupti_process();
    r->deviceId = context.device;
    r->address = (uintptr_t)pool;
    r->size = reserved;
    r->releaseThreshold = threshold;
    r->utilizedSize = used;
    r->timestamp = event->time_ns;
    if (operation == CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED)
        r->minBytesToKeep = (size_t)(uintptr_t)cupti_argument(event, 1);
    cupti_record_end();
}

static void record_action(const struct heddle_event *event, const struct cupti_entry *entry)
{
    assert(event->phase == HEDDLE_PHASE_END);
    switch (atomic_load_explicit(&entry->action, memory_order_relaxed)) {
    case CUPTI_ACTION_STREAM_SYNC:
        record_sync(event, entry, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
        break;
    case CUPTI_ACTION_CONTEXT_SYNC:
        record_sync(event, entry, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
        break;
    case CUPTI_ACTION_EVENT_SYNC:
        record_sync(event, entry, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
        break;
    case CUPTI_ACTION_STREAM_WAIT:
        record_sync(event, entry, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
        break;
    case CUPTI_ACTION_EVENT_RECORD:
        record_event(event, entry);
        break;
    case CUPTI_ACTION_POOL_CREATE:
        record_pool(event, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
        break;
    case CUPTI_ACTION_POOL_DESTROY:
        record_pool(event, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
        break;
    case CUPTI_ACTION_POOL_TRIM:
        record_pool(event, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
        break;
    default:
        break;
    }
}

/* ---- objects that a call has made: recorded when it ends, where the driver may be asked */

#define PENDING 16
static HD_THREAD_LOCAL struct {
    struct {
        CUpti_ActivityKind kind;
        void *context, *handle;
        uint32_t flags;
    } list[PENDING];
    unsigned n;
} pending;

static void record_context(void *handle)
{
    struct cupti_context context = cupti_context_of(handle);
    int units = 0;
    CUpti_ActivityContext3 *r;

    (void)cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                               (CUdevice)context.device);
    if (!cupti_records(CUPTI_ACTIVITY_KIND_CONTEXT))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_CONTEXT);
    if (!r)
        return;
    r->contextId = context.id;
    r->deviceId = context.device;
    r->computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    r->nullStreamId = 1; /* the first stream that a context has */
    r->numMultiprocessors = (uint16_t)units;
    cupti_record_end();
}

static void record_stream(void *context, void *handle, uint32_t flags, uint32_t correlation)
{
    uint32_t id = cupti_stream_of(handle);
    struct cupti_context c = cupti_context_of(context);
    int priority = 0;
    CUpti_ActivityStream *r;

    (void)cuStreamGetPriority(handle, &priority);
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_STREAM);
    if (!r)
        return;
    r->contextId = c.id;
    r->streamId = id;
    r->priority = (uint32_t)priority;
    r->flag = flags & HEDDLE_STREAM_NON_BLOCKING ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                                 : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
    r->correlationId = correlation;
    cupti_record_end();
}

static void record_pending(uint32_t correlation)
{
    for (unsigned i = 0; i < pending.n; i++) {
        if (pending.list[i].kind == CUPTI_ACTIVITY_KIND_CONTEXT)
            record_context(pending.list[i].handle);
        else
            record_stream(pending.list[i].context, pending.list[i].handle, pending.list[i].flags,
                          correlation);
    }
    pending.n = 0;
}

static void record_object(const struct heddle_event *event)
{
    bool is_context = !strcmp(event->object.type, "context");
    CUpti_ActivityKind kind = is_context ? CUPTI_ACTIVITY_KIND_CONTEXT : CUPTI_ACTIVITY_KIND_STREAM;

    if (event->object.is_destroyed || (!is_context && strcmp(event->object.type, "stream")) ||
        !cupti_records(kind) || pending.n == PENDING)
        return;
    assert(pending.n < PENDING);
    pending.list[pending.n].kind = kind;
    pending.list[pending.n].context = event->context;
    pending.list[pending.n].handle = event->object.handle;
    pending.list[pending.n++].flags = event->object.flags;
}

static void record_call(const struct heddle_event *event)
{
    const struct cupti_entry *entry;

    if (event->phase == HEDDLE_PHASE_BEGIN) {
        if (event->kind == HEDDLE_EVENT_RUNTIME)
            runtime_correlation = event->correlation;
        if (!event->is_inner && cupti_event_times_are_wanted())
            cupti_event_begin(event, cupti_entry_of(event));
        return;
    }
    if (event->kind == HEDDLE_EVENT_DRIVER && event->correlation == runtime_correlation)
        return; /* the runtime's call stands for it */
    entry = cupti_entry_of(event);
    record_api(event, entry->cbid);
    record_action(event, entry);
    if (pending.n)
        record_pending((uint32_t)event->correlation);
    const uint64_t correlation = event->correlation;
    if (correlation && atomic_load_explicit(&ngraphs, memory_order_relaxed)) {
        struct graph_launch *launch;
        pthread_mutex_lock(&graphs.lock);
        launch = record_graph_find_locked(correlation);
        if (launch) {
            launch->is_whole = true;
            record_graph_record_locked(launch);
        }
        pthread_mutex_unlock(&graphs.lock);
    }
    if (cupti_records(CUPTI_ACTIVITY_KIND_MEMORY2) || cupti_records(CUPTI_ACTIVITY_KIND_MEMORY))
        (void)cupti_context_of(event->context); /* for memory, which is told with locks held */
}

/* ---- memory, modules, code */

static struct {
    pthread_mutex_t lock;
    struct hd_map starts; /* address -> when it was allocated */
} lives = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Only this thread is left; another one may have held a lock. */
static void record_in_child(void)
{
    atomic_store(&process_id, 0);
    lives.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    graphs.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    memset(graphs.launches, 0, sizeof(graphs.launches));
    atomic_store(&ngraphs, 0);
    pending.n = 0;
}

static CUpti_ActivityMemoryKind record_allocation_kind(const struct heddle_event *event)
{
    if (event->memory.use == HEDDLE_MEMORY_MODULE)
        return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC;
    if (event->memory.use == HEDDLE_MEMORY_ARRAY)
        return CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
    return record_memory_kind(event->memory.memory);
}

static void record_life(const struct heddle_event *event)
{
    struct cupti_context context = cupti_context_known(event->context);
    /* When it was allocated, which is noted or forgotten; 0 is not known. */
    uint64_t start;
    pthread_mutex_lock(&lives.lock);
    start = (uintptr_t)hd_map_get_u64(&lives.starts, event->memory.va);
    if (event->memory.is_freed)
        (void)hd_map_remove_u64(&lives.starts, event->memory.va);
    else if (!hd_map_put_u64(&lives.starts, event->memory.va, (void *)event->time_ns))
        start = 0; /* without memory its record will lack a start */
    pthread_mutex_unlock(&lives.lock);
    CUpti_ActivityMemory *r;

    if (!event->memory.is_freed)
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MEMORY);
    if (!r)
        return;
    r->memoryKind = record_allocation_kind(event);
    r->address = event->memory.va;
    r->bytes = event->memory.size_B;
    r->start = start;
    r->end = event->time_ns;
    r->processId = cupti_process();
    r->deviceId = context.device;
    r->contextId = context.id;
    cupti_record_end();
}

static void record_memory(const struct heddle_event *event)
{
    struct cupti_context context = cupti_context_known(event->context);
    CUpti_ActivityMemory4 *r;

    if (event->memory.use == HEDDLE_MEMORY_OWN)
        return;
    if (cupti_records(CUPTI_ACTIVITY_KIND_MEMORY))
        record_life(event);
    if (!cupti_records(CUPTI_ACTIVITY_KIND_MEMORY2))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MEMORY2);
    if (!r)
        return;
    r->memoryOperationType = event->memory.is_freed
                                 ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                 : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    r->memoryKind = record_allocation_kind(event);
    r->correlationId = (uint32_t)event->correlation;
    r->address = event->memory.va;
    r->bytes = event->memory.size_B;
    r->timestamp = event->time_ns;
    r->processId = cupti_process();
    r->deviceId = context.device;
    r->contextId = context.id;
    r->isAsync = event->stream != NULL;
    cupti_record_end();
}

static void record_module(const struct heddle_event *event)
{
    CUpti_ActivityModule *r;

    if (event->object.is_destroyed || !cupti_records(CUPTI_ACTIVITY_KIND_MODULE))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_MODULE);
    if (!r)
        return;
    r->contextId = cupti_context_known(event->context).id;
    r->id = cupti_handle_number(event->object.handle);
    r->cubin = event->object.image ? cupti_cubin_keep(event->object.image) : NULL;
    r->cubinSize = r->cubin ? CUPTI_CUBIN_B : 0;
    cupti_record_end();
}

static void record_overhead(const struct heddle_event *event)
{
    CUpti_ActivityOverhead3 *r = cupti_record_begin(CUPTI_ACTIVITY_KIND_OVERHEAD);

    if (!r)
        return;
    r->overheadKind = CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER;
    r->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    r->objectId.pt.processId = cupti_process();
    r->objectId.pt.threadId = cupti_thread(event);
    r->start = event->begin_ns;
    r->end = event->time_ns;
    r->correlationId = (uint32_t)event->correlation;
    cupti_record_end();
}

static void record_compile(const struct heddle_event *event)
{
    CUpti_ActivityJit2 *r;

    if (event->phase != HEDDLE_PHASE_END)
        return;
    if (cupti_records(CUPTI_ACTIVITY_KIND_OVERHEAD))
        record_overhead(event);
    if (!cupti_records(CUPTI_ACTIVITY_KIND_JIT))
        return;
    r = cupti_record_begin(CUPTI_ACTIVITY_KIND_JIT);
    if (!r)
        return;
    r->jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
    r->jitOperationType = event->compile.cache_hit ? CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD
                                                   : CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
    r->deviceId = cupti_context_known(event->context).device;
    r->start = event->begin_ns;
    r->end = event->time_ns;
    r->correlationId = (uint32_t)event->correlation;
    r->jitOperationCorrelationId = event->begin_ns;
    r->processId = cupti_process();
    r->threadId = cupti_thread(event);
    cupti_record_end();
}

void cupti_record_event(const struct heddle_event *event)
{
    switch (event->kind) {
    case HEDDLE_EVENT_DRIVER:
    case HEDDLE_EVENT_RUNTIME:
        record_call(event);
        break;
    case HEDDLE_EVENT_PACKET:
        if (cupti_records(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
            record_graph_submit(event);
        if (cupti_event_times_are_wanted())
            cupti_event_packet(event);
        break;
    case HEDDLE_EVENT_DONE:
        if (cupti_event_times_are_wanted())
            cupti_event_done(event);
        record_retired(event);
        break;
    case HEDDLE_EVENT_OBJECT:
        record_object(event);
        break;
    case HEDDLE_EVENT_MEMORY:
        record_memory(event);
        break;
    case HEDDLE_EVENT_MODULE:
        record_module(event);
        break;
    case HEDDLE_EVENT_COMPILE:
        record_compile(event);
        break;
    default:
        break;
    }
}

__attribute__((constructor)) static void record_fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, record_in_child);
}
