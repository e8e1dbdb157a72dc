/* What memory held before a block wrote to it: a log, to be read from its end. */
#include <assert.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "dbg/history.h"

enum { BATCH = 256 };

#define IN_WINDOW ((uint32_t)1 << 31)

/* In front of the old bytes; behind them stands `size_B` again, to be found from there. */
struct entry {
    uint64_t at, pass;
    uint32_t size_B;
    uint32_t thread; /* in its block; IN_WINDOW: memory that the points have, too */
};

void history_log_add(const struct interp_thread *t, const void *bytes, const void *old,
                     uint32_t size_B, bool is_window, uint64_t pass)
{
    struct entry e = {(uintptr_t)bytes, pass, size_B,
                      interp_debug_index(t) | (is_window ? IN_WINDOW : 0)};

    hd_buf_append(&history.writes, &e, sizeof(e));
    hd_buf_append(&history.writes, old, size_B);
    hd_buf_append(&history.writes, &e.size_B, sizeof(e.size_B));
}

/* The entry that ends there; where it begins. */
static size_t entry_before(size_t end, struct entry *out, const char **out_old)
{
    uint32_t size_B;

    assert(end > sizeof(size_B) && end <= history.writes.len);
    memcpy(&size_B, history.writes.ptr + end - sizeof(size_B), sizeof(size_B));
    assert(end >= sizeof(size_B) + size_B + sizeof(*out));
    end -= sizeof(size_B) + size_B + sizeof(*out);
    memcpy(out, history.writes.ptr + end, sizeof(*out));
    *out_old = history.writes.ptr + end + sizeof(*out);
    assert(out->size_B == size_B);
    return end;
}

/* Writes of a batch, in order. Memory that has gone meanwhile ends what the kernel does at once. */
static void batch_write(const struct iovec *ours, const struct iovec *theirs, unsigned n)
{
    size_t all = 0;

    for (unsigned i = 0; i < n; i++)
        all += ours[i].iov_len;
    if (!n || process_vm_writev(getpid(), ours, n, theirs, n, 0) == (ssize_t)all)
        return;
    for (unsigned i = 0; i < n; i++)
        (void)!process_vm_writev(getpid(), &ours[i], 1, &theirs[i], 1, 0);
}

void history_log_undo(uint64_t writes)
{
    size_t end = history.writes.len, stop = (size_t)(writes - history.writes_gone);
    struct iovec ours[BATCH], theirs[BATCH];
    unsigned n = 0;

    assert(writes >= history.writes_gone && stop <= end);
    while (end > stop) {
        struct entry e;
        const char *old;
        end = entry_before(end, &e, &old);
        if (e.thread & IN_WINDOW)
            continue;
        ours[n] = (struct iovec){(void *)(uintptr_t)old, e.size_B};
        theirs[n++] = (struct iovec){(void *)(uintptr_t)e.at, e.size_B};
        if (n < BATCH)
            continue;
        batch_write(ours, theirs, n);
        n = 0;
    }
    assert(end == stop); /* entries end where points were taken */
    batch_write(ours, theirs, n);
    history.writes.len = stop;
}

void history_log_forget(uint64_t writes)
{
    size_t n = (size_t)(writes - history.writes_gone);

    assert(writes >= history.writes_gone && n <= history.writes.len);
    memmove(history.writes.ptr, history.writes.ptr + n, history.writes.len - n);
    history.writes.len -= n;
    history.writes_gone = writes;
}

/*
 * Makes `image` of the bytes at `at` what it was before the entry. True: that is another one.
 */
static bool image_undo(char *image, uint64_t at, uint64_t size_B, const struct entry *e,
                       const char *old)
{
    uint64_t from = HD_MAX(at, e->at), to = HD_MIN(at + size_B, e->at + e->size_B);

    assert(from < to);
    if (memcmp(image + (from - at), old + (from - e->at), to - from) == 0)
        return false;
    memcpy(image + (from - at), old + (from - e->at), to - from);
    return true;
}

bool history_log_find(uint64_t at, uint64_t size_B, bool changes, uint64_t least,
                      uint64_t *out_pass, uint32_t *out_thread)
{
    char *image = hd_alloc(size_B + 1);
    bool found = false, readable = image && dbg_read(NULL, at, image, size_B) == size_B;
    struct entry e;
    const char *old;

    for (size_t end = history.writes.len; end && !found;) {
        end = entry_before(end, &e, &old);
        if (e.pass < least)
            break;
        if (e.at >= at + size_B || at >= e.at + e.size_B)
            continue;
        found = !changes || !readable || image_undo(image, at, size_B, &e, old);
    }
    hd_free(image);
    if (found) {
        *out_pass = e.pass;
        *out_thread = e.thread & ~IN_WINDOW;
    }
    return found;
}
