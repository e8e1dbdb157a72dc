/* Memory as a thread sees it: what only the debugger knows (layout.h), and the host's. */
#include <assert.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dbg/private.h"

/* Bytes that an address stands for: `at`, or the bytes of `small`. */
struct location {
    void *at; /* NULL: nothing there */
    uint64_t left_B;
    bool is_constant; /* cannot be written */
    bool is_reg;      /* but this can: number `reg` of the frame, from byte `reg_at` */
    unsigned frame;
    uint32_t reg, reg_at;
    char small[16];
};

/* ---- the stack */

static const struct dbg_var *memory_local_at(const struct dbg_unit *unit, const struct dbg_func *f,
                                             uint64_t offset)
{
    for (size_t i = 0; i < unit->vars.len; i++) {
        const struct dbg_var *v = &unit->vars.at[i];
        if (v->kind == DBG_VAR_LOCAL && v->func == f && offset >= v->at &&
            offset - v->at < v->size_B)
            return v;
    }
    return NULL;
}

static const struct ir_var *memory_var_named(const struct ir_var *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0)
        list = list->next;
    return list;
}

static void memory_local(struct interp_thread *t, unsigned frame, uint64_t offset,
                         struct location *out)
{
    struct interp_spot spot = interp_debug_spot(t, frame);
    uint64_t pc = dbg_pc(t, frame);
    const struct dbg_unit *unit = dbg_unit_of(pc);
    const struct dbg_func *f = unit ? dbg_unit_insn(unit, pc)->func : NULL;
    const struct dbg_var *v = f ? memory_local_at(unit, f, offset) : NULL;

    if (!v)
        return;
    if (f->ptx->is_entry && v->ptx->is_param) {
        const struct interp_launch *launch = interp_debug_launch(interp_debug_cta(t));
        for (uint32_t i = 0; i < launch->kernel->nparams; i++) {
            const struct ir_param *p = &launch->kernel->params[i];
            if (strcmp(p->name, v->name) != 0)
                continue;
            out->at = (char *)(uintptr_t)launch->params + p->offset_B;
            out->left_B = p->size_B;
        }
    } else {
        const struct ir_var *var = memory_var_named(spot.func->vars, v->name);
        if (!var)
            return;
        out->at = interp_debug_var(t, frame, var);
        out->left_B = v->size_B;
    }
    if (!out->at)
        return;
    out->at = (char *)out->at + (offset - v->at);
    out->left_B -= HD_MIN(offset - v->at, out->left_B);
}

/* A register that was never written has no value. */
static void memory_register(const struct interp_thread *t, unsigned frame, uint64_t offset,
                            struct location *out)
{
    uint64_t value[2];

    if (!interp_debug_reg(t, frame, (uint32_t)(offset / DBG_REG_B), value))
        return;
    memcpy(out->small, value, sizeof(out->small));
    out->at = out->small + offset % DBG_REG_B;
    out->left_B = DBG_REG_B - offset % DBG_REG_B;
    out->is_constant = true;
    out->is_reg = true;
    out->frame = frame;
    out->reg = (uint32_t)(offset / DBG_REG_B);
    out->reg_at = (uint32_t)(offset % DBG_REG_B);
}

static bool memory_register_write(struct interp_thread *t, const struct location *p,
                                  const char *bytes, size_t size_B)
{
    uint64_t value[2];

    assert(p->is_reg && p->reg_at + size_B <= sizeof(value));
    memcpy(value, p->small, sizeof(value));
    memcpy((char *)value + p->reg_at, bytes, size_B);
    return interp_debug_reg_set(t, p->frame, p->reg, value);
}

static void memory_return(const struct interp_thread *t, unsigned frame, uint64_t offset,
                          struct location *out)
{
    uint64_t pc = frame + 1 < interp_debug_depth(t) ? dbg_pc(t, frame + 1) + DBG_INSN_B : 0;

    assert(offset >= DBG_RETURN_AT && offset < DBG_FRAME_B);
    memcpy(out->small, &pc, sizeof(pc));
    out->at = out->small + (offset - DBG_RETURN_AT);
    out->left_B = DBG_FRAME_B - offset;
    out->is_constant = true;
}

