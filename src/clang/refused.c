#include "clang/refused.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "clang/tokens.h"

/* What the log says: "file:line:column: error: ...". */
struct said {
    enum clang_refused what;
    struct hd_str file, name;
    unsigned long line;
    bool found;
};
typedef HD_VEC(struct said) said_t;

/* ---- the log */

static struct hd_str name_at(const char *at)
{
    size_t length = 0;

    while (clang_is_of_name(at[length]))
        length++;
    return (struct hd_str){at, length};
}

/* The last part of a type's name, "a<b::c>::d<e>'": d. */
static struct hd_str last_name(const char *at)
{
    struct hd_str name = {at, 0};
    unsigned angles = 0;

    for (; *at && *at != '\'' && *at != '\n'; at++) {
        angles += *at == '<';
        angles -= *at == '>' && angles;
        if (!angles && at[0] == ':' && at[1] == ':')
            name = name_at(at + 2);
    }
    return name;
}

/* The name above the caret, two lines below the message: "   14 |   T x;" and "      |     ^". */
static struct hd_str name_of_caret(const char *message)
{
    const char *line = message + strcspn(message, "\n");
    line += *line != 0;
    const char *below = line + strcspn(line, "\n");
    size_t caret = strcspn(below + (*below != 0), "^\n");

    if (!*below || caret >= (size_t)(below - line))
        return (struct hd_str){line, 0};
    return name_at(line + caret);
}

/* The colon or bracket in front of a number that ends at `at`. */
static const char *back_over_number(const char *at, const char *line)
{
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at > line ? at - 1 : line;
}

/* The place in front of " error: " at `behind`: "file:12:3:", or "file(12,3):" as in NVRTC's logs. */
static bool place_read(const char *line, const char *behind, struct said *out)
{
    if (behind == line || behind[-1] != ':')
        return false;
    const char *close = behind - 1;
    bool in_brackets = close > line && close[-1] == ')';
    const char *column = back_over_number(close - in_brackets, line);
    const char *open = back_over_number(column, line);

    if (open == line || *column != (in_brackets ? ',' : ':') || *open != (in_brackets ? '(' : ':'))
        return false;
    out->line = strtoul(open + 1, NULL, 10);
    out->file = (struct hd_str){line, (size_t)(open - line)};
    return true;
}

static bool line_read(const char *line, struct hd_str *declared, said_t *out)
{
    static const char member[] = "explicit qualification required to use member '";
    static const char type[] = "missing 'typename' prior to dependent type name '";
    static const char variable[] = "variable of non-literal type '";
    static const char later[] = "non-constexpr declaration of '";
    static const char earlier[] = "previous declaration is here";
    size_t length = strcspn(line, "\n");
    const char *error = memmem(line, length, " error: ", strlen(" error: "));
    const char *note = memmem(line, length, " note: ", strlen(" note: "));
    struct said said = {.found = false};

    if (!error && !note)
        return true;
    const char *behind = error ? error : note,
               *message = behind + strlen(error ? " error: " : " note: ");
    if (!place_read(line, behind, &said))
        return true;
    if (hd_str_starts(hd_str_from(message), member)) {
        said.what = CLANG_REFUSED_MEMBER;
        said.name = name_at(message + strlen(member));
    } else if (!strncmp(message, type, strlen(type))) {
        said.what = CLANG_REFUSED_TYPE;
        said.name = last_name(message + strlen(type));
    } else if (!strncmp(message, variable, strlen(variable))) {
        said.what = CLANG_REFUSED_VARIABLE;
        said.name = name_of_caret(message);
    } else if (!strncmp(message, later, strlen(later))) {
        *declared = name_at(message + strlen(later));
        return true;
    } else if (declared->len && !strncmp(message, earlier, strlen(earlier))) {
        said.what = CLANG_REFUSED_EARLIER;
        said.name = *declared;
        declared->len = 0;
    }
    for (size_t i = 0; i < out->len; i++) {
        const struct said *other = &out->at[i];
        if (other->what == said.what && other->line == said.line &&
            hd_str_eq(other->file, said.file) && hd_str_eq(other->name, said.name))
            return true; /* of another instantiation */
    }
    return !said.name.len || hd_vec_push(out, said);
}

/* ---- the text */

/* Back over the bracket that is closed in front of `at`. */
static const char *back_over_bracket(const char *at, const char *text, char open, char close)
{
    unsigned depth = 0;

    while (at > text) {
        at--;
        depth += *at == close;
        if (*at == open && --depth == 0)
            return at;
    }
    return at;
}

static const char *back_over_name(const char *at, const char *text)
{
    while (at > text && clang_is_of_name(at[-1]))
        at--;
    return at;
}

