/*
 * The log of errors: what a failing call leaves in it, dumps from a place on, what happens when it
 * is full, callbacks that call the API and remove themselves, the file.
 */
#include "driver_fixture.h"

#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>

#define LINES 100

static char text[32768];

/* The lines from *place on. */
static const char *dump(CUlogIterator *place)
{
    size_t size = sizeof(text);

    success(cuLogsDumpToMemory(place, text, &size, 0), "dump to memory");
    eq_u64(size, strlen(text), "its size does not count the end");
    return text;
}

static unsigned lines_of(const char *lines)
{
    unsigned n = 0;

    for (; *lines; lines++)
        n += *lines == '\n';
    return n;
}

static CUlogIterator now(void)
{
    CUlogIterator place = 77;

    success(cuLogsCurrent(&place, 0), "the end of the log");
    return place;
}

static void fail_once(void)
{
    eq_u64(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE, "a call that fails");
}

static bool has_head(const char *line, const char *source, const char *symbol)
{
    char want[64];
    unsigned h, m, s, ms, n = 0;
    unsigned long tid;

    snprintf(want, sizeof(want), "[%s][E][%s] ", source, symbol);
    return sscanf(line, "[%2u:%2u:%2u.%3u][%lu]%n", &h, &m, &s, &ms, &tid, &n) == 5 &&
           tid == (unsigned long)getpid() && !strncmp(line + n, want, strlen(want));
}

/* Before cuInit(), too. */
static void test_first(void)
{
    CUlogIterator place = now();

    eq_u64(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED, "not initialised");
    dump(&place);
    ok(has_head(text, "CUDA", "cuCtxSynchronize"), "who failed");
    ok(strstr(text, "(CUDA_ERROR_NOT_INITIALIZED)\n") != NULL, "with what");
    eq_u64(lines_of(text), 1, "one line");
}

static void test_reason(CUmodule module)
{
    CUlogIterator place = now();
    void *params[4];
    uint64_t arg = 0;

    params[0] = params[1] = params[2] = params[3] = &arg;
    eq_u64(driver_launch(driver_function(module, "add"), 1, 4096, NULL, params),
           CUDA_ERROR_INVALID_VALUE, "a block that is too large");
    dump(&place);
    ok(has_head(text, "CUDA", "cuLaunchKernel"), "the launch");
    ok(strstr(text, "4096") != NULL, "and its reason");
    ok(!strstr(text, "cuLaunchKernel:"), "the name is there once");
    eq_u64(place, now(), "the iterator has moved");
    eq_str(dump(&place), "", "nothing more");
    success(cuDeviceGetCount(&(int){0}), "a call that works");
    eq_u64(cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE, "a call with another reason");
    ok(!strstr(dump(&place), "4096"), "which is its own");
}

/* cuStreamQuery() says that there is work: not an error. */
static void test_answers(CUmodule module)
{
    CUlogIterator place = now();
    CUdeviceptr counter;
    CUstream stream;
    void *params[1] = {&counter};

    success(cuMemAlloc_v2(&counter, 8), "memory");
    success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
    success(driver_launch(driver_function(module, "slow"), 64, 1, stream, params), "launch");
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        ;
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuMemFree_v2(counter), "free");
    eq_str(dump(&place), "", "nothing was logged");
}

