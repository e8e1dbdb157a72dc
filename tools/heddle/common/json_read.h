/*
 * Reading JSON (RFC 8259) into a tree that lives in an arena. Strict: what the grammar does not
 * have is an error with its column. Numbers that are no integers of 64 bits are refused, because
 * nothing here writes them. Nesting is limited, so any input is read in bounded stack.
 *
 *     HD_TRY(json_read(&arena, text, len, &root));
 *     const char *title = json_text(json_get(root, "title"), "");
 */
#ifndef HEDDLE_TOOLS_JSON_READ_H
#define HEDDLE_TOOLS_JSON_READ_H

#include "base/arena.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    bool is;          /* BOOL; NUMBER: it is negative */
    uint64_t number;  /* NUMBER: its bits, of two's complement */
    const char *text; /* TEXT, NUL-terminated; may hold no NUL itself */
    const char *key;  /* of a member */
    size_t len;       /* ARRAY, OBJECT */
    struct json_value *first, *next;
};

/* HD_CORRUPT with the column of the text; HD_NO_MEMORY. Text behind the value is an error. */
enum hd_status json_read(struct hd_arena *arena, const char *text, size_t len,
                         const struct json_value **out) HD_MUST_CHECK;

/* All take NULL for `value`, which stands for what is not there. */
const struct json_value *json_get(const struct json_value *value, const char *key);
const char *json_text(const struct json_value *value, const char *otherwise);
/* A number that is not negative, or a text "0x..". */
uint64_t json_number(const struct json_value *value, uint64_t otherwise);
int64_t json_signed(const struct json_value *value, int64_t otherwise);
#define json_foreach(it, value_)                                                                   \
    for (const struct json_value *it = (value_) ? (value_)->first : NULL; it; it = it->next)

#endif
