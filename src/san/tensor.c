#include "san/tensor.h"

#include "model/mbarrier.h"
#include "model/tensor_copy.h"
#include "san/lanes.h"

struct tensor {
    const struct san_cta *cta;
    const struct san_tensor_to *to;
    const struct san_access *issued;
    uint32_t lane;
    struct ir_tensor_copy copy;
    enum hd_status status;
};

static uint64_t operand(const struct tensor *t, uint32_t i)
{
    return t->issued->operands[i][t->lane];
}

static void report(struct tensor *t, enum san_what what, enum ir_space space, uint64_t at,
                   uint64_t size_B, uint64_t align_B)
{
    struct san_access part = *t->issued;
    uint64_t address[SAN_LANES] = {0};

    address[t->lane] = at;
    part.lanes = 1u << t->lane;
    part.what = what;
    part.space = space;
    part.size_B = size_B;
    part.align_B = align_B;
    part.address = address;
    enum hd_status said = t->to->access(t->to->user, &part);
    t->status = t->status == HD_OK ? said : t->status;
}

/* ---- global memory */

static void report_stretch(void *user, uint64_t va, uint64_t size_B, bool write)
{
    struct tensor *t = user;
    enum san_what what = t->copy.what.way == IR_TENSOR_REDUCE ? SAN_ATOMIC
                         : write                              ? SAN_WRITE
                                                              : SAN_READ;

    report(t, what, IR_SPACE_GENERIC, va, size_B, 1);
}

/* ---- shared memory, and who hears of it */

static void report_box(struct tensor *t, uint64_t address)
{
    report(t, t->copy.what.way == IR_TENSOR_LOAD ? SAN_WRITE : SAN_READ,
           t->issued->probe->mem.space, address, t->copy.shared_B, IR_TENSOR_SHARED_ALIGN_B);
}

/* A generic address in shared memory. */
static void report_barrier(struct tensor *t, uint64_t address)
{
    struct ir_instr probe = {
        .op = IR_OP_PROBE_ACCESS,
        .imm = ir_probe_imm(IR_OP_MBARRIER, false, IR_MBARRIER_COMPLETE_TX) |
               (uint64_t)t->issued->number << 32,
        .nsrc = 2,
        .mem.space = IR_SPACE_GENERIC,
        .srcloc = t->issued->probe->srcloc,
        .block = t->issued->probe->block,
    };
    uint64_t at[SAN_LANES] = {0}, bytes[SAN_LANES] = {0};
    const uint64_t *const operands[] = {at, bytes, NULL};
    const struct san_sync sync = {.probe = &probe,
                                  .number = t->issued->number,
                                  .warp = t->issued->warp,
                                  .lanes = 1u << t->lane,
                                  .operands = operands};

    at[t->lane] = address;
    bytes[t->lane] = t->copy.bytes;
    enum hd_status said = t->to->sync(t->to->user, &sync);
    t->status = t->status == HD_OK ? said : t->status;
}

/* Into the same place of each CTA that the mask names. */
static void report_cast(struct tensor *t)
{
    uint64_t offset = IR_CLUSTER_STRIDE_B - 1, address = t->issued->address[t->lane];
    uint64_t first = (uintptr_t)t->cta->base->shared - t->cta->rank * IR_CLUSTER_STRIDE_B;
    uint64_t barrier = operand(t, 2) - first, mask = operand(t, 3);
    uint32_t at = (uint32_t)(barrier >> IR_CLUSTER_SHIFT);

    for (uint32_t rank = 0; rank < IR_CLUSTER_MAX_CTAS; rank++) {
        if (!(mask >> rank & 1))
            continue;
        uint64_t hearer = ir_tensor_hearer(&t->copy.what, rank, at);
        report_box(t, (address & offset) | (uint64_t)rank << IR_CLUSTER_SHIFT);
        report_barrier(t, first + (barrier & offset) + (hearer << IR_CLUSTER_SHIFT));
    }
}

/* ---- the copy */

static bool map_read(struct tensor *t, struct ir_tensor_map *map)
{
    uint64_t va = operand(t, 1);

    report(t, SAN_READ, IR_SPACE_GENERIC, va, sizeof *map, IR_TENSOR_MAP_ALIGN_B);
    return ir_probed_map(va, map);
}

enum hd_status san_tensor_lane(const struct san_cta *cta, const struct san_access *access,
                               uint32_t lane, const struct san_tensor_to *to)
{
    struct tensor t = {.cta = cta, .to = to, .issued = access, .lane = lane, .status = HD_OK};
    struct ir_tensor_map map;

    if (!map_read(&t, &map) ||
        !ir_probed_copy(ir_probe_its_imm(access->probe), access->operands, lane, &map, &t.copy))
        return t.status;
    (void)!ir_tensor_copy_stretches(&t.copy, report_stretch, &t);
    if (t.copy.what.casts) {
        report_cast(&t);
        return t.status;
    }
    report_box(&t, access->address[lane]);
    if (t.copy.what.way == IR_TENSOR_LOAD)
        report_barrier(&t, operand(&t, 2));
    return t.status;
}
