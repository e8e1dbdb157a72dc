/*
 * Runs a kernel through the JIT behind the interpreter's interface, so that the interpreter's
 * launch tests are the JIT's too (they are compiled with interp_launch replaced by
 * jit_harness_launch). One thread, CTAs one after the other; no device.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <immintrin.h>

#include "base/devprintf.h"
#include "base/lock.h"
#include "interp/interp.h"
#include "jit/jit.h"

enum hd_status jit_harness_launch(const struct interp_launch *launch,
                                  struct interp_fault *out_fault);

/* Tests of a path that this CPU does not have are skipped as a whole. */
__attribute__((constructor)) static void skip_absent_path(void)
{
    enum jit_path path;
    if (jit_path_get(&path) == HD_OK)
        return;
    printf("1..0 # SKIP this CPU lacks %s\n", getenv("HEDDLE_CPU"));
    exit(0);
}

struct run {
    const struct interp_launch *in;
    struct jit_launch launch;
    struct jit_cta cta;
    jmp_buf leave;
    enum hd_status status;
    uint64_t address;
};

static struct run *current;

static uint32_t bar_arrive(struct jit_cta *cta, struct jit_warp *warp, uint32_t id, uint32_t count,
                           uint32_t lanes, uint32_t votes)
{
    struct jit_barrier *b = &cta->bars[id & 15];
    uint32_t generation = b->generation, live = 0, arrived = (uint32_t)__builtin_popcount(lanes);
    for (uint32_t w = 0; w < cta->launch->nwarps; w++)
        live += (uint32_t)__builtin_popcount(cta->warps[w].alive);
    if (count && lanes == warp->alive)
        arrived = 32;
    b->arrived += arrived;
    b->votes += votes;
    if (b->arrived >= (count ? count : live)) {
        b->result_votes = b->votes;
        b->result_arrived = b->arrived;
        b->arrived = b->votes = 0;
        b->generation++;
        cta->opened++;
    }
    return generation;
}

static void vprintf_(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                     const uint64_t *format, const uint64_t *args, uint32_t *out)
{
    struct run *run = cta->launch->device;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(lanes >> l & 1))
            continue;
        struct hd_buf text;
        hd_buf_init(&text);
        out[l] = (uint32_t)hd_devprintf(&text, NULL, format[l], args[l]);
        if (run->in->ops->print)
            run->in->ops->print(run->in->ctx, false, text.ptr ? text.ptr : "", text.len);
        hd_buf_fini(&text);
    }
}

static void fault(struct jit_cta *cta, struct jit_warp *warp, uint32_t status, uint64_t address)
{
    struct run *run = cta->launch->device;
    run->status = hd_error((enum hd_status)status, "fault at 0x%llx", (unsigned long long)address);
    run->address = address;
    longjmp(run->leave, 1);
}

static void assertfail(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                       const uint64_t *message, const uint64_t *file, const uint32_t *line,
                       const uint64_t *function, const uint64_t *charsize)
{
    fault(cta, warp, HD_ASSERT, 0);
}

static void malloc_(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes,
                    const uint64_t *size, uint64_t *out)
{
    const struct interp_launch *in = ((struct run *)cta->launch->device)->in;
    for (uint32_t l = 0; l < 32; l++) {
        if (lanes >> l & 1)
            out[l] = in->ops->malloc_ ? in->ops->malloc_(in->ctx, size[l]) : 0;
    }
}

static void free_(struct jit_cta *cta, struct jit_warp *warp, uint32_t lanes, const uint64_t *ptr)
{
    const struct interp_launch *in = ((struct run *)cta->launch->device)->in;
    for (uint32_t l = 0; l < 32; l++) {
        if ((lanes >> l & 1) && in->ops->free_)
            in->ops->free_(in->ctx, ptr[l]);
    }
}

static uint64_t clock_(struct jit_cta *cta)
{
    return __builtin_ia32_rdtsc();
}

static uint64_t timer(struct jit_cta *cta)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nanosleep_(struct jit_cta *cta, uint32_t ns)
{
}

static void yield_(struct jit_cta *cta, struct jit_warp *warp)
{
}

static const struct jit_services services = {.bar_arrive = bar_arrive,
                                             .vprintf_ = vprintf_,
                                             .assertfail = assertfail,
                                             .malloc_ = malloc_,
                                             .free_ = free_,
                                             .fault = fault,
                                             .clock = clock_,
                                             .globaltimer = timer,
                                             .nanosleep = nanosleep_,
                                             .yield = yield_};

static void on_signal(int sig, siginfo_t *info, void *context)
{
    if (!current)
        abort();
    current->status = hd_error(HD_ILLEGAL_ADDRESS, "signal %d", sig);
    longjmp(current->leave, 1);
}

static bool cta_round(struct run *run, const struct jit_code *code, bool *out_progress)
{
    bool live = false;
    *out_progress = false;
    for (uint32_t w = 0; w < run->launch.nwarps; w++) {
        struct jit_warp *warp = &run->cta.warps[w];
        if (warp->state == UINT32_MAX)
            continue;
        uint32_t opened = run->cta.opened, before = warp->state, alive = warp->alive;
        warp->state = code->run(&run->cta, warp);
        *out_progress |= warp->state != before || run->cta.opened != opened ||
                         warp->alive != alive || JIT_STOP(warp->state) == JIT_YIELD;
        if (!warp->state) {
            warp->state = UINT32_MAX;
            warp->alive = 0;
            bar_arrive(&run->cta, warp, 0, 0, 0, 0); /* the last one may open a counted barrier */
            *out_progress = true;
        } else {
            live = true;
        }
    }
    if (live && code->simple_barriers) {
        struct jit_barrier *b = &run->cta.bars[0];
        b->result_votes = b->votes;
        b->result_arrived = b->arrived;
        b->votes = b->arrived = 0;
        *out_progress = true;
    }
    return live;
}

