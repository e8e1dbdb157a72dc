/* See prof_session.h. */
#include "prof/prof_session.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "common/child.h"
#include "common/cli.h"

static bool session_is_open;

/* False: it has files, and they stay. */
static bool session_remove(const char *folder, bool with_files)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir && with_files && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    return rmdir(folder) == 0;
}

char *prof_session_begin(const char *report)
{
    struct hd_buf name = {0};
    char *folder = NULL;

    assert(!session_is_open);
    child_signals_hold();
    hd_buf_printf(&name, "%s.session-XXXXXX", report);
    if (!name.failed && mkdtemp(name.ptr)) {
        folder = realpath(name.ptr, NULL);
        if (!folder)
            (void)rmdir(name.ptr);
    }
    session_is_open = folder != NULL;
    if (!folder) {
        cli_error("%s: %s", name.ptr ? name.ptr : report, strerror(errno));
        child_signals_release();
    }
    hd_buf_fini(&name);
    return folder;
}

void prof_session_end(char *folder, bool is_kept)
{
    assert(session_is_open);
    if (!session_remove(folder, !is_kept) && is_kept)
        cli_error("what was recorded is in %s", folder);
    free(folder);
    session_is_open = false;
    child_signals_release();
}

/* ---- the program */

struct session_program {
    int (*become)(const void *state);
    const void *state;
};

/* What is there at the end of this process is the parent's. */
static int session_become(void *state)
{
    const struct session_program *p = state;

    _exit(p->become(p->state));
}

int prof_session_run(int (*become)(const void *state), const void *state, bool all)
{
    struct session_program program = {become, state};
    int status = 0;

    assert(session_is_open);
    (void)!prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!child_run(session_become, &program, all, &status))
        return cli_error("%s", strerror(errno));
    return child_exit_code(status);
}
