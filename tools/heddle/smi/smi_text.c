/* The table, -L, -q and JSON. See smi.h. */
#include "smi/smi.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/text/json.h"
#include "check/check.h"
#include "common/cli.h"

/* ---- the table: 89 columns between its borders, in three cells of 41, 24 and 22 */

static const char *text_printed(char *buf, size_t buf_B, const char *fmt, ...) HD_PRINTF(3, 4);
static const char *text_printed(char *buf, size_t buf_B, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(buf, buf_B, fmt, args);
    va_end(args);
    return buf;
}

static void text_rule(FILE *out, const char *pattern)
{
    fprintf(out, "+%s+\n", pattern);
}

#define LINE41 "-----------------------------------------"
#define LINE24 "------------------------"
#define LINE22 "----------------------"
#define LINE89 LINE41 "-" LINE24 "-" LINE22
#define BOLD41 "========================================="
#define BOLD24 "========================"
#define BOLD22 "======================"

static void text_row(FILE *out, const char *a, const char *b, const char *c)
{
    fprintf(out, "|%-41.41s|%-24.24s|%-22.22s|\n", a, b, c);
}

static void text_wide_row(FILE *out, const char *text)
{
    fprintf(out, "|%-89.89s|\n", text);
}

static void text_heading(const struct smi *smi, FILE *out)
{
    char date[64], line[128];
    time_t now = time(NULL);
    struct tm local;

    (void)strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", localtime_r(&now, &local));
    fprintf(out, "%s\n", date);
    text_rule(out, LINE89);
    text_wide_row(out,
                  text_printed(line, sizeof(line),
                               " Heddle SMI %-12s        Driver Version: %-14s CUDA Version: %s",
                               cli_version(), smi->driver, smi->cuda));
    text_rule(out, LINE41 "+" LINE24 "+" LINE22);
    text_row(out, " GPU  Name                 Persistence-M", " Bus-Id          Disp.A",
             " Volatile Uncorr. ECC");
    text_row(out, " Fan  Temp   Perf          Pwr:Usage/Cap", "           Memory-Usage",
             " GPU-Util  Compute M.");
    text_row(out, "", "", "               MIG M.");
    fprintf(out, "|" BOLD41 "+" BOLD24 "+" BOLD22 "|\n");
}

/* "N/A" where there is none. */
static const char *text_amount(char *buf, size_t buf_B, int64_t value, const char *unit)
{
    return value == SMI_NONE ? "N/A" : text_printed(buf, buf_B, "%lld%s", (long long)value, unit);
}

static int64_t text_thousandth(int64_t value)
{
    return value == SMI_NONE ? SMI_NONE : value / 1000;
}

static void text_gpu_rows(const struct smi_gpu *g, FILE *out)
{
    char a[64], b[64], c[64], x[32], y[32], z[32];

    text_row(out, text_printed(a, sizeof(a), " %3u  %-29.29s  On ", g->index, g->name),
             text_printed(b, sizeof(b), "   %-16s Off", g->bus_id), "                  N/A");
    text_row(
        out,
        text_printed(a, sizeof(a), " N/A %5s    P0         %6s / %6s",
                     text_amount(x, sizeof(x), g->temperature_C, "C"),
                     text_amount(y, sizeof(y), text_thousandth(g->power_mW), "W"),
                     text_amount(z, sizeof(z), text_thousandth(g->limit_mW), "W")),
        text_printed(b, sizeof(b), "%7lluMiB / %7lluMiB", (unsigned long long)g->used_B >> 20,
                     (unsigned long long)g->total_B >> 20),
        text_printed(c, sizeof(c), "%8s      Default", text_amount(x, sizeof(x), g->gpu, "%")));
    text_row(out, "", "", "                  N/A");
    text_rule(out, LINE41 "+" LINE24 "+" LINE22);
}

static void text_process_rows(const struct smi *smi, FILE *out)
{
    char line[160];
    unsigned count = 0;

    text_rule(out, LINE89);
    text_wide_row(out, " Processes:");
    text_wide_row(out,
                  "  GPU   GI   CI              PID   Type   Process name                        "
                  "GPU Memory");
    text_wide_row(out,
                  "        ID   ID                                                               "
                  "Usage");
    fprintf(out, "|" BOLD41 "=" BOLD24 "=" BOLD22 "|\n");
    for (unsigned i = 0; i < smi->ngpus; i++) {
        const struct smi_gpu *g = &smi->gpus[i];

        for (unsigned j = 0; j < g->nprocesses; j++, count++)
            text_wide_row(out, text_printed(line, sizeof(line),
                                            "  %3u   N/A  N/A  %15u      C   %-34.34s %7lluMiB",
                                            g->index, g->processes[j].pid, g->processes[j].name,
                                            (unsigned long long)g->processes[j].memory_B >> 20));
    }
    if (!count)
        text_wide_row(out, "  No running processes found");
    text_rule(out, LINE89);
}

