/* Races between streams, and with the host, as findings. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "san/options.h"
#include "san/race/race_streams.h"

/* ---- threads of launches */

struct stage { /* a CTA that has ended, for an actor */
    struct ir_probe_cta base;
    struct san_cta cta;
};

static const char *const verbs[] = {"Write access", "Read access"};

static const char *verb_of(uint32_t info)
{
    return verbs[(info & RACE_READS) != 0];
}

/* False: where it was is not known any more. */
static bool add_actor(struct san_finding *f, const struct race_between *b, unsigned side,
                      struct stage *stage)
{
    struct race_past *past = b->past[side];
    const uint32_t *grid = past->san.about.grid;
    uint32_t index = race_serial(b->epoch[side]) - past->base;
    uint32_t thread = race_thread_of(b->epoch[side]);

    assert(index < past->n && f->nactors < HD_COUNT_OF(f->actors));
    race_streams_lock();
    const struct ir_instr *at = race_past_probe_locked(past, b->info[side] >> 8);
    race_streams_unlock();
    if (!at)
        return false;
    *stage = (struct stage){
        .base.ctaid = {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]},
        .base.index = index,
        .cta = {.base = &stage->base, .launch = &past->san},
    };
    f->actors[f->nactors++] = (struct san_actor){.cta = &stage->cta,
                                                 .at = at,
                                                 .warp = thread / SAN_LANES,
                                                 .lane = thread % SAN_LANES,
                                                 .verb = verb_of(b->info[side])};
    return true;
}

/* ---- all */

static uint32_t stream_of(const struct race_between *b, unsigned side)
{
    return b->past[side] ? b->past[side]->position.stream : b->op[side]->position.stream;
}

static void say_where(struct san_finding *f, const struct race_between *b)
{
    char streams[2][32];

    if (!b->is_host && stream_of(b, 0) == stream_of(b, 1)) {
        san_detail(f, "Address 0x%" PRIx64 ", in parts of a graph that no edge orders", b->address);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const size_t cap = sizeof(streams[i]);
        uint32_t stream = stream_of(b, i);

        if (i && b->is_host)
            snprintf(streams[i], cap, "the host");
        else if (stream)
            snprintf(streams[i], cap, "stream %" PRIu32, stream);
        else
            snprintf(streams[i], cap, "a default stream");
    }
    san_detail(f, "Address 0x%" PRIx64 ", in %s and %s, which nothing orders", b->address,
               streams[0], streams[1]);
}

static const struct san_stack *stack_of(const struct race_between *b, unsigned side)
{
    return b->past[side] ? b->past[side]->san.from : &b->op[side]->stack;
}

void race_between_report(const struct race_between *b)
{
    struct stage stages[2];
    unsigned first = !b->past[0] && b->past[1]; /* threads come before calls */
    struct san_finding f = {
        .tool = "racecheck",
        .kind = b->is_host ? "race-host" : "race-streams",
        .severity = SAN_ERROR,
        .address = b->address,
        .has_address = true,
        .count = b->count,
        .space = "global",
    };

    for (unsigned i = 0; i < 2; i++)
        assert(!b->past[i] != !b->op[i]); /* one of both */
    if (SAN_ERROR < san_options()->racecheck_level)
        return;
    snprintf(f.title, sizeof(f.title), "Race between %s reported between",
             b->is_host ? "host and device" : "streams");
    for (unsigned i = 0; i < 2; i++)
        if (b->past[i] && !add_actor(&f, b, i, &stages[i]))
            return;
    for (unsigned i = 0; i < 2; i++)
        if (b->op[i])
            f.sides[f.nsides++] = (struct san_side){verb_of(b->info[i]), b->op[i]->name};
    if (f.nactors)
        f.launch = &b->past[first]->san;
    else
        f.stack = stack_of(b, first);
    f.other = stack_of(b, !first);
    say_where(&f, b);
    san_report(&f);
}
