/* Events of the taps go to callbacks and records; and how the library ends. */
#include "api/cupti/cupti.h"
#include "api/cupti/profiler.h"
#include "api/cupti/sampler.h"

static void event_dispatch(const struct heddle_event *event)
{
    bool is_end = event->phase == HEDDLE_PHASE_END;

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

static uint32_t kinds_wanted(void)
{
    return cupti_callback_kinds() | cupti_activity_kinds();
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

/* Before main(): a client may subscribe in a constructor of its own, which runs later. */
__attribute__((constructor)) static void dispatch_init(void)
{
    static const struct cupti_listener listener = {.kinds = kinds_wanted, .event = event_dispatch};

    cupti_listener_set(&listener);
}
