/* What the tests of external semaphores share: making them, and looking at them from outside. */
#ifndef HD_TESTS_SEMAPHORE_FIXTURE_H
#define HD_TESTS_SEMAPHORE_FIXTURE_H

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "heddle/timeline.h"
#include "tap.h"

#define success(call, ...)      eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define fails(call, error, ...) eq_u64((call), CUDA_ERROR_##error, __VA_ARGS__)

#define BINARY   CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
#define TIMELINE CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD

static inline CUresult import(CUexternalSemaphore *out, CUexternalSemaphoreHandleType type, int fd)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type = type};

    desc.handle.fd = fd;
    return cuImportExternalSemaphore(out, &desc);
}

/* Both keep a descriptor of their own for the test. */
static inline CUexternalSemaphore binary_make(int *out_fd)
{
    CUexternalSemaphore sem = NULL;

    *out_fd = eventfd(0, EFD_CLOEXEC);
    success(import(&sem, BINARY, dup(*out_fd)), "import an eventfd");
    return sem;
}

static inline CUexternalSemaphore timeline_make(struct heddle_timeline **out_timeline)
{
    CUexternalSemaphore sem = NULL;
    int fd = -1;

    *out_timeline = heddle_timeline_create(&fd);
    if (!*out_timeline)
        abort();
    success(import(&sem, TIMELINE, fd), "import a timeline");
    return sem;
}

static inline CUresult wait_for(CUexternalSemaphore sem, uint64_t value, CUstream stream)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params = {.flags = 0};

    params.params.fence.value = value;
    return cuWaitExternalSemaphoresAsync(&sem, &params, 1, stream);
}

static inline CUresult signal_to(CUexternalSemaphore sem, uint64_t value, CUstream stream)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {.flags = 0};

    params.params.fence.value = value;
    return cuSignalExternalSemaphoresAsync(&sem, &params, 1, stream);
}

static inline bool is_raised(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, 0) == 1;
}

static inline void raise_it(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
        abort();
}

static inline uint64_t lower_it(int fd)
{
    uint64_t count = 0;

    return read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}

/* After as long as a stream that does not hold would need. */
static inline void holds(CUstream stream, const char *what)
{
    usleep(3000);
    fails(cuStreamQuery(stream), NOT_READY, "holds: %s", what);
}

#endif
