/*
 * A snapshot as Prometheus reads it: DCGM's names and labels for what devices do, names of our own
 * for the rest. What is not known is not there.
 *
 * Names: the exporter's list of counters (NVIDIA/dcgm-exporter, etc/default-counters.csv).
 * Formats: Prometheus' text format 0.0.4, OpenMetrics 1.0.
 */
#include "serve/serve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/cli.h"
#include "serve/serve_push.h"

/* ---- text */

/* Of a label or a help text: both formats escape the same. */
static void metrics_put_escaped(struct hd_buf *out, const char *text)
{
    for (size_t left = strlen(text), len; left; text += len, left -= len) {
        len = hd_utf8_len((const unsigned char *)text, left);
        if (*text == '\\' || *text == '"')
            hd_buf_printf(out, "\\%c", *text);
        else if (*text == '\n')
            hd_buf_puts(out, "\\n");
        else if (len)
            hd_buf_append(out, text, len);
        else
            hd_buf_puts(out, "\xef\xbf\xbd");
        len = len ? len : 1;
    }
}

static void metrics_put_label(struct hd_buf *out, const char *name, const char *value)
{
    hd_buf_printf(out, "%s=\"", name);
    metrics_put_escaped(out, value);
    hd_buf_putc(out, '"');
}

static void metrics_put_value(struct hd_buf *out, double value)
{
    if (isinf(value))
        hd_buf_puts(out, value < 0 ? " -Inf\n" : " +Inf\n");
    else if (isnan(value))
        hd_buf_puts(out, " NaN\n");
    else
        hd_buf_printf(out, " %.17g\n", value);
}

/* A metric as a table has it. OpenMetrics wants each counter's name to end in _total. */
struct metric {
    const char *name, *type, *help;
};

static bool metrics_ends_in_total(const char *name)
{
    size_t len = strlen(name);

    return len > 6 && !strcmp(name + len - 6, "_total");
}

static void metrics_put_head(struct hd_buf *out, const struct metric *m, enum serve_format format)
{
    bool is_counter = !strcmp(m->type, "counter"), total = metrics_ends_in_total(m->name);
    bool is_open = format == SERVE_OPENMETRICS;
    int len = (int)strlen(m->name) - (is_open && is_counter && total ? 6 : 0);
    assert(len > 0);
    const char *type = is_open && is_counter && !total ? "unknown" : m->type;

    hd_buf_printf(out, "# HELP %.*s ", len, m->name);
    metrics_put_escaped(out, m->help);
    hd_buf_printf(out, "\n# TYPE %.*s %s\n", len, m->name, type);
}

/* ---- devices */

/* Names of our own have those labels that Prometheus' rules for names allow. */
static void metrics_put_gpu_labels(struct hd_buf *out, const struct serve_snapshot *s,
                                   const struct smi_gpu *g, bool is_dcgm)
{
    hd_buf_printf(out, "{gpu=\"%u\",", g->index);
    metrics_put_label(out, "UUID", g->uuid);
    hd_buf_putc(out, ',');
    metrics_put_label(out, "Hostname", s->host);
    if (!is_dcgm)
        return;
    hd_buf_putc(out, ',');
    metrics_put_label(out, "pci_bus_id", g->bus_id);
    hd_buf_printf(out, ",device=\"nvidia%u\",", g->index);
    metrics_put_label(out, "modelName", g->name);
    hd_buf_putc(out, ',');
    metrics_put_label(out, "DCGM_FI_DRIVER_VERSION", s->smi.driver);
}

#define MIB (1024.0 * 1024.0)

