/*
 * Work that has to be alone: while a launch runs again and again (ir_observer.next_run), memory
 * belongs to it. Off unless somebody needs it, and then a test of a flag.
 *
 * Who is alone never waits for others here, and who wants to be alone does not wait for ever, so
 * nothing that was started hangs because of it: a launch that waits for another one says so
 * (hal_serial_share()), and one for which there is no room runs beside the others.
 */
#include <assert.h>
#include <pthread.h>
#include <time.h>

#include "base/lock.h"
#include "hal/hal.h"

static struct {
    _Atomic bool is_on;
    pthread_mutex_t lock; /* below */
    pthread_cond_t changed;
    uint32_t inside; /* that are not alone */
    bool is_taken;   /* somebody is alone */
} serial = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(serial, serial.lock);

void hal_serial_start(void)
{
    pthread_condattr_t attr;

    if (atomic_load(&serial.is_on))
        return;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&serial.changed, &attr);
    pthread_condattr_destroy(&attr);
    atomic_store(&serial.is_on, true);
}

bool hal_serial_is_on(void)
{
    return HD_UNLIKELY(atomic_load_explicit(&serial.is_on, memory_order_relaxed));
}

void hal_serial_enter(void)
{
    if (!hal_serial_is_on())
        return;
    pthread_mutex_lock(&serial.lock);
    while (serial.is_taken)
        pthread_cond_wait(&serial.changed, &serial.lock);
    serial.inside++;
    pthread_mutex_unlock(&serial.lock);
}

void hal_serial_leave(void)
{
    if (!hal_serial_is_on())
        return;
    pthread_mutex_lock(&serial.lock);
    assert(serial.inside);
    if (!--serial.inside)
        pthread_cond_broadcast(&serial.changed);
    pthread_mutex_unlock(&serial.lock);
}

bool hal_serial_enter_alone(uint64_t patience_ns)
{
    uint64_t at_ns = hal_time_ns() + patience_ns;
    const struct timespec until = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
    int late = 0;

    assert(hal_serial_is_on());
    pthread_mutex_lock(&serial.lock);
    while ((serial.is_taken || serial.inside) && !late)
        late = pthread_cond_timedwait(&serial.changed, &serial.lock, &until);
    bool alone = !serial.is_taken && !serial.inside;
    if (alone)
        serial.is_taken = true;
    pthread_mutex_unlock(&serial.lock);
    if (!alone)
        hal_serial_enter();
    return alone;
}

void hal_serial_share(void)
{
    pthread_mutex_lock(&serial.lock);
    assert(serial.is_taken && !serial.inside);
    serial.is_taken = false;
    serial.inside = 1;
    pthread_cond_broadcast(&serial.changed);
    pthread_mutex_unlock(&serial.lock);
}

void hal_serial_leave_alone(void)
{
    pthread_mutex_lock(&serial.lock);
    assert(serial.is_taken && !serial.inside);
    serial.is_taken = false;
    pthread_cond_broadcast(&serial.changed);
    pthread_mutex_unlock(&serial.lock);
}
