/* See region.h. */
#include "codegen/region.h"

#include "base/mem.h"
#include "isa/machine.h"

enum { NONE = -1 };

/* ---- what an instruction is */

enum kind {
    FENCE,   /* nothing passes it */
    PLAIN,   /* registers only */
    LOAD,    /* may pass loads */
    STORE,   /* may pass what it does not overlap */
    ORDERED, /* passes no other access */
};

static bool has_uniform(const struct mc_insn *insn)
{
    const struct isa_row *row;

    if ((unsigned)insn->isa.op >= ISA_OPS)
        return false;
    row = isa_row(insn->isa.op);
    for (unsigned i = 0; i < row->noperands; i++) {
        const struct isa_operand *o = &insn->isa.operands[i];

        if ((o->kind == ISA_KIND_UREG && o->value != ISA_URZ) ||
            (o->kind == ISA_KIND_UPRED && o->value != ISA_PT))
            return true;
    }
    return false;
}

/* What is not named here does something that order matters for. */
static enum kind kind_of(const struct mc_insn *insn)
{
    switch ((unsigned)insn->isa.op) {
    case MC_COPY:
    case ISA_LDC:
    case ISA_SHFL:
    case ISA_SHFL_I:
    case ISA_SHFL_R:
    case ISA_MATCH:
    case ISA_HMMA:
    case ISA_IMMA:
    case ISA_BMMA:
    case ISA_DMMA:
    case ISA_QMMA:
    case ISA_QMMA_SF:
    case ISA_OMMA_SF:
        return PLAIN;
    case ISA_LD:
    case ISA_LDG:
    case ISA_LDS:
    case ISA_LDL:
    case ISA_LDSM:
    case ISA_TEX:
    case ISA_TLD4:
    case ISA_TLD:
    case ISA_TXD:
        if (isa_mod_value(&insn->isa, ISA_MOD_SEM) == ISA_SEM_CONSTANT)
            return PLAIN;
        return insn->is_ordered ? ORDERED : LOAD;
    case ISA_ST:
    case ISA_STG:
    case ISA_STS:
    case ISA_STL:
    case ISA_STSM:
        return insn->is_ordered ? ORDERED : STORE;
    case ISA_ATOM:
    case ISA_ATOMG:
    case ISA_ATOMS:
    case ISA_RED:
    case ISA_REDG:
    case ISA_REDS:
    case ISA_LDGSTS:
        return ORDERED;
    case ISA_P2R: /* predicates by their numbers */
    case ISA_R2P:
    case ISA_LEPC:
        return FENCE;
    case ISA_S2R:
    case ISA_CS2R:
    case ISA_S2UR:
        return insn->is_ordered ? FENCE : PLAIN;
    default:
        break;
    }
    switch (isa_row(insn->isa.op)->pipe) {
    case ISA_PIPE_ALU:
    case ISA_PIPE_FMAHEAVY:
    case ISA_PIPE_XU:
    case ISA_PIPE_FMA:
    case ISA_PIPE_FP16:
    case ISA_PIPE_FP64:
    case ISA_PIPE_UNIFORM:
        return PLAIN;
    default:
        return FENCE;
    }
}

static uint8_t spaces_of(enum isa_op op)
{
    enum { GLOBAL = 1, SHARED = 2, LOCAL = 4 };

    switch (op) {
    case ISA_LDG:
    case ISA_STG:
    case ISA_ATOMG:
    case ISA_REDG:
    case ISA_TEX:
    case ISA_TLD4:
    case ISA_TLD:
    case ISA_TXD:
        return GLOBAL;
    case ISA_LDS:
    case ISA_STS:
    case ISA_ATOMS:
    case ISA_REDS:
    case ISA_LDSM:
    case ISA_STSM:
        return SHARED;
    case ISA_LDL:
    case ISA_STL:
        return LOCAL;
    default:
        return GLOBAL | SHARED | LOCAL;
    }
}

/* Copies become moves. */
static enum isa_op op_of(const struct mc_insn *insn)
{
    return (unsigned)insn->isa.op < ISA_OPS ? insn->isa.op : ISA_MOV;
}

/* Cycles from its issue to that of a reader. */
static int32_t latency_of(const struct mc_insn *writer, const struct mc_insn *reader,
                          bool condition)
{
    enum isa_op op = op_of(writer);
    unsigned latency =
        isa_is_variable(op) ? isa_typical_latency(op) : isa_latency(op, op_of(reader));

    return (int32_t)(condition ? HD_MAX(latency, isa_machine_cycles(ISA_GUARD_CYCLES)) : latency);
}

