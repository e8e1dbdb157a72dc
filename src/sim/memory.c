/* Memory: windows, checks, loads, stores. */
#include "sim/sim_private.h"

#include <string.h>

static uint64_t host_address(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

uint64_t sim_own_window(const struct sim_cta *cta)
{
    return cta->run->program->kernel.window.clusters ? cta->rank * IR_CLUSTER_STRIDE_B : 0;
}

char *sim_local(const struct sim_warp *w, unsigned lane)
{
    return w->cta->local + (w->index * SIM_LANES + lane) * w->run->local_step_B;
}

static bool inside(uint64_t address, uint64_t size_B, uint64_t base, uint64_t window_B)
{
    return address - base <= window_B && size_B <= window_B - (address - base);
}

/* Are these bytes, counted from the window of rank 0, in one of the cluster's windows? */
static bool cluster_holds(const struct sim_run *run, uint64_t address, uint64_t size_B)
{
    uint64_t offset = address & (IR_CLUSTER_STRIDE_B - 1);

    return address >> IR_CLUSTER_SHIFT < run->cluster_ctas && offset <= run->shared_B &&
           size_B <= run->shared_B - offset;
}

/* Host address of a window's first byte; 0 for spaces that are host addresses already. */
static uint64_t window_base(const struct sim_warp *w, unsigned lane, enum ir_space space)
{
    switch (space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        return host_address(w->cta->shared) - sim_own_window(w->cta);
    case IR_SPACE_LOCAL:
        return host_address(sim_local(w, lane));
    case IR_SPACE_PARAM:
        return host_address(w->run->banks[ISA_BANK_LAUNCH].at);
    case IR_SPACE_GENERIC:
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
    case IR_SPACE_TENSOR:
        break;
    }
    return 0;
}

bool sim_is_shared(const struct sim_warp *w, uint64_t address, uint64_t size_B)
{
    return cluster_holds(w->run, address - window_base(w, 0, IR_SPACE_SHARED), size_B);
}

static bool is_local(const struct sim_warp *w, unsigned lane, uint64_t address, uint64_t size_B)
{
    return w->run->local_B &&
           inside(address, size_B, host_address(sim_local(w, lane)), w->run->local_B);
}

/* The launch's bank, parameters among it, has a generic address. */
static bool is_param(const struct sim_warp *w, uint64_t address, uint64_t size_B)
{
    const uint8_t *bank = w->run->banks[ISA_BANK_LAUNCH].at;

    return inside(address, size_B, host_address(bank), w->run->banks[ISA_BANK_LAUNCH].size_B);
}

static bool device_allows(struct sim_run *run, uint64_t address, uint64_t size_B, bool write)
{
    const struct interp_launch *l = run->launch;
    struct sim_range *good = &run->good[write];

    if (inside(address, size_B, good->start, good->size_B) && good->size_B)
        return true;
    if (address < 4096 || address + size_B < address)
        return false;
    if (!l->ops || !l->ops->check) {
        *good = (struct sim_range){4096, UINT64_MAX - 4096};
        return true;
    }
    if (!l->ops->check(l->ctx, address, size_B, write))
        return false;
    if (l->ops->range && l->ops->range(l->ctx, address, write, &good->start, &good->size_B))
        return true;
    good->size_B = 0;
    return true;
}

/* Somebody writes there: it is zeroed for the next CTA that has the memory. */
static void local_use(struct sim_cta *cta, uint64_t end_B)
{
    cta->local_used_B = HD_MAX(cta->local_used_B, end_B);
}

static bool generic_ok(struct sim_warp *w, unsigned lane, uint64_t address, uint64_t size_B,
                       bool write)
{
    if (sim_is_shared(w, address, size_B))
        return true;
    if (is_local(w, lane, address, size_B)) {
        if (write)
            local_use(w->cta, address + size_B - host_address(sim_local(w, lane)));
        return true;
    }
    if (!write && is_param(w, address, size_B))
        return true;
    return device_allows(w->run, address, size_B, write);
}

static bool is_global(const struct sim_warp *w, unsigned lane, uint64_t address)
{
    return !sim_is_shared(w, address, 1) && !is_local(w, lane, address, 1) &&
           !is_param(w, address, 1);
}

static bool address_ok(struct sim_warp *w, unsigned lane, enum ir_space space, uint64_t address,
                       uint64_t size_B, bool write)
{
    const struct sim_run *run = w->run;

    switch (space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        return cluster_holds(run, address, size_B);
    case IR_SPACE_LOCAL:
        if (write)
            local_use(w->cta, address + size_B);
        return address <= run->local_B && size_B <= run->local_B - address;
    case IR_SPACE_GENERIC:
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        return generic_ok(w, lane, address, size_B, write);
    case IR_SPACE_PARAM:
    case IR_SPACE_TENSOR:
        break;
    }
    return false;
}

static const char *space_name(enum ir_space space)
{
    static const char *const names[] = {
#define X(id, text, kind) [id] = (text),
        IR_SPACE_LIST(X)
#undef X
    };
    return names[space];
}

/* The host pointer behind an address that is good. */
static void *host_pointer(struct sim_warp *w, unsigned lane, enum ir_space space, uint64_t address,
                          bool write)
{
    const struct interp_launch *l = w->run->launch;
    bool global = space == IR_SPACE_GENERIC || space == IR_SPACE_GLOBAL || space == IR_SPACE_CONST;

    if (global && l->ops && l->ops->host && is_global(w, lane, address))
        return l->ops->host(l->ctx, address, write);
    return (void *)(uintptr_t)(address + window_base(w, lane, space));
}

void *sim_host(struct sim_warp *w, unsigned lane, enum ir_space space, uint64_t address,
               uint64_t size_B, uint64_t align_B, bool write)
{
    bool ok = address_ok(w, lane, space, address, size_B, write);

    w->run->fault.address = address;
    if (address & (align_B - 1)) {
        sim_fail(w, lane, HD_MISALIGNED, "%s of %u bytes at %s address %#llx is not aligned",
                 write ? "write" : "read", (unsigned)size_B, space_name(space),
                 (unsigned long long)address);
        return NULL;
    }
    if (!ok) {
        sim_fail(w, lane, HD_ILLEGAL_ADDRESS, "%s of %u bytes at illegal %s address %#llx",
                 write ? "write" : "read", (unsigned)size_B, space_name(space),
                 (unsigned long long)address);
        return NULL;
    }
    w->run->effects +=
        write && space != IR_SPACE_LOCAL &&
        !(space == IR_SPACE_GENERIC && is_local(w, lane, address, 1)); /* nobody else sees that */
    return host_pointer(w, lane, space, address, write);
}

/* All lanes at once, where they are in one window or in bytes that the device has allowed. */
static bool hosts_together(struct sim_warp *w, uint32_t mask, const struct sim_access *access,
                           const uint64_t addresses[SIM_LANES], char *out_hosts[SIM_LANES])
{
    struct sim_run *run = w->run;
    const struct sim_range *good = &run->good[access->write];
    struct sim_window window = {.low_bits = access->size_B - 1};
    uint64_t size_B;

    switch (access->space) {
    case IR_SPACE_GLOBAL:
        if (run->launch->ops && run->launch->ops->host)
            return false;
        window.start = good->start;
        size_B = good->size_B;
        break;
    case IR_SPACE_SHARED:
        window.base = window_base(w, 0, IR_SPACE_SHARED);
        window.start = sim_own_window(w->cta);
        size_B = run->shared_B;
        break;
    case IR_SPACE_LOCAL:
        window.base = host_address(sim_local(w, 0));
        window.step_B = run->local_step_B;
        size_B = run->local_B;
        break;
    default:
        return false;
    }
    if (size_B < access->size_B)
        return false;
    window.last = size_B - access->size_B;
    if (run->loops.find(&window, mask, addresses, out_hosts))
        return false;
    if (access->space != IR_SPACE_LOCAL)
        run->effects += access->write;
    else if (access->write)
        SIM_FOR_LANES(lane, mask) local_use(w->cta, addresses[lane] + access->size_B);
    run->fault.address = addresses[__builtin_ctz(mask)];
    return true;
}

bool sim_hosts(struct sim_warp *w, uint32_t mask, const struct sim_access *access,
               const uint64_t addresses[SIM_LANES], char *out_hosts[SIM_LANES])
{
    if (hosts_together(w, mask, access, addresses, out_hosts))
        return true;
    SIM_FOR_LANES(lane, mask)
    {
        out_hosts[lane] = sim_host(w, lane, access->space, addresses[lane], access->size_B,
                                   access->size_B, access->write);
        if (!out_hosts[lane])
            return false;
    }
    return true;
}

/*
 * Addresses in windows have 32 bits. Of global and generic ones the uniform register is a pair, so
 * that a 32-bit register can be an offset from it.
 */
void sim_addresses(const struct sim_warp *w, const struct sim_op *op, enum ir_space space,
                   uint64_t out[SIM_LANES])
{
    const uint32_t *a = sim_src_rows(w, op, 0);
    uint64_t add = (uint64_t)(int64_t)op->offset;

    if (op->ubase != ISA_URZ)
        add += w->ureg[op->ubase];
    if (space == IR_SPACE_SHARED || space == IR_SPACE_LOCAL) {
        w->run->loops.narrow(a, (uint32_t)add, out);
        for (unsigned i = 0; i < SIM_LANES; i++)
            out[i] = (uint32_t)out[i];
        return;
    }
    if (op->ubase != ISA_URZ)
        add += (uint64_t)w->ureg[op->ubase + 1] << 32;
    if (op->src[0].n > 1)
        w->run->loops.wide(a, add, out);
    else
        w->run->loops.narrow(a, add, out);
}

bool sim_read(struct sim_warp *w, unsigned lane, uint64_t address, void *out, size_t size_B)
{
    if (!generic_ok(w, lane, address, size_B, false))
        return false;
    memcpy(out, (const void *)(uintptr_t)address, size_B);
    return true;
}

bool sim_write(struct sim_warp *w, unsigned lane, uint64_t address, const void *bytes,
               size_t size_B)
{
    if (!generic_ok(w, lane, address, size_B, true))
        return false;
    memcpy((void *)(uintptr_t)address, bytes, size_B);
    return true;
}

bool sim_shared_first(struct sim_warp *w)
{
    const struct ir_schedule *s = w->run->launch->schedule;

    if (w->has_waited || (s && !s->in_turns))
        return false;
    w->has_waited = true;
    return true;
}

/* ---- loads and stores */

enum { SZ_32, SZ_U8, SZ_S8, SZ_U16, SZ_S16, SZ_64, SZ_128, SZ_256 };

static uint32_t bytes_of(unsigned sz)
{
    static const uint8_t bytes[] = {4, 1, 1, 2, 2, 8, 16, 32};

    return bytes[sz];
}

enum ir_space sim_space_of(enum isa_op op)
{
    switch (op) {
    case ISA_LDG:
    case ISA_STG:
    case ISA_ATOMG:
    case ISA_REDG:
        return IR_SPACE_GLOBAL;
    case ISA_LDS:
    case ISA_STS:
    case ISA_ATOMS:
    case ISA_REDS:
        return IR_SPACE_SHARED;
    case ISA_LDL:
    case ISA_STL:
        return IR_SPACE_LOCAL;
    default:
        return IR_SPACE_GENERIC;
    }
}

void sim_order(unsigned sem)
{
    enum { WEAK, RELAXED, ACQUIRE, RELEASE, ACQ_REL, SC, VOLATILE };

    if (sem >= ACQUIRE && sem <= VOLATILE)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Elements are accessed whole: the host may poll or set them meanwhile. */
static uint32_t load_32(const char *p)
{
    return __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED);
}

static uint64_t load_64(const char *p)
{
    return __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_RELAXED);
}

