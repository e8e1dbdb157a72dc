/*
 * __cluster_dims__ and __block_size__. LLVM 19 has no words of PTX for them, so the headers make
 * annotations of them, which the front end evaluates and its IR shows. Here they become directives
 * of the kernels.
 */
#include "clang/clang.h"
#include "clang/notes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* What host_defines.h makes of the two, and its PTX: always, and with sizes. */
static const struct kind {
    const char *name, *source, *words, *sizes;
} kinds[] = {
    {"heddle.cluster_dims", "__cluster_dims__", "\n.explicitcluster", "\n.reqnctapercluster "},
    {"heddle.block_size", "__block_size__", "\n.blocksareclusters", "\n.reqntid "},
    {"heddle.block_cluster", "__block_size__", "", "\n.reqnctapercluster "},
};

/* ---- annotations */

static const struct kind *kind_of(const struct clang_note *note)
{
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++)
        if (hd_str_is(note->kind, kinds[i].name))
            return &kinds[i];
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

static enum hd_status words_put(const struct clang_note *note, const struct kind *kind,
                                struct hd_buf *out)
{
    hd_buf_puts(out, kind->words);
    if (*note->args) {
        hd_buf_puts(out, kind->sizes);
        if (!put_sizes(note->args, out))
            return hd_error(HD_BAD_ARG, "%.*s: %s takes one to three sizes above 0",
                            HD_STR_ARG(note->function), kind->source);
    }
    return out->failed ? hd_error(HD_NO_MEMORY, "no memory for directives") : HD_OK;
}

enum hd_status clang_clusters_add(const struct hd_buf *ir, unsigned cc, struct hd_buf *ptx)
{
    struct clang_notes notes = clang_notes_of(ir->len ? ir->ptr : "");
    struct clang_note note;

    while (clang_notes_next(&notes, &note)) {
        const struct kind *kind = kind_of(&note);
        if (kind) {
            struct hd_buf words;
            if (cc < 90)
                return hd_error(HD_NOT_SUPPORTED, "%.*s: %s needs compute capability 9.0",
                                HD_STR_ARG(note.function), kind->source);
            hd_buf_init(&words);
            enum hd_status status = words_put(&note, kind, &words);
            if (status == HD_OK)
                status = insert(ptx, note.function, &words);
            hd_buf_fini(&words);
            HD_TRY(status);
        }
    }
    return HD_OK;
}
