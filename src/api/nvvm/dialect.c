/*
 * NVVM IR of architectures before compute_100 is LLVM 7's: pointers have types ("i8*"), which
 * LLVM 19 does not read as text. Outside of names, strings and comments, '*' stands in types
 * only, behind what it points to: that is found backwards and replaced by "ptr". Everything else
 * of the old dialect that clients write, LLVM reads and mends itself.
 */
#include "api/nvvm/program.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static size_t skip_blanks(const char *text, size_t at)
{
    while (at && isspace((unsigned char)text[at - 1]))
        at--;
    return at;
}

/* The quote that opens the string which ends before `at`. Strings have no quotes inside (\22). */
static size_t skip_string(const char *text, size_t at)
{
    for (at--; at && text[at - 1] != '"';)
        at--;
    return at ? at - 1 : 0;
}

/* The bracket that opens the group which ends before `at`. */
static size_t skip_group(const char *text, size_t at)
{
    size_t depth = 0;

    while (at) {
        char c = text[at - 1];

        if (c == '"') {
            at = skip_string(text, at);
            continue;
        }
        at--;
        if (strchr(")]}>", c))
            depth++;
        else if (strchr("([{<", c) && --depth == 0)
            break;
    }
    return at;
}

/* Where the type begins that ends before `at`: a name, a group, or a function's. */
static size_t skip_type(const char *text, size_t at)
{
    at = skip_blanks(text, at);
    while (at && text[at - 1] == ')') /* parameters: the result is in front of them */
        at = skip_blanks(text, skip_group(text, at));
    if (!at)
        return 0;
    if (strchr("]}>", text[at - 1]))
        return skip_group(text, at);
    if (text[at - 1] == '"')
        at = skip_string(text, at);
    else
        while (at && (isalnum((unsigned char)text[at - 1]) || strchr("._$-", text[at - 1])))
            at--;
    return at && text[at - 1] == '%' ? at - 1 : at;
}

/* "addrspace(3)" that ends before `at` in front of a '*': where it begins; `at` when there is none. */
static size_t skip_space(const char *text, size_t at)
{
    static const char word[] = "addrspace";
    size_t end = skip_blanks(text, at), from;

    if (!end || text[end - 1] != ')')
        return at;
    from = skip_group(text, end);
    if (from < strlen(word) || strncmp(text + from - strlen(word), word, strlen(word)) != 0)
        return at;
    return from - strlen(word);
}

/* The output ends with a type, perhaps with its space: it becomes a pointer. */
static void to_pointer(struct hd_buf *out)
{
    size_t end = skip_blanks(out->ptr, out->len), space = skip_space(out->ptr, end);
    size_t from = skip_type(out->ptr, space);
    char of_space[32] = "";

    if (space < end)
        (void)snprintf(of_space, sizeof(of_space), " %.*s", (int)HD_MIN(end - space, 24u),
                       out->ptr + space);
    out->len = from;
    out->ptr[from] = '\0';
    hd_buf_printf(out, "ptr%s", of_space);
}

/* How long the string or comment is that begins here; 0: none does. */
static size_t opaque_len(const char *text, size_t len)
{
    const char *end = NULL;

    if (*text != '"' && *text != ';')
        return 0;
    if (len > 1)
        end = memchr(text + 1, *text == '"' ? '"' : '\n', len - 1);
    return end ? (size_t)(end - text) + 1 : len;
}

/* The target of NVVM IR has a name and a layout of its own, which clang's target knows itself. */
static bool is_target_line(const char *line, size_t len)
{
    static const char *const words[] = {"target triple", "target datalayout"};

    while (len && (*line == ' ' || *line == '\t'))
        line++, len--;
    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        if (len > strlen(words[i]) && !strncmp(line, words[i], strlen(words[i])))
            return true;
    return false;
}

static void convert_line(const char *line, size_t len, struct hd_buf *out)
{
    while (len && !out->failed) {
        size_t n = opaque_len(line, len);

        if (n || *line != '*')
            hd_buf_append(out, line, n = n ? n : 1);
        else if (n = 1, out->len)
            to_pointer(out);
        line += n;
        len -= n;
    }
}

/* Behind the string that begins at or after `at`; NULL: there is none. */
static const char *string_end(const char *at)
{
    const char *begin = at ? strchr(at, '"') : NULL;
    const char *end = begin ? strchr(begin + 1, '"') : NULL;

    return end ? end + 1 : NULL;
}

/* Behind the bracket that closes the one here; NULL: it stays open, or there is none. */
static const char *group_end(const char *at)
{
    size_t depth = 0;

    if (!at || *at != '(')
        return NULL;
    for (; *at; at++) {
        depth += *at == '(';
        depth -= *at == ')';
        if (!depth)
            return at + 1;
    }
    return NULL;
}

/*
 * libNVVM moves no assembly to where other threads of the warp execute it; LLVM would, unless the
 * call says "convergent": which threads are active is asked in assembly, for one.
 */
static void mark_assembly(struct hd_buf *out, size_t line)
{
    const char *word = out->failed || line == out->len ? NULL : strstr(out->ptr + line, " asm ");
    const char *end = group_end(string_end(string_end(word)));
    char *rest = end ? strdup(end) : NULL;

    if (!rest)
        return;
    out->len = (size_t)(end - out->ptr);
    hd_buf_puts(out, " convergent");
    hd_buf_puts(out, rest);
    free(rest);
}

void nv_dialect_convert(const char *text, size_t len, struct hd_buf *out)
{
    while (len && !out->failed) {
        const char *end = memchr(text, '\n', len);
        size_t n = end ? (size_t)(end - text) + 1 : len, line = out->len;

        if (is_target_line(text, n))
            hd_buf_putc(out, '\n'); /* messages count lines */
        else
            convert_line(text, n, out);
        mark_assembly(out, line);
        text += n;
        len -= n;
    }
}

bool nv_is_bitcode(const char *bytes, size_t len)
{
    return len >= 4 && (!memcmp(bytes, "BC\xc0\xde", 4) || !memcmp(bytes, "\xde\xc0\x17\x0b", 4));
}
