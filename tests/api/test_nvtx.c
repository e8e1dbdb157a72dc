/*
 * A program that marks with NVTX's header, and a listener of the taps. Built with our header and,
 * where it is installed, with NVIDIA's: the program's side uses public names only.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/tap.h"

static unsigned run, failed;

static void ok(int pass, const char *name)
{
    printf("%sok %u - %s\n", pass ? "" : "not ", ++run, name);
    failed += !pass;
}

/* ---- the listener: lines */

static char notified[4096];
static struct heddle_event last;
static const char *marked; /* what the argument struct of nvtxMarkA() has */

static const char *const names[] = {
#define X(name, doc) #name,
    HEDDLE_NVTX_LIST(X)
#undef X
};

static void on_event(void *user, const struct heddle_event *e)
{
    size_t used = strlen(notified);

    (void)user;
    last = *e;
    if (e->nvtx.cbid == 1)
        marked = *(const char *const *)e->nvtx.params;
    snprintf(notified + used, sizeof(notified) - used, "%s %s %s;", names[e->nvtx.call],
             e->nvtx.domain_name ? e->nvtx.domain_name : "-", e->nvtx.text ? e->nvtx.text : "-");
}

static void expect(const char *lines, const char *name)
{
    int same = !strcmp(notified, lines);

    if (!same)
        printf("# got %s\n# want %s\n", notified, lines);
    ok(same, name);
    notified[0] = '\0';
}

/* ---- the program */

static nvtxEventAttributes_t attributes(void)
{
    nvtxEventAttributes_t a;

    memset(&a, 0, sizeof(a));
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 5;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff102030;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 2.5;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "with all";
    return a;
}

static void test_default(void)
{
    nvtxRangeId_t a, b;

    nvtxMarkA("one");
    ok(last.kind == HEDDLE_EVENT_NVTX && last.phase == HEDDLE_PHASE_POINT && last.time_ns &&
           last.thread && last.nvtx.cbid == 1 && !last.nvtx.domain,
       "a mark's event");
    ok(marked && !strcmp(marked, "one"), "the argument struct");
    nvtxMarkW(L"\u00e9\u20ac\U0001f600x");
    expect("MARK - one;MARK - \u00e9\u20ac\U0001f600x;", "marks, narrow and wide");
    ok(nvtxRangePushA("outer") == 0 && last.nvtx.level == 0, "level 0");
    ok(nvtxRangePushW(L"inner") == 1 && last.nvtx.level == 1, "level 1");
    ok(nvtxRangePop() == 1 && last.nvtx.level == 1, "popped 1");
    ok(nvtxRangePop() == 0 && last.nvtx.level == 0, "popped 0");
    ok(nvtxRangePop() == -1 && last.nvtx.level == -1, "nothing to pop");
    expect("RANGE_PUSH - outer;RANGE_PUSH - inner;RANGE_POP - -;RANGE_POP - -;RANGE_POP - -;",
           "pushed and popped");
    a = nvtxRangeStartA("a");
    b = nvtxRangeStartW(L"b");
    ok(a && b && a != b, "ranges have ids");
    nvtxRangeEnd(a);
    ok(last.nvtx.range == a, "the first one ends");
    nvtxRangeEnd(b);
    ok(last.nvtx.range == b, "the second one ends");
    expect("RANGE_START - a;RANGE_START - b;RANGE_END - -;RANGE_END - -;", "started and ended");
}

static void test_attributes(void)
{
    nvtxEventAttributes_t a = attributes();
    double value;

    nvtxMarkEx(&a);
    memcpy(&value, &last.nvtx.payload, sizeof(value));
    ok(last.nvtx.category == 5 && last.nvtx.color_type == 1 && last.nvtx.color == 0xff102030 &&
           last.nvtx.payload_type == NVTX_PAYLOAD_TYPE_DOUBLE && value == 2.5,
       "category, colour, payload");
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = L"wide";
    ok(nvtxRangePushEx(&a) == 0 && nvtxRangePop() == 0, "a range of them");
    nvtxRangeEnd(nvtxRangeStartEx(&a));
    expect("MARK - with all;RANGE_PUSH - wide;RANGE_POP - -;RANGE_START - wide;RANGE_END - -;",
           "their texts");
}

