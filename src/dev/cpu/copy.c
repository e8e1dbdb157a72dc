/*
 * Copies and fills. Large ones are split over workers and use non-temporal stores: the C library's
 * threshold follows the size of the last-level cache that the machine claims, and plain stores pay
 * a read of every line they write (measured: 9 against 14 GB/s at 64 MiB). What fits a cache is
 * better left in it, though: on AMD's cores, which tell the size of their own L3 and not the sum of
 * the machine's, non-temporal stores begin beyond it (Zen 5, 8 MiB: 1.5 times slower than plain
 * ones for a copy, 3 times for a fill; at 64 MiB 1.3 and 1.05 times faster). What a copy reads and
 * writes may be half as large again: at 24 MiB with 32 of L3 strings are 1.1 to 1.2 times as fast.
 *
 * Zen 5's string instructions are faster than plain stores until then: beside memcpy() 1.1 to 1.6
 * times as fast from 1 to 16 MiB, beside memset() 2.5 times where that begins with non-temporal
 * stores too early (24 MiB). On Zen 3 and 4 they are slow for some pairs of addresses, elsewhere
 * they were not measured. They are better the longer they may go on.
 */
#include <pthread.h>
#include <string.h>

#include "base/host.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/worker.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* AMD64 Architecture Programmer's Manual volume 3, CPUID Fn8000_001D: cache 3, in bytes; 0 = no
 * such function. */
static uint64_t copy_amd_l3_B(void)
{
    uint32_t a, b, c, d;
    if (!__builtin_cpu_is("amd") || !__get_cpuid_count(0x8000001d, 3, &a, &b, &c, &d) || !(a & 31))
        return 0;
    return ((b >> 22) + 1ull) * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * (c + 1ull);
}

/* Zen 5 and later: family 0x1a. CPUID Fn0000_0007: short strings are fast, which all are then. */
static bool copy_strings_are_fast(void)
{
    uint32_t a, b, c, d;
    if (!__builtin_cpu_is("amd") || !__get_cpuid(1, &a, &b, &c, &d) ||
        (a >> 8 & 15) + (a >> 20 & 255) < 0x1a)
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & 1u << 4;
}

static void copy_string(void *dst, const void *src, size_t size_B)
{
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(size_B) : : "memory");
}

static void copy_fill_string(void *dst, uint32_t pattern, size_t words)
{
    __asm__ volatile("rep stosl" : "+D"(dst), "+c"(words) : "a"(pattern) : "memory");
}

__attribute__((target("avx512f"))) static void copy_nt_avx512(char *dst, const char *src,
                                                              size_t size_B)
{
    for (size_t i = 0; i < size_B; i += 256) {
        __m512i a = _mm512_loadu_si512(src + i);
        __m512i b = _mm512_loadu_si512(src + i + 64);
        __m512i c = _mm512_loadu_si512(src + i + 128);
        __m512i d = _mm512_loadu_si512(src + i + 192);
        _mm_prefetch(src + i + 2048, _MM_HINT_T0);
        _mm_prefetch(src + i + 2112, _MM_HINT_T0);
        _mm_prefetch(src + i + 2176, _MM_HINT_T0);
        _mm_prefetch(src + i + 2240, _MM_HINT_T0);
        _mm512_stream_si512((void *)(dst + i), a);
        _mm512_stream_si512((void *)(dst + i + 64), b);
        _mm512_stream_si512((void *)(dst + i + 128), c);
        _mm512_stream_si512((void *)(dst + i + 192), d);
    }
    _mm_sfence();
}

__attribute__((target("avx2"))) static void copy_nt_avx2(char *dst, const char *src, size_t size_B)
{
    for (size_t i = 0; i < size_B; i += 256)
        for (size_t k = 0; k < 256; k += 32)
            _mm256_stream_si256((__m256i *)(dst + i + k),
                                _mm256_loadu_si256((const __m256i *)(src + i + k)));
    _mm_sfence();
}

__attribute__((target("avx2"))) static void copy_fill_nt_avx2(char *dst, uint32_t value,
                                                              size_t size_B)
{
    __m256i v = _mm256_set1_epi32((int)value);

    for (size_t i = 0; i < size_B; i += 32)
        _mm256_stream_si256((__m256i *)(dst + i), v);
    _mm_sfence();
}

static bool copy_nt(char *dst, const char *src, size_t size_B)
{
    if (hd_host_has(HD_HOST_AVX512))
        copy_nt_avx512(dst, src, size_B);
    else if (hd_host_has(HD_HOST_AVX2))
        copy_nt_avx2(dst, src, size_B);
    else
        return false;
    return true;
}

