/*
 * Launches in device code: what a scanner makes of any text for both passes, and what becomes of
 * any text as IR. Text that is changed keeps its lines: diagnostics count them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clang/clang.h"
#include "fuzz/fuzz.h"

static size_t lines_of(const char *text)
{
    size_t lines = 0;

    while ((text = strchr(text, '\n')))
        text++, lines++;
    return lines;
}

static void put(const char *text, enum clang_side side)
{
    struct hd_buf out;

    hd_buf_init(&out);
    if (clang_launches_put(text, side, &out) == HD_OK && out.len &&
        lines_of(out.ptr) != lines_of(text)) {
        fprintf(stderr, "the lines of side %d are others:\n%s\n--- of\n%s\n", side, out.ptr, text);
        abort();
    }
    hd_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_append(&text, bytes, size_B);
    hd_buf_putc(&text, '\n');
    put(text.ptr, CLANG_DEVICE_SIDE);
    put(text.ptr, CLANG_HOST_SIDE);
    (void)!clang_launches_mend(&text);
    hd_buf_fini(&text);
    return 0;
}
