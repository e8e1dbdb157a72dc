/*
 * What LLVM makes of a kernel: from LLVM IR to an object.
 *
 * LLVM takes 0.1 ms for an instruction on 16 lanes, ten times that without AVX, and more where
 * values outnumber registers. Kernels that would take it long can be had sooner, in slower code:
 * without most of the optimiser, in short blocks, without register allocation across blocks.
 */
#include "jit/gen/gen_outline.h"
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/gen_recover.h"
#include "jit/gen/post/gen_post.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "base/lock.h"
#include "base/log.h"

static enum hd_status llvm_fail(struct gen_result *out, const char *what, char *llvm_message)
{
    snprintf(out->error, sizeof(out->error), "%s: %s", what, llvm_message ? llvm_message : "?");
    LLVMDisposeMessage(llvm_message);
    return HD_JIT;
}

/* ---- target machines */

/*
 * A target machine works out what a CPU's features mean when it is first used, which takes as long
 * as a quarter of a small kernel's quick code. So those that no compilation uses are kept. One that
 * a compilation left behind by a crash has is never seen again.
 */
struct machine {
    LLVMTargetMachineRef tm;
    bool quick;
    enum jit_path path;
    char *features;
    struct machine *next;
};

static struct {
    pthread_mutex_t lock;
    struct machine *free;
} machines = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(machines, machines.lock);

static struct machine *llvm_machine_create(const struct gen_request *req, bool quick,
                                           char **out_message)
{
    LLVMTargetRef target;
    const char *triple = "x86_64-unknown-linux-gnu";
    if (LLVMGetTargetFromTriple(triple, &target, out_message))
        return NULL;
    struct machine *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    LLVMCodeGenOptLevel level = quick ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
    *m = (struct machine){.quick = quick, .path = req->path, .features = strdup(req->features)};
    if (m->features)
        m->tm = LLVMCreateTargetMachine(target, triple, gen_cpu_name(req->path), req->features,
                                        level, LLVMRelocPIC, LLVMCodeModelSmall);
    if (m->tm)
        return m;
    free(m->features);
    free(m);
    return NULL;
}

static bool llvm_machine_fits(const struct machine *m, const struct gen_request *req, bool quick)
{
    return m->quick == quick && m->path == req->path && !strcmp(m->features, req->features);
}

static struct machine *llvm_machine_take(const struct gen_request *req, bool quick,
                                         char **out_message)
{
    struct machine **link = &machines.free, *m;

    pthread_mutex_lock(&machines.lock);
    while (*link && !llvm_machine_fits(*link, req, quick))
        link = &(*link)->next;
    m = *link;
    if (m)
        *link = m->next;
    pthread_mutex_unlock(&machines.lock);
    return m ? m : llvm_machine_create(req, quick, out_message);
}

static void llvm_machine_give(struct machine *m)
{
    pthread_mutex_lock(&machines.lock);
    m->next = machines.free;
    machines.free = m;
    pthread_mutex_unlock(&machines.lock);
}

/* ---- how much work LLVM is given */

static uint64_t llvm_instrs_of(LLVMValueRef fn)
{
    uint64_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            n++;
    return n;
}

/* The best code has the body of what is outlined in place of each call. */
static uint64_t llvm_instrs_of_calls(struct gen_unit *u)
{
    uint64_t n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        uint64_t calls = 0;
        if (!LLVMGetFirstBasicBlock(f) || !gen_outline_is_inlined(u, f))
            continue;
        for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetNextUse(use))
            calls++;
        n += calls > 1 ? (calls - 1) * llvm_instrs_of(f) : 0;
    }
    return n;
}

static struct gen_work llvm_work_of(struct gen_unit *u)
{
    struct gen_work work = {.ir_instrs = u->ir_instrs, .llvm_instrs = llvm_instrs_of_calls(u)};
    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            work.llvm_blocks++;
        work.llvm_instrs += llvm_instrs_of(f);
    }
    return work;
}