static void run_cta(struct run *run, const struct jit_code *code, char *frames, char *local)
{
    uint32_t threads = run->in->block[0] * run->in->block[1] * run->in->block[2];
    memset(frames, 0, code->frame_B * run->launch.nwarps);
    memset(run->cta.bars, 0, sizeof(run->cta.bars));
    run->cta.local = local;
    run->cta.frames = frames;
    for (uint32_t w = 0; w < run->launch.nwarps; w++) {
        uint32_t left = threads - w * 32;
        run->cta.warps[w] = (struct jit_warp){.index = w,
                                              .alive = left >= 32 ? ~0u : (1u << left) - 1,
                                              .frame = frames + w * code->frame_B};
    }
    if (code->run_cta) {
        code->run_cta(&run->cta);
        return;
    }
    unsigned idle = 0;
    bool progress;
    while (cta_round(run, code, &progress)) {
        idle = progress ? 0 : idle + 1;
        if (idle > 1000) {
            run->status = hd_error(HD_TIMEOUT, "deadlock");
            longjmp(run->leave, 1);
        }
    }
}

static enum hd_status prepare(struct run *run, struct ir_window *window, uint64_t **out_vars)
{
    const struct ir_module *m = run->in->kernel->module;
    uint64_t n = 0;
    uint32_t threads = run->in->block[0] * run->in->block[1] * run->in->block[2];
    if (!threads || threads > 1024)
        return hd_error(HD_LAUNCH_LIMIT, "block of %u threads", threads);
    HD_TRY(ir_kernel_window(run->in->kernel, window));
    for (const struct ir_var *v = m->vars; v; v = v->next)
        n++;
    *out_vars = calloc(n + 1, sizeof(uint64_t));
    n = 0;
    for (const struct ir_var *v = m->vars; v; v = v->next, n++) {
        if (v->space != IR_SPACE_SHARED && run->in->ops && run->in->ops->var_address)
            (*out_vars)[n] = run->in->ops->var_address(run->in->ctx, v);
    }
    run->launch = (struct jit_launch){
        .grid = {run->in->grid[0], run->in->grid[1], run->in->grid[2]},
        .block = {run->in->block[0], run->in->block[1], run->in->block[2]},
        .nwarps = (threads + 31) / 32,
        .dynamic_smem_B = run->in->dynamic_shared_B,
        .total_smem_B = (uint32_t)(window->dynamic_offset_B + run->in->dynamic_shared_B),
        .nworkers = 1,
        .params = run->in->params,
        .vars = *out_vars,
        .shared_B = window->dynamic_offset_B + run->in->dynamic_shared_B,
        .local_B = hd_align_up(window->recursive ? 16384 : window->local_B + 16, 16),
        .services = &services,
        .device = run,
    };
    return HD_OK;
}

static void run_grid(struct run *run, const struct jit_code *code, char *frames, char *local)
{
    for (uint32_t z = 0; z < run->in->grid[2]; z++) {
        for (uint32_t y = 0; y < run->in->grid[1]; y++) {
            for (uint32_t x = 0; x < run->in->grid[0]; x++) {
                run->cta.ctaid[0] = x;
                run->cta.ctaid[1] = y;
                run->cta.ctaid[2] = z;
                run_cta(run, code, frames, local);
            }
        }
    }
}

enum hd_status jit_harness_launch(const struct interp_launch *in, struct interp_fault *out_fault)
{
    static struct run run;
    struct ir_window window;
    static struct jit_module *jit;
    const struct jit_code *code;
    static uint64_t *vars;
    memset(&run, 0, sizeof(run));
    jit = NULL;
    vars = NULL;
    run.in = in;
    enum hd_status status = prepare(&run, &window, &vars);
    if (status == HD_OK)
        status = jit_module_create(in->kernel->module, NULL, &jit);
    if (status == HD_OK)
        status = jit_kernel_get(jit, in->kernel, ir_launch_class_of(in->block), &code);
    if (status != HD_OK) {
        free(vars);
        jit_module_destroy(jit);
        return status;
    }
    char *frames = aligned_alloc(64, hd_align_up(code->frame_B * run.launch.nwarps + 64, 64));
    char *local =
        aligned_alloc(64, hd_align_up(run.launch.local_B * run.launch.nwarps * 32 + 64, 64));
    char *shared = aligned_alloc(128, hd_align_up(run.launch.shared_B + 384, 128));
    memset(shared, 0, run.launch.shared_B + 384);
    run.cta.launch = &run.launch;
    run.cta.shared = shared;
    run.cta.warps = calloc(run.launch.nwarps, sizeof(struct jit_warp));
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER}, old[2];
    sigaction(SIGSEGV, &sa, &old[0]);
    sigaction(SIGBUS, &sa, &old[1]);
    current = &run;
    _mm_setcsr(code->mxcsr);
    if (!setjmp(run.leave))
        run_grid(&run, code, frames, local);
    _mm_setcsr(0x1f80);
    current = NULL;
    sigaction(SIGSEGV, &old[0], NULL);
    sigaction(SIGBUS, &old[1], NULL);
    if (out_fault)
        *out_fault = (struct interp_fault){.address = run.address};
    free(frames);
    free(local);
    free(shared);
    free(run.cta.warps);
    free(vars);
    jit_module_destroy(jit);
    return run.status;
}
