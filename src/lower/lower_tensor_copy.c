/*
 * Tensor copies, reductions and prefetches, made where they are issued (docs/decisions/0091), and
 * what changes tensor maps: their fields are stored into (model/tensor_map.h).
 */
#include "lower/lower_async.h"

#include <stddef.h>

#include "model/tensor_copy.h"

typedef struct ir_value *val;

/* ---- which copy it is */

enum { LOADS = 1 << IR_TENSOR_LOAD, STORES = 1 << IR_TENSOR_STORE | 1 << IR_TENSOR_REDUCE };

static const struct mode {
    enum ptx_mod mod;
    enum ir_tensor_mode mode;
    unsigned ways;
    unsigned rank_min, rank_max;
} modes[] = {
    {PTX_MOD_TILE, IR_TENSOR_TILE, LOADS | STORES, 1, 5},
    {PTX_MOD_TILE_GATHER4, IR_TENSOR_ROWS4, LOADS, 2, 2},
    {PTX_MOD_TILE_SCATTER4, IR_TENSOR_ROWS4, STORES, 2, 2},
    {PTX_MOD_IM2COL, IR_TENSOR_PIXELS, LOADS, 3, 5},
    {PTX_MOD_IM2COL_W, IR_TENSOR_PIXELS_W, LOADS, 3, 5},
    {PTX_MOD_IM2COL_W_128, IR_TENSOR_PIXELS_W_128, LOADS, 3, 5},
    {PTX_MOD_IM2COL_NO_OFFS, IR_TENSOR_PIXELS, STORES, 3, 5},
};

/* The row of the mode that is written; without one it is .tile. */
static const struct mode *copy_mode_of(const struct ptx_form *form)
{
    for (size_t i = 0; i < HD_COUNT_OF(modes); i++) {
        if (ptx_form_has(form, modes[i].mod))
            return &modes[i];
    }
    return &modes[0];
}

static unsigned copy_rank_of(const struct ptx_form *form)
{
    static const enum ptx_mod dims[] = {PTX_MOD_G1D, PTX_MOD_G2D, PTX_MOD_G3D, PTX_MOD_G4D,
                                        PTX_MOD_G5D};
    for (unsigned i = 0; i < HD_COUNT_OF(dims); i++) {
        if (ptx_form_has(form, dims[i]))
            return i + 1;
    }
    return 0;
}

static const char *copy_what_of(const struct ptx_form *form, enum ir_tensor_way way,
                                struct ir_tensor_what *out)
{
    const struct mode *mode = copy_mode_of(form);
    *out = (struct ir_tensor_what){.way = way,
                                   .mode = mode->mode,
                                   .rank = copy_rank_of(form),
                                   .casts = ptx_form_has(form, PTX_MOD_MULTICAST_CLUSTER),
                                   .pairs = ptx_form_has(form, PTX_MOD_CTA_GROUP_2)};
    if (!(mode->ways >> way & 1))
        return "the mode does not exist in this direction";
    if (out->rank < mode->rank_min || out->rank > mode->rank_max)
        return "the mode does not exist with this number of dimensions";
    return NULL;
}

/* ---- operands: [box], [map, {coordinates}], [barrier] {, {offsets}} {, ctas} {, policy} */

struct tensor {
    const struct ptx_insn *in;
    struct ir_tensor_what what;
    const struct ptx_operand *box, *map, *barrier, *infos, *ctas, *policy; /* NULL: none */
};

/* Offsets are operands of loads and prefetches only; others have none, which is 0. */
static unsigned copy_written_infos(const struct ir_tensor_what *what)
{
    return what->way == IR_TENSOR_LOAD ? ir_tensor_infos(what) : 0;
}

static const struct ptx_operand *copy_take(const struct ptx_insn *in, uint32_t *at, bool is_there)
{
    return is_there && *at < in->nops ? &in->ops[(*at)++] : NULL;
}

static bool copy_is_vector(const struct ptx_operand *op, uint32_t n)
{
    return op && op->kind == PTX_OPND_VEC && op->nitems == n;
}

