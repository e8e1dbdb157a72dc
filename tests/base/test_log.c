#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "tap.h"

static char path[] = "/tmp/hd_test_log_XXXXXX";

/* The program runs itself again, because the log is opened before main(). */
static int child(void)
{
    char wide[5000];

    memset(wide, 'w', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    hd_log("plain %d", 1);
    hd_log_debug(HD_DEBUG_JIT, "shown");
    hd_log_debug(HD_DEBUG_PTX, "hidden");
    hd_log_dump(HD_DEBUG_IR, "heading", "two\nlines");
    hd_log("%s", wide);
    (void)!hd_error(HD_BAD_PTX, "line %d", 3);
    return 0;
}

static const char *take_line(char **text)
{
    char *line = *text;
    char *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return line;
}

static void test_log(const char *self)
{
    struct hd_buf buf = {0};
    char command[512];
    const char *wide;
    char *rest;

    snprintf(command, sizeof(command),
             "HEDDLE_LOG=%s HEDDLE_DEBUG=jit,nonsense,ir,error '%s' child", path, self);
    eq_u64(system(command), 0, "child runs");
    eq_u64(hd_file_read(path, 100000, &buf), HD_OK, "HEDDLE_LOG receives the log");
    rest = buf.ptr;
    eq_str(take_line(&rest), "heddle: plain 1", "plain line");
    eq_str(take_line(&rest), "heddle[jit]: shown", "line of a set flag");
    eq_str(take_line(&rest), "heddle[ir]: heading", "dump: heading");
    eq_str(take_line(&rest), "two", "dump: text");
    eq_str(take_line(&rest), "lines", "dump: text ends in a newline");
    wide = take_line(&rest);
    ok(wide && strlen(wide) > 2000 && strlen(wide) < 2048, "a very long line is cut");
    eq_str(take_line(&rest), "heddle[error]: BAD_PTX: line 3",
           "an error is logged when it is born");
    hd_buf_fini(&buf);
}

static void test_flags(void)
{
    eq_u64(hd_debug_flags, 0, "no flags by default");
    hd_debug_parse("");
    hd_debug_parse(",,ptx,");
    eq_u64(hd_debug_flags, HD_DEBUG_PTX, "empty words are ignored");
    ok(hd_debug(HD_DEBUG_PTX) && !hd_debug(HD_DEBUG_IR), "flags are tested one by one");
    hd_debug_flags = 0;
}

static void test_errors(void)
{
    eq_str(hd_error_message(), "", "no message at first");
    eq_u64(hd_error(HD_BAD_ARG, "bad %s", "thing"), HD_BAD_ARG, "hd_error returns its status");
    eq_str(hd_error_message(), "bad thing", "message");
    eq_u64(hd_error(HD_IO, "outer: %s", hd_error_message()), HD_IO,
           "a message may wrap the last one");
    eq_str(hd_error_message(), "outer: bad thing", "wrapped");
    hd_error_clear();
    eq_str(hd_error_message(), "", "cleared");
    eq_str(hd_status_name(HD_BAD_PTX), "BAD_PTX", "name");
    eq_str(hd_status_text(HD_OK), "success", "text");
    eq_str(hd_status_text((enum hd_status)999), "unknown status", "text of nonsense");
}

int main(int argc, char **argv)
{
    int fd;

    if (argc > 1)
        return child();
    fd = mkstemp(path);
    if (fd < 0)
        return skip_all("no writable /tmp");
    close(fd);
    unsetenv("HEDDLE_LOG");
    test_flags();
    test_errors();
    test_log(argv[0]);
    unlink(path);
    return done();
}
