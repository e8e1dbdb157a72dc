/*
 * Kernels that were launched while somebody listened are noted for good: an event's listener may
 * keep the name longer than the module lives. They are found by the number that packets have,
 * which is never given out twice (docs/decisions/0040); finding one takes no lock.
 */
#include "core/stream/work.h"

#include "base/mem.h"
#include "core/context.h"
#include "core/device.h"
#include "core/mem/memory.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "core/stream/stream.h"
#include "hal/hal.h"
#include "tap/tap.h"

#include <stdatomic.h>

#define BUCKETS 4096u

struct noted {
    struct heddle_kernel kernel;
    const struct hal_device *device;
    uint64_t id;
    struct noted *next;
    char name[];
};

static _Atomic(struct noted *) buckets[BUCKETS]; /* only ever longer */

static _Atomic(struct noted *) *bucket_of(uint64_t id)
{
    return &buckets[(id ^ id >> 32) % BUCKETS];
}

static struct noted *noted_find(struct noted *first, const struct hal_device *device, uint64_t id)
{
    while (first && (first->id != id || first->device != device))
        first = first->next;
    return first;
}

static struct noted *noted_create(struct hal_device *device, uint64_t id)
{
    struct hal_kernel *kernel = hal_kernel_find(device, id);
    struct core_module *module = kernel ? kernel->module->owner : NULL;
    const struct core_entry *entry =
        module ? core_image_find_index(module->image, kernel->index) : NULL;
    struct hal_kernel_info info;
    struct noted *noted;
    size_t name_B;

    if (!entry || device->ops->kernel_info(kernel, &info) != HD_OK)
        return NULL;
    name_B = strlen(entry->name) + 1;
    noted = hd_alloc(sizeof(*noted) + name_B);
    if (!noted)
        return NULL;
    memcpy(noted->name, entry->name, name_B);
    noted->device = device;
    noted->id = id;
    noted->kernel = (struct heddle_kernel){.name = noted->name,
                                           .regs = info.regs,
                                           .max_threads = info.max_threads,
                                           .static_shared_B = info.shared_B,
                                           .local_B = info.local_B,
                                           .is_native = entry->native && device->ops->native_get};
    return noted;
}

static const struct heddle_kernel *kernel_note(struct hal_device *device, uint64_t id)
{
    _Atomic(struct noted *) *bucket = bucket_of(id);
    struct noted *first = atomic_load_explicit(bucket, memory_order_acquire);
    struct noted *found = noted_find(first, device, id), *own;

    if (HD_LIKELY(found))
        return &found->kernel;
    own = noted_create(device, id);
    if (!own)
        return NULL;
    do { /* another thread may have noted it as well: both are right */
        own->next = first;
    } while (!atomic_compare_exchange_weak(bucket, &first, own));
    return &own->kernel;
}

/* What a native kernel says of its parameters; valid until the thread's next packet. */
static const char *describe_arguments(const struct core_stream *stream,
                                      const struct hal_dispatch *p, const void *params)
{
    static HD_THREAD_LOCAL char text[512];
    struct hal_kernel *kernel = hal_kernel_find(stream->ctx->device->hal, p->kernel);
    struct core_module *module = kernel ? kernel->module->owner : NULL;
    const struct core_entry *entry =
        module ? core_image_find_index(module->image, kernel->index) : NULL;
    const struct hal_native *native = entry ? entry->native : NULL;

    if (!native || !native->describe || atomic_load(&native->withdrawn) ||
        p->head.flags & HAL_FLAG_INDIRECT)
        return NULL;
    text[0] = '\0';
    native->describe(params, native->user, text, sizeof(text));
    return text[0] ? text : NULL;
}

static void describe_grid(const struct core_stream *stream, const struct hal_dispatch *p,
                          const void *params, struct heddle_work *work)
{
    work->kernel = kernel_note(stream->ctx->device->hal, p->kernel);
    for (int i = 0; i < 3; i++) {
        work->grid[i] = p->grid[i];
        work->block[i] = p->block[i];
        work->cluster[i] = p->cluster[i];
    }
    work->dynamic_shared_B = p->dynamic_smem_B;
    work->is_cooperative = (p->head.flags & HAL_FLAG_COOPERATIVE) != 0;
    work->grid_id = p->grid_id;
    if (work->kernel && work->kernel->is_native && tap_wants(HEDDLE_ARGUMENTS))
        work->arguments = describe_arguments(stream, p, params);
}

static void describe_memory(uint64_t va, uint32_t *out_memory, uint32_t *out_device)
{
    struct core_block block;

    *out_memory = CORE_MEM_PAGEABLE;
    *out_device = UINT32_MAX;
    if (!core_memory_find(va, &block))
        return;
    *out_memory = block.kind;
    if (block.kind == CORE_MEM_DEVICE && block.ctx)
        *out_device = (uint32_t)block.ctx->device->ordinal;
}

static void describe_copy(const struct hal_copy *p, struct heddle_work *work)
{
    work->size_B = p->width_B * p->height * p->depth;
    work->dst = p->dst;
    work->src = p->src;
    describe_memory(p->dst, &work->dst_memory, &work->dst_device);
    describe_memory(p->src, &work->src_memory, &work->src_device);
}

static void describe_fill(const struct hal_fill *p, struct heddle_work *work)
{
    work->size_B = p->width * p->height * p->elem_B;
    work->dst = p->dst;
    work->value = p->value;
    describe_memory(p->dst, &work->dst_memory, &work->dst_device);
}

void core_work_describe(const struct core_stream *stream, const union hal_packet *packet,
                        const void *params, struct heddle_work *work)
{
    *work = (struct heddle_work){.device = (uint32_t)stream->ctx->device->ordinal,
                                 .context_id = (uint32_t)stream->ctx->id,
                                 .stream_id = (uint32_t)stream->id,
                                 .is_default_stream = stream == stream->ctx->legacy};
    if (packet->head.op == HAL_OP_DISPATCH)
        describe_grid(stream, &packet->dispatch, params, work);
    else if (packet->head.op == HAL_OP_COPY)
        describe_copy(&packet->copy, work);
    else if (packet->head.op == HAL_OP_FILL)
        describe_fill(&packet->fill, work);
}
