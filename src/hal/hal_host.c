/* Memory and time for devices whose memory is host memory. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "hal/hal.h"

#define HUGE_PAGE_B (2u << 20)

uint64_t hal_time_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum hd_status hal_host_mem_bind(struct hal_device *device, void *va, size_t size_B)
{
    (void)device;
    if (mprotect(va, size_B, PROT_READ | PROT_WRITE))
        return hd_error(HD_NO_DEVICE_MEMORY, "cannot back %zu bytes of device memory: %s", size_B,
                        strerror(errno));
    /* Advice only: without huge pages the first touch is three times slower. */
    if (size_B >= HUGE_PAGE_B)
        (void)madvise(va, size_B, MADV_HUGEPAGE);
    return HD_OK;
}

void hal_host_mem_unbind(struct hal_device *device, void *va, size_t size_B, bool keep)
{
    (void)device;
    if (!keep)
        (void)madvise(va, size_B, MADV_DONTNEED);
    (void)mprotect(va, size_B, PROT_NONE);
}