static void memory_stack(struct interp_thread *t, uint64_t address, struct location *out)
{
    uint64_t top = DBG_STACK_TOP(dbg_tid(t)), depth = (top - 1 - address) / DBG_FRAME_B + 1;
    uint64_t offset = address - (top - depth * DBG_FRAME_B);

    assert(address < top && depth);
    if (depth > interp_debug_depth(t))
        return;
    unsigned frame = interp_debug_depth(t) - (unsigned)depth;
    if (offset >= DBG_RETURN_AT)
        memory_return(t, frame, offset, out);
    else if (offset >= DBG_LOCALS)
        memory_local(t, frame, offset - DBG_LOCALS, out);
    else
        memory_register(t, frame, offset, out);
}

/* ---- other spaces */

static void memory_special(const struct interp_thread *t, uint64_t offset, struct location *out)
{
    static const enum ir_sreg rows[] = {
#define X(name, at, sreg) [(at) / 16] = IR_SREG_##sreg##_X,
        DBG_SPECIAL_LIST(X)
#undef X
    };
    _Static_assert(HD_COUNT_OF(rows) * 16 == DBG_WARP_SIZE_AT, "a row each, then the warp's size");
    uint32_t value = 32, size_B; /* lanes of a warp */
    const uint8_t *returned = interp_debug_returned(t, &size_B);

    if (offset >= DBG_RETURNED - DBG_SPECIAL && offset - (DBG_RETURNED - DBG_SPECIAL) < size_B) {
        out->at = (void *)(uintptr_t)(returned + (offset - (DBG_RETURNED - DBG_SPECIAL)));
        out->left_B = size_B - (offset - (DBG_RETURNED - DBG_SPECIAL));
        out->is_constant = true;
        return;
    }
    if (offset >= DBG_SPECIAL_B || offset % 16 / 4 > 2)
        return;
    if (offset < DBG_WARP_SIZE_AT)
        value = (uint32_t)interp_debug_sreg(
            t, (enum ir_sreg)(rows[offset / 16] + (int)(offset % 16 / 4)));
    memcpy(out->small, &value, sizeof(value));
    out->at = out->small + offset % 4;
    out->left_B = 4 - offset % 4;
    out->is_constant = true;
}

static const struct dbg_program *memory_program_with(uint64_t address,
                                                     const struct dbg_var **out_var)
{
    for (size_t i = 0; i < dbg.programs.len; i++) {
        const struct dbg_program *p = dbg.programs.at[i];
        for (size_t k = 0; k < p->nunits; k++)
            if ((*out_var = dbg_unit_var_at(p->units[k], address)))
                return p;
    }
    return NULL;
}

static void memory_shared(const struct interp_thread *t, uint64_t address, struct location *out)
{
    const struct interp_cta *cta = interp_debug_cta(t);
    const struct dbg_var *v;
    uint64_t window_B, at = address - DBG_SHARED_WINDOW;
    char *window = interp_debug_shared(cta, &window_B);

    if (address < DBG_SHARED_WINDOW) {
        if (!memory_program_with(address, &v))
            return;
        const struct ir_module *code = interp_debug_launch(cta)->kernel->module;
        const struct ir_var *found = memory_var_named(code->vars, v->name);
        for (const struct ir_func *f = code->funcs; f && !found; f = f->next)
            found = memory_var_named(f->vars, v->name);
        const struct ir_var *var = found && found->space == IR_SPACE_SHARED ? found : NULL;
        if (!var || var->window_offset > window_B)
            return;
        at = var->window_offset + (address - v->at);
    }
    if (at >= window_B)
        return;
    out->at = window + at;
    out->left_B = window_B - at;
}

static void memory_global(uint64_t address, struct location *out)
{
    const struct dbg_var *v;
    const struct dbg_program *p = memory_program_with(address, &v);

    for (size_t i = 0; p && i < p->globals.len; i++) {
        if (strcmp(p->globals.at[i].name, v->name) != 0 || !p->globals.at[i].va)
            continue;
        assert(address >= v->at && address - v->at <= v->size_B);
        uint64_t va = p->globals.at[i].va + (address - v->at);
        out->left_B = v->size_B - (address - v->at);
        out->at = (void *)(uintptr_t)(dbg.core ? (uintptr_t)dump_file_at(dbg.core, va, &out->left_B)
                                               : va);
    }
}