static void load_lane(uint32_t *d, const char *p, unsigned sz)
{
    switch (sz) {
    case SZ_U8:
        *d = __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
        return;
    case SZ_S8:
        *d = (uint32_t)(int8_t)__atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
        return;
    case SZ_U16:
        *d = __atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_RELAXED);
        return;
    case SZ_S16:
        *d =
            (uint32_t)(int16_t)__atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_RELAXED);
        return;
    case SZ_32:
        *d = load_32(p);
        return;
    default:
        for (unsigned k = 0; k < bytes_of(sz) / 8; k++) {
            uint64_t v = load_64(p + 8 * k);

            d[2 * k * SIM_LANES] = (uint32_t)v;
            d[(2 * k + 1) * SIM_LANES] = (uint32_t)(v >> 32);
        }
    }
}

static void load_hosts(uint32_t *d, char *const hosts[SIM_LANES], uint32_t mask, unsigned sz)
{
    if (sz == SZ_32 && mask == UINT32_MAX) {
        for (unsigned i = 0; i < SIM_LANES; i++)
            d[i] = load_32(hosts[i]);
        return;
    }
    SIM_FOR_LANES(lane, mask) load_lane(d + lane, hosts[lane], sz);
}

enum sim_step sim_exec_load(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    unsigned sz = op->code;
    struct sim_access access = {sim_space_of(op->insn->op), bytes_of(sz), false};
    uint64_t addresses[SIM_LANES];
    char *hosts[SIM_LANES];

    sim_addresses(w, op, access.space, addresses);
    if (!sim_hosts(w, mask, &access, addresses, hosts))
        return SIM_STOP;
    load_hosts(w->regs + op->d * SIM_LANES, hosts, mask, sz);
    sim_order(op->how);
    sim_group_of(w)->polled = sim_group_of(w)->pc + 1;
    return SIM_NEXT;
}

