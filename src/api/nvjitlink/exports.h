/*
 * The names of the functions. Programs call nvJitLinkFoo(), which both version nodes have; the
 * manual's header maps it to __nvJitLinkFoo_13_0() of the release that a program was built with.
 * Aliases need the functions in their own object file: included once, behind them.
 */
#ifndef HD_API_NVJITLINK_EXPORTS_H
#define HD_API_NVJITLINK_EXPORTS_H

#include "api/nvjitlink/nvjitlink.h"

#define JL_ALIAS(func, alias)                                                                      \
    __asm__(".globl " #alias "\n.type " #alias ", %function\n.set " #alias ", " #func);
#define JL_PLAIN(name, func, alias, version)                                                       \
    JL_ALIAS(func, alias)                                                                          \
    __asm__(".symver " #alias ", nvJitLink" #name version);
#define JL_BOTH(name, func12, func13)                                                              \
    JL_PLAIN(name, func12, jl12_##name, "@libnvJitLink.so.12")                                     \
    JL_PLAIN(name, func13, jl13_##name, "@@libnvJitLink.so.13")
#define JL_RELEASE(name, release) JL_ALIAS(jl_##name, __nvJitLink##name##_##release)

#define JL_EXPORT(name, ...)                                                                       \
    JL_BOTH(name, jl_##name, jl_##name)                                                            \
    JL_RELEASE(name, 12_0)                                                                         \
    JL_RELEASE(name, 12_1)                                                                         \
    JL_RELEASE(name, 12_2)                                                                         \
    JL_RELEASE(name, 12_3)                                                                         \
    JL_RELEASE(name, 12_4)                                                                         \
    JL_RELEASE(name, 12_5)                                                                         \
    JL_RELEASE(name, 12_6)                                                                         \
    JL_RELEASE(name, 12_7)                                                                         \
    JL_RELEASE(name, 12_8)                                                                         \
    JL_RELEASE(name, 12_9)                                                                         \
    JL_RELEASE(name, 13_0)                                                                         \
    JL_RELEASE(name, 13_1)                                                                         \
    JL_RELEASE(name, 13_2)                                                                         \
    JL_RELEASE(name, 13_3)                                                                         \
    JL_RELEASE(name, 13_4)                                                                         \
    JL_RELEASE(name, 13_5)

JL_FUNCTION_LIST(JL_EXPORT)
JL_BOTH(Version, jl_Version12, jl_Version13)

#endif
