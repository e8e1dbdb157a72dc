/*
 * The profilers of libcupti:
 *
 *   target.c   what is common to them: setting up, which devices, availability of counters
 *   metric.c   names of metrics, with what may follow them, and what they are made of
 *   host.c     metrics before and after: config images, values
 *   range.c    counts ranges: launches that somebody is interested in run kernels that count
 *              (heddle/count.h)
 *   image.c    what passes through the client's hands
 *   sampler.h  PC sampling
 *
 * Every counter is had at once, so nothing runs twice: one pass is enough for any metrics.
 */
#ifndef HD_API_CUPTI_PROFILER_H
#define HD_API_CUPTI_PROFILER_H

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "api/cupti/cupti.h"
#include "api/cupti/image.h"

/* Does a params struct have a member, as large as the client says it is? */
#define CUPTI_HAS(params, member)                                                                  \
    ((params)->structSize >= CUPTI_PROFILER_STRUCT_SIZE(__typeof__(*(params)), member))
/* Is it one, up to `last`? */
#define CUPTI_IS_PARAMS(params, last) ((params) && CUPTI_HAS(params, last) && !(params)->pPriv)

/* ---- device.c */

/* Names of chips, as many as out_count. */
const char *const *cupti_chips(size_t *out_count);
bool cupti_is_chip(const char *name);

/* ---- target.c */

#define CUPTI_CHIP_NAME_B 16
/* Chip that an availability image is about; NULL: not one. There have to be 32 bytes. */
const char *cupti_availability_chip(const void *image);
/* The context that a client named, or the current one; NULL: none. */
CUcontext cupti_profiled_context(CUcontext ctx);
/* Until all its work is done; an error of that is the program's to find. */
void cupti_context_wait(CUcontext ctx);

/* ---- metric.c */

/* How a value is had of a range's counters. */
struct cupti_value {
    const struct metric *metric; /* the counter, or the ratio or rate */
    bool per_second;             /* of the counter */
};
/* False: there is no such metric. */
bool cupti_value_find(const char *name, struct cupti_value *out_value) HD_MUST_CHECK;
/* Adds what it is made of. */
void cupti_value_columns(const struct cupti_value *value, struct cupti_columns *columns);
/* Of values by metric; NaN: it has none. */
double cupti_value_of(const struct cupti_value *value, const double *values, uint64_t duration_ns);

/* Base names of a type: the part before the first dot. */
const char **cupti_base_metrics(CUpti_MetricType type, size_t *out_count);
/* What may follow a base name or is what follows it; NULL: no such metric of the type. */
const char **cupti_sub_metrics(const char *name, CUpti_MetricType type, size_t *out_count);
/* A metric that has the base name; NULL: there is none. */
const struct metric *cupti_metric_by_base(const char *name);
CUpti_MetricType cupti_metric_type(const struct metric *metric);

/* ---- range.c */

void cupti_range_stop(void);

#endif