static bool copy_are_values(const struct lower_fn *f, const struct ptx_operand *vec, unsigned bits)
{
    for (uint32_t i = 0; i < vec->nitems; i++) {
        if (vec->items[i].kind != PTX_OPND_INT && !lower_is_reg(f, &vec->items[i], bits))
            return false;
    }
    return true;
}

/* What follows the map and the box; all operands are there, and no more. */
static const char *copy_operands_refusal(const struct lower_fn *f, struct tensor *t, uint32_t at)
{
    const struct ptx_form *form = t->in->form;
    bool hint = ptx_form_has(form, PTX_MOD_L2_CACHE_HINT);
    unsigned ninfos = copy_written_infos(&t->what);
    t->infos = copy_take(t->in, &at, ninfos > 0);
    t->ctas = copy_take(t->in, &at, t->what.casts);
    t->policy = copy_take(t->in, &at, hint);
    if (at != t->in->nops || (t->what.casts && !t->ctas) || (hint && !t->policy))
        return "operands are missing, or too many";
    if (t->map->kind != PTX_OPND_ADDR || t->map->nitems != 1 ||
        !copy_is_vector(&t->map->items[0], ir_tensor_coordinates(&t->what)) ||
        !copy_are_values(f, &t->map->items[0], 32))
        return "a tensor map has a coordinate of 32 bits in each dimension";
    if (ninfos && (!copy_is_vector(t->infos, ninfos) || !copy_are_values(f, t->infos, 16)))
        return "there is another number of offsets of 16 bits";
    if (hint && t->policy->kind != PTX_OPND_INT && !lower_is_reg(f, t->policy, 64))
        return "a cache policy has 64 bits";
    return NULL;
}

static val copy_map_address(struct lower_fn *f, const struct ptx_operand *op)
{
    struct lower_memref p = lower_memref_of(f, op, PTX_SPACE_GENERIC);
    if (op->base == PTX_OPND_SYM && p.space != IR_SPACE_GLOBAL)
        lower_fail(f, HD_BAD_PTX, "a tensor map that is named is in global memory");
    return lower_fit(f, lower_generic(f, &p), IR_U64, IR_B64);
}

static void copy_emit(struct lower_fn *f, const struct tensor *t, enum ptx_space space)
{
    unsigned ncoordinates = ir_tensor_coordinates(&t->what), ninfos = ir_tensor_infos(&t->what);
    struct lower_memref box = lower_memref_of(f, t->box, space), barrier;
    val ops[IR_TENSOR_OPERAND_0 + IR_TENSOR_RANK_MAX + IR_TENSOR_INFO_MAX] = {
        box.address, copy_map_address(f, t->map)};
    uint32_t n = IR_TENSOR_OPERAND_0;
    if (t->barrier)
        barrier = lower_memref_of(f, t->barrier, space);
    ops[2] = t->barrier ? lower_generic(f, &barrier) : lower_const(f, IR_B64, 0);
    ops[3] = t->ctas ? lower_cta_mask(f, t->ctas) : lower_const(f, IR_B32, 0);
    for (uint32_t i = 0; i < ncoordinates; i++)
        ops[n++] = lower_src(f, &t->map->items[0].items[i], IR_U32);
    for (uint32_t i = 0; i < ninfos; i++)
        ops[n++] = t->infos
                       ? lower_fit(f, lower_src(f, &t->infos->items[i], IR_U16), IR_U16, IR_B32)
                       : lower_const(f, IR_B32, 0);
    struct ir_instr *r = lower_emit(f, IR_OP_TENSORCOPY, IR_VOID, n, ops, 0);
    lower_access_set(r, &box, 1);
    r->imm = ir_tensor_pack(t->what);
}

/* ---- cp.async.bulk.tensor, cp.reduce.async.bulk.tensor */

