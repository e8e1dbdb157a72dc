/* The clock of records: CLOCK_REALTIME at first sight, or the client's own. */
#include <pthread.h>
#include <time.h>

#include "api/cupti/cupti.h"
#include "base/clock.h"
#include "base/lock.h"

/* The same moment by both clocks. */
struct moment {
    uint64_t tap_ns, client;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t epoch_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, for good: times stay in order */
static _Atomic(CUpti_TimestampCallbackFunc) client_clock;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct moment first, last; /* lock; of the client's clock */

uint64_t cupti_now_ns(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC);
}

static void epoch_find(void)
{
    epoch_ns = hd_clock_ns(CLOCK_REALTIME) - cupti_now_ns();
}

/* The shortest of a few readings: a thread may lose its core between them. */
static struct moment moment_take(CUpti_TimestampCallbackFunc clock)
{
    struct moment best = {0};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        uint64_t before = cupti_now_ns(), value = clock(), after = cupti_now_ns();

        if (after - before < shortest) {
            shortest = after - before;
            best = (struct moment){before + (after - before) / 2, value};
        }
    }
    return best;
}

void cupti_clock_update(void)
{
    CUpti_TimestampCallbackFunc clock = atomic_load(&client_clock);
    struct moment now;

    if (!clock)
        return;
    now = moment_take(clock);
    pthread_mutex_lock(&lock);
    last = now;
    pthread_mutex_unlock(&lock);
}

uint64_t cupti_clock_convert(uint64_t time_ns)
{
    if (!time_ns)
        return CUPTI_TIMESTAMP_UNKNOWN;
    if (atomic_load_explicit(&client_clock, memory_order_relaxed)) {
        /* On the line through both moments, whatever unit the client counts in. */
        struct moment a, b;
        long double slope = 1;

        pthread_mutex_lock(&lock);
        a = first;
        b = last;
        pthread_mutex_unlock(&lock);
        if (b.tap_ns > a.tap_ns)
            slope = (long double)(b.client - a.client) / (long double)(b.tap_ns - a.tap_ns);
        return (uint64_t)((long double)a.client +
                          ((long double)time_ns - (long double)a.tap_ns) * slope);
    }
    pthread_once(&once, epoch_find);
    return time_ns + epoch_ns;
}

CUPTI_EXPORT(cuptiGetTimestamp)
CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    CUpti_TimestampCallbackFunc clock = atomic_load(&client_clock);

    if (!timestamp)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *timestamp = clock ? clock() : cupti_clock_convert(cupti_now_ns());
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiActivityRegisterTimestampCallback)
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
    struct moment now;

    if (!clock)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    now = moment_take(clock);
    pthread_mutex_lock(&lock);
    first = last = now;
    pthread_mutex_unlock(&lock);
    atomic_store(&client_clock, clock);
    return CUPTI_SUCCESS;
}