void smi_table(const struct smi *smi, FILE *out)
{
    text_heading(smi, out);
    for (unsigned i = 0; i < smi->ngpus; i++)
        text_gpu_rows(&smi->gpus[i], out);
    fputc('\n', out);
    text_process_rows(smi, out);
}

void smi_list(const struct smi *smi, FILE *out)
{
    for (unsigned i = 0; i < smi->ngpus; i++)
        fprintf(out, "GPU %u: %s (UUID: %s)\n", smi->gpus[i].index, smi->gpus[i].name,
                smi->gpus[i].uuid);
}

/* ---- details: a tree, as text with a colon in column 43, or as XML */

struct tree {
    FILE *out;
    bool is_xml;
    int depth;
};

static void text_put(struct tree *t, const char *key, const char *tag, const char *value)
{
    int indent = 4 * t->depth;

    assert(t->depth >= 0);
    if (!t->is_xml) {
        fprintf(t->out, "%*s%-*s: %s\n", indent, "", HD_MAX(42 - indent, 1), key, value);
        return;
    }
    for (int i = 0; i < t->depth; i++)
        fputc('\t', t->out);
    fprintf(t->out, "<%s>", tag);
    check_xml_text(t->out, value);
    fprintf(t->out, "</%s>\n", tag);
}

static void text_put_amount(struct tree *t, const char *key, const char *tag, int64_t value,
                            const char *unit)
{
    char text[48];

    text_put(t, key, tag, text_amount(text, sizeof(text), value, unit));
}

static void text_put_milli(struct tree *t, const char *key, const char *tag, int64_t value)
{
    char text[48];

    text_put(t, key, tag,
             value == SMI_NONE
                 ? "N/A"
                 : text_printed(text, sizeof(text), "%lld.%02lld W", (long long)value / 1000,
                                (long long)value % 1000 / 10));
}

static void text_begin(struct tree *t, const char *key, const char *tag)
{
    assert(t->depth >= 0 && t->depth <= 6); /* as there are tabulators below */
    if (t->is_xml)
        fprintf(t->out, "%.*s<%s>\n", t->depth, "\t\t\t\t\t\t", tag);
    else
        fprintf(t->out, "%*s%s\n", 4 * t->depth, "", key);
    t->depth++;
}

static void text_end(struct tree *t, const char *tag)
{
    assert(t->depth > 0);
    t->depth--;
    if (t->is_xml)
        fprintf(t->out, "%.*s</%s>\n", t->depth, "\t\t\t\t\t\t", tag);
}

static void text_part_memory(struct tree *t, const struct smi_gpu *g)
{
    static const struct {
        const char *key, *tag;
        bool has_reserved;
    } kinds[] = {{"FB Memory Usage", "fb_memory_usage", true},
                 {"BAR1 Memory Usage", "bar1_memory_usage", false}};

    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        text_begin(t, kinds[i].key, kinds[i].tag);
        text_put_amount(t, "Total", "total", (int64_t)(g->total_B >> 20), " MiB");
        if (kinds[i].has_reserved)
            text_put_amount(t, "Reserved", "reserved", 0, " MiB");
        text_put_amount(t, "Used", "used", (int64_t)(g->used_B >> 20), " MiB");
        text_put_amount(t, "Free", "free", (int64_t)(g->free_B >> 20), " MiB");
        text_end(t, kinds[i].tag);
    }
}

static void text_part_utilization(struct tree *t, const struct smi_gpu *g)
{
    text_begin(t, "Utilization", "utilization");
    text_put_amount(t, "GPU", "gpu_util", g->gpu, " %");
    text_put_amount(t, "Memory", "memory_util", g->mem, " %");
    text_put_amount(t, "Encoder", "encoder_util", 0, " %");
    text_put_amount(t, "Decoder", "decoder_util", 0, " %");
    text_end(t, "utilization");
}

static void text_part_temperature(struct tree *t, const struct smi_gpu *g)
{
    text_begin(t, "Temperature", "temperature");
    text_put_amount(t, "GPU Current Temp", "gpu_temp", g->temperature_C, " C");
    text_put(t, "GPU Shutdown Temp", "gpu_temp_max_threshold", "N/A");
    text_put(t, "GPU Slowdown Temp", "gpu_temp_slow_threshold", "N/A");
    text_end(t, "temperature");
}

