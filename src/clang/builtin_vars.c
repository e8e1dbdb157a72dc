/*
 * threadIdx, blockIdx, blockDim and gridDim. To a program they are variables of CUDA's own types,
 * which it may copy, bind to references and deduce types from. So the headers declare them as such,
 * and here what reads them reads special registers:
 *
 *     %9 = load i32, ptr addrspacecast (ptr addrspace(1) @blockDim to ptr), align 4
 *     %9 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
 *
 * Where the variable itself is wanted (copies, references), the function gets one of its own at its
 * entry, which optimisers take apart.
 */
#include "clang/builtin_vars.h"

#include "base/compiler.h"
#include "clang/ir_text.h"

static const struct {
    const char *name, *reg, *place; /* what an expression of it as a pointer begins with */
} vars[CLANG_BUILTIN_VARS] = {
    {"@threadIdx", "tid", "addrspacecast (ptr addrspace(1) @threadIdx to ptr)"},
    {"@blockIdx", "ctaid", "addrspacecast (ptr addrspace(1) @blockIdx to ptr)"},
    {"@blockDim", "ntid", "addrspacecast (ptr addrspace(1) @blockDim to ptr)"},
    {"@gridDim", "nctaid", "addrspacecast (ptr addrspace(1) @gridDim to ptr)"},
};

static struct hd_str between(const char *begin, const char *end)
{
    return (struct hd_str){begin, (size_t)(end - begin)};
}

/* A place of a variable in a line: the text of it, and which of its members it is. */
struct use {
    struct hd_str text;
    size_t var;
    unsigned member;
};

/* "getelementptr inbounds (%struct.uint3, ptr PLACE, i32 0, i32 1)" around the place. */
static void member_read(struct hd_str line, struct use *use)
{
    static const char gep[] = "getelementptr ";
    const char *begin = use->text.ptr, *end = use->text.ptr + use->text.len;
    const char *line_end = line.ptr + line.len;
    struct hd_str before = between(line.ptr, begin);
    const char *close = memchr(end, ')', (size_t)(line_end - end));
    unsigned depth = 0;

    if (before.len < 6 || memcmp(begin - 6, ", ptr ", 6) != 0 || !close || *end != ',')
        return;
    /* Back to the bracket that is open here. */
    const char *open = begin;
    while (open > line.ptr && !(*--open == '(' && !depth))
        depth += (*open == ')') - (*open == '(');
    const char *word = open;
    while (word > line.ptr && strncmp(word, gep, strlen(gep)) != 0)
        word--;
    if (word == line.ptr || ir_find(between(word, open), "("))
        return;
    unsigned member = (unsigned)(close[-1] - '0');
    if (hd_str_starts(between(open + 1, begin), "i8,"))
        member /= 4;
    use->text = between(word, close + 1);
    use->member = member;
}

static bool use_find(struct hd_str line, struct use *out)
{
    for (size_t i = 0; i < CLANG_BUILTIN_VARS; i++) {
        const char *at = ir_find(line, vars[i].place);

        if (!at)
            continue;
        *out = (struct use){{at, strlen(vars[i].place)}, i, 0};
        member_read(line, out);
        return true;
    }
    return false;
}

/* "  %9 = load i32, ptr USE, align 4": does it do nothing else? */
static bool is_load(struct hd_str line, const struct use *use, struct hd_str *out_result)
{
    static const char load[] = " = load i32, ptr ";
    const char *at = ir_find(line, load);

    if (!at || at + strlen(load) != use->text.ptr || use->member > 2)
        return false;
    *out_result = between(line.ptr, at);
    return true;
}

bool clang_builtin_var_put(struct hd_str line, struct hd_buf *out)
{
    struct hd_str result, rest = line;
    struct use use;

    if (!line.len || line.ptr[0] != ' ' || !use_find(line, &use))
        return false;
    if (is_load(line, &use, &result)) {
        const char *debug = ir_find(line, ", !dbg !");

        hd_buf_printf(out, "%.*s = call i32 @llvm.nvvm.read.ptx.sreg.%s.%c()", HD_STR_ARG(result),
                      vars[use.var].reg, "xyz"[use.member]);
        if (debug)
            hd_buf_append(out, debug, (size_t)(line.ptr + line.len - debug));
        hd_buf_putc(out, '\n');
        return true;
    }
    while (use_find(rest, &use)) {
        const char *next;

        /* The first of several variables' uses in a line. */
        for (struct use other; use_find(between(rest.ptr, use.text.ptr), &other);)
            use = other;
        next = use.text.ptr + use.text.len;
        hd_buf_append(out, rest.ptr, (size_t)(use.text.ptr - rest.ptr));
        hd_buf_printf(out, "%%heddle.%s", vars[use.var].name + 1);
        if (use.member)
            hd_buf_printf(out, ".%u", use.member);
        rest = between(next, rest.ptr + rest.len);
    }
    hd_buf_append(out, rest.ptr, rest.len);
    hd_buf_putc(out, '\n');
    return true;
}

