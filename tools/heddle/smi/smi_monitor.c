/* What is printed line by line: dmon, pmon; and topo. See smi.h. */
#include "smi/smi.h"

#include <assert.h>
#include <sched.h>
#include <string.h>

enum { HEADING_EVERY = 20 };

/* ---- dmon */

static int64_t watts(const struct smi_gpu *g)
{
    return g->power_mW == SMI_NONE ? SMI_NONE : g->power_mW / 1000;
}

static int64_t mega(int64_t kilo)
{
    return kilo == SMI_NONE ? SMI_NONE : kilo / 1024;
}

/* group, heading, unit, value */
#define COLUMNS(X)                                                                                 \
    X('p', "pwr", "W", watts(g))                                                                   \
    X('p', "gtemp", "C", g->temperature_C)                                                         \
    X('p', "mtemp", "C", SMI_NONE)                                                                 \
    X('u', "sm", "%", g->gpu)                                                                      \
    X('u', "mem", "%", g->mem)                                                                     \
    X('u', "enc", "%", 0)                                                                          \
    X('u', "dec", "%", 0)                                                                          \
    X('u', "jpg", "%", 0)                                                                          \
    X('u', "ofa", "%", 0)                                                                          \
    X('c', "mclk", "MHz", g->mem_MHz)                                                              \
    X('c', "pclk", "MHz", g->sm_MHz)                                                               \
    X('m', "fb", "MB", (int64_t)(g->used_B >> 20))                                                 \
    X('m', "bar1", "MB", (int64_t)(g->used_B >> 20))                                               \
    X('t', "rxpci", "MB/s", mega(g->rx_KBps))                                                      \
    X('t', "txpci", "MB/s", mega(g->tx_KBps))

static void dmon_heading(const char *what, FILE *out)
{
    fputs("# gpu", out);
#define X(group, name, unit, value)                                                                \
    if (strchr(what, group))                                                                       \
        fprintf(out, " %6s", name);
    COLUMNS(X)
#undef X
    fputs("\n# Idx", out);
#define X(group, name, unit, value)                                                                \
    if (strchr(what, group))                                                                       \
        fprintf(out, " %6s", unit);
    COLUMNS(X)
#undef X
    fputc('\n', out);
}

static void column(int64_t value, FILE *out)
{
    if (value == SMI_NONE)
        fprintf(out, " %6s", "-");
    else
        fprintf(out, " %6lld", (long long)value);
}

void smi_dmon(const struct smi *smi, const char *what, unsigned line, FILE *out)
{
    assert(strspn(what, "puctm") == strlen(what));
    if (line % HEADING_EVERY == 0)
        dmon_heading(what, out);
    for (unsigned i = 0; i < smi->ngpus; i++) {
        const struct smi_gpu *g = &smi->gpus[i];

        fprintf(out, "%5u", g->index);
#define X(group, name, unit, value)                                                                \
    if (strchr(what, group))                                                                       \
        column((value), out);
        COLUMNS(X)
#undef X
        fputc('\n', out);
    }
}

/* ---- pmon */

static const char *short_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void smi_pmon(const struct smi *smi, unsigned line, FILE *out)
{
    if (line % HEADING_EVERY == 0)
        fputs("# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command\n"
              "# Idx           #    C/G      %      %      %      %      %      %    name\n",
              out);
    for (unsigned i = 0; i < smi->ngpus; i++) {
        const struct smi_gpu *g = &smi->gpus[i];

        if (!g->nprocesses)
            fprintf(out, "%5u %11s %6s %6s %6s %6s %6s %6s %6s    %s\n", g->index, "-", "-", "-",
                    "-", "-", "-", "-", "-", "-");
        for (unsigned j = 0; j < g->nprocesses; j++) {
            fprintf(out, "%5u %11u %6s", g->index, g->processes[j].pid, "C");
            column(g->processes[j].sm, out);
            column(g->processes[j].mem, out);
            fprintf(out, " %6s %6s %6s %6s    %s\n", "-", "-", "-", "-",
                    short_name(g->processes[j].name));
        }
    }
}

/* ---- topo */

static void cpus_print(FILE *out)
{
    cpu_set_t mask;
    const char *before = "";

    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask))
        fputs("N/A", out);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;

        while (last < CPU_SETSIZE && CPU_ISSET(last, &mask))
            last++;
        if (last == cpu)
            continue;
        fprintf(out, last - cpu > 1 ? "%s%d-%d" : "%s%d", before, cpu, last - 1);
        before = ",";
        cpu = last;
    }
}

void smi_topology(const struct smi *smi, FILE *out)
{
    for (unsigned i = 0; i < smi->ngpus; i++)
        fprintf(out, "\tGPU%u", smi->gpus[i].index);
    fputs("\tCPU Affinity\tNUMA Affinity\n", out);
    for (unsigned i = 0; i < smi->ngpus; i++) {
        fprintf(out, "GPU%u", smi->gpus[i].index);
        for (unsigned j = 0; j < smi->ngpus; j++)
            fputs(i == j ? "\t X " : "\tNODE", out);
        fputc('\t', out);
        cpus_print(out);
        fputs("\t0\n", out);
    }
    fputs("\nLegend:\n\n  X    = itself\n  NODE = on the same CPUs: nothing lies between them\n",
          out);
}
