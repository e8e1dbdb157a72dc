/* See assembler.h. */
#include "preload/assembler.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"

/* nvcc starts it through a shell, and may itself be started so. */
enum { MAX_ANCESTORS = 3 };

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The name of a process's executable; false when it is not to be known. */
static bool executable_of(const char *process, char path[PATH_MAX])
{
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/%s/exe", process);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len <= 0)
        return false;
    path[len] = '\0';
    return true;
}

/* 0 when it is not to be known. The program's name, in parentheses, may itself have some. */
static long parent_of(long process)
{
    char text[512];
    long parent = 0;
    (void)snprintf(text, sizeof(text), "/proc/%ld/stat", process);
    FILE *file = fopen(text, "re");
    if (!file)
        return 0;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')');
    return end && sscanf(end + 1, " %*c %ld", &parent) == 1 ? parent : 0;
}

static bool is_started_by_nvcc(void)
{
    char path[PATH_MAX], process[24];
    long at = getppid();
    for (int i = 0; i < MAX_ANCESTORS && at > 1; i++, at = parent_of(at)) {
        (void)snprintf(process, sizeof(process), "%ld", at);
        if (executable_of(process, path) && !strcmp(base_of(path), "nvcc"))
            return true;
    }
    return false;
}

void assembler_replace(char **argv)
{
    char path[PATH_MAX], ours[PATH_MAX];
    const char *own = hd_env("HEDDLE_PTXAS");
    if (!own || !executable_of("self", path) || strcmp(base_of(path), "ptxas") != 0)
        return;
    if ((realpath(own, ours) && !strcmp(ours, path)) || is_started_by_nvcc())
        return;
    hd_log_debug(HD_DEBUG_LOAD, "%s runs in place of %s", own, path);
    execv(own, argv);
    hd_log("%s cannot be run in place of %s: %m", own, path);
}
