/* Memory operations in streams and captures. */
#include "core/graph/capture.h"
#include "core/stream/mem_op.h"
#include "hal/hal.h"

#define BATCH 64u /* packets submitted at a time */

enum hd_status core_stream_mem_ops(struct core_stream *stream, const struct core_mem_op *ops,
                                   unsigned n)
{
    union hal_packet packets[BATCH];

    if (core_stream_is_capturing(stream)) {
        struct core_body body;

        HD_TRY(core_body_batch(stream->ctx, ops, n, &body));
        return core_capture_add(stream, &body);
    }
    for (unsigned i = 0; i < n; i++) /* all are right, or none is submitted */
        HD_TRY(core_mem_op_packet(&ops[i], &packets[i % BATCH]));
    for (unsigned i = 0; i < n; i++) {
        HD_TRY(core_mem_op_packet(&ops[i], &packets[i % BATCH]));
        if (i % BATCH == BATCH - 1 || i == n - 1)
            HD_TRY(core_stream_submit(stream, packets, i % BATCH + 1, NULL, 0, NULL));
    }
    return HD_OK;
}