static bool copy_has_only_words(const struct ptx_form *form)
{
    static const enum ptx_mod words[] = {PTX_MOD_MBARRIER_COMPLETE_TX_BYTES,
                                         PTX_MOD_BULK_GROUP,
                                         PTX_MOD_L2_CACHE_HINT,
                                         PTX_MOD_MULTICAST_CLUSTER,
                                         PTX_MOD_CTA_GROUP_1,
                                         PTX_MOD_CTA_GROUP_2,
                                         PTX_MOD_G1D,
                                         PTX_MOD_G2D,
                                         PTX_MOD_G3D,
                                         PTX_MOD_G4D,
                                         PTX_MOD_G5D,
                                         PTX_MOD_TILE,
                                         PTX_MOD_TILE_GATHER4,
                                         PTX_MOD_TILE_SCATTER4,
                                         PTX_MOD_IM2COL,
                                         PTX_MOD_IM2COL_W,
                                         PTX_MOD_IM2COL_W_128,
                                         PTX_MOD_IM2COL_NO_OFFS,
                                         PTX_MOD_L2,
                                         PTX_MOD_ADD,
                                         PTX_MOD_MIN,
                                         PTX_MOD_MAX,
                                         PTX_MOD_INC,
                                         PTX_MOD_DEC,
                                         PTX_MOD_AND,
                                         PTX_MOD_OR,
                                         PTX_MOD_XOR,
                                         PTX_MOD_NONE};
    return lower_has_only(form, words);
}

static const char *copy_load_refusal(const struct lower_fn *f, struct tensor *t)
{
    const struct ptx_insn *in = t->in;
    bool to_cluster = in->form->spaces[0] == PTX_SPACE_SHARED_CLUSTER;
    const char *why = copy_what_of(in->form, IR_TENSOR_LOAD, &t->what);
    if (!ptx_form_has(in->form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES) ||
        ptx_form_has(in->form, PTX_MOD_BULK_GROUP) || in->nops < 3)
        return "copies to shared memory tell an mbarrier";
    if (t->what.casts && !to_cluster)
        return "a multicast is to .shared::cluster";
    t->box = &in->ops[0];
    t->map = &in->ops[1];
    t->barrier = &in->ops[2];
    return why ? why : copy_operands_refusal(f, t, 3);
}

