/*
 * Pieces of PTX text that the printer's files share. Private to ptx/.
 * ptx_print.c writes modules and declarations, ptx_print_insn.c operands and instructions.
 */
#ifndef HD_PTX_PTX_PRINT_H
#define HD_PTX_PTX_PRINT_H

#include "ptx/ptx.h"

void ptx_put_str(struct hd_buf *buf, struct hd_str text);
void ptx_put_u64(struct hd_buf *buf, uint64_t value);
/* A constant that the lexer reads back with the same bits and signedness. */
void ptx_put_int(struct hd_buf *buf, uint64_t bits, bool is_unsigned);
/* `+offset`, nothing when it is zero. */
void ptx_put_offset(struct hd_buf *buf, int64_t offset);

#endif
