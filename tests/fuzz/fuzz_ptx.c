/*
 * PTX text: parse, check, print. What the printer wrote must parse, and print the same again.
 * Bodies that are read on demand are those of the whole parse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "fuzz/fuzz.h"
#include "ptx/ptx.h"
#include "reopen.h"

static void die(const char *what, const char *first, const char *second)
{
    fprintf(stderr, "%s: %s\n--- first\n%s\n--- second\n%s\n", what, hd_error_message(), first,
            second);
    abort();
}

static void print_again(const char *first)
{
    struct hd_arena arena;
    struct hd_buf second = {0};
    struct ptx_module *module;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, first, strlen(first), "second", &module) != HD_OK)
        die("the printed module does not parse", first, "");
    ptx_print(module, &second);
    if (strcmp(first, second.ptr))
        die("the module prints differently the second time", first, second.ptr);
    hd_buf_fini(&second);
    hd_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct hd_arena arena;
    struct hd_buf text = {0};
    struct ptx_module *module;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, (const char *)bytes, size_B, "fuzz", &module) == HD_OK) {
        const char *why = reopen_compare((const char *)bytes, size_B, module, size_B);

        (void)!ptx_check(module);
        ptx_print(module, &text);
        if (why)
            die("bodies on demand differ", why, text.ptr ? text.ptr : "");
        if (text.ptr)
            print_again(text.ptr);
    }
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
    return 0;
}
