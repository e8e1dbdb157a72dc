/*
 * Commands that GDB's Python side asks with `monitor`: tables of what runs where, and what GDB has
 * no packet for. Each is a word and arguments; the answer is text, in lines.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dbg/private.h"

typedef void command_fn(const char *arguments, struct hd_buf *out);

/*
 * Whom a command is about. `as NUMBER` in front of one says so: GDB tells us which thread it has
 * selected only when it wants something of it.
 */
static uint64_t asked;

static struct interp_thread *monitor_thread(void)
{
    return dbg_thread(asked);
}

/* ---- one thread */

static void monitor_focus(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    dbg.home = asked; /* the question comes when a stop is shown */
    dbg.is_shown = true;
    if (monitor_thread())
        dbg_describe(monitor_thread(), out);
    else
        hd_buf_puts(out, "none");
    hd_buf_putc(out, '\n');
}

static void monitor_find(const char *arguments, struct hd_buf *out)
{
    uint32_t b[3], i[3];
    const struct interp_thread *t = NULL;

    if (sscanf(arguments, "%u %u %u %u %u %u", &b[0], &b[1], &b[2], &i[0], &i[1], &i[2]) == 6)
        t = dbg_thread_find(b, i, monitor_thread() ? dbg_cta_of(monitor_thread()) : NULL);
    hd_buf_printf(out, "%llu\n", t ? (unsigned long long)dbg_tid(t) : 0);
}

static void monitor_launch(const char *arguments, struct hd_buf *out)
{
    const struct interp_thread *t = monitor_thread();

    (void)arguments;
    if (!t)
        return;
    const struct interp_launch *l = interp_debug_launch(interp_debug_cta(t));
    hd_buf_printf(out, "%s<<<(%u,%u,%u),(%u,%u,%u)>>>\n", l->kernel->name, l->grid[0], l->grid[1],
                  l->grid[2], l->block[0], l->block[1], l->block[2]);
}

static void monitor_stop(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    hd_buf_printf(out, "%u %s\n", dbg.stop.exception, dbg.stop.text);
}

static void monitor_break_on_launch(const char *arguments, struct hd_buf *out)
{
    dbg.break_on_launch = strcmp(arguments, "none") != 0;
    dbg.kernels_seen = dbg.nkernels;
    hd_buf_puts(out, "\n");
}

static void monitor_record(const char *arguments, struct hd_buf *out)
{
    if (dbg_is_borrowing())
        hd_buf_puts(out, "the block is in the middle of an operation: stop it at a breakpoint\n");
    else if (strcmp(arguments, "off") == 0)
        dbg_history_end();
    else if (dbg.core || !monitor_thread() || !dbg_history_begin(dbg_cta_of(monitor_thread())))
        hd_buf_puts(out, "the focus is on no block whose history can be kept\n");
}

static void monitor_history(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    dbg_history_describe(out);
}

/*
 * GDB steps over a breakpoint before it goes on, and nobody else may move then, the host program
 * neither. That is no way for a kernel, and not needed: the server does not stop twice. So threads
 * are shown beside the place where GDB knows of a breakpoint.
 */
static void monitor_aside(const char *arguments, struct hd_buf *out)
{
    dbg.aside = dbg.stopped;
    dbg.not_aside = strtoull(arguments, NULL, 10) == dbg.stop.tid ? 0 : dbg.stop.tid;
    hd_buf_puts(out, "\n");
}

static void monitor_ptx(const char *arguments, struct hd_buf *out)
{
    unsigned long long pc = 0;

    (void)!sscanf(arguments, "%llx", &pc);
    pc -= dbg.aside ? pc % DBG_INSN_B : 0;
    const struct dbg_unit *unit = dbg_unit_of(pc);
    if (!unit)
        return;
    ptx_print_insn(dbg_unit_insn(unit, pc)->ptx, out);
    hd_buf_putc(out, '\n');
}

