/* A snapshot as JSON: docs/serve.md lists the members. See serve.h. */
#include "serve/serve.h"

#include <assert.h>
#include <string.h>

#include "common/cli.h"

const char *const serve_api_names[SERVE_API_COUNT] = {
#define X(name, doc) [SERVE_API_##name] = #name,
    SERVE_API_LIST(X)
#undef X
};

/* null: not known. */
static void put(struct hd_json *j, const char *key, int64_t value, double scale)
{
    if (value == SMI_NONE)
        hd_json_str(j, key, NULL);
    else if (scale == 1)
        hd_json_i64(j, key, value);
    else
        hd_json_double(j, key, (double)value * scale);
}

static void put_device(struct hd_json *j, const struct smi_gpu *g, const struct serve_gpu *t)
{
    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "index", g->index);
    hd_json_str(j, "uuid", g->uuid);
    hd_json_str(j, "name", g->name);
    put(j, "utilization_percent", g->gpu, 1);
    put(j, "copy_percent", g->mem, 1);
    hd_json_u64(j, "memory_total_B", g->total_B);
    hd_json_u64(j, "memory_used_B", g->used_B);
    put(j, "temperature_C", g->temperature_C, 1);
    put(j, "power_W", g->power_mW, 1e-3);
    put(j, "clock_MHz", g->sm_MHz, 1);
    put(j, "to_device_Bps", g->rx_KBps, 1024);
    put(j, "to_host_Bps", g->tx_KBps, 1024);
    hd_json_u64(j, "launches", t->launches);
    hd_json_double(j, "kernel_busy_s", (double)t->kernel_ns * 1e-9);
    hd_json_double(j, "copy_busy_s", (double)t->copy_ns * 1e-9);
    hd_json_u64(j, "to_device_B", t->to_device_B);
    hd_json_u64(j, "to_host_B", t->to_host_B);
    hd_json_u64(j, "xid", t->xid);
    hd_json_close(j, '}');
}

static void put_devices(struct hd_json *j, const struct serve_snapshot *s)
{
    hd_json_open(j, "devices", '[');
    for (unsigned i = 0; i < s->smi.ngpus; i++)
        put_device(j, &s->smi.gpus[i], &s->gpus[i]);
    hd_json_close(j, ']');
}

static void put_processes(struct hd_json *j, const struct serve_snapshot *s)
{
    hd_json_open(j, "processes", '[');
    for (unsigned i = 0; i < s->smi.ngpus; i++)
        for (unsigned n = 0; n < s->smi.gpus[i].nprocesses; n++) {
            const struct smi_process *p = &s->smi.gpus[i].processes[n];

            hd_json_open(j, NULL, '{');
            hd_json_u64(j, "pid", p->pid);
            hd_json_str(j, "program", p->name);
            hd_json_u64(j, "device", s->smi.gpus[i].index);
            hd_json_u64(j, "memory_B", p->memory_B);
            put(j, "utilization_percent", p->sm, 1);
            put(j, "copy_percent", p->mem, 1);
            hd_json_close(j, '}');
        }
    hd_json_close(j, ']');
}

static void put_kernel(struct hd_json *j, const struct serve_kernel *k)
{
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "kernel", k->name);
    hd_json_u64(j, "pid", k->pid);
    hd_json_u64(j, "device", k->gpu);
    hd_json_index(j, "grid", k->grid);
    hd_json_index(j, "block", k->block);
    hd_json_double(j, "running_s", (double)k->running_ns * 1e-9);
    hd_json_u64(j, "blocks", k->blocks);
    hd_json_u64(j, "begun", k->begun);
    if (k->of)
        hd_json_double(j, "occupancy", (double)k->threads / (double)k->of);
    else
        hd_json_str(j, "occupancy", NULL);
    hd_json_close(j, '}');
}

/* null: the first who asks for them. */
static void put_kernels(struct hd_json *j, const struct serve_snapshot *s)
{
    if (!s->has_kernels) {
        hd_json_str(j, "kernels", NULL);
        return;
    }
    assert(s->nkernels <= SERVE_KERNELS_MAX);
    hd_json_open(j, "kernels", '[');
    for (unsigned i = 0; i < s->nkernels; i++)
        put_kernel(j, &s->kernels[i]);
    hd_json_close(j, ']');
}

