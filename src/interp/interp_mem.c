/* Memory: windows, checks, loads, stores, atomics. */
#include <string.h>

#include "base/float/swap16.h"
#include "interp/interp_debug.h"
#include "interp/interp_priv.h"

static uint64_t mem_host_address(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

static bool mem_inside(uint64_t address, uint64_t size_B, const void *window, uint64_t window_B)
{
    uint64_t base = mem_host_address(window);
    return window && address >= base && address - base <= window_B &&
           size_B <= window_B - (address - base);
}

uint64_t interp_own_window(const struct interp_thread *t)
{
    return t->cta->run->window.clusters ? t->cta->rank * IR_CLUSTER_STRIDE_B : 0;
}

/* Are these bytes, counted from the window of rank 0, in one of the cluster's windows? */
static bool mem_cluster_holds(const struct interp_thread *t, uint64_t address, uint64_t size_B)
{
    const struct interp_run *run = t->cta->run;
    uint64_t offset = address & (IR_CLUSTER_STRIDE_B - 1);
    uint32_t ctas = run->window.clusters ? run->cluster_ctas : 1;
    return address >> IR_CLUSTER_SHIFT < ctas && offset <= run->shared_B &&
           size_B <= run->shared_B - offset;
}

static uint64_t mem_params_B(const struct interp_thread *t)
{
    return t->cta->run->launch->kernel->param_size_B;
}

/* Host address of a window's first byte; 0 for spaces that are host addresses already. */
static uint64_t mem_window_base(const struct interp_thread *t, enum ir_space space)
{
    switch (space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        return mem_host_address(t->cta->shared) - interp_own_window(t);
    case IR_SPACE_LOCAL:
        return mem_host_address(t->local);
    case IR_SPACE_PARAM:
        return mem_host_address(t->cta->run->launch->params);
    case IR_SPACE_GENERIC:
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        return 0;
    case IR_SPACE_TENSOR:
        break;
    }
    assert(!"a space that the lowering makes");
    return 0;
}

static bool mem_generic_ok(struct interp_thread *t, uint64_t address, uint64_t size_B, bool write)
{
    const struct interp_run *run = t->cta->run;
    const struct interp_launch *l = run->launch;
    if (mem_cluster_holds(t, address - mem_window_base(t, IR_SPACE_SHARED), size_B) ||
        mem_inside(address, size_B, t->local, run->local_B))
        return true;
    if (!write && mem_inside(address, size_B, l->params, mem_params_B(t)))
        return true;
    if (address < 4096 || address + size_B < address)
        return false;
    return !l->ops || !l->ops->check || l->ops->check(l->ctx, address, size_B, write);
}

bool interp_is_space(const struct interp_thread *t, enum ir_space space, uint64_t address)
{
    const struct interp_run *run = t->cta->run;
    bool cluster = mem_cluster_holds(t, address - mem_window_base(t, IR_SPACE_SHARED), 1);
    bool local = mem_inside(address, 1, t->local, run->local_B);
    bool param = mem_inside(address, 1, run->launch->params, mem_params_B(t));
    switch (space) {
    case IR_SPACE_SHARED:
        return mem_inside(address, 1, t->cta->shared, run->shared_B);
    case IR_SPACE_SHARED_CLUSTER:
        return cluster;
    case IR_SPACE_LOCAL:
        return local;
    case IR_SPACE_PARAM:
        return param;
    case IR_SPACE_GLOBAL:
        return !cluster && !local && !param;
    case IR_SPACE_GENERIC:
    case IR_SPACE_CONST:
    case IR_SPACE_TENSOR:
        break;
    }
    return false;
}

uint64_t interp_to_generic(struct interp_thread *t, enum ir_space space, uint64_t address)
{
    return address + mem_window_base(t, space);
}

uint64_t interp_from_generic(struct interp_thread *t, enum ir_space space, uint64_t address)
{
    return address - mem_window_base(t, space);
}

bool interp_read(void *thread, uint64_t address, void *out, size_t size_B)
{
    struct interp_thread *t = thread;
    if (!mem_generic_ok(t, address, size_B, false))
        return false;
    memcpy(out, (const void *)(uintptr_t)address, size_B);
    return true;
}

bool interp_write(struct interp_thread *t, uint64_t address, const void *bytes, size_t size_B)
{
    if (!mem_generic_ok(t, address, size_B, true))
        return false;
    if (t->cta->debug && !t->cta->debug->access(t, (void *)(uintptr_t)address, size_B, true))
        return false;
    memcpy((void *)(uintptr_t)address, bytes, size_B);
    return true;
}

uint64_t interp_push_local(struct interp_thread *t, uint64_t size_B, uint64_t align_B)
{
    uint64_t align = align_B && hd_is_pow2(align_B) ? HD_MAX(align_B, 8) : 16;
    uint64_t at = hd_align_up(t->sp, align), limit = t->cta->run->local_B;
    if (at > limit || size_B > limit - at)
        return UINT64_MAX;
    t->sp = at + size_B;
    return at;
}

static const char *mem_space_name(enum ir_space space)
{
    static const char *const names[] = {
#define X(id, text, kind) [id] = (text),
        IR_SPACE_LIST(X)
#undef X
    };
    return names[space];
}

/* The host pointer behind an address that is good: of a window, or of what the device says. */
static void *mem_host_pointer(struct interp_thread *t, enum ir_space space, uint64_t address,
                              bool write)
{
    const struct interp_launch *l = t->cta->run->launch;
    bool global = space == IR_SPACE_GENERIC || space == IR_SPACE_GLOBAL || space == IR_SPACE_CONST;
    if (global && l->ops && l->ops->host && interp_is_space(t, IR_SPACE_GLOBAL, address))
        return l->ops->host(l->ctx, address, write);
    return (void *)(uintptr_t)(address + mem_window_base(t, space));
}

/* Does no other thread see what is written there? */
static bool mem_is_own(const struct interp_thread *t, enum ir_space space, uint64_t address)
{
    return space == IR_SPACE_LOCAL ||
           (space == IR_SPACE_GENERIC && mem_inside(address, 1, t->local, t->cta->run->local_B));
}

void *interp_host_at(struct interp_thread *t, enum ir_space space, uint64_t address,
                     uint64_t size_B, uint64_t align_B, bool write)
{
    const struct interp_run *run = t->cta->run;
    bool ok = false;
    t->cta->run->fault.address = address;
    switch (space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        ok = mem_cluster_holds(t, address, size_B);
        break;
    case IR_SPACE_LOCAL:
        ok = address <= run->local_B && size_B <= run->local_B - address;
        break;
    case IR_SPACE_PARAM:
        ok = !write && address <= mem_params_B(t) && size_B <= mem_params_B(t) - address;
        break;
    case IR_SPACE_GENERIC:
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        ok = mem_generic_ok(t, address, size_B, write);
        break;
    case IR_SPACE_TENSOR:
        interp_fail(t, HD_NOT_SUPPORTED, "%s memory is not executed", mem_space_name(space));
        return NULL;
    }
    if (address & (align_B - 1)) {
        interp_fail(t, HD_MISALIGNED, "%s of %u bytes at %s address %#llx is not aligned",
                    write ? "write" : "read", (unsigned)size_B, mem_space_name(space),
                    (unsigned long long)address);
        return NULL;
    }
    if (!ok) {
        interp_fail(t, HD_ILLEGAL_ADDRESS, "%s of %u bytes at illegal %s address %#llx",
                    write ? "write" : "read", (unsigned)size_B, mem_space_name(space),
                    (unsigned long long)address);
        return NULL;
    }
    t->cta->run->effects += write && !mem_is_own(t, space, address);
    void *bytes = mem_host_pointer(t, space, address, write);
    if (t->cta->debug && !t->cta->debug->access(t, bytes, size_B, write))
        return NULL;
    return bytes;
}

uint64_t interp_address(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    uint64_t address = interp_src(t, 0) + (uint64_t)in->mem.offset;
    return in->src[0]->type == IR_B32 ? (uint32_t)address : address;
}

/* The host pointer of the instruction's address, or NULL after a fault. */
static void *mem_resolve(struct interp_thread *t, uint64_t size_B, bool write)
{
    return interp_host_at(t, t->frame->pc->mem.space, interp_address(t), size_B, size_B, write);
}

/* Single elements are accessed whole: the host may poll or set them meanwhile. */
static struct ir_bits mem_element_load(const char *p, unsigned size_B)
{
    struct ir_bits v = {0, 0};
    switch (size_B) {
    case 1:
        v.lo = __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
        break;
    case 2:
        v.lo = __atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_RELAXED);
        break;
    case 4:
        v.lo = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED);
        break;
    case 8:
        v.lo = __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_RELAXED);
        break;
    default:
        memcpy(&v, p, 16);
        break;
    }
    return v;
}

