/*
 * schedcheck without a device: grids of small random programs, one for each block or warp, that a
 * fake device runs in the order that it is asked for.
 */
#include "san/sched/schedcheck.h"
#include "world.h"

enum { CELLS = 64, UNITS_MAX = 200, OPS = 3, WARPS = 5 };

/* cell[to] = from + something of the unit; `adds`: cell[to] += it, in any order the same. */
struct op {
    uint32_t from, to;
    bool adds;
};

static struct {
    struct san_launch launch;
    struct san_cta cta;
    struct ir_probe_cta base;
    struct ir_module module;
    struct ir_func kernel;
    struct ir_block block;
    struct ir_instr probe, instr;
    uint32_t units, nwarps; /* WARPS: units are warps of each of some CTAs */
    uint32_t nctas;
    struct op ops[UNITS_MAX][OPS];
    bool floats, fails, hangs; /* some orders do */
    uint32_t runs, bad_orders;
    char name[32];
} f;

static uint64_t seed;
static uint32_t cells[CELLS];
static float sums[CELLS];

/* ---- the device */

static void store(uint32_t *to, uint32_t value)
{
    uint64_t address[32] = {(uintptr_t)to};
    const struct san_access a = {.probe = &f.probe,
                                 .number = 1,
                                 .lanes = 1,
                                 .what = SAN_WRITE,
                                 .space = IR_SPACE_GLOBAL,
                                 .size_B = 4,
                                 .align_B = 4,
                                 .address = address};

    (void)!san_schedcheck.access(&f.cta, &a);
    *to = value;
}

static void add_float(float *to, uint32_t unit)
{
    float sum = *to + 1.0f / (float)(unit + 3);
    uint32_t word;

    memcpy(&word, &sum, sizeof(word));
    store((uint32_t *)to, word);
}

static void run_unit(uint32_t unit)
{
    for (unsigned i = 0; i < OPS; i++) {
        const struct op *op = &f.ops[unit][i];

        if (f.floats)
            add_float(&sums[op->to], unit);
        else if (op->adds)
            store(&cells[op->to], cells[op->to] + unit * 7 + 1);
        else
            store(&cells[op->to], cells[op->from] * 31 + unit + 1);
    }
}

static bool is_permutation(const uint32_t *order, uint32_t n)
{
    uint8_t seen[UNITS_MAX] = {0};
    bool fine = true;

    for (uint32_t i = 0; i < n; i++)
        fine &= order[i] < n && !seen[order[i]]++;
    return fine;
}

static void run_warps(const struct ir_schedule *s)
{
    for (uint32_t cta = 0; cta < f.nctas; cta++) {
        const uint8_t *warps = ir_schedule_warps(s, cta);
        uint32_t order[WARPS];

        for (uint32_t w = 0; w < f.nwarps; w++)
            order[w] = warps ? warps[w] : w;
        f.bad_orders += !is_permutation(order, f.nwarps);
        for (uint32_t w = 0; w < f.nwarps; w++)
            run_unit(cta * f.nwarps + order[w]);
    }
}

static enum hd_status run(const struct ir_schedule *s)
{
    bool after_seventh = false;

    f.runs++;
    if (f.nwarps > 1) {
        run_warps(s);
        return HD_OK;
    }
    f.bad_orders += s->units && !is_permutation(s->units, f.units);
    for (uint32_t i = 0; i < f.units; i++) {
        uint32_t unit = (uint32_t)ir_schedule_unit(s, i);

        run_unit(unit);
        if (s->units && unit > i && f.hangs)
            return HD_TIMEOUT;
        after_seventh |= unit == 7;
        if (unit == 3 && after_seventh && f.fails)
            return HD_ILLEGAL_ADDRESS;
    }
    return HD_OK;
}

/* ---- a launch */

