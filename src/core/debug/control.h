/*
 * How another process, or the program itself, asks a process that uses CUDA for a checkpoint, or
 * for a report of what runs in it.
 *
 * A process has a memory file for it, which others find in /proc/<pid>/fd by its name and map, as
 * those may that could read its memory. Whoever asks holds the file's lock, writes a request and
 * waits for the answer of a thread of the process that sleeps on the file:
 *
 *     asks: lock ─► request ─► asked + 1 ─────────────────────────────► answer ─► unlock
 *     serves:                  serve(): request ─► answer ─► answered = asked
 *
 * Nothing in the file is trusted: either side copies what it reads and checks the copy.
 */
#ifndef HD_CORE_DEBUG_CONTROL_H
#define HD_CORE_DEBUG_CONTROL_H

#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "core/device.h"

enum core_control_op {
    CORE_CONTROL_LOCK,
    CORE_CONTROL_CHECKPOINT,
    CORE_CONTROL_RESTORE,
    CORE_CONTROL_UNLOCK,
    CORE_CONTROL_REPORT, /* the answer is a text (report.h) */
};
#define CORE_CONTROL_TEXT_B (60u << 10) /* with its NUL */

struct core_control_request {
    uint32_t op;
    uint32_t timeout_ms; /* LOCK: 0: none */
    uint32_t npairs;     /* RESTORE: 0: devices are what they were */
    struct core_device_pair pairs[CORE_DEVICES_MAX];
};

struct core_control_view {
    uint32_t state; /* CUprocessState */
    int32_t tid;    /* of the thread that serves, in the namespace of its process */
};

typedef enum hd_status (*core_control_server)(const struct core_control_request *request,
                                              struct hd_buf *out_text);

/*
 * Starts the thread. `serve` runs on it, one request at a time; its message goes back with a status
 * that is not HD_OK, of those of checkpoint.c.
 */
enum hd_status core_control_start(core_control_server serve) HD_MUST_CHECK;
/* What others see of this process. */
void core_control_show(uint32_t state);

/*
 * Of a process. HD_BAD_ARG: there is none of that number, or it ended; HD_NOT_FOUND: it does not
 * use CUDA; HD_IO: it may not be asked.
 */
enum hd_status core_control_look(int pid, struct core_control_view *out_view) HD_MUST_CHECK;
/* The same, and what `serve` answers there. A report comes within seconds, or HD_BUSY. */
enum hd_status core_control_ask(int pid, const struct core_control_request *request,
                                struct hd_buf *out_text) HD_MUST_CHECK; /* NULL: no text */

#endif
