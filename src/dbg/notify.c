/*
 * GDB's non-stop mode: stops are told when they happen, and GDB asks for the next one until there
 * is none. Source: GDB manual, E.10 (Notification Packets), E.11 (Remote Non-Stop).
 *
 * GDB thinks of threads one by one, while here all stand still as soon as one does. So a thread
 * that it wants to stop is told at once to have done so.
 */
#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "dbg/private.h"

static struct {
    HD_VEC(char *) texts;      /* in order; the first one may be under way */
    bool waits;                /* one was told, and GDB has not asked on */
    HD_VEC(uint64_t) notified; /* threads that stand still, as GDB knows; since they last went on */
} queue;

static void push(char *text)
{
    if (!text || !hd_vec_push(&queue.texts, text))
        hd_free(text);
}

static void pop(void)
{
    assert(queue.texts.len);
    hd_free(queue.texts.at[0]);
    memmove(queue.texts.at, queue.texts.at + 1, (queue.texts.len - 1) * sizeof(char *));
    queue.texts.len--;
}

/* The thread has stopped for GDB; what it stopped for comes first. */
static void push_thread(uint64_t tid)
{
    char text[48];

    for (size_t i = 0; i < queue.notified.len; i++)
        if (queue.notified.at[i] == tid)
            return;
    if (!dbg.reported && tid == (dbg.stop.tid ? dbg.stop.tid : DBG_HOST_TID)) {
        dbg_notify_stop();
        return;
    }
    (void)!hd_vec_push(&queue.notified, tid);
    snprintf(text, sizeof(text), "T00thread:%llx;", (unsigned long long)tid);
    push(hd_strdup(text));
}

void dbg_notify_stop(void)
{
    struct hd_buf text;

    assert(dbg_is_locked() && dbg.stopped && !dbg.reported);
    dbg.reported = true;
    dbg.focus = dbg.stop.tid ? dbg.stop.tid : DBG_HOST_TID;
    (void)!hd_vec_push(&queue.notified, dbg.focus);
    hd_buf_init(&text);
    dbg_stop_reply(&text);
    push(hd_strdup(text.ptr ? text.ptr : ""));
    hd_buf_fini(&text);
}

void dbg_notify_step(uint64_t tid)
{
    char text[48];

    snprintf(text, sizeof(text), "T05thread:%llx;", (unsigned long long)tid);
    push(hd_strdup(text));
}

void dbg_notify_halt(uint64_t tid)
{
    assert(dbg_is_locked());
    if (!dbg.stopped) {
        dbg.stopped = dbg.reported = true;
        dbg.stop = (struct dbg_stop){0};
    }
    if (tid != DBG_ANY_TID) {
        push_thread(tid);
        return;
    }
    push_thread(DBG_HOST_TID);
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct interp_cta *cta = dbg.ctas.at[i]->cta;
        for (uint32_t k = 0; k < interp_debug_nthreads(cta); k++)
            if (interp_debug_depth(interp_debug_thread(cta, k)))
                push_thread(dbg_tid(interp_debug_thread(cta, k)));
    }
}

static void put_first(struct hd_buf *out)
{
    queue.waits = queue.texts.len != 0;
    hd_buf_puts(out, queue.waits ? queue.texts.at[0] : "OK");
}

void dbg_notify_all(struct hd_buf *out)
{
    dbg_notify_forget();
    if (dbg.stopped)
        dbg_notify_halt(DBG_ANY_TID);
    put_first(out);
}

void dbg_notify_next(struct hd_buf *out)
{
    if (queue.waits && queue.texts.len)
        pop();
    put_first(out);
}

bool dbg_notify_take(struct hd_buf *out)
{
    assert(dbg_is_locked());
    if (queue.waits || !queue.texts.len)
        return false;
    hd_buf_puts(out, "Stop:");
    put_first(out);
    return true;
}

void dbg_notify_go_on(void)
{
    queue.notified.len = 0;
}

void dbg_notify_forget(void)
{
    dbg_notify_go_on();
    while (queue.texts.len)
        pop();
    queue.waits = false;
}