static void set_shape(uint32_t units, uint32_t nwarps)
{
    static uint32_t launches;

    memset(&f, 0, sizeof(f));
    f.nwarps = nwarps;
    f.nctas = nwarps > 1 ? units / nwarps : units;
    f.units = units;
    snprintf(f.name, sizeof(f.name), "k%u", launches++);
    f.kernel = (struct ir_func){.name = f.name, .is_kernel = true, .module = &f.module};
    f.module.funcs = &f.kernel;
    f.launch.about = (struct ir_probe_launch){.kernel = &f.kernel,
                                              .grid = {f.nctas, 1, 1},
                                              .block = {32 * nwarps, 1, 1},
                                              .cluster = {1, 1, 1},
                                              .units = f.nctas,
                                              .residents_max = 256};
    f.launch.nthreads = 32 * nwarps;
    f.launch.tools = 1u << SAN_SCHEDCHECK;
    f.cta = (struct san_cta){.base = &f.base, .launch = &f.launch};
}

static void random_ops(unsigned percent_adding)
{
    for (uint32_t u = 0; u < f.units; u++)
        for (unsigned i = 0; i < OPS; i++)
            f.ops[u][i] = (struct op){(uint32_t)(tap_random(&seed) % CELLS),
                                      (uint32_t)(tap_random(&seed) % CELLS),
                                      tap_random(&seed) % 100 < percent_adding};
}

/* One of its own for each unit. */
static void own_ops(void)
{
    for (uint32_t u = 0; u < f.units; u++)
        for (unsigned i = 0; i < OPS; i++)
            f.ops[u][i] = (struct op){u % CELLS, u % CELLS, true};
}

/* False: the program does not see what the usual order gives. */
static bool launch(void)
{
    const struct ir_schedule usual = IR_SCHEDULE_USUAL, *next;
    uint32_t wanted[CELLS];
    float sums_wanted[CELLS];
    enum hd_status ended = HD_OK;

    memset(cells, 1, sizeof(cells));
    memset(sums, 0, sizeof(sums));
    if (!san_schedcheck.launch_begin(&f.launch))
        return false;
    if (!san_schedcheck.wants_runs(&f.launch)) {
        san_schedcheck.launch_end(&f.launch);
        return true;
    }
    (void)!run(&usual);
    memcpy(wanted, cells, sizeof(cells));
    memcpy(sums_wanted, sums, sizeof(sums));
    while ((next = san_schedcheck.next_run(&f.launch, ended)))
        ended = run(next);
    san_schedcheck.launch_end(&f.launch);
    return !memcmp(wanted, cells, sizeof(cells)) && !memcmp(sums_wanted, sums, sizeof(sums)) &&
           !f.bad_orders;
}

/* ---- what is right */

static bool conflict_of(uint32_t a, uint32_t b)
{
    bool found = false;

    for (unsigned i = 0; i < OPS; i++)
        for (unsigned j = 0; j < OPS; j++) {
            const struct op *x = &f.ops[a][i], *y = &f.ops[b][j];
            bool same = x->to == y->to && !(x->adds && y->adds);

            found |= same || (!x->adds && x->from == y->to) || (!y->adds && y->from == x->to);
        }
    return found;
}

/* The first report's pair. */
static bool pair_of(const char *format, uint32_t pair[2], uint32_t *cta)
{
    *cta = 0;
    return reports.n && sscanf(reports.at[0].title, format, &pair[0], &pair[1], cta) >= 2;
}

static void test_blocks(void)
{
    unsigned found = 0, right = 0, same = 0;
    uint32_t pair[2], cta;

    for (int round = 0; round < 60; round++) {
        set_shape(2 + (uint32_t)(tap_random(&seed) % (UNITS_MAX - 1)), 1);
        random_ops(round % 4 ? 90 : 20);
        same += launch();
        if (pair_of("Result depends on the order of blocks (%u,0,0) and (%u,0,0)", pair, &cta)) {
            found++;
            right += pair[0] < pair[1] && conflict_of(pair[0], pair[1]);
        }
        reports_take();
    }
    ok(found > 30, "results that depend on the order of blocks are found: %u", found);
    eq_u64(right, found, "the two blocks have to do with each other");
    eq_u64(same, 60, "the program sees the usual result");
}

