/* The line with the most excess sectors, and the text of a line. */
#include "report/excess.h"

#include <math.h>
#include <sys/stat.h>

#include "tap.h"

static void test_find(void)
{
    struct report_excess e;
    /* Line 7 is in two functions: together it has more than line 9. */
    static const struct report_sectors lines[] = {{"k.cu", 3, 100, 100}, {"k.cu", 7, 50, 10},
                                                  {"k.cu", 9, 90, 30},   {"k.cu", 7, 60, 30},
                                                  {"j.cu", 7, 40, 0},    {"k.cu", 8, 5, 20}};

    ok(report_excess_find(lines, HD_COUNT_OF(lines), &e), "there is excess");
    eq_u64(e.first, 1, "of line 7 of that file");
    ok(e.line_all == 110 && e.line_ideal == 40, "in both functions");
    ok(e.all == 345 && e.excess == 40 + 60 + 30 + 40,
       "of all: less than ideal makes up for nothing");
}

static void test_none(void)
{
    struct report_excess e;
    static const struct report_sectors good[] = {{"k.cu", 3, 100, 100}, {"k.cu", 4, 0, 0}};
    static const struct report_sectors small[] = {{"k.cu", 3, 100, 97}, {"k.cu", 4, 100, 100}};
    static const struct report_sectors odd[] = {{"", 0, NAN, 1}, {"k.cu", 1, 8, NAN}};

    ok(!report_excess_find(NULL, 0, &e) && e.all == 0, "no lines");
    ok(!report_excess_find(good, 2, &e), "nothing is in excess");
    ok(!report_excess_find(small, 2, &e), "little is the end of an array");
    ok(!report_excess_find(odd, 2, &e), "what is no number has none");
}

static void test_source(void)
{
    char path[] = "/tmp/heddle-excess-XXXXXX";
    struct hd_buf line = {0};
    int fd = mkstemp(path);

    ok(fd >= 0 && write(fd, "one\n\t two(a[i]); \r\n\nlast", 24) == 24, "a source");
    close(fd);
    report_source_line(path, 2, &line);
    eq_str(line.ptr, "two(a[i]);", "a line without blanks around it");
    hd_buf_clear(&line);
    report_source_line(path, 3, &line);
    report_source_line(path, 0, &line);
    report_source_line(path, 5, &line);
    report_source_line(path, 4000000000u, &line);
    eq_u64(line.len, 0, "an empty one, and none");
    report_source_line(path, 4, &line);
    eq_str(line.ptr, "last", "without an end");
    hd_buf_clear(&line);
    unlink(path);
    report_source_line(path, 1, &line);
    ok(mkfifo(path, 0600) == 0, "a pipe nobody writes to");
    report_source_line(path, 1, &line);
    report_source_line("/", 1, &line);
    eq_u64(line.len, 0, "is not waited for, nor is a folder read");
    unlink(path);
    hd_buf_clear(&line);
    report_text_line((struct hd_str){"a\n b\tc \r\nlast", 14}, 2, &line);
    eq_str(line.ptr, "b c", "of a text that was read");
    report_text_line((struct hd_str){"a\n b\tc \r\nlast", 11}, 3, &line);
    report_text_line((struct hd_str){"a", 1}, 2, &line);
    report_text_line((struct hd_str){"", 0}, 1, &line);
    eq_str(line.ptr, "b cla", "which ends where it ends");
    hd_buf_fini(&line);
    ok(report_is_source("a.cu") && !report_is_source("ptx") && !report_is_source(""),
       "what is a source");
}

int main(void)
{
    test_find();
    test_none();
    test_source();
    return done();
}
