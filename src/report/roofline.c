/* See roofline.h. */
#include "report/roofline.h"

#include <assert.h>
#include <math.h>

#include "base/compiler.h"

const char *const report_level_titles[] = {
#define X(NAME, name, title) title,
    REPORT_LEVEL_LIST(X)
#undef X
};

bool report_work_has_flop(const struct report_work *w)
{
    return !w->has_tensors && w->sp + w->dp > 0;
}

/* The first of memory and caches, nearer ones later, that can give so much. */
static enum report_level roofline_level(const struct report_ceilings *peaks, double bytes_per_s)
{
    enum report_level level = REPORT_LEVEL_DRAM;

    for (int l = 0; l < REPORT_LEVEL_COUNT; l++) {
        if (!(peaks->bytes_per_s[l] > 0))
            continue;
        level = (enum report_level)l;
        if (peaks->bytes_per_s[l] >= bytes_per_s)
            break;
    }
    return level;
}

/* What needs no time: operations, intensity, and the roof at that. */
static void roofline_place_work(const struct report_ceilings *peaks, const struct report_work *w,
                                double compute_s, struct report_roofline *out)
{
    double flop = w->sp + w->dp, dram = peaks->bytes_per_s[REPORT_LEVEL_DRAM];

    if (!w->has_tensors)
        out->flop = flop;
    if (!w->has_tensors && w->bytes > 0)
        out->intensity = flop / w->bytes;
    if (report_work_has_flop(w) && !(w->bytes > 0))
        out->attainable_per_s = round(flop / compute_s);
    else if (report_work_has_flop(w) && dram > 0)
        out->attainable_per_s = round(HD_MIN(flop / compute_s, flop / w->bytes * dram));
}

void report_roofline_place(const struct report_ceilings *peaks, const struct report_work *w,
                           struct report_roofline *out)
{
    double seconds = w->time_ns / 1e9, dram = peaks->bytes_per_s[REPORT_LEVEL_DRAM], compute = 0;

    assert(peaks->sp_per_s > 0 && peaks->dp_per_s > 0);
    double compute_s = w->sp / peaks->sp_per_s + w->dp / peaks->dp_per_s; /* at the peaks */
    *out = (struct report_roofline){.flop = NAN,
                                    .flop_per_s = NAN,
                                    .bytes_per_s = NAN,
                                    .intensity = NAN,
                                    .attainable_per_s = NAN,
                                    .compute_percent = NAN,
                                    .dram_percent = NAN,
                                    .roof_percent = NAN};
    roofline_place_work(peaks, w, compute_s, out);
    if (!(w->time_ns > 0))
        return;
    double bytes_per_s = w->bytes / seconds;
    out->bytes_per_s = round(bytes_per_s);
    if (!w->has_tensors)
        out->flop_per_s = round((w->sp + w->dp) / seconds);
    if (report_work_has_flop(w))
        out->compute_percent = compute = compute_s / seconds * 100;
    if (w->bytes > 0 && dram > 0)
        out->dram_percent = bytes_per_s / dram * 100;
    out->level = roofline_level(peaks, bytes_per_s);
    assert(out->level < REPORT_LEVEL_COUNT);
    if (peaks->bytes_per_s[out->level] > 0)
        out->memory_percent = bytes_per_s / peaks->bytes_per_s[out->level] * 100;
    if (compute > 0 || out->memory_percent > 0)
        out->roof_percent = HD_MAX(compute, out->memory_percent);
    out->is_compute = compute > out->memory_percent;
}