static bool copy_fill_nt(char *dst, uint32_t value, size_t size_B)
{
    if (!hd_host_has(HD_HOST_AVX2))
        return false;
    copy_fill_nt_avx2(dst, value, size_B);
    return true;
}
#else
static uint64_t copy_amd_l3_B(void)
{
    return 0;
}
static bool copy_strings_are_fast(void)
{
    return false;
}
static void copy_string(void *dst, const void *src, size_t size_B)
{
    memcpy(dst, src, size_B);
}
static void copy_fill_string(void *dst, uint32_t pattern, size_t words)
{
    for (size_t i = 0; i < words; i++)
        memcpy((char *)dst + 4 * i, &pattern, sizeof(pattern));
}
static bool copy_nt(char *dst, const char *src, size_t size_B)
{
    (void)dst, (void)src, (void)size_B;
    return false;
}
static bool copy_fill_nt(char *dst, uint32_t value, size_t size_B)
{
    (void)dst, (void)value, (void)size_B;
    return false;
}
#endif

/* ---- one row */

/*
 * Addresses of processes end here. What accesses one from there on gets a signal that does not say
 * which it was, and AddressSanitizer's functions end the process.
 */
#if defined(__x86_64__)
#define ADDRESS_END (1ull << 47)
#else
#define ADDRESS_END (1ull << 48)
#endif

static void *copy_row_at(uint64_t va, uint64_t size_B)
{
    if (HD_UNLIKELY(va >= ADDRESS_END || size_B > ADDRESS_END - va))
        cpu_guard_leave(HD_ILLEGAL_ADDRESS, HD_MAX(va, ADDRESS_END));
    return (void *)(uintptr_t)va;
}

static void copy_nontemporal(char *dst, const char *src, size_t size_B)
{
    size_t head_B = HD_MIN((size_t)(-(uintptr_t)dst & 63), size_B);
    size_t body_B = (size_B - head_B) & ~(size_t)255;

    memmove(dst, src, head_B);
    if (!copy_nt(dst + head_B, src + head_B, body_B))
        memmove(dst + head_B, src + head_B, body_B);
    memmove(dst + head_B + body_B, src + head_B + body_B, size_B - head_B - body_B);
}

/* What a copy of overlapping ranges leaves is undefined in CUDA, but must not be so here. */
static void copy_bytes(uint64_t dst_va, uint64_t src_va, size_t size_B, enum cpu_copy_way way)
{
    const void *src = copy_row_at(src_va, size_B);
    void *dst = copy_row_at(dst_va, size_B);
    bool overlap = dst_va - src_va < size_B || src_va - dst_va < size_B;

    if (way == CPU_COPY_STRING && !overlap)
        copy_string(dst, src, size_B);
    else if (way == CPU_COPY_NONTEMPORAL)
        copy_nontemporal(dst, src, size_B);
    else
        memmove(dst, src, size_B);
}

static uint32_t copy_fill_pattern(uint32_t value, uint32_t elem_B)
{
    if (elem_B == 1)
        return (value & 0xff) * 0x01010101u;
    return elem_B == 2 ? (value & 0xffff) * 0x00010001u : value;
}

/* The first bytes until dst is a multiple of align_B, element by element. */
static size_t copy_fill_head(char *dst, uint32_t value, uint32_t elem_B, size_t size_B,
                             uint32_t align_B)
{
    size_t i = 0;

    for (; i < size_B && (uintptr_t)(dst + i) % align_B; i += elem_B)
        memcpy(dst + i, &value, elem_B);
    return i;
}

/* As much as can be done in the wanted way; how many bytes that is. */
static size_t copy_fill_fast(char *dst, uint32_t value, uint32_t elem_B, size_t size_B,
                             enum cpu_copy_way way)
{
    uint32_t pattern = copy_fill_pattern(value, elem_B);
    size_t i, body_B;

    if (way == CPU_COPY_PLAIN)
        return 0;
    i = copy_fill_head(dst, value, elem_B, size_B, 32);
    body_B = (size_B - i) & ~(size_t)31;
    if (way == CPU_COPY_STRING)
        copy_fill_string(dst + i, pattern, body_B / sizeof(pattern));
    else if (!copy_fill_nt(dst + i, pattern, body_B))
        return i;
    return i + body_B;
}

/* va and size_B are multiples of elem_B. */
static void copy_fill_bytes(uint64_t va, uint32_t value, uint32_t elem_B, size_t size_B,
                            enum cpu_copy_way way)
{
    char *dst = copy_row_at(va, size_B);
    uint32_t pattern = copy_fill_pattern(value, elem_B);
    size_t i = copy_fill_fast(dst, value, elem_B, size_B, way);

