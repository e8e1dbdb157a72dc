/* Which launches are counted. */
#include <assert.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/text/expression.h"
#include "base/log.h"
#include "base/str.h"
#include "count/private.h"
#include "count/ranges.h"

static struct {
    struct count_settings settings;
    regex_t regex;
    bool has_regex;
    _Atomic bool is_on; /* somebody counts: */
    bool by_setting;    /* HEDDLE_COUNT, or the listener */
    _Atomic uint64_t taken;
    _Atomic(const struct heddle_count_listener *) listener;
} all;

/* ---- settings */

static bool take_number(struct hd_str word, const char *key, uint64_t *out)
{
    size_t len = strlen(key);

    return hd_str_starts(word, key) &&
           hd_str_to_u64((struct hd_str){word.ptr + len, word.len - len}, 10, out);
}

static bool take_name(struct hd_str word, const char *key, struct count_settings *out)
{
    size_t len = strlen(key);

    if (!hd_str_starts(word, key) || word.len == len || word.len - len >= sizeof(out->name))
        return false;
    memcpy(out->name, word.ptr + len, word.len - len);
    out->name[word.len - len] = '\0';
    out->is_regex = !strcmp(key, "regex=");
    return true;
}

/* HD_NOT_FOUND: it is no such word. */
static enum hd_status take_ranges(struct hd_str word)
{
    static const char *const keys[] = {"include=", "exclude="};

    for (size_t i = 0; i < HD_COUNT_OF(keys); i++)
        if (hd_str_starts(word, keys[i])) {
            size_t len = strlen(keys[i]);
            return count_ranges_add(word.ptr + len, word.len - len, i == 1);
        }
    return HD_NOT_FOUND;
}

enum hd_status count_settings_read(const char *text, struct count_settings *out)
{
    *out = (struct count_settings){0};
    count_ranges_clear(); /* those of a cuInit() that failed */
    while (strncmp(text, "dir=", 4) != 0) {
        struct hd_str word = {text, strcspn(text, ";")};
        enum hd_status ranges = text[word.len] ? take_ranges(word) : HD_NOT_FOUND;

        if (ranges != HD_OK && ranges != HD_NOT_FOUND)
            return ranges;
        if (ranges == HD_OK) {
            text += word.len + 1;
            continue;
        }
        if (!word.len || !text[word.len] ||
            !(take_name(word, "name=", out) || take_name(word, "regex=", out) ||
              take_number(word, "skip=", &out->skip) || take_number(word, "count=", &out->count) ||
              (hd_str_is(word, "host") && (out->host = true))))
            return hd_error(HD_BAD_ARG,
                            "HEDDLE_COUNT: '%.*s' is not understood; `heddle prof` sets it",
                            (int)word.len, word.ptr);
        text += word.len + 1;
    }
    out->folder = text + 4;
    return *out->folder ? HD_OK : hd_error(HD_BAD_ARG, "HEDDLE_COUNT names no folder");
}

enum hd_status count_start(void)
{
    const char *text = hd_env("HEDDLE_COUNT");
    struct count_settings *s = &all.settings;

    if (!text)
        return HD_OK;
    if (all.has_regex) /* of a cuInit() that failed behind it */
        regfree(&all.regex);
    all.has_regex = false;
    HD_TRY(count_settings_read(text, s));
    if (s->is_regex && hd_regex_compile(&all.regex, s->name))
        return hd_error(HD_BAD_ARG, "HEDDLE_COUNT: '%s' is no regular expression", s->name);
    all.has_regex = s->is_regex;
    HD_TRY(count_file_open(s->folder));
    all.by_setting = true;
    atomic_store(&all.is_on, true);
    return HD_OK;
}

bool count_is_on(void)
{
    return atomic_load_explicit(&all.is_on, memory_order_relaxed);
}

/* ---- listeners */

bool count_listen(const struct heddle_count_listener *listener)
{
    const struct heddle_count_listener *none = NULL;

    if (all.by_setting || !atomic_compare_exchange_strong(&all.listener, &none, listener))
        return false;
    atomic_store(&all.is_on, true);
    return true;
}

void count_unlisten(void)
{
    atomic_store(&all.is_on, false);
    atomic_store(&all.listener, NULL);
}

const struct heddle_count_listener *count_listener(void)
{
    return atomic_load(&all.listener);
}

void count_fails(void *context, const char *kernel, const char *why)
{
    const struct heddle_count_listener *listener = count_listener();

    hd_log("kernel %s is not counted: %s", kernel, why);
    if (listener)
        listener->failed(listener->user, context, kernel, why);
}

bool count_has_host(void)
{
    return all.is_on && all.settings.host;
}

/* ---- names */

/* Of _ZN2ns4funcIfEEvPT_ "func": the last of the names that begin the encoding. */
static struct hd_str base_name(const char *mangled)
{
    struct hd_str name = {mangled, strlen(mangled)};
    const char *p = mangled;

    if (strncmp(p, "_Z", 2) != 0)
        return name;
    p += 2;
    p += *p == 'N';
    p += *p == 'L';
    while (*p >= '1' && *p <= '9') {
        char *end;
        unsigned long len = strtoul(p, &end, 10);
        if (len > strlen(end))
            break;
        name = (struct hd_str){end, len};
        p = end + len;
    }
    return name;
}

static bool is_named(const char *kernel)
{
    const struct count_settings *s = &all.settings;
    const struct hd_str base = base_name(kernel);
    char text[1024];

    if (!*s->name)
        return true;
    (void)snprintf(text, sizeof(text), "%.*s", (int)base.len, base.ptr);
    if (s->is_regex)
        return !regexec(&all.regex, text, 0, NULL, 0);
    return !strcmp(kernel, s->name) || !strcmp(text, s->name);
}

bool count_takes(void *context, const char *kernel)
{
    const struct heddle_count_listener *listener = count_listener();

    if (all.by_setting) {
        const struct count_settings *s = &all.settings;
        uint64_t n;

        assert(all.by_setting);
        if (!is_named(kernel) || !count_ranges_take())
            return false;
        n = atomic_fetch_add(&all.taken, 1);
        return n >= s->skip && (!s->count || n - s->skip < s->count);
    }
    return listener && listener->takes(listener->user, context, kernel);
}
