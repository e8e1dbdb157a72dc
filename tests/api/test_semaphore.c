/*
 * External semaphores: what streams wait for and signal, in order and without holding up others,
 * also between processes. The other process is this program again, which tells by its exit status
 * what went wrong.
 */
#include "semaphore_fixture.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry wild() { .reg .b64 a; mov.u64 a, 64;\n"
                          "  st.global.u64 [a], a; ret; }\n";

static CUstream one, two;
static CUdeviceptr cell; /* pinned memory */

#define cell32 (*(_Atomic uint32_t *)(uintptr_t)cell)

static void test_binary(void)
{
    int fd, given = eventfd(0, EFD_CLOEXEC);
    CUexternalSemaphore sem, other;

    fd = dup(given);
    success(import(&sem, BINARY, given), "import");
    ok(fcntl(given, F_GETFD) < 0, "the descriptor is the driver's");
    cell32 = 0;
    success(wait_for(sem, 0, one), "wait");
    success(cuStreamWriteValue32_v2(one, cell, 1, 0), "behind it");
    holds(one, "nobody has signalled");
    eq_u64(cell32, 0, "nothing behind the wait is done");
    raise_it(fd);
    success(cuStreamSynchronize(one), "a signal of the host's");
    eq_u64(cell32, 1, "what came behind it is done");
    ok(!is_raised(fd), "the wait took the signal");
    success(signal_to(sem, 0, one), "a stream signals");
    success(cuStreamSynchronize(one), "synchronize");
    eq_u64(lower_it(fd), 1, "the host sees it");
    success(import(&other, BINARY, dup(fd)), "the same once more");
    success(wait_for(other, 0, two), "wait for one");
    holds(two, "not yet signalled");
    success(signal_to(sem, 0, one), "signal the other");
    success(cuStreamSynchronize(two), "it is the same semaphore");
    success(cuDestroyExternalSemaphore(other), "destroy");
    success(cuDestroyExternalSemaphore(sem), "destroy");
    fails(cuDestroyExternalSemaphore(sem), INVALID_HANDLE, "twice");
    close(fd);
}

/* One signal is for one wait, whichever stream it is of. */
static void test_one_signal(void)
{
    CUexternalSemaphore sem;
    unsigned done_one, done_two;
    int fd;

    sem = binary_make(&fd);
    raise_it(fd);
    raise_it(fd);
    success(wait_for(sem, 0, one), "signalled already");
    success(cuStreamSynchronize(one), "goes on");
    ok(!is_raised(fd), "two signals without a wait are one");
    success(wait_for(sem, 0, one), "wait");
    success(wait_for(sem, 0, two), "two streams");
    holds(one, "no signal is left");
    holds(two, "nor here");
    raise_it(fd);
    do {
        done_one = cuStreamQuery(one) == CUDA_SUCCESS;
        done_two = cuStreamQuery(two) == CUDA_SUCCESS;
    } while (!done_one && !done_two);
    usleep(3000);
    done_one = cuStreamQuery(one) == CUDA_SUCCESS;
    done_two = cuStreamQuery(two) == CUDA_SUCCESS;
    eq_u64(done_one + done_two, 1, "one of them goes on");
    raise_it(fd);
    success(cuStreamSynchronize(one), "and the other one");
    success(cuStreamSynchronize(two), "with the next signal");
    success(cuDestroyExternalSemaphore(sem), "destroy");
    close(fd);
}

static void set_flag(void *flag)
{
    atomic_store((_Atomic uint32_t *)flag, 1);
}

/* While many streams wait, others work: also what the device's thread for host calls does. */
static void test_others_go_on(void)
{
    enum { N = 20 };
    CUexternalSemaphore sems[N];
    _Atomic uint32_t flag = 0;
    CUstream streams[N];
    int fds[N];

    for (int i = 0; i < N; i++) {
        sems[i] = binary_make(&fds[i]);
        success(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "stream");
        success(wait_for(sems[i], 0, streams[i]), "wait");
    }
    success(cuLaunchHostFunc(one, set_flag, &flag), "host function");
    success(cuStreamSynchronize(one), "is called");
    eq_u64(flag, 1, "while others wait");
    for (int i = N; i-- > 0;) {
        fails(cuStreamQuery(streams[i]), NOT_READY, "stream %d waits", i);
        raise_it(fds[i]);
        success(cuStreamSynchronize(streams[i]), "in any order");
    }
    for (int i = 0; i < N; i++) {
        success(cuDestroyExternalSemaphore(sems[i]), "destroy");
        success(cuStreamDestroy_v2(streams[i]), "destroy");
        close(fds[i]);
    }
}

