/* One function: blocks and their edges first, then the instructions of each block. */
#include "lower/lower_priv.h"

#include <assert.h>

#include "ir/count.h"

static bool flow_has_guard(const struct ptx_insn *in)
{
    return in->guard.kind != PTX_OPND_NONE;
}

static bool flow_ends_block(const struct ptx_insn *in)
{
    return lower_ops[in->form->op].guard == LOWER_GUARD_END;
}

/* Guarded, these become a select with the old value; everything else a branch around. So does all
 * where instructions are counted: that says how many lanes run it. */
static bool flow_is_selected(const struct lower_fn *f, const struct ptx_insn *in)
{
    return lower_ops[in->form->op].guard == LOWER_GUARD_SELECT && !f->job->module->has_counts;
}

static const struct ptx_insn *flow_as_insn(const struct ptx_stmt *s)
{
    return s && s->kind == PTX_STMT_INSN ? (const struct ptx_insn *)s : NULL;
}

static enum hd_status flow_block_add(struct lower_fn *f, const struct ptx_stmt *first, bool guarded)
{
    struct lower_block b = {.ir = ir_block_create(f->ir), .first = first, .guarded = guarded};
    return hd_vec_push(&f->blocks, b) ? HD_OK : hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
}

/* Splits the body. A guarded effect gets a block of its own. */
static enum hd_status flow_find_blocks(struct lower_fn *f)
{
    bool fresh = true;
    HD_TRY(flow_block_add(f, f->ptx->body, false));
    for (const struct ptx_stmt *s = f->ptx->body; s; s = s->next) {
        if (s->kind == PTX_STMT_LABEL) {
            if (!fresh) {
                hd_vec_last(&f->blocks).end = s;
                HD_TRY(flow_block_add(f, s, false));
                fresh = true;
            }
            const struct ptx_label *label = ((const struct ptx_stmt_decl *)s)->u.label;
            if (!hd_map_put_u64(&f->labels, label->idx, (void *)(uintptr_t)f->blocks.len))
                return hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
            continue;
        }
        const struct ptx_insn *in = flow_as_insn(s);
        if (!in)
            continue;
        fresh = false;
        bool branch = in->form->op == PTX_OP_BRA;
        bool around = flow_has_guard(in) && !branch && !flow_is_selected(f, in);
        if (around) {
            hd_vec_last(&f->blocks).end = s;
            HD_TRY(flow_block_add(f, s, true));
        }
        if (around || flow_ends_block(in)) {
            hd_vec_last(&f->blocks).end = s->next;
            HD_TRY(flow_block_add(f, s->next, false));
            fresh = true;
        }
    }
    return HD_OK;
}

static struct ir_block *flow_label_block(struct lower_fn *f, const struct ptx_operand *op)
{
    if (op->kind != PTX_OPND_LABEL)
        return NULL;
    uintptr_t index = (uintptr_t)hd_map_get_u64(&f->labels, op->u.label->idx);
    assert(index <= f->blocks.len);
    return index ? f->blocks.at[index - 1].ir : NULL;
}

static enum hd_status flow_edge_error(struct lower_fn *f, const struct ptx_insn *in,
                                      const char *why)
{
    f->insn = in;
    lower_fail(f, HD_NOT_SUPPORTED, why);
    return f->status;
}

static enum hd_status flow_switch_edges(struct lower_fn *f, struct ir_block *ir,
                                        const struct ptx_insn *in)
{
    const struct ptx_operand *list = &in->ops[1];
    if (list->kind != PTX_OPND_SYM || list->u.sym->kind != PTX_SYM_TARGETS)
        return flow_edge_error(f, in, "brx.idx without a target list");
    const struct ptx_targets *t = (const struct ptx_targets *)list->u.sym;
    struct ir_block **succ = hd_arena_array(&f->arena, struct ir_block *, t->count + 1);
    if (!succ || !t->count)
        return flow_edge_error(f, in, "empty target list");
    for (uint32_t i = 0; i < t->count; i++) {
        succ[i] = flow_label_block(f, &t->items[i]);
        if (!succ[i])
            return flow_edge_error(f, in, "target is not a label");
    }
    ir_block_set_succs(ir, t->count, succ);
    return HD_OK;
}

