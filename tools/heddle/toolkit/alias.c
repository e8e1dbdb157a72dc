/*
 * nvcc, ptxas, nsys and the other names of `heddle`, where files cannot be links, as in a wheel:
 * starts the bin/heddle of the nearest folder above, which looks at the name it is called by.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CANNOT_RUN 126 /* a shell's */

int main(int argc, char **argv)
{
    char folder[PATH_MAX], file[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

    folder[len > 0 ? len : 0] = '\0';
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        int n = snprintf(file, sizeof(file), "%s/bin/heddle", folder);
        if (n < 0 || (size_t)n >= sizeof(file) || access(file, X_OK) != 0)
            continue;
        execv(file, argv);
        fprintf(stderr, "heddle: %s: %s: %s\n", argc ? argv[0] : "?", file, strerror(errno));
        return CANNOT_RUN;
    }
    fprintf(stderr, "heddle: %s: no bin/heddle in any folder above it; install Heddle again\n",
            argc ? argv[0] : "?");
    return CANNOT_RUN;
}