static void put_memory(struct hd_json *j, const struct serve_snapshot *s)
{
    hd_json_open(j, "memory", '[');
    for (unsigned i = 0; i < s->smi.ngpus; i++) {
        const struct smi_gpu *g = &s->smi.gpus[i];

        hd_json_open(j, NULL, '{');
        hd_json_u64(j, "device", g->index);
        hd_json_u64(j, "total_B", g->total_B);
        hd_json_u64(j, "used_B", g->used_B);
        hd_json_open(j, "processes", '[');
        for (unsigned n = 0; n < g->nprocesses; n++) {
            hd_json_open(j, NULL, '{');
            hd_json_u64(j, "pid", g->processes[n].pid);
            hd_json_u64(j, "memory_B", g->processes[n].memory_B);
            hd_json_close(j, '}');
        }
        hd_json_close(j, ']');
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void put_quantiles(struct hd_json *j, const char *key, bool is_known,
                          const double values_s[SERVE_QUANTILES])
{
    if (!is_known) {
        hd_json_str(j, key, NULL);
        return;
    }
    hd_json_open(j, key, '{');
    for (unsigned q = 0; q < SERVE_QUANTILES; q++)
        hd_json_double(j, serve_quantile_names[q], values_s[q] * 1e3);
    hd_json_close(j, '}');
}

static void put_request(struct hd_json *j, const struct serve_request *r)
{
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "program", r->program);
    hd_json_str(j, "domain", r->domain);
    hd_json_str(j, "name", r->name);
    hd_json_str(j, "source", r->is_pushed ? "push" : "nvtx");
    hd_json_u64(j, "count", r->count);
    hd_json_double(j, "requests_per_s", r->per_s);
    hd_json_double(j, "mean_ms", r->count ? r->sum_s * 1e3 / (double)r->count : 0);
    if (r->is_pushed)
        hd_json_str(j, "max_ms", NULL);
    else
        hd_json_double(j, "max_ms", r->max_s * 1e3);
    put_quantiles(j, "last_minute_ms", r->has_window, r->window_s);
    put_quantiles(j, "all_ms", r->count > 0, r->all_s);
    hd_json_close(j, '}');
}

static void put_requests(struct hd_json *j, const struct serve_snapshot *s)
{
    hd_json_open(j, "requests", '[');
    for (unsigned i = 0; i < s->nrequests; i++)
        put_request(j, &s->requests[i]);
    hd_json_close(j, ']');
    hd_json_u64(j, "requests_lost", s->requests_lost);
}

static void put_thresholds(struct hd_json *j, const struct serve_options *o)
{
    static const char *const names[] = {
#define X(name, value, doc) #name,
        SERVE_THRESHOLD_LIST(X)
#undef X
    };

    hd_json_open(j, "thresholds", '{');
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        hd_json_double(j, names[i], o->thresholds[i]);
    hd_json_close(j, '}');
}

static void put_part(struct hd_json *j, const struct serve_snapshot *s,
                     const struct serve_options *o, enum serve_api which)
{
    switch (which) {
    case SERVE_API_devices:
        put_devices(j, s);
        break;
    case SERVE_API_processes:
        put_processes(j, s);
        break;
    case SERVE_API_kernels:
        put_kernels(j, s);
        break;
    case SERVE_API_memory:
        put_memory(j, s);
        break;
    case SERVE_API_requests:
        put_requests(j, s);
        break;
    case SERVE_API_thresholds:
        put_thresholds(j, o);
        break;
    case SERVE_API_history:
        serve_history_write(j);
        break;
    case SERVE_API_snapshot:
        for (enum serve_api i = SERVE_API_snapshot + 1; i < SERVE_API_history; i++)
            put_part(j, s, o, i);
        break;
    case SERVE_API_COUNT:
        break;
    }
}

void serve_api_write(const struct serve_snapshot *snapshot, const struct serve_options *options,
                     enum serve_api which, struct hd_buf *out)
{
    struct hd_json j;

    assert(which < SERVE_API_COUNT && !out->len);
    hd_json_init(&j);
    j.on_line = true;
    hd_json_open(&j, NULL, '{');
    hd_json_u64(&j, "snapshot", snapshot->number);
    hd_json_u64(&j, "time_ms", snapshot->time_ms);
    hd_json_u64(&j, "interval_ms", options->interval_ms);
    hd_json_str(&j, "host", snapshot->host);
    put_part(&j, snapshot, options, which);
    hd_json_close(&j, '}');
    hd_buf_putc(&j.buf, '\n');
    *out = j.buf;
}

void serve_api_index(struct hd_buf *out)
{
    static const char *const docs[] = {
#define X(name, doc) doc,
        SERVE_API_LIST(X)
#undef X
    };
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "heddle", cli_version());
    for (size_t i = 0; i < SERVE_API_COUNT; i++) {
        char path[40];

        (void)snprintf(path, sizeof(path), "/api/v1/%s", serve_api_names[i]);
        hd_json_str(&j, path, docs[i]);
    }
    hd_json_close(&j, '}');
    hd_buf_putc(&j.buf, '\n');
    *out = j.buf;
}
