/* Packet checks (the layout is asserted by hal_packet.c itself), and the fault of a domain. */
#include "hal/hal.h"
#include "tap.h"

/* A packet of each kind that is fine. */
static union hal_packet good_packet(enum hal_op op)
{
    union hal_packet p = {.head.op = (uint8_t)op};

    switch (op) {
    case HAL_OP_DISPATCH:
        p.dispatch.kernel = 1;
        for (int i = 0; i < 3; i++)
            p.dispatch.grid[i] = p.dispatch.block[i] = 1;
        break;
    case HAL_OP_FILL:
        p.fill.elem_B = 4;
        break;
    case HAL_OP_WAIT:
    case HAL_OP_SIGNAL:
    case HAL_OP_TIMESTAMP:
        p.sem.address = 64;
        break;
    case HAL_OP_HOST_CALL:
        p.host_call.func = 1;
        break;
    default:
        break;
    }
    return p;
}

static void test_good(void)
{
    for (unsigned op = 0; op < HAL_OP_COUNT; op++) {
        union hal_packet p = good_packet(op);

        eq_u64(hal_packet_check(&p), HD_OK, "%s", hal_op_name(op));
        p.head.flags = HAL_FLAG_STAMP | HAL_FLAG_OVERLAP;
        eq_u64(hal_packet_check(&p), HD_OK, "%s with flags for all", hal_op_name(op));
        p.head.flags = HAL_FLAG_COOPERATIVE;
        eq_u64(hal_packet_check(&p) == HD_OK, op == HAL_OP_DISPATCH, "%s with a dispatch's flag",
               hal_op_name(op));
        p.head.flags = 1 << 15;
        eq_u64(hal_packet_check(&p), HD_BAD_ARG, "%s with a flag that is none", hal_op_name(op));
    }
}

/* What is not written down is refused: each reserved byte of each packet. */
static void test_reserved(void)
{
    static const struct {
        enum hal_op op;
        unsigned at, end;
    } rows[] = {
        {HAL_OP_DISPATCH, 1, 2},     {HAL_OP_DISPATCH, 59, 60}, {HAL_OP_COPY, 80, 128},
        {HAL_OP_FILL, 48, 128},      {HAL_OP_WAIT, 32, 128},    {HAL_OP_SIGNAL, 32, 128},
        {HAL_OP_HOST_CALL, 24, 128},
    };

    for (unsigned i = 0; i < HD_COUNT_OF(rows); i++) {
        unsigned taken = 0;

        for (unsigned at = rows[i].at; at < rows[i].end; at++) {
            union hal_packet p = good_packet(rows[i].op);

            p.bytes[at] = 1;
            taken += hal_packet_check(&p) == HD_OK;
        }
        eq_u64(taken, 0, "%s: bytes %u to %u are reserved", hal_op_name(rows[i].op), rows[i].at,
               rows[i].end - 1);
    }
}

static void test_checks(void)
{
    union hal_packet p = good_packet(HAL_OP_WAIT);

    p.sem.is_guarded = 1;
    eq_u64(hal_packet_check(&p), HD_OK, "a guarded wait");
    p.sem.is_guarded = 2;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "one that is more than guarded");
    p = good_packet(HAL_OP_DISPATCH);

    p.dispatch.block[2] = 0;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "dispatch without threads");
    ok(strstr(hd_error_message(), "block[2]") != NULL, "names the field: %s", hd_error_message());
    p = good_packet(HAL_OP_DISPATCH);
    p.dispatch.block[0] = p.dispatch.block[1] = 60000;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "a CTA of 3.6 billion threads");
    p = good_packet(HAL_OP_DISPATCH);
    p.dispatch.params_B = 65;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "too many inline parameters");
    p.dispatch.ring_B = 128;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "a block outside the parameter ring");
    p.dispatch.ring_offset = HAL_RING_PARAMS_AT;
    eq_u64(hal_packet_check(&p), HD_OK, "one inside");
    p.head.flags = HAL_FLAG_EXTENSION;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "that has no room for the extension");
    p.dispatch.ring_B = 192;
    p.dispatch.ring_offset = HAL_RING_B - 64;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "that runs over the end");
    p = good_packet(HAL_OP_DISPATCH);
    p.dispatch.grid[0] = 12;
    p.dispatch.cluster[0] = 4;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "a cluster of some dimensions");
    p.dispatch.cluster[1] = p.dispatch.cluster[2] = 1;
    eq_u64(hal_packet_check(&p), HD_OK, "of all");
    p.dispatch.cluster[0] = 5;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "that does not divide the grid");
    p.dispatch.grid[0] = 17;
    p.dispatch.cluster[0] = 17;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "that is too large");
    p = good_packet(HAL_OP_FILL);
    p.fill.dst = 6;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "misaligned fill");
    p.fill.elem_B = 3;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "odd element size");
    p = good_packet(HAL_OP_COPY);
    p.copy.width_B = 8, p.copy.height = 2;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "pitch below width");
    p = good_packet(HAL_OP_WAIT);
    p.sem.address = 4;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "misaligned semaphore");
    p.sem.is_32 = 1;
    eq_u64(hal_packet_check(&p), HD_OK, "of 32 bits it is aligned");
    p.sem.compare = HAL_COMPARE_COUNT;
    eq_u64(hal_packet_check(&p), HD_BAD_ARG, "unknown comparison");
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
    test_good();
    test_reserved();
    test_checks();
    test_fault();
    return done();
}
