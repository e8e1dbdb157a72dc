/* See backing.h. */
#include "core/mem/backing.h"

#include <unistd.h>

#include "base/mem.h"
#include "core/device.h"

struct core_backing {
    struct hal_mem *mem; /* of the device that owns it */
    unsigned nfar;
    struct hal_mem *far[CORE_DEVICES_MAX]; /* the same memory, of devices elsewhere */
};

static void mem_destroy(struct hal_mem *mem)
{
    mem->device->ops->mem_destroy(mem);
}

static enum hd_status import_all(struct core_backing *b, int fd,
                                 struct hal_device *const devices[CORE_DEVICES_MAX],
                                 unsigned ndevices)
{
    for (; b->nfar < ndevices; b->nfar++) {
        struct hal_device *d = devices[b->nfar];

        HD_TRY(d->ops->mem_import(d, fd, &b->far[b->nfar]));
    }
    return HD_OK;
}

/* fd: what to import; -1: it is made anew. */
static enum hd_status backing_make(struct core_backing *b, struct hal_device *owner, int fd,
                                   uint64_t size_B, bool shareable)
{
    struct hal_device *devices[CORE_DEVICES_MAX];
    unsigned ndevices = core_devices_elsewhere(owner, devices);
    enum hd_status status;
    int own_fd;

    if (fd >= 0)
        HD_TRY(owner->ops->mem_import(owner, fd, &b->mem));
    else
        HD_TRY(owner->ops->mem_create(owner, size_B, shareable || ndevices, &b->mem));
    if (!ndevices)
        return HD_OK;
    HD_TRY(owner->ops->mem_export(b->mem, &own_fd));
    status = import_all(b, own_fd, devices, ndevices);
    close(own_fd);
    return status;
}

static enum hd_status backing_new(struct hal_device *owner, int fd, uint64_t size_B, bool shareable,
                                  struct core_backing **out_backing)
{
    struct core_backing *b = hd_new(struct core_backing);
    enum hd_status status;

    if (!b)
        return hd_error(HD_NO_MEMORY, "device memory");
    status = backing_make(b, owner, fd, size_B, shareable);
    if (status != HD_OK)
        core_backing_destroy(b);
    else
        *out_backing = b;
    return status;
}

enum hd_status core_backing_create(struct hal_device *owner, uint64_t size_B, bool shareable,
                                   struct core_backing **out_backing)
{
    return backing_new(owner, -1, size_B, shareable, out_backing);
}

enum hd_status core_backing_import(struct hal_device *owner, int fd,
                                   struct core_backing **out_backing)
{
    return backing_new(owner, fd, 0, true, out_backing);
}

enum hd_status core_backing_export(struct core_backing *b, int *out_fd)
{
    return b->mem->device->ops->mem_export(b->mem, out_fd);
}

void core_backing_destroy(struct core_backing *b)
{
    if (!b)
        return;
    for (unsigned i = 0; i < b->nfar; i++)
        mem_destroy(b->far[i]);
    if (b->mem)
        mem_destroy(b->mem);
    hd_free(b);
}

uint64_t core_backing_size(const struct core_backing *b)
{
    return b->mem->size_B;
}

/* ---- mappings */

static void unmap(struct hal_mem *mem, uint64_t va, uint64_t size_B)
{
    mem->device->ops->mem_unmap(mem, va, size_B);
}

enum hd_status core_backing_map(struct core_backing *b, uint64_t va, uint64_t offset_B,
                                uint64_t size_B, enum hal_prot prot)
{
    enum hd_status status = b->mem->device->ops->mem_map(b->mem, va, offset_B, size_B, prot);

    if (status != HD_OK)
        return status;
    for (unsigned i = 0; i < b->nfar; i++) {
        struct hal_mem *far = b->far[i];

        status = far->device->ops->mem_map(far, va, offset_B, size_B, prot);
        if (status != HD_OK) {
            while (i--)
                unmap(b->far[i], va, size_B);
            unmap(b->mem, va, size_B);
            return status;
        }
    }
    return HD_OK;
}

void core_backing_unmap(struct core_backing *b, uint64_t va, uint64_t size_B)
{
    for (unsigned i = 0; i < b->nfar; i++)
        unmap(b->far[i], va, size_B);
    unmap(b->mem, va, size_B);
}

/* The pages are the file's: who discards them does so for all. */
void core_backing_discard(struct core_backing *b, uint64_t offset_B, uint64_t size_B)
{
    b->mem->device->ops->mem_discard(b->mem, offset_B, size_B);
}
