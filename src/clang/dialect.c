/*
 * What NVIDIA's front end takes and clang does not, in preprocessed source that clang has refused:
 *
 *     k << <g, b >> > (p)                 k <<<g, b >>> (p)
 *     k<<<g, {1, 2}>>>(p)                 k<<<g, ::dim3{1, 2}>>>(p)
 *     __shared__ alignas(16) int a[4];    __shared__ _Alignas(16) int a[4];
 *     __device__ [[nodiscard]] int f();   __device__ __attribute__((warn_unused_result)) int f();
 *     asm("mov.u32 %0, %laneid;" : ...)   asm("mov.u32 %0, %%laneid;" : ...)
 *     asm("mul.%1.s32 ..." : ... : "C"(mode))    ... : "i"(mode)); pasted.c does the rest
 *     UNROLL                              #pragma unroll, where a macro of that name stands for it
 *     __shared__ T t;                     a room of T's size without a constructor, and a reference
 *     if constexpr (this->flag)           if constexpr (__heddle_bare<decltype(*this)>::flag)
 *     f.operator()<1>(p), a::of<T>        f.template operator()<1>(p), a::template of<T>
 *
 * The last three only where clang has said that T's constructor is why, that `this` is no constant,
 * and which names lack the word. Lines stay where they are, and
 * nothing is changed that clang takes.
 */
#include "clang/clang.h"
#include "clang/tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define SHARED         "__attribute__((shared))"
#define SHARED_REFUSED "initialization is not supported for __shared__ variables"
#define THIS_REFUSED   "use of 'this' pointer is only allowed within the evaluation of a call"

typedef HD_VEC(struct hd_str) names_t;

/* What stands in a text's place from `at` to `end`. */
struct edit {
    const char *at, *end;
    struct hd_buf text;
};

/* Specifiers that stand together in front of a declaration; at NULL: there are none. */
struct specifiers {
    const char *at;
    bool has_shared, has_extern;
};

struct dialect {
    const char *text, *head; /* head: where the words begin that are in front of the next body */
    bool rooms;              /* __shared__ variables get rooms */
    bool bare;               /* constant conditions name the class, not the object */
    unsigned count;          /* of rooms */
    struct specifiers specifiers;
    names_t templates; /* members that lack the word `template` */
    HD_VEC(struct edit) edits;
    HD_VEC(bool) bodies; /* braces that are open: of a namespace? */
    bool failed;
};

static struct hd_buf *edit_add(struct dialect *d, const char *at, const char *end)
{
    static struct hd_buf none;
    struct edit edit = {.at = at, .end = end};

    hd_buf_init(&edit.text);
    if (!hd_vec_push(&d->edits, edit)) {
        d->failed = true;
        hd_buf_init(&none);
        return &none;
    }
    return &hd_vec_last(&d->edits).text;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && !memcmp(at, word, strlen(word));
}

static bool is_one_of(const char *at, const char *end, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_word(at, end, words[i]))
            return true;
    return false;
}

/* Behind the bracket that closes the one at `at`; the end of the text when none does. */
static const char *behind_brackets(const char *at, const char *text)
{
    unsigned depth = 0;

    for (; *at; at = clang_behind_token(at, text)) {
        if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at) && --depth == 0)
            return at + 1;
    }
    return at;
}

/* ---- launches */

/* Three `>` with blanks between, and the arguments behind; NULL: they do not stand here. */
static const char *behind_closing(const char *at)
{
    for (int i = 0; i < 3; i++) {
        if (*at != '>')
            return NULL;
        at++;
        if (i < 2)
            at = clang_skip_blanks(at);
    }
    return *clang_skip_blanks(at) == '(' ? at : NULL;
}

static void read_argument(struct dialect *d, const char *at, unsigned index)
{
    static const char *const types[] = {"::dim3", "::dim3", "decltype(sizeof(0))",
                                        "::cudaStream_t"};

    at = clang_skip_blanks(at);
    if (*at == '{' && index < HD_COUNT_OF(types))
        hd_buf_puts(edit_add(d, at, at), types[index]);
}

