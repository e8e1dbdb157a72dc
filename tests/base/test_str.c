#include "base/str.h"
#include "tap.h"

static void test_views(void)
{
    ok(hd_str_eq(HD_STR("ab"), HD_STR("ab")), "equal");
    ok(!hd_str_eq(HD_STR("ab"), HD_STR("abc")), "lengths differ");
    ok(hd_str_eq(hd_str_from(NULL), HD_STR("")), "NULL is empty");
    ok(hd_str_is(HD_STR("ptx"), "ptx") && !hd_str_is(HD_STR("ptx"), "pt"), "is");
    ok(hd_str_starts(HD_STR("ptx"), "pt") && !hd_str_starts(HD_STR("p"), "pt"), "starts");
    static const struct {
        const char *a, *b;
        unsigned edits;
    } pairs[] = {
        {"", "", 0},      {"prof", "prof", 0},     {"prfo", "prof", 1},     {"prof", "", 4},
        {"", "prof", 4},  {"ouput", "output", 1},  {"advice", "advise", 1}, {"chekc", "check", 1},
        {"ca", "abc", 3}, {"kitten", "sitting", 3}};
    for (size_t i = 0; i < HD_COUNT_OF(pairs); i++)
        eq_u64(hd_str_distance(hd_str_from(pairs[i].a), pairs[i].b), pairs[i].edits, "%s",
               pairs[i].b);
}

struct number_case {
    const char *text;
    unsigned base;
    bool valid;
    uint64_t value;
};

static const struct number_case number_cases[] = {
    {"0", 0, true, 0},
    {"42", 10, true, 42},
    {"42", 0, true, 42},
    {"0x2A", 0, true, 42},
    {"0b101", 0, true, 5},
    {"017", 0, true, 15},
    {"017", 10, true, 17},
    {"ff", 16, true, 255},
    {"18446744073709551615", 10, true, UINT64_MAX},
    {"18446744073709551616", 10, false, 0},
    {"0xffffffffffffffff", 0, true, UINT64_MAX},
    {"0x1ffffffffffffffff", 0, false, 0},
    {"", 0, false, 0},
    {"0x", 0, false, 0},
    {"08", 0, false, 0},
    {"12a", 10, false, 0},
    {"-1", 10, false, 0},
    {" 1", 10, false, 0},
    {"0b2", 0, false, 0},
};

static void test_numbers(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(number_cases); i++) {
        const struct number_case *c = &number_cases[i];
        uint64_t value = 0;
        bool valid = hd_str_to_u64(hd_str_from(c->text), c->base, &value);
        ok(valid == c->valid && value == c->value, "number '%s' base %u", c->text, c->base);
    }
}

static void test_buf(void)
{
    struct hd_buf buf = {0};
    struct hd_buf wide = {0};
    char *text;

    hd_buf_printf(&buf, "%d+%d", 1, 2);
    hd_buf_putc(&buf, '=');
    hd_buf_puts(&buf, "3");
    hd_buf_append(&buf, "\0x", 2);
    eq_mem(buf.ptr, "1+2=3\0x", 8, "pieces join, zero bytes too");
    eq_u64(buf.len, 7, "length");
    hd_buf_clear(&buf);
    eq_str(buf.ptr, "", "cleared");
    for (int i = 0; i < 500; i++)
        hd_buf_printf(&wide, "%04d", i);
    eq_u64(wide.len, 2000, "printf across growth");
    hd_buf_printf(&buf, "<%s>", wide.ptr);
    eq_u64(buf.len, 2002, "printf of more than the room");
    text = hd_buf_take(&buf);
    ok(text && text[0] == '<' && text[2001] == '>' && !buf.ptr && !buf.len, "take empties");
    hd_free(text);
    text = hd_buf_take(&buf);
    eq_str(text, "", "take of an empty buffer is an empty text");
    hd_free(text);
    hd_buf_fini(&wide);
}

static void test_buf_failure(void)
{
    struct hd_buf buf = {0};

    hd_buf_puts(&buf, "kept");
    hd_fault_set_alloc(1);
    hd_buf_printf(&buf, "%500d", 1);
    ok(buf.failed, "a failed allocation sticks");
    eq_str(buf.ptr, "kept", "and leaves the text alone");
    hd_buf_puts(&buf, "more");
    eq_u64(buf.len, 4, "later appends do nothing");
    ok(!hd_buf_take(&buf), "take gives NULL");
    ok(!buf.ptr && !buf.failed, "and resets the buffer");
}

static void test_text_fit(void)
{
    char out[24];

    hd_text_fit(out, sizeof(out), "of twenty three letters");
    eq_str(out, "of twenty three letters", "what fits is copied");
    hd_text_fit(out, sizeof(out), "at the beginning, then too much, at the end");
    eq_str(out, "at the ... , at the end", "of the rest the middle is left out");
    hd_text_fit(out, sizeof(out), "");
    eq_str(out, "", "nothing");
}

int main(void)
{
    test_views();
    test_numbers();
    test_buf();
    test_buf_failure();
    test_text_fit();
    return done();
}
