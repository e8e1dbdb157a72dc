/* See shared.h. */
#include "registry/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "registry/registry.h"

bool reg_shared_path(const struct reg_shared *kind, char *path, size_t path_B)
{
    const char *set = hd_env("HEDDLE_REGISTRY");
    int len = set ? snprintf(path, path_B, "%s%s", set, kind->suffix)
                  : snprintf(path, path_B, "/dev/shm/heddle-%u.%u%s", (unsigned)geteuid(),
                             REG_VERSION, kind->suffix);

    return len > 0 && (size_t)len < path_B && (!set || strcmp(set, "off") != 0);
}

enum hd_status reg_shared_check(const struct reg_shared *kind, const void *bytes, size_t size_B)
{
    const struct reg_shared_head *head = bytes, *want = &kind->head;

    if (size_B != want->size_B)
        return hd_error(HD_CORRUPT, "it has %zu bytes instead of %llu", size_B,
                        (unsigned long long)want->size_B);
    if (memcmp(head->magic, want->magic, sizeof(head->magic)) != 0)
        return hd_error(HD_CORRUPT, "it is no registry");
    if (head->version != want->version || head->count != want->count || head->size_B != size_B)
        return hd_error(HD_BAD_VERSION, "it is of version %u", head->version);
    return HD_OK;
}

/* A complete file under a name of its own; -1 and errno: it could not be made. */
static int file_fill(const struct reg_shared *kind, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return -1;
    int error = posix_fallocate(fd, 0, (off_t)kind->head.size_B);
    if (!error && pwrite(fd, &kind->head, sizeof(kind->head), 0) != (ssize_t)sizeof(kind->head))
        error = ENOSPC;
    if (error) {
        close(fd);
        unlink(path);
        errno = error;
        return -1;
    }
    return fd;
}

/* Links a complete file to the name; whoever was first is who made it. */
static enum hd_status file_make(const struct reg_shared *kind, const char *path)
{
    char temp[320];

    snprintf(temp, sizeof(temp), "%s.%ld.new", path, (long)getpid());
    (void)unlink(temp); /* of a process that was killed, with this number */
    int fd = file_fill(kind, temp);
    if (fd < 0)
        return hd_error(HD_IO, "%s", strerror(errno));
    int error = link(temp, path) && errno != EEXIST ? errno : 0;
    unlink(temp);
    close(fd);
    return error ? hd_error(HD_IO, "%s", strerror(error)) : HD_OK;
}

static enum hd_status file_map(const struct reg_shared *kind, int fd, int prot, void **out_file)
{
    size_t size_B = (size_t)kind->head.size_B;
    struct stat info;

    if (fstat(fd, &info))
        return hd_error(HD_IO, "%s", strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || info.st_mode & 022)
        return hd_error(HD_IO, "it is not the user's own file, or others may write it");
    if ((uint64_t)info.st_size != size_B)
        return hd_error(HD_CORRUPT, "it has %lld bytes instead of %zu", (long long)info.st_size,
                        size_B);
    void *at = mmap(NULL, size_B, prot, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return hd_error(HD_IO, "%s", strerror(errno));
    enum hd_status status = reg_shared_check(kind, at, size_B);
    if (status == HD_OK)
        *out_file = at;
    else
        munmap(at, size_B);
    return status;
}

static enum hd_status file_open(const struct reg_shared *kind, const char *path, bool writes,
                                void **out_file)
{
    int fd = open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return hd_error(errno == ENOENT ? HD_NOT_FOUND : HD_IO, "%s", strerror(errno));
    enum hd_status status =
        file_map(kind, fd, writes ? PROT_READ | PROT_WRITE : PROT_READ, out_file);
    close(fd);
    return status;
}

enum hd_status reg_shared_make(const struct reg_shared *kind, const char *path, void **out_file)
{
    enum hd_status status = file_open(kind, path, true, out_file);

    if (status != HD_NOT_FOUND)
        return status;
    HD_TRY(file_make(kind, path));
    return file_open(kind, path, true, out_file);
}

const void *reg_shared_opened(const struct reg_shared *kind, _Atomic(void *) *opened)
{
    void *file = atomic_load(opened), *none = NULL;
    char path[256];

    if (file || !reg_shared_path(kind, path, sizeof(path)) ||
        file_open(kind, path, false, &file) != HD_OK)
        return file;
    if (!atomic_compare_exchange_strong(opened, &none, file)) {
        munmap(file, (size_t)kind->head.size_B);
        file = none;
    }
    return file;
}
