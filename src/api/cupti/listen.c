/* The subscription to the taps. */
#include <assert.h>
#include <pthread.h>

#include "base/lock.h"
#include "api/cupti/cupti.h"

/* Not held while an event is told. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static uint32_t subscription, subscribed; /* its id and kinds */
static const struct cupti_listener *listener;

void cupti_listener_set(const struct cupti_listener *to)
{
    assert(!listener && to->kinds && to->event);
    listener = to;
}

static void on_event(void *user, const struct heddle_event *event)
{
    (void)user;
    listener->event(event);
}

static void listen_locked(uint32_t kinds)
{
    assert(!subscription == !subscribed);
    if (kinds == subscribed)
        return;
    if (subscription)
        heddle_tap_unsubscribe(subscription);
    subscription = kinds ? heddle_tap_subscribe(kinds, on_event, NULL) : 0;
    subscribed = subscription ? kinds : 0;
}

void cupti_listen(void)
{
    assert(listener);
    pthread_mutex_lock(&lock);
    listen_locked(listener->kinds());
    pthread_mutex_unlock(&lock);
}

void cupti_listen_again(void)
{
    assert(listener);
    pthread_mutex_lock(&lock);
    listen_locked(0);
    listen_locked(listener->kinds());
    pthread_mutex_unlock(&lock);
}
