/*
 * What kernels print. Lines are formatted where they are printed, collected in order of completion,
 * and written to stdout at synchronisation points, or earlier when there is much of it.
 */
#include <stdio.h>

#include "base/devprintf.h"
#include "base/str.h"
#include "dev/cpu/device.h"

#define FLUSH_AT_B (1u << 20)

static struct hd_lock output_lock = HD_LOCK_INIT(LEAF, "printf output");
static struct hd_buf output;

static void flush_locked(void)
{
    if (output.len) {
        fwrite(output.ptr, 1, output.len, stdout);
        hd_buf_clear(&output);
    }
    fflush(stdout);
}

void cpu_printf_flush(void)
{
    hd_lock_acquire(&output_lock);
    if (output.len)
        flush_locked();
    hd_lock_release(&output_lock);
}

void cpu_printf(uint32_t lanes, const uint64_t *format, const uint64_t *args, uint32_t *out_result)
{
    struct hd_buf text;

    hd_buf_init(&text);
    for (unsigned lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            out_result[lane] = (uint32_t)hd_devprintf(&text, NULL, format[lane], args[lane]);
    hd_lock_acquire(&output_lock);
    if (text.len)
        hd_buf_append(&output, text.ptr, text.len);
    if (output.len >= FLUSH_AT_B)
        flush_locked();
    hd_lock_release(&output_lock);
    hd_buf_fini(&text);
}
