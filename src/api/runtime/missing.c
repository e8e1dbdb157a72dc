/*
 * The entry points that are not implemented: each exists, says its name once and fails. Made from
 * the table; no header declares them here, because a stub takes whatever it is called with.
 */
#include "runtime.h"

/* The rows' third column selects whether there is a stub, the second who exports it. */
#define STUB_YES(symbol, nodes)
#define STUB_NO(symbol, nodes)                                                                     \
    cudaError_t rt_stub_##symbol(void);                                                            \
    EXPORT_##nodes(symbol) cudaError_t rt_stub_##symbol(void)                                      \
    {                                                                                              \
        static _Atomic bool logged;                                                                \
        return rt_missing(#symbol, &logged);                                                       \
    }

/* A name of one version only: the version script knows its node. */
#define EXPORT_PLAIN(symbol)                                                                       \
    __asm__(".globl " #symbol "\n.type " #symbol ", %function\n.set " #symbol ", "                 \
            "rt_stub_" #symbol);
#ifdef RT_STATIC
#define EXPORT_BOTH(symbol) EXPORT_PLAIN(symbol)
#define EXPORT_V12(symbol)
#else
#define EXPORT_BOTH(symbol)                                                                        \
    RT_ALIAS_(rt_stub_##symbol, rt13_, symbol, "@@libcudart.so.13")                                \
    RT_ALIAS_(rt_stub_##symbol, rt12_, symbol, "@libcudart.so.12")
#define EXPORT_V12(symbol) EXPORT_PLAIN(symbol)
#endif
#define EXPORT_SPLIT(symbol) EXPORT_BOTH(symbol)
#define EXPORT_V13(symbol)   EXPORT_PLAIN(symbol)

#define X(symbol, nodes, have) STUB_##have(symbol, nodes)
#include "api/runtime.def"
#undef X