static void monitor_put_register(struct hd_buf *out, const struct ptx_reg_decl *decl,
                                 uint32_t index, const uint64_t value[2])
{
    char name[96];
    double f64;
    float f32;

    memcpy(&f64, value, sizeof(f64));
    memcpy(&f32, value, sizeof(f32));
    snprintf(name, sizeof(name), decl->sym.is_range ? "%.*s%u" : "%.*s", HD_STR_ARG(decl->sym.name),
             index);
    hd_buf_printf(out, "%-12s ", name);
    if (decl->type == PTX_TYPE_PRED)
        hd_buf_printf(out, "%llu\n", (unsigned long long)value[0] & 1);
    else if (decl->type == PTX_TYPE_F32)
        hd_buf_printf(out, "0x%08llx %.9g\n", (unsigned long long)value[0] & UINT32_MAX,
                      (double)f32);
    else if (decl->type == PTX_TYPE_F64)
        hd_buf_printf(out, "0x%016llx %.17g\n", (unsigned long long)value[0], f64);
    else if (ptx_type_bits((enum ptx_type)decl->type) > 64)
        hd_buf_printf(out, "0x%016llx%016llx\n", (unsigned long long)value[1],
                      (unsigned long long)value[0]);
    else if (ptx_type_bits((enum ptx_type)decl->type) > 32)
        hd_buf_printf(out, "0x%llx %lld\n", (unsigned long long)value[0], (long long)value[0]);
    else
        hd_buf_printf(out, "0x%x %d\n", (unsigned)value[0], (int)value[0]);
}

/* Registers of a frame, 0 the innermost, that have a value; all, or the named one. */
static void monitor_registers(const char *arguments, struct hd_buf *out)
{
    const struct interp_thread *t = monitor_thread();
    unsigned frame = 0;
    char wanted[64] = "";

    (void)!sscanf(arguments, "%u %63s", &frame, wanted);
    uint64_t pc = t ? dbg_pc(t, frame) : 0;
    const struct dbg_unit *unit = dbg_unit_of(pc);
    if (!unit)
        return;
    const struct dbg_func *f = dbg_unit_insn(unit, pc)->func;
    uint32_t only = UINT32_MAX;
    const struct ptx_reg_decl *decl;
    if (*wanted && !dbg_func_reg(f, hd_str_from(wanted), &only, &decl))
        return;
    for (decl = f->ptx->regs; decl; decl = decl->next) {
        for (uint32_t i = 0; i < decl->count; i++) {
            uint32_t reg = decl->base + i * decl->vec;
            uint64_t value[2];
            if ((!*wanted || reg == only) && interp_debug_reg(t, frame, reg, value))
                monitor_put_register(out, decl, i, value);
        }
    }
}

/* ---- tables */

static void monitor_put_triple(struct hd_buf *out, const uint32_t n[3])
{
    hd_buf_printf(out, "(%u,%u,%u)", n[0], n[1], n[2]);
}

static bool monitor_is_focus(const struct dbg_cta *c)
{
    return monitor_thread() && dbg_cta_of(monitor_thread()) == c;
}

static char monitor_mark(bool is)
{
    return is ? '*' : ' ';
}

static void monitor_devices(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    hd_buf_puts(out, "  Dev Description SMs Type\n");
    if (dbg.ctas.len) {
        const struct interp_launch *l = interp_debug_launch(dbg.ctas.at[0]->cta);
        hd_buf_printf(out, "*   0 Heddle      %3u cpu\n", l->nsms ? l->nsms : 1);
    }
}

/* CTAs of the launch that has the focus come once per launch. */
static bool monitor_is_first(size_t index)
{
    assert(index < dbg.ctas.len);
    for (size_t i = 0; i < index; i++)
        if (dbg.ctas.at[i]->kernel == dbg.ctas.at[index]->kernel)
            return false;
    return true;
}

static void monitor_kernels(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    hd_buf_puts(out, "  Kernel Parent Dev Grid Status GridDim BlockDim Invocation\n");
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct dbg_cta *c = dbg.ctas.at[i];
        const struct interp_launch *l = interp_debug_launch(c->cta);
        if (!monitor_is_first(i))
            continue;
        hd_buf_printf(
            out, "%c %6u      -   0 %4llu Active ",
            monitor_mark(monitor_thread() && dbg_cta_of(monitor_thread())->kernel == c->kernel),
            c->kernel, (unsigned long long)l->grid_id);
        monitor_put_triple(out, l->grid);
        hd_buf_putc(out, ' ');
        monitor_put_triple(out, l->block);
        hd_buf_printf(out, " %s\n", l->kernel->name);
    }
}

static void monitor_blocks(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    hd_buf_puts(out, "  BlockIdx Kernel SM State\n");
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct dbg_cta *c = dbg.ctas.at[i];
        hd_buf_printf(out, "%c ", monitor_mark(monitor_is_focus(c)));
        monitor_put_triple(out, interp_debug_ctaid(c->cta));
        hd_buf_printf(out, " %u %u running\n", c->kernel, interp_debug_sm(c->cta));
    }
}

