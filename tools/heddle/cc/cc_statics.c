/*
 * heddle cc: static variables of relocatable device code.
 *
 * A static variable that host code names, too, becomes visible as NAME__static__ID. clang 19 finds
 * that out after it has compiled what stands in front of the use, and leaves NAME there, with a
 * declaration as extern:
 *
 *     .extern .global .align 4 .u32 _ZL5count;
 *     .visible .global .align 4 .u32 _ZL5count__static__1f2e3d4c;
 *
 * Here such names become the longer one, and the declarations go.
 */
#include "cc/cc.h"

#include <string.h>

#include "base/map.h"

#define MARK "__static__"

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

static size_t name_len(const char *at, const char *end)
{
    size_t len = 0;
    while (at + len < end && is_name(at[len]))
        len++;
    return len;
}

/* Every NAME with a longer form, to where that begins. */
static bool find_statics(const struct hd_buf *ptx, struct hd_map *statics)
{
    const char *start = ptx->ptr, *end = ptx->ptr + ptx->len;
    for (const char *at = start; (at = memmem(at, (size_t)(end - at), MARK, strlen(MARK)));
         at += strlen(MARK)) {
        const char *first = at;
        while (first > start && is_name(first[-1]))
            first--;
        size_t digits = strspn(at + strlen(MARK), "0123456789abcdef");
        if (at > first && at + strlen(MARK) + digits == first + name_len(first, end) &&
            !hd_map_put(statics, (struct hd_str){first, (size_t)(at - first)}, (void *)first))
            return false;
    }
    return true;
}

static void add_line(const struct hd_map *statics, struct hd_str line, struct hd_buf *out)
{
    const char *end = line.ptr + line.len;
    size_t before = out->len;
    bool changed = false;
    for (const char *at = line.ptr; at < end;) {
        struct hd_str name = {at, HD_MAX(name_len(at, end), 1u)};
        const char *full = hd_map_get(statics, name);
        hd_buf_append(out, full ? full : at, full ? strcspn(full, " \t\n;,[]()+=") : name.len);
        changed |= full != NULL;
        at += name.len;
    }
    if (changed && !out->failed && hd_str_starts(line, ".extern "))
        out->ptr[out->len = before] = '\0';
}

static void swap(struct hd_buf *a, struct hd_buf *b)
{
    struct hd_buf kept = *a;
    *a = *b;
    *b = kept;
}

enum hd_status cc_statics_mend(struct hd_buf *ptx)
{
    struct hd_map statics;
    struct hd_buf out;
    hd_map_init(&statics);
    hd_buf_init(&out);
    bool good = find_statics(ptx, &statics);
    const char *end = ptx->ptr + ptx->len;
    for (const char *at = ptx->ptr; good && statics.len && at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        struct hd_str line = {at, (size_t)((line_end ? line_end + 1 : end) - at)};
        add_line(&statics, line, &out);
        at += line.len;
    }
    good = good && !out.failed;
    if (good && statics.len)
        swap(ptx, &out);
    hd_buf_fini(&out);
    hd_map_fini(&statics);
    return good ? HD_OK : hd_error(HD_NO_MEMORY, "out of memory");
}