/* False: it is an address of the host. */
static bool memory_location_of(struct interp_thread *t, uint64_t address, struct location *out)
{
    *out = (struct location){0};
    switch (address >> DBG_SPACE_SHIFT << DBG_SPACE_SHIFT) {
    case DBG_STACK:
        t = dbg_stack_owner(address, t);
        if (t)
            memory_stack(t, address, out);
        return true;
    case DBG_SPECIAL:
        if (t)
            memory_special(t, address - DBG_SPECIAL, out);
        return true;
    case DBG_SHARED:
        if (t)
            memory_shared(t, address, out);
        return true;
    case DBG_GLOBAL:
        memory_global(address, out);
        return true;
    case DBG_TEXT: { /* nothing that anybody decodes */
        static char nops[DBG_INSN_B] = {(char)0x90, (char)0x90, (char)0x90, (char)0x90,
                                        (char)0x90, (char)0x90, (char)0x90, (char)0x90};
        if (!dbg_unit_of(address & ~(uint64_t)(DBG_INSN_B - 1)))
            return true;
        out->at = nops + address % DBG_INSN_B;
        out->left_B = DBG_INSN_B - address % DBG_INSN_B;
        out->is_constant = true;
        return true;
    }
    default:
        return false;
    }
}

/* The kernel copies, so that addresses where nothing is are no fault of ours. */
static size_t memory_host_copy(uint64_t address, void *bytes, size_t size_B, bool write)
{
    struct iovec ours = {bytes, size_B};
    struct iovec theirs = {(void *)(uintptr_t)address, size_B};
    ssize_t n = write ? process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0)
                      : process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0);

    return n < 0 ? 0 : (size_t)n;
}

/* Addresses of the program, which is not there, in what the file has of its memory. */
static size_t memory_core_copy(uint64_t address, char *bytes, size_t size_B)
{
    size_t done = 0;

    while (done < size_B) {
        uint64_t left_B, at = (uintptr_t)dump_file_at(dbg.core, address + done, &left_B);
        size_t n = at ? HD_MIN(size_B - done, left_B) : 0;
        if (!n || memory_host_copy(at, bytes + done, n, false) < n)
            break;
        done += n;
    }
    return done;
}

static size_t memory_copy(struct interp_thread *t, uint64_t address, char *bytes, size_t size_B,
                          bool write)
{
    size_t done = 0;

    while (done < size_B) {
        struct location p;
        size_t n = size_B - done;
        if (!memory_location_of(t, address + done, &p))
            return done + (dbg.core ? memory_core_copy(address + done, bytes + done, n)
                                    : memory_host_copy(address + done, bytes + done, n, write));
        if (!p.at || !p.left_B || (write && p.is_constant && !p.is_reg))
            break;
        n = HD_MIN(n, p.left_B);
        size_t copied = n;
        if (write && p.is_reg)
            copied = memory_register_write(t, &p, bytes + done, n) ? n : 0;
        else if (p.is_constant)
            memcpy(bytes + done, p.at, n);
        else
            copied = memory_host_copy((uintptr_t)p.at, bytes + done, n, write);
        done += copied;
        if (copied < n)
            break;
    }
    return done;
}

size_t dbg_read(struct interp_thread *t, uint64_t address, void *out, size_t size_B)
{
    assert(dbg_is_locked());
    return memory_copy(t, address, out, size_B, false);
}

size_t dbg_write(struct interp_thread *t, uint64_t address, const void *bytes, size_t size_B)
{
    assert(dbg_is_locked());
    return dbg.core ? 0 : memory_copy(t, address, (char *)(uintptr_t)bytes, size_B, true);
}

uint64_t dbg_host_address(struct interp_thread *t, uint64_t address)
{
    struct location p;

    if (!memory_location_of(t, address, &p))
        return address;
    return p.is_constant ? 0 : (uintptr_t)p.at;
}
