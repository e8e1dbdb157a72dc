/* Between processes: memory and events. The program starts itself again as the second one. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 1024 };

static __global__ void add(int *words, int value)
{
    words[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

/* What the first process writes into the pipe. */
struct message {
    cudaIpcMemHandle_t memory;
    CUipcMemHandle part;
    cudaIpcEventHandle_t event, driver_event;
};

static int second_process(int from, int to)
{
    message got;
    int *words = NULL, value = 0;
    CUdeviceptr part = 0;
    cudaEvent_t event = NULL;
    CUevent back = NULL;

    TRUE(read(from, &got, sizeof(got)) == sizeof(got));
    OK(cudaIpcOpenMemHandle((void **)&words, got.memory, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenEventHandle(&event, got.event));
    OK(cudaEventSynchronize(event)); /* what the other process's stream did is done */
    OK(cudaMemcpy(&value, words + N - 1, 4, cudaMemcpyDeviceToHost));
    EQ(value, N - 1);
    add<<<N / 128, 128>>>(words, 1000);
    OK(cuIpcOpenEventHandle(&back, *(CUipcEventHandle *)&got.driver_event));
    OK(cuEventRecord(back, NULL));
    OK(cudaDeviceSynchronize());
    OK(cuIpcOpenMemHandle(&part, got.part, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuMemcpyDtoH(&value, part, 4)); /* the handle of a part is the whole allocation's */
    EQ(value, 77);
    FAILS(cudaFree(words), cudaErrorInvalidValue); /* it is not this process's */
    OK(cudaIpcCloseMemHandle(words));
    FAILS(cudaIpcCloseMemHandle(words), cudaErrorInvalidValue);
    OK(cuIpcCloseMemHandle(part));
    OK(cudaEventDestroy(event));
    OK(cuEventDestroy(back));
    TRUE(write(to, "x", 1) == 1);
    return check_failures != 0;
}

static void first_process(const char *program, int *words, int *other)
{
    int there[2], back[2], status = -1, got[4], i = 0;
    cudaEvent_t event = NULL, answer = NULL;
    cudaStream_t stream = NULL;
    message said;
    char arguments[2][16], byte;

    TRUE(!pipe(there) && !pipe(back));
    snprintf(arguments[0], sizeof(arguments[0]), "%d", there[0]);
    snprintf(arguments[1], sizeof(arguments[1]), "%d", back[1]);
    pid_t child = fork();
    if (!child) { /* nothing of CUDA between fork and exec */
        execl(program, program, arguments[0], arguments[1], (char *)NULL);
        _exit(99);
    }
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&answer, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaIpcGetMemHandle(&said.memory, words));
    OK(cuIpcGetMemHandle(&said.part, (CUdeviceptr)other));
    OK(cudaIpcGetEventHandle(&said.event, event));
    OK(cuIpcGetEventHandle((CUipcEventHandle *)&said.driver_event, answer));
    add<<<N / 128, 128, 0, stream>>>(words, 0);
    OK(cudaEventRecord(event, stream));
    TRUE(write(there[1], &said, sizeof(said)) == sizeof(said));
    TRUE(read(back[0], &byte, 1) == 1);
    OK(cudaStreamWaitEvent(stream, answer, 0));
    OK(cudaMemcpyAsync(got, words + 5, sizeof(got), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    EQ(check_wrong(got, 4, 1005, 1), 0);
    TRUE(waitpid(child, &status, 0) == child);
    TRUE(WIFEXITED(status));
    EQ(WEXITSTATUS(status), 0);
    OK(cudaMemcpy(&i, other, 4, cudaMemcpyDeviceToHost));
    EQ(i, 77);
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(answer));
    OK(cudaStreamDestroy(stream));
}

static void wrong(void)
{
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t event = NULL;
    void *pointer = NULL;
    int *managed = NULL;

    FAILS(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    TRUE(cudaIpcGetEventHandle(&handle, event) != cudaSuccess);
    OK(cudaEventDestroy(event));
    OK(cudaMallocManaged(&managed, 64));
    FAILS(cudaIpcGetMemHandle(&memory, managed), cudaErrorInvalidValue);
    OK(cudaFree(managed));
    FAILS(cudaIpcGetMemHandle(NULL, NULL), cudaErrorInvalidValue);
    memset(&memory, 0x5a, sizeof(memory));
    TRUE(cudaIpcOpenMemHandle(&pointer, memory, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess);
    FAILS(cudaIpcOpenMemHandle(&pointer, memory, 0x40), cudaErrorInvalidValue);
    cudaGetLastError();
}

/* Clients ask before they decide how memory is to be shared. */
static unsigned int is_capable(void *memory)
{
    unsigned int capable = 7;

    OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                             (CUdeviceptr)memory));
    return capable;
}

static void capable(int *words)
{
    void *managed = NULL, *pooled = NULL;

    OK(cudaMallocManaged(&managed, 64));
    OK(cudaMallocAsync(&pooled, 64, NULL));
    EQ(is_capable(words), 1u);
    EQ(is_capable(words + 5), 1u);
    EQ(is_capable(managed), 0u);
    EQ(is_capable(pooled), 0u);
    OK(cudaFree(managed));
    OK(cudaFreeAsync(pooled, NULL));
}

int main(int argc, char **argv)
{
    int host[N], *words = NULL, *other = NULL, value = 77;

    if (argc == 3)
        return second_process(atoi(argv[1]), atoi(argv[2]));
    for (int i = 0; i < N; i++)
        host[i] = i;
    OK(cudaMalloc(&words, sizeof(host)));
    OK(cudaMalloc(&other, 256));
    OK(cudaMemcpy(words, host, sizeof(host), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(other, &value, 4, cudaMemcpyHostToDevice));
    capable(words);
    first_process("/proc/self/exe", words, other);
    wrong();
    OK(cudaFree(words));
    OK(cudaFree(other));
    return finish();
}
