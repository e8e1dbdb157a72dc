/* `heddle prof diff`: what two reports (report/diff.h) have, as text, CSV, JSON, and a page. */
#ifndef HEDDLE_TOOLS_PROF_DIFF_H
#define HEDDLE_TOOLS_PROF_DIFF_H

#include <stdio.h>

#include "base/status.h"
#include "base/str.h"
#include "report/diff.h"

extern const char *const diff_kind_words[REPORT_DIFF_KIND_COUNT];
extern const char *const diff_verdict_words[];

void diff_print_table(const struct report_diff *d, size_t max_rows, FILE *out);
void diff_print_csv(const struct report_diff *d, FILE *out);
/* false: no memory. */
bool diff_print_json(const struct report_diff *d, FILE *out);
void diff_print_html(const struct report_diff *d, struct hd_buf *out);

/* `heddle prof diff ...`: argv[0] is "diff". */
int prof_diff(int argc, char **argv);

#endif