/* name, type, value from smi_gpu g (SMI_NONE: not known) or serve_gpu t, scale, help */
#define GPU_METRICS(X)                                                                             \
    X(DCGM_FI_DEV_SM_CLOCK, gauge, g->sm_MHz, 1, "Clock of the host's CPUs (in MHz)")              \
    X(DCGM_FI_DEV_MEM_CLOCK, gauge, g->mem_MHz, 1, "Memory clock frequency (in MHz)")              \
    X(DCGM_FI_DEV_GPU_TEMP, gauge, g->temperature_C, 1, "Temperature of the hottest CPU (in C)")   \
    X(DCGM_FI_DEV_POWER_USAGE, gauge, g->power_mW, 1e-3, "Power of the CPU packages (in W)")       \
    X(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, g->energy_mJ, 1,                              \
      "Energy that the CPU packages took (in mJ)")                                                 \
    X(DCGM_FI_DEV_GPU_UTIL, gauge, g->gpu, 1, "Part of the last second with a kernel (in %)")      \
    X(DCGM_FI_DEV_MEM_COPY_UTIL, gauge, g->mem, 1, "Part of the last second with a copy (in %)")   \
    X(DCGM_FI_DEV_FB_FREE, gauge, g->free_B, 1 / MIB, "Memory of the device, free (in MiB)")       \
    X(DCGM_FI_DEV_FB_USED, gauge, g->used_B, 1 / MIB, "Memory of the device, in use (in MiB)")     \
    X(DCGM_FI_DEV_XID_ERRORS, gauge, t->xid, 1, "Number of the last error of a kernel, 0: none")   \
    X(DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, g->gpu, 0.01,                                          \
      "Part of the last second in which a kernel ran (0 to 1)")                                    \
    X(DCGM_FI_PROF_PCIE_TX_BYTES, gauge, g->tx_KBps, 1024,                                         \
      "Bytes copied from the device to the host, per second")                                      \
    X(DCGM_FI_PROF_PCIE_RX_BYTES, gauge, g->rx_KBps, 1024,                                         \
      "Bytes copied from the host to the device, per second")                                      \
    X(heddle_kernel_launches_total, counter, t->launches, 1, "Kernels that were launched")         \
    X(heddle_kernel_busy_seconds_total, counter, t->kernel_ns, 1e-9, "Time in which a kernel ran") \
    X(heddle_copy_busy_seconds_total, counter, t->copy_ns, 1e-9,                                   \
      "Time in which a copy or a fill of more than 1 MiB ran")                                     \
    X(heddle_copied_to_device_bytes_total, counter, t->to_device_B, 1, "Bytes from the host")      \
    X(heddle_copied_to_host_bytes_total, counter, t->to_host_B, 1, "Bytes to the host")            \
    X(heddle_processes, gauge, g->nprocesses, 1, "Processes that use the device")

enum gpu_metric {
#define X(name, ...) METRIC_##name,
    GPU_METRICS(X)
#undef X
        METRIC_COUNT
};

static const struct metric gpu_metrics[METRIC_COUNT] = {
#define X(name, type, ...)           [METRIC_##name] = {#name, #type, GPU_HELP(__VA_ARGS__)},
#define GPU_HELP(value, scale, help) help
    GPU_METRICS(X)
#undef X
};

/* NaN: not known. */
static double metrics_gpu_value(enum gpu_metric which, const struct smi_gpu *g,
                                const struct serve_gpu *t)
{
    switch (which) {
#define X(name, type, value, scale, help)                                                          \
    case METRIC_##name:                                                                            \
        return (int64_t)(value) == SMI_NONE ? NAN : (double)(value) * (scale);
        GPU_METRICS(X)
#undef X
    case METRIC_COUNT:
        break;
    }
    assert(!"a metric of the table");
    return NAN;
}

static void metrics_put_gpus(struct hd_buf *out, const struct serve_snapshot *s,
                             enum serve_format format)
{
    for (enum gpu_metric m = 0; m < METRIC_COUNT; m++) {
        bool has_head = false;

        for (unsigned i = 0; i < s->smi.ngpus; i++) {
            double value = metrics_gpu_value(m, &s->smi.gpus[i], &s->gpus[i]);

            if (isnan(value))
                continue;
            if (!has_head)
                metrics_put_head(out, &gpu_metrics[m], format);
            has_head = true;
            hd_buf_puts(out, gpu_metrics[m].name);
            metrics_put_gpu_labels(out, s, &s->smi.gpus[i],
                                   !strncmp(gpu_metrics[m].name, "DCGM_", 5));
            hd_buf_putc(out, '}');
            metrics_put_value(out, value);
        }
    }
}

/* ---- processes */

static void metrics_put_process(struct hd_buf *out, const char *metric,
                                const struct serve_snapshot *s, const struct smi_gpu *g,
                                const struct smi_process *p, double value)
{
    hd_buf_puts(out, metric);
    metrics_put_gpu_labels(out, s, g, false);
    hd_buf_printf(out, ",pid=\"%u\",", p->pid);
    metrics_put_label(out, "program", p->name);
    hd_buf_putc(out, '}');
    metrics_put_value(out, value);
}

static void metrics_put_processes(struct hd_buf *out, const struct serve_snapshot *s,
                                  bool is_memory, enum serve_format format)
{
    static const struct metric metrics[] = {
        {"heddle_process_utilization_ratio", "gauge",
         "Part of the last second in which a kernel of the process ran (0 to 1)"},
        {"heddle_process_memory_bytes", "gauge", "Memory of the device that the process has"}};
    bool has_head = false;

    for (unsigned i = 0; i < s->smi.ngpus; i++)
        for (unsigned n = 0; n < s->smi.gpus[i].nprocesses; n++) {
            const struct smi_process *p = &s->smi.gpus[i].processes[n];

            if (!is_memory && p->sm == SMI_NONE)
                continue;
            if (!has_head)
                metrics_put_head(out, &metrics[is_memory], format);
            has_head = true;
            metrics_put_process(out, metrics[is_memory].name, s, &s->smi.gpus[i], p,
                                is_memory ? (double)p->memory_B : (double)p->sm * 0.01);
        }
}