static void test_memory(void)
{
    CUlogIterator place = now(), beyond = place + 1, start = place;
    size_t size = 0, line_B;

    eq_u64(cuLogsCurrent(NULL, 0), CUDA_ERROR_INVALID_VALUE, "no iterator");
    eq_u64(cuLogsCurrent(&start, 1), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(cuLogsDumpToMemory(NULL, NULL, &size, 0), CUDA_ERROR_INVALID_VALUE, "no buffer");
    eq_u64(cuLogsDumpToMemory(NULL, text, NULL, 0), CUDA_ERROR_INVALID_VALUE, "no size");
    size = sizeof(text);
    eq_u64(cuLogsDumpToMemory(NULL, text, &size, 1), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(lines_of(dump(&place)), 5, "they are in the log themselves");
    ok(strstr(text, "[cuLogsDumpToMemory] invalid argument: buffer (") != NULL, "with reasons");
    beyond = now() + 1;
    size = sizeof(text);
    eq_u64(cuLogsDumpToMemory(&beyond, text, &size, 0), CUDA_ERROR_INVALID_VALUE,
           "an iterator that was never reached");
    eq_u64(size, 0, "nothing is written");
    place = now();
    size = 0;
    eq_u64(cuLogsDumpToMemory(&place, text, &size, 0), CUDA_ERROR_INVALID_VALUE, "no room");
    start = place;
    line_B = strlen(dump(&place));
    place = start;
    size = line_B;
    eq_u64(cuLogsDumpToMemory(&place, text, &size, 0), CUDA_ERROR_INVALID_VALUE,
           "not even for one line");
    eq_u64(size, 0, "size is 0");
    eq_u64(place, start, "and the iterator stays");
}

/* What does not fit is left out from its old end, and that is said. */
static void test_short_buffer(void)
{
    CUlogIterator place = now(), start = place;
    size_t line_B, size;
    const char *second;

    for (int i = 0; i < 4; i++)
        fail_once();
    line_B = strlen(dump(&place)) / 4;
    place = start;
    size = 4 * line_B + 1;
    success(cuLogsDumpToMemory(&place, text, &size, 0), "room for four lines and their end");
    eq_u64(lines_of(text), 4, "four lines");
    place = start;
    size = 4 * line_B;
    success(cuLogsDumpToMemory(&place, text, &size, 0), "a byte less");
    second = strchr(text, '\n') + 1;
    ok(!strncmp(text, "... older lines", 15), "says so first");
    ok(has_head(second, "CUDA", "cuDeviceGetCount"), "then the newest");
    eq_u64(place, now(), "the iterator is at the end");
    place = start;
    size = 0;
    for (size_t room = 1; room < line_B; room += 7) {
        size = room;
        eq_u64(cuLogsDumpToMemory(&start, text, &size, 0), CUDA_ERROR_INVALID_VALUE, "too small");
    }
}

static void test_full(void)
{
    CUlogIterator place = now(), start = place, half;
    size_t size = sizeof(text);

    for (int i = 0; i < 60; i++)
        fail_once();
    half = now();
    eq_u64(lines_of(dump(&place)), 60, "60 lines");
    for (int i = 0; i < 60; i++)
        fail_once();
    eq_u64(lines_of(dump(&half)), 60, "60 lines from the middle, none is lost");
    ok(strncmp(text, "...", 3) != 0, "and none is said to be");
    eq_u64(lines_of(dump(&start)), LINES + 1, "of 120 lines 100 are kept");
    ok(!strncmp(text, "...", 3), "the first line says so");
    success(cuLogsDumpToMemory(NULL, text, &size, 0), "all there is");
    eq_u64(lines_of(text), LINES + 1, "the same");
}

static void test_file(void)
{
    char path[] = "/tmp/heddle-logs-XXXXXX";
    CUlogIterator place = now();
    int fd = mkstemp(path);
    ssize_t n;

    fail_once();
    success(cuLogsDumpToFile(&place, path, 0), "dump to a file");
    fail_once();
    success(cuLogsDumpToFile(&place, path, 0), "what is new is appended");
    n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    eq_u64(lines_of(text), 2, "two lines");
    fail_once();
    eq_u64(cuLogsDumpToFile(&place, NULL, 0), CUDA_ERROR_INVALID_VALUE, "no path");
    eq_u64(cuLogsDumpToFile(&place, "/nowhere/file", 0), CUDA_ERROR_INVALID_VALUE, "no file");
    eq_u64(cuLogsDumpToFile(&place, path, 1), CUDA_ERROR_INVALID_VALUE, "flags");
    eq_u64(lines_of(dump(&place)), 4, "the iterator has stayed");
    ok(strstr(text, "/nowhere/file: No such file") != NULL, "and the reason is told");
    close(fd);
    unlink(path);
}

/* ---- callbacks */

struct notified {
    CUlogsCallbackHandle handle;
    unsigned count;
    CUlogLevel level;
    char last[512];
    size_t length;
};

static void on_line(void *data, CUlogLevel level, char *message, size_t length)
{
    struct notified *notified = data;

    notified->count++;
    notified->level = level;
    notified->length = length;
    snprintf(notified->last, sizeof(notified->last), "%s", message);
}

/* Calls the API, with success and without. */
static void on_line_call(void *data, CUlogLevel level, char *message, size_t length)
{
    CUlogIterator place;
    int count = 0;

    on_line(data, level, message, length);
    success(cuDeviceGetCount(&count), "the API works in a callback");
    success(cuCtxSynchronize(), "also a wait");
    eq_u64(cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE, "and it can fail");
    success(cuLogsCurrent(&place, 0), "the log as well");
}

static void on_line_once(void *data, CUlogLevel level, char *message, size_t length)
{
    struct notified *notified = data;

    on_line(data, level, message, length);
    success(cuLogsUnregisterCallback(notified->handle), "a callback removes itself");
}

static void test_callbacks(void)
{
    struct notified a = {0}, b = {0}, once = {0};
    CUlogIterator place = now();

    success(cuLogsRegisterCallback(on_line, &a, &a.handle), "register");
    success(cuLogsRegisterCallback(on_line_call, &b, &b.handle), "another");
    success(cuLogsRegisterCallback(on_line_once, &once, &once.handle), "a third one");
    ok(a.handle && b.handle && a.handle != b.handle, "they have handles");
    fail_once();
    eq_u64(a.count, 1, "told once, not what failed in a callback");
    eq_u64(a.level, CU_LOG_LEVEL_ERROR, "an error");
    eq_u64(a.length, strlen(a.last), "its length");
    ok(has_head(a.last, "CUDA", "cuDeviceGetCount"), "the line: %s", a.last);
    eq_u64(lines_of(dump(&place)), 2, "the log has both failures");
    fail_once();
    eq_u64(b.count, 2, "told again");
    eq_u64(once.count, 1, "removed after the first line");
    success(cuLogsUnregisterCallback(a.handle), "unregister");
    success(cuLogsUnregisterCallback(b.handle), "the other one");
    fail_once();
    eq_u64(a.count, 2, "told no more");
    eq_u64(cuLogsUnregisterCallback(a.handle), CUDA_ERROR_INVALID_VALUE, "twice");
    eq_u64(cuLogsUnregisterCallback(NULL), CUDA_ERROR_INVALID_VALUE, "nothing");
    eq_u64(cuLogsUnregisterCallback((CUlogsCallbackHandle)(uintptr_t)&a), CUDA_ERROR_INVALID_VALUE,
           "no handle at all");
    eq_u64(cuLogsRegisterCallback(NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE, "no function");
}

static void on_line_shared(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)level, (void)message, (void)length;
    atomic_fetch_add((_Atomic unsigned *)data, 1);
}

static void *fail_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++)
        (void)cuDeviceGetCount(NULL);
    return NULL;
}

