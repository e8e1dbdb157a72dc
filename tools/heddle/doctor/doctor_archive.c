/* heddle doctor of an archive: what matters of it is unpacked into a folder for the time. */
#include "common/cli.h"
#include "doctor/doctor.h"

#include <assert.h>
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_B 65536

/* What is used of libarchive, without its prefix. */
#define LIBRARY_LIST(X)                                                                            \
    X(read_new)                                                                                    \
    X(read_free)                                                                                   \
    X(read_support_filter_gzip)                                                                    \
    X(read_support_filter_bzip2)                                                                   \
    X(read_support_filter_xz)                                                                      \
    X(read_support_filter_zstd)                                                                    \
    X(read_support_format_zip)                                                                     \
    X(read_support_format_tar)                                                                     \
    X(read_open_filename)                                                                          \
    X(read_next_header)                                                                            \
    X(read_data)                                                                                   \
    X(format)                                                                                      \
    X(error_string)                                                                                \
    X(entry_pathname)                                                                              \
    X(entry_filetype)

/*
 * The library brings others of 40 MB, which take longer to load than everything else that the
 * command needs, so it is opened when there is an archive.
 */
static struct {
#define X(name) __typeof__(archive_##name) *name;
    LIBRARY_LIST(X)
#undef X
} library;

static bool library_open(void)
{
    void *handle = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return false;
#define X(name)                                                                                    \
    library.name = (__typeof__(library.name))dlsym(handle, "archive_" #name);                      \
    if (!library.name)                                                                             \
        return false;
    LIBRARY_LIST(X)
#undef X
    return true;
}

/* ---- names */

/* Is it one below the folder? */
static bool name_stays(const char *name)
{
    if (!name || !*name || *name == '/' || strlen(name) > PATH_MAX / 2)
        return false;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))
            return false;
    return true;
}

static bool is_record(const char *name)
{
    static const char end[] = ".dist-info/RECORD";
    size_t n = strlen(name), m = sizeof(end) - 1;

    return n >= m && !strcmp(name + n - m, end);
}

static void make_folders(char *path, size_t below)
{
    for (char *slash = path + below; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

/* ---- unpacking */

static bool write_all(int fd, const char *bytes, la_ssize_t n)
{
    for (ssize_t done; n > 0; bytes += done, n -= done) {
        done = write(fd, bytes, (size_t)n);
        if (done <= 0)
            return false;
    }
    return true;
}

/* What is left of the entry, after a block of it. */
static bool copy_rest(struct archive *a, int fd, char *block, la_ssize_t n)
{
    assert(fd >= 0);
    for (; n > 0; n = library.read_data(a, block, BLOCK_B))
        if (!write_all(fd, block, n))
            return false;
    return n == 0;
}

/* ELF files and the lists of what a distribution consists of; nothing else is looked at later. */
static bool unpack_entry(struct archive *a, const char *name, const char *folder)
{
    char path[PATH_MAX], block[BLOCK_B];
    la_ssize_t n = library.read_data(a, block, sizeof(block));
    assert(name_stays(name));
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);

    if (n < 0 || length < 0 || (size_t)length >= sizeof(path))
        return false;
    if ((n < 4 || memcmp(block, "\177ELF", 4) != 0) && !is_record(name))
        return true;
    make_folders(path, strlen(folder) + 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool worked = fd >= 0 && copy_rest(a, fd, block, n);
    if (fd >= 0)
        worked = close(fd) == 0 && worked;
    return worked;
}

struct opened {
    struct archive *archive;
    struct archive_entry *entry; /* the first */
    int state;                   /* of reading it */
};

static bool unpack(const struct opened *o, const char *folder)
{
    struct archive_entry *entry = o->entry;
    int state = o->state;

    for (; state == ARCHIVE_OK; state = library.read_next_header(o->archive, &entry)) {
        const char *name = library.entry_pathname(entry);

        if (library.entry_filetype(entry) == AE_IFREG && name_stays(name) &&
            !unpack_entry(o->archive, name, folder))
            return false;
    }
    return state == ARCHIVE_EOF;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

static int examine(const struct opened *o, const char *path, const struct doctor_args *args)
{
    const char *base = getenv("TMPDIR");
    char folder[PATH_MAX / 2];
    int code;

    (void)snprintf(folder, sizeof(folder), "%s/heddle-doctor-XXXXXX",
                   base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        return cli_error("no temporary folder %s", folder);
    if (unpack(o, folder))
        code = doctor_folder(path, folder, args);
    else
        code = cli_error("%s cannot be unpacked: %s", path,
                         library.error_string(o->archive) ? library.error_string(o->archive)
                                                          : strerror(errno));
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return code;
}

/* No filter that would run a program. */
static void support(struct archive *a)
{
    library.read_support_filter_gzip(a);
    library.read_support_filter_bzip2(a);
    library.read_support_filter_xz(a);
    library.read_support_filter_zstd(a);
    library.read_support_format_zip(a);
    library.read_support_format_tar(a);
}

int doctor_archive(const char *path, const struct doctor_args *args)
{
    struct opened o = {0};
    int code = -1;

    if (!library_open())
        return cli_error("%s: archives need libarchive: %s", path, dlerror());
    o.archive = library.read_new();
    if (!o.archive)
        return cli_error("out of memory");
    support(o.archive);
    if (library.read_open_filename(o.archive, path, BLOCK_B) == ARCHIVE_OK) {
        o.state = library.read_next_header(o.archive, &o.entry);
        if (library.format(o.archive))
            code = examine(&o, path, args);
    }
    library.read_free(o.archive);
    return code;
}
