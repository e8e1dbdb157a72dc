/* Inside of the client's side. */
#ifndef HD_DEV_REMOTE_PRIVATE_H
#define HD_DEV_REMOTE_PRIVATE_H

#include <pthread.h>
#include <sys/types.h>

#include "dev/remote/remote.h"
#include "dev/remote/wire.h"
#include "hal/serve.h"

struct remote_device {
    struct hal_device base;
    int socket;
    pid_t process;       /* ours to wait for */
    struct hd_lock lock; /* the socket: one call at a time */
    _Atomic bool is_gone;
    int32_t attributes[HAL_ATTRIBUTE_END];
    char target[32]; /* info.target */
    struct hd_lock retire_lock;
    pthread_cond_t retired; /* something has, in any queue */
};

struct remote_domain {
    struct hal_domain base;
    uint64_t id;
    uint64_t limits[HAL_LIMIT_COUNT]; /* that the other side knows; queues' threads, limits_lock */
    struct hd_lock limits_lock;
    _Atomic bool is_notified; /* the client, of a fault on the other side */
};

struct remote_module {
    struct hal_module base;
    uint64_t id;
    struct hd_lock lock;            /* kernels */
    struct remote_kernel **kernels; /* by number */
};

struct remote_kernel {
    struct hal_kernel base;
    uint64_t id;
    uint64_t dispatched; /* what packets call it on the other side */
    struct hal_kernel_info info;
};

struct remote_queue {
    struct hal_queue base;
    struct hal_client far; /* grids go there */
    uint64_t id;
    bool is_limited; /* to `sms`, as the other side knows; the thread's */
    struct hal_sms sms;
    pthread_t thread;
    _Atomic uint32_t bell; /* rung by a submission */
    _Atomic bool stop;
};

struct remote_mem {
    struct hal_mem base;
    uint64_t id;
    bool is_private; /* lies at one place */
};

static inline struct remote_device *remote_of(struct hal_device *device)
{
    return (struct remote_device *)device;
}

/* One call. The answer is in *message; what failed there is an error here, with its text. */
enum hd_status remote_call(struct remote_device *dev, struct remote_message *message, int fd,
                           int *out_fd) HD_MUST_CHECK;
/* Looks whether the other process is there; it is never there again. */
bool remote_is_gone(struct remote_device *dev);

/* process.c: starts heddle-device with one end of a socket. */
enum hd_status remote_start(int *out_socket, pid_t *out_process) HD_MUST_CHECK;

/* queue.c */
enum hd_status remote_queue_create(struct hal_domain *domain, int priority,
                                   struct hal_queue **out_queue);
enum hd_status remote_wait(struct hal_device *device, const _Atomic uint64_t *semaphore,
                           uint64_t value, uint64_t timeout_ns);

#endif
