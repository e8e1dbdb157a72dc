/* See json.h. */
#include "json.h"

#include <stdio.h>
#include <string.h>

void json_init(struct json *j)
{
    *j = (struct json){0};
    hd_buf_init(&j->buf);
}

/* Length of the UTF-8 sequence at `at`, 0 when it is malformed. */
static size_t utf8_len(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char mask, lead;
    } forms[] = {{0x80, 0x00}, {0xe0, 0xc0}, {0xf0, 0xe0}, {0xf8, 0xf0}};
    for (size_t len = 1; len <= HD_COUNT_OF(forms); len++) {
        if ((at[0] & forms[len - 1].mask) != forms[len - 1].lead)
            continue;
        for (size_t i = 1; i < len; i++)
            if (i >= left || (at[i] & 0xc0) != 0x80)
                return 0;
        return len;
    }
    return 0;
}

static void put_text(struct json *j, const char *text, size_t len)
{
    hd_buf_putc(&j->buf, '"');
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = utf8_len((const unsigned char *)text + i, len - i);
        if (c == '"' || c == '\\')
            hd_buf_printf(&j->buf, "\\%c", c);
        else if (c == '\n')
            hd_buf_puts(&j->buf, "\\n");
        else if (c < 0x20)
            hd_buf_printf(&j->buf, "\\u%04x", c);
        else if (!n)
            hd_buf_puts(&j->buf, "\\ufffd");
        else
            hd_buf_append(&j->buf, text + i, n);
        i += n ? n : 1;
    }
    hd_buf_putc(&j->buf, '"');
}

static void begin_value(struct json *j, const char *key)
{
    if (j->comma)
        hd_buf_putc(&j->buf, ',');
    if (j->depth)
        hd_buf_printf(&j->buf, "\n%*s", (int)(2 * j->depth), "");
    if (key) {
        put_text(j, key, strlen(key));
        hd_buf_puts(&j->buf, ": ");
    }
    j->comma = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
    begin_value(j, key);
    hd_buf_putc(&j->buf, bracket);
    j->depth++;
    j->comma = false;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (j->comma)
        hd_buf_printf(&j->buf, "\n%*s", (int)(2 * j->depth), "");
    hd_buf_putc(&j->buf, bracket);
    j->comma = true;
}

void json_view(struct json *j, const char *key, struct hd_str value)
{
    begin_value(j, key);
    put_text(j, value.ptr, value.len);
}

void json_str(struct json *j, const char *key, const char *value)
{
    if (value) {
        json_view(j, key, hd_str_from(value));
        return;
    }
    begin_value(j, key);
    hd_buf_puts(&j->buf, "null");
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
    begin_value(j, key);
    hd_buf_printf(&j->buf, "%llu", (unsigned long long)value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin_value(j, key);
    hd_buf_puts(&j->buf, value ? "true" : "false");
}

bool json_print(struct json *j)
{
    hd_buf_putc(&j->buf, '\n');
    bool written = !j->buf.failed && fwrite(j->buf.ptr, 1, j->buf.len, stdout) == j->buf.len &&
                   fflush(stdout) == 0;
    hd_buf_fini(&j->buf);
    return written;
}
