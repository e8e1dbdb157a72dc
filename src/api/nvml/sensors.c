/* See sensors.h. The files: Documentation/hwmon, thermal, cpu-freq and power/powercap of Linux. */
#include "api/nvml/sensors.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static bool text_read(const char *path, char *text, int text_B)
{
    FILE *file = fopen(path, "re");
    bool done = file && fgets(text, text_B, file);

    if (file)
        fclose(file);
    if (done)
        text[strcspn(text, "\n")] = '\0';
    return done;
}

/* Beside a file that was found: the same folder, another name. */
static void beside(char *out, size_t out_B, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    snprintf(out, out_B, "%.*s%s", (int)(slash - path) + 1, path, name);
}

typedef void each_file(const char *path, void *arg);

static void each(const char *root, const char *pattern, each_file *what, void *arg)
{
    char full[512];
    glob_t found;

    snprintf(full, sizeof(full), "%s/%s", root, pattern);
    if (glob(full, GLOB_NOSORT, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        what(found.gl_pathv[i], arg);
    globfree(&found);
}

struct numbers {
    uint64_t sum, max, count;
};

static void number_add(const char *path, void *arg)
{
    struct numbers *n = arg;
    uint64_t value;

    char text[64], *end;
    if (!text_read(path, text, sizeof(text)))
        return;
    value = strtoull(text, &end, 10);
    if (end == text)
        return;
    n->sum += value;
    n->max = HD_MAX(n->max, value);
    n->count++;
}

/* "cpu MHz : 2596.122", a line for each CPU. */
static bool cpuinfo_clock_MHz(const char *root, unsigned *out_now)
{
    char path[512], line[256];
    double sum = 0;
    unsigned count = 0;

    snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (colon && !strncmp(line, "cpu MHz", 7)) {
            sum += strtod(colon + 1, NULL);
            count++;
        }
    }
    if (file)
        fclose(file);
    *out_now = count ? (unsigned)(sum / count) : 0;
    return *out_now > 0;
}

bool sensors_clock_MHz(const char *root, unsigned *out_now)
{
    struct numbers kHz = {0};

    each(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq", number_add, &kHz);
    if (!kHz.count)
        return cpuinfo_clock_MHz(root, out_now);
    *out_now = (unsigned)(kHz.sum / kHz.count / 1000);
    return true;
}

bool sensors_max_clock_MHz(const char *root, unsigned *out_max)
{
    struct numbers kHz = {0};

    each(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq", number_add, &kHz);
    *out_max = (unsigned)(kHz.max / 1000);
    return kHz.count > 0;
}

static bool is_one_of(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(text, *names))
            return true;
    return false;
}

/* A hwmon's first input, if the chip is in a CPU. */
static void chip_look(const char *path, void *arg)
{
    static const char *const cpus[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal", NULL};
    char name[64], input[512];

    if (!text_read(path, name, sizeof(name)) || !is_one_of(name, cpus))
        return;
    beside(input, sizeof(input), path, "temp1_input");
    number_add(input, arg);
}

static void zone_look(const char *path, void *arg)
{
    static const char *const cpus[] = {"x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal",
                                       NULL};
    char type[64], input[512];

    if (!text_read(path, type, sizeof(type)) || !is_one_of(type, cpus))
        return;
    beside(input, sizeof(input), path, "temp");
    number_add(input, arg);
}

bool sensors_temperature_C(const char *root, int *out_temperature)
{
    struct numbers mC = {0};

    each(root, "sys/class/hwmon/hwmon*/name", chip_look, &mC);
    if (!mC.count)
        each(root, "sys/class/thermal/thermal_zone*/type", zone_look, &mC);
    *out_temperature = (int)(mC.max / 1000);
    return mC.count > 0;
}

struct packages {
    struct numbers value;
    const char *file; /* that is read */
};

/* Packages only: what is in one of them (cores, memory) is counted there. */
static void package_look(const char *path, void *arg)
{
    struct packages *p = arg;
    char name[64], file[512];

    if (!text_read(path, name, sizeof(name)) || strncmp(name, "package-", 8) != 0)
        return;
    beside(file, sizeof(file), path, p->file);
    number_add(file, &p->value);
}

bool sensors_energy_uJ(const char *root, uint64_t *out_energy)
{
    struct packages p = {.file = "energy_uj"};

    each(root, "sys/class/powercap/intel-rapl:*/name", package_look, &p);
    *out_energy = p.value.sum;
    return p.value.count > 0;
}

bool sensors_power_limit_mW(const char *root, uint64_t *out_limit)
{
    struct packages p = {.file = "constraint_0_power_limit_uw"};

    each(root, "sys/class/powercap/intel-rapl:*/name", package_look, &p);
    *out_limit = p.value.sum / 1000;
    return p.value.count > 0;
}
