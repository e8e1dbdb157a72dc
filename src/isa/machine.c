/* The machine's tables. */
#include "isa/machine.h"

#include <assert.h>

enum kind { FIXED, VARIABLE };
/* Columns of the table. */
enum {
    ALU,
    FMAHEAVY,
    XU,
    FMA,
    FP16,
    FP64,
    UNIFORM,
    LSU,
    CONTROL,
    TMA,
    BARRIER,
    BRANCH,
    TENSOR,
    TEXTURE,
    PIPES
};

struct pipe {
    enum kind kind;
    uint8_t latency[PIPES];
};

static const struct pipe pipes[ISA_PIPES] = {
#define PIPE(name, kind, ...) [ISA_PIPE_##name] = {kind, {__VA_ARGS__}},
#include "isa/sm120.def"
};

/* The column of a reader's pipe. */
static const uint8_t columns[ISA_PIPES] = {
    [ISA_PIPE_ALU] = ALU,         [ISA_PIPE_FMAHEAVY] = FMAHEAVY, [ISA_PIPE_XU] = XU,
    [ISA_PIPE_FMA] = FMA,         [ISA_PIPE_FP16] = FP16,         [ISA_PIPE_FP64] = FP64,
    [ISA_PIPE_UNIFORM] = UNIFORM, [ISA_PIPE_LSU] = LSU,           [ISA_PIPE_CONTROL] = CONTROL,
    [ISA_PIPE_TMA] = TMA,         [ISA_PIPE_BARRIER] = BARRIER,   [ISA_PIPE_BRANCH] = BRANCH,
    [ISA_PIPE_TENSOR] = TENSOR,   [ISA_PIPE_TEXTURE] = TEXTURE,
};

struct except {
    bool is, is_variable;
    uint8_t latency;
};

static const struct except excepts[ISA_OPS] = {
#define EXCEPT(name, kind, cycles) [ISA_##name] = {true, kind == VARIABLE, cycles},
#include "isa/sm120.def"
};

bool isa_is_variable(enum isa_op op)
{
    struct except except = excepts[op];

    return except.is ? except.is_variable : pipes[isa_row(op)->pipe].kind == VARIABLE;
}

unsigned isa_latency(enum isa_op writer, enum isa_op reader)
{
    struct except except = excepts[writer];

    assert(!isa_is_variable(writer));
    return except.is ? except.latency
                     : pipes[isa_row(writer)->pipe].latency[columns[isa_row(reader)->pipe]];
}

unsigned isa_machine_cycles(enum isa_machine_cycles what)
{
    static const uint8_t cycles[] = {
#define CYCLES(name, n) [ISA_##name##_CYCLES] = (n),
#include "isa/sm120.def"
    };
    return cycles[what];
}

unsigned isa_subcore(enum isa_subcore what)
{
    static const uint16_t numbers[] = {
#define SUBCORE(name, n) [ISA_SUBCORE_##name] = (n),
#include "isa/sm120.def"
    };
    return numbers[what];
}

unsigned isa_issue_cycles(enum isa_op op)
{
    static const uint8_t cycles[ISA_PIPES] = {
#define ISSUE(pipe, n) [ISA_PIPE_##pipe] = (n),
#include "isa/sm120.def"
    };
    return cycles[isa_row(op)->pipe];
}

unsigned isa_typical_latency(enum isa_op op)
{
    static const uint16_t cycles[ISA_PIPES] = {
#define TYPICAL(pipe, n) [ISA_PIPE_##pipe] = (n),
#include "isa/sm120.def"
    };

    assert(isa_is_variable(op));
    switch (op) {
#define TYPICAL_OF(name, n)                                                                        \
    case ISA_##name:                                                                               \
        return n;
#include "isa/sm120.def"
    default:
        return cycles[isa_row(op)->pipe];
    }
}
