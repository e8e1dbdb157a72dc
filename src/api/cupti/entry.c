/* Entry points of the APIs as CUPTI sees them, found when one is first told. */
#include <assert.h>
#include <string.h>

#include "api/cupti/cupti.h"
#include <api/cupti/cbids.inc>

/* ---- names of numbers */

static const char *const driver_names[] = {
#define X(id, name) [id] = #name,
#include "api/cupti_driver.def"
#undef X
};

static const char *const runtime_names[] = {
#define X(id, name) [id] = #name,
#include "api/cupti_runtime.def"
#undef X
};

static const char *const nvtx_names[] = {
#define X(module, id, cbid, name) [cbid] = "nvtx" #name,
#include "api/nvtx.def"
#undef X
};

static const char *const resource_names[] = {
#define X(name, number) [number] = #name,
    HEDDLE_CUPTI_RESOURCE_LIST(X)
#undef X
};

static const char *const synchronize_names[] = {NULL, "STREAM_SYNCHRONIZED",
                                                "CONTEXT_SYNCHRONIZED"};
static const char *const state_names[] = {NULL, "FATAL_ERROR", "ERROR", "WARNING"};

static const struct {
    const char *const *names;
    uint32_t count;
} domains[CUPTI_CB_DOMAIN_SIZE] = {
    [CUPTI_CB_DOMAIN_DRIVER_API] = {driver_names, HD_COUNT_OF(driver_names)},
    [CUPTI_CB_DOMAIN_RUNTIME_API] = {runtime_names, HD_COUNT_OF(runtime_names)},
    [CUPTI_CB_DOMAIN_RESOURCE] = {resource_names, HD_COUNT_OF(resource_names)},
    [CUPTI_CB_DOMAIN_SYNCHRONIZE] = {synchronize_names, HD_COUNT_OF(synchronize_names)},
    [CUPTI_CB_DOMAIN_NVTX] = {nvtx_names, HD_COUNT_OF(nvtx_names)},
    [CUPTI_CB_DOMAIN_STATE] = {state_names, HD_COUNT_OF(state_names)},
};

_Static_assert(HD_COUNT_OF(driver_names) <= CUPTI_CBIDS &&
                   HD_COUNT_OF(runtime_names) <= CUPTI_CBIDS,
               "bit sets of numbers");
_Static_assert(HD_COUNT_OF(driver_numbers) <= CUPTI_ENTRIES &&
                   HD_COUNT_OF(runtime_numbers) <= CUPTI_ENTRIES,
               "tables of entries");

uint32_t cupti_callback_count(CUpti_CallbackDomain domain)
{
    return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE ? domains[domain].count
                                                                             : 0;
}

const char *cupti_callback_name(CUpti_CallbackDomain domain, uint32_t cbid)
{
    return cbid && cbid < cupti_callback_count(domain) ? domains[domain].names[cbid] : NULL;
}

CUPTI_EXPORT(cuptiGetCallbackName)
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    const char *found = cupti_callback_name(domain, cbid);

    if (!name || !found)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *name = found;
    return CUPTI_SUCCESS;
}

/* ---- entries */

/* A name behind cu or cuda and what it does; versions and twins add to it. */
static const struct {
    const char *name;
    enum cupti_action action;
} actions[] = {
    {"LaunchKernelEx", CUPTI_ACTION_LAUNCH},
    {"LaunchKernelExC", CUPTI_ACTION_LAUNCH},
    {"LaunchKernel", CUPTI_ACTION_LAUNCH},
    {"LaunchCooperativeKernel", CUPTI_ACTION_LAUNCH},
    {"StreamSynchronize", CUPTI_ACTION_STREAM_SYNC},
    {"CtxSynchronize", CUPTI_ACTION_CONTEXT_SYNC},
    {"DeviceSynchronize", CUPTI_ACTION_CONTEXT_SYNC},
    {"EventSynchronize", CUPTI_ACTION_EVENT_SYNC},
    {"StreamWaitEvent", CUPTI_ACTION_STREAM_WAIT},
    {"EventRecord", CUPTI_ACTION_EVENT_RECORD},
    {"EventRecordWithFlags", CUPTI_ACTION_EVENT_RECORD},
    {"MemPoolCreate", CUPTI_ACTION_POOL_CREATE},
    {"MemPoolDestroy", CUPTI_ACTION_POOL_DESTROY},
    {"MemPoolTrimTo", CUPTI_ACTION_POOL_TRIM},
    {"Init", CUPTI_ACTION_INIT},
};

static struct cupti_entry entries[2][CUPTI_ENTRIES];

static size_t base_length(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i + 1 < length; i++)
        if (name[i] == '_' && (name[i + 1] == 'v' || !strncmp(name + i, "_pt", 3)))
            return i;
    return length;
}

static enum cupti_action action_of(const char *name)
{
    name += !strncmp(name, "cuda", 4) ? 4 : !strncmp(name, "cu", 2) ? 2 : 0;
    for (size_t i = 0; i < HD_COUNT_OF(actions); i++)
        if (strlen(actions[i].name) == base_length(name) &&
            !strncmp(actions[i].name, name, base_length(name)))
            return actions[i].action;
    return CUPTI_ACTION_NONE;
}

static int argument_of_type(const struct heddle_entry *entry, const char *driver,
                            const char *runtime)
{
    for (uint32_t i = 0; i < entry->nargs; i++)
        if (!strcmp(entry->args[i].type, driver) || !strcmp(entry->args[i].type, runtime))
            return (int)i;
    return -1;
}

const struct cupti_entry *cupti_entry_of(const struct heddle_event *event)
{
    static const struct cupti_entry none = {.action = CUPTI_ACTION_NONE, .stream = -1, .event = -1};
    bool is_driver = event->kind == HEDDLE_EVENT_DRIVER;
    uint32_t id = event->call.entry->id;
    size_t count = is_driver ? HD_COUNT_OF(driver_numbers) : HD_COUNT_OF(runtime_numbers);
    struct cupti_entry *e;

    assert(is_driver || event->kind == HEDDLE_EVENT_RUNTIME);
    if (id >= count)
        return &none;
    e = &entries[is_driver][id];
    if (HD_UNLIKELY(!atomic_load_explicit(&e->action, memory_order_acquire))) {
        /* Threads may do it at the same time: all write the same. */
        const uint16_t cbid = (is_driver ? driver_numbers : runtime_numbers)[id];
        assert(cbid < CUPTI_CBIDS && event->call.entry->nargs <= INT8_MAX);
        e->stream = (int8_t)argument_of_type(event->call.entry, "CUstream", "cudaStream_t");
        e->event = (int8_t)argument_of_type(event->call.entry, "CUevent", "cudaEvent_t");
        e->cbid = cbid;
        atomic_store_explicit(&e->action, (uint8_t)action_of(event->call.entry->title),
                              memory_order_release);
    }
    return e;
}

void *cupti_argument(const struct heddle_event *event, int argument)
{
    void *value = NULL;

    assert(argument < (int)event->call.entry->nargs);
    if (argument >= 0)
        memcpy(&value, (const char *)event->call.args + event->call.entry->args[argument].offset_B,
               sizeof(value));
    return value;
}
