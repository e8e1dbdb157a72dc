/* See xml_read.h. */
#include "common/xml_read.h"

#include <assert.h>
#include <string.h>

enum { DEPTH_MAX = 16, NAME_MAX_B = 64 };

struct reader {
    struct hd_arena *arena;
    const char *at, *end;
    const char *file;
    unsigned line, depth;
};

static enum hd_status read_element(struct reader *r, struct xml_node **out);

static enum hd_status bad(const struct reader *r, const char *what)
{
    return hd_error(HD_CORRUPT, "%s:%u: %s", r->file, r->line, what);
}

static bool starts(const struct reader *r, const char *word)
{
    size_t len = strlen(word);

    return (size_t)(r->end - r->at) >= len && memcmp(r->at, word, len) == 0;
}

static void advance(struct reader *r, size_t n)
{
    assert(n <= (size_t)(r->end - r->at));
    for (; n; n--)
        r->line += *r->at++ == '\n';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        advance(r, 1);
}

/* Behind the next `word`; false: there is none. */
static bool skip_to(struct reader *r, const char *word)
{
    while (r->at < r->end && !starts(r, word))
        advance(r, 1);
    if (r->at == r->end)
        return false;
    advance(r, strlen(word));
    return true;
}

/* Comments and blanks between elements. */
static enum hd_status skip_between(struct reader *r)
{
    for (skip_blanks(r); starts(r, "<!--"); skip_blanks(r))
        if (!skip_to(r, "-->"))
            return bad(r, "a comment does not end");
    return HD_OK;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static enum hd_status read_name(struct reader *r, const char **out)
{
    const char *begin = r->at;

    while (r->at < r->end && is_name(*r->at))
        r->at++;
    size_t len = (size_t)(r->at - begin);
    if (!len || len > NAME_MAX_B)
        return bad(r, "a name is expected");
    *out = hd_arena_strndup(r->arena, begin, len);
    return HD_OK;
}

/* ---- text */

static bool put_number(struct hd_buf *text, struct hd_str digits)
{
    bool hex = digits.len && digits.ptr[0] == 'x';
    uint64_t code;

    if (!hd_str_to_u64((struct hd_str){digits.ptr + hex, digits.len - hex}, hex ? 16 : 10, &code) ||
        !code || code > 0x7f)
        return false; /* others may stand as they are */
    hd_buf_putc(text, (char)code);
    return true;
}

static enum hd_status read_entity(struct reader *r, struct hd_buf *text)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};

    for (size_t i = 0; i < HD_COUNT_OF(entities); i++)
        if (starts(r, entities[i].name)) {
            hd_buf_putc(text, entities[i].c);
            advance(r, strlen(entities[i].name));
            return HD_OK;
        }
    size_t left = HD_MIN((size_t)(r->end - r->at), (size_t)12);
    const char *semicolon = memchr(r->at, ';', left);
    if (!starts(r, "&#") || !semicolon ||
        !put_number(text, (struct hd_str){r->at + 2, (size_t)(semicolon - r->at) - 2}))
        return bad(r, "an unknown entity");
    advance(r, (size_t)(semicolon - r->at) + 1);
    return HD_OK;
}

static enum hd_status read_cdata(struct reader *r, struct hd_buf *text)
{
    advance(r, strlen("<![CDATA["));
    const char *begin = r->at;
    if (!skip_to(r, "]]>"))
        return bad(r, "CDATA does not end");
    hd_buf_append(text, begin, (size_t)(r->at - begin) - strlen("]]>"));
    return HD_OK;
}

/* Up to the next tag; whether it is text or blanks between elements is the caller's matter. */
static enum hd_status read_text(struct reader *r, struct hd_buf *text)
{
    while (r->at < r->end) {
        if (starts(r, "<![CDATA[")) {
            HD_TRY(read_cdata(r, text));
        } else if (starts(r, "<!--")) {
            HD_TRY(skip_between(r));
        } else if (*r->at == '&') {
            HD_TRY(read_entity(r, text));
        } else if (*r->at == '<') {
            break;
        } else if (!*r->at) {
            return bad(r, "a byte 0");
        } else {
            hd_buf_putc(text, *r->at);
            advance(r, 1);
        }
    }
    return HD_OK;
}

