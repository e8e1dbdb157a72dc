/* Places and accesses in the words of messages. */
#include "ir/ir.h"

#define CALLS_MAX 16 /* that a message names */

const char *ir_source_file(const struct ir_module *module, const struct ir_srcloc *srcloc)
{
    assert(srcloc->file <= module->files.len);
    return srcloc->file ? module->files.at[srcloc->file - 1] : "?";
}

static const struct ir_inline *call_of(const struct ir_module *module,
                                       const struct ir_srcloc *srcloc)
{
    assert(srcloc->inlined <= module->inlines.len);
    return srcloc->inlined ? &module->inlines.at[srcloc->inlined - 1] : NULL;
}

void ir_print_source(const struct ir_module *module, const struct ir_srcloc *srcloc,
                     struct hd_buf *out)
{
    const struct ir_inline *call = call_of(module, srcloc);

    hd_buf_printf(out, "%s:%u", ir_source_file(module, srcloc), srcloc->line);
    for (unsigned n = 0; call && n < CALLS_MAX; n++) {
        hd_buf_printf(out, ", %s%s%sinlined at %s:%u", call->func[0] ? "in " : "", call->func,
                      call->func[0] ? "() " : "", ir_source_file(module, &call->at), call->at.line);
        call = call_of(module, &call->at);
    }
}

/* "st.global.v4.u32" */
static void print_name(const struct ir_instr *in, struct hd_buf *out)
{
    static const char *const spaces[] = {".generic", ".global", ".const",
                                         ".shared",  ".local",  ".param"};

    hd_buf_puts(out, ir_op_infos[in->op].name);
    if (ir_op_has(in->op, IR_F_SPACE) && in->mem.space < HD_COUNT_OF(spaces))
        hd_buf_puts(out, spaces[in->mem.space]);
    if (in->mem.vec)
        hd_buf_printf(out, ".v%u", in->mem.vec);
    if (in->type != IR_VOID)
        hd_buf_printf(out, ".%s", ir_type_name(in->type));
}

void ir_print_access(const struct ir_instr *in, struct hd_buf *out)
{
    unsigned size_B = ir_type_bits(in->type) / 8 * (in->mem.vec ? in->mem.vec : 1);
    const char *what = ir_op_has(in->op, IR_F_ATOM)    ? "atomic operation on"
                       : ir_op_has(in->op, IR_F_STORE) ? "write of"
                       : ir_op_has(in->op, IR_F_LOAD)  ? "read of"
                                                       : NULL;

    if (!what || !size_B) {
        print_name(in, out);
        return;
    }
    hd_buf_printf(out, "%s %u byte%s (", what, size_B, size_B == 1 ? "" : "s");
    print_name(in, out);
    hd_buf_puts(out, ")");
}