/* Behind the `<<<` or `<< <` at `at`; NULL: it is none. */
static const char *behind_opening(const char *at, const char *text)
{
    if (strncmp(at, "<<", 2) != 0 ||
        clang_ends_with(clang_back_over_blanks(at, text), text, "operator"))
        return NULL;
    const char *last = clang_skip_blanks(at + 2);
    return *last == '<' && last[1] != '<' ? last + 1 : NULL;
}

static void read_launch(struct dialect *d, const char *open, const char *behind)
{
    const char *end = NULL, *at = behind;
    unsigned depth = 0, index = 0;

    for (; *at && *at != ';' && !(end = depth ? NULL : behind_closing(at));
         at = clang_behind_token(at, d->text)) {
        if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at) && !depth--)
            return;
    }
    if (!end)
        return;
    if (behind - open > 3)
        hd_buf_puts(edit_add(d, open, behind), "<<<");
    read_argument(d, behind, index++);
    for (const char *next = behind; (next = clang_find_outside(next, d->text, ",")) && next < at;)
        read_argument(d, ++next, index++);
    if (end - at > 3)
        hd_buf_puts(edit_add(d, at, end), ">>>");
}

/* ---- assembly */

/* A `%` that is none of an operand is one of PTX. */
static void read_percents(struct dialect *d, const char *at, const char *end, bool operands)
{
    for (; at < end; at++) {
        if (*at != '%')
            continue;
        bool is_operand = isdigit((unsigned char)at[1]) || at[1] == '[' ||
                          (isalpha((unsigned char)at[1]) && isdigit((unsigned char)at[2]));
        if (at[1] == '%')
            at++;
        else if (!operands || !is_operand)
            hd_buf_puts(edit_add(d, at, at), "%");
    }
}

/* Is there an operand between these colons? */
static bool has_operands(const char *colon, const char *text)
{
    for (int section = 0; colon && section < 2; section++) {
        const char *first = clang_skip_blanks(colon + 1);
        if (*first != ':' && *first != ')')
            return true;
        colon = *first == ':' ? first : NULL;
    }
    return false;
}

/* Of inputs, which are behind the second colon. */
static void read_constraints(struct dialect *d, const char *colon)
{
    const char *at = clang_find_outside(colon + 1, d->text, ":");

    while (at && *at && *at != ')') {
        const char *end = clang_behind_token(at, d->text);
        if (*at == '(')
            end = behind_brackets(at, d->text);
        else if (is_word(at, end, "\"C\""))
            hd_buf_puts(edit_add(d, at, end), "\"i\"");
        at = end;
    }
}

/* `at` is behind the word. */
static void read_assembly(struct dialect *d, const char *at)
{
    static const char *const qualifiers[] = {"volatile", "__volatile__", "__volatile", "inline",
                                             "goto"};

    for (at = clang_skip_blanks(at); clang_is_of_name(*at); at = clang_skip_blanks(at)) {
        const char *end = clang_behind_token(at, d->text);
        if (!is_one_of(at, end, qualifiers, HD_COUNT_OF(qualifiers)))
            return;
        at = end;
    }
    const char *colon = *at == '(' ? clang_find_outside(at + 1, d->text, ":") : NULL;
    if (!colon)
        return; /* such assembly is taken as it is */
    bool operands = has_operands(colon, d->text);
    for (at++; at < colon;) {
        const char *end = clang_behind_token(at, d->text);
        if (*at == '"' || (end > at && end[-1] == '"'))
            read_percents(d, at, end, operands);
        at = end;
    }
    read_constraints(d, colon);
}

/* ---- attributes */

/* `at` is [[ behind a specifier, where clang takes none; behind it. */
static const char *read_attributes(struct dialect *d, const char *at)
{
    static const struct {
        const char *name, *becomes;
    } known[] = {{"nodiscard", "warn_unused_result"},
                 {"noreturn", "noreturn"},
                 {"maybe_unused", "unused"},
                 {"deprecated", "deprecated"}};
    const char *end = behind_brackets(at, d->text);
    struct hd_buf *out = edit_add(d, at, end);

    for (size_t i = 0; i < HD_COUNT_OF(known); i++) {
        const char *name = memmem(at, (size_t)(end - at), known[i].name, strlen(known[i].name));
        if (name && !clang_is_of_name(name[-1]) && !clang_is_of_name(name[strlen(known[i].name)]))
            hd_buf_printf(out, "__attribute__((%s))", known[i].becomes);
    }
    for (; at < end; at++)
        if (*at == '\n')
            hd_buf_putc(out, '\n');
    return end;
}