static void monitor_sms(const char *arguments, struct hd_buf *out)
{
    uint32_t last = UINT32_MAX;

    (void)arguments;
    hd_buf_puts(out, "  SM Blocks\n");
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct dbg_cta *c = dbg.ctas.at[i];
        uint32_t sm = interp_debug_sm(c->cta);
        if (sm != last)
            hd_buf_printf(out, "%s%c %2u ", last == UINT32_MAX ? "" : "\n",
                          monitor_mark(monitor_thread() &&
                                       interp_debug_sm(interp_debug_cta(monitor_thread())) == sm),
                          sm);
        monitor_put_triple(out, interp_debug_ctaid(c->cta));
        last = sm;
    }
    hd_buf_puts(out, dbg.ctas.len ? "\n" : "");
}

static const char *monitor_state_name(enum interp_debug_state state)
{
    static const char *const names[] = {[INTERP_DEBUG_RUNS] = "active",
                                        [INTERP_DEBUG_AT_BARRIER] = "barrier",
                                        [INTERP_DEBUG_WAITS] = "waits",
                                        [INTERP_DEBUG_ENDED] = "exited"};
    assert((size_t)state < HD_COUNT_OF(names));
    return names[state];
}

static void monitor_put_warp(struct hd_buf *out, const struct dbg_cta *c, uint32_t w)
{
    uint32_t n = interp_debug_nthreads(c->cta), active = 0, parted = 0;
    const struct interp_thread *first = NULL, *f = monitor_thread();

    for (uint32_t i = 0; i < 32 && w * 32 + i < n; i++) {
        const struct interp_thread *t = interp_debug_thread(c->cta, w * 32 + i);
        if (!interp_debug_depth(t))
            continue;
        first = first ? first : t;
        if (dbg_pc(t, 0) == dbg_pc(first, 0))
            active |= 1u << i;
        else
            parted |= 1u << i;
    }
    hd_buf_printf(out, "%c %2u 0x%08x 0x%08x %#18llx %u ",
                  monitor_mark(monitor_is_focus(c) && interp_debug_index(f) / 32 == w), w, active,
                  parted, first ? (unsigned long long)dbg_pc(first, 0) : 0, c->kernel);
    monitor_put_triple(out, interp_debug_ctaid(c->cta));
    hd_buf_putc(out, '\n');
}

static void monitor_warps(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    hd_buf_puts(out, "  Wp Active     Divergent  PC                 Kernel BlockIdx\n");
    for (size_t i = 0; i < dbg.ctas.len; i++)
        for (uint32_t w = 0; w * 32 < interp_debug_nthreads(dbg.ctas.at[i]->cta); w++)
            monitor_put_warp(out, dbg.ctas.at[i], w);
}

static void monitor_lanes(const char *arguments, struct hd_buf *out)
{
    const struct interp_thread *f = monitor_thread();

    (void)arguments;
    hd_buf_puts(out, "  Ln State   PC                 ThreadIdx\n");
    for (uint32_t i = 0; f && i < 32; i++) {
        uint32_t index = interp_debug_index(f) / 32 * 32 + i;
        if (index >= interp_debug_nthreads(interp_debug_cta(f)))
            break;
        const struct interp_thread *t = interp_debug_thread(interp_debug_cta(f), index);
        hd_buf_printf(out, "%c %2u %-7s %#18llx ", monitor_mark(t == f), i,
                      monitor_state_name(interp_debug_state(t)), (unsigned long long)dbg_pc(t, 0));
        monitor_put_triple(out, interp_debug_tid(t));
        hd_buf_putc(out, '\n');
    }
}

