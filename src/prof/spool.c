/*
 * See spool.h. The file grows by extents, whose room on the disk is taken at once: a page of a file
 * for which there is no room would be a SIGBUS of the program.
 */
#include "prof/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stack.h"

enum {
    EXTENT_BLOCKS = 64,
    EXTENTS_MAX = 1 << 16,
    PIECE_BLOCKS = 8, /* whose pages are made at once */
    FIXED_NAMES = 64, /* of a thread, by address */
};
#define EXTENT_B ((size_t)EXTENT_BLOCKS * PROF_BLOCK_B)
#define PIECE_B  ((size_t)PIECE_BLOCKS * PROF_BLOCK_B)

static struct {
    struct prof_head *head; /* NULL: not open */
    int fd;
    uint64_t max_B;
    _Atomic uint32_t generation; /* another one for each file: threads drop their blocks */
    _Atomic(uint8_t *) extents[EXTENTS_MAX];
    struct hd_lock lock;    /* below, and making extents */
    _Atomic uint64_t ready; /* blocks that have pages */
    _Atomic bool is_full;
    struct hd_map names;
    uint32_t nnames;
} spool = {.fd = -1, .lock = HD_LOCK_INIT(RECORD, "spool")};

static HD_THREAD_LOCAL struct {
    uint32_t generation;
    struct prof_block *block;
    void *fixed; /* struct fixed[FIXED_NAMES]; NULL: none so far, or no memory */
} own;

struct fixed {
    const char *text;
    uint32_t id;
};

/* ---- the file */

/* errno, 0 when there is room for [at, at + size). Where a file system cannot say, it has. */
static int spool_take_room(int fd, uint64_t at, uint64_t size_B)
{
    int error = posix_fallocate(fd, (off_t)at, (off_t)size_B);

    if (error != EOPNOTSUPP && error != ENOSYS)
        return error;
    return ftruncate(fd, (off_t)(at + size_B)) ? errno : 0;
}

static void *spool_map_room(int fd, uint64_t at, size_t size_B)
{
    void *map;

    errno = spool_take_room(fd, at, size_B);
    if (errno)
        return NULL;
    map = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    return map == MAP_FAILED ? NULL : map;
}

void prof_head_fill(struct prof_head *head, bool is_samples)
{
    ssize_t len = readlink("/proc/self/exe", head->exe, sizeof(head->exe) - 1);

    head->exe[len > 0 ? len : 0] = '\0';
    head->pid = (uint32_t)getpid();
    head->parent = (uint32_t)getppid();
    head->start_ns = hd_clock_ns(CLOCK_MONOTONIC);
    head->start_real_ns = hd_clock_ns(CLOCK_REALTIME);
    head->is_samples = is_samples;
    head->magic = PROF_MAGIC; /* last: until then it is no spool */
}

/* What a child has of its parent's is left to the parent. */
static void spool_forget(void)
{
    if (spool.fd >= 0)
        close(spool.fd);
    for (size_t i = 0; i < EXTENTS_MAX && spool.extents[i]; i++) {
        (void)munmap(spool.extents[i], EXTENT_B);
        spool.extents[i] = NULL;
    }
    if (spool.head)
        (void)munmap(spool.head, PROF_HEAD_B);
    spool.head = NULL;
    spool.is_full = false;
    spool.ready = 0;
    struct hd_map_iter it = {0};
    while (hd_map_next(&spool.names, &it))
        hd_free((char *)it.key.ptr);
    hd_map_fini(&spool.names);
    hd_map_init(&spool.names);
    spool.nnames = 0;
}

enum hd_status prof_spool_open(const char *folder, uint64_t max_B)
{
    char path[1024];
    int n = snprintf(path, sizeof(path), "%s/%d-XXXXXX" PROF_SUFFIX, folder, (int)getpid());
    struct prof_head *head;

