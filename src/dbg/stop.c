/* The server's state, and the two ends of a stop: its reason, and what the user is told. */
#include "dbg/private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/lock.h"

struct dbg dbg = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .listener = -1,
    .peer = -1,
};
HD_FORK_MUTEX(dbg, dbg.lock);

void dbg_wake(void)
{
    (void)!write(dbg.wake[1], "", 1);
}

void dbg_wait_locked(void)
{
    while (dbg.stopped)
        dbg_wait();
}

/* One reason at a time: whoever has another one tells it when the program goes on. */
void dbg_stop_locked(const struct dbg_stop *stop)
{
    assert(dbg_is_locked() && stop->kind != DBG_STOP_NONE);
    dbg_wait_locked();
    if (!dbg.attached)
        return;
    dbg.stop = *stop;
    dbg.stopped = true;
    dbg.reported = false;
    dbg.interrupted = false;
    dbg.step.tid = 0;
    dbg_wake();
    dbg_wait_locked();
}

void dbg_say(const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    dbg_lock();
    if (dbg.attached)
        hd_buf_printf(&dbg.said, "%s\n", text);
    dbg_unlock();
    dbg_wake();
}
