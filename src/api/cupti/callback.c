/*
 * Callbacks: one subscriber. Calls are told at both ends, those of the driver inside one of the
 * runtime as well, as on GPUs.
 *
 * What exists newly is told when the call that made it is about to return, because the taps tell it
 * with locks held, and a subscriber may call the API; what goes, before it goes.
 */
#include <assert.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "api/cupti/cupti.h"
#include "api/cupti/sampler.h"

struct CUpti_Subscriber_st {
    _Atomic(CUpti_CallbackFunc) func; /* NULL: there is none */
    _Atomic(void *) userdata;
    _Atomic uint64_t enabled[CUPTI_CB_DOMAIN_SIZE][CUPTI_CBIDS / 64];
};

static struct CUpti_Subscriber_st subscriber;

/* Resources that a call of this thread has made. */
#define PENDING 16
struct pending {
    CUpti_CallbackId cbid;
    CUcontext context;
    void *handle;
    const void *cubin; /* of a module */
};

static HD_THREAD_LOCAL struct {
    uint64_t data[2]; /* correlationData: of the runtime's call, of the driver's */
    struct pending pending[PENDING];
    unsigned npending;
} thread;

static bool callback_is_enabled(CUpti_CallbackDomain domain, uint32_t cbid)
{
    assert(domain < CUPTI_CB_DOMAIN_SIZE);
    return cbid < CUPTI_CBIDS &&
           atomic_load_explicit(&subscriber.enabled[domain][cbid / 64], memory_order_relaxed) >>
                   cbid % 64 &
               1;
}

static bool callback_any_enabled(CUpti_CallbackDomain domain)
{
    assert(domain < CUPTI_CB_DOMAIN_SIZE);
    for (size_t i = 0; i < CUPTI_CBIDS / 64; i++)
        if (atomic_load_explicit(&subscriber.enabled[domain][i], memory_order_relaxed))
            return true;
    return false;
}

static void callback_notify(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *what)
{
    CUpti_CallbackFunc func = atomic_load(&subscriber.func);

    if (func && callback_is_enabled(domain, cbid))
        func(atomic_load(&subscriber.userdata), domain, cbid, what);
}

uint32_t cupti_callback_kinds(void)
{
    const uint32_t calls = HEDDLE_KIND(DRIVER) | HEDDLE_KIND(RUNTIME);
    uint32_t kinds = 0;

    if (!atomic_load(&subscriber.func))
        return 0;
    if (callback_any_enabled(CUPTI_CB_DOMAIN_DRIVER_API))
        kinds |= HEDDLE_KIND(DRIVER);
    if (callback_any_enabled(CUPTI_CB_DOMAIN_RUNTIME_API))
        kinds |= HEDDLE_KIND(RUNTIME);
    if (callback_any_enabled(CUPTI_CB_DOMAIN_SYNCHRONIZE))
        kinds |= calls;
    if (callback_any_enabled(CUPTI_CB_DOMAIN_RESOURCE))
        kinds |= calls | HEDDLE_KIND(OBJECT) | HEDDLE_KIND(MODULE);
    if (callback_any_enabled(CUPTI_CB_DOMAIN_NVTX))
        kinds |= HEDDLE_KIND(NVTX);
    return kinds;
}

/* ---- calls */

/* NULL: the runtime in use has no such function. */
static const char *callback_runtime_kernel_name(const void *func)
{
    static _Atomic(int (*)(const char **, const void *)) found;
    int (*name_of)(const char **, const void *) = atomic_load(&found);
    const char *name = NULL;

    if (!name_of) {
        *(void **)&name_of = dlsym(RTLD_DEFAULT, "cudaFuncGetName");
        if (!name_of)
            return NULL;
        atomic_store(&found, name_of);
    }
    return name_of(&name, func) == 0 ? name : NULL;
}

static const char *callback_kernel_name(const struct heddle_event *event)
{
    const struct heddle_entry *entry = event->call.entry;
    const char *name = NULL;

    for (uint32_t i = 0; i < entry->nargs; i++) {
        if (!strcmp(entry->args[i].type, "CUfunction"))
            return cuFuncGetName(&name, cupti_argument(event, (int)i)) == CUDA_SUCCESS ? name
                                                                                       : NULL;
        if (!strcmp(entry->args[i].name, "func") || !strcmp(entry->args[i].type, "cudaKernel_t"))
            return callback_runtime_kernel_name(cupti_argument(event, (int)i));
    }
    return NULL;
}

