/*
 * Launches that are alike, shown once: members of a group have the same key, which says all that is
 * to be equal (kernel, grid, block, settings). Groups, and the members of each, are in the order in
 * which they came.
 *
 *     struct report_groups groups = {0};
 *     report_groups_add(&groups, key, launch) ...
 *     for (size_t g = 0; g < groups.at.len; g++)
 *         for (size_t m = groups.at.at[g].first; m != REPORT_NONE; m = groups.members.at[m].next)
 *             look_at(groups.members.at[m].id);
 */
#ifndef HD_REPORT_GROUPS_H
#define HD_REPORT_GROUPS_H

#include "base/map.h"
#include "base/vec.h"

#define REPORT_NONE SIZE_MAX

struct report_member {
    int64_t id;
    size_t next; /* of its group; REPORT_NONE */
};

struct report_group {
    size_t first, last; /* indices of members */
    size_t count;
};

/* Zeroes are empty. */
struct report_groups {
    HD_VEC(struct report_group) at;
    HD_VEC(struct report_member) members;
    struct hd_map by_key; /* index in `at` + 1; keys are own copies */
};

/* False: no memory; the groups can only be freed then. */
bool report_groups_add(struct report_groups *groups, struct hd_str key, int64_t id) HD_MUST_CHECK;
void report_groups_fini(struct report_groups *groups);

#endif
