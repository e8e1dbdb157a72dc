/* HEDDLE_COUNT, read at each cuInit() until one succeeds: a second reading is as the first. */
#include <stdlib.h>

#include "base/log.h"
#include "count/count.h"
#include "count/ranges.h"
#include "tap.h"

#define EIGHT(word)                                                                                \
    word "a/;" word "b/;" word "c/;" word "d/;" word "e/;" word "f/;" word "g/;" word "h/;"

/* As many expressions as there may be of each kind. */
static const char full[] = EIGHT("include=") EIGHT("include=") EIGHT("exclude=") EIGHT("exclude=");

static enum hd_status start(const char *words)
{
    char text[1024];

    snprintf(text, sizeof(text), "%sskip=0;count=0;dir=/nowhere", words);
    setenv("HEDDLE_COUNT", text, 1);
    return count_start();
}

static void test_again(void)
{
    for (int i = 0; i < 3; i++)
        eq_u64(start(full), HD_OK, "expressions of ranges do not pile up, attempt %d", i + 1);
    eq_u64(start(EIGHT("include=") EIGHT("include=") "include=i/;"), HD_BAD_ARG,
           "more are too many");
    ok(strstr(hd_error_message(), "expressions"), "which is told: %s", hd_error_message());
}

static void test_none_left(void)
{
    eq_u64(start("include=a/;"), HD_OK, "launches in a range");
    ok(!count_ranges_take(), "this is none");
    eq_u64(start(""), HD_OK, "all launches");
    ok(count_ranges_take(), "ranges of an earlier attempt are forgotten");
    eq_u64(start("regex=^k;"), HD_OK, "an expression of names");
    eq_u64(start("regex=^k;"), HD_OK, "again");
    eq_u64(start("regex=(;"), HD_BAD_ARG, "none");
    eq_u64(start("regex=^k;"), HD_OK, "and again");
}

int main(void)
{
    test_again();
    test_none_left();
    return done();
}