/* What leaves block number i. The guard of a block that follows is tested at the end of this one.
 * */
static enum hd_status flow_block_edges(struct lower_fn *f, size_t i)
{
    struct lower_block *b = &f->blocks.at[i];
    struct ir_block *next = i + 1 < f->blocks.len ? f->blocks.at[i + 1].ir : NULL;
    const struct ptx_insn *last = NULL;
    for (const struct ptx_stmt *s = b->first; s && s != b->end; s = s->next)
        last = flow_as_insn(s) ? flow_as_insn(s) : last;
    if (last && flow_ends_block(last) && (!flow_has_guard(last) || b->guarded)) {
        if (last->form->op == PTX_OP_BRX_IDX)
            return flow_switch_edges(f, b->ir, last);
        if (last->form->op != PTX_OP_BRA)
            return HD_OK;
        struct ir_block *to = flow_label_block(f, &last->ops[0]);
        if (!to)
            return flow_edge_error(f, last, "branch target is not a label");
        ir_block_set_succs(b->ir, 1, &to);
        return HD_OK;
    }
    if (last && last->form->op == PTX_OP_BRA) {
        struct ir_block *pair[] = {flow_label_block(f, &last->ops[0]), next};
        if (!pair[0] || !next)
            return flow_edge_error(f, last, "branch target is not a label");
        ir_block_set_succs(b->ir, 2, pair);
        return HD_OK;
    }
    if (next && f->blocks.at[i + 1].guarded && !b->guarded) {
        assert(i + 2 < f->blocks.len); /* behind a guarded block there is one */
        struct ir_block *pair[] = {next, f->blocks.at[i + 2].ir};
        ir_block_set_succs(b->ir, 2, pair);
        return HD_OK;
    }
    /* Two guarded instructions in a row: the block between them is empty but there. */
    if (next)
        ir_block_set_succs(b->ir, 1, &next);
    return HD_OK;
}

/* Indices of the blocks that can be reached, in post-order, from the back of `order` to its front:
 * read forwards, dominators come first. */
static size_t flow_walk(const struct lower_fn *f, bool *seen, uint32_t *next, size_t *stack,
                        size_t *order)
{
    size_t depth = 1, at = f->blocks.len;
    stack[0] = 0;
    seen[0] = true;
    while (depth) {
        size_t i = stack[depth - 1];
        const struct ir_block *b = f->blocks.at[i].ir;
        if (next[i] == b->nsuccs) {
            assert(at > 0);
            order[--at] = i;
            depth--;
            continue;
        }
        assert(b->succs[next[i]]->id >= f->blocks.at[0].ir->id);
        size_t to = b->succs[next[i]++]->id - f->blocks.at[0].ir->id;
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = to;
        }
    }
    return at;
}

/*
 * The order in which blocks are lowered: reverse post-order, so that a block with one predecessor
 * comes after it (lower_ssa.c reads through it). Code that cannot be reached comes first, emptied:
 * it must not look like a predecessor.
 */
static enum hd_status flow_order_blocks(struct lower_fn *f)
{
    size_t n = f->blocks.len;
    bool *seen = hd_arena_array(&f->arena, bool, n);
    uint32_t *next = hd_arena_array(&f->arena, uint32_t, n);
    size_t *stack = hd_arena_array(&f->arena, size_t, n);
    f->order = hd_arena_array(&f->arena, size_t, n);
    if (!seen || !next || !stack || !f->order)
        return hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
    size_t first = flow_walk(f, seen, next, stack, f->order);
    for (size_t i = 0, dead = 0; i < n; i++) {
        struct lower_block *b = &f->blocks.at[i];
        if (seen[i])
            continue;
        assert(!b->ir->first); /* not lowered yet */
        f->order[dead++] = i;
        assert(dead <= first);
        b->first = b->end = NULL;
        b->guarded = false;
        ir_block_set_succs(b->ir, 0, NULL);
    }
    return HD_OK;
}

