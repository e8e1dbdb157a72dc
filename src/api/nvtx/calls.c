/*
 * NVTX's functions as a tool has them, and how programs find them. Each fills its argument struct,
 * whose layout is the one that CUPTI hands to callbacks, and tells an event when somebody listens.
 */
#include "api/nvtx/nvtx.h"

#include "base/log.h"

/* Numbers of CUPTI. */
enum {
#define X(module, id, cbid, name) CBID_##name = (cbid),
#include "api/nvtx.def"
#undef X
};

/* Argument structs; numbers stand for all integers that fit, objects for all handles. */
struct text_params {
    const void *text;
};
struct attributes_params {
    nvtxDomainHandle_t domain; /* functions of the default domain: the struct begins behind it */
    const nvtxEventAttributes_t *attributes;
};
struct range_params {
    nvtxDomainHandle_t domain;
    nvtxRangeId_t id;
};
struct number_params {
    nvtxDomainHandle_t domain;
    uint32_t number;
    const void *text;
};
struct object_params {
    uint64_t object;
    const void *text;
};
struct string_params {
    nvtxDomainHandle_t domain;
    const void *text;
};

static struct heddle_event calls_event_of(enum heddle_nvtx_call call, uint32_t cbid,
                                          const void *params)
{
    struct heddle_event event = {.nvtx = {.call = call, .cbid = cbid, .params = params}};

    return event;
}

static struct nvtx_text calls_narrow(const char *text)
{
    return (struct nvtx_text){.narrow = text};
}

static struct nvtx_text calls_wide(const wchar_t *text)
{
    return (struct nvtx_text){.wide = text};
}

static const void *calls_text_pointer(struct nvtx_text text)
{
    return text.wide ? (const void *)text.wide : text.narrow;
}

/* ---- marks and ranges: what all functions of a kind have in common */

static void calls_mark(uint32_t cbid, struct nvtx_text text)
{
    struct text_params params = {calls_text_pointer(text)};
    struct heddle_event event;

    if (!nvtx_wanted())
        return;
    event = calls_event_of(HEDDLE_NVTX_MARK, cbid, &params);
    nvtx_report(&event, text);
}

/* Parameters that the functions of the default domain have. */
static const void *calls_without_domain(uint32_t cbid, const struct attributes_params *params)
{
    bool has_domain = cbid >= CBID_DomainMarkEx;

    return has_domain ? (const void *)params : (const void *)&params->attributes;
}

static void calls_mark_ex(uint32_t cbid, nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    struct attributes_params params = {domain, a};
    struct heddle_event event;

    if (!nvtx_wanted())
        return;
    event = calls_event_of(HEDDLE_NVTX_MARK, cbid, calls_without_domain(cbid, &params));
    nvtx_event_domain(&event, domain);
    nvtx_report_attributes(&event, a);
}

static nvtxRangeId_t calls_start(uint32_t cbid, struct nvtx_text text)
{
    struct text_params params = {calls_text_pointer(text)};
    struct heddle_event event;

    if (!nvtx_wanted())
        return 0;
    event = calls_event_of(HEDDLE_NVTX_RANGE_START, cbid, &params);
    event.nvtx.range = nvtx_range_next();
    event.nvtx.result = &event.nvtx.range;
    nvtx_report(&event, text);
    return event.nvtx.range;
}

static nvtxRangeId_t calls_start_ex(uint32_t cbid, nvtxDomainHandle_t domain,
                                    const nvtxEventAttributes_t *a)
{
    struct attributes_params params = {domain, a};
    struct heddle_event event;

    if (!nvtx_wanted())
        return 0;
    event = calls_event_of(HEDDLE_NVTX_RANGE_START, cbid, calls_without_domain(cbid, &params));
    nvtx_event_domain(&event, domain);
    event.nvtx.range = nvtx_range_next();
    event.nvtx.result = &event.nvtx.range;
    nvtx_report_attributes(&event, a);
    return event.nvtx.range;
}

/* A range that began while nobody listened has no id. */
static void calls_end(uint32_t cbid, nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    struct range_params params = {domain, id};
    struct heddle_event event;

    if (!nvtx_wanted() || !id)
        return;
    event =
        calls_event_of(HEDDLE_NVTX_RANGE_END, cbid,
                       cbid == CBID_RangeEnd ? (const void *)&params.id : (const void *)&params);
    nvtx_event_domain(&event, domain);
    event.nvtx.range = id;
    nvtx_report(&event, (struct nvtx_text){0});
}