/* About how many instructions of AVX-512 take LLVM as long as one here. */
static uint64_t llvm_path_weight(const struct gen_request *req)
{
    if (req->path != JIT_GENERIC)
        return req->path == JIT_AVX512 ? 1 : 2;
    return strstr(req->features, "sse4") ? 5 : 10; /* without: not even 32-bit multiplication */
}

/*
 * Beyond these LLVM's optimiser and register allocation take too long, the latter in the product of
 * blocks and values that live through them: such functions never get better than quick code.
 */
#define QUICK_INSTRS         100000
#define QUICK_BLOCKS         6000
#define QUICK_BLOCKS_CROWDED 3000

static bool llvm_is_too_large(const struct gen_unit *u, const struct gen_work *work)
{
    return work->llvm_instrs > QUICK_INSTRS ||
           work->llvm_blocks > (u->body.crowded ? QUICK_BLOCKS_CROWDED : QUICK_BLOCKS);
}

/*
 * From here on, in instructions of AVX-512, quick code is worth having while better is made. A CTA
 * ends in the code in which it began, so it is sooner where that takes no time: without loops and
 * calls, which cost_ops counts a million each.
 */
#define SOON_INSTRS          6000
#define SOON_INSTRS_STRAIGHT 100
#define STRAIGHT_OPS         100000

#define BEST_US_PER_INSTR 20 /* of AVX-512 */

/*
 * With one CPU what quick code takes to make, half as long, is lost if the best is made as well,
 * and so is the time for which loops run in it. The estimate is half as much again as what it takes
 * with AVX2.
 */
#define ALONE_SOON_US          700000
#define ALONE_SOON_STRAIGHT_US 500000

static uint64_t llvm_weighed(const struct gen_unit *u, const struct gen_work *work)
{
    return work->llvm_instrs * llvm_path_weight(u->req);
}

static bool llvm_is_straight(const struct gen_unit *u)
{
    return u->facts.cost_ops < STRAIGHT_OPS;
}

static bool llvm_takes_long(const struct gen_unit *u, const struct gen_work *work)
{
    return llvm_weighed(u, work) > (llvm_is_straight(u) ? SOON_INSTRS_STRAIGHT : SOON_INSTRS);
}

/*
 * Of a launch of many CTAs little is lost in those that end in the code in which they began, loops
 * or not. CTAs that wait for each other all do, though.
 */
static bool llvm_may_be_for_many(const struct gen_unit *u, const struct gen_work *work)
{
    return u->req->effort == GEN_MANY && !u->facts.may_spin &&
           llvm_weighed(u, work) > SOON_INSTRS_STRAIGHT;
}

/* Decides for quick code; facts.quick says that there is better. */
static bool llvm_is_quick(struct gen_unit *u, const struct gen_work *work)
{
    enum gen_effort effort = u->req->effort;

    u->facts.quick = u->facts.many = false;
    if (u->req->form == GEN_SIMPLE || llvm_is_too_large(u, work))
        return true;
    u->facts.quick = effort == GEN_QUICK || (effort != GEN_BEST && llvm_takes_long(u, work));
    if (!u->facts.quick)
        u->facts.quick = u->facts.many = llvm_may_be_for_many(u, work);
    if (!u->facts.quick)
        return false;
    uint64_t best_us = llvm_weighed(u, work) * BEST_US_PER_INSTR;
    if (u->req->alone && effort != GEN_QUICK &&
        best_us < (llvm_is_straight(u) ? ALONE_SOON_STRAIGHT_US : ALONE_SOON_US)) {
        u->facts.quick = u->facts.many = false;
        return false;
    }
    u->facts.best_us = (uint32_t)HD_MIN(best_us, (uint64_t)UINT32_MAX);
    return true;
}

/* ---- LLVM's part */

