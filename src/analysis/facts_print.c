/* Listing and figures. */
#include "analysis/facts_impl.h"

static void count_value(const struct facts *f, const struct ir_value *v, struct facts_counts *n)
{
    const unsigned w = facts_width(v);
    const struct facts_value *fv = &f->of[v->id];
    uint64_t c;

    if (!w)
        return;
    const struct facts_range any = facts_any_of(w);
    const struct facts_range *r = &fv->range;
    n->values++;
    n->constants += facts_is_constant(r, &c);
    n->bounded += r->least > any.least || r->most < any.most || r->sleast > any.sleast ||
                  r->smost < any.smost;
    n->bits += ((r->zeros | r->ones) & facts_mask(w)) != 0;
    n->grid += fv->scope == FACTS_GRID;
    n->cta += fv->scope <= FACTS_CTA;
    n->warp += fv->scope <= FACTS_WARP;
    n->affine +=
        f->has_lanes && fv->scope == FACTS_LANE && f->shapes.of[v->id].kind == IR_SHAPE_AFFINE;
    n->forms += fv->form.nterms != 1 || fv->form.terms[0].symbol != f->first_value + v->id;
}

static void count_access(const struct facts *f, const struct ir_instr *in, struct facts_counts *n)
{
    const uint64_t offset = (uint64_t)in->mem.offset;
    uint64_t align = facts_alignment(f, in->src[0]);
    uint32_t least, most;
    int64_t stride;

    if (offset)
        align = HD_MIN(align, offset & -offset);
    n->accesses++;
    n->stride += facts_lane_stride(f, in, &stride);
    n->sectors += !ir_space_is_window(in->mem.space) && in->mem.space != IR_SPACE_PARAM &&
                  facts_segments(f, in, &least, &most);
    n->banks += facts_bank_conflicts(f, in) != 0;
    n->align4 += align >= 4;
    n->align8 += align >= 8;
    n->align16 += align >= 16;
    n->rooted += facts_root(f, in->src[0]).kind != FACTS_ROOT_UNKNOWN;
    n->narrow += facts_is_zero_extended(f, in->src[0], in->block);
}

void facts_count(const struct facts *f, struct facts_counts *n)
{
    for (uint32_t b = 0; b < f->func->nblocks; b++) {
        ir_foreach_instr(in, f->func->blocks[b]) {
            for (uint32_t d = 0; d < in->ndst; d++)
                count_value(f, in->dst[d], n);
            if (facts_access_B(in) && in->mem.space != IR_SPACE_PARAM)
                count_access(f, in, n);
        }
    }
    n->loops += f->loops.nloops;
    for (uint32_t l = 0; l < f->loops.nloops; l++)
        n->counted += f->counts[l].counted;
}

/* ---- listing */

static void print_symbol(const struct facts *f, uint32_t symbol, struct hd_buf *out)
{
    const struct facts_symbol y = facts_symbol(f, symbol);
    switch (y.kind) {
    case FACTS_SREG:
        hd_buf_puts(out, ir_sreg_name((enum ir_sreg)y.index));
        break;
    case FACTS_ITERATION:
        hd_buf_printf(out, "iteration(b%u)", f->loops.loops[y.index].header);
        break;
    case FACTS_VALUE:
        hd_buf_printf(out, "%%%u", y.index);
        break;
    case FACTS_PARAM:
        hd_buf_printf(out, "param[%u]", y.index);
        break;
    case FACTS_VAR:
        hd_buf_printf(out, "&%s", y.var->name);
        break;
    }
}

static void print_form(const struct facts *f, const struct ir_value *v, struct hd_buf *out)
{
    const struct facts_form form = facts_form(f, v);
    const int64_t c = facts_extend(form.constant, facts_width(v));

    if (form.nterms == 1 && !c && form.terms[0].symbol == f->first_value + v->id)
        return;
    hd_buf_puts(out, " = ");
    for (uint32_t i = 0; i < form.nterms; i++) {
        hd_buf_puts(out, i ? " + " : "");
        if (form.terms[i].coefficient != 1)
            hd_buf_printf(out, "%lld*", (long long)form.terms[i].coefficient);
        print_symbol(f, form.terms[i].symbol, out);
    }
    if (c || !form.nterms)
        hd_buf_printf(out, "%s%lld", form.nterms ? " + " : "", (long long)c);
}

/* The shorter interval, if it is shorter than that of all multiples. */
static void print_range(const struct facts_range *r, unsigned w, struct hd_buf *out)
{
    const uint64_t may = ~r->zeros, align = may ? may & -may : 1;
    const uint64_t way = r->most - r->least, sway = (uint64_t)r->smost - (uint64_t)r->sleast;

    if (r->least == r->most)
        return;
    if (HD_MIN(way, sway) < facts_mask(w) - (align - 1)) {
        if (way <= sway)
            hd_buf_printf(out, " [%llu, %llu]", (unsigned long long)r->least,
                          (unsigned long long)r->most);
        else
            hd_buf_printf(out, " s[%lld, %lld]", (long long)r->sleast, (long long)r->smost);
    }
    if (align > 1)
        hd_buf_printf(out, " *%llu", (unsigned long long)align);
}

static void print_value(const struct facts *f, const struct ir_value *v, struct hd_buf *out)
{
    static const char *const scopes[] = {"grid", "cta", "warp", ""};
    const struct facts_value *fv = &f->of[v->id];
    int64_t step;

    hd_buf_printf(out, "  %%%u", v->id);
    if (!facts_width(v)) {
        hd_buf_puts(out, "\n");
        return;
    }
    print_form(f, v, out);
    print_range(&fv->range, facts_width(v), out);
    hd_buf_printf(out, "%s%s", fv->scope < FACTS_LANE ? " " : "", scopes[fv->scope]);
    if (fv->scope == FACTS_LANE && facts_lane_step(f, v, &step))
        hd_buf_printf(out, " lane*%lld", (long long)step);
    const struct facts_root root = facts_root(f, v);
    if (root.kind == FACTS_ROOT_PARAM)
        hd_buf_printf(out, " from param[%u]", root.offset_B);
    else if (root.kind == FACTS_ROOT_VAR)
        hd_buf_printf(out, " from &%s", root.var->name);
    hd_buf_puts(out, "\n");
}

void facts_print(const struct facts *f, struct hd_buf *out)
{
    hd_buf_printf(out, "facts of %s\n", f->func->name);
    for (uint32_t b = 0; b < f->func->nblocks; b++) {
        const uint32_t loop = f->loops.loop_of[b];
        hd_buf_printf(out, "b%u:", b);
        if (loop != IR_NO_BLOCK && f->loops.loops[loop].header == b && f->counts[loop].counted)
            hd_buf_printf(out, " at most %llu iterations more",
                          (unsigned long long)f->counts[loop].most);
        hd_buf_puts(out, "\n");
        ir_foreach_instr(in, f->func->blocks[b]) {
            for (uint32_t d = 0; d < in->ndst; d++)
                print_value(f, in->dst[d], out);
            if (!facts_access_B(in) || in->mem.space == IR_SPACE_PARAM)
                continue;
            uint32_t least, most;
            const uint32_t degree = facts_bank_conflicts(f, in);
            hd_buf_printf(out, "  %s %u bytes, aligned to %llu", ir_op_infos[in->op].name,
                          facts_access_B(in), (unsigned long long)facts_access_alignment(f, in));
            if (degree)
                hd_buf_printf(out, ", %u in a bank", degree);
            else if (facts_segments(f, in, &least, &most))
                hd_buf_printf(out, ", %u to %u sectors", least, most);
            hd_buf_puts(out, "\n");
        }
    }
}