/* ---- units */

/* Is it live at this half position? Positions are asked for in rising order. */
static bool is_live_at(struct region *r, uint32_t unit, uint32_t position)
{
    struct region_unit *u = &r->units[unit];

    if (!u->cursor)
        u->cursor = r->live->first[unit];
    while (u->cursor) {
        const struct live_segment *seg = &r->live->segments.at[u->cursor - 1];

        if (position < seg->end)
            return seg->start <= position;
        if (!seg->next)
            return false;
        u->cursor = seg->next;
    }
    return false;
}

static struct region_unit *touch(struct region *r, uint32_t unit, uint32_t start)
{
    struct region_unit *u = &r->units[unit];

    if (u->region == r->number)
        return u;
    u->region = r->number;
    u->writer = u->readers = u->version = u->reads = 0;
    u->comes = is_live_at(r, unit, start);
    r->f->failed |= !hd_vec_push(&r->touched, unit);
    return u;
}

struct gather {
    struct region *r;
    uint32_t first;
    bool fixed; /* there are machine registers */
};

static void add_refs(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                     unsigned count, enum mc_class class)
{
    struct gather *g = context;
    struct region *r = g->r;

    (void)insn;
    if (class == MC_BARRIER)
        return;
    if (!mc_is_virtual(*unit)) {
        g->fixed = true;
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        struct region_ref ref = {(uint32_t)*unit + i, access == MC_WRITE, class == MC_PRED};
        bool known = false;

        for (size_t k = g->first; k < r->refs.len; k++)
            known |= r->refs.at[k].unit == ref.unit && r->refs.at[k].is_write == ref.is_write;
        if (!known)
            r->f->failed |= !hd_vec_push(&r->refs, ref);
    }
}

/* ---- what must come before what */

static void depend(struct region *r, uint32_t from, uint32_t to, int32_t latency)
{
    if (from == to)
        return;
    if (!hd_vec_push(&r->edges, (struct region_edge){to, r->nodes[from].edges, latency})) {
        r->f->failed = true;
        return;
    }
    r->nodes[from].edges = (uint32_t)r->edges.len;
    r->nodes[to].npreds++;
}

/* What it reads comes before what it writes. */
static void depend_on_units(struct region *r, uint32_t at, uint32_t start)
{
    const struct region_node *n = &r->nodes[at];

    region_foreach_ref(ref, r, n) {
        struct region_unit *u = touch(r, ref->unit, start);

        if (!ref->is_write) {
            if (u->writer)
                depend(
                    r, u->writer - 1, at,
                    latency_of(r->nodes[u->writer - 1].insn, n->insn, n->insn->guard == ref->unit));
            r->f->failed |= !hd_vec_push(&r->readers, (struct region_reader){at, u->readers});
            u->readers = (uint32_t)r->readers.len;
            u->reads++;
            continue;
        }
        for (uint32_t i = u->readers; i && i <= r->readers.len; i = r->readers.at[i - 1].next)
            depend(r, r->readers.at[i - 1].node, at, 1);
        if (u->writer)
            depend(r, u->writer - 1, at, 1);
        u->writer = at + 1;
        u->readers = 0;
        u->version++;
    }
}

static struct region_access access_of(const struct region *r, uint32_t at, enum kind kind)
{
    const struct isa_insn *isa = &r->nodes[at].insn->isa;
    struct region_access a = {
        .spaces = spaces_of(isa->op), .kind = (uint8_t)kind, .base = NONE, .node = at};
    int base = mc_operand_of(isa->op, ISA_FIELD_A),
        offset = mc_operand_of(isa->op, ISA_FIELD_OFFSET),
        data = mc_operand_of(isa->op, kind == STORE ? ISA_FIELD_B : ISA_FIELD_D);

    /* Of matrices each lane's address is of a row that other lanes get. */
    if ((kind != LOAD && kind != STORE) || isa->op == ISA_LDSM || isa->op == ISA_STSM ||
        offset < 0 || base < 0 || data < 0 || has_uniform(r->nodes[at].insn))
        return a;
    a.base = isa->operands[base].value;
    if (mc_is_virtual(a.base) && r->units[a.base].region == r->number)
        a.version = r->units[a.base].version;
    a.offset = isa->operands[offset].value;
    a.size_B = 4 * (int64_t)isa_registers(isa, (unsigned)data);
    return a;
}

