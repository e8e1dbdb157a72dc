/* Between launch.c, which submits launches, and launch_check.c, which checks them. */
#ifndef HD_CORE_STREAM_LAUNCH_H
#define HD_CORE_STREAM_LAUNCH_H

#include "core/core.h"

/* Whether all blocks are resident at the same time on so many multiprocessors: HD_LAUNCH_LIMIT. */
enum hd_status core_launch_check_cooperative(const struct core_function *f,
                                             const struct core_launch *l, uint32_t sms)
    HD_MUST_CHECK;

#endif
