/*
 * Writing JSON: --json of the tool, records of the checker. Keys are NULL inside arrays. The caller
 * keeps opens and closes balanced; text is escaped, bytes that are not UTF-8 become U+FFFD.
 *
 *     struct hd_json j;
 *     hd_json_init(&j);
 *     hd_json_open(&j, NULL, '{');
 *     hd_json_str(&j, "name", "heddle");
 *     hd_json_close(&j, '}');
 *     hd_json_print(&j);
 */
#ifndef HD_BASE_TEXT_JSON_H
#define HD_BASE_TEXT_JSON_H

#include "base/str.h"

struct hd_json {
    struct hd_buf buf;
    unsigned depth;
    bool comma;   /* a value precedes at this depth */
    bool on_line; /* set after hd_json_init(): everything on one line */
};

void hd_json_init(struct hd_json *j);
void hd_json_open(struct hd_json *j, const char *key, char bracket);
void hd_json_close(struct hd_json *j, char bracket);
void hd_json_str(struct hd_json *j, const char *key, const char *value); /* NULL gives null */
void hd_json_view(struct hd_json *j, const char *key, struct hd_str value);
void hd_json_u64(struct hd_json *j, const char *key, uint64_t value);
/* An array of three numbers: x, y, z. */
void hd_json_index(struct hd_json *j, const char *key, const uint32_t at[3]);
void hd_json_i64(struct hd_json *j, const char *key, int64_t value);
/* The shortest that reads back as the same; NaN and infinities are null. */
void hd_json_double(struct hd_json *j, const char *key, double value);
/* A text "0x7f00": numbers of 64 bits are not exact in every reader. */
void hd_json_hex(struct hd_json *j, const char *key, uint64_t value);
void hd_json_bool(struct hd_json *j, const char *key, bool value);
/* Length of the UTF-8 sequence at `at`, 0 when it is malformed. */
size_t hd_utf8_len(const unsigned char *at, size_t left);
/* Writes everything and a line feed to stdout and frees it; false when memory or stdout failed. */
bool hd_json_print(struct hd_json *j);

#endif
