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
 *     extern __shared__ int a[4][2];      extern __shared__ int a[][2];
 *     __shared__ T t;                     a room of T's size without a constructor, and a reference
 *     if constexpr (this->flag)           if constexpr (__heddle_bare<decltype(*this)>::flag)
 *     f.operator()<1>(p), a::of<T>        f.template operator()<1>(p), a::template of<T>
 *     inherited(x)                        this->inherited(x), of a base class that depends on T
 *     T::type(x)                          typename T::type(x)
 *     constexpr int f() { vector v; ...   inline int f() { vector v; ..., in templates
 *     __builtin_assume_aligned(p, f())    __builtin_assume_aligned(p, sizeof(char[f()]))
 *
 * The last eight only where clang has said that `extern` or T's constructor is why, that `this` is
 * no constant, and which names are refused (refused.c), or has crashed, as clang 19 does on an
 * alignment that is a call. Lines stay where they are, and nothing is changed that clang takes.
 */
#include "clang/clang.h"
#include "clang/refused.h"
#include "clang/tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define SHARED         "__attribute__((shared))"
#define SHARED_REFUSED "initialization is not supported for __shared__ variables"
#define EXTERN_REFUSED "' cannot be 'extern'"
#define CRASHED        "Stack dump:"
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

/* Braces that are open. */
struct body {
    const char *statement, *brace; /* what the brace is in begins at the statement */
    bool is_space;                 /* of a namespace */
};

struct dialect {
    const char *text, *head; /* head: where the words begin that are in front of the next body */
    const char *statement;   /* the same, but lists in braces are of what they are in */
    bool rooms;              /* __shared__ variables get rooms */
    bool externs;            /* and those of the launch lose their first bounds */
    bool bare;               /* constant conditions name the class, not the object */
    bool crashed;            /* alignments are made constants that clang sees */
    unsigned count;          /* of rooms */
    struct specifiers specifiers;
    names_t templates; /* members that lack the word `template` */
    clang_refusals_t refusals;
    size_t refusal; /* the next one */
    HD_VEC(struct edit) edits;
    HD_VEC(struct body) bodies;
    bool failed;
};

static struct hd_buf *dialect_edit_add(struct dialect *d, const char *at, const char *end)
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

static bool dialect_is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && !memcmp(at, word, strlen(word));
}

static bool dialect_is_one_of(const char *at, const char *end, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dialect_is_word(at, end, words[i]))
            return true;
    return false;
}

/* Behind the bracket that closes the one at `at`; the end of the text when none does. */
static const char *dialect_behind_brackets(const char *at, const char *text)
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
static const char *dialect_behind_closing(const char *at)
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

static void dialect_read_argument(struct dialect *d, const char *at, unsigned index)
{
    static const char *const types[] = {"::dim3", "::dim3", "decltype(sizeof(0))",
                                        "::cudaStream_t"};

    at = clang_skip_blanks(at);
    if (*at == '{' && index < HD_COUNT_OF(types))
        hd_buf_puts(dialect_edit_add(d, at, at), types[index]);
}

/* Behind the `<<<` or `<< <` at `at`; NULL: it is none. */
static const char *dialect_behind_opening(const char *at, const char *text)
{
    if (strncmp(at, "<<", 2) != 0 ||
        clang_ends_with(clang_back_over_blanks(at, text), text, "operator"))
        return NULL;
    const char *last = clang_skip_blanks(at + 2);
    return *last == '<' && last[1] != '<' ? last + 1 : NULL;
}

static void dialect_read_launch(struct dialect *d, const char *open, const char *behind)
{
    const char *end = NULL, *at = behind;
    unsigned depth = 0, index = 0;

    for (; *at && *at != ';' && !(end = depth ? NULL : dialect_behind_closing(at));
         at = clang_behind_token(at, d->text)) {
        if (strchr("([{", *at))
            depth++;
        else if (strchr(")]}", *at) && !depth--)
            return;
    }
    if (!end)
        return;
    if (behind - open > 3)
        hd_buf_puts(dialect_edit_add(d, open, behind), "<<<");
    dialect_read_argument(d, behind, index++);
    for (const char *next = behind; (next = clang_find_outside(next, d->text, ",")) && next < at;)
        dialect_read_argument(d, ++next, index++);
    if (end - at > 3)
        hd_buf_puts(dialect_edit_add(d, at, end), ">>>");
}

