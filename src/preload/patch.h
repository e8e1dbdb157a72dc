/*
 * Machine code that redirects a function: the sequences, per host architecture. Pure: they fill
 * buffers, whoever calls makes memory writable and flushes caches. No user of the registers that a
 * C function receives is disturbed: x86-64 uses none, AArch64 only x16, the linker's scratch.
 */
#ifndef HD_PRELOAD_PATCH_H
#define HD_PRELOAD_PATCH_H

#include "base/compiler.h"

/* Bytes of the longest sequence. */
#define PATCH_JUMP_MAX_B 24

/*
 * Writes at `code` a jump to `target` that will execute at address `addr`. A landing pad for
 * indirect branches (endbr64, bti) at the start is kept. room_B is what may be overwritten.
 * Returns the bytes written, or 0 when there is too little room.
 */
size_t patch_write_jump(uint8_t *code, size_t room_B, uintptr_t target);

/*
 * The same in less room, for a target near `addr`: see patch_near_range_B(). 0 when neither fits.
 */
size_t patch_write_near_jump(uint8_t *code, size_t room_B, uintptr_t addr, uintptr_t target);
size_t patch_near_range_B(void);

#endif
