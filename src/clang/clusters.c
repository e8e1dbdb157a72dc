/*
 * __cluster_dims__ and __block_size__. LLVM 19 has no words of PTX for them, so the headers make
 * annotations of them, which the front end evaluates and its IR shows:
 *
 *     @.str = private unnamed_addr constant [20 x i8] c"heddle.cluster_dims\00", ...
 *     @.args = private unnamed_addr constant { i32, i32 } { i32 2, i32 1 }, section "llvm.metadata"
 *     @llvm.global.annotations = ... [{ ptr, ptr, ptr, i32, ptr } { ptr @_Z1kPi, ptr @.str,
 *         ptr @.str1, i32 9, ptr @.args }, ...
 *
 * Here they become directives of the kernels.
 */
#include "clang/clang.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define LIST "\n@llvm.global.annotations = "

/* What host_defines.h makes of the two, and its PTX: always, and with sizes. */
static const struct kind {
    const char *name, *source, *words, *sizes;
} kinds[] = {
    {"heddle.cluster_dims", "__cluster_dims__", "\n.explicitcluster", "\n.reqnctapercluster "},
    {"heddle.block_size", "__block_size__", "\n.blocksareclusters", "\n.reqntid "},
    {"heddle.block_cluster", "__block_size__", "", "\n.reqnctapercluster "},
};
static const struct hd_str nothing;

/* ---- annotations */

struct note {
    struct hd_str kernel, kind, args;
};

/* What stands at "@name" or "@"name""; moves behind it. */
static struct hd_str symbol_at(const char **at)
{
    const char *first = *at + 1;
    bool quoted = *first == '"';

    first += quoted;
    struct hd_str name = {first, strcspn(first, quoted ? "\"" : ",} \n")};
    *at = name.ptr + name.len;
    return name;
}

/* The symbol after the next `ptr`; nothing when that is null. */
static struct hd_str next_pointer(const char **at)
{
    const char *pointer = strstr(*at, "ptr ");

    if (!pointer)
        return nothing;
    *at = pointer + 4;
    return **at == '@' ? symbol_at(at) : nothing;
}

static bool next_note(const char **at, const char *end, struct note *out)
{
    const char *entry = strstr(*at, "{ ptr @");

    if (!entry || entry >= end)
        return false;
    *at = entry + 2;
    out->kernel = next_pointer(at);
    out->kind = next_pointer(at);
    (void)next_pointer(at); /* the source */
    out->args = next_pointer(at);
    return true;
}

/* The rest of the line that defines a symbol, behind "constant "; "" when there is none. */
static const char *definition(const char *llvm, struct hd_str name)
{
    const char *at = llvm;

    while (name.len && (at = strstr(at, "\n@"))) {
        at += 2;
        if (!strncmp(at, name.ptr, name.len) && !strncmp(at + name.len, " = ", 3)) {
            const char *constant = strstr(at, " constant ");
            return constant ? constant + strlen(" constant ") : "";
        }
    }
    return "";
}

static const struct kind *kind_of(const char *llvm, const struct note *note)
{
    const char *text = strstr(definition(llvm, note->kind), "c\"");

    for (size_t i = 0; text && i < HD_COUNT_OF(kinds); i++) {
        size_t len = strlen(kinds[i].name);
        if (!strncmp(text + 2, kinds[i].name, len) && text[2 + len] == '\\')
            return &kinds[i];
    }
    return NULL;
}

/* "{ i32, i32 } { i32 2, i32 1 }, ..." as "2, 1, 1"; false: these are no sizes. */
static bool put_sizes(const char *args, struct hd_buf *out)
{
    const char *at = strstr(args, "} {");
    unsigned count = 0;

    for (at = at ? at + 3 : "}"; *at != '}' && count < 3; count++) {
        char *end;
        at += strspn(at, " ,i");
        (void)strtol(at, &end, 10); /* the width */
        long size = strtol(end, &end, 10);
        if (size < 1 || size > INT_MAX)
            return false;
        hd_buf_printf(out, "%s%ld", count ? ", " : "", size);
        at = end + strspn(end, " ");
    }
    for (bool good = count && *at == '}'; good && count < 3; count++)
        hd_buf_puts(out, ", 1");
    return count == 3 && *at == '}';
}

/* ---- directives */

/* Where a kernel's directives end and its body begins; NULL. */
static char *body_of(const struct hd_buf *ptx, struct hd_str kernel)
{
    char *at = ptx->ptr;

    while ((at = strstr(at, ".entry "))) {
        at += strlen(".entry ");
        if (!strncmp(at, kernel.ptr, kernel.len) && at[kernel.len] == '(')
            return strstr(at, "\n{");
    }
    return NULL;
}

static enum hd_status insert(struct hd_buf *ptx, struct hd_str kernel, const struct hd_buf *words)
{
    struct hd_buf whole;
    const char *body = body_of(ptx, kernel);

    if (!body)
        return hd_error(HD_INTERNAL, "%.*s: no kernel of this name was compiled",
                        HD_STR_ARG(kernel));
    hd_buf_init(&whole);
    hd_buf_append(&whole, ptx->ptr, (size_t)(body - ptx->ptr));
    hd_buf_append(&whole, words->ptr, words->len);
    hd_buf_puts(&whole, body);
    if (whole.failed) {
        hd_buf_fini(&whole);
        return hd_error(HD_NO_MEMORY, "%.*s: no memory for its PTX", HD_STR_ARG(kernel));
    }
    hd_buf_fini(ptx);
    *ptx = whole;
    return HD_OK;
}

static enum hd_status words_put(const char *llvm, const struct note *note, const struct kind *kind,
                                struct hd_buf *out)
{
    const char *args = definition(llvm, note->args);

    hd_buf_puts(out, kind->words);
    if (*args) {
        hd_buf_puts(out, kind->sizes);
        if (!put_sizes(args, out))
            return hd_error(HD_BAD_ARG, "%.*s: %s takes one to three sizes above 0",
                            HD_STR_ARG(note->kernel), kind->source);
    }
    return out->failed ? hd_error(HD_NO_MEMORY, "no memory for directives") : HD_OK;
}

static enum hd_status note_add(const char *llvm, const struct note *note, const struct kind *kind,
                               unsigned cc, struct hd_buf *ptx)
{
    struct hd_buf words;

    if (cc < 90)
        return hd_error(HD_NOT_SUPPORTED, "%.*s: %s needs compute capability 9.0",
                        HD_STR_ARG(note->kernel), kind->source);
    hd_buf_init(&words);
    enum hd_status status = words_put(llvm, note, kind, &words);
    if (status == HD_OK)
        status = insert(ptx, note->kernel, &words);
    hd_buf_fini(&words);
    return status;
}

enum hd_status clang_clusters_add(const struct hd_buf *ir, unsigned cc, struct hd_buf *ptx)
{
    struct note note;
    const char *at = ir->len ? strstr(ir->ptr, LIST) : NULL;
    const char *end = at ? at + 1 + strcspn(at + 1, "\n") : NULL;

    while (at && next_note(&at, end, &note)) {
        const struct kind *kind = kind_of(ir->ptr, &note);
        if (kind)
            HD_TRY(note_add(ir->ptr, &note, kind, cc, ptx));
    }
    return HD_OK;
}
