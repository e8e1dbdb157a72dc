/*
 * String views and a growing string buffer.
 *
 * A view borrows; it is not NUL-terminated. Print one with "%.*s", HD_STR_ARG(view).
 */
#ifndef HD_BASE_STR_H
#define HD_BASE_STR_H

#include "base/status.h"

struct hd_str {
    const char *ptr;
    size_t len;
};

#define HD_STR(literal)  ((struct hd_str){(literal), sizeof(literal) - 1})
#define HD_STR_ARG(view) (int)(view).len, (view).ptr

struct hd_str hd_str_from(const char *text); /* NULL gives an empty view */
bool hd_str_eq(struct hd_str a, struct hd_str b);
bool hd_str_is(struct hd_str a, const char *text);
bool hd_str_starts(struct hd_str a, const char *prefix);
/* Edits that make one of the other: letters put in, removed, replaced, or swapped with the next.
 * `b` has at most HD_STR_DISTANCE_MAX_B bytes. */
#define HD_STR_DISTANCE_MAX_B 64
unsigned hd_str_distance(struct hd_str a, const char *b);
/* Takes what stands before the separator, and the separator; or all of it. */
struct hd_str hd_str_take(struct hd_str *text, char separator);
bool hd_str_lists(struct hd_str list, const char *name); /* is it between the list's commas? */
/* Parses a whole view as an unsigned number; base 0 accepts 0x, 0b and octal. False otherwise. */
bool hd_str_to_u64(struct hd_str text, unsigned base, uint64_t *out_value);

/*
 * Growing text buffer. Errors stick: after a failed allocation further appends do nothing and
 * hd_buf_take() returns NULL. `ptr` is always NUL-terminated once non-NULL.
 */
struct hd_buf {
    char *ptr;
    size_t len;
    size_t cap;
    bool failed;
};

void hd_buf_init(struct hd_buf *buf);
void hd_buf_fini(struct hd_buf *buf);
void hd_buf_clear(struct hd_buf *buf);
void hd_buf_append(struct hd_buf *buf, const void *bytes, size_t len);
void hd_buf_puts(struct hd_buf *buf, const char *text);
void hd_buf_putc(struct hd_buf *buf, char c);
void hd_buf_printf(struct hd_buf *buf, const char *fmt, ...) HD_PRINTF(2, 3);
/* The numbers of the bits that are set: "0-2, 5". */
void hd_buf_bits(struct hd_buf *buf, uint32_t bits);
/* Hands the malloc'ed text to the caller and empties the buffer; NULL when an append failed. */
char *hd_buf_take(struct hd_buf *buf);

/*
 * Copies text into a place that may be too small for it. Then the middle is left out: a message
 * says at its end what happened, after names that may be of any length.
 */
void hd_text_fit(char *out, size_t out_B, const char *text);

/* 8-4-4-4-12 digits. */
#define HD_UUID_TEXT_B 37
void hd_uuid_text(const uint8_t uuid[16], char out_text[HD_UUID_TEXT_B]);

/* Reads a whole file of up to max_B bytes. HD_NOT_FOUND, HD_IO, HD_NO_MEMORY. */
enum hd_status hd_file_read(const char *path, size_t max_B, struct hd_buf *out_buf) HD_MUST_CHECK;
/* The same of what ourselves keep (configuration, reports): HD_IO for a FIFO, device or folder that
 * somebody put in its place; never waits. */
enum hd_status hd_file_read_kept(const char *path, size_t max_B, struct hd_buf *out_buf)
    HD_MUST_CHECK;
/* Writes atomically: a temporary file in the same directory, then rename. */
enum hd_status hd_file_write(const char *path, const void *bytes, size_t len) HD_MUST_CHECK;
/*
 * Processes that read a file, change what it says and write it whole take turns: the file's folder
 * is locked until hd_file_turn_end(). HD_IO, HD_NO_MEMORY.
 */
enum hd_status hd_file_turn_begin(const char *path, int *out_turn) HD_MUST_CHECK;
void hd_file_turn_end(int turn);

#endif
