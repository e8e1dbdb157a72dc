/* The text of IR, by lines: what changes it between clang's two runs. */
#ifndef HD_CLANG_IR_TEXT_H
#define HD_CLANG_IR_TEXT_H

#include <string.h>

#include "base/str.h"

/* Where `what` is in a line; NULL: it is not. */
static inline const char *ir_find(struct hd_str line, const char *what)
{
    return line.len ? memmem(line.ptr, line.len, what, strlen(what)) : NULL;
}

static inline struct hd_str ir_line_at(const char *text)
{
    return (struct hd_str){text, strcspn(text, "\n")};
}

static inline const char *ir_next_line(const char *text)
{
    text += strcspn(text, "\n");
    return text + (*text == '\n');
}

#endif