/* ---- templates of dependent classes */

static bool templates_add(struct dialect *d, const char *log, const char *said)
{
    for (const char *at = log; (at = strstr(at, said));) {
        at += strlen(said);
        size_t length = 0;
        while (clang_is_of_name(at[length])) /* of operator() the first word */
            length++;
        if (!hd_vec_push(&d->templates, ((struct hd_str){at, length})))
            return false;
    }
    return true;
}

/* Of members that it takes for no templates clang shows the line, and a caret under the name. */
static bool members_add(struct dialect *d, const char *log)
{
    static const char said[] = "reference to non-static member function must be called\n";

    for (const char *at = log; (at = strstr(at, said));) {
        const char *line = at += sizeof(said) - 1, *below = line + strcspn(line, "\n");
        size_t caret = strcspn(below + (*below != 0), "^\n"), length = 0;
        if (caret >= (size_t)(below - line))
            continue;
        while (clang_is_of_name(line[caret + length]))
            length++;
        if (!hd_vec_push(&d->templates, ((struct hd_str){line + caret, length})))
            return false;
    }
    return true;
}

static void read_member(struct dialect *d, const char *at, const char *behind)
{
    const char *before = clang_back_over_blanks(at, d->text), *open = clang_skip_blanks(behind);
    struct hd_str name = {at, (size_t)(behind - at)};

    if (before - d->text < 2 ||
        !(before[-1] == '.' || !strncmp(before - 2, "->", 2) || !strncmp(before - 2, "::", 2)))
        return;
    if (is_word(at, behind, "operator")) { /* of the operators only that of calls */
        if (*open != '(' || *clang_skip_blanks(open + 1) != ')')
            return;
        open = clang_skip_blanks(clang_skip_blanks(open + 1) + 1);
    }
    for (size_t i = 0; *open == '<' && i < d->templates.len; i++)
        if (hd_str_eq(d->templates.at[i], name)) {
            hd_buf_puts(edit_add(d, at, at), "template ");
            return;
        }
}

/* ---- constant conditions */

/* Of a condition that is a constant, whose bracket is behind the blanks at `at`: a static member of
 * the object that `this` points to is one of its class. A function that is not static fails as it
 * did. */
static void read_condition(struct dialect *d, const char *at)
{
    at = clang_skip_blanks(at);
    if (*at != '(')
        return;
    for (const char *end = behind_brackets(at, d->text), *behind; at < end; at = behind) {
        behind = clang_behind_token(at, d->text);
        const char *arrow = clang_skip_blanks(behind);
        if (is_word(at, behind, "this") && !strncmp(arrow, "->", 2))
            hd_buf_puts(edit_add(d, at, arrow + 2), "__heddle_bare<decltype(*this)>::");
    }
}

static bool is_constant_condition(const char *at, const char *behind, const char *text)
{
    return is_word(at, behind, "static_assert") ||
           (is_word(at, behind, "constexpr") &&
            clang_ends_with(clang_back_over_blanks(at, text), text, "if"));
}

/* ---- variables in shared memory */

/* The names that a declaration declares, from its type on; false: it is not one for a room. */
static bool names_read(const char *at, const char *end, const char *text, names_t *out)
{
    struct hd_str name = {NULL, 0};
    unsigned angles = 0;

    for (;;) {
        at += strspn(at, " \t\n");
        if (at >= end || (*at == ',' && !angles)) {
            if (!name.len || !hd_vec_push(out, name))
                return false;
            name.len = 0;
            if (at >= end)
                return true;
        }
        const char *behind = clang_behind_token(at, text);
        if (strchr("={(*&", *at))
            return false; /* it has a value, or is no object of a class */
        if (*at == '[') {
            behind = behind_brackets(at, text);
        } else if (clang_is_of_name(*at) && *clang_skip_blanks(behind) == '(') {
            static const char *const groups[] = {"decltype", "__attribute__", "alignas",
                                                 "_Alignas"};
            if (!is_one_of(at, behind, groups, HD_COUNT_OF(groups)))
                return false;
            behind = behind_brackets(clang_skip_blanks(behind), text);
        } else if (clang_is_of_name(*at) && !angles) {
            name = (struct hd_str){at, (size_t)(behind - at)};
        }
        angles += *at == '<';
        angles -= *at == '>' && angles;
        at = behind;
    }
}

