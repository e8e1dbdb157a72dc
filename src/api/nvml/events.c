/*
 * Event sets: a kernel of one of the user's processes failed. What comes after a device was
 * registered is told, each event once, and one wait at a time. Nobody wakes who waits: the
 * registry's count is looked at every few milliseconds.
 */
#include <pthread.h>
#include <unistd.h>

#include "api/nvml/ml.h"
#include "base/lock.h"
#include "base/mem.h"
#include "registry/registry.h"

enum { LOOK_US = 4000, DEVICES_MAX = 64 };

struct nvmlEventSet_st {
    struct nvmlEventSet_st *next;
    uint64_t devices; /* a mask by index */
    uint64_t seen;    /* events before are none of this set's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct nvmlEventSet_st *sets; /* all that there are: other pointers are refused */

static uint64_t event_count(void)
{
    const struct reg_file *file = reg_open();

    return file ? atomic_load(&file->nevents) : 0;
}

static struct nvmlEventSet_st **set_find_locked(nvmlEventSet_t set)
{
    struct nvmlEventSet_st **link = &sets;

    while (*link && *link != set)
        link = &(*link)->next;
    return link;
}

HD_EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    ML_TRY(ml_ready());
    if (!set)
        return NVML_ERROR_INVALID_ARGUMENT;
    struct nvmlEventSet_st *made = hd_new(struct nvmlEventSet_st);
    if (!made)
        return NVML_ERROR_MEMORY;
    pthread_mutex_lock(&lock);
    made->next = sets;
    sets = made;
    pthread_mutex_unlock(&lock);
    *set = made;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    ML_TRY(ml_ready());
    pthread_mutex_lock(&lock);
    struct nvmlEventSet_st **link = set_find_locked(set), *found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&lock);
    hd_free(found);
    return found ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device,
                                                        unsigned long long *eventTypes)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!eventTypes)
        return NVML_ERROR_INVALID_ARGUMENT;
    *eventTypes = nvmlEventTypeXidCriticalError;
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes,
                                                nvmlEventSet_t set)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (eventTypes & ~nvmlEventTypeXidCriticalError)
        return NVML_ERROR_NOT_SUPPORTED;
    pthread_mutex_lock(&lock);
    struct nvmlEventSet_st *found = *set_find_locked(set);
    if (found && eventTypes) {
        found->seen = found->devices ? found->seen : event_count();
        found->devices |= (uint64_t)1 << index;
    }
    pthread_mutex_unlock(&lock);
    return found ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* The device of the set with that uuid; -1: none. */
static int device_of(const struct nvmlEventSet_st *set, const uint8_t uuid[16])
{
    CUuuid other;

    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        ml_uuid(i, &other);
        if (set->devices >> i & 1 && !memcmp(other.bytes, uuid, sizeof(other.bytes)))
            return (int)i;
    }
    return -1;
}

static bool take_locked(struct nvmlEventSet_st *set, nvmlEventData_t *out)
{
    const struct reg_file *file = reg_open();
    uint64_t count = event_count(), code, pid;
    uint8_t uuid[16];

    if (file && count > set->seen + REG_EVENTS) /* the others are gone */
        set->seen = count - REG_EVENTS;
    while (file && set->seen < count) {
        if (!reg_event_read(file, ++set->seen, uuid, &code, &pid))
            continue;
        int device = device_of(set, uuid);
        if (device < 0)
            continue;
        *out = (nvmlEventData_t){ml_device_at((unsigned)device), nvmlEventTypeXidCriticalError,
                                 code, NVML_NO_INSTANCE, NVML_NO_INSTANCE};
        return true;
    }
    return false;
}

static nvmlReturn_t look(nvmlEventSet_t set, nvmlEventData_t *out)
{
    pthread_mutex_lock(&lock);
    struct nvmlEventSet_st *found = *set_find_locked(set);
    bool done = found && take_locked(found, out);
    pthread_mutex_unlock(&lock);
    if (!found)
        return NVML_ERROR_INVALID_ARGUMENT;
    return done ? NVML_SUCCESS : NVML_ERROR_TIMEOUT;
}

HD_EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data,
                                           unsigned int timeoutms)
{
    uint64_t end_ns = reg_now_ns() + (uint64_t)timeoutms * 1000000u;

    ML_TRY(ml_ready());
    if (!data)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (;;) {
        nvmlReturn_t result = look(set, data);
        uint64_t now_ns = reg_now_ns();

        if (result != NVML_ERROR_TIMEOUT || now_ns >= end_ns)
            return result;
        usleep((useconds_t)HD_MIN((end_ns - now_ns) / 1000u + 1, (uint64_t)LOOK_US));
    }
}
ML_ALIAS(nvmlEventSetWait, nvmlEventSetWait_v2);
