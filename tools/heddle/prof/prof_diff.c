/* See prof_diff.h: reading, comparing, and the command. */
#include "prof/prof_diff.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
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

const char *const diff_kind_words[DIFF_KIND_COUNT] = {
    [DIFF_KERNEL] = "kernel", [DIFF_COPY] = "copy", [DIFF_API] = "api", [DIFF_NVTX] = "nvtx"};
const char *const diff_verdict_words[] = {
    [DIFF_SAME] = "same", [DIFF_SLOWER] = "slower", [DIFF_FASTER] = "faster",
    [DIFF_FEW] = "few",   [DIFF_NEW] = "new",       [DIFF_GONE] = "gone"};

struct args {
    enum prof_format format;
    bool by_grid, exact, only[DIFF_KIND_COUNT];
    uint64_t max_rows;
    double gate, min_share;
    const char *html;
    char **rest;
};

/* ---- reading: name and duration of each instance; `%s` is what --by-grid adds to a name */

#define STRING(column) "(SELECT value FROM StringIds WHERE id = " column ")"
#define GRID                                                                                       \
    " || printf(' <<<(%d,%d,%d),(%d,%d,%d)>>>', gridX, gridY, gridZ, blockX, blockY, blockZ)"

static const char *const queries[DIFF_KIND_COUNT] = {
    [DIFF_KERNEL] =
        "SELECT " STRING("demangledName") "%s, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL",
    [DIFF_COPY] =
        "SELECT '[CUDA memcpy ' || coalesce((SELECT label FROM ENUM_CUDA_MEMCPY_OPER WHERE id = "
        "copyKind), 'Unknown') || ']', end - start FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL "
        "SELECT '[CUDA memset]', end - start FROM CUPTI_ACTIVITY_KIND_MEMSET",
    [DIFF_API] =
        "SELECT display_name(" STRING("nameId") "), end - start FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    [DIFF_NVTX] = "SELECT coalesce(d.text, '') || ':' || coalesce(n.text, " STRING(
        "n.textId") ", ''), n.end - n.start FROM NVTX_EVENTS n LEFT JOIN (SELECT DISTINCT "
                    "domainId, globalTid >> 24 AS process, text FROM NVTX_EVENTS WHERE "
                    "eventType = 75) d ON d.domainId = n.domainId AND d.process = n.globalTid "
                    ">> 24 WHERE n.end IS NOT NULL AND n.eventType IN (59, 60)",
};

struct reading {
    struct diff *diff;
    struct hd_map names[DIFF_KIND_COUNT]; /* name: its row + 1 */
    const struct args *args;
    struct hd_buf name;
};

static struct diff_row *row_of(struct reading *r, enum diff_kind kind, const char *name)
{
    struct hd_str key = {name, strlen(name)};
    struct diff *d = r->diff;
    size_t at = (size_t)(uintptr_t)hd_map_get(&r->names[kind], key);

    if (at)
        return &d->rows.at[at - 1];
    struct diff_row row = {.kind = kind, .name = hd_alloc(key.len + 1), .p = 1, .superior = 0.5};
    if (!row.name)
        return NULL;
    memcpy(row.name, name, key.len + 1);
    key.ptr = row.name;
    if (!hd_vec_push(&d->rows, row)) {
        hd_free(row.name);
        return NULL;
    }
    return hd_map_put(&r->names[kind], key, (void *)(uintptr_t)d->rows.len) ? &hd_vec_last(&d->rows)
                                                                            : NULL;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/* Ranges are often called by what counts them: "step 12" is "step #". Kept until the next call. */
static const char *without_numbers(struct reading *r, const char *name)
{
    struct hd_buf *out = &r->name;

    hd_buf_clear(out);
    for (const char *at = name; *at;) {
        size_t digits = strspn(at, "0123456789");
        bool stands_alone = digits && (at == name || !is_word(at[-1])) && !is_word(at[digits]);
        if (stands_alone)
            hd_buf_putc(out, '#');
        else
            hd_buf_append(out, at, digits ? digits : 1);
        at += digits ? digits : 1;
    }
    return out->failed ? NULL : out->len ? out->ptr : "";
}

/* An instance without a time does not count: a damaged file may have such. */
static bool add(struct reading *r, enum diff_kind kind, bool is_b, sqlite3_stmt *at)
{
    if (sqlite3_column_type(at, 1) != SQLITE_INTEGER || sqlite3_column_int64(at, 1) < 0)
        return true;
    const char *name = prof_db_text(at, 0);
    if (kind == DIFF_NVTX && !r->args->exact)
        name = without_numbers(r, name);
    struct diff_row *row = name ? row_of(r, kind, name) : NULL;
    struct diff_side *side = !row ? NULL : is_b ? &row->b : &row->a;
    double duration_ns = (double)sqlite3_column_int64(at, 1);
    double *total = is_b ? r->diff->total_b_ns : r->diff->total_a_ns;

    if (!side || !hd_vec_push(&side->durations_ns, duration_ns))
        return false;
    side->total_ns += duration_ns;
    total[kind] += duration_ns;
    return true;
}

static enum hd_status read_kind(struct reading *r, sqlite3 *db, enum diff_kind kind, bool is_b)
{
    const char *path = is_b ? r->diff->path_b : r->diff->path_a;
    struct hd_buf sql = {0};
    sqlite3_stmt *row = NULL;
    int code = SQLITE_NOMEM;
    bool has_room = true;