static void test_warps(void)
{
    unsigned found = 0, right = 0, same = 0;
    uint32_t pair[2], cta;

    for (int round = 0; round < 40; round++) {
        set_shape(WARPS * 8, WARPS);
        own_ops();
        /* In one CTA a warp reads what another one writes. */
        uint32_t base = (uint32_t)(tap_random(&seed) % 8) * WARPS,
                 a = (uint32_t)(tap_random(&seed) % WARPS);
        uint32_t b = (a + 1 + (uint32_t)(tap_random(&seed) % (WARPS - 1))) % WARPS;
        f.ops[base + a][1] = (struct op){base + b, base + a, false};
        f.launch.about.may_wait = true; /* and blocks cannot be in another order */
        f.launch.about.residents_max = 1;
        same += launch();
        if (pair_of("Result depends on the order of warps %u and %u of block (%u,0,0)", pair,
                    &cta)) {
            found++;
            right += cta * WARPS == base && conflict_of(base + pair[0], base + pair[1]);
        }
        reports_take();
    }
    eq_u64(found, 40, "results that depend on the order of warps are found");
    eq_u64(right, 40, "the two warps, and their block");
    eq_u64(same, 40, "the program sees the usual result");
}

static void test_nothing(void)
{
    unsigned same = 0;

    for (int round = 0; round < 10; round++) {
        set_shape(50, 1);
        random_ops(100);
        same += launch();
    }
    ok(!reports_take() && same == 10, "nothing is said of results that do not depend on it");
    set_shape(1, 1);
    random_ops(0);
    ok(launch() && !f.runs, "one block of one warp has no other order");
    set_shape(40, 1);
    random_ops(0);
    f.launch.about.may_wait = true;
    f.launch.about.residents_max = 39;
    ok(launch() && !f.runs && !reports_take(),
       "blocks that may wait for those that are not resident stay in order");
}

static void test_rounding(void)
{
    set_shape(100, 1);
    for (uint32_t u = 0; u < f.units; u++)
        for (unsigned i = 0; i < OPS; i++)
            f.ops[u][i] = (struct op){0, i, true};
    f.floats = true;
    /* A kernel that adds numbers. */
    f.instr = (struct ir_instr){.op = IR_OP_FADD, .type = IR_F32};
    f.block.first = &f.instr;
    f.kernel.blocks = (struct ir_block *[]){&f.block};
    f.kernel.nblocks = 1;
    ok(launch() && reports.n == 1 && reports.at[0].severity == SAN_WARNING,
       "rounding is a warning");
    (void)says(0, "rounding");
    reports_take();
    f.kernel.nblocks = 0;
    f.launch.own[SAN_SCHEDCHECK] = NULL;
    ok(launch() && reports.n >= 1 && reports.at[0].severity == SAN_ERROR,
       "where the kernel has no such numbers it is none");
    reports_take();
}

static void test_ends(void)
{
    set_shape(10, 1);
    own_ops();
    f.fails = true;
    ok(launch() && reports.n == 1 && says(0, "blocks (3,0,0) and (7,0,0)") && says(0, "illegal") &&
           says(0, "no error"),
       "an order that fails");
    reports_take();
    set_shape(10, 1);
    random_ops(0);
    f.hangs = true;
    ok(launch() && !reports_take(), "orders that do not end say nothing");
}

int main(void)
{
    seed = tap_seed();
    san_options_init(&options);
    the_tool = &san_schedcheck;
    (void)streams;
    ok(san_schedcheck.start(), "schedcheck starts");
    alloc((uintptr_t)cells, sizeof(cells));
    alloc((uintptr_t)sums, sizeof(sums));
    test_blocks();
    test_warps();
    test_nothing();
    test_rounding();
    test_ends();
    san_memory_stop();
    san_options_fini(&options);
    return done();
}
