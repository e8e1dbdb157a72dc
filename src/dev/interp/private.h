/* Inside of the reference device. */
#ifndef HD_DEV_INTERP_PRIVATE_H
#define HD_DEV_INTERP_PRIVATE_H

#include <pthread.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "dev/interp/interp_device.h"
#include "interp/interp.h"

/* `lock` guards everything, domains' heaps too; `changed` is signalled when packets retire. */
struct refdev {
    struct hal_device base;
    const struct refdev_engine *engine;
    struct hd_lock lock;
    pthread_cond_t changed;
};

struct refdev_domain {
    struct hal_domain base;
    struct hd_map heap; /* address -> size */
    uint64_t heap_used_B;
};

struct refdev_module {
    struct hal_module base;
    uint32_t nvars;
    uint64_t *vars;                 /* addresses, by number */
    struct refdev_kernel **kernels; /* by number; NULL = not asked for yet */
    void *kept;                     /* the engine's, or NULL */
};

struct refdev_kernel {
    struct hal_kernel base;
    const struct ir_func *func;
    void *code;    /* the engine's */
    bool may_wait; /* its CTAs for each other */
};

struct refdev_queue {
    struct hal_queue base;
    pthread_t thread;
    bool stop;
};

static inline struct refdev *refdev_of(struct hal_device *device)
{
    return (struct refdev *)device;
}

/* queue.c */
enum hd_status refdev_queue_create(struct hal_domain *domain, int priority,
                                   struct hal_queue **out_queue);
enum hd_status refdev_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                           uint64_t value, uint64_t timeout_ns);

/* module.c */
enum hd_status refdev_module_load(struct hal_device *device, const struct hal_program *program,
                                  struct hal_module **out_module);
void refdev_module_unload(struct hal_module *module);
enum hd_status refdev_kernel_get(struct hal_module *module, uint32_t index,
                                 const struct ir_module *code, struct hal_kernel **out_kernel);
enum hd_status refdev_kernel_info(struct hal_kernel *kernel, struct hal_kernel_info *out_info);
enum hd_status refdev_kernel_prepare(struct hal_kernel *kernel, const uint32_t grid[3],
                                     const uint32_t block[3]);

/*
 * launch.c: runs a dispatch packet; a fault goes to the queue's domain. True: its threads launched
 * more, and the packet is complete when *out_wait holds.
 */
bool refdev_dispatch(struct refdev_queue *queue, const struct hal_dispatch *packet,
                     union hal_packet *out_wait);

/*
 * maps.c: which addresses of this process can be accessed, from /proc/self/maps. Read anew when an
 * address is not found; what was found stays valid for the life of the object.
 */
struct refdev_range {
    uint64_t start, end;
    bool read, write;
};
struct refdev_maps {
    HD_VEC(struct refdev_range) ranges; /* ascending */
    size_t last;                        /* most recent hit */
};
void refdev_maps_fini(struct refdev_maps *maps);
bool refdev_maps_check(struct refdev_maps *maps, uint64_t address, uint64_t size_B, bool write);
/* The range of an address that has just been checked. */
struct refdev_range refdev_maps_range(const struct refdev_maps *maps);
/*
 * maps.c: memmove() by the system, which looks at every page as it comes to it. False: another
 * thread took memory away since refdev_maps_check() allowed it; a part may be copied.
 */
bool refdev_move(uint64_t dst, uint64_t src, uint64_t size_B);

#endif
