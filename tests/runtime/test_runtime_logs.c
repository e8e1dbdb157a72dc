/* The log of errors by the runtime's names: its calls are told once, by their names. */
#include "runtime_fixture.h"

static char text[26000];

static const char *dump(cudaLogIterator *place)
{
    size_t size = sizeof(text);

    eq_error(cudaLogsDumpToMemory(place, text, &size, 0), cudaSuccess, "dump");
    return text;
}

struct told {
    unsigned count;
    char last[512];
};

static void on_line(void *data, cudaLogLevel level, char *message, size_t length)
{
    struct told *told = data;

    told->count++;
    eq_u64(level, cudaLogLevelError, "an error");
    snprintf(told->last, sizeof(told->last), "%.*s", (int)length, message);
}

static unsigned count(const char *lines, const char *word)
{
    unsigned n = 0;

    for (const char *at = lines; (at = strstr(at, word)); at++)
        n++;
    return n;
}

/* The first call makes the driver start: what the runtime copes with is no failure. */
static void test_first(void)
{
    cudaLogIterator place = 5;
    void *p;

    eq_error(cudaLogsCurrent(&place, 0), cudaSuccess, "where the log ends");
    eq_error(cudaMalloc(&p, 64), cudaSuccess, "a call that works");
    eq_error(cudaFree(p), cudaSuccess, "another one");
    eq_error(cudaStreamQuery(0), cudaSuccess, "another one");
    eq_str(dump(&place), "", "nothing has failed");
}

static void test_calls(void)
{
    cudaLogsCallbackHandle handle;
    struct told told = {0};
    cudaLogIterator place;
    void *p;

    eq_error(cudaLogsCurrent(&place, 0), cudaSuccess, "where the log ends");
    eq_error(cudaLogsRegisterCallback(on_line, &told, &handle), cudaSuccess, "register");
    eq_error(cudaSetDevice(77), cudaErrorInvalidDevice, "the runtime refuses");
    dump(&place);
    ok(strstr(text, "[CUDART][E][cudaSetDevice] ") != NULL, "names the call");
    ok(strstr(text, "(cudaErrorInvalidDevice)") != NULL, "with its name");
    eq_error(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation, "the driver refuses");
    eq_u64(count(dump(&place), "\n"), 1, "one line");
    ok(strstr(text, "[CUDART][E][cudaMalloc] ") != NULL, "of the runtime's call");
    ok(strstr(text, "(cudaErrorMemoryAllocation)") && strlen(text) > 90,
       "with the driver's reason");
    eq_u64(told.count, 2, "told twice");
    ok(!strncmp(text, told.last, strlen(told.last)), "the same line");
    eq_error(cudaGetLastError(), cudaErrorMemoryAllocation, "the last error");
    eq_error(cudaPeekAtLastError(), cudaSuccess, "is gone");
    eq_str(dump(&place), "", "to ask for errors is none");
    eq_error(cudaLogsUnregisterCallback(handle), cudaSuccess, "unregister");
    eq_error(cudaLogsUnregisterCallback(handle), cudaErrorInvalidValue, "twice");
    eq_error(cudaLogsRegisterCallback(NULL, NULL, NULL), cudaErrorInvalidValue, "no function");
    eq_error(cudaLogsDumpToFile(NULL, NULL, 0), cudaErrorInvalidValue, "no path");
    eq_error(cudaLogsCurrent(NULL, 0), cudaErrorInvalidValue, "no iterator");
    eq_u64(told.count, 2, "not told any more");
    eq_u64(count(dump(&place), "[CUDART][E][cudaLogs"), 4, "but logged");
}

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry bad() { tex.nonsense; }\n";

static int bad_stub;

/* A kernel that cannot be compiled. */
static void test_launch(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));
    cudaLogIterator place;

    fixture_function(handle, &bad_stub, "bad");
    __cudaRegisterFatBinaryEnd(handle);
    eq_error(cudaLogsCurrent(&place, 0), cudaSuccess, "where the log ends");
    ok(cudaLaunchKernel(&bad_stub, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, 0) != cudaSuccess,
       "a launch that fails");
    dump(&place);
    ok(strstr(text, "[cudaLaunchKernel] ") && strstr(text, "nonsense"), "its reason");
    (void)cudaGetLastError();
}

int main(void)
{
    test_first();
    test_calls();
    test_launch();
    return done();
}
