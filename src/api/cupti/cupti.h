/*
 * libcupti: a listener of the taps (include/heddle/tap.h) that speaks CUPTI.
 *
 *   listen.c    the one subscription: what is wanted of the taps follows from what clients enabled
 *   dispatch.c  which of the files below an event goes to
 *   entry.c     what an entry point is for CUPTI: its number, what it does, where its handles are
 *   callback.c  subscriber, domains; calls, NVTX and resources as callbacks
 *   activity.c  kinds, attributes, filters, external correlation: what is recorded
 *   record.c    events of the taps become records
 *   event.c     records of CUDA's events, with the device's time
 *   layout.c    what records are like
 *   marker.c    NVTX events become records
 *   buffer.c    records wait in chunks of our own until the client's buffers take them
 *   ids.c       contexts, devices; names that stay
 *   profiler.h  says which files the profilers are
 *
 * Records are made where the event happens: on threads of the program and, for work that is done,
 * on those of the device. They go into chunks (bounded memory; what does not fit is counted as
 * dropped). The client is asked for buffers by the library's own thread, by flushes, and by the
 * call that made the first record since the last flush. So nothing that a client leaves undone
 * holds the program up.
 *
 * Times in chunks are the taps', CLOCK_MONOTONIC; they become the client's when handed out.
 */
#ifndef HD_API_CUPTI_CUPTI_H
#define HD_API_CUPTI_CUPTI_H

#include <stdatomic.h>

#include "base/compiler.h"
#include "heddle/tap.h"

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>

/* In front of an exported function: it is in both of the vendor's version nodes. */
#define CUPTI_EXPORT(name)                                                                         \
    __typeof__(name) name __asm__("own_" #name);                                                   \
    CUPTI_NODE(name, v12_##name, "@libcupti.so.12")                                                \
    CUPTI_NODE(name, v13_##name, "@@libcupti.so.13")
#define CUPTI_NODE(name, alias, node)                                                              \
    __asm__(".globl " #alias "\n.type " #alias ", %function\n.set " #alias ", own_" #name          \
            "\n.symver " #alias ", " #name node);

/* Notes the result for cuptiGetLastError(), unless it is success. */
CUptiResult cupti_result(CUptiResult result);
/* A function or kind that does not exist here; logs it once for each text. */
CUptiResult cupti_refuse(const char *name, _Atomic bool *said);

/* ---- entry.c */

enum cupti_action {
    CUPTI_ACTION_UNKNOWN, /* not looked at yet */
    CUPTI_ACTION_NONE,
    CUPTI_ACTION_LAUNCH,
    CUPTI_ACTION_STREAM_SYNC,
    CUPTI_ACTION_CONTEXT_SYNC,
    CUPTI_ACTION_EVENT_SYNC,
    CUPTI_ACTION_STREAM_WAIT,
    CUPTI_ACTION_EVENT_RECORD,
    CUPTI_ACTION_POOL_CREATE,
    CUPTI_ACTION_POOL_DESTROY,
    CUPTI_ACTION_POOL_TRIM,
    CUPTI_ACTION_INIT,
};

struct cupti_entry {
    _Atomic uint8_t action; /* enum cupti_action; written last */
    int8_t stream, event;   /* which argument; -1: none */
    uint16_t cbid;          /* 0: CUPTI has none */
};

/* Ids of entries are below this. */
#define CUPTI_ENTRIES 2048u
const struct cupti_entry *cupti_entry_of(const struct heddle_event *event);
/* A handle that the call was given; NULL: it has no such argument. */
void *cupti_argument(const struct heddle_event *event, int argument);
/* Names and counts of a domain's numbers. */
const char *cupti_callback_name(CUpti_CallbackDomain domain, uint32_t cbid);
uint32_t cupti_callback_count(CUpti_CallbackDomain domain);
#define CUPTI_CBIDS 1024u /* numbers of every domain are below */

/* ---- listen.c */

struct cupti_listener {
    uint32_t (*kinds)(void); /* of taps, that are wanted now */
    void (*event)(const struct heddle_event *event);
};
/* Once, before main(). */
void cupti_listener_set(const struct cupti_listener *listener);
/* Subscribes what is wanted now; after every change of it. */
void cupti_listen(void);
/* Waits until no other thread is inside the listener. */
void cupti_listen_again(void);

/* ---- callback.c */

uint32_t cupti_callback_kinds(void); /* of taps */
void cupti_callback_event(const struct heddle_event *event);
void cupti_callback_stop(void);

/* ---- activity.c and record.c */

extern _Atomic uint64_t cupti_kinds; /* enabled: a bit for each CUpti_ActivityKind */
static inline bool cupti_records(CUpti_ActivityKind kind)
{
    return atomic_load_explicit(&cupti_kinds, memory_order_relaxed) >> kind & 1;
}
bool cupti_api_is_recorded(bool is_driver, uint32_t cbid);
uint32_t cupti_activity_kinds(void); /* of taps */
uint32_t cupti_process(void);
/* This thread, as records have it. */
uint32_t cupti_thread(const struct heddle_event *event);
bool cupti_latency_is_wanted(void);
void cupti_external_record(uint32_t correlation);
void cupti_activity_stop(void);

void cupti_record_event(const struct heddle_event *event);
void cupti_record_devices(void);
void cupti_marker_event(const struct heddle_event *event);

/* ---- layout.c */

/* Bytes of a record; 0: no kind that is ever made. */
size_t cupti_record_size(CUpti_ActivityKind kind);
/* Changes the times of a record. */
void cupti_record_convert(CUpti_Activity *record, uint64_t (*convert)(uint64_t time_ns));

/* ---- event.c: what a call that records an event does, in order; DONE may come before its end */

bool cupti_event_times_are_wanted(void);
void cupti_event_begin(const struct heddle_event *event, const struct cupti_entry *entry);
void cupti_event_packet(const struct heddle_event *event);
void cupti_event_done(const struct heddle_event *event);
void cupti_event_record(const CUpti_ActivityCudaEvent2 *record);
void cupti_event_forget(void);

/* ---- buffer.c */

/*
 * A record to fill, zeroed but for its kind; _end() it on the same thread, soon: a lock is held.
 * NULL: dropped, and there is nothing to end.
 */
void *cupti_record_begin(CUpti_ActivityKind kind);
void cupti_record_end(void);
void cupti_buffer_callbacks(CUpti_BuffersCallbackRequestFunc request,
                            CUpti_BuffersCallbackCompleteFunc complete);
bool cupti_buffer_has_callbacks(void);
CUptiResult cupti_buffer_flush(void);
/* A call of the program is about to return, and this thread holds no lock of ours or core's. */
void cupti_buffer_after_call(void);
void cupti_buffer_period(uint32_t ms);
/* What was lost since the last call. */
uint64_t cupti_buffer_dropped(void);

/* ---- clock.c */

uint64_t cupti_now_ns(void); /* CLOCK_MONOTONIC */
uint64_t cupti_clock_convert(uint64_t time_ns);
/* Before several conversions. */
void cupti_clock_update(void);

/* ---- ids.c */

struct cupti_context {
    uint32_t id;
    uint32_t device;
};
/* Where the driver may be called; {0, 0}: no context. */
struct cupti_context cupti_context_of(void *handle);
/* Everywhere; only what the other one once saw. */
struct cupti_context cupti_context_known(void *handle);
uint32_t cupti_stream_of(void *stream);
/* A number of a handle of the driver's. */
uint32_t cupti_handle_number(const void *handle);
/* A copy that lives as long as the process; NULL: of none, or no memory. */
const char *cupti_name_keep(const char *name);

#endif