/* ---- instructions */

static void flow_trap_emit(struct lower_fn *f, bool is_break)
{
    lower_emit(f, IR_OP_TRAP, IR_VOID, 0, NULL, 0)->imm = is_break;
}

/* The rows of the opcode table say which types an operation has; PTX's parser does not. */
static void flow_check_types(struct lower_fn *f, const struct ir_instr *in)
{
    for (; in && f->status == HD_OK; in = in->next) {
        if (!ir_op_takes(in->op, in->type))
            lower_fail_form(f, "the type is not supported");
    }
}

/* The IR's number of a file that code names. */
static uint32_t flow_file_number(struct lower_fn *f, uint32_t idx)
{
    if (idx >= f->nfiles || f->files[idx])
        return idx < f->nfiles ? f->files[idx] : 0;
    assert(!f->files[idx]);
    for (const struct ptx_file *file = f->unit->files; file; file = file->next) {
        if (file->idx == idx)
            f->files[idx] = ir_module_file(
                f->job->module, hd_arena_strndup(&f->arena, file->path.ptr, file->path.len));
    }
    return f->files[idx];
}

static uint32_t flow_unit_file(struct lower_fn *f)
{
    const struct hd_str name = f->unit->name;

    if (!f->unit_file)
        f->unit_file =
            ir_module_file(f->job->module, hd_arena_strndup(&f->arena, name.ptr, name.len));
    return f->unit_file;
}

/* One level of inlining: .loc names the call, but not where the caller itself was inlined. */
static struct ir_srcloc flow_srcloc_of(struct lower_fn *f, const struct ptx_loc *loc)
{
    struct ir_srcloc srcloc = {
        .file = flow_file_number(f, loc->file), .line = loc->line, .col = loc->col};
    struct ir_srcloc call = {.line = loc->inlined_line, .col = loc->inlined_col};
    if (!loc->has_inlined)
        return srcloc;
    call.file = flow_file_number(f, loc->inlined_file);
    srcloc.inlined = ir_module_inline(f->job->module, lower_inlined_name(f, loc), &call);
    return srcloc;
}

/* From .loc; without one the line of the PTX, where that is wanted. */
static void flow_place_set(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct lower_program *program = f->job->program;

    if (in->stmt.loc && in->stmt.loc->line)
        f->b.srcloc = flow_srcloc_of(f, in->stmt.loc);
    else if (program->ptx_lines)
        f->b.srcloc = (struct ir_srcloc){.file = flow_unit_file(f), .line = in->stmt.srcloc.line};
}

static void flow_count_note(struct lower_fn *f, uint32_t instr, enum ir_count_kind kind)
{
    lower_emit(f, IR_OP_NOTE, IR_VOID, 0, NULL, 0)->imm = ir_count_item(instr, kind);
}

static uint32_t flow_count_add(struct lower_fn *f, const struct ptx_insn *in)
{
    struct ir_module *module = f->job->module;
    const struct hd_str form = in->form->text;
    struct ir_counted counted = {
        .function = f->ir->name,
        .form = hd_arena_strndup(&module->arena, form.ptr, form.len),
        .ptx_line = in->stmt.srcloc.line,
        .classes = lower_count_classes(in->form),
    };

    flow_place_set(f, in);
    counted.srcloc = f->b.srcloc;
    module->arena.failed |= !hd_vec_push(&module->counted, counted);
    return (uint32_t)module->counted.len - 1;
}

/* In front of the guard of block number `next`, which holds one instruction. */
static void flow_count_guard(struct lower_fn *f, size_t next)
{
    struct lower_block *b = &f->blocks.at[next];

    if (!f->job->module->has_counts)
        return;
    assert(b->guarded);
    b->counted = flow_count_add(f, flow_as_insn(b->first));
    flow_count_note(f, b->counted, IR_COUNT_ISSUE);
}