    spool_forget();
    if (n < 0 || (size_t)n >= sizeof(path))
        return hd_error(HD_BAD_ARG, "HEDDLE_PROF: the folder's name is too long");
    spool.fd = mkostemps(path, (int)strlen(PROF_SUFFIX), O_CLOEXEC);
    head = spool.fd >= 0 ? spool_map_room(spool.fd, 0, PROF_HEAD_B) : NULL;
    if (!head)
        return hd_error(HD_IO, "%s: %s: nothing is recorded of this process", path,
                        strerror(errno));
    prof_head_fill(head, false);
    spool.max_B = max_B;
    spool.head = head;
    atomic_fetch_add(&spool.generation, 1);
    return HD_OK;
}

const struct prof_head *prof_spool_head(void)
{
    return spool.head;
}

uint32_t prof_spool_generation(void)
{
    return atomic_load_explicit(&spool.generation, memory_order_relaxed);
}

/* ---- blocks */

/*
 * Makes the pages of the next blocks. Written as a whole and then mapped at once they cost a third
 * of what they cost when a record first touches them, and the thread waits for a few only. Where
 * this fails (the mapping: before Linux 5.14), they come one by one.
 */
static void spool_piece_make_locked(void)
{
    static uint8_t zeros[PIECE_B];
    uint64_t ready = atomic_load_explicit(&spool.ready, memory_order_relaxed);
    size_t extent = (size_t)(ready / EXTENT_BLOCKS), in_extent = ready % EXTENT_BLOCKS;

    assert(hd_lock_held(&spool.lock) && ready % PIECE_BLOCKS == 0);
    if (!in_extent) {
        uint64_t offset = PROF_HEAD_B + (uint64_t)extent * EXTENT_B;
        uint8_t *at = NULL;

        if (extent < EXTENTS_MAX && offset + EXTENT_B <= spool.max_B)
            at = spool_map_room(spool.fd, offset, EXTENT_B);
        spool.is_full = !at; /* what comes later would be found without what came before */
        if (at)
            atomic_store_explicit(&spool.extents[extent], at, memory_order_release);
    }
    if (spool.is_full)
        return;
    (void)!pwrite(spool.fd, zeros, sizeof(zeros), (off_t)(PROF_HEAD_B + ready * PROF_BLOCK_B));
    (void)madvise(spool.extents[extent] + in_extent * PROF_BLOCK_B, PIECE_B, MADV_POPULATE_WRITE);
    atomic_store_explicit(&spool.ready, ready + PIECE_BLOCKS, memory_order_release);
}

static struct prof_block *spool_block_at(uint64_t number)
{
    size_t extent = (size_t)(number / EXTENT_BLOCKS);

    if (atomic_load_explicit(&spool.ready, memory_order_acquire) <= number) {
        hd_lock_acquire(&spool.lock);
        while (spool.ready <= number && !spool.is_full)
            spool_piece_make_locked();
        hd_lock_release(&spool.lock);
    }
    if (atomic_load_explicit(&spool.ready, memory_order_acquire) <= number)
        return NULL;
    return (
        struct prof_block *)(atomic_load_explicit(&spool.extents[extent], memory_order_acquire) +
                             number % EXTENT_BLOCKS * PROF_BLOCK_B);
}

/* A thread is known by its first block. */
static void spool_notify_thread(void)
{
    char name[16] = "";
    struct prof_thread *r;

    (void)prctl(PR_GET_NAME, name);
    uint32_t id = prof_name(name);
    r = prof_new(THREAD, thread);
    if (!r)
        return;
    r->thread = own.block->thread;
    r->name = id;
    prof_done(&r->record);
}

static bool spool_block_next(void)
{
    uint32_t generation = atomic_load_explicit(&spool.generation, memory_order_relaxed);
    bool is_first = own.generation != generation;
    struct prof_block *block =
        spool.is_full ? NULL : spool_block_at(atomic_fetch_add(&spool.head->blocks, 1));

    if (is_first && own.fixed)
        memset(own.fixed, 0, FIXED_NAMES * sizeof(struct fixed));
    own.generation = generation;
    own.block = block;
    if (!block)
        return false;
    block->thread = (uint32_t)syscall(SYS_gettid);
    atomic_store_explicit(&block->used_B, sizeof(*block), memory_order_release);
    if (is_first)
        spool_notify_thread();
    return own.block != NULL;
}