static bool is_plain_type(const char *at, const char *text)
{
    static const char *const words[] = {"bool",   "char",   "short",    "int",    "long",
                                        "float",  "double", "unsigned", "signed", "void",
                                        "struct", "union",  "class",    "enum",   "auto"};

    return is_one_of(at, clang_behind_token(at, text), words, HD_COUNT_OF(words));
}

/* The specifiers but for those that are the room's. */
static void put_specifiers(const struct dialect *d, const char *type, struct hd_buf *out)
{
    for (const char *at = d->specifiers.at; at < type;) {
        const char *behind = clang_behind_token(at, d->text);

        if (!strncmp(at, SHARED, strlen(SHARED)))
            behind = at + strlen(SHARED);
        else if (!is_word(at, behind, "static"))
            hd_buf_append(out, at, (size_t)(behind - at));
        at = behind;
    }
}

/* A declaration whose specifiers end at `type`; behind it, or NULL: it stays as it is. */
static const char *read_shared(struct dialect *d, const char *type)
{
    const char *end = clang_find_outside(type, d->text, ";");
    bool is_global = true;
    names_t names = {0};

    if (!end || is_plain_type(type, d->text) || !names_read(type, end, d->text, &names)) {
        hd_vec_fini(&names);
        return NULL;
    }
    for (size_t i = 0; i < d->bodies.len; i++)
        is_global = is_global && d->bodies.at[i];
    unsigned n = d->count++;
    struct hd_buf *out = edit_add(d, d->specifiers.at, end + 1);
    hd_buf_printf(out, "union __heddle_room_%u { struct { ", n);
    put_specifiers(d, type, out);
    hd_buf_append(out, type, (size_t)(end - type));
    hd_buf_printf(out,
                  "; } held; __attribute__((host, device)) __heddle_room_%u() {} "
                  "__attribute__((host, device)) ~__heddle_room_%u() {} }; static " SHARED
                  " __heddle_room_%u __heddle_shared_%u;",
                  n, n, n, n);
    for (size_t i = 0; i < names.len; i++)
        hd_buf_printf(out, " %sconstexpr auto &%.*s = __heddle_shared_%u.held.%.*s;",
                      is_global ? "static " : "", HD_STR_ARG(names.at[i]), n,
                      HD_STR_ARG(names.at[i]));
    hd_vec_fini(&names);
    return end + 1;
}

/* ---- all of it */

/* Behind what stands at `at`, if it is of specifiers; NULL: it is not. */
static const char *read_specifier(struct dialect *d, const char *at, const char *behind)
{
    static const char *const words[] = {"static",   "const",     "volatile",   "extern",
                                        "inline",   "constexpr", "__inline__", "__inline",
                                        "explicit", "virtual",   "friend",     "thread_local"};
    struct specifiers *s = &d->specifiers;
    bool follows = s->at != NULL;
    const char *first = at;

    if (is_one_of(at, behind, words, HD_COUNT_OF(words))) {
        s->has_extern |= is_word(at, behind, "extern");
    } else if (is_word(at, behind, "__attribute__")) {
        s->has_shared |= !strncmp(at, SHARED, strlen(SHARED));
        behind = behind_brackets(clang_skip_blanks(behind), d->text);
    } else if (is_word(at, behind, "alignas")) {
        if (follows)
            hd_buf_puts(edit_add(d, at, behind), "_Alignas");
        behind = behind_brackets(clang_skip_blanks(behind), d->text);
    } else if (!strncmp(at, "[[", 2)) {
        behind = follows ? read_attributes(d, at) : behind_brackets(at, d->text);
    } else {
        return NULL;
    }
    if (!follows)
        s->at = first;
    return behind;
}

