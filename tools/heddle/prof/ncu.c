/* heddle ncu, which is ncu as well: kernels' counters, by `heddle prof --kernel`. See nsight.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "common/cli.h"
#include "common/temporary.h"
#include "prof/nsight.h"

static const char help[] =
    "usage: ncu [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       ncu --import REPORT [--page PAGE] [--csv] [--section NAMES] [--metrics NAMES]\n"
    "\n"
    "Nsight Compute's command on Heddle: takes its usual options, and counts and shows with "
    "`heddle\n"
    "prof --kernel`. What Heddle does not do is refused by its name.\n"
    "\n"
    "which launches:\n"
    "  -k, --kernel-name NAME  only kernels of this name, or regex:EXPRESSION\n"
    "      --kernel-name-base function\n"
    "  -s, --launch-skip N     not the first N launches of those\n"
    "  -c, --launch-count N    and N launches at most\n"
    "      --nvtx              --nvtx-include and --nvtx-exclude count\n"
    "      --nvtx-include RANGES, --nvtx-exclude RANGES\n"
    "                          only launches in these NVTX ranges, or outside of them\n"
    "      --profile-from-start on\n"
    "      --target-processes all\n"
    "\n"
    "what is shown of them:\n"
    "      --set SET           basic, detailed, full, roofline or none; --list-sets\n"
    "      --section NAME      one section; --list-sections\n"
    "      --metrics NAMES     metrics, with commas; --query-metrics\n"
    "      --page PAGE         details, raw or source\n"
    "      --print-details all\n"
    "      --print-summary WHAT    per-kernel: equal launches together; none\n"
    "      --csv               as CSV\n"
    "  -o, --export NAME       keep NAME.sqlite, and print nothing\n"
    "  -f, --force-overwrite   replace a report of that name\n"
    "  -i, --import NAME       show such a report\n"
    "\n"
    "accepted, since counts do not depend on them:\n"
    "      --replay-mode kernel|application, --cache-control all|none, --clock-control base|none,\n"
    "      --apply-rules no\n"
    "\n"
    "      --version           print the version\n"
    "  -h, --help              this text\n"
    "\n"
    "exit status: the program's; 1 there is no report, 2 wrong usage, 126 the program cannot be "
    "run,\n"
    "127 it was not found\n";

/* name, sections; NULL: all */
static const struct {
    const char *name, *sections;
} sets[] = {
    {"basic", "SpeedOfLight,LaunchStats"},
    {"default", "SpeedOfLight,LaunchStats"},
    {"detailed",
     "SpeedOfLight,SpeedOfLight_RooflineChart,ComputeWorkloadAnalysis,MemoryWorkloadAnalysis,"
     "LaunchStats,SourceCounters"},
    {"roofline", "SpeedOfLight,SpeedOfLight_RooflineChart,LaunchStats"},
    {"full", NULL},
    {"none", ""},
};

struct run {
    struct nsight_words *words;
    struct hd_buf sections, metrics;
    char *output, *import;
    char **rest;     /* the program and its arguments */
    bool is_summary; /* otherwise each launch is shown */
    bool has_set, is_full, has_page, has_roofline;
    enum { ASK_NOTHING, ASK_SECTIONS, ASK_METRICS, ASK_SETS } ask;
};

static void add_to(struct hd_buf *list, const char *words)
{
    if (*words)
        hd_buf_printf(list, "%s%s", list->len ? "," : "", words);
}

static bool take_set(void *state, const char *value)
{
    struct run *r = state;

    for (size_t i = 0; i < HD_COUNT_OF(sets); i++)
        if (!strcmp(value, sets[i].name)) {
            r->has_set = true;
            r->is_full = r->is_full || !sets[i].sections;
            add_to(&r->sections, sets[i].sections ? sets[i].sections : "");
            return true;
        }
    return false;
}

static bool take_section(void *state, const char *value)
{
    struct run *r = state;

    if (!strncmp(value, "regex:", 6)) {
        cli_error("--section=%s: Heddle takes names (--list-sections)", value);
        return false;
    }
    add_to(&r->sections, value);
    return true;
}

