/*
 * NVTX: a program marks moments and ranges for a tool that watches it. Interface: NVTX version 3 (github.com/NVIDIA/NVTX).
 *
 * Without a tool every call is a test of a pointer. At the first call the library that NVTX_INJECTION64_PATH names is
 * loaded, and its InitializeInjectionNvtx2() told where to find the table of callbacks, whose entries it replaces; a
 * program may link a tool instead, as InitializeInjectionNvtx2_fnptr. NVTX_DISABLE leaves all of it out.
 */
#if !defined(HEDDLE_CUDA_NVTX_TOOLSEXT_H) && !defined(__CUDACC_RTC__) /* device code has no tools */
#define HEDDLE_CUDA_NVTX_TOOLSEXT_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* By this name, too, a toolkit's headers beside the program know that they are not needed any more. */
#define NVTX_VERSION 3

#define NVTX_SUCCESS                              0
#define NVTX_FAIL                                 1
#define NVTX_ERR_INIT_LOAD_PROPERTY               2
#define NVTX_ERR_INIT_ACCESS_LIBRARY              3
#define NVTX_ERR_INIT_LOAD_LIBRARY                4
#define NVTX_ERR_INIT_MISSING_LIBRARY_ENTRY_POINT 5
#define NVTX_ERR_INIT_FAILED_LIBRARY_ENTRY_POINT  6
#define NVTX_ERR_NO_INJECTION_LIBRARY_AVAILABLE   7

#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)

typedef uint64_t nvtxRangeId_t;

struct nvtxDomainRegistration_st;
typedef struct nvtxDomainRegistration_st nvtxDomainRegistration;
typedef nvtxDomainRegistration *nvtxDomainHandle_t;
struct nvtxStringRegistration_st;
typedef struct nvtxStringRegistration_st nvtxStringRegistration;
typedef nvtxStringRegistration *nvtxStringHandle_t;
struct nvtxResourceHandle;
typedef struct nvtxResourceHandle *nvtxResourceHandle_t;

typedef enum nvtxColorType_t {
    NVTX_COLOR_UNKNOWN = 0,
    NVTX_COLOR_ARGB = 1,
} nvtxColorType_t;

typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3,
} nvtxMessageType_t;

typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;

typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
    NVTX_PAYLOAD_TYPE_INT32 = 5,
    NVTX_PAYLOAD_TYPE_FLOAT = 6,
} nvtxPayloadType_t;

