/* A report as a trace: for Chrome's and TensorBoard's viewers (JSON), and for Perfetto. */
#ifndef HEDDLE_TOOLS_PROF_TRACE_H
#define HEDDLE_TOOLS_PROF_TRACE_H

#include "base/status.h"

/* `path` is a report, `to` a new file. HD_IO, HD_CORRUPT, HD_NO_MEMORY. */
enum hd_status prof_trace_chrome(const char *path, const char *to) HD_MUST_CHECK;
enum hd_status prof_trace_perfetto(const char *path, const char *to) HD_MUST_CHECK;

#endif