/* ---- requests of programs; pushed ones are told by what was pushed */

static void metrics_put_request_labels(struct hd_buf *out, const struct serve_request *r)
{
    metrics_put_label(out, "program", r->program);
    hd_buf_putc(out, ',');
    metrics_put_label(out, "domain", r->domain);
    hd_buf_putc(out, ',');
    metrics_put_label(out, "range", r->name);
}

static void metrics_put_request(struct hd_buf *out, const struct serve_request *r)
{
    static const char name[] = "heddle_request_duration_seconds";

    for (unsigned b = 0; b < SERVE_BOUNDS; b++) {
        assert(!b || r->below[b] >= r->below[b - 1]);
        hd_buf_printf(out, "%s_bucket{", name);
        metrics_put_request_labels(out, r);
        hd_buf_printf(out, ",le=\"%.12g\"} %llu\n", serve_bound_s(b),
                      (unsigned long long)r->below[b]);
    }
    hd_buf_printf(out, "%s_bucket{", name);
    metrics_put_request_labels(out, r);
    hd_buf_printf(out, ",le=\"+Inf\"} %llu\n%s_sum{", (unsigned long long)r->count, name);
    metrics_put_request_labels(out, r);
    hd_buf_putc(out, '}');
    metrics_put_value(out, r->sum_s);
    hd_buf_printf(out, "%s_count{", name);
    metrics_put_request_labels(out, r);
    hd_buf_printf(out, "} %llu\n", (unsigned long long)r->count);
}

static void metrics_put_requests(struct hd_buf *out, const struct serve_snapshot *s,
                                 enum serve_format format)
{
    static const struct metric metric = {"heddle_request_duration_seconds", "histogram",
                                         "Durations of what programs mark as requests"};
    bool has_head = false;

    for (unsigned i = 0; i < s->nrequests; i++) {
        if (s->requests[i].is_pushed)
            continue;
        if (!has_head)
            metrics_put_head(out, &metric, format);
        has_head = true;
        metrics_put_request(out, &s->requests[i]);
    }
}

/* ---- this program */

static void metrics_put_one(struct hd_buf *out, const char *name, const char *type,
                            const char *help, double value, enum serve_format format)
{
    metrics_put_head(out, &(struct metric){name, type, help}, format);
    hd_buf_puts(out, name);
    metrics_put_value(out, value);
}

static void metrics_put_own(struct hd_buf *out, const struct serve_snapshot *s,
                            const struct serve_counts *counts, enum serve_format format)
{
    static const struct metric responses = {"heddle_serve_responses_total", "counter",
                                            "Answers to HTTP requests"};

    metrics_put_head(out, &responses, format);
    for (unsigned digit = 2; digit < HD_COUNT_OF(counts->responses); digit++)
        hd_buf_printf(out, "%s{code=\"%uxx\"} %llu\n", responses.name, digit,
                      (unsigned long long)counts->responses[digit]);
    metrics_put_one(out, "heddle_serve_connections", "gauge", "Connections that are open",
                    (double)counts->connections, format);
    metrics_put_one(out, "heddle_serve_connections_cut_total", "counter",
                    "Connections that were ended because they took too long", (double)counts->cut,
                    format);
    metrics_put_one(out, "heddle_serve_snapshots_total", "counter", "Looks at the devices",
                    (double)s->number, format);
    metrics_put_one(out, "heddle_requests_lost_total", "counter",
                    "Marked ranges that found no room, or no end", (double)s->requests_lost,
                    format);
    metrics_put_head(out, &(struct metric){"heddle_build_info", "gauge", "Version of Heddle"},
                     format);
    hd_buf_puts(out, "heddle_build_info{");
    metrics_put_label(out, "version", cli_version());
    hd_buf_puts(out, "} 1\n");
}

void serve_metrics_write(const struct serve_snapshot *snapshot, const struct serve_counts *counts,
                         enum serve_format format, struct hd_buf *out)
{
    metrics_put_gpus(out, snapshot, format);
    metrics_put_processes(out, snapshot, false, format);
    metrics_put_processes(out, snapshot, true, format);
    metrics_put_requests(out, snapshot, format);
    metrics_put_own(out, snapshot, counts, format);
    push_write(format == SERVE_OPENMETRICS, out);
    if (format == SERVE_OPENMETRICS)
        hd_buf_puts(out, "# EOF\n");
}
