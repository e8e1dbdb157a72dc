/*
 * Golden files: input and expectation in one file, cut by a line "; ---- expect". The first line is
 * "; MODE ARGUMENT"; the test program turns (mode, input) into text and compares.
 * HEDDLE_GOLDEN=update rewrites the expectation (`make golden`); review the diff.
 */
#ifndef HD_TESTS_GOLDEN_H
#define HD_TESTS_GOLDEN_H

#include <dirent.h>

#include "base/str.h"
#include "tap.h"

#define GOLDEN_CUT "; ---- expect\n"

/* Appends the actual text for `input` (the whole file up to the cut) to `out`. */
typedef void golden_make(const char *mode, const char *argument, const char *input, size_t len,
                         struct hd_buf *out);

static inline void golden_diff(const char *got, const char *want)
{
    unsigned line = 1;

    while (*got && *got == *want) {
        line += *got == '\n';
        got++;
        want++;
    }
    while (line > 1 && got[-1] != '\n') {
        got--;
        want--;
    }
    diag("line %u: got  %.*s", line, (int)strcspn(got, "\n"), got);
    diag("line %u: want %.*s", line, (int)strcspn(want, "\n"), want);
}

static inline void golden_file(const char *path, golden_make *make)
{
    struct hd_buf file, out;
    char mode[32] = "", argument[64] = "";
    const char *cut, *name = strrchr(path, '/');
    size_t len;

    hd_buf_init(&file);
    hd_buf_init(&out);
    name = name ? name + 1 : path;
    if (hd_file_read(path, 1 << 20, &file) != HD_OK || !file.ptr) {
        ok(false, "%s: cannot read", name);
        return;
    }
    cut = strstr(file.ptr, GOLDEN_CUT);
    len = cut ? (size_t)(cut - file.ptr) : file.len;
    sscanf(file.ptr, "; %31s %63s", mode, argument);
    make(mode, argument, file.ptr, len, &out);
    if (getenv("HEDDLE_GOLDEN")) {
        struct hd_buf whole;
        hd_buf_init(&whole);
        hd_buf_append(&whole, file.ptr, len);
        if (len && file.ptr[len - 1] != '\n')
            hd_buf_putc(&whole, '\n');
        hd_buf_puts(&whole, GOLDEN_CUT);
        hd_buf_append(&whole, out.ptr, out.len);
        ok(hd_file_write(path, whole.ptr, whole.len) == HD_OK, "%s: rewritten", name);
        hd_buf_fini(&whole);
    } else {
        const char *want = cut ? cut + strlen(GOLDEN_CUT) : "";
        const char *got = out.ptr ? out.ptr : "";
        if (!ok(!strcmp(got, want), "%s", name))
            golden_diff(got, want);
    }
    hd_buf_fini(&file);
    hd_buf_fini(&out);
}

static inline int golden_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every file of `dir` that ends in `suffix`, in order of names. */
static inline void golden_dir(const char *dir, const char *suffix, golden_make *make)
{
    char *paths[512];
    size_t n = 0;
    struct dirent *entry;
    DIR *d = opendir(dir);

    while (d && n < HD_COUNT_OF(paths) && (entry = readdir(d))) {
        size_t len = strlen(entry->d_name), tail = strlen(suffix);
        char path[4096];
        if (len <= tail || strcmp(entry->d_name + len - tail, suffix) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        paths[n++] = hd_strdup(path);
    }
    if (d)
        closedir(d);
    ok(n > 0, "%s has golden files", dir);
    qsort(paths, n, sizeof(paths[0]), golden_compare);
    for (size_t i = 0; i < n; i++) {
        golden_file(paths[i], make);
        hd_free(paths[i]);
    }
}

#endif
