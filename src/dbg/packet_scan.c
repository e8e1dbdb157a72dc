#include "dbg/packet.h"

#include <assert.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool packet_scan_hex(struct scan *s, uint64_t *out)
{
    const char *start = s->at;

    *out = 0;
    while (s->at < s->end && hex_digit(*s->at) >= 0)
        *out = *out << 4 | (unsigned)hex_digit(*s->at++);
    return s->at > start;
}

bool packet_scan_char(struct scan *s, char c)
{
    if (s->at >= s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

bool packet_scan_text(struct scan *s, const char *text)
{
    size_t len = strlen(text);

    assert(s->at <= s->end);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, text, len) != 0)
        return false;
    s->at += len;
    return true;
}

bool packet_scan_tid(struct scan *s, uint64_t *out)
{
    if (packet_scan_char(s, '-'))
        return packet_scan_hex(s, out) && ((*out = DBG_ANY_TID), true);
    return packet_scan_hex(s, out);
}

bool packet_scan_byte(struct scan *s, uint8_t *out)
{
    if (s->end - s->at < 2 || hex_digit(s->at[0]) < 0 || hex_digit(s->at[1]) < 0)
        return false;
    *out = (uint8_t)(hex_digit(s->at[0]) << 4 | hex_digit(s->at[1]));
    s->at += 2;
    return true;
}

bool packet_answer(struct hd_buf *out, const char *text)
{
    hd_buf_puts(out, text);
    return true;
}

bool packet_refuse(struct hd_buf *out)
{
    return packet_answer(out, "E01");
}