/* Two streams hand a number to each other. */
static void test_rounds(void)
{
    enum { N = 200 };
    CUexternalSemaphore ping, pong;
    int ping_fd, pong_fd;
    unsigned wrong = 0;

    ping = binary_make(&ping_fd);
    pong = binary_make(&pong_fd);
    cell32 = 0;
    for (uint32_t i = 0; i < N; i++) {
        wrong += cuStreamWaitValue32_v2(one, cell, 2 * i, CU_STREAM_WAIT_VALUE_EQ) ||
                 cuStreamWriteValue32_v2(one, cell, 2 * i + 1, 0) || signal_to(ping, 0, one) ||
                 wait_for(pong, 0, one);
        wrong += wait_for(ping, 0, two) || cuStreamWriteValue32_v2(two, cell, 2 * i + 2, 0) ||
                 signal_to(pong, 0, two);
    }
    eq_u64(wrong, 0, "rounds");
    success(cuStreamSynchronize(one), "synchronize");
    eq_u64(cell32, 2 * N, "all of them");
    success(cuDestroyExternalSemaphore(ping), "destroy");
    success(cuDestroyExternalSemaphore(pong), "destroy");
    close(ping_fd);
    close(pong_fd);
}

static void test_timeline(void)
{
    const uint64_t large = (uint64_t)1 << 40;
    struct heddle_timeline *t;
    CUexternalSemaphore sem = timeline_make(&t);

    heddle_timeline_signal(t, 4);
    success(wait_for(sem, 4, one), "a value that is there");
    success(cuStreamSynchronize(one), "goes on");
    success(wait_for(sem, 5, one), "wait");
    holds(one, "4 is less than 5");
    heddle_timeline_signal(t, 7);
    success(cuStreamSynchronize(one), "7 is not");
    eq_u64(heddle_timeline_value(t), 7, "waiting changes nothing");
    success(wait_for(sem, large + 1, one), "more than 32 bits");
    heddle_timeline_signal(t, large);
    holds(one, "all 64 bits count");
    success(signal_to(sem, large + 1, two), "a stream signals");
    success(cuStreamSynchronize(one), "goes on");
    success(cuStreamSynchronize(two), "synchronize");
    eq_u64(heddle_timeline_value(t), large + 1, "the value");
    success(wait_for(sem, UINT64_MAX, one), "unsigned");
    holds(one, "the largest value is not negative");
    success(signal_to(sem, UINT64_MAX, two), "signal");
    heddle_timeline_wait(t, UINT64_MAX);
    success(cuStreamSynchronize(one), "goes on");
    success(cuDestroyExternalSemaphore(sem), "destroy");
    heddle_timeline_unmap(t);
}

/* Both kinds in one call; what has begun goes on when the handles are gone. */
static void test_several(void)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[3] = {{.flags = 0}};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[3] = {{.flags = 0}};
    struct heddle_timeline *t;
    CUexternalSemaphore sems[3];
    int fds[2];

    sems[0] = binary_make(&fds[0]);
    sems[1] = timeline_make(&t);
    sems[2] = binary_make(&fds[1]);
    waits[1].params.fence.value = 3;
    signals[1].params.fence.value = 9;
    success(cuWaitExternalSemaphoresAsync(sems, waits, 3, one), "wait for all");
    success(cuSignalExternalSemaphoresAsync(sems, signals, 3, one), "then signal all");
    success(cuWaitExternalSemaphoresAsync(sems, waits, 0, one), "none");
    success(cuSignalExternalSemaphoresAsync(sems, signals, 0, one), "none");
    for (int i = 0; i < 3; i++)
        success(cuDestroyExternalSemaphore(sems[i]), "destroy");
    raise_it(fds[0]);
    heddle_timeline_signal(t, 3);
    holds(one, "one is missing");
    eq_u64(heddle_timeline_value(t), 3, "not yet signalled");
    raise_it(fds[1]);
    success(cuStreamSynchronize(one), "all are there");
    eq_u64(heddle_timeline_value(t), 9, "signalled");
    eq_u64(lower_it(fds[0]) + lower_it(fds[1]), 2, "the others, too");
    heddle_timeline_unmap(t);
    close(fds[0]);
    close(fds[1]);
}

