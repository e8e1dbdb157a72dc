/*
 * The checker: tools that look at what kernels and the host do and tell of errors, as `heddle
 * check` wants it. The front of src/san for core.
 *
 *     spec       HEDDLE_CHECK, set by `heddle check`: which tools, their options, where findings go
 *     san_start  reads it when libcuda starts; nothing is loaded, listened to or inserted without
 * it observer   for devices, which tell it what kernels do (ir/probe.h)
 *
 * Inside: tool.h says what a tool is, one file or more for each (memcheck, racecheck, initcheck,
 * synccheck, schedcheck); observe.c turns probes into accesses and synchronisation; record.h sends
 * findings; stack.h knows host stacks. Host calls come by the taps (heddle/tap.h), to which san
 * subscribes.
 */
#ifndef HD_SAN_SAN_H
#define HD_SAN_SAN_H

#include "ir/probe.h"

/* HD_BAD_ARG: HEDDLE_CHECK is malformed, or nobody receives findings. HD_OK without it. */
enum hd_status san_start(void) HD_MUST_CHECK;
/* What kernels are to tell, a set of IR_PROBE_*; 0: no checks. After san_start(). */
unsigned san_probes(void);
/* NULL: no checks. */
const struct ir_observer *san_observer(void);

/* memcheck says what kernels may touch: memory of the program that is not registered is none of it.
 */
bool san_is_bounding(void);
/* schedcheck: does a launch call return when its work is over? Does a launch run that is run again?
 */
bool san_holds_launches(void);
bool san_is_running(void);
/* Bytes behind each allocation of the program that stay unused; 0: none. */
uint64_t san_padding_B(void);
/* Memory that the host sees as well has pages of its own. */
bool san_closes_pages(void);

#endif
