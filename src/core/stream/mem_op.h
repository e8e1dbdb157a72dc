/*
 * Operations of a stream on memory (mem_op.c, mem_op_packet.c): waits, writes and barriers.
 */
#ifndef HD_CORE_STREAM_MEM_OP_H
#define HD_CORE_STREAM_MEM_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct core_stream;
union hal_packet;

enum core_mem_op_kind { CORE_MEM_OP_WAIT, CORE_MEM_OP_WRITE, CORE_MEM_OP_BARRIER };
enum core_compare { CORE_COMPARE_GEQ, CORE_COMPARE_EQ, CORE_COMPARE_AND, CORE_COMPARE_NOR };
struct core_mem_op {
    enum core_mem_op_kind kind;
    enum core_compare compare; /* wait */
    bool is_32;
    uint64_t va, value;
};
/* HD_BAD_ARG: the address is misaligned, of managed memory, or of none that the device knows. */
enum hd_status core_mem_op_packet(const struct core_mem_op *op, union hal_packet *out_packet)
    HD_MUST_CHECK;
/* In this order; nothing is submitted when one of them is wrong. */
enum hd_status core_stream_mem_ops(struct core_stream *stream, const struct core_mem_op *ops,
                                   unsigned n) HD_MUST_CHECK;

#endif
