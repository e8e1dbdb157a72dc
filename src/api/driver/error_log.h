/*
 * The log of errors: what CUDA calls error log management (cuLogs*, CUDA_LOG_FILE). Each failing
 * call of the program is one line,
 *
 *     [22:21:32.099][25642][CUDA][E][cuLaunchKernel] 2048 threads are too many (CUDA_ERROR_...)
 *
 * of which the last ERROR_LOG_LINES are kept. A place in the log is how many lines there were
 * before it, modulo 2^32: lines that were overwritten can be told from such that never were.
 *
 * Threads: everything may be called by any thread. Callbacks run on the thread of the call that
 * failed, without a lock, so they may call the API; what fails in them is logged, told to nobody.
 * A forked child has a log of its own that begins with its parent's.
 */
#ifndef HD_API_DRIVER_ERROR_LOG_H
#define HD_API_DRIVER_ERROR_LOG_H

#include "api/driver/driver.h"
#include "base/str.h"

#define ERROR_LOG_LINES  100
#define ERROR_LOG_DUMP_B 25600 /* the most that a dump to memory writes, its end included */

/* Adds a line, writes it to CUDA_LOG_FILE and tells the callbacks. */
void error_log_add(CUlogLevel level, const char *source, const char *symbol, const char *message);
/* Where the next line will be. */
uint32_t error_log_end(void);
/*
 * Appends the lines from *place on, each ended by a newline, and moves *place behind them; null:
 * all.
 * Of what does not fit room_B bytes the oldest lines are left out, and a first line says so, as it
 * does where lines were overwritten. False: a place that was never reached, or not a line fits.
 */
bool error_log_read(uint32_t *place, size_t room_B, struct hd_buf *out_text);

/* A nonzero number; 0 when memory is short. */
uintptr_t error_log_subscribe(CUlogsCallback func, void *user);
/*
 * False: there is none with the number. When it returns no other thread is inside the callback,
 * unless it was called from a callback: two that remove each other would wait for ever.
 */
bool error_log_unsubscribe(uintptr_t id);

#endif
