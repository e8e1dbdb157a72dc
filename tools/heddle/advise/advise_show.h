/* heddle advise: from reports to what src/advise judges, and forms of the findings. */
#ifndef HEDDLE_TOOLS_ADVISE_SHOW_H
#define HEDDLE_TOOLS_ADVISE_SHOW_H

#include "advise/advise.h"

/* Reads `a->path`. HD_IO, HD_CORRUPT: it is no report, or a damaged one; HD_NO_MEMORY. */
enum hd_status advise_load(struct advise *a) HD_MUST_CHECK;

/* Moves the counters of the report `counted` into `report`, which is of another run of the same
 * program. HD_IO, HD_CORRUPT. */
enum hd_status advise_merge(const char *report, const char *counted) HD_MUST_CHECK;

/* Are the places of findings lines of the PTX, all of them? -lineinfo would give the source's. */
bool advise_lacks_lines(const struct advise *a);
void advise_text(const struct advise *a, struct hd_buf *out);
void advise_json(const struct advise *a, struct hd_buf *out);
void advise_html(const struct advise *a, struct hd_buf *out);
void advise_prompt(const struct advise *a, struct hd_buf *out);

#endif
