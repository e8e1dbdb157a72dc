/* heddle nsys, which is nsys as well: its profile and stats, by `heddle prof`. See nsight.h. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "common/cli.h"
#include "prof/nsight.h"

static const char help[] =
    "usage: nsys profile [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       nsys stats [OPTIONS] REPORT\n"
    "\n"
    "Nsight Systems' command on Heddle: takes its usual options, and records and shows with "
    "`heddle\n"
    "prof`. What Heddle does not do is refused by its name.\n"
    "\n"
    "profile, what and when:\n"
    "  -t, --trace WHAT              cuda,nvtx,osrt (the default), none\n"
    "  -c, --capture-range WHEN      none (the default: all), cudaProfilerApi or nvtx\n"
    "      --capture-range-end WHAT  stop (the default): the first range, and the program goes "
    "on;\n"
    "                                repeat: all, in one report\n"
    "  -p, --nvtx-capture RANGE      the range of nvtx\n"
    "  -y, --delay SECONDS           record nothing before\n"
    "  -d, --duration SECONDS        and nothing when so much has been recorded\n"
    "  -s, --sample WHAT             samples of host code: process-tree, of the program's "
    "processes\n"
    "                                (the default), or none\n"
    "      --sampling-frequency HZ   so many in a second of a thread's processor time (1000)\n"
    "      --sampling-period N       or one each N cycles, of 3 GHz\n"
    "  -b, --backtrace HOW           auto, dwarf, fp, lbr: with stacks, however they are unwound;\n"
    "                                none: without\n"
    "      --samples-per-backtrace 1\n"
    "  -e, --env-var A=B,C=D         variables for the program\n"
    "      --wait WHOM               all processes (the default), or the primary one\n"
    "\n"
    "profile, what is made of it:\n"
    "  -o, --output NAME             NAME.sqlite; %h, %q{NAME} and %% are replaced\n"
    "  -f, --force-overwrite BOOL    replace a report of that name\n"
    "      --stats BOOL              print the usual reports at the end\n"
    "      --export sqlite|none      the report is SQLite\n"
    "\n"
    "profile, accepted with the value that means what Heddle does:\n"
    "      --cpuctxsw none, --cudabacktrace none, --cuda-graph-trace node, --cuda-memory-usage "
    "BOOL,\n"
    "      --gpu-metrics-devices none, -n, --inherit-environment true, --kill none,\n"
    "      -w, --show-output true, -x, --stop-on-exit true, --trace-fork-before-exec true\n"
    "\n"
    "stats:\n"
    "  -r, --report NAMES            which reports, with commas; --help-reports\n"
    "  -f, --format FORM             table, csv or json\n"
    "  -q, --quiet                   nothing but the reports\n"
    "      --force-export BOOL, --force-overwrite BOOL, -o, --output -, --timeunit nsec\n"
    "\n"
    "      --version                 print the version\n"
    "  -h, --help                    this text\n"
    "\n"
    "exit status: the program's; 1 there is no report, 2 wrong usage, 126 the program cannot be "
    "run,\n"
    "127 it was not found\n";

struct profile {
    struct nsight_words *words;
    bool has_trace, has_range, has_range_end;
    bool no_samples, no_stacks;
    uint64_t sample_Hz;
};

/* name, what of it is recorded: its word of `heddle prof`, or NULL and why nothing is */
static const struct {
    const char *name, *word, *why;
} traces[] = {
    {"cuda", "cuda", NULL},          {"cuda-sw", "cuda", NULL},
    {"cuda-hw", "cuda", NULL},       {"nvtx", "nvtx", NULL},
    {"osrt", "osrt", NULL},          {"none", "none", NULL},
    {"cublas", NULL, "library"},     {"cublas-verbose", NULL, "library"},
    {"cudnn", NULL, "library"},      {"cusparse", NULL, "library"},
    {"cusolver", NULL, "library"},   {"opengl", NULL, "such calls"},
    {"vulkan", NULL, "such calls"},  {"mpi", NULL, "such calls"},
    {"openmp", NULL, "such calls"},  {"ucx", NULL, "such calls"},
    {"openacc", NULL, "such calls"},
};

