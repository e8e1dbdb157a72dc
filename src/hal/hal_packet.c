/* Packet names and checks, and the fault domain. */
#include <string.h>

#include "hal/hal.h"

const char *hal_op_name(unsigned op)
{
    static const char *const names[] = {
#define X(name, text, doc) text,
        HAL_OP_LIST(X)
#undef X
    };
    return op < HAL_OP_COUNT ? names[op] : "unknown";
}

static enum hd_status check_dispatch(const struct hal_dispatch *p)
{
    for (int i = 0; i < 3; i++) {
        if (!p->grid[i])
            return hd_error(HD_BAD_ARG, "dispatch: grid[%d] is 0", i);
        if (!p->block[i])
            return hd_error(HD_BAD_ARG, "dispatch: block[%d] is 0", i);
    }
    if (!p->kernel)
        return hd_error(HD_BAD_ARG, "dispatch: kernel is 0");
    if (!p->params_ring_B && p->params_B > HAL_INLINE_PARAMS_B)
        return hd_error(HD_BAD_ARG, "dispatch: %u bytes of parameters do not fit the packet",
                        p->params_B);
    if (p->params_ring_B && !p->params_va)
        return hd_error(HD_BAD_ARG, "dispatch: params_va is 0");
    return HD_OK;
}

static enum hd_status check_copy(const struct hal_copy *p)
{
    if (p->height > 1 && (p->dst_pitch_B < p->width_B || p->src_pitch_B < p->width_B))
        return hd_error(HD_BAD_ARG, "copy: pitch is below the width of %llu bytes",
                        (unsigned long long)p->width_B);
    return HD_OK;
}

static enum hd_status check_fill(const struct hal_fill *p)
{
    if (p->elem_B != 1 && p->elem_B != 2 && p->elem_B != 4)
        return hd_error(HD_BAD_ARG, "fill: elem_B is %u", p->elem_B);
    if (p->dst % p->elem_B || (p->height > 1 && p->pitch_B % p->elem_B))
        return hd_error(HD_BAD_ARG, "fill: destination is not aligned to %u bytes", p->elem_B);
    if (p->height > 1 && p->pitch_B < p->width * p->elem_B)
        return hd_error(HD_BAD_ARG, "fill: pitch is below the width");
    return HD_OK;
}

static enum hd_status check_sem(const struct hal_sem *p)
{
    if (!p->address || p->address % 8)
        return hd_error(HD_BAD_ARG, "%s: address is 0 or not a multiple of 8",
                        hal_op_name(p->head.op));
    return HD_OK;
}

enum hd_status hal_packet_check(const union hal_packet *packet)
{
    switch (packet->head.op) {
    case HAL_OP_NOP:
    case HAL_OP_BARRIER:
        return HD_OK;
    case HAL_OP_DISPATCH:
        return check_dispatch(&packet->dispatch);
    case HAL_OP_COPY:
        return check_copy(&packet->copy);
    case HAL_OP_FILL:
        return check_fill(&packet->fill);
    case HAL_OP_WAIT:
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
        return check_sem(&packet->sem);
    case HAL_OP_HOST_CALL:
        if (!packet->host_call.func)
            return hd_error(HD_BAD_ARG, "host_call: func is 0");
        return HD_OK;
    default:
        return hd_error(HD_BAD_ARG, "packet: unknown op %u", packet->head.op);
    }
}

bool hal_fault_raise(struct hal_fault *fault, enum hd_status status, uint64_t address,
                     const char *message)
{
    static struct hd_lock lock = HD_LOCK_INIT(LEAF, "fault");
    bool first;

    hd_lock_acquire(&lock);
    first = atomic_load_explicit(&fault->status, memory_order_relaxed) == HD_OK;
    if (first) {
        fault->address = address;
        snprintf(fault->message, sizeof(fault->message), "%s", message ? message : "");
        atomic_store_explicit(&fault->status, status, memory_order_release);
    }
    hd_lock_release(&lock);
    return first;
}