/* Where the qualified name begins whose last part is at `at`. */
static const char *qualified_begin(const char *at, const char *text)
{
    for (const char *colons;
         colons = clang_back_over_blanks(at, text), clang_ends_with(colons, text, "::");) {
        at = clang_back_over_blanks(colons - 2, text);
        if (clang_ends_with(at, text, ">"))
            at = clang_back_over_blanks(back_over_bracket(at, text, '<', '>'), text);
        else if (clang_ends_with(at, text, ")"))
            at = clang_back_over_blanks(back_over_bracket(at, text, '(', ')'), text);
        const char *name = back_over_name(at, text);
        if (name == at) /* of the global scope */
            return clang_skip_blanks(at);
        at = name;
        const char *word = clang_back_over_blanks(at, text);
        if (clang_ends_with(word, text, "template"))
            at = back_over_name(word, text);
    }
    return at;
}

/* The place of a name that stands from `at` to `behind`; NULL: this one is not it. */
static const char *place_of(enum clang_refused what, const char *at, const char *behind,
                            const char *text)
{
    const char *before = clang_back_over_blanks(at, text);
    bool is_qualified = clang_ends_with(before, text, "::");
    char next = *clang_skip_blanks(behind);

    if (what == CLANG_REFUSED_MEMBER) {
        bool is_member = clang_ends_with(before, text, ".") || clang_ends_with(before, text, "->");
        return is_qualified || is_member || (next != '(' && next != '<') ? NULL : at;
    }
    if (what == CLANG_REFUSED_TYPE) {
        const char *begin = is_qualified ? qualified_begin(at, text) : NULL;
        return begin && !clang_ends_with(clang_back_over_blanks(begin, text), text, "typename")
                   ? begin
                   : NULL;
    }
    return at;
}

static bool names_find(const char *text, const char *line, struct said *said, clang_refusals_t *out)
{
    const char *end = line + strcspn(line, "\n");

    for (const char *at = line, *behind; at < end; at = behind) {
        behind = clang_behind_token(at, text);
        if (!clang_is_of_name(*at) ||
            !hd_str_eq((struct hd_str){at, (size_t)(behind - at)}, said->name))
            continue;
        const char *place = place_of(said->what, at, behind, text);
        if (!place)
            continue;
        said->found = true;
        if (!hd_vec_push(out, ((struct clang_refusal){said->what, place})))
            return false;
    }
    return true;
}

/* `# 12 "file" 1`: what follows is line 12 of file. False: the line is none. */
static bool marker_read(const char *line, struct hd_str *file, unsigned long *number)
{
    char *end;

    if (line[0] != '#' || line[1] != ' ')
        return false;
    unsigned long n = strtoul(line + 2, &end, 10);
    if (end == line + 2 || end[0] != ' ' || end[1] != '"')
        return false;
    *file = (struct hd_str){end + 2, strcspn(end + 2, "\"\n")};
    *number = n;
    return true;
}

/* A log may leave out the folder that a file is in. */
static bool is_file(struct hd_str path, struct hd_str said)
{
    if (path.len < said.len || memcmp(path.ptr + path.len - said.len, said.ptr, said.len) != 0)
        return false;
    return path.len == said.len || path.ptr[path.len - said.len - 1] == '/';
}

static int refusal_compare(const void *a, const void *b)
{
    const struct clang_refusal *x = a, *y = b;

    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->what > y->what) - (x->what < y->what);
}

bool clang_refusals_read(const char *text, const char *log, clang_refusals_t *out, bool *out_lost)
{
    said_t all = {0};
    struct hd_str file = {text, 0};
    unsigned long number = 1;
    struct hd_str declared = {log, 0};
    bool ok = true;
    for (const char *line = log; *line && ok; line += line[0] == '\n') {
        ok = line_read(line, &declared, &all);
        line += strcspn(line, "\n");
    }

    for (const char *line = text; *line && ok && all.len; line += *line == '\n') {
        if (!marker_read(line, &file, &number)) {
            for (size_t i = 0; i < all.len && ok; i++)
                if (all.at[i].line == number && is_file(file, all.at[i].file))
                    ok = names_find(text, line, &all.at[i], out);
            number++;
        }
        line += strcspn(line, "\n");
    }
    *out_lost = false;
    for (size_t i = 0; i < all.len; i++)
        *out_lost |= !all.at[i].found;
    hd_vec_fini(&all);
    if (out->len) {
        /* Each once: a qualified name may have the same part twice. */
        size_t n = 1;

        qsort(out->at, out->len, sizeof(*out->at), refusal_compare);
        for (size_t i = 1; i < out->len; i++)
            if (refusal_compare(&out->at[i], &out->at[n - 1]))
                out->at[n++] = out->at[i];
        out->len = n;
    }
    return ok;
}
