/* Launches: what is checked of them, parameters, the dispatch packet; occupancy. */
#include <assert.h>

#include "core/context.h"
#include "core/device.h"
#include "core/stream/launch.h"
#include "hal/hal.h"

static enum hd_status limit(const char *what, uint64_t value, uint64_t max)
{
    return hd_error(HD_BAD_ARG, "%s is %llu, must be 1 to %llu", what, (unsigned long long)value,
                    (unsigned long long)max);
}

/* 1 to max; 0 wraps around. */
static bool dimensions_fit(const uint32_t n[3], const int32_t max[3])
{
    return n[0] - 1 < (uint32_t)max[0] && n[1] - 1 < (uint32_t)max[1] &&
           n[2] - 1 < (uint32_t)max[2];
}

static enum hd_status check_dimensions(const struct core_device *d, const struct core_launch *l)
{
    const int32_t *grid_max = &d->attributes[CORE_ATTRIBUTE_MAX_GRID_DIM_X]; /* x, y, z */
    const int32_t *block_max = &d->attributes[CORE_ATTRIBUTE_MAX_BLOCK_DIM_X];

    if (HD_LIKELY(dimensions_fit(l->grid, grid_max) && dimensions_fit(l->block, block_max)))
        return HD_OK;
    static const char *const grid_names[3] = {"grid.x", "grid.y", "grid.z"};
    static const char *const block_names[3] = {"block.x", "block.y", "block.z"};
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] - 1 >= (uint32_t)grid_max[i])
            return limit(grid_names[i], l->grid[i], (uint64_t)grid_max[i]);
        if (l->block[i] - 1 >= (uint32_t)block_max[i])
            return limit(block_names[i], l->block[i], (uint64_t)block_max[i]);
    }
    return hd_error(HD_INTERNAL, "launch of a size that fits");
}

static uint64_t block_threads(const uint32_t block[3])
{
    return (uint64_t)block[0] * block[1] * block[2];
}

static enum hd_status check_function(const struct core_function *f, const struct core_launch *l)
{
    uint64_t threads = block_threads(l->block);
    const uint32_t *req = f->entry->reqntid;

    if (threads > f->info.max_threads)
        return hd_error(HD_BAD_ARG, "%s: %llu threads per block, the limit is %u", f->entry->name,
                        (unsigned long long)threads, f->info.max_threads);
    if (req[0] && (l->block[0] != req[0] || l->block[1] != HD_MAX(req[1], 1u) ||
                   l->block[2] != HD_MAX(req[2], 1u)))
        return hd_error(HD_BAD_ARG, "%s: the kernel requires blocks of (%u,%u,%u)", f->entry->name,
                        req[0], req[1], req[2]);
    if (l->dynamic_smem_B > f->max_dynamic_B)
        return hd_error(HD_BAD_ARG, "%s: %u bytes of dynamic shared memory, the limit is %u",
                        f->entry->name, l->dynamic_smem_B, f->max_dynamic_B);
    return HD_OK;
}

enum hd_status core_launch_check_cooperative(const struct core_function *f,
                                             const struct core_launch *l, uint32_t sms)
{
    uint64_t ctas = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    int fit = core_occupancy(f, (int)block_threads(l->block), l->dynamic_smem_B);

    if (ctas > (uint64_t)fit * sms)
        return hd_error(HD_LAUNCH_LIMIT, "%s: %llu blocks cannot be resident at the same time",
                        f->entry->name, (unsigned long long)ctas);
    return HD_OK;
}

/*
 * A buffer may end within the last parameter: NCCL's kernels take 4 KB, of which a launch gives
 * what it uses. The rest is 0.
 */
static enum hd_status launch_pack_buffer(const struct core_entry *entry,
                                         const struct core_launch *l, uint8_t *block)
{
    size_t last_B = entry->nparams ? entry->params[entry->nparams - 1].offset_B : 0;
    size_t given_B = HD_MIN(l->buffer_B, (size_t)entry->params_B);

    if (entry->nparams && l->buffer_B <= last_B)
        return hd_error(HD_BAD_ARG, "%s: parameter buffer of %zu bytes, needs %u", entry->name,
                        l->buffer_B, entry->params_B);
    memcpy(block, l->buffer, given_B);
    memset(block + given_B, 0, entry->params_B - given_B);
    return HD_OK;
}

enum hd_status core_launch_pack(const struct core_entry *entry, const struct core_launch *l,
                                uint8_t *block)
{
    if (l->buffer)
        return launch_pack_buffer(entry, l, block);
    if (entry->nparams && !l->params)
        return hd_error(HD_BAD_ARG, "%s: no parameters given, needs %u", entry->name,
                        entry->nparams);
    for (uint32_t i = 0; i < entry->nparams; i++) {
        const struct core_param *p = &entry->params[i];

        if (!l->params[i])
            return hd_error(HD_BAD_ARG, "%s: parameter %u is a null pointer", entry->name, i);
        if (p->size_B == 8) /* most are: no call */
            memcpy(block + p->offset_B, l->params[i], 8);
        else if (p->size_B == 4)
            memcpy(block + p->offset_B, l->params[i], 4);
        else
            memcpy(block + p->offset_B, l->params[i], p->size_B);
    }
    return HD_OK;
}

