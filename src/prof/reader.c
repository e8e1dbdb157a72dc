/* See reader.h. */
#include "prof/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static const size_t sizes[PROF_TYPE_COUNT] = {
#define X(NAME, type, doc) [PROF_##NAME] = sizeof(struct prof_##type),
    PROF_RECORD_LIST(X)
#undef X
};

/* ---- records */

static const struct prof_block *block_at(const struct prof_reader *reader, uint64_t number)
{
    return (const struct prof_block *)(reader->bytes + PROF_HEAD_B + number * PROF_BLOCK_B);
}

/* The next block that has something. */
static bool block_enter(const struct prof_reader *reader, struct prof_cursor *cursor)
{
    for (; cursor->block < reader->blocks; cursor->block++) {
        const struct prof_block *block = block_at(reader, cursor->block);
        uint32_t used_B = atomic_load_explicit(&block->used_B, memory_order_acquire);

        if (used_B <= sizeof(*block))
            continue;
        cursor->at_B = sizeof(*block);
        cursor->end_B = HD_MIN(used_B, PROF_BLOCK_B);
        cursor->thread = block->thread;
        return true;
    }
    return false;
}

static bool is_whole(const struct prof_record *record, uint32_t room_B)
{
    return room_B >= sizeof(*record) && record->type < PROF_TYPE_COUNT && record->size_B % 8 == 0 &&
           record->size_B <= room_B && record->size_B >= sizes[record->type];
}

const struct prof_record *prof_reader_next(struct prof_reader *reader, struct prof_cursor *cursor)
{
    while (cursor->at_B < cursor->end_B || block_enter(reader, cursor)) {
        const struct prof_block *block = block_at(reader, cursor->block);
        const struct prof_record *record =
            (const struct prof_record *)((const uint8_t *)block + cursor->at_B);
        bool good = is_whole(record, cursor->end_B - cursor->at_B);

        cursor->at_B = good ? cursor->at_B + record->size_B : cursor->end_B;
        reader->damaged += !good;
        if (cursor->at_B >= cursor->end_B)
            cursor->block++;
        if (good)
            return record;
    }
    return NULL;
}

/* ---- names */

static enum hd_status add_name(struct prof_reader *reader, const struct prof_string *s)
{
    /* Numbers are given in turn; a larger one than there can be texts is not believed. */
    bool fits =
        s->len <= s->record.size_B - sizeof(*s) && s->id && s->id <= reader->size_B / sizeof(*s);

    if (!fits)
        return HD_OK;
    while (reader->names.len < s->id)
        if (!hd_vec_push(&reader->names, ((struct hd_str){"", 0})))
            return hd_error(HD_NO_MEMORY, "no memory for the names of a recording");
    reader->names.at[s->id - 1] = (struct hd_str){s->text, s->len};
    return HD_OK;
}

static enum hd_status read_names(struct prof_reader *reader)
{
    struct prof_cursor cursor = {0};
    const struct prof_record *record;

    while ((record = prof_reader_next(reader, &cursor)))
        if (record->type == PROF_STRING)
            HD_TRY(add_name(reader, (const struct prof_string *)record));
    reader->damaged = 0; /* counted when records are read for good */
    return HD_OK;
}

struct hd_str prof_reader_name(const struct prof_reader *reader, uint32_t name)
{
    return name && name <= reader->names.len ? reader->names.at[name - 1] : HD_STR("");
}

/* ---- files */

enum hd_status prof_reader_init(const void *bytes, size_t size_B, struct prof_reader *out)
{
    *out = (struct prof_reader){.bytes = bytes, .size_B = size_B};
    if (size_B < PROF_HEAD_B)
        return hd_error(HD_CORRUPT, "it is too short for a recording");
    memcpy(&out->head, bytes, sizeof(out->head));
    if (out->head.magic != PROF_MAGIC)
        return hd_error(HD_CORRUPT, "it is no recording of this version");
    out->head.exe[sizeof(out->head.exe) - 1] = '\0';
    out->blocks = HD_MIN(out->head.blocks, (size_B - PROF_HEAD_B) / PROF_BLOCK_B);
    enum hd_status status = read_names(out);
    if (status != HD_OK)
        hd_vec_fini(&out->names);
    return status;
}

enum hd_status prof_reader_open(const char *path, struct prof_reader *out)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0)
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED)
        return hd_error(HD_IO, "%s: %s", path, fd < 0 ? strerror(error) : "it cannot be read");
    enum hd_status status = prof_reader_init(map, (size_t)info.st_size, out);
    if (status != HD_OK)
        (void)munmap(map, (size_t)info.st_size);
    out->is_mapped = status == HD_OK;
    return status == HD_CORRUPT ? hd_error(HD_CORRUPT, "%s: %s", path, hd_error_message()) : status;
}

void prof_reader_close(struct prof_reader *reader)
{
    hd_vec_fini(&reader->names);
    if (reader->is_mapped)
        (void)munmap((void *)reader->bytes, reader->size_B);
    *reader = (struct prof_reader){0};
}
