/*
 * The packets of GDB's remote serial protocol, one row each: what begins with the row's text goes
 * to its function. Whatever is no row gets an empty answer, as the protocol wants it.
 *
 * Source: GDB manual, appendix E.
 */
#include "dbg/packet.h"

#include <assert.h>

enum { MEMORY_MAX_B = (PACKET_MAX_B - 16) / 2 };

/* ---- registers and memory */

static struct interp_thread *packet_thread(void)
{
    return dbg_thread(dbg.focus);
}

static bool packet_registers(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg_regs_put(packet_thread(), out);
    return true;
}

static bool packet_refused(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return packet_refuse(out);
}

/*
 * LLDB reads memory without saying of which thread. It is the one whose registers or stack it has
 * read last: expressions begin with variables.
 */
static struct interp_thread *packet_reader(uint64_t address)
{
    struct interp_thread *t = dbg_thread(dbg.lldb ? dbg.reader : dbg.focus);

    if (!dbg.lldb || address >> DBG_SPACE_SHIFT != DBG_STACK >> DBG_SPACE_SHIFT)
        return t;
    t = dbg_stack_owner(address, t);
    dbg.reader = t ? dbg_tid(t) : dbg.reader;
    return t;
}

/* GDB does not ask for this. */
static bool packet_thread_suffix(struct scan *s, struct hd_buf *out)
{
    dbg.lldb = true;
    return true;
}

static bool packet_read(struct scan *s, struct hd_buf *out)
{
    uint64_t address, length;
    uint8_t bytes[MEMORY_MAX_B];

    if (!packet_scan_hex(s, &address) || !packet_scan_char(s, ',') || !packet_scan_hex(s, &length))
        return packet_refuse(out);
    size_t n = dbg_read(packet_reader(address), address, bytes, HD_MIN(length, sizeof(bytes)));
    if (!n && length)
        return packet_refuse(out);
    for (size_t i = 0; i < n; i++)
        hd_buf_printf(out, "%02x", bytes[i]);
    return true;
}

static bool packet_write(struct scan *s, struct hd_buf *out)
{
    uint64_t address, length, n = 0;
    uint8_t bytes[MEMORY_MAX_B];

    if (!packet_scan_hex(s, &address) || !packet_scan_char(s, ',') ||
        !packet_scan_hex(s, &length) || !packet_scan_char(s, ':') || length > sizeof(bytes))
        return packet_refuse(out);
    while (n < length && packet_scan_byte(s, &bytes[n]))
        n++;
    if (n < length || dbg_write(packet_reader(address), address, bytes, n) != n)
        return packet_refuse(out);
    return packet_answer(out, "OK");
}

/* ---- going on and stopping */

static bool packet_reason(struct scan *s, struct hd_buf *out)
{
    (void)s;
    if (dbg.non_stop)
        return dbg_notify_all(out), true;
    dbg_stop_reply(out);
    return true;
}

static bool packet_non_stop(struct scan *s, struct hd_buf *out)
{
    dbg.non_stop = packet_scan_char(s, '1');
    return packet_answer(out, "OK");
}

/* The next stop that GDB does not know. */
static bool packet_stopped(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg_notify_next(out);
    return true;
}

static bool packet_interrupt(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg.interrupted = !dbg.stopped;
    return packet_answer(out, "OK");
}

void dbg_resume_locked(void)
{
    assert(dbg_is_locked());
    dbg.stopped = dbg.is_shown = false;
    dbg.released = true;
    dbg.stop = (struct dbg_stop){0};
    dbg.aside = false;
    dbg.stepped = 0;
    dbg_notify_go_on();
    dbg_wanted_set_locked();
    pthread_cond_broadcast(&dbg.changed);
}

static bool packet_actions_known(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return packet_answer(out, dbg.non_stop ? "vCont;c;C;s;S;r;t" : "vCont;c;C;s;S;r");
}

/*
 * One action; what one CUDA thread is to do by itself becomes dbg.step. `*everybody`: the others go
 * on, too.
 */