static void read_brace(struct dialect *d, const char *at, const char *behind)
{
    static const char *const spaces[] = {"namespace", "extern"};

    if (*at == '{') {
        const char *head = clang_skip_blanks(d->head);
        bool is_space = false;

        for (; head < at && !is_space; head = clang_skip_blanks(clang_behind_token(head, d->text)))
            is_space =
                is_one_of(head, clang_behind_token(head, d->text), spaces, HD_COUNT_OF(spaces)) &&
                !memchr(head, '(', (size_t)(at - head));
        d->failed |= !hd_vec_push(&d->bodies, is_space);
    } else if (*at == '}' && d->bodies.len) {
        (void)hd_vec_pop(&d->bodies);
    }
    if (strchr("{};", *at))
        d->head = behind;
}

/* ---- pragmas */

/* nvcc reads preprocessed text again, so a macro that stands for a pragma is one where it begins a
 * line; clang puts blanks in front of what is none. Behind the line. */
static const char *read_pragma(struct dialect *d, const char *at)
{
    const char *line = at;

    while (line > d->text && (line[-1] == ' ' || line[-1] == '\t'))
        line--;
    const char *word = clang_skip_blanks(at + 1);
    if (line == at || (line > d->text && line[-1] != '\n') ||
        !is_word(word, clang_behind_token(word, d->text), "pragma"))
        return at + 1;
    (void)edit_add(d, line, at);
    return at + strcspn(at, "\n");
}

static void text_read(struct dialect *d)
{
    static const char *const assembly[] = {"asm", "__asm__", "__asm"};
    const char *behind;

    for (const char *at = d->text; *at && !d->failed; at = behind) {
        behind = clang_behind_token(at, d->text);
        if (*at == '#' && at + 1 == behind)
            behind = read_pragma(d, at);
        if (isspace((unsigned char)*at) || *at == '#')
            continue;
        if (d->bare && is_constant_condition(at, behind, d->text))
            read_condition(d, behind);
        if (d->templates.len && clang_is_of_name(*at))
            read_member(d, at, behind);
        const char *specifier = read_specifier(d, at, behind);
        if (specifier) {
            behind = specifier;
            continue;
        }
        const struct specifiers *s = &d->specifiers;
        const char *shared =
            s->at && d->rooms && s->has_shared && !s->has_extern ? read_shared(d, at) : NULL;
        d->specifiers = (struct specifiers){.at = NULL};
        if (shared) {
            behind = shared;
            d->head = behind;
            continue;
        }
        read_brace(d, at, behind);
        const char *opening = behind_opening(at, d->text);
        if (opening) {
            read_launch(d, at, opening);
            behind = opening;
        } else if (is_one_of(at, behind, assembly, HD_COUNT_OF(assembly))) {
            read_assembly(d, behind);
        }
    }
}

static int edit_compare(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Edits of what a room has taken over are the room's: it is put as it was. */
static void edits_put(struct dialect *d, struct hd_buf *out)
{
    const char *at = d->text;

    qsort(d->edits.at, d->edits.len, sizeof(*d->edits.at), edit_compare);
    for (size_t i = 0; i < d->edits.len; i++) {
        const struct edit *edit = &d->edits.at[i];

        if (edit->at < at)
            continue;
        hd_buf_append(out, at, (size_t)(edit->at - at));
        hd_buf_puts(out, edit->text.ptr ? edit->text.ptr : "");
        out->failed |= edit->text.failed;
        at = edit->end;
    }
    hd_buf_puts(out, at);
}

enum hd_status clang_dialect_put(const char *text, const char *log, struct hd_buf *out)
{
    struct dialect d = {.text = text,
                        .head = text,
                        .rooms = strstr(log, SHARED_REFUSED) != NULL,
                        .bare = strstr(log, THIS_REFUSED) != NULL};

    d.failed = !members_add(&d, log) ||
               !templates_add(&d, log, "'template' keyword prior to dependent template name '") ||
               !templates_add(&d, log, "use 'template' keyword to treat '");
    text_read(&d);
    if (d.edits.len)
        edits_put(&d, out);
    bool failed = d.failed || out->failed;
    for (size_t i = 0; i < d.edits.len; i++)
        hd_buf_fini(&d.edits.at[i].text);
    hd_vec_fini(&d.edits);
    hd_vec_fini(&d.bodies);
    hd_vec_fini(&d.templates);
    return failed ? hd_error(HD_NO_MEMORY, "no memory for a source's dialect") : HD_OK;
}
