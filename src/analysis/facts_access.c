/* Questions about accesses: LD, ST and ATOM of a whole warp. */
#include "analysis/facts_impl.h"

enum { SECTOR_B = 32, BANKS = 32, WORD_B = 4 };

uint32_t facts_access_B(const struct ir_instr *in)
{
    if (in->op != IR_OP_LD && in->op != IR_OP_ST && in->op != IR_OP_ATOM)
        return 0;
    return ir_type_bits(in->type) / 8 * HD_MAX(in->mem.vec, 1u);
}

uint64_t facts_access_alignment(const struct facts *f, const struct ir_instr *access)
{
    const uint64_t offset = (uint64_t)access->mem.offset, size_B = facts_access_B(access);
    const uint64_t known = facts_alignment(f, access->src[0]);
    const uint64_t align = offset ? HD_MIN(known, offset & -offset) : known;
    return hd_is_pow2(size_B) ? HD_MAX(align, size_B) : align;
}

bool facts_lane_stride(const struct facts *f, const struct ir_instr *access, int64_t *out_B)
{
    return facts_access_B(access) && facts_lane_step(f, access->src[0], out_B);
}

bool facts_access_distance(const struct facts *f, const struct ir_instr *a,
                           const struct ir_instr *b, int64_t *out_B)
{
    int64_t apart;
    if (!facts_access_B(a) || !facts_access_B(b) || a->mem.space != b->mem.space ||
        !facts_difference(f, b->src[0], a->src[0], &apart))
        return false;
    *out_B = (int64_t)((uint64_t)apart + (uint64_t)b->mem.offset - (uint64_t)a->mem.offset);
    return true;
}

/* ---- sectors */

static uint32_t sectors_at(const int64_t off[32], uint64_t lane0_B, uint32_t size_B)
{
    int64_t seen[32 * 4];
    uint32_t n = 0;
    for (unsigned l = 0; l < 32; l++) {
        const int64_t from = (off[l] + (int64_t)lane0_B) >> 5;
        const int64_t to = (off[l] + (int64_t)lane0_B + size_B - 1) >> 5;
        for (int64_t sector = from; sector <= to; sector++) {
            uint32_t i = 0;
            while (i < n && seen[i] != sector)
                i++;
            if (i == n)
                seen[n++] = sector;
        }
    }
    return n;
}

/* Bits below the sector that lane 0's address has, for sure: *zeros and *ones. */
static void lane0_bits(const struct facts *f, const struct ir_instr *access, uint64_t *zeros,
                       uint64_t *ones)
{
    const struct ir_value *v = access->src[0];
    const struct ir_shape *s = &f->shapes.of[v->id];
    struct facts_range r = facts_range(f, v);

    if (s->kind <= IR_SHAPE_AFFINE) {
        const uint64_t align = HD_MAX(HD_MAX(s->align, s->warp_align), 1u);
        r.zeros |= (align - 1) & ~r.ones;
    }
    const struct facts_range by = facts_exactly_of((uint64_t)access->mem.offset, 64);
    struct facts_range low = facts_any_of(64);
    low.zeros = r.zeros & (SECTOR_B - 1);
    low.ones = r.ones & (SECTOR_B - 1);
    const struct facts_range sum = facts_shifted(&low, (int64_t)by.least, 64);
    *zeros = sum.zeros & (SECTOR_B - 1);
    *ones = sum.ones & (SECTOR_B - 1);
}

bool facts_segments(const struct facts *f, const struct ir_instr *access, uint32_t *out_least,
                    uint32_t *out_most)
{
    const uint32_t size_B = facts_access_B(access);
    int64_t off[32];
    uint64_t zeros, ones;

    if (!hd_is_pow2(size_B) || size_B > 2 * SECTOR_B || !facts_lane_offsets(f, access->src[0], off))
        return false;
    lane0_bits(f, access, &zeros, &ones);
    *out_least = UINT32_MAX;
    *out_most = 0;
    for (uint64_t at = 0; at < SECTOR_B; at += HD_MIN(size_B, (uint32_t)SECTOR_B)) {
        if ((at & zeros) || (~at & ones))
            continue;
        const uint32_t n = sectors_at(off, at, size_B);
        *out_least = HD_MIN(*out_least, n);
        *out_most = HD_MAX(*out_most, n);
    }
    return *out_most != 0; /* else it is never aligned */
}

/* ---- banks */

static uint32_t conflicts_at(const int64_t *off, unsigned lanes, uint64_t at, uint32_t size_B)
{
    int64_t words[BANKS][32];
    uint32_t count[BANKS] = {0}, worst = 1;
    for (unsigned l = 0; l < lanes; l++) {
        const int64_t first = (off[l] + (int64_t)at) >> 2;
        const int64_t last = (off[l] + (int64_t)at + size_B - 1) >> 2;
        for (int64_t word = first; word <= last; word++) {
            const unsigned bank = (unsigned)(word & (BANKS - 1));
            uint32_t i = 0;
            while (i < count[bank] && words[bank][i] != word)
                i++;
            if (i == count[bank])
                words[bank][count[bank]++] = word;
            worst = HD_MAX(worst, count[bank]);
        }
    }
    return worst;
}

uint32_t facts_bank_conflicts(const struct facts *f, const struct ir_instr *access)
{
    const uint32_t size_B = facts_access_B(access);
    const unsigned lanes = size_B > WORD_B ? 32 * WORD_B / size_B : 32;
    int64_t off[32];
    uint32_t worst = 0;

    if (!hd_is_pow2(size_B) || size_B > 16 || !ir_space_is_shared(access->mem.space) ||
        !facts_lane_offsets(f, access->src[0], off))
        return 0;
    for (unsigned first = 0; first < 32; first += lanes)
        for (uint64_t at = 0; at < WORD_B; at += HD_MIN(size_B, (uint32_t)WORD_B))
            worst = HD_MAX(worst, conflicts_at(off + first, lanes, at, size_B));
    return worst;
}