static const char *copy_store_refusal(const struct lower_fn *f, struct tensor *t,
                                      enum ir_tensor_way way)
{
    const struct ptx_form *form = t->in->form;
    const char *why = copy_what_of(form, way, &t->what);
    if (!ptx_form_has(form, PTX_MOD_BULK_GROUP) || t->what.casts || t->what.pairs ||
        ptx_form_has(form, PTX_MOD_CTA_GROUP_1) ||
        ptx_form_has(form, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
        return "copies to global memory are in a group, and of one block";
    if (way == IR_TENSOR_REDUCE && !lower_reduction(form, &t->what.atom))
        return "no such reduction";
    t->map = &t->in->ops[0];
    t->box = &t->in->ops[1];
    return why ? why : copy_operands_refusal(f, t, 2);
}

bool lower_do_tensor_box(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    bool reduces = form->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
    bool load = !reduces && (lower_goes(form, PTX_SPACE_SHARED_CTA, PTX_SPACE_GLOBAL) ||
                             lower_goes(form, PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_GLOBAL));
    struct tensor t = {.in = in};
    const char *why = NULL;
    if (!load && !lower_goes(form, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED_CTA))
        why = "no tensor copy goes this way";
    else if (!copy_has_only_words(form) || ptx_form_has(form, PTX_MOD_L2))
        why = "modifiers that do not exist here";
    else if (load)
        why = copy_load_refusal(f, &t);
    else
        why = copy_store_refusal(f, &t, reduces ? IR_TENSOR_REDUCE : IR_TENSOR_STORE);
    if (why)
        lower_fail(f, HD_BAD_PTX, why);
    else
        copy_emit(f, &t, load ? (enum ptx_space)form->spaces[0] : PTX_SPACE_SHARED_CTA);
    return true;
}

/* A hint, of which devices know the map. */
bool lower_do_tensor_prefetch(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    struct tensor t = {.in = in, .map = &in->ops[0]};
    const char *why = copy_what_of(form, IR_TENSOR_LOAD, &t.what);
    if (form->nspaces != 1 || ptx_form_space(form) != PTX_SPACE_GLOBAL ||
        !ptx_form_has(form, PTX_MOD_L2) || !copy_has_only_words(form))
        why = "it is .L2.global, with a policy where .L2::cache_hint is";
    if (!why)
        why = copy_operands_refusal(f, &t, 1);
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    val at = copy_map_address(f, t.map);
    struct ir_instr *r = lower_emit(f, IR_OP_PREFETCH, IR_VOID, 1, &at, 0);
    r->imm = IR_LEVEL_TENSORMAP;
    return true;
}

/* ---- tensormap.replace.tile.FIELD.b1024.TYPE [map], {ordinal,} value */

/* Values of more than `max` stay wrong: what is stored is max then. 0: all bits are stored. */
static const struct field {
    enum ptx_mod mod;
    enum ptx_type type;
    unsigned count; /* ordinals; 0: it has none */
    bool constant;  /* up to max */
    uint32_t max;
    enum ir_type stored;
    unsigned at;
} fields[] = {
#define AT(member) offsetof(struct ir_tensor_map, member)
    {PTX_MOD_GLOBAL_ADDRESS, PTX_TYPE_B64, 0, false, 0, IR_B64, AT(address)},
    {PTX_MOD_RANK, PTX_TYPE_B32, 0, false, 0xff, IR_B8, AT(last)},
    {PTX_MOD_BOX_DIM, PTX_TYPE_B32, 5, false, 0xffff, IR_B16, AT(box)},
    {PTX_MOD_GLOBAL_DIM, PTX_TYPE_B32, 5, false, 0, IR_B64, AT(dim)},
    {PTX_MOD_GLOBAL_STRIDE, PTX_TYPE_B64, 5, false, 0, IR_B64, AT(stride_B)},
    {PTX_MOD_ELEMENT_STRIDE, PTX_TYPE_B32, 5, false, 0xff, IR_B8, AT(step)},
    {PTX_MOD_ELEMTYPE, PTX_TYPE_B32, 0, true, IR_TENSOR_TYPES - 1, IR_B8, AT(type)},
    {PTX_MOD_INTERLEAVE_LAYOUT, PTX_TYPE_B32, 0, true, IR_TENSOR_INTERLEAVES - 1, IR_B8,
     AT(interleave)},
    {PTX_MOD_SWIZZLE_MODE, PTX_TYPE_B32, 0, true, IR_TENSOR_SWIZZLES - 1, IR_B8, AT(swizzle)},
    {PTX_MOD_SWIZZLE_ATOMICITY, PTX_TYPE_B32, 0, true, IR_TENSOR_ATOMS - 1, IR_B8, AT(atom)},
    {PTX_MOD_FILL_MODE, PTX_TYPE_B32, 0, true, IR_TENSOR_FILLS - 1, IR_B8, AT(fill)},
#undef AT
};

static const struct field *copy_field_of(const struct ptx_form *form)
{
    for (size_t i = 0; i < HD_COUNT_OF(fields); i++) {
        if (ptx_form_has(form, fields[i].mod))
            return &fields[i];
    }
    return NULL;
}

static const char *copy_replace_refusal(const struct lower_fn *f, const struct ptx_insn *in,
                                        const struct field *field)
{
    const struct ptx_form *form = in->form;
    if (!field || !ptx_form_has(form, PTX_MOD_TILE))
        return "it is .tile, and names a field";
    if (form->ntypes != 2 || form->types[0] != PTX_TYPE_B1024 || form->types[1] != field->type)
        return "the map is .b1024, and addresses and strides .b64, all else .b32";
    if (form->nspaces > 1 || (form->nspaces && ptx_form_space(form) != PTX_SPACE_GLOBAL &&
                              ptx_form_space(form) != PTX_SPACE_SHARED_CTA))
        return "a tensor map is changed in .global or .shared::cta memory";
    if (in->nops != (field->count ? 3u : 2u))
        return "operands are missing, or too many";
    if (field->count && (in->ops[1].kind != PTX_OPND_INT || in->ops[1].u.bits >= field->count))
        return "a dimension is 0 to 4";
    const struct ptx_operand *value = &in->ops[in->nops - 1];
    if (field->constant && (value->kind != PTX_OPND_INT || value->u.bits > field->max))
        return "the field has no such value";
    if (value->kind != PTX_OPND_INT && !lower_is_reg(f, value, ptx_type_bits(field->type)))
        return "the value has another number of bits";
    return NULL;
}

static val copy_stored_value(struct lower_fn *f, const struct ptx_operand *op,
                             const struct field *field)
{
    enum ir_type t = field->type == PTX_TYPE_B64 ? IR_U64 : IR_U32;
    val v = lower_src(f, op, t);
    if (field->max)
        v = lower_op2(f, IR_OP_MIN, t, v, lower_const(f, t, field->max));
    return lower_fit(f, v, t, field->stored);
}

bool lower_do_tensormap_replace(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct field *field = copy_field_of(in->form);
    const char *why = copy_replace_refusal(f, in, field);
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    uint64_t ordinal = field->count ? in->ops[1].u.bits : 0;
    struct lower_memref map = lower_memref_of(f, &in->ops[0], ptx_form_space(in->form));
    val ops[] = {map.address, copy_stored_value(f, &in->ops[in->nops - 1], field)};
    if (field->mod == PTX_MOD_GLOBAL_STRIDE && ordinal == IR_TENSOR_RANK_MAX - 1)
        return true; /* of a dimension behind the last one */
    struct ir_instr *r = lower_emit(f, IR_OP_ST, field->stored, 2, ops, 0);
    map.offset += field->at + (int64_t)ordinal * ir_type_bits(field->stored) / 8;
    lower_access_set(r, &map, 1);
    return true;
}

/* ---- tensormap.cp_fenceproxy: a copy of a map to global memory, by a warp, and a release */

static const char *copy_fenceproxy_refusal(const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    if (!lower_goes(form, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED_CTA) ||
        !ptx_form_has(form, PTX_MOD_TENSORMAP_GENERIC))
        return "it is .global.shared::cta.tensormap::generic";
    if (form->sem != PTX_SEM_RELEASE || form->scope == PTX_SCOPE_NONE || !form->sync ||
        !form->aligned)
        return "it is .release with a scope, .sync.aligned";
    if (in->ops[2].kind != PTX_OPND_INT || in->ops[2].u.bits != IR_TENSOR_MAP_B)
        return "the size is 128";
    return NULL;
}

bool lower_do_tensormap_fenceproxy(struct lower_fn *f, const struct ptx_insn *in)
{
    const char *why = copy_fenceproxy_refusal(in);
    if (why) {
        lower_fail(f, HD_BAD_PTX, why);
        return true;
    }
    val all = lower_const(f, IR_B32, 0xffffffff), size = lower_const(f, IR_B64, IR_TENSOR_MAP_B);
    lower_emit(f, IR_OP_WARPSYNC, IR_VOID, 1, &all, 0);
    struct lower_memref to = lower_memref_of(f, &in->ops[0], PTX_SPACE_GLOBAL);
    struct lower_memref from = lower_memref_of(f, &in->ops[1], PTX_SPACE_SHARED_CTA);
    val ops[] = {to.address, lower_generic(f, &from), size, size, lower_const(f, IR_B32, 0xffff)};
    struct ir_instr *copy = lower_emit(f, IR_OP_COPY, IR_VOID, HD_COUNT_OF(ops), ops, 0);
    lower_access_set(copy, &to, 1);
    copy->imm = 16;
    struct ir_instr *fence = lower_emit(f, IR_OP_FENCE, IR_VOID, 0, NULL, 0);
    fence->mem.sem = IR_SEM_RELEASE;
    fence->mem.scope = lower_scope(in->form);
    return true;
}
