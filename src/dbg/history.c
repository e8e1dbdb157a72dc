/*
 * Going back in time, in one block of threads: history.h says how.
 *
 * The interpreter does the same with the same. Other blocks wait meanwhile, so nobody else writes
 * what this one reads, but for the host.
 *
 * What does not come back: what was allocated, or asked of the device. What was printed is not
 * printed again.
 */
#include "dbg/history.h"

#include <assert.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    PASSES_MAX = 16 << 20,
    WRITES_MAX_B = 512 << 20,
    LOST_AFTER = 1 << 20, /* questions without the pass that comes next */
    SMALL_B = 256,
};

void dbg_history_describe(struct hd_buf *out)
{
    uint64_t size_B = history.passes.len * sizeof(struct history_pass) + history.writes.len, n = 0;

    for (size_t i = 0; i < history.points.len; i++)
        size_B += history.points.at[i].size_B;
    for (size_t i = 0; i < history.passes.len; i++)
        n += history.passes.at[i].starts != 0;
    if (history.cta)
        hd_buf_printf(out, "%llu instructions, %zu operations, %zu points, %llu MiB\n",
                      (unsigned long long)n, history.passes.len, history.points.len,
                      (unsigned long long)(size_B >> 20));
    else
        hd_buf_puts(out, "nothing is recorded\n");
}

/* ---- forwards */

/* What comes after where the program stands is no history any more. */
void dbg_history_forward(void)
{
    assert(!history.is_ahead || (history.here >= history.first && history.here <= history_last()));
    if (history.is_ahead)
        history.passes.len = (size_t)(history.here - history.first);
    history.is_ahead = false;
}

/* The older half goes; false: the history is over. */
static bool history_forget_some(void)
{
    size_t middle = history.points.len / 2;

    if (!middle || history.writes.failed) /* it begins anew here */
        return dbg_history_begin(history.cta);
    uint64_t first = history.points.at[middle].pass, gone = first - history.first;
    assert(gone && gone <= history.passes.len);
    history_log_forget(history.points.at[middle].writes);
    history_points_free(0, middle);
    memmove(history.passes.at, &history.passes.at[gone],
            (history.passes.len - gone) * sizeof(*history.passes.at));
    history.passes.len -= gone;
    history.first = first;
    return true;
}

void dbg_history_pass(const struct dbg_pass *p, uint32_t lanes)
{
    struct history_pass pass = {.warp = p->warp, .lanes = lanes};

    if (history.cta != p->cta)
        return;
    assert(history.mode == HISTORY_RECORDS && !history.is_ahead);
    history.is_torn = false;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const struct dbg_lane *lane = &p->lanes[__builtin_ctz(m)];
        if (!lane->spot.is_start)
            continue;
        pass.starts |= m & -m;
        pass.pc = pass.pc ? pass.pc : dbg_pc(lane->t, 0);
    }
    bool full = history.passes.len >= PASSES_MAX || history.writes.len >= WRITES_MAX_B ||
                history.writes.failed;
    if (full && !history_forget_some())
        return;
    if (!hd_vec_push(&history.passes, pass))
        dbg_history_end();
}

/* Is it memory that the interpreter saves with the block? */
static bool history_in_window(const struct interp_thread *t, const char *bytes, uint64_t size_B)
{
    uint64_t window_B;
    const char *window = interp_debug_shared(interp_debug_cta(t), &window_B);

    if (bytes >= window && size_B <= window_B && (size_t)(bytes - window) <= window_B - size_B)
        return true;
    window = interp_debug_local(t, &window_B);
    return bytes >= window && size_B <= window_B && (size_t)(bytes - window) <= window_B - size_B;
}

/* What is executed again did well the first time. */
bool dbg_history_access(const struct interp_thread *t, const void *bytes, uint64_t size_B,
                        bool write)
{
    char small[SMALL_B], *old = size_B <= SMALL_B ? small : hd_alloc(size_B);
    bool is_window = history_in_window(t, bytes, size_B), replays = dbg_history_replays(),
         good = true;

    if (!old) {
        history.writes.failed = true;
    } else if (is_window || replays) {
        if (write)
            history_log_add(t, bytes, bytes, (uint32_t)size_B, is_window,
                            replays ? history.next - 1 : history_last() - 1);
    } else { /* they may not be there: read by the kernel, so that we learn it */
        struct iovec ours = {old, size_B}, theirs = {(void *)(uintptr_t)bytes, size_B};
        good = process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) == (ssize_t)size_B;
        if (good && write)
            history_log_add(t, bytes, old, (uint32_t)size_B, false, history_last() - 1);
    }
    if (old != small)
        hd_free(old);
    return good;
}

void dbg_history_wrote(uint32_t reg)
{
    if (dbg_history_replays() || !history.passes.len)
        return;
    struct history_pass *pass = &hd_vec_last(&history.passes);
    pass->reg = pass->reg == HISTORY_NO_REG || pass->reg == reg + 1 ? reg + 1 : HISTORY_MANY_REGS;
}

/* It did something else this time: the host has changed memory, or it asked for the time. */
static void history_lose(struct dbg_stop *out)
{
    struct dbg_cta *c = history.cta;

    assert(dbg_history_replays());
    *out = (struct dbg_stop){.kind = DBG_STOP_BEGIN, .tid = dbg.focus, .signal = 5};
    hd_buf_puts(&dbg.said, "heddle: the kernel did something else this time: its history begins "
                           "here\n");
    (void)dbg_history_begin(c);
}

