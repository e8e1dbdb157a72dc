/*
 * Reading packets of GDB's remote serial protocol, and the answers that are of more than a line
 * (packets.c has the table). Whoever holds the lock calls these.
 */
#ifndef HD_DBG_PACKET_H
#define HD_DBG_PACKET_H

#include "dbg/private.h"

enum { PACKET_MAX_B = 0x4000 };

/* What is left of a packet. */
struct scan {
    const char *at, *end;
};

/* false: the program goes on, there is no answer yet. */
typedef bool packet_fn(struct scan *s, struct hd_buf *out);

/* ---- packet_scan.c: false when what is next is something else */
bool packet_scan_hex(struct scan *s, uint64_t *out);
bool packet_scan_char(struct scan *s, char c);
bool packet_scan_text(struct scan *s, const char *text);
bool packet_scan_tid(struct scan *s, uint64_t *out); /* -1 is all, 0 any: DBG_ANY_TID */
bool packet_scan_byte(struct scan *s, uint8_t *out);
bool packet_answer(struct hd_buf *out, const char *text); /* true */
bool packet_refuse(struct hd_buf *out);

/* ---- packet_query.c: what we are, files, threads */
packet_fn packet_supported, packet_features, packet_threads, packet_libraries, packet_first_threads,
    packet_last_threads, packet_set_thread, packet_alive, packet_current;

/* ---- packet_points.c: breakpoints and watchpoints */
packet_fn packet_insert, packet_remove;

#endif