static bool packet_scan_action(struct scan *s, bool *everybody)
{
    struct dbg_step step = {0};
    uint64_t signal, tid = DBG_ANY_TID;
    char action = s->at < s->end ? *s->at++ : '\0';

    if ((action == 'C' || action == 'S') && !packet_scan_hex(s, &signal))
        return false;
    if (action == 'r' && (!packet_scan_hex(s, &step.from) || !packet_scan_char(s, ',') ||
                          !packet_scan_hex(s, &step.to)))
        return false;
    if (!strchr("cCsSr", action) || (packet_scan_char(s, ':') && !packet_scan_tid(s, &tid)))
        return false;
    step.tid = tid == DBG_ANY_TID ? dbg.focus : tid;
    step.is_free = action == 'c' || action == 'C';
    *everybody |= tid == DBG_ANY_TID && step.is_free;
    if ((tid != DBG_ANY_TID || !step.is_free) && !dbg.step.tid && dbg_thread(step.tid))
        dbg.step = step;
    return true;
}

/* What a core dump is of does not go on: the same stop again. */
static bool packet_stay(void)
{
    hd_buf_puts(&dbg.said, "A core dump can be looked at, but does not run.\n");
    dbg.reported = false;
    return false;
}

/*
 * One thread is to step while the host stands still: GDB wants it off its breakpoint. Nobody can
 * execute that, and it is not needed (monitor.c, monitor_aside()): GDB is told that it was done.
 */
static bool packet_steps_in_vain(void)
{
    const struct interp_thread *t = dbg.step.is_free ? NULL : dbg_thread(dbg.step.tid);

    if (!t || !dbg_cta_of(t) || !dbg_is_frozen(dbg_cta_of(t)->worker))
        return false;
    dbg.stepped = dbg.step.tid;
    dbg.step = (struct dbg_step){0};
    dbg_notify_step(dbg.stepped);
    return true;
}

static bool packet_go_on(struct scan *s, struct hd_buf *out)
{
    bool everybody = false;

    if (dbg.core)
        return packet_stay();
    if (dbg.non_stop && s->at < s->end && *s->at == 't') {
        uint64_t tid = DBG_ANY_TID;
        s->at++;
        if (packet_scan_char(s, ':') && !packet_scan_tid(s, &tid))
            return packet_refuse(out);
        dbg_notify_halt(tid);
        return packet_answer(out, "OK");
    }
    dbg.step = (struct dbg_step){0};
    do {
        if (!packet_scan_action(s, &everybody)) {
            dbg.step = (struct dbg_step){0};
            return packet_refuse(out);
        }
    } while (packet_scan_char(s, ';'));
    if (everybody && dbg.step.is_free)
        dbg.step = (struct dbg_step){0};
    if (dbg.non_stop && !everybody && packet_steps_in_vain())
        return packet_answer(out, "OK");
    dbg_history_forward();
    dbg_resume_locked();
    return dbg.non_stop ? packet_answer(out, "OK") : false;
}

/* LLDB's way to let all go on, or to step the thread in focus. */
static bool packet_continue(struct scan *s, struct hd_buf *out)
{
    return packet_go_on(&(struct scan){"c", &"c"[1]}, out);
}

static bool packet_step(struct scan *s, struct hd_buf *out)
{
    return packet_go_on(&(struct scan){"s", &"s"[1]}, out);
}

static bool packet_back(bool to_break, struct hd_buf *out)
{
    if (dbg.core)
        return packet_stay();
    dbg.step = (struct dbg_step){0};
    if (!dbg_is_borrowing() && dbg_history_back(dbg.focus, to_break)) {
        dbg_resume_locked();
        return false;
    }
    hd_buf_printf(out, "T05replaylog:begin;thread:%llx;", (unsigned long long)dbg.focus);
    return true;
}

static bool packet_step_back(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return packet_back(false, out);
}

static bool packet_go_back(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return packet_back(true, out);
}

void dbg_forget_locked(void)
{
    assert(dbg_is_locked());
    dbg_history_end();
    for (size_t i = 0; i < dbg.breaks.len; i++)
        dbg_break_fini(&dbg.breaks.at[i]);
    dbg.breaks.len = dbg.watches.len = 0;
    dbg.step = (struct dbg_step){0};
    dbg.watched.kind = DBG_STOP_NONE;
    dbg.break_on_launch = dbg.interrupted = false;
    dbg.home = 0;
    dbg.attached = dbg.lldb = false;
    dbg_resume_locked();
}