static void mem_element_store(char *p, unsigned size_B, struct ir_bits v)
{
    switch (size_B) {
    case 1:
        __atomic_store_n((uint8_t *)p, (uint8_t)v.lo, __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n((uint16_t *)(void *)p, (uint16_t)v.lo, __ATOMIC_RELAXED);
        break;
    case 4:
        __atomic_store_n((uint32_t *)(void *)p, (uint32_t)v.lo, __ATOMIC_RELAXED);
        break;
    case 8:
        __atomic_store_n((uint64_t *)(void *)p, v.lo, __ATOMIC_RELAXED);
        break;
    default:
        memcpy(p, &v, 16);
        break;
    }
}

static void mem_order(enum ir_sem sem)
{
    if (sem != IR_SEM_WEAK && sem != IR_SEM_RELAXED)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* b128 in one piece, and vectors of any elements. */
static unsigned mem_element_B(const struct ir_instr *in)
{
    return HD_MAX(ir_type_bits(in->type) / 8, 1u);
}

static unsigned mem_vector_len(const struct ir_instr *in)
{
    return in->mem.vec ? in->mem.vec : 1;
}

enum interp_step interp_load(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    unsigned size_B = mem_element_B(in), n = mem_vector_len(in);
    const char *p = mem_resolve(t, (uint64_t)size_B * n, false);
    if (!p)
        return INTERP_FAULTED;
    for (unsigned i = 0; i < n && i < in->ndst; i++)
        *interp_reg(t, in->dst[i]) = mem_element_load(p + i * size_B, size_B);
    mem_order(in->mem.sem);
    interp_note_poll(t);
    return INTERP_NEXT;
}

enum interp_step interp_store(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    unsigned size_B = mem_element_B(in), n = mem_vector_len(in);
    char *p = mem_resolve(t, (uint64_t)size_B * n, true);
    if (!p)
        return INTERP_FAULTED;
    mem_order(in->mem.sem);
    for (unsigned i = 0; i < n && i + 1 < in->nsrc; i++)
        mem_element_store(p + i * size_B, size_B, *interp_reg(t, in->src[i + 1]));
    return INTERP_NEXT;
}

char *interp_row(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    assert(in->op == IR_OP_LDMATRIX || in->op == IR_OP_STMATRIX);
    return mem_resolve(t, 16, in->op == IR_OP_STMATRIX);
}

uint64_t interp_combine(const struct ir_instr *in, void *p, uint64_t a, uint64_t b)
{
    return ir_atom_at(in->mem.atom, in->type, ir_has(in, IR_MOD_NOFTZ), p, a, b);
}

/* exch and cas on 16 bytes. */
static struct ir_bits mem_atom_16(struct interp_thread *t, char *p)
{
    const struct ir_instr *in = t->frame->pc;
    struct ir_bits a = *interp_reg(t, in->src[1]);
    struct hd_16 old = {a.lo, a.hi};
    if (in->mem.atom == IR_ATOM_EXCH) {
        old = hd_exchange_16(p, old);
    } else {
        struct ir_bits b = *interp_reg(t, in->src[2]);
        hd_swap_16(p, &old, (struct hd_16){b.lo, b.hi});
    }
    return (struct ir_bits){old.lo, old.hi};
}

enum interp_step interp_atom(struct interp_thread *t)
{
    const struct ir_instr *in = t->frame->pc;
    unsigned size_B = mem_element_B(in);
    struct ir_bits old = {0, 0};
    uint64_t effects = t->cta->run->effects;
    char *p = mem_resolve(t, size_B, true);
    if (!p)
        return INTERP_FAULTED;
    uint64_t a = interp_src(t, 1), b = in->mem.atom == IR_ATOM_CAS ? interp_src(t, 2) : 0;
    switch (size_B) {
    case 2:
    case 4:
    case 8:
        old.lo = interp_combine(in, p, a, b);
        break;
    case 16:
        old = mem_atom_16(t, p);
        break;
    default:
        return interp_fail(t, HD_NOT_SUPPORTED, "atomic on %u bytes", size_B);
    }
    struct ir_bits now = mem_element_load(p, size_B);
    if (now.lo == old.lo && now.hi == old.hi)
        t->cta->run->effects = effects; /* a lock that is taken still is */
    if (in->ndst)
        *interp_reg(t, in->dst[0]) = old;
    interp_note_poll(t);
    return INTERP_NEXT;
}
