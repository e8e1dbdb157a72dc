/*
 * Checkpoints: of this process, and of another one, which is this program again. That one does what
 * it is told by a byte through a socket and answers with a byte.
 */
#include "driver_fixture.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORD 0x12345678u

static CUprocessState state_of(int pid)
{
    CUprocessState state = CU_PROCESS_STATE_FAILED;

    success(cuCheckpointProcessGetState(pid, &state), "state");
    return state;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* ---- another process */

struct other {
    pid_t pid;
    int fd;
};

/* What the other one does: 'm' fills memory, 'r' reads it back, 'w' waits for what never comes. */
static int other_main(int fd)
{
    CUdeviceptr p = 0;
    uint32_t seen = 0;
    CUcontext ctx;
    char what, answer;

    if (cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0) || cuMemAlloc_v2(&p, 4096) ||
        write(fd, "!", 1) != 1)
        return 1;
    while (read(fd, &what, 1) == 1) {
        CUresult result = CUDA_ERROR_UNKNOWN;

        if (what == 'm')
            result = cuMemsetD32_v2(p, WORD, 1024);
        if (what == 'r')
            result = cuMemcpyDtoH_v2(&seen, p + 4092, 4);
        if (what == 'w')
            result = cuStreamWaitValue32_v2(NULL, p, ~WORD, CU_STREAM_WAIT_VALUE_EQ);
        answer = result || (what == 'r' && seen != WORD) ? '?' : what;
        if (write(fd, &answer, 1) != 1)
            return 1;
    }
    return 0;
}

/* '-': none within the time. */
static char other_answer(const struct other *other, int timeout_ms)
{
    struct pollfd fd = {.fd = other->fd, .events = POLLIN};
    char answer = '-';

    if (poll(&fd, 1, timeout_ms) == 1 && read(other->fd, &answer, 1) != 1)
        answer = '.';
    return answer;
}

static void other_notify(const struct other *other, char what)
{
    ok(write(other->fd, &what, 1) == 1, "it is told to '%c'", what);
}

static struct other other_start(const char *self)
{
    struct other other;
    char text[16];
    int fds[2];

    ok(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "a way to talk");
    other.fd = fds[0];
    other.pid = fork();
    if (!other.pid) {
        close(fds[0]);
        snprintf(text, sizeof(text), "%d", fds[1]);
        execl(self, self, text, (char *)NULL);
        _exit(99);
    }
    close(fds[1]);
    ok(other_answer(&other, 60000) == '!', "the other process is there");
    return other;
}

static void other_end(struct other *other)
{
    close(other->fd);
    waitpid(other->pid, NULL, 0);
}