/* ---- assembly */

/* A `%` that is none of an operand is one of PTX. */
static void dialect_read_percents(struct dialect *d, const char *at, const char *end, bool operands)
{
    for (; at < end; at++) {
        if (*at != '%')
            continue;
        bool is_operand = isdigit((unsigned char)at[1]) || at[1] == '[' ||
                          (isalpha((unsigned char)at[1]) && isdigit((unsigned char)at[2]));
        if (at[1] == '%')
            at++;
        else if (!operands || !is_operand)
            hd_buf_puts(dialect_edit_add(d, at, at), "%");
    }
}

/* Is there an operand between these colons? */
static bool dialect_has_operands(const char *colon, const char *text)
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
static void dialect_read_constraints(struct dialect *d, const char *colon)
{
    const char *at = clang_find_outside(colon + 1, d->text, ":");

    while (at && *at && *at != ')') {
        const char *end = clang_behind_token(at, d->text);
        if (*at == '(')
            end = dialect_behind_brackets(at, d->text);
        else if (dialect_is_word(at, end, "\"C\""))
            hd_buf_puts(dialect_edit_add(d, at, end), "\"i\"");
        at = end;
    }
}

/* `at` is behind the word. */
static void dialect_read_assembly(struct dialect *d, const char *at)
{
    static const char *const qualifiers[] = {"volatile", "__volatile__", "__volatile", "inline",
                                             "goto"};

    for (at = clang_skip_blanks(at); clang_is_of_name(*at); at = clang_skip_blanks(at)) {
        const char *end = clang_behind_token(at, d->text);
        if (!dialect_is_one_of(at, end, qualifiers, HD_COUNT_OF(qualifiers)))
            return;
        at = end;
    }
    const char *colon = *at == '(' ? clang_find_outside(at + 1, d->text, ":") : NULL;
    if (!colon)
        return; /* such assembly is taken as it is */
    bool operands = dialect_has_operands(colon, d->text);
    for (at++; at < colon;) {
        const char *end = clang_behind_token(at, d->text);
        if (*at == '"' || (end > at && end[-1] == '"'))
            dialect_read_percents(d, at, end, operands);
        at = end;
    }
    dialect_read_constraints(d, colon);
}

/* ---- attributes */

