/*
 * Unwinding a thread's stack in a signal's handler, by the tables that compilers write for
 * exceptions (.eh_frame: DWARF 5, 6.4; System V ABI AMD64, 3.7; AAPCS64 registers), which code has
 * without frame pointers, and by frame pointers where an address has no table.
 *
 * It takes no lock and allocates nothing: objects are found by _dl_find_object(), and no word of a
 * stack, which may be any, is read before the kernel has said that its page can be. So it may
 * interrupt malloc() and dlopen(). What the tables say is checked against the object's bounds.
 *
 *     struct prof_unwind *u;             about 4 KiB: not on a signal's stack
 *     prof_unwind_init(u, context);
 *     do
 *         look_at(u->pc, u->map);
 *     while (prof_unwind_next(u) == PROF_UNWIND_MORE);
 *
 * Threads: the one that was interrupted.
 */
#ifndef HD_PROF_UNWIND_H
#define HD_PROF_UNWIND_H

#include <features.h>
#include <stdbool.h>
#include <stdint.h>

/* Objects are found without locks by newer C libraries only. */
#define PROF_CAN_UNWIND __GLIBC_PREREQ(2, 35)

struct link_map;

/* DWARF's numbers of registers: those of x86-64 with the return address, AArch64's x0 to sp. */
#if defined(__x86_64__)
enum { PROF_REGS = 17, PROF_REG_FP = 6, PROF_REG_SP = 7 };
#elif defined(__aarch64__)
enum { PROF_REGS = 32, PROF_REG_FP = 29, PROF_REG_SP = 31 };
#else
#error "unwind.h: registers of this architecture"
#endif
enum { PROF_UNWIND_STATES = 4 }; /* that a table's program remembers at once */

struct prof_rule {
    uint8_t how; /* enum in unwind.c */
    uint16_t reg;
    int64_t value; /* an offset, or the address of an expression */
};

/* What a table's program says at one address. */
struct prof_row {
    struct prof_rule cfa;
    struct prof_rule reg[PROF_REGS];
};

struct prof_unwind {
    uintptr_t pc;               /* of a caller: inside its call */
    const struct link_map *map; /* of the object that has it; NULL: none */
    uintptr_t map_begin, map_end;

    uintptr_t reg[PROF_REGS];
    const uint8_t *tables; /* the object's .eh_frame_hdr */
    uintptr_t page;        /* that can be read */
    struct prof_row row, first, kept[PROF_UNWIND_STATES];
};

enum prof_unwind_end {
    PROF_UNWIND_MORE,
    PROF_UNWIND_DONE,   /* that was the outermost frame */
    PROF_UNWIND_BROKEN, /* the caller is not known */
};

/* At the instruction that the signal interrupted. */
void prof_unwind_init(struct prof_unwind *u, const void *ucontext);
/* Or where these registers are. Callee-saved ones are not known. */
void prof_unwind_continue(struct prof_unwind *u, uintptr_t pc, uintptr_t sp, uintptr_t fp);
/* To the caller. */
enum prof_unwind_end prof_unwind_next(struct prof_unwind *u);

#endif