static void test_import_bad(void)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type = BINARY};
    int fd = eventfd(0, EFD_CLOEXEC), file = memfd_create("plain", MFD_CLOEXEC);
    CUexternalSemaphore sem = (CUexternalSemaphore)(uintptr_t)5;

    fails(import(&sem, TIMELINE, fd), INVALID_HANDLE, "an eventfd is no timeline");
    fails(import(&sem, TIMELINE, file), INVALID_HANDLE, "nor is any file");
    fails(import(&sem, BINARY, file), INVALID_HANDLE, "a file is no eventfd");
    fails(import(&sem, BINARY, -1), INVALID_HANDLE, "no descriptor");
    fails(import(&sem, BINARY, 1 << 20), INVALID_HANDLE, "not an open one");
    ok(fcntl(fd, F_GETFD) >= 0 && fcntl(file, F_GETFD) >= 0, "what is refused stays open");
    for (int type = 2; type <= 10; type++)
        if (type != TIMELINE)
            fails(import(&sem, (CUexternalSemaphoreHandleType)type, fd), NOT_SUPPORTED,
                  "handles of type %d", type);
    fails(import(&sem, (CUexternalSemaphoreHandleType)0, fd), INVALID_VALUE, "no type");
    fails(import(&sem, (CUexternalSemaphoreHandleType)11, fd), INVALID_VALUE, "no type");
    fails(cuImportExternalSemaphore(NULL, &desc), INVALID_VALUE, "null");
    fails(cuImportExternalSemaphore(&sem, NULL), INVALID_VALUE, "null");
    desc.handle.fd = fd;
    desc.flags = 1;
    fails(cuImportExternalSemaphore(&sem, &desc), INVALID_VALUE, "flags");
    eq_u64((uintptr_t)sem, 5, "nothing is written on failure");
    close(fd);
    close(file);
}

/* A timeline's file must have its head, and keep its size. */
static void test_timeline_bad(void)
{
    CUexternalSemaphore sem;
    int fd = memfd_create("zeroes", MFD_CLOEXEC | MFD_ALLOW_SEALING), good = -1;
    struct heddle_timeline *t = heddle_timeline_create(&good);

    if (fd < 0 || !t || ftruncate(fd, HEDDLE_TIMELINE_B))
        abort();
    fails(import(&sem, TIMELINE, fd), INVALID_HANDLE, "may be shrunk");
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    fails(import(&sem, TIMELINE, fd), INVALID_HANDLE, "without a head");
    t->version++;
    fails(import(&sem, TIMELINE, good), INVALID_HANDLE, "another version");
    t->version--;
    success(import(&sem, TIMELINE, good), "that is all there is to it");
    success(cuDestroyExternalSemaphore(sem), "destroy");
    heddle_timeline_unmap(t);
    close(fd);
}

static void test_bad(void)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[2] = {{.flags = 0}};
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[2] = {{.flags = 0}};
    CUexternalSemaphore sems[2];
    uint64_t own = 0;
    int fd;

    sems[0] = binary_make(&fd);
    sems[1] = (CUexternalSemaphore)&own;
    fails(cuWaitExternalSemaphoresAsync(sems, waits, 2, one), INVALID_HANDLE, "garbage");
    fails(cuSignalExternalSemaphoresAsync(sems, signals, 2, one), INVALID_HANDLE, "garbage");
    success(cuStreamSynchronize(one), "then none is waited for");
    ok(!is_raised(fd), "or signalled");
    sems[1] = (CUexternalSemaphore)one;
    fails(cuSignalExternalSemaphoresAsync(sems, signals, 2, one), INVALID_HANDLE, "a stream");
    sems[1] = sems[0];
    fails(cuSignalExternalSemaphoresAsync(NULL, signals, 1, one), INVALID_VALUE, "null");
    fails(cuSignalExternalSemaphoresAsync(sems, NULL, 1, one), INVALID_VALUE, "null");
    fails(cuWaitExternalSemaphoresAsync(sems, NULL, 1, one), INVALID_VALUE, "null");
    fails(signal_to(sems[0], 0, (CUstream)&own), INVALID_HANDLE, "garbage stream");
    signals[1].flags = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC;
    waits[1].flags = CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC;
    fails(cuSignalExternalSemaphoresAsync(sems, signals, 2, one), INVALID_VALUE, "flags");
    fails(cuWaitExternalSemaphoresAsync(sems, waits, 2, one), INVALID_VALUE, "flags");
    success(cuDestroyExternalSemaphore(sems[0]), "destroy");
    fails(wait_for(sems[0], 0, one), INVALID_HANDLE, "stale");
    fails(cuDestroyExternalSemaphore((CUexternalSemaphore)&own), INVALID_HANDLE, "garbage");
    fails(cuDestroyExternalSemaphore(NULL), INVALID_HANDLE, "null");
    close(fd);
}

