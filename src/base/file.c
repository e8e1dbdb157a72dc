/* Whole files in and out; declared in base/str.h beside the buffer they use. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define FILE_CHUNK_B (64u << 10)

static enum hd_status file_error(const char *what, const char *path)
{
    int code = errno;
    enum hd_status status = code == ENOENT || code == ENOTDIR ? HD_NOT_FOUND : HD_IO;

    return hd_error(status, "%s %s: %s", what, path, strerror(code));
}

static enum hd_status file_read_fd(int fd, const char *path, size_t max_B, struct hd_buf *out_buf)
{
    HD_AUTOFREE char *chunk = hd_alloc(FILE_CHUNK_B);

    if (!chunk)
        return hd_error(HD_NO_MEMORY, "read %s: out of memory", path);
    for (;;) {
        ssize_t got = read(fd, chunk, FILE_CHUNK_B);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_error("read", path);
        if (got == 0)
            break;
        if ((size_t)got > max_B - out_buf->len)
            return hd_error(HD_IO, "read %s: larger than %zu bytes", path, max_B);
        hd_buf_append(out_buf, chunk, (size_t)got);
        if (out_buf->failed)
            return hd_error(HD_NO_MEMORY, "read %s: out of memory", path);
    }
    hd_buf_append(out_buf, "", 0); /* an empty file still has a NUL-terminated text */
    return out_buf->failed ? hd_error(HD_NO_MEMORY, "read %s: out of memory", path) : HD_OK;
}

static enum hd_status file_read(const char *path, int flags, size_t max_B, struct hd_buf *out_buf)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    enum hd_status status = HD_OK;
    struct stat info;

    hd_buf_clear(out_buf);
    if (fd < 0)
        return file_error("open", path);
    if (flags && (fstat(fd, &info) || !S_ISREG(info.st_mode)))
        status = hd_error(HD_IO, "read %s: it is no regular file", path);
    if (status == HD_OK)
        status = file_read_fd(fd, path, max_B, out_buf);
    close(fd);
    return status;
}

enum hd_status hd_file_read(const char *path, size_t max_B, struct hd_buf *out_buf)
{
    return file_read(path, 0, max_B, out_buf);
}

enum hd_status hd_file_read_kept(const char *path, size_t max_B, struct hd_buf *out_buf)
{
    return file_read(path, O_NONBLOCK, max_B, out_buf);
}

static enum hd_status file_write_fd(int fd, const char *path, const char *bytes, size_t len)
{
    while (len) {
        ssize_t put = write(fd, bytes, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return file_error("write", path);
        bytes += put;
        len -= (size_t)put;
    }
    return HD_OK;
}

enum hd_status hd_file_write(const char *path, const void *bytes, size_t len)
{
    static _Atomic unsigned serial;
    struct hd_buf temp = {0};
    enum hd_status status;
    int fd;

    /* Unique among threads and processes; beside the target, so rename() stays on one device. */
    hd_buf_printf(&temp, "%s.%ld.%u.tmp", path, (long)getpid(), atomic_fetch_add(&serial, 1));
    if (temp.failed) {
        hd_buf_fini(&temp);
        return hd_error(HD_NO_MEMORY, "write %s: out of memory", path);
    }
    fd = open(temp.ptr, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        status = file_error("create", temp.ptr);
        hd_buf_fini(&temp);
        return status;
    }
    status = file_write_fd(fd, temp.ptr, bytes, len);
    if (close(fd) && status == HD_OK)
        status = file_error("close", temp.ptr);
    if (status == HD_OK && rename(temp.ptr, path))
        status = file_error("rename to", path);
    if (status != HD_OK)
        unlink(temp.ptr);
    hd_buf_fini(&temp);
    return status;
}

enum hd_status hd_file_turn_begin(const char *path, int *out_turn)
{
    const char *slash = strrchr(path, '/');
    HD_AUTOFREE char *folder = slash ? hd_strdup(path) : hd_strdup(".");
    int fd, error;

    if (!folder)
        return hd_error(HD_NO_MEMORY, "%s: no memory", path);
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return hd_error(HD_IO, "%s: its folder: %s", path, strerror(errno));
    do
        error = flock(fd, LOCK_EX) ? errno : 0;
    while (error == EINTR);
    if (error) {
        close(fd);
        return hd_error(HD_IO, "%s: its folder cannot be locked: %s", path, strerror(error));
    }
    *out_turn = fd;
    return HD_OK;
}

void hd_file_turn_end(int turn)
{
    close(turn);
}
