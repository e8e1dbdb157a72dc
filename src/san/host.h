/*
 * What the host does: the events of taps (heddle/tap.h), for the tools that want them, and the
 * stacks of launch calls.
 */
#ifndef HD_SAN_HOST_H
#define HD_SAN_HOST_H

#include "san/tool.h"

/* Subscribes to what the tools of the set want. HD_NO_MEMORY. */
enum hd_status san_host_start(const struct san_tool *const *tools, unsigned set) HD_MUST_CHECK;
/* The stack of the call with this correlation; false: not known, or too long ago. */
bool san_host_stack(uint64_t correlation, struct san_stack *out);

#endif
