/* Launch of a grid: what all its CTAs share, and which of them are resident. */
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "base/mem.h"
#include "sim/sim_private.h"

enum {
    CANCEL_EVERY = 8, /* rounds over all CTAs between questions */
    DEFAULT_RESIDENT = 4,
    GROW_AFTER = 8, /* rounds in which no CTA has ended */
};

/* ---- clusters: memory for their CTAs, which start and end together */

static struct sim_cluster *cluster_create(const struct sim_run *run)
{
    const uint32_t *block = run->launch->block;
    struct sim_cluster *c = hd_new(struct sim_cluster);

    if (!c)
        return NULL;
    sim_cluster_init(c, run->cluster_ctas * block[0] * block[1] * block[2]);
    c->windows_B = (run->cluster_ctas - 1) * IR_CLUSTER_STRIDE_B + run->shared_B + 1;
    c->windows = mmap(NULL, c->windows_B, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c->windows != MAP_FAILED)
        return c;
    hd_free(c);
    return NULL;
}

static void cluster_destroy(struct sim_cluster *c)
{
    sim_cluster_fini(c);
    munmap(c->windows, c->windows_B);
    hd_free(c);
}

/* CTAs run one after another here: any multiprocessor of the launch will do. */
static uint32_t smid_of(const struct interp_launch *l, uint32_t index)
{
    return l->sms ? l->sms[index % l->nused] : index % HD_MAX(l->nsms, 1u);
}

/* CTA `rank` of cluster `index`; .x first, of clusters and in them. */
static struct sim_placement placement_of(const struct sim_run *run, uint64_t index, uint32_t rank)
{
    struct sim_placement placement = {.rank = rank};

    for (int i = 0; i < 3; i++) {
        uint32_t n = run->cluster_ctas == 1 ? 1 : run->cluster[i];
        uint32_t clusters = run->launch->grid[i] / n;

        placement.ctaid[i] = (uint32_t)(index % clusters) * n + rank % n;
        index /= clusters;
        rank /= n;
    }
    placement.smid = smid_of(run->launch, placement.ctaid[0]);
    return placement;
}

static void unit_end(const struct sim_run *run, struct sim_cta **ctas)
{
    struct sim_cluster *c = run->cluster_ctas > 1 ? ctas[0]->cluster : NULL;

    for (uint32_t r = 0; r < run->cluster_ctas; r++)
        sim_cta_end(ctas[r]);
    if (c)
        cluster_destroy(c);
}

static bool unit_start(struct sim_run *run, uint64_t index, struct sim_cta **out_ctas)
{
    struct sim_cluster *c = run->cluster_ctas > 1 ? cluster_create(run) : NULL;
    uint32_t made = 0;

    if (run->cluster_ctas > 1 && !c)
        return false;
    for (; made < run->cluster_ctas; made++) {
        struct sim_placement placement = placement_of(run, index, made);

        placement.cluster = c;
        out_ctas[made] = sim_cta_start(run, &placement);
        if (!out_ctas[made])
            break;
    }
    if (made == run->cluster_ctas)
        return true;
    while (made)
        sim_cta_end(out_ctas[--made]);
    if (c)
        cluster_destroy(c);
    return false;
}

/* ---- residents */

struct residents {
    struct sim_cta **at;
    uint32_t len;
    uint32_t unit; /* CTAs that start and end together */
    uint64_t next; /* unit to start next */
    uint64_t total;
    uint32_t cap, max; /* CTAs that may be resident now, and in the end */
    uint32_t still;    /* rounds since one has ended */
};

static void residents_fill(struct sim_run *run, struct residents *r)
{
    while (r->len < r->cap && r->next < r->total && run->status == HD_OK) {
        uint64_t unit = ir_schedule_unit(run->launch->schedule, r->next);

        if (!unit_start(run, unit, &r->at[r->len])) {
            run->status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for a block of threads",
                                   run->program->kernel.name);
            return;
        }
        r->len += r->unit;
        r->next++;
    }
}

static bool unit_lives(const struct residents *r, uint32_t first)
{
    for (uint32_t i = first; i < first + r->unit; i++)
        if (r->at[i]->live)
            return true;
    return false;
}

static void residents_retire(const struct sim_run *run, struct residents *r)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->len; i += r->unit) {
        if (!unit_lives(r, i)) {
            unit_end(run, &r->at[i]);
            continue;
        }
        memmove(&r->at[kept], &r->at[i], r->unit * sizeof(*r->at));
        kept += r->unit;
    }
    r->still = kept < r->len ? 0 : r->still + 1;
    r->len = kept;
}

/* Nobody goes on: the first that waits says where. */
static void residents_deadlock(const struct residents *r)
{
    uint32_t stuck = 0;

    while (stuck < r->len && !r->at[stuck]->live)
        stuck++;
    if (stuck < r->len)
        sim_deadlock(r->at[stuck]);
}