/* What others know and Heddle does not record is told, and is no reason to record nothing. */
static bool take_trace(void *state, const char *value)
{
    struct profile *p = state;
    struct hd_buf list = {0};

    for (const char *word = value; *word;) {
        size_t len = strcspn(word, ","), i = 0;

        while (i < HD_COUNT_OF(traces) &&
               (strlen(traces[i].name) != len || memcmp(traces[i].name, word, len) != 0))
            i++;
        if (i == HD_COUNT_OF(traces)) {
            cli_usage("--trace=%.*s: Heddle does not know that", (int)len, word);
            hd_buf_fini(&list);
            return false;
        }
        if (traces[i].word)
            hd_buf_printf(&list, "%s%s", list.len ? "," : "", traces[i].word);
        else
            cli_error("--trace=%s: nothing of it is recorded, Heddle sees no %s", traces[i].name,
                      traces[i].why);
        word += len + (word[len] == ',');
    }
    p->has_trace = true;
    nsight_push(p->words, "--trace");
    nsight_push(p->words, list.len ? list.ptr : "none");
    hd_buf_fini(&list);
    return true;
}

static bool take_output(void *state, const char *value)
{
    struct profile *p = state;
    HD_AUTOFREE char *name = nsight_report_name(value);

    if (!name)
        return false;
    nsight_push(p->words, "--output");
    nsight_push(p->words, name);
    return true;
}

static bool take_range(void *state, const char *value)
{
    struct profile *p = state;

    p->has_range = strcmp(value, "none") != 0;
    nsight_push(p->words, "--capture-range");
    nsight_push(p->words, value);
    return true;
}

static bool take_range_end(void *state, const char *value)
{
    struct profile *p = state;

    p->has_range_end = true;
    nsight_push(p->words, "--capture-range-end");
    nsight_push(p->words, value);
    return true;
}

/* ---- samples of host code */

static bool take_sample(void *state, const char *value)
{
    struct profile *p = state;

    p->no_samples = !strcmp(value, "none");
    if (!strcmp(value, "system-wide"))
        cli_error("--sample=system-wide: other processes than the program's are not sampled");
    return true;
}

static bool take_backtrace(void *state, const char *value)
{
    struct profile *p = state;

    p->no_stacks = !strcmp(value, "none");
    return true;
}

static bool read_number(const char *option, const char *value, uint64_t least, uint64_t most,
                        uint64_t *out)
{
    bool good = hd_str_to_u64((struct hd_str){value, strlen(value)}, 10, out) && *out >= least &&
                *out <= most;

    assert(least <= most);
    if (!good)
        cli_error("--%s=%s: a number from %llu to %llu is expected", option, value,
                  (unsigned long long)least, (unsigned long long)most);
    return good;
}

static bool take_frequency(void *state, const char *value)
{
    struct profile *p = state;

    return read_number("sampling-frequency", value, 100, 8000, &p->sample_Hz);
}

static bool take_period(void *state, const char *value)
{
    struct profile *p = state;
    uint64_t cycles;

    if (!read_number("sampling-period", value, 1, UINT64_C(1) << 40, &cycles))
        return false;
    p->sample_Hz = HD_MIN(HD_MAX(UINT64_C(3000000000) / cycles, (uint64_t)1), (uint64_t)8000);
    return true;
}

static bool take_per_backtrace(void *state, const char *value)
{
    uint64_t n;

    (void)state;
    if (!read_number("samples-per-backtrace", value, 1, 32, &n))
        return false;
    if (n > 1)
        cli_error("--samples-per-backtrace=%s: each sample has its stack", value);
    return true;
}

static void push_samples(const struct profile *p)
{
    char text[40];

    if (p->no_samples)
        return;
    (void)snprintf(text, sizeof(text), "--sample=%llu", (unsigned long long)p->sample_Hz);
    nsight_push(p->words, text);
    if (!p->no_stacks)
        return;
    nsight_push(p->words, "--sample-depth");
    nsight_push(p->words, "1");
}

