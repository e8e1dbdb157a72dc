/* See prof_diff.h: the comparison as text, CSV, JSON, and a page. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text/json.h"
#include "common/html.h"
#include "prof/prof_diff.h"
#include "prof/prof_stats.h"

/* "1.2 ms", with `out` of 16 bytes. */
static const char *time_text(double ns, char *out, size_t size_B)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double scaled = ns;
    size_t unit = 0;

    while (fabs(scaled) >= 1000 && unit + 1 < HD_COUNT_OF(units)) {
        scaled /= 1000;
        unit++;
    }
    (void)snprintf(out, size_B, unit ? "%.2f %s" : "%.0f %s", scaled, units[unit]);
    return out;
}

static const char *percent_text(double a, double b, char *out, size_t size_B)
{
    double percent = report_diff_percent(a, b);

    if (!isfinite(percent) || fabs(percent) >= 1e6)
        (void)snprintf(out, size_B, "%s", isfinite(percent) ? ">10^6 %" : "-");
    else
        (void)snprintf(out, size_B, "%+.1f %%", percent);
    return out;
}

static const char *p_text(const struct report_diff_row *row, char *out, size_t size_B)
{
    bool is_tested = row->verdict != REPORT_DIFF_NEW && row->verdict != REPORT_DIFF_GONE &&
                     row->verdict != REPORT_DIFF_FEW;

    assert(!is_tested || (row->p >= 0 && row->p <= 1));
    (void)snprintf(out, size_B, !is_tested ? "-" : row->p < 1e-4 ? "<0.0001" : "%.4f", row->p);
    return out;
}

/* ---- table */

static void table_kinds(const struct report_diff *d, FILE *out)
{
    char a[16], b[16], change[16], percent[16];

    for (size_t i = 0; i < REPORT_DIFF_KIND_COUNT; i++)
        if (d->total_a_ns[i] > 0 || d->total_b_ns[i] > 0)
            fprintf(out, "  %-8s %12s %12s %12s %10s\n", diff_kind_words[i],
                    time_text(d->total_a_ns[i], a, sizeof(a)),
                    time_text(d->total_b_ns[i], b, sizeof(b)),
                    time_text(d->total_b_ns[i] - d->total_a_ns[i], change, sizeof(change)),
                    percent_text(d->total_a_ns[i], d->total_b_ns[i], percent, sizeof(percent)));
}

static void table_row(const struct report_diff *d, const struct report_diff_row *row, FILE *out)
{
    char text[7][16];
    const size_t size_B = sizeof(text[0]);

    fprintf(
        out, "  %-8s %8zu %8zu %12s %12s %10s %11s %11s %10s %8s  %-6s %s%s\n",
        diff_kind_words[row->kind], row->a.durations_ns.len, row->b.durations_ns.len,
        time_text(row->a.total_ns, text[0], size_B), time_text(row->b.total_ns, text[1], size_B),
        percent_text(row->a.total_ns, row->b.total_ns, text[2], size_B),
        time_text(row->a.median_ns, text[3], size_B), time_text(row->b.median_ns, text[4], size_B),
        percent_text(row->a.median_ns, row->b.median_ns, text[5], size_B),
        p_text(row, text[6], size_B), diff_verdict_words[row->verdict],
        report_diff_fails(d, row) ? "FAILS " : "", row->name);
}

void diff_print_table(const struct report_diff *d, size_t max_rows, FILE *out)
{
    size_t n = HD_MIN(d->rows.len, max_rows);

    fprintf(out, "A: %s\nB: %s\n\n  %-8s %12s %12s %12s %10s\n", d->path_a, d->path_b, "Sums", "A",
            "B", "B - A", "Change");
    table_kinds(d, out);
    fprintf(out, "\n  %-8s %8s %8s %12s %12s %10s %11s %11s %10s %8s  %-6s %s\n", "Kind", "Count A",
            "Count B", "Total A", "Total B", "Change", "Median A", "Median B", "Change", "p", "",
            "Name");
    for (size_t i = 0; i < n; i++)
        table_row(d, &d->rows.at[i], out);
    if (n < d->rows.len)
        fprintf(out, "  ... %zu more with smaller changes\n", d->rows.len - n);
    fprintf(out, "\nslower, faster: by more than chance explains (Mann-Whitney test of the "
                 "durations, Holm's\ncorrection, 1 %%); few: under four instances, not tested.\n");
}

/* ---- CSV and JSON */

static void csv_number(double value, FILE *out)
{
    if (isfinite(value))
        fprintf(out, "%.6g", value);
    fputc(',', out);
}

void diff_print_csv(const struct report_diff *d, FILE *out)
{
    fputs("Kind,Count A,Count B,Total A (ns),Total B (ns),Total change (ns),Total change (%),"
          "Median A (ns),Median B (ns),Median change (%),p,P(B > A),Verdict,Fails,Name\n",
          out);
    for (size_t i = 0; i < d->rows.len; i++) {
        const struct report_diff_row *row = &d->rows.at[i];
        fprintf(out, "%s,%zu,%zu,%.0f,%.0f,%.0f,", diff_kind_words[row->kind],
                row->a.durations_ns.len, row->b.durations_ns.len, row->a.total_ns, row->b.total_ns,
                row->b.total_ns - row->a.total_ns);
        csv_number(report_diff_percent(row->a.total_ns, row->b.total_ns), out);
        fprintf(out, "%.1f,%.1f,", row->a.median_ns, row->b.median_ns);
        csv_number(report_diff_percent(row->a.median_ns, row->b.median_ns), out);
        csv_number(row->p, out);
        csv_number(row->superior, out);
        fprintf(out, "%s,%d,", diff_verdict_words[row->verdict], report_diff_fails(d, row));
        prof_csv_cell(row->name, out);
        fputc('\n', out);
    }
}

