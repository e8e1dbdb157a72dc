/*
 * heddle prof: runs a program with the recorder (src/prof) in its processes, makes a report of what
 * they wrote, and shows reports. prof_build.h makes one, prof_stats.h and prof_trace.h read them.
 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/expression.h"
#include "base/mem.h"
#include "common/cli.h"
#include "prof/prof.h"
#include "prof/prof_build.h"
#include "prof/prof_diff.h"
#include "prof/prof_kernel.h"
#include "prof/prof_page.h"
#include "prof/prof_session.h"
#include "prof/prof_stats.h"
#include "prof/prof_trace.h"
#include "run.h"
#include "common/where.h"

static const char help[] =
    "usage: heddle prof [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       heddle prof --kernel [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       heddle prof kernels [--page PAGE] [--csv] FILE\n"
    "       heddle prof stats [--report NAMES] [--format FORM] FILE\n"
    "       heddle prof export --type TYPE [--output NAME] FILE\n"
    "       heddle prof diff [OPTIONS] A B (see `heddle prof diff --help`)\n"
    "       heddle prof recover [--output NAME] FOLDER\n"
    "\n"
    "Runs a program and records its calls of the CUDA API, kernels, copies, fills, waits, memory,\n"
    "compilations and NVTX ranges, of all its processes, in an SQLite file with Nsight Systems'\n"
    "tables. `stats` prints the reports of such a file that `nsys stats` prints, `export` writes "
    "it\n"
    "as a trace for other viewers. While the program runs, what is recorded lies in a folder "
    "beside\n"
    "the file; `recover` makes the file of it when heddle itself was killed.\n"
    "\n"
    "what and when:\n"
    "  -t, --trace WHAT          cuda,nvtx (always recorded), osrt: waits of the operating system\n"
    "  -o, --output NAME         the report, NAME.sqlite (default: report1, report2 ...)\n"
    "  -f, --force-overwrite     replace a report of that name\n"
    "  -c, --capture-range WHEN  none (all, the default), cudaProfilerApi, or nvtx\n"
    "  -p, --nvtx-capture RANGE  the range of nvtx: TEXT or TEXT@DOMAIN\n"
    "      --capture-range-end WHAT  repeat: each range (the default); stop: only the first\n"
    "  -y, --delay SECONDS       record nothing before\n"
    "  -d, --duration SECONDS    and nothing when so much has been recorded\n"
    "      --launch-skip N       nothing before N launches of kernels\n"
    "      --launch-count N      and nothing behind N more\n"
    "      --limit SIZE          of a process's recording, in MiB (default: 65536)\n"
    "      --sample[=HZ]         also where the program's threads spend their processor time, "
    "with\n"
    "                            stacks of calls: so often in a second of it (1 to 10000; "
    "default:\n"
    "                            1000, and no more than the kernel's ticks)\n"
    "      --sample-depth N      functions of a stack, at most (1 to 960; default: 256)\n"
    "      --wait WHOM           all processes (the default), or the primary one\n"
    "\n"
    "what is made of it:\n"
    "      --stats               print the usual reports at the end\n"
    "      --export TYPES        also NAME.json (chrome) and NAME.perfetto-trace (perfetto)\n"
    "  -r, --report NAMES        stats: which reports, with commas; `help` lists them\n"
    "      --format FORM         stats: table, csv or json (also --json)\n"
    "      --html[=FILE]         also a page with a timeline (default: NAME.html)\n"
    "      --page-events N       of its timeline, the most (default: 3000000)\n"
    "  -t, --type TYPE           export: chrome, perfetto or html\n"
    "\n"
    "what kernels execute, with --kernel as the first option (names are Nsight Compute's):\n"
    "  -k, --kernel-name NAME    only kernels of this name; regex:EXPRESSION: in whose name it is\n"
    "  -s, --launch-skip N       not the first N launches of those\n"
    "  -c, --launch-count N      and N launches at most\n"
    "      --nvtx-include RANGES only launches in these NVTX ranges: NAME/ a pushed one, A/B one "
    "in the\n"
    "                            other, NAME a started one, DOMAIN@...; more than once: in any\n"
    "      --nvtx-exclude RANGES and not in these\n"
    "      --section NAMES       what to print, with commas; --list-sections\n"
    "      --metrics NAMES       likewise; --query-metrics\n"
    "      --page PAGE           details (the default), raw, or source: a row for each line\n"
    "      --csv                 as Nsight Compute writes it; --json\n"
    "      --print-summary HOW   per-kernel: equal launches together, with medians (the default);\n"
    "                            none: each by itself, as CSV and JSON have them always\n"
    "      --roofline HOST       peaks to compare with: kept (the default: measured once, in a\n"
    "                            third of a second), again, or none\n"
    "      --host-counters       also what threads of the host do for launches: processor time,\n"
    "                            page faults; cycles, instructions, cache and branch misses where\n"
    "                            the kernel permits\n"
    "\n"
    "  -h, --help                this text\n"
    "\n"
    "exit status: the program's; 1 there is no report, 2 wrong usage, 126 the program cannot be "
    "run,\n"
    "127 it was not found\n";

enum {
    OPT_SKIP = 256,
    OPT_COUNT,
    OPT_LIMIT,
    OPT_SAMPLE,
    OPT_DEPTH,
    OPT_WAIT,
    OPT_STATS,
    OPT_EXPORT,
    OPT_FORMAT,
    OPT_JSON,
    OPT_HTML,
    OPT_EVENTS,
    OPT_KERNEL,
    OPT_SECTION,
    OPT_METRICS,
    OPT_PAGE,
    OPT_CSV,
    OPT_SUMMARY,
    OPT_ROOFLINE,
    OPT_HOST,
    OPT_NVTX,
    OPT_INCLUDE,
    OPT_EXCLUDE,
    OPT_NO_SHOW,
    OPT_QUIET,
    OPT_RANGE_END,
    OPT_LIST_SECTIONS,
    OPT_QUERY_METRICS,
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"force-overwrite", no_argument, NULL, 'f'},
    {"capture-range", required_argument, NULL, 'c'},
    {"nvtx-capture", required_argument, NULL, 'p'},
    {"delay", required_argument, NULL, 'y'},
    {"duration", required_argument, NULL, 'd'},
    {"launch-skip", required_argument, NULL, OPT_SKIP},
    {"launch-count", required_argument, NULL, OPT_COUNT},
    {"limit", required_argument, NULL, OPT_LIMIT},
    {"sample", optional_argument, NULL, OPT_SAMPLE},
    {"sample-depth", required_argument, NULL, OPT_DEPTH},
    {"wait", required_argument, NULL, OPT_WAIT},
    {"stats", no_argument, NULL, OPT_STATS},
    {"export", required_argument, NULL, OPT_EXPORT},
    {"report", required_argument, NULL, 'r'},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"json", no_argument, NULL, OPT_JSON},
    {"html", optional_argument, NULL, OPT_HTML},
    {"page-events", required_argument, NULL, OPT_EVENTS},
    {"type", required_argument, NULL, 't'},
    {"trace", required_argument, NULL, 't'},
    {"kernel", no_argument, NULL, OPT_KERNEL},
    {"kernel-name", required_argument, NULL, 'k'},
    {"section", required_argument, NULL, OPT_SECTION},
    {"metrics", required_argument, NULL, OPT_METRICS},
    {"page", required_argument, NULL, OPT_PAGE},
    {"csv", no_argument, NULL, OPT_CSV},
    {"print-summary", required_argument, NULL, OPT_SUMMARY},
    {"roofline", required_argument, NULL, OPT_ROOFLINE},
    {"host-counters", no_argument, NULL, OPT_HOST},
    {"nvtx", no_argument, NULL, OPT_NVTX},
    {"nvtx-include", required_argument, NULL, OPT_INCLUDE},
    {"nvtx-exclude", required_argument, NULL, OPT_EXCLUDE},
    {"no-show", no_argument, NULL, OPT_NO_SHOW},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"capture-range-end", required_argument, NULL, OPT_RANGE_END},
    {"list-sections", no_argument, NULL, OPT_LIST_SECTIONS},
    {"query-metrics", no_argument, NULL, OPT_QUERY_METRICS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

#define SAMPLE_HZ    1000u /* Nsight Systems' */
#define REPORTS_MANY 3     /* that nobody named: it is told how they go */