static bool take_metrics(void *state, const char *value)
{
    add_to(&((struct run *)state)->metrics, value);
    return true;
}

static bool take_page(void *state, const char *value)
{
    struct run *r = state;

    r->has_page = true;
    nsight_push(r->words, "--page");
    nsight_push(r->words, value);
    return true;
}

static bool take_summary(void *state, const char *value)
{
    ((struct run *)state)->is_summary = strcmp(value, "none") != 0;
    return true;
}

static bool take_export(void *state, const char *value)
{
    struct run *r = state;

    hd_free(r->output);
    r->output = nsight_report_name(value);
    return r->output != NULL;
}

static bool take_import(void *state, const char *value)
{
    struct run *r = state;

    hd_free(r->import);
    r->import = nsight_report_file(value);
    return r->import != NULL;
}

#define ASK(name, what)                                                                            \
    static bool ask_##name(void *state, const char *value)                                         \
    {                                                                                              \
        (void)value;                                                                               \
        ((struct run *)state)->ask = what;                                                         \
        return true;                                                                               \
    }
ASK(sections, ASK_SECTIONS)
ASK(metrics, ASK_METRICS)
ASK(sets, ASK_SETS)

static const struct nsight_option options[] = {
    {"kernel-name", 'k', NSIGHT_VALUE, "--kernel-name", NULL, NULL, NULL},
    {"kernel-name-base", 0, NSIGHT_VALUE, NULL, "function", "names are those of functions", NULL},
    {"launch-skip", 's', NSIGHT_VALUE, "--launch-skip", NULL, NULL, NULL},
    {"launch-count", 'c', NSIGHT_VALUE, "--launch-count", NULL, NULL, NULL},
    {"nvtx", 0, NSIGHT_FLAG, "--nvtx", NULL, NULL, NULL},
    {"nvtx-include", 0, NSIGHT_VALUE, "--nvtx-include", NULL, NULL, NULL},
    {"nvtx-exclude", 0, NSIGHT_VALUE, "--nvtx-exclude", NULL, NULL, NULL},
    {"set", 0, NSIGHT_VALUE, NULL, "basic default detailed full roofline none", NULL, take_set},
    {"section", 0, NSIGHT_VALUE, NULL, NULL, NULL, take_section},
    {"metrics", 0, NSIGHT_VALUE, NULL, NULL, NULL, take_metrics},
    {"page", 0, NSIGHT_VALUE, NULL, "details raw source", NULL, take_page},
    {"csv", 0, NSIGHT_FLAG, "--csv", NULL, NULL, NULL},
    {"print-summary", 0, NSIGHT_VALUE, NULL, "none per-kernel", NULL, take_summary},
    {"export", 'o', NSIGHT_VALUE, NULL, NULL, NULL, take_export},
    {"force-overwrite", 'f', NSIGHT_FLAG, "--force-overwrite", NULL, NULL, NULL},
    {"import", 'i', NSIGHT_VALUE, NULL, NULL, NULL, take_import},
    {"list-sections", 0, NSIGHT_FLAG, NULL, NULL, NULL, ask_sections},
    {"list-sets", 0, NSIGHT_FLAG, NULL, NULL, NULL, ask_sets},
    {"query-metrics", 0, NSIGHT_FLAG, NULL, NULL, NULL, ask_metrics},
    {"target-processes", 0, NSIGHT_VALUE, NULL, "all", "kernels of all processes are counted",
     NULL},
    {"replay-mode", 0, NSIGHT_VALUE, NULL, "kernel application", "nothing is replayed", NULL},
    {"cache-control", 0, NSIGHT_VALUE, NULL, "all none", NULL, NULL},
    {"clock-control", 0, NSIGHT_VALUE, NULL, "base none", NULL, NULL},
    {"profile-from-start", 0, NSIGHT_VALUE, NULL, "on yes true 1", "see --nvtx-include", NULL},
    {"apply-rules", 0, NSIGHT_VALUE, NULL, "no off false 0", "see `heddle advise`", NULL},
    {"print-details", 0, NSIGHT_VALUE, NULL, "all", "all is printed", NULL},
};

