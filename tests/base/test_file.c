#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "tap.h"

int main(void)
{
    char dir[] = "/tmp/hd_test_file_XXXXXX";
    char path[64], missing[64];
    struct hd_buf buf = {0};
    struct stat info;

    if (!mkdtemp(dir))
        return skip_all("no writable /tmp");
    snprintf(path, sizeof(path), "%s/file", dir);
    snprintf(missing, sizeof(missing), "%s/none/file", dir);

    eq_u64(hd_file_write(path, "a\0b", 3), HD_OK, "write");
    eq_u64(hd_file_read(path, 100, &buf), HD_OK, "read");
    eq_u64(buf.len, 3, "length");
    eq_mem(buf.ptr, "a\0b", 4, "bytes, and a NUL behind them");
    eq_u64(hd_file_write(path, "", 0), HD_OK, "overwrite with nothing");
    eq_u64(hd_file_read(path, 100, &buf), HD_OK, "read nothing");
    eq_str(buf.ptr, "", "an empty file is an empty text");
    eq_u64(hd_file_write(path, "12345", 5), HD_OK, "overwrite");
    eq_u64(hd_file_read(path, 5, &buf), HD_OK, "a file of exactly the limit");
    eq_u64(hd_file_read(path, 4, &buf), HD_IO, "a file above the limit");
    eq_u64(hd_file_read(missing, 4, &buf), HD_NOT_FOUND, "a missing file");
    ok(strstr(hd_error_message(), missing) != NULL, "the message names it");
    eq_u64(hd_file_read(dir, 4, &buf), HD_IO, "a directory is no file");
    eq_u64(hd_file_write(missing, "x", 1), HD_NOT_FOUND, "write into a missing directory");
    ok(stat(path, &info) == 0 && (info.st_mode & 0400), "the file is readable");
    hd_buf_fini(&buf);
    unlink(path);
    eq_u64(rmdir(dir), 0, "no temporary file stays behind");
    return done();
}
