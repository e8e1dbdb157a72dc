#include <assert.h>
#include <stdio.h>

#include "dbg/packet.h"

enum { THREADS_MAX = 4096 };

/* ---- what we are */

bool packet_supported(struct scan *s, struct hd_buf *out)
{
    (void)s;
    hd_buf_printf(out,
                  "PacketSize=%x;qXfer:features:read+;qXfer:threads:read+;qXfer:libraries:read+;"
                  "vContSupported+;swbreak+;ConditionalBreakpoints+;QStartNoAckMode+;"
                  "ReverseStep+;ReverseContinue+%s",
                  PACKET_MAX_B, dbg_is_apart() ? ";QNonStop+" : "");
    return true;
}

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
    else if (stop->kind == DBG_STOP_WATCH) {
        assert(stop->watch >= '2' && stop->watch <= '4');
        hd_buf_printf(out, "%s:%llx;", watches[stop->watch - '2'],
                      (unsigned long long)stop->address);
    }
    hd_buf_printf(out, "thread:%llx;", (unsigned long long)dbg.focus);
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

/* A segment is where the file says; of a section GDB takes the address for a displacement, and LLDB
 * knows nothing else. */
static void put_library(struct hd_buf *out, const char *path, uint64_t address)
{
    hd_buf_puts(out, "<library name=\"");
    xml_text(out, path);
    hd_buf_printf(out, "\"><%s address=\"0x%llx\"/></library>", dbg.lldb ? "section" : "segment",
                  (unsigned long long)address);
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

    if (!packet_scan_hex(s, &offset) || !packet_scan_char(s, ',') || !packet_scan_hex(s, &length))
        return packet_refuse(out);
    hd_buf_init(&text);
    put(&text);
    if (text.failed || offset > text.len) {
        hd_buf_fini(&text);
        return packet_refuse(out);
    }
    length = HD_MIN(length, (uint64_t)PACKET_MAX_B - 16);
    hd_buf_putc(out, text.len - offset <= length ? 'l' : 'm');
    hd_buf_append(out, text.ptr + offset, HD_MIN(length, text.len - offset));
    hd_buf_fini(&text);
    return true;
}

bool packet_features(struct scan *s, struct hd_buf *out)
{
    return transfer(s, out, dbg_regs_xml);
}

bool packet_threads(struct scan *s, struct hd_buf *out)
{
    return transfer(s, out, put_threads);
}

bool packet_libraries(struct scan *s, struct hd_buf *out)
{
    return transfer(s, out, put_libraries);
}

/* ---- threads */

bool packet_first_threads(struct scan *s, struct hd_buf *out)
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

bool packet_last_threads(struct scan *s, struct hd_buf *out)
{
    (void)s;
    return packet_answer(out, "l");
}

static bool is_alive(uint64_t tid)
{
    return tid == DBG_HOST_TID || dbg_thread(tid);
}

bool packet_set_thread(struct scan *s, struct hd_buf *out)
{
    uint64_t tid;

    if (s->at == s->end)
        return packet_refuse(out);
    s->at++; /* for which operations: all the same */
    if (!packet_scan_tid(s, &tid) || (tid != DBG_ANY_TID && !is_alive(tid)))
        return packet_refuse(out);
    if (tid != DBG_ANY_TID)
        dbg.focus = dbg.reader = tid;
    return packet_answer(out, "OK");
}

bool packet_alive(struct scan *s, struct hd_buf *out)
{
    uint64_t tid;

    return packet_scan_tid(s, &tid) && is_alive(tid) ? packet_answer(out, "OK")
                                                     : packet_refuse(out);
}

bool packet_current(struct scan *s, struct hd_buf *out)
{
    (void)s;
    hd_buf_printf(out, "QC%llx", (unsigned long long)dbg.focus);
    return true;
}
