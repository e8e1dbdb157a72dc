/*
 * Copies and barriers in memory. A copy is done where it is issued, so that nothing is outstanding;
 * who waits for it, by counter, group or mbarrier, waits for nothing.
 */
#include <string.h>

#include "base/float/swap16.h"
#include "model/eval.h"
#include "model/mbarrier.h"
#include "model/multimem.h"
#include "model/tensor_copy.h"
#include "sim/sim_private.h"

enum { UNIT_B = 16 };

static unsigned mod_of(const struct sim_op *op, enum isa_mod mod)
{
    return isa_mod_value(op->insn, mod);
}

static const uint32_t *field_rows(struct sim_warp *w, const struct sim_op *op, enum isa_field field)
{
    return sim_reg_rows(w, (unsigned)sim_field(op->insn, field, ISA_RZ), false);
}

/* ---- mbarriers */

static bool tell(struct sim_warp *w, unsigned lane, uint64_t address, uint64_t bytes)
{
    void *at = sim_host(w, lane, IR_SPACE_SHARED, address, IR_MBARRIER_B, IR_MBARRIER_B, true);

    if (at)
        ir_mbarrier_do(IR_MBARRIER_COMPLETE_TX, at, bytes);
    return at != NULL;
}

/* ARRIVE.TX expects bytes, then arrives. */
static uint64_t syncs_do(unsigned what, void *at, uint64_t operand)
{
    enum { ARRIVE_TX = 5 };
    static const uint8_t ops[] = {
        IR_MBARRIER_INIT,        IR_MBARRIER_ARRIVE,      IR_MBARRIER_DROP, IR_MBARRIER_EXPECT_TX,
        IR_MBARRIER_COMPLETE_TX, IR_MBARRIER_ARRIVE,      IR_MBARRIER_TEST, IR_MBARRIER_TEST_PARITY,
        IR_MBARRIER_TEST,        IR_MBARRIER_TEST_PARITY, IR_MBARRIER_INVAL};
    enum ir_mbarrier op = (enum ir_mbarrier)ops[what];

    if (what == ARRIVE_TX) {
        ir_mbarrier_do(IR_MBARRIER_EXPECT_TX, at, (uint32_t)operand);
        return ir_mbarrier_do(op, at, 1);
    }
    return ir_mbarrier_do(op, at, op == IR_MBARRIER_TEST ? operand : (uint32_t)operand);
}

enum sim_step sim_exec_syncs(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    enum { TEST = 6, TRY_PARITY = 9 };
    unsigned what = mod_of(op, ISA_MOD_SYNCS);
    bool tests = what >= TEST && what <= TRY_PARITY;
    struct sim_access access = {IR_SPACE_SHARED, IR_MBARRIER_B, !tests};
    const uint32_t *b = sim_src_rows(w, op, 1);
    uint32_t *d = w->regs + op->d * SIM_LANES, passed = 0;
    uint64_t addresses[SIM_LANES];
    char *hosts[SIM_LANES];

    sim_addresses(w, op, access.space, addresses);
    if (!sim_hosts(w, mask, &access, addresses, hosts))
        return SIM_STOP;
    SIM_FOR_LANES(lane, mask)
    {
        uint64_t result = syncs_do(what, hosts[lane], sim_pair(b, lane));

        passed |= (uint32_t)(result & 1) << lane;
        w->scratch[0][lane] = (uint32_t)result;
        w->scratch[1][lane] = (uint32_t)(result >> 32);
    }
    if (tests)
        sim_set_pred(w, op, op->pd, mask, passed);
    else
        sim_blend(w, d, w->scratch[0], op->nd, mask);
    sim_group_of(w)->polled = sim_group_of(w)->pc + 1;
    if (!tests || !passed)
        return SIM_NEXT;
    w->has_passed =
        true; /* those that wait for the same phase see it before the next one is over */
    sim_group_of(w)->pc++;
    return SIM_STOP;
}

/* ---- copies of a few bytes to shared memory */

