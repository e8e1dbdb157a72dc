/* See spread.h. */
#include "report/spread.h"

#include <assert.h>
#include <math.h>

#include "report/sample.h"

bool report_spread_add(struct report_spread *s, double value)
{
    bool differs = s->count && (value < s->min || value > s->max || s->values.len);

    assert(!s->values.len || s->values.len == s->count);
    if (isnan(value))
        return true;
    if (differs) {
        if (!hd_vec_reserve(&s->values, s->count + 1))
            return false;
        while (s->values.len < s->count) /* until now all were the same */
            s->values.at[s->values.len++] = s->min;
        s->values.at[s->values.len++] = value;
    }
    s->min = s->count ? HD_MIN(s->min, value) : value;
    s->max = s->count ? HD_MAX(s->max, value) : value;
    s->count++;
    return true;
}

bool report_spread_differs(const struct report_spread *s)
{
    return s->values.len != 0;
}

double report_spread_median(struct report_spread *s)
{
    assert(s->count && s->min <= s->max);
    return s->values.len ? report_median(s->values.at, s->values.len) : s->min;
}

void report_spread_clear(struct report_spread *s)
{
    s->count = s->values.len = 0;
}

void report_spread_fini(struct report_spread *s)
{
    hd_vec_fini(&s->values);
    s->count = 0;
}