/* `at` is [[ behind a specifier, where clang takes none; behind it. */
static const char *dialect_read_attributes(struct dialect *d, const char *at)
{
    static const struct {
        const char *name, *becomes;
    } known[] = {{"nodiscard", "warn_unused_result"},
                 {"noreturn", "noreturn"},
                 {"maybe_unused", "unused"},
                 {"deprecated", "deprecated"}};
    const char *end = dialect_behind_brackets(at, d->text);
    struct hd_buf *out = dialect_edit_add(d, at, end);

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

static bool dialect_templates_add(struct dialect *d, const char *log, const char *said)
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
static bool dialect_members_add(struct dialect *d, const char *log)
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

static void dialect_read_member(struct dialect *d, const char *at, const char *behind)
{
    const char *before = clang_back_over_blanks(at, d->text), *open = clang_skip_blanks(behind);
    struct hd_str name = {at, (size_t)(behind - at)};

    if (before - d->text < 2 ||
        !(before[-1] == '.' || !strncmp(before - 2, "->", 2) || !strncmp(before - 2, "::", 2)))
        return;
    if (dialect_is_word(at, behind, "operator")) { /* of the operators only that of calls */
        if (*open != '(' || *clang_skip_blanks(open + 1) != ')')
            return;
        open = clang_skip_blanks(clang_skip_blanks(open + 1) + 1);
    }
    for (size_t i = 0; *open == '<' && i < d->templates.len; i++)
        if (hd_str_eq(d->templates.at[i], name)) {
            hd_buf_puts(dialect_edit_add(d, at, at), "template ");
            return;
        }
}

/* ---- constant conditions */

/* Of a condition that is a constant, whose bracket is behind the blanks at `at`: a static member of
 * the object that `this` points to is one of its class. A function that is not static fails as it
 * did. */
static void dialect_read_condition(struct dialect *d, const char *at)
{
    at = clang_skip_blanks(at);
    if (*at != '(')
        return;
    for (const char *end = dialect_behind_brackets(at, d->text), *behind; at < end; at = behind) {
        behind = clang_behind_token(at, d->text);
        const char *arrow = clang_skip_blanks(behind);
        if (dialect_is_word(at, behind, "this") && !strncmp(arrow, "->", 2))
            hd_buf_puts(dialect_edit_add(d, at, arrow + 2), "__heddle_bare<decltype(*this)>::");
    }
}

static bool dialect_is_constant_condition(const char *at, const char *behind, const char *text)
{
    return dialect_is_word(at, behind, "static_assert") ||
           (dialect_is_word(at, behind, "constexpr") &&
            clang_ends_with(clang_back_over_blanks(at, text), text, "if"));
}

/* ---- alignments */

/* The comma or bracket that ends an argument, commas of templates' arguments left out; NULL. */
static const char *dialect_argument_end(const char *at, const char *text)
{
    for (unsigned angles = 0; *at; at = clang_behind_token(at, text)) {
        if (*at == ')' || (*at == ',' && !angles))
            return at;
        if (!strncmp(at, "->", 2) || !strncmp(at, "<<", 2)) {
            at++;
            continue;
        }
        if (strchr("([{", *at))
            at = dialect_behind_brackets(at, text) - 1;
        angles += *at == '<';
        angles -= *at == '>' && angles;
    }
    return NULL;
}

/* Of __builtin_assume_aligned, whose bracket is behind the blanks at `at`. */
static void dialect_read_alignment(struct dialect *d, const char *at)
{
    at = clang_skip_blanks(at);
    const char *comma = *at == '(' ? dialect_argument_end(at + 1, d->text) : NULL;
    const char *end = comma && *comma == ',' ? dialect_argument_end(comma + 1, d->text) : NULL;

    if (!end)
        return;
    hd_buf_puts(dialect_edit_add(d, comma + 1, comma + 1), " sizeof(char[");
    hd_buf_puts(dialect_edit_add(d, end, end), "])");
}

/* ---- variables in shared memory */

/* The names that a declaration declares, from its type on; false: it is not one for a room. */
static bool dialect_names_read(const char *at, const char *end, const char *text, names_t *out)
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
            behind = dialect_behind_brackets(at, text);
        } else if (clang_is_of_name(*at) && *clang_skip_blanks(behind) == '(') {
            static const char *const groups[] = {"decltype", "__attribute__", "alignas",
                                                 "_Alignas"};
            if (!dialect_is_one_of(at, behind, groups, HD_COUNT_OF(groups)))
                return false;
            behind = dialect_behind_brackets(clang_skip_blanks(behind), text);
        } else if (clang_is_of_name(*at) && !angles) {
            name = (struct hd_str){at, (size_t)(behind - at)};
        }
        angles += *at == '<';
        angles -= *at == '>' && angles;
        at = behind;
    }
}

static bool dialect_is_plain_type(const char *at, const char *text)
{
    static const char *const words[] = {"bool",   "char",   "short",    "int",    "long",
                                        "float",  "double", "unsigned", "signed", "void",
                                        "struct", "union",  "class",    "enum",   "auto"};

    return dialect_is_one_of(at, clang_behind_token(at, text), words, HD_COUNT_OF(words));
}

