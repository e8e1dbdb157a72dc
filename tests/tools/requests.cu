/* A program that serves requests, for tests of heddle serve: requests.cu N SLEEP_US LINES */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__global__ void work(float *x, int turns)
{
    float v = x[threadIdx.x];

    for (int i = 0; i < turns; i++)
        v = v * 1.0001f + 0.5f;
    x[threadIdx.x] = v;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10, sleep_us = argc > 2 ? atoi(argv[2]) : 0;
    char line[16], text[32];
    float *x, host[256] = {0};

    cudaMalloc(&x, sizeof(host));
    cudaMemcpy(x, host, sizeof(host), cudaMemcpyHostToDevice);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("shop");
    for (int i = 0; i < n; i++) {
        nvtxEventAttributes_t a = {};
        a.version = NVTX_VERSION;
        a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        a.messageType = NVTX_MESSAGE_TYPE_ASCII;
        snprintf(text, sizeof(text), "order %d", i);
        a.message.ascii = text;
        nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &a);
        nvtxRangePushA("infer");
        nvtxRangePushA("not counted");
        work<<<4, 64>>>(x, 1000);
        cudaDeviceSynchronize();
        nvtxRangePop();
        nvtxRangePop();
        if (sleep_us)
            usleep(sleep_us);
        nvtxDomainRangeEnd(domain, range);
    }
    printf("served\n");
    fflush(stdout);
    return fgets(line, sizeof(line), stdin) == NULL;
}