struct prof_args {
    const char *output, *capture, *range, *report, *type, *exports, *html;
    uint64_t page_events, delay_ms, duration_ms, skip, count, limit_MiB;
    uint64_t sample_Hz, depth; /* 0: no samples; the recorder's depth */
    enum prof_format format;
    bool overwrite, primary, stats, page, osrt;
    bool host, once;
    bool no_show,
        quiet; /* for `heddle ncu` and `advise`: kernels are not shown; the report is not named */
    struct hd_buf ranges; /* words of HEDDLE_COUNT */
    bool kernel;          /* with counters: of these launches, and what is shown */
    const char *kernel_name;
    struct prof_kernel_view view;
    enum prof_roofline roofline;
    char **rest; /* what follows the options */
};

/* ---- options */

static bool bad_value(const char *option, const char *value)
{
    cli_usage("%s: '%s' is not possible", option, value);
    return false;
}

static bool read_number(const char *option, const char *text, uint64_t *out)
{
    return hd_str_to_u64((struct hd_str){text, strlen(text)}, 10, out) || bad_value(option, text);
}

/* Seconds, with a fraction, as milliseconds. */
static bool read_seconds(const char *option, const char *text, uint64_t *out_ms)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end || !(seconds >= 0 && seconds < 1e9))
        return bad_value(option, text);
    *out_ms = (uint64_t)(seconds * 1e3);
    return true;
}

