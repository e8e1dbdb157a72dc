/*
 * What a tensor copy accesses: the box in shared memory of each CTA that gets it, the rows of
 * global memory, and the barriers that hear of it. By the code that makes the copies
 * (model/tensor_copy.h), which is let run between buffers that nobody sees.
 */
#ifndef HD_SAN_TENSOR_H
#define HD_SAN_TENSOR_H

#include "san/tool.h"

struct san_tensor_to {
    enum hd_status (*access)(void *user, const struct san_access *part);
    enum hd_status (*sync)(void *user, const struct san_sync *at); /* a complete_tx */
    void *user;
};

/*
 * The copy that one lane of `access` issues; the first error. Without memory for the buffers only
 * what is known without them is told. A map that cannot be read is told as an access; of one that
 * is no tensor map nothing is, because the device says so.
 */
enum hd_status san_tensor_lane(const struct san_cta *cta, const struct san_access *access,
                               uint32_t lane, const struct san_tensor_to *to);

#endif