static const char *trimmed(struct reader *r, const struct hd_buf *text)
{
    size_t begin = 0, end = text->len;

    while (begin < end && is_blank(text->ptr[begin]))
        begin++;
    while (end > begin && is_blank(text->ptr[end - 1]))
        end--;
    char *made = hd_arena_try_alloc(r->arena, end - begin + 1);
    if (made && end > begin)
        memcpy(made, text->ptr + begin, end - begin);
    return made ? made : "";
}

/* ---- elements */

/* What is in an element, up to its closing tag. */
static enum hd_status read_inside(struct reader *r, struct xml_node *node, struct hd_buf *text)
{
    struct xml_node **last = &node->first;

    for (;;) {
        HD_TRY(read_text(r, text));
        if (r->at == r->end)
            return hd_error(HD_CORRUPT, "%s:%u: <%s> does not end", r->file, node->line,
                            node->name);
        if (starts(r, "</"))
            break;
        HD_TRY(read_element(r, last));
        last = &(*last)->next;
    }
    node->text = trimmed(r, text);
    return node->first && node->text[0] ? bad(r, "text beside elements") : HD_OK;
}

static enum hd_status read_close(struct reader *r, const struct xml_node *node)
{
    const char *name;

    assert(starts(r, "</"));
    advance(r, 2);
    HD_TRY(read_name(r, &name));
    skip_blanks(r);
    if (strcmp(name, node->name) != 0)
        return hd_error(HD_CORRUPT, "%s:%u: </%s> where <%s> of line %u is open", r->file, r->line,
                        name, node->name, node->line);
    if (!starts(r, ">"))
        return bad(r, "'>' is expected");
    advance(r, 1);
    return HD_OK;
}

static enum hd_status read_element(struct reader *r, struct xml_node **out)
{
    struct xml_node *node = hd_arena_new(r->arena, struct xml_node);
    struct hd_buf text = {0};

    node->line = r->line;
    node->text = "";
    if (!starts(r, "<") || starts(r, "<!") || starts(r, "<?"))
        return bad(r, "an element is expected");
    advance(r, 1);
    HD_TRY(read_name(r, &node->name));
    skip_blanks(r);
    *out = node;
    if (starts(r, "/>")) {
        advance(r, 2);
        return HD_OK;
    }
    if (!starts(r, ">"))
        return bad(r, "'>' is expected: attributes are not taken");
    advance(r, 1);
    if (++r->depth > DEPTH_MAX)
        return bad(r, "nested too deeply");
    enum hd_status status = read_inside(r, node, &text);
    if (status == HD_OK && text.failed)
        status = hd_error(HD_NO_MEMORY, "%s: out of memory", r->file);
    hd_buf_fini(&text);
    assert(r->depth);
    r->depth--;
    return status == HD_OK ? read_close(r, node) : status;
}

enum hd_status xml_read(struct hd_arena *arena, const char *text, size_t len, const char *name,
                        const struct xml_node **out)
{
    struct reader r = {.arena = arena, .at = text, .end = text + len, .file = name, .line = 1};
    struct xml_node *root = NULL;

    if (len > XML_TEXT_MAX_B)
        return hd_error(HD_CORRUPT, "%s: larger than %d bytes", name, XML_TEXT_MAX_B);
    if (starts(&r, "\xef\xbb\xbf"))
        advance(&r, 3);
    skip_blanks(&r);
    if (starts(&r, "<?xml") && !skip_to(&r, "?>"))
        return bad(&r, "the declaration does not end");
    HD_TRY(skip_between(&r));
    HD_TRY(read_element(&r, &root));
    HD_TRY(skip_between(&r));
    assert(!r.depth && root);
    if (r.at != r.end)
        return bad(&r, "text behind the end");
    *out = root;
    return hd_arena_status(arena);
}
