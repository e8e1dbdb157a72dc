/*
 * NVTX inside libcuda: what a program marks becomes NVTX events of include/heddle/tap.h.
 *
 * A program's NVTX3 headers load the library that NVTX_INJECTION64_PATH names at the first call and
 * let its InitializeInjectionNvtx2() fill their tables of functions; ours are in calls.c. libcuda
 * is such a library, and libcupti passes on to it. With nobody listening a call costs the header's
 * test of a pointer, a call and a load.
 *
 * Domains and registered strings are kept for the life of the process, one for each name or text,
 * because listeners that come later are told names with each event. Resources and locks go when the
 * program destroys them.
 *
 * Source: NVTX version 3, its public headers (github.com/NVIDIA/NVTX).
 */
#ifndef HD_API_NVTX_NVTX_H
#define HD_API_NVTX_NVTX_H

#include "core/core.h"
#include "core/notify.h"

#define NVTX_DISABLE /* types without the calls */
#include "nvtx3/nvToolsExt.h"
#include "nvtx3/nvToolsExtSync.h"

/* A domain, string, resource or lock. What NVTX calls a handle is the address of one. */
struct nvtx_domain;

/* A text of either kind; neither: none. */
struct nvtx_text {
    const char *narrow;
    const wchar_t *wide;
};

static inline bool nvtx_wanted(void)
{
    return tap_wants(HEDDLE_KIND(NVTX));
}

/* Gives the event its domain's id and name; `domain` NULL: the default one. */
void nvtx_event_domain(struct heddle_event *event, nvtxDomainHandle_t domain);
/* Tells the event with that text, as UTF-8. */
void nvtx_report(struct heddle_event *event, struct nvtx_text text);
/* With text, category, colour and payload of the attributes, which may be NULL. */
void nvtx_report_attributes(struct heddle_event *event, const nvtxEventAttributes_t *attributes);

/* A range is pushed or popped: its level. -2 where levels are not counted, -1: nothing to pop. */
int nvtx_push(nvtxDomainHandle_t domain);
int nvtx_pop(nvtxDomainHandle_t domain);
uint64_t nvtx_range_next(void);

/* The domain of that name, the string of that text in a domain; NULL: no memory. */
nvtxDomainHandle_t nvtx_domain_of(struct nvtx_text name);
nvtxStringHandle_t nvtx_string_of(nvtxDomainHandle_t domain, struct nvtx_text text);
uint64_t nvtx_string_id(nvtxStringHandle_t string);

/* A resource or lock; its name is copied. NULL: no memory. */
struct nvtx_object {
    nvtxDomainHandle_t domain;
    uint32_t type;
    uint64_t id;
    char *name; /* NULL: none */
};
struct nvtx_object *nvtx_object_create(nvtxDomainHandle_t domain, uint32_t type, int32_t text_type,
                                       nvtxMessageValue_t text);
void nvtx_object_destroy(struct nvtx_object *object);

#endif
