/* See prof_diff.h: reading, comparing, and the command. */
#include "prof/prof_diff.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "common/cli.h"
#include "prof/prof_db.h"
#include "prof/prof_stats.h"

static const char help[] =
    "usage: heddle prof diff [OPTIONS] A B\n"
    "\n"
    "Compares two reports, ours or Nsight Systems': kernels, copies, calls and NVTX ranges by "
    "name,\n"
    "with counts, totals, medians, and whether their durations differ by more than chance\n"
    "(Mann-Whitney test, Holm's correction, 1 %). The largest changes of a total come first.\n"
    "\n"
    "  -g, --by-grid             kernels of other grids and blocks are others\n"
    "  -k, --only KINDS          of kernel, copy, api, nvtx, with commas (default: all)\n"
    "  -x, --exact               NVTX ranges by their whole names; otherwise numbers that are "
    "words\n"
    "                            of their own (\"step 12\", \"seq = 7\") are all the same\n"
    "  -n, --rows N              the most rows of a table (default: 40; 0: all)\n"
    "      --format FORM         table, csv or json (also --csv, --json); these have all rows\n"
    "      --html FILE           also a page\n"
    "      --fail-above PERCENT  exit status 3 when something takes more than PERCENT longer:\n"
    "                            a total that grew so much because instances are slower by more\n"
    "                            than chance, or are more, or are new\n"
    "      --min-share PERCENT   of its kind's time, for --fail-above: less is left out (default: "
    "1)\n"
    "  -h, --help                this text\n"
    "\n"
    "exit status: 0; 1 a report cannot be read, 2 wrong usage, 3 see --fail-above\n";

const char *const diff_kind_words[REPORT_DIFF_KIND_COUNT] = {[REPORT_DIFF_KERNEL] = "kernel",
                                                             [REPORT_DIFF_COPY] = "copy",
                                                             [REPORT_DIFF_API] = "api",
                                                             [REPORT_DIFF_NVTX] = "nvtx"};
const char *const diff_verdict_words[] = {
    [REPORT_DIFF_SAME] = "same", [REPORT_DIFF_SLOWER] = "slower", [REPORT_DIFF_FASTER] = "faster",
    [REPORT_DIFF_FEW] = "few",   [REPORT_DIFF_NEW] = "new",       [REPORT_DIFF_GONE] = "gone"};

struct args {
    enum prof_format format;
    bool by_grid, exact, only[REPORT_DIFF_KIND_COUNT];
    uint64_t max_rows;
    double gate, min_share;
    const char *html;
    char **rest;
};

/* ---- reading: name and duration of each instance; `%s` is what --by-grid adds to a name */

#define STRING(column) "(SELECT value FROM StringIds WHERE id = " column ")"
#define GRID                                                                                       \
    " || printf(' <<<(%d,%d,%d),(%d,%d,%d)>>>', gridX, gridY, gridZ, blockX, blockY, blockZ)"

static const char *const queries[REPORT_DIFF_KIND_COUNT] = {
    [REPORT_DIFF_KERNEL] =
        "SELECT " STRING("demangledName") "%s, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL",
    [REPORT_DIFF_COPY] =
        "SELECT '[CUDA memcpy ' || coalesce((SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = "
        "copyKind), 'Unknown') || ']', end - start FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL "
        "SELECT '[CUDA memset]', end - start FROM CUPTI_ACTIVITY_KIND_MEMSET",
    [REPORT_DIFF_API] =
        "SELECT display_name(" STRING("nameId") "), end - start FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    [REPORT_DIFF_NVTX] = "SELECT coalesce(d.text, '') || ':' || coalesce(n.text, " STRING(
        "n.textId") ", ''), n.end - n.start FROM NVTX_EVENTS n LEFT JOIN (SELECT DISTINCT "
                    "domainId, globalTid >> 24 AS process, text FROM NVTX_EVENTS WHERE "
                    "eventType = 75) d ON d.domainId = n.domainId AND d.process = n.globalTid "
                    ">> 24 WHERE n.end IS NOT NULL AND n.eventType IN (59, 60)",
};