/* ---- contexts that end */

/* A wait that never ends does not outlive its context, and takes nothing afterwards. */
static void test_given_up(void)
{
    CUcontext ctx, other;
    struct heddle_timeline *t;
    CUexternalSemaphore sem, line;
    int fd;

    setenv("HEDDLE_EXIT_WAIT", "10", 1);
    sem = binary_make(&fd);
    line = timeline_make(&t);
    success(cuCtxGetCurrent(&ctx), "current");
    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    success(wait_for(sem, 0, NULL), "wait for ever");
    success(wait_for(line, 1, NULL), "and for another");
    success(cuCtxDestroy_v2(other), "destroy");
    raise_it(fd);
    usleep(3000);
    eq_u64(lower_it(fd), 1, "the signal is for others");
    success(cuCtxSetCurrent(ctx), "back");
    success(cuDestroyExternalSemaphore(sem), "the semaphore is the program's");
    success(cuDestroyExternalSemaphore(line), "the other, too");
    heddle_timeline_unmap(t);
    close(fd);
}

/* Nobody waits for ever because a kernel failed. */
static void test_fault(void)
{
    CUexternalSemaphore sem, line, never;
    struct heddle_timeline *t;
    CUcontext ctx, other;
    CUmodule module;
    CUfunction wild;
    int fd, never_fd;

    sem = binary_make(&fd);
    never = binary_make(&never_fd);
    line = timeline_make(&t);
    success(cuCtxGetCurrent(&ctx), "current");
    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    success(cuModuleLoadData(&module, ptx), "module");
    success(cuModuleGetFunction(&wild, module, "wild"), "function");
    success(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "launch");
    /* The context may have failed already. */
    if (cuStreamQuery(NULL) != CUDA_ERROR_ILLEGAL_ADDRESS) {
        (void)wait_for(never, 0, NULL);
        (void)wait_for(line, 5, NULL);
        (void)signal_to(sem, 0, NULL);
        (void)signal_to(line, 3, NULL);
    }
    fails(cuStreamSynchronize(NULL), ILLEGAL_ADDRESS, "the kernel failed");
    fails(wait_for(sem, 0, NULL), ILLEGAL_ADDRESS, "and with it the context");
    fails(signal_to(sem, 0, NULL), ILLEGAL_ADDRESS, "every call says it");
    success(cuCtxDestroy_v2(other), "destroy");
    success(cuCtxSetCurrent(ctx), "back");
    success(cuDestroyExternalSemaphore(sem), "destroy");
    success(cuDestroyExternalSemaphore(never), "destroy");
    success(cuDestroyExternalSemaphore(line), "destroy");
    heddle_timeline_unmap(t);
    close(fd);
    close(never_fd);
}

/* Signals that stand behind work that was given up are given all the same. */
static void test_signals_after_end(void)
{
    CUexternalSemaphore sem, line, never;
    struct heddle_timeline *t;
    CUcontext ctx, other;
    int fd, never_fd;

    sem = binary_make(&fd);
    never = binary_make(&never_fd);
    line = timeline_make(&t);
    success(cuCtxGetCurrent(&ctx), "current");
    success(cuCtxCreate_v2(&other, 0, 0), "another context");
    success(wait_for(never, 0, NULL), "wait for ever");
    success(signal_to(sem, 0, NULL), "signal");
    success(signal_to(line, 3, NULL), "signal");
    success(cuCtxDestroy_v2(other), "destroy");
    eq_u64(lower_it(fd), 1, "an eventfd");
    heddle_timeline_wait(t, 3);
    success(cuCtxSetCurrent(ctx), "back");
    success(cuDestroyExternalSemaphore(sem), "destroy");
    success(cuDestroyExternalSemaphore(never), "destroy");
    success(cuDestroyExternalSemaphore(line), "destroy");
    heddle_timeline_unmap(t);
    close(fd);
    close(never_fd);
}

