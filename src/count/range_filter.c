/* See range_filter.h. */
#include "count/range_filter.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"

static enum hd_status bad(const char *text, size_t len, const char *why)
{
    return hd_error(HD_BAD_ARG, "NVTX ranges '%.*s': %s", (int)len, text, why);
}

/* A part ends here; `name` is what it has, without backslashes. */
static enum hd_status end_part(struct count_filter *f, const char *name, bool is_plain,
                               const char *domain, const char *text, size_t len)
{
    if (f->n == COUNT_FILTER_PARTS)
        return bad(text, len, "too long");
    if (!*name)
        return bad(text, len, "a name is missing");
    f->domain[f->n] = domain;
    f->name[f->n++] = is_plain && !strcmp(name, "*") ? NULL : name;
    return HD_OK;
}

enum hd_status count_filter_read(const char *text, size_t len, struct count_filter *out)
{
    struct count_filter *f = out;
    const char *domain = "", *name = f->text;
    char *to = f->text;
    bool is_plain = true, has_list = false, is_over = false;

    *f = (struct count_filter){0};
    if (!len || len >= sizeof(f->text))
        return bad(text, len, len ? "too long" : "there are none");
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_first = to == name;

        if (is_over)
            return bad(text, len, "something follows ]");
        if (c == '\\' && i + 1 < len) {
            *to++ = text[++i];
            is_plain = false;
        } else if (c == '@') {
            *to++ = '\0';
            domain = name;
            name = to;
        } else if (c == '[' && is_first && !f->n) {
            f->from_bottom = f->is_nested = true;
        } else if (c == '/' || c == ',' || c == ']') {
            *to++ = '\0';
            HD_TRY(end_part(f, name, is_plain, domain, text, len));
            has_list = has_list || c == ',';
            f->is_nested = f->is_nested || c != ',';
            f->to_top = is_over = c == ']';
            if (c == ',')
                domain = "";
            name = to;
            is_plain = true;
        } else {
            *to++ = c;
        }
    }
    assert(to < f->text + sizeof(f->text) && f->n <= COUNT_FILTER_PARTS);
    *to = '\0';
    if (to > name || has_list || !f->n)
        if (!(f->is_nested && to == name))
            HD_TRY(end_part(f, name, is_plain, domain, text, len));
    if (f->is_nested && has_list)
        return bad(text, len, "ranges that are started and ranges that are pushed are not mixed");
    if (!f->is_nested)
        for (unsigned i = 0; i < f->n; i++)
            if (!f->name[i])
                return bad(text, len, "* stands between pushed ranges");
    return HD_OK;
}

/* Do the parts from `part` on lie on the stack from `at` on? */
static bool lies(const struct count_filter *f, unsigned part, const char *const *stack, unsigned at,
                 unsigned depth)
{
    assert(part <= f->n && at <= depth);
    for (; part < f->n && f->name[part]; part++, at++)
        if (at == depth || strcmp(stack[at], f->name[part]) != 0)
            return false;
    if (part == f->n)
        return !f->to_top || at == depth;
    for (; at <= depth; at++)
        if (lies(f, part + 1, stack, at, depth))
            return true;
    return false;
}

bool count_filter_fits(const struct count_filter *f, const char *const *stack, unsigned depth)
{
    for (unsigned at = 0; at <= (f->from_bottom ? 0 : depth); at++)
        if (lies(f, 0, stack, at, depth))
            return true;
    return false;
}
