/* See temporary.h. */
#include "common/temporary.h"

#include <assert.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/str.h"
#include "common/child.h"
#include "common/cli.h"

static int temporary_remove_entry(const char *path, const struct stat *st, int type,
                                  struct FTW *where)
{
    (void)st, (void)type, (void)where;
    (void)remove(path);
    return 0;
}

struct temporary {
    const char *folder;
    temporary_work *work;
    void *state;
};

static int temporary_do(void *state)
{
    const struct temporary *t = state;

    return t->work(t->folder, t->state);
}

int temporary_run(const char *prefix, temporary_work *work, void *state)
{
    const char *parent = getenv("TMPDIR");
    struct hd_buf path = {0};
    int status = 0, code = CLI_FAILED;

    assert(!strchr(prefix, '/'));
    hd_buf_printf(&path, "%s/%s-XXXXXX", parent && *parent ? parent : "/tmp", prefix);
    child_signals_hold();
    if (path.failed || !mkdtemp(path.ptr)) {
        cli_error("%s: %s", path.ptr ? path.ptr : prefix, strerror(errno));
    } else {
        struct temporary t = {path.ptr, work, state};
        if (child_run(temporary_do, &t, false, &status))
            code = child_exit_code(status);
        else
            cli_error("%s", strerror(errno));
        (void)nftw(path.ptr, temporary_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    child_signals_release();
    hd_buf_fini(&path);
    if (WIFSIGNALED(status))
        (void)raise(WTERMSIG(status)); /* as it would have, had the work been done here */
    return code;
}