bool core_launch_fits(const struct core_device *device, const struct core_launch *l)
{
    return dimensions_fit(l->grid, &device->attributes[CORE_ATTRIBUTE_MAX_GRID_DIM_X]) &&
           dimensions_fit(l->block, &device->attributes[CORE_ATTRIBUTE_MAX_BLOCK_DIM_X]) &&
           block_threads(l->block) <=
               (uint64_t)device->attributes[CORE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
}

static enum hd_status check_resolved(struct core_function *f, const struct core_launch *l)
{
    HD_TRY(check_dimensions(f->module->ctx->device, l));
    HD_TRY(check_function(f, l));
    return l->cooperative
               ? core_launch_check_cooperative(f, l, (uint32_t)f->module->ctx->device->units)
               : HD_OK;
}

/* What the device cannot do with a function of the host. */
static HD_NOINLINE enum hd_status check_native(const struct core_function *f,
                                               const struct core_launch *l)
{
    const char *what = l->cooperative                ? "a cooperative launch"
                       : l->mdc                      ? "a launch on several devices"
                       : core_cluster_is_named(f, l) ? "a launch in clusters"
                                                     : NULL;

    return what ? hd_error(HD_NOT_SUPPORTED, "%s: %s of a native kernel", f->entry->name, what)
                : HD_OK;
}

enum hd_status core_launch_check(struct core_function *f, const struct core_launch *l)
{
    struct core_launch resolved;

    if (f->entry->params_B > CORE_PARAMS_MAX_B)
        return hd_error(HD_BAD_ARG, "%s: %u bytes of parameters", f->entry->name,
                        f->entry->params_B);
    if (HD_UNLIKELY(!core_function_is_loaded(f)))
        HD_TRY(core_function_load(f));
    if (HD_UNLIKELY(f->native != NULL))
        HD_TRY(check_native(f, l));
    if (HD_LIKELY(!core_cluster_is_named(f, l)))
        return check_resolved(f, l);
    resolved = *l;
    HD_TRY(core_cluster_resolve(f, &resolved));
    return check_resolved(f, &resolved);
}

void core_launch_packet(const struct core_function *f, const struct core_launch *l,
                        union hal_packet *out_packet)
{
    struct hal_dispatch *p = &out_packet->dispatch;

    memset(p, 0, offsetof(struct hal_dispatch, params));
    p->head.op = HAL_OP_DISPATCH;
    p->head.flags = l->cooperative ? HAL_FLAG_COOPERATIVE : 0;
    p->kernel = f->kernel->id;
    for (int i = 0; i < 3; i++) {
        p->grid[i] = l->grid[i];
        p->block[i] = (uint16_t)l->block[i];
    }
    if (HD_UNLIKELY(core_cluster_is_named(f, l))) {
        struct core_launch resolved = *l;

        /* A program that has changed what it requires since the check: the device refuses that. */
        if (core_cluster_resolve(f, &resolved) != HD_OK)
            p->kernel = 0;
        for (int i = 0; i < 3; i++) {
            p->grid[i] = resolved.grid[i];
            p->block[i] = (uint16_t)resolved.block[i];
            p->cluster[i] = (uint8_t)resolved.cluster[i];
        }
    }
    p->dynamic_smem_B = l->dynamic_smem_B;
    p->mdc = l->mdc;
}

/* ---- occupancy */

static int attribute(const struct core_function *f, int number)
{
    int value = 0;

    (void)!core_device_attribute(f->module->ctx->device, number, &value);
    return value;
}

static int warps_threads(int threads)
{
    return (threads + 31) / 32 * 32;
}

int core_occupancy(const struct core_function *f, int threads, uint64_t dynamic_smem_B)
{
    assert(core_function_is_described(f));
    int per_sm = attribute(f, CORE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    uint64_t smem_sm = (uint64_t)attribute(f, CORE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    uint64_t reserved = (uint64_t)attribute(f, CORE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    uint64_t smem_B = f->info.shared_B + dynamic_smem_B + reserved;
    int ctas = attribute(f, CORE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);

    if (threads < 1 || threads > (int)f->info.max_threads)
        return 0;
    ctas = HD_MIN(ctas, per_sm / warps_threads(threads));
    ctas = HD_MIN(ctas, attribute(f, CORE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) /
                            ((int)f->info.regs * warps_threads(threads)));
    if (smem_B > smem_sm)
        return 0;
    return (int)HD_MIN((uint64_t)ctas, smem_sm / smem_B);
}

uint64_t core_occupancy_smem(const struct core_function *f, int ctas, int threads)
{
    uint64_t smem_sm = (uint64_t)attribute(f, CORE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    uint64_t optin = (uint64_t)attribute(f, CORE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    uint64_t used =
        f->info.shared_B + (uint64_t)attribute(f, CORE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    uint64_t share;

    if (ctas < 1 || core_occupancy(f, threads, 0) < ctas)
        return 0;
    share = smem_sm / (uint64_t)ctas;
    share = share > used ? (share - used) & ~(uint64_t)127 : 0;
    optin -= HD_MIN(f->info.shared_B, optin);
    return HD_MIN(HD_MIN(share, optin), (uint64_t)f->max_dynamic_B);
}