enum sim_step sim_exec_ldgsts(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t size_B = 4u << mod_of(op, ISA_MOD_COPY_SIZE);
    bool part = mod_of(op, ISA_MOD_COPY_PART);
    const uint32_t *b = sim_src_rows(w, op, 1), *c = sim_src_rows(w, op, 2);
    uint32_t reads = sim_pred(w, op, op->pa, op->pa_not);
    uint64_t addresses[SIM_LANES];

    if (sim_shared_first(w))
        return SIM_STOP; /* and once more */
    sim_addresses(w, op, IR_SPACE_GLOBAL, addresses);
    SIM_FOR_LANES(lane, mask)
    {
        uint32_t n = !(reads >> lane & 1) ? 0 : part ? HD_MIN(c[lane], size_B) : size_B;
        char bytes[UNIT_B] = {0};
        const char *from;
        char *to;

        if (n) {
            from = sim_host(w, lane, IR_SPACE_GLOBAL, addresses[lane], n, size_B, false);
            if (!from)
                return SIM_STOP;
            memcpy(bytes, from, n);
        }
        to = sim_host(w, lane, IR_SPACE_SHARED, b[lane], size_B, size_B, true);
        if (!to)
            return SIM_STOP;
        memcpy(to, bytes, size_B);
    }
    return SIM_NEXT;
}

/* ---- bulk copies */

enum { TO_SHARED, TO_GLOBAL, TO_CLUSTER, TO_REPLICAS };

static bool find(void *user, uint64_t address, struct ir_replicas *out_replicas)
{
    const struct interp_launch *l = user;

    return l->replicas && l->replicas(address, out_replicas);
}

static struct ir_replica_finder finder_of(const struct sim_warp *w)
{
    return (struct ir_replica_finder){find, (void *)(uintptr_t)w->run->launch};
}

static enum sim_step multimem_fail(struct sim_warp *w, unsigned lane, enum hd_status status,
                                   uint64_t address)
{
    if (status == HD_MISALIGNED)
        return sim_fail(w, lane, status, "misaligned multimem access at 0x%llx",
                        (unsigned long long)address);
    return sim_fail(w, lane, status, "multimem access at 0x%llx: %s", (unsigned long long)address,
                    ir_multimem_refusal);
}

struct bulk {
    enum ir_space to, from;
    uint64_t dst, src, size_B;
    uint32_t bytes; /* of each 16: which are written */
};

static bool bulk_copy(struct sim_warp *w, unsigned lane, const struct bulk *c)
{
    for (uint64_t at = 0; at < c->size_B; at += UNIT_B) {
        const char *from = sim_host(w, lane, c->from, c->src + at, UNIT_B, UNIT_B, false);
        char *to = from ? sim_host(w, lane, c->to, c->dst + at, UNIT_B, UNIT_B, true) : NULL;

        if (!to)
            return false;
        if (c->bytes == 0xffff)
            memcpy(to, from, UNIT_B);
        else
            SIM_FOR_LANES(i, c->bytes) to[i] = from[i];
    }
    return true;
}

static const uint8_t atom_types[] = {IR_U32,  IR_S32,   IR_U64,    IR_S64,   IR_F32,
                                     IR_F64,  IR_F16X2, IR_BF16X2, IR_B128,  IR_F16,
                                     IR_BF16, IR_F32,   IR_F32,    IR_F16X2, IR_F16X2};

/* The same to all replicas, or into them. */
static bool bulk_multimem(struct sim_warp *w, unsigned lane, const struct sim_op *op,
                          const struct bulk *c)
{
    bool reduces = op->insn->op == ISA_UBLKRED;
    const struct ir_multimem m = {.verb = reduces ? IR_MULTIMEM_COPY_RED : IR_MULTIMEM_COPY,
                                  .type =
                                      reduces ? atom_types[mod_of(op, ISA_MOD_ATOM_TYPE)] : IR_B8,
                                  .atom = (uint8_t)mod_of(op, ISA_MOD_ATOM_OP)};

    if ((c->dst | c->size_B) % UNIT_B) {
        multimem_fail(w, lane, HD_MISALIGNED, c->dst);
        return false;
    }
    for (uint64_t at = 0; at < c->size_B; at += UNIT_B) {
        const void *from = sim_host(w, lane, c->from, c->src + at, UNIT_B, UNIT_B, false);
        enum hd_status status;

        if (!from)
            return false;
        status = ir_multimem_copy(&m, finder_of(w), c->dst + at, from, UNIT_B, c->bytes);
        if (status != HD_OK) {
            multimem_fail(w, lane, status, c->dst + at);
            return false;
        }
    }
    w->run->effects++;
    return true;
}

