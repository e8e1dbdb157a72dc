/* See prof_roofline.h; the model is in report/roofline.h. */
#include "prof/prof_roofline.h"

#include <math.h>
#include <stdio.h>

#include "prof/prof_alike.h"
#include "prof/roofline/roofline.h"

/* Under so much of both roofs something else bounds a kernel. */
#define LOW_PERCENT 10.0

#define SECTION  "SpeedOfLight_RooflineChart"
#define NAME(of) "heddle__roofline_" of

struct work {
    int64_t launch;
    struct report_work of;
    uint64_t uncounted;
};

struct roofing {
    struct prof_db *db;
    const struct roofline *host;
    struct work work;
};

static void put(const struct roofing *r, const char *metric, double value)
{
    prof_alike_put(r->db, r->work.launch, metric, value);
}

#define note(r, ...) prof_alike_note((r)->db, (r)->work.launch, SECTION, __VA_ARGS__)

static void put_peaks(const struct roofing *r)
{
    static const char *const names[] = {
#define X(LEVEL, name, title) NAME("peak_" #name ".per_second"),
        REPORT_LEVEL_LIST(X)
#undef X
    };

    put(r, NAME("peak_sp.per_second"), round(r->host->peaks.sp_per_s));
    put(r, NAME("peak_dp.per_second"), round(r->host->peaks.dp_per_s));
    for (int l = 0; l < REPORT_LEVEL_COUNT; l++) {
        if (r->host->peaks.bytes_per_s[l] > 0)
            put(r, names[l], round(r->host->peaks.bytes_per_s[l]));
        else
            note(r, "Host Peak %s is n/a: %s", report_level_titles[l], r->host->why[l]);
    }
    put(r, NAME("threads.sum"), r->host->threads);
    if (r->host->is_disturbed)
        note(r, "Other programs had the CPUs while the host was measured: its peaks are too low, "
                "and the next run measures again.");
}

/* ---- what bounds a launch */

static void note_missing(const struct roofing *r)
{
    const struct report_work *w = &r->work.of;

    if (w->has_tensors)
        note(r, "n/a where operations are needed: those of matrix products are not counted");
    else if (!report_work_has_flop(w))
        note(r, "n/a where operations are needed: the kernel executes none on floating point "
                "numbers");
    if (!(w->bytes > 0))
        note(r, "n/a where bytes are needed: the kernel does not access global memory");
    if (!(w->time_ns > 0))
        note(r, "n/a where a time is needed: the recording has none");
}

static void note_time(const struct roofing *r)
{
    if (r->work.of.time_ns > 0 && !r->work.uncounted)
        note(r, "Time, rates and parts of roofs are those while counted: each launch of this "
                "kernel, grid and block was. With --launch-skip or --launch-count some are not.");
}

static const char *precision_of(const struct report_work *w)
{
    if (w->sp > 0 && w->dp > 0)
        return "what its precisions have";
    return w->dp > 0 ? "FP64's" : "FP32's";
}

static void note_bound(const struct roofing *r, const struct report_roofline *at)
{
    const struct report_work *w = &r->work.of;
    const char *level = report_level_titles[at->level];

    if (isnan(at->roof_percent))
        return;
    if (r->host->peaks.bytes_per_s[REPORT_LEVEL_DRAM] > 0 && at->level != REPORT_LEVEL_DRAM &&
        w->bytes > 0)
        note(r, "It asks for more bytes than DRAM gives: caches serve a part, so the roof is %s's.",
             level);
    if (at->is_compute)
        note(r, "Over it is the roof of compute: it reaches %.1f %% of %s.", at->compute_percent,
             precision_of(w));
    else
        note(r, "Over it is the roof of memory%s: it reaches %.1f %% of %s's.",
             w->has_tensors ? ", as far as is known" : "", at->memory_percent, level);
    if (at->roof_percent < LOW_PERCENT)
        note(r, "Neither is near: latency, special functions, integers or too few blocks bound it, "
                "or its launches are short.");
}

