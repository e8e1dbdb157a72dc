/*
 * The two versions of libcudart in one library: programs built with CUDA 12 and 13 get their own
 * layouts and arguments. The names are looked up as the loader does it for such programs.
 */
#include "api/runtime/prop.h"

#include <dlfcn.h>

#include "runtime_fixture.h"

static void *library;

static void *find(const char *name, const char *version)
{
    void *func = dlvsym(library, name, version);
    ok(func != NULL, "%s@%s", name, version);
    return func;
}

#define FIND(type, name, version) ((type)find(name, "libcudart.so." version))

typedef cudaError_t (*get_int)(int *);
typedef cudaError_t (*get_prop)(void *, int);

static void test_versions(void)
{
    int version = 0;
    ok(FIND(get_int, "cudaRuntimeGetVersion", "13")(&version) == cudaSuccess, "13's version");
    eq_u64((unsigned)version, 13000, "is 13.0");
    ok(FIND(get_int, "cudaRuntimeGetVersion", "12")(&version) == cudaSuccess, "12's version");
    eq_u64((unsigned)version / 1000, 12, "is some 12");
    ok(dlvsym(library, "cudaThreadExit", "libcudart.so.13") == NULL, "13 dropped cudaThreadExit");
    ok(dlvsym(library, "cudaLogsCurrent", "libcudart.so.12") == NULL, "12 has no cudaLogsCurrent");
    ok(dlsym(library, "cudaMalloc") == dlvsym(library, "cudaMalloc", "libcudart.so.13"),
       "13 is the default");
}

static void test_properties(void)
{
    struct cudaDeviceProp p13;
    struct rt12_device_prop p12;
    unsigned char p11[RT11_DEVICE_PROP_B + 8];
    memset(p11, 0xee, sizeof(p11));
    ok(FIND(get_prop, "cudaGetDeviceProperties", "13")(&p13, 0) == cudaSuccess, "13");
    ok(FIND(get_prop, "cudaGetDeviceProperties_v2", "12")(&p12, 0) == cudaSuccess, "12");
    ok(FIND(get_prop, "cudaGetDeviceProperties", "12")(p11, 0) == cudaSuccess, "11");
    eq_str(p12.name, p13.name, "name");
    eq_u64((unsigned)p13.major, 12, "compute capability 12.0");
    eq_u64((unsigned)p12.major, 12, "also in 12's layout");
    eq_u64((unsigned)p12.multiProcessorCount, (unsigned)p13.multiProcessorCount, "SMs");
    eq_u64(p12.sharedMemPerBlockOptin, p13.sharedMemPerBlockOptin, "opt-in shared memory");
    ok(p12.clockRate > 0 && p12.memoryClockRate > 0, "12 has clock rates");
    eq_mem(p11, &p12, RT11_DEVICE_PROP_B, "11 is the beginning of 12");
    ok(p11[RT11_DEVICE_PROP_B] == 0xee, "and no byte more");
}

static void test_split(void)
{
    typedef cudaError_t (*prefetch12)(const void *, size_t, int, cudaStream_t);
    typedef cudaError_t (*prefetch13)(const void *, size_t, struct cudaMemLocation, unsigned,
                                      cudaStream_t);
    typedef cudaError_t (*info12)(cudaStream_t, enum cudaStreamCaptureStatus *,
                                  unsigned long long *);
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    void *managed;
    cudaMallocManaged(&managed, 64, cudaMemAttachGlobal);
    prefetch12 old = FIND(prefetch12, "cudaMemPrefetchAsync", "12");
    prefetch13 now = FIND(prefetch13, "cudaMemPrefetchAsync", "13");
    eq_error(old(managed, 64, 0, NULL), cudaSuccess, "prefetch to device 0");
    eq_error(old(managed, 64, 99, NULL), cudaErrorInvalidDevice, "and to one that is not there");
    eq_error(now(managed, 64, device, 0, NULL), cudaSuccess, "prefetch to a location");
    eq_error(FIND(info12, "cudaStreamGetCaptureInfo", "12")(NULL, &status, NULL), cudaSuccess,
             "capture status with three arguments");
    ok(status == cudaStreamCaptureStatusNone, "none");
    cudaFree(managed);
}

/* The table of errors: ascending, names and well-known texts. */
static void test_errors(void)
{
    int last = -1;
    bool ascending = true;
#define X(name, value, text)                                                                       \
    ascending &= value > last;                                                                     \
    last = value;
#include "api/cudart_errors.def"
#undef X
    ok(ascending, "error codes ascend");
    eq_str(cudaGetErrorString(cudaSuccess), "no error", "0");
    eq_str(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory", "2");
    eq_str(cudaGetErrorName(cudaErrorApiFailureBase), "cudaErrorApiFailureBase", "the last one");
    eq_str(cudaGetErrorString((cudaError_t)12345), "unrecognized error code", "none");
}

int main(void)
{
    library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (!ok(library != NULL, "the library is loaded by its soname"))
        return done();
    test_versions();
    test_properties();
    test_split();
    test_errors();
    return done();
}