static void callback_notify_call(const struct heddle_event *event, const struct cupti_entry *entry)
{
    bool is_driver = event->kind == HEDDLE_EVENT_DRIVER;
    bool is_end = event->phase == HEDDLE_PHASE_END;
    CUpti_CallbackDomain domain =
        is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    int result = (int)event->call.result;
    CUpti_CallbackData data = {
        .callbackSite = is_end ? CUPTI_API_EXIT : CUPTI_API_ENTER,
        .functionName = event->call.entry->name,
        .functionParams = event->call.args,
        .functionReturnValue = is_end ? &result : NULL,
        .context = event->context,
        .correlationData = &thread.data[is_driver],
        .correlationId = (uint32_t)event->correlation,
    };

    assert(is_end || event->phase == HEDDLE_PHASE_BEGIN);
    if (!is_end)
        thread.data[is_driver] = 0;
    if (!entry->cbid || !callback_is_enabled(domain, entry->cbid))
        return;
    data.contextUid = cupti_context_of(event->context).id;
    if (atomic_load_explicit(&entry->action, memory_order_relaxed) == CUPTI_ACTION_LAUNCH)
        data.symbolName = callback_kernel_name(event);
    callback_notify(domain, entry->cbid, &data);
}

static void callback_notify_synchronized(const struct heddle_event *event,
                                         const struct cupti_entry *entry)
{
    CUpti_SynchronizeData data = {.context = event->context,
                                  .stream = cupti_argument(event, entry->stream)};
    int action = atomic_load_explicit(&entry->action, memory_order_relaxed);

    if (event->call.result)
        return;
    if (action == CUPTI_ACTION_STREAM_SYNC)
        callback_notify(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED,
                        &data);
    else if (action == CUPTI_ACTION_CONTEXT_SYNC)
        callback_notify(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED,
                        &data);
    else if (action == CUPTI_ACTION_INIT)
        callback_notify(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED,
                        &(CUpti_ResourceData){0});
}

/* ---- resources */

static void callback_notify_resource(CUpti_CallbackId cbid, CUcontext context, void *handle,
                                     const void *cubin)
{
    CUpti_ModuleResourceData module = {.moduleId = cupti_handle_number(handle),
                                       .cubinSize = cubin ? CUPTI_CUBIN_B : 0,
                                       .pCubin = cubin};
    CUpti_ResourceData data = {.context = context};

    if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED ||
        cbid == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
        data.resourceHandle.stream = handle;
    if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
        cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
        data.resourceDescriptor = &module;
    callback_notify(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static void callback_pending_notify(void)
{
    unsigned n = thread.npending;
    struct pending pending[PENDING];

    assert(n <= PENDING);
    if (!n)
        return;
    memcpy(pending, thread.pending, n * sizeof(pending[0]));
    thread.npending = 0;
    for (unsigned i = 0; i < n; i++)
        if (pending[i].cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
            /*
             * A context that was made is current in its callback, as clients expect who ask for its
             * device; afterwards what was current before.
             */
            const CUcontext context = pending[i].handle;
            CUcontext current = NULL, popped;
            bool is_pushed = cuCtxGetCurrent(&current) == CUDA_SUCCESS && !current &&
                             cuCtxPushCurrent(context) == CUDA_SUCCESS;

            callback_notify_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, context, NULL);
            if (is_pushed && cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context)
                (void)cuCtxPopCurrent(&popped);
        } else
            callback_notify_resource(pending[i].cbid, pending[i].context, pending[i].handle,
                                     pending[i].cubin);
}

static CUpti_CallbackId callback_resource_of(const struct heddle_event *event)
{
    const char *type = event->object.type;

    if (event->kind == HEDDLE_EVENT_MODULE)
        return event->object.is_destroyed ? CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING
                                          : CUPTI_CBID_RESOURCE_MODULE_LOADED;
    if (!strcmp(type, "context"))
        return event->object.is_destroyed ? CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING
                                          : CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
    if (!strcmp(type, "stream"))
        return event->object.is_destroyed ? CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING
                                          : CUPTI_CBID_RESOURCE_STREAM_CREATED;
    return CUPTI_CBID_RESOURCE_INVALID;
}

static void callback_object(const struct heddle_event *event)
{
    CUpti_CallbackId cbid = callback_resource_of(event);
    const void *cubin;

    if (!cbid || !callback_is_enabled(CUPTI_CB_DOMAIN_RESOURCE, cbid))
        return;
    assert(thread.npending <= PENDING);
    cubin = event->object.image ? cupti_cubin_keep(event->object.image) : NULL;
    if (event->object.is_destroyed || !event->correlation || thread.npending == PENDING)
        callback_notify_resource(cbid, event->context, event->object.handle, cubin);
    else
        thread.pending[thread.npending++] =
            (struct pending){cbid, event->context, event->object.handle, cubin};
}

static void callback_call(const struct heddle_event *event)
{
    const struct cupti_entry *entry = cupti_entry_of(event);

    if (event->phase == HEDDLE_PHASE_END) {
        callback_pending_notify();
        callback_notify_synchronized(event, entry);
    }
    callback_notify_call(event, entry);
}

static void callback_nvtx(const struct heddle_event *event)
{
    CUpti_NvtxData data = {.functionName =
                               cupti_callback_name(CUPTI_CB_DOMAIN_NVTX, event->nvtx.cbid),
                           .functionParams = event->nvtx.params,
                           .functionReturnValue = event->nvtx.result};

    if (event->nvtx.cbid)
        callback_notify(CUPTI_CB_DOMAIN_NVTX, event->nvtx.cbid, &data);
}

void cupti_callback_event(const struct heddle_event *event)
{
    if (!atomic_load_explicit(&subscriber.func, memory_order_relaxed))
        return;
    switch (event->kind) {
    case HEDDLE_EVENT_DRIVER:
    case HEDDLE_EVENT_RUNTIME:
        callback_call(event);
        break;
    case HEDDLE_EVENT_OBJECT:
    case HEDDLE_EVENT_MODULE:
        callback_object(event);
        break;
    case HEDDLE_EVENT_NVTX:
        callback_nvtx(event);
        break;
    default:
        break;
    }
}

/* ---- the interface */

void cupti_callback_stop(void)
{
    atomic_store(&subscriber.func, NULL);
    for (int domain = 0; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        for (size_t i = 0; i < CUPTI_CBIDS / 64; i++)
            atomic_store(&subscriber.enabled[domain][i], 0);
}

CUPTI_EXPORT(cuptiSupportedDomains)
CUptiResult cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
    static CUpti_CallbackDomain domains[] = {
        CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
        CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,        CUPTI_CB_DOMAIN_STATE};

    if (!domainCount || !domainTable)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *domainCount = HD_COUNT_OF(domains);
    *domainTable = domains;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiSubscribe)
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata)
{
    CUpti_CallbackFunc none = NULL;

    if (!out || !callback)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (!atomic_compare_exchange_strong(&subscriber.func, &none, callback))
        return cupti_result(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    atomic_store(&subscriber.userdata, userdata);
    *out = &subscriber;
    return CUPTI_SUCCESS;
}

/* The name of who is there, for another one; the struct's size says which members it has. */
static char subscriber_name[CUPTI_SUBSCRIBER_NAME_MAX_LEN];

static void callback_name_give(const CUpti_SubscriberParams *params)
{
    if (params->oldSubscriberName && params->oldSubscriberSize)
        (void)snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", subscriber_name);
}

CUPTI_EXPORT(cuptiSubscribe_v2)
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                              void *userdata, CUpti_SubscriberParams *params)
{
    CUptiResult result;

    if (params && params->structSize < sizeof(*params))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    result = cuptiSubscribe(out, callback, userdata);
    if (params && result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        callback_name_give(params);
    else if (result == CUPTI_SUCCESS)
        (void)snprintf(subscriber_name, sizeof(subscriber_name), "%s",
                       params && params->subscriberName ? params->subscriberName : "");
    return result;
}

static bool callback_is_subscriber(CUpti_SubscriberHandle handle)
{
    return handle == &subscriber && atomic_load(&subscriber.func);
}

CUPTI_EXPORT(cuptiUnsubscribe)
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (!callback_is_subscriber(handle))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    cupti_callback_stop();
    cupti_listen_again();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetCallbackState)
CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!enable || !callback_is_subscriber(handle) || cbid >= cupti_callback_count(domain))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *enable = callback_is_enabled(domain, cbid);
    return CUPTI_SUCCESS;
}

static void callback_set(CUpti_CallbackDomain domain, uint32_t cbid, uint32_t enable)
{
    _Atomic uint64_t *word = &subscriber.enabled[domain][cbid / 64];

    assert(cbid < cupti_callback_count(domain) && cbid < CUPTI_CBIDS);
    if (enable)
        atomic_fetch_or(word, UINT64_C(1) << cbid % 64);
    else
        atomic_fetch_and(word, ~(UINT64_C(1) << cbid % 64));
}

CUPTI_EXPORT(cuptiEnableCallback)
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!callback_is_subscriber(handle) || !cbid || cbid >= cupti_callback_count(domain))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    callback_set(domain, cbid, enable);
    cupti_listen();
    return CUPTI_SUCCESS;
}

static void callback_domain_enable(CUpti_CallbackDomain domain, uint32_t enable)
{
    for (uint32_t cbid = 1; cbid < cupti_callback_count(domain); cbid++)
        callback_set(domain, cbid, enable);
}

CUPTI_EXPORT(cuptiEnableDomain)
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain)
{
    if (!callback_is_subscriber(handle) || !cupti_callback_count(domain))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    callback_domain_enable(domain, enable);
    cupti_listen();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiEnableAllDomains)
CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    if (!callback_is_subscriber(handle))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        callback_domain_enable((CUpti_CallbackDomain)domain, enable);
    cupti_listen();
    return CUPTI_SUCCESS;
}
