/*
 * -ftz=1: LLVM flushes the subnormal numbers of a function that has an attribute for it, which is
 * put behind the parameters of each definition. All functions need it, those of lazy modules too:
 * LLVM inlines none into one that computes otherwise.
 */
#include <string.h>

#include "api/nvvm/program.h"
#include "base/compiler.h"

#define ATTRIBUTE " \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\""

/* How long the group is that begins with this bracket, at most len. */
static size_t group_len(const char *text, size_t len)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && text[i] == '(')
            depth++;
        else if (!quoted && text[i] == ')' && --depth == 0)
            return i + 1;
    }
    return len;
}

/* The parameters' bracket: the first behind the function's name; len: there is none. */
static size_t find_parameters(const char *line, size_t len)
{
    bool quoted = false, named = false;

    for (size_t i = 0; i < len; i++) {
        if (line[i] == '"')
            quoted = !quoted;
        else if (!quoted && line[i] == '@')
            named = true;
        else if (!quoted && named && line[i] == '(')
            return i;
    }
    return len;
}

/* Words that have to stand in front of attributes. */
static size_t skip_words(const char *text, size_t len)
{
    static const char *const words[] = {" unnamed_addr", " local_unnamed_addr"};

    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        if (len > strlen(words[i]) && !strncmp(text, words[i], strlen(words[i])))
            return strlen(words[i]);
    return 0;
}

static void put_line(const char *line, size_t len, struct hd_buf *out)
{
    static const char word[] = "define ";
    size_t at = len;

    if (len > strlen(word) && !strncmp(line, word, strlen(word)))
        at = find_parameters(line, len);
    if (at < len) {
        at += group_len(line + at, len - at);
        at += skip_words(line + at, len - at);
        hd_buf_append(out, line, at);
        hd_buf_puts(out, ATTRIBUTE);
        line += at;
        len -= at;
    }
    hd_buf_append(out, line, len);
}

void nv_flush_mark(const char *text, size_t len, struct hd_buf *out)
{
    while (len && !out->failed) {
        const char *end = memchr(text, '\n', len);
        size_t n = end ? (size_t)(end - text) + 1 : len;

        put_line(text, n, out);
        text += n;
        len -= n;
    }
}
