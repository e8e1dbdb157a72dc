/*
 * See advise.h: rules about what kernels do, by counters that `heddle prof --kernel` measured. A
 * kernel's time is shared out among what its warps issue: a slot for each instruction, and one more
 * for each that an access needs beyond its first. What a rule removes are slots.
 */
#include <stddef.h>
#include <string.h>

#include "advise/advise.h"
#include "base/mem.h"
#include "prof/prof_db.h"
#include "report/excess.h"

#define WARP 32.0
/* Sectors of a warp's access to words of four bytes, side by side. */
#define SECTORS_PER_ACCESS 4.0
#define CROWD              4.0  /* lanes that meet at an address of atomic operations */
#define BARRIER_SLOTS      10.0 /* what a barrier takes besides its instruction */

#define KERNEL_NAME                                                                                \
    "coalesce((SELECT value FROM StringIds WHERE id = l.demangledName AND typeof(l.demangledName)" \
    " = 'integer'), l.demangledName, l.name)"

struct counters {
    const char *kernel;
    int64_t time_ns;
    uint64_t launches;
    double insts, lanes;
    double uniform; /* branches at which all lanes went the same way; percent */
    double requests, sectors, all_sectors, ideal; /* of global memory */
    double passes, conflicts;                     /* of shared memory */
    double local;
    double atomics, atomic_passes; /* one for each address that lanes of a warp share */
    double barriers;
    double slots;
};

/* Names are those of Nsight Compute, or `heddle__`, where it has none (docs/metrics.md). */
static const struct {
    const char *metric;
    size_t offset;
} rows[] = {
#define ROW(member, metric) {metric, offsetof(struct counters, member)}
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

static void read_counters(sqlite3_stmt *row, struct counters *c)
{
    (void)sqlite3_reset(row);
    (void)sqlite3_bind_text(row, 1, c->kernel, -1, SQLITE_STATIC);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        for (size_t i = 0; name && i < HD_COUNT_OF(rows); i++)
            if (strcmp(name, rows[i].metric) == 0) {
                double *value = (double *)(void *)((char *)c + rows[i].offset);
                *value += HD_MAX(0.0, sqlite3_column_double(row, 1));
            }
        if (name && strcmp(name, "smsp__sass_average_branch_targets_threads_uniform.pct") == 0)
            c->uniform = sqlite3_column_double(row, 2);
    }
    double lanes = c->insts > 0 ? HD_MIN(1.0, c->lanes / (c->insts * WARP)) : 1;
    if (c->ideal > 0 && c->all_sectors > 0)
        c->sectors = c->all_sectors;
    else
        c->ideal = c->requests * SECTORS_PER_ACCESS * lanes;
    c->slots = c->insts + HD_MAX(0.0, c->sectors - c->ideal) + c->conflicts +
               HD_MAX(0.0, c->atomic_passes - c->atomics) + c->barriers * BARRIER_SLOTS;
}

/* A rule's part of a kernel: the slots that it would save, 0 when it does not fire; and a line. */
typedef double judge_function(const struct counters *c, struct hd_buf *line);

/* ---- from slots to time */

/* Work of the kernel, a part of its time shorter; what was launched while counters were measured
 * is all that there is when the report has no timeline. */
static int64_t gain_of(struct advise *a, const struct counters *c, double part)
{
    bool has = false;

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

/* Whose lines are told: one or two metrics, and what their sum is called. */
struct told_metrics {
    const char *what, *names[2];
};

static void tell_lines(struct advise *a, struct advise_finding *f, const struct told_metrics *told)
{
    sqlite3_stmt *row;

    if (!prof_db_has(a->db, "HEDDLE_SOURCE_METRICS") ||
        sqlite3_prepare_v2(a->db,
                           "SELECT m.file, m.line, sum(m.value) FROM HEDDLE_SOURCE_METRICS m JOIN "
                           "HEDDLE_LAUNCHES l ON l.launchId = m.launchId WHERE " KERNEL_NAME
                           " = ?1 AND m.name IN (?2, ?3) AND m.file IS NOT NULL GROUP BY 1, 2 "
                           "HAVING sum(m.value) > 0 ORDER BY 3 DESC, 2 LIMIT 3",
                           -1, &row, NULL))
        return;
    (void)sqlite3_bind_text(row, 1, f->kernel, -1, SQLITE_STATIC);
    for (int i = 0; i < 2 && told->names[i]; i++)
        (void)sqlite3_bind_text(row, 2 + i, told->names[i], -1, SQLITE_STATIC);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *file = (const char *)sqlite3_column_text(row, 0);
        if (!file || !report_is_source(file))
            file = "ptx";
        if (!f->file) {
            f->file = hd_strdup(file);
            f->line = sqlite3_column_int64(row, 1);
        }
        advise_say(a, f, "%s:%lld: %.0f %s", file, (long long)sqlite3_column_int64(row, 1),
                   sqlite3_column_double(row, 2), told->what);
    }
    sqlite3_finalize(row);
}

