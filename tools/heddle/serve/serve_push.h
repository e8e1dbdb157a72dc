/*
 * What programs push to `heddle serve`: texts in Prometheus' format (0.0.4) or OpenMetrics' (1.0).
 *
 * A push replaces what its job pushed before, as a whole or not at all; what was not pushed again
 * for PUSH_LIFE_NS is gone. Everything is limited, and everything is checked, because one line that
 * is wrong makes a scraper refuse the whole page. Thread-safe.
 */
#ifndef HEDDLE_TOOLS_SERVE_PUSH_H
#define HEDDLE_TOOLS_SERVE_PUSH_H

#include <stdint.h>

#include "base/str.h"

#define PUSH_LIFE_NS ((uint64_t)300 * 1000 * 1000 * 1000)

enum {
    PUSH_BODY_MAX_B = 256 << 10,
    PUSH_JOBS_MAX = 16,
    PUSH_FAMILIES_MAX = 256, /* of one push */
    PUSH_SAMPLES_MAX = 4096, /* of one push */
    PUSH_LABELS_MAX = 16,
    PUSH_NAME_MAX_B = 200,
    PUSH_BOUNDS_MAX = 64, /* of a histogram that is shown among requests */
    PUSH_WHY_B = 256,
};

/* The status of HTTP that says how it went: 200, 400 (why), 409, 413, 503. */
unsigned push_take(struct hd_str job, struct hd_str text, uint64_t now_ns, char why[PUSH_WHY_B]);
/* Forgets what is too old. */
void push_expire(uint64_t now_ns);
/* All of it, with a label for the job. */
void push_write(bool is_openmetrics, struct hd_buf *out);
void push_fini(void);

/* A histogram of seconds, as it was pushed last. */
struct push_histogram {
    const char *job, *name, *labels; /* labels: as they are written, without `le` */
    unsigned nbounds;                /* the last is infinite */
    double bounds[PUSH_BOUNDS_MAX], below[PUSH_BOUNDS_MAX];
    double sum, count;
};

typedef void push_report(void *arg, const struct push_histogram *histogram);
/* All whose name ends in _seconds. */
void push_histograms(push_report *report, void *arg);

#endif
