/*
 * The packets of GDB's remote serial protocol, one row each: what begins with the row's text goes
 * to its function. Whatever is no row gets an empty answer, as the protocol wants it.
 *
 * Source: GDB manual, appendix E.
 */
#include "dbg/private.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

enum { PACKET_MAX_B = 0x4000, MEMORY_MAX_B = (PACKET_MAX_B - 16) / 2, THREADS_MAX = 4096 };

/* What is left of a packet. */
struct scan {
    const char *at, *end;
};

/* false: the program goes on, there is no answer yet. */
typedef bool packet_fn(struct scan *s, struct hd_buf *out);

/* ---- reading */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool scan_hex(struct scan *s, uint64_t *out)
{
    const char *start = s->at;

    *out = 0;
    while (s->at < s->end && hex_digit(*s->at) >= 0)
        *out = *out << 4 | (unsigned)hex_digit(*s->at++);
    return s->at > start;
}

static bool scan_char(struct scan *s, char c)
{
    if (s->at >= s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool scan_text(struct scan *s, const char *text)
{
    size_t len = strlen(text);

    if ((size_t)(s->end - s->at) < len || memcmp(s->at, text, len) != 0)
        return false;
    s->at += len;
    return true;
}

/* Numbers of threads: -1 is all, 0 any. */
static bool scan_tid(struct scan *s, uint64_t *out)
{
    if (scan_char(s, '-'))
        return scan_hex(s, out) && ((*out = DBG_ANY_TID), true);
    return scan_hex(s, out);
}

static bool scan_byte(struct scan *s, uint8_t *out)
{
    if (s->end - s->at < 2 || hex_digit(s->at[0]) < 0 || hex_digit(s->at[1]) < 0)
        return false;
    *out = (uint8_t)(hex_digit(s->at[0]) << 4 | hex_digit(s->at[1]));
    s->at += 2;
    return true;
}

static bool answer(struct hd_buf *out, const char *text)
{
    hd_buf_puts(out, text);
    return true;
}

static bool refuse(struct hd_buf *out)
{
    return answer(out, "E01");
}

/* ---- what we are */

static bool do_supported(struct scan *s, struct hd_buf *out)
{
    (void)s;
    hd_buf_printf(out,
                  "PacketSize=%x;qXfer:features:read+;qXfer:threads:read+;qXfer:libraries:read+;"
                  "vContSupported+;swbreak+;ConditionalBreakpoints+;QStartNoAckMode+;"
                  "ReverseStep+;ReverseContinue+%s",
                  PACKET_MAX_B, dbg_is_apart() ? ";QNonStop+" : "");
    return true;
}

static void xml_text(struct hd_buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("<>&\"'", *text))
            hd_buf_printf(out, "&#%d;", *text);
        else
            hd_buf_putc(out, *text);
    }
}

static void put_library(struct hd_buf *out, const char *path, uint64_t address)
{
    hd_buf_puts(out, "<library name=\"");
    xml_text(out, path);
    hd_buf_printf(out, "\"><segment address=\"0x%llx\"/></library>", (unsigned long long)address);
}

static void put_libraries(struct hd_buf *out)
{
    char path[sizeof(dbg.folder) + 32];

    snprintf(path, sizeof(path), "%s/cuda.elf", dbg.folder);
    hd_buf_puts(out, "<library-list>");
    put_library(out, path, DBG_HOST_PC);
    for (size_t i = 0; i < dbg.programs.len; i++)
        for (size_t k = 0; k < dbg.programs.at[i]->nunits; k++)
            if (dbg.programs.at[i]->units[k]->path)
                put_library(out, dbg.programs.at[i]->units[k]->path,
                            dbg.programs.at[i]->units[k]->base);
    hd_buf_puts(out, "</library-list>");
}

static void put_thread(struct hd_buf *out, const struct interp_thread *t)
{
    const uint32_t *b = interp_debug_ctaid(interp_debug_cta(t)), *i = interp_debug_tid(t);

    hd_buf_printf(out, "<thread id=\"%llx\" name=\"(%u,%u,%u)/(%u,%u,%u)\">",
                  (unsigned long long)dbg_tid(t), b[0], b[1], b[2], i[0], i[1], i[2]);
    dbg_describe(t, out);
    hd_buf_puts(out, "</thread>");
}

