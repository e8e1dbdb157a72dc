/*
 * What code of Heddle's ISA and the device that runs it have agreed on; docs/abi.md is the manual.
 * The compiler (src/codegen) keeps to it, src/sim provides it.
 */
#ifndef HD_ISA_ABI_H
#define HD_ISA_ABI_H

#include "base/vec.h"
#include "isa/isa.h"

/* ---- banks of constants */

enum isa_bank {
    ISA_BANK_LAUNCH,    /* facts of the launch, and behind them the kernel's parameters */
    ISA_BANK_LITERALS,  /* isa_code.literals, with their relocations applied */
    ISA_BANK_FUNCTIONS, /* 8 bytes for each function of the program: where its code is, or 0 */
};

/* Offsets in the bank of the launch; all are 32 bits wide. */
enum isa_launch_offset {
    ISA_LAUNCH_NTID = 0x0,     /* x, y, z */
    ISA_LAUNCH_NCTAID = 0xc,   /* x, y, z */
    ISA_LAUNCH_LOCAL_B = 0x18, /* bytes of the thread's local window */
    ISA_LAUNCH_PARAMS = 0x100,
};

/* ---- registers */

enum {
    /* The first free byte of the thread's local window, which grows upwards; 0 at the start. Only
     * in code with calls or allocations of stack. */
    ISA_REG_STACK = 1,
    /* A pair: where a function returns to. */
    ISA_REG_RETURN = 2,
    /* Arguments and results, of 32 bits each, wider ones as several; the rest is in local memory,
     * from the callee's first byte of stack on. */
    ISA_REG_ARGUMENTS = 4,
    ISA_ARGUMENT_REGS = 60,
};

/*
 * SYSCALL of no function of the system: an observer is told what comes next (ir/probe.h). The local
 * address has the number of the probe and its operands, eight bytes each.
 */
enum { ISA_SYSCALL_PROBE = 0xffff };

/* Numbers of BPT.TRAP, for messages; the other kinds have none. */
enum isa_trap { ISA_TRAP_USER, ISA_TRAP_UNREACHABLE };

/* ---- code */

/* Eight bytes of the literals: the address of a variable, plus what stands there. */
struct isa_reloc {
    uint32_t offset_B;
    uint32_t var; /* ir_var.index */
};

/* Where an instruction comes from; of those from `word` on, up to the next one's. */
struct isa_line {
    uint32_t word;
    uint32_t file, line, col, inlined; /* as struct ir_srcloc */
};

struct isa_function {
    uint32_t index;  /* ir_func.index */
    uint32_t offset; /* of its first word, in bytes */
};

/*
 * A kernel and everything that it may call. The kernel begins at offset 0; an address of code is an
 * offset in bytes.
 */
struct isa_code {
    HD_VEC(struct isa_word) words;
    HD_VEC(uint8_t) literals;
    HD_VEC(struct isa_reloc) relocs;
    HD_VEC(struct isa_function) functions;
    HD_VEC(struct isa_line) lines;          /* rising */
    uint32_t registers, uniform_registers;  /* of a thread, of a warp: the highest used, plus one */
    uint32_t spilled_B;                     /* of a thread's local memory */
    uint32_t spill_stores_B, spill_loads_B; /* that instructions move there and back */
    uint32_t local_B; /* frame of the kernel; with calls, c[0][0x18] limits all */
    uint32_t profile; /* hash of the profile that it was made with; 0: none */
};

static inline void isa_code_fini(struct isa_code *code)
{
    hd_vec_fini(&code->words);
    hd_vec_fini(&code->literals);
    hd_vec_fini(&code->relocs);
    hd_vec_fini(&code->functions);
    hd_vec_fini(&code->lines);
}

#endif
