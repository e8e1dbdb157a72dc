/*
 * Multicast objects and what accesses them, with the real compiler on three devices: all types and
 * operations against sums in doubles, each rounded in the way that the table says; copies; who may
 * be bound, mapped and shared; wrong addresses.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define invalid(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)
#define G                  ((size_t)2 << 20)

enum { DEVICES = 3, THREADS = 64, ACCESS_B = 16, AREA_B = THREADS * ACCESS_B };

/* ---- numbers: an oracle of its own */

enum element { U32, S32, U64, S64, F16, BF16, F32, F64, E4M3, E5M2 };

/* How a float is cut into fields; top: the largest exponent also has numbers, but for all ones. */
static const struct format {
    unsigned bits, fraction, exponent;
    bool top;
} formats[] = {[F16] = {16, 10, 5, false},  [BF16] = {16, 7, 8, false}, [F32] = {32, 23, 8, false},
               [F64] = {64, 52, 11, false}, [E4M3] = {8, 3, 4, true},   [E5M2] = {8, 2, 5, false}};

static unsigned element_bits(enum element e)
{
    return e >= F16 ? formats[e].bits : e >= U64 ? 64 : 32;
}

static double decode(enum element e, uint64_t bits)
{
    const struct format *f = &formats[e];
    uint64_t fraction = bits & ((UINT64_C(1) << f->fraction) - 1);
    int top = (1 << f->exponent) - 1, bias = top / 2;
    int exponent = (int)(bits >> f->fraction) & top;
    double sign = bits >> (f->bits - 1) & 1 ? -1 : 1;

    if (f->top ? (bits & 0x7f) == 0x7f : exponent == top && fraction)
        return NAN;
    if (!f->top && exponent == top)
        return sign * INFINITY;
    if (!exponent)
        return sign * ldexp((double)fraction, 1 - bias - (int)f->fraction);
    return sign * ldexp((double)(fraction | UINT64_C(1) << f->fraction),
                        exponent - bias - (int)f->fraction);
}

/* To nearest even; what is too large is infinite, or the largest number of 8 bits. */
static double round_to(enum element e, double x)
{
    const struct format *f = &formats[e];
    int top = (1 << f->exponent) - 1, least = 1 - top / 2, most = top - top / 2 - !f->top;
    double largest = ldexp(2 - ldexp(f->top ? 2 : 1, -(int)f->fraction), most), unit;

    if (x != x || x == 0)
        return x;
    unit = ldexp(1, fmax(isinf(x) ? most : ilogb(x), least) - (int)f->fraction);
    x = isinf(x) ? x : nearbyint(x / unit) * unit;
    if (fabs(x) <= largest)
        return x;
    return copysign(f->bits == 8 ? largest : INFINITY, x);
}

static double extreme(double a, double b, bool max)
{
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) != max ? a : b;
    return (a < b) == max ? b : a;
}

static uint64_t integer(enum element e, const char *op, uint64_t a, uint64_t b)
{
    bool wide = e >= U64, is_signed = e == S32 || e == S64;
    int64_t x = wide ? (int64_t)a : (int32_t)a, y = wide ? (int64_t)b : (int32_t)b;
    bool less = is_signed ? x < y : a < b;

    if (!strcmp(op, "add"))
        return wide ? a + b : (uint32_t)(a + b);
    if (!strcmp(op, "and"))
        return a & b;
    if (!strcmp(op, "or"))
        return a | b;
    if (!strcmp(op, "xor"))
        return a ^ b;
    return less == !strcmp(op, "min") ? a : b;
}

/* What PTX calls the type, what is in it, and how many registers of which size. */
struct form {
    const char *op, *words, *type;
    enum element element;
    unsigned register_B, registers;
    int sums; /* the format of sums, if it is another one; else -1 */
};

static double sum_step(const struct form *f, double a, double b)
{
    enum element e = f->sums >= 0 ? (enum element)f->sums : f->element;

    if (strcmp(f->op, "add"))
        return extreme(a, b, !strcmp(f->op, "max"));
    return e == F32 ? (double)((float)a + (float)b) : round_to(e, a + b);
}

static bool same(double a, double b)
{
    return (a != a && b != b) || (a == b && signbit(a) == signbit(b));
}

static uint64_t element_at(const void *area, enum element e, size_t i)
{
    uint64_t bits = 0;
    size_t each_B = element_bits(e) / 8;

    memcpy(&bits, (const char *)area + i * each_B, each_B);
    return bits;
}

