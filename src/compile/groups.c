/* See groups.h. */
#include "compile/groups.h"

#include <string.h>

/* Threads of the grid that the thread is in, and the thread's number in it. */
#define GRID_THREADS                                                                               \
    "mov.u32 a, %nctaid.x; mov.u32 b, %nctaid.y; mul.lo.u32 a, a, b; mov.u32 b, %nctaid.z;\n"      \
    "mul.lo.u32 a, a, b; mov.u32 b, %ntid.x; mul.lo.u32 a, a, b; mov.u32 b, %ntid.y;\n"            \
    "mul.lo.u32 a, a, b; mov.u32 b, %ntid.z; mul.lo.u32 a, a, b;\n"
#define THREAD_IN_GRID                                                                             \
    "mov.u32 a, %ctaid.z; mov.u32 b, %nctaid.y; mov.u32 c, %ctaid.y; mad.lo.u32 a, a, b, c;\n"     \
    "mov.u32 b, %nctaid.x; mov.u32 c, %ctaid.x; mad.lo.u32 a, a, b, c;\n"                          \
    "mov.u32 b, %ntid.z; mov.u32 c, %tid.z; mad.lo.u32 a, a, b, c;\n"                              \
    "mov.u32 b, %ntid.y; mov.u32 c, %tid.y; mad.lo.u32 a, a, b, c;\n"                              \
    "mov.u32 b, %ntid.x; mov.u32 c, %tid.x; mad.lo.u32 a, a, b, c;\n"
/* clang-format off */
#define REGS ".reg .pred p, q; .reg .b32 a, b, c, size, error; .reg .b64 h, at, x, y, all;\n"
#define WEAK(name, params) ".weak .func (.param .b32 result) " name "(" params ")\n{\n" REGS
/* Of a handle: is it a multi-device launch's (p)? None at all is an error. */
#define OPEN                                                                                       \
    "ld.param.u64 h, [handle]; mov.u32 error, 1; setp.eq.u64 p, h, 0; @p bra end;\n"               \
    "mov.u32 error, 0; ld.u32 size, [h]; setp.eq.u32 p, size, 64;\n"
#define CLOSE "end: st.param.b32 [result], error; ret;\n}\n"
/* Where the caller wants it. */
#define GIVE(param, value)                                                                         \
    "ld.param.u64 at, [" param "]; setp.ne.u64 q, at, 0; @q st.u32 [at], " value ";\n"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 record) __heddleMdc;\n"

    ".weak .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n" REGS
    ".param .b64 record;\n"
    "ld.param.u32 a, [scope]; mov.u64 h, 0; setp.eq.u32 p, a, 2; @p bra mdc;\n"
    "setp.ne.u32 p, a, 1; @p bra end;\n"
    "mov.u32 a, %envreg1; mov.u32 b, %envreg2; mov.b64 h, {b, a}; bra end;\n"
    "mdc: call (record), __heddleMdc; ld.param.u64 h, [record];\n"
    "end: st.param.b64 [result], h; ret;\n}\n"

    /* One thread per block; the upper bit changes when the last one has come. */
    WEAK("cudaCGSynchronizeGrid", ".param .b64 handle, .param .b32 flags") OPEN
    "@p mov.u32 error, 1; @p bra end;\n"
    "barrier.sync 0; mov.u32 a, %tid.x; mov.u32 b, %tid.y; or.b32 a, a, b; mov.u32 b, %tid.z;\n"
    "or.b32 a, a, b; setp.ne.u32 p, a, 0; @p bra meet;\n"
    "mov.u32 a, %ctaid.x; mov.u32 b, %ctaid.y; or.b32 a, a, b; mov.u32 b, %ctaid.z;\n"
    "or.b32 a, a, b; setp.ne.u32 p, a, 0; mov.u32 c, 1; @p bra come;\n"
    "mov.u32 a, %nctaid.x; mov.u32 b, %nctaid.y; mul.lo.u32 a, a, b; mov.u32 b, %nctaid.z;\n"
    "mul.lo.u32 a, a, b; sub.u32 a, a, 1; sub.u32 c, 0x80000000, a;\n"
    "come: fence.sc.gpu; atom.add.acq_rel.gpu.u32 a, [h+4], c;\n"
    "again: ld.acquire.gpu.u32 b, [h+4]; xor.b32 b, a, b; setp.ge.s32 q, b, 0; @q bra again;\n"
    "fence.sc.gpu;\n"
    "meet: barrier.sync 0;\n" CLOSE

    /* A grid, or several: each thread counts itself; all are there at the counter's next multiple. */
    WEAK("cudaCGSynchronize", ".param .b64 handle, .param .b32 flags") OPEN
    "@p bra mdc;\n"
    "{ .param .b64 grid; .param .b32 none, failed; st.param.b64 [grid], h; st.param.b32 [none], 0;\n"
    "call (failed), cudaCGSynchronizeGrid, (grid, none); ld.param.b32 error, [failed]; }\n"
    "bra end;\nmdc: "
    "ld.u64 all, [h+24]; ld.u64 at, [h+32]; fence.sc.sys;\n"
    "atom.add.acq_rel.sys.u64 x, [at], 1; div.u64 x, x, all; mad.lo.u64 x, x, all, all;\n"
    "again: ld.acquire.sys.u64 y, [at]; setp.lt.u64 q, y, x; @q bra again;\n"
    "fence.sc.sys;\n" CLOSE

    WEAK("cudaCGGetSize", ".param .b64 threads, .param .b64 grids, .param .b64 handle") OPEN
    "@p ld.u32 c, [h+8]; @!p mov.u32 c, 1;\n" GIVE("grids", "c") GRID_THREADS
    "mul.lo.u32 a, a, c;\n" GIVE("threads", "a") CLOSE

    WEAK("cudaCGGetRank", ".param .b64 thread, .param .b64 grid, .param .b64 handle") OPEN
    "@p ld.u32 size, [h+4]; @!p mov.u32 size, 0;\n" GIVE("grid", "size")
    GRID_THREADS "mul.lo.u32 error, a, size;\n" THREAD_IN_GRID "add.u32 a, a, error;\n"
    "mov.u32 error, 0;\n" GIVE("thread", "a") CLOSE;
/* clang-format on */

const struct compile_unit compile_groups = {
    .name = "cooperative groups", .ptx = text, .len = sizeof(text) - 1};

static bool calls(const struct ptx_module *module)
{
    for (const struct ptx_func *f = module->funcs; f; f = f->next_func)
        if (!f->has_body && hd_str_starts(f->sym.name, "cudaCG"))
            return true;
    return false;
}

bool compile_wants_groups(struct ptx_module *const *modules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls(modules[i]))
            return true;
    return false;
}