static void test_cycle(const struct other *other)
{
    char path[64];
    int tid = 0;

    eq_u64(state_of(other->pid), CU_PROCESS_STATE_RUNNING, "it runs");
    success(cuCheckpointProcessGetRestoreThreadId(other->pid, &tid), "its thread");
    snprintf(path, sizeof(path), "/proc/%d/task/%d", other->pid, tid);
    ok(tid > 0 && !access(path, F_OK), "is one of its");
    eq_u64(cuCheckpointProcessCheckpoint(other->pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "not locked");
    eq_u64(cuCheckpointProcessRestore(other->pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "no checkpoint");
    eq_u64(cuCheckpointProcessUnlock(other->pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "not locked");
    other_notify(other, 'm');
    ok(other_answer(other, 60000) == 'm', "it has memory");

    success(cuCheckpointProcessLock(other->pid, NULL), "lock");
    eq_u64(state_of(other->pid), CU_PROCESS_STATE_LOCKED, "it is locked");
    eq_u64(cuCheckpointProcessLock(other->pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "twice");
    eq_u64(cuCheckpointProcessRestore(other->pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "no checkpoint");
    other_notify(other, 'r');
    ok(other_answer(other, 100) == '-', "its call waits");
    success(cuCheckpointProcessCheckpoint(other->pid, NULL), "checkpoint");
    eq_u64(state_of(other->pid), CU_PROCESS_STATE_CHECKPOINTED, "it has one");
    eq_u64(cuCheckpointProcessUnlock(other->pid, NULL), CUDA_ERROR_ILLEGAL_STATE, "restore first");
    success(cuCheckpointProcessRestore(other->pid, NULL), "restore");
    eq_u64(state_of(other->pid), CU_PROCESS_STATE_LOCKED, "it is locked again");
    ok(other_answer(other, 50) == '-', "its call waits");
    success(cuCheckpointProcessUnlock(other->pid, NULL), "unlock");
    ok(other_answer(other, 60000) == 'r', "its call has found what was in memory");
    eq_u64(state_of(other->pid), CU_PROCESS_STATE_RUNNING, "it runs");
}

static void *lock_without_end(void *arg)
{
    const struct other *other = arg;

    return (void *)(uintptr_t)cuCheckpointProcessLock(other->pid, NULL);
}

/* Work that does not end: the lock gives up, or goes with the process. */
static void test_endless(struct other *other)
{
    CUcheckpointLockArgs args = {.timeoutMs = 30};
    pthread_t thread;
    void *result;

    other_notify(other, 'w');
    ok(other_answer(other, 60000) == 'w', "it waits for a value");
    eq_u64(cuCheckpointProcessLock(other->pid, &args), CUDA_ERROR_NOT_READY, "not in 30 ms");
    eq_u64(state_of(other->pid), CU_PROCESS_STATE_RUNNING, "it goes on");
    ok(!pthread_create(&thread, NULL, lock_without_end, other), "without a limit");
    pause_ms(50);
    kill(other->pid, SIGKILL);
    pthread_join(thread, &result);
    eq_u64((uintptr_t)result, CUDA_ERROR_INVALID_VALUE, "it was killed meanwhile");
}

static void test_arguments(int pid)
{
    CUcheckpointCheckpointArgs checkpoint = {.reserved = {0, 0, 0, 1}};
    CUcheckpointRestoreArgs restore = {.gpuPairsCount = 1};
    CUcheckpointUnlockArgs unlock = {.reserved = {1}};
    CUcheckpointLockArgs lock = {.reserved0 = 1};
    CUprocessState state;
    int tid;

    eq_u64(cuCheckpointProcessGetState(0, &state), CUDA_ERROR_INVALID_VALUE, "no process");
    eq_u64(cuCheckpointProcessGetState(pid, NULL), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuCheckpointProcessGetRestoreThreadId(-1, &tid), CUDA_ERROR_INVALID_VALUE, "no process");
    eq_u64(cuCheckpointProcessGetRestoreThreadId(pid, NULL), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuCheckpointProcessLock(pid, &lock), CUDA_ERROR_INVALID_VALUE, "reserved");
    lock = (CUcheckpointLockArgs){.reserved1 = {[6] = 1}};
    eq_u64(cuCheckpointProcessLock(pid, &lock), CUDA_ERROR_INVALID_VALUE, "reserved");
    eq_u64(cuCheckpointProcessCheckpoint(pid, &checkpoint), CUDA_ERROR_INVALID_VALUE, "reserved");
    eq_u64(cuCheckpointProcessRestore(pid, &restore), CUDA_ERROR_INVALID_VALUE, "no pairs");
    restore = (CUcheckpointRestoreArgs){.reserved1 = 1};
    eq_u64(cuCheckpointProcessRestore(pid, &restore), CUDA_ERROR_INVALID_VALUE, "reserved");
    eq_u64(cuCheckpointProcessUnlock(pid, &unlock), CUDA_ERROR_INVALID_VALUE, "reserved");
    eq_u64(cuCheckpointProcessLock(-1, NULL), CUDA_ERROR_INVALID_VALUE, "no process");
}

/* A number that was a process's. */
static void test_nobody(void)
{
    CUprocessState state;
    pid_t pid = fork();

    if (!pid)
        _exit(0);
    waitpid(pid, NULL, 0);
    eq_u64(cuCheckpointProcessGetState(pid, &state), CUDA_ERROR_INVALID_VALUE, "it has ended");
    eq_u64(cuCheckpointProcessLock(pid, NULL), CUDA_ERROR_INVALID_VALUE, "it has ended");
}

/* ---- this process */

static _Atomic int host_function_done;

static void CUDA_CB take_long(void *unused)
{
    (void)unused;
    pause_ms(40);
    host_function_done = 1;
}

static _Atomic uint64_t allocations;
static _Atomic bool enough;

static void *allocate(void *ctx)
{
    CUdeviceptr p;

    if (cuCtxSetCurrent(ctx))
        abort();
    while (!enough) {
        if (cuMemAlloc_v2(&p, 256) || cuMemFree_v2(p))
            abort();
        allocations++;
    }
    return NULL;
}

/* Locked: what was submitted is complete, and threads come no further. */
static void test_lock(CUcontext ctx)
{
    CUstream stream;
    pthread_t threads[4];
    uint64_t before;
    CUdeviceptr p;
    int moved = 0;

    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemAlloc_v2(&p, 4096), "memory");
    for (int i = 0; i < 4; i++)
        ok(!pthread_create(&threads[i], NULL, allocate, ctx), "thread %d", i);
    while (!allocations)
        pause_ms(1);
    for (int round = 0; round < 20; round++) {
        host_function_done = 0;
        if (round == 0)
            success(cuLaunchHostFunc(stream, take_long, NULL), "work");
        if (cuMemsetD32Async(p, WORD + (unsigned)round, 1024, stream) ||
            cuCheckpointProcessLock(getpid(), NULL))
            ok(false, "lock %d", round);
        before = allocations;
        if (round == 0)
            ok(host_function_done, "the host function was waited for");
        /* Device memory is memory of the process on both devices. */
        if (*(volatile uint32_t *)(uintptr_t)(p + 4092) != WORD + (unsigned)round)
            ok(false, "fill %d was waited for", round);
        pause_ms(2);
        moved += allocations > before + 4; /* each may have left its call, not counted it */
        if (cuCheckpointProcessUnlock(getpid(), NULL))
            ok(false, "unlock %d", round);
        while (allocations == before)
            pause_ms(1);
    }
    eq_u64((unsigned)moved, 0, "rounds in which calls went on");
    enough = true;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    success(cuMemFree_v2(p), "free");
    success(cuStreamDestroy_v2(stream), "stream");
}

static void *synchronize(void *ctx)
{
    CUresult result = cuCtxSetCurrent(ctx);

    return (void *)(uintptr_t)(result ? result : cuCtxSynchronize());
}

/* A call that waits for what another call would have to do. */
static void test_call_inside(CUcontext ctx)
{
    CUcheckpointLockArgs args = {.timeoutMs = 20};
    pthread_t thread;
    CUstream stream;
    CUdeviceptr p;
    void *result;

    success(cuMemAlloc_v2(&p, 4), "memory");
    success(cuMemsetD32_v2(p, 0, 1), "zero");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamWaitValue32_v2(stream, p, 1, CU_STREAM_WAIT_VALUE_EQ), "wait");
    ok(!pthread_create(&thread, NULL, synchronize, ctx), "a thread waits for the context");
    pause_ms(10);
    eq_u64(cuCheckpointProcessLock(getpid(), &args), CUDA_ERROR_NOT_READY, "not in 20 ms");
    success(cuStreamWriteValue32_v2(NULL, p, 1, 0), "calls go on");
    pthread_join(thread, &result);
    success((uintptr_t)result, "and the wait ends");
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuMemFree_v2(p), "free");
}

/* A child has the file of its parent, but is not its parent; locks are not its business. */
static void test_fork(void)
{
    CUprocessState state;
    int status = -1, fds[2];
    char byte = 0;
    pid_t pid;

    ok(!pipe(fds), "pipe");
    success(cuCheckpointProcessLock(getpid(), NULL), "lock");
    pid = fork();
    if (!pid) {
        CUresult result = cuDriverGetVersion(&status); /* does not wait */

        (void)!read(fds[0], &byte, 1);
        _exit(result != CUDA_SUCCESS);
    }
    eq_u64(cuCheckpointProcessGetState(pid, &state), CUDA_ERROR_NOT_INITIALIZED, "the child");
    ok(write(fds[1], &byte, 1) == 1, "it may end");
    waitpid(pid, &status, 0);
    eq_u64((unsigned)status, 0, "its call did not wait");
    success(cuCheckpointProcessUnlock(getpid(), NULL), "unlock");
    close(fds[0]);
    close(fds[1]);
}

static CUresult restore_with(const CUcheckpointGpuPair *pairs, unsigned n)
{
    CUcheckpointRestoreArgs args = {.gpuPairs = (CUcheckpointGpuPair *)pairs, .gpuPairsCount = n};

    return cuCheckpointProcessRestore(getpid(), &args);
}

static void test_devices(void)
{
    CUcheckpointGpuPair pairs[3];
    CUuuid before[3], after;
    int bus[3], bus_after;

    for (int i = 0; i < 3; i++) {
        success(cuDeviceGetUuid_v2(&before[i], i), "device %d", i);
        success(cuDeviceGetAttribute(&bus[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i), "its bus");
    }
    for (int i = 0; i < 3; i++)
        pairs[i] = (CUcheckpointGpuPair){before[i], before[(i + 1) % 3]};
    success(cuCheckpointProcessLock(getpid(), NULL), "lock");
    success(cuCheckpointProcessCheckpoint(getpid(), NULL), "checkpoint");
    eq_u64(restore_with(pairs, 2), CUDA_ERROR_INVALID_VALUE, "not all devices");
    pairs[1].newUuid = pairs[0].newUuid;
    eq_u64(restore_with(pairs, 3), CUDA_ERROR_INVALID_VALUE, "one for two");
    pairs[1].newUuid.bytes[3] ^= 1;
    eq_u64(restore_with(pairs, 3), CUDA_ERROR_INVALID_VALUE, "one that is not there");
    eq_u64(state_of(getpid()), CU_PROCESS_STATE_CHECKPOINTED, "nothing happened");
    pairs[1].newUuid = before[2];
    success(restore_with(pairs, 3), "each has the next one's place");
    success(cuCheckpointProcessUnlock(getpid(), NULL), "unlock");
    for (int i = 0; i < 3; i++) {
        success(cuDeviceGetUuid_v2(&after, i), "device %d", i);
        ok(!memcmp(&after, &before[(i + 1) % 3], sizeof(after)), "is another one");
        success(cuDeviceGetAttribute(&bus_after, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i), "its bus");
        eq_u64((unsigned)bus_after, (unsigned)bus[(i + 1) % 3], "is that one's");
    }
}

int main(int argc, char **argv)
{
    struct other other;
    CUprocessState state;
    CUcontext ctx;

    setenv("HEDDLE_MEMORY", "256M", 1);
    setenv("HEDDLE_DEVICES", "3", 1);
    if (argc == 2)
        return other_main((int)strtol(argv[1], NULL, 10));
    /* Who asks need not use CUDA. */
    eq_u64(cuCheckpointProcessGetState(getpid(), &state), CUDA_ERROR_NOT_INITIALIZED, "itself");
    test_nobody();
    other = other_start(argv[0]);
    test_arguments(other.pid);
    test_cycle(&other);
    test_cycle(&other);
    test_endless(&other);
    other_end(&other);

    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    test_lock(ctx);
    test_call_inside(ctx);
    test_fork();
    test_devices();
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