static void text_part_power(struct tree *t, const struct smi_gpu *g)
{
    text_begin(t, "GPU Power Readings", "gpu_power_readings");
    text_put(t, "Power State", "power_state", "P0");
    text_put_milli(t, "Average Power Draw", "average_power_draw", g->power_mW);
    text_put_milli(t, "Current Power Limit", "current_power_limit", g->limit_mW);
    text_end(t, "gpu_power_readings");
}

static void text_part_clock(struct tree *t, const struct smi_gpu *g)
{
    const struct {
        const char *key, *tag;
        int64_t sm, mem;
    } kinds[] = {{"Clocks", "clocks", g->sm_MHz, g->mem_MHz},
                 {"Max Clocks", "max_clocks", g->max_sm_MHz, g->max_mem_MHz}};

    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        text_begin(t, kinds[i].key, kinds[i].tag);
        text_put_amount(t, "Graphics", "graphics_clock", kinds[i].sm, " MHz");
        text_put_amount(t, "SM", "sm_clock", kinds[i].sm, " MHz");
        text_put_amount(t, "Memory", "mem_clock", kinds[i].mem, " MHz");
        text_end(t, kinds[i].tag);
    }
}

static void text_part_performance(struct tree *t, const struct smi_gpu *g)
{
    text_put(t, "Performance State", "performance_state", "P0");
    text_begin(t, "Clocks Event Reasons", "clocks_event_reasons");
    text_put(t, "Idle", "clocks_event_reason_gpu_idle", g->is_idle == 1 ? "Active" : "Not Active");
    text_end(t, "clocks_event_reasons");
}

static void text_part_compute(struct tree *t, const struct smi_gpu *g)
{
    char text[32];

    text_put(t, "Compute Mode", "compute_mode", "Default");
    text_put(t, "Compute Capability", "compute_cap",
             text_printed(text, sizeof(text), "%d.%d", g->cc_major, g->cc_minor));
}

static void text_part_ecc(struct tree *t, const struct smi_gpu *g)
{
    (void)g;
    text_begin(t, "ECC Mode", "ecc_mode");
    text_put(t, "Current", "current_ecc", "N/A");
    text_put(t, "Pending", "pending_ecc", "N/A");
    text_end(t, "ecc_mode");
}

static void text_one_process(struct tree *t, const struct smi_process *p)
{
    char pid[16];

    text_printed(pid, sizeof(pid), "%u", p->pid);
    if (t->is_xml) {
        text_begin(t, "", "process_info");
        text_put(t, "", "pid", pid);
    } else {
        text_put(t, "Process ID", "pid", pid);
        t->depth++;
    }
    text_put(t, "Type", "type", "C");
    text_put(t, "Name", "process_name", p->name);
    text_put_amount(t, "Used GPU Memory", "used_memory", (int64_t)(p->memory_B >> 20), " MiB");
    if (t->is_xml)
        text_end(t, "process_info");
    else
        t->depth--;
}

static void text_part_pids(struct tree *t, const struct smi_gpu *g)
{
    if (!g->nprocesses && !t->is_xml) {
        text_put(t, "Processes", "processes", "None");
        return;
    }
    text_begin(t, "Processes", "processes");
    for (unsigned i = 0; i < g->nprocesses; i++)
        text_one_process(t, &g->processes[i]);
    text_end(t, "processes");
}

static const struct {
    const char *name;
    void (*print)(struct tree *t, const struct smi_gpu *g);
} parts_table[] = {
    {"PERFORMANCE", text_part_performance},
    {"MEMORY", text_part_memory},
    {"COMPUTE", text_part_compute},
    {"UTILIZATION", text_part_utilization},
    {"ECC", text_part_ecc},
    {"TEMPERATURE", text_part_temperature},
    {"POWER", text_part_power},
    {"CLOCK", text_part_clock},
    {"PIDS", text_part_pids},
};

bool smi_details_check(const char *parts)
{
    struct hd_str list = hd_str_from(parts);
    size_t commas = 0, found = 0;

    for (size_t i = 0; i < list.len; i++)
        commas += list.ptr[i] == ',';
    for (size_t i = 0; i < HD_COUNT_OF(parts_table); i++)
        found += hd_str_lists(list, parts_table[i].name);
    return found == commas + 1;
}

