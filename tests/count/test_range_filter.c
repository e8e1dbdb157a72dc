/* Expressions of NVTX ranges: what they fit, and what is none. */
#include "count/range_filter.h"

#include <string.h>

#include "base/log.h"
#include "tap.h"

static void fits(const char *text, bool want, const char *stack)
{
    struct count_filter filter;
    const char *names[16];
    char copy[256];
    unsigned depth = 0;

    snprintf(copy, sizeof(copy), "%s", stack);
    for (char *save = NULL, *name = strtok_r(copy, " ", &save); name;
         name = strtok_r(NULL, " ", &save))
        names[depth++] = name;
    ok(count_filter_read(text, strlen(text), &filter) == HD_OK && filter.is_nested, "%s", text);
    ok(count_filter_fits(&filter, names, depth) == want, "%s %s '%s'", text,
       want ? "fits" : "does not fit", stack);
}

static void test_stacks(void)
{
    fits("A/", true, "A");
    fits("A/", true, "X A Y");
    fits("A/", false, "");
    fits("A/", false, "AB");
    fits("A/B", true, "A B");
    fits("A/B", true, "X A B Y");
    fits("A/B", false, "A X B");
    fits("A/B", false, "B A");
    fits("A/*/B", true, "A B");
    fits("A/*/B", true, "A X Y B");
    fits("A/*/B", false, "B A");
    fits("[A", true, "A X");
    fits("[A", false, "X A");
    fits("A]", true, "X A");
    fits("A]", false, "A X");
    fits("[A]", true, "A");
    fits("[A]", false, "A A");
    fits("[A/*/B]", true, "A X B");
    fits("[A/*]", true, "A X");
    fits("a\\/b/", true, "a/b");
    fits("\\*/", true, "*");
    fits("\\*/", false, "A");
}

static void test_parts(void)
{
    struct count_filter f;

    ok(count_filter_read("D@A/B", 5, &f) == HD_OK, "a domain");
    eq_str(f.domain[0], "D", "its name");
    eq_u64(f.n, 2, "two ranges");
    eq_str(f.domain[1], "D", "of the same");
    ok(count_filter_read("D@A,B", 5, &f) == HD_OK && !f.is_nested, "started ranges");
    eq_str(f.domain[0], "D", "one of a domain");
    eq_str(f.domain[1], "", "one of the default one");
    eq_str(f.name[1], "B", "by name");
    ok(count_filter_read("A\\@B", 4, &f) == HD_OK, "a name with @");
    eq_str(f.name[0], "A@B", "as it is");
}

static void test_bad(void)
{
    static const char *const texts[] = {"",     "/",   "A//B", "A,",  ",A",
                                        "A,B/", "A]B", "*",    "A,*", "D@"};
    char text[COUNT_FILTER_B + 1];
    struct count_filter f;

    for (size_t i = 0; i < HD_COUNT_OF(texts); i++)
        ok(count_filter_read(texts[i], strlen(texts[i]), &f) == HD_BAD_ARG, "refused: '%s'",
           texts[i]);
    memset(text, 'a', sizeof(text));
    ok(count_filter_read(text, sizeof(text), &f) == HD_BAD_ARG, "too long");
    memset(text, 'a', sizeof(text));
    for (unsigned i = 1; i < 60; i += 2)
        text[i] = '/';
    ok(count_filter_read(text, 60, &f) == HD_BAD_ARG, "too many");
}

int main(void)
{
    test_stacks();
    test_parts();
    test_bad();
    return done();
}
