/*
 * heddle serve: what its files share.
 *
 * One thread takes a snapshot each second (serve_sample.c), writes all texts that can be asked for
 * (serve_metrics.c, serve_api.c) and hands them to serve_http.c, whose thread answers requests with
 * them. So a request costs no more than sending what is there, however many there are, and the
 * programs that are looked at are looked at once. What is pushed lies in serve_push.c.
 */
#ifndef HEDDLE_TOOLS_SERVE_H
#define HEDDLE_TOOLS_SERVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/text/json.h"
#include "base/str.h"
#include "registry/registry.h"
#include "smi/smi.h"

enum {
    SERVE_KERNELS_MAX = 256,
    SERVE_REQUESTS_MAX = 160, /* of programs and pushes, together */
    SERVE_QUANTILES = 4,      /* 50, 90, 99 and 99.9 percent */
    SERVE_BOUNDS = 22,        /* of a histogram as Prometheus has it */
};

extern const double serve_quantiles[SERVE_QUANTILES];
extern const char *const serve_quantile_names[SERVE_QUANTILES];

/* name, default, what turns red when it is more */
#define SERVE_THRESHOLD_LIST(X)                                                                    \
    X(utilization_percent, 101, "part of the last second in which a device ran kernels")           \
    X(memory_percent, 90, "memory in use, of a device's")                                          \
    X(temperature_C, 90, "temperature of a device")                                                \
    X(kernel_s, 60, "seconds for which a kernel has been running")                                 \
    X(p99_ms, 1000, "99th percentile of a request's duration in the last minute")                  \
    X(requests_per_s, 1e9, "requests per second, of one kind")

enum serve_threshold {
#define X(name, value, doc) SERVE_THRESHOLD_##name,
    SERVE_THRESHOLD_LIST(X)
#undef X
        SERVE_THRESHOLD_COUNT
};

struct serve_options {
    char host[256], port[8];
    char token[256];      /* empty: none is asked for */
    uint64_t interval_ms; /* between snapshots */
    uint64_t rate;        /* requests a second that one address may send */
    uint64_t connections; /* at the same time */
    bool has_kernels;     /* processes are asked what runs in them */
    double thresholds[SERVE_THRESHOLD_COUNT];
};

/* ---- a snapshot */

struct serve_gpu {
    uint64_t launches, kernel_ns, copy_ns, to_device_B, to_host_B; /* since this program began */
    uint64_t xid;                                                  /* of the last fault; 0: none */
};

struct serve_kernel {
    unsigned gpu, pid;
    char name[256];
    uint32_t grid[3], block[3];
    uint64_t running_ns, blocks, begun;
    uint64_t threads, of; /* of the host's that execute it, and that the device has; 0: not known */
};

/* What is marked under one name. Durations in seconds. */
struct serve_request {
    char program[64], domain[64], name[128];
    bool is_pushed;
    uint64_t count;
    double sum_s, max_s; /* max: 0 where it is not known */
    double per_s;        /* in the last ten seconds */
    bool has_window;     /* something came in the last minute */
    double window_s[SERVE_QUANTILES], all_s[SERVE_QUANTILES];
    uint64_t below[SERVE_BOUNDS]; /* that took at most serve_bound_s() */
};

struct serve_snapshot {
    struct smi smi;
    uint64_t number, time_ms; /* since 1970 */
    struct serve_gpu gpus[SMI_DEVICES_MAX];
    bool has_kernels; /* they were asked for, and were there */
    unsigned nkernels;
    struct serve_kernel kernels[SERVE_KERNELS_MAX];
    unsigned nrequests;
    struct serve_request requests[SERVE_REQUESTS_MAX];
    uint64_t requests_lost; /* that found no room, or no end */
    char host[65];
};

/* Loads what it asks; an exit status, or CLI_OK. */
int serve_sample_open(const struct serve_options *options);
/* Takes a snapshot; false: the devices could not be read, and it was said. */
bool serve_sample(bool with_kernels, struct serve_snapshot *out);
/* A process is being asked, on another thread: the libraries must not be torn down. */
bool serve_sample_is_asking(void);

/* serve_requests.c: those of programs, added to the snapshot, with their rates. */
void serve_requests_read(struct serve_snapshot *out);
double serve_bound_s(unsigned bound);

/* ---- texts */

enum serve_format { SERVE_PROMETHEUS, SERVE_OPENMETRICS };

/* What happened here, for /metrics. */
struct serve_counts {
    uint64_t responses[6];     /* by the first digit of their status */
    uint64_t connections, cut; /* open now; ended because they took too long */
};

void serve_metrics_write(const struct serve_snapshot *snapshot, const struct serve_counts *counts,
                         enum serve_format format, struct hd_buf *out);

/* name, what a client gets at /api/v1/NAME */
#define SERVE_API_LIST(X)                                                                          \
    X(snapshot, "all of the others")                                                               \
    X(devices, "devices: utilisation, memory, copies, clocks, temperature, power")                 \
    X(processes, "processes that use devices")                                                     \
    X(kernels, "kernels that run now, and how far they are")                                       \
    X(memory, "memory of devices, and whose it is")                                                \
    X(requests, "what programs mark as requests: rates, percentiles of durations")                 \
    X(thresholds, "what the page shows in red when it is more")                                    \
    X(history, "the last two minutes of devices and requests; not in the snapshot")

enum serve_api {
#define X(name, doc) SERVE_API_##name,
    SERVE_API_LIST(X)
#undef X
        SERVE_API_COUNT
};

extern const char *const serve_api_names[SERVE_API_COUNT];
void serve_api_write(const struct serve_snapshot *snapshot, const struct serve_options *options,
                     enum serve_api which, struct hd_buf *out);
/* The list of them. */
void serve_api_index(struct hd_buf *out);

/* serve_history.c: a snapshot is added; the last two minutes as a member "history". */
void serve_history_add(const struct serve_snapshot *snapshot);
void serve_history_write(struct hd_json *j);
void serve_history_fini(void);

/* ---- HTTP */

/* A text's place among those that are given out. */
enum serve_text {
    SERVE_TEXT_PROMETHEUS,
    SERVE_TEXT_OPENMETRICS,
    SERVE_TEXT_API,
    SERVE_TEXT_COUNT = SERVE_TEXT_API + SERVE_API_COUNT
};

/* Listens, where others can connect only with a token. CLI_OK, or a message was written. */
int serve_http_listen(const struct serve_options *options);
/* Loads the library: texts can be published. CLI_OK, or a message was written. */
int serve_http_open(void);
/* Answers; says where on stdout. CLI_OK, or a message was written. */
int serve_http_start(void);
/* The texts of the newest snapshot: takes each. */
void serve_http_publish(struct hd_buf texts[SERVE_TEXT_COUNT]);
/* Ends connections that took too long; once a second. */
void serve_http_tidy(void);
void serve_http_count(struct serve_counts *out);
/* Did somebody ask for kernels lately? */
bool serve_http_wants_kernels(void);
void serve_http_stop(void);

#endif