static void insn_lower(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ir_instr *last = f->b.block->last;
    const char *why = NULL;
    in = lower_spread(f, in);
    f->insn = in;
    flow_place_set(f, in);
    if (!lower_in_slice(in, &why)) {
        lower_fail_form(f, why);
        return;
    }
    assert(!last || !ir_op_has(last->op, IR_F_TERM)); /* the block is open */
    if (lower_ops[in->form->op].run(f, in)) {
        flow_check_types(f, last ? last->next : f->b.block->first);
        return;
    }
    lower_fail_form(f, "not supported");
}

/* A survey goes on: whoever reads what a refused instruction would have written reads no value. */
static void flow_go_on(struct lower_fn *f)
{
    if (f->job->refused && f->status != HD_NO_MEMORY)
        f->status = HD_OK;
}

bool lower_do_end(struct lower_fn *f, const struct ptx_insn *in)
{
    f->insn = in;
    switch (in->form->op) {
    case PTX_OP_BRA:
        if (f->b.block->nsuccs == 2) {
            struct ir_value *p = lower_pred(f, &in->guard);
            lower_emit(f, IR_OP_CBR, IR_VOID, 1, &p, 0);
        } else {
            lower_emit(f, IR_OP_BR, IR_VOID, 0, NULL, 0);
        }
        return true;
    case PTX_OP_BRX_IDX: {
        struct ir_value *index = lower_src(f, &in->ops[0], IR_U32);
        lower_emit(f, IR_OP_SWITCH, IR_VOID, 1, &index, 0);
        return true;
    }
    case PTX_OP_RET:
        lower_ret(f);
        return true;
    case PTX_OP_EXIT:
        lower_emit(f, IR_OP_EXIT, IR_VOID, 0, NULL, 0);
        return true;
    default:
        flow_trap_emit(f, in->form->op == PTX_OP_BRKPT);
        return true;
    }
}

static void block_lower(struct lower_fn *f, size_t i)
{
    struct lower_block *b = &f->blocks.at[i];
    assert(f->status == HD_OK && !b->ir->first); /* each block once, until something fails */
    f->cur = b;
    f->b.block = b->ir;
    f->b.before = NULL;
    for (const struct ptx_stmt *s = b->first; s && s != b->end && f->status == HD_OK; s = s->next) {
        const struct ptx_insn *in = flow_as_insn(s);
        if (!in)
            continue;
        /* A debugger's places are those of the text, which it parses itself. */
        if (f->job->module->has_notes) {
            const struct ptx_srcloc *srcloc = &in->stmt.srcloc;
            f->insn = in;
            flow_place_set(f, in);
            lower_emit(f, IR_OP_NOTE, IR_VOID, 0, NULL, 0)->imm =
                (uint64_t)srcloc->col << 32 | srcloc->line;
        }
        /* In front of an instruction, behind its guard; a branch's guard is in the branch. */
        if (f->job->module->has_counts) {
            if (!flow_has_guard(in))
                flow_count_note(f, flow_count_add(f, in), IR_COUNT_WHOLE);
            else if (f->cur->guarded)
                flow_count_note(f, f->cur->counted, IR_COUNT_ON);
            else
                flow_count_note(f, flow_count_add(f, in), IR_COUNT_ISSUE);
        }
        if (flow_ends_block(in)) {
            flow_place_set(f, in);
            (void)lower_do_end(f, in);
            flow_go_on(f);
            return;
        }
        insn_lower(f, in);
        flow_go_on(f);
    }
    if (f->status != HD_OK)
        return;
    if (b->ir->nsuccs == 2) { /* the next block is guarded */
        flow_count_guard(f, i + 1);
        f->insn = flow_as_insn(f->blocks.at[i + 1].first);
        struct ir_value *p = lower_pred(f, &f->insn->guard);
        lower_emit(f, IR_OP_CBR, IR_VOID, 1, &p, 0);
        flow_go_on(f);
    } else if (b->ir->nsuccs == 1) {
        lower_emit(f, IR_OP_BR, IR_VOID, 0, NULL, 0);
    } else if (i + 1 < f->blocks.len) { /* pruned */
        lower_emit(f, IR_OP_UNREACHABLE, IR_VOID, 0, NULL, 0);
    } else {
        lower_ret(f); /* falls off the end */
    }
}