static bool read_capture(struct prof_args *args)
{
    static const char *const words[][2] = {
        {"none", "always"}, {"cudaProfilerApi", "api"}, {"nvtx", "nvtx"}};

    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        if (!strcmp(optarg, words[i][0])) {
            args->capture = words[i][1];
            return true;
        }
    return bad_value("--capture-range", optarg);
}

/* The number of the word. */
static bool read_choice(const char *option, const char *const *words, size_t n, unsigned *out)
{
    for (*out = 0; *out < n; ++*out)
        if (!strcmp(optarg, words[*out]))
            return true;
    return bad_value(option, optarg);
}

static bool read_format(struct prof_args *args)
{
    unsigned format;
    bool good = read_choice("--format", prof_format_words, PROF_FORMAT_COUNT, &format);

    args->format = (enum prof_format)format;
    return good;
}

static bool read_word(const char *option, const char *first, const char *second,
                      bool *out_is_second)
{
    *out_is_second = !strcmp(optarg, second);
    return *out_is_second || !strcmp(optarg, first) || bad_value(option, optarg);
}

static bool read_page(struct prof_args *args)
{
    static const char *const words[] = {[PROF_KERNEL_DETAILS] = "details",
                                        [PROF_KERNEL_RAW] = "raw",
                                        [PROF_KERNEL_SOURCE] = "source"};
    unsigned page;
    bool good = read_choice("--page", words, HD_COUNT_OF(words), &page);

    args->view.page = (enum prof_kernel_page)page;
    return good;
}

static bool read_roofline(struct prof_args *args)
{
    static const char *const words[] = {[PROF_ROOFLINE_KEPT] = "kept",
                                        [PROF_ROOFLINE_AGAIN] = "again",
                                        [PROF_ROOFLINE_NONE] = "none"};
    unsigned roofline;
    bool good = read_choice("--roofline", words, HD_COUNT_OF(words), &roofline);

    args->roofline = (enum prof_roofline)roofline;
    return good;
}

#define REGEX "regex:"

static bool read_kernel_name(struct prof_args *args)
{
    const char *expression = !strncmp(optarg, REGEX, strlen(REGEX)) ? optarg + strlen(REGEX) : NULL;
    regex_t regex;

    args->kernel_name = optarg;
    if (!*optarg || strchr(optarg, ';') || strlen(optarg) > 255)
        return bad_value("--kernel-name", optarg);
    if (!expression)
        return true;
    if (!*expression || hd_regex_compile(&regex, expression))
        return bad_value("--kernel-name", optarg);
    regfree(&regex);
    return true;
}

