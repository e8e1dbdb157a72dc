#include "base/str.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define BUF_MIN_CAP 64

struct hd_str hd_str_from(const char *text)
{
    return (struct hd_str){text, text ? strlen(text) : 0};
}

bool hd_str_eq(struct hd_str a, struct hd_str b)
{
    return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

bool hd_str_is(struct hd_str a, const char *text)
{
    return hd_str_eq(a, hd_str_from(text));
}

bool hd_str_starts(struct hd_str a, const char *prefix)
{
    size_t len = strlen(prefix);

    return a.len >= len && (!len || !memcmp(a.ptr, prefix, len));
}

/* Optimal string alignment: costs of the last three prefixes of `a` against all of `b`. */
unsigned hd_str_distance(struct hd_str a, const char *b)
{
    unsigned rows[3][HD_STR_DISTANCE_MAX_B + 1];
    unsigned *two_back = rows[0], *back = rows[1], *costs = rows[2];
    size_t b_B = strlen(b);

    assert(b_B <= HD_STR_DISTANCE_MAX_B);
    for (size_t j = 0; j <= b_B; j++)
        costs[j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *spare = two_back;
        two_back = back;
        back = costs;
        costs = spare;
        costs[0] = (unsigned)i;
        for (size_t j = 1; j <= b_B; j++) {
            unsigned replaced = back[j - 1] + (a.ptr[i - 1] != b[j - 1]);
            costs[j] = HD_MIN(replaced, HD_MIN(costs[j - 1], back[j]) + 1);
            if (i > 1 && j > 1 && a.ptr[i - 1] == b[j - 2] && a.ptr[i - 2] == b[j - 1])
                costs[j] = HD_MIN(costs[j], two_back[j - 2] + 1);
        }
    }
    return costs[b_B];
}

struct hd_str hd_str_take(struct hd_str *text, char separator)
{
    const char *end = memchr(text->ptr, separator, text->len);
    struct hd_str part = {text->ptr, end ? (size_t)(end - text->ptr) : text->len};
    size_t used = part.len + (end != NULL);

    *text = (struct hd_str){text->ptr + used, text->len - used};
    return part;
}

bool hd_str_lists(struct hd_str list, const char *name)
{
    size_t len = strlen(name);

    for (size_t at = 0; at + len <= list.len; at++) {
        bool starts = at == 0 || list.ptr[at - 1] == ',';
        bool ends = at + len == list.len || list.ptr[at + len] == ',';
        if (starts && ends && !memcmp(list.ptr + at, name, len))
            return true;
    }
    return false;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A') + 10;
    return UINT32_MAX;
}

/* Reads the prefix that base 0 allows, skips it, and returns the base it stands for. */
static unsigned str_take_base(struct hd_str *text)
{
    char second = text->len > 2 ? text->ptr[1] : '\0';

    if (text->len < 2 || text->ptr[0] != '0')
        return 10;
    if (second == 'x' || second == 'X' || second == 'b' || second == 'B') {
        text->ptr += 2;
        text->len -= 2;
        return second == 'x' || second == 'X' ? 16 : 2;
    }
    text->ptr += 1;
    text->len -= 1;
    return 8;
}

bool hd_str_to_u64(struct hd_str text, unsigned base, uint64_t *out_value)
{
    uint64_t value = 0;

    if (base == 0)
        base = str_take_base(&text);
    if (!text.len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = digit_value(text.ptr[i]);
        if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out_value = value;
    return true;
}

void hd_buf_init(struct hd_buf *buf)
{
    *buf = (struct hd_buf){0};
}

void hd_buf_fini(struct hd_buf *buf)
{
    hd_free(buf->ptr);
    hd_buf_init(buf);
}

void hd_buf_clear(struct hd_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->ptr)
        buf->ptr[0] = '\0';
}

/* Makes room for `more` bytes and a NUL. */
static bool buf_reserve(struct hd_buf *buf, size_t more)
{
    size_t want, cap = buf->cap ? buf->cap : BUF_MIN_CAP;
    char *ptr;

    if (buf->failed)
        return false;
    if (__builtin_add_overflow(buf->len, more, &want) || want >= SIZE_MAX / 2) {
        buf->failed = true;
        return false;
    }
    if (want < buf->cap)
        return true;
    while (cap <= want)
        cap *= 2;
    ptr = hd_realloc(buf->ptr, cap);
    if (!ptr) {
        buf->failed = true;
        return false;
    }
    assert(cap > want && buf->len <= want);
    ptr[buf->len] = '\0';
    buf->ptr = ptr;
    buf->cap = cap;
    return true;
}

void hd_buf_append(struct hd_buf *buf, const void *bytes, size_t len)
{
    if (!buf_reserve(buf, len))
        return;
    if (len)
        memcpy(buf->ptr + buf->len, bytes, len);
    assert(len < buf->cap - buf->len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
}

void hd_buf_puts(struct hd_buf *buf, const char *text)
{
    hd_buf_append(buf, text, strlen(text));
}

void hd_buf_putc(struct hd_buf *buf, char c)
{
    hd_buf_append(buf, &c, 1);
}

static void buf_vprintf(struct hd_buf *buf, const char *fmt, va_list args)
{
    va_list again;
    size_t room = buf->cap - buf->len;
    int len;

    va_copy(again, args);
    len = vsnprintf(buf->ptr + buf->len, room, fmt, args);
    if (len >= 0 && (size_t)len >= room) {
        /* Cut short: restore the end, then print once more with enough room. */
        buf->ptr[buf->len] = '\0';
        if (buf_reserve(buf, (size_t)len))
            vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
    }
    if (len >= 0 && !buf->failed)
        buf->len += (size_t)len;
    va_end(again);
}

void hd_buf_printf(struct hd_buf *buf, const char *fmt, ...)
{
    va_list args;

    if (!buf_reserve(buf, 0))
        return;
    va_start(args, fmt);
    buf_vprintf(buf, fmt, args);
    va_end(args);
}

void hd_buf_bits(struct hd_buf *buf, uint32_t bits)
{
    const char *between = "";

    for (unsigned i = 0, end; i < 32 && bits >> i; i = end) {
        end = i + 1;
        if (!(bits >> i & 1))
            continue;
        while (end < 32 && bits >> end & 1)
            end++;
        hd_buf_printf(buf, "%s%u", between, i);
        if (end - i > 1)
            hd_buf_printf(buf, "-%u", end - 1);
        between = ", ";
    }
}

char *hd_buf_take(struct hd_buf *buf)
{
    char *text = NULL;

    if (buf_reserve(buf, 0)) {
        text = buf->ptr;
        buf->ptr = NULL;
    }
    hd_buf_fini(buf);
    return text;
}

void hd_text_fit(char *out, size_t out_B, const char *text)
{
    static const char gap[] = " ... ";
    size_t len = strlen(text), head, tail;

    assert(out_B > 2 * sizeof(gap));
    if (len < out_B) {
        memcpy(out, text, len + 1);
        return;
    }
    head = (out_B - sizeof(gap)) / 3;
    tail = out_B - sizeof(gap) - head;
    memcpy(out, text, head);
    memcpy(out + head, gap, sizeof(gap) - 1);
    memcpy(out + head + sizeof(gap) - 1, text + len - tail, tail + 1);
}

void hd_uuid_text(const uint8_t uuid[16], char out_text[HD_UUID_TEXT_B])
{
    static const uint8_t groups[] = {4, 2, 2, 2, 6};

    for (unsigned i = 0; i < HD_COUNT_OF(groups); i++) {
        if (i)
            *out_text++ = '-';
        for (unsigned n = 0; n < groups[i]; n++)
            out_text += snprintf(out_text, 3, "%02x", *uuid++);
    }
}
