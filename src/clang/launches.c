/*
 * Kernels that launch kernels, in preprocessed source. clang 19 refuses `kernel<<<...>>>(...)` in
 * device code, for a kernel may not be named there. So the two passes see other text:
 *
 *     device   kernels are functions of both sides that an annotation marks; a launch is a call
 *              of the kernel and one of __heddle_launched() with what stood between <<< and >>>.
 *              In IR the pair becomes a launch, and the function a kernel (launches_ir.c).
 *     host     a launch that only device code makes is nothing.
 *
 * Whose code it is, is read off the words in front of a body: clang decides no other way.
 */
#include "clang/clang.h"
#include "clang/tokens.h"

#include <string.h>

#include "base/vec.h"

#define GLOBAL "__attribute__((global))"
#define DEVICE "__attribute__((device))"
#define HOST   "__attribute__((host))"
#define KERNEL "__attribute__((host, device, used, annotate(\"" CLANG_KERNEL_NOTE "\")))"

/* ---- scopes and launches */

/* A bracket that is open: whose code stands in it, and where the words begin that are in front of
 * what comes next. */
struct scope {
    const char *head;
    bool is_body; /* { */
    bool on_device, on_host;
};

struct launch {
    const char *callee, *open, *close, *end; /* callee <<< config >>> (args) end */
    bool on_device, on_host;
};

struct source {
    const char *text;
    HD_VEC(struct scope) scopes;
    HD_VEC(struct launch) launches; /* in the order of their <<< */
    bool failed;
};

static bool launches_head_says(const char *head, const char *end, const char *attribute)
{
    return memmem(head, (size_t)(end - head), attribute, strlen(attribute)) != NULL;
}

static void launches_scope_open(struct source *s, const char *at)
{
    struct scope inner = hd_vec_last(&s->scopes);
    const char *head = inner.head;
    bool device = launches_head_says(head, at, DEVICE) || launches_head_says(head, at, GLOBAL);
    bool host = launches_head_says(head, at, HOST);

    inner.head = at + 1;
    inner.is_body = *at == '{';
    if (inner.is_body && (device || host)) {
        inner.on_device = device;
        inner.on_host = host;
    }
    s->failed |= !hd_vec_push(&s->scopes, inner);
}

static void launches_scope_close(struct source *s, const char *behind)
{
    const char *next = clang_skip_blanks(behind);

    if (s->scopes.len == 1)
        return; /* nothing is open: clang says so */
    bool ends = hd_vec_pop(&s->scopes).is_body;
    if (ends && *next != ',' && *next != '{') /* a constructor's `: member{value}` goes on */
        hd_vec_last(&s->scopes).head = behind;
}

/* ---- the kernel's name, which stands in front of <<< */

/* From behind a closing bracket to the opening one. */
static const char *launches_back_over_brackets(const char *at, const char *text, char open,
                                               char close)
{
    unsigned depth = 0;

    while (at > text) {
        at--;
        if (*at == close && !(close == '>' && at > text && at[-1] == '-'))
            depth++;
        else if (*at == open && --depth == 0)
            return at;
        else if (close == '>' && *at == ')')
            at = launches_back_over_brackets(at + 1, text, '(', ')');
    }
    return at;
}

static const char *launches_back_over_name(const char *at, const char *text)
{
    while (at > text && clang_is_of_name(at[-1]))
        at--;
    return at;
}

/* One name with its template arguments, subscripts or parentheses. */
static const char *launches_back_over_part(const char *at, const char *text)
{
    static const char brackets[][2] = {{'<', '>'}, {'[', ']'}, {'(', ')'}};

    for (size_t i = 0; i < HD_COUNT_OF(brackets); i++)
        if (at > text && at[-1] == brackets[i][1]) {
            at = launches_back_over_brackets(at, text, brackets[i][0], brackets[i][1]);
            return launches_back_over_part(clang_back_over_blanks(at, text), text);
        }
    return launches_back_over_name(at, text);
}

/* Over `::`, `->` or `.`, and `template` behind it; the same place when there is none. */
static const char *launches_back_over_joint(const char *at, const char *text)
{
    static const char *const joints[] = {"::", "->", "."};
    const char *before = clang_back_over_blanks(at, text);

    if (clang_ends_with(before, text, "template"))
        before = clang_back_over_blanks(before - strlen("template"), text);
    for (size_t i = 0; i < HD_COUNT_OF(joints); i++)
        if (clang_ends_with(before, text, joints[i]))
            return clang_back_over_blanks(before - strlen(joints[i]), text);
    return at;
}

static const char *launches_callee_of(const char *open, const char *text)
{
    const char *at = clang_back_over_blanks(open, text), *before = at;

    do {
        at = launches_back_over_part(before, text);
        before = launches_back_over_joint(at, text);
    } while (before != at);
    return at;
}

/* ---- finding them */

static void launches_launch_add(struct source *s, const char *open)
{
    const struct scope *scope = &hd_vec_last(&s->scopes);
    const char *close = clang_find_outside(open + 3, s->text, ">>>");
    const char *args = close ? clang_skip_blanks(close + 3) : NULL;
    const char *end = args && *args == '(' ? clang_find_outside(args + 1, s->text, ")") : NULL;

    if (end)
        s->failed |= !hd_vec_push(&s->launches,
                                  (struct launch){launches_callee_of(open, s->text), open, close,
                                                  end + 1, scope->on_device, scope->on_host});
}