/* A=B,C=D: the program's, and of `heddle` itself only what it does not read any more. */
static bool take_variables(void *state, const char *value)
{
    HD_AUTOFREE char *copy = hd_strdup(value);

    (void)state;
    for (char *word = copy; word && *word;) {
        size_t len = strcspn(word, ",");
        bool is_last = !word[len];

        word[len] = '\0';
        char *equals = strchr(word, '=');
        if (!equals || equals == word) {
            cli_error("--env-var=%s: NAME=VALUE is expected", word);
            return false;
        }
        *equals = '\0';
        if (setenv(word, equals + 1, 1))
            return false;
        word += len + !is_last;
    }
    return copy != NULL;
}

static const struct nsight_option profile_options[] = {
    {"trace", 't', NSIGHT_VALUE, NULL, NULL, NULL, take_trace},
    {"output", 'o', NSIGHT_VALUE, NULL, NULL, NULL, take_output},
    {"force-overwrite", 'f', NSIGHT_SWITCH, "--force-overwrite", NULL, NULL, NULL},
    {"stats", 0, NSIGHT_SWITCH, "--stats", NULL, NULL, NULL},
    {"export", 0, NSIGHT_VALUE, NULL, "sqlite none", "the report is an SQLite file", NULL},
    {"capture-range", 'c', NSIGHT_VALUE, NULL, "none cudaProfilerApi nvtx", NULL, take_range},
    {"capture-range-end", 0, NSIGHT_VALUE, NULL, "stop repeat",
     "the program is not ended, and there is one report", take_range_end},
    {"nvtx-capture", 'p', NSIGHT_VALUE, "--nvtx-capture", NULL, NULL, NULL},
    {"delay", 'y', NSIGHT_VALUE, "--delay", NULL, NULL, NULL},
    {"duration", 'd', NSIGHT_VALUE, "--duration", NULL, NULL, NULL},
    {"wait", 0, NSIGHT_VALUE, "--wait", "all primary", NULL, NULL},
    {"env-var", 'e', NSIGHT_VALUE, NULL, NULL, NULL, take_variables},
    {"show-output", 'w', NSIGHT_VALUE, NULL, "true", "the program prints where it always does",
     NULL},
    {"inherit-environment", 'n', NSIGHT_VALUE, NULL, "true", NULL, NULL},
    {"stop-on-exit", 'x', NSIGHT_VALUE, NULL, "true", "the recording ends with the program", NULL},
    {"sample", 's', NSIGHT_VALUE, NULL, "process-tree cpu system-wide none", NULL, take_sample},
    {"sampling-frequency", 0, NSIGHT_VALUE, NULL, NULL, NULL, take_frequency},
    {"sampling-period", 0, NSIGHT_VALUE, NULL, NULL, NULL, take_period},
    {"samples-per-backtrace", 0, NSIGHT_VALUE, NULL, NULL, NULL, take_per_backtrace},
    {"cpuctxsw", 0, NSIGHT_VALUE, NULL, "none", "threads' switches are not recorded", NULL},
    {"backtrace", 'b', NSIGHT_VALUE, NULL, "auto dwarf fp lbr none", NULL, take_backtrace},
    {"cudabacktrace", 0, NSIGHT_VALUE, NULL, "none false", "calls have no stacks, see --sample",
     NULL},
    {"cuda-graph-trace", 0, NSIGHT_VALUE, NULL, "node", "graphs are recorded by their nodes", NULL},
    {"gpu-metrics-device", 0, NSIGHT_VALUE, NULL, "none", "there are no samples of devices", NULL},
    {"gpu-metrics-devices", 0, NSIGHT_VALUE, NULL, "none", "there are no samples of devices", NULL},
    {"cuda-memory-usage", 0, NSIGHT_SWITCH, NULL, NULL, NULL, NULL},
    {"trace-fork-before-exec", 0, NSIGHT_VALUE, NULL, "true", "children are always recorded", NULL},
    {"kill", 0, NSIGHT_VALUE, NULL, "none", "the program is not ended", NULL},
};