/* Which variables the function whose body begins at `ir` wants as such: a bit each. */
static unsigned wanted_by(const char *ir)
{
    unsigned wanted = 0;

    for (; *ir; ir = ir_next_line(ir)) {
        struct hd_str line = ir_line_at(ir), result;
        struct use use;

        if (hd_str_is(line, "}"))
            break;
        if (!ir_find(line, "addrspacecast (") || !use_find(line, &use) ||
            is_load(line, &use, &result))
            continue;
        for (size_t i = 0; i < CLANG_BUILTIN_VARS; i++)
            wanted |= ir_find(line, vars[i].place) ? 1u << i : 0;
    }
    return wanted;
}

/* Where the instructions of a function begin: behind its first block's label, if that is told. */
static const char *behind_label(const char *ir)
{
    struct hd_str line = ir_line_at(ir);
    bool is_label = line.len && line.ptr[0] != ' ' && memchr(line.ptr, ':', line.len);

    return is_label ? ir_next_line(ir) : ir;
}

const char *clang_builtin_vars_enter(const char *ir, struct hd_buf *out)
{
    unsigned wanted = wanted_by(ir);
    const char *first = wanted ? behind_label(ir) : ir;

    hd_buf_append(out, ir, (size_t)(first - ir));
    for (size_t i = 0; i < CLANG_BUILTIN_VARS; i++) {
        const char *name = vars[i].name + 1;

        if (!(wanted & 1u << i))
            continue;
        hd_buf_printf(out, "  %%heddle.%s = alloca [3 x i32], align 4\n", name);
        for (unsigned member = 1; member < 3; member++)
            hd_buf_printf(out,
                          "  %%heddle.%s.%u = getelementptr inbounds i8, ptr %%heddle.%s, i64 %u\n",
                          name, member, name, 4 * member);
        for (unsigned member = 0; member < 3; member++) {
            hd_buf_printf(out,
                          "  %%heddle.%s.value.%u = call i32 @llvm.nvvm.read.ptx.sreg.%s.%c()\n",
                          name, member, vars[i].reg, "xyz"[member]);
            hd_buf_printf(out, "  store i32 %%heddle.%s.value.%u, ptr %%heddle.%s", name, member,
                          name);
            if (member)
                hd_buf_printf(out, ".%u", member);
            hd_buf_puts(out, ", align 4\n");
        }
    }
    return first;
}

/* Without the line that declares it, where that is all that is left of it. */
static void declaration_drop(const char *name, struct hd_buf *ir)
{
    char begins[32];
    size_t len = strlen(name);
    char *line = NULL;

    (void)snprintf(begins, sizeof(begins), "%s = ", name);
    for (char *at = ir->ptr; (at = strstr(at, name)); at += len) {
        if (at > ir->ptr && at[-1] == '\n' && !strncmp(at, begins, strlen(begins)))
            line = at;
        else if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$",
                         at[len]))
            return;
    }
    if (!line)
        return;
    char *next = line + strcspn(line, "\n");
    next += *next == '\n';
    memmove(line, next, ir->len - (size_t)(next - ir->ptr) + 1);
    ir->len -= (size_t)(next - line);
}

/* Is it called, and nowhere declared? */
static bool lacks_declaration(const char *ir, const char *function)
{
    const char *at = ir;
    bool is_called = false;

    for (; (at = strstr(at, function)); at += strlen(function)) {
        const char *line = at;

        while (line > ir && line[-1] != '\n')
            line--;
        if (!strncmp(line, "declare ", strlen("declare ")))
            return false;
        is_called = true;
    }
    return is_called;
}

void clang_builtin_vars_end(struct hd_buf *ir)
{
    char function[64];

    if (ir->failed || !ir->len)
        return;
    for (size_t i = 0; i < CLANG_BUILTIN_VARS; i++) {
        declaration_drop(vars[i].name, ir);
        for (unsigned member = 0; member < 3; member++) {
            (void)snprintf(function, sizeof(function), "@llvm.nvvm.read.ptx.sreg.%s.%c()",
                           vars[i].reg, "xyz"[member]);
            if (lacks_declaration(ir->ptr, function))
                hd_buf_printf(ir, "declare i32 %s\n", function);
        }
    }
}
