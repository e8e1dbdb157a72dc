/*
 * What kernels print. Lines are formatted where they are printed, collected in order of completion,
 * and written to stdout at synchronisation points, or when there is more than the limit allows.
 */
#include <stdio.h>

#include "base/text/devprintf.h"
#include "base/str.h"
#include "dev/cpu/domain.h"

static void flush_locked(struct cpu_output *output)
{
    assert(hd_lock_held(&output->lock));
    fwrite(output->text.ptr, 1, output->text.len, stdout);
    hd_buf_clear(&output->text);
    atomic_store_explicit(&output->waiting, false, memory_order_relaxed);
    fflush(stdout);
}

void cpu_printf_flush(struct hal_domain *domain)
{
    struct cpu_output *output = &cpu_domain_of(domain)->output;

    /* What a kernel printed that has retired is seen here; most kernels print nothing. */
    if (HD_LIKELY(!atomic_load_explicit(&output->waiting, memory_order_acquire)))
        return;
    hd_lock_acquire(&output->lock);
    if (output->text.len)
        flush_locked(output);
    hd_lock_release(&output->lock);
}

void cpu_printf_text(struct cpu_domain *domain, const char *text, size_t len)
{
    struct cpu_output *output = &domain->output;

    hd_lock_acquire(&output->lock);
    if (len)
        hd_buf_append(&output->text, text, len);
    atomic_store_explicit(&output->waiting, output->text.len > 0, memory_order_release);
    if (output->text.len > hal_limit_get(&domain->base, HAL_LIMIT_PRINTF_B))
        flush_locked(output);
    hd_lock_release(&output->lock);
}

void cpu_printf_nowhere(uint32_t lanes, const uint64_t *format, const uint64_t *args,
                        uint32_t *out_result)
{
    struct hd_buf text;

    hd_buf_init(&text);
    for (unsigned lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            out_result[lane] = (uint32_t)hd_devprintf(&text, NULL, format[lane], args[lane]);
    hd_buf_fini(&text);
}

void cpu_printf(struct cpu_domain *domain, uint32_t lanes, const uint64_t *format,
                const uint64_t *args, uint32_t *out_result)
{
    struct hd_buf text;

    hd_buf_init(&text);
    for (unsigned lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1)
            out_result[lane] = (uint32_t)hd_devprintf(&text, NULL, format[lane], args[lane]);
    cpu_printf_text(domain, text.ptr, text.len);
    hd_buf_fini(&text);
}
