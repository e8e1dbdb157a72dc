/* See json.h. */
#include "base/text/json.h"

#include <stdio.h>
#include <string.h>

void hd_json_init(struct hd_json *j)
{
    *j = (struct hd_json){0};
    hd_buf_init(&j->buf);
}

/* Neither longer than it has to be, nor a surrogate, nor beyond U+10FFFF. */
static bool is_shortest(const unsigned char *at, size_t len)
{
    switch (len) {
    case 2:
        return at[0] >= 0xc2;
    case 3:
        return (at[0] != 0xe0 || at[1] >= 0xa0) && (at[0] != 0xed || at[1] < 0xa0);
    case 4:
        return (at[0] != 0xf0 || at[1] >= 0x90) &&
               (at[0] < 0xf4 || (at[0] == 0xf4 && at[1] < 0x90));
    default:
        return true;
    }
}

size_t hd_utf8_len(const unsigned char *at, size_t left)
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
        return is_shortest(at, len) ? len : 0;
    }
    return 0;
}

static void put_text(struct hd_json *j, const char *text, size_t len)
{
    hd_buf_putc(&j->buf, '"');
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = hd_utf8_len((const unsigned char *)text + i, len - i);
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

static void begin_value(struct hd_json *j, const char *key)
{
    if (j->comma)
        hd_buf_putc(&j->buf, ',');
    if (j->depth && !j->on_line)
        hd_buf_printf(&j->buf, "\n%*s", (int)(2 * j->depth), "");
    if (key) {
        put_text(j, key, strlen(key));
        hd_buf_puts(&j->buf, ": ");
    }
    j->comma = true;
}

void hd_json_open(struct hd_json *j, const char *key, char bracket)
{
    begin_value(j, key);
    hd_buf_putc(&j->buf, bracket);
    j->depth++;
    j->comma = false;
}

void hd_json_close(struct hd_json *j, char bracket)
{
    j->depth--;
    if (j->comma && !j->on_line)
        hd_buf_printf(&j->buf, "\n%*s", (int)(2 * j->depth), "");
    hd_buf_putc(&j->buf, bracket);
    j->comma = true;
}

void hd_json_view(struct hd_json *j, const char *key, struct hd_str value)
{
    begin_value(j, key);
    put_text(j, value.ptr, value.len);
}

void hd_json_str(struct hd_json *j, const char *key, const char *value)
{
    if (value) {
        hd_json_view(j, key, hd_str_from(value));
        return;
    }
    begin_value(j, key);
    hd_buf_puts(&j->buf, "null");
}

void hd_json_u64(struct hd_json *j, const char *key, uint64_t value)
{
    begin_value(j, key);
    hd_buf_printf(&j->buf, "%llu", (unsigned long long)value);
}

void hd_json_i64(struct hd_json *j, const char *key, int64_t value)
{
    begin_value(j, key);
    hd_buf_printf(&j->buf, "%lld", (long long)value);
}

void hd_json_double(struct hd_json *j, const char *key, double value)
{
    char text[40];

    if (value - value != 0.0) {
        hd_json_str(j, key, NULL);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    begin_value(j, key);
    hd_buf_puts(&j->buf, text);
}

void hd_json_hex(struct hd_json *j, const char *key, uint64_t value)
{
    begin_value(j, key);
    hd_buf_printf(&j->buf, "\"0x%llx\"", (unsigned long long)value);
}

void hd_json_bool(struct hd_json *j, const char *key, bool value)
{
    begin_value(j, key);
    hd_buf_puts(&j->buf, value ? "true" : "false");
}

bool hd_json_print(struct hd_json *j)
{
    hd_buf_putc(&j->buf, '\n');
    bool written = !j->buf.failed && fwrite(j->buf.ptr, 1, j->buf.len, stdout) == j->buf.len &&
                   fflush(stdout) == 0;
    hd_buf_fini(&j->buf);
    return written;
}

void hd_json_index(struct hd_json *j, const char *key, const uint32_t at[3])
{
    hd_json_open(j, key, '[');
    for (int i = 0; i < 3; i++)
        hd_json_u64(j, NULL, at[i]);
    hd_json_close(j, ']');
}