/* ---- another process */

enum { ROUNDS = 50 };

/* Answers each signal of `ping` with one of `pong`, and each odd value with the next. */
static int other_process(int ping_fd, int pong_fd, int line_fd)
{
    CUexternalSemaphore ping, pong, line;
    CUcontext ctx;

    if (cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0))
        return 1;
    if (import(&ping, BINARY, ping_fd) || import(&pong, BINARY, pong_fd) ||
        import(&line, TIMELINE, line_fd))
        return 2;
    for (unsigned i = 0; i < ROUNDS; i++)
        if (wait_for(ping, 0, NULL) || signal_to(pong, 0, NULL) ||
            wait_for(line, 2 * i + 1, NULL) || signal_to(line, 2 * i + 2, NULL))
            return 3;
    if (cuStreamSynchronize(NULL))
        return 4;
    return cuDestroyExternalSemaphore(ping) || cuDestroyExternalSemaphore(pong) ||
                   cuDestroyExternalSemaphore(line) || cuCtxDestroy_v2(ctx)
               ? 5
               : 0;
}

static pid_t start(const char *self, int ping_fd, int pong_fd, int line_fd)
{
    char text[3][16];
    pid_t pid;

    snprintf(text[0], sizeof(text[0]), "%d", ping_fd);
    snprintf(text[1], sizeof(text[1]), "%d", pong_fd);
    snprintf(text[2], sizeof(text[2]), "%d", line_fd);
    pid = fork();
    if (!pid) {
        for (int i = 0; i < 3; i++)
            (void)fcntl(i == 0 ? ping_fd : i == 1 ? pong_fd : line_fd, F_SETFD, 0);
        execl(self, self, text[0], text[1], text[2], (char *)NULL);
        _exit(99);
    }
    return pid;
}

static void test_processes(const char *self)
{
    CUexternalSemaphore ping, pong, line;
    int ping_fd, pong_fd, line_fd = -1, status = -1;
    struct heddle_timeline *t = heddle_timeline_create(&line_fd);
    unsigned wrong = 0;
    pid_t pid;

    ping = binary_make(&ping_fd);
    pong = binary_make(&pong_fd);
    if (!t)
        abort();
    pid = start(self, ping_fd, pong_fd, line_fd);
    success(import(&line, TIMELINE, line_fd), "import");
    cell32 = 0;
    for (unsigned i = 0; i < ROUNDS; i++)
        wrong += signal_to(ping, 0, one) || wait_for(pong, 0, one) ||
                 signal_to(line, 2 * i + 1, one) || wait_for(line, 2 * i + 2, one) ||
                 cuStreamWriteValue32_v2(one, cell, i + 1, 0);
    eq_u64(wrong, 0, "all is submitted");
    heddle_timeline_wait(t, (uint64_t)2 * ROUNDS);
    success(cuStreamSynchronize(one), "the other process answered");
    eq_u64(cell32, ROUNDS, "every time");
    waitpid(pid, &status, 0);
    eq_u64((unsigned)status, 0, "and sees it the same way");
    success(cuDestroyExternalSemaphore(ping), "destroy");
    success(cuDestroyExternalSemaphore(pong), "destroy");
    success(cuDestroyExternalSemaphore(line), "destroy");
    heddle_timeline_unmap(t);
    close(ping_fd);
    close(pong_fd);
}

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
    CUcontext ctx;
    void *pinned;
    int value = 0;

    if (argc == 4)
        return other_process(number(argv[1]), number(argv[2]), number(argv[3]));
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING), "stream");
    success(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING), "stream");
    success(cuMemHostAlloc(&pinned, 64, 0), "pinned memory");
    cell = (uintptr_t)pinned;
    success(
        cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 0),
        "attribute");
    eq_u64((unsigned)value, 1, "timelines are told");
    test_binary();
    test_one_signal();
    test_others_go_on();
    test_rounds();
    test_timeline();
    test_several();
    test_import_bad();
    test_timeline_bad();
    test_bad();
    test_given_up();
    test_fault();
    test_signals_after_end();
    test_processes(argv[0]);
    success(cuCtxDestroy_v2(ctx), "destroy");
    return done();
}
