/*
 * Devices of the runtime: which one a thread gets that chooses none, launches on several, and what
 * none of them has: objects of graphics libraries, functions that the host can call.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/runtime/interop.h"
#include "runtime_fixture.h"

static void *library;

static void *find(const char *name, const char *version)
{
    void *func = version ? dlvsym(library, name, version) : dlsym(library, name);

    ok(func != NULL, "%s", name);
    return func;
}

/* ---- which device */

static void *device_of_thread(void *out)
{
    void *memory;

    if (cudaMalloc(&memory, 64) || cudaGetDevice(out) || cudaFree(memory))
        *(int *)out = -1;
    return NULL;
}

static void thread_gets(int want, const char *what)
{
    pthread_t thread;
    int got = -2;

    if (pthread_create(&thread, NULL, device_of_thread, &got))
        abort();
    pthread_join(thread, NULL);
    eq_u64((unsigned)got, (unsigned)want, "%s", what);
}

static void test_valid_devices(void)
{
    int order[] = {2, 0, 1}, wrong[] = {1, 3}, four[4] = {0};

    thread_gets(0, "a thread works on device 0");
    eq_error(cudaSetValidDevices(order, 3), cudaSuccess, "an order");
    thread_gets(2, "the first one");
    eq_error(cudaSetValidDevices(order + 2, 1), cudaSuccess, "only one");
    thread_gets(1, "which is taken");
    eq_error(cudaSetValidDevices(wrong, 2), cudaErrorInvalidDevice, "one that is not there");
    eq_error(cudaSetValidDevices(four, 4), cudaErrorInvalidValue, "more than there are");
    eq_error(cudaSetValidDevices(NULL, 1), cudaErrorInvalidValue, "null");
    eq_error(cudaSetValidDevices(order, -1), cudaErrorInvalidValue, "less than none");
    thread_gets(1, "none of which changes anything");
    eq_error(cudaSetValidDevices(NULL, 0), cudaSuccess, "the default");
    thread_gets(0, "is device 0 first");
}

/* ---- launches on several, CUDA 12's */

static const char ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry mark(.param .u64 out) { .reg .b32 v, n; .reg .b64 o, at;\n"
    "ld.param.u64 o, [out]; mov.u32 n, %tid.x; mul.wide.u32 at, n, 4; add.u64 o, o, at;\n"
    "add.u32 n, n, 5; st.global.u32 [o], n; ret; }\n";
static char mark, unknown;

typedef cudaError_t (*launch_fn)(struct cudaLaunchParams *, unsigned, unsigned);

static void test_launch(void)
{
    launch_fn launch = (launch_fn)find("cudaLaunchCooperativeKernelMultiDevice", "libcudart.so.12");
    struct cudaLaunchParams list[3];
    unsigned *out[3];
    void *args[3];
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));

    fixture_function(handle, &mark, "mark");
    __cudaRegisterFatBinaryEnd(handle);
    for (int d = 0; d < 3; d++) {
        eq_error(cudaSetDevice(d), cudaSuccess, "device %d", d);
        eq_error(cudaMallocManaged((void **)&out[d], 64, cudaMemAttachGlobal), cudaSuccess,
                 "memory");
        memset(out[d], 0, 64);
        args[d] = &out[d];
        list[d] = (struct cudaLaunchParams){
            .func = &mark, .gridDim = {1, 1, 1}, .blockDim = {4, 1, 1}, .args = &args[d]};
        eq_error(cudaStreamCreate(&list[d].stream), cudaSuccess, "stream");
    }
    eq_error(launch(list, 3, 0), cudaSuccess, "three devices");
    for (int d = 0; d < 3; d++) {
        eq_error(cudaStreamSynchronize(list[d].stream), cudaSuccess, "wait");
        ok(out[d][0] == 5 && out[d][3] == 8 && !out[d][4], "what device %d wrote", d);
    }
    eq_error(launch(NULL, 1, 0), cudaErrorInvalidValue, "null");
    eq_error(launch(list, 0, 0), cudaErrorInvalidValue, "none");
    eq_error(launch(list, 4, 0), cudaErrorInvalidValue, "more than there are");
    eq_error(launch(list, 3, 8), cudaErrorInvalidValue, "a flag that is none");
    list[1].blockDim.x = 5000;
    eq_error(launch(list, 3, 0), cudaErrorInvalidConfiguration, "too large a block");
    list[1].blockDim.x = 5;
    eq_error(launch(list, 3, 0), cudaErrorInvalidValue, "another block");
    list[1].blockDim.x = 4;
    list[1].func = &unknown;
    eq_error(launch(list, 3, 0), cudaErrorInvalidDeviceFunction, "no kernel");
    list[1].func = &mark;
    list[1].stream = list[0].stream;
    eq_error(launch(list, 3, 0), cudaErrorInvalidValue, "twice on one device");
    (void)cudaGetLastError();
}