static bool has_barrier(const struct sim_op *op, unsigned path)
{
    return op->ubase != ISA_URZ && path != TO_GLOBAL && path != TO_REPLICAS;
}

static bool bulk_fits(struct sim_warp *w, unsigned lane, const struct bulk *c)
{
    if (!((c->dst | c->src | c->size_B) % UNIT_B))
        return true;
    sim_fail(w, lane, HD_MISALIGNED, "copy of %llu bytes from %#llx to %#llx",
             (unsigned long long)c->size_B, (unsigned long long)c->src, (unsigned long long)c->dst);
    return false;
}

/* The lane's copy, and what its mbarrier hears. */
static bool bulk_lane(struct sim_warp *w, const struct sim_op *op, unsigned lane,
                      const struct bulk *c, uint32_t ranks)
{
    unsigned path = mod_of(op, ISA_MOD_COPY_PATH);
    uint64_t barrier = w->ureg[op->ubase];

    if (path == TO_REPLICAS)
        return bulk_multimem(w, lane, op, c);
    if (!bulk_fits(w, lane, c))
        return false;
    if (!mod_of(op, ISA_MOD_MULTICAST))
        return bulk_copy(w, lane, c) &&
               (!has_barrier(op, path) || tell(w, lane, barrier, c->size_B));
    SIM_FOR_LANES(rank, ranks & 0xffff)
    {
        struct bulk one = *c;

        one.dst = ir_cluster_address(c->dst, rank);
        if (!bulk_copy(w, lane, &one) ||
            !tell(w, lane, ir_cluster_address(barrier, rank), c->size_B))
            return false;
    }
    return true;
}

static struct bulk bulk_of(struct sim_warp *w, const struct sim_op *op, unsigned lane)
{
    static const uint8_t to[] = {IR_SPACE_SHARED, IR_SPACE_GLOBAL, IR_SPACE_SHARED,
                                 IR_SPACE_GLOBAL};
    unsigned path = mod_of(op, ISA_MOD_COPY_PATH);

    return (struct bulk){.to = (enum ir_space)to[path],
                         .from = path == TO_SHARED ? IR_SPACE_GLOBAL : IR_SPACE_SHARED,
                         .dst = sim_pair(sim_src_rows(w, op, 0), lane),
                         .src = sim_pair(sim_src_rows(w, op, 1), lane),
                         .size_B = sim_src_rows(w, op, 2)[lane],
                         .bytes = 0xffff};
}

enum sim_step sim_exec_ublkcp(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *e = field_rows(w, op, ISA_FIELD_E);

    SIM_FOR_LANES(lane, mask)
    {
        struct bulk c = bulk_of(w, op, lane);

        if (mod_of(op, ISA_MOD_COPY_MASKED))
            c.bytes = e[lane] >> 16;
        if (!bulk_lane(w, op, lane, &c, e[lane]))
            return SIM_STOP;
    }
    return SIM_NEXT;
}

static bool bulk_reduce(struct sim_warp *w, unsigned lane, const struct sim_op *op,
                        const struct bulk *c)
{
    enum ir_atom atom = (enum ir_atom)mod_of(op, ISA_MOD_ATOM_OP);
    enum ir_type type = (enum ir_type)atom_types[mod_of(op, ISA_MOD_ATOM_TYPE)];
    unsigned size_B = ir_type_bits(type) / 8;

    for (uint64_t at = 0; at < c->size_B; at += size_B) {
        const void *from = sim_host(w, lane, c->from, c->src + at, size_B, size_B, false);
        void *to = from ? sim_host(w, lane, c->to, c->dst + at, size_B, size_B, true) : NULL;
        uint64_t x = 0;

        if (!to)
            return false;
        memcpy(&x, from, size_B);
        ir_atom_at(atom, type, true, to, x, 0);
    }
    return true;
}