static int calls_push(uint32_t cbid, struct nvtx_text text)
{
    struct text_params params = {calls_text_pointer(text)};
    struct heddle_event event;
    int level = nvtx_push(NULL);

    if (!nvtx_wanted())
        return level;
    event = calls_event_of(HEDDLE_NVTX_RANGE_PUSH, cbid, &params);
    event.nvtx.level = level;
    event.nvtx.result = &level;
    nvtx_report(&event, text);
    return level;
}

static int calls_push_ex(uint32_t cbid, nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    struct attributes_params params = {domain, a};
    struct heddle_event event;
    int level = nvtx_push(domain);

    if (!nvtx_wanted())
        return level;
    event = calls_event_of(HEDDLE_NVTX_RANGE_PUSH, cbid, calls_without_domain(cbid, &params));
    nvtx_event_domain(&event, domain);
    event.nvtx.level = level;
    event.nvtx.result = &level;
    nvtx_report_attributes(&event, a);
    return level;
}

static int calls_pop(uint32_t cbid, nvtxDomainHandle_t domain)
{
    struct heddle_event event;
    int level = nvtx_pop(domain);

    if (!nvtx_wanted())
        return level;
    event = calls_event_of(HEDDLE_NVTX_RANGE_POP, cbid, &domain);
    nvtx_event_domain(&event, domain);
    event.nvtx.level = level;
    event.nvtx.result = &level;
    nvtx_report(&event, (struct nvtx_text){0});
    return level;
}

/* ---- names */

static void name_category(uint32_t cbid, nvtxDomainHandle_t domain, uint32_t category,
                          struct nvtx_text text)
{
    struct number_params params = {domain, category, calls_text_pointer(text)};
    bool has_domain = cbid >= CBID_DomainNameCategoryA;
    struct heddle_event event;

    if (!nvtx_wanted())
        return;
    event = calls_event_of(HEDDLE_NVTX_NAME_CATEGORY, cbid,
                           has_domain ? (const void *)&params : (const void *)&params.number);
    nvtx_event_domain(&event, domain);
    event.nvtx.category = category;
    nvtx_report(&event, text);
}

static void name_object(uint32_t cbid, enum heddle_nvtx_call call, uint32_t type, uint64_t object,
                        struct nvtx_text text)
{
    struct object_params params = {object, calls_text_pointer(text)};
    struct heddle_event event;

    if (!nvtx_wanted())
        return;
    event = calls_event_of(call, cbid, &params);
    event.nvtx.object_type = type;
    event.nvtx.object = object;
    nvtx_report(&event, text);
}

static nvtxDomainHandle_t calls_domain_create(uint32_t cbid, struct nvtx_text text)
{
    struct text_params params = {calls_text_pointer(text)};
    nvtxDomainHandle_t domain = nvtx_domain_of(text);
    struct heddle_event event;

    if (!nvtx_wanted() || !domain)
        return domain;
    event = calls_event_of(HEDDLE_NVTX_DOMAIN_CREATE, cbid, &params);
    nvtx_event_domain(&event, domain);
    event.nvtx.result = &domain;
    nvtx_report(&event, text);
    return domain;
}

static nvtxStringHandle_t calls_string_register(uint32_t cbid, nvtxDomainHandle_t domain,
                                                struct nvtx_text text)
{
    struct string_params params = {domain, calls_text_pointer(text)};
    nvtxStringHandle_t string = nvtx_string_of(domain, text);
    struct heddle_event event;

    if (!nvtx_wanted() || !string)
        return string;
    event = calls_event_of(HEDDLE_NVTX_REGISTER_STRING, cbid, &params);
    nvtx_event_domain(&event, domain);
    event.nvtx.string = nvtx_string_id(string);
    event.nvtx.result = &string;
    nvtx_report(&event, text);
    return string;
}

/* ---- the functions that NVTX has in a narrow and in a wide form */

#define FORMS(X) X(A, const char *, calls_narrow) X(W, const wchar_t *, calls_wide)