struct reading {
    struct report_diff *diff;
    const struct args *args;
    struct hd_buf name;
};

/* An instance without a time does not count: a damaged file may have such. */
static bool add(struct reading *r, enum report_diff_kind kind, bool is_b, sqlite3_stmt *at)
{
    if (sqlite3_column_type(at, 1) != SQLITE_INTEGER || sqlite3_column_int64(at, 1) < 0)
        return true;
    const char *name = prof_db_text(at, 0);
    if (kind == REPORT_DIFF_NVTX && !r->args->exact) {
        report_diff_without_numbers(name, &r->name);
        name = r->name.len ? r->name.ptr : "";
    }
    return !r->name.failed &&
           report_diff_add(r->diff, kind, name, is_b, (double)sqlite3_column_int64(at, 1));
}

static enum hd_status read_kind(struct reading *r, sqlite3 *db, enum report_diff_kind kind,
                                bool is_b)
{
    const char *path = is_b ? r->diff->path_b : r->diff->path_a;
    struct hd_buf sql = {0};
    sqlite3_stmt *row = NULL;
    int code = SQLITE_NOMEM;
    bool has_room = true;

    assert(kind < REPORT_DIFF_KIND_COUNT && queries[kind]);
    if (kind == REPORT_DIFF_KERNEL)
        hd_buf_printf(&sql, queries[REPORT_DIFF_KERNEL], r->args->by_grid ? GRID : "");
    else
        hd_buf_puts(&sql, queries[kind]);
    if (!sql.failed)
        code = sqlite3_prepare_v2(db, sql.ptr, -1, &row, NULL);
    while (row && has_room && (code = sqlite3_step(row)) == SQLITE_ROW)
        has_room = add(r, kind, is_b, row);
    hd_buf_fini(&sql);
    enum hd_status status = !has_room ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                            : code == SQLITE_DONE ? HD_OK
                                                  : prof_db_error(db, path);
    sqlite3_finalize(row);
    return status;
}

static enum hd_status read_report(struct reading *r, bool is_b)
{
    const char *path = is_b ? r->diff->path_b : r->diff->path_a;
    sqlite3 *db;

    HD_TRY(prof_db_open_report(path, &db));
    enum hd_status status = prof_stats_functions(db, path);
    for (enum report_diff_kind kind = 0; kind < REPORT_DIFF_KIND_COUNT && status == HD_OK; kind++)
        if (r->args->only[kind])
            status = read_kind(r, db, kind, is_b);
    sqlite3_close(db);
    return status;
}

static enum hd_status read_both(const struct args *args, struct report_diff *out)
{
    struct reading r = {.diff = out, .args = args};
    enum hd_status status = read_report(&r, false);

    if (status == HD_OK)
        status = read_report(&r, true);
    hd_buf_fini(&r.name);
    return status;
}

/* ---- the command */

enum { OPT_FORMAT = 256, OPT_CSV, OPT_JSON, OPT_HTML, OPT_GATE, OPT_SHARE, EXIT_GATE = 3 };