enum sim_step sim_exec_ublkred(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    unsigned path = mod_of(op, ISA_MOD_COPY_PATH);

    SIM_FOR_LANES(lane, mask)
    {
        struct bulk c = bulk_of(w, op, lane);

        if (!(path == TO_REPLICAS ? bulk_multimem(w, lane, op, &c)
                                  : bulk_fits(w, lane, &c) && bulk_reduce(w, lane, op, &c)))
            return SIM_STOP;
        if (has_barrier(op, path) && !tell(w, lane, w->ureg[op->ubase], c.size_B))
            return SIM_STOP;
    }
    return SIM_NEXT;
}

/* ---- tensor copies */

struct reader {
    struct sim_warp *w;
    unsigned lane;
};

static void *translate(void *user, uint64_t address, uint64_t size_B, bool write)
{
    struct reader *r = user;

    return sim_host(r->w, r->lane, IR_SPACE_GENERIC, address, size_B, 1, write);
}

static struct ir_tensor_what what_of(const struct sim_op *op)
{
    enum { IM2COL = 1, IM2COL_W, IM2COL_W128, GATHER4, SCATTER4 };
    static const uint8_t modes[] = {[IM2COL] = IR_TENSOR_PIXELS,
                                    [IM2COL_W] = IR_TENSOR_PIXELS_W,
                                    [IM2COL_W128] = IR_TENSOR_PIXELS_W_128,
                                    [GATHER4] = IR_TENSOR_ROWS4,
                                    [SCATTER4] = IR_TENSOR_ROWS4};

    return (struct ir_tensor_what){.way = op->insn->op == ISA_UTMALDG   ? IR_TENSOR_LOAD
                                          : op->insn->op == ISA_UTMASTG ? IR_TENSOR_STORE
                                                                        : IR_TENSOR_REDUCE,
                                   .mode = (enum ir_tensor_mode)modes[mod_of(op, ISA_MOD_TMA_MODE)],
                                   .rank = mod_of(op, ISA_MOD_TMA_DIMS) + 1,
                                   .atom = (enum ir_atom)mod_of(op, ISA_MOD_TMA_OP),
                                   .casts = mod_of(op, ISA_MOD_MULTICAST),
                                   .pairs = mod_of(op, ISA_MOD_CTA_PAIR)};
}

/* The box at an address of shared memory, which may be another CTA's. */
static bool box_copy(struct sim_warp *w, unsigned lane, const struct ir_tensor_copy *c,
                     uint64_t address)
{
    struct reader reader = {w, lane};
    const struct ir_tensor_global memory = {
        .translate = translate, .user = &reader, .piece_B = UNIT_B};
    char *shared = sim_host(w, lane, IR_SPACE_SHARED, address, c->shared_B,
                            IR_TENSOR_SHARED_ALIGN_B, c->what.way == IR_TENSOR_LOAD);

    return shared && ir_tensor_copy_run(c, shared, address & (IR_CLUSTER_STRIDE_B - 1), &memory);
}

static bool box_multicast(struct sim_warp *w, unsigned lane, const struct ir_tensor_copy *c,
                          uint64_t address, uint64_t barrier, uint32_t ranks)
{
    uint32_t at = (uint32_t)(barrier >> IR_CLUSTER_SHIFT);

    SIM_FOR_LANES(rank, ranks)
    {
        uint32_t hearer = ir_tensor_hearer(&c->what, rank, at);

        if (!box_copy(w, lane, c, ir_cluster_address(address, rank)) ||
            !tell(w, lane, ir_cluster_address(barrier, hearer), c->bytes))
            return false;
    }
    return true;
}

/*
 * c: the first four coordinates. e: the fifth; offsets of im2col, two of 16 bits and then the
 * third; the mask of a multicast.
 */