static bool read_ranges(const char *option, const char *word, struct prof_args *args)
{
    if (strchr(optarg, ';'))
        return bad_value(option, optarg);
    if (prof_kernel_check_ranges(optarg) != HD_OK) {
        cli_error("%s: %s", option, hd_error_message());
        return false;
    }
    hd_buf_printf(&args->ranges, "%s%s;", word, optarg);
    return true;
}

/* What --kernel gives another meaning, or any. */
static bool take_kernel_option(int option, struct prof_args *args)
{
    switch (option) {
    case 'k':
        return read_kernel_name(args);
    case 's':
        return read_number("--launch-skip", optarg, &args->skip);
    case 'c':
    case OPT_COUNT:
        return read_number("--launch-count", optarg, &args->count) &&
               (args->count || bad_value("--launch-count", optarg));
    case OPT_INCLUDE:
        return read_ranges("--nvtx-include", "include=", args);
    case OPT_EXCLUDE:
        return read_ranges("--nvtx-exclude", "exclude=", args);
    default:
        return false;
    }
}

static bool take_view_option(int option, struct prof_args *args)
{
    switch (option) {
    case OPT_SECTION:
        args->view.sections = optarg;
        return *optarg || bad_value("--section", optarg);
    case OPT_METRICS:
        args->view.metrics = optarg;
        return *optarg || bad_value("--metrics", optarg);
    case OPT_PAGE:
        return read_page(args);
    case OPT_CSV:
        args->format = PROF_CSV;
        return true;
    case OPT_SUMMARY:
        return read_word("--print-summary", "per-kernel", "none", &args->view.is_each);
    default:
        return false;
    }
}

static bool is_view_option(int option)
{
    return option == OPT_SECTION || option == OPT_METRICS || option == OPT_PAGE ||
           option == OPT_CSV || option == OPT_SUMMARY;
}

static bool take_option(int option, struct prof_args *args)
{
    if (is_view_option(option))
        return take_view_option(option, args);
    if (args->kernel && (option == 'k' || option == 's' || option == 'c' || option == OPT_COUNT ||
                         option == OPT_INCLUDE || option == OPT_EXCLUDE))
        return take_kernel_option(option, args);
    if (option == OPT_INCLUDE || option == OPT_EXCLUDE) {
        cli_error("--nvtx-include and --nvtx-exclude belong to --kernel, which comes first; "
                  "see --nvtx-capture");
        return false;
    }
    if (option == 'k' || option == 's') {
        cli_error("-%c belongs to --kernel, which comes first", option);
        return false;
    }
    switch (option) {
    case OPT_KERNEL:
        return args->kernel = true;
    case OPT_HOST:
        return args->host = true;
    case OPT_NVTX: /* ranges are always recorded */
        return true;
    case OPT_NO_SHOW:
        return args->no_show = true;
    case OPT_QUIET:
        return args->quiet = true;
    case OPT_RANGE_END:
        return read_word("--capture-range-end", "repeat", "stop", &args->once);
    case OPT_ROOFLINE:
        return read_roofline(args);
    case 'o':
        args->output = optarg;
        return *optarg || bad_value("--output", optarg);
    case 'f':
        return args->overwrite = true;
    case 'c':
        return read_capture(args);
    case 'p':
        args->range = optarg;
        return (*optarg && !strchr(optarg, ';') && strlen(optarg) < 256) ||
               bad_value("--nvtx-capture", optarg);
    case 'y':
        return read_seconds("--delay", optarg, &args->delay_ms);
    case 'd':
        return read_seconds("--duration", optarg, &args->duration_ms);
    case OPT_SKIP:
        return read_number("--launch-skip", optarg, &args->skip);
    case OPT_COUNT:
        return read_number("--launch-count", optarg, &args->count);
    case OPT_LIMIT:
        return read_number("--limit", optarg, &args->limit_MiB) &&
               ((args->limit_MiB && args->limit_MiB < UINT64_C(1) << 30) ||
                bad_value("--limit", optarg));
    case OPT_SAMPLE:
        args->sample_Hz = SAMPLE_HZ;
        return !optarg || (read_number("--sample", optarg, &args->sample_Hz) &&
                           ((args->sample_Hz && args->sample_Hz <= PROF_SAMPLE_HZ_MAX) ||
                            bad_value("--sample", optarg)));
    case OPT_DEPTH:
        return read_number("--sample-depth", optarg, &args->depth) &&
               ((args->depth && args->depth <= PROF_DEPTH_MAX) ||
                bad_value("--sample-depth", optarg));
    case OPT_WAIT:
        return read_word("--wait", "all", "primary", &args->primary);
    case OPT_STATS:
        return args->stats = true;
    case OPT_EXPORT:
        args->exports = optarg;
        return true;
    case 'r':
        args->report = optarg;
        return true;
    case OPT_FORMAT:
        return read_format(args);
    case OPT_JSON:
        args->format = PROF_JSON;
        return true;
    case OPT_HTML:
        args->html = optarg;
        args->page = true;
        return !optarg || *optarg || bad_value("--html", optarg);
    case OPT_EVENTS:
        return read_number("--page-events", optarg, &args->page_events) &&
               (args->page_events < UINT64_C(1) << 40 || bad_value("--page-events", optarg));
    case 't':
        args->type = optarg;
        return true;
    default:
        return false;
    }
}