/* ---- what there is not */

typedef cudaError_t (*any_fn)(uintptr_t, void *, void *, void *, void *, void *);

/* What the first argument is: a place for something, the number of a buffer, a device. */
enum first { PLACE, NUMBER, DEVICE };

static const struct {
    const char *name;
    enum first first;
} rows[] = {
    {"cudaGLSetGLDevice", DEVICE},
    {"cudaGraphicsGLRegisterBuffer", PLACE},
    {"cudaGraphicsGLRegisterImage", PLACE},
    {"cudaGLRegisterBufferObject", NUMBER},
    {"cudaGLSetBufferObjectMapFlags", NUMBER},
    {"cudaGLMapBufferObject", PLACE},
    {"cudaGLMapBufferObjectAsync", PLACE},
    {"cudaGLUnmapBufferObject", NUMBER},
    {"cudaGLUnmapBufferObjectAsync", NUMBER},
    {"cudaGLUnregisterBufferObject", NUMBER},
    {"cudaGraphicsEGLRegisterImage", PLACE},
    {"cudaGraphicsResourceGetMappedEglFrame", PLACE},
    {"cudaEventCreateFromEGLSync", PLACE},
    {"cudaEGLStreamConsumerConnect", PLACE},
    {"cudaEGLStreamConsumerConnectWithFlags", PLACE},
    {"cudaEGLStreamConsumerDisconnect", PLACE},
    {"cudaEGLStreamConsumerAcquireFrame", PLACE},
    {"cudaEGLStreamConsumerReleaseFrame", PLACE},
    {"cudaEGLStreamProducerConnect", PLACE},
    {"cudaEGLStreamProducerDisconnect", PLACE},
    {"cudaEGLStreamProducerPresentFrame", PLACE},
    {"cudaEGLStreamProducerReturnFrame", PLACE},
    {"cudaVDPAUGetDevice", PLACE},
    {"cudaVDPAUSetVDPAUDevice", DEVICE},
    {"cudaGraphicsVDPAURegisterVideoSurface", PLACE},
    {"cudaGraphicsVDPAURegisterOutputSurface", PLACE},
    {"__cudaGetProcAddress", NUMBER},
};

static void test_graphics(void)
{
    uint64_t room[32];

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        any_fn call = (any_fn)find(rows[i].name, NULL);
        uintptr_t good = rows[i].first == PLACE ? (uintptr_t)room : 1;
        uintptr_t bad = rows[i].first == PLACE ? 0 : 77;

        eq_error(call(good, room, room, room, room, room), cudaErrorNotSupported, "%s",
                 rows[i].name);
        eq_error(cudaGetLastError(), cudaErrorNotSupported, "and is remembered");
        if (rows[i].first != NUMBER)
            eq_error(call(bad, room, room, room, room, room), cudaErrorInvalidValue, "%s: wrong",
                     rows[i].name);
    }
}

static void test_gl_devices(void)
{
    cudaError_t (*get)(unsigned *, int *, unsigned, enum cudaGLDeviceList) =
        (cudaError_t(*)(unsigned *, int *, unsigned, enum cudaGLDeviceList))find("cudaGLGetDevices",
                                                                                 NULL);
    unsigned n = 7;
    int devices[4];

    eq_error(get(&n, devices, 4, cudaGLDeviceListAll), cudaErrorNotSupported, "devices of OpenGL");
    eq_u64(n, 7, "and nothing is written");
    eq_error(get(NULL, devices, 4, cudaGLDeviceListAll), cudaErrorInvalidValue, "null");
    eq_error(get(&n, devices, 4, (enum cudaGLDeviceList)9), cudaErrorInvalidValue, "no list");
}

static void test_resources(void)
{
    cudaGraphicsResource_t resource = (cudaGraphicsResource_t)&resource;
    cudaMipmappedArray_t mipmap;
    cudaArray_t array;
    void *ptr;
    size_t size_B;

    eq_error(cudaGraphicsUnregisterResource(resource), cudaErrorInvalidResourceHandle, "none");
    eq_error(cudaGraphicsResourceSetMapFlags(resource, 0), cudaErrorInvalidResourceHandle, "flags");
    eq_error(cudaGraphicsMapResources(1, &resource, 0), cudaErrorInvalidResourceHandle, "map");
    eq_error(cudaGraphicsMapResources(-1, &resource, 0), cudaErrorInvalidValue, "less than none");
    eq_error(cudaGraphicsUnmapResources(1, &resource, 0), cudaErrorInvalidResourceHandle, "unmap");
    eq_error(cudaGraphicsUnmapResources(1, NULL, 0), cudaErrorInvalidValue, "null");
    eq_error(cudaGraphicsResourceGetMappedPointer(&ptr, &size_B, resource),
             cudaErrorInvalidResourceHandle, "memory");
    eq_error(cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, resource),
             cudaErrorInvalidResourceHandle, "a mipmapped array");
    eq_error(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0),
             cudaErrorInvalidResourceHandle, "an array");
}

