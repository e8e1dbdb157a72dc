/* Contexts: the primary one, others, the stack of each thread, flags, identities. */
#include "check.h"

#include <pthread.h>

static void primary(CUdevice device)
{
    CUcontext context = NULL, again = NULL, current = (CUcontext)1;
    unsigned int flags = 99;
    int active = -1;

    OK(cuCtxGetCurrent(&current));
    TRUE(!current);
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    EQ(active, 0);
    OK(cuDevicePrimaryCtxSetFlags(device, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuDevicePrimaryCtxRetain(&again, device));
    TRUE(context && context == again);
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    EQ(active, 1);
    EQ(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_BLOCKING_SYNC);
    OK(cuCtxGetCurrent(&current));
    TRUE(!current); /* to retain makes nothing current */
    OK(cuCtxSetCurrent(context));
    FAILS(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT); /* only those that were created */
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    EQ(active, 0);
    FAILS(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuDevicePrimaryCtxRetain(NULL, device), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDevicePrimaryCtxRetain(&context, 99), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDevicePrimaryCtxSetFlags(device, 0x10000), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxSetFlags(device, 0));
}

/* The older entry points, as programs of their time ask for them. */
static void versions(CUdevice device)
{
    CUresult (*create_v2)(CUcontext *, unsigned int, CUdevice);
    CUresult (*create_v3)(CUcontext *, CUexecAffinityParam *, int, unsigned int, CUdevice);
    CUdriverProcAddressQueryResult status;
    CUcontext context = NULL, current = NULL;
    unsigned int version = 0;

    OK(cuGetProcAddress("cuCtxCreate", (void **)&create_v2, 11000, 0, &status));
    OK(create_v2(&context, 0, device));
    OK(cuCtxGetCurrent(&current));
    TRUE(current == context);
    OK(cuCtxGetApiVersion(context, &version));
    EQ(version, 3020);
    OK(cuCtxDestroy(context));
    OK(cuCtxGetCurrent(&current));
    TRUE(!current);

    OK(cuGetProcAddress("cuCtxCreate", (void **)&create_v3, 11040, 0, &status));
    OK(create_v3(&context, NULL, 0, CU_CTX_SCHED_YIELD, device));
    OK(cuCtxDestroy(context));

    CUctxCreateParams params = {};
    OK(cuCtxCreate(&context, &params, CU_CTX_SCHED_SPIN, device));
    OK(cuCtxDestroy(context));
    OK(cuCtxCreate_v4(&context, NULL, 0, device));
    OK(cuCtxDestroy(context));
    FAILS(cuCtxCreate(&context, NULL, 0x80000, device), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate(&context, NULL, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, device),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate(NULL, NULL, 0, device), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxCreate(&context, NULL, 0, 99), CUDA_ERROR_INVALID_DEVICE);
}

static void stack(CUdevice device)
{
    CUcontext a = NULL, b = NULL, got = NULL;
    CUdevice of = -1;
    unsigned long long id_a = 0, id_b = 0, id = 0;

    FAILS(cuCtxPopCurrent(&got), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxCreate(&a, NULL, 0, device));
    OK(cuCtxCreate(&b, NULL, CU_CTX_SCHED_YIELD, device));
    OK(cuCtxGetId(a, &id_a));
    OK(cuCtxGetId(b, &id_b));
    OK(cuCtxGetId(NULL, &id));
    EQ(id, id_b);
    TRUE(id_a != id_b);
    OK(cuCtxPopCurrent(&got));
    TRUE(got == b);
    OK(cuCtxGetCurrent(&got));
    TRUE(got == a);
    OK(cuCtxPushCurrent(b));
    OK(cuCtxPushCurrent(b));
    OK(cuCtxSetCurrent(a)); /* replaces the top */
    OK(cuCtxPopCurrent(&got));
    TRUE(got == a);
    OK(cuCtxPopCurrent(&got));
    TRUE(got == b);
    OK(cuCtxGetDevice(&of));
    EQ(of, device);
    OK(cuCtxGetDevice_v2(&of, b));
    EQ(of, device);
    OK(cuCtxSynchronize_v2(b));
    OK(cuCtxPopCurrent(&got));
    TRUE(got == a);
    FAILS(cuCtxGetDevice(&of), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy(a));
    OK(cuCtxDestroy(b));
    FAILS(cuCtxPushCurrent(b), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxDestroy(b), CUDA_ERROR_INVALID_CONTEXT);
    TRUE(cuCtxDestroy(NULL) != CUDA_SUCCESS);
}

static void flags(CUdevice device)
{
    CUcontext context = NULL;
    unsigned int got = 0;
    CUdeviceptr memory = 0;

    OK(cuCtxCreate(&context, NULL, CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST, device));
    OK(cuCtxGetFlags(&got));
    EQ(got & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
    OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
    OK(cuCtxGetFlags(&got));
    EQ(got & CU_CTX_SYNC_MEMOPS, CU_CTX_SYNC_MEMOPS);
    FAILS(cuCtxSetFlags(0x40000), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCtxGetFlags(NULL), CUDA_ERROR_INVALID_VALUE);

    /* Memory, streams and modules go with the context. */
    CUstream stream = NULL;
    CUmodule module = NULL;
    OK(cuMemAlloc(&memory, 64));
    OK(cuStreamCreate(&stream, 0));
    OK(cuModuleLoadData(&module, module_ptx));
    OK(cuCtxDestroy(context));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    FAILS(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuCtxSetCurrent(NULL));
}

static void *bare_thread(void *)
{
    CUcontext context = (CUcontext)1;
    int *memory = NULL;

    OK(cuCtxGetCurrent(&context)); /* a new thread has none */
    TRUE(!context);
    OK(cudaMalloc(&memory, 4)); /* and the runtime takes the primary one */
    OK(cuCtxGetCurrent(&context));
    TRUE(context);
    OK(cudaFree(memory));
    return NULL;
}

/* The runtime works in whatever context is current. */
static void with_runtime(CUdevice device)
{
    CUcontext context = NULL, of = NULL, current = NULL, main_one = NULL;
    int *memory = NULL;
    pthread_t thread;

    OK(cuCtxCreate(&context, NULL, 0, device));
    OK(cudaMalloc(&memory, 64));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)memory));
    TRUE(of == context);
    OK(cudaFree(memory));
    OK(cudaSetDevice(0)); /* makes the primary one current */
    OK(cuCtxGetCurrent(&current));
    OK(cuDevicePrimaryCtxRetain(&main_one, device));
    TRUE(current == main_one);
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuCtxDestroy(context));
    TRUE(!pthread_create(&thread, NULL, bare_thread, NULL));
    pthread_join(thread, NULL);
    OK(cudaDeviceReset());
}

int main(void)
{
    CUdevice device;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    primary(device);
    versions(device);
    stack(device);
    flags(device);
    with_runtime(device);
    return finish();
}
