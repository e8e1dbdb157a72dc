/*
 * heddle smi: what its files share. A snapshot of each device is taken through NVML (smi_read.c);
 * the others print it: smi_fields.c as fields that are asked for by name, smi_text.c as the table
 * and as lists, smi_monitor.c line by line. Single-threaded.
 */
#ifndef HEDDLE_TOOLS_SMI_H
#define HEDDLE_TOOLS_SMI_H

#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/str.h"

enum { SMI_PROCESSES_MAX = 256, SMI_DEVICES_MAX = 64, SMI_NONE = -1 };

/* What scripts know of nvidia-smi: its manual, RETURN VALUE. */
enum smi_exit {
    SMI_OK = 0,
    SMI_USAGE = 2,
    SMI_NOT_FOUND = 6,
    SMI_NO_LIBRARY = 12,
    SMI_FAILED = 255
};

struct smi_process {
    unsigned pid;
    uint64_t memory_B;
    int64_t sm, mem; /* percent */
    char name[256];  /* that it was started by; printable */
};

/* Numbers are SMI_NONE where the device does not tell. */
struct smi_gpu {
    unsigned index;
    char name[96], uuid[80], bus_id[32];
    unsigned domain, bus, device;
    int cc_major, cc_minor;
    uint64_t total_B, used_B, free_B;
    int64_t gpu, mem; /* percent */
    int64_t temperature_C, power_mW, limit_mW, energy_mJ;
    int64_t sm_MHz, mem_MHz, max_sm_MHz, max_mem_MHz;
    int64_t rx_KBps, tx_KBps;
    int64_t is_idle;
    unsigned nprocesses;
    struct smi_process processes[SMI_PROCESSES_MAX];
};

struct smi {
    char driver[80], cuda[16], time[64]; /* of the snapshot, local time */
    unsigned count;                      /* of all devices */
    unsigned ngpus;                      /* that were asked for */
    struct smi_gpu *gpus;
};

/* SMI_OK, or what went wrong was said. */
int smi_open(void);
/* Adds a device by index, UUID or bus id to those that smi_read() reads; without any it reads all.
 * SMI_NOT_FOUND was said. */
int smi_choose(const char *name);
/* A snapshot; valid until the next. */
int smi_read(struct smi *out);

/* ---- fields: --query-gpu and --query-compute-apps */

struct smi_format {
    bool has_heading, has_units;
};

enum smi_query { SMI_QUERY_GPU, SMI_QUERY_APPS };

/* SMI_USAGE was said when the comma list names something that is none. */
int smi_fields_check(enum smi_query query, const char *list);
void smi_fields_heading(enum smi_query query, const char *list, FILE *out);
void smi_fields_print(enum smi_query query, const char *list, const struct smi *smi,
                      const struct smi_format *format, FILE *out);
void smi_fields_help(enum smi_query query, FILE *out);

/* ---- the rest */

void smi_table(const struct smi *smi, FILE *out);
void smi_list(const struct smi *smi, FILE *out);
/* `parts`: a comma list of sections ("MEMORY,UTILIZATION"), NULL: all. */
void smi_details(const struct smi *smi, const char *parts, bool as_xml, FILE *out);
/* Is each of the list the name of a section? */
bool smi_details_check(const char *parts);
bool smi_json(const struct smi *smi);
/* `what`: which columns, of "puctm"; `line` counts from 0: headings come now and then. */
void smi_dmon(const struct smi *smi, const char *what, unsigned line, FILE *out);
void smi_pmon(const struct smi *smi, unsigned line, FILE *out);
void smi_topology(const struct smi *smi, FILE *out);

#endif
