/*
 * Sectors that coalesced accesses would not need: which line of the source has the most of them.
 * Sectors are the 32 byte pieces of memory that accesses of a warp touch; the ideal number is what
 * their bytes fill.
 */
#ifndef HD_REPORT_EXCESS_H
#define HD_REPORT_EXCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct report_sectors {
    const char *file;
    unsigned line;
    double all, ideal;
};

struct report_excess {
    size_t first;                /* the line: index of its first entry */
    double line_all, line_ideal; /* of all entries of that line: functions in which it is inlined */
    double all, excess;          /* of all lines */
};

/* Excess that is less than this part of all sectors is not worth a word: the ends of arrays. */
#define REPORT_EXCESS_LEAST 0.05

/* False: the excess is less than that. */
bool report_excess_find(const struct report_sectors *lines, size_t n, struct report_excess *out);

/* Is this a file of the source? Instructions without a line of it are those of the PTX. */
bool report_is_source(const char *file);
/* Appends the file's text to an empty buffer. False: it is no file that can be read, or it is too
 * large. */
bool report_source_read(const char *file, struct hd_buf *out);
/*
 * The text of a line without the blanks around it, and blanks for control characters; empty when it
 * cannot be read.
 */
void report_source_line(const char *file, unsigned line, struct hd_buf *out);
/* The same of a text that was read before, appended. */
void report_text_line(struct hd_str text, unsigned line, struct hd_buf *out);

#endif
