/* Breakpoints with their conditions, and watchpoints. */
#include <assert.h>
#include <ctype.h>

#include "base/mem.h"
#include "dbg/packet.h"

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
    while (packet_scan_text(s, ";X") || packet_scan_text(s, "X")) {
        uint64_t length;
        if (!packet_scan_hex(s, &length) || !packet_scan_char(s, ',') ||
            length > (uint64_t)(s->end - s->at) / 2)
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

static bool watch_set(char kind, uint64_t address, uint64_t size_B, struct hd_buf *out)
{
    uint64_t space = address >> DBG_SPACE_SHIFT << DBG_SPACE_SHIFT;
    struct dbg_watch w = {.address = address, .size_B = size_B, .kind = kind};

    if (!may_grow(dbg.watches.len) || space == DBG_TEXT || space == DBG_SPECIAL || !size_B ||
        size_B > UINT32_MAX)
        return packet_refuse(out);
    if (space == DBG_STACK) {
        const struct interp_thread *t =
            dbg_stack_owner(address, dbg_thread(dbg.home ? dbg.home : dbg.focus));
        if (!t)
            return packet_refuse(out);
        w.tid = dbg_tid(t);
        if (kind != '2' && (address & (DBG_FRAME_B - 1)) < DBG_LOCALS)
            return packet_refuse(out); /* who reads a register is not known */
    }
    return hd_vec_push(&dbg.watches, w) ? packet_answer(out, "OK") : packet_refuse(out);
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
    return packet_answer(out, "OK");
}

static bool point(struct scan *s, bool insert, struct hd_buf *out)
{
    uint64_t address, kind;
    char type = s->at < s->end ? *s->at++ : '\0';

    if (!packet_scan_char(s, ',') || !packet_scan_hex(s, &address) || !packet_scan_char(s, ',') ||
        !packet_scan_hex(s, &kind))
        return packet_refuse(out);
    if (type == '0' || type == '1') {
        if (insert && dbg.core)
            return packet_refuse(out);
        if (insert) {
            struct dbg_breakpoint b = {.pc = address};

            if (!dbg_unit_of(address) || !may_grow(dbg.breaks.len) || !scan_conditions(s, &b) ||
                !hd_vec_reserve(&dbg.breaks, dbg.breaks.len + 1)) {
                dbg_break_fini(&b);
                return packet_refuse(out);
            }
            break_remove(address); /* a new condition in place of the old one */
            assert(!dbg_break_at(address));
            (void)!hd_vec_push(&dbg.breaks, b);
            return packet_answer(out, "OK");
        }
        break_remove(address);
        return packet_answer(out, "OK");
    }
    if (type < '2' || type > '4' || dbg.core)
        return true; /* not supported */
    return insert ? watch_set(type, address, kind, out) : watch_remove(type, address, kind, out);
}

bool packet_insert(struct scan *s, struct hd_buf *out)
{
    return point(s, true, out);
}

bool packet_remove(struct scan *s, struct hd_buf *out)
{
    return point(s, false, out);
}