static void residents_ask(struct sim_run *run, const struct residents *r)
{
    const struct interp_launch *l = run->launch;

    sim_mode(run, 0);
    if (l->ops && l->ops->cancelled && l->ops->cancelled(l->ctx))
        run->status = hd_error(HD_TIMEOUT, "kernel %s: cancelled", run->program->kernel.name);
    else if (l->ops && l->ops->gives_up && l->ops->gives_up(l->ctx, run->effects))
        residents_deadlock(r);
}

static void run_grid(struct sim_run *run, struct residents *r)
{
    uint64_t round = 0;

    while (run->status == HD_OK) {
        bool any = false;

        residents_fill(run, r);
        if (!r->len)
            break;
        for (uint32_t i = 0; i < r->len && run->status == HD_OK; i++)
            any |= sim_cta_round(r->at[i]);
        if (!any && run->status == HD_OK)
            residents_deadlock(r);
        if (++round % CANCEL_EVERY == 0 && run->status == HD_OK)
            residents_ask(run, r);
        if (run->status == HD_OK)
            residents_retire(run, r);
        /* Those that are resident may wait for others: twice as many each time. */
        if (r->still >= GROW_AFTER && r->cap != r->max) {
            r->cap = HD_MIN(2 * r->cap, r->max);
            r->still = 0;
        }
    }
    for (uint32_t i = 0; i < r->len; i += r->unit)
        unit_end(run, &r->at[i]);
}

/* As CTAs of whole units, of which there is one at least. */
static uint32_t in_units(uint64_t ctas, uint64_t total, uint32_t unit)
{
    return (uint32_t)((HD_MIN(HD_MIN(ctas, total), UINT32_MAX / 2) + unit - 1) / unit * unit);
}

static struct residents residents_of(const struct interp_launch *l, uint32_t unit)
{
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    uint64_t cap = l->cooperative ? total : l->resident_ctas ? l->resident_ctas : DEFAULT_RESIDENT;
    struct residents r = {.unit = unit, .total = total / unit};
    uint64_t max = HD_MAX(cap, (uint64_t)l->resident_max);

    r.cap = in_units(cap, total, unit);
    r.max = in_units(max, total, unit);
    return r;
}

/* ---- what all CTAs share */

static void put_word(uint8_t *bank, uint32_t offset, uint32_t value)
{
    memcpy(bank + offset, &value, 4);
}

static bool launch_bank(struct sim_run *run)
{
    const struct interp_launch *l = run->launch;
    uint32_t params_B = run->program->kernel.params_B;
    /* Parameters may be read by their generic addresses: as much aligned as any of them is. */
    size_t size_B = hd_align_up(ISA_LAUNCH_PARAMS + params_B, ISA_LAUNCH_PARAMS);
    uint8_t *bank = aligned_alloc(ISA_LAUNCH_PARAMS, size_B);

    if (!bank)
        return false;
    memset(bank, 0, size_B);
    for (uint32_t i = 0; i < 3; i++) {
        put_word(bank, ISA_LAUNCH_NTID + 4 * i, l->block[i]);
        put_word(bank, ISA_LAUNCH_NCTAID + 4 * i, l->grid[i]);
    }
    put_word(bank, ISA_LAUNCH_LOCAL_B, (uint32_t)run->local_B);
    if (params_B && l->params)
        memcpy(bank + ISA_LAUNCH_PARAMS, l->params, params_B);
    run->banks[ISA_BANK_LAUNCH].at = bank;
    run->banks[ISA_BANK_LAUNCH].size_B = ISA_LAUNCH_PARAMS + params_B;
    return true;
}

static const struct ir_var *var_at(const struct ir_module *module, uint32_t index)
{
    for (const struct ir_var *var = module->vars; var; var = var->next)
        if (var->index == index)
            return var;
    return NULL;
}

static enum hd_status literals_bank(struct sim_run *run)
{
    const struct sim_program *p = run->program;
    const struct interp_launch *l = run->launch;
    uint8_t *bank = hd_alloc(p->literals.len + 1);

    if (!bank)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its literals", p->kernel.name);
    run->banks[ISA_BANK_LITERALS].at = bank;
    run->banks[ISA_BANK_LITERALS].size_B = (uint32_t)p->literals.len;
    if (p->literals.len)
        memcpy(bank, p->literals.at, p->literals.len);
    for (size_t i = 0; i < p->relocs.len; i++) {
        const struct isa_reloc *reloc = &p->relocs.at[i];
        const struct ir_var *var = p->kernel.module ? var_at(p->kernel.module, reloc->var) : NULL;
        uint64_t value;

        if (!var || reloc->offset_B + 8ull > p->literals.len || !l->ops || !l->ops->var_address)
            return hd_error(HD_UNRESOLVED, "kernel %s: variable %s has no address", p->kernel.name,
                            var ? var->name : "?");
        memcpy(&value, bank + reloc->offset_B, 8);
        value += l->ops->var_address(l->ctx, var);
        memcpy(bank + reloc->offset_B, &value, 8);
    }
    return HD_OK;
}

