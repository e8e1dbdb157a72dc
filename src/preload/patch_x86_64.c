/* x86-64 sequences (Intel SDM vol. 2: JMP, MOV, ENDBR64). */
#include "preload/patch.h"

#ifdef __x86_64__
#include <assert.h>
#include <string.h>

static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};

static size_t landing_pad_B(const uint8_t *code, size_t room_B)
{
    return room_B >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)) ? sizeof(endbr64)
                                                                                : 0;
}

size_t patch_write_jump(uint8_t *code, size_t room_B, uintptr_t target)
{
    static const uint8_t jmp_next_qword[6] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    const size_t jump_B = sizeof(jmp_next_qword) + sizeof(target);
    size_t at = landing_pad_B(code, room_B);
    if (room_B < at + jump_B)
        at = 0; /* no room behind the pad: direct calls need none */
    if (room_B < jump_B)
        return 0;
    assert(at + jump_B <= room_B && at + jump_B <= PATCH_JUMP_MAX_B);
    memcpy(code + at, jmp_next_qword, sizeof(jmp_next_qword));
    memcpy(code + at + sizeof(jmp_next_qword), &target, sizeof(target));
    return at + jump_B;
}

size_t patch_near_range_B(void)
{
    return (size_t)1 << 30;
}

size_t patch_write_near_jump(uint8_t *code, size_t room_B, uintptr_t addr, uintptr_t target)
{
    int64_t distance = (int64_t)target - (int64_t)(addr + 5);
    int32_t rel = (int32_t)distance;
    if (room_B < 5 || rel != distance)
        return 0;
    code[0] = 0xe9; /* jmp rel32 */
    memcpy(code + 1, &rel, sizeof(rel));
    return 5;
}
#endif