static bool must_follow(const struct region_access *a, const struct region_access *b)
{
    if (a->kind == ORDERED || b->kind == ORDERED)
        return true;
    if (!(a->spaces & b->spaces) || (a->kind == LOAD && b->kind == LOAD))
        return false;
    if (a->base == NONE || a->base != b->base || a->version != b->version || a->spaces != b->spaces)
        return true;
    return a->offset < b->offset + b->size_B && b->offset < a->offset + a->size_B;
}

/* Before its units are noted: a load may replace the address that it reads. */
static void depend_on_memory(struct region *r, uint32_t at, enum kind kind)
{
    struct region_access a = access_of(r, at, kind);

    /* Too many to compare with: this one follows them all, and what comes later follows it. */
    if (r->npending == REGION_PENDING_MOST)
        a.kind = ORDERED;
    for (uint32_t i = 0; i < r->npending; i++)
        if (must_follow(&r->pending[i], &a))
            depend(r, r->pending[i].node, at, 1);
    if (a.kind == ORDERED)
        r->npending = 0;
    r->pending[r->npending++] = a;
}

/* Adds the instruction; false: it is a fence. What a fence reads is known all the same. */
static bool add_node(struct region *r, struct mc_insn *insn, uint32_t start)
{
    uint32_t at = r->nnodes;
    struct region_node *n = &r->nodes[at];
    struct gather g = {r, (uint32_t)r->refs.len, false};
    enum kind kind = kind_of(insn);

    *n = (struct region_node){.insn = insn,
                              .first_ref = g.first,
                              .pipe = isa_row(op_of(insn))->pipe,
                              .occupies = (uint16_t)isa_issue_cycles(op_of(insn))};
    mc_visit(r->f, insn, add_refs, &g);
    n->nrefs = (uint32_t)r->refs.len - g.first;
    if (kind == FENCE || g.fixed || r->f->failed)
        return false;
    if (kind != PLAIN)
        depend_on_memory(r, at, kind);
    depend_on_units(r, at, start);
    if (has_uniform(insn)) {
        if (r->uniform)
            depend(r, r->uniform - 1, at, 1);
        r->uniform = at + 1;
    }
    r->nnodes++;
    return true;
}

/* ---- regions */

static void find_heights(struct region *r)
{
    const struct region_node *fence = &r->nodes[r->nnodes];

    for (uint32_t i = 0; r->fence && i < fence->nrefs; i++) {
        const struct region_ref *ref = &r->refs.at[fence->first_ref + i];
        const struct region_unit *u = &r->units[ref->unit];

        if (!ref->is_write && u->region == r->number && u->writer) {
            struct region_node *n = &r->nodes[u->writer - 1];
            n->latency = HD_MAX(n->latency, latency_of(n->insn, r->fence, ref->is_pred));
        }
    }
    for (uint32_t i = r->nnodes; i-- > 0;) {
        struct region_node *n = &r->nodes[i];

        n->height = HD_MAX(n->latency, 1);
        region_foreach_edge(e, r, n)
            n->height = HD_MAX(n->height, e->latency + r->nodes[e->to].height);
    }
}

uint32_t region_build(struct region *r, struct mc_block *b, uint32_t first)
{
    uint32_t i = first, start = 2 * (b->first + first);

    r->number++;
    r->nnodes = r->uniform = r->npending = 0;
    r->refs.len = r->edges.len = r->readers.len = r->touched.len = 0;
    r->fence = NULL;
    for (; i < b->insns.len && r->nnodes + 1 < REGION_MOST; i++) {
        if (!add_node(r, &b->insns.at[i], start)) {
            r->fence = &b->insns.at[i++];
            break;
        }
    }
    for (size_t k = 0; k < r->touched.len && r->nnodes; k++)
        r->units[r->touched.at[k]].leaves =
            is_live_at(r, r->touched.at[k], start + 2 * r->nnodes - 1);
    find_heights(r);
    return i;
}

enum hd_status region_init(struct region *r, struct mc_func *f, const struct live *live)
{
    *r = (struct region){.f = f, .live = live};
    r->units = hd_alloc_array(live->nunits, sizeof(*r->units));
    return r->units ? HD_OK : hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
}

void region_fini(struct region *r)
{
    hd_vec_fini(&r->refs);
    hd_vec_fini(&r->edges);
    hd_vec_fini(&r->readers);
    hd_vec_fini(&r->touched);
    hd_free(r->units);
}