static bool functions_bank(struct sim_run *run)
{
    const struct sim_program *p = run->program;
    uint8_t *bank = hd_alloc(8 * (size_t)p->kernel.nfuncs + 1);

    if (!bank)
        return false;
    run->banks[ISA_BANK_FUNCTIONS].at = bank;
    run->banks[ISA_BANK_FUNCTIONS].size_B = 8 * p->kernel.nfuncs;
    for (size_t i = 0; i < p->functions.len; i++)
        if (p->functions.at[i].index < p->kernel.nfuncs)
            put_word(bank, 8 * p->functions.at[i].index, p->functions.at[i].offset);
    return true;
}

static bool consts_fill(struct sim_run *run)
{
    const struct sim_program *p = run->program;
    size_t size_B = (p->consts.len + 1) * sizeof(*run->consts);

    run->consts = aligned_alloc(sizeof(*run->consts), size_B);
    if (!run->consts)
        return false;
    for (size_t i = 0; i < p->consts.len; i++) {
        const struct sim_const *c = &p->consts.at[i];
        uint32_t word = c->number;

        if (!c->is_number)
            sim_bank_word(run, c->bank, c->offset, &word);
        for (unsigned lane = 0; lane < SIM_LANES; lane++)
            run->consts[i][lane] = word;
    }
    return true;
}

static enum hd_status run_init(struct sim_run *run)
{
    const struct interp_launch *l = run->launch;
    const struct ir_window *window = &run->program->kernel.window;

    run->cluster_ctas = 1;
    for (int i = 0; i < 3; i++) {
        run->cluster[i] = HD_MAX(l->cluster[i], 1u);
        run->cluster_ctas *= window->clusters ? run->cluster[i] : 1;
    }
    run->shared_B = ir_window_shared_B(window, l->dynamic_shared_B);
    run->local_B = sim_program_local_B(run->program, l->stack_B);
    run->local_step_B = hd_align_up(run->local_B, HD_MAX(window->local_align_B, 128u));
    HD_TRY(literals_bank(run));
    if (run->program->kernel.counts)
        run->executed = hd_alloc_array(run->program->nops + 1u, sizeof(*run->executed));
    if (launch_bank(run) && functions_bank(run) && consts_fill(run) &&
        (run->executed || !run->program->kernel.counts))
        return HD_OK;
    return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its constants",
                    run->program->kernel.name);
}

static void run_fini(struct sim_run *run)
{
    sim_ctas_free(run);
    for (unsigned i = 0; i < HD_COUNT_OF(run->banks); i++)
        hd_free(run->banks[i].at);
    free(run->consts);
    hd_free(run->executed);
}

static enum hd_status check_launch(const struct sim_program *p, const struct interp_launch *l)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1];
    bool fits = threads <= SIM_MAX_THREADS && threads * l->block[2] <= SIM_MAX_THREADS;

    if (!fits || !threads || !l->block[2] || !l->grid[0] || !l->grid[1] || !l->grid[2])
        return hd_error(HD_LAUNCH_LIMIT, "kernel %s: grid (%u,%u,%u) of blocks (%u,%u,%u)",
                        p->kernel.name, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                        l->block[1], l->block[2]);
    for (int i = 0; i < 3; i++)
        if (l->grid[i] % HD_MAX(l->cluster[i], 1u))
            return hd_error(HD_BAD_ARG, "kernel %s: a grid of %u is no multiple of clusters of %u",
                            p->kernel.name, l->grid[i], l->cluster[i]);
    return HD_OK;
}

static enum hd_status run_all(struct sim_run *run)
{
    struct residents r = residents_of(run->launch, run->cluster_ctas);

    r.at = hd_alloc_array(r.max, sizeof(struct sim_cta *));
    if (!r.at)
        return hd_error(HD_NO_MEMORY, "no memory for %u blocks", r.max);
    sim_mode(run, 0);
    run_grid(run, &r);
    hd_free(r.at);
    return run->status;
}

enum hd_status sim_launch(const struct sim_program *program, const struct interp_launch *launch,
                          struct interp_fault *out_fault, struct sim_counts *out_counts)
{
    struct sim_run run = {.program = program, .launch = launch, .loops = sim_loops_get()};
    enum hd_status status;

    if (out_fault)
        *out_fault = run.fault;
    HD_TRY(check_launch(program, launch));
    status = run_init(&run);
    if (status == HD_OK) {
#ifdef __x86_64__
        unsigned before = _mm_getcsr();
#endif
        status = run_all(&run);
#ifdef __x86_64__
        _mm_setcsr(before);
#endif
    }
    if (out_counts)
        sim_counts_of(&run, out_counts);
    run_fini(&run);
    if (out_fault)
        *out_fault = run.fault;
    return status;
}
