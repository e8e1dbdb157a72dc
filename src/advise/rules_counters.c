/*
 * See advise.h: rules about what kernels do, by counters that `heddle prof --kernel` measured. A
 * kernel's time is shared out among what its warps issue: a slot for each instruction, and one more
 * for each that an access needs beyond its first. What a rule removes are slots.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/mem.h"
#include "report/excess.h"

#define WARP 32.0
/* Sectors of a warp's access to words of four bytes, side by side. */
#define SECTORS_PER_ACCESS 4.0
#define CROWD              4.0 /* lanes that meet at an address of atomic operations */
#define LINES_TOLD         3u
#define BARRIER_SLOTS      10.0 /* what a barrier takes besides its instruction */

/* Names are those of Nsight Compute, or `heddle__`, where it has none (docs/metrics.md). */
static const struct {
    const char *metric;
    size_t offset;
} rows[] = {
#define ROW(member, metric) {metric, offsetof(struct advise_counted, member)}
    ROW(insts, "smsp__inst_executed.sum"),
    ROW(lanes, "smsp__thread_inst_executed.sum"),
    ROW(requests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ROW(requests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ROW(requests, "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum"),
    ROW(sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ROW(sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ROW(sectors, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"),
    ROW(all_sectors, "memory_l2_theoretical_sectors_global"),
    ROW(ideal, "memory_l2_theoretical_sectors_global_ideal"),
    ROW(passes, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    ROW(conflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    ROW(local, "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"),
    ROW(local, "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"),
    ROW(atomics, "heddle__requests_atomic.sum"),
    ROW(atomic_passes, "heddle__atomic_passes.sum"),
    ROW(barriers, "heddle__inst_executed_op_barrier.sum"),
#undef ROW
};

void advise_counted_add(struct advise_counted *c, const char *metric, double sum, double mean)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (strcmp(metric, rows[i].metric) == 0) {
            double *value = (double *)(void *)((char *)c + rows[i].offset);
            *value += HD_MAX(0.0, sum);
        }
    if (strcmp(metric, "smsp__sass_average_branch_targets_threads_uniform.pct") == 0)
        c->uniform = mean;
}

void advise_counted_finish(struct advise_counted *c)
{
    double lanes = c->insts > 0 ? HD_MIN(1.0, c->lanes / (c->insts * WARP)) : 1;

    assert(!(c->insts < 0 || c->requests < 0 || c->conflicts < 0));
    if (c->ideal > 0 && c->all_sectors > 0)
        c->sectors = c->all_sectors;
    else
        c->ideal = c->requests * SECTORS_PER_ACCESS * lanes;
    c->slots = c->insts + HD_MAX(0.0, c->sectors - c->ideal) + c->conflicts +
               HD_MAX(0.0, c->atomic_passes - c->atomics) + c->barriers * BARRIER_SLOTS;
}

enum advise_line_kind advise_line_kind_of(const char *metric)
{
    static const struct {
        const char *metric;
        enum advise_line_kind kind;
    } of[] = {
        {"heddle__branches_divergent.sum", ADVISE_LINE_DIVERGENT},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", ADVISE_LINE_SECTORS},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", ADVISE_LINE_SECTORS},
        {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", ADVISE_LINE_CONFLICTS},
        {"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", ADVISE_LINE_LOCAL},
        {"l1tex__t_requests_pipe_lsu_mem_local_op_st.sum", ADVISE_LINE_LOCAL},
        {"heddle__atomic_passes.sum", ADVISE_LINE_ATOMIC},
        {"heddle__inst_executed_op_barrier.sum", ADVISE_LINE_BARRIERS},
    };

    for (size_t i = 0; i < HD_COUNT_OF(of); i++)
        if (strcmp(metric, of[i].metric) == 0)
            return of[i].kind;
    return ADVISE_LINE_COUNT;
}

/* A rule's part of a kernel: the slots that it would save, 0 when it does not fire; and a line. */
typedef double judge_function(const struct advise_counted *c, struct hd_buf *line);

/* ---- from slots to time */

/* Work of the kernel, a part of its time shorter; what was launched while counters were measured
 * is all that there is when the report has no timeline. */
static int64_t gain_of(struct advise *a, const struct advise_counted *c, double part)
{
    bool has = false;

    assert(part > 0 && part < 1);
    advise_trial_begin(a);
    for (uint32_t i = 0; i < a->works.len; i++) {
        const struct advise_work *work = &a->works.at[i];
        if (work->kind != ADVISE_KERNEL || strcmp(a->names.at[work->name], c->kernel) != 0)
            continue;
        has = true;
        a->trial.works[i].time_ns = (int64_t)((double)a->trial.works[i].time_ns * (1 - part));
    }
    return has ? advise_trial_gain(a) : (int64_t)((double)c->time_ns * part);
}

/* ---- lines of the source */

static const char *const line_words[ADVISE_LINE_COUNT] = {
#define X(KIND, what) [ADVISE_LINE_##KIND] = what,
    ADVISE_LINE_LIST(X)
#undef X
};

struct sum {
    const char *file;
    int64_t line;
    double value;
};

/* The greatest first; of equal ones that of the first line. */
static int by_sum(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : strcmp(x->file, y->file);
}

static int by_place(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    int order = strcmp(x->file, y->file);

    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void report_lines(struct advise *a, struct advise_finding *f, size_t counted,
                         enum advise_line_kind kind)
{
    HD_AUTOFREE struct sum *sums = hd_alloc_array(a->lines.len + 1, sizeof(*sums));
    size_t n = 0, kept = 0;

    assert(kind < ADVISE_LINE_COUNT && counted < a->counted.len);
    a->out_of_memory |= !sums;
    for (size_t i = 0; sums && i < a->lines.len; i++) {
        const struct advise_line *line = &a->lines.at[i];
        if (line->counted == counted && line->kind == kind)
            sums[n++] = (struct sum){line->file, line->line, line->value};
    }
    if (n)
        qsort(sums, n, sizeof(*sums), by_place);
    for (size_t i = 0; i < n; i++) {
        if (kept && by_place(&sums[kept - 1], &sums[i]) == 0)
            sums[kept - 1].value += sums[i].value;
        else
            sums[kept++] = sums[i];
    }
    if (kept)
        qsort(sums, kept, sizeof(*sums), by_sum);
    for (size_t i = 0; i < kept && i < LINES_TOLD && sums[i].value > 0; i++) {
        const char *file = report_is_source(sums[i].file) ? sums[i].file : "ptx";
        if (!f->file) {
            f->file = hd_strdup(file);
            f->line = sums[i].line;
        }
        advise_say(a, f, "%s:%lld: %.0f %s", file, (long long)sums[i].line, sums[i].value,
                   line_words[kind]);
    }
}

static void each_kernel(struct advise *a, const struct advise_rule *rule, judge_function *judge,
                        enum advise_line_kind kind)
{
    for (size_t i = 0; a->has_counters && i < a->counted.len; i++) {
        const struct advise_counted *c = &a->counted.at[i];
        struct hd_buf line = {0};
        double part = c->slots > 0 ? judge(c, &line) / c->slots : 0;
        struct advise_finding *f = /* what is no number is nothing, too */
            part > 0 ? advise_find(a, rule, gain_of(a, c, HD_MIN(0.95, part)), c->launches) : NULL;
        if (f) {
            f->kernel = c->kernel;
            advise_say(a, f, "%s", line.ptr ? line.ptr : "");
            report_lines(a, f, i, kind);
        }
        hd_buf_fini(&line);
    }
}

/* ---- the rules */

static double judge_divergence(const struct advise_counted *c, struct hd_buf *line)
{
    double lanes = c->insts > 0 ? c->lanes / c->insts : WARP;

    if (lanes >= 24)
        return 0;
    hd_buf_printf(line,
                  "%.1f of 32 lanes work in an instruction, on average; %.0f %% of branches go the "
                  "same way in all lanes",
                  lanes, c->uniform);
    return c->insts * (1 - lanes / WARP);
}

void advise_rule_divergence(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_divergence, ADVISE_LINE_DIVERGENT);
}

static double judge_sectors(const struct advise_counted *c, struct hd_buf *line)
{
    if (c->sectors < 1.5 * c->ideal || c->requests <= 0)
        return 0;
    hd_buf_printf(line,
                  "%.0f sectors of 32 bytes for %.0f loads and stores of warps; %.0f would do",
                  c->sectors, c->requests, c->ideal);
    return c->sectors - c->ideal;
}

void advise_rule_uncoalesced(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_sectors, ADVISE_LINE_SECTORS);
}

static double judge_banks(const struct advise_counted *c, struct hd_buf *line)
{
    if (c->conflicts <= 0 || (c->passes > 0 && c->conflicts < 0.1 * c->passes))
        return 0;
    if (c->passes > 0)
        hd_buf_printf(line, "%.0f of %.0f passes over shared memory are for conflicts",
                      c->conflicts, c->passes);
    else
        hd_buf_printf(line, "%.0f passes over shared memory are for conflicts", c->conflicts);
    return c->conflicts;
}

void advise_rule_bank_conflicts(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_banks, ADVISE_LINE_CONFLICTS);
}

/* What is told of instructions of one kind among all. */
static double judge_part(const struct advise_counted *c, double count, double least,
                         const char *what, struct hd_buf *line)
{
    if (c->insts <= 0 || count < least * c->insts)
        return 0;
    hd_buf_printf(line, "%.0f of %.0f instructions of warps (%.1f %%) are %s", count, c->insts,
                  100 * count / c->insts, what);
    return count;
}

static double judge_spills(const struct advise_counted *c, struct hd_buf *line)
{
    return judge_part(c, c->local, 0.05, "loads and stores of local memory", line);
}

void advise_rule_spills(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_spills, ADVISE_LINE_LOCAL);
}

static double judge_atomics(const struct advise_counted *c, struct hd_buf *line)
{
    if (c->atomics <= 0 || c->atomic_passes < CROWD * c->atomics)
        return 0;
    hd_buf_printf(line,
                  "%.0f atomic operations of warps, in %.1f passes each: so many lanes meet at one "
                  "address",
                  c->atomics, c->atomic_passes / c->atomics);
    return c->atomic_passes - c->atomics;
}

void advise_rule_atomics(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_atomics, ADVISE_LINE_ATOMIC);
}

static double judge_barriers(const struct advise_counted *c, struct hd_buf *line)
{
    return judge_part(c, c->barriers, 0.04, "barriers", line) * BARRIER_SLOTS / 2;
}

void advise_rule_barriers(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_barriers, ADVISE_LINE_BARRIERS);
}
