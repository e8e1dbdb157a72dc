/*
 * What a thread polls, for a message: the address of the access, as far as it is made of
 * parameters, numbers of threads and constants, which are the same whenever they are asked for.
 * Generated code keeps none of it; what comes from memory or changes in a loop is not known.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "dev/cpu/cta/cta.h"
#include "dev/cpu/kernel.h"
#include "model/eval.h"

enum { DEPTH_MAX = 24, STEPS_MAX = 200, SOURCES_MAX = 4 };

struct asker {
    const struct cpu_cta *cta;
    uint32_t thread[3], number;
    unsigned steps;
};

static bool value_of(struct asker *a, const struct ir_value *v, unsigned depth,
                     struct ir_bits *out);

static bool sreg_of(const struct asker *a, enum ir_sreg sreg, uint64_t *out)
{
    const struct jit_launch *l = a->cta->cta.launch;
    const struct {
        enum ir_sreg first; /* x, and y and z behind it */
        const uint32_t *at;
    } rows[] = {{IR_SREG_TID_X, a->thread},
                {IR_SREG_CTAID_X, a->cta->cta.ctaid},
                {IR_SREG_NTID_X, l->block},
                {IR_SREG_NCTAID_X, l->grid}};

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        if (sreg < rows[i].first || sreg > rows[i].first + 2)
            continue;
        *out = rows[i].at[sreg - rows[i].first];
        return true;
    }
    *out = a->number % 32;
    return sreg == IR_SREG_LANEID;
}

static bool param_of(const struct asker *a, const struct ir_instr *in, uint64_t at, uint64_t *out)
{
    const struct ir_func *kernel = a->cta->job->kernel->func;
    uint32_t size_B = ir_type_bits(in->type) / 8;

    at += (uint64_t)in->mem.offset;
    if (in->block->func != kernel || in->mem.space != IR_SPACE_PARAM || in->ndst != 1 || !size_B ||
        size_B > sizeof(*out) || at > kernel->param_size_B || size_B > kernel->param_size_B - at)
        return false;
    *out = 0;
    memcpy(out, (const char *)a->cta->cta.launch->params + at, size_B);
    return true;
}

static bool variable_of(const struct asker *a, const struct ir_instr *in, uint64_t *out)
{
    const struct ir_var *v = in->var;

    if (v->space == IR_SPACE_SHARED)
        *out = v->window_offset + in->imm;
    else
        *out = a->cta->cta.launch->vars[v->index] + in->imm;
    return v->space == IR_SPACE_SHARED || v->space == IR_SPACE_GLOBAL;
}

static bool pure_of(struct asker *a, const struct ir_instr *in, unsigned depth, struct ir_bits *out)
{
    struct ir_bits src[SOURCES_MAX];

    if (!ir_op_has(in->op, IR_F_PURE) || in->ndst != 1 || in->nsrc > SOURCES_MAX)
        return false;
    for (uint32_t i = 0; i < in->nsrc; i++)
        if (!value_of(a, in->src[i], depth, &src[i]))
            return false;
    if (in->op == IR_OP_CVTA || in->op == IR_OP_CVTA_TO) { /* global addresses are generic ones */
        *out = src[0];
        return in->mem.space == IR_SPACE_GLOBAL;
    }
    return ir_eval(in, src, out);
}

static bool value_of(struct asker *a, const struct ir_value *v, unsigned depth, struct ir_bits *out)
{
    const struct ir_instr *in = v->instr;
    struct ir_bits at;

    *out = (struct ir_bits){0};
    if (!in || !depth || ++a->steps > STEPS_MAX)
        return false;
    if (in->op == IR_OP_SREG)
        return sreg_of(a, (enum ir_sreg)in->imm, &out->lo);
    if (in->op == IR_OP_VARADDR)
        return variable_of(a, in, &out->lo);
    if (in->op == IR_OP_LD)
        return value_of(a, in->src[0], depth - 1, &at) && param_of(a, in, at.lo, &out->lo);
    return pure_of(a, in, depth - 1, out);
}

/* Where it is in our memory. */
static bool host_address(const struct cpu_cta *cta, enum ir_space space, uint64_t *at)
{
    if (space == IR_SPACE_SHARED && *at >= cta->cta.launch->shared_B)
        return false;
    if (space == IR_SPACE_SHARED)
        *at += (uintptr_t)cta->cta.shared;
    return space == IR_SPACE_SHARED || space == IR_SPACE_GLOBAL || space == IR_SPACE_GENERIC;
}

/* The kernel copies: the memory may have gone. */
static bool memory_read(uint64_t at, uint32_t size_B, uint64_t *out)
{
    struct iovec to = {out, size_B}, from = {(void *)(uintptr_t)at, size_B};

    *out = 0;
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size_B;
}

void cpu_print_polled(const struct cpu_cta *cta, const struct ir_instr *in, uint32_t thread,
                      struct hd_buf *out)
{
    struct asker a = {.cta = cta, .number = thread};
    uint32_t size_B = ir_type_bits(in->type) / 8;
    struct ir_bits at;
    uint64_t value;

    if (!ir_op_has(in->op, IR_F_ADDR) || !in->nsrc)
        return;
    ir_thread_index(cta->cta.launch->block, thread, a.thread);
    if (!value_of(&a, in->src[0], DEPTH_MAX, &at))
        return;
    at.lo += (uint64_t)in->mem.offset;
    hd_buf_printf(out, ", at %s0x%llx", ir_space_is_shared(in->mem.space) ? "shared " : "",
                  (unsigned long long)at.lo);
    if ((in->op == IR_OP_LD || in->op == IR_OP_ATOM) && size_B && size_B <= sizeof(value) &&
        host_address(cta, in->mem.space, &at.lo) && memory_read(at.lo, size_B, &value))
        hd_buf_printf(out, " (now 0x%llx)", (unsigned long long)value);
}