/* Several threads fail while callbacks come and go. */
static void test_threads(void)
{
    _Atomic unsigned always = 0, sometimes = 0;
    CUlogsCallbackHandle handle, other;
    unsigned seen, wrong = 0;
    pthread_t threads[4];

    success(cuLogsRegisterCallback(on_line_shared, &always, &handle), "register");
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fail_often, NULL);
    for (int i = 0; i < 50; i++) {
        wrong += cuLogsRegisterCallback(on_line_shared, &sometimes, &other) != CUDA_SUCCESS;
        wrong += cuLogsUnregisterCallback(other) != CUDA_SUCCESS;
        seen = atomic_load(&sometimes);
        sched_yield();
        wrong += seen != atomic_load(&sometimes);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    eq_u64(wrong, 0, "a callback that is removed is not told any more");
    success(cuLogsUnregisterCallback(handle), "unregister");
    eq_u64(atomic_load(&always), 800, "every failure was told");
}

static void test_fault(CUmodule module)
{
    CUdeviceptr nowhere = 16;
    void *params[1] = {&nowhere};
    CUlogIterator place = now();

    success(driver_launch(driver_function(module, "wild"), 1, 1, NULL, params), "launch");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "a fault");
    dump(&place);
    ok(strstr(text, "[cuCtxSynchronize]") && strstr(text, "wild"), "names the kernel");
}

/* CUDA_LOG_FILE, in a process of its own: it is read when the first line is written. */
static void test_log_file(const char *self)
{
    char path[] = "/tmp/heddle-logs-XXXXXX", command[512];
    int fd = mkstemp(path);
    ssize_t n;

    snprintf(command, sizeof(command), "CUDA_LOG_FILE=%s %s child", path, self);
    eq_u64((uint64_t)system(command), 0, "a program that fails");
    n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    eq_u64(lines_of(text), 2, "its two lines are in the file");
    ok(strstr(text, "[cuDeviceGetCount] invalid argument: count"), "with their reasons");
    close(fd);
    unlink(path);
    snprintf(command, sizeof(command), "CUDA_LOG_FILE=/nowhere/x %s child 2>/dev/null", self);
    eq_u64((uint64_t)system(command), 0, "a file that cannot be is no reason to fail");
}

static int child(void)
{
    (void)cuInit(0);
    (void)cuDeviceGetCount(NULL);
    (void)cuCtxSynchronize();
    return 0;
}

int main(int argc, char **argv)
{
    CUcontext ctx;
    CUmodule module;

    setenv("HEDDLE_MEMORY", "64M", 1);
    if (argc > 1)
        return child();
    test_first();
    success(cuInit(0), "init");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "current");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    test_reason(module);
    test_answers(module);
    test_memory();
    test_short_buffer();
    test_full();
    test_file();
    test_callbacks();
    test_threads();
    test_log_file(argv[0]);
    test_fault(module);
    (void)cuDevicePrimaryCtxReset_v2(0);
    return done();
}
