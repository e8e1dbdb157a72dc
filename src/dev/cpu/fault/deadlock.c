/* Who waits where, when nobody will go on: for the message of a launch that is given up. */
#include "dev/cpu/cta/cta.h"
#include "dev/cpu/kernel.h"

static bool is_done(const struct cpu_cta *cta, uint32_t w)
{
    return !cta->alive_seen[w];
}

static void print_warps(struct hd_buf *out, uint32_t warps)
{
    assert(warps);
    hd_buf_puts(out, warps & (warps - 1) ? "; warps " : "; warp ");
    hd_buf_bits(out, warps);
}

/* ---- at barriers */

/* Warps with threads at the barrier, when arrivals are counted. */
static uint32_t warps_at(const struct cpu_cta *cta, unsigned id)
{
    uint32_t warps = 0;

    for (uint32_t w = 0; w < cta->cta.launch->nwarps; w++)
        warps |= (uint32_t)(cta->arrived[id][w] != 0) << w;
    return warps;
}

/* Simple barriers: a warp that is there has stopped, with all of its threads. */
static void print_simple_barrier(const struct cpu_cta *cta, struct hd_buf *out)
{
    uint32_t warps = 0, threads = 0;

    for (uint32_t w = 0; w < cta->cta.launch->nwarps; w++) {
        if (is_done(cta, w) || JIT_STOP(cta->cta.warps[w].state) != JIT_BARRIER)
            continue;
        warps |= 1u << w;
        threads += (uint32_t)__builtin_popcount(cta->alive_seen[w]);
    }
    if (!warps)
        return;
    print_warps(out, warps);
    hd_buf_printf(out, " at barrier 0, where %u of %u threads have arrived", threads,
                  cta->cta.live_threads);
}

static void print_barriers(const struct cpu_cta *cta, struct hd_buf *out)
{
    if (cta->code->simple_barriers) {
        print_simple_barrier(cta, out);
        return;
    }
    for (unsigned id = 0; id < JIT_NBARRIERS && cta->code->has_barrier; id++)
        if (cta->cta.bars[id].arrived) {
            uint32_t expected = cta->expected[id] ? cta->expected[id] : cta->cta.live_threads;

            print_warps(out, warps_at(cta, id));
            hd_buf_printf(out, " at barrier %u, where %u of %u threads have arrived", id,
                          cta->cta.bars[id].arrived, expected);
        }
    if (cta->code->has_barrier) {
        uint32_t warps = 0;

        for (uint32_t w = 0; w < cta->cta.launch->nwarps; w++)
            warps |= (uint32_t)(cta->at_cluster[w] != 0) << w;
        if (!warps)
            return;
        print_warps(out, warps);
        hd_buf_printf(out, " at the cluster's barrier, where %u of %u threads have arrived",
                      cta->cluster->arrived, cta->cluster->live);
    }
}

/* ---- in loops */

/* `w`: the first of the warps that are there. */
static void print_loop(const struct cpu_cta *cta, uint32_t w, struct hd_buf *out)
{
    uint32_t instr_idx = cta->cta.warps[w].polls;
    const struct ir_module *module = cta->job->kernel->func->module;
    const struct ir_instr *in = instr_idx ? ir_module_instr_at(module, instr_idx) : NULL;

    hd_buf_puts(out, " in a loop");
    if (!in)
        return;
    hd_buf_printf(out, " with %s", ir_op_infos[in->op].name);
    if (in->srcloc.line) {
        hd_buf_puts(out, ", ");
        ir_print_source(module, &in->srcloc, out);
    }
    cpu_print_polled(cta, in, w * 32 + (uint32_t)__builtin_ctz(cta->alive_seen[w]), out);
}

static void print_loops(const struct cpu_cta *cta, struct hd_buf *out)
{
    uint32_t left = 0, warps, instr_idx;

    for (uint32_t w = 0; w < cta->cta.launch->nwarps; w++)
        if (!is_done(cta, w) && JIT_STOP(cta->cta.warps[w].state) == JIT_YIELD)
            left |= 1u << w;
    while (left) {
        uint32_t first = (uint32_t)__builtin_ctz(left);
        warps = 0;
        instr_idx = cta->cta.warps[first].polls;
        for (uint32_t w = 0; w < cta->cta.launch->nwarps; w++)
            warps |= (left >> w & 1 && cta->cta.warps[w].polls == instr_idx) << w;
        print_warps(out, warps);
        print_loop(cta, first, out);
        left &= ~warps;
    }
}

void cpu_print_waiters(const struct cpu_cta *cta, struct hd_buf *out)
{
    assert(cta->code->form != JIT_INTERP && !cta->code->run_cta);
    hd_buf_printf(out, ": %u of %u warps wait", cta->remaining, cta->cta.launch->nwarps);
    print_barriers(cta, out);
    print_loops(cta, out);
}
