#include "analysis/shape.h"

#include <inttypes.h>

static void print_shape(const struct ir_shape *s, struct hd_buf *out)
{
    switch (s->kind) {
    case IR_SHAPE_UNIFORM:
        hd_buf_puts(out, "uniform");
        break;
    case IR_SHAPE_AFFINE:
        hd_buf_printf(out, "affine %" PRId64 "%s", s->stride, s->whole ? " whole" : "");
        break;
    case IR_SHAPE_BASE_INDEX:
        hd_buf_printf(out, "base + %s(%%%" PRIu32 ") * %" PRId64, s->index_signed ? "sext" : "zext",
                      s->index->id, s->scale);
        break;
    case IR_SHAPE_VARYING:
        hd_buf_puts(out, "varying");
        break;
    }
    const uint32_t align = s->kind == IR_SHAPE_AFFINE && s->whole ? s->warp_align : s->align;
    if (align == 1u << 31)
        hd_buf_puts(out, " zero");
    else if (align > 1)
        hd_buf_printf(out, " align %" PRIu32, align);
}

static void print_block_facts(const struct ir_shapes *shapes, uint32_t b, struct hd_buf *out)
{
    uint32_t loop = shapes->loops.loop_of[b];

    hd_buf_printf(out, "bb%" PRIu32 ":", b);
    if (shapes->divergent[b])
        hd_buf_puts(out, " divergent");
    if (shapes->divergent_join[b])
        hd_buf_puts(out, " join");
    if (shapes->exit_only[b])
        hd_buf_puts(out, " exit");
    if (shapes->side_exit[b])
        hd_buf_puts(out, " side");
    if (loop != IR_NO_BLOCK && shapes->loops.loops[loop].header == b)
        hd_buf_printf(out, " loop to bb%" PRIu32 "%s%s", shapes->loops.loops[loop].last,
                      shapes->divergent_loop[loop] ? " divergent-loop" : "",
                      shapes->loops.loops[loop].spin_suspect ? " spin" : "");
    hd_buf_putc(out, '\n');
}

static void print_instr_facts(const struct ir_shapes *shapes, const struct ir_instr *instr,
                              struct hd_buf *out)
{
    hd_buf_puts(out, "  ");
    ir_print_instr(instr, out);
    for (uint32_t d = 0; d < instr->ndst; d++) {
        hd_buf_puts(out, d ? ", " : " ; ");
        print_shape(&shapes->of[instr->dst[d]->id], out);
        if (shapes->temporal[instr->dst[d]->id])
            hd_buf_puts(out, " temporal");
    }
    if (ir_op_has(instr->op, IR_F_TERM) && shapes->divergent_branch[instr->block->id])
        hd_buf_puts(out, " ; divergent");
    hd_buf_putc(out, '\n');
}

void ir_shapes_print(const struct ir_func *func, const struct ir_shapes *shapes, struct hd_buf *out)
{
    hd_buf_printf(out, "%s:%s", func->name, shapes->exits_diverge ? " exits-diverge" : "");
    if (shapes->needs_dispatch)
        hd_buf_printf(out, " dispatch (%s)", shapes->dispatch_reason);
    if (shapes->waits)
        hd_buf_printf(out, " waits%s", shapes->rejoins ? " rejoins" : "");
    hd_buf_putc(out, '\n');
    for (uint32_t b = 0; b < func->nblocks; b++) {
        print_block_facts(shapes, b, out);
        ir_foreach_instr(instr, func->blocks[b])
            print_instr_facts(shapes, instr, out);
    }
}
