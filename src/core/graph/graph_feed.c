/*
 * Programs that feed themselves: a part of the ring's size at most, then a host call that submits
 * the next one. When it is made all of the part has retired, so the ring has room.
 *
 *     queue:  [part 1][HOST_CALL feed] [part 2][HOST_CALL feed] [part 3][what is behind]
 */
#include <assert.h>

#include "core/context.h"
#include "core/graph/graph.h"
#include "hal/hal.h"

/* Taps add a packet to each; behind the end of the ring a block of parameters begins anew. */
static const struct core_part part = {HAL_RING_SLOTS / 4, HAL_RING_PARAMS_B / 2};

static void feed_on(void *arg)
{
    struct core_feed *feed = arg;
    struct core_context *ctx = feed->stream->ctx;
    enum hd_status status = core_feed_run(feed);

    if (status == HD_OK)
        return;
    (void)hal_domain_fail(ctx->domain, status, 0, NULL, hd_error_message());
    if (feed->fail)
        feed->fail(feed);
}

enum hd_status core_feed_run(struct core_feed *feed)
{
    uint64_t position;

    HD_TRY(core_stream_run(feed->stream, &feed->run, part, NULL, 0, &position));
    return core_run_is_over(&feed->run)
               ? feed->behind(feed)
               : core_stream_call(feed->stream, feed_on, feed, feed->always);
}
