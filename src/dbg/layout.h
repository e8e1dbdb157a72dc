/*
 * Addresses as GDB sees them.
 *
 * Those of the host stay what they are: generic and global addresses of kernels are host addresses.
 * What has none gets one that no program has, told by its topmost four bits:
 *
 *     TEXT    instruction n of unit u: one address each, DBG_INSN_B apart
 *     STACK   frames, in a window for each thread
 *     SHARED  shared variables, of the current thread's CTA; from DBG_SHARED_WINDOW on all of its
 *             shared memory, by PTX's addresses
 *     GLOBAL  variables of a module, of the current thread's module
 *     SPECIAL threadIdx and the like, of the current thread
 *
 * A frame is DBG_FRAME_B bytes; its stack pointer is its lowest address, its CFA the one above it,
 * which is the caller's stack pointer. So DWARF that says "register 7 (rsp) plus offset" is right
 * in every frame, and unwinding needs no more than that:
 *
 *     rsp + 16 * r              PTX register number r of the function
 *     rsp + DBG_LOCALS + offset local variables and parameters (dbg_var.at)
 *     rsp + DBG_FRAME_B - 8     the address to return to
 */
#ifndef HD_DBG_LAYOUT_H
#define HD_DBG_LAYOUT_H

#include <stdint.h>

#define DBG_SPACE_SHIFT 60
#define DBG_TEXT        ((uint64_t)4 << DBG_SPACE_SHIFT)
#define DBG_STACK       ((uint64_t)5 << DBG_SPACE_SHIFT)
#define DBG_SHARED      ((uint64_t)6 << DBG_SPACE_SHIFT)
#define DBG_GLOBAL      ((uint64_t)7 << DBG_SPACE_SHIFT)
#define DBG_SPECIAL     ((uint64_t)3 << DBG_SPACE_SHIFT)

#define DBG_SHARED_WINDOW (DBG_SHARED + ((uint64_t)1 << (DBG_SPACE_SHIFT - 1)))

#define DBG_UNIT_SHIFT 32 /* number of the unit, above what is in it */
#define DBG_INSN_B     8

#define DBG_FRAME_B   ((uint64_t)1 << 25)
#define DBG_LOCALS    ((uint64_t)1 << 24)
#define DBG_REG_B     16
#define DBG_RETURN_AT (DBG_FRAME_B - 8)

/* A window has 131,072 frames. Threads that are 262,144 numbers apart share one: threads.c. */
#define DBG_WINDOW_SHIFT   42
#define DBG_WINDOWS        ((uint64_t)1 << (DBG_SPACE_SHIFT - DBG_WINDOW_SHIFT))
#define DBG_STACK_TOP(tid) (DBG_STACK + (((tid) % (DBG_WINDOWS - 1) + 1) << DBG_WINDOW_SHIFT))

/* Where the host program is, as far as this debugger knows. */
#define DBG_HOST_PC (DBG_SPECIAL + 0x1000)

/* What a function has returned to the thread. */
#define DBG_RETURNED (DBG_SPECIAL + 0x2000)

/* name, offset from DBG_SPECIAL, special register, as the elements of a struct of three */
#define DBG_SPECIAL_LIST(X)                                                                        \
    X(threadIdx, 0x00, TID)                                                                        \
    X(blockIdx, 0x10, CTAID)                                                                       \
    X(blockDim, 0x20, NTID)                                                                        \
    X(gridDim, 0x30, NCTAID)
#define DBG_WARP_SIZE_AT 0x40
#define DBG_SPECIAL_B    0x48

#endif