static const struct option options[] = {
    {"by-grid", no_argument, NULL, 'g'},
    {"only", required_argument, NULL, 'k'},
    {"exact", no_argument, NULL, 'x'},
    {"rows", required_argument, NULL, 'n'},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"csv", no_argument, NULL, OPT_CSV},
    {"json", no_argument, NULL, OPT_JSON},
    {"html", required_argument, NULL, OPT_HTML},
    {"fail-above", required_argument, NULL, OPT_GATE},
    {"min-share", required_argument, NULL, OPT_SHARE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool bad_value(const char *option)
{
    cli_usage("diff: %s: '%s' is not possible", option, optarg);
    return false;
}

static bool read_percent(const char *option, double *out)
{
    char *end;

    *out = strtod(optarg, &end);
    return (end != optarg && !*end && *out >= 0 && *out < 1e9) || bad_value(option);
}

static bool read_kinds(struct args *args)
{
    const char *at = optarg;

    memset(args->only, 0, sizeof(args->only));
    do {
        size_t len = strcspn(at, ","), kind = 0;
        while (kind < REPORT_DIFF_KIND_COUNT && (strlen(diff_kind_words[kind]) != len ||
                                                 memcmp(diff_kind_words[kind], at, len) != 0))
            kind++;
        if (kind == REPORT_DIFF_KIND_COUNT)
            return bad_value("--only");
        args->only[kind] = true;
        at += len;
    } while (*at++);
    return true;
}

static bool read_format(struct args *args)
{
    for (size_t i = 0; i < PROF_FORMAT_COUNT; i++)
        if (!strcmp(optarg, prof_format_words[i])) {
            args->format = (enum prof_format)i;
            return true;
        }
    return bad_value("--format");
}

static bool take_option(int option, struct args *args)
{
    switch (option) {
    case 'g':
        return args->by_grid = true;
    case 'k':
        return read_kinds(args);
    case 'x':
        return args->exact = true;
    case 'n':
        return hd_str_to_u64(hd_str_from(optarg), 10, &args->max_rows) || bad_value("--rows");
    case OPT_FORMAT:
        return read_format(args);
    case OPT_CSV:
        args->format = PROF_CSV;
        return true;
    case OPT_JSON:
        args->format = PROF_JSON;
        return true;
    case OPT_HTML:
        args->html = optarg;
        return *optarg || bad_value("--html");
    case OPT_GATE:
        return read_percent("--fail-above", &args->gate);
    case OPT_SHARE:
        return read_percent("--min-share", &args->min_share);
    default:
        return false;
    }
}

/* -1, or an exit status. */
static int parse(int argc, char **argv, struct args *args)
{
    int option;

    *args = (struct args){.only = {true, true, true, true}, .max_rows = 40, .gate = -1};
    args->min_share = 1;
    if (cli_json())
        args->format = PROF_JSON;
    optind = 1;
    while ((option = cli_getopt(argc, argv, "gk:n:xh", options)) != -1) {
        if (option == 'h')
            return cli_help(help);
        if (!take_option(option, args))
            return CLI_USAGE;
    }
    args->rest = argv + optind;
    if (argc - optind == 2)
        return -1;
    return cli_usage("diff: which two files?");
}

static enum hd_status write_page(const struct report_diff *d, const char *path)
{
    struct hd_buf page = {0};

    diff_print_html(d, &page);
    enum hd_status status = page.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                        : hd_file_write(path, page.ptr, page.len);
    hd_buf_fini(&page);
    return status;
}

static bool print(const struct report_diff *d, const struct args *args)
{
    switch (args->format) {
    case PROF_CSV:
        diff_print_csv(d, stdout);
        break;
    case PROF_JSON:
        if (!diff_print_json(d, stdout))
            return false;
        break;
    default:
        diff_print_table(d, args->max_rows ? args->max_rows : SIZE_MAX, stdout);
    }
    return fflush(stdout) == 0;
}

static int run(const struct args *args, struct report_diff *d)
{
    if (read_both(args, d) != HD_OK)
        return cli_error("%s", hd_error_message());
    report_diff_compare(d);
    assert(d->failures <= d->rows.len && (!d->failures || d->gate >= 0));
    if (!print(d, args))
        return cli_error("%s", strerror(errno));
    if (args->html && write_page(d, args->html) != HD_OK)
        return cli_error("%s", hd_error_message());
    if (!d->failures)
        return CLI_OK;
    cli_error("diff: %zu of the rows grew by more than %g %%", d->failures, d->gate);
    return EXIT_GATE;
}

int prof_diff(int argc, char **argv)
{
    struct args args;
    int code = parse(argc, argv, &args);

    if (code >= 0)
        return code;
    struct report_diff d = {.path_a = args.rest[0],
                            .path_b = args.rest[1],
                            .gate = args.gate,
                            .min_share = args.min_share};
    code = run(&args, &d);
    report_diff_fini(&d);
    return code;
}
