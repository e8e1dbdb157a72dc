/* See json_read.h. */
#include "common/json_read.h"

#include <assert.h>
#include <string.h>

#include "base/text/json.h"

enum { DEPTH_MAX = 24 };

struct reader {
    struct hd_arena *arena;
    const char *begin, *at, *end;
    unsigned depth;
};

static enum hd_status value_read(struct reader *r, struct json_value *out);

static enum hd_status bad(const struct reader *r, const char *what)
{
    return hd_error(HD_CORRUPT, "column %zu: %s", (size_t)(r->at - r->begin) + 1, what);
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

static bool take(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);

    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

/* ---- texts */

static bool read_hex4(struct reader *r, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = r->at < r->end ? *r->at : ' ';
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

static void put_utf8(struct hd_buf *buf, uint32_t code)
{
    assert(code <= 0x10ffff);
    if (code < 0x80) {
        hd_buf_putc(buf, (char)code);
        return;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    hd_buf_putc(buf, (char)(leads[more] | code >> (6 * more)));
    while (more--)
        hd_buf_putc(buf, (char)(0x80 | (code >> (6 * more) & 0x3f)));
}

/* What follows a backslash. */
static bool read_escape(struct reader *r, struct hd_buf *buf)
{
    static const char letters[] = "\"\\/bfnrt", stand[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    const char *known = c ? strchr(letters, c) : NULL;
    uint32_t code, low;

    if (known) {
        hd_buf_putc(buf, stand[known - letters]);
        return true;
    }
    if (c != 'u' || !read_hex4(r, &code) || !code)
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!take_word(r, "\\u") || !read_hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return false;
    }
    put_utf8(buf, code);
    return true;
}

static bool put_character(struct reader *r, struct hd_buf *buf)
{
    size_t len = hd_utf8_len((const unsigned char *)r->at, (size_t)(r->end - r->at));

    hd_buf_append(buf, r->at, len);
    r->at += len;
    return len != 0;
}

/* Up to the closing quote, and behind it. */
static enum hd_status read_characters(struct reader *r, struct hd_buf *buf)
{
    for (;;) {
        if (r->at == r->end || (unsigned char)*r->at < ' ')
            return bad(r, "a text does not end");
        if (*r->at == '"') {
            r->at++;
            return HD_OK;
        }
        bool escapes = *r->at == '\\';
        r->at += escapes;
        if (escapes && !read_escape(r, buf))
            return bad(r, "an unknown escape");
        if (!escapes && !put_character(r, buf))
            return bad(r, "no UTF-8");
    }
}

static enum hd_status read_text(struct reader *r, const char **out)
{
    struct hd_buf buf = {0};

    if (!take(r, '"'))
        return bad(r, "a text is expected");
    enum hd_status status = read_characters(r, &buf);
    char *made = hd_arena_try_alloc(r->arena, buf.len + 1);
    if (made && buf.len)
        memcpy(made, buf.ptr, buf.len);
    if (status == HD_OK && (!made || buf.failed))
        status = hd_error(HD_NO_MEMORY, "out of memory");
    hd_buf_fini(&buf);
    *out = made;
    return status;
}

/* ---- values */

static enum hd_status read_number(struct reader *r, struct json_value *out)
{
    out->kind = JSON_NUMBER;
    out->is = take_word(r, "-");
    struct hd_str digits = {r->at, 0};
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
        digits.len++;
    }
    if (!hd_str_to_u64(digits, 10, &out->number) || (digits.len > 1 && digits.ptr[0] == '0') ||
        (out->is && out->number > (uint64_t)INT64_MAX) ||
        (r->at < r->end && strchr(".eE", *r->at) && *r->at))
        return bad(r, "not an integer of 64 bits");
    if (out->is)
        out->number = -out->number;
    return HD_OK;
}

static enum hd_status read_member(struct reader *r, bool has_key, struct json_value *out)
{
    if (has_key) {
        HD_TRY(read_text(r, &out->key));
        if (!take(r, ':'))
            return bad(r, "':' is expected");
    }
    return value_read(r, out);
}

static enum hd_status read_list(struct reader *r, struct json_value *out)
{
    bool is_object = out->kind == JSON_OBJECT;
    char close = is_object ? '}' : ']';
    struct json_value **last = &out->first;

    if (take(r, close))
        return HD_OK;
    do {
        struct json_value *item = hd_arena_new(r->arena, struct json_value);
        HD_TRY(read_member(r, is_object, item));
        *last = item;
        last = &item->next;
        out->len++;
    } while (take(r, ','));
    return take(r, close) ? HD_OK
                          : bad(r, is_object ? "',' or '}' is expected" : "',' or ']' is expected");
}

static enum hd_status value_read(struct reader *r, struct json_value *out)
{
    enum hd_status status;

    skip_blanks(r);
    if (r->at < r->end && *r->at == '"') {
        out->kind = JSON_TEXT;
        return read_text(r, &out->text);
    }
    if (take_word(r, "null"))
        return HD_OK;
    out->kind = JSON_BOOL;
    if ((out->is = take_word(r, "true")) || take_word(r, "false"))
        return HD_OK;
    if (r->at == r->end || (*r->at != '{' && *r->at != '['))
        return read_number(r, out);
    if (++r->depth > DEPTH_MAX)
        return bad(r, "nested too deeply");
    out->kind = *r->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    status = read_list(r, out);
    r->depth--;
    return status;
}

enum hd_status json_read(struct hd_arena *arena, const char *text, size_t len,
                         const struct json_value **out)
{
    struct reader r = {.arena = arena, .begin = text, .at = text, .end = text + len};
    struct json_value *root = hd_arena_new(arena, struct json_value);

    HD_TRY(value_read(&r, root));
    skip_blanks(&r);
    if (r.at != r.end)
        return bad(&r, "text behind the value");
    *out = root;
    return hd_arena_status(arena);
}

/* ---- asking */

const struct json_value *json_get(const struct json_value *value, const char *key)
{
    if (!value || value->kind != JSON_OBJECT)
        return NULL;
    json_foreach(it, value) if (strcmp(it->key, key) == 0) return it;
    return NULL;
}

const char *json_text(const struct json_value *value, const char *otherwise)
{
    return value && value->kind == JSON_TEXT ? value->text : otherwise;
}

uint64_t json_number(const struct json_value *value, uint64_t otherwise)
{
    uint64_t number;

    if (value && value->kind == JSON_NUMBER && !value->is)
        return value->number;
    if (value && value->kind == JSON_TEXT && strncmp(value->text, "0x", 2) == 0 &&
        hd_str_to_u64(hd_str_from(value->text + 2), 16, &number))
        return number;
    return otherwise;
}

int64_t json_signed(const struct json_value *value, int64_t otherwise)
{
    return value && value->kind == JSON_NUMBER ? (int64_t)value->number : otherwise;
}