static unsigned put_cta_threads(struct hd_buf *out, const struct dbg_cta *c, unsigned n)
{
    for (uint32_t k = 0; k < interp_debug_nthreads(c->cta) && n < THREADS_MAX; k++) {
        const struct interp_thread *t = interp_debug_thread(c->cta, k);
        if (!interp_debug_depth(t))
            continue;
        put_thread(out, t);
        n++;
    }
    return n;
}

/* Those of the CTA that has the focus first: there may be more than GDB should be told. */
static void put_threads(struct hd_buf *out)
{
    const struct interp_thread *t = dbg_thread(dbg.stop.tid);
    const struct dbg_cta *first = t ? dbg_cta_of(t) : NULL;
    unsigned n = 0;

    hd_buf_printf(out, "<threads><thread id=\"%x\" name=\"host\">the program</thread>",
                  DBG_HOST_TID);
    if (first)
        n = put_cta_threads(out, first, n);
    for (size_t i = 0; i < dbg.ctas.len; i++)
        if (dbg.ctas.at[i] != first)
            n = put_cta_threads(out, dbg.ctas.at[i], n);
    hd_buf_puts(out, "</threads>");
}

/* `put`'s text piece by piece: it is made anew each time, and stands still while we are stopped. */
static bool transfer(struct scan *s, struct hd_buf *out, void (*put)(struct hd_buf *))
{
    uint64_t offset, length;
    struct hd_buf text;

    if (!scan_hex(s, &offset) || !scan_char(s, ',') || !scan_hex(s, &length))
        return refuse(out);
    hd_buf_init(&text);
    put(&text);
    if (text.failed || offset > text.len) {
        hd_buf_fini(&text);
        return refuse(out);
    }
    length = HD_MIN(length, (uint64_t)PACKET_MAX_B - 16);
    hd_buf_putc(out, text.len - offset <= length ? 'l' : 'm');
    hd_buf_append(out, text.ptr + offset, HD_MIN(length, text.len - offset));
    hd_buf_fini(&text);
    return true;
}

static bool do_features(struct scan *s, struct hd_buf *out)
{
    return transfer(s, out, dbg_regs_xml);
}

static bool do_threads(struct scan *s, struct hd_buf *out)
{
    return transfer(s, out, put_threads);
}

static bool do_libraries(struct scan *s, struct hd_buf *out)
{
    return transfer(s, out, put_libraries);
}

/* ---- threads */

static bool do_first_threads(struct scan *s, struct hd_buf *out)
{
    (void)s;
    hd_buf_printf(out, "m%x", DBG_HOST_TID);
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct interp_cta *cta = dbg.ctas.at[i]->cta;
        for (uint32_t k = 0; k < interp_debug_nthreads(cta); k++) {
            const struct interp_thread *t = interp_debug_thread(cta, k);
            if (interp_debug_depth(t) && out->len < PACKET_MAX_B - 64)
                hd_buf_printf(out, ",%llx", (unsigned long long)dbg_tid(t));
        }
    }
    return true;
}

static bool do_last_threads(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return answer(out, "l");
}

static bool is_alive(uint64_t tid)
{
    return tid == DBG_HOST_TID || dbg_thread(tid);
}

static bool do_set_thread(struct scan *s, struct hd_buf *out)
{
    uint64_t tid;

    if (s->at == s->end)
        return refuse(out);
    s->at++; /* for which operations: all the same */
    if (!scan_tid(s, &tid) || (tid != DBG_ANY_TID && !is_alive(tid)))
        return refuse(out);
    if (tid != DBG_ANY_TID)
        dbg.focus = tid;
    return answer(out, "OK");
}

static bool do_alive(struct scan *s, struct hd_buf *out)
{
    uint64_t tid;

    return scan_tid(s, &tid) && is_alive(tid) ? answer(out, "OK") : refuse(out);
}

static bool do_current(struct scan *s, struct hd_buf *out)
{
    (void)s;
    hd_buf_printf(out, "QC%llx", (unsigned long long)dbg.focus);
    return true;
}

/* ---- registers and memory */

static struct interp_thread *focus(void)
{
    return dbg_thread(dbg.focus);
}

static bool do_get_registers(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg_regs_put(focus(), out);
    return true;
}

static bool do_refuse(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return refuse(out);
}

static bool do_read(struct scan *s, struct hd_buf *out)
{
    uint64_t address, length;
    uint8_t bytes[MEMORY_MAX_B];

    if (!scan_hex(s, &address) || !scan_char(s, ',') || !scan_hex(s, &length))
        return refuse(out);
    size_t n = dbg_read(focus(), address, bytes, HD_MIN(length, sizeof(bytes)));
    if (!n && length)
        return refuse(out);
    for (size_t i = 0; i < n; i++)
        hd_buf_printf(out, "%02x", bytes[i]);
    return true;
}

