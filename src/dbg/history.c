/*
 * Going back in time, in one block of threads.
 *
 * Recording keeps the block as it was when it began (interp_debug_save()), which lanes moved in
 * each pass since, and what memory held before it was written. To get to an earlier pass, writes
 * are undone, the block becomes what it was, and the passes up to there are executed again, in
 * their order: the interpreter does the same with the same. Other blocks wait meanwhile, so nobody
 * else writes what this one reads, but for the host.
 *
 * What does not come back: what was allocated, or asked of the device. What was printed is not
 * printed again.
 */
#include <sys/uio.h>

#include "base/mem.h"
#include "dbg/private.h"

enum {
    PASSES_MAX = 4 << 20,
    WRITES_MAX_B = 512 << 20,
    LOST_AFTER = 1 << 20, /* questions without the pass that comes next */
};

struct history_pass {
    uint32_t warp, lanes;
    uint32_t starts; /* lanes that begin an instruction */
    uint32_t pad;
    uint64_t pc; /* of the first of these; 0: none */
};

/* In front of the old bytes; behind them stands `size_B` again, to be found from there. */
struct history_write {
    uint64_t at;
    uint32_t size_B, pad;
};

static struct {
    struct dbg_cta *cta; /* NULL: nothing is recorded */
    struct interp_saved *saved;
    HD_VEC(struct history_pass) passes;
    struct hd_buf writes;
    /* Replaying: up to pass number `target`, of those that were recorded. */
    bool replays, to_break;
    size_t next, target;
    uint64_t tid;
    unsigned questions;
} history;

bool dbg_history_is_of(const struct dbg_cta *c)
{
    return history.cta == c;
}

bool dbg_history_is_on(void)
{
    return history.cta != NULL;
}

void dbg_history_end(void)
{
    interp_debug_saved_free(history.saved);
    hd_vec_fini(&history.passes);
    hd_buf_fini(&history.writes);
    history.cta = NULL;
    history.saved = NULL;
    history.replays = false;
}

bool dbg_history_begin(struct dbg_cta *c)
{
    dbg_history_end();
    history.saved = interp_debug_save(c->cta);
    history.cta = history.saved ? c : NULL;
    hd_buf_init(&history.writes);
    return history.cta != NULL;
}

/* ---- forwards */

void dbg_history_pass(const struct dbg_pass *p, uint32_t lanes)
{
    struct history_pass pass = {.warp = p->warp, .lanes = lanes};

    if (history.cta != p->cta)
        return;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const struct dbg_lane *lane = &p->lanes[__builtin_ctz(m)];
        if (!lane->spot.is_start)
            continue;
        pass.starts |= m & -m;
        pass.pc = pass.pc ? pass.pc : dbg_pc(lane->t, 0);
    }
    bool full = history.passes.len >= PASSES_MAX || history.writes.len >= WRITES_MAX_B ||
                history.writes.failed;
    if (full && !dbg_history_begin(history.cta)) /* it begins anew here */
        return;
    if (!hd_vec_push(&history.passes, pass))
        dbg_history_end();
}

/* The old bytes are read by the kernel, so that we learn whether they are there. */
bool dbg_history_access(const void *bytes, uint64_t size_B, bool write)
{
    struct history_write head = {(uintptr_t)bytes, (uint32_t)size_B, 0};
    char *old = hd_alloc(size_B + 1);
    struct iovec ours = {old, size_B}, theirs = {(void *)(uintptr_t)bytes, size_B};
    bool good = !old || process_vm_readv(dbg.pid, &ours, 1, &theirs, 1, 0) == (ssize_t)size_B;

    if (good && write) {
        hd_buf_append(&history.writes, &head, sizeof(head));
        hd_buf_append(&history.writes, old ? old : "", old ? size_B : 0);
        hd_buf_append(&history.writes, &head.size_B, sizeof(head.size_B));
        history.writes.failed |= !old;
    }
    hd_free(old);
    return good;
}

/* ---- backwards */

