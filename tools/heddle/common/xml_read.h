/*
 * Reading the XML of suppressions: elements with text or elements in them, comments, a declaration
 * at the top, the five named entities and numbered ones, CDATA. Attributes, other declarations and
 * processing instructions are refused, as is text beside elements. Errors name the line. Nesting
 * and size are limited, so any bytes are read in bounded time and stack.
 */
#ifndef HEDDLE_TOOLS_XML_READ_H
#define HEDDLE_TOOLS_XML_READ_H

#include "base/arena.h"

struct xml_node {
    const char *name;
    const char *text; /* without blanks at its ends; "" for one with elements */
    unsigned line;
    struct xml_node *first, *next;
};

enum { XML_TEXT_MAX_B = 16 << 20 };

/* The root element, of the arena. HD_CORRUPT: "NAME:LINE: what is wrong"; HD_NO_MEMORY. */
enum hd_status xml_read(struct hd_arena *arena, const char *text, size_t len, const char *name,
                        const struct xml_node **out) HD_MUST_CHECK;

#define xml_foreach(it, node) for (const struct xml_node *it = (node)->first; it; it = it->next)

#endif
