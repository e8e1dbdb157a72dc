/* The time that the device takes for each kernel, as it is measured: a listener of the taps. */
#include "heddle/tap.h"
#include "tune/tune.h"

static void on_event(void *user, const struct heddle_event *event)
{
    const struct heddle_work *work = event->packet.work;

    (void)user;
    if (work && work->kernel && !work->kernel->is_native && !event->packet.status &&
        event->packet.end_ns > event->packet.start_ns)
        tune_cost(work->kernel->name, TUNE_BY_TIME, event->packet.end_ns - event->packet.start_ns);
}

enum hd_status tune_listen(void)
{
    if (!tune_is_recorded())
        return HD_OK;
    return heddle_tap_subscribe(HEDDLE_KIND(RETIRED), on_event, NULL)
               ? HD_OK
               : hd_error(HD_NO_MEMORY, "HEDDLE_TUNE: no memory for its listener");
}