/* ---- kernels */

#define HEAD ".version 9.1\n.target sm_100a\n.address_size 64\n"

/* Threads access ACCESS_B bytes each; of loads the registers go to `plain`, else they come from
 * there. */
static void kernel_text(char *text, size_t size, const char *verb, const struct form *f)
{
    unsigned bits = 8 * f->register_B;
    bool loads = !strcmp(verb, "ld_reduce");
    char list[64] = "", moves[640] = "";

    for (unsigned i = 0; i < f->registers; i++) {
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%sx%u", i ? "," : "", i);
        snprintf(moves + strlen(moves), sizeof(moves) - strlen(moves),
                 loads ? "st.global.b%u [q+%u], x%u;\n" : "ld.global.b%u x%u, [q+%u];\n", bits,
                 loads ? i * f->register_B : i, loads ? i : i * f->register_B);
    }
    snprintf(
        text, size,
        HEAD
        ".visible .entry k(.param .u64 a, .param .u64 b) { .reg .b%u x<8>; .reg .b64 p, q, o;\n"
        ".reg .b32 t; mov.u32 t, %%tid.x; mul.wide.u32 o, t, %d; ld.param.u64 p, [a];\n"
        "ld.param.u64 q, [b]; add.u64 p, p, o; add.u64 q, q, o;\n%s"
        "multimem.%s.%s%s.%s %s%s%s%s%s%s;\n%s ret; }\n",
        bits, ACCESS_B, loads ? "" : moves, verb, f->op, f->words, f->type, loads ? "" : "[p], ",
        f->registers > 1 ? "{" : "", list, f->registers > 1 ? "}" : "", loads ? ", " : "",
        loads ? "[p]" : "", loads ? moves : "");
}

static CUcontext contexts[DEVICES];