static void notified(cudaAsyncNotificationInfo_t *info, void *arg, cudaAsyncCallbackHandle_t handle)
{
    (void)info, (void)arg, (void)handle;
}

static void test_notifications(void)
{
    cudaAsyncCallbackHandle_t handle = NULL;

    eq_error(cudaDeviceRegisterAsyncNotification(0, notified, NULL, &handle), cudaErrorNotSupported,
             "nobody takes memory");
    eq_error(cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &handle), cudaErrorInvalidValue,
             "no function");
    eq_error(cudaDeviceRegisterAsyncNotification(9, notified, NULL, &handle),
             cudaErrorInvalidDevice, "no device");
    eq_error(cudaDeviceUnregisterAsyncNotification(0, handle), cudaErrorInvalidValue, "none");
}

static void test_unified_function(void)
{
    cudaLibrary_t code;
    void *func;

    eq_error(cudaLibraryLoadData(&code, ptx, NULL, NULL, 0, NULL, NULL, 0), cudaSuccess, "library");
    eq_error(cudaLibraryGetUnifiedFunction(&func, code, "mark"), cudaErrorSymbolNotFound,
             "no function is one that the host can call");
    eq_error(cudaLibraryGetUnifiedFunction(NULL, code, "mark"), cudaErrorInvalidValue, "null");
    eq_error(cudaLibraryGetUnifiedFunction(&func, NULL, "mark"), cudaErrorInvalidResourceHandle,
             "no library");
    eq_error(cudaLibraryUnload(code), cudaSuccess, "unload");
}

/* ---- copies between devices */

static void hold(void *flag)
{
    while (!atomic_load((_Atomic int *)flag))
        usleep(100);
}

static void *let_go(void *flag)
{
    usleep(20000);
    atomic_store((_Atomic int *)flag, 1);
    return NULL;
}

/* In the legacy stream of one device, with work before and behind it in that of the other. */
static void check_between(int where, int order[2], const char *what)
{
    enum { N = 1 << 16 };
    unsigned char *memory[2], *host = malloc(N);
    _Atomic int flag = 0;
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        eq_error(cudaSetDevice(order[i]), cudaSuccess, "device");
        eq_error(cudaMalloc((void **)&memory[i], N), cudaSuccess, "memory");
        eq_error(cudaMemset(memory[i], i, N), cudaSuccess, "set");
    }
    eq_error(cudaSetDevice(order[0]), cudaSuccess, "device");
    eq_error(cudaLaunchHostFunc(NULL, hold, &flag), cudaSuccess, "something that takes a while");
    eq_error(cudaMemsetAsync(memory[0], 7, N, NULL), cudaSuccess, "before it");
    eq_error(cudaSetDevice(order[where]), cudaSuccess, "device");
    eq_error(cudaMemcpyAsync(memory[1], memory[0], N, cudaMemcpyDefault, NULL), cudaSuccess,
             "copy");
    eq_error(cudaSetDevice(order[0]), cudaSuccess, "device");
    eq_error(cudaMemsetAsync(memory[0], 9, N, NULL), cudaSuccess, "behind it");
    if (pthread_create(&thread, NULL, let_go, &flag))
        abort();
    eq_error(cudaSetDevice(order[1]), cudaSuccess, "device");
    eq_error(cudaMemcpy(host, memory[1], N, cudaMemcpyDefault), cudaSuccess, "what came");
    pthread_join(thread, NULL);
    ok(host[0] == 7 && host[N - 1] == 7, "%s: 7, not %u", what, host[0]);
    for (int i = 0; i < 2; i++)
        eq_error(cudaFree(memory[i]), cudaSuccess, "free");
    free(host);
}

static void test_between_devices(void)
{
    check_between(1, (int[2]){0, 1}, "a copy on the device that it goes to");
    check_between(0, (int[2]){2, 1}, "on the device that it comes from");
    eq_error(cudaSetDevice(0), cudaSuccess, "device");
}

int main(void)
{
    setenv("HEDDLE_DEVICES", "3", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        abort();
    test_valid_devices();
    test_launch();
    test_graphics();
    test_gl_devices();
    test_resources();
    test_notifications();
    test_unified_function();
    test_between_devices();
    return done();
}
