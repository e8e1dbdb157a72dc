/* Handles of memory files, and memory by them (ipc.h). */
#include "core/mem/ipc.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/context.h"
#include "core/mem/memory_parts.h"
#include "core/notify.h"

static struct core_mapped *opened; /* core_memory_lock */

/* ---- handles */

static uint64_t inode_of(int fd)
{
    struct stat st;

    return fd >= 0 && !fstat(fd, &st) ? st.st_ino : 0;
}

enum hd_status core_ipc_handle_make(uint64_t magic, int fd, struct core_ipc_handle *out_handle)
{
    *out_handle = (struct core_ipc_handle){
        .magic = magic, .file = inode_of(fd), .pid = (int32_t)getpid(), .fd = fd};
    return out_handle->file ? HD_OK : hd_error(HD_IO, "a memory file cannot be looked at");
}

enum hd_status core_ipc_handle_open(uint64_t magic, const struct core_ipc_handle *handle,
                                    int *out_fd)
{
    char path[64];
    int fd;

    if (handle->magic != magic || handle->pid <= 0 || handle->fd < 0)
        return hd_error(HD_BAD_ARG, "this is no handle of %s of another process",
                        magic == CORE_IPC_EVENT ? "an event" : "memory");
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && inode_of(fd) == handle->file) {
        *out_fd = fd;
        return HD_OK;
    }
    if (fd >= 0)
        close(fd);
    return hd_error(HD_BAD_ARG, "process %d has it no more, or may not be asked", handle->pid);
}

/* ---- memory that is exported */

/* What is mapped into a reservation has no context; its memory has handles of its own. */
bool core_ipc_memory_can(const struct core_block *block)
{
    return block->ctx && block->kind == CORE_MEM_DEVICE && !block->is_own && !block->pooled &&
           !block->mapped;
}

enum hd_status core_ipc_memory_export(uint64_t va, struct core_ipc_handle *out_handle)
{
    enum hd_status status = HD_BAD_ARG;
    uint64_t offset_B;
    struct core_block *block;
    int fd;

    hd_lock_acquire(&core_memory_lock);
    block = core_block_at_locked(va);
    if (block && core_ipc_memory_can(block)) {
        status = core_pool_share_locked(block, &fd, &offset_B);
        if (status == HD_OK) /* the file goes with the block */
            status = core_ipc_handle_make(CORE_IPC_MEMORY, fd, out_handle);
        if (status == HD_OK) {
            out_handle->offset_B = offset_B;
            out_handle->size_B = block->size_B;
        }
    }
    hd_lock_release(&core_memory_lock);
    if (status == HD_BAD_ARG)
        return hd_error(HD_BAD_ARG, "0x%llx is no allocation of device memory of this process",
                        (unsigned long long)va);
    return status;
}

/* ---- memory that is mapped */

/* Part of a file as a block of the context. */
static enum hd_status file_map(struct core_context *ctx, struct core_device *device, int fd,
                               const struct core_ipc_handle *handle, bool by_handle,
                               uint64_t *out_va)
{
    struct core_block *block, what = {.size_B = handle->size_B,
                                      .kind = CORE_MEM_DEVICE,
                                      .use = HEDDLE_MEMORY_MAPPED,
                                      .ctx = ctx,
                                      .device = device,
                                      .id = core_memory_next_id()};
    struct core_mapped *mapped = hd_new(struct core_mapped);
    enum hd_status status;

    if (!mapped)
        return hd_error(HD_NO_MEMORY, "memory of another process");
    mapped->by_handle = by_handle;
    mapped->count = 1;
    mapped->handle = *handle;
    status = core_pool_import(device, fd, &mapped->pool);
    if (status != HD_OK) {
        hd_free(mapped);
        return status;
    }
    what.mapped = mapped;
    hd_lock_acquire(&core_memory_lock);
    if (core_pool_map_locked(mapped->pool, &what, handle->offset_B, &block)) {
        ctx->nblocks++;
        mapped->block = block;
        *out_va = block->base;
        if (by_handle)
            hd_list_push(&opened, mapped);
    } else {
        status = HD_NO_DEVICE_MEMORY;
        core_pool_destroy(mapped->pool);
        hd_free(mapped);
    }
    hd_lock_release(&core_memory_lock);
    return status == HD_OK ? HD_OK
                           : hd_error(status, "cannot map %llu bytes of another process",
                                      (unsigned long long)handle->size_B);
}

