/* Prints what the C library says of each path: stat, lstat, fstatat, access and open, as errno. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int error_of(int result)
{
    return result < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st = {0}, link = {0}, at = {0};
        printf("%s: %d", argv[i], error_of(stat(argv[i], &st)));
        printf(" %d", error_of(lstat(argv[i], &link)));
        printf(" %d", error_of(fstatat(AT_FDCWD, argv[i], &at, 0)));
        printf(" %d", error_of(access(argv[i], R_OK | W_OK)));
        printf(" %d", error_of(faccessat(AT_FDCWD, argv[i], X_OK, 0)));
        printf(" %d", error_of(open(argv[i], O_RDWR | O_CLOEXEC)));
        printf(" %s %u:%u%s\n", S_ISCHR(st.st_mode) ? "device" : "other", major(st.st_rdev),
               minor(st.st_rdev),
               st.st_rdev == link.st_rdev && st.st_mode == at.st_mode ? "" : " unlike");
    }
    return 0;
}
