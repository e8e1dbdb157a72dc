/*
 * Groups: what text, pages and JSON show as one. Causes of the same kind, reads or writes, in the
 * same kernel at the same lines are: a loop that was unrolled has an instruction, and so a cause,
 * for each of its iterations.
 *
 * A cause joins a group when its first finding is taken. How often and by whom is added up from
 * the causes, because of those counts come at any time.
 */
#include "check/check.h"

#include <assert.h>
#include <string.h>

static void put_key(struct hd_buf *key, const char *text)
{
    hd_buf_append(key, text, strlen(text) + 1);
}

/* Tool, kind, which side reads or writes, kernel and lines; of the host's affairs the cause. */
static void make_key(const struct check_finding *f, bool suppressed, struct hd_buf *key)
{
    hd_buf_putc(key, suppressed ? 's' : ' ');
    put_key(key, f->tool);
    put_key(key, f->kind);
    put_key(key, f->kernel);
    for (size_t i = 0; i < f->nactors; i++) {
        put_key(key, f->actors[i].verb);
        put_key(key, f->actors[i].srclocs[0].file);
        put_key(key, f->actors[i].srclocs[0].func);
        hd_buf_printf(key, "%u", f->actors[i].srclocs[0].line);
    }
    for (size_t i = 0; i < f->nsides; i++) {
        put_key(key, f->sides[i].verb);
        put_key(key, f->sides[i].name);
    }
    if (!f->nactors || !f->actors[0].srclocs[0].file[0])
        hd_buf_printf(key, "%llx", (unsigned long long)f->cause);
}

/* Its index, of a new one too; SIZE_MAX: no memory. */
static size_t find_or_add(struct check_session *s, const struct check_finding *f, bool suppressed,
                          const struct hd_buf *key)
{
    struct check_group made = {.first = f, .severity = f->severity, .suppressed = suppressed};
    uintptr_t index = (uintptr_t)hd_map_get(&s->by_key, (struct hd_str){key->ptr, key->len});

    if (index)
        return index - 1;
    char *kept = hd_arena_try_alloc(&s->keys, key->len);
    if (!kept || !hd_vec_push(&s->groups, made))
        return SIZE_MAX;
    memcpy(kept, key->ptr, key->len);
    if (hd_map_put(&s->by_key, (struct hd_str){kept, key->len}, (void *)s->groups.len))
        return s->groups.len - 1;
    s->groups.len--;
    return SIZE_MAX;
}

struct check_group *check_group_join(struct check_session *s, struct check_cause *cause)
{
    struct hd_buf key = {0};
    size_t index = SIZE_MAX;

    assert(cause->first && !cause->hidden);
    make_key(&cause->first->finding, cause->suppressed, &key);
    if (!key.failed)
        index = find_or_add(s, &cause->first->finding, cause->suppressed, &key);
    hd_buf_fini(&key);
    if (index == SIZE_MAX)
        return NULL;
    cause->group = index + 1;
    return &s->groups.at[index];
}

struct check_group *check_group_of(struct check_session *s, const struct check_cause *cause)
{
    assert(cause->group <= s->groups.len);
    return cause->group ? &s->groups.at[cause->group - 1] : NULL;
}

void check_group_note_address(struct check_group *group, const struct check_finding *f)
{
    size_t n = group->naddresses;

    assert(n <= CHECK_ADDRESSES_MAX);
    if (!f->has_address || n == CHECK_ADDRESSES_MAX)
        return;
    for (size_t i = 0; i < n; i++)
        if (group->addresses[i] == f->address)
            return;
    group->addresses[group->naddresses++] = f->address;
}

void check_group_sum(struct check_session *s)
{
    for (size_t i = 0; i < s->groups.len; i++) {
        struct check_group *group = &s->groups.at[i];
        group->findings = group->count = group->causes = 0;
        group->extent = (struct san_extent){0};
        group->first = NULL; /* of a suppressed one it may have gone: its cause is shown by now */
    }
    for (size_t i = 0; i < s->causes.len; i++) {
        const struct check_cause *cause = &s->causes.at[i];
        struct check_group *group = check_group_of(s, cause);
        if (!group)
            continue;
        assert(cause->first && !cause->hidden && cause->suppressed == group->suppressed);
        group->first = group->first ? group->first : &cause->first->finding;
        group->causes++;
        group->findings += cause->findings;
        group->count += cause->count;
        group->severity = HD_MAX(group->severity, cause->first->finding.severity);
        san_extent_join(&group->extent, &cause->extent);
        for (size_t m = 0; m < cause->more.len && !cause->suppressed; m++) {
            group->findings += cause->more.at[m].findings;
            group->count += cause->more.at[m].count;
            san_extent_join(&group->extent, &cause->more.at[m].extent);
        }
    }
}

void check_group_drop_empty(struct check_session *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->groups.len; i++)
        if (s->groups.at[i].causes)
            s->groups.at[n++] = s->groups.at[i];
    s->groups.len = n;
    for (size_t i = 0; i < s->causes.len; i++)
        s->causes.at[i].group = 0; /* they have moved */
}