/* A declaration whose specifiers end at `type`; behind it, or NULL: it stays as it is. */
static const char *dialect_read_shared(struct dialect *d, const char *type)
{
    const char *end = clang_find_outside(type, d->text, ";");
    bool is_global = true;
    names_t names = {0};

    if (!end || dialect_is_plain_type(type, d->text) ||
        !dialect_names_read(type, end, d->text, &names)) {
        hd_vec_fini(&names);
        return NULL;
    }
    for (size_t i = 0; i < d->bodies.len; i++)
        is_global = is_global && d->bodies.at[i].is_space;
    unsigned n = d->count++;
    struct hd_buf *out = dialect_edit_add(d, d->specifiers.at, end + 1);
    hd_buf_printf(out, "union __heddle_room_%u { struct { ", n);
    /* The specifiers but for those that are the room's. */
    for (const char *at = d->specifiers.at; at < type;) {
        const char *behind = clang_behind_token(at, d->text);
        if (!strncmp(at, SHARED, strlen(SHARED)))
            behind = at + strlen(SHARED);
        else if (!dialect_is_word(at, behind, "static"))
            hd_buf_append(out, at, (size_t)(behind - at));
        at = behind;
    }
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

/*
 * A declaration of shared memory that the launch gives, from its type on. It has as much as the
 * launch says, whatever the first bound is; nvcc warns of that.
 */
static void dialect_read_extern_shared(struct dialect *d, const char *type)
{
    const char *end = clang_find_outside(type, d->text, ";"), *behind;
    unsigned angles = 0;
    bool has_bound = false;

    for (const char *at = type; end && at < end; at = behind) {
        behind = clang_behind_token(at, d->text);
        angles += *at == '<';
        angles -= *at == '>' && angles;
        if (*at == '(' || *at == '[')
            behind = dialect_behind_brackets(at, d->text);
        if (*at == ',' && !angles)
            has_bound = false;
        if (*at != '[' || angles || has_bound)
            continue;
        has_bound = true;
        (void)dialect_edit_add(d, at + 1, behind - 1);
    }
}

/* ---- all of it */

/* Behind what stands at `at`, if it is of specifiers; NULL: it is not. */
static const char *dialect_read_specifier(struct dialect *d, const char *at, const char *behind)
{
    static const char *const words[] = {"static",   "const",     "volatile",   "extern",
                                        "inline",   "constexpr", "__inline__", "__inline",
                                        "explicit", "virtual",   "friend",     "thread_local"};
    struct specifiers *s = &d->specifiers;
    bool follows = s->at != NULL;
    const char *first = at;

    if (dialect_is_one_of(at, behind, words, HD_COUNT_OF(words))) {
        s->has_extern |= dialect_is_word(at, behind, "extern");
    } else if (dialect_is_word(at, behind, "__attribute__")) {
        s->has_shared |= !strncmp(at, SHARED, strlen(SHARED));
        behind = dialect_behind_brackets(clang_skip_blanks(behind), d->text);
    } else if (dialect_is_word(at, behind, "alignas")) {
        if (follows)
            hd_buf_puts(dialect_edit_add(d, at, behind), "_Alignas");
        behind = dialect_behind_brackets(clang_skip_blanks(behind), d->text);
    } else if (!strncmp(at, "[[", 2)) {
        behind = follows ? dialect_read_attributes(d, at) : dialect_behind_brackets(at, d->text);
    } else {
        return NULL;
    }
    if (!follows)
        s->at = first;
    return behind;
}

static void dialect_read_brace(struct dialect *d, const char *at, const char *behind)
{
    static const char *const spaces[] = {"namespace", "extern"};

    if (*at == '{') {
        const char *head = clang_skip_blanks(d->head);
        bool is_space = false;

        for (; head < at && !is_space; head = clang_skip_blanks(clang_behind_token(head, d->text)))
            is_space = dialect_is_one_of(head, clang_behind_token(head, d->text), spaces,
                                         HD_COUNT_OF(spaces)) &&
                       !memchr(head, '(', (size_t)(at - head));
        d->failed |= !hd_vec_push(&d->bodies, ((struct body){d->statement, at, is_space}));
    }
    if (strchr("{};", *at))
        d->head = d->statement = behind;
    if (*at == '}' && d->bodies.len) {
        struct body body = hd_vec_pop(&d->bodies);
        if (strchr(",{).[", *clang_skip_blanks(behind)))
            d->statement = body.statement;
    }
}

/* ---- what clang refuses by name */

/* The last `constexpr` of a declaration that ends at `end`, but for those of conditions; NULL. */
static const char *dialect_constexpr_find(struct dialect *d, const char *at, const char *end,
                                          bool *out_of_lambda)
{
    const char *found = NULL, *before = at;
    bool lambda = false;

    *out_of_lambda = false;
    for (const char *behind; at < end; before = at, at = clang_skip_blanks(behind)) {
        behind = clang_behind_token(at, d->text);
        if (*at == '[' && at[1] != '[' && *before != '[' && *before != ']' && *before != ')' &&
            !clang_is_of_name(*before))
            lambda = true;
        if (dialect_is_word(at, behind, "constexpr") &&
            !clang_ends_with(clang_back_over_blanks(at, d->text), d->text, "if")) {
            found = at;
            *out_of_lambda = lambda;
        }
    }
    return found;
}

/*
 * In templates nvcc lets functions be constexpr that have variables of no literal class. Here they
 * are what such a function is besides: inline, and of both sides unless they say of which. What
 * calls them may be constexpr.
 */
static bool dialect_constexpr_drop(struct dialect *d, const char *begin, const char *end)
{
    static const char word[] = "constexpr", inlined[] = "inline";
    bool of_lambda;

    begin = clang_skip_blanks(begin);
    const char *at = dialect_constexpr_find(d, begin, end, &of_lambda);
    if (!at)
        return false;
    size_t length = (size_t)(end - begin);
    struct hd_buf *out = dialect_edit_add(d, at, at + strlen(word));
    hd_buf_puts(out, "_Pragma(\"clang diagnostic ignored \\\"-Winvalid-constexpr\\\"\")");
    if (of_lambda)
        return true;
    if (!memmem(begin, length, inlined, strlen(inlined)))
        hd_buf_puts(out, " inline");
    if (!memmem(begin, length, "((host", 6) && !memmem(begin, length, "((device", 8))
        hd_buf_puts(out, " __attribute__((host)) __attribute__((device))");
    return true;
}

static void dialect_read_refusal(struct dialect *d, enum clang_refused what, const char *at)
{
    switch (what) {
    case CLANG_REFUSED_MEMBER:
        hd_buf_puts(dialect_edit_add(d, at, at), "this->");
        break;
    case CLANG_REFUSED_TYPE:
        hd_buf_puts(dialect_edit_add(d, at, at), "typename ");
        break;
    case CLANG_REFUSED_EARLIER:
        (void)dialect_constexpr_drop(d, d->statement, at);
        break;
    case CLANG_REFUSED_VARIABLE:
        for (size_t i = d->bodies.len; i-- > 0;)
            if (dialect_constexpr_drop(d, d->bodies.at[i].statement, d->bodies.at[i].brace))
                break;
        break;
    }
}

/* ---- pragmas */

/* nvcc reads preprocessed text again, so a macro that stands for a pragma is one where it begins a
 * line; clang puts blanks in front of what is none. Behind the line. */
static const char *dialect_read_pragma(struct dialect *d, const char *at)
{
    const char *line = at;

    while (line > d->text && (line[-1] == ' ' || line[-1] == '\t'))
        line--;
    const char *word = clang_skip_blanks(at + 1);
    if (line == at || (line > d->text && line[-1] != '\n') ||
        !dialect_is_word(word, clang_behind_token(word, d->text), "pragma"))
        return at + 1;
    (void)dialect_edit_add(d, line, at);
    return at + strcspn(at, "\n");
}

static void dialect_text_read(struct dialect *d)
{
    static const char *const assembly[] = {"asm", "__asm__", "__asm"};
    const char *behind;

    for (const char *at = d->text; *at && !d->failed; at = behind) {
        behind = clang_behind_token(at, d->text);
        if (*at == '#' && at + 1 == behind)
            behind = dialect_read_pragma(d, at);
        if (isspace((unsigned char)*at) || *at == '#')
            continue;
        const struct clang_refusal *all = d->refusals.at;
        for (; d->refusal < d->refusals.len && all[d->refusal].at <= at; d->refusal++)
            if (all[d->refusal].at == at)
                dialect_read_refusal(d, all[d->refusal].what, at);
        if (d->bare && dialect_is_constant_condition(at, behind, d->text))
            dialect_read_condition(d, behind);
        if (d->crashed && dialect_is_word(at, behind, "__builtin_assume_aligned"))
            dialect_read_alignment(d, behind);
        if (d->templates.len && clang_is_of_name(*at))
            dialect_read_member(d, at, behind);
        const char *specifier = dialect_read_specifier(d, at, behind);
        if (specifier) {
            behind = specifier;
            continue;
        }
        const struct specifiers *s = &d->specifiers;
        const char *shared = s->at && d->rooms && s->has_shared && !s->has_extern
                                 ? dialect_read_shared(d, at)
                                 : NULL;
        if (s->at && d->externs && s->has_shared && s->has_extern)
            dialect_read_extern_shared(d, at);
        d->specifiers = (struct specifiers){.at = NULL};
        if (shared) {
            behind = shared;
            d->head = behind;
            continue;
        }
        dialect_read_brace(d, at, behind);
        const char *opening = dialect_behind_opening(at, d->text);
        if (opening) {
            dialect_read_launch(d, at, opening);
            behind = opening;
        } else if (dialect_is_one_of(at, behind, assembly, HD_COUNT_OF(assembly))) {
            dialect_read_assembly(d, behind);
        }
    }
}

static int dialect_edit_compare(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Edits of what a room has taken over are the room's: it is put as it was. */
static void dialect_edits_put(struct dialect *d, struct hd_buf *out)
{
    const char *at = d->text;

    qsort(d->edits.at, d->edits.len, sizeof(*d->edits.at), dialect_edit_compare);
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

/* A terminal's log has colours: ESC [ ... m. */
static void dialect_colours_drop(const char *log, struct hd_buf *out)
{
    for (const char *end; *log; log = end) {
        end = strchr(log, '\033');
        if (!end) {
            hd_buf_puts(out, log);
            return;
        }
        hd_buf_append(out, log, (size_t)(end - log));
        end += strcspn(end, "mK\n");
        end += *end == 'm' || *end == 'K';
    }
}

static void dialect_log_read(struct dialect *d, const char *log, bool *out_lost)
{
    d->rooms = strstr(log, SHARED_REFUSED) != NULL;
    d->externs = strstr(log, EXTERN_REFUSED) != NULL;
    d->crashed = strstr(log, CRASHED) != NULL;
    d->bare = strstr(log, THIS_REFUSED) != NULL;
    d->failed =
        !dialect_members_add(d, log) ||
        !dialect_templates_add(d, log, "'template' keyword prior to dependent template name '") ||
        !dialect_templates_add(d, log, "use 'template' keyword to treat '") ||
        !clang_refusals_read(d->text, log, &d->refusals, out_lost);
}

enum hd_status clang_dialect_put(const char *text, const char *log, struct hd_buf *out)
{
    struct dialect d = {.text = text, .head = text, .statement = text};
    struct hd_buf plain;
    bool lost = false;

    hd_buf_init(&plain);
    dialect_colours_drop(log, &plain);
    dialect_log_read(&d, plain.ptr ? plain.ptr : "", &lost);
    dialect_text_read(&d);
    if (d.edits.len)
        dialect_edits_put(&d, out);
    else if (lost)
        hd_buf_puts(out, text);
    bool failed = d.failed || out->failed || plain.failed;
    for (size_t i = 0; i < d.edits.len; i++)
        hd_buf_fini(&d.edits.at[i].text);
    hd_vec_fini(&d.edits);
    hd_vec_fini(&d.bodies);
    hd_vec_fini(&d.templates);
    hd_vec_fini(&d.refusals);
    hd_buf_fini(&plain);
    return failed ? hd_error(HD_NO_MEMORY, "no memory for a source's dialect") : HD_OK;
}
