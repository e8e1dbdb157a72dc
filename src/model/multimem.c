/* Multimem instructions: see multimem.h. Sums are in the order of the devices. */
#include "model/multimem.h"

#include <assert.h>
#include <string.h>

#include "model/eval.h"
#include "model/eval_private.h"

enum { ELEMENTS = 16, BLOCK_B = 16 };

const char ir_multimem_refusal[] =
    "no multicast object is mapped there, or some device has no memory bound to it";

const char ir_multimem_only[] = "a multicast object: only multimem instructions may access it";

static unsigned element_B(const struct ir_multimem *m)
{
    return ir_type_bits((enum ir_type)m->type) / 8;
}

/* ---- sums */

static bool is_small(enum ir_type type)
{
    return type == IR_E4M3 || type == IR_E5M2;
}

/* What the elements are while they are combined. */
static enum ir_type sum_type(const struct ir_multimem *m)
{
    if (!m->wide)
        return (enum ir_type)m->type;
    return is_small((enum ir_type)m->type) ? IR_F16 : IR_F32;
}

static bool is_finite(const struct hd_fp_format *fmt, uint64_t bits)
{
    enum hd_fp_class class_ = hd_fp_unpack(fmt, bits).cls;
    return class_ == HD_FP_ZERO || class_ == HD_FP_FINITE;
}

/* To nearest even; numbers that are too large for 8 bits become the largest, as cvt does. */
static uint64_t round_to(enum ir_type type, struct hd_fp x)
{
    const struct hd_fp_format *fmt = ir_fp_format(type);
    uint64_t bits = hd_fp_pack(fmt, x, HD_FP_RN, false);
    if (!is_small(type) || x.cls == HD_FP_NAN || is_finite(fmt, bits))
        return bits;
    return hd_fp_max(fmt) | (x.sign ? hd_fp_sign_mask(fmt) : 0);
}

static uint64_t convert(enum ir_type to, enum ir_type from, uint64_t bits)
{
    return to == from ? bits : round_to(to, hd_fp_unpack(ir_fp_format(from), bits));
}

static uint64_t combine(enum ir_atom atom, enum ir_type type, uint64_t a, uint64_t b)
{
    const struct hd_fp_format *fmt = ir_fp_format(type);
    if (!is_small(type) || atom != IR_ATOM_ADD)
        return ir_eval_atom(atom, type, true, a, b, 0);
    return round_to(type, hd_fp_add(hd_fp_unpack(fmt, a), hd_fp_unpack(fmt, b), HD_FP_RN));
}

/* ---- memory */

static uint64_t load(uint64_t address, unsigned size_B)
{
    const void *p = (const void *)(uintptr_t)address;
    switch (size_B) {
    case 1:
        return __atomic_load_n((const uint8_t *)p, __ATOMIC_ACQUIRE);
    case 2:
        return __atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE);
    case 4:
        return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
    default:
        assert(size_B == 8);
        return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
    }
}

static void store(uint64_t address, unsigned size_B, uint64_t bits)
{
    void *p = (void *)(uintptr_t)address;
    switch (size_B) {
    case 1:
        __atomic_store_n((uint8_t *)p, (uint8_t)bits, __ATOMIC_RELEASE);
        break;
    case 2:
        __atomic_store_n((uint16_t *)p, (uint16_t)bits, __ATOMIC_RELEASE);
        break;
    case 4:
        __atomic_store_n((uint32_t *)p, (uint32_t)bits, __ATOMIC_RELEASE);
        break;
    default:
        assert(size_B == 8);
        __atomic_store_n((uint64_t *)p, bits, __ATOMIC_RELEASE);
        break;
    }
}

/* ---- registers are elements, lowest first */

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

/* What a replica adds to the elements; the first one is taken as it is. */
static void take_register(const struct ir_multimem *m, uint64_t word, bool is_first, uint64_t *sums)
{
    enum ir_type type = (enum ir_type)m->type, sum = sum_type(m);
    unsigned bits = ir_type_bits(type);
    for (unsigned i = 0; i < 8u * m->register_B / bits; i++) {
        uint64_t x = convert(sum, type, word >> (i * bits) & mask_of(bits));
        sums[i] = is_first ? x : combine((enum ir_atom)m->atom, sum, sums[i], x);
    }
}

