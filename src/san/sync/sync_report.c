/* synccheck: findings. */
#include "san/sync/sync.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *line, *word;
    enum san_severity severity;
} errors[] = {
#define X(name, line, word, severity) {line, word, severity},
    SYNC_ERROR_LIST(X)
#undef X
};

void sync_report(const struct sync_cta *cta, enum sync_error error, const struct ir_instr *at,
                 uint32_t warp, uint32_t lanes, const char *detail, ...)
{
    struct san_finding f = {
        .tool = "synccheck",
        .kind = errors[error].word,
        .severity = errors[error].severity,
        .actors = {{.cta = cta->san, .at = at, .warp = warp}},
        .nactors = 1,
        .launch = cta->san->launch,
        .count = (uint64_t)__builtin_popcount(lanes),
    };
    va_list args;

    assert(at && warp < cta->bars.nwarps);
    f.actors[0].lane = lanes ? (uint32_t)__builtin_ctz(lanes) : 0;
    snprintf(f.title, sizeof f.title, "Barrier error detected. %s", errors[error].line);
    if (detail) {
        va_start(args, detail);
        vsnprintf(f.details[f.ndetails++], SAN_DETAIL_B, detail, args);
        va_end(args);
    }
    san_report(&f);
}
