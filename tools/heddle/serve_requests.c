#include "serve.h"
const double serve_quantiles[SERVE_QUANTILES] = {0.5, 0.9, 0.99, 0.999};
const char *const serve_quantile_names[SERVE_QUANTILES] = {"p50", "p90", "p99", "p999"};
double serve_bound_s(unsigned bound)
{
    return 1e-9 * (double)((uint64_t)1 << (14 + bound));
}
void serve_requests_read(struct serve_snapshot *out)
{
    (void)out;
}