static bool tensor_lane(struct sim_warp *w, const struct sim_op *op, unsigned lane)
{
    const struct ir_tensor_what what = what_of(op);
    const uint32_t *c = sim_src_rows(w, op, 2), *e = field_rows(w, op, ISA_FIELD_E);
    uint64_t map_at = sim_pair(sim_src_rows(w, op, 1), lane);
    uint64_t address = op->src[0].n ? sim_src_rows(w, op, 0)[lane] : 0;
    uint64_t barrier = w->ureg[op->ubase];
    uint32_t offsets[2] = {e[SIM_LANES + lane], e[2 * SIM_LANES + lane]};
    uint32_t infos[IR_TENSOR_INFO_MAX] = {offsets[0] & 0xffff, offsets[0] >> 16, offsets[1]};
    int32_t coordinates[IR_TENSOR_RANK_MAX];
    struct ir_tensor_copy copy;
    struct ir_tensor_map map;
    const void *from;
    const char *why;

    for (unsigned i = 0; i < 4; i++)
        coordinates[i] = (int32_t)c[i * SIM_LANES + lane];
    coordinates[4] = (int32_t)e[lane];
    from = sim_host(w, lane, IR_SPACE_GENERIC, map_at, sizeof(map), IR_TENSOR_MAP_ALIGN_B, false);
    if (!from)
        return false;
    memcpy(&map, from, sizeof(map));
    why = ir_tensor_copy_init(&copy, &map, ir_tensor_pack(what), coordinates, infos);
    if (why) {
        sim_fail(w, lane, HD_ILLEGAL_INSTRUCTION, "tensor copy: %s", why);
        return false;
    }
    if (what.casts)
        return box_multicast(w, lane, &copy, address, barrier, e[3 * SIM_LANES + lane] & 0xffff);
    return box_copy(w, lane, &copy, address) &&
           (what.way != IR_TENSOR_LOAD || tell(w, lane, barrier, copy.bytes));
}

enum sim_step sim_exec_utma(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    SIM_FOR_LANES(lane, mask)
    if (!tensor_lane(w, op, lane))
        return SIM_STOP;
    return SIM_NEXT;
}

/* ---- all replicas of a multimem address */

enum sim_step sim_exec_multimem(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    static const uint8_t words[] = {1, 1, 1, 1, 1, 2, 4, 8};
    enum ir_type type = (enum ir_type)atom_types[mod_of(op, ISA_MOD_ATOM_TYPE)];
    static const uint8_t small[] = {0, IR_E4M3, IR_E5M2};
    unsigned number = mod_of(op, ISA_MOD_MC_SMALL);
    unsigned register_B = ir_type_bits(ir_type_element(type)) == 64 ? 8 : 4;
    unsigned n = words[op->code];
    struct ir_multimem m = {.verb = op->insn->op == ISA_LDGMC   ? IR_MULTIMEM_LOAD
                                    : op->insn->op == ISA_STGMC ? IR_MULTIMEM_STORE
                                                                : IR_MULTIMEM_RED,
                            .type = (uint8_t)(number ? small[number] : ir_type_element(type)),
                            .wide = mod_of(op, ISA_MOD_MC_ACC),
                            .atom = (uint8_t)mod_of(op, ISA_MOD_ATOM_OP),
                            .register_B = (uint8_t)register_B,
                            .registers = (uint8_t)HD_MAX(n * 4 / register_B, 1u)};
    const uint32_t *b = sim_src_rows(w, op, 1);
    uint64_t addresses[SIM_LANES];

    sim_mode(w->run, 0);
    sim_addresses(w, op, IR_SPACE_GLOBAL, addresses);
    SIM_FOR_LANES(lane, mask)
    {
        uint64_t registers[IR_MULTIMEM_REGISTERS] = {0};
        enum hd_status status;

        for (unsigned k = 0; k < n && m.verb != IR_MULTIMEM_LOAD; k++)
            registers[k * 4 / register_B] |= (uint64_t)b[k * SIM_LANES + lane]
                                             << k * 32 % (register_B * 8);
        status = ir_multimem_access(&m, finder_of(w), addresses[lane], registers);
        if (status != HD_OK)
            return multimem_fail(w, lane, status, addresses[lane]);
        for (unsigned k = 0; k < op->nd; k++)
            w->scratch[k][lane] =
                (uint32_t)(registers[k * 4 / register_B] >> k * 32 % (register_B * 8));
    }
    w->run->effects += m.verb != IR_MULTIMEM_LOAD;
    if (op->nd)
        sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], op->nd, mask);
    return SIM_NEXT;
}
