/*
 * What runs in this process, and who waits for whom: for `heddle ps`, and for Ctrl-C.
 *
 *     {"pid": 1, "devices": [{"device": 0, "name": .., "memory_B": .., "kernels": [..]}]}
 *
 * Kernels are hal_device_ops.report()'s objects; null when the device does not know. It only looks.
 */
#ifndef HD_CORE_DEBUG_REPORT_H
#define HD_CORE_DEBUG_REPORT_H

#include "base/status.h"
#include "base/str.h"

/* JSON on one line, of at most max_B bytes with a NUL behind; else without `waits`, or without
 * kernels, and "truncated": true. HD_NO_MEMORY. */
enum hd_status core_report(struct hd_buf *out, size_t max_B) HD_MUST_CHECK;

/* The same for people, a line for each kernel and each group of blocks; nothing if nothing runs. */
void core_report_text(struct hd_buf *out);

/*
 * When the user presses Ctrl-C while kernels run, who waits where is told on stderr before the
 * program dies of the signal. Only if that is what SIGINT does: a program that handles it, or has
 * it ignored, is left alone. And only if stderr is a terminal, or HEDDLE_DEBUG=waits asks.
 */
void core_report_on_interrupt(void);

#endif
