/*
 * nvtx3/nvToolsExt.h: a tool that NVTX_INJECTION64_PATH names is told what the program marks. With -DLIBRARY this file is
 * that tool, which prints; it, too, knows only the header's names.
 * targets: 90
 * tool: NVTX_INJECTION64_PATH
 */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <stdio.h>
#include <string.h>

#if defined(LIBRARY)

static nvtxRangeId_t next_id = 100;
static int depth;

static void mark(const char *message) { printf("mark %s\n", message); }
static void mark_wide(const wchar_t *message) { printf("mark wide %ls\n", message); }
static int push(const char *message) { printf("push %s\n", message); return depth++; }
static int pop() { printf("pop\n"); return --depth; }
static nvtxRangeId_t start(const char *message) { printf("start %s\n", message); return next_id++; }
static void end(nvtxRangeId_t id) { printf("end %d\n", (int)id); }
static nvtxDomainHandle_t create(const char *name) { printf("domain %s\n", name); return (nvtxDomainHandle_t)&next_id; }
static nvtxStringHandle_t string(nvtxDomainHandle_t domain, const char *text)
{
    printf("string %s %d\n", text, domain == (nvtxDomainHandle_t)&next_id);
    return (nvtxStringHandle_t)&depth;
}
static int domain_push(nvtxDomainHandle_t, const nvtxEventAttributes_t *a)
{
    printf("push v%d %d cat %u color %d %#x payload %d %g message %d %d\n", a->version, a->size, a->category, a->colorType,
           a->color, a->payloadType, a->payload.dValue, a->messageType, a->message.registered == (nvtxStringHandle_t)&depth);
    return depth++;
}
static int domain_pop(nvtxDomainHandle_t) { printf("pop of domain\n"); return --depth; }
static void name_stream(cudaStream_t stream, const char *name) { printf("stream %s %d\n", name, stream != nullptr); }

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = (const NvtxExportTableCallbacks *)get_table(1);
    const NvtxExportTableVersionInfo *version = (const NvtxExportTableVersionInfo *)get_table(3);
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || get_table(77) ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    printf("version %u, core %u\n", version->version, size);
    *table[2] = (NvtxFunctionPointer)mark;
    *table[3] = (NvtxFunctionPointer)mark_wide;
    *table[5] = (NvtxFunctionPointer)start;
    *table[7] = (NvtxFunctionPointer)end;
    *table[9] = (NvtxFunctionPointer)push;
    *table[11] = (NvtxFunctionPointer)pop;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
        return 0;
    printf("core2 %u\n", size);
    *table[4] = (NvtxFunctionPointer)domain_push;
    *table[5] = (NvtxFunctionPointer)domain_pop;
    *table[10] = (NvtxFunctionPointer)string;
    *table[12] = (NvtxFunctionPointer)create;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &size))
        return 0;
    *table[3] = (NvtxFunctionPointer)name_stream;
    return 1;
}

#else

int main()
{
    int failures = 0;
    cudaStream_t stream = nullptr;
    nvtxMark("first");
    nvtxMarkW(L"second");
    int level = nvtxRangePush("outer");
    failures += level != 0 || nvtxRangePushA("inner") != 1;
    failures += nvtxRangePop() != 1 || nvtxRangePop() != 0;
    nvtxRangeId_t range = nvtxRangeStart("long");
    failures += range != 100;
    nvtxRangeEnd(range);
    nvtxNameOsThread(7, "nobody listens to this one");
    nvtxDomainHandle_t domain = nvtxDomainCreate("org.heddle");
    nvtxEventAttributes_t event;
    memset(&event, 0, sizeof(event));
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.category = 5;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff00ff00;
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 2.5;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterString(domain, "a text");
    failures += nvtxDomainRangePushEx(domain, &event) != 0 || nvtxDomainRangePop(domain) != 0;
    failures += cudaStreamCreate(&stream) != cudaSuccess;
    nvtxNameCudaStreamA(stream, "mine");
    nvtxDomainDestroy(domain);
    printf(failures ? "%d wrong\n" : "all right\n", failures);
    return failures != 0;
}

#endif
