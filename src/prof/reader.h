/*
 * Reading a spool (format.h), also of a process that still runs or that was killed. What a file
 * says of itself is checked here: a record that comes out has the size of its type, its block the
 * size of a block, and a name that does not exist is "".
 *
 * Threads: one at a time for each reader.
 */
#ifndef HD_PROF_READER_H
#define HD_PROF_READER_H

#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include "prof/format.h"

struct prof_reader {
    const uint8_t *bytes;
    size_t size_B;
    bool is_mapped;        /* to be given back */
    struct prof_head head; /* exe ends with 0 */
    uint64_t blocks;       /* that are in the file */
    uint64_t damaged;      /* blocks whose rest was skipped */
    HD_VEC(struct hd_str) names;
};

/* HD_IO; HD_CORRUPT: it is no spool; HD_NO_MEMORY. */
enum hd_status prof_reader_open(const char *path, struct prof_reader *out) HD_MUST_CHECK;
/* The same of memory, which stays the caller's. */
enum hd_status prof_reader_init(const void *bytes, size_t size_B, struct prof_reader *out)
    HD_MUST_CHECK;
void prof_reader_close(struct prof_reader *reader);

/* Without 0 at its end. */
struct hd_str prof_reader_name(const struct prof_reader *reader, uint32_t name);

/* Starts as {0}. Records of a thread come in the order in which it made them. */
struct prof_cursor {
    uint64_t block;
    uint32_t at_B;
    uint32_t end_B;
    uint32_t thread; /* of the last record */
};
/* NULL at the end. */
const struct prof_record *prof_reader_next(struct prof_reader *reader, struct prof_cursor *cursor);

#endif
