/* AArch64 sequences (Arm ARM, C6.2: LDR literal, BR, B, BTI). */
#include "preload/patch.h"

#ifdef __aarch64__
#include <string.h>

#define BTI_C 0xd503245fu

static void put_u32(uint8_t *at, uint32_t word)
{
    memcpy(at, &word, sizeof(word));
}

size_t patch_write_jump(uint8_t *code, size_t room_B, uintptr_t target)
{
    uint32_t first = 0;
    memcpy(&first, code, room_B >= sizeof(first) ? sizeof(first) : 0);
    size_t at = first == BTI_C && room_B >= 20 ? 4 : 0;
    if (room_B < at + 16)
        return 0;
    put_u32(code + at, 0x58000050u);     /* ldr x16, .+8 */
    put_u32(code + at + 4, 0xd61f0200u); /* br x16 */
    memcpy(code + at + 8, &target, sizeof(target));
    return at + 16;
}

size_t patch_near_range_B(void)
{
    return (size_t)100 << 20;
}

size_t patch_write_near_jump(uint8_t *code, size_t room_B, uintptr_t addr, uintptr_t target)
{
    int64_t words = ((int64_t)target - (int64_t)addr) / 4;
    if (room_B < 4 || words < -(1 << 25) || words >= 1 << 25)
        return 0;
    put_u32(code, 0x14000000u | ((uint32_t)words & 0x03ffffffu)); /* b */
    return 4;
}
#endif