/* -1, or an exit status. */
static int parse(int argc, char **argv, struct prof_args *args)
{
    int option;

    *args = (struct prof_args){
        .capture = "always", .limit_MiB = 65536, .page_events = PROF_PAGE_EVENTS};
    if (cli_json())
        args->format = PROF_JSON;
    optind = 1;
    while ((option = cli_getopt(argc, argv, "+o:fc:p:y:d:r:t:k:s:h", options)) != -1) {
        if (option == 'h')
            return cli_help(help);
        if (option == OPT_LIST_SECTIONS || option == OPT_QUERY_METRICS) {
            (option == OPT_QUERY_METRICS ? prof_kernel_list_metrics
                                         : prof_kernel_list_sections)(stdout);
            return CLI_OK;
        }
        if (!take_option(option, args))
            return CLI_USAGE;
    }
    args->rest = argv + optind;
    if (!strcmp(args->capture, "nvtx") != !!args->range) {
        cli_error("--capture-range nvtx and --nvtx-capture need each other");
        return CLI_USAGE;
    }
    if (args->host && !args->kernel) {
        cli_error("--host-counters belongs to --kernel, which comes first");
        return CLI_USAGE;
    }
    if (args->depth && !args->sample_Hz) {
        cli_error("--sample-depth belongs to --sample");
        return CLI_USAGE;
    }
    args->view.format = args->format;
    if (prof_kernel_check(&args->view) != HD_OK) {
        cli_error("%s", hd_error_message());
        return CLI_USAGE;
    }
    return -1;
}

/* What --trace names. */
static bool read_trace(const char *words, bool *out_osrt)
{
    static const char *const known[] = {"osrt", "cuda", "nvtx", "none"};

    for (const char *word = words; word && *word;) {
        size_t len = strcspn(word, ","), i = 0;

        while (i < HD_COUNT_OF(known) && (strlen(known[i]) != len || memcmp(word, known[i], len)))
            i++;
        if (i == HD_COUNT_OF(known))
            return bad_value("--trace", words);
        *out_osrt = *out_osrt || !i;
        word += len + (word[len] == ',');
    }
    return true;
}

/* ---- files */

static char *name_with(const char *name, const char *suffix)
{
    size_t len = strlen(name), suffix_len = strlen(suffix);
    bool has = len > suffix_len && !strcmp(name + len - suffix_len, suffix);
    char *path = hd_alloc(len + suffix_len + 1);

    if (path)
        (void)snprintf(path, len + suffix_len + 1, "%s%s", name, has ? "" : suffix);
    return path;
}

/* *out_earlier: how many of these names are taken. */
static char *name_free(unsigned *out_earlier)
{
    char name[32];

    for (int i = 1; i < 1000000; i++) {
        *out_earlier = (unsigned)i - 1;
        (void)snprintf(name, sizeof(name), "report%d.sqlite", i);
        if (access(name, F_OK))
            break;
    }
    return name_with(name, ".sqlite");
}

