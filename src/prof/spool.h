/*
 * Writing the spool of this process (format.h). Records go to a block of the thread's own, without
 * locks; a new block is some hundred records away. Where there is no room for one, the record is
 * counted as lost and the program goes on.
 *
 *     struct prof_call *r = prof_new(CALL, call);
 *     if (r) {
 *         r->begin_ns = ...;
 *         prof_done(&r->record);
 *     }
 *
 * Threads: any, also in listeners that must not call the API. A thread finishes a record before it
 * begins another.
 */
#ifndef HD_PROF_SPOOL_H
#define HD_PROF_SPOOL_H

#include "base/status.h"
#include "prof/format.h"

/* Whose file it is, and since when. */
void prof_head_fill(struct prof_head *head, bool is_samples);

/* Makes the file in `folder`. HD_IO. After fork() the child calls it again, for one of its own. */
enum hd_status prof_spool_open(const char *folder, uint64_t max_B) HD_MUST_CHECK;
/* NULL before prof_spool_open(). */
const struct prof_head *prof_spool_head(void);
/* Another one for each file: what is known of the last one's records is not of this one. */
uint32_t prof_spool_generation(void);

/* A record of zeroes with its head, of which nobody knows before prof_done(). NULL: it is lost. */
void *prof_spool_reserve(enum prof_type type, size_t size_B);
void prof_done(struct prof_record *record);

#define prof_new(NAME, name)                                                                       \
    ((struct prof_##name *)prof_spool_reserve(PROF_##NAME, sizeof(struct prof_##name)))

/* The number of a text, which is written when it is new. 0: NULL, or no room. */
uint32_t prof_name(const char *text);
/* The same of a text that stays where it is for as long as the process. */
uint32_t prof_name_fixed(const char *text);

#endif
