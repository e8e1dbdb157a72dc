/* Atomic operations and reductions on memory. */
#include "base/float/swap16.h"
#include "model/eval.h"
#include "sim/sim_private.h"

struct atom {
    enum ir_atom op;
    enum ir_type type; /* of an element */
    uint8_t n, size_B; /* elements, and bytes of each */
    bool noftz;
};

static struct atom atom_of(const struct isa_insn *insn)
{
    static const struct {
        uint8_t type, n;
    } types[] = {{IR_U32, 1},  {IR_S32, 1},   {IR_U64, 1},    {IR_S64, 1},   {IR_F32, 1},
                 {IR_F64, 1},  {IR_F16X2, 1}, {IR_BF16X2, 1}, {IR_B128, 1},  {IR_F16, 1},
                 {IR_BF16, 1}, {IR_F32, 2},   {IR_F32, 4},    {IR_F16X2, 2}, {IR_F16X2, 4}};
    unsigned type = isa_mod_value(insn, ISA_MOD_ATOM_TYPE);

    return (struct atom){.op = (enum ir_atom)isa_mod_value(insn, ISA_MOD_ATOM_OP),
                         .type = (enum ir_type)types[type].type,
                         .n = types[type].n,
                         .size_B = (uint8_t)(ir_type_bits((enum ir_type)types[type].type) / 8),
                         .noftz = !isa_mod_value(insn, ISA_MOD_ATOM_FTZ)};
}

/* Registers of one lane from row `first` on. */
static uint64_t words_of(const uint32_t *rows, unsigned lane, unsigned first, unsigned size_B)
{
    uint64_t v = rows[first * SIM_LANES + lane];

    if (size_B > 4)
        v |= (uint64_t)rows[(first + 1) * SIM_LANES + lane] << 32;
    return size_B == 2 ? v & 0xffff : v;
}

/* Exchange, and compare and swap, on 16 bytes. True: it stored. */
static bool atom_16(const struct atom *atom, char *p, const uint32_t *b, const uint32_t *c,
                    unsigned lane, struct hd_16 *out_old)
{
    struct hd_16 x = {words_of(b, lane, 0, 8), words_of(b, lane, 2, 8)};
    struct hd_16 y = {words_of(c, lane, 0, 8), words_of(c, lane, 2, 8)};

    if (atom->op == IR_ATOM_EXCH) {
        *out_old = hd_exchange_16(p, x);
        return true;
    }
    *out_old = x;
    return hd_swap_16(p, out_old, y);
}

/* One lane's; true: what it found was compared, and equal. */
static bool atom_lane(const struct atom *atom, char *p, const uint32_t *b, const uint32_t *c,
                      unsigned lane, uint32_t old[4], bool *out_changed)
{
    bool stored = false;

    if (atom->size_B == 16) {
        struct hd_16 was;

        stored = atom_16(atom, p, b, c, lane, &was);
        old[0] = (uint32_t)was.lo;
        old[1] = (uint32_t)(was.lo >> 32);
        old[2] = (uint32_t)was.hi;
        old[3] = (uint32_t)(was.hi >> 32);
        *out_changed = stored;
        return stored;
    }
    for (unsigned i = 0; i < atom->n; i++) {
        unsigned words = HD_MAX(atom->size_B / 4u, 1u);
        uint64_t x = words_of(b, lane, i * words, atom->size_B);
        uint64_t y = atom->op == IR_ATOM_CAS ? words_of(c, lane, i * words, atom->size_B) : 0;
        uint64_t was = ir_atom_at(atom->op, atom->type, atom->noftz, p + i * atom->size_B, x, y);

        old[i * words] = (uint32_t)was;
        if (words > 1)
            old[i * words + 1] = (uint32_t)(was >> 32);
        stored = was == x;
        *out_changed |= ir_eval_atom(atom->op, atom->type, atom->noftz, was, x, y) != was;
    }
    return stored;
}

enum sim_step sim_exec_atom(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct atom atom = atom_of(op->insn);
    struct sim_access access = {sim_space_of(op->insn->op), (uint32_t)atom.n * atom.size_B, true};
    const uint32_t *b = sim_src_rows(w, op, 1), *c = sim_src_rows(w, op, 2);
    uint32_t *d = w->regs + op->d * SIM_LANES, stored = 0;
    uint64_t addresses[SIM_LANES], effects = w->run->effects;
    char *hosts[SIM_LANES];
    bool changed = false;

    if (access.space == IR_SPACE_SHARED && sim_shared_first(w))
        return SIM_STOP; /* and once more */
    sim_addresses(w, op, access.space, addresses);
    if (!sim_hosts(w, mask, &access, addresses, hosts))
        return SIM_STOP;
    SIM_FOR_LANES(lane, mask)
    {
        uint32_t old[4];

        stored |= (uint32_t)atom_lane(&atom, hosts[lane], b, c, lane, old, &changed) << lane;
        for (unsigned k = 0; k < op->nd; k++)
            w->scratch[k][lane] = old[k];
    }
    if (op->nd)
        sim_blend(w, d, w->scratch[0], op->nd, mask);
    if (!changed)
        w->run->effects = effects; /* a lock that is taken still is */
    sim_set_pred(w, op, op->pd, mask, stored);
    sim_order(isa_mod_value(op->insn, ISA_MOD_SEM));
    sim_group_of(w)->polled = sim_group_of(w)->pc + 1;
    return SIM_NEXT;
}
