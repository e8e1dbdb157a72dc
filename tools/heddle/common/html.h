/* Text and source lines in pages of HTML. */
#ifndef HEDDLE_TOOLS_HTML_H
#define HEDDLE_TOOLS_HTML_H

#include "base/str.h"

/* What stands for a character in text and in attributes; NULL: itself. */
static inline const char *html_stands_for(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Text of a program: nothing of it is a tag. */
void html_put(struct hd_buf *out, const char *text);

/* A line that is shown, and what is said beside it; "" is nothing. */
struct html_mark {
    uint32_t line;
    const char *label;
};
/* The lines around the marks, which are marked. False, and nothing: there is no such text file. */
bool html_put_source(struct hd_buf *out, const char *path, const struct html_mark *marks, size_t n);

#endif
