/*
 * Memory for devices whose memory is host memory, and time.
 *
 * Private memory is anonymous: the kernel gives it huge pages, which cost a fifth of what the pages
 * of a memory file do when first touched. Its pages stay where they were touched, so the object is
 * a right to a range of addresses; an inaccessible part still has its contents.
 * Shareable memory is a memory file.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hal/hal.h"

#define HUGE_PAGE_B (2u << 20)
#define PAGE_B      4096u

uint64_t hal_time_ns(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC);
}

/* A memory file that whoever gets it cannot take pages away from; -1 with errno. */
static int sealed_create(const char *name, uint64_t size_B)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

    if (fd < 0 || (!ftruncate(fd, (off_t)size_B) &&
                   !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)))
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

uint64_t hal_shared_size(int fd)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size <= 0)
        return 0;
    return (uint64_t)st.st_size;
}

/* ---- small shared regions: rings, domains */

enum hd_status hal_shared_create(const char *name, size_t size_B, int *out_fd, void **out_at)
{
    int fd = sealed_create(name, size_B);
    void *at = MAP_FAILED;

    if (fd >= 0)
        at = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *out_fd = fd;
    *out_at = at == MAP_FAILED ? NULL : at;
    if (at != MAP_FAILED)
        return HD_OK;
    int error = errno;
    hal_shared_destroy(fd, NULL, 0);
    *out_fd = -1;
    return hd_error(HD_NO_MEMORY, "%s of %zu bytes: %s", name, size_B, strerror(error));
}

void hal_shared_destroy(int fd, void *at, size_t size_B)
{
    if (at)
        munmap(at, size_B);
    if (fd >= 0)
        close(fd);
}

/* ---- objects */

static enum hd_status mem_new(struct hal_device *device, uint64_t size_B, int memfd,
                              struct hal_mem **out_mem)
{
    struct hal_mem *mem = hd_new(struct hal_mem);

    if (!mem)
        return hd_error(HD_NO_MEMORY, "memory object");
    *mem = (struct hal_mem){.device = device, .size_B = size_B, .memfd = memfd};
    *out_mem = mem;
    return HD_OK;
}

enum hd_status hal_host_mem_create(struct hal_device *device, uint64_t size_B, bool shareable,
                                   struct hal_mem **out_mem)
{
    int fd = -1;
    enum hd_status status;

    if (!size_B || size_B % PAGE_B)
        return hd_error(HD_BAD_ARG, "memory of %llu bytes: not a multiple of %u",
                        (unsigned long long)size_B, PAGE_B);
    if (shareable) {
        fd = sealed_create("heddle-memory", size_B);
        if (fd < 0)
            return hd_error(HD_NO_DEVICE_MEMORY, "%llu bytes of shareable memory: %s",
                            (unsigned long long)size_B, strerror(errno));
    }
    status = mem_new(device, size_B, fd, out_mem);
    if (status != HD_OK)
        hal_shared_destroy(fd, NULL, 0);
    return status;
}

void hal_host_mem_destroy(struct hal_mem *mem)
{
    hal_shared_destroy(mem->memfd, NULL, 0);
    hd_free(mem);
}

enum hd_status hal_host_mem_export(struct hal_mem *mem, int *out_fd)
{
    if (mem->memfd < 0)
        return hd_error(HD_NOT_SUPPORTED, "private memory cannot be exported");
    *out_fd = dup(mem->memfd);
    return *out_fd >= 0 ? HD_OK : hd_error(HD_NO_MEMORY, "export: %s", strerror(errno));
}

enum hd_status hal_host_mem_import(struct hal_device *device, int fd, struct hal_mem **out_mem)
{
    uint64_t size_B = hal_shared_size(fd);
    int own;
    enum hd_status status;

    if (!size_B || size_B % PAGE_B)
        return hd_error(HD_BAD_ARG, "import: descriptor %d is no device memory", fd);
    own = dup(fd);
    if (own < 0)
        return hd_error(HD_NO_MEMORY, "import: %s", strerror(errno));
    status = mem_new(device, size_B, own, out_mem);
    if (status != HD_OK)
        close(own);
    return status;
}

/* ---- mappings */

static int prot_flags(enum hal_prot prot)
{
    switch (prot) {
    case HAL_PROT_READ:
        return PROT_READ;
    case HAL_PROT_READ_WRITE:
        return PROT_READ | PROT_WRITE;
    case HAL_PROT_NONE:
        break;
    }
    return PROT_NONE;
}

static enum hd_status map_private(struct hal_mem *mem, uint64_t va, uint64_t offset_B,
                                  uint64_t size_B, enum hal_prot prot)
{
    if (!mem->base)
        mem->base = va - offset_B;
    if (va - offset_B != mem->base)
        return hd_error(HD_NOT_SUPPORTED, "private memory at 0x%llx cannot also be at 0x%llx",
                        (unsigned long long)(mem->base + offset_B), (unsigned long long)va);
    return mprotect((void *)(uintptr_t)va, size_B, prot_flags(prot))
               ? hd_error(HD_NO_DEVICE_MEMORY, "cannot back %llu bytes of device memory: %s",
                          (unsigned long long)size_B, strerror(errno))
               : HD_OK;
}

static enum hd_status map_shareable(struct hal_mem *mem, uint64_t va, uint64_t offset_B,
                                    uint64_t size_B, enum hal_prot prot)
{
    void *at = mmap((void *)(uintptr_t)va, size_B, prot_flags(prot), MAP_SHARED | MAP_FIXED,
                    mem->memfd, (off_t)offset_B);

    return at == MAP_FAILED
               ? hd_error(HD_NO_DEVICE_MEMORY, "cannot map %llu bytes of device memory: %s",
                          (unsigned long long)size_B, strerror(errno))
               : HD_OK;
}

enum hd_status hal_host_mem_map(struct hal_mem *mem, uint64_t va, uint64_t offset_B,
                                uint64_t size_B, enum hal_prot prot)
{
    if (!size_B || (va | offset_B | size_B) % PAGE_B || offset_B > mem->size_B ||
        size_B > mem->size_B - offset_B)
        return hd_error(HD_BAD_ARG, "map of %llu bytes at 0x%llx, offset %llu of %llu",
                        (unsigned long long)size_B, (unsigned long long)va,
                        (unsigned long long)offset_B, (unsigned long long)mem->size_B);
    HD_TRY(mem->memfd < 0 ? map_private(mem, va, offset_B, size_B, prot)
                          : map_shareable(mem, va, offset_B, size_B, prot));
    /* Advice only: without huge pages the first touch is three times slower. */
    if (size_B >= HUGE_PAGE_B)
        (void)madvise((void *)(uintptr_t)va, size_B, MADV_HUGEPAGE);
    return HD_OK;
}

void hal_host_mem_unmap(struct hal_mem *mem, uint64_t va, uint64_t size_B)
{
    void *at = (void *)(uintptr_t)va;

    assert((va | size_B) % PAGE_B == 0);
    if (mem->memfd < 0)
        (void)mprotect(at, size_B, PROT_NONE);
    else /* the range stays reserved */
        (void)mmap(at, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                   -1, 0);
}

void hal_host_mem_discard(struct hal_mem *mem, uint64_t offset_B, uint64_t size_B)
{
    assert(offset_B <= mem->size_B && size_B <= mem->size_B - offset_B);
    if (mem->memfd >= 0)
        (void)fallocate(mem->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset_B,
                        (off_t)size_B);
    else if (mem->base)
        (void)madvise((void *)(uintptr_t)(mem->base + offset_B), size_B, MADV_DONTNEED);
}