    if ((pattern & 0xff) * 0x01010101u == pattern) {
        memset(dst + i, (int)(pattern & 0xff), size_B - i);
        return;
    }
    for (; i + 4 <= size_B && (uintptr_t)(dst + i) % elem_B == 0; i += 4)
        memcpy(dst + i, &pattern, 4);
    for (; i < size_B; i += elem_B)
        memcpy(dst + i, &value, elem_B);
}

/* ---- packets */

uint64_t cpu_copy_size_B(const union hal_packet *p)
{
    if (p->head.op == HAL_OP_COPY)
        return p->copy.width_B * p->copy.height * p->copy.depth;
    return p->fill.width * p->fill.elem_B * p->fill.height;
}

/* Pieces: for one row, runs of CPU_COPY_CHUNK_B; otherwise whole rows. */
static uint64_t copy_rows(const union hal_packet *p)
{
    return p->head.op == HAL_OP_COPY ? p->copy.height * p->copy.depth : p->fill.height;
}

static void copy_piece(const struct cpu_job *job, uint64_t first, uint64_t end)
{
    const struct hal_copy *c = &job->packet->copy;

    if (c->height * c->depth == 1) {
        uint64_t at_B = first * CPU_COPY_CHUNK_B;
        uint64_t end_B = HD_MIN(end * CPU_COPY_CHUNK_B, c->width_B);
        copy_bytes(c->dst + at_B, c->src + at_B, end_B - at_B, job->way);
        return;
    }
    for (uint64_t row = first; row < end; row++) {
        uint64_t y = row % c->height, z = row / c->height;
        copy_bytes(c->dst + z * c->dst_slice_B + y * c->dst_pitch_B,
                   c->src + z * c->src_slice_B + y * c->src_pitch_B, c->width_B, CPU_COPY_PLAIN);
    }
}

static void copy_fill_piece(const struct cpu_job *job, uint64_t first, uint64_t end)
{
    const struct hal_fill *f = &job->packet->fill;

    if (f->height == 1) {
        uint64_t at_B = first * CPU_COPY_CHUNK_B;
        uint64_t end_B = HD_MIN(end * CPU_COPY_CHUNK_B, f->width * f->elem_B);
        copy_fill_bytes(f->dst + at_B, f->value, f->elem_B, end_B - at_B, job->way);
        return;
    }
    for (uint64_t row = first; row < end; row++)
        copy_fill_bytes(f->dst + row * f->pitch_B, f->value, f->elem_B, f->width * f->elem_B,
                        CPU_COPY_PLAIN);
}

struct copy_body {
    struct cpu_job *job;
    struct cpu_chunk chunk;
};

static void copy_body(void *arg)
{
    struct copy_body *body = arg;

    if (body->job->packet->head.op == HAL_OP_COPY)
        copy_piece(body->job, body->chunk.first, body->chunk.end);
    else
        copy_fill_piece(body->job, body->chunk.first, body->chunk.end);
}

/* ---- where it faulted */

/* Rows that a packet reads or writes. */
struct footprint {
    uint64_t va, width_B, height, depth, pitch_B, slice_B;
    bool writes;
};

static uint64_t copy_footprint_row(const struct footprint *p, uint64_t row)
{
    return p->va + row / p->height * p->slice_B + row % p->height * p->pitch_B;
}

static bool copy_footprint_has(const struct footprint *p, uint64_t address)
{
    for (uint64_t row = 0; row < p->height * p->depth; row++) {
        if (address - copy_footprint_row(p, row) < p->width_B)
            return true;
    }
    return false;
}

/*
 * A byte as it is: it is written without another value, also while others write it. By a
 * compare-and-swap: clang makes a load of `fetch_or(0)`.
 */
