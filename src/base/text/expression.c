#include "base/text/expression.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NODES_MAX  20000u
#define WALKS_MAX  4000000u
#define GROUPS_MAX 64u

/*
 * What the C library has of an expression. It walks, from each node, all ways that lead on without
 * a character, and below a "*" walks them again from every node: "((a*|b*)(a*|b*)...)*" of n pairs
 * has 2^n of them. What follows an anchor it copies, once for each way.
 */
struct walk {
    uint64_t visited; /* nodes, by all ways */
    uint64_t through; /* ways that reach the end */
};
struct weight {
    uint64_t nodes, anchors;
    struct walk start, within; /* from its beginning; from wherever inside most comes */
};

/* A group that is open: the branches that are complete, what is read of the next, its last part. */
struct group {
    struct weight branches, before, last;
};

static const struct weight none = {0, 0, {0, 0}, {0, 0}}, nothing = {0, 0, {0, 1}, {0, 1}},
                           character = {1, 0, {1, 0}, {1, 1}}, anchor = {1, 1, {1, 1}, {1, 1}};

static uint64_t limit(uint64_t n)
{
    return n < WALKS_MAX ? n : WALKS_MAX;
}

static struct walk on(struct walk a, struct walk b)
{
    return (struct walk){limit(a.visited + a.through * b.visited), limit(a.through * b.through)};
}

static struct walk most(struct walk a, struct walk b)
{
    return (struct walk){a.visited > b.visited ? a.visited : b.visited,
                         a.through > b.through ? a.through : b.through};
}

static struct weight after(struct weight a, struct weight b)
{
    return (struct weight){limit(a.nodes + b.nodes), limit(a.anchors + b.anchors),
                           on(a.start, b.start), most(on(a.within, b.start), b.within)};
}

static struct weight either(struct weight a, struct weight b)
{
    const struct walk start = {limit(a.start.visited + b.start.visited + 1),
                               limit(a.start.through + b.start.through)};

    return (struct weight){limit(a.nodes + b.nodes + 1), limit(a.anchors + b.anchors), start,
                           most(start, most(a.within, b.within))};
}

static struct weight branches_of(const struct group *g)
{
    return either(g->branches, after(g->before, g->last));
}

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

static uint32_t number_of(const char **at)
{
    uint32_t n = 0;

    for (; **at >= '0' && **at <= '9'; ++*at) {
        n = n * 10 + (uint32_t)(**at - '0');
        n = n < NODES_MAX ? n : NODES_MAX;
    }
    return n;
}

/* w, repeated as the character at *at says; *at goes behind that. */
static struct weight repeated(struct weight w, const char **at)
{
    /*
     * The node of a "*" leads on, and into what it repeats, whose end leads back; behind an anchor
     * it leads on once more for each way back.
     */
    const struct walk node = {w.start.visited + w.start.through + 1, w.start.through + 1};
    const struct weight star = {w.nodes + 1, w.anchors, node, most(node, on(w.within, node))};
    struct weight all = nothing;
    bool endless = false;
    uint32_t from, to;

    switch (*(*at)++) {
    case '?':
        return either(w, nothing);
    case '*':
        return star;
    case '+':
        return after(w, star);
    default:
        from = to = number_of(at);
        if (**at == ',') {
            ++*at;
            endless = **at == '}';
            to = number_of(at);
        }
        *at += **at == '}' ? 1 : 0;
        for (uint32_t i = from; i < to; i++) /* "(a(a)?)?" */
            all = either(after(w, all), nothing);
        for (uint32_t i = 0; i < from; i++)
            all = after(w, all);
        all.nodes += to ? 0 : w.nodes; /* dropped when it has been made */
        return endless ? after(all, star) : all;
    }
}

static bool is_small(const char *text)
{
    struct group groups[GROUPS_MAX + 1] = {{none, nothing, nothing}}, *g = groups;

    while (*text) {
        struct weight part = character;

        switch (*text) {
        case '?':
        case '*':
        case '+':
        case '{':
            g->last = repeated(g->last, &text);
            if (g->last.nodes > NODES_MAX)
                return false;
            continue;
        case '|':
            *g = (struct group){branches_of(g), nothing, nothing};
            text++;
            continue;
        case '(':
            if (g == &groups[GROUPS_MAX])
                return false;
            *++g = (struct group){none, nothing, nothing};
            text++;
            continue;
        case ')':
            if (g > groups)
                part = branches_of(g--);
            break;
        case '^':
        case '$':
            part = anchor;
            break;
        case '\\':
            if (text[1] && strchr("bB<>`'", text[1]))
                part = anchor;
            break;
        default:
            break;
        }
        g->before = after(g->before, g->last);
        g->last = part;
        text = *text == '[' ? skip_brackets(text) : text + (*text == '\\' && text[1] ? 2 : 1);
    }
    for (; g > groups; g--) { /* an error is found when all else has been made */
        g[-1].before = after(g[-1].before, g[-1].last);
        g[-1].last = branches_of(g);
    }
    const struct weight all = branches_of(g);
    const uint64_t nodes = all.nodes + all.anchors * all.within.visited;
    return nodes <= NODES_MAX && nodes * all.within.visited <= WALKS_MAX;
}

int hd_regex_compile(regex_t *out, const char *text)
{
    return is_small(text) ? regcomp(out, text, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
}