static void text_facts(struct tree *t, const struct smi_gpu *g)
{
    char text[16];

    text_put(t, "Product Name", "product_name", g->name);
    text_put(t, "Product Brand", "product_brand", "Heddle");
    text_put(t, "Display Active", "display_active", "Disabled");
    text_put(t, "Persistence Mode", "persistence_mode", "Enabled");
    text_put(t, "GPU UUID", "uuid", g->uuid);
    text_put(t, "Minor Number", "minor_number", text_printed(text, sizeof(text), "%u", g->index));
    text_put(t, "VBIOS Version", "vbios_version", "N/A");
    text_begin(t, "MIG Mode", "mig_mode");
    text_put(t, "Current", "current_mig", "N/A");
    text_put(t, "Pending", "pending_mig", "N/A");
    text_end(t, "mig_mode");
    text_begin(t, "PCI", "pci");
    text_put(t, "Bus Id", "pci_bus_id", g->bus_id);
    text_put_amount(t, "Tx Throughput", "tx_util", g->tx_KBps, " KB/s");
    text_put_amount(t, "Rx Throughput", "rx_util", g->rx_KBps, " KB/s");
    text_end(t, "pci");
    text_put(t, "Fan Speed", "fan_speed", "N/A");
}

static void text_one_gpu(struct tree *t, const struct smi_gpu *g, const char *parts)
{
    if (t->is_xml)
        fprintf(t->out, "\t<gpu id=\"%s\">\n", g->bus_id);
    else
        fprintf(t->out, "GPU %s\n", g->bus_id);
    t->depth = t->is_xml ? 2 : 1;
    if (!parts)
        text_facts(t, g);
    for (size_t i = 0; i < HD_COUNT_OF(parts_table); i++)
        if (!parts || hd_str_lists(hd_str_from(parts), parts_table[i].name))
            parts_table[i].print(t, g);
    assert(t->depth == (t->is_xml ? 2 : 1));
    fputs(t->is_xml ? "\t</gpu>\n" : "\n", t->out);
}

void smi_details(const struct smi *smi, const char *parts, bool as_xml, FILE *out)
{
    struct tree t = {out, as_xml, as_xml ? 1 : 0};
    char count[16];

    fputs(as_xml ? "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n"
                 : "\n==============Heddle SMI log==============\n\n",
          out);
    text_put(&t, "Timestamp", "timestamp", smi->time);
    text_put(&t, "Driver Version", "driver_version", smi->driver);
    text_put(&t, "CUDA Version", "cuda_version", smi->cuda);
    if (!as_xml)
        fputc('\n', out);
    text_put(&t, "Attached GPUs", "attached_gpus",
             text_printed(count, sizeof(count), "%u", smi->count));
    for (unsigned i = 0; i < smi->ngpus; i++)
        text_one_gpu(&t, &smi->gpus[i], parts);
    if (as_xml)
        fputs("</nvidia_smi_log>\n", out);
}

/* ---- JSON */

static void text_json_number(struct hd_json *j, const char *key, int64_t value)
{
    if (value == SMI_NONE)
        hd_json_str(j, key, NULL);
    else
        hd_json_i64(j, key, value);
}

static void text_json_process(struct hd_json *j, const struct smi_process *p)
{
    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "pid", p->pid);
    hd_json_str(j, "name", p->name);
    hd_json_u64(j, "memory_B", p->memory_B);
    text_json_number(j, "sm_percent", p->sm);
    text_json_number(j, "copy_percent", p->mem);
    hd_json_close(j, '}');
}

static void text_json_gpu(struct hd_json *j, const struct smi_gpu *g)
{
    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "index", g->index);
    hd_json_str(j, "name", g->name);
    hd_json_str(j, "uuid", g->uuid);
    hd_json_str(j, "pci_bus_id", g->bus_id);
    hd_json_u64(j, "memory_total_B", g->total_B);
    hd_json_u64(j, "memory_used_B", g->used_B);
    text_json_number(j, "gpu_percent", g->gpu);
    text_json_number(j, "copy_percent", g->mem);
    text_json_number(j, "temperature_C", g->temperature_C);
    text_json_number(j, "power_mW", g->power_mW);
    text_json_number(j, "power_limit_mW", g->limit_mW);
    text_json_number(j, "energy_mJ", g->energy_mJ);
    text_json_number(j, "clock_MHz", g->sm_MHz);
    text_json_number(j, "max_clock_MHz", g->max_sm_MHz);
    text_json_number(j, "memory_clock_MHz", g->mem_MHz);
    text_json_number(j, "to_device_KBps", g->rx_KBps);
    text_json_number(j, "to_host_KBps", g->tx_KBps);
    hd_json_open(j, "processes", '[');
    for (unsigned i = 0; i < g->nprocesses; i++)
        text_json_process(j, &g->processes[i]);
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

bool smi_json(const struct smi *smi)
{
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "timestamp", smi->time);
    hd_json_str(&j, "driver", smi->driver);
    hd_json_str(&j, "cuda", smi->cuda);
    hd_json_open(&j, "devices", '[');
    for (unsigned i = 0; i < smi->ngpus; i++)
        text_json_gpu(&j, &smi->gpus[i]);
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    return hd_json_print(&j);
}
