/* Two devices: access of each to the other's memory, copies between them, pools, virtual memory. */
#include "check.h"

enum { N = 512 };

static __global__ void add(int *words, int value)
{
    words[threadIdx.x] += value;
}

static int *memory_on(int device, int first)
{
    int host[N], *words = NULL;

    for (int i = 0; i < N; i++)
        host[i] = first + i;
    OK(cudaSetDevice(device));
    OK(cudaMalloc(&words, sizeof(host)));
    OK(cudaMemcpy(words, host, sizeof(host), cudaMemcpyHostToDevice));
    return words;
}

static void expect(const int *words, int first)
{
    int host[N];
    OK(cudaMemcpy(host, words, sizeof(host), cudaMemcpyDefault));
    EQ(check_wrong(host, N, first, 1), 0);
}

static void access_rights(int *there)
{
    int can = 0, value = -1;
    CUcontext primary = NULL;

    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    EQ(can, 1);
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EQ(can, 0);
    OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    EQ(value, 1);
    OK(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 0));
    EQ(value, 1);
    FAILS(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0),
          CUDA_ERROR_INVALID_DEVICE);
    FAILS(cudaDeviceCanAccessPeer(&can, 0, 2), cudaErrorInvalidDevice);

    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    FAILS(cudaDeviceEnablePeerAccess(1, 5), cudaErrorInvalidValue);
    FAILS(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    add<<<1, N>>>(there, 1000);
    OK(cudaDeviceSynchronize());
    expect(there, 1100);
    OK(cudaDeviceDisablePeerAccess(1));
    FAILS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    OK(cuDevicePrimaryCtxRetain(&primary, 1));
    OK(cuCtxEnablePeerAccess(primary, 0));
    FAILS(cuCtxEnablePeerAccess(primary, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuCtxDisablePeerAccess(primary));
    OK(cuDevicePrimaryCtxRelease(1));
}

static void copies(int *here, int *there)
{
    CUcontext contexts[2];
    cudaStream_t stream = NULL;
    cudaMemcpy3DPeerParms params = {};

    OK(cudaSetDevice(0));
    OK(cudaMemcpyPeer(there, 1, here, 0, N * 4));
    expect(there, 0);
    OK(cudaSetDevice(1));
    add<<<1, N>>>(there, 7);
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyPeerAsync(here, 0, there, 1, N * 4, stream));
    OK(cudaStreamSynchronize(stream));
    expect(here, 7);
    add<<<1, N>>>(there, 10);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(here, there, N * 4, cudaMemcpyDefault));
    expect(here, 17);
    for (int i = 0; i < 2; i++)
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    OK(cuMemcpyPeer((CUdeviceptr)there, contexts[1], (CUdeviceptr)here + 4, contexts[0],
                    (N - 1) * 4));
    OK(cudaMemcpy(here, there, (N - 1) * 4, cudaMemcpyDefault));
    int word = 0;
    OK(cudaMemcpy(&word, here, 4, cudaMemcpyDefault));
    EQ(word, 18);
    params.srcDevice = 1;
    params.srcPtr = make_cudaPitchedPtr(there, 64, 64, N / 16);
    params.dstDevice = 0;
    params.dstPtr = make_cudaPitchedPtr(here, 64, 64, N / 16);
    params.dstPos = make_cudaPos(4, 1, 0);
    params.extent = make_cudaExtent(8, 2, 1);
    OK(cudaMemcpy3DPeer(&params));
    OK(cudaMemcpy(&word, here + 17, 4, cudaMemcpyDefault));
    EQ(word, 18);
    FAILS(cudaMemcpyPeer(there, 2, here, 0, 4), cudaErrorInvalidDevice);
    FAILS(cudaMemcpyPeer(there, 1, here, 0, 1 << 24), cudaErrorInvalidValue);
    for (int i = 0; i < 2; i++)
        OK(cuDevicePrimaryCtxRelease(i));
    OK(cudaStreamDestroy(stream));
}

/* Work of one device waits for the other's. */
static void order(int *here, int *there)
{
    cudaStream_t streams[2];
    cudaEvent_t event = NULL;

    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamCreate(&streams[i]));
    }
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); /* of device 1 */
    OK(cudaMemsetAsync(there, 0, N * 4, streams[1]));
    add<<<1, N, 0, streams[1]>>>(there, 5);
    OK(cudaEventRecord(event, streams[1]));
    FAILS(cudaEventRecord(event, streams[0]), cudaErrorInvalidResourceHandle); /* other context */
    OK(cudaSetDevice(0));
    OK(cudaStreamWaitEvent(streams[0], event, 0));
    OK(cudaMemcpyPeerAsync(here, 0, there, 1, N * 4, streams[0]));
    OK(cudaStreamSynchronize(streams[0]));
    int word = 0;
    OK(cudaMemcpy(&word, here + N - 1, 4, cudaMemcpyDefault));
    EQ(word, 5);
    add<<<1, N, 0, streams[1]>>>(there, 5); /* a stream of the device that is not current */
    EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(streams[0]));
    OK(cudaStreamDestroy(streams[1]));
}

static void pools(void)
{
    cudaMemPool_t pool = NULL;
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    cudaMemAccessFlags flags;
    cudaStream_t stream = NULL;
    int *words = NULL;

    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    EQ(flags, cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    EQ(flags, cudaMemAccessFlagsProtReadWrite);
    OK(cudaMallocAsync(&words, N * 4, stream));
    OK(cudaMemsetAsync(words, 0, N * 4, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaSetDevice(0));
    add<<<1, N>>>(words, 3); /* without cudaDeviceEnablePeerAccess */
    OK(cudaDeviceSynchronize());
    int word = 0;
    OK(cudaMemcpy(&word, words, 4, cudaMemcpyDefault));
    EQ(word, 3);
    OK(cudaFreeAsync(words, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

int main(void)
{
    int count = 0;

    OK(cudaGetDeviceCount(&count));
    EQ(count, 2);
    if (count < 2)
        return finish();
    int *here = memory_on(0, 0), *there = memory_on(1, 100);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, there));
    EQ(attributes.device, 1);
    access_rights(there);
    copies(here, there);
    order(here, there);
    pools();
    OK(cudaFree(here));
    OK(cudaFree(there));
    return finish();
}