static void json_side(struct hd_json *j, const char *key, const struct report_diff_side *side)
{
    hd_json_open(j, key, '{');
    hd_json_u64(j, "count", side->durations_ns.len);
    hd_json_double(j, "total_ns", side->total_ns);
    hd_json_double(j, "median_ns", side->median_ns);
    hd_json_close(j, '}');
}

static void json_row(struct hd_json *j, const struct report_diff *d,
                     const struct report_diff_row *row)
{
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "kind", diff_kind_words[row->kind]);
    hd_json_str(j, "name", row->name);
    json_side(j, "a", &row->a);
    json_side(j, "b", &row->b);
    hd_json_double(j, "change_ns", row->b.total_ns - row->a.total_ns);
    hd_json_double(j, "p", row->p);
    hd_json_double(j, "superior", row->superior);
    hd_json_str(j, "verdict", diff_verdict_words[row->verdict]);
    hd_json_bool(j, "fails", report_diff_fails(d, row));
    hd_json_close(j, '}');
}

bool diff_print_json(const struct report_diff *d, FILE *out)
{
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "a", d->path_a);
    hd_json_str(&j, "b", d->path_b);
    hd_json_str(&j, "test", "Mann-Whitney, two-sided, normal approximation; Holm");
    hd_json_double(&j, "alpha", REPORT_DIFF_ALPHA);
    hd_json_u64(&j, "failures", d->failures);
    hd_json_open(&j, "rows", '[');
    for (size_t i = 0; i < d->rows.len; i++)
        json_row(&j, d, &d->rows.at[i]);
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    bool is_good = !j.buf.failed;
    if (is_good)
        fprintf(out, "%s\n", j.buf.ptr);
    hd_buf_fini(&j.buf);
    return is_good;
}

/* ---- a page: no script, names are escaped */

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<title>heddle prof diff</title>\n<style>\n"
    ":root { color-scheme: light dark }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5em auto; max-width: 90em; padding: 0 "
    "1em }\n"
    "h1 { font-size: 1.3em } .wrap { overflow-x: auto }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
    "th, td { padding: .25em .7em; text-align: right; white-space: nowrap;"
    " border-bottom: 1px solid #8884 }\n"
    "th:first-child, td:first-child, th:last-child, td:last-child { text-align: left }\n"
    "td:last-child { font: 13px/1.4 ui-monospace, monospace; white-space: normal;"
    " min-width: 22em; overflow-wrap: anywhere }\n"
    ".slower, .new, .fails { color: #b00020 } .faster, .gone { color: #0a6b2d }\n"
    "@media (prefers-color-scheme: dark) { .slower, .new, .fails { color: #ff8f8f }"
    " .faster, .gone { color: #7bd88f } }\n"
    "</style>\n</head>\n<body>\n<h1>heddle prof diff</h1>\n";

static void put(struct hd_buf *out, const char *text)
{
    for (; *text; text++) {
        const char *stands = html_stands_for(*text);
        if (stands)
            hd_buf_puts(out, stands);
        else
            hd_buf_putc(out, *text);
    }
}

static void html_row(const struct report_diff *d, const struct report_diff_row *row,
                     struct hd_buf *out)
{
    char text[7][16];
    const size_t size_B = sizeof(text[0]);
    const char *verdict = diff_verdict_words[row->verdict];

    hd_buf_printf(
        out,
        "<tr><td>%s</td><td>%zu</td><td>%zu</td><td>%s</td><td>%s</td><td "
        "class=\"%s\">%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td "
        "class=\"%s\">%s%s</td><td>",
        diff_kind_words[row->kind], row->a.durations_ns.len, row->b.durations_ns.len,
        time_text(row->a.total_ns, text[0], size_B), time_text(row->b.total_ns, text[1], size_B),
        verdict, percent_text(row->a.total_ns, row->b.total_ns, text[2], size_B),
        time_text(row->a.median_ns, text[3], size_B), time_text(row->b.median_ns, text[4], size_B),
        percent_text(row->a.median_ns, row->b.median_ns, text[5], size_B),
        p_text(row, text[6], size_B), report_diff_fails(d, row) ? "fails" : verdict, verdict,
        report_diff_fails(d, row) ? ", fails" : "");
    put(out, row->name);
    hd_buf_puts(out, "</td></tr>\n");
}

void diff_print_html(const struct report_diff *d, struct hd_buf *out)
{
    hd_buf_puts(out, head);
    hd_buf_puts(out, "<p>A: <code>");
    put(out, d->path_a);
    hd_buf_puts(out, "</code><br>B: <code>");
    put(out, d->path_b);
    hd_buf_puts(
        out, "</code></p>\n<p>Slower and faster: by more than chance explains (Mann-Whitney test "
             "of the durations, Holm's correction, 1 %); few: under four instances, not tested. "
             "The largest changes of a total come first.</p>\n<div class=\"wrap\" tabindex=\"0\" "
             "role=\"region\" aria-label=\"Comparison\"><table>\n<thead><tr>");
    static const char *const columns[] = {"Kind",    "Count A", "Count B",  "Total A",
                                          "Total B", "Change",  "Median A", "Median B",
                                          "Change",  "p",       "Verdict",  "Name"};
    for (size_t i = 0; i < HD_COUNT_OF(columns); i++)
        hd_buf_printf(out, "<th scope=\"col\">%s</th>", columns[i]);
    hd_buf_puts(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < d->rows.len; i++)
        html_row(d, &d->rows.at[i], out);
    hd_buf_puts(out, "</tbody>\n</table></div>\n</body>\n</html>\n");
}
