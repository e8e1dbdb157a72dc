/*
 * racecheck against a plain detector: one full vector clock per thread, and every access kept.
 * Random programs of barriers, warps, fences, flags and accesses. What racecheck reports, the plain
 * one has to find as well; and where it finds a race at an address, racecheck has to report one
 * there. The second only without flags: there the model may see more order than there was
 * (docs/decisions/0123).
 */
#include "events.h"

enum {
    CTAS = 2,
    WARPS = 3,
    PER_CTA = WARPS * 32,
    THREADS = CTAS * PER_CTA,
    WORDS = 40, /* in global memory, then in each window */
    FLAGS = 3,
    EVENTS = 120,
    RELEASES = EVENTS * 32,
};
enum { DATA = 0x50000, FLAG = 0x60000 };

typedef uint32_t clock_row[THREADS];

struct past {
    uint32_t thread, clock, line;
    bool writes;
    struct past *next;
};
struct release {
    clock_row row;
    uint32_t cta;
    bool wide;
};
static struct plain {
    clock_row knows[THREADS]; /* of each, before which clock */
    uint32_t clock[THREADS];
    clock_row fenced[THREADS][2]; /* at the last fence; of the CTA, of all */
    bool has_fence[THREADS][2];
    struct past *past[CTAS + 1][WORDS];
    bool races[CTAS + 1][WORDS];
    struct release *releases[FLAGS];
    uint32_t nreleases[FLAGS];
    struct hd_arena arena;
    struct hd_map pairs; /* hash of a race */
} plain;

static struct world w;
static struct ir_instr *reads[2], *writes[2], *bar, *warpsync, *fences[2], *exch[2];
static uint64_t seed;

static uint32_t pick(uint32_t n)
{
    return (uint32_t)(tap_random(&seed) % n);
}

/* ---- the plain one */

static void join(uint32_t *to, const uint32_t *from)
{
    for (uint32_t u = 0; u < THREADS; u++)
        to[u] = HD_MAX(to[u], from[u]);
}

static uint64_t pair_hash(const uint64_t *six)
{
    return hd_hash(six, 6 * sizeof(*six), 7);
}

static void plain_access(uint32_t t, uint32_t space, uint32_t word, bool is_write, uint32_t line)
{
    for (struct past *p = plain.past[space][word]; p; p = p->next) {
        if (p->thread == t || !(p->writes || is_write) || plain.knows[t][p->thread] > p->clock)
            continue;
        uint64_t six[] = {p->thread, p->line, t, line, space, word};
        plain.races[space][word] = true;
        if (!hd_map_put_u64(&plain.pairs, pair_hash(six), NULL))
            abort();
    }
    struct past *now = hd_arena_alloc(&plain.arena, sizeof(*now));
    *now = (struct past){t, plain.clock[t], line, is_write, plain.past[space][word]};
    plain.past[space][word] = now;
}

/* What t did so far has smaller clocks than what it does next. */
static void plain_row(uint32_t t, uint32_t *out)
{
    memcpy(out, plain.knows[t], sizeof(clock_row));
    out[t] = plain.clock[t] + 1;
}

/* These threads meet. */
static void plain_meet(const bool *who)
{
    clock_row all = {0}, row;

    for (uint32_t t = 0; t < THREADS; t++)
        if (who[t]) {
            plain_row(t, row);
            join(all, row);
        }
    for (uint32_t t = 0; t < THREADS; t++)
        if (who[t]) {
            memcpy(plain.knows[t], all, sizeof(all));
            plain.clock[t]++;
        }
}

static void plain_fence(uint32_t t, bool wide)
{
    for (unsigned i = 0; i <= wide; i++) {
        plain_row(t, plain.fenced[t][i]);
        plain.has_fence[t][i] = true;
    }
    plain.clock[t]++;
}

static void plain_release(uint32_t t, uint32_t flag, bool wide, unsigned fence)
{
    struct release *r = &plain.releases[flag][plain.nreleases[flag]++];

    memcpy(r->row, plain.fenced[t][fence], sizeof(r->row));
    r->cta = t / PER_CTA;
    r->wide = wide;
}

