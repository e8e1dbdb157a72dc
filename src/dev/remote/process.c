/* The process of the device: found beside this code, started with one end of a socket. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "dev/remote/private.h"

/* Beside the library that holds this code (installed), or where the build tree has it. */
static bool program_find(char path[PATH_MAX])
{
    static const char *const subs[] = {"", "/../../dev", "/../../src/dev", "/../src/dev",
                                       "/../lib/heddle"};
    Dl_info info;
    char *real = dladdr((const void *)(uintptr_t)remote_start, &info)
                     ? realpath(info.dli_fname, NULL)
                     : NULL;
    char *slash = real ? strrchr(real, '/') : NULL;
    bool found = false;

    for (size_t i = 0; slash && i < HD_COUNT_OF(subs) && !found; i++) {
        int n =
            snprintf(path, PATH_MAX, "%.*s%s/heddle-device", (int)(slash - real), real, subs[i]);
        found = n > 0 && n < PATH_MAX && !access(path, X_OK);
    }
    free(real);
    return found;
}

enum hd_status remote_start(int *out_socket, pid_t *out_process)
{
    char path[PATH_MAX], *argv[] = {"heddle-device", NULL}, **own;
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    if (!program_find(path))
        return hd_error(HD_NOT_FOUND, "heddle-device, the process of remote devices, is not beside "
                                      "Heddle's libraries");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return hd_error(HD_NO_MEMORY, "socket of a device: %s", strerror(errno));
    own = hd_env_of_child();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
    /* What the program has open is not the device's: a pipe would not end when the program closes
     * it. */
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 4);
    error = own ? posix_spawn(out_process, path, &actions, NULL, argv, own) : ENOMEM;
    posix_spawn_file_actions_destroy(&actions);
    hd_free(own);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return hd_error(HD_NO_MEMORY, "%s: %s", path, strerror(error));
    }
    *out_socket = ends[0];
    return HD_OK;
}
