/* Text in pages of HTML. */
#ifndef HEDDLE_TOOLS_HTML_H
#define HEDDLE_TOOLS_HTML_H

#include <stddef.h>

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

#endif
