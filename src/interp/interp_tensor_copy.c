/* Tensor copies (model/tensor_copy.h): the whole box when the instruction executes. */
#include <string.h>

#include "interp/interp_priv.h"
#include "model/mbarrier.h"
#include "model/tensor_copy.h"

enum { PIECE_B = 16 }; /* no page boundary divides it */

static void *translate(void *user, uint64_t address, uint64_t size_B, bool write)
{
    struct interp_thread *t = user;
    return interp_host_at(t, IR_SPACE_GENERIC, address, size_B, 1, write);
}

static bool read_map(struct interp_thread *t, struct ir_tensor_map *out)
{
    const void *map = interp_host_at(t, IR_SPACE_GENERIC, interp_src(t, 1), sizeof(*out),
                                     IR_TENSOR_MAP_ALIGN_B, false);
    if (map)
        memcpy(out, map, sizeof(*out));
    return map != NULL;
}

/* The box at this address, which may name another CTA; true: done. */
static bool copy_at(struct interp_thread *t, const struct ir_tensor_copy *c, uint64_t address)
{
    const struct ir_tensor_global memory = {.translate = translate, .user = t, .piece_B = PIECE_B};
    char *shared = interp_host_at(t, t->frame->pc->mem.space, address, c->shared_B,
                                  IR_TENSOR_SHARED_ALIGN_B, c->what.way == IR_TENSOR_LOAD);
    return shared && ir_tensor_copy_run(c, shared, address & (IR_CLUSTER_STRIDE_B - 1), &memory);
}

static bool notify_at(struct interp_thread *t, const struct ir_tensor_copy *c, uint64_t address)
{
    void *barrier =
        interp_host_at(t, t->frame->pc->mem.space, address, IR_MBARRIER_B, IR_MBARRIER_B, true);
    if (barrier)
        ir_mbarrier_do(IR_MBARRIER_COMPLETE_TX, barrier, c->bytes);
    return barrier != NULL;
}

/* To the same place in each CTA that the mask names. */
static bool multicast(struct interp_thread *t, const struct ir_tensor_copy *c, uint64_t address,
                      uint64_t barrier)
{
    uint64_t offset = IR_CLUSTER_STRIDE_B - 1, mask = interp_src(t, 3);
    uint32_t barrier_rank = (uint32_t)(barrier >> IR_CLUSTER_SHIFT);

    for (uint32_t rank = 0; rank < IR_CLUSTER_MAX_CTAS; rank++) {
        uint64_t hearer = ir_tensor_hearer(&c->what, rank, barrier_rank);
        if (mask >> rank & 1 &&
            (!copy_at(t, c, (address & offset) | (uint64_t)rank << IR_CLUSTER_SHIFT) ||
             !notify_at(t, c, (barrier & offset) | hearer << IR_CLUSTER_SHIFT)))
            return false;
    }
    return true;
}

enum interp_step interp_tensor_copy(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    uint64_t address = interp_address(t);
    struct ir_tensor_map map;
    struct ir_tensor_copy c;
    bool ok;

    if (!read_map(t, &map))
        return INTERP_FAULTED;
    const struct ir_tensor_what what = ir_tensor_unpack(in->imm);
    uint32_t n = ir_tensor_coordinates(&what), infos[IR_TENSOR_INFO_MAX];
    int32_t coordinates[IR_TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < n; i++)
        coordinates[i] = (int32_t)interp_src(t, IR_TENSOR_OPERAND_0 + i);
    for (uint32_t i = 0; i < ir_tensor_infos(&what); i++)
        infos[i] = (uint32_t)interp_src(t, IR_TENSOR_OPERAND_0 + n + i);
    const char *why = ir_tensor_copy_init(&c, &map, in->imm, coordinates, infos);
    if (why)
        return interp_fail(t, HD_ILLEGAL_INSTRUCTION, "tensor copy: %s", why);
    uint64_t barrier = interp_from_generic(t, in->mem.space, interp_src(t, 2));
    if (c.what.casts)
        ok = multicast(t, &c, address, barrier);
    else
        ok = copy_at(t, &c, address) && (c.what.way != IR_TENSOR_LOAD || notify_at(t, &c, barrier));
    return ok ? INTERP_NEXT : INTERP_FAULTED;
}