#define DEFINE(S, string, text)                                                                    \
    static void on_Mark##S(string message)                                                         \
    {                                                                                              \
        calls_mark(CBID_Mark##S, text(message));                                                   \
    }                                                                                              \
    static nvtxRangeId_t on_RangeStart##S(string message)                                          \
    {                                                                                              \
        return calls_start(CBID_RangeStart##S, text(message));                                     \
    }                                                                                              \
    static int on_RangePush##S(string message)                                                     \
    {                                                                                              \
        return calls_push(CBID_RangePush##S, text(message));                                       \
    }                                                                                              \
    static void on_NameCategory##S(uint32_t category, string name)                                 \
    {                                                                                              \
        name_category(CBID_NameCategory##S, NULL, category, text(name));                           \
    }                                                                                              \
    static void on_DomainNameCategory##S(nvtxDomainHandle_t domain, uint32_t category,             \
                                         string name)                                              \
    {                                                                                              \
        name_category(CBID_DomainNameCategory##S, domain, category, text(name));                   \
    }                                                                                              \
    static void on_NameOsThread##S(uint32_t thread, string name)                                   \
    {                                                                                              \
        name_object(CBID_NameOsThread##S, HEDDLE_NVTX_NAME_THREAD, 0, thread, text(name));         \
    }                                                                                              \
    static nvtxDomainHandle_t on_DomainCreate##S(string name)                                      \
    {                                                                                              \
        return calls_domain_create(CBID_DomainCreate##S, text(name));                              \
    }                                                                                              \
    static nvtxStringHandle_t on_DomainRegisterString##S(nvtxDomainHandle_t domain, string value)  \
    {                                                                                              \
        return calls_string_register(CBID_DomainRegisterString##S, domain, text(value));           \
    }
FORMS(DEFINE)
#undef DEFINE

/* Names of CUDA's objects: the classes are 4 and 5. */
#define OBJECT(S, string, text, name, type, class, index)                                          \
    static void on_Name##name##S(type object, string value)                                        \
    {                                                                                              \
        name_object(CBID_Name##name##S, HEDDLE_NVTX_NAME_RESOURCE, (class) << 16 | (index),        \
                    (uint64_t)object, text(value));                                                \
    }
#define DEFINE(S, string, text)                                                                    \
    OBJECT(S, string, text, CuDevice, uint32_t, 4, 1)                                              \
    OBJECT(S, string, text, CuContext, uintptr_t, 4, 2)                                            \
    OBJECT(S, string, text, CuStream, uintptr_t, 4, 3)                                             \
    OBJECT(S, string, text, CuEvent, uintptr_t, 4, 4)                                              \
    OBJECT(S, string, text, CudaDevice, uint32_t, 5, 0)                                            \
    OBJECT(S, string, text, CudaStream, uintptr_t, 5, 1)                                           \
    OBJECT(S, string, text, CudaEvent, uintptr_t, 5, 2)
FORMS(DEFINE)
#undef DEFINE

/* ---- the others */

static void on_MarkEx(const nvtxEventAttributes_t *a)
{
    calls_mark_ex(CBID_MarkEx, NULL, a);
}

static void on_DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    calls_mark_ex(CBID_DomainMarkEx, domain, a);
}

static nvtxRangeId_t on_RangeStartEx(const nvtxEventAttributes_t *a)
{
    return calls_start_ex(CBID_RangeStartEx, NULL, a);
}

static nvtxRangeId_t on_DomainRangeStartEx(nvtxDomainHandle_t domain,
                                           const nvtxEventAttributes_t *a)
{
    return calls_start_ex(CBID_DomainRangeStartEx, domain, a);
}

static void on_RangeEnd(nvtxRangeId_t id)
{
    calls_end(CBID_RangeEnd, NULL, id);
}

static void on_DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    calls_end(CBID_DomainRangeEnd, domain, id);
}

static int on_RangePushEx(const nvtxEventAttributes_t *a)
{
    return calls_push_ex(CBID_RangePushEx, NULL, a);
}

static int on_DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
    return calls_push_ex(CBID_DomainRangePushEx, domain, a);
}

static int on_RangePop(void)
{
    return calls_pop(CBID_RangePop, NULL);
}

static int on_DomainRangePop(nvtxDomainHandle_t domain)
{
    return calls_pop(CBID_DomainRangePop, domain);
}

static void on_DomainDestroy(nvtxDomainHandle_t domain)
{
    struct heddle_event event;

    if (!nvtx_wanted() || !domain)
        return;
    event = calls_event_of(HEDDLE_NVTX_DOMAIN_DESTROY, CBID_DomainDestroy, &domain);
    nvtx_event_domain(&event, domain);
    nvtx_report(&event, (struct nvtx_text){0});
}

/* Programs call it to have the tool loaded, which it is. */
static void on_Initialize(const void *reserved)
{
    (void)reserved;
}

/* ---- resources and locks; a program without memory for them has a null handle */

static void calls_object_report(enum heddle_nvtx_call call, uint32_t cbid,
                                const struct nvtx_object *object, const void *params,
                                const void *result)
{
    struct heddle_event event;

    if (!nvtx_wanted() || !object)
        return;
    event = calls_event_of(call, cbid, params);
    nvtx_event_domain(&event, object->domain);
    event.nvtx.object_type = object->type;
    event.nvtx.object = object->id;
    event.nvtx.result = result;
    nvtx_report(&event, calls_narrow(object->name));
}

static nvtxResourceHandle_t on_DomainResourceCreate(nvtxDomainHandle_t domain,
                                                    nvtxResourceAttributes_t *a)
{
    struct {
        nvtxDomainHandle_t domain;
        const nvtxResourceAttributes_t *attributes;
    } params = {domain, a};
    struct nvtx_object *object =
        a ? nvtx_object_create(domain, (uint32_t)a->identifierType, a->messageType, a->message)
          : NULL;

    if (object)
        object->id = a->identifier.ullValue;
    calls_object_report(HEDDLE_NVTX_NAME_RESOURCE, CBID_DomainResourceCreate, object, &params,
                        &object);
    return (nvtxResourceHandle_t)object;
}

static void on_DomainResourceDestroy(nvtxResourceHandle_t handle)
{
    struct nvtx_object *object = (struct nvtx_object *)handle;

    calls_object_report(HEDDLE_NVTX_FORGET_RESOURCE, CBID_DomainResourceDestroy, object, &handle,
                        NULL);
    if (object)
        nvtx_object_destroy(object);
}

static nvtxSyncUser_t on_DomainSyncUserCreate(nvtxDomainHandle_t domain,
                                              const nvtxSyncUserAttributes_t *a)
{
    struct {
        nvtxDomainHandle_t domain;
        const nvtxSyncUserAttributes_t *attributes;
    } params = {domain, a};
    nvtxMessageValue_t none = {0};
    struct nvtx_object *object =
        nvtx_object_create(domain, 0, a ? a->messageType : 0, a ? a->message : none);

    calls_object_report(HEDDLE_NVTX_SYNC_CREATE, CBID_DomainSyncUserCreate, object, &params,
                        &object);
    return (nvtxSyncUser_t)object;
}

static void on_DomainSyncUserDestroy(nvtxSyncUser_t handle)
{
    struct nvtx_object *object = (struct nvtx_object *)handle;

    calls_object_report(HEDDLE_NVTX_SYNC_DESTROY, CBID_DomainSyncUserDestroy, object, &handle,
                        NULL);
    if (object)
        nvtx_object_destroy(object);
}

#define DEFINE(name, call)                                                                         \
    static void on_DomainSyncUser##name(nvtxSyncUser_t handle)                                     \
    {                                                                                              \
        calls_object_report(HEDDLE_NVTX_SYNC_##call, CBID_DomainSyncUser##name,                    \
                            (const struct nvtx_object *)handle, &handle, NULL);                    \
    }
DEFINE(AcquireStart, ACQUIRE_START)
DEFINE(AcquireFailed, ACQUIRE_FAILED)
DEFINE(AcquireSuccess, ACQUIRE_SUCCESS)
DEFINE(Releasing, RELEASING)
#undef DEFINE

/* ---- how programs find them */

static const struct {
    NvtxFunctionPointer function;
    uint8_t module, id;
} functions[] = {
#define X(module, id, cbid, name) {(NvtxFunctionPointer)on_##name, NVTX_CB_MODULE_##module, (id)},
#include "api/nvtx.def"
#undef X
};

/* Old headers have smaller tables, and perhaps not all of them. */
static void calls_table_fill(const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (!callbacks->GetModuleFunctionTable(module, &table, &size) || !table)
        return;
    for (size_t i = 0; i < HD_COUNT_OF(functions); i++)
        if (functions[i].module == module && functions[i].id < size && table[functions[i].id])
            *table[functions[i].id] = functions[i].function;
}

HD_EXPORT int heddle_nvtx_initialize(const void *(*get_table)(uint32_t id))
{
    const NvtxExportTableCallbacks *callbacks = get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;
    const NvtxExportTableVersionInfo *version = get_table ? get_table(NVTX_ETID_VERSIONINFO) : NULL;

    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) ||
        !callbacks->GetModuleFunctionTable) {
        hd_log("NVTX: a program's headers have no tables of functions that this version knows");
        return 0;
    }
    if (version && version->struct_size >= sizeof(*version) && version->SetInjectionNvtxVersion)
        version->SetInjectionNvtxVersion(NVTX_VERSION);
    for (int module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++)
        calls_table_fill(callbacks, (NvtxCallbackModule)module);
    return 1;
}

/* What programs look for in the library that NVTX_INJECTION64_PATH names. */
HD_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
HD_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    return heddle_nvtx_initialize(get_table);
}
