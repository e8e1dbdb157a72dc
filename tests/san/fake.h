/*
 * A kernel and a launch that never run, for findings about them: what tests of records and of
 * `heddle check` report. Line 41 of race.cu writes shared memory, line 7 of axpy.cuh, which was
 * inlined at line 20 of main.cu, writes global memory.
 */
#ifndef HD_TESTS_SAN_FAKE_H
#define HD_TESTS_SAN_FAKE_H

#include "san/record.h"
#include "san/tool.h"

struct fake {
    struct ir_module *module;
    const struct ir_instr *write_global, *write_shared, *read_shared, *plain;
    struct san_launch launch;
    struct ir_probe_cta base;
    struct san_cta cta;
    struct san_stack stack;
};

static const char fake_text[] =
    "module \"t\" sm 75\n"
    "file \"/src/app/axpy.cuh\"\nfile \"/src/app/main.cu\"\nfile \"/src/app/race.cu\"\n"
    "inline \"_Z4axpyPffi\" !2:20\n"
    "kernel @_Z6kernelPfi visible {\n  params 16\n  param \"p\" offset 0 size 8 align 8\n"
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n  %2:b32 = const.b32 0x4\n"
    "  st.b32.global [%1], %2 !1:7:3@1\n"
    "  st.b32.shared [%0], %2 !3:41:5\n"
    "  %3:b32 = ld.b32.shared [%0] !3:51:9\n"
    "  st.b32.global [%1], %3\n"
    "  ret\n}\n";

static inline const struct ir_instr *fake_at(struct fake *f, uint32_t number)
{
    return ir_module_instr_at(f->module, number);
}

/* False: the text is wrong. */
static inline bool fake_init(struct fake *f)
{
    *f = (struct fake){0};
    if (ir_read_module(fake_text, sizeof(fake_text) - 1, "fake", &f->module) != HD_OK)
        return false;
    f->write_global = fake_at(f, 4);
    f->write_shared = fake_at(f, 5);
    f->read_shared = fake_at(f, 6);
    f->plain = fake_at(f, 7);
    san_stack_take(&f->stack);
    f->launch.about.kernel = f->module->funcs;
    f->launch.about.grid[0] = 4;
    f->launch.about.block[0] = 64;
    for (int i = 1; i < 3; i++)
        f->launch.about.grid[i] = f->launch.about.block[i] = 1;
    f->launch.number = 3;
    f->launch.nthreads = 64;
    f->launch.from = &f->stack;
    f->base.ctaid[0] = 2;
    f->cta = (struct san_cta){.base = &f->base, .launch = &f->launch};
    return true;
}

static inline void fake_fini(struct fake *f)
{
    ir_module_destroy(f->module);
}

static inline struct san_actor fake_actor(struct fake *f, const struct ir_instr *at, uint32_t warp,
                                          uint32_t lane, const char *verb)
{
    return (struct san_actor){.cta = &f->cta, .at = at, .warp = warp, .lane = lane, .verb = verb};
}

/* A write beyond an allocation, by thread 37. */
static inline struct san_finding fake_invalid_write(struct fake *f)
{
    struct san_finding finding = {
        .tool = "memcheck",
        .kind = "invalid-write",
        .severity = SAN_ERROR,
        .title = "Invalid __global__ write of size 4 bytes",
        .actors = {fake_actor(f, f->write_global, 1, 5, NULL)},
        .nactors = 1,
        .address = 0x7f6510c00fa0,
        .has_address = true,
        .allocated = &f->stack,
        .space = "global",
        .direction = "write",
        .size_B = 4,
    };
    san_detail(&finding, "Address 0x%llx is out of bounds", (unsigned long long)finding.address);
    san_detail(&finding, "and is %s after the nearest allocation at 0x7f6510c00000 of size %s",
               "1 bytes", "4,000 bytes");
    return finding;
}

static inline struct san_finding fake_race(struct fake *f)
{
    return (struct san_finding){
        .tool = "racecheck",
        .kind = "race",
        .severity = SAN_ERROR,
        .title = "Race reported between",
        .actors = {fake_actor(f, f->write_shared, 0, 0, "Write access"),
                   fake_actor(f, f->read_shared, 1, 0, "Read access")},
        .nactors = 2,
        .count = 508,
    };
}

static inline struct san_finding fake_hazard(struct fake *f)
{
    struct san_finding finding = {
        .tool = "racecheck",
        .kind = "hazard-waw",
        .severity = SAN_WARNING,
        .title = "Potential WAW hazard detected at __shared__ 0x8c in block (2,0,0) :",
        .actors = {fake_actor(f, f->write_shared, 0, 0, "Write Thread"),
                   fake_actor(f, f->write_shared, 0, 1, "Write Thread")},
        .nactors = 2,
        .address = 0x8c,
        .has_address = true,
    };
    san_detail(&finding, "Current Value : 1, Incoming Value : 2");
    return finding;
}

static inline struct san_finding fake_api_error(struct fake *f)
{
    return (struct san_finding){
        .tool = "memcheck",
        .kind = "api-error",
        .severity = SAN_ERROR,
        .title = "Program hit cudaErrorMemoryAllocation (error 2) due to \"out of memory\" on CUDA "
                 "API call to cudaMalloc.",
        .stack = &f->stack,
        .call = {"cudaMalloc", "cudaErrorMemoryAllocation", "out of memory", 2},
    };
}

static inline struct san_finding fake_leak(struct fake *f)
{
    return (struct san_finding){
        .tool = "memcheck",
        .kind = "leak",
        .severity = SAN_ERROR,
        .title = "Leaked 1,024 bytes at 0x7879c0800000",
        .address = 0x7879c0800000,
        .has_address = true,
        .size_B = 1024,
        .allocated = &f->stack,
    };
}

#endif
