/*
 * What a device asks of who uses it: its client, which is core, or a test. One table of operations,
 * given when the device is created and never changed after that (hal_device_create). Everything
 * else goes from the client to the device: hal/hal.h.
 *
 * Each may be NULL: nobody answers, as in tests. spec/hal_client.def says of each who calls it with
 * which locks, and whether a device in another process could: HAL_CLIENT_LOCAL ones pass pointers
 * into the client's memory. Such a device looks at hal_client_ops_find() when it is created, and
 * refuses, by name, a client that relies on what it cannot ask (src/dev/remote).
 *
 * Threads: a device's. No operation calls back into the device but hal_runtime.submit.
 */
#ifndef HD_HAL_CLIENT_H
#define HD_HAL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hal_client.def"

union hal_packet;
struct hal_dispatch;
struct hal_domain;
struct hal_fault_site;
struct hal_kernel;
struct hal_queue;
struct hal_sample;
struct ir_observer;
struct ir_replicas;
struct ir_runtime_io;
struct ir_texture_table;

/*
 * The CUDA runtime that kernels call (ir/device_runtime.h). What a grid asks for, launches above
 * all, is only written down; it is submitted when the grid is over, and the grid's packet retires
 * when all of that is done. (docs/decisions/0095)
 */
struct hal_runtime {
    /*
     * A call by a thread of the grid of `kernel`, in `queue`. *children, NULL when the grid begins,
     * is what was written down. Any thread; takes locks, but none that is held while waiting.
     */
    void (*call)(struct hal_queue *queue, struct hal_kernel *kernel, _Atomic(void *) *children,
                 struct ir_runtime_io *io);
    /*
     * The grid is over, or its domain has failed: submits or drops `children`, which is gone then.
     * *out_wait is a WAIT packet that holds when everything is done. Compiles: not on a worker.
     */
    void (*submit)(struct hal_queue *queue, void *children, union hal_packet *out_wait);
};

/*
 * Who wants to know what threads of the host do for launches (count/host.h). Of each launch:
 * begin() before a thread works on it, then any thread enter() when it begins to, and leave() when
 * it has done what it could, any number of times; end() when all have left and it is over.
 */
struct hal_meter {
    void *(*begin)(const struct hal_dispatch *p); /* NULL: not this one */
    void (*enter)(void *launch);
    void (*leave)(void *launch);
    void (*end)(void *launch);
};

struct hal_client_ops {
#define FUNC(returns, name, arguments, ...) returns(*name) arguments;
#define TABLE(type, name, ...)              const struct type *name;
    HAL_CLIENT_OP_LIST(FUNC, TABLE)
#undef FUNC
#undef TABLE
    /*
     * What handles of textures and surfaces name, and the file that the table is in, or -1: memory
     * that a device elsewhere can map. NULL: there are none. (docs/decisions/0143)
     */
    const struct ir_texture_table *textures;
    int textures_fd;
    /*
     * Where memory is mapped; 0: anywhere. A device elsewhere keeps it free of its own.
     * With `refusal`: what lies inside [space_va, space_va + space_B) is not accessible while it is
     * refused, so there a device may rely on the signal, and ask for the reason afterwards. A
     * device that checks accesses asks before each other one and faults with HD_ILLEGAL_ADDRESS and
     * the reason; its own windows (shared, local, parameters) and heap are its own affair.
     */
    uint64_t space_va, space_B;
};

enum hal_client_reach { HAL_CLIENT_LOCAL, HAL_CLIENT_REMOTABLE };
/* A row of the table; they are in its order. */
struct hal_client_row {
    const char *name;
    enum hal_client_reach reach;
    size_t at_B; /* in hal_client_ops: of a pointer */
};
#define HAL_CLIENT_ONE_(...) +1
enum { HAL_CLIENT_OPS = 0 HAL_CLIENT_OP_LIST(HAL_CLIENT_ONE_, HAL_CLIENT_ONE_) };
extern const struct hal_client_row hal_client_rows[HAL_CLIENT_OPS];
/* The first row from number *at on that is of this reach and not NULL; *at is behind it then. NULL:
 * there is no more. */
const struct hal_client_row *hal_client_ops_find(const struct hal_client_ops *client,
                                                 enum hal_client_reach reach, unsigned *at);

#endif