static void store_lane(char *p, const uint32_t *b, unsigned sz)
{
    switch (sz) {
    case SZ_U8:
    case SZ_S8:
        __atomic_store_n((uint8_t *)p, (uint8_t)*b, __ATOMIC_RELAXED);
        return;
    case SZ_U16:
    case SZ_S16:
        __atomic_store_n((uint16_t *)(void *)p, (uint16_t)*b, __ATOMIC_RELAXED);
        return;
    case SZ_32:
        __atomic_store_n((uint32_t *)(void *)p, *b, __ATOMIC_RELAXED);
        return;
    default:
        for (unsigned k = 0; k < bytes_of(sz) / 8; k++)
            __atomic_store_n((uint64_t *)(void *)(p + 8 * k),
                             b[2 * k * SIM_LANES] | (uint64_t)b[(2 * k + 1) * SIM_LANES] << 32,
                             __ATOMIC_RELAXED);
    }
}

enum sim_step sim_exec_store(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    unsigned sz = op->code;
    struct sim_access access = {sim_space_of(op->insn->op), bytes_of(sz), true};
    const uint32_t *b = sim_src_rows(w, op, 1);
    uint64_t addresses[SIM_LANES];
    char *hosts[SIM_LANES];

    sim_addresses(w, op, access.space, addresses);
    if (access.space == IR_SPACE_SHARED ||
        (access.space == IR_SPACE_GENERIC && sim_is_shared(w, addresses[__builtin_ctz(mask)], 1))) {
        if (sim_shared_first(w))
            return SIM_STOP; /* and once more */
    }
    if (!sim_hosts(w, mask, &access, addresses, hosts))
        return SIM_STOP;
    sim_order(op->how);
    SIM_FOR_LANES(lane, mask) store_lane(hosts[lane], b + lane, sz);
    return SIM_NEXT;
}