/* The report's path; NULL after a message. *out_earlier: reports that nobody named. */
static char *choose_report(const struct prof_args *args, unsigned *out_earlier)
{
    *out_earlier = 0;
    char *path = args->output ? name_with(args->output, ".sqlite") : name_free(out_earlier);

    if (path && !args->overwrite && !access(path, F_OK)) {
        cli_error("%s exists; --force-overwrite replaces it", path);
        hd_free(path);
        return NULL;
    }
    if (!path)
        cli_error("out of memory");
    return path;
}

/* ---- the program */

static bool set_recorder(const struct prof_args *args, const char *folder)
{
    struct hd_buf text = {0};
    const char *driver = where_library(WHERE_CUDA);

    assert(*folder == '/'); /* the program may change its folder */
    hd_buf_printf(&text, "capture=%s;", args->capture);
    if (args->range)
        hd_buf_printf(&text, "range=%s;", args->range);
    if (args->once)
        hd_buf_puts(&text, "once;");
    if (args->sample_Hz)
        hd_buf_printf(&text, "sample=%llu;", (unsigned long long)args->sample_Hz);
    if (args->depth)
        hd_buf_printf(&text, "depth=%llu;", (unsigned long long)args->depth);
    hd_buf_printf(&text, "delay=%llu;duration=%llu;skip=%llu;count=%llu;limit=%llu;dir=%s",
                  (unsigned long long)args->delay_ms, (unsigned long long)args->duration_ms,
                  (unsigned long long)(args->kernel ? 0 : args->skip),
                  (unsigned long long)(args->kernel ? 0 : args->count),
                  (unsigned long long)args->limit_MiB << 20, folder);
    bool good = !text.failed && setenv("HEDDLE_PROF", text.ptr, 1) == 0 && driver &&
                setenv("NVTX_INJECTION64_PATH", driver, 0) == 0;
    hd_buf_fini(&text);
    return good;
}

/* What stands in front of the C library. */
static bool set_front(bool is_wanted, enum where_library which)
{
    const char *library = is_wanted ? where_library(which) : NULL;

    if (!is_wanted)
        return true;
    if (!library)
        cli_error("%s not found; set HEDDLE_LIBDIR", where_library_file(which));
    return library && run_prepend("LD_PRELOAD", library);
}

static bool set_counters(const struct prof_args *args, const char *folder)
{
    const char *name = args->kernel_name;
    bool is_regex = name && !strncmp(name, REGEX, strlen(REGEX));
    struct hd_buf text = {0};

    assert(args->kernel && *folder == '/');
    if (name)
        hd_buf_printf(&text, "%s=%s;", is_regex ? "regex" : "name",
                      is_regex ? name + strlen(REGEX) : name);
    if (args->ranges.len)
        hd_buf_puts(&text, args->ranges.ptr);
    if (args->host)
        hd_buf_puts(&text, "host;");
    hd_buf_printf(&text, "skip=%llu;count=%llu;dir=%s", (unsigned long long)args->skip,
                  (unsigned long long)args->count, folder);
    bool good = !text.failed && !args->ranges.failed && setenv("HEDDLE_COUNT", text.ptr, 1) == 0;
    hd_buf_fini(&text);
    return good;
}

struct program {
    const struct prof_args *args;
    const char *path, *folder;
};

/* In the child: an exit status when the program cannot be executed. */
static int program_become(const void *state)
{
    const struct program *p = state;
    const struct prof_args *args = p->args;

    if (!set_recorder(args, p->folder) || (args->kernel && !set_counters(args, p->folder)) ||
        run_set_environment() || !set_front(args->osrt, WHERE_OSRT) ||
        !set_front(args->sample_Hz, WHERE_THREADS))
        return RUN_CANNOT;
    return run_execute(p->path, args->rest);
}

/* ---- what is made of it */

static const struct export
{
    const char *type, *suffix;
}
exports[] = {{"chrome", ".json"}, {"perfetto", ".perfetto-trace"}, {"html", ".html"}};

static enum hd_status write_export(const struct prof_args *args, const char *type,
                                   const char *report, const char *to)
{
    if (!strcmp(type, "chrome"))
        return prof_trace_chrome(report, to);
    if (!strcmp(type, "perfetto"))
        return prof_trace_perfetto(report, to);
    return prof_page(report, to, args->page_events);
}

