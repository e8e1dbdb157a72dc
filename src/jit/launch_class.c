/* Launch classes: see launch_class.h. */
#include "jit/launch_class.h"

const char *jit_launch_class_name(enum jit_launch_class cls)
{
    static const char *const names[] = {"1d_full",   "1d",       "x32",       "x16_full",
                                        "x16",       "other",    "1d_pairs",  "x32_pairs",
                                        "x16_pairs", "1d_quads", "x32_quads", "x16_quads"};

    return cls < JIT_CLASS_COUNT ? names[cls] : "?";
}

enum jit_launch_class jit_launch_class_of(const uint32_t block[3])
{
    bool one_d = block[1] == 1 && block[2] == 1;
    uint32_t plane = block[0] * block[1]; /* threads with one z */
    enum jit_launch_class cls = JIT_CLASS_OTHER;

    if (one_d)
        cls = block[0] % 32 ? JIT_CLASS_1D : JIT_CLASS_1D_QUADS;
    else if (block[0] % 32 == 0)
        cls = block[0] == 32 ? JIT_CLASS_X32_QUADS : JIT_CLASS_X32;
    else if (block[0] % 16 == 0)
        cls = block[0] == 16 && plane * block[2] % 32 == 0 ? JIT_CLASS_X16_QUADS : JIT_CLASS_X16;
    while (jit_launch_class_warps(cls) > 1 && plane % (32 * jit_launch_class_warps(cls)))
        cls = jit_launch_class_fewer(cls);
    return cls;
}
