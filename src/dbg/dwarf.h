/*
 * DWARF of a unit for GDB: that of its PTX with its addresses and registers made ours, or, where
 * the PTX has lines only or nothing at all, one that says what there is.
 *
 * Private to src/dbg. Source: DWARF 4 standard; PTX ISA 11.5; for registers, what nvcc and LLVM
 * write: DW_OP_regx with the name of the PTX register as a number, its first letter highest.
 */
#ifndef HD_DBG_DWARF_H
#define HD_DBG_DWARF_H

#include "dbg/unit.h"

/* X(field, section) */
#define DBG_DWARF_LIST(X)                                                                          \
    X(info, ".debug_info")                                                                         \
    X(abbrev, ".debug_abbrev")                                                                     \
    X(str, ".debug_str")                                                                           \
    X(loc, ".debug_loc")                                                                           \
    X(ranges, ".debug_ranges")                                                                     \
    X(line, ".debug_line")                                                                         \
    X(frame, ".debug_frame")

struct dbg_dwarf {
#define X(field, section) struct hd_buf field;
    DBG_DWARF_LIST(X)
#undef X
};

void dbg_dwarf_init(struct dbg_dwarf *dwarf);
void dbg_dwarf_fini(struct dbg_dwarf *dwarf);
/* dwarf_copy.c: the sections of the PTX; false: it has no .debug_info. */
bool dbg_dwarf_copy(const struct dbg_unit *unit, struct dbg_dwarf *out);
/* The .debug_str of a unit: what stands behind a label; NULL: no such label. */
struct dbg_strings {
    struct hd_map labels;
    struct hd_buf text;
};
bool dbg_strings_init(struct dbg_strings *s, const struct dbg_unit *unit);
void dbg_strings_fini(struct dbg_strings *s);
const char *dbg_strings_at(const struct dbg_strings *s, struct hd_str label, int64_t offset);
/* dwarf_make.c: functions, their parameters, and what was inlined. */
void dbg_dwarf_make(const struct dbg_unit *unit, const char *source, struct dbg_dwarf *out);
void dbg_dwarf_make_builtins(struct dbg_dwarf *out);
/* dwarf_line.c; `source`: where the PTX lies, for units without .loc. */
bool dbg_unit_has_lines(const struct dbg_unit *unit);
void dbg_dwarf_lines(const struct dbg_unit *unit, const char *source, struct dbg_dwarf *out);
void dbg_dwarf_frames(const struct dbg_unit *unit, struct dbg_dwarf *out);

/* Little-endian numbers. */
static inline void dbg_put(struct hd_buf *buf, uint64_t value, unsigned size_B)
{
    for (unsigned i = 0; i < size_B; i++)
        hd_buf_putc(buf, (char)(i < 8 ? value >> (8 * i) : 0));
}
static inline void dbg_put_uleb(struct hd_buf *buf, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        hd_buf_putc(buf, (char)(value | 0x80));
    hd_buf_putc(buf, (char)value);
}
static inline void dbg_put_sleb(struct hd_buf *buf, int64_t value)
{
    for (; value < -64 || value > 63; value >>= 7)
        hd_buf_putc(buf, (char)(value | 0x80));
    hd_buf_putc(buf, (char)(value & 0x7f));
}
static inline void dbg_put_str(struct hd_buf *buf, const char *text)
{
    hd_buf_append(buf, text, strlen(text) + 1);
}
static inline void dbg_patch(struct hd_buf *buf, size_t at, uint64_t value, unsigned size_B)
{
    assert(buf->failed || at + size_B <= buf->len);
    for (unsigned i = 0; i < size_B && !buf->failed; i++)
        buf->ptr[at + i] = (char)(value >> (8 * i));
}

#endif