/* The name of an export: the report's, or `to`; NULL when there is no memory. */
static char *export_name(const char *report, const char *to, const char *suffix)
{
    size_t len = strlen(report);
    const size_t own = strlen(".sqlite");
    HD_AUTOFREE char *base = hd_alloc(len + 1);

    if (!base)
        return NULL;
    memcpy(base, report, len + 1);
    if (len > own && !strcmp(base + len - own, ".sqlite"))
        base[len - own] = '\0';
    return name_with(to ? to : base, suffix);
}

static enum hd_status export_one(const struct prof_args *args, const char *type, const char *report,
                                 const char *to)
{
    size_t i = 0;

    while (i < HD_COUNT_OF(exports) && strcmp(exports[i].type, type) != 0)
        i++;
    if (i == HD_COUNT_OF(exports))
        return hd_error(HD_BAD_ARG, "there is no type '%s': chrome, perfetto, html", type);
    HD_AUTOFREE char *made = export_name(report, to, exports[i].suffix);
    if (!made)
        return hd_error(HD_NO_MEMORY, "out of memory");
    HD_TRY(write_export(args, type, report, made));
    fprintf(stderr, "heddle: %s\n", made);
    return HD_OK;
}

static enum hd_status export_all(const struct prof_args *args, const char *report)
{
    const char *types = args->exports;

    while (types && *types) {
        char type[16];
        size_t len = strcspn(types, ",");
        (void)snprintf(type, sizeof(type), "%.*s", (int)len, types);
        HD_TRY(export_one(args, type, report, NULL));
        types += len;
        types += *types == ',';
    }
    return args->page ? export_one(args, "html", report, args->html) : HD_OK;
}

static void print_made(const struct prof_totals *t, const char *report, bool is_quiet)
{
    if (!is_quiet)
        fprintf(stderr,
                "heddle: %s: %llu kernels, %llu copies and fills, %llu calls, %llu ranges of %llu "
                "processes\n",
                report, (unsigned long long)t->kernels, (unsigned long long)(t->copies + t->fills),
                (unsigned long long)t->calls, (unsigned long long)t->ranges,
                (unsigned long long)t->processes);
    if (t->samples && !is_quiet)
        fprintf(stderr, "heddle: %llu samples of host code, %.1f s of processor time\n",
                (unsigned long long)t->samples, (double)t->sampled_ns / 1e9);
    if (t->lost)
        cli_error("%llu records found no room", (unsigned long long)t->lost);
    if (t->incomplete)
        cli_error("%llu kernels, copies or fills had not ended: they are not in the report",
                  (unsigned long long)t->incomplete);
    if (t->damaged)
        cli_error("%llu blocks of the recording are damaged", (unsigned long long)t->damaged);
}

/* A program none of whose launches were chosen has a report all the same. */
static int show_kernels(const struct prof_args *args, const char *report)
{
    enum hd_status status = prof_kernel_show(report, &args->view, stdout);

    if (status != HD_OK)
        (void)cli_error("%s", hd_error_message());
    return status == HD_OK || status == HD_NOT_FOUND ? CLI_OK : CLI_FAILED;
}

static int show_report(const struct prof_args *args, const char *report,
                       const struct prof_totals *totals)
{
    print_made(totals, report, args->quiet);
    if (export_all(args, report) != HD_OK ||
        (args->stats && prof_stats(report, args->report, args->format, stdout) != HD_OK))
        return cli_error("%s", hd_error_message());
    int code = args->kernel && !args->no_show ? show_kernels(args, report) : CLI_OK;
    return fflush(stdout) ? cli_error("%s", strerror(errno)) : code;
}