bool dbg_history_fault(const struct dbg_cta *c)
{
    struct dbg_stop stop;

    if (!dbg_history_is_of(c))
        return false;
    history.is_torn = history.passes.len && !dbg_history_replays();
    if (!dbg_history_replays())
        return false;
    if (history.mode == HISTORY_SCANS && history.next == history.end)
        return history_find_on();
    history_lose(&stop);
    return false;
}

/* Points that are due: of what is recorded, and on the way to a pass. */
void dbg_history_round(const struct dbg_cta *c)
{
    uint64_t next = dbg_history_replays() ? history.next : history_last();
    bool due = false;

    if (history.cta != c || !c)
        return;
    history.is_fresh = false;
    if (!dbg_history_replays())
        due = next - hd_vec_last(&history.points).pass >= history.interval;
    while (history.nplan && history.plan[history.nplan - 1] <= next) {
        uint64_t wanted = history.plan[--history.nplan];
        due |= history.points.at[history_point_before(next)].pass < wanted && next <= history.end;
    }
    if (due)
        (void)history_point_take(next);
}

/* ---- backwards */

/* Does the thread begin an instruction in this pass? */
static bool history_begins(const struct history_pass *pass, uint64_t tid)
{
    uint32_t index = (uint32_t)((tid - DBG_FIRST_TID) % DBG_CTA_THREADS);

    return pass->warp == index / 32 && pass->starts >> index % 32 & 1;
}

/* From a write, which is in the middle of an instruction, to the instruction before that. */
static bool history_step_back(uint64_t tid)
{
    struct dbg_stop stop = {.kind = DBG_STOP_STEP, .tid = tid, .signal = 5};
    bool is_within = history.stop.kind == DBG_STOP_WATCH && history.stop.tid == tid &&
                     history.end == history_last();

    for (uint64_t pass = history_last(); pass > history.first; pass--) {
        if (!history_begins(history_at(pass - 1), tid))
            continue;
        if (is_within) {
            is_within = false;
            continue;
        }
        (void)history_find_step(pass - 1, tid, &stop);
        if (!history_go(HISTORY_GOES, pass - 1, &stop))
            return false;
        history.keeps_ahead = true;
        return true;
    }
    return false;
}

/*
 * On its way to a breakpoint GDB steps over threads that are in the way: it takes the breakpoint
 * out, steps the thread back, puts it in, and goes on; the user sees none of that. To step one
 * thread back is to go back with all of them. So that nothing is missed that another one came by,
 * what follows such a step looks from where the step began.
 */
bool dbg_history_back(uint64_t tid, bool to_break)
{
    const struct interp_thread *t = dbg_thread(tid);

    if (!to_break || dbg.is_shown || !dbg.home)
        dbg_history_forward();
    if (!history.cta || !t || dbg_cta_of(t) != history.cta || !history.passes.len ||
        history.writes.failed)
        return false;
    return to_break ? history_find(history_last()) : history_step_back(tid);
}

/* ---- again */

/* The program is where it was wanted: it stops, unless what was looked for is not here. */
static bool history_arrive(const struct dbg_pass *p, struct dbg_stop *out)
{
    const struct history_pass *pass = history_at(history.end);

    assert(history.mode == HISTORY_GOES && history.next == history.end);
    *out = history.stop;
    if (out->kind == DBG_STOP_BREAK && !dbg_breaks(p, pass->lanes, out)) {
        out->kind = DBG_STOP_NONE;
        return history_find(history.end);
    }
    history.mode = HISTORY_RECORDS;
    history.is_ahead = true;
    history.here = history.end;
    if (!history.keeps_ahead)
        dbg_history_forward();
    history.keeps_ahead = false;
    size_t last = history_point_before(history.end) + 1;
    history_points_free(last, history.points.len);
    return true;
}

/* The pass that comes next, of the warp that asks for it. */
static uint32_t history_pass_again(struct dbg_pass *p, const struct interp_warp *warp,
                                   struct dbg_stop *out_stop)
{
    const struct history_pass *pass = history_at(history.next);
    bool is_break = pass->pc && dbg.breaks.len && dbg_break_at(pass->pc);

    assert(history.mode != HISTORY_RECORDS && history.next < history.end);
    if (pass->lanes & ~p->running) {
        history_lose(out_stop);
        return 0;
    }
    if (history.mode == HISTORY_SCANS && is_break) {
        dbg_pass_fill(p, warp);
        history_find_break(p, history.next);
    }
    history.questions = 0;
    history.next++;
    return pass->lanes;
}

/*
 * While replaying: the lanes that may move now; 0 and *out_stop: none, because the target is
 * reached; 0 without: another warp's turn.
 */
uint32_t dbg_history_again(struct dbg_pass *p, const struct interp_warp *warp,
                           struct dbg_stop *out_stop)
{
    assert(dbg_history_replays());
    out_stop->kind = DBG_STOP_NONE;
    if (p->cta != history.cta || history.is_fresh)
        return 0;
    if (history.mode == HISTORY_SCANS && history.next == history.end) {
        (void)history_find_on();
        return 0;
    }
    if (p->warp != history_at(history.next)->warp) {
        if (++history.questions > LOST_AFTER)
            history_lose(out_stop);
        return 0;
    }
    if (history.next < history.end)
        return history_pass_again(p, warp, out_stop);
    dbg_pass_fill(p, warp);
    (void)history_arrive(p, out_stop);
    return 0;
}
