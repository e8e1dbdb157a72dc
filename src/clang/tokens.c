/* Tokens of preprocessed C++, as far as scanners of it need them. */
#include "clang/tokens.h"

#include <ctype.h>
#include <string.h>

bool clang_is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *behind_quoted(const char *at, char quote)
{
    while (*at && *at != quote && *at != '\n')
        at += at[0] == '\\' && at[1] ? 2 : 1;
    return at + (*at == quote);
}

/* Behind R"mark( ... )mark"; `at` is the quote. */
static const char *behind_raw(const char *at)
{
    char end[20];
    size_t mark = strcspn(at + 1, "(\"\n");

    if (at[1 + mark] != '(' || mark + 3 > sizeof(end))
        return behind_quoted(at + 1, '"');
    end[0] = ')';
    memcpy(end + 1, at + 1, mark);
    end[1 + mark] = '"';
    end[2 + mark] = '\0';
    const char *found = strstr(at, end);
    return found ? found + strlen(end) : at + strlen(at);
}

static const char *behind_name(const char *at)
{
    const char *end = at;

    while (clang_is_of_name(*end))
        end++;
    if (*end == '"' && end[-1] == 'R')
        return behind_raw(end);
    return end;
}

/* 1'000'000, 1e+3 is three tokens, which nobody minds. */
static const char *behind_number(const char *at)
{
    while (clang_is_of_name(*at) || *at == '.' || (*at == '\'' && clang_is_of_name(at[1])))
        at++;
    return at;
}

const char *clang_behind_token(const char *at, const char *text)
{
    if (isdigit((unsigned char)*at))
        return behind_number(at);
    if (clang_is_of_name(*at))
        return behind_name(at);
    if (*at == '"' || *at == '\'')
        return behind_quoted(at + 1, *at);
    if (*at == '#' && (at == text || at[-1] == '\n'))
        return at + strcspn(at, "\n");
    return at + 1;
}

const char *clang_skip_blanks(const char *at)
{
    return at + strspn(at, " \t\n");
}

const char *clang_back_over_blanks(const char *at, const char *text)
{
    while (at > text && strchr(" \t\n", at[-1]))
        at--;
    return at;
}

bool clang_ends_with(const char *at, const char *text, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(at - text) >= len && !memcmp(at - len, word, len);
}

const char *clang_find_outside(const char *at, const char *text, const char *what)
{
    for (unsigned depth = 0; *at; at = clang_behind_token(at, text)) {
        if (!depth && !strncmp(at, what, strlen(what)))
            return at;
        if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at) && !depth--)
            return NULL;
    }
    return NULL;
}