static void plain_exch(uint32_t t, uint32_t flag, bool wide)
{
    for (uint32_t i = 0; i < plain.nreleases[flag]; i++) {
        const struct release *r = &plain.releases[flag][i];
        if (r->cta == t / PER_CTA || (r->wide && wide))
            join(plain.knows[t], r->row);
    }
    if (wide && plain.has_fence[t][1])
        plain_release(t, flag, true, 1);
    if (plain.has_fence[t][0])
        plain_release(t, flag, false, 0);
}

static void plain_init(void)
{
    for (uint32_t f = 0; f < FLAGS; f++)
        free(plain.releases[f]);
    hd_arena_fini(&plain.arena);
    hd_map_fini(&plain.pairs);
    memset(&plain, 0, sizeof(plain));
    hd_arena_init(&plain.arena);
    hd_map_init(&plain.pairs);
    for (uint32_t f = 0; f < FLAGS; f++)
        plain.releases[f] = calloc(RELEASES, sizeof(struct release));
}

/* ---- programs */

static void access_some(uint32_t warp)
{
    uint32_t cta = warp / WARPS, first = warp % WARPS * 32;
    bool many = pick(3) == 0, is_write = pick(2), shared = pick(2);
    uint32_t lane = many ? 0 : pick(32), n = many ? 32 : 1;
    uint32_t word = pick(many ? WORDS - 31 : WORDS), space = shared ? 1 + cta : 0;
    const struct ir_instr *probe = (is_write ? writes : reads)[shared];

    world_access(&w, cta, first + lane, n, probe, (shared ? 0 : DATA) + 4 * word);
    for (uint32_t i = 0; i < n; i++)
        plain_access(cta * PER_CTA + first + lane + i, space, word + i, is_write,
                     probe->srcloc.line);
}

static void flag_op(uint32_t warp)
{
    uint32_t cta = warp / WARPS, thread = warp % WARPS * 32 + pick(32), t = cta * PER_CTA + thread;
    bool wide = pick(2);

    if (pick(2)) {
        world_sync(&w, cta, thread, 1, fences[wide], 0, 0);
        plain_fence(t, wide);
    } else {
        uint32_t flag = pick(FLAGS);
        world_access(&w, cta, thread, 1, exch[wide], FLAG + 4 * flag);
        plain_exch(t, flag, wide);
    }
}

static void warp_op(uint32_t warp)
{
    uint32_t cta = warp / WARPS, first = warp % WARPS * 32;
    bool who[THREADS] = {0};
    uint32_t lane = pick(2) ? 0 : pick(30), n = lane ? 2 + pick(31 - lane) : 32;

    n = HD_MIN(n, 32 - lane);
    for (uint32_t i = 0; i < n; i++)
        who[cta * PER_CTA + first + lane + i] = true;
    world_sync(&w, cta, first + lane, n, warpsync, world_lanes(first + lane, n), 0);
    plain_meet(who);
}

/* All warps of a CTA meet, or two of them; those that are not there yet do something meanwhile. */
static void bar_op(uint32_t cta)
{
    bool who[THREADS] = {0};
    uint32_t first = pick(WARPS), n = pick(2) ? WARPS : 2;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t warp = (first + i) % WARPS;
        for (uint32_t l = 0; l < 32; l++)
            who[cta * PER_CTA + warp * 32 + l] = true;
        world_sync(&w, cta, warp * 32, 32, bar, n == WARPS ? 0 : 1, n == WARPS ? 0 : 64);
        if (i + 1 < n)
            access_some(cta * WARPS + (first + i + 1) % WARPS);
    }
    plain_meet(who);
}

static void program(bool flags)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        uint32_t warp = pick(CTAS * WARPS), what = pick(10);
        if (what < 5)
            access_some(warp);
        else if (what < 7)
            warp_op(warp);
        else if (what < 8 || !flags)
            bar_op(warp / WARPS);
        else
            flag_op(warp);
    }
}

