#include "base/env.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/mem.h"

struct env_row {
    const char *name;
    enum hd_env_kind kind;
    const char *possible;
};

static const struct env_row rows[] = {
#define X(name, kind, possible, doc) {name, HD_ENV_##kind, possible},
    HD_ENV_LIST(X)
#undef X
};

static const struct env_row *find_row(struct hd_str name)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (hd_str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

const char *hd_env_name(size_t index)
{
    return index < HD_COUNT_OF(rows) ? rows[index].name : NULL;
}

bool hd_env_is_foreign(void)
{
    return getauxval(AT_SECURE) != 0;
}

const char *hd_env_of_system(const char *name)
{
    return hd_env_is_foreign() ? NULL : getenv(name);
}

const char *hd_env(const char *name)
{
    const char *value = hd_env_of_system(name);

    assert(find_row(hd_str_from(name)));
    return value && value[0] ? value : NULL;
}

/* "4G", "512m", "123456" */
static bool parse_size(struct hd_str text, uint64_t *out_B)
{
    static const char units[] = "KMGT";
    const char *unit = text.len ? strchr(units, text.ptr[text.len - 1] & ~0x20) : NULL;
    unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t value;

    text.len -= shift != 0;
    if (!hd_str_to_u64(text, 10, &value) || !value || value > UINT64_MAX >> shift)
        return false;
    *out_B = value << shift;
    return true;
}

static bool parse_count(const struct env_row *row, struct hd_str text, uint64_t *out_count)
{
    char *end;
    uint64_t value, first = strtoull(row->possible, &end, 10);

    assert(!strncmp(end, " to ", 4));
    if (!hd_str_to_u64(text, 10, &value) || value < first || value > strtoull(end + 4, NULL, 10))
        return false;
    *out_count = value;
    return true;
}

/* A word of "cpu, interp". */
static bool is_listed(const char *list, struct hd_str word)
{
    while (*list) {
        size_t len = strcspn(list, ",");
        if (len == word.len && !memcmp(list, word.ptr, len))
            return true;
        list += len;
        list += strspn(list, ", ");
    }
    return false;
}

/* "interp", "cpu/2" */
static bool parse_device(struct hd_str text, struct hd_env_device *out_device)
{
    const char *slash = memchr(text.ptr, '/', text.len);
    uint64_t parts = 1;

    if (slash) {
        struct hd_str rest = {slash + 1, text.len - (size_t)(slash + 1 - text.ptr)};

        if (!hd_str_to_u64(rest, 10, &parts) || !parts || parts > HD_ENV_DEVICES_MAX)
            return false;
        text.len = (size_t)(slash - text.ptr);
    }
    *out_device = (struct hd_env_device){text, (unsigned)parts};
    return is_listed(find_row(hd_str_from("HEDDLE_DEVICE"))->possible, text);
}

/* How many entries; 0: the text is wrong. `kind`: of those that have none. */
static unsigned parse_devices(const struct env_row *row, const char *text, const char *kind,
                              struct hd_env_device out_devices[HD_ENV_DEVICES_MAX])
{
    unsigned n = 0, total = 0;
    uint64_t count;

    if (parse_count(row, hd_str_from(text), &count)) {
        for (; n < count; n++)
            out_devices[n] = (struct hd_env_device){hd_str_from(kind), 1};
        return n;
    }
    for (size_t len;; text += len + 1) {
        len = strcspn(text, ",");
        if (n == HD_ENV_DEVICES_MAX || !parse_device((struct hd_str){text, len}, &out_devices[n]))
            return 0;
        total += out_devices[n++].parts;
        if (total > HD_ENV_DEVICES_MAX)
            return 0;
        if (!text[len])
            return n;
    }
}

unsigned hd_env_devices(struct hd_env_device out_devices[HD_ENV_DEVICES_MAX])
{
    const char *text = hd_env("HEDDLE_DEVICES"), *kind = hd_env("HEDDLE_DEVICE");

    return parse_devices(find_row(hd_str_from("HEDDLE_DEVICES")), text ? text : "1",
                         kind ? kind : "cpu", out_devices);
}

static bool row_allows(const struct env_row *row, const char *value)
{
    struct hd_str text = hd_str_from(value);
    struct hd_env_device devices[HD_ENV_DEVICES_MAX];
    uint64_t number;

    switch (row->kind) {
    case HD_ENV_TEXT:
    case HD_ENV_FLAGS:
        return true;
    case HD_ENV_FILE:
        return strpbrk(value, "/.") != NULL;
    case HD_ENV_FIRST:
        text.len = strcspn(value, ",");
        return is_listed(row->possible, text);
    case HD_ENV_CHOICE:
        return is_listed(row->possible, text);
    case HD_ENV_COUNT:
        return parse_count(row, text, &number);
    case HD_ENV_DEVICES:
        return parse_devices(row, value, "cpu", devices) > 0;
    case HD_ENV_SIZE:
        return parse_size(text, &number);
    }
    return false;
}

static void explain(const struct env_row *row, const char *value, struct hd_buf *out_why)
{
    assert(row->kind != HD_ENV_TEXT && row->kind != HD_ENV_FLAGS); /* they take anything */
    hd_buf_printf(out_why, "%s=%s is not possible: ", row->name, value);
    switch (row->kind) {
    case HD_ENV_FILE:
        hd_buf_printf(out_why, "it takes a path, such as ./%s", value);
        break;
    case HD_ENV_COUNT:
        hd_buf_printf(out_why, "it takes a number, %s", row->possible);
        break;
    case HD_ENV_DEVICES:
        hd_buf_printf(out_why, "it takes a number, %s, or a list such as cpu,interp,cpu/2, of %s",
                      row->possible, find_row(hd_str_from("HEDDLE_DEVICE"))->possible);
        break;
    case HD_ENV_SIZE:
        hd_buf_puts(out_why, "it takes a size, such as 512M or 4G");
        break;
    default:
        hd_buf_printf(out_why, "it takes %s%s", strchr(row->possible, ',') ? "one of " : "only ",
                      row->possible);
    }
}

bool hd_env_allows(const char *name, const char *value, struct hd_buf *out_why)
{
    const struct env_row *row = find_row(hd_str_from(name));

    assert(row);
    if (row_allows(row, value))
        return true;
    explain(row, value, out_why);
    return false;
}

bool hd_env_u64(const char *name, uint64_t *out_value)
{
    const struct env_row *row = find_row(hd_str_from(name));
    const char *value = hd_env(name);

    assert(row && (row->kind == HD_ENV_COUNT || row->kind == HD_ENV_SIZE));
    if (!value)
        return false;
    return row->kind == HD_ENV_SIZE ? parse_size(hd_str_from(value), out_value)
                                    : parse_count(row, hd_str_from(value), out_value);
}

char **hd_env_of_child(void)
{
    size_t n = 0, kept = 0;
    char **own;

    while (environ && environ[n] && !hd_env_is_foreign())
        n++;
    own = hd_alloc_array(n + 1, sizeof(*own));
    for (size_t i = 0; own && i < n; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
            own[kept++] = environ[i];
    if (own)
        own[kept] = NULL;
    return own;
}