static uint64_t give_register(const struct ir_multimem *m, const uint64_t *sums)
{
    enum ir_type type = (enum ir_type)m->type;
    unsigned bits = ir_type_bits(type);
    uint64_t word = 0;
    for (unsigned i = 0; i < 8u * m->register_B / bits; i++)
        word |= convert(type, sum_type(m), sums[i]) << (i * bits);
    return word;
}

static void load_all(const struct ir_multimem *m, const struct ir_replicas *r, uint64_t *registers)
{
    unsigned each = m->register_B / element_B(m);
    uint64_t sums[ELEMENTS];
    assert(each * m->registers <= ELEMENTS);
    for (uint32_t i = 0; i < r->count; i++)
        for (unsigned n = 0; n < m->registers; n++)
            take_register(m, load(r->at[i] + n * m->register_B, m->register_B), !i,
                          sums + n * each);
    for (unsigned n = 0; n < m->registers; n++)
        registers[n] = give_register(m, sums + n * each);
}

static void store_all(const struct ir_multimem *m, const struct ir_replicas *r,
                      const uint64_t *registers)
{
    for (uint32_t i = 0; i < r->count; i++)
        for (unsigned n = 0; n < m->registers; n++)
            store(r->at[i] + n * m->register_B, m->register_B, registers[n]);
}

/* Each element is atomic, not the whole. */
static void reduce_bytes(const struct ir_multimem *m, uint64_t address, const void *src,
                         uint64_t size_B)
{
    unsigned each_B = element_B(m);
    for (uint64_t at = 0; at < size_B; at += each_B) {
        uint64_t x = 0;
        memcpy(&x, (const char *)src + at, each_B);
        ir_atom_at((enum ir_atom)m->atom, (enum ir_type)m->type, true,
                   (void *)(uintptr_t)(address + at), x, 0);
    }
}

static void reduce_all(const struct ir_multimem *m, const struct ir_replicas *r,
                       const uint64_t *registers)
{
    for (uint32_t i = 0; i < r->count; i++)
        for (unsigned n = 0; n < m->registers; n++)
            reduce_bytes(m, r->at[i] + n * m->register_B, &registers[n], m->register_B);
}

/* ---- what executes */

static bool find(struct ir_replica_finder finder, uint64_t address, struct ir_replicas *out)
{
    return finder.find && finder.find(finder.user, address, out);
}

enum hd_status ir_multimem_access(const struct ir_multimem *m, struct ir_replica_finder finder,
                                  uint64_t address, uint64_t registers[IR_MULTIMEM_REGISTERS])
{
    struct ir_replicas r;
    assert(m->registers <= IR_MULTIMEM_REGISTERS && !ir_multimem_copies(m));
    if (address % (m->registers * m->register_B)) /* so it lies in one piece */
        return HD_MISALIGNED;
    if (!find(finder, address, &r))
        return HD_ILLEGAL_ADDRESS;
    if (m->verb == IR_MULTIMEM_LOAD)
        load_all(m, &r, registers);
    else if (m->verb == IR_MULTIMEM_STORE)
        store_all(m, &r, registers);
    else
        reduce_all(m, &r, registers);
    return HD_OK;
}

static void copy_bytes(void *dst, const void *src, uint64_t size_B, uint32_t bytes)
{
    if ((bytes & 0xffff) == 0xffff) {
        memmove(dst, src, size_B);
        return;
    }
    for (uint64_t i = 0; i < size_B; i++)
        if (bytes >> (i % BLOCK_B) & 1)
            ((char *)dst)[i] = ((const char *)src)[i];
}

enum hd_status ir_multimem_copy(const struct ir_multimem *m, struct ir_replica_finder finder,
                                uint64_t address, const void *src, uint64_t size_B, uint32_t bytes)
{
    struct ir_replicas r;
    assert(ir_multimem_copies(m));
    if ((address | size_B) % BLOCK_B)
        return HD_MISALIGNED;
    for (uint64_t at = 0, n; at < size_B; at += n) {
        const char *from = (const char *)src + at;
        if (!find(finder, address + at, &r))
            return HD_ILLEGAL_ADDRESS;
        n = HD_MIN(size_B - at, r.size_B);
        for (uint32_t i = 0; i < r.count; i++) {
            if (m->verb == IR_MULTIMEM_COPY)
                copy_bytes((void *)(uintptr_t)r.at[i], from, n, bytes);
            else
                reduce_bytes(m, r.at[i], from, n);
        }
    }
    return HD_OK;
}