static enum hd_status llvm_optimise(struct gen_unit *u, LLVMTargetMachineRef tm, bool quick,
                                    struct gen_result *out)
{
    static const char all[] = "function(sroa),always-inline,function(sroa,early-cse<memssa>,"
                              "instcombine<no-verify-fixpoint>,simplifycfg,"
                              "loop-mssa(licm),early-cse)";
    const char *passes = quick ? "function(sroa,early-cse,simplifycfg)" : all;
    if (u->req->form == GEN_SIMPLE)
        return HD_OK;
    if (u->req->kernel->module->has_counts && !quick)
        gen_count_apart(u);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef err = LLVMRunPasses(u->mod, passes, tm, options);
    LLVMDisposePassBuilderOptions(options);
    if (!err)
        return HD_OK;
    char *text = LLVMGetErrorMessage(err);
    snprintf(out->error, sizeof(out->error), "optimiser: %s", text);
    LLVMDisposeErrorMessage(text);
    return HD_JIT;
}

static enum hd_status llvm_emit_object(struct gen_unit *u, LLVMTargetMachineRef tm,
                                       struct gen_result *out)
{
    char *message = NULL;
    LLVMMemoryBufferRef buf;
    if (hd_debug(HD_DEBUG_ASM)) {
        LLVMMemoryBufferRef text;
        LLVMModuleRef copy = LLVMCloneModule(u->mod);
        if (!LLVMTargetMachineEmitToMemoryBuffer(tm, copy, LLVMAssemblyFile, &message, &text)) {
            out->asm_text = strndup(LLVMGetBufferStart(text), LLVMGetBufferSize(text));
            LLVMDisposeMemoryBuffer(text);
        }
        LLVMDisposeModule(copy);
    }
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, u->mod, LLVMObjectFile, &message, &buf))
        return llvm_fail(out, "code generation", message);
    out->object_B = LLVMGetBufferSize(buf);
    out->object = malloc(out->object_B);
    if (out->object)
        memcpy(out->object, LLVMGetBufferStart(buf), out->object_B);
    LLVMDisposeMemoryBuffer(buf);
    return out->object ? HD_OK : HD_NO_MEMORY;
}

static enum hd_status llvm_make_object(struct gen_unit *u, LLVMTargetMachineRef tm, bool quick,
                                       struct gen_result *out)
{
    assert(!out->object && u->req->form <= GEN_SIMPLE);
    char *message = NULL;
    struct machine *own = quick ? llvm_machine_take(u->req, true, &message) : NULL;
    if (quick && !own)
        return llvm_fail(out, "target", message);
    enum hd_status status = llvm_optimise(u, tm, quick, out);
    if (status == HD_OK)
        status = gen_post_run(u, quick, out);
    if (status == HD_OK)
        status = llvm_emit_object(u, quick ? own->tm : tm, out);
    if (own)
        llvm_machine_give(own);
    return status;
}

/* A process that ends takes its kernels away, but not while one is read. */
static bool llvm_reading_begins(const struct gen_request *req)
{
    if (!req->reads)
        return true;
    assert(req->ending);
    atomic_store(req->reads, true);
    if (!atomic_load(req->ending))
        return true;
    atomic_store(req->reads, false);
    return false;
}

static void llvm_reading_ends(const struct gen_request *req)
{
    if (req->reads)
        atomic_store(req->reads, false);
}

/* Not mapped, and not known to the compiler: see gen_request.crash. */
static volatile uintptr_t wild_address = 16;

static enum hd_status llvm_compile(struct gen_unit *u, LLVMTargetMachineRef tm,
                                   struct gen_result *out)
{
    gen_srcloc_begin(u);
    enum hd_status status = gen_unit_build(u);
    gen_srcloc_end(u);
    if (u->singly)
        return HD_JIT;
    HD_TRY(status);
    out->work = llvm_work_of(u);
    if (u->no_memory)
        return HD_NO_MEMORY;
    if (u->error[0]) {
        snprintf(out->error, sizeof(out->error), "%s", u->error);
        return HD_NOT_SUPPORTED;
    }
    if (hd_debug(HD_DEBUG_LLVM)) {
        char *text = LLVMPrintModuleToString(u->mod);
        out->llvm_text = strdup(text);
        LLVMDisposeMessage(text);
    }
    HD_TRY(gen_post_verify(u, "generation", out));
    bool quick = llvm_is_quick(u, &out->work);
    if (quick && u->halves > 2) { /* more warps take LLVM longer */
        u->singly = true;
        return HD_JIT;
    }
    out->facts = u->facts;
    if (u->req->count_only)
        return HD_OK;
    if (u->req->break_llvm)
        gen_recover_break(u);
    for (volatile bool hang = u->req->hang; hang;)
        ;
    if (u->req->crash)
        *(volatile char *)wild_address = 1;
    llvm_reading_ends(u->req);
    HD_TRY(llvm_make_object(u, tm, quick, out));
    out->facts.fired = u->facts.fired;
    if (u->error[0]) { /* a diagnostic */
        free(out->object);
        out->object = NULL;
        snprintf(out->error, sizeof(out->error), "%s", u->error);
        return HD_JIT;
    }
    return HD_OK;
}

