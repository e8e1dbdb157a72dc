/* Devices: count, names, attributes, properties, identifiers, limits, cache configurations. */
#include "check.h"

static int attribute(CUdevice_attribute which, CUdevice device)
{
    int value = -1;

    OK(cuDeviceGetAttribute(&value, which, device));
    return value;
}

/* What the two APIs say is the same. */
static void properties(CUdevice device)
{
    static cudaDeviceProp prop;
    CUdevprop old;
    int value = 0, major = 0, minor = 0;
    size_t total = 0;
    char name[256] = "";

    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cuDeviceGetName(name, sizeof(name), device));
    TRUE(!strcmp(prop.name, name));
    OK(cuDeviceTotalMem(&total, device));
    EQ(prop.totalGlobalMem, total);
    EQ(prop.major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    EQ(prop.minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    OK(cuDeviceComputeCapability(&major, &minor, device));
    EQ(prop.major, major);
    EQ(prop.minor, minor);
    EQ(prop.warpSize, 32);
    EQ(prop.multiProcessorCount, attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    EQ(prop.maxThreadsPerBlock, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device));
    EQ(prop.maxThreadsDim[2], attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, device));
    EQ(prop.maxGridSize[0], attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, device));
    EQ(prop.sharedMemPerBlock,
       attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, device));
    EQ(prop.sharedMemPerBlockOptin,
       attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
    EQ(prop.regsPerBlock, attribute(CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK, device));
    EQ(prop.unifiedAddressing, 1);
    EQ(prop.managedMemory, 1);
    EQ(prop.pciBusID, attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
    EQ(prop.memPitch, attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, device));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    EQ(prop.maxThreadsPerMultiProcessor, value);
    OK(cuDeviceGetProperties(&old, device));
    EQ(old.maxThreadsPerBlock, prop.maxThreadsPerBlock);
    EQ(old.SIMDWidth, 32);
    EQ(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
       attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, device));
    EQ(attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_WIDTH, device),
       prop.maxTexture2DLayered[0]);

    FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, device), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, device), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99),
          CUDA_ERROR_INVALID_DEVICE);
    FAILS(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
    FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99), cudaErrorInvalidDevice);
    FAILS(cudaGetDeviceProperties(&prop, 99), cudaErrorInvalidDevice);
    FAILS(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);

    cudaDeviceProp wish = {};
    wish.major = prop.major;
    OK(cudaChooseDevice(&value, &wish));
    TRUE(value >= 0);
}

static void identifiers(CUdevice device)
{
    CUuuid uuid;
    cudaDeviceProp prop;
    char bus[32] = "", short_bus[4] = "";
    CUdevice again = -1;
    int ordinal = -1;

    OK(cuDeviceGetUuid(&uuid, device));
    OK(cudaGetDeviceProperties(&prop, 0));
    TRUE(!memcmp(&uuid, &prop.uuid, sizeof(uuid)));
    OK(cuDeviceGetPCIBusId(bus, sizeof(bus), device));
    EQ(strlen(bus), 12); /* 0000:01:00.0 */
    OK(cuDeviceGetByPCIBusId(&again, bus));
    EQ(again, device);
    OK(cudaDeviceGetByPCIBusId(&ordinal, bus));
    EQ(ordinal, 0);
    char same[32] = "";
    OK(cudaDeviceGetPCIBusId(same, sizeof(same), 0));
    TRUE(!strcmp(bus, same));
    FAILS(cuDeviceGetByPCIBusId(&again, "ffff:ff:1f.7"), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGetByPCIBusId(&again, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cudaDeviceGetPCIBusId(short_bus, 0, 0), cudaErrorInvalidValue);
    FAILS(cuDeviceGetName(NULL, 4, device), CUDA_ERROR_INVALID_VALUE);
    char name[4] = "xxx";
    OK(cuDeviceGetName(name, 3, device)); /* cut off, and ended */
    EQ(strlen(name), 2);
}

static void limits(void)
{
    size_t value = 0, before = 0;

    OK(cudaDeviceGetLimit(&before, cudaLimitStackSize));
    TRUE(before >= 1024);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    TRUE(value >= 4096);
    OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    TRUE(value >= 1 << 20);
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    TRUE(value >= 1 << 20);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    TRUE(value >= 16 << 20);
    FAILS(cuCtxGetLimit(&value, CU_LIMIT_MAX), CUDA_ERROR_UNSUPPORTED_LIMIT);
    FAILS(cudaDeviceGetLimit(&value, (cudaLimit)77), cudaErrorUnsupportedLimit);
    FAILS(cudaDeviceSetLimit((cudaLimit)77, 1), cudaErrorUnsupportedLimit);
    FAILS(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
}

static void configuration(void)
{
    cudaFuncCache cache;
    cudaSharedMemConfig banks;
    CUfunc_cache driver_cache;
    unsigned int flags = 99;
    int low = 1, high = 1, device = -1;
    size_t width = 0;

    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    OK(cuCtxGetCacheConfig(&driver_cache));
    EQ(cache, driver_cache);
    OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE));
    FAILS(cuCtxSetCacheConfig((CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE);
    OK(cudaDeviceGetSharedMemConfig(&banks));
    OK(cudaDeviceGetStreamPriorityRange(&low, &high));
    TRUE(low >= high);
    OK(cudaGetDeviceFlags(&flags));
    EQ(flags & cudaDeviceMapHost, cudaDeviceMapHost);
    FAILS(cudaSetDeviceFlags(0x7000), cudaErrorInvalidValue);
    OK(cudaSetDevice(0));
    OK(cudaGetDevice(&device));
    EQ(device, 0);
    FAILS(cudaSetDevice(99), cudaErrorInvalidDevice);
    OK(cudaGetDevice(&device));
    EQ(device, 0);
    int list[] = {0};
    OK(cudaSetValidDevices(list, 1));
    FAILS(cudaSetValidDevices(NULL, 1), cudaErrorInvalidValue);
    OK(cudaInitDevice(0, 0, 0));
    FAILS(cudaInitDevice(99, 0, 0), cudaErrorInvalidDevice);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &format, 0));
    TRUE(width >= 1 << 16);
    int version = 0, runtime = 0;
    OK(cudaDriverGetVersion(&version));
    OK(cudaRuntimeGetVersion(&runtime));
    TRUE(version >= runtime && runtime >= CUDART_VERSION);
    int driver = 0;
    OK(cuDriverGetVersion(&driver));
    EQ(driver, version);
}

int main(void)
{
    CUdevice device = -1;
    int count = 0, same = 0;

    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    OK(cudaGetDeviceCount(&same));
    EQ(count, same);
    OK(cuDeviceGet(&device, 0));
    FAILS(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    properties(device);
    identifiers(device);
    OK(cudaSetDevice(0));
    limits();
    configuration();
    return finish();
}