typedef struct nvtxEventAttributes_v2 {
    uint16_t version; /* NVTX_VERSION */
    uint16_t size;    /* NVTX_EVENT_ATTRIB_STRUCT_SIZE */
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    union payload_t {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_v2;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

#define NVTX_RESOURCE_CLASS_GENERIC 1
#define NVTX_RESOURCE_MAKE_TYPE(CLASS, INDEX)                                                      \
    ((((uint32_t)(NVTX_RESOURCE_CLASS_##CLASS)) << 16) | ((uint32_t)(INDEX)))

typedef enum nvtxResourceGenericType_t {
    NVTX_RESOURCE_TYPE_UNKNOWN = 0,
    NVTX_RESOURCE_TYPE_GENERIC_POINTER = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 1),
    NVTX_RESOURCE_TYPE_GENERIC_HANDLE = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 2),
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 3),
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX = NVTX_RESOURCE_MAKE_TYPE(GENERIC, 4),
} nvtxResourceGenericType_t;

typedef struct nvtxResourceAttributes_v0 {
    uint16_t version;
    uint16_t size; /* NVTX_RESOURCE_ATTRIB_STRUCT_SIZE */
    int32_t identifierType;
    union identifier_t {
        const void *pValue;
        uint64_t ullValue;
    } identifier;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxResourceAttributes_v0;
typedef struct nvtxResourceAttributes_v0 nvtxResourceAttributes_t;
#define NVTX_RESOURCE_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxResourceAttributes_t))

#include "heddle/nvtx_inject.h"

/*
 * Functions: X(callback, name, result, what it is without a tool, (parameters), (arguments)); the callback's number is a
 * tool's interface.
 */
#define HEDDLE_NVTX_CORE(X)                                                                        \
    X(1, nvtxMarkEx, void, , (const nvtxEventAttributes_t *eventAttrib), (eventAttrib))            \
    X(2, nvtxMarkA, void, , (const char *message), (message))                                      \
    X(3, nvtxMarkW, void, , (const wchar_t *message), (message))                                   \
    X(4, nvtxRangeStartEx, nvtxRangeId_t, 0, (const nvtxEventAttributes_t *eventAttrib),           \
      (eventAttrib))                                                                               \
    X(5, nvtxRangeStartA, nvtxRangeId_t, 0, (const char *message), (message))                      \
    X(6, nvtxRangeStartW, nvtxRangeId_t, 0, (const wchar_t *message), (message))                   \
    X(7, nvtxRangeEnd, void, , (nvtxRangeId_t id), (id))                                           \
    X(8, nvtxRangePushEx, int, NVTX_NO_PUSH_POP_TRACKING,                                          \
      (const nvtxEventAttributes_t *eventAttrib), (eventAttrib))                                   \
    X(9, nvtxRangePushA, int, NVTX_NO_PUSH_POP_TRACKING, (const char *message), (message))         \
    X(10, nvtxRangePushW, int, NVTX_NO_PUSH_POP_TRACKING, (const wchar_t *message), (message))     \
    X(11, nvtxRangePop, int, NVTX_NO_PUSH_POP_TRACKING, (void), ())                                \
    X(12, nvtxNameCategoryA, void, , (uint32_t category, const char *name), (category, name))      \
    X(13, nvtxNameCategoryW, void, , (uint32_t category, const wchar_t *name), (category, name))   \
    X(14, nvtxNameOsThreadA, void, , (uint32_t threadId, const char *name), (threadId, name))      \
    X(15, nvtxNameOsThreadW, void, , (uint32_t threadId, const wchar_t *name), (threadId, name))

#define HEDDLE_NVTX_CORE2(X)                                                                       \
    X(1, nvtxDomainMarkEx, void, ,                                                                 \
      (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *eventAttrib),                       \
      (domain, eventAttrib))                                                                       \
    X(2, nvtxDomainRangeStartEx, nvtxRangeId_t, 0,                                                 \
      (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *eventAttrib),                       \
      (domain, eventAttrib))                                                                       \
    X(3, nvtxDomainRangeEnd, void, , (nvtxDomainHandle_t domain, nvtxRangeId_t id), (domain, id))  \
    X(4, nvtxDomainRangePushEx, int, NVTX_NO_PUSH_POP_TRACKING,                                    \
      (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *eventAttrib),                       \
      (domain, eventAttrib))                                                                       \
    X(5, nvtxDomainRangePop, int, NVTX_NO_PUSH_POP_TRACKING, (nvtxDomainHandle_t domain),          \
      (domain))                                                                                    \
    X(6, nvtxDomainResourceCreate, nvtxResourceHandle_t, NULL,                                     \
      (nvtxDomainHandle_t domain, nvtxResourceAttributes_t * attribs), (domain, attribs))          \
    X(7, nvtxDomainResourceDestroy, void, , (nvtxResourceHandle_t resource), (resource))           \
    X(8, nvtxDomainNameCategoryA, void, ,                                                          \
      (nvtxDomainHandle_t domain, uint32_t category, const char *name), (domain, category, name))  \
    X(9, nvtxDomainNameCategoryW, void, ,                                                          \
      (nvtxDomainHandle_t domain, uint32_t category, const wchar_t *name),                         \
      (domain, category, name))                                                                    \
    X(10, nvtxDomainRegisterStringA, nvtxStringHandle_t, NULL,                                     \
      (nvtxDomainHandle_t domain, const char *string), (domain, string))                           \
    X(11, nvtxDomainRegisterStringW, nvtxStringHandle_t, NULL,                                     \
      (nvtxDomainHandle_t domain, const wchar_t *string), (domain, string))                        \
    X(12, nvtxDomainCreateA, nvtxDomainHandle_t, NULL, (const char *name), (name))                 \
    X(13, nvtxDomainCreateW, nvtxDomainHandle_t, NULL, (const wchar_t *name), (name))              \
    X(14, nvtxDomainDestroy, void, , (nvtxDomainHandle_t domain), (domain))                        \
    X(15, nvtxInitialize, void, , (const void *reserved), (reserved))

#define HEDDLE_NVTX_IN_CORE(...)  HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_CORE, __VA_ARGS__)
#define HEDDLE_NVTX_IN_CORE2(...) HEDDLE_NVTX_FUNCTION(NVTX_CB_MODULE_CORE2, __VA_ARGS__)
HEDDLE_NVTX_CORE(HEDDLE_NVTX_IN_CORE)
HEDDLE_NVTX_CORE2(HEDDLE_NVTX_IN_CORE2)
#undef HEDDLE_NVTX_IN_CORE2
#undef HEDDLE_NVTX_IN_CORE
#undef HEDDLE_NVTX_CORE2
#undef HEDDLE_NVTX_CORE

#if defined(UNICODE)
#define nvtxMark                 nvtxMarkW
#define nvtxRangeStart           nvtxRangeStartW
#define nvtxRangePush            nvtxRangePushW
#define nvtxNameCategory         nvtxNameCategoryW
#define nvtxNameOsThread         nvtxNameOsThreadW
#define nvtxDomainCreate         nvtxDomainCreateW
#define nvtxDomainRegisterString nvtxDomainRegisterStringW
#define nvtxDomainNameCategory   nvtxDomainNameCategoryW
#else
#define nvtxMark                 nvtxMarkA
#define nvtxRangeStart           nvtxRangeStartA
#define nvtxRangePush            nvtxRangePushA
#define nvtxNameCategory         nvtxNameCategoryA
#define nvtxNameOsThread         nvtxNameOsThreadA
#define nvtxDomainCreate         nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#define nvtxDomainNameCategory   nvtxDomainNameCategoryA
#endif

#endif