struct attempt {
    struct gen_unit *unit;
    LLVMTargetMachineRef tm;
    struct gen_result *out;
    enum hd_status status;
};

static void llvm_attempt_run(void *arg)
{
    struct attempt *a = arg;

    a->status = llvm_compile(a->unit, a->tm, a->out);
}

enum hd_status heddle_codegen_compile(const struct gen_request *req, struct gen_result *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    memset(out, 0, sizeof(*out));
    pthread_once(&once, gen_llvm_init);
    char *message = NULL;
    struct machine *machine = llvm_machine_take(req, false, &message);
    if (!machine)
        return llvm_fail(out, "target", message);
    if (!llvm_reading_begins(req)) {
        llvm_machine_give(machine);
        return HD_CANCELLED;
    }
    struct gen_unit unit = {.req = req,
                            .path = req->path,
                            .avx512 = req->path == JIT_AVX512,
                            .cls = gen_coarsen_fits(req) ? req->cls
                                                         : jit_launch_class_single(req->cls)};
    while (req->warps && jit_launch_class_warps(unit.cls) > req->warps)
        unit.cls = jit_launch_class_fewer(unit.cls);
    unit.halves = gen_halves_fit(req, unit.cls) ? 1 : 2 * jit_launch_class_warps(unit.cls);
    unit.ctx = LLVMContextCreate();
    unit.mod = LLVMModuleCreateWithNameInContext(req->kernel->name, unit.ctx);
    LLVMSetTarget(unit.mod, "x86_64-unknown-linux-gnu");
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine->tm);
    LLVMSetModuleDataLayout(unit.mod, layout);
    LLVMDisposeTargetData(layout);
    gen_types_init(&unit);
    struct attempt attempt = {&unit, machine->tm, out, HD_JIT};
    gen_recover_diagnostics(&unit);
    bool ran = gen_recover(llvm_attempt_run, &attempt, out->error, sizeof(out->error));
    llvm_reading_ends(req);
    if (!ran)
        return HD_JIT; /* and leaves what it had made */
    enum hd_status status = attempt.status;
    LLVMDisposeModule(unit.mod);
    LLVMContextDispose(unit.ctx);
    llvm_machine_give(machine);
    if (unit.singly) {
        struct gen_request other = *req;
        other.whole = unit.halves == 1;
        other.cls = jit_launch_class_fewer(unit.cls);
        return heddle_codegen_compile(&other, out);
    }
    if (!unit.deep || !out->facts.quick || (req->effort != GEN_SOON && req->effort != GEN_MANY))
        return status;
    /* Quick code keeps every value in memory: the best needs less. */
    struct gen_request best = *req;
    best.effort = GEN_BEST;
    free(out->llvm_text);
    free(out->post_text);
    free(out->asm_text);
    return heddle_codegen_compile(&best, out);
}

const char *heddle_codegen_llvm_version(void)
{
    static char text[32];
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(text, sizeof(text), "%u.%u.%u", major, minor, patch);
    return text;
}

/*
 * InstCombine moves what only one block needs into it, operand by operand: of the chains of halves
 * that stand side by side it makes one after the other, each too long for a core to see the next.
 */
static const char *const options[] = {"heddle", "-instcombine-code-sinking=0"};

void gen_llvm_init(void)
{
    LLVMParseCommandLineOptions(HD_COUNT_OF(options), options, NULL);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    gen_recover_init();
}
