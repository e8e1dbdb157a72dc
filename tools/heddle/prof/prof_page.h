/*
 * A report as one page that refers to nothing outside of itself: prof_page.html, .css and .js, and
 * between them the data.
 *
 * The data are one JSON object. Events come in groups (calls, ranges, kernels ...) of columns; a
 * column is base64 of numbers, each a little-endian base-128 varint of its zigzag form, and of the
 * difference to the one before where the column is called so. What a program chose (names) is in
 * `strings`; `<` is written \u003c, so nothing ends the element early, and the script makes no
 * HTML of any of it.
 */
#ifndef HEDDLE_TOOLS_PROF_PAGE_H
#define HEDDLE_TOOLS_PROF_PAGE_H

#include "base/status.h"

/* The most events of the timeline; beyond, the shortest are left out, which the page tells. */
#define PROF_PAGE_EVENTS 3000000

/* `path` is a report, `to` a new file. HD_IO, HD_CORRUPT, HD_NO_MEMORY. */
enum hd_status prof_page(const char *path, const char *to, uint64_t max_events) HD_MUST_CHECK;

#endif
