/*
 * Text as an operand of assembly: CUDA's constraint "C" takes the address of a constant array of
 * char, and what is in it stands where the template names the operand. clang knows none of that;
 * dialect.c makes it an "i", of which clang writes
 *
 *     @mode = internal addrspace(4) constant [5 x i8] c"wide\00"
 *     %7 = call i64 asm "mul.$1.s32 $0,$2;", "=l,i,r"(ptr addrspacecast (... @mode to ptr), i32 %6)
 *
 * and that is changed, between clang's two runs, into
 *
 *     %7 = call i64 asm "mul.wide.s32 $0,$2;", "=l,i,r"(i32 0, i32 %6)
 */
#include "clang/clang.h"
#include "clang/ir_text.h"

#include <ctype.h>
#include <stdlib.h>

/* A call of assembly in a line. */
struct call {
    struct hd_str line, text, constraints, args;
};

/* ---- reading */

/* Behind the quoted text at `at`. */
static const char *behind_quotes(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        ;
    return at < end ? at + 1 : NULL;
}

static struct hd_str between(const char *begin, const char *end)
{
    return (struct hd_str){begin, (size_t)(end - begin)};
}

static bool call_read(struct hd_str line, struct call *out)
{
    const char *end = line.ptr + line.len, *at = ir_find(line, " asm ");
    const char *quote = at ? memchr(at, '"', (size_t)(end - at)) : NULL;
    const char *behind = quote ? behind_quotes(quote, end) : NULL;
    unsigned depth = 0;

    if (!behind || end - behind < 4 || memcmp(behind, ", \"", 3) != 0)
        return false;
    out->line = line;
    out->text = between(quote + 1, behind - 1);
    quote = behind + 2;
    behind = behind_quotes(quote, end);
    if (!behind || behind == end || *behind != '(')
        return false;
    out->constraints = between(quote + 1, behind - 1);
    for (at = behind; at < end; at++) {
        if (*at == '"' && !(at = behind_quotes(at, end)))
            return false;
        if (*at == '(')
            depth++;
        else if (*at == ')' && --depth == 0)
            break;
    }
    out->args = between(behind + 1, at);
    return at < end;
}

/* The part up to a comma outside of brackets; *at goes behind it. */
static struct hd_str part_take(const char **at, const char *end)
{
    const char *begin = *at, *p = begin;
    int depth = 0;

    for (; p < end && (depth || *p != ','); p++)
        depth += (*p == '(' || *p == '{' || *p == '[') - (*p == ')' || *p == '}' || *p == ']');
    *at = p < end ? p + 1 : end;
    while (*at < end && **at == ' ')
        (*at)++;
    return between(begin, p);
}

/* What is in the array whose name stands in the argument, as IR writes it; false: no text. */
static bool array_find(const char *ir, struct hd_str arg, struct hd_str *out_text)
{
    const char *at = memchr(arg.ptr, '@', arg.len), *end = arg.ptr + arg.len, *behind;
    struct hd_buf definition;
    bool found = false;

    if (!at || ir_find(arg, "getelementptr"))
        return false;
    behind = at + 1;
    if (*behind == '"')
        behind = behind_quotes(behind, end);
    else
        while (behind < end && (isalnum((unsigned char)*behind) || strchr("._$-", *behind)))
            behind++;
    if (!behind)
        return false;
    hd_buf_init(&definition);
    hd_buf_printf(&definition, "\n%.*s = ", (int)(behind - at), at);
    const char *place = definition.failed ? NULL : strstr(ir, definition.ptr);
    hd_buf_fini(&definition);
    if (!place)
        return false;
    struct hd_str line = ir_line_at(place + 1);
    const char *text = ir_find(line, " c\"");
    if (text) {
        const char *last = behind_quotes(text + 2, line.ptr + line.len);
        *out_text = between(text + 3, last ? last - 1 : text + 3);
        const char *nul = ir_find(*out_text, "\\00");
        found = last && ir_find(line, "x i8] c\"");
        if (nul)
            out_text->len = (size_t)(nul - out_text->ptr);
    } else if (ir_find(line, "x i8] zeroinitializer")) {
        *out_text = HD_STR("");
        found = true;
    }
    return found;
}

/* ---- writing */

/* The template, in which operand `number` is the text. */
static void text_put(struct hd_str template, unsigned number, struct hd_str text,
                     struct hd_buf *out)
{
    const char *end = template.ptr + template.len;

    for (const char *at = template.ptr; at < end;) {
        if (*at != '$' || at + 1 == end || at[1] == '$') {
            size_t n = *at == '$' && at + 1 < end ? 2 : 1;
            hd_buf_append(out, at, n);
            at += n;
            continue;
        }
        bool has_brace = at[1] == '{';
        char *behind;
        const char *digits = at + 1 + has_brace;
        unsigned long value = isdigit((unsigned char)*digits) ? strtoul(digits, &behind, 10) : ~0ul;
        if (value != number) {
            hd_buf_append(out, at++, 1);
            continue;
        }
        at = behind;
        if (has_brace) {
            at = memchr(at, '}', (size_t)(end - at));
            at = at ? at + 1 : end;
        }
        for (size_t i = 0; i < text.len; i++)
            hd_buf_puts(out, text.ptr[i] == '$' ? "$$" : (char[2]){text.ptr[i], 0});
    }
}

bool clang_pasted_put(const char *ir, struct hd_str line, struct hd_buf *out)
{
    struct call call;
    struct hd_buf template, args, next;
    unsigned number = 0;
    bool any = false;

    if (!ir_find(line, " asm ") || !ir_find(line, "@") || !call_read(line, &call))
        return false;
    hd_buf_init(&template);
    hd_buf_init(&args);
    hd_buf_append(&template, call.text.ptr, call.text.len);
    const char *arg_at = call.args.ptr, *arg_end = arg_at + call.args.len;
    const char *end = call.constraints.ptr + call.constraints.len;
    for (const char *at = call.constraints.ptr; at < end; number++) {
        struct hd_str constraint = part_take(&at, end), arg, text;
        if (constraint.ptr[0] == '~' || (constraint.ptr[0] == '=' && constraint.ptr[1] != '*'))
            continue;
        arg = part_take(&arg_at, arg_end);
        hd_buf_puts(&args, args.len ? ", " : "");
        if (!hd_str_is(constraint, "i") || !array_find(ir, arg, &text)) {
            hd_buf_append(&args, arg.ptr, arg.len);
            continue;
        }
        hd_buf_puts(&args, "i32 0");
        hd_buf_init(&next);
        text_put((struct hd_str){template.ptr, template.len}, number, text, &next);
        hd_buf_fini(&template);
        template = next;
        any = true;
    }
    if (any) {
        hd_buf_append(out, line.ptr, (size_t)(call.text.ptr - line.ptr));
        hd_buf_append(out, template.ptr, template.len);
        hd_buf_append(out, call.text.ptr + call.text.len,
                      (size_t)(call.args.ptr - call.text.ptr) - call.text.len);
        hd_buf_append(out, args.ptr, args.len);
        hd_buf_append(out, call.args.ptr + call.args.len,
                      (size_t)(line.ptr + line.len - call.args.ptr) - call.args.len);
        hd_buf_putc(out, '\n');
        out->failed |= template.failed || args.failed;
    }
    hd_buf_fini(&template);
    hd_buf_fini(&args);
    return any;
}