    if (kind == DIFF_KERNEL)
        hd_buf_printf(&sql, queries[DIFF_KERNEL], r->args->by_grid ? GRID : "");
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
    for (enum diff_kind kind = 0; kind < DIFF_KIND_COUNT && status == HD_OK; kind++)
        if (r->args->only[kind])
            status = read_kind(r, db, kind, is_b);
    sqlite3_close(db);
    return status;
}

static enum hd_status read_both(const struct args *args, struct diff *out)
{
    struct reading r = {.diff = out, .args = args};

    for (size_t i = 0; i < DIFF_KIND_COUNT; i++)
        hd_map_init(&r.names[i]);
    enum hd_status status = read_report(&r, false);
    if (status == HD_OK)
        status = read_report(&r, true);
    for (size_t i = 0; i < DIFF_KIND_COUNT; i++)
        hd_map_fini(&r.names[i]);
    hd_buf_fini(&r.name);
    return status;
}

/* ---- comparing */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void side_sort(struct diff_side *side)
{
    size_t n = side->durations_ns.len;
    double *at = side->durations_ns.at;

    if (!n)
        return;
    qsort(at, n, sizeof(*at), by_value);
    side->median_ns = (at[(n - 1) / 2] + at[n / 2]) / 2;
}

static void row_compare(struct diff_row *row)
{
    size_t n = row->a.durations_ns.len, m = row->b.durations_ns.len;

    side_sort(&row->a);
    side_sort(&row->b);
    row->p =
        diff_mann_whitney(row->a.durations_ns.at, n, row->b.durations_ns.at, m, &row->superior);
    row->verdict = !n ? DIFF_NEW : !m ? DIFF_GONE : n < 4 || m < 4 ? DIFF_FEW : DIFF_SAME;
}

static int by_p(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;

    return (x->p > y->p) - (x->p < y->p);
}

static int by_change(const void *a, const void *b)
{
    const struct diff_row *x = a, *y = b;
    double dx = fabs(x->b.total_ns - x->a.total_ns), dy = fabs(y->b.total_ns - y->a.total_ns);

    if (dx != dy)
        return dx < dy ? 1 : -1;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

/* Holm: the smallest p first, each against what the tests that are left may share. */
static void judge(struct diff *d)
{
    size_t left = 0;

    for (size_t i = 0; i < d->rows.len; i++)
        left += d->rows.at[i].verdict == DIFF_SAME;
    if (d->rows.len)
        qsort(d->rows.at, d->rows.len, sizeof(d->rows.at[0]), by_p);
    for (size_t i = 0; i < d->rows.len; i++) {
        struct diff_row *row = &d->rows.at[i];
        if (row->verdict != DIFF_SAME)
            continue;
        if (row->p > DIFF_ALPHA / (double)left)
            break;
        row->verdict = row->superior > 0.5 ? DIFF_SLOWER : DIFF_FASTER;
        left--;
    }
}

static void compare(struct diff *d)
{
    for (size_t i = 0; i < d->rows.len; i++)
        row_compare(&d->rows.at[i]);
    judge(d);
    if (d->rows.len)
        qsort(d->rows.at, d->rows.len, sizeof(d->rows.at[0]), by_change);
    for (size_t i = 0; i < d->rows.len; i++)
        d->failures += diff_fails(d, &d->rows.at[i]);
}

static void diff_fini(struct diff *d)
{
    for (size_t i = 0; i < d->rows.len; i++) {
        hd_free(d->rows.at[i].name);
        hd_vec_fini(&d->rows.at[i].a.durations_ns);
        hd_vec_fini(&d->rows.at[i].b.durations_ns);
    }
    hd_vec_fini(&d->rows);
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
        while (kind < DIFF_KIND_COUNT && (strlen(diff_kind_words[kind]) != len ||
                                          memcmp(diff_kind_words[kind], at, len) != 0))
            kind++;
        if (kind == DIFF_KIND_COUNT)
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

static enum hd_status write_page(const struct diff *d, const char *path)
{
    struct hd_buf page = {0};

    diff_print_html(d, &page);
    enum hd_status status = page.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                        : hd_file_write(path, page.ptr, page.len);
    hd_buf_fini(&page);
    return status;
}

static bool print(const struct diff *d, const struct args *args)
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

static int run(const struct args *args, struct diff *d)
{
    if (read_both(args, d) != HD_OK)
        return cli_error("%s", hd_error_message());
    compare(d);
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
    struct diff d = {.path_a = args.rest[0],
                     .path_b = args.rest[1],
                     .gate = args.gate,
                     .min_share = args.min_share};
    code = run(&args, &d);
    diff_fini(&d);
    return code;
}
