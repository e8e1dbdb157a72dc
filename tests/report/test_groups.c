/* Launches by key: groups and members in the order in which they came. */
#include "report/groups.h"

#include "tap.h"

static void test_order(void)
{
    static const char *const keys[] = {"b", "a", "b", "c", "a", "b"};
    struct report_groups g = {0};
    struct hd_buf text = {0};

    for (size_t i = 0; i < HD_COUNT_OF(keys); i++)
        ok(report_groups_add(&g, hd_str_from(keys[i]), (int64_t)i), "launch %zu", i);
    for (size_t i = 0; i < g.at.len; i++) {
        hd_buf_putc(&text, '|');
        for (size_t m = g.at.at[i].first; m != REPORT_NONE; m = g.members.at[m].next)
            hd_buf_printf(&text, "%d", (int)g.members.at[m].id);
    }
    eq_str(text.ptr, "|025|14|3", "each group has its members");
    ok(g.at.at[0].count == 3 && g.at.at[1].count == 2 && g.at.at[2].count == 1, "so many");
    report_groups_fini(&g);
    hd_buf_fini(&text);
}

static void test_bytes(void)
{
    struct report_groups g = {0};

    ok(report_groups_add(&g, (struct hd_str){"a\0b", 3}, 1) &&
           report_groups_add(&g, (struct hd_str){"a\0c", 3}, 2) &&
           report_groups_add(&g, (struct hd_str){"", 0}, INT64_MIN) &&
           report_groups_add(&g, (struct hd_str){"a", 1}, INT64_MAX),
       "keys are bytes");
    eq_u64(g.at.len, 4, "all of which count");
    report_groups_fini(&g);
    report_groups_fini(&g);
    ok(!g.at.len && !g.members.len, "none are left");
}

static void test_many(void)
{
    struct report_groups g = {0};
    bool good = true;

    for (int i = 0; good && i < 200000; i++) {
        char key[16];
        int len = snprintf(key, sizeof(key), "%d", i % 1000);
        good = report_groups_add(&g, (struct hd_str){key, (size_t)len}, i);
    }
    ok(good && g.at.len == 1000 && g.members.len == 200000, "many of many");
    for (size_t i = 0; i < g.at.len; i++) {
        size_t n = 0;
        for (size_t m = g.at.at[i].first; m != REPORT_NONE; m = g.members.at[m].next)
            good = good && g.members.at[m].id == (int64_t)(i + 1000 * n++);
        good = good && n == g.at.at[i].count;
    }
    ok(good, "in their order");
    report_groups_fini(&g);
}

static bool grow(void *arg)
{
    struct report_groups g = {0};
    bool good = true;

    (void)arg;
    for (int i = 0; good && i < 40; i++) {
        char key[2] = {(char)('a' + i % 20), '\0'};
        good = report_groups_add(&g, hd_str_from(key), i);
    }
    report_groups_fini(&g);
    return good;
}

int main(void)
{
    test_order();
    test_bytes();
    test_many();
    tap_oom_loop(grow, NULL, "groups");
    return done();
}