static bool spool_has_room(size_t size_B)
{
    return own.block &&
           own.generation == atomic_load_explicit(&spool.generation, memory_order_relaxed) &&
           atomic_load_explicit(&own.block->used_B, memory_order_relaxed) + size_B <= PROF_BLOCK_B;
}

void *prof_spool_reserve(enum prof_type type, size_t size_B)
{
    struct prof_record *record;

    assert(size_B >= sizeof(*record) && size_B <= PROF_RECORD_MAX_B);
    size_B = (size_B + 7) & ~(size_t)7;
    if (!spool.head)
        return NULL;
    if (HD_UNLIKELY(!spool_has_room(size_B)) && !spool_block_next()) {
        atomic_fetch_add_explicit(&spool.head->lost, 1, memory_order_relaxed);
        return NULL;
    }
    record = (struct prof_record *)((uint8_t *)own.block +
                                    atomic_load_explicit(&own.block->used_B, memory_order_relaxed));
    record->size_B = (uint16_t)size_B;
    record->type = (uint16_t)type;
    return record;
}

void prof_done(struct prof_record *record)
{
    uint32_t used_B = atomic_load_explicit(&own.block->used_B, memory_order_relaxed);

    assert((uint8_t *)record == (uint8_t *)own.block + used_B);
    atomic_store_explicit(&own.block->used_B, used_B + record->size_B, memory_order_release);
}

/* ---- names */

static bool spool_write_string(uint32_t id, const char *text, size_t len)
{
    struct prof_string *r = prof_spool_reserve(PROF_STRING, sizeof(*r) + len);

    if (!r)
        return false;
    r->id = id;
    r->len = (uint32_t)len;
    memcpy(r->text, text, len);
    prof_done(&r->record);
    return true;
}

/* 0: no memory. */
static uint32_t spool_number_locked(struct hd_str key, bool *out_is_new)
{
    char *copy;
    void *found;

    assert(hd_lock_held(&spool.lock));
    *out_is_new = false;
    if (hd_map_find(&spool.names, key, &found))
        return (uint32_t)(uintptr_t)found;
    copy = hd_alloc(key.len + 1);
    if (!copy)
        return 0;
    memcpy(copy, key.ptr, key.len);
    if (!hd_map_put(&spool.names, (struct hd_str){copy, key.len},
                    (void *)(uintptr_t)(spool.nnames + 1))) {
        hd_free(copy);
        return 0;
    }
    *out_is_new = true;
    return ++spool.nnames;
}

uint32_t prof_name(const char *text)
{
    bool is_new;
    uint32_t id;

    if (!text)
        return 0;
    /* Longer texts are cut: a record is in one block. */
    size_t len = strnlen(text, PROF_RECORD_MAX_B - sizeof(struct prof_string) - 8);
    hd_lock_acquire(&spool.lock);
    id = spool_number_locked((struct hd_str){text, len}, &is_new);
    hd_lock_release(&spool.lock);
    return is_new && !spool_write_string(id, text, len) ? 0 : id;
}

uint32_t prof_name_fixed(const char *text)
{
    struct fixed *names = hd_thread_block(&own.fixed, FIXED_NAMES * sizeof(*names));
    struct fixed *name = names ? &names[((uintptr_t)text >> 3) % FIXED_NAMES] : NULL;

    if (!text)
        return 0;
    if (name && own.generation == atomic_load_explicit(&spool.generation, memory_order_relaxed) &&
        name->text == text)
        return name->id;
    uint32_t id = prof_name(text);
    if (name)
        *name = (struct fixed){text, id};
    return id;
}