static void put_known(const struct roofing *r, const char *metric, double value)
{
    if (!isnan(value))
        put(r, metric, value);
}

static void put_work(const struct roofing *r)
{
    const struct report_work *w = &r->work.of;
    struct report_roofline at;

    report_roofline_place(&r->host->peaks, w, &at);
    put(r, NAME("launches_uncounted.sum"), (double)r->work.uncounted);
    put(r, NAME("bytes.sum"), w->bytes);
    if (w->time_ns > 0)
        put(r, NAME("time.median"), w->time_ns);
    put_known(r, NAME("bytes.sum.per_second"), at.bytes_per_s);
    put_known(r, NAME("flop.sum"), at.flop);
    put_known(r, NAME("flop.sum.per_second"), at.flop_per_s);
    put_known(r, NAME("intensity.ratio"), at.intensity);
    put_known(r, NAME("attainable.per_second"), at.attainable_per_s);
    put_known(r, NAME("compute.pct"), at.compute_percent);
    put_known(r, NAME("memory.pct"), at.dram_percent);
    put_known(r, NAME("roof.pct"), at.roof_percent);
    note_bound(r, &at);
}

/* ---- launches */

/* clang-format off */
static const char launches[] =
    "SELECT launchId, sp, dp, sectors * 32, tensors, end - start, median, coalesce(n, 0) FROM HEDDLE_LAUNCHES "
    "JOIN (SELECT launchId, "
    "  total(value) FILTER (WHERE name IN ('heddle__flop_sp.sum', 'heddle__flop_hp.sum')) AS sp, "
    "  total(value) FILTER (WHERE name = 'heddle__flop_dp.sum') AS dp, "
    "  total(value) FILTER (WHERE name = 'memory_l2_theoretical_sectors_global') AS sectors, "
    "  total(value) FILTER (WHERE name = 'heddle__inst_executed_op_tensor.sum') AS tensors "
    "  FROM HEDDLE_METRICS GROUP BY launchId) USING (launchId) "
    "JOIN temp.alike USING (launchId) LEFT JOIN temp.times USING (shape) ORDER BY launchId";
/* clang-format on */

static void work_read(sqlite3_stmt *row, struct work *out)
{
    *out = (struct work){.launch = sqlite3_column_int64(row, 0),
                         .of = {.sp = sqlite3_column_double(row, 1),
                                .dp = sqlite3_column_double(row, 2),
                                .bytes = sqlite3_column_double(row, 3),
                                .has_tensors = sqlite3_column_double(row, 4) > 0,
                                .time_ns = sqlite3_column_double(row, 5)},
                         .uncounted = (uint64_t)sqlite3_column_int64(row, 7)};
    if (out->uncounted)
        out->of.time_ns = sqlite3_column_double(row, 6);
}

static enum hd_status add_all(struct roofing *r, const char *why_not)
{
    sqlite3_stmt *row;

    HD_TRY(prof_alike_medians(r->db, "times", "SELECT shape, duration AS value FROM temp.plain"));
    HD_TRY(prof_alike_prepare(r->db, launches, &row));
    while (sqlite3_step(row) == SQLITE_ROW) {
        work_read(row, &r->work);
        if (why_not) {
            note(r, "this host was not measured: %s", why_not);
            continue;
        }
        put_work(r);
        put_peaks(r);
        note_missing(r);
        note_time(r);
    }
    return sqlite3_finalize(row) ? prof_db_error(r->db->db, "the report") : HD_OK;
}

enum hd_status prof_roofline_add(struct prof_db *db, enum prof_roofline when)
{
    struct roofline host;
    struct roofing r = {.db = db, .host = &host};
    char why_not[256];

    if (when == PROF_ROOFLINE_NONE)
        return HD_OK;
    bool good = roofline_get(when == PROF_ROOFLINE_AGAIN, &host) == HD_OK;
    (void)snprintf(why_not, sizeof(why_not), "%s", good ? "" : hd_error_message());
    return add_all(&r, good ? NULL : why_not);
}
