/* What a process is and whether it is to be checked, inside of san. */
#ifndef HD_SAN_PROCESS_H
#define HD_SAN_PROCESS_H

#include "base/text/json.h"
#include "san/options.h"

/* The path of the executable; "" when it is not known. Single-threaded; kept. */
const char *san_process_exe(void);
/*
 * Do target-processes and its filter take this process? Children of a process that exclude-tree
 * names are found by the chain of parents. HD_BAD_ARG: the filter is malformed.
 */
enum hd_status san_process_is_wanted(const struct san_options *options, bool *out) HD_MUST_CHECK;
/* Checks a filter without applying it. */
enum hd_status san_process_check_filter(const char *filter) HD_MUST_CHECK;
/* Appends pid, parent, exe and arguments to the object that is open. */
void san_process_write(struct hd_json *j);

#endif
