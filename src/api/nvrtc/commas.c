/*
 * NVIDIA's front end takes a list of template arguments that ends with a comma, `extents<int,>`;
 * clang does not. Such commas are taken out where clang complains, and nowhere else: elsewhere
 * (strings, `operator,`, arguments of macros) the same two signs are right.
 */
#include "api/nvrtc/program.h"

#include <ctype.h>

#define REFUSED "): error: expected expression"

/* Blanks the comma before the `>` at `at`, if there is nothing but blanks between them. */
static bool blank_before(const char *begin, char *at)
{
    if (*at != '>')
        return false;
    while (at > begin && isspace((unsigned char)at[-1]))
        at--;
    if (at == begin || at[-1] != ',')
        return false;
    at[-1] = ' ';
    return true;
}

/* The place of a line and a column, both counted from 1. */
static char *place_find(char *text, unsigned long line, unsigned long column)
{
    while (text && --line)
        text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    return text && column - 1 <= strcspn(text, "\n") ? text + column - 1 : NULL;
}

/* Where in the file `name` an expression was expected; NULL: the message says no such thing. */
static char *refused_place(char *source, const char *name, const char *message)
{
    size_t len = strlen(name);
    unsigned long line, column;
    char *end;

    if (strncmp(message, name, len) != 0 || message[len] != '(')
        return NULL;
    line = strtoul(message + len + 1, &end, 10);
    if (*end != ',')
        return NULL;
    column = strtoul(end + 1, &end, 10);
    return line && column && !strncmp(end, REFUSED, strlen(REFUSED))
               ? place_find(source, line, column)
               : NULL;
}

bool rtc_commas_drop(char *source, const char *name, const struct hd_buf *log)
{
    bool changed = false;

    for (const char *message = log->ptr; message; message = strchr(message, '\n')) {
        message += *message == '\n';
        char *at = refused_place(source, name, message);

        if (at)
            changed |= blank_before(source, at);
    }
    return changed;
}