static bool packet_detach(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg_forget_locked();
    return packet_answer(out, "OK");
}

static void packet_program_kill(void)
{
    if (dbg.core)
        dbg.attached = false;
    else
        dbg.ends = true; /* after the answer */
}

static bool packet_kill(struct scan *s, struct hd_buf *out)
{
    (void)s;
    packet_program_kill();
    return packet_answer(out, "OK");
}

/* GDB does not wait for an answer, LLDB does. */
static bool packet_kill_at_once(struct scan *s, struct hd_buf *out)
{
    (void)s;
    packet_program_kill();
    return packet_answer(out, "X09");
}

static bool packet_ok(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return packet_answer(out, "OK");
}

static bool packet_attached(struct scan *s, struct hd_buf *out)
{
    (void)s;
    /* A program was started for the debugger: quitting ends it. */
    return packet_answer(out, dbg.core ? "1" : "0");
}

static bool packet_monitor(struct scan *s, struct hd_buf *out)
{
    char command[512];
    struct hd_buf text;
    size_t n = 0;
    uint8_t c;

    while (n + 1 < sizeof(command) && packet_scan_byte(s, &c))
        command[n++] = (char)c;
    command[n] = '\0';
    hd_buf_init(&text);
    dbg_monitor(command, &text);
    for (size_t i = 0; i < text.len && i < MEMORY_MAX_B; i++)
        hd_buf_printf(out, "%02x", (unsigned char)text.ptr[i]);
    if (!out->len)
        hd_buf_puts(out, "OK");
    hd_buf_fini(&text);
    return true;
}

/* ---- the table: text that packets begin with, function. The first that fits. */
#define PACKET_LIST(X)                                                                             \
    X("qSupported", packet_supported)                                                              \
    X("QStartNoAckMode", packet_ok)                                                                \
    X("QThreadSuffixSupported", packet_thread_suffix)                                              \
    X("qXfer:features:read:" DBG_REGS_XML_NAME ":", packet_features)                               \
    X("qXfer:threads:read::", packet_threads)                                                      \
    X("qXfer:libraries:read::", packet_libraries)                                                  \
    X("qfThreadInfo", packet_first_threads)                                                        \
    X("qsThreadInfo", packet_last_threads)                                                         \
    X("qAttached", packet_attached)                                                                \
    X("qRcmd,", packet_monitor)                                                                    \
    X("qSymbol", packet_ok)                                                                        \
    X("qC", packet_current)                                                                        \
    X("vCont?", packet_actions_known)                                                              \
    X("vCont;", packet_go_on)                                                                      \
    X("QNonStop:", packet_non_stop)                                                                \
    X("vStopped", packet_stopped)                                                                  \
    X("vCtrlC", packet_interrupt)                                                                  \
    X("vKill", packet_kill)                                                                        \
    X("bs", packet_step_back)                                                                      \
    X("bc", packet_go_back)                                                                        \
    X("c", packet_continue)                                                                        \
    X("C", packet_continue)                                                                        \
    X("s", packet_step)                                                                            \
    X("S", packet_step)                                                                            \
    X("?", packet_reason)                                                                          \
    X("H", packet_set_thread)                                                                      \
    X("T", packet_alive)                                                                           \
    X("g", packet_registers)                                                                       \
    X("G", packet_refused)                                                                         \
    X("P", packet_refused)                                                                         \
    X("m", packet_read)                                                                            \
    X("M", packet_write)                                                                           \
    X("Z", packet_insert)                                                                          \
    X("z", packet_remove)                                                                          \
    X("D", packet_detach)                                                                          \
    X("k", packet_kill_at_once)

bool dbg_packet(const char *packet, size_t len, struct hd_buf *out_reply)
{
    static const struct {
        const char *text;
        packet_fn *run;
    } rows[] = {
#define X(text, run) {text, run},
        PACKET_LIST(X)
#undef X
    };

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        struct scan s = {packet, packet + len};
        if (!packet_scan_text(&s, rows[i].text))
            continue;
        bool answered = rows[i].run(&s, out_reply);
        assert(out_reply->len <= PACKET_MAX_B); /* as packet_supported() says */
        return answered;
    }
    return true;
}
