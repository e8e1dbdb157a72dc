/* See diff.h. */
#include "report/diff.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/sample.h"

/* ---- instances */

static struct report_diff_row *diff_row(struct report_diff *d, enum report_diff_kind kind,
                                        const char *name)
{
    struct hd_str key = {name, strlen(name)};
    size_t at = (size_t)(uintptr_t)hd_map_get(&d->names[kind], key);

    assert(at <= d->rows.len);
    if (at)
        return &d->rows.at[at - 1];
    struct report_diff_row row = {
        .kind = kind, .name = hd_alloc(key.len + 1), .p = 1, .superior = 0.5};
    if (!row.name)
        return NULL;
    memcpy(row.name, name, key.len + 1);
    key.ptr = row.name;
    if (!hd_vec_push(&d->rows, row)) {
        hd_free(row.name);
        return NULL;
    }
    return hd_map_put(&d->names[kind], key, (void *)(uintptr_t)d->rows.len) ? &hd_vec_last(&d->rows)
                                                                            : NULL;
}

bool report_diff_add(struct report_diff *d, enum report_diff_kind kind, const char *name, bool is_b,
                     double duration_ns)
{
    assert(kind < REPORT_DIFF_KIND_COUNT && duration_ns >= 0);
    struct report_diff_row *row = diff_row(d, kind, name);
    struct report_diff_side *side = !row ? NULL : is_b ? &row->b : &row->a;
    double *total = is_b ? d->total_b_ns : d->total_a_ns;

    if (!side || !hd_vec_push(&side->durations_ns, duration_ns))
        return false;
    side->total_ns += duration_ns;
    total[kind] += duration_ns;
    return true;
}

static void diff_forget_names(struct report_diff *d)
{
    for (size_t i = 0; i < REPORT_DIFF_KIND_COUNT; i++)
        hd_map_fini(&d->names[i]);
}

void report_diff_fini(struct report_diff *d)
{
    diff_forget_names(d);
    for (size_t i = 0; i < d->rows.len; i++) {
        hd_free(d->rows.at[i].name);
        hd_vec_fini(&d->rows.at[i].a.durations_ns);
        hd_vec_fini(&d->rows.at[i].b.durations_ns);
    }
    hd_vec_fini(&d->rows);
}

static bool diff_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

void report_diff_without_numbers(const char *name, struct hd_buf *out)
{
    hd_buf_clear(out);
    for (const char *at = name; *at;) {
        size_t digits = strspn(at, "0123456789");
        bool stands_alone =
            digits && (at == name || !diff_is_word(at[-1])) && !diff_is_word(at[digits]);
        if (stands_alone)
            hd_buf_putc(out, '#');
        else
            hd_buf_append(out, at, digits ? digits : 1);
        at += digits ? digits : 1;
    }
}

/* ---- comparing */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void diff_sort(struct report_diff_side *side)
{
    size_t n = side->durations_ns.len;
    double *at = side->durations_ns.at;

    if (!n)
        return;
    qsort(at, n, sizeof(*at), by_value);
    side->median_ns = (at[(n - 1) / 2] + at[n / 2]) / 2;
}

static int by_p(const void *a, const void *b)
{
    const struct report_diff_row *x = a, *y = b;

    return (x->p > y->p) - (x->p < y->p);
}

static int by_change(const void *a, const void *b)
{
    const struct report_diff_row *x = a, *y = b;
    double dx = fabs(x->b.total_ns - x->a.total_ns), dy = fabs(y->b.total_ns - y->a.total_ns);

    if (dx != dy)
        return dx < dy ? 1 : -1;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

/* Holm: the smallest p first, each against what the tests that are left may share. */
static void diff_judge(struct report_diff *d)
{
    size_t left = 0;

    for (size_t i = 0; i < d->rows.len; i++)
        left += d->rows.at[i].verdict == REPORT_DIFF_SAME;
    if (d->rows.len)
        qsort(d->rows.at, d->rows.len, sizeof(d->rows.at[0]), by_p);
    for (size_t i = 0; i < d->rows.len; i++) {
        struct report_diff_row *row = &d->rows.at[i];
        if (row->verdict != REPORT_DIFF_SAME)
            continue;
        assert(left);
        if (row->p > REPORT_DIFF_ALPHA / (double)left)
            break;
        row->verdict = row->superior > 0.5 ? REPORT_DIFF_SLOWER : REPORT_DIFF_FASTER;
        left--;
    }
}

void report_diff_compare(struct report_diff *d)
{
    for (size_t i = 0; i < d->rows.len; i++) {
        struct report_diff_row *row = &d->rows.at[i];
        size_t n = row->a.durations_ns.len, m = row->b.durations_ns.len;

        diff_sort(&row->a);
        diff_sort(&row->b);
        row->p = report_mann_whitney(row->a.durations_ns.at, n, row->b.durations_ns.at, m,
                                     &row->superior);
        row->verdict = !n                                               ? REPORT_DIFF_NEW
                       : !m                                             ? REPORT_DIFF_GONE
                       : n < REPORT_SAMPLE_MIN || m < REPORT_SAMPLE_MIN ? REPORT_DIFF_FEW
                                                                        : REPORT_DIFF_SAME;
    }
    diff_judge(d);
    diff_forget_names(d); /* rows change their places */
    if (d->rows.len)
        qsort(d->rows.at, d->rows.len, sizeof(d->rows.at[0]), by_change);
    for (size_t i = 0; i < d->rows.len; i++)
        d->failures += report_diff_fails(d, &d->rows.at[i]);
}

/* ---- the gate */

double report_diff_percent(double a, double b)
{
    return a != b ? (b - a) / a * 100 : 0;
}

bool report_diff_fails(const struct report_diff *d, const struct report_diff_row *row)
{
    bool has_cause = row->verdict == REPORT_DIFF_SLOWER || row->verdict == REPORT_DIFF_NEW ||
                     row->b.durations_ns.len > row->a.durations_ns.len;
    bool is_relevant = row->b.total_ns * 100 >= d->min_share * d->total_b_ns[row->kind];

    return d->gate >= 0 && has_cause && is_relevant &&
           report_diff_percent(row->a.total_ns, row->b.total_ns) > d->gate;
}
