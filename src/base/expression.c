#include "base/expression.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NODES_MAX  20000u
#define GROUPS_MAX 64u

/* Nodes that the compiled form needs: of each open group, and of the last thing in it. */
struct weight {
    uint32_t sum, last;
};

/* Behind the bracket expression that begins there. */
static const char *skip_brackets(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    if (*at == ']')
        at++;
    while (*at && *at != ']') {
        const char kind = at[1];
        if (*at == '[' && kind && strchr(":.=", kind)) {
            for (at += 2; *at && (at[0] != kind || at[1] != ']'); at++)
                ;
            at += *at ? 1 : 0;
        }
        at += *at ? 1 : 0;
    }
    return at + (*at ? 1 : 0);
}

/* How often "+", or "{m,n}", at *at copies what it repeats; *at goes behind it. */
static uint32_t copies_of(const char **at)
{
    uint32_t most = 2, n = 0;

    if (*(*at)++ == '+')
        return most;
    for (; **at && **at != '}'; ++*at) {
        n = **at >= '0' && **at <= '9' ? n * 10 + (uint32_t)(**at - '0') : 0;
        n = n < NODES_MAX ? n : NODES_MAX;
        most = n > most ? n : most;
    }
    *at += **at ? 1 : 0;
    return most;
}

static bool repeat(struct weight *w, uint32_t copies)
{
    w->sum += w->last * (copies - 1);
    w->last *= copies;
    return w->sum <= NODES_MAX;
}

static bool is_small(const char *text)
{
    struct weight groups[GROUPS_MAX + 1] = {{0, 0}}, *w = groups;

    while (*text) {
        if (*text == '+' || *text == '{') {
            if (!repeat(w, copies_of(&text)))
                return false;
            continue;
        }
        if (*text == '(') {
            if (w == &groups[GROUPS_MAX])
                return false;
            *++w = (struct weight){0, 0};
            text++;
            continue;
        }
        uint32_t node = 1;
        if (*text == ')' && w > groups)
            node += (w--)->sum;
        w->sum += node;
        w->last = node;
        if (w->sum > NODES_MAX)
            return false;
        text = *text == '[' ? skip_brackets(text) : text + (*text == '\\' && text[1] ? 2 : 1);
    }
    return true;
}

int hd_regex_compile(regex_t *out, const char *text)
{
    return is_small(text) ? regcomp(out, text, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
}