static bool do_write(struct scan *s, struct hd_buf *out)
{
    uint64_t address, length, n = 0;
    uint8_t bytes[MEMORY_MAX_B];

    if (!scan_hex(s, &address) || !scan_char(s, ',') || !scan_hex(s, &length) ||
        !scan_char(s, ':') || length > sizeof(bytes))
        return refuse(out);
    while (n < length && scan_byte(s, &bytes[n]))
        n++;
    if (n < length || dbg_write(focus(), address, bytes, n) != n)
        return refuse(out);
    return answer(out, "OK");
}

/* ---- breakpoints and watchpoints */

static void break_remove(uint64_t pc)
{
    for (size_t i = 0; i < dbg.breaks.len; i++) {
        if (dbg.breaks.at[i].pc != pc)
            continue;
        if (!dbg_is_borrowing()) /* else its conditions are lost */
            dbg_break_fini(&dbg.breaks.at[i]);
        dbg.breaks.at[i] = dbg.breaks.at[--dbg.breaks.len];
        return;
    }
}

/* Room for one more; what is there may not move while somebody looks at it. */
static bool may_grow(size_t len)
{
    return !dbg_is_borrowing() || len < DBG_POINTS_MAX;
}

static bool scan_conditions(struct scan *s, struct dbg_breakpoint *b)
{
    while (scan_text(s, ";X") || scan_text(s, "X")) {
        uint64_t length;
        if (!scan_hex(s, &length) || !scan_char(s, ',') || length > (uint64_t)(s->end - s->at) / 2)
            return false;
        char *hex = hd_alloc(length * 2 + 1);
        if (!hex || !hd_vec_push(&b->conditions, hex)) {
            hd_free(hex);
            return false;
        }
        for (uint64_t i = 0; i < length * 2; i++)
            hex[i] = (char)tolower((unsigned char)*s->at++);
    }
    return true;
}

static bool break_set(struct scan *s, uint64_t pc, struct hd_buf *out)
{
    struct dbg_breakpoint b = {.pc = pc};

    if (!dbg_unit_of(pc) || !may_grow(dbg.breaks.len) || !scan_conditions(s, &b) ||
        !hd_vec_reserve(&dbg.breaks, dbg.breaks.len + 1)) {
        dbg_break_fini(&b);
        return refuse(out);
    }
    break_remove(pc); /* a new condition in place of the old one */
    (void)!hd_vec_push(&dbg.breaks, b);
    return answer(out, "OK");
}

static bool watch_set(char kind, uint64_t address, uint64_t size_B, struct hd_buf *out)
{
    uint64_t space = address >> DBG_SPACE_SHIFT << DBG_SPACE_SHIFT;
    struct dbg_watch w = {.address = address, .size_B = size_B, .kind = kind};

    if (!may_grow(dbg.watches.len) || space == DBG_TEXT || space == DBG_SPECIAL || !size_B ||
        size_B > UINT32_MAX)
        return refuse(out);
    if (space == DBG_STACK) { /* each thread has its own: that of the one that is looked at */
        w.tid = dbg.home ? dbg.home : dbg.focus;
        if (kind != '2' && (address & (DBG_FRAME_B - 1)) < DBG_LOCALS)
            return refuse(out); /* who reads a register is not known */
    }
    return hd_vec_push(&dbg.watches, w) ? answer(out, "OK") : refuse(out);
}

static bool watch_remove(char kind, uint64_t address, uint64_t size_B, struct hd_buf *out)
{
    for (size_t i = 0; i < dbg.watches.len; i++) {
        const struct dbg_watch *w = &dbg.watches.at[i];
        if (w->kind != kind || w->address != address || w->size_B != size_B)
            continue;
        dbg.watches.at[i] = dbg.watches.at[--dbg.watches.len];
        break;
    }
    return answer(out, "OK");
}

static bool point(struct scan *s, bool insert, struct hd_buf *out)
{
    uint64_t address, kind;
    char type = s->at < s->end ? *s->at++ : '\0';

    if (!scan_char(s, ',') || !scan_hex(s, &address) || !scan_char(s, ',') || !scan_hex(s, &kind))
        return refuse(out);
    if (type == '0' || type == '1') {
        if (insert && dbg.core)
            return refuse(out);
        if (insert)
            return break_set(s, address, out);
        break_remove(address);
        return answer(out, "OK");
    }
    if (type < '2' || type > '4' || dbg.core)
        return true; /* not supported */
    return insert ? watch_set(type, address, kind, out) : watch_remove(type, address, kind, out);
}

