/* See access.h. */
#include "isa/access.h"

#include <assert.h>

static bool span_of(const struct isa_insn *insn, unsigned at, struct isa_span *out)
{
    const struct isa_operand *operand = &insn->operands[at];
    unsigned first = (unsigned)operand->value, count = 1, none = ISA_PT, base;

    switch (operand->kind) {
    case ISA_KIND_REG:
        count = isa_registers(insn, at), none = ISA_RZ, base = 0;
        break;
    case ISA_KIND_PRED:
        base = ISA_UNIT_PRED;
        break;
    case ISA_KIND_UREG:
        count = isa_registers(insn, at), none = ISA_URZ, base = ISA_UNIT_UREG;
        break;
    case ISA_KIND_UPRED:
        base = ISA_UNIT_UPRED;
        break;
    case ISA_KIND_CONSTANT:
        first = operand->ureg, none = ISA_URZ, base = ISA_UNIT_UREG;
        break;
    default:
        return false;
    }
    if (first >= none || !count)
        return false;
    count = count < none - first ? count : none - first;
    *out = (struct isa_span){(uint16_t)(base + first), (uint8_t)count, false};
    return true;
}

void isa_access(const struct isa_insn *insn, struct isa_access *out)
{
    const struct isa_row *row = isa_row(insn->op);
    bool branches = insn->op == ISA_BRA || insn->op == ISA_EXIT;
    struct isa_span span;

    out->nreads = out->nwrites = 0;
    if (insn->guard != ISA_PT)
        out->reads[out->nreads++] = (struct isa_span){
            (uint16_t)((row->pipe == ISA_PIPE_UNIFORM ? ISA_UNIT_UPRED : ISA_UNIT_PRED) +
                       insn->guard),
            1, true};
    for (unsigned i = 0; i < row->noperands; i++) {
        bool result;

        if (!span_of(insn, i, &span))
            continue;
        result = isa_is_result(insn, (enum isa_field)row->operands[i].field);
        span.is_condition = branches;
        if (result)
            out->writes[out->nwrites++] = span;
        if (!result || insn->op == ISA_GMMA)
            out->reads[out->nreads++] = span;
    }
    span = (struct isa_span){ISA_UNIT_PRED, ISA_PT, false};
    if (insn->op == ISA_P2R)
        out->reads[out->nreads++] = span;
    if (insn->op == ISA_R2P)
        out->writes[out->nwrites++] = span;
    assert(out->nreads <= ISA_MOST_READS && out->nwrites <= ISA_MOST_WRITES);
}