static bool launches_is_launch(const char *at, const char *text)
{
    return !strncmp(at, "<<<", 3) && at[3] != '<' && (at == text || at[-1] != '<') &&
           !clang_ends_with(clang_back_over_blanks(at, text), text, "operator");
}

static void launches_read_token(struct source *s, const char *at, const char *behind)
{
    struct scope *scope = &hd_vec_last(&s->scopes);

    if (*at == '{' || *at == '(')
        launches_scope_open(s, at);
    else if (*at == '}' || *at == ')')
        launches_scope_close(s, behind);
    else if (*at == ';' || (*at == ',' && !scope->is_body))
        scope->head = behind;
    else if (launches_is_launch(at, s->text))
        launches_launch_add(s, at);
}

static enum hd_status launches_source_read(const char *text, struct source *s)
{
    *s = (struct source){.text = text};
    s->failed = !hd_vec_push(&s->scopes, (struct scope){.head = text, .is_body = true});
    for (const char *at = text; *at && !s->failed;) {
        const char *behind = clang_behind_token(at, text);
        launches_read_token(s, at, behind);
        at = behind;
    }
    return s->failed ? hd_error(HD_NO_MEMORY, "no memory for a source's launches") : HD_OK;
}

static void launches_source_fini(struct source *s)
{
    hd_vec_fini(&s->scopes);
    hd_vec_fini(&s->launches);
}

/* ---- the two texts */

static void launches_put_range(const char *at, const char *end, struct hd_buf *out)
{
    hd_buf_append(out, at, (size_t)(end - at));
}

static void launches_put_newlines(const char *at, const char *end, struct hd_buf *out)
{
    for (; at < end; at++)
        if (*at == '\n')
            hd_buf_putc(out, '\n');
}

/* The next launch that is in the range: brackets of a text that is no program may cross. */
static const struct launch *launches_next_launch(const struct source *s, const char *at,
                                                 const char *end)
{
    const struct launch *next = NULL;

    for (size_t i = 0; i < s->launches.len; i++) {
        const struct launch *l = &s->launches.at[i];
        if (l->callee >= at && l->end <= end && (!next || l->callee < next->callee))
            next = l;
    }
    return next;
}

static void launches_put_kernels(const char *at, const char *end, struct hd_buf *out)
{
    const char *found;

    while ((found = memmem(at, (size_t)(end - at), GLOBAL, strlen(GLOBAL)))) {
        launches_put_range(at, found, out);
        hd_buf_puts(out, KERNEL);
        at = found + strlen(GLOBAL);
    }
    launches_put_range(at, end, out);
}

/* Launches may stand in arguments of launches, in a lambda. */
static void launches_put_device(const struct source *s, const char *at, const char *end,
                                struct hd_buf *out)
{
    const struct launch *l;

    while ((l = launches_next_launch(s, at, end))) {
        launches_put_kernels(at, l->callee, out);
        hd_buf_putc(out, '(');
        launches_put_range(l->callee, l->open, out);
        launches_put_device(s, l->close + 3, l->end, out);
        hd_buf_puts(out, ", " CLANG_LAUNCHED "(");
        launches_put_device(s, l->open + 3, l->close, out);
        hd_buf_puts(out, "))");
        at = l->end;
    }
    launches_put_kernels(at, end, out);
}

/* `{1, 2}` as an argument: only the kernel's parameter gives it a type. */
static bool launches_has_list(const char *at, const char *end, const char *text)
{
    for (; at < end; at++)
        if (*at == '{' && strchr("<(,", clang_back_over_blanks(at, text)[-1]))
            return true;
    return false;
}

/*
 * What the host's pass has of a device launch: a use of what it uses, as lambdas capture that, and
 * both passes have to see the same captures.
 */
static void launches_put_unlaunched(const struct launch *l, const char *text, struct hd_buf *out)
{
    if (launches_has_list(l->open, l->end, text)) {
        hd_buf_puts(out, "((void)0)");
        launches_put_newlines(l->callee, l->end, out);
        return;
    }
    launches_put_newlines(l->callee, l->open, out);
    hd_buf_puts(out, "((void)(false && " CLANG_UNLAUNCHED "(");
    launches_put_range(l->open + 3, l->close, out);
    hd_buf_puts(out, ") && " CLANG_UNLAUNCHED);
    launches_put_range(l->close + 3, l->end, out);
    hd_buf_puts(out, "))");
}

static void launches_put_host(const struct source *s, struct hd_buf *out)
{
    const char *at = s->text;

    for (size_t i = 0; i < s->launches.len; i++) {
        const struct launch *l = &s->launches.at[i];
        if (!l->on_device || l->on_host || l->callee < at)
            continue;
        launches_put_range(at, l->callee, out);
        launches_put_unlaunched(l, s->text, out);
        at = l->end;
    }
    hd_buf_puts(out, at);
}

static bool on_device(const struct source *s)
{
    for (size_t i = 0; i < s->launches.len; i++)
        if (s->launches.at[i].on_device)
            return true;
    return false;
}

enum hd_status clang_launches_put(const char *text, enum clang_side side, struct hd_buf *out)
{
    struct source s;
    enum hd_status status = launches_source_read(text, &s);

    if (status == HD_OK && on_device(&s)) {
        if (side == CLANG_DEVICE_SIDE)
            launches_put_device(&s, text, text + strlen(text), out);
        else
            launches_put_host(&s, out);
        if (out->failed)
            status = hd_error(HD_NO_MEMORY, "no memory for a source's launches");
    }
    launches_source_fini(&s);
    return status;
}
