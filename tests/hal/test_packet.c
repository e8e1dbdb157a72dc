/* Packet layout on the wire, packet checks, and the fault domain. */
#include "hal/hal.h"
#include "tap.h"

static void test_layout(void)
{
    eq_u64(offsetof(struct hal_dispatch, kernel), 8, "dispatch.kernel");
    eq_u64(offsetof(struct hal_dispatch, grid), 16, "dispatch.grid");
    eq_u64(offsetof(struct hal_dispatch, block), 28, "dispatch.block");
    eq_u64(offsetof(struct hal_dispatch, dynamic_smem_B), 36, "dispatch.dynamic_smem_B");
    eq_u64(offsetof(struct hal_dispatch, params_va), 48, "dispatch.params_va");
    eq_u64(offsetof(struct hal_dispatch, grid_id), 60, "dispatch.grid_id");
    eq_u64(offsetof(struct hal_copy, src_slice_B), 72, "copy.src_slice_B");
    eq_u64(offsetof(struct hal_fill, value), 40, "fill.value");
    eq_u64(offsetof(struct hal_sem, value), 16, "sem.value");
    eq_u64(offsetof(struct hal_host_call, always), 24, "host_call.always");
}

static void test_checks(void)
{
    union hal_packet p = {.dispatch = {.head.op = HAL_OP_DISPATCH, .kernel = 1}};

    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "dispatch without grid");
    for (int i = 0; i < 3; i++) {
        p.dispatch.grid[i] = 1;
        p.dispatch.block[i] = 1;
    }
    eq_u64(hal_packet_check(&p), HD_OK, "dispatch");
    p.dispatch.params_B = 65;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "too many inline parameters");
    p = (union hal_packet){.fill = {.head.op = HAL_OP_FILL, .dst = 6, .elem_B = 4}};
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "misaligned fill");
    p.fill.elem_B = 3;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "odd element size");
    p = (union hal_packet){.copy = {.head.op = HAL_OP_COPY, .width_B = 8, .height = 2}};
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "pitch below width");
    p = (union hal_packet){.sem = {.head.op = HAL_OP_WAIT, .address = 4}};
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "misaligned semaphore");
    p = (union hal_packet){.head.op = 200};
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "unknown op");
    eq_str(hal_op_name(HAL_OP_TIMESTAMP), "timestamp", "op name");
    eq_str(hal_op_name(77), "unknown", "name of an unknown op");
}

static void test_fault(void)
{
    struct hal_fault fault = {0};

    ok(hal_fault_raise(&fault, HD_TRAP, 16, "first"), "first fault");
    ok(!hal_fault_raise(&fault, HD_ASSERT, 32, "second"), "second fault is not recorded");
    eq_u64(hal_fault_status(&fault), HD_TRAP, "status of the first");
    eq_str(fault.message, "first", "message of the first");
}

int main(void)
{
    test_layout();
    test_checks();
    test_fault();
    return done();
}
