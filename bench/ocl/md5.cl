/* Search for the key whose MD5 is known: integer arithmetic in registers only. */
#define MD5_U         uint
#define MD5_ROL(x, s) rotate((x), (uint)(s))
#include "md5_steps.h"

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void md5(uint base, int n, uint4 target,
                                                                   __global uint *found)
{
    int i = get_global_id(0);

    if (i >= n)
        return;
    uint key = base + i, A, B, C, D;

    MD5_BODY(key, A, B, C, D);
    if (A == target.x && B == target.y && C == target.z && D == target.w)
        *found = key;
}
