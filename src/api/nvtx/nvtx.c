/* Domains, strings and levels of NVTX, and how its events are told. */
#include "api/nvtx/nvtx.h"

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

/* A thread counts levels of ranges in the domains that were made first; others have -2. */
#define LEVELS 64

struct nvtxDomainRegistration_st {
    uint32_t id;
    char *name;
    struct hd_map strings; /* text -> struct nvtxStringRegistration_st *, under the lock */
};

struct nvtxStringRegistration_st {
    uint64_t id;
    char text[];
};

static struct hd_lock names_lock = HD_LOCK_INIT(LEAF, "names of NVTX");
static struct hd_map domains;                      /* name -> domain; under the lock */
static struct nvtxDomainRegistration_st no_domain; /* the default one: strings only */
static uint32_t last_domain;                       /* under the lock */
static uint64_t last_string;                       /* under the lock */
static _Atomic uint64_t last_range, last_object;
static HD_THREAD_LOCAL int32_t levels[LEVELS];

/* ---- text */

/* Of wide characters; those that are none of Unicode's become U+FFFD. */
static size_t utf8_put(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* A copy as UTF-8; NULL: no text, or no memory. */
static char *text_copy(struct nvtx_text text)
{
    size_t length = 0;
    char *copy;

    if (!text.wide)
        return text.narrow ? hd_strdup(text.narrow) : NULL;
    copy = hd_alloc_array(wcslen(text.wide) + 1, 4);
    for (const wchar_t *c = text.wide; copy && *c; c++)
        length += utf8_put(copy + length, (uint32_t)*c);
    if (copy)
        copy[length] = '\0';
    return copy;
}

static struct nvtx_text text_of_message(int32_t type, nvtxMessageValue_t message)
{
    switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return (struct nvtx_text){.narrow = message.ascii};
    case NVTX_MESSAGE_TYPE_UNICODE:
        return (struct nvtx_text){.wide = message.unicode};
    case NVTX_MESSAGE_TYPE_REGISTERED:
        return (struct nvtx_text){.narrow = message.registered ? message.registered->text : NULL};
    }
    return (struct nvtx_text){0};
}

/* ---- events */

void nvtx_event_domain(struct heddle_event *event, nvtxDomainHandle_t domain)
{
    event->nvtx.domain = domain ? domain->id : 0;
    event->nvtx.domain_name = domain ? domain->name : NULL;
}

void nvtx_report(struct heddle_event *event, struct nvtx_text text)
{
    char *copy = text.wide ? text_copy(text) : NULL;

    event->kind = HEDDLE_EVENT_NVTX;
    event->phase = HEDDLE_PHASE_POINT;
    event->nvtx.text = text.wide ? copy : text.narrow;
    tap_emit(event);
    hd_free(copy);
}

void nvtx_report_attributes(struct heddle_event *event, const nvtxEventAttributes_t *a)
{
    if (!a) {
        nvtx_report(event, (struct nvtx_text){0});
        return;
    }
    event->nvtx.category = a->category;
    if (a->colorType == NVTX_COLOR_ARGB) {
        event->nvtx.color_type = NVTX_COLOR_ARGB;
        event->nvtx.color = a->color;
    }
    event->nvtx.payload_type = (uint32_t)a->payloadType;
    if (a->payloadType != NVTX_PAYLOAD_UNKNOWN)
        event->nvtx.payload = a->payload.ullValue;
    if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
        event->nvtx.string = nvtx_string_id(a->message.registered);
    nvtx_report(event, text_of_message(a->messageType, a->message));
}

/* ---- ranges */

static int32_t *level_of(nvtxDomainHandle_t domain)
{
    uint32_t id = domain ? domain->id : 0;

    return id < LEVELS ? &levels[id] : NULL;
}

int nvtx_push(nvtxDomainHandle_t domain)
{
    int32_t *level = level_of(domain);

    return level ? (*level)++ : NVTX_NO_PUSH_POP_TRACKING;
}

int nvtx_pop(nvtxDomainHandle_t domain)
{
    int32_t *level = level_of(domain);

    if (!level)
        return NVTX_NO_PUSH_POP_TRACKING;
    return *level > 0 ? --*level : -1;
}

uint64_t nvtx_range_next(void)
{
    return atomic_fetch_add_explicit(&last_range, 1, memory_order_relaxed) + 1;
}

/* ---- names that stay */

/* Takes the name. */
static struct nvtxDomainRegistration_st *domain_add_locked(char *name)
{
    struct nvtxDomainRegistration_st *domain = hd_alloc(sizeof(*domain));

    if (domain && hd_map_put(&domains, hd_str_from(name), domain)) {
        domain->id = ++last_domain;
        domain->name = name;
        hd_map_init(&domain->strings);
        return domain;
    }
    hd_free(domain);
    hd_free(name);
    return NULL;
}

nvtxDomainHandle_t nvtx_domain_of(struct nvtx_text text)
{
    struct nvtxDomainRegistration_st *domain;
    char *name = text_copy(text);

    if (!name)
        return NULL;
    hd_lock_acquire(&names_lock);
    domain = hd_map_get(&domains, hd_str_from(name));
    if (domain)
        hd_free(name);
    else
        domain = domain_add_locked(name);
    hd_lock_release(&names_lock);
    return domain;
}

static struct nvtxStringRegistration_st *string_add_locked(struct hd_map *strings, const char *text)
{
    size_t length = strlen(text);
    struct nvtxStringRegistration_st *string = hd_alloc(sizeof(*string) + length + 1);

    if (!string)
        return NULL;
    memcpy(string->text, text, length + 1);
    if (!hd_map_put(strings, hd_str_from(string->text), string)) {
        hd_free(string);
        return NULL;
    }
    string->id = ++last_string;
    return string;
}

nvtxStringHandle_t nvtx_string_of(nvtxDomainHandle_t domain, struct nvtx_text text)
{
    struct nvtxStringRegistration_st *string;
    struct hd_map *strings = domain ? &domain->strings : &no_domain.strings;
    char *copy = text_copy(text);

    if (!copy)
        return NULL;
    hd_lock_acquire(&names_lock);
    string = hd_map_get(strings, hd_str_from(copy));
    if (!string)
        string = string_add_locked(strings, copy);
    hd_lock_release(&names_lock);
    hd_free(copy);
    return string;
}

uint64_t nvtx_string_id(nvtxStringHandle_t string)
{
    return string ? string->id : 0;
}

/* ---- resources and locks */

struct nvtx_object *nvtx_object_create(nvtxDomainHandle_t domain, uint32_t type, int32_t text_type,
                                       nvtxMessageValue_t text)
{
    struct nvtx_object *object = hd_alloc(sizeof(*object));

    if (object)
        *object = (struct nvtx_object){
            .domain = domain,
            .type = type,
            .id = atomic_fetch_add(&last_object, 1) + 1,
            .name = text_copy(text_of_message(text_type, text)),
        };
    return object;
}

void nvtx_object_destroy(struct nvtx_object *object)
{
    hd_free(object->name);
    hd_free(object);
}