/* ---- the comparison */

static bool is_real(const struct world_found *f)
{
    bool shared = f->address < DATA;
    uint32_t space = shared ? 1 + f->blocks[1] : 0;
    uint64_t six[] = {f->blocks[0] * PER_CTA + f->threads[0],
                      f->lines[0],
                      f->blocks[1] * PER_CTA + f->threads[1],
                      f->lines[1],
                      space,
                      (f->address - (shared ? 0 : DATA)) / 4};
    void *value;
    bool is = hd_map_find_u64(&plain.pairs, pair_hash(six), &value);

    if (f->address >= FLAG)
        return true; /* exchanges whose scope is their CTA, of two CTAs */
    if (!is)
        diag("not a race: %s between block %u thread %u line %u and block %u thread %u line %u",
             f->title, f->blocks[0], f->threads[0], f->lines[0], f->blocks[1], f->threads[1],
             f->lines[1]);
    return is;
}

static unsigned count_missed(void)
{
    bool found[CTAS + 1][WORDS] = {0};
    unsigned missed = 0;

    for (uint32_t i = 0; i < world_nfound; i++) {
        const struct world_found *f = &world_found[i];
        bool shared = f->address < DATA;
        found[shared ? 1 + f->blocks[1] : 0][(f->address - (shared ? 0 : DATA)) / 4] = true;
    }
    for (uint32_t s = 0; s <= CTAS; s++)
        for (uint32_t i = 0; i < WORDS; i++)
            missed += plain.races[s][i] && !found[s][i];
    return missed;
}

static void run(unsigned rounds, bool flags)
{
    unsigned wrong = 0, missed = 0, real = 0, races = 0;

    for (unsigned r = 0; r < rounds; r++) {
        uint64_t start = seed;
        plain_init();
        world_begin(&w, &san_racecheck, (struct world_shape){.ctas = CTAS, .threads = PER_CTA});
        program(flags);
        world_end(&w);
        unsigned before = wrong + missed;
        for (uint32_t i = 0; i < world_nfound; i++)
            wrong += !is_real(&world_found[i]);
        missed += flags ? 0 : count_missed();
        real += world_nfound;
        for (uint32_t s = 0; s <= CTAS; s++)
            for (uint32_t i = 0; i < WORDS; i++)
                races += plain.races[s][i];
        if (wrong + missed != before)
            diag("round %u, state %#llx", r, (unsigned long long)start);
    }
    eq_u64(wrong, 0, "%s: %u hazards are all real", flags ? "flags" : "barriers", real);
    if (!flags)
        eq_u64(missed, 0, "barriers: none of %u racy words is missed", races);
}

int main(void)
{
    world_options.racecheck_report = SAN_RACE_REPORT_HAZARD;
    world_options.racecheck_global = true;
    seed = tap_seed();
    world_module(&w);
    for (unsigned i = 0; i < 2; i++) {
        enum ir_space space = i ? IR_SPACE_SHARED : IR_SPACE_GLOBAL;
        reads[i] = world_mem(&w, IR_OP_LD, space, 0, 0, 0);
        writes[i] = world_mem(&w, IR_OP_ST, space, 0, 0, 0);
        fences[i] = world_fence(&w, i ? IR_SCOPE_GPU : IR_SCOPE_CTA);
        exch[i] = world_mem(&w, IR_OP_ATOM, IR_SPACE_GLOBAL, IR_SEM_RELAXED,
                            i ? IR_SCOPE_GPU : IR_SCOPE_CTA, IR_ATOM_EXCH);
    }
    bar = world_bar(&w, IR_BAR_SYNC);
    warpsync = world_probe(&w, IR_OP_WARPSYNC, 0, false, 1);
    if (!san_racecheck.start())
        abort();
    run(60, false);
    run(60, true);
    san_racecheck.finish();
    plain_init();
    for (uint32_t f = 0; f < FLAGS; f++)
        free(plain.releases[f]);
    hd_arena_fini(&plain.arena);
    world_fini(&w);
    return done();
}
