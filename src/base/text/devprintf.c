/* Each conversion is parsed, its argument fetched, and handed to the host's printf. */
#include "base/text/devprintf.h"

#include <stdio.h>
#include <string.h>

struct printer {
    struct hd_buf *out;
    const struct hd_devprintf_memory *memory;
    uint64_t args; /* address of the next argument */
    int count;
    bool failed;
};

/* One conversion: its text up to, but without, the length and the letter. */
struct spec {
    char text[64];
    size_t len;
    bool is_long;
    char letter;
};

static bool read_memory(struct printer *p, uint64_t address, void *bytes, size_t size_B)
{
    if (p->memory) {
        p->failed |= !p->memory->read(p->memory->ctx, address, bytes, size_B);
    } else {
        memcpy(bytes, (const void *)(uintptr_t)address, size_B);
    }
    return !p->failed;
}

static char read_char(struct printer *p, uint64_t address)
{
    char c = 0;
    return read_memory(p, address, &c, 1) ? c : 0;
}

static uint64_t next_arg(struct printer *p, size_t size_B)
{
    uint64_t value8 = 0;
    uint32_t value4 = 0;
    uint64_t at = hd_align_up(p->args, size_B);
    p->args = at + size_B;
    if (size_B == 8)
        return read_memory(p, at, &value8, 8) ? value8 : 0;
    return read_memory(p, at, &value4, 4) ? value4 : 0;
}

static void spec_add(struct spec *s, char c)
{
    if (s->len + 8 < sizeof s->text)
        s->text[s->len++] = c;
}

/* A width or precision: digits, or `*` that takes an int. Returns the address behind it. */
static uint64_t parse_number(struct printer *p, struct spec *s, uint64_t at)
{
    if (read_char(p, at) == '*') {
        char digits[16];
        int n = snprintf(digits, sizeof digits, "%d", (int)(uint32_t)next_arg(p, 4));
        for (int i = 0; i < n; i++)
            spec_add(s, digits[i]);
        return at + 1;
    }
    for (char c = read_char(p, at); c >= '0' && c <= '9'; c = read_char(p, ++at))
        spec_add(s, c);
    return at;
}

static uint64_t parse_length(struct printer *p, struct spec *s, uint64_t at)
{
    for (;; at++) {
        char c = read_char(p, at);
        if (c == 'l' || c == 'j' || c == 'z' || c == 't')
            s->is_long = true;
        else if (c != 'h')
            return at;
        else
            spec_add(s, c); /* h and hh narrow on the host as on the device */
    }
}

/* `at` is behind the %; returns the address behind the letter. */
static uint64_t parse_spec(struct printer *p, struct spec *s, uint64_t at)
{
    spec_add(s, '%');
    for (char c = read_char(p, at); c && strchr("-+ #0", c); c = read_char(p, ++at))
        spec_add(s, c);
    at = parse_number(p, s, at);
    if (read_char(p, at) == '.') {
        spec_add(s, '.');
        at = parse_number(p, s, at + 1);
    }
    at = parse_length(p, s, at);
    s->letter = read_char(p, at);
    return s->letter ? at + 1 : at;
}

static void print_integer(struct printer *p, struct spec *s)
{
    uint64_t v = next_arg(p, s->is_long ? 8 : 4);
    if (s->is_long) {
        spec_add(s, 'l');
        spec_add(s, 'l');
    }
    spec_add(s, s->letter);
    if (s->is_long)
        hd_buf_printf(p->out, s->text, (long long)v);
    else
        hd_buf_printf(p->out, s->text, (int)(uint32_t)v);
}

static void print_double(struct printer *p, struct spec *s)
{
    uint64_t bits = next_arg(p, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    spec_add(s, s->letter);
    hd_buf_printf(p->out, s->text, v);
}

static void print_string(struct printer *p, struct spec *s)
{
    uint64_t address = next_arg(p, 8);
    struct hd_buf text;
    hd_buf_init(&text);
    if (!address)
        hd_buf_puts(&text, "(null)");
    for (char c; address && (c = read_char(p, address)) != 0; address++)
        hd_buf_putc(&text, c);
    spec_add(s, 's');
    if (!p->failed)
        hd_buf_printf(p->out, s->text, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static void print_spec(struct printer *p, struct spec *s)
{
    switch (s->letter) {
    case '%':
        hd_buf_putc(p->out, '%');
        return;
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        print_integer(p, s);
        break;
    case 'c':
        spec_add(s, 'c');
        hd_buf_printf(p->out, s->text, (int)(uint32_t)next_arg(p, 4));
        break;
    case 's':
        print_string(p, s);
        break;
    case 'p':
        spec_add(s, 'p');
        hd_buf_printf(p->out, s->text, (void *)(uintptr_t)next_arg(p, 8));
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        print_double(p, s);
        break;
    default:
        hd_buf_append(p->out, s->text, s->len);
        if (s->letter)
            hd_buf_putc(p->out, s->letter);
        return;
    }
    p->count++;
}

int hd_devprintf(struct hd_buf *out, const struct hd_devprintf_memory *memory, uint64_t format,
                 uint64_t args)
{
    struct printer p = {.out = out, .memory = memory, .args = args};
    if (!format)
        return -1;
    for (char c = read_char(&p, format); c; c = read_char(&p, format)) {
        format++;
        if (c != '%') {
            hd_buf_putc(out, c);
            continue;
        }
        struct spec s = {.len = 0};
        format = parse_spec(&p, &s, format);
        if (!p.failed)
            print_spec(&p, &s);
    }
    return p.failed ? -2 : p.count;
}
