/*
 * CUDA_EVENT records with the time at which the device reached the event: the record of a call is
 * handed out when its packet is done, which may be before the call ends or long after.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/lock.h"
#include "api/cupti/cupti.h"

#define PENDING 1024u

/* By number of the packet, modulo PENDING. */
static struct pending {
    uint64_t packet; /* 0: free */
    uint64_t done_ns;
    bool has_record; /* its call has ended */
    CUpti_ActivityCudaEvent2 record;
} pending[PENDING];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static _Atomic bool wanted;

static HD_THREAD_LOCAL struct {
    uint64_t correlation; /* of the call that records an event; 0: none */
    uint64_t packet;      /* what it submitted */
} recording;

bool cupti_event_times_are_wanted(void)
{
    return atomic_load_explicit(&wanted, memory_order_relaxed);
}

/* The time is 0, unknown, where it is not told. */
static void record_write(const CUpti_ActivityCudaEvent2 *record, uint64_t done_ns)
{
    CUpti_ActivityCudaEvent2 *r = cupti_record_begin(CUPTI_ACTIVITY_KIND_CUDA_EVENT);

    if (!r)
        return;
    *r = *record;
    r->deviceTimestamp = done_ns;
    cupti_record_end();
}

static void settle_locked(struct pending *p)
{
    assert(p->packet || !p->has_record);
    if (p->has_record)
        record_write(&p->record, p->done_ns);
    *p = (struct pending){0};
}

void cupti_event_begin(const struct heddle_event *event, const struct cupti_entry *entry)
{
    recording.packet = 0;
    recording.correlation =
        atomic_load_explicit(&entry->action, memory_order_relaxed) == CUPTI_ACTION_EVENT_RECORD
            ? event->correlation
            : 0;
}

/* What is still in the slot is so old that it is told without its time. */
void cupti_event_packet(const struct heddle_event *event)
{
    struct pending *p = &pending[event->packet.id % PENDING];

    if (!recording.correlation || event->correlation != recording.correlation || recording.packet)
        return;
    assert(event->packet.id);
    recording.packet = event->packet.id;
    pthread_mutex_lock(&lock);
    settle_locked(p);
    p->packet = event->packet.id;
    pthread_mutex_unlock(&lock);
}

void cupti_event_done(const struct heddle_event *event)
{
    struct pending *p = &pending[event->packet.id % PENDING];

    pthread_mutex_lock(&lock);
    if (p->packet == event->packet.id) {
        p->done_ns = event->packet.end_ns;
        if (p->has_record)
            settle_locked(p);
    }
    pthread_mutex_unlock(&lock);
}

void cupti_event_record(const CUpti_ActivityCudaEvent2 *record)
{
    struct pending *p = &pending[recording.packet % PENDING];
    bool waits = false;

    if (recording.packet && recording.correlation) {
        pthread_mutex_lock(&lock);
        if (p->packet == recording.packet) {
            assert(!p->has_record); /* a call records once */
            p->record = *record;
            p->has_record = waits = true;
            if (p->done_ns)
                settle_locked(p);
        }
        pthread_mutex_unlock(&lock);
    }
    recording.correlation = 0;
    if (!waits)
        record_write(record, 0);
}

void cupti_event_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(pending, 0, sizeof(pending));
    pthread_mutex_unlock(&lock);
}

/* Only this thread is left of the process, and none of its work. */
static void in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    cupti_event_forget();
}

__attribute__((constructor)) static void fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

CUPTI_EXPORT(cuptiActivityEnableCudaEventDeviceTimestamps)
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    atomic_store(&wanted, enable != 0);
    cupti_listen();
    return CUPTI_SUCCESS;
}
