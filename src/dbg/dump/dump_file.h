/*
 * The file of a core dump: ELF, ET_CORE, EM_CUDA. Whoever reads it trusts nothing.
 *
 *     PT_LOAD ...   memory, by the addresses that it had: blocks of devices, shared and local
 *                   windows of the blocks that ran. What was left out is not there.
 *     PT_NOTE       notes of the owner "Heddle", in this order:
 *       PROCESS     u32 format, text version, u64 time_s, u32 pid, text program, u32 flags,
 *                   u32 exception, u32 signal, text what, u32 block, u32 thread of it
 *                   (block DUMP_NOBODY: nothing failed, somebody asked for the dump)
 *       PROGRAM     u32 n, n times: text name, text PTX;
 *                   u32 n, n times: text variable, u64 address, u32 is it managed
 *       LAUNCH      u32 program, text kernel, u64 grid, 3 u32 grid, 3 u32 block, 3 u32 cluster,
 *                   u32 dynamic_shared_B, u64 local_B, u32 nsms, text parameters
 *       BLOCK       u32 launch, 3 u32 index, u32 sm, u64 address and u64 size of its shared window,
 *                   then each thread: u32 state, u64 address of its local window, text returned,
 *                   u32 n, n frames, outermost first: text function, u32 line, u32 column,
 *                   u64 local_base, u32 n, n times: u32 register, 2 u64 value
 *
 * Numbers are little-endian, a text is u32 length and bytes. Programs, launches and blocks are
 * named by their number in the file.
 */
#ifndef HD_DBG_DUMP_DUMP_FILE_H
#define HD_DBG_DUMP_DUMP_FILE_H

#include <assert.h>
#include <elf.h>

#include "base/str.h"

enum { DUMP_FORMAT = 2 };
#define DUMP_OWNER   "Heddle"
#define DUMP_NOBODY  UINT32_MAX
#define DUMP_MACHINE 190 /* EM_CUDA */

enum dump_note { DUMP_NOTE_PROCESS = 1, DUMP_NOTE_PROGRAM, DUMP_NOTE_LAUNCH, DUMP_NOTE_BLOCK };

/* ---- writing: a note grows in a buffer, which says in the end whether memory was short */

static inline void dump_put_u32(struct hd_buf *out, uint32_t value)
{
    hd_buf_append(out, &value, sizeof(value));
}
static inline void dump_put_u64(struct hd_buf *out, uint64_t value)
{
    hd_buf_append(out, &value, sizeof(value));
}
static inline void dump_put_bytes(struct hd_buf *out, const void *bytes, size_t len)
{
    dump_put_u32(out, (uint32_t)len);
    hd_buf_append(out, bytes, len);
}
static inline void dump_put_text(struct hd_buf *out, const char *text)
{
    dump_put_bytes(out, text, strlen(text));
}
static inline void dump_put_triple(struct hd_buf *out, const uint32_t n[3])
{
    for (int i = 0; i < 3; i++)
        dump_put_u32(out, n[i]);
}

/* ---- reading: what is not there is 0 or empty, and sticks as `failed` */

struct dump_in {
    const char *at, *end;
    bool failed;
};

static inline void dump_get(struct dump_in *in, void *out, size_t size_B)
{
    assert(in->at <= in->end);
    in->failed = in->failed || (size_t)(in->end - in->at) < size_B;
    memset(out, 0, size_B);
    if (in->failed)
        return;
    memcpy(out, in->at, size_B);
    in->at += size_B;
}
static inline uint32_t dump_get_u32(struct dump_in *in)
{
    uint32_t value;

    dump_get(in, &value, sizeof(value));
    return value;
}
static inline uint64_t dump_get_u64(struct dump_in *in)
{
    uint64_t value;

    dump_get(in, &value, sizeof(value));
    return value;
}
/* Points into the note. */
static inline struct hd_str dump_get_text(struct dump_in *in)
{
    struct hd_str text = {in->at, dump_get_u32(in)};

    in->failed = in->failed || (size_t)(in->end - in->at) < text.len;
    text.ptr = in->at;
    if (in->failed)
        text.len = 0;
    in->at += text.len;
    return text;
}
static inline void dump_get_triple(struct dump_in *in, uint32_t out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = dump_get_u32(in);
}

/* ---- the file as a whole: dump_file.c */

struct dump_segment {
    uint64_t va, size_B;
    const char *bytes; /* in the file */
};

struct dump_file {
    const char *bytes;
    size_t size_B;
    struct dump_segment *segments; /* by address, apart from each other */
    size_t nsegments;
    struct dump_in notes;
};

/*
 * HD_CORRUPT (it is damaged or cut off), HD_BAD_IMAGE (it is no core dump of Heddle's),
 * HD_NO_MEMORY. The bytes stay the caller's, and must stay.
 */
enum hd_status dump_file_open(const char *bytes, size_t size_B, struct dump_file *out_file)
    HD_MUST_CHECK;
void dump_file_close(struct dump_file *file);
/* The next note; false: there is none, or it is damaged: then `notes.failed`. */
bool dump_file_note(struct dump_file *file, uint32_t *out_type, struct dump_in *out_body);
/* Where bytes from this address on are, and how many; NULL: they are not in the file. */
const char *dump_file_at(const struct dump_file *file, uint64_t va, uint64_t *out_left_B);

#endif
