/*
 * Writing JSON, for every subcommand's --json. Keys are NULL inside arrays. The caller keeps opens
 * and closes balanced; text is escaped, bytes that are not UTF-8 become U+FFFD.
 *
 *     struct json j;
 *     json_init(&j);
 *     json_open(&j, NULL, '{');
 *     json_str(&j, "name", "heddle");
 *     json_close(&j, '}');
 *     json_print(&j);
 */
#ifndef HEDDLE_TOOLS_JSON_H
#define HEDDLE_TOOLS_JSON_H

#include "base/str.h"

struct json {
    struct hd_buf buf;
    unsigned depth;
    bool comma; /* a value precedes at this depth */
};

void json_init(struct json *j);
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_str(struct json *j, const char *key, const char *value); /* NULL gives null */
void json_view(struct json *j, const char *key, struct hd_str value);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
/* Writes everything and a line feed to stdout and frees it; false when memory or stdout failed. */
bool json_print(struct json *j);

#endif
