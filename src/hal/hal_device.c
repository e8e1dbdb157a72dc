/* The common part of devices: attributes, the table of kernels, rings that are kept. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "hal/hal.h"

const struct hal_client_row hal_client_rows[HAL_CLIENT_OPS] = {
#define FUNC(returns, name, arguments, reach, ...)                                                 \
    {#name, HAL_CLIENT_##reach, offsetof(struct hal_client_ops, name)},
#define TABLE(type, name, reach, ...)                                                              \
    {#name, HAL_CLIENT_##reach, offsetof(struct hal_client_ops, name)},
    HAL_CLIENT_OP_LIST(FUNC, TABLE)
#undef FUNC
#undef TABLE
};
_Static_assert(offsetof(struct hal_client_ops, textures) == HAL_CLIENT_OPS * sizeof(void *),
               "a row for each operation");

const struct hal_client_row *hal_client_ops_find(const struct hal_client_ops *client,
                                                 enum hal_client_reach reach, unsigned *at)
{
    while (client && *at < HAL_CLIENT_OPS) {
        const struct hal_client_row *row = &hal_client_rows[(*at)++];
        void *op;

        memcpy(&op, (const char *)client + row->at_B, sizeof(op));
        if (op && row->reach == reach)
            return row;
    }
    return NULL;
}

void hal_device_init(struct hal_device *device, const struct hal_device_ops *ops,
                     const struct hal_client_ops *client)
{
    device->ops = ops;
    device->info.clock = (struct hal_clock)HAL_CLOCK_HOST;
    device->client = client ? *client : (struct hal_client_ops){0};
    memset(&device->kernels, 0, sizeof(device->kernels));
    hd_lock_init(&device->kernels.lock, HD_RANK_LEAF, "kernel table");
    hd_lock_init(&device->domains_lock, HD_RANK_QUEUE, "domains");
    device->domains = NULL;
    hd_lock_init(&device->rings_lock, HD_RANK_LEAF, "idle rings");
    device->nidle_rings = 0;
    device->patience_ns = hal_patience_ns();
    memset(&device->own_use, 0, sizeof(device->own_use));
}

void hal_device_fini(struct hal_device *device)
{
    struct hal_kernel_table *table = &device->kernels;

    assert(!device->domains);
    hd_lock_fini(&device->domains_lock);
    while (device->nidle_rings)
        munmap(device->idle_rings[--device->nidle_rings], HAL_RING_B);
    hd_lock_fini(&device->rings_lock);
    for (uint32_t i = 0; i < HAL_KERNEL_CHUNKS; i++)
        hd_free(atomic_load(&table->chunks[i]));
    hd_lock_fini(&table->lock);
}

void hal_device_attributes(struct hal_device *device, int32_t values[HAL_ATTRIBUTE_END])
{
    memset(values, 0, HAL_ATTRIBUTE_END * sizeof(*values));
#define X(name, number, value) values[number] = (value);
#include "device.def"
#undef X
    device->ops->describe(device, values);
    assert(values[HAL_ATTRIBUTE_WARP_SIZE] == 32);
    assert(values[HAL_ATTRIBUTE_MULTIPROCESSOR_COUNT] > 0);
}

/* ---- kernels */

enum hd_status hal_program_refuse_image(const struct hal_device *device,
                                        const struct hal_program *program)
{
    if (!program->image)
        return HD_OK;
    return hd_error(HD_NOT_SUPPORTED,
                    "module %s: the %s device takes no images of kind '%s', only IR", program->name,
                    device->info.name, program->image_kind ? program->image_kind : "");
}

void hal_kernel_set_instead(struct hal_kernel *kernel, struct hal_kernel *other)
{
    atomic_store_explicit(&kernel->instead, other, memory_order_release);
}

static struct hal_kernel_slot *slot_of(struct hal_kernel_table *table, uint32_t index)
{
    struct hal_kernel_slot *chunk = atomic_load(&table->chunks[index / HAL_KERNEL_CHUNK]);

    assert(index < table->used && chunk);
    return &chunk[index % HAL_KERNEL_CHUNK];
}

/* A slot that nobody has; false when memory or numbers run out. */
static bool slot_take_locked(struct hal_kernel_table *table, uint32_t *out_index)
{
    struct hal_kernel_slot *chunk;

    assert(hd_lock_held(&table->lock));
    if (table->free) {
        *out_index = table->free - 1;
        table->free = slot_of(table, *out_index)->next_free;
        return true;
    }
    if (table->used == HAL_KERNEL_CHUNK * HAL_KERNEL_CHUNKS)
        return false;
    if (table->used % HAL_KERNEL_CHUNK == 0) {
        chunk = hd_alloc_array(HAL_KERNEL_CHUNK, sizeof(*chunk));
        if (!chunk)
            return false;
        atomic_store(&table->chunks[table->used / HAL_KERNEL_CHUNK], chunk);
    }
    *out_index = table->used++;
    return true;
}

enum hd_status hal_kernel_publish(struct hal_device *device, struct hal_kernel *kernel)
{
    struct hal_kernel_table *table = &device->kernels;
    struct hal_kernel_slot *slot;
    uint32_t index, generation;
    bool taken;

    assert(!kernel->id);
    hd_lock_acquire(&table->lock);
    taken = slot_take_locked(table, &index);
    if (taken) {
        slot = slot_of(table, index);
        generation = atomic_load(&slot->generation) + 1;
        generation += generation == 0; /* so that no id is 0 */
        kernel->id = (uint64_t)generation << 32 | index;
        atomic_store(&slot->generation, generation);
        atomic_store(&slot->kernel, kernel);
    }
    hd_lock_release(&table->lock);
    return taken ? HD_OK : hd_error(HD_NO_MEMORY, "no room for kernel number %u", table->used);
}

void hal_kernel_withdraw(struct hal_device *device, struct hal_kernel *kernel)
{
    struct hal_kernel_table *table = &device->kernels;
    uint32_t index = (uint32_t)kernel->id;
    struct hal_kernel_slot *slot;

    if (!kernel->id)
        return;
    hd_lock_acquire(&table->lock);
    slot = slot_of(table, index);
    assert(atomic_load(&slot->kernel) == kernel);
    atomic_store(&slot->kernel, NULL);
    slot->next_free = table->free;
    table->free = index + 1;
    hd_lock_release(&table->lock);
    kernel->id = 0;
}
