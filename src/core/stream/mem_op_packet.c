/* Memory operations of streams as packets: WAIT, SIGNAL and BARRIER on memory of the program's. */
#include <assert.h>

#include "core/mem/memory.h"
#include "core/stream/mem_op.h"
#include "hal/hal.h"

/* Only memory that stays where it is: managed memory may move on devices that migrate it. */
static enum hd_status address_check(const struct core_mem_op *op)
{
    uint64_t size_B = op->is_32 ? 4 : 8;
    enum core_mem_kind kind;

    if (op->va % size_B)
        return hd_error(HD_BAD_ARG, "stream memory operation: 0x%llx is not a multiple of %llu",
                        (unsigned long long)op->va, (unsigned long long)size_B);
    HD_TRY(core_memory_classify(op->va, size_B, true, &kind));
    return kind == CORE_MEM_MANAGED
               ? hd_error(HD_BAD_ARG, "stream memory operation: 0x%llx is managed memory",
                          (unsigned long long)op->va)
               : HD_OK;
}

static uint8_t compare_of(enum core_compare compare)
{
    static const uint8_t compares[] = {
        [CORE_COMPARE_GEQ] = HAL_COMPARE_CYCLIC_GEQ, /* the API's, too, ignores wraparound */
        [CORE_COMPARE_EQ] = HAL_COMPARE_EQ,
        [CORE_COMPARE_AND] = HAL_COMPARE_AND,
        [CORE_COMPARE_NOR] = HAL_COMPARE_NOR,
    };

    assert((unsigned)compare < HD_COUNT_OF(compares));
    return compares[compare];
}

enum hd_status core_mem_op_packet(const struct core_mem_op *op, union hal_packet *out_packet)
{
    *out_packet = (union hal_packet){.head = {.op = HAL_OP_BARRIER}};
    if (op->kind == CORE_MEM_OP_BARRIER)
        return HD_OK;
    HD_TRY(address_check(op));
    out_packet->head.op = op->kind == CORE_MEM_OP_WAIT ? HAL_OP_WAIT : HAL_OP_SIGNAL;
    out_packet->sem.address = op->va;
    out_packet->sem.value = op->value;
    out_packet->sem.is_32 = op->is_32;
    out_packet->sem.is_guarded = 1; /* another stream may free it meanwhile */
    if (op->kind == CORE_MEM_OP_WAIT)
        out_packet->sem.compare = compare_of(op->compare);
    else
        out_packet->sem.signal = HAL_SIGNAL_SET;
    return HD_OK;
}
