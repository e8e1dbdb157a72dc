/* The subscription to the taps, and how the library ends. */
#include <pthread.h>

#include "base/lock.h"
#include "api/cupti/cupti.h"
#include "api/cupti/profiler.h"
#include "api/cupti/sampler.h"

/* Not held while an event is told. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static uint32_t subscription, subscribed; /* its id and kinds */

static void on_event(void *user, const struct heddle_event *event)
{
    bool is_end = event->phase == HEDDLE_PHASE_END;

    (void)user;
    if (!is_end)
        cupti_callback_event(event);
    if (atomic_load_explicit(&cupti_kinds, memory_order_relaxed)) {
        if (event->kind == HEDDLE_EVENT_NVTX)
            cupti_marker_event(event);
        else
            cupti_record_event(event);
    }
    if (is_end && !event->is_inner)
        cupti_buffer_after_call();
    if (is_end) /* last: the client may end everything in it */
        cupti_callback_event(event);
}

static void listen_locked(uint32_t kinds)
{
    if (kinds == subscribed)
        return;
    if (subscription)
        heddle_tap_unsubscribe(subscription);
    subscription = kinds ? heddle_tap_subscribe(kinds, on_event, NULL) : 0;
    subscribed = subscription ? kinds : 0;
}

static uint32_t wanted_kinds(void)
{
    return cupti_callback_kinds() | cupti_activity_kinds();
}

void cupti_listen(void)
{
    pthread_mutex_lock(&lock);
    listen_locked(wanted_kinds());
    pthread_mutex_unlock(&lock);
}

void cupti_listen_again(void)
{
    pthread_mutex_lock(&lock);
    listen_locked(0);
    listen_locked(wanted_kinds());
    pthread_mutex_unlock(&lock);
}

CUPTI_EXPORT(cuptiFinalize)
CUptiResult cuptiFinalize(void)
{
    cupti_callback_stop();
    cupti_activity_stop();
    cupti_range_stop();
    cupti_sample_stop();
    cupti_listen_again();
    return CUPTI_SUCCESS;
}