static CUresult run_text(unsigned device, const char *text, CUdeviceptr a, CUdeviceptr b)
{
    void *params[] = {&a, &b};
    CUmodule module;
    CUfunction k;
    CUresult result;

    cuCtxSetCurrent(contexts[device]);
    result = cuModuleLoadData(&module, text);
    if (result)
        return result;
    result = cuModuleGetFunction(&k, module, "k");
    result = result ? result : cuLaunchKernel(k, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
    result = result ? result : cuCtxSynchronize();
    (void)cuModuleUnload(module);
    return result;
}

/* ---- an object with all its memory */

static CUmemGenericAllocationHandle object, memory[DEVICES];
static CUdeviceptr cast, replica[DEVICES], plain;
static const CUmulticastObjectProp prop = {
    .numDevices = DEVICES, .size = 2 * G, .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};

static CUmemAccessDesc access_of(unsigned device)
{
    return (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, (int)device},
                             CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static void map(CUmemGenericAllocationHandle what, unsigned device, CUdeviceptr *out_at)
{
    CUmemAccessDesc may = access_of(device);

    success(cuMemAddressReserve(out_at, 2 * G, 0, 0, 0), "reserve");
    success(cuMemMap(*out_at, 2 * G, 0, what, 0), "map");
    success(cuMemSetAccess(*out_at, 2 * G, &may, 1), "give access");
}

static void create(void)
{
    CUmemAllocationProp device_prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes =
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    size_t granularity = 0;
    int supported = 0;

    for (int d = 0; d < DEVICES; d++) {
        success(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, d),
                "ask");
        ok(supported, "device %d supports multicast objects", d);
        success(cuDevicePrimaryCtxRetain(&contexts[d], d), "context of %d", d);
    }
    success(cuMulticastGetGranularity(&granularity, &prop, CU_MULTICAST_GRANULARITY_MINIMUM),
            "ask");
    eq_u64(granularity, G, "granularity");
    success(cuMulticastCreate(&object, &prop), "create");
    for (int d = 0; d < DEVICES; d++)
        success(cuMulticastAddDevice(object, d), "add device %d", d);
    for (unsigned d = 0; d < DEVICES; d++) {
        device_prop.location.id = (int)d;
        cuCtxSetCurrent(contexts[d]);
        success(cuMemCreate(&memory[d], 2 * G, &device_prop, 0), "memory of %u", d);
        map(memory[d], d, &replica[d]);
        /* One by its handle in two parts, one by its address. */
        if (d == 1)
            success(cuMulticastBindAddr(object, 0, replica[d], 2 * G, 0), "bind by address");
        for (size_t at = 0; d != 1 && at < 2 * G; at += G)
            success(cuMulticastBindMem(object, at, memory[d], at, G, 0), "bind at %zu", at);
    }
    map(object, 0, &cast);
    success(cuMemAlloc_v2(&plain, AREA_B), "ordinary memory");
}

/* ---- loads and reductions */

static uint8_t before[DEVICES][AREA_B], given[AREA_B], after[AREA_B];

static void fill(void *area, uint64_t *random)
{
    for (size_t i = 0; i < AREA_B; i += 8) {
        uint64_t word = tap_random(random);
        /* Many numbers of similar size, so that sums are not just the larger one. */
        if (word & 1)
            word = (word & UINT64_C(0x83ff83ff83ff83ff)) | UINT64_C(0x3c003c003c003c00);
        memcpy((char *)area + i, &word, 8);
    }
}

static void fill_all(uint64_t *random)
{
    for (unsigned d = 0; d < DEVICES; d++) {
        fill(before[d], random);
        success(cuMemcpyHtoD_v2(replica[d] + G - AREA_B / 2, before[d], AREA_B), "replica %u", d);
    }
    fill(given, random);
    success(cuMemcpyHtoD_v2(plain, given, AREA_B), "operands");
}

/* Element i of what all replicas make, or of one and the operand. */
static bool is_right(const struct form *f, const void *const *areas, unsigned n, size_t i)
{
    enum element e = f->element;
    uint64_t bits = element_at(areas[0], e, i), got = element_at(after, e, i);
    double sum;

    if (e < F16) {
        for (unsigned d = 1; d < n; d++)
            bits = integer(e, f->op, bits, element_at(areas[d], e, i));
        return got == bits;
    }
    sum = decode(e, bits);
    for (unsigned d = 1; d < n; d++)
        sum = sum_step(f, sum, decode(e, element_at(areas[d], e, i)));
    return same(decode(e, got), strcmp(f->op, "add") ? sum : round_to(e, sum));
}

static void check(const struct form *f, const char *verb, const void *const *areas, unsigned n)
{
    size_t used = f->register_B * f->registers, each = element_bits(f->element) / 8, wrong = 0;

    for (size_t i = 0; i < AREA_B / each; i++)
        if (i * each % ACCESS_B < used && !is_right(f, areas, n, i)) {
            if (!wrong++)
                diag("element %zu: %llx of %llx, %llx, ..", i,
                     (unsigned long long)element_at(after, f->element, i),
                     (unsigned long long)element_at(areas[0], f->element, i),
                     (unsigned long long)element_at(areas[1], f->element, i));
        }
    eq_u64(wrong, 0, "multimem.%s.%s%s.%s", verb, f->op, f->words, f->type);
}

static void test_load(const struct form *f, unsigned device, uint64_t *random)
{
    const void *areas[DEVICES] = {before[0], before[1], before[2]};
    char text[2048];

    fill_all(random);
    kernel_text(text, sizeof(text), "ld_reduce", f);
    success(run_text(device, text, cast + G - AREA_B / 2, plain), "load on device %u", device);
    success(cuMemcpyDtoH_v2(after, plain, AREA_B), "the results");
    check(f, "ld_reduce", areas, DEVICES);
}

static void test_red(const struct form *f, unsigned device, uint64_t *random)
{
    char text[2048];

    fill_all(random);
    kernel_text(text, sizeof(text), "red", f);
    success(run_text(device, text, cast + G - AREA_B / 2, plain), "reduce on device %u", device);
    for (unsigned d = 0; d < DEVICES; d++) {
        const void *areas[] = {before[d], given};
        success(cuMemcpyDtoH_v2(after, replica[d] + G - AREA_B / 2, AREA_B), "replica %u", d);
        check(f, "red", areas, 2);
    }
}

static const struct form integers[] = {
    {"add", "", "u32", U32, 4, 1, -1},    {"add", ".global", "s32", S32, 4, 1, -1},
    {"add", "", "u64", U64, 8, 1, -1},    {"min", "", "u32", U32, 4, 1, -1},
    {"max", "", "s32", S32, 4, 1, -1},    {"min", "", "s64", S64, 8, 1, -1},
    {"max", "", "u64", U64, 8, 1, -1},    {"and", "", "b32", U32, 4, 1, -1},
    {"or", "", "b64", U64, 8, 1, -1},     {"xor", "", "b32", U32, 4, 1, -1},
    {"add", "", "f64", F64, 8, 1, -1},    {"add", "", "f32", F32, 4, 1, -1},
    {"add", ".v2", "f32", F32, 4, 2, -1}, {"add", ".v4", "f32", F32, 4, 4, -1}};
static const struct form halves[] = {
    {"add", "", "f16x2", F16, 4, 1, -1},    {"add", "", "bf16x2", BF16, 4, 1, -1},
    {"add", ".v2", "f16", F16, 2, 2, -1},   {"add", ".v8", "bf16", BF16, 2, 8, -1},
    {"add", ".v4", "f16x2", F16, 4, 4, -1}, {"add", ".v2", "bf16x2", BF16, 4, 2, -1},
    {"add", ".v4", "bf16", BF16, 2, 4, -1}};
static const struct form only_loads[] = {{"min", ".v8", "f16", F16, 2, 8, -1},
                                         {"max", "", "bf16x2", BF16, 4, 1, -1},
                                         {"add", ".acc::f32.v4", "f16x2", F16, 4, 4, F32},
                                         {"add", ".acc::f32", "bf16x2", BF16, 4, 1, F32},
                                         {"add", "", "e4m3x4", E4M3, 4, 1, -1},
                                         {"add", ".v4", "e5m2", E5M2, 1, 4, -1},
                                         {"add", ".v8", "e4m3x2", E4M3, 2, 8, -1},
                                         {"add", ".v8", "e5m2", E5M2, 1, 8, -1},
                                         {"min", ".v2", "e4m3x2", E4M3, 2, 2, -1},
                                         {"max", ".v4", "e5m2x4", E5M2, 4, 4, -1},
                                         {"add", ".acc::f16.v2", "e4m3x4", E4M3, 4, 2, F16},
                                         {"add", ".acc::f16.v4", "e5m2", E5M2, 1, 4, F16}};

static void test_sums(uint64_t *random)
{
    unsigned device = 0;

    for (size_t i = 0; i < HD_COUNT_OF(integers); i++) {
        test_load(&integers[i], device++ % DEVICES, random);
        test_red(&integers[i], device++ % DEVICES, random);
    }
    for (size_t i = 0; i < HD_COUNT_OF(halves); i++) {
        test_load(&halves[i], device++ % DEVICES, random);
        test_red(&halves[i], device++ % DEVICES, random);
    }
    for (size_t i = 0; i < HD_COUNT_OF(only_loads); i++)
        test_load(&only_loads[i], device++ % DEVICES, random);
}

/* ---- stores, orders, guards, atomicity */

#define KERNEL(body)                                                                               \
    HEAD ".visible .entry k(.param .u64 a, .param .u64 b) {\n"                                     \
         ".reg .b64 p, q, o, s; .reg .b32 t, x, y; .reg .pred c; .shared .align 16 .b8 w[1024];\n" \
         "mov.u32 t, %tid.x; mul.wide.u32 o, t, 16; ld.param.u64 p, [a]; ld.param.u64 q, [b];\n"   \
         "setp.lt.u32 c, t, 3;\n" body " ret; }\n"

static void all_hold(size_t at, const void *want, size_t size, const char *what)
{
    for (unsigned d = 0; d < DEVICES; d++) {
        success(cuMemcpyDtoH_v2(after, replica[d] + at, size), "replica %u", d);
        eq_mem(after, want, size, "%s: replica %u", what, d);
    }
}

static void test_stores(uint64_t *random)
{
    static const char *const texts[] = {
        KERNEL("add.u64 p, p, o; add.u64 q, q, o; .reg .f32 a0, a1, a2, a3;"
               "ld.global.v4.f32 {a0, a1, a2, a3}, [q]; multimem.st.v4.f32 [p], {a0, a1, a2, a3};"),
        KERNEL(
            "add.u64 p, p, o; add.u64 q, q, o; .reg .b64 a0, a1; ld.global.v2.b64 {a0, a1}, [q];"
            "multimem.st.release.sys.global.b64 [p], a0; multimem.st.relaxed.gpu.b64 [p+8], a1;"),
        KERNEL(
            "add.u64 p, p, o; add.u64 q, q, o; .reg .b16 h<8>; ld.global.v4.b16 {h0, h1, h2, h3}, "
            "[q]; ld.global.v4.b16 {h4, h5, h6, h7}, [q+8]; multimem.st.weak.v8.f16 [p], "
            "{h0, h1, h2, h3, h4, h5, h6, h7};"),
    };
    static const char counts[] =
        KERNEL("multimem.red.relaxed.sys.add.u32 [p], 1; @c multimem.red.add.u32 [p+4], t;"
               "multimem.ld_reduce.acquire.sys.max.u32 x, [p]; st.global.u32 [q], x;");
    uint32_t counted[2] = {2 * THREADS, 6};

    for (size_t i = 0; i < HD_COUNT_OF(texts); i++) {
        fill_all(random);
        success(run_text(i % DEVICES, texts[i], cast + 4096, plain), "store %zu", i);
        all_hold(4096, given, AREA_B, "a store");
    }
    for (unsigned d = 0; d < DEVICES; d++)
        success(cuMemsetD8_v2(replica[d], 0, 16), "zeroes");
    success(cuCtxSynchronize(), "other devices do not wait for them");
    success(run_text(0, counts, cast, plain), "threads count");
    success(run_text(2, counts, cast, plain), "and those of another device");
    all_hold(0, counted, sizeof(counted), "counters");
}

/* ---- bulk copies, also across the border of what was bound in two parts */

#define FROM_SHARED(body)                                                                          \
    KERNEL("add.u64 q, q, o; .reg .b32 v0, v1, v2, v3; ld.global.v4.b32 {v0, v1, v2, v3}, [q];"    \
           "mov.u32 x, w; mad.lo.u32 y, t, 16, x; st.shared.v4.b32 [y], {v0, v1, v2, v3};"         \
           "bar.sync 0; setp.eq.u32 c, t, 0;" body                                                 \
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;")

static void test_bulk(uint64_t *random)
{
    static const char copy[] =
        FROM_SHARED("@c multimem.cp.async.bulk.global.shared::cta.bulk_group [p], [x], 1024;");
    static const char masked[] = FROM_SHARED(
        ".reg .b16 m; mov.b16 m, 0x8421; @c multimem.cp.async.bulk.global.shared::cta.bulk_group."
        "cp_mask [p], [x], 1024, m;");
    static const struct {
        const char *text;
        struct form form;
    } sums[] = {
#define SUM(words, ...)                                                                            \
    {                                                                                              \
        FROM_SHARED("@c multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group." words        \
                    " [p], [x], 1024;"),                                                           \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
        SUM("add.u32", "add", "", "u32", U32, 4, 4, -1),
        SUM("min.s64", "min", "", "s64", S64, 8, 2, -1),
        SUM("xor.b32", "xor", "", "b32", U32, 4, 4, -1),
        SUM("add.noftz.f16", "add", "", "f16", F16, 2, 8, -1),
        SUM("max.bf16", "max", "", "bf16", BF16, 2, 8, -1),
        SUM("add.f64", "add", "", "f64", F64, 8, 2, -1)};
    CUdeviceptr at = cast + G - AREA_B / 2;

    fill_all(random);
    success(run_text(1, copy, at, plain), "a bulk copy");
    all_hold(G - AREA_B / 2, given, AREA_B, "a bulk copy");
    fill_all(random);
    success(run_text(2, masked, at, plain), "a bulk copy with a mask");
    for (unsigned d = 0; d < DEVICES; d++) {
        for (size_t i = 0; i < AREA_B; i++)
            before[d][i] = 0x8421 >> i % 16 & 1 ? given[i] : before[d][i];
        success(cuMemcpyDtoH_v2(after, replica[d] + G - AREA_B / 2, AREA_B), "replica %u", d);
        eq_mem(after, before[d], AREA_B, "some bytes of each 16: replica %u", d);
    }
    for (size_t i = 0; i < HD_COUNT_OF(sums); i++) {
        fill_all(random);
        success(run_text(i % DEVICES, sums[i].text, at, plain), "a bulk reduction");
        for (unsigned d = 0; d < DEVICES; d++) {
            const void *areas[] = {before[d], given};
            success(cuMemcpyDtoH_v2(after, replica[d] + G - AREA_B / 2, AREA_B), "replica %u", d);
            check(&sums[i].form, "cp.reduce.async.bulk", areas, 2);
        }
    }
}

/* ---- calls */

static void test_calls(void)
{
    CUmulticastObjectProp other = prop;
    CUmemGenericAllocationHandle small, again;
    CUmemAllocationProp got;
    CUdeviceptr va;
    int fd = -1;

    other.numDevices = 1;
    other.size = G;
    success(cuMulticastCreate(&small, &other), "an object for one device");
    invalid(cuMulticastAddDevice(memory[0], 0), "memory is no multicast object");
    eq_u64(cuMulticastAddDevice(small, DEVICES), CUDA_ERROR_INVALID_DEVICE, "no such device");
    success(cuMulticastAddDevice(small, 1), "add the device");
    invalid(cuMulticastAddDevice(small, 1), "twice");
    invalid(cuMulticastAddDevice(small, 0), "one too many");
    invalid(cuMulticastBindMem(small, 0, memory[0], 0, G, 0), "memory of another device");
    invalid(cuMulticastBindMem(small, 0, memory[1], 0, 2 * G, 0), "more than the object");
    invalid(cuMulticastBindMem(small, 0, memory[1], 2 * G, G, 0), "behind the memory");
    invalid(cuMulticastBindMem(small, 0, memory[1], 0, G / 2, 0), "half a granule");
    invalid(cuMulticastBindMem(small, 0, small, 0, G, 0), "an object to itself");
    invalid(cuMulticastBindMem(small, 0, memory[1], 0, G, 1), "flags");
    invalid(cuMulticastBindAddr(small, 0, cast, G, 0), "a multicast address");
    invalid(cuMulticastBindAddr(small, 0, replica[1] + G, 2 * G, 0), "behind the mapping");
    success(cuMulticastBindMem(small, 0, memory[1], 0, G, 0), "the same memory in two objects");
    invalid(cuMulticastBindMem(small, 0, memory[1], G, G, 0), "there is some already");
    invalid(cuMulticastUnbind(small, 0, 0, G), "nothing of this device");
    success(cuMulticastUnbind(small, 1, 0, G), "unbind");
    invalid(cuMulticastUnbind(small, 1, 0, G), "twice");
    invalid(cuMemGetAllocationPropertiesFromHandle(&got, small), "it has no properties of memory");
    success(cuMemExportToShareableHandle(&fd, small, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            "export");
    success(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            "import");
    eq_u64(again, small, "the same object");
    success(cuMemRelease(again), "release");
    success(cuMemRelease(small), "release");
    eq_u64(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
           CUDA_ERROR_NOT_SUPPORTED, "an object that is gone");
    close(fd);
    other.size = G / 2;
    invalid(cuMulticastCreate(&small, &other), "half a granule");
    other = prop;
    other.numDevices = DEVICES + 1;
    invalid(cuMulticastCreate(&small, &other), "more devices than there are");
    other.numDevices = 1;
    other.flags = 1;
    invalid(cuMulticastCreate(&small, &other), "flags");
    success(cuMemAddressReserve(&va, 4 * G, 0, 0, 0), "reserve");
    invalid(cuMemMap(va, 4 * G, 0, object, 0), "more than the object");
    success(cuMemAddressFree(va, 4 * G), "give back");
    invalid(cuMemcpyHtoD_v2(cast, given, 16), "a copy to a multicast address");
    invalid(cuMemsetD8_v2(cast, 0, 16), "a fill");
}

/* Memory of a pool or an ordinary block, which has no handle. */
static void test_blocks(void)
{
    CUmulticastObjectProp one = {.numDevices = 1, .size = G};
    CUmemGenericAllocationHandle small;
    CUdeviceptr block, at;
    CUmemAccessDesc may = access_of(0);
    uint32_t got = 0;

    cuCtxSetCurrent(contexts[0]);
    success(cuMemAlloc_v2(&block, 2 * G), "a block");
    success(cuMulticastCreate(&small, &one), "an object");
    success(cuMulticastAddDevice(small, 0), "of one device");
    success(cuMulticastBindAddr(small, 0, (block + G - 1) / G * G, G, 0), "bind it");
    success(cuMemAddressReserve(&at, G, 0, 0, 0), "reserve");
    success(cuMemMap(at, G, 0, small, 0), "map");
    success(cuMemSetAccess(at, G, &may, 1), "give access");
    success(run_text(0, KERNEL("setp.eq.u32 c, t, 0; @c multimem.st.u32 [p], 77;"), at, 0),
            "store");
    success(cuMemcpyDtoH_v2(&got, (block + G - 1) / G * G, 4), "read");
    eq_u64(got, 77, "it is there");
    success(cuMemUnmap(at, G), "unmap");
    success(cuMemAddressFree(at, G), "give back");
    success(cuMemRelease(small), "release");
    success(cuMemFree_v2(block), "free");
}

/* ---- faults: each in a context of its own */

static void faults(const char *text, CUdeviceptr at, CUresult want, const char *words,
                   const char *what)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    CUcontext kept = contexts[0];
    char said[2048];
    CUresult result;

    if (!file || cuCtxCreate_v2(&contexts[0], 0, 0) || dup2(fileno(file), STDERR_FILENO) < 0)
        abort();
    result = run_text(0, text, at, plain);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = 0;
    fclose(file);
    eq_u64(result, want, "%s", what);
    ok(strstr(said, words), "%s is said: %s", words, said);
    cuCtxDestroy_v2(contexts[0]);
    contexts[0] = kept;
    cuCtxSetCurrent(kept);
}

static void test_faults(void)
{
    static const char store[] = KERNEL("st.global.u32 [p], t;"),
                      load[] = KERNEL("ld.global.u32 x, [p]; setp.eq.u32 c, x, 7; @c trap;"),
                      all[] = KERNEL("multimem.st.u32 [p], t;"),
                      sum[] = KERNEL("multimem.ld_reduce.add.u32 x, [p]; setp.eq.u32 c, x, 7;"
                                     "@c trap;"),
                      bulk[] = FROM_SHARED("@c multimem.cp.async.bulk.global.shared::cta.bulk_group"
                                           " [p], [x], 1024;"),
                      wild_bulk[] = FROM_SHARED("add.u32 x, x, 16; @c multimem.cp.async.bulk.global"
                                                ".shared::cta.bulk_group [p], [x], 1040384;");
    static const char only[] = "only multimem instructions may access it";
    static const char missing[] = "no multicast object is mapped there";
    CUresult wild = CUDA_ERROR_ILLEGAL_ADDRESS;

    faults(store, cast, wild, only, "an ordinary store to a multicast address");
    faults(load, cast + 8, wild, only, "an ordinary load");
    faults(all, replica[0], wild, missing, "a multimem store to ordinary memory");
    faults(sum, plain, wild, missing, "a multimem load of ordinary memory");
    faults(sum, cast + 2 * G, wild, missing, "behind the object");
    faults(all, cast + 2, CUDA_ERROR_MISALIGNED_ADDRESS, "isaligned", "half a word");
    success(cuMulticastUnbind(object, 1, 0, 2 * G), "take the memory of one device away");
    faults(sum, cast, wild, missing, "a load without it");
    success(cuMulticastBindMem(object, 0, memory[1], 0, G, 0), "give half of it back");
    success(run_text(0, sum, cast, 0), "that half");
    faults(sum, cast + G, wild, missing, "the other half");
    faults(bulk, cast + G - 512, wild, missing, "a bulk copy across the border");
    faults(bulk, cast + 8, CUDA_ERROR_MISALIGNED_ADDRESS, "isaligned",
           "a bulk copy of half blocks");
    faults(wild_bulk, cast, wild, "", "a bulk copy from behind shared memory");
}

static void test_end(void)
{
    success(cuMemRelease(object), "release the object");
    success(run_text(0, KERNEL("setp.eq.u32 c, t, 0; @c multimem.st.u32 [p], 5;"), cast, 0),
            "what is mapped lives on");
    success(cuMemUnmap(cast, 2 * G), "unmap");
    success(cuMemAddressFree(cast, 2 * G), "give back");
    for (unsigned d = 0; d < DEVICES; d++) {
        success(cuMemUnmap(replica[d], 2 * G), "unmap %u", d);
        success(cuMemAddressFree(replica[d], 2 * G), "give back");
        success(cuMemRelease(memory[d]), "release");
        eq_u64(cuMemRelease(memory[d]), CUDA_ERROR_INVALID_HANDLE, "nothing is left of it");
    }
}

int main(void)
{
    uint64_t random = tap_seed();

    setenv("HEDDLE_DEVICES", "3", 1);
    setenv("HEDDLE_CACHE", "off", 1);
    if (tap_lacks(getenv("HEDDLE_CPU")))
        return skip_all("this CPU lacks the level");
    success(cuInit(0), "cuInit");
    create();
    test_sums(&random);
    test_stores(&random);
    test_bulk(&random);
    test_calls();
    test_blocks();
    test_faults();
    test_end();
    return done();
}
