/* See words.h. */
#include "base/text/words.h"

#include <string.h>

#define BLANKS " \t\r\n"

bool hd_word_next(const char **at, struct hd_buf *out_word)
{
    const char *from = *at + strspn(*at, BLANKS);
    char quote = 0;

    *at = from;
    if (!*from)
        return false;
    for (; *from && (quote || !strchr(BLANKS, *from)); from++) {
        if (quote ? *from == quote : (*from == '"' || *from == '\'')) {
            quote = quote ? 0 : *from;
            continue;
        }
        if (*from == '\\' && quote != '\'' && from[1])
            from++;
        hd_buf_putc(out_word, *from);
    }
    hd_buf_puts(out_word, ""); /* "" is a word, too */
    *at = from;
    return true;
}