static void test_domains(void)
{
    nvtxDomainHandle_t one = nvtxDomainCreateA("one"), two = nvtxDomainCreateW(L"two");
    nvtxEventAttributes_t a = attributes();
    nvtxStringHandle_t text = nvtxDomainRegisterStringA(one, "kept");
    uint64_t id = last.nvtx.string;

    ok(one && two && one != two && text && id, "domains and a string");
    ok(nvtxDomainCreateA("one") == one && nvtxDomainRegisterStringW(one, L"kept") == text,
       "one of each name");
    expect("DOMAIN_CREATE one one;DOMAIN_CREATE two two;REGISTER_STRING one kept;"
           "DOMAIN_CREATE one one;REGISTER_STRING one kept;",
           "their events");
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = text;
    ok(nvtxDomainRangePushEx(one, &a) == 0 && last.nvtx.string == id && last.nvtx.domain,
       "a registered text");
    ok(nvtxDomainRangePushEx(two, &a) == 0, "levels are a domain's");
    ok(nvtxRangePushA("x") == 0 && nvtxDomainRangePop(one) == 0 && nvtxRangePop() == 0 &&
           nvtxDomainRangePop(two) == 0,
       "in whatever order");
    expect("RANGE_PUSH one kept;RANGE_PUSH two kept;RANGE_PUSH - x;RANGE_POP one -;RANGE_POP - -;"
           "RANGE_POP two -;",
           "ranges of domains");
    nvtxDomainMarkEx(two, &a);
    nvtxDomainRangeEnd(two, nvtxDomainRangeStartEx(two, &a));
    nvtxDomainNameCategoryA(one, 9, "nine");
    ok(last.nvtx.category == 9, "the category");
    nvtxDomainNameCategoryW(one, 10, L"ten");
    nvtxDomainDestroy(two);
    expect("MARK two kept;RANGE_START two kept;RANGE_END two -;NAME_CATEGORY one nine;"
           "NAME_CATEGORY one ten;DOMAIN_DESTROY two -;",
           "the others of a domain");
}

static void test_names(void)
{
    nvtxResourceAttributes_t r;
    nvtxSyncUserAttributes_t s;
    nvtxResourceHandle_t resource;
    nvtxSyncUser_t lock;
    int thing = 0;

    nvtxNameCategoryA(3, "three");
    nvtxNameOsThreadA(77, "worker");
    ok(last.nvtx.object == 77, "the thread");
    nvtxNameCudaStreamA((cudaStream_t)&thing, "s");
    ok(last.nvtx.object == (uintptr_t)&thing && last.nvtx.object_type == 0x50001, "the stream");
    nvtxNameCuDeviceW(1, L"d");
    ok(last.nvtx.object == 1 && last.nvtx.object_type == 0x40001, "the device");
    nvtxNameCuContextA((CUcontext)&thing, "c");
    nvtxNameCudaEventA((cudaEvent_t)&thing, "e");
    memset(&r, 0, sizeof(r));
    r.version = NVTX_VERSION;
    r.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
    r.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
    r.identifier.pValue = &thing;
    r.messageType = NVTX_MESSAGE_TYPE_ASCII;
    r.message.ascii = "pool";
    resource = nvtxDomainResourceCreate(NULL, &r);
    ok(resource && last.nvtx.object == (uintptr_t)&thing && last.nvtx.object_type == 0x10001,
       "the resource");
    nvtxDomainResourceDestroy(resource);
    memset(&s, 0, sizeof(s));
    s.version = NVTX_VERSION;
    s.size = sizeof(s);
    s.messageType = NVTX_MESSAGE_TYPE_ASCII;
    s.message.ascii = "lock";
    lock = nvtxDomainSyncUserCreate(NULL, &s);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireFailed(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
    expect("NAME_CATEGORY - three;NAME_THREAD - worker;NAME_RESOURCE - s;NAME_RESOURCE - d;"
           "NAME_RESOURCE - c;NAME_RESOURCE - e;NAME_RESOURCE - pool;FORGET_RESOURCE - pool;"
           "SYNC_CREATE - lock;SYNC_ACQUIRE_START - lock;SYNC_ACQUIRE_FAILED - lock;"
           "SYNC_ACQUIRE_SUCCESS - lock;SYNC_RELEASING - lock;SYNC_DESTROY - lock;",
           "names");
}

static void *on_thread(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)(nvtxRangePushA("t") == 0 && nvtxRangePop() == 0);
}

static void test_threads(void)
{
    pthread_t thread;
    void *result = NULL;

    (void)nvtxRangePushA("here");
    pthread_create(&thread, NULL, on_thread, NULL);
    pthread_join(thread, &result);
    ok(result != NULL, "levels are a thread's");
    (void)nvtxRangePop();
    notified[0] = '\0';
}

static void test_unheard(uint32_t id)
{
    nvtxEventAttributes_t a = attributes();

    heddle_tap_unsubscribe(id);
    (void)nvtxRangePushEx(&a);
    nvtxMarkA("unheard");
    ok(nvtxRangePop() == 0, "levels are counted with nobody listening");
    ok(!nvtxRangeStartA("unheard"), "a range has no id then");
    expect("", "and nothing is told");
}

int main(void)
{
    uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(NVTX), on_event, NULL);

    nvtxInitialize(NULL);
    test_default();
    test_attributes();
    test_domains();
    test_names();
    test_threads();
    test_unheard(id);
    printf("1..%u\n", run);
    return failed != 0;
}
