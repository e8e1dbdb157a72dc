/* See groups.h. */
#include "report/groups.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static bool groups_open(struct report_groups *g, struct hd_str key, size_t *out_group)
{
    struct report_group group = {.first = REPORT_NONE, .last = REPORT_NONE};
    char *copy = hd_alloc(key.len + 1);

    if (!copy)
        return false;
    memcpy(copy, key.ptr, key.len);
    if (!hd_vec_push(&g->at, group) ||
        !hd_map_put(&g->by_key, (struct hd_str){copy, key.len}, (void *)(uintptr_t)g->at.len)) {
        hd_free(copy);
        return false;
    }
    *out_group = g->at.len - 1;
    return true;
}

bool report_groups_add(struct report_groups *g, struct hd_str key, int64_t id)
{
    size_t index = (uintptr_t)hd_map_get(&g->by_key, key);
    struct report_member member = {id, REPORT_NONE};

    assert(index <= g->at.len);
    if (index)
        index--;
    else if (!groups_open(g, key, &index))
        return false;
    if (!hd_vec_push(&g->members, member))
        return false;
    struct report_group *group = &g->at.at[index];
    size_t own = g->members.len - 1;
    assert(!group->count == (group->first == REPORT_NONE));
    if (group->count++)
        g->members.at[group->last].next = own;
    else
        group->first = own;
    group->last = own;
    return true;
}

void report_groups_fini(struct report_groups *g)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&g->by_key, &it))
        hd_free((char *)it.key.ptr);
    hd_map_fini(&g->by_key);
    hd_vec_fini(&g->at);
    hd_vec_fini(&g->members);
}