/* ---- banks of constants, by address */

static bool bank_load(struct sim_warp *w, unsigned lane, unsigned bank, int64_t offset, unsigned sz,
                      uint32_t *d)
{
    const struct sim_run *run = w->run;
    _Alignas(32) char bytes[32];

    if (bank >= HD_COUNT_OF(run->banks) || offset < 0 ||
        offset + bytes_of(sz) > run->banks[bank].size_B) {
        sim_fail(w, lane, HD_ILLEGAL_ADDRESS, "read outside of bank %u of constants, at %#llx",
                 bank, (unsigned long long)offset);
        return false;
    }
    if (offset & (bytes_of(sz) - 1)) {
        sim_fail(w, lane, HD_MISALIGNED, "read of %u bytes at %#llx of bank %u is not aligned",
                 bytes_of(sz), (unsigned long long)offset, bank);
        return false;
    }
    memcpy(bytes, run->banks[bank].at + offset, bytes_of(sz));
    load_lane(d, bytes, sz);
    return true;
}

enum sim_step sim_exec_ldc(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    unsigned sz = isa_mod_value(op->insn, ISA_MOD_SZ);
    unsigned bank = (unsigned)sim_field(op->insn, ISA_FIELD_BANK, 0);
    int64_t offset = sim_field(op->insn, ISA_FIELD_CONST_OFFSET, 0);
    const uint32_t *a = sim_src_rows(w, op, 0);

    SIM_FOR_LANES(lane, mask)
    if (!bank_load(w, lane, bank, offset + (int32_t)a[lane], sz,
                   w->regs + op->d * SIM_LANES + lane))
        return SIM_STOP;
    return SIM_NEXT;
}

