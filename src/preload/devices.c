/* See devices.h. The functions run in any thread and in signal handlers: nothing here allocates. */
#include "preload/devices.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/env.h"

/* Major and minor numbers of the vendor's driver, as in Linux's list of devices. */
enum { NVIDIA_MAJOR = 195, CONTROL_MINOR = 255 };

#define PREFIX "/dev/nvidia"

static unsigned device_count;

/* The device's minor number, or -1. */
static int minor_of(const char *path)
{
    if (!path || strncmp(path, PREFIX, strlen(PREFIX)) != 0)
        return -1;
    const char *rest = path + strlen(PREFIX);
    if (!strcmp(rest, "ctl"))
        return CONTROL_MINOR;
    unsigned minor = 0, digits = 0;
    for (; rest[digits] >= '0' && rest[digits] <= '9' && digits < 3; digits++)
        minor = minor * 10 + (unsigned)(rest[digits] - '0');
    bool is_number = digits && !rest[digits] && (digits == 1 || rest[0] != '0');
    return is_number && minor < device_count ? (int)minor : -1;
}

/* What a call that found no file answers. */
static int answer_stat(const char *path, struct stat *st)
{
    int minor = errno == ENOENT && device_count ? minor_of(path) : -1;

    if (minor < 0)
        return -1;
    *st = (struct stat){
        .st_mode = S_IFCHR | 0666,
        .st_nlink = 1,
        .st_rdev = makedev(NVIDIA_MAJOR, (unsigned)minor),
        .st_blksize = 4096,
    };
    return 0;
}

static int answer_access(const char *path, int mode)
{
    if (errno != ENOENT || !device_count || minor_of(path) < 0)
        return -1;
    if (mode & X_OK) {
        errno = EACCES;
        return -1;
    }
    return 0;
}

/*
 * X(name, parameters, arguments, what it answers): the functions that look at files. __x ones are
 * those of programs built before glibc 2.33. Those for large files are the same, as in glibc.
 */
#define FILE_LIST(X)                                                                               \
    X(stat, (const char *path, struct stat *st), (path, st), answer_stat(path, st))                \
    X(lstat, (const char *path, struct stat *st), (path, st), answer_stat(path, st))               \
    X(fstatat, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags),    \
      answer_stat(path, st))                                                                       \
    X(__xstat, (int version, const char *path, struct stat *st), (version, path, st),              \
      answer_stat(path, st))                                                                       \
    X(__lxstat, (int version, const char *path, struct stat *st), (version, path, st),             \
      answer_stat(path, st))                                                                       \
    X(__fxstatat, (int version, int dir, const char *path, struct stat *st, int flags),            \
      (version, dir, path, st, flags), answer_stat(path, st))                                      \
    X(access, (const char *path, int mode), (path, mode), answer_access(path, mode))               \
    X(faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags),       \
      answer_access(path, mode))

/*
 * real_x() is the C library's, or that of another preload. A sanitizer may call before
 * devices_start(); the loader's lookup is not for signal handlers, which come later.
 */
#define X(name, parameters, arguments, answer)                                                     \
    typedef int name##_fn parameters;                                                              \
    static name##_fn *real_##name(void)                                                            \
    {                                                                                              \
        static name##_fn *found;                                                                   \
        if (!found)                                                                                \
            found = (name##_fn *)dlsym(RTLD_NEXT, #name);                                          \
        return found;                                                                              \
    }                                                                                              \
    HD_EXPORT int name parameters;                                                                 \
    int name parameters                                                                            \
    {                                                                                              \
        int result = real_##name() arguments;                                                      \
        return result ? answer : result;                                                           \
    }
FILE_LIST(X)
#undef X

#define LARGE(name)                                                                                \
    __asm__(".globl " #name "64\n.type " #name "64, %function\n.set " #name "64, " #name)
LARGE(stat);
LARGE(lstat);
LARGE(fstatat);
LARGE(__xstat);
LARGE(__lxstat);
LARGE(__fxstatat);

void devices_start(void)
{
    struct hd_env_device all[HD_ENV_DEVICES_MAX];

#define X(name, ...) (void)real_##name();
    FILE_LIST(X)
#undef X
    for (unsigned i = 0, n = hd_env_devices(all); i < n; i++)
        device_count += all[i].parts;
}