/* Runs of threads at the same place. The Python side finds file and line of the address. */
static void monitor_threads(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct dbg_cta *c = dbg.ctas.at[i];
        uint32_t n = interp_debug_nthreads(c->cta);
        for (uint32_t k = 0, end; k < n; k = end) {
            const struct interp_thread *t = interp_debug_thread(c->cta, k);
            uint64_t pc = dbg_pc(t, 0);
            bool has_focus = false;
            for (end = k; end < n; end++) {
                const struct interp_thread *u = interp_debug_thread(c->cta, end);
                if (dbg_pc(u, 0) != pc)
                    break;
                has_focus |= u == monitor_thread();
            }
            if (!pc)
                continue;
            hd_buf_printf(out, "%c ", monitor_mark(has_focus));
            monitor_put_triple(out, interp_debug_ctaid(c->cta));
            hd_buf_putc(out, ' ');
            monitor_put_triple(out, interp_debug_tid(t));
            hd_buf_putc(out, ' ');
            monitor_put_triple(out, interp_debug_tid(interp_debug_thread(c->cta, end - 1)));
            hd_buf_printf(out, " %u %#llx\n", end - k, (unsigned long long)pc);
        }
    }
}

static void monitor_barriers(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    hd_buf_puts(out, "  BlockIdx Waiting Running\n");
    for (size_t i = 0; i < dbg.ctas.len; i++) {
        const struct dbg_cta *c = dbg.ctas.at[i];
        uint32_t waiting = 0, running = 0;
        for (uint32_t k = 0; k < interp_debug_nthreads(c->cta); k++) {
            enum interp_debug_state s = interp_debug_state(interp_debug_thread(c->cta, k));
            waiting += s == INTERP_DEBUG_AT_BARRIER;
            running += s == INTERP_DEBUG_RUNS || s == INTERP_DEBUG_WAITS;
        }
        hd_buf_printf(out, "%c ", monitor_mark(monitor_is_focus(c)));
        monitor_put_triple(out, interp_debug_ctaid(c->cta));
        hd_buf_printf(out, " %u %u\n", waiting, running);
    }
}

static void monitor_managed(const char *arguments, struct hd_buf *out)
{
    (void)arguments;
    for (size_t i = 0; i < dbg.programs.len; i++) {
        const struct dbg_program *p = dbg.programs.at[i];
        for (size_t k = 0; k < p->globals.len; k++)
            if (p->globals.at[k].is_managed)
                hd_buf_printf(out, "%s\n", p->globals.at[k].name);
    }
}

/* word, function, doc */
#define COMMAND_LIST(X)                                                                            \
    X("focus", monitor_focus, "the thread that has the focus")                                     \
    X("find", monitor_find, "number of a thread: block x y z, thread x y z")                       \
    X("launch", monitor_launch, "the kernel that has the focus")                                   \
    X("stop", monitor_stop, "number of the exception, and what happened")                          \
    X("break_on_launch", monitor_break_on_launch, "none or all: stop where kernels begin")         \
    X("record", monitor_record, "on or off: keep the history of the block that has the focus")     \
    X("history", monitor_history, "how long the history is")                                       \
    X("aside", monitor_aside, "threads are beside their breakpoints now; whose stop is shown")     \
    X("ptx", monitor_ptx, "the instruction at an address")                                         \
    X("registers", monitor_registers, "PTX registers of a frame: number, name")                    \
    X("devices", monitor_devices, "devices")                                                       \
    X("sms", monitor_sms, "multiprocessors that hold blocks")                                      \
    X("kernels", monitor_kernels, "kernels that run")                                              \
    X("blocks", monitor_blocks, "blocks that run")                                                 \
    X("warps", monitor_warps, "their warps")                                                       \
    X("lanes", monitor_lanes, "lanes of the warp that has the focus")                              \
    X("threads", monitor_threads, "runs of threads at the same place")                             \
    X("barriers", monitor_barriers, "who waits at barriers")                                       \
    X("managed", monitor_managed, "names of managed variables")

void dbg_monitor(const char *command, struct hd_buf *out_text)
{
    static const struct {
        const char *word, *doc;
        command_fn *run;
    } rows[] = {
#define X(word, run, doc) {word, doc, run},
        COMMAND_LIST(X)
#undef X
    };
    unsigned long long tid;
    int skip = 0;

    assert(dbg_is_locked());
    asked = dbg.focus;
    if (sscanf(command, "as %llu %n", &tid, &skip) == 1 && skip)
        asked = tid;
    command += skip;
    size_t len = strcspn(command, " ");
    const char *arguments = command + len + strspn(command + len, " ");

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        if (strlen(rows[i].word) == len && memcmp(rows[i].word, command, len) == 0) {
            rows[i].run(arguments, out_text);
            return;
        }
    }
    hd_buf_puts(out_text, "commands of the server:\n");
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        hd_buf_printf(out_text, "  %-16s %s\n", rows[i].word, rows[i].doc);
}
