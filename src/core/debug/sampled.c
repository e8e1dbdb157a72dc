/* See sampled.h. */
#include "core/debug/sampled.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "core/device.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "hal/hal.h"
#include "heddle/sample.h"

typedef void notified_fn(void *, const struct heddle_sample *);

static struct {
    pthread_mutex_t lock; /* who starts and stops; not held by who is told */
    _Atomic(notified_fn *) notified;
    void *user; /* constant while told is set */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(all, all.lock);

void core_sampled(const struct hal_kernel *kernel, const struct hal_sample *s)
{
    const struct core_module *module = kernel->module->owner;
    const struct core_entry *entry = core_image_find_index(module->image, kernel->index);
    struct heddle_sample sample = {
        .size_B = sizeof(sample),
        .instr = s->instr,
        .context = core_context_handle(module->ctx),
        .kernel = entry ? entry->name : "",
        .file = s->file,
        .line = s->line,
        .in_code = s->count[HAL_SAMPLE_IN_CODE],
        .in_call = s->count[HAL_SAMPLE_IN_CALL],
        .lost = s->lost,
    };
    notified_fn *notified = atomic_load(&all.notified);

    memcpy(sample.image, core_image_key(module->image), sizeof(sample.image));
    if (notified)
        notified(all.user, &sample);
}

static void stop_locked(void)
{
    for (unsigned d = 0; d < core_device_count(); d++) {
        struct hal_device *hal = core_device_at((int)d)->hal;
        if (!hal->ops->sample)
            continue;
        (void)!hal->ops->sample(hal, 0);
        hal->ops->samples_notify(hal);
    }
    atomic_store(&all.notified, NULL);
}

static bool start_locked(uint64_t period_ns)
{
    for (unsigned d = 0; d < core_device_count(); d++) {
        struct hal_device *hal = core_device_at((int)d)->hal;
        if (!hal->ops->sample || hal->ops->sample(hal, period_ns) != HD_OK)
            return false;
    }
    return core_device_count() > 0;
}

HD_EXPORT int heddle_sample_can(void)
{
    bool can = core_device_count() > 0;

    for (unsigned d = 0; d < core_device_count(); d++)
        can &= core_device_at((int)d)->hal->ops->sample != NULL;
    return can;
}

HD_EXPORT int heddle_sample_start(uint64_t period_ns, notified_fn *notified, void *user)
{
    bool started = false;

    pthread_mutex_lock(&all.lock);
    if (!atomic_load(&all.notified)) {
        all.user = user;
        atomic_store(&all.notified, notified);
        started = start_locked(HD_MAX(period_ns, (uint64_t)HEDDLE_SAMPLE_LEAST_NS));
        if (!started)
            stop_locked();
    }
    pthread_mutex_unlock(&all.lock);
    return !started;
}

HD_EXPORT void heddle_sample_settle(void)
{
    pthread_mutex_lock(&all.lock);
    for (unsigned d = 0; atomic_load(&all.notified) && d < core_device_count(); d++) {
        struct hal_device *hal = core_device_at((int)d)->hal;
        hal->ops->samples_notify(hal);
    }
    pthread_mutex_unlock(&all.lock);
}

HD_EXPORT void heddle_sample_stop(void)
{
    pthread_mutex_lock(&all.lock);
    if (atomic_load(&all.notified))
        stop_locked();
    pthread_mutex_unlock(&all.lock);
}
