/*
 * Variables of a program's own scope, `static __device__ int n;`. NVIDIA's compiler keeps them and
 * calls them `n` in PTX, so that a host that has no more than the module finds them. clang's name
 * is `_ZL1n`, and its optimisers fold what the program itself does not see change.
 */
#include "clang/clang.h"

#include <ctype.h>
#include <stdlib.h>

/* Behind `_ZL` and a length: exactly that name. Functions have their parameters behind it. */
static struct hd_str plain_name(struct hd_str symbol)
{
    static const struct hd_str none;
    char *name;

    if (symbol.len < 5 || memcmp(symbol.ptr, "_ZL", 3) != 0 ||
        !isdigit((unsigned char)symbol.ptr[3]))
        return none;
    unsigned long len = strtoul(symbol.ptr + 3, &name, 10);
    return len == symbol.len - (size_t)(name - symbol.ptr) ? (struct hd_str){name, len} : none;
}

/* ---- in IR */

static const char *const spaces[] = {"addrspace(1) ", "addrspace(4) "}; /* global, constant */

bool clang_static_put(struct hd_str line, struct hd_buf *out)
{
    static const char linkage[] = " = internal ", what[] = "global ";
    struct hd_str symbol = {line.ptr + 1, strcspn(line.ptr, " \n") - 1};

    if (line.len < 2 || line.ptr[0] != '@' || !plain_name(symbol).len)
        return false;
    struct hd_str rest = {symbol.ptr + symbol.len, line.len - symbol.len - 1};
    if (!hd_str_starts(rest, linkage))
        return false;
    rest.ptr += strlen(linkage), rest.len -= strlen(linkage);
    for (size_t i = 0; i < HD_COUNT_OF(spaces); i++) {
        size_t space_B = strlen(spaces[i]);

        if (!hd_str_starts(rest, spaces[i]) || strncmp(rest.ptr + space_B, what, strlen(what)) != 0)
            continue;
        hd_buf_printf(out, "@%.*s = %sexternally_initialized %.*s\n", HD_STR_ARG(symbol), spaces[i],
                      HD_STR_ARG(((struct hd_str){rest.ptr + space_B, rest.len - space_B})));
        return true;
    }
    return false;
}

/* ---- in PTX */

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/* A declaration that others see only because IR had to say so. */
static void put_line(struct hd_str line, struct hd_buf *out)
{
    static const char visible[] = ".visible ";
    size_t begun = out->len;
    bool renamed = false;

    for (size_t i = 0; i < line.len;) {
        struct hd_str word = {line.ptr + i, 0};

        while (i + word.len < line.len && is_of_word(word.ptr[word.len]))
            word.len++;
        if (!word.len) {
            hd_buf_putc(out, line.ptr[i++]);
            continue;
        }
        struct hd_str name = plain_name(word);
        renamed |= name.len > 0;
        hd_buf_append(out, name.len ? name.ptr : word.ptr, name.len ? name.len : word.len);
        i += word.len;
    }
    if (renamed && !out->failed && !strncmp(out->ptr + begun, visible, strlen(visible))) {
        size_t cut_B = strlen(visible);

        memmove(out->ptr + begun, out->ptr + begun + cut_B, out->len - begun - cut_B + 1);
        out->len -= cut_B;
    }
}

enum hd_status clang_statics_name(struct hd_buf *ptx)
{
    struct hd_buf named;
    const char *at = ptx->ptr;

    if (!ptx->len || !strstr(at, "_ZL"))
        return HD_OK;
    hd_buf_init(&named);
    while (*at) {
        size_t len = strcspn(at, "\n");

        put_line((struct hd_str){at, len + (at[len] == '\n')}, &named);
        at += len + (at[len] == '\n');
    }
    if (named.failed) {
        hd_buf_fini(&named);
        return hd_error(HD_NO_MEMORY, "no memory for PTX");
    }
    hd_buf_fini(ptx);
    *ptx = named;
    return HD_OK;
}
