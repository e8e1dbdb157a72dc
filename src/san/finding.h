/* A finding as JSON, and its cause, inside of san. */
#ifndef HD_SAN_FINDING_H
#define HD_SAN_FINDING_H

#include "base/text/json.h"
#include "san/extent.h"
#include "san/record.h"

/*
 * A number for what is found again: tool, kind, kernel, and place of each actor, or the host's
 * stack where no kernel is involved. The same in every process that runs the same code.
 */
uint64_t san_finding_cause(const struct san_finding *finding);
/* Appends its members to the object that is open. Without stacks it fits a message in any case. */
void san_finding_write(struct hd_json *j, const struct san_finding *finding, const char *program,
                       bool stacks);
/* Its threads, launch, address and size. */
void san_finding_extend(const struct san_finding *finding, struct san_extent *extent);
/* Appends what the extent has to the object that is open. */
void san_finding_write_extent(struct hd_json *j, const struct san_extent *extent);

#endif