static int profile(char **argv)
{
    struct nsight_words words = {0};
    struct profile p = {.words = &words, .sample_Hz = 1000};
    char **rest;

    nsight_push(&words, "prof");
    int code =
        nsight_parse(help, profile_options, HD_COUNT_OF(profile_options), argv, &p, &words, &rest);
    if (code < 0 && !*rest) {
        cli_usage("which program?");
        code = CLI_USAGE;
    }
    if (code < 0) {
        if (!p.has_trace)
            (void)take_trace(&p, "cuda,nvtx,osrt");
        if (p.has_range && !p.has_range_end)
            (void)take_range_end(&p, "stop");
        push_samples(&p);
        nsight_push(&words, "--");
        for (; *rest; rest++)
            nsight_push(&words, *rest);
        code = nsight_prof(&words);
    }
    nsight_fini(&words);
    return code;
}

/* ---- stats */

static bool list_reports(void *state, const char *value)
{
    (void)value;
    return *(bool *)state = true;
}

static const struct nsight_option stats_options[] = {
    {"report", 'r', NSIGHT_VALUE, "--report", NULL, NULL, NULL},
    {"format", 'f', NSIGHT_VALUE, "--format", "table csv json", NULL, NULL},
    {"output", 'o', NSIGHT_VALUE, NULL, "-", "it is printed", NULL},
    {"force-export", 0, NSIGHT_SWITCH, NULL, NULL, NULL, NULL},
    {"force-overwrite", 0, NSIGHT_SWITCH, NULL, NULL, NULL, NULL},
    {"timeunit", 0, NSIGHT_VALUE, NULL, "nsec nanoseconds", "times are nanoseconds", NULL},
    {"quiet", 'q', NSIGHT_FLAG, NULL, NULL, NULL, NULL},
    {"help-reports", 0, NSIGHT_FLAG, NULL, NULL, NULL, list_reports},
};

static int stats(char **argv)
{
    struct nsight_words words = {0};
    bool list = false;
    char **rest;

    nsight_push(&words, "prof");
    nsight_push(&words, "stats");
    int code =
        nsight_parse(help, stats_options, HD_COUNT_OF(stats_options), argv, &list, &words, &rest);
    if (code < 0 && list) {
        nsight_push(&words, "--report");
        nsight_push(&words, "help");
        code = nsight_prof(&words);
    } else if (code < 0 && (!rest[0] || rest[1])) {
        cli_usage("which report?");
        code = CLI_USAGE;
    } else if (code < 0) {
        HD_AUTOFREE char *file = nsight_report_file(rest[0]);
        nsight_push(&words, "--");
        nsight_push(&words, file ? file : rest[0]);
        code = nsight_prof(&words);
    }
    nsight_fini(&words);
    return code;
}

/* ---- the command */

int cmd_nsys(int argc, char **argv)
{
    static const char *const others[][2] = {
        {"launch",
         "there are no sessions; --capture-range, --delay and --duration choose what is recorded"},
        {"start", "there are no sessions"},
        {"stop", "there are no sessions"},
        {"cancel", "there are no sessions"},
        {"shutdown", "there are no sessions"},
        {"sessions", "there are no sessions"},
        {"export", "the report is an SQLite file; `heddle prof export` makes traces of it"},
        {"analyze", "see `heddle advise REPORT`"},
        {"recipe", "see `heddle prof diff` and `heddle advise`"},
        {"status", "see `heddle info`"},
    };
    const char *command = argc > 1 ? argv[1] : "";

    if (!strcmp(command, "profile"))
        return profile(argv + 1);
    if (!strcmp(command, "stats"))
        return stats(argv + 1);
    if (!strcmp(command, "--version") || !strcmp(command, "-v")) {
        printf("Heddle's nsys, version %s\n", cli_version());
        return CLI_OK;
    }
    if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help"))
        return cli_help(help);
    for (size_t i = 0; i < HD_COUNT_OF(others); i++)
        if (!strcmp(command, others[i][0])) {
            cli_error("%s: Heddle does not have it: %s", command, others[i][1]);
            return CLI_USAGE;
        }
    return cli_usage("profile, or stats?");
}