static int profile(const struct prof_args *args, const char *path)
{
    unsigned earlier;
    HD_AUTOFREE char *report = choose_report(args, &earlier);
    char *folder = report ? prof_session_begin(report) : NULL;
    struct prof_totals totals;

    assert(args->rest[0] && (!args->output || !earlier));
    if (!folder)
        return CLI_FAILED;
    struct program program = {.args = args, .path = path, .folder = folder};
    int code = prof_session_run(program_become, &program, !args->primary);
    bool is_made = prof_build(folder, args->rest, report, args->roofline, &totals) == HD_OK;
    if (!is_made)
        cli_error("%s", hd_error_message());
    /* Before anything is shown: a reader that goes away ends this process. */
    prof_session_end(folder, !is_made && code != RUN_CANNOT && code != RUN_NOT_FOUND);
    int shown = is_made ? show_report(args, report, &totals) : CLI_FAILED;
    if (is_made && earlier >= REPORTS_MANY)
        cli_note("there are %u reports of earlier runs: -o NAME names one, -f replaces it, and "
                 "`rm report*.sqlite` removes all",
                 earlier);
    return code ? code : shown;
}

/* ---- commands */

static bool is_page(const char *name)
{
    size_t length = strlen(name);

    return length > 5 && strcmp(name + length - 5, ".html") == 0;
}

static int cmd_program(const struct prof_args *args)
{
    HD_AUTOFREE char *program = run_find_program(args->rest[0]);

    if (!program && args->page && !args->html && is_page(args->rest[0]))
        return cli_usage("%s: not found; did you mean --html=%s?", args->rest[0], args->rest[0]);
    if (!program)
        return run_not_found(args->rest[0]);
    return run_check_program(program) ? CLI_FAILED : profile(args, program);
}

static int one_argument(const struct prof_args *args, const char *what)
{
    if (args->rest[0] && !args->rest[1])
        return CLI_OK;
    return cli_usage("which %s?", what);
}

static int cmd_stats(const struct prof_args *args)
{
    if (args->report && !strcmp(args->report, "help")) {
        prof_stats_list(stdout);
        return CLI_OK;
    }
    if (one_argument(args, "file"))
        return CLI_USAGE;
    if (prof_stats(args->rest[0], args->report, args->format, stdout) != HD_OK)
        return cli_error("%s", hd_error_message());
    return fflush(stdout) ? cli_error("%s", strerror(errno)) : CLI_OK;
}

static int cmd_kernels(const struct prof_args *args)
{
    if (one_argument(args, "file"))
        return CLI_USAGE;
    if (prof_kernel_show(args->rest[0], &args->view, stdout) != HD_OK)
        return cli_error("%s", hd_error_message());
    return fflush(stdout) ? cli_error("%s", strerror(errno)) : CLI_OK;
}

static int cmd_export(const struct prof_args *args)
{
    if (one_argument(args, "file"))
        return CLI_USAGE;
    if (!args->type) {
        cli_error("export: --type chrome, perfetto, or html?");
        return CLI_USAGE;
    }
    return export_one(args, args->type, args->rest[0], args->output) == HD_OK
               ? CLI_OK
               : cli_error("%s", hd_error_message());
}

static int cmd_recover(const struct prof_args *args)
{
    if (one_argument(args, "folder"))
        return CLI_USAGE;
    unsigned earlier;
    HD_AUTOFREE char *report = choose_report(args, &earlier);
    struct prof_totals totals;

    if (!report)
        return CLI_FAILED;
    if (prof_build(args->rest[0], NULL, report, args->roofline, &totals) != HD_OK)
        return cli_error("%s", hd_error_message());
    return show_report(args, report, &totals);
}

int cmd_prof(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const struct prof_args *args);
    } commands[] = {{"stats", cmd_stats},
                    {"kernels", cmd_kernels},
                    {"export", cmd_export},
                    {"recover", cmd_recover}};
    int (*run)(const struct prof_args *args) = cmd_program;
    struct prof_args args;

    if (argc > 1 && !strcmp(argv[1], "diff"))
        return prof_diff(argc - 1, argv + 1);
    for (size_t i = 0; argc > 1 && i < HD_COUNT_OF(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            run = commands[i].run;
    bool has = run != cmd_program;
    int code = parse(argc - has, argv + has, &args);
    if (code >= 0)
        return code;
    if (run == cmd_program && !read_trace(args.type, &args.osrt))
        return CLI_USAGE;
    if (run == cmd_program && !args.rest[0])
        return cli_usage("which program?");
    return run(&args);
}