/* What is to be printed, as `heddle prof` wants it. */
static void push_view(struct run *r)
{
    bool wants_roofline = r->is_full || (!r->sections.len && !r->metrics.len && !r->has_set) ||
                          (r->sections.len && strstr(r->sections.ptr, "Roofline"));

    if (r->sections.len && !r->is_full) {
        nsight_push(r->words, "--section");
        nsight_push(r->words, r->sections.ptr);
    }
    if (r->metrics.len) {
        nsight_push(r->words, "--metrics");
        nsight_push(r->words, r->metrics.ptr);
    }
    nsight_push(r->words, "--print-summary");
    nsight_push(r->words, r->is_summary ? "per-kernel" : "none");
    r->has_roofline = wants_roofline;
}

/* Into that report, which is shown unless it is to be kept. */
static int count_into(struct run *r, const char *report)
{
    nsight_push(r->words, "--output");
    nsight_push(r->words, report);
    assert(*r->rest);
    nsight_push(r->words, r->output ? "--no-show" : "--quiet");
    nsight_push(r->words, "--");
    for (; *r->rest; r->rest++)
        nsight_push(r->words, *r->rest);
    return nsight_prof(r->words);
}

static int count_in_folder(const char *folder, void *state)
{
    struct hd_buf report = {0};

    hd_buf_printf(&report, "%s/report.sqlite", folder);
    int code = report.failed ? cli_error("out of memory") : count_into(state, report.ptr);
    hd_buf_fini(&report);
    return code;
}

static int count(struct run *r)
{
    push_view(r);
    if (!r->has_roofline) {
        nsight_push(r->words, "--roofline");
        nsight_push(r->words, "none");
    }
    return r->output ? count_into(r, r->output) : temporary_run("heddle-ncu", count_in_folder, r);
}

static int answer(struct run *r)
{
    if (r->ask == ASK_SETS) {
        for (size_t i = 0; i < HD_COUNT_OF(sets); i++)
            printf("  %-10s %s\n", sets[i].name,
                   sets[i].sections ? sets[i].sections : "all sections");
        return CLI_OK;
    }
    nsight_push(r->words, r->ask == ASK_SECTIONS ? "--list-sections" : "--query-metrics");
    return nsight_prof(r->words);
}

/* The words begin again: another command of `heddle prof`. */
static int import(struct run *r)
{
    push_view(r);
    assert(r->words->failed || (r->words->at.len > 1 && !strcmp(r->words->at.at[1], "--kernel")));
    hd_free(r->words->at.at[1]);
    r->words->at.at[1] = hd_strdup("kernels"); /* instead of --kernel */
    r->words->failed = r->words->failed || !r->words->at.at[1];
    nsight_push(r->words, "--");
    nsight_push(r->words, r->import);
    return nsight_prof(r->words);
}

int cmd_ncu(int argc, char **argv)
{
    struct nsight_words words = {0};
    struct run r = {.words = &words};

    if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v"))) {
        printf("Heddle's ncu, version %s\n", cli_version());
        return CLI_OK;
    }
    nsight_push(&words, "prof");
    nsight_push(&words, "--kernel");
    int code = nsight_parse(help, options, HD_COUNT_OF(options), argv, &r, &words, &r.rest);
    if (code < 0 && r.ask) {
        code = answer(&r);
    } else if (code < 0 && r.import) {
        code = *r.rest ? (cli_error("--import shows a report, and runs nothing"), CLI_USAGE)
                       : import(&r);
    } else if (code < 0 && !*r.rest) {
        cli_usage("which program?");
        code = CLI_USAGE;
    } else if (code < 0) {
        code = count(&r);
    }
    hd_buf_fini(&r.sections);
    hd_buf_fini(&r.metrics);
    hd_free(r.output);
    hd_free(r.import);
    nsight_fini(&words);
    return code;
}