static void writes_undo(void)
{
    size_t end = history.writes.len;

    while (end) {
        struct history_write head;
        uint32_t size_B;
        memcpy(&size_B, history.writes.ptr + end - sizeof(size_B), sizeof(size_B));
        end -= sizeof(size_B) + size_B + sizeof(head);
        memcpy(&head, history.writes.ptr + end, sizeof(head));
        (void)dbg_write(NULL, head.at, history.writes.ptr + end + sizeof(head), size_B);
    }
    hd_buf_clear(&history.writes);
}

/* The block becomes what it was; from there its thread goes on to the target. */
static bool go_to(size_t target)
{
    writes_undo();
    if (!interp_debug_restore(history.cta->cta, history.saved)) {
        dbg_history_end();
        return false;
    }
    memset(history.cta->passed, 0, sizeof(history.cta->passed));
    memset(history.cta->parted, 0, sizeof(history.cta->parted));
    history.replays = true;
    history.next = 0;
    history.questions = 0;
    history.target = target;
    return true;
}

static bool thread_begins(const struct history_pass *pass, uint64_t tid)
{
    uint32_t index = (uint32_t)((tid - DBG_FIRST_TID) % DBG_CTA_THREADS);

    return pass->warp == index / 32 && pass->starts >> index % 32 & 1;
}

/* The last pass before number `before` that is wanted; false: there is none. */
static bool find_back(size_t before, size_t *out_pass)
{
    for (size_t i = HD_MIN(before, history.passes.len); i > 0; i--) {
        const struct history_pass *pass = &history.passes.at[i - 1];
        if (history.to_break ? pass->pc && dbg_break_at(pass->pc)
                             : thread_begins(pass, history.tid)) {
            *out_pass = i - 1;
            return true;
        }
    }
    return false;
}

bool dbg_history_back(uint64_t tid, bool to_break)
{
    struct interp_thread *t = dbg_thread(tid);
    size_t target = 0;

    if (!history.cta || !t || dbg_cta_of(t) != history.cta)
        return false;
    history.tid = tid;
    history.to_break = to_break;
    if (!find_back(history.passes.len, &target)) {
        if (!to_break || !history.passes.len)
            return false;
        target = 0;
    }
    return go_to(target);
}

/* ---- again */

/* The program has come to the pass that was wanted: it stops, or goes further back. */
static bool arrive(const struct dbg_pass *p, struct dbg_stop *out)
{
    const struct history_pass *pass = &history.passes.at[history.target];
    size_t target = 0;

    *out = (struct dbg_stop){.kind = DBG_STOP_STEP, .tid = history.tid, .signal = 5};
    if (history.to_break && dbg_breaks(p, pass->lanes, out)) {
        ;
    } else if (history.to_break && history.target) {
        if (find_back(history.target, &target) || !target)
            return go_to(target), false;
    } else if (history.to_break) {
        out->kind = DBG_STOP_BEGIN;
    }
    history.replays = false;
    history.passes.len = history.target;
    return true;
}

bool dbg_history_replays(void)
{
    return history.replays;
}

/*
 * While replaying: the lanes that may move now; 0 and *out_stop: none, because the target is
 * reached; 0 without: another warp's turn.
 */
uint32_t dbg_history_again(const struct dbg_pass *p, struct dbg_stop *out_stop)
{
    const struct history_pass *pass = &history.passes.at[history.next];

    out_stop->kind = DBG_STOP_NONE;
    if (p->cta != history.cta)
        return 0;
    bool is_lost = ++history.questions > LOST_AFTER;
    if (p->warp == pass->warp) {
        if (history.next == history.target) {
            (void)arrive(p, out_stop);
            return 0;
        }
        history.questions = 0;
        history.next++;
        if (!(pass->lanes & ~p->running))
            return pass->lanes;
        is_lost = true;
    }
    if (is_lost) { /* it did something else this time: the host has changed memory */
        *out_stop = (struct dbg_stop){.kind = DBG_STOP_BEGIN, .tid = history.tid, .signal = 5};
        (void)dbg_history_begin(history.cta);
    }
    return 0;
}