enum sim_step sim_exec_uldc(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    static const uint8_t sizes[] = {SZ_32, SZ_64, SZ_128};
    unsigned bank = (unsigned)sim_field(op->insn, ISA_FIELD_BANK, 0);
    int64_t offset = sim_field(op->insn, ISA_FIELD_CONST_OFFSET, 0);
    int64_t ua = sim_field(op->insn, ISA_FIELD_UA, ISA_URZ);
    uint32_t rows[8][SIM_LANES];

    if (ua != ISA_URZ)
        offset += (int32_t)w->ureg[ua];
    if (!bank_load(w, (unsigned)__builtin_ctz(mask), bank, offset,
                   sizes[isa_mod_value(op->insn, ISA_MOD_USZ)], rows[0]))
        return SIM_STOP;
    for (unsigned k = 0; k < op->nd && op->d != ISA_URZ; k++)
        w->ureg[op->d + k] = rows[k][0];
    return SIM_NEXT;
}

/* ---- windows */

static enum ir_space window_of(const struct sim_op *op)
{
    static const uint8_t spaces[] = {IR_SPACE_SHARED, IR_SPACE_LOCAL, IR_SPACE_GLOBAL,
                                     IR_SPACE_PARAM};

    return (enum ir_space)spaces[isa_mod_value(op->insn, ISA_MOD_SPACE)];
}

enum sim_step sim_exec_cvta(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a = sim_src_rows(w, op, 0);
    uint32_t *d = w->regs + op->d * SIM_LANES;
    bool to_window = isa_mod_value(op->insn, ISA_MOD_TO_WINDOW);

    SIM_FOR_LANES(lane, mask)
    {
        uint64_t base = window_base(w, lane, window_of(op));
        uint64_t address = sim_pair(a, lane) + (to_window ? 0 - base : base);

        d[lane] = (uint32_t)address;
        d[SIM_LANES + lane] = (uint32_t)(address >> 32);
    }
    return SIM_NEXT;
}

enum sim_step sim_exec_qspc(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a = sim_src_rows(w, op, 0);
    enum ir_space space = window_of(op);
    uint32_t lanes = 0;

    SIM_FOR_LANES(lane, mask)
    {
        uint64_t address = sim_pair(a, lane);
        bool is = space == IR_SPACE_SHARED
                      ? inside(address, 1, host_address(w->cta->shared), w->run->shared_B)
                  : space == IR_SPACE_LOCAL ? is_local(w, lane, address, 1)
                  : space == IR_SPACE_PARAM ? is_param(w, address, 1)
                                            : is_global(w, lane, address);
        lanes |= (uint32_t)is << lane;
    }
    sim_set_pred(w, op, op->pd, mask, lanes);
    return SIM_NEXT;
}

enum sim_step sim_exec_membar(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return SIM_NEXT;
}

enum sim_step sim_exec_mapa(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a, *b;
    uint32_t *d = w->regs + op->d * SIM_LANES;

    if (op->has_uniform_source && !sim_fetch_uniform(w, op, mask))
        return SIM_STOP;
    a = sim_src_rows(w, op, 0);
    b = sim_src_rows(w, op, 1);
    SIM_FOR_LANES(lane, mask) d[lane] = (uint32_t)ir_cluster_address(a[lane], b[lane]);
    return SIM_NEXT;
}

enum sim_step sim_exec_ctarank(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const uint32_t *a = sim_src_rows(w, op, 0);

    SIM_FOR_LANES(lane, mask)
    w->regs[op->d * SIM_LANES + lane] = a[lane] >> IR_CLUSTER_SHIFT;
    return SIM_NEXT;
}