static bool do_insert(struct scan *s, struct hd_buf *out)
{
    return point(s, true, out);
}

static bool do_remove(struct scan *s, struct hd_buf *out)
{
    return point(s, false, out);
}

/* ---- going on and stopping */

void dbg_stop_reply(struct hd_buf *out)
{
    const struct dbg_stop *stop = &dbg.stop;
    static const char *const watches[] = {"watch", "rwatch", "awatch"};

    hd_buf_printf(out, "T%02x", stop->kind == DBG_STOP_NONE ? 5 : stop->signal);
    if (stop->kind == DBG_STOP_BREAK)
        hd_buf_puts(out, "swbreak:;");
    else if (stop->kind == DBG_STOP_LIBRARY)
        hd_buf_puts(out, "library:;");
    else if (stop->kind == DBG_STOP_BEGIN)
        hd_buf_puts(out, "replaylog:begin;");
    else if (stop->kind == DBG_STOP_WATCH)
        hd_buf_printf(out, "%s:%llx;", watches[stop->watch - '2'],
                      (unsigned long long)stop->address);
    hd_buf_printf(out, "thread:%llx;", (unsigned long long)dbg.focus);
}

static bool do_reason(struct scan *s, struct hd_buf *out)
{
    (void)s;
    if (dbg.non_stop)
        return dbg_notify_all(out), true;
    dbg_stop_reply(out);
    return true;
}

static bool do_non_stop(struct scan *s, struct hd_buf *out)
{
    dbg.non_stop = scan_char(s, '1');
    return answer(out, "OK");
}

/* The next stop that GDB does not know. */
static bool do_stopped(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg_notify_next(out);
    return true;
}

static bool do_interrupt(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg.interrupted = !dbg.stopped;
    return answer(out, "OK");
}

void dbg_resume_locked(void)
{
    dbg.stopped = false;
    dbg.released = true;
    dbg.stop = (struct dbg_stop){0};
    dbg.aside = false;
    dbg.stepped = 0;
    dbg_notify_go_on();
    dbg_wanted_set_locked();
    pthread_cond_broadcast(&dbg.changed);
}

static bool do_actions_known(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return answer(out, dbg.non_stop ? "vCont;c;C;s;S;r;t" : "vCont;c;C;s;S;r");
}

/*
 * One action; what one CUDA thread is to do by itself becomes dbg.step. `*everybody`: the others go
 * on, too.
 */
static bool scan_action(struct scan *s, bool *everybody)
{
    struct dbg_step step = {0};
    uint64_t signal, tid = DBG_ANY_TID;
    char action = s->at < s->end ? *s->at++ : '\0';

    if ((action == 'C' || action == 'S') && !scan_hex(s, &signal))
        return false;
    if (action == 'r' && (!scan_hex(s, &step.from) || !scan_char(s, ',') || !scan_hex(s, &step.to)))
        return false;
    if (!strchr("cCsSr", action) || (scan_char(s, ':') && !scan_tid(s, &tid)))
        return false;
    step.tid = tid == DBG_ANY_TID ? dbg.focus : tid;
    step.is_free = action == 'c' || action == 'C';
    *everybody |= tid == DBG_ANY_TID && step.is_free;
    if ((tid != DBG_ANY_TID || !step.is_free) && !dbg.step.tid && dbg_thread(step.tid))
        dbg.step = step;
    return true;
}

/* What a core dump is of does not go on: the same stop again. */
static bool stay(void)
{
    hd_buf_puts(&dbg.said, "A core dump can be looked at, but does not run.\n");
    dbg.reported = false;
    return false;
}

/*
 * One thread is to step while the host stands still: GDB wants it off its breakpoint. Nobody can
 * execute that, and it is not needed (monitor.c, do_aside()): GDB is told that it was done.
 */
static bool steps_in_vain(void)
{
    const struct interp_thread *t = dbg.step.is_free ? NULL : dbg_thread(dbg.step.tid);

    if (!t || !dbg_cta_of(t) || !dbg_is_frozen(dbg_cta_of(t)->worker))
        return false;
    dbg.stepped = dbg.step.tid;
    dbg.step = (struct dbg_step){0};
    dbg_notify_step(dbg.stepped);
    return true;
}

