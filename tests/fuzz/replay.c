/* Feeds every file of a folder to a fuzz target, and every prefix of the small ones. */
#include <dirent.h>

#include "base/str.h"
#include "fuzz/fuzz.h"
#include "tap.h"

#define PREFIXES_MAX_B 2048

/* A copy of exactly the right size, so that AddressSanitizer sees the first byte too far. */
static void replay(const char *bytes, size_t size_B)
{
    HD_AUTOFREE uint8_t *copy = hd_alloc(size_B);

    if (!copy)
        return;
    memcpy(copy, bytes, size_B);
    LLVMFuzzerTestOneInput(copy, size_B);
}

static void replay_file(const char *folder, const char *name)
{
    struct hd_buf path = {0};
    struct hd_buf buf = {0};

    hd_buf_printf(&path, "%s/%s", folder, name);
    if (ok(hd_file_read(path.ptr, 64 << 20, &buf) == HD_OK, "%s", name)) {
        replay(buf.ptr, buf.len);
        for (size_t len = 0; buf.len <= PREFIXES_MAX_B && len < buf.len; len++)
            replay(buf.ptr, len);
    }
    hd_buf_fini(&buf);
    hd_buf_fini(&path);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;

    if (!folder)
        return skip_all("no corpus");
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] != '.')
            replay_file(argv[1], entry->d_name);
    }
    closedir(folder);
    return done();
}
