/*
 * Accesses to all replicas of a multicast object (model/multimem.h). A device reaches replicas by
 * mappings of its own; a program reaches the same memory where it has mapped it itself, so that is
 * where tools hear of them.
 */
#include "model/multimem.h"

#include <assert.h>
#include <stdio.h>

#include "san/lanes.h"
#include "san/payload.h"

enum { BLOCK_B = 16, ALL_BYTES = (1 << BLOCK_B) - 1 };

/* What one lane does. */
struct access {
    const struct san_cta *cta;
    const struct san_payload_to *to;
    struct san_access part;
    struct ir_multimem m;
    uint32_t lane;
    uint64_t size_B; /* at each replica */
    uint32_t bytes;  /* of each block of a copy that are written */
    enum hd_status status;
};

static void note(struct access *x, enum hd_status said)
{
    x->status = x->status == HD_OK ? said : x->status;
}

static void report(struct access *x, enum san_what what, enum ir_space space, uint64_t va,
                   uint64_t size_B)
{
    uint64_t address[SAN_LANES];
    struct san_access part = x->part;

    address[x->lane] = va;
    part.address = address;
    part.what = what;
    part.space = space;
    part.size_B = size_B;
    part.align_B = 1; /* the device has looked */
    note(x, x->to->access(x->to->user, &part));
}

static enum san_what what_of(const struct ir_multimem *m)
{
    switch ((enum ir_multimem_verb)m->verb) {
    case IR_MULTIMEM_LOAD:
        return SAN_READ;
    case IR_MULTIMEM_STORE:
    case IR_MULTIMEM_COPY:
        return SAN_WRITE;
    default:
        return SAN_ATOMIC;
    }
}

/* ---- refused */

static void refuse(struct access *x, uint64_t va, enum hd_status status, const char *why)
{
    char where[64];
    struct san_access part = x->part;
    const struct san_refusal refusal = {&part, status, "multimem", {where, why}, va};

    snprintf(where, sizeof where, "Access at 0x%llx is %s", (unsigned long long)va,
             status == HD_MISALIGNED ? "misaligned" : "out of bounds");
    part.what = what_of(&x->m);
    part.size_B = x->size_B;
    note(x, x->to->refused(x->to->user, &refusal));
}

/* ---- replicas */

/* Of a copy that leaves out bytes of each block, those that it writes. */
static void write_some(struct access *x, uint64_t va, uint64_t size_B)
{
    for (uint64_t block = 0; block < size_B; block += BLOCK_B) {
        for (uint32_t left = x->bytes & ALL_BYTES; left;) {
            uint32_t first = (uint32_t)__builtin_ctz(left);
            uint32_t n = (uint32_t)__builtin_ctz(~(left >> first));
            report(x, SAN_WRITE, IR_SPACE_GLOBAL, va + block + first, n);
            left &= ~(((1u << n) - 1) << first);
        }
    }
}

/* What another device lacks ends it; until there it is made. */
static void access_replicas(struct access *x, uint64_t va)
{
    struct ir_replicas r;
    char why[100];

    for (uint64_t done_B = 0, n; done_B < x->size_B; done_B += n) {
        if (!x->cta->launch->about.replicas(va + done_B, &r)) {
            const size_t size = sizeof why;
            if (r.lacks == IR_REPLICAS_NO_OBJECT)
                snprintf(why, size, "no multicast object is mapped there");
            else if (r.lacks == IR_REPLICAS_READ_ONLY)
                snprintf(why, size, "the mapping of the multicast object allows no access");
            else
                snprintf(why, size, "device %d has no memory bound to the multicast object there",
                         r.lacks);
            refuse(x, va + done_B, HD_ILLEGAL_ADDRESS, why);
            return;
        }
        n = HD_MIN(x->size_B - done_B, r.size_B);
        assert(n && r.count);
        for (uint32_t i = 0; i < r.count; i++) {
            if ((x->bytes & ALL_BYTES) == ALL_BYTES)
                report(x, what_of(&x->m), IR_SPACE_GLOBAL, r.at[i], n);
            else
                write_some(x, r.at[i], n);
        }
    }
}

static void access_lane(struct access *x, const uint64_t *const *operands)
{
    uint64_t va = operands[0][x->lane], align_B = x->size_B;
    bool copies = ir_multimem_copies(&x->m);

    if (copies) {
        x->size_B = operands[2][x->lane];
        align_B = BLOCK_B;
        if (x->m.verb == IR_MULTIMEM_COPY)
            x->bytes = (uint32_t)operands[3][x->lane];
    }
    if (va % align_B || x->size_B % align_B) {
        refuse(x, va, HD_MISALIGNED, "which is a multimem address");
        return;
    }
    if (copies && x->size_B)
        report(x, SAN_READ, IR_SPACE_GENERIC, operands[1][x->lane], x->size_B);
    access_replicas(x, va);
}

enum hd_status san_multimem_access(const struct san_cta *cta, const struct san_access *access,
                                   const struct san_payload_to *to)
{
    const struct ir_multimem m = ir_multimem_of(ir_probed(access->probe));
    enum hd_status status = HD_OK;

    if (!cta->launch->about.replicas)
        return HD_OK;
    san_foreach_lane(lane, access->lanes) {
        struct access x = {.cta = cta,
                           .to = to,
                           .part = *access,
                           .m = m,
                           .lane = lane,
                           .size_B = (uint64_t)m.registers * m.register_B,
                           .bytes = ALL_BYTES,
                           .status = HD_OK};

        x.part.lanes = 1u << lane;
        access_lane(&x, access->operands);
        status = status == HD_OK ? x.status : status;
    }
    return status;
}