static void notify_map(struct core_context *ctx, uint64_t va, uint64_t size_B)
{
    struct core_block block = {.base = va,
                               .size_B = size_B,
                               .kind = CORE_MEM_DEVICE,
                               .use = HEDDLE_MEMORY_MAPPED,
                               .ctx = ctx};

    core_notify_memory(&block, NULL, false);
}

enum hd_status core_ipc_memory_open(struct core_context *ctx, const struct core_ipc_handle *handle,
                                    uint64_t *out_va)
{
    enum hd_status status;
    int fd;

    if (handle->magic == CORE_IPC_MEMORY && handle->pid == (int32_t)getpid())
        return HD_BUSY;
    /* Opened before: once more. */
    struct core_mapped *m;
    hd_lock_acquire(&core_memory_lock);
    for (m = opened; m; m = m->next)
        if (m->block->ctx == ctx && !memcmp(&m->handle, handle, sizeof(*handle)))
            break;
    if (m) {
        m->count++;
        *out_va = m->block->base;
    }
    hd_lock_release(&core_memory_lock);
    if (m != NULL)
        return HD_OK;
    HD_TRY(core_ipc_handle_open(CORE_IPC_MEMORY, handle, &fd));
    status = file_map(ctx, ctx->device, fd, handle, true, out_va);
    close(fd);
    if (status == HD_OK && tap_wants(HEDDLE_KIND(MEMORY)))
        notify_map(ctx, *out_va, handle->size_B);
    return status;
}

enum hd_status core_ipc_memory_close(uint64_t va)
{
    struct core_block freed = {0};
    struct core_mapped *m;

    hd_lock_acquire(&core_memory_lock);
    for (m = opened; m && m->block->base != va; m = m->next)
        ;
    if (m && --m->count == 0) {
        freed = *m->block;
        core_block_free_locked(m->block);
    }
    hd_lock_release(&core_memory_lock);
    if (!m)
        return hd_error(HD_BAD_ARG, "0x%llx was not opened by a handle", (unsigned long long)va);
    if (freed.size_B && tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&freed, NULL, true);
    return HD_OK;
}

/* ---- external memory */

enum hd_status core_extmem_create(struct core_device *device, int fd, uint64_t size_B,
                                  struct core_extmem **out_extmem)
{
    struct core_extmem *extmem;
    struct core_pool *probe;
    struct stat st;

    HD_TRY(core_pool_import(device, fd, &probe)); /* is it a file that we can rely on? */
    core_pool_destroy(probe);
    if (fstat(fd, &st) || (uint64_t)st.st_size < size_B)
        return hd_error(HD_BAD_ARG, "external memory: the file is smaller than %llu bytes",
                        (unsigned long long)size_B);
    extmem = core_handle_alloc(CORE_EXTMEM);
    if (!extmem)
        return hd_error(HD_NO_MEMORY, "external memory");
    extmem->device = device;
    extmem->size_B = size_B;
    extmem->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (extmem->fd < 0) {
        core_extmem_unref(extmem);
        return hd_error(HD_NO_MEMORY, "external memory: no descriptor is left");
    }
    core_object_publish(&extmem->object);
    *out_extmem = core_extmem_ref(extmem);
    return HD_OK;
}

bool core_extmem_destroy(struct core_extmem *extmem)
{
    if (!core_object_retire(&extmem->object))
        return false;
    core_extmem_unref(extmem);
    return true;
}

void core_extmem_finalise(struct core_extmem *extmem)
{
    if (extmem->fd > 0)
        close(extmem->fd);
    core_handle_free(extmem);
}

enum hd_status core_extmem_map(struct core_context *ctx, struct core_extmem *extmem,
                               uint64_t offset_B, uint64_t size_B, uint64_t *out_va)
{
    const struct core_ipc_handle part = {.offset_B = offset_B, .size_B = size_B};

    if (!size_B || offset_B > extmem->size_B || size_B > extmem->size_B - offset_B)
        return hd_error(HD_BAD_ARG, "%llu bytes from %llu on are not in external memory of %llu",
                        (unsigned long long)size_B, (unsigned long long)offset_B,
                        (unsigned long long)extmem->size_B);
    HD_TRY(file_map(ctx, extmem->device, extmem->fd, &part, false, out_va));
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        notify_map(ctx, *out_va, size_B);
    return HD_OK;
}
