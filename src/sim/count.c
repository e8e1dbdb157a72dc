/* What a launch executed, by kinds of instructions, of how often each of its operations was. */
#include "sim/sim_private.h"

/* What moves, selects or compares floating-point numbers is no operation of theirs. */
static enum sim_count kind_of(enum isa_op op)
{
    switch (op) {
    case ISA_FADD:
    case ISA_FADD2:
    case ISA_UFADD:
        return SIM_COUNT_FADD;
    case ISA_FMUL:
    case ISA_FMUL2:
    case ISA_UFMUL:
        return SIM_COUNT_FMUL;
    case ISA_FFMA:
    case ISA_FFMA2:
    case ISA_UFFMA:
        return SIM_COUNT_FFMA;
    case ISA_DADD:
        return SIM_COUNT_DADD;
    case ISA_DMUL:
        return SIM_COUNT_DMUL;
    case ISA_DFMA:
        return SIM_COUNT_DFMA;
    case ISA_HADD2:
        return SIM_COUNT_HADD;
    case ISA_HMUL2:
        return SIM_COUNT_HMUL;
    case ISA_HFMA2:
        return SIM_COUNT_HFMA;
    case ISA_F2F:
    case ISA_F2I:
    case ISA_I2F:
    case ISA_FRND:
    case ISA_F2FP:
    case ISA_F2FP_UNPACK:
        return SIM_COUNT_CONVERSION;
    case ISA_MUFU:
        return SIM_COUNT_SPECIAL;
    case ISA_POPC:
    case ISA_FLO:
    case ISA_BREV:
        return SIM_COUNT_INTEGER;
    case ISA_MOV:
    case ISA_SEL:
    case ISA_FSEL:
    case ISA_FMNMX:
    case ISA_FMNMX3:
    case ISA_FSETP:
    case ISA_FCHK:
    case ISA_PLOP3:
    case ISA_P2R:
    case ISA_R2P:
    case ISA_R2UR:
    case ISA_VOTE:
    case ISA_VOTEU:
    case ISA_MATCH:
    case ISA_REDUX:
    case ISA_UREDUX:
    case ISA_ELECT:
    case ISA_SHFL:
    case ISA_SHFL_I:
    case ISA_SHFL_R:
    case ISA_CS2R:
    case ISA_LEPC:
        return SIM_COUNT_OTHER;
    default:
        break;
    }
    switch ((enum isa_pipe)isa_row(op)->pipe) {
    case ISA_PIPE_ALU:
    case ISA_PIPE_FMAHEAVY:
        return SIM_COUNT_INTEGER;
    case ISA_PIPE_LSU:
    case ISA_PIPE_TMA:
    case ISA_PIPE_TEXTURE:
        return SIM_COUNT_MEMORY;
    case ISA_PIPE_BRANCH:
        return SIM_COUNT_CONTROL;
    default:
        return SIM_COUNT_OTHER;
    }
}

void sim_counts_of(const struct sim_run *run, struct sim_counts *out)
{
    *out = (struct sim_counts){.words = out->words, .warp_instructions = run->steps};
    if (!run->executed)
        return;
    out->warp_instructions = 0;
    for (uint32_t i = 0; i < run->program->nops; i++) {
        const struct sim_executed *executed = &run->executed[i];
        enum isa_op op = run->program->insns[i].op;
        bool is_packed = op == ISA_FADD2 || op == ISA_FMUL2 || op == ISA_FFMA2;

        if (out->words)
            out->words[i] = *executed;
        out->warp_instructions += executed->warps;
        out->thread_instructions += executed->lanes;
        out->thread_instructions_on += executed->on;
        out->by_kind[kind_of(op)] += is_packed ? 2 * executed->on : executed->on;
    }
}