static enum hd_status flow_registers(struct lower_fn *f)
{
    f->nregs = f->ptx->nregs + 1;
    f->reg_types = hd_arena_array(&f->arena, enum ir_type, f->nregs);
    if (!f->reg_types)
        return hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
    f->reg_types[f->ptx->nregs] = IR_PRED; /* the carry flag */
    for (const struct ptx_reg_decl *r = f->ptx->regs; r; r = r->next) {
        enum ir_type type = lower_type((enum ptx_type)r->type);
        if (type == IR_VOID)
            return hd_error(HD_NOT_SUPPORTED, "%.*s:%u:%u: register type .%s",
                            HD_STR_ARG(f->unit->name), r->sym.srcloc.line, r->sym.srcloc.col,
                            ptx_type_name((enum ptx_type)r->type));
        assert(r->base <= f->ptx->nregs && r->count * r->vec <= f->ptx->nregs - r->base);
        for (uint32_t i = 0; i < r->count * r->vec; i++)
            f->reg_types[r->base + i] = ir_type_value(type);
    }
    return HD_OK;
}

static enum hd_status flow_body_blocks(struct lower_fn *f)
{
    HD_TRY(flow_registers(f));
    f->ir->nregs = f->job->module->has_notes ? f->ptx->nregs : 0;
    struct ir_block *entry = ir_block_create(f->ir);
    HD_TRY(flow_find_blocks(f));
    for (size_t i = 0; i < f->blocks.len; i++)
        HD_TRY(flow_block_edges(f, i));
    ir_block_set_succs(entry, 1, &f->blocks.at[0].ir);
    HD_TRY(flow_order_blocks(f));
    ir_func_link_cfg(f->ir);
    assert(entry->id == 0 &&
           f->blocks.at[0].ir->id == 1); /* flow_walk() and lower_ssa.c count on it */
    HD_TRY(lower_ssa_begin(f));
    f->b = (struct ir_builder){.func = f->ir, .block = entry};
    lower_entry_args(f);
    lower_emit(f, IR_OP_BR, IR_VOID, 0, NULL, 0);
    for (size_t i = 0; i < f->blocks.len && f->status == HD_OK; i++)
        block_lower(f, f->order[i]);
    HD_TRY(f->status);
    HD_TRY(lower_ssa_finish(f));
    ir_func_link_cfg(f->ir);
    lower_tensor_waits(f);
    ir_func_link_cfg(f->ir);
    ir_func_compact(f->ir);
    return hd_arena_status(&f->job->module->arena);
}

static enum hd_status flow_files(struct lower_fn *f)
{
    for (const struct ptx_file *file = f->unit->files; file; file = file->next)
        f->nfiles = HD_MAX(f->nfiles, file->idx + 1);
    if (f->nfiles > 100000)
        f->nfiles = 0;
    f->files = hd_arena_array(&f->arena, uint32_t, f->nfiles + 1);
    if (!f->files)
        return hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
    return HD_OK;
}

enum hd_status lower_function(struct lower_job *job, const struct lower_body *body,
                              struct ir_func *ir)
{
    struct lower_fn f = {.job = job, .unit = body->module, .ptx = body->ptx, .ir = ir};
    hd_arena_init(&f.arena);
    hd_map_init(&f.defs);
    hd_map_init(&f.labels);
    hd_map_init(&f.noted);
    enum hd_status status = flow_files(&f);
    if (status == HD_OK)
        status = flow_body_blocks(&f);
    hd_map_fini(&f.defs);
    hd_map_fini(&f.labels);
    hd_map_fini(&f.noted);
    hd_vec_fini(&f.blocks);
    hd_vec_fini(&f.phis);
    hd_vec_fini(&f.waits);
    hd_arena_fini(&f.arena);
    return status;
}
