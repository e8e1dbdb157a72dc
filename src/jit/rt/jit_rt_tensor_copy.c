/*
 * Tensor copies (model/tensor_copy.h), lane by lane in lane order (gen/gen_async.c); most are the
 * business of one lane. Faults are reported here: what a lane copies is only known when it does.
 */
#include <string.h>

#include "model/mbarrier.h"
#include "model/tensor_copy.h"
#include "jit/gen/codegen.h"
#include "jit/jit_cluster.h"
#include "jit/jit_private.h"

/* Of each lane. */
struct operands {
    const uint64_t *box, *map, *barrier;
    const uint32_t *ctas;
    const uint32_t *coordinates[IR_TENSOR_RANK_MAX];
    const uint32_t *infos[IR_TENSOR_INFO_MAX];
};

/* One lane's copy, and who it is, for reports. */
struct job {
    struct jit_cta *cta;
    struct jit_warp *warp;
    uint32_t instr_idx, lane;
    bool is_strict;
    struct ir_tensor_copy copy;
};

static void fault(const struct job *j, enum hd_status status, uint64_t address)
{
    j->cta->launch->services->fault(j->cta, j->warp, 1u << j->lane, j->instr_idx, status, address);
}

/* Strict code asks for everything that is not inside the device's space. */
static void *strict_translate(void *user, uint64_t address, uint64_t size_B, bool write)
{
    const struct job *j = user;
    const struct jit_launch *launch = j->cta->launch;
    uint64_t offset = address - launch->space_va, addresses[32];

    (void)write;
    if (offset > launch->space_B || size_B > launch->space_B - offset) {
        addresses[j->lane] = address;
        launch->services->check(j->cta, j->warp, 1u << j->lane, j->instr_idx, addresses,
                                (uint32_t)size_B);
    }
    return (void *)(uintptr_t)address;
}

static void prepare(struct job *j, const struct operands *o, uint32_t imm)
{
    const struct ir_tensor_what what = ir_tensor_unpack(imm);
    uint64_t at = o->map[j->lane];
    int32_t coordinates[IR_TENSOR_RANK_MAX];
    uint32_t infos[IR_TENSOR_INFO_MAX], n = ir_tensor_coordinates(&what);
    struct ir_tensor_map map;

    if (at % IR_TENSOR_MAP_ALIGN_B)
        fault(j, HD_MISALIGNED, at);
    if (j->is_strict)
        strict_translate(j, at, sizeof(map), false);
    memcpy(&map, (const void *)(uintptr_t)at, sizeof(map));
    for (uint32_t i = 0; i < n; i++)
        coordinates[i] = (int32_t)o->coordinates[i][j->lane];
    for (uint32_t i = 0; i < ir_tensor_infos(&what); i++)
        infos[i] = o->infos[i][j->lane];
    const char *why = ir_tensor_copy_init(&j->copy, &map, imm, coordinates, infos);
    if (why)
        j->cta->launch->services->refuse(j->cta, j->warp, 1u << j->lane, j->instr_idx,
                                         HD_ILLEGAL_INSTRUCTION, 0, why);
}

static void copy_at(struct job *j, uint64_t address)
{
    const struct ir_tensor_global strict = {
        .translate = strict_translate, .user = j, .piece_B = UINT64_C(1) << 63};
    uint64_t offset = jit_cluster_offset_of(j->cta, address);

    if (offset % IR_TENSOR_SHARED_ALIGN_B)
        fault(j, HD_MISALIGNED, address);
    if (!jit_cluster_holds(j->cta, address, j->copy.shared_B))
        fault(j, HD_ILLEGAL_ADDRESS, address);
    ir_tensor_copy_run(&j->copy, (char *)(uintptr_t)address, offset, j->is_strict ? &strict : NULL);
}

static void notify_at(const struct job *j, uint64_t address)
{
    if (address % IR_MBARRIER_B)
        fault(j, HD_MISALIGNED, address);
    if (!jit_cluster_holds(j->cta, address, IR_MBARRIER_B))
        fault(j, HD_ILLEGAL_ADDRESS, address);
    ir_mbarrier_do(IR_MBARRIER_COMPLETE_TX, (void *)(uintptr_t)address, j->copy.bytes);
}

/* Where CTA `rank` has what is at this address in its own CTA; no memory when there is none. */
static uint64_t address_in(const struct job *j, uint32_t rank, uint64_t address)
{
    return (uint64_t)(uintptr_t)j->cta->cluster + rank * IR_CLUSTER_STRIDE_B +
           jit_cluster_offset_of(j->cta, address);
}

static void multicast(struct job *j, uint64_t address, uint64_t barrier, uint32_t ctas)
{
    uint32_t barrier_rank = (uint32_t)jit_cluster_rank_of(j->cta, barrier);

    for (uint32_t rank = 0; rank < IR_CLUSTER_MAX_CTAS; rank++) {
        if (!(ctas >> rank & 1))
            continue;
        copy_at(j, address_in(j, rank, address));
        notify_at(j, address_in(j, ir_tensor_hearer(&j->copy.what, rank, barrier_rank), barrier));
    }
}

static void lane_copy(struct job *j, const struct operands *o, uint32_t imm)
{
    prepare(j, o, imm);
    if (j->copy.what.casts) {
        multicast(j, o->box[j->lane], o->barrier[j->lane], o->ctas[j->lane]);
        return;
    }
    copy_at(j, o->box[j->lane]);
    if (j->copy.what.way == IR_TENSOR_LOAD)
        notify_at(j, o->barrier[j->lane]);
}

void jit_rt_tensor_copy(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx,
                        uint32_t mask, uint32_t how, uint32_t imm, const uint64_t *box,
                        const uint64_t *map, const uint64_t *barrier, const uint32_t *ctas,
                        const uint32_t *c0, const uint32_t *c1, const uint32_t *c2,
                        const uint32_t *c3, const uint32_t *c4, const uint32_t *c5,
                        const uint32_t *c6, const uint32_t *c7);
void jit_rt_tensor_copy(struct jit_cta *cta, struct jit_warp *warp, uint32_t instr_idx,
                        uint32_t mask, uint32_t how, uint32_t imm, const uint64_t *box,
                        const uint64_t *map, const uint64_t *barrier, const uint32_t *ctas,
                        const uint32_t *c0, const uint32_t *c1, const uint32_t *c2,
                        const uint32_t *c3, const uint32_t *c4, const uint32_t *c5,
                        const uint32_t *c6, const uint32_t *c7)
{
    const uint32_t *const all[] = {c0, c1, c2, c3, c4, c5, c6, c7};
    const struct ir_tensor_what what = ir_tensor_unpack(imm);
    struct operands o = {.box = box, .map = map, .barrier = barrier, .ctas = ctas};
    struct job j = {
        .cta = cta, .warp = warp, .instr_idx = instr_idx, .is_strict = how & JIT_ASYNC_STRICT};
    uint32_t n = ir_tensor_coordinates(&what);

    memcpy(o.coordinates, all, n * sizeof(all[0]));
    memcpy(o.infos, all + n, ir_tensor_infos(&what) * sizeof(all[0]));
    for (; mask; mask &= mask - 1) {
        j.lane = (uint32_t)__builtin_ctz(mask);
        lane_copy(&j, &o, imm);
    }
}

void *jit_rt_tensor_copy_lookup(const char *name);
void *jit_rt_tensor_copy_lookup(const char *name)
{
    return strcmp(name, "jit_rt_tensor_copy") ? NULL : (void *)jit_rt_tensor_copy;
}