static bool do_go_on(struct scan *s, struct hd_buf *out)
{
    bool everybody = false;

    if (dbg.core)
        return stay();
    if (dbg.non_stop && s->at < s->end && *s->at == 't') {
        uint64_t tid = DBG_ANY_TID;
        s->at++;
        if (scan_char(s, ':') && !scan_tid(s, &tid))
            return refuse(out);
        dbg_notify_halt(tid);
        return answer(out, "OK");
    }
    dbg.step = (struct dbg_step){0};
    do {
        if (!scan_action(s, &everybody)) {
            dbg.step = (struct dbg_step){0};
            return refuse(out);
        }
    } while (scan_char(s, ';'));
    if (everybody && dbg.step.is_free)
        dbg.step = (struct dbg_step){0};
    if (dbg.non_stop && !everybody && steps_in_vain())
        return answer(out, "OK");
    dbg_resume_locked();
    return dbg.non_stop ? answer(out, "OK") : false;
}

static bool back(bool to_break, struct hd_buf *out)
{
    if (dbg.core)
        return stay();
    dbg.step = (struct dbg_step){0};
    if (!dbg_is_borrowing() && dbg_history_back(dbg.focus, to_break)) {
        dbg_resume_locked();
        return false;
    }
    hd_buf_printf(out, "T05replaylog:begin;thread:%llx;", (unsigned long long)dbg.focus);
    return true;
}

static bool do_step_back(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return back(false, out);
}

static bool do_go_back(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return back(true, out);
}

void dbg_forget_locked(void)
{
    dbg_history_end();
    for (size_t i = 0; i < dbg.breaks.len; i++)
        dbg_break_fini(&dbg.breaks.at[i]);
    dbg.breaks.len = dbg.watches.len = 0;
    dbg.step = (struct dbg_step){0};
    dbg.watched.kind = DBG_STOP_NONE;
    dbg.break_on_launch = dbg.interrupted = false;
    dbg.home = 0;
    dbg.attached = false;
    dbg_resume_locked();
}

static bool do_detach(struct scan *s, struct hd_buf *out)
{
    (void)s;
    dbg_forget_locked();
    return answer(out, "OK");
}

static bool do_kill(struct scan *s, struct hd_buf *out)
{
    (void)s;
    if (dbg.core) {
        dbg.attached = false;
        return answer(out, "OK");
    }
    dbg.ends = true; /* after the answer */
    return answer(out, "OK");
}

static bool do_ok(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return answer(out, "OK");
}

static bool do_attached(struct scan *s, struct hd_buf *out)
{
    (void)s;
    /* A program was started for the debugger: quitting ends it. */
    return answer(out, dbg.core ? "1" : "0");
}

static bool do_monitor(struct scan *s, struct hd_buf *out)
{
    char command[512];
    struct hd_buf text;
    size_t n = 0;
    uint8_t c;

    while (n + 1 < sizeof(command) && scan_byte(s, &c))
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
    X("qSupported", do_supported)                                                                  \
    X("QStartNoAckMode", do_ok)                                                                    \
    X("qXfer:features:read:" DBG_REGS_XML_NAME ":", do_features)                                   \
    X("qXfer:threads:read::", do_threads)                                                          \
    X("qXfer:libraries:read::", do_libraries)                                                      \
    X("qfThreadInfo", do_first_threads)                                                            \
    X("qsThreadInfo", do_last_threads)                                                             \
    X("qAttached", do_attached)                                                                    \
    X("qRcmd,", do_monitor)                                                                        \
    X("qSymbol", do_ok)                                                                            \
    X("qC", do_current)                                                                            \
    X("vCont?", do_actions_known)                                                                  \
    X("vCont;", do_go_on)                                                                          \
    X("QNonStop:", do_non_stop)                                                                    \
    X("vStopped", do_stopped)                                                                      \
    X("vCtrlC", do_interrupt)                                                                      \
    X("vKill", do_kill)                                                                            \
    X("bs", do_step_back)                                                                          \
    X("bc", do_go_back)                                                                            \
    X("?", do_reason)                                                                              \
    X("H", do_set_thread)                                                                          \
    X("T", do_alive)                                                                               \
    X("g", do_get_registers)                                                                       \
    X("G", do_refuse)                                                                              \
    X("P", do_refuse)                                                                              \
    X("m", do_read)                                                                                \
    X("M", do_write)                                                                               \
    X("Z", do_insert)                                                                              \
    X("z", do_remove)                                                                              \
    X("D", do_detach)                                                                              \
    X("k", do_kill)

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
        if (scan_text(&s, rows[i].text))
            return rows[i].run(&s, out_reply);
    }
    return true;
}