static void judge_kernel(struct advise *a, const struct advise_rule *rule, judge_function *judge,
                         const struct told_metrics *told, const struct counters *c)
{
    struct hd_buf line = {0};
    double saved = c->slots > 0 ? judge(c, &line) : 0;
    struct advise_finding *f =
        saved > 0 ? advise_find(a, rule, gain_of(a, c, HD_MIN(0.95, saved / c->slots)), c->launches)
                  : NULL;

    if (f) {
        for (size_t i = 0; i < a->names.len; i++)
            if (strcmp(a->names.at[i], c->kernel) == 0)
                f->kernel = a->names.at[i];
        if (!f->kernel)
            f->kernel = advise_keep(a, c->kernel);
        advise_say(a, f, "%s", line.ptr ? line.ptr : "");
        tell_lines(a, f, told);
    }
    hd_buf_fini(&line);
}

static void each_kernel(struct advise *a, const struct advise_rule *rule, judge_function *judge,
                        const struct told_metrics *told)
{
    sqlite3_stmt *kernels, *values = NULL;

    if (!prof_db_has(a->db, "HEDDLE_LAUNCHES") || !prof_db_has(a->db, "HEDDLE_METRICS") ||
        sqlite3_prepare_v2(a->db,
                           "SELECT " KERNEL_NAME ", sum(l.end - l.start), count(*) FROM "
                           "HEDDLE_LAUNCHES l GROUP BY 1 ORDER BY 1",
                           -1, &kernels, NULL))
        return;
    if (!sqlite3_prepare_v2(a->db,
                            "SELECT m.name, sum(m.value), avg(m.value) FROM HEDDLE_METRICS m JOIN "
                            "HEDDLE_LAUNCHES l ON l.launchId = m.launchId WHERE " KERNEL_NAME
                            " = ?1 GROUP BY m.name",
                            -1, &values, NULL))
        while (sqlite3_step(kernels) == SQLITE_ROW) {
            struct counters c = {.kernel = (const char *)sqlite3_column_text(kernels, 0),
                                 .time_ns = sqlite3_column_int64(kernels, 1),
                                 .launches = (uint64_t)sqlite3_column_int64(kernels, 2),
                                 .uniform = 100};
            if (!c.kernel)
                continue;
            read_counters(values, &c);
            judge_kernel(a, rule, judge, told, &c);
        }
    sqlite3_finalize(kernels);
    sqlite3_finalize(values);
}

/* ---- the rules */

static double judge_divergence(const struct counters *c, struct hd_buf *line)
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
    each_kernel(a, rule, judge_divergence,
                &(const struct told_metrics){"branches that part the lanes",
                                             {"heddle__branches_divergent.sum"}});
}

static double judge_sectors(const struct counters *c, struct hd_buf *line)
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
    each_kernel(a, rule, judge_sectors,
                &(const struct told_metrics){"sectors",
                                             {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                              "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}});
}

static double judge_banks(const struct counters *c, struct hd_buf *line)
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
    each_kernel(a, rule, judge_banks,
                &(const struct told_metrics){
                    "bank conflicts", {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}});
}

/* What is told of instructions of one kind among all. */
static double judge_part(const struct counters *c, double count, double least, const char *what,
                         struct hd_buf *line)
{
    if (c->insts <= 0 || count < least * c->insts)
        return 0;
    hd_buf_printf(line, "%.0f of %.0f instructions of warps (%.1f %%) are %s", count, c->insts,
                  100 * count / c->insts, what);
    return count;
}

static double judge_spills(const struct counters *c, struct hd_buf *line)
{
    return judge_part(c, c->local, 0.05, "loads and stores of local memory", line);
}

void advise_rule_spills(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_spills,
                &(const struct told_metrics){"loads and stores of local memory",
                                             {"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
                                              "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"}});
}

static double judge_atomics(const struct counters *c, struct hd_buf *line)
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
    each_kernel(a, rule, judge_atomics,
                &(const struct told_metrics){"passes", {"heddle__atomic_passes.sum"}});
}

static double judge_barriers(const struct counters *c, struct hd_buf *line)
{
    return judge_part(c, c->barriers, 0.04, "barriers", line) * BARRIER_SLOTS / 2;
}

void advise_rule_barriers(struct advise *a, const struct advise_rule *rule)
{
    each_kernel(a, rule, judge_barriers,
                &(const struct told_metrics){"barriers", {"heddle__inst_executed_op_barrier.sum"}});
}