CPU_READS_ANYTHING static void copy_touch(uint64_t va, bool writes)
{
    volatile uint8_t *at = copy_row_at(va, 1);
    uint8_t was = *at;

    if (writes)
        (void)__atomic_compare_exchange_n(at, &was, was, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#define PAGE_B 4096 /* or a multiple of it */

/* One byte of each page, up to the first that faults. */
static void copy_footprint_touch(void *arg)
{
    const struct footprint *p = arg;

    for (uint64_t row = 0; row < p->height * p->depth; row++) {
        uint64_t at = copy_footprint_row(p, row), end = at + p->width_B;
        for (; at < end; at = (at | (PAGE_B - 1)) + 1)
            copy_touch(at, p->writes);
    }
}

/* The C library and other workers may have begun elsewhere. */
static uint64_t copy_first_bad(struct cpu_job *job, uint64_t address)
{
    const union hal_packet *packet = job->packet;
    const struct hal_copy *c = &packet->copy;
    const struct hal_fill *f = &packet->fill;
    struct footprint footprints[2] = {0};
    unsigned n = 0;

    if (packet->head.op == HAL_OP_COPY) {
        footprints[n++] = (struct footprint){c->src,         c->width_B,     c->height, c->depth,
                                             c->src_pitch_B, c->src_slice_B, false};
        footprints[n++] = (struct footprint){c->dst,         c->width_B,     c->height, c->depth,
                                             c->dst_pitch_B, c->dst_slice_B, true};
    } else
        footprints[n++] =
            (struct footprint){f->dst, f->width * f->elem_B, f->height, 1, f->pitch_B, 0, true};
    for (unsigned i = 0; i < n; i++) {
        enum hd_status status;
        uint64_t first;
        if (copy_footprint_has(&footprints[i], address) &&
            !cpu_guarded_quietly(copy_footprint_touch, &footprints[i], job, &status, &first) &&
            status == HD_ILLEGAL_ADDRESS)
            return first;
    }
    return address; /* it is there by now */
}

/* ---- the job */

static void copy_run(struct cpu_job *job, struct cpu_slot *slot)
{
    struct copy_body body = {.job = job};
    struct cpu_guard fault;
    bool asked_for_help = !slot;

    while (cpu_job_take(job, slot, &body.chunk)) {
        if (!cpu_guard_run(copy_body, &body, job, NULL, &fault)) {
            cpu_job_end(job);
            if (fault.status == HD_ILLEGAL_ADDRESS &&
                hal_domain_status(&job->domain->base) == HD_OK)
                fault.address = copy_first_bad(job, fault.address);
            cpu_fault_report(&fault, job);
            return;
        }
        if (!asked_for_help && !cpu_job_exhausted(job)) {
            asked_for_help = true;
            cpu_wake_more(slot->device);
        }
    }
}

static struct {
    uint64_t l3_B; /* AMD's; 0 = another's */
    bool strings;
} host;

static pthread_once_t looked = PTHREAD_ONCE_INIT;

static void copy_host_look(void)
{
    host.l3_B = copy_amd_l3_B();
    host.strings = copy_strings_are_fast();
}

uint64_t cpu_caches_B(void)
{
    pthread_once(&looked, copy_host_look);
    return host.l3_B;
}

/* What the packet touches stays in no cache that its readers share. */
static bool copy_is_nontemporal(const union hal_packet *p, uint64_t size_B)
{
    if (!host.l3_B)
        return size_B >= CPU_NT_COPY_B;
    return (p->head.op == HAL_OP_COPY ? size_B + size_B / 4 : size_B) > host.l3_B;
}

static enum cpu_copy_way copy_way(const union hal_packet *p, uint64_t size_B)
{
    if (size_B < CPU_STRING_COPY_B)
        return CPU_COPY_PLAIN;
    pthread_once(&looked, copy_host_look);
    if (copy_is_nontemporal(p, size_B))
        return CPU_COPY_NONTEMPORAL;
    return host.strings ? CPU_COPY_STRING : CPU_COPY_PLAIN;
}

enum { CHUNKS = 8, PIECES_MAX = 4 /* of a chunk */ };

void cpu_copy_setup(struct cpu_job *job, const union hal_packet *p)
{
    uint64_t size_B = cpu_copy_size_B(p), rows = copy_rows(p), total = rows;

    job->run = copy_run;
    job->packet = p;
    job->name = hal_op_name(p->head.op);
    job->form.code = NULL;
    job->native = NULL;
    job->way = copy_way(p, size_B);
    job->cooperative = false;
    job->in_order = false;
    atomic_store_explicit(&job->npartitions, 0, memory_order_relaxed);
    job->chunk = 1;
    job->start_ns = 0;
    if (rows == 1) {
        total = (size_B + CPU_COPY_CHUNK_B - 1) / CPU_COPY_CHUNK_B;
        /* Enough chunks for some workers, each as long as helps. */
        job->chunk = HD_MAX(HD_MIN(total / CHUNKS, PIECES_MAX), 1);
    } else if (size_B)
        job->chunk = HD_MAX(CPU_COPY_CHUNK_B / (size_B / rows + 1), 1);
    /* Publishing orders these. */
    atomic_store_explicit(&job->spins, false, memory_order_relaxed);
    atomic_store_explicit(&job->next, 0, memory_order_relaxed);
    atomic_store_explicit(&job->total, size_B ? total : 0, memory_order_relaxed);
}
